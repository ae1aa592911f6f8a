"""One slip of the pen is one finding: what is misspelt, misplaced or of the wrong type is not missing as well."""

import pytest
from workload_texts import node_term, pod_term, spread, workload

from linting import lint

TERM = "topologyKey: zone\nlabelSelector: {matchLabels: {app: db}}"
SPREAD = "maxSkew: 1\ntopologyKey: zone\nwhenUnsatisfiable: DoNotSchedule\nlabelSelector: {}"
EXPRESSION = "matchExpressions: [{key: a, operator: In, values: [b]}]"
PREFERRED_POD = """\
affinity:
  podAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 5
        podAffinityTerm: {topologyKey: zone, labelSelector: {}}
"""
PREFERRED_NODE = f"""\
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 5
        preference: {{{EXPRESSION}}}
"""
TOLERATION = "tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 5}]"
MATCH_FIELD = "matchFields: [{key: metadata.name, operator: In, values: [a]}]"


def admission_rules(text: str) -> list[str]:
    return [each.rule for each in lint(text) if each.category == "admission"]


PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      nodeSelector: {disk: ssd}
patches: VALUE
"""


def test_an_unknown_field_that_a_patch_deletes() -> None:
    assert admission_rules(PATCH.replace("VALUE", "null")) == []
    assert admission_rules(PATCH.replace("VALUE", "{a: b}")) == ["unknown-field"]


@pytest.mark.parametrize("kind", ["Deployment", "VirtualMachine"])
@pytest.mark.parametrize(
    "lines, field, slip",
    [
        (spread(SPREAD), "maxSkew", "maxskew"),
        (spread(SPREAD), "topologyKey", "topologykey"),
        (spread(SPREAD), "whenUnsatisfiable", "whenUnsatisfiabel"),
        (spread(SPREAD + "\nminDomains: 2"), "whenUnsatisfiable", "whenUnsatisfiabel"),
        (spread(SPREAD + "\nmatchLabelKeys: [x]"), "labelSelector", "labelselector"),
        (spread(SPREAD + "\nmatchLabelKeys: [x]"), "labelSelector", "selector"),
        (pod_term(TERM), "topologyKey", "topology_key"),
        (pod_term(TERM + "\nmatchLabelKeys: [x]"), "labelSelector", "labelSelectors"),
        (node_term(EXPRESSION), "operator", "operater"),
        (node_term(EXPRESSION), "operator", "op"),
        (node_term(EXPRESSION), "key", "Key"),
        (node_term(EXPRESSION), "values", "value"),
        (node_term(EXPRESSION), "nodeSelectorTerms", "nodeSelectorTerm"),
        (node_term(MATCH_FIELD), "key", "kye"),
        (node_term(MATCH_FIELD), "operator", "Operator"),
        (node_term(MATCH_FIELD), "values", "Values"),
        (PREFERRED_POD, "weight", "wieght"),
        (PREFERRED_POD, "podAffinityTerm", "podAffinityterm"),
        (PREFERRED_NODE, "weight", "wieght"),
        (PREFERRED_NODE, "preference", "preferences"),
        (TOLERATION, "key", "Key"),
        (TOLERATION, "operator", "operater"),
        (TOLERATION, "effect", "efect"),
    ],
)
def test_a_misspelt_field_is_not_missing(kind: str, lines: str, field: str, slip: str) -> None:
    assert admission_rules(workload(kind, lines.replace(f"{field}:", f"{slip}:"))) == ["unknown-field"]


def test_a_misspelt_name_of_a_scheduling_gate() -> None:
    assert admission_rules(workload("Pod", "schedulingGates: [{Name: example.com/a}]")) == ["unknown-field"]


@pytest.mark.parametrize("slip", ["matchLabel", "app"])
def test_a_selector_that_holds_something_unknown_is_not_empty(slip: str) -> None:
    assert admission_rules(workload("Deployment", "").replace("matchLabels:", f"{slip}:")) == ["unknown-field"]


@pytest.mark.parametrize(
    "lines",
    [
        "Selector: {matchLabels: {app: web}}",
        "matchLabels: {app: web}",
    ],
)
def test_a_selector_that_is_misspelt_or_without_its_name_is_not_missing(lines: str) -> None:
    text = workload("Deployment", "").replace("selector: {matchLabels: {app: web}}", lines)
    assert admission_rules(text) == ["unknown-field"]


@pytest.mark.parametrize(
    "before, after, rule",
    [
        ("metadata: {labels", "Metadata: {labels", "unknown-field"),
        ("labels: {app", "lables: {app", "unknown-field"),
        ("app: web, tier", "app: 5, tier", "wrong-type"),
        ("metadata: {labels: {app: web, tier: front}}", "labels: {app: web}", "misplaced-constraint"),
    ],
)
def test_labels_that_are_malformed_are_not_checked_against_the_selector(before: str, after: str, rule: str) -> None:
    assert admission_rules(workload("Deployment", "").replace(before, after)) == [rule]


@pytest.mark.parametrize(
    "selector, rule",
    [
        ("{matchLabels: {app: a b}}", "invalid-label-value"),
        ("{matchLabels: {a b: web}}", "invalid-label-key"),
        ("{matchExpressions: [{key: app, operator: In, values: [a b]}]}", "invalid-label-value"),
        ("{matchExpressions: [{key: app, operator: In}]}", "operator-values-mismatch"),
        ("{matchLabels: {app: 5}}", "wrong-type"),
    ],
)
def test_a_malformed_selector_is_not_checked_against_the_labels(selector: str, rule: str) -> None:
    assert admission_rules(workload("Deployment", "").replace("{matchLabels: {app: web}}", selector)) == [rule]


# Values.


@pytest.mark.parametrize("kind", ["Deployment", "VirtualMachine"])
@pytest.mark.parametrize(
    "lines",
    [
        PREFERRED_POD.replace("weight: 5", "weight: 0.5"),
        PREFERRED_POD.replace("weight: 5", "weight: 99999999999"),
        spread(SPREAD).replace("maxSkew: 1", "maxSkew: 0.5"),
        spread(SPREAD).replace("maxSkew: 1", "maxSkew: -99999999999"),
        spread(SPREAD + "\nminDomains: 0.5"),
        TOLERATION.replace("effect: NoExecute", "effect: 5"),
    ],
)
def test_a_value_of_the_wrong_type_is_not_out_of_range(kind: str, lines: str) -> None:
    assert admission_rules(workload(kind, lines)) == ["wrong-type"]


def test_replicas_of_the_wrong_type_are_not_negative() -> None:
    text = workload("Deployment", "").replace("spec:\n  selector", "spec:\n  replicas: -0.5\n  selector")
    assert admission_rules(text) == ["wrong-type"]


def test_a_misspelt_effect_is_not_the_wrong_one_for_seconds() -> None:
    assert admission_rules(workload("Pod", TOLERATION.replace("NoExecute", "noExecute"))) == ["invalid-toleration"]


def test_an_operator_that_takes_no_values_has_no_bad_ones() -> None:
    lines = node_term("matchExpressions: [{key: a, operator: Exists, values: [b c]}]")
    assert admission_rules(workload("Pod", lines)) == ["operator-values-mismatch"]


def test_an_unknown_operator_of_a_toleration_does_not_ask_for_a_key() -> None:
    assert admission_rules(workload("Pod", "tolerations: [{operator: exists}]")) == ["unknown-operator"]


@pytest.mark.parametrize(
    "lines",
    ["tolerations: [null]", "topologySpreadConstraints: [null]", node_term("matchExpressions: [null]"), node_term("matchFields: [null]")],
)
def test_null_items_are_refused_by_kubevirt_for_their_type(lines: str) -> None:
    assert admission_rules(workload("VirtualMachine", lines)) == ["wrong-type"]
    assert "wrong-type" not in admission_rules(workload("Deployment", lines))


# Places.


@pytest.mark.parametrize(
    "lines, rule",
    [
        (PREFERRED_POD.replace("podAffinityTerm: {topologyKey: zone, labelSelector: {}}", "labelSelectors: {}"), "missing-term-wrapper"),
        (
            PREFERRED_POD.replace("topologyKey: zone, labelSelector: {}}", "labelSelector: {}}\n        topologyKey: zone"),
            "missing-term-wrapper",
        ),
        (
            PREFERRED_POD.replace("labelSelector: {}", "labelSelector: {}, weight: 5").replace("- weight: 5\n        ", "- "),
            "missing-term-wrapper",
        ),
        (PREFERRED_POD.replace("        podAffinityTerm", "    podAffinityTerm"), "unknown-field"),
        (pod_term("labelSelector: {topologyKey: zone}"), "misplaced-constraint"),
        (pod_term("labelSelector: {matchLabels: {app: db, topologyKey: kubernetes.io/hostname}}"), "empty-topology-key"),
        (pod_term("labelSelector: {matchLabels: {app: db, topologyKey: zone}}"), "empty-topology-key"),
        (node_term("matchExpressions: [{key: a, operator: In}]\nvalues: [b]"), "misplaced-constraint"),
        (pod_term("topologyKey: zone\nmatchLabels: {app: db}\nmatchLabelKeys: [x]"), "misplaced-constraint"),
    ],
)
def test_a_field_at_the_wrong_level_is_not_missing_at_the_right_one(lines: str, rule: str) -> None:
    assert admission_rules(workload("Deployment", lines)) == [rule]


def test_what_is_really_missing_is_reported_beside_other_mistakes() -> None:
    lines = spread("topologyKey: zone\nwhenUnsatisfiable: DoNotSchedule\nlabelSelector: {}\nnamespaces: [a]")
    assert admission_rules(workload("Pod", lines)) == ["invalid-spread-constraint", "unknown-field"]


def test_a_label_called_topology_key_is_held_to_the_syntax_of_labels() -> None:
    lines = pod_term("topologyKey: zone\nlabelSelector: {matchLabels: {topologyKey: a/b}}")
    assert admission_rules(workload("Pod", lines)) == ["invalid-label-value"]
