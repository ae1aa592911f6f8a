"""Real custom resources with constraints, and the same with one mistake each: every mistake on its line, and silence otherwise."""

from collections import Counter
from typing import Any

import pytest

from afflint.checks.registry import rules
from afflint.findings.finding import Found
from afflint.pipeline.map_step import Checker, default_settings
from exactness import counted
from shared_material import SHARED, recorded

# Read by eye, all of them: mistakes of the documents themselves, and labels and versions that are deprecated.
REAL = {
    "deprecated-node-label": 31,
    "deprecated-kubevirt-api": 9,
    "contradictory-selector": 2,
    "invalid-toleration": 2,
    "unserved-api-version": 2,
    "unknown-field": 2,
    "wrong-type": 1,
    "weight-out-of-range": 1,
    "invalid-label-key": 1,
    "misplaced-constraint": 3,
    "unknown-node-label": 1,
}


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker(default_settings())


def found_in(checker: Checker, case: dict[str, Any]) -> tuple[Found, ...]:
    return checker.check("a.yaml", case["text"].encode()).found


def test_planted_mistakes_are_found_on_their_line(checker: Checker) -> None:
    missed = []
    messages: Counter[str] = Counter()
    for case in recorded(SHARED / "conformance" / "custom_planted.jsonl.gz"):
        kind = "catalogue" if case["known"] == "catalogue" else "other"
        messages[kind] += 1
        if not any(each.span.line <= case["line"] <= each.span.end_line for each in found_in(checker, case)):
            missed.append((kind, case["kind"], case["field"], case["mistake"]))
    others = sum(kind == "other" for kind, *_ in missed)
    print(f"missed: {missed}")
    assert not [each for each in missed if each[0] == "catalogue"]
    assert others <= messages["other"] * 0.05
    counted("mistakes planted in custom resources that are in the catalogue", messages["catalogue"], messages["catalogue"])
    counted("mistakes planted in custom resources that are not in the catalogue", messages["other"] - others, messages["other"])


def test_real_resources_are_left_in_peace(checker: Checker) -> None:
    known = rules()
    counts: Counter[str] = Counter()
    for case in recorded(SHARED / "conformance" / "custom_real.jsonl.gz"):
        counts.update(each.rule for each in found_in(checker, case) if (each.severity or known[each.rule].severity) != "info")
    assert counts == REAL
