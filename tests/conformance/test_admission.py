"""Findings of category admission against the recorded answers of the API server and of KubeVirt's webhooks."""

from typing import Any

import pytest
from recorded_fields import agree

from afflint.checks.admission.refusal_time import is_rejected_later
from afflint.checks.match import Target
from afflint.checks.registry import rules
from afflint.findings.finding import Finding
from afflint.pipeline.map_step import default_settings
from exactness import counted
from linting import findings_of
from shared_material import cases

Answers = list[tuple[dict[str, Any], list[Finding]]]


def admission_findings(target: Target, kind: str = "") -> Answers:
    """Each case in scope, or those of one kind, with afflint's admission findings for a cluster."""
    names = [rule.name for rule in rules().values() if rule.category == "admission"]
    settings = default_settings(names, target=target)
    return [
        (case, findings_of({f"{case['id']}.yaml": case["yaml"].encode()}, settings))
        for case in cases("validation_cases.jsonl.gz")
        if case["scope"] and kind in ("", case["kind"])
    ]


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Each case in scope with afflint's admission findings."""
    return admission_findings(Target())


_TEMPLATE = "text.scalar: scalar: helm template braces"
"""A lone ``{{ .Values.x }}``: it is rejected as it is, but templates are never sent to the API server."""


def test_every_refused_manifest_is_reported(answers: Answers) -> None:
    missed = [
        f"{case['id']} {case['kind']} {case['mutation']}"
        for case, found in answers
        if case["refused"] and not found and case["mutation"] != _TEMPLATE
    ]
    refused = sum(case["refused"] for case, _ in answers)
    assert missed == []
    counted("rejected manifests with a finding of the category `admission`", refused - len(missed), refused)


def test_no_accepted_manifest_is_reported(answers: Answers) -> None:
    false = [
        f"{case['id']} {case['kind']} {case['mutation']}: {found[0].message}" for case, found in answers if found and not case["refused"]
    ]
    accepted = sum(not case["refused"] for case, _ in answers)
    assert false == []
    counted("accepted manifests without such a finding", accepted - len(false), accepted)


def test_the_field_agrees_where_one_error_was_recorded(answers: Answers) -> None:
    single = [(case, case["errors"] or case.get("pod_errors") or [], found) for case, found in answers if case["refused"]]
    compared = [(case, errors[0], found) for case, errors, found in single if len(errors) == 1 and errors[0]["field"]]
    other = [
        f"{case['id']} {case['kind']} {case['mutation']}: {error['field']} against {[each.field for each in found]}"
        for case, error, found in compared
        if not any(agree(error, each, case) for each in found)
    ]
    assert other == []
    counted("the field that was rejected, where there is one", len(compared) - len(other), len(compared))


def test_late_refusals_are_reported_as_late(answers: Answers) -> None:
    """The object is stored and its pods are refused: said of those cases and of no others. Of two mistakes only the first is recorded."""
    compared = [(case, found[0], case["accepted"] and case.get("pod_accepted") is False) for case, found in answers if len(found) == 1]
    wrong = [
        f"{case['id']} {case['kind']} {case['mutation']}: {found.message}" for case, found, late in compared if _is_late(found) != late
    ]
    assert wrong == []
    counted("stored and rejected later, or rejected at once", len(compared) - len(wrong), len(compared))


def test_all_findings_of_one_mistake_are_refused_at_the_same_time(answers: Answers) -> None:
    single = [(case, found) for case, found in answers if case["family"] != "combo" and len(found) > 1]
    mixed = [
        f"{case['id']} {case['mutation']}: {[each.message for each in found]}"
        for case, found in single
        if len(set(map(_is_late, found))) > 1
    ]
    assert mixed == []


def test_stateful_sets_before_1_34_are_refused_late() -> None:
    """Their pod spec was stored unread; ``accepted_before_1_34`` marks the cases that only their pods are refused for."""
    found_before = admission_findings(Target((1, 33)), "StatefulSet")
    # Broken YAML further down in the file is recorded with what is above it.
    compared = [(case, found[0]) for case, found in found_before if len(found) == 1 and found[0].rule != "unreadable-manifest"]
    wrong = [
        f"{case['id']} {case['mutation']}: {found.message}"
        for case, found in compared
        if _is_late(found) != (case.get("accepted_before_1_34", False) or (case["accepted"] and case.get("pod_accepted") is False))
    ]
    assert wrong == []
    assert sum(_is_late(found) for _, found in compared) > len(compared) / 5


def test_messages_are_clauses_on_one_line_and_helps_are_sentences(answers: Answers) -> None:
    for _, found in answers:
        for finding in found:
            assert finding.message.isprintable()
            assert not finding.message.endswith(".")
            assert finding.help.endswith(".")
            assert "``" not in finding.message


def _is_late(finding: Finding) -> bool:
    return is_rejected_later(finding.message)
