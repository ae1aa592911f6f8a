"""Cases in which afflint once disagreed with the API server of 1.37.2, or with KubeVirt: refused is reported, and accepted is not."""

from typing import Any

from exactness import counted
from linting import lint
from shared_material import cases

_CLASSES = ("REAL ", "ALARM non-specific tag", "ALARM `! 5`", "OTHER Required value", "OTHER yaml")
"""How the classes begin that are about placement; of the others most are about text that is not a manifest, such as a lost `kind`."""


def agrees(case: dict[str, Any]) -> bool:
    refused = bool(case["real"]["refused"] or case["real"].get("pod_refused"))
    return refused == any(each.category == "admission" for each in lint(case["input"]))


def test_each_case_of_the_classes_about_placement() -> None:
    names = ("third_look_admission.jsonl.gz", "third_look_kubevirt.jsonl.gz")
    recorded = [case for name in names for case in cases(name) if case["class"].startswith(_CLASSES)]
    wrong = [(case["class"], case["input"]) for case in recorded if not agrees(case)]
    assert wrong == []
    counted("cases that an earlier afflint got wrong", len(recorded) - len(wrong), len(recorded))
