"""A mistake is said to be refused late, the object being stored, exactly where the servers let the object itself pass."""

import pytest
from workload_texts import node_term, pod_term, spread, workload

from afflint.checks.admission.refusal_time import is_rejected_later
from afflint.checks.match import Target
from linting import lint

KUBERNETES_1_33 = Target((1, 33))


def refused(text: str, target: Target | None = None) -> list[str]:
    """``rule at once`` or ``rule late`` for each admission finding."""
    found = [each for each in lint(text, target=target) if each.category == "admission"]
    return [f"{each.rule} {'late' if is_rejected_later(each.message) else 'at once'}" for each in found]


BAD_MATCH_LABELS_KEY = pod_term("topologyKey: zone\nlabelSelector: {matchLabels: {a b: x}}")
BAD_MATCH_LABEL_KEYS = pod_term("topologyKey: zone\nlabelSelector: {}\nmatchLabelKeys: [a b]")
BAD_NODE_SELECTOR = "nodeSelector: {a b: x}"
BAD_NODE_VALUE = node_term("matchExpressions: [{key: zone, operator: In, values: [a b]}]")
TOPOLOGY = "topologyKey: zone\nlabelSelector: {}\nmaxSkew: 1\n"
MIN_DOMAINS = spread(TOPOLOGY + "whenUnsatisfiable: ScheduleAnyway\nminDomains: 2")
POLICY = spread(TOPOLOGY + "whenUnsatisfiable: DoNotSchedule\nnodeTaintsPolicy: honor")
EXISTS_WITH_VALUE = "tolerations: [{key: a, operator: Exists, value: b}]"
EFFECT = "tolerations: [{key: a, operator: Exists, effect: noSchedule}]"
OPERATOR = "tolerations: [{key: a, operator: In, value: b}]"


@pytest.mark.parametrize(
    "kind, lines, expected",
    [
        ("VirtualMachine", BAD_MATCH_LABELS_KEY, "invalid-label-key at once"),
        ("VirtualMachine", BAD_MATCH_LABEL_KEYS, "invalid-label-key late"),
        ("VirtualMachine", BAD_NODE_SELECTOR, "invalid-label-key late"),
        ("VirtualMachine", BAD_NODE_VALUE, "invalid-label-value late"),
        ("VirtualMachineInstance", MIN_DOMAINS, "invalid-spread-constraint late"),
        ("VirtualMachine", POLICY, "invalid-spread-constraint at once"),
        ("VirtualMachinePool", POLICY, "invalid-spread-constraint late"),
        ("VirtualMachine", EXISTS_WITH_VALUE, "invalid-toleration late"),
        ("VirtualMachine", EFFECT, "invalid-toleration at once"),
        ("VirtualMachinePool", EFFECT, "invalid-toleration late"),
        ("VirtualMachine", OPERATOR, "unknown-operator at once"),
        ("VirtualMachinePool", OPERATOR, "unknown-operator late"),
        ("VirtualMachine", "priorityClassName: High", "invalid-scheduling-field late"),
        ("Deployment", BAD_NODE_SELECTOR, "invalid-label-key at once"),
        ("Deployment", EXISTS_WITH_VALUE, "invalid-toleration at once"),
        ("Deployment", MIN_DOMAINS, "invalid-spread-constraint at once"),
    ],
)
def test_kubevirt_looks_at_less_than_the_api_server(kind: str, lines: str, expected: str) -> None:
    assert refused(workload(kind, lines)) == [expected]


@pytest.mark.parametrize(
    "annotation",
    [
        'controller.kubernetes.io/pod-deletion-cost: "high"',
        "scheduler.alpha.kubernetes.io/tolerations: 'not json'",
    ],
)
def test_annotations_that_pods_are_refused_for(annotation: str) -> None:
    annotations = f"annotations: {{{annotation}}}, labels: {{app: web, tier: front}}"
    for kind, expected in (("Deployment", "at once"), ("VirtualMachine", "late"), ("VirtualMachinePool", "late")):
        text = workload(kind, "").replace("labels: {app: web, tier: front}", annotations)
        assert refused(text) == [f"invalid-annotation {expected}"]


