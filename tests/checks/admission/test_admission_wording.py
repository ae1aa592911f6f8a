"""What admission findings say and advise, word for word."""

import pytest
from workload_texts import node_term, pod_term, spread, workload

from afflint.checks.match import Target
from linting import lint

GATE = "TaintTolerationComparisonOperators"
LETTERS = "at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
SPREAD = "topologyKey: zone\nlabelSelector: {}\n"
COMPARISON = "tolerations: [{key: a, operator: Gt, value: '5'}]"


def words(text: str, target: Target | None = None) -> list[tuple[str, str]]:
    """Message and help of every admission finding."""
    return [(each.message, each.help) for each in lint(text, target=target) if each.category == "admission"]


@pytest.mark.parametrize(
    "lines, message, remedy",
    [
        # Empty and missing.
        (
            pod_term('topologyKey: ""\nlabelSelector: {}'),
            "this required podAntiAffinity term has an empty topologyKey, but the field is required and has no default",
            "Name the node label that defines the domains, such as `kubernetes.io/hostname` or `topology.kubernetes.io/zone`.",
        ),
        (
            node_term("matchFields: [{key: metadata.name, values: [a]}]"),
            "this matchFields requirement has no operator",
            "Write In or NotIn.",
        ),
        (
            node_term('matchExpressions: [{key: a, operator: ""}]'),
            'a node selector term does not support the operator `""`',
            "Write In, NotIn, Exists, DoesNotExist, Gt or Lt.",
        ),
        (node_term("matchExpressions: [{operator: Exists}]"), "this match expression has no key", "Add `key:` with the name of a label."),
        ("schedulingGates: [{}]", "this scheduling gate has no name", "Name gates like labels: `example.com/gate`."),
        # Values of matchFields.
        (
            node_term("matchFields: [{key: metadata.name, operator: In, values: [a, b]}]"),
            "matchFields takes exactly one node name, not 2",
            "Write one term for each node.",
        ),
        (
            node_term("matchFields: [{key: metadata.name, operator: NotIn, values: [a, b]}]"),
            "matchFields takes exactly one node name, not 2",
            "Write one NotIn requirement for each node.",
        ),
        (
            node_term("matchFields: [{key: metadata.name, operator: In, values: []}]"),
            "matchFields takes exactly one node name, not 0",
            "Name one node.",
        ),
        # Operators and other words.
        (
            pod_term("topologyKey: zone\nlabelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['5']}]}"),
            "a label selector does not support the operator Gt; only node selector terms do",
            "Write In, NotIn, Exists or DoesNotExist.",
        ),
        (
            "tolerations: [{key: a, operator: '==', value: b}]",
            "a toleration does not support the operator `==`; did you mean `Equal`?",
            "Write Equal or Exists.",
        ),
        (
            "tolerations: [{key: a, operator: Exists, effect: NoAdmit}]",
            "`NoAdmit` is not a valid toleration effect",
            "Write NoSchedule, PreferNoSchedule or NoExecute.",
        ),
        (
            "tolerations: [{effect: NoSchedule}]",
            "a toleration without a key must have `operator: Exists`, which tolerates every taint",
            "Add the key of the taint, or write `operator: Exists` if every taint is meant.",
        ),
        ("preemptionPolicy: Always", "`Always` is not a valid value of preemptionPolicy", "Write PreemptLowerPriority or Never."),
        # Types.
        ("nodeSelector: {a: true}", "the value of `a` must be a string, but unquoted `true` is a boolean", 'Quote it: `"true"`.'),
        ("nodeSelector: {a: yes}", "the value of `a` must be a string, but unquoted `yes` is a boolean (true)", 'Quote it: `"yes"`.'),
        ("nodeSelector: {a: 1e3}", "the value of `a` must be a string, but unquoted `1e3` is a number (1000)", 'Quote it: `"1e3"`.'),
        ("nodeSelector: {a: 1.0}", "the value of `a` must be a string, but unquoted `1.0` is a number", 'Quote it: `"1.0"`.'),
        (
            'nodeSelector: {a: !!int "5"}',
            "the value of `a` must be a string, but its tag makes `5` a number",
            'Write `"5"` without the tag.',
        ),
        (
            node_term("matchExpressions: [{key: a, operator: In, values: [7]}]"),
            "a value in `values` must be a string, but unquoted `7` is a number",
            'Quote it: `"7"`.',
        ),
        (
            node_term("matchExpressions: [{key: a, operator: In, values: zone-a}]"),
            "`values` must be a list, not a string",
            "Write a list: `[zone-a]`.",
        ),
        (
            "tolerations: ['a=b:NoSchedule']",
            "an item of `tolerations` must be an object, not a string",
            "Write an object: `name: value` for each of its fields.",
        ),
        (
            spread(f"{SPREAD}whenUnsatisfiable: DoNotSchedule\nmaxSkew: 1.5"),
            "`maxSkew` must be an integer, but `1.5` is not",
            "Write an integer of at most 9 digits.",
        ),
        (
            spread(f"{SPREAD}whenUnsatisfiable: DoNotSchedule\nmaxSkew: 99999999999"),
            "`maxSkew` must be a 32-bit integer, but `99999999999` is too large",
            "Write an integer of at most 9 digits.",
        ),
        (
            spread(f"{SPREAD}whenUnsatisfiable: DoNotSchedule\nmaxSkew: [5]"),
            "`maxSkew` must be an integer, not a list",
            "Remove the `- ` or the brackets: the field takes one integer, not a list.",
        ),
        (
            f"nodeSelector: {{{'p' * 250}.com/a: b}}",
            f"`{'p' * 59}…` is not a valid label key: the prefix before the `/` has 254 characters, but at most 253 are allowed",
            f"Use {LETTERS}; a DNS name and `/` may come first.",
        ),
        (
            'nodeSelector: {a: "b\\nc"}',
            r"`b\nc` is not a valid label value: it contains a line break; only letters, digits, `-`, `_` and `.` are allowed",
            f"Use {LETTERS}, or an empty value.",
        ),
    ],
)
def test_what_is_reported_for_a_pod(lines: str, message: str, remedy: str) -> None:
    assert words(workload("Pod", lines)) == [(message, remedy)]


