"""Findings of category admission against the recorded answers of the API server and of KubeVirt's webhooks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from shared_material import cases

from afflint.engine import Checker, default_settings
from afflint.findings import Finding


@pytest.fixture(scope="module")
def answers() -> list[tuple[dict[str, Any], list[Finding]]]:
    """Each case in scope with afflint's admission findings."""
    checker = Checker(default_settings())
    return [
        (case, [found for found in checker.check(f"{case['id']}.yaml", case["yaml"].encode()).findings if found.category == "admission"])
        for case in cases("validation_cases.jsonl.gz")
        if case["scope"]
    ]


def test_every_refused_manifest_is_reported(answers: list[tuple[dict[str, Any], list[Finding]]]) -> None:
    missed = [f"{case['id']} {case['kind']} {case['mutation']}" for case, found in answers if case["refused"] and not found]
    refused = sum(case["refused"] for case, _ in answers)
    print(f"refused and reported: {refused - len(missed)} / {refused}")
    assert missed == []


def test_no_accepted_manifest_is_reported(answers: list[tuple[dict[str, Any], list[Finding]]]) -> None:
    false = [
        f"{case['id']} {case['kind']} {case['mutation']}: {found[0].message}" for case, found in answers if found and not case["refused"]
    ]
    accepted = sum(not case["refused"] for case, _ in answers)
    print(f"not refused and not reported: {accepted - len(false)} / {accepted}")
    assert false == []


def test_the_field_agrees_where_one_error_was_recorded(answers: list[tuple[dict[str, Any], list[Finding]]]) -> None:
    single = [(case, case["errors"] or case.get("pod_errors") or [], found) for case, found in answers if case["refused"]]
    compared = [(case, errors[0], found) for case, errors, found in single if len(errors) == 1 and errors[0]["field"]]
    other = [
        f"{case['id']} {case['kind']} {case['mutation']}: {error['field']} against {[each.field for each in found]}"
        for case, error, found in compared
        if not any(_agree(error, each, case) for each in found)
    ]
    print(f"field agreement: {len(compared) - len(other)} / {len(compared)}")
    assert other == []


def _agree(error: dict[str, Any], finding: Finding, case: dict[str, Any]) -> bool:
    recorded, ours = _bare(error["field"]), _bare(finding.field)
    if error["type"] == "DuplicateField":
        return ours.rsplit(".", 1)[-1] == recorded
    if error["type"] == "WrongType":
        # Neither list indexes nor keys of string maps on core; indexes as names, from the VMI's spec on, where KubeVirt decodes.
        recorded, ours = re.sub(r"\.\d+(?=\.)", "", _unindexed(recorded)).replace("~1", "/"), _unindexed(ours)
        return ours.endswith(recorded) or (ours + ".").startswith(recorded + ".")
    if not case["errors"]:
        # The pod's error names the pod's field: compare below the pod template.
        recorded = recorded.replace("metadata.", "template.") if recorded.startswith("metadata.") else recorded
        return ours.endswith(recorded) or _unindexed(ours).endswith(_unindexed(recorded))
    if recorded == "spec.selector" and ours.startswith("spec.selector.") and case["kind"].startswith("Virtual"):
        return True  # KubeVirt names only the selector.
    if error["type"] in ("FieldValueNotSupported", "FieldValueInvalid") and _unindexed(ours) == _unindexed(recorded):
        return True  # KubeVirt's schema step and its selector errors carry no indexes; conflicts of label keys carry one too many.
    return ours == recorded


def _bare(field: str) -> str:
    """A path without what the two servers write differently: `affinity`, the `metadata` of templates, brackets around keys."""
    field = re.sub(r"(^|\.)affinity\.(node|pod)", r".\2", field.encode().decode("unicode_escape") if "\\u" in field else field)
    field = re.sub(r"[tT]emplate\.metadata\.(labels|annotations)", r"template.\1", field)
    return re.sub(r"\[([^\]]*[a-z][^\]]*)\]", r".\1", field).replace("spec.affinity.", "spec.")


def _unindexed(field: str) -> str:
    return re.sub(r"\[\d+\]", "", field).replace(".matchLabelKeys", "")