@pytest.mark.parametrize(
    "selector, deployment, pod, machine",
    [
        ("{matchLabels: {tier: x}}", "late", "at once", "late"),
        ("{matchLabels: {tier: x}, matchExpressions: [{key: tier, operator: Exists}]}", "at once", "at once", "late"),
    ],
)
def test_a_key_in_the_selector_and_in_match_label_keys(selector: str, deployment: str, pod: str, machine: str) -> None:
    lines = pod_term(f"topologyKey: zone\nlabelSelector: {selector}\nmatchLabelKeys: [tier]")
    assert refused(workload("Deployment", lines)) == [f"label-keys-conflict {deployment}"]
    assert refused(workload("Pod", lines)) == [f"label-keys-conflict {pod}"]
    assert refused(workload("VirtualMachine", lines)) == [f"label-keys-conflict {machine}"]


# StatefulSets before Kubernetes 1.34.


@pytest.mark.parametrize(
    "lines, rule",
    [
        (BAD_MATCH_LABELS_KEY, "invalid-label-key"),
        (BAD_NODE_VALUE, "invalid-label-value"),
        (EXISTS_WITH_VALUE, "invalid-toleration"),
        (OPERATOR, "unknown-operator"),
        (MIN_DOMAINS, "invalid-spread-constraint"),
        (pod_term('topologyKey: ""\nlabelSelector: {}'), "empty-topology-key"),
        (pod_term("topologyKey: a\nlabelSelector: {}\nnamespaces: [A]"), "invalid-namespace-name"),
        (pod_term("topologyKey: a\nmatchLabelKeys: [tier]"), "label-keys-conflict"),
        (node_term("matchExpressions: [{key: zone, operator: In}]"), "operator-values-mismatch"),
        (node_term("matchFields: [{key: a, operator: In, values: [b]}]"), "invalid-match-field"),
        ("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}", "empty-node-selector-terms"),
        ("affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5}]}}", "missing-term-wrapper"),
        (
            "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]}}",
            "weight-out-of-range",
        ),
        ("schedulingGates: [{name: a b}]", "invalid-scheduling-field"),
    ],
)
def test_a_stateful_set_was_stored_unread_before_1_34(lines: str, rule: str) -> None:
    for target, kind, when in (
        (KUBERNETES_1_33, "StatefulSet", "late"),
        (KUBERNETES_1_33, "Deployment", "at once"),
        (Target((1, 34)), "StatefulSet", "at once"),
    ):
        assert refused(workload(kind, lines), target) == [f"{rule} {when}"]


@pytest.mark.parametrize(
    "before, after, rule",
    [
        ("tier: front", "tier: -front", "invalid-label-value"),
        ("labels: {", "annotations: {a b: c}, labels: {", "invalid-annotation"),
        ("matchLabels: {app: web}", "matchLabels: {app: db}", "selector-template-mismatch"),
        ("matchLabels: {app: web}", "matchExpressions: [{key: app, operator: Is}]", "unknown-operator"),
        ("containers:", "nodeselector: {a: b}\n      containers:", "unknown-field"),
        ("containers:", "nodeSelector: {a: 5}\n      containers:", "wrong-type"),
    ],
)
def test_a_stateful_set_before_1_34_is_refused_at_once_for_all_but_its_pod_spec(before: str, after: str, rule: str) -> None:
    text = workload("StatefulSet", "").replace(before, after)
    assert refused(text, KUBERNETES_1_33) == [f"{rule} at once"]


def test_a_stateful_set_of_another_api_group_is_none_of_the_api_servers() -> None:
    text = workload("StatefulSet", EXISTS_WITH_VALUE).replace("apps/v1", "apps.kruise.io/v1beta1")
    assert refused(text, KUBERNETES_1_33) == ["invalid-toleration at once"]


# matchLabelKeys of spread constraints before Kubernetes 1.34.


@pytest.mark.parametrize(
    "keys, newest, before",
    [
        ("[tier]", ["label-keys-conflict late"], ["label-keys-conflict at once"]),
        ("[release]", [], ["label-keys-conflict at once"]),
        ("[app, app]", ["label-keys-conflict late"], []),
    ],
    ids=["a key that the pods have", "a key that they lack", "a key twice"],
)
def test_no_key_of_a_spread_constraint_could_be_in_its_selector_too(keys: str, newest: list[str], before: list[str]) -> None:
    selector = "labelSelector: {matchExpressions: [{key: tier, operator: Exists}, {key: release, operator: Exists}]}"
    lines = spread(f"topologyKey: zone\nmaxSkew: 1\nwhenUnsatisfiable: DoNotSchedule\n{selector}\nmatchLabelKeys: {keys}")
    assert refused(workload("Deployment", lines)) == newest
    assert refused(workload("Deployment", lines), KUBERNETES_1_33) == before
