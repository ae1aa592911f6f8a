"""Findings against minimal cases of what is rare: each verdict in each version for which it was recorded, and the field."""

from typing import Any

import pytest
from recorded_fields import agree

from afflint.checks.match import Target
from afflint.checks.registry import rules
from afflint.findings.finding import Finding
from afflint.pipeline.map_step import default_settings
from exactness import counted
from linting import findings_of
from shared_material import cases

Case = dict[str, Any]

# Refusals of Jobs, which the records of CronJobs above do not count: a rule of its own says those.
NAMES = [rule.name for rule in rules().values() if rule.category == "admission" or rule.name == "jobs-refused"]


def findings(case: Case, version: str) -> list[Finding]:
    target = Target((1, int(version.split(".")[1])), frozenset(case.get("feature_gates") or ()))
    return findings_of({f"{case['id']}.yaml": case["yaml"].encode()}, default_settings(NAMES, target=target))


def versions(case: Case) -> dict[str, bool]:
    """Whether the case is refused, by version."""
    return case.get("refused_in") or {"1.37.1": case["refused"]}


@pytest.fixture(scope="module")
def validated() -> list[Case]:
    return [case for case in cases("edge_cases.jsonl.gz") if "yaml" in case and case["scope"]]


def test_verdicts_of_every_version(validated: list[Case]) -> None:
    asked = [(case, version, refused) for case in validated for version, refused in versions(case).items()]
    wrong = [f"{case['id']} {version}" for case, version, refused in asked if bool(findings(case, version)) != refused]
    assert wrong == []
    counted("rare cases, in each of their versions", len(asked) - len(wrong), len(asked))


def test_the_field_agrees_where_one_error_was_recorded(validated: list[Case]) -> None:
    single = [(case, errors[0]) for case in validated if len(errors := case["errors"] or case.get("pod_errors") or []) == 1]
    compared = [(case, error, findings(case, "1.37.1")) for case, error in single if error["type"] != "YAML"]
    wrong = [
        f"{case['id']}: {error['field']} against {[each.field for each in found]}"
        for case, error, found in compared
        if not any(agree(error if error["field"] else _read_from_text(error), each, case) for each in found)
    ]
    print(f"field agreement: {len(compared) - len(wrong)} / {len(compared)}")
    assert len(compared) > 25
    assert wrong == []


def _read_from_text(error: dict[str, Any]) -> dict[str, Any]:
    """An error of KubeVirt's webhook schema, whose field only its text holds."""
    field, _, rest = error["detail"].partition(" ")
    assert rest.startswith("in body ")
    return {**error, "field": field, "type": "FieldValueInvalid"}


MADE = {"CronJob": ("Job", "pod"), "Deployment": ("ReplicaSet",)}


def test_what_is_made_of_an_accepted_object_is_reported_as_refused(validated: list[Case]) -> None:
    stored = [case for case in validated if case["accepted"] and case["refused"]]
    wrong = []
    for case in stored:
        related = [f"every {made} created from it is rejected" for made in MADE.get(case["kind"], ("pod",))]
        messages = [found.message for found in findings(case, "1.37.1")]
        if not any(each in message for message in messages for each in related):
            wrong.append(f"{case['id']}: {messages}")
    assert len(stored) > 10
    assert wrong == []
