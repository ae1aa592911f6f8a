"""The page of evidence has a verdict for each finding on public manifests, and none of the verdicts is "wrong"."""

import re
from collections import Counter

import pytest
from tools.generate.goldens import CORPUS

from checkout import ROOT

PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")


def rows(title: str) -> list[list[str]]:
    """The cells of each row of the table below a heading."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    found = [cells for cells in lines if len(cells) == len(lines[0])]
    assert len(found) > 1, f"no table below {title}"
    return found[1:]


def test_each_finding_on_the_corpus_has_a_verdict() -> None:
    """To fix a failure: read the finding next to its file, and change the row, or fix the rule."""
    found: Counter[tuple[str, str]] = Counter()
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        place, _, rule = line.rsplit(" ", 2)
        found[place.split("/")[1].replace("+", "/"), rule] += 1
    judged: Counter[tuple[str, str]] = Counter()
    for repository, rule, number, _, _ in rows("Findings on the corpus"):
        judged[repository, rule] += int(number)
    assert judged == found


@pytest.mark.parametrize("title", ["Findings on the corpus", "Findings on fresh repositories"])
def test_the_verdicts_and_their_sums(title: str) -> None:
    verdicts: Counter[str] = Counter()
    for _, _, number, verdict, why in rows(title):
        assert why
        verdicts[verdict] += int(number)
    assert {*verdicts} <= {"right", "arguable"}, "a wrong finding is a bug: fix the rule"
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    sums = re.search(r"\*\*(\d+) findings: (\d+) right, (\d+) arguable, (\d+) wrong\*\*", section)
    assert sums is not None
    assert [*map(int, sums.groups())] == [verdicts.total(), verdicts["right"], verdicts["arguable"], 0]