@pytest.mark.parametrize(
    "target, message",
    [
        (Target(), f"a toleration does not support the operator Gt unless the feature gate {GATE} is enabled"),
        (Target((1, 35)), f"a toleration does not support the operator Gt unless the feature gate {GATE} is enabled"),
        (Target((1, 34), frozenset((GATE,))), "a toleration does not support the operator Gt before Kubernetes 1.35"),
        (Target((1, 35), frozenset((GATE,))), None),
    ],
)
def test_tolerations_compare_behind_a_feature_gate(target: Target, message: str | None) -> None:
    assert words(workload("Pod", COMPARISON), target) == ([(message, "Write Equal or Exists.")] if message else [])


@pytest.mark.parametrize(
    "field, remedy",
    [
        ("labels: {app: null}", 'Write "" for an empty value, or remove the label.'),
        ("annotations: {a: null}", 'Write "" for an empty value, or remove the annotation.'),
        ("labels: null", "Write a map, or remove `labels`."),
    ],
)
def test_null_in_the_metadata_of_a_virtual_machine(field: str, remedy: str) -> None:
    text = workload("VirtualMachine", "").replace("labels: {app: web, tier: front}", field)
    ((message, help_),) = words(text)
    assert message.endswith(" is null, but KubeVirt requires a string") or message == "`labels` is null, but KubeVirt requires a map"
    assert help_ == remedy


