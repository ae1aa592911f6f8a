"""Annotations of a Namespace about its pods, checked against the pods: they are rejected, or no node fits."""

import pytest

import linting
from afflint.checks.match import Target
from linting import messages_of
from on_nodes import lint

RULE = "namespace-selector-conflict"
SCHEDULER = """\
apiVersion: config.openshift.io/v1
kind: Scheduler
metadata: {name: cluster}
spec: {defaultNodeSelector: tier=web}
---
"""
ON = Target(admission_plugins=frozenset(("PodNodeSelector", "PodTolerationRestriction")))


def namespace(annotations: str = "", *, name: str = "shop") -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\n---\n"


def deployment(spec: str, *, kind: str = "Deployment", where: str = ", namespace: shop") -> str:
    return f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web{where}}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      {spec}
      containers: [{{name: web, image: 'nginx:1.27'}}]
"""


BATCH = "nodeSelector: {tier: batch}"
PROJECT = "openshift.io/node-selector: tier=web"


def test_a_label_with_another_value_is_refused_by_openshift() -> None:
    assert messages_of(namespace(PROJECT) + deployment(BATCH), RULE) == [
        "13:28 OpenShift rejects these pods: they require `tier=batch`, but `openshift.io/node-selector` of namespace shop sets `tier=web`"
    ]


def test_a_daemonset_is_not_an_exception_nor_is_a_machine() -> None:
    assert len(messages_of(namespace(PROJECT) + deployment(BATCH, kind="DaemonSet"), RULE)) == 1
    machine = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm, namespace: shop}
spec:
  runStrategy: Always
  template:
    spec: {domain: {devices: {}}, nodeSelector: {tier: batch}}
"""
    assert messages_of(namespace(PROJECT) + machine, RULE) == [
        "11:56 OpenShift rejects these pods: they require `tier=batch`, but `openshift.io/node-selector` of namespace shop sets `tier=web`"
    ]


@pytest.mark.parametrize(
    "manifests",
    [
        pytest.param(namespace(PROJECT) + deployment("nodeSelector: {tier: web}"), id="the same value"),
        pytest.param(namespace(PROJECT) + deployment("nodeSelector: {disk: ssd}"), id="another label"),
        pytest.param(namespace(PROJECT) + deployment(BATCH, where=""), id="no namespace"),
        pytest.param(namespace(PROJECT) + deployment(BATCH, where=", namespace: store"), id="another namespace"),
        pytest.param(namespace("openshift.io/node-selector: ''") + deployment(BATCH), id="empty"),
        pytest.param(SCHEDULER + namespace("openshift.io/node-selector: ''") + deployment(BATCH), id="empty switches the default off"),
        pytest.param(SCHEDULER + deployment(BATCH), id="the default, of a namespace that may say otherwise"),
        pytest.param(SCHEDULER.replace("web", "x") + SCHEDULER + namespace() + deployment(BATCH), id="two clusters"),
        pytest.param(namespace(PROJECT) + namespace() + deployment(BATCH), id="another object says nothing"),
        pytest.param(namespace(PROJECT) + namespace(PROJECT.replace("web", "x")) + deployment(BATCH), id="another object says otherwise"),
        pytest.param(namespace(PROJECT.replace("web", "${TIER}")) + deployment(BATCH), id="to be filled in"),
        pytest.param(namespace(PROJECT) + deployment("nodeSelector: {tier: '${TIER}'}"), id="to be filled in by the workload"),
        pytest.param(
            namespace(f"{PROJECT}, scheduler.alpha.kubernetes.io/node-selector: ''") + deployment(BATCH), id="left to PodNodeSelector"
        ),
        pytest.param(namespace("scheduler.alpha.kubernetes.io/node-selector: ''") + deployment(BATCH), id="PodNodeSelector, nothing"),
    ],
)
def test_silent(manifests: str) -> None:
    assert messages_of(manifests, RULE) == []


def test_the_default_of_the_cluster_counts_where_the_namespace_says_nothing() -> None:
    [found] = messages_of(SCHEDULER + namespace() + deployment(BATCH), RULE)
    assert found.endswith("they require `tier=batch`, but `defaultNodeSelector` of Scheduler cluster sets `tier=web`")


def test_the_plugin_of_kubernetes_may_be_off() -> None:
    text = namespace("scheduler.alpha.kubernetes.io/node-selector: tier=web") + deployment(BATCH)
    messages = (
        "rejects these pods: they require `tier=batch`, but `scheduler.alpha.kubernetes.io/node-selector` of namespace shop sets `tier=web`"
    )
    assert messages_of(text, RULE) == [f"13:28 the admission plugin PodNodeSelector, where it is enabled, {messages}"]
    assert messages_of(text, RULE, target=ON) == [f"13:28 the admission plugin PodNodeSelector {messages}"]


