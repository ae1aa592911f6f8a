"""Fields that are misplaced in a map that accepts any key: in nodeSelector, in matchLabels, among labels and annotations."""

import pytest
from workload_texts import pod_term, spread, workload

from linting import lint, messages_of

NODE_AFFINITY = "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "field, message",
    [
        ("affinity: {}", "affinity is in the nodeSelector, where it is read as a key; it belongs in spec.template.spec"),
        ("tolerations: [a]", "tolerations is in the nodeSelector, where it is read as a key; it belongs in spec.template.spec"),
        ("podAffinity: {}", "podAffinity is in the nodeSelector, where it is read as a key; it belongs in spec.template.spec.affinity"),
        ("nodeSelectorTerms: []", f"nodeSelectorTerms is in the nodeSelector, where it is read as a key; it belongs in {NODE_AFFINITY}"),
        ("volumes: [a]", "volumes is in the nodeSelector, where it is read as a key; it belongs in spec.template.spec"),
        ("matchLabels: {a: b}", "matchLabels is in the nodeSelector, which is itself a map of labels"),
        ("matchExpressions: [a]", "matchExpressions is in the nodeSelector, which is a plain map of labels"),
    ],
)
def test_a_field_below_node_selector(field: str, message: str) -> None:
    text = workload("Deployment", f"nodeSelector:\n  disk: ssd\n  {field}")
    assert messages_of(text, "misplaced-constraint") == [f"12:9 {message}"]
    assert messages_of(text, "wrong-type") == []


def test_fields_that_one_indentation_moved_below_node_selector_are_one_finding() -> None:
    fields = "nodeSelector:\n  disk: ssd\n  tolerations: []\n  affinity: {}\n  hostNetwork: true\n  terminationGracePeriodSeconds: 30"
    text = workload("Deployment", fields)
    there = "where they are read as keys; they belong in spec.template.spec"
    names = "tolerations, affinity, hostNetwork and terminationGracePeriodSeconds"
    assert messages_of(text, "misplaced-constraint") == [f"12:9 {names} are in the nodeSelector, {there}"]
    assert messages_of(text, "wrong-type") == []
    (finding,) = lint(text)
    assert finding.help == "Move them to spec.template.spec."
    many = text.replace("hostNetwork: true", "hostNetwork: true\n        hostPID: true\n        volumes: []")
    assert messages_of(many, "misplaced-constraint") == [
        f"12:9 tolerations, affinity, hostNetwork, hostPID and 2 more are in the nodeSelector, {there}"
    ]


def test_a_label_of_nodes_that_misses_its_quotes_is_not_a_field() -> None:
    text = workload("Deployment", "nodeSelector:\n  affinity: {}\n  volumes: []\n  matchExpressions: []\n  ssd: true")
    assert [each.partition(" is ")[0].partition(" are ")[0] for each in messages_of(text, "misplaced-constraint")] == [
        "11:9 affinity and volumes",
        "13:9 matchExpressions",
    ]
    assert messages_of(text, "wrong-type") == ["14:14 the value of `ssd` must be a string, but unquoted `true` is a boolean"]
    text = workload("Deployment", "nodeSelector: {hostNetwork: 1, priority: true}")
    assert [each.split(" must")[0] for each in messages_of(text, "wrong-type")] == [
        "10:35 the value of `hostNetwork`",
        "10:48 the value of `priority`",
    ]


def test_the_domain_of_a_virtual_machine_below_node_selector() -> None:
    text = workload("VirtualMachine", "nodeSelector:\n  domain: {devices: {}}")
    (finding,) = lint(text)
    assert finding.rule == "misplaced-constraint"
    assert finding.message == "domain is in the nodeSelector, where it is read as a key; it belongs in spec.template.spec"
    assert finding.help == "Move domain to spec.template.spec."
    # KubeVirt's schemas prune the map before they look at its type, and complain of what is in it.
    assert finding.field == "spec.template.spec.nodeSelector.domain.devices"


@pytest.mark.parametrize("name", ["nodeName", "disktype", "a/b"])
def test_a_label_with_a_wrong_value_is_just_that(name: str) -> None:
    text = workload("Pod", f"nodeSelector: {{{name}: [a]}}")
    assert [finding.rule for finding in lint(text)][-1:] == (["misplaced-constraint"] if name == "nodeName" else ["wrong-type"])
    assert [finding.rule for finding in lint(workload("Pod", "nodeName: [a]"))] == ["wrong-type"]


@pytest.mark.parametrize(
    "field, message",
    [
        ("matchExpressions: [a]", "matchExpressions is in matchLabels, where it is read as a label"),
        ("namespaces: [a]", "namespaces is in matchLabels, where it is read as a label"),
    ],
)
def test_a_field_below_match_labels(field: str, message: str) -> None:
    text = workload("Pod", pod_term(f"topologyKey: zone\nlabelSelector:\n  matchLabels:\n    {field}"))
    assert messages_of(text, "misplaced-constraint") == [f"12:15 {message}"]


def test_annotations_below_labels() -> None:
    text = workload("Deployment", "").replace("tier: front", "annotations: {a: b}")
    message = "annotations is in the labels, where it is read as a key; it belongs in spec.template.metadata"
    assert messages_of(text, "misplaced-constraint") == [f"7:35 {message}"]


@pytest.mark.parametrize(
    "lines, message",
    [
        (
            "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {}}]}}",
            "podAffinityTerm is set in a preferred scheduling term; it belongs in a pod affinity term",
        ),
        (
            "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}}",
            "preference is set in a weighted pod affinity term; it belongs in a node selector term",
        ),
    ],
)
def test_terms_about_nodes_and_terms_about_pods_are_not_mixed(lines: str, message: str) -> None:
    (found,) = messages_of(workload("Pod", lines), "misplaced-constraint")
    assert found.endswith(f" {message}")


@pytest.mark.parametrize(
    "lines, remedy",
    [
        (spread("namespaces: [a]"), "A spread constraint counts the pods of its own namespace only; remove it."),
        (spread("weight: 5"), "A spread constraint has no weight; `whenUnsatisfiable: ScheduleAnyway` makes it a preference."),
        ("replicas: 3", "A Pod is one pod; for several, use a Deployment."),
        (pod_term("labelSelector: {app: db}"), "Put `app` under `matchLabels:`."),
        (pod_term("namespace: a"), "Write `namespaces`, whose value must be a list."),
        ("toleration: []\ntolerations: []", "Merge it with `tolerations`, which is set already, or remove one of the two."),
    ],
)
def test_the_help_for_an_unknown_field_says_what_to_do_instead(lines: str, remedy: str) -> None:
    helps = [finding.help for finding in lint(workload("Pod", lines)) if finding.rule == "unknown-field"]
    assert helps == [remedy]