def test_controllers() -> None:
    deployment = workload("Deployment", "")
    assert words(deployment.replace("{matchLabels: {app: web}}", "{}")) == [
        ("the selector is empty and would match every pod", "Select labels from spec.template.metadata.labels.")
    ]
    assert words(
        deployment.replace("{matchLabels: {app: web}}", "{matchExpressions: [{key: tier, operator: NotIn, values: [front]}]}")
    ) == [
        (
            "the selector does not match the pod template: it requires `tier NotIn [front]`, but the value is `front`",
            "Make the selector and spec.template.metadata.labels agree; a controller finds its pods by these labels.",
        )
    ]
    assert words(deployment.replace("apps/v1", "extensions/v1beta1")) == [
        (
            "Deployment is not served in `extensions/v1beta1`; it was removed in Kubernetes 1.16",
            "Write `apiVersion: apps/v1` and check the fields that changed.",
        )
    ]


def test_a_pool_selects_machines() -> None:
    pool = workload("VirtualMachinePool", "")
    selected = "spec.virtualMachineTemplate.metadata.labels"
    assert words(pool.replace("selector: {matchLabels: {app: web}}", "selector: {matchLabels: {app: db}}")) == [
        (
            "the selector does not match the template of its virtual machines: it requires `app: db`, but the value is `web`",
            f"Make the selector and {selected} agree; a controller finds its pods by these labels.",
        )
    ]
    assert words(pool.replace("  selector: {matchLabels: {app: web}}\n", "")) == [
        ("this VirtualMachinePool has no selector", f"Add `selector: {{matchLabels: …}}` with labels from {selected}.")
    ]


@pytest.mark.parametrize(
    "selector, message",
    [
        ("{matchLabels: {app: import}}", "its generated labels do not match `app: import`"),
        ("{matchExpressions: [{key: app, operator: In, values: [a, b]}]}", "its generated labels do not match `app In [a, b]`"),
        ("{matchExpressions: [{key: app, operator: DoesNotExist}]}", "the labels of its pods do not match `app DoesNotExist`"),
        ("{}", None),
    ],
)
def test_a_job_generates_its_selector(selector: str, message: str | None) -> None:
    text = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: import}}
spec:
  selector: {selector}
  template:
    metadata: {{labels: {{app: import}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: web, image: "nginx:1.27"}}]
"""
    remedy = "Remove the selector, or set `manualSelector: true` if you need your own selector."
    assert words(text) == ([(f"the selector of a Job is generated, and {message}", remedy)] if message else [])


def test_the_selector_of_a_job_is_checked_against_its_pods_if_the_manifest_sets_it() -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: import}
spec:
  manualSelector: true
  selector: {matchLabels: {app: load}}
  template:
    metadata: {labels: {app: import}}
    spec:
      restartPolicy: Never
      containers: [{name: web, image: "nginx:1.27"}]
"""
    assert words(text) == [
        (
            "the selector does not match the pod template: it requires `app: load`, but the value is `import`",
            "Make the selector and spec.template.metadata.labels agree; a controller finds its pods by these labels.",
        )
    ]
    assert words(text.replace("app: load", "app: import")) == []


@pytest.mark.parametrize("version, refused", [((1, 15), False), ((1, 16), True), ((1, 17), True)])
def test_an_api_version_is_gone_from_the_very_version_that_removed_it(version: tuple[int, int], refused: bool) -> None:
    text = workload("Deployment", "").replace("apps/v1", "extensions/v1beta1")
    assert [each.rule for each in lint(text, target=Target(version))] == (["unserved-api-version"] if refused else [])


@pytest.mark.parametrize(
    "cost, message",
    [
        ("high", "the pod-deletion-cost `high` is not an integer"),
        ("+5", "the pod-deletion-cost `+5` has a plus sign, which the API server rejects"),
        ("99999999999", "the pod-deletion-cost `99999999999` is not a 32-bit integer"),
        ("", 'the pod-deletion-cost `""` is not an integer'),
        ("${COST}", None),
    ],
)
def test_deletion_costs(cost: str, message: str | None) -> None:
    annotated = f'annotations: {{controller.kubernetes.io/pod-deletion-cost: "{cost}"}}, name: web'
    found = words(workload("Pod", "").replace("name: web", annotated, 1))
    assert found == ([(message, 'Write an integer in quotes, such as "100".')] if message else [])