def test_required_node_affinity_that_the_label_of_the_namespace_contradicts() -> None:
    terms = "nodeSelectorTerms: [{matchExpressions: [{key: tier, operator: In, values: [batch]}]}%s]"
    affinity = f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{{terms}}}}}}}"
    [found] = messages_of(namespace(PROJECT) + deployment(affinity % ""), RULE)
    restricts = "`openshift.io/node-selector` of namespace shop restricts these pods to nodes with `tier=web`"
    assert found == f"13:103 {restricts}, but no such node satisfies `tier In [batch]`"
    other = ", {matchExpressions: [{key: disk, operator: Exists}]}"
    assert messages_of(namespace(PROJECT) + deployment(affinity % other), RULE) == []


ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist: "


@pytest.mark.parametrize(
    ("allowed", "toleration", "refused"),
    [
        ('[{"key": "a", "operator": "Exists"}]', "{key: b, operator: Exists}", True),
        ('[{"key": "a", "operator": "Exists"}]', "{key: a, value: x, effect: NoSchedule}", False),
        ('[{"operator": "Exists"}]', "{key: b, value: x}", False),
        ('[{"key": "a", "value": "x"}]', "{key: a, value: y}", True),
        ('[{"key": "a", "value": "x"}]', "{key: a, operator: Equal, value: x, effect: NoExecute}", False),
        ('[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]', "{key: a, operator: Exists}", True),
        (
            '[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]',
            "{key: a, operator: Exists, effect: NoExecute}",
            True,
        ),
        ("[]", "{key: b, operator: Exists}", False),
    ],
)
def test_a_toleration_that_the_namespace_does_not_allow(allowed: str, toleration: str, refused: bool) -> None:
    found = messages_of(namespace(f"{ALLOWED}'{allowed}'") + deployment(f"tolerations: [{toleration}]"), RULE)
    assert bool(found) is refused


@pytest.mark.parametrize(
    ("annotation", "severity", "message"),
    [
        ("openshift.io/node-selector: node-role.kubernetes.io/infra", "error", "not a list of key=value: OpenShift rejects every pod"),
        ("openshift.io/node-selector: 'a=b,'", "error", "not a list of key=value"),
        ("openshift.io/node-selector: 'a in (b)'", "error", "not a list of key=value"),
        ("openshift.io/node-selector: 'node-role.kubernetes.io/infra='", "", ""),
        ("openshift.io/node-selector: ' a = b , c=d'", "", ""),
        ("openshift.io/node-selector: '${X}'", "", ""),
        ("scheduler.alpha.kubernetes.io/node-selector: a", "warning", "the admission plugin PodNodeSelector rejects every pod"),
        ("scheduler.alpha.kubernetes.io/defaultTolerations: '{}'", "warning", "`{}` is not a JSON list of tolerations"),
        ("scheduler.alpha.kubernetes.io/defaultTolerations: ''", "", ""),
    ],
)
def test_an_annotation_that_cannot_be_parsed(annotation: str, severity: str, message: str) -> None:
    found = [each for each in linting.lint(namespace(annotation)) if each.rule == "invalid-annotation"]
    assert [each.severity for each in found] == ([severity] if severity else [])
    assert all(message in each.message for each in found)


# On nodes.

BATCHES = "openshift.io/node-selector: tier=batch"
NODES = """
- {name: w1, labels: {tier: web}}
- {name: w2, labels: {tier: batch}, taints: [{key: batch, effect: NoSchedule}]}
"""


def placed(manifests: str, *, complete: bool = False) -> list[str]:
    found = lint(NODES, manifests, complete=complete)
    return [each.message for each in found if each.rule in ("unschedulable", "untolerated-control-plane")]


def test_what_a_namespace_gives_counts_on_nodes() -> None:
    assert placed(deployment("nodeSelector: {}")) == []
    assert placed(namespace(BATCHES) + deployment("nodeSelector: {}")) == [
        "the pod fits none of the 2 nodes: 1 node has the untolerated taint batch:NoSchedule, 1 lacks tier=batch"
    ]
    [found] = [each for each in lint(NODES, namespace(BATCHES) + deployment("nodeSelector: {}")) if each.rule == "unschedulable"]
    assert [(place.span.line, place.message) for place in found.related] == [
        (3, "openshift.io/node-selector of namespace shop adds `tier=batch` to the nodeSelector")
    ]
    default = SCHEDULER.replace("web", "batch")
    assert len(placed(default + namespace() + deployment("nodeSelector: {}"))) == 1


def test_nothing_is_proved_by_what_may_not_be_obeyed() -> None:
    default = SCHEDULER.replace("web", "batch")
    assert placed(default + deployment("nodeSelector: {}")) == []
    assert placed(namespace("scheduler.alpha.kubernetes.io/node-selector: tier=batch") + deployment("nodeSelector: {}")) == []
