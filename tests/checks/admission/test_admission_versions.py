"""Fields that the target's version does not know, or knows no longer: refused there, and accepted everywhere else."""

import pytest
from workload_texts import pod_term, spread, workload

from afflint.checks.match import Target
from afflint.kube import NEWEST
from linting import lint


def found(text: str, version: tuple[int, int] = NEWEST) -> list[str]:
    """``line:column rule message`` for each admission finding."""
    admission = [each for each in lint(text, target=Target(version)) if each.category == "admission"]
    return [f"{each.span.line}:{each.span.column} {each.rule} {each.message}" for each in admission]


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  FIELD
  template:
    spec:
      restartPolicy: Never
      containers: [{name: sum, image: "busybox:1.37"}]
"""


@pytest.mark.parametrize(
    "text, since, place",
    [
        (workload("Pod", "schedulingGates: [{name: example.com/quota}]"), 26, "6:3 unknown-field `schedulingGates`"),
        (workload("Pod", "schedulingGroup: {podGroupName: ring}"), 36, "6:3 unknown-field `schedulingGroup`"),
        (workload("Deployment", "evictionResponders: []"), 37, "10:7 unknown-field `evictionResponders`"),
        (JOB.replace("FIELD", "scheduling: {}"), 37, "5:3 unknown-field `scheduling`"),
        (JOB.replace("FIELD", "completionMode: NonIndexed"), 21, "5:3 unknown-field `completionMode`"),
        (
            workload("Deployment", pod_term("topologyKey: zone\nlabelSelector: {}\nmismatchLabelKeys: [tier]")),
            29,
            "15:15 unknown-field `mismatchLabelKeys`",
        ),
        (
            workload(
                "Deployment", spread("topologyKey: zone\nmaxSkew: 1\nwhenUnsatisfiable: DoNotSchedule\nminDomains: 2\nlabelSelector: {}")
            ),
            24,
            "14:11 unknown-field `minDomains`",
        ),
    ],
)
def test_a_field_is_known_from_its_version_on(text: str, since: int, place: str) -> None:
    assert found(text, (1, since)) == []
    assert found(text) == []
    assert found(text, (1, since - 1)) == [f"{place} exists since Kubernetes 1.{since}; the target is 1.{since - 1}"]


@pytest.mark.parametrize(
    "field, expected",
    [
        ("schedulingGroup: workers", "6:20 wrong-type `schedulingGroup` must be an object, not a string"),
        ("schedulingGroup: [ring]", "6:3 wrong-type `schedulingGroup` must be an object, not a list"),
        (
            "schedulingGroup: {podGroup: ring}",
            "6:21 unknown-field unknown field `podGroup` in this scheduling group; did you mean `podGroupName`?",
        ),
        ("evictionResponders: {name: a}", "6:3 wrong-type `evictionResponders` must be a list, not a map"),
        ("evictionResponders: [{name: a, key: b}]", "6:34 unknown-field unknown field `key` in this eviction responder"),
        ("evictionResponders: [{name: example.com/a, priority: 5}]", None),
        ("schedulingGroup: {podGroupName: ring}", None),
    ],
)
def test_what_newer_fields_hold(field: str, expected: str | None) -> None:
    assert found(workload("Pod", field)) == ([expected] if expected else [])


def test_a_field_that_is_gone_again() -> None:
    text = workload("Pod", "workloadRef: {name: ring, podGroup: left}")
    assert found(text, (1, 35)) == []
    assert found(text, (1, 34)) == ["6:3 unknown-field `workloadRef` exists since Kubernetes 1.35; the target is 1.34"]
    assert found(text) == ["6:3 unknown-field `workloadRef` exists only in Kubernetes 1.35; the target is 1.37"]


def test_the_help_says_what_to_do() -> None:
    gates = lint(workload("Pod", "schedulingGates: [{name: example.com/quota}]"), target=Target((1, 20)))
    assert [each.help for each in gates] == ['Remove it, or set `kubernetes-version: "1.26"` if the cluster runs that version.']
    group = lint(workload("Pod", "workloadRef: {name: ring, podGroup: left}"))
    assert [each.help for each in group] == ["Write `schedulingGroup`, which replaced it."]


def test_kubevirt_has_an_api_of_its_own() -> None:
    term = pod_term("topologyKey: zone\nlabelSelector: {}\nmismatchLabelKeys: [tier]")
    assert found(workload("VirtualMachine", term), (1, 20)) == []


def test_a_near_miss_is_not_fixed_into_a_field_that_the_target_lacks() -> None:
    text = workload("Pod", "schedulingGate: [{name: example.com/quota}]")
    assert found(text) == ["6:3 unknown-field unknown field `schedulingGate` in this pod spec; did you mean `schedulingGates`?"]
    assert found(text, (1, 25)) == ["6:3 unknown-field unknown field `schedulingGate` in this pod spec"]
