"""afflint and Kyverno change the objects in the tests of Kyverno's policy library in the same way.

Needs a checkout of github.com/kyverno/policies: name it in the variable KYVERNO_POLICIES.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from kyverno_library import cases, cel_cases

from extras import needs_cel


def test_the_objects_of_the_library_are_the_same_after_its_rules() -> None:
    library = os.environ.get("KYVERNO_POLICIES")
    if not library:
        pytest.skip("KYVERNO_POLICIES does not name a checkout of github.com/kyverno/policies")
    answers = [(case, case.result()) for case in cases(Path(library))]
    assert [case.name for case, answer in answers if answer == "differs"] == []
    assert [case.name for case, answer in answers if case.touches_placement and answer != "same"] == []
    counts = Counter(case.touches_placement for case, answer in answers if answer == "same")
    assert counts[True] >= 14, counts
    assert counts[False] >= 21, counts


@needs_cel
def test_the_objects_of_the_library_are_the_same_after_its_policies_in_cel() -> None:
    library = os.environ.get("KYVERNO_POLICIES")
    if not library:
        pytest.skip("KYVERNO_POLICIES does not name a checkout of github.com/kyverno/policies")
    answers = [(case, *case.result()) for case in cel_cases(Path(library))]
    assert [case.name for case, answer, _ in answers if answer == "differs"] == []
    counts = Counter((touches, answer == "same") for _, answer, touches in answers)
    assert counts[True, True] >= 13, counts
    assert counts[True, False] == 0, counts
    assert counts[False, True] >= 50, counts
