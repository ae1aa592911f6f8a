"""Selectors are only compared with pods that have a label that few others have."""

import pytest

from afflint.kube.selectors import Requirement, Selector, matches
from afflint.scheduler.matching import LabelIndex, MatchTable, anchors
from afflint.scheduler.pods import Subject

COUNT = 50


def labels(number: int) -> tuple[tuple[str, str], ...]:
    """One label that all pods have before and after the only one that differs."""
    return ("all", "x"), ("app", str(number)), ("part-of", "shop")


def selector(number: int) -> Selector:
    return Selector(tuple([Requirement(key, "In", (value,)) for key, value in labels(number)]))


@pytest.mark.parametrize("order", ["selectors first", "pods first", "in turn"])
def test_a_label_that_all_have_does_not_matter(order: str) -> None:
    compared: list[int] = []

    def match(wanted: Selector, _subject: Subject, found: dict[str, str]) -> bool:
        compared.append(1)
        return matches(wanted, found)

    table: MatchTable[Selector] = MatchTable(match, anchors)
    subjects = [Subject("shop", frozenset(labels(number)), False) for number in range(COUNT)]
    selectors = [selector(number) for number in range(COUNT)]
    if order == "in turn":
        for wanted, subject in zip(selectors, subjects, strict=True):
            table.selector(wanted)
            table.subject(subject)
    else:
        for add, items in [(table.selector, selectors), (table.subject, subjects)][:: 1 if order == "selectors first" else -1]:
            for each in items:
                add(each)  # type: ignore[arg-type]
    assert len(compared) <= 3 * COUNT
    assert [table.subjects_of[table.selector(each)] for each in selectors] == [[table.subject(each)] for each in subjects]


def test_an_index_looks_up_the_rarest_label() -> None:
    index = LabelIndex([dict(labels(number)) for number in range(COUNT)])
    assert [list(index.candidates(selector(number))) for number in range(COUNT)] == [[number] for number in range(COUNT)]
