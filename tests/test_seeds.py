"""Advice from guides about the placement of virtual machines: manifests that do the opposite are reported, with the position.

Each row is one piece of advice: manifests that go against it, the finding they get, and the same manifests fixed, which get none.
"""

from typing import NamedTuple

import pytest

from afflint.checks.match import Target
from afflint.kube import NEWEST
from linting import lint, places

Files = dict[str, str] | str


class Advice(NamedTuple):
    """Manifests against the advice, the position and rule of the finding, and the fixed manifests."""

    bad: Files
    expected: list[str]
    good: Files
    also: str | None = None


def virtual_machine(name: str, *constraints: str, own: str = "", template: str = "", strategy: str = "Always") -> str:
    """A VirtualMachine; ``own`` and ``template`` are metadata in flow style, the constraints are from line 9 on."""
    lines = "".join(f"      {line}\n" for line in constraints)
    return f"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}, namespace: ledger{own and ", "}{own}}}
spec:
  runStrategy: {strategy}
  template:
    metadata: {{{template}}}
    spec:
{lines}      domain: {{memory: {{guest: 2Gi}}, devices: {{interfaces: [{{name: default, masquerade: {{}}}}]}}}}
      networks: [{{name: default, pod: {{}}}}]
"""


def term(kind: str, selector: str, key: str) -> tuple[str, ...]:
    """A required pod (anti-)affinity term, whose topology key is on the fifth line."""
    label, value = selector.split(": ")
    return (
        "affinity:",
        f"  {kind}:",
        "    requiredDuringSchedulingIgnoredDuringExecution:",
        f"      - labelSelector: {{matchExpressions: [{{key: {label}, operator: In, values: [{value}]}}]}}",
        f"        topologyKey: {key}",
    )


def preferred(key: str, weight: str = "100") -> tuple[str, ...]:
    return (
        "affinity:",
        "  podAntiAffinity:",
        "    preferredDuringSchedulingIgnoredDuringExecution:",
        f"      - weight: {weight}",
        "        podAffinityTerm:",
        "          labelSelector: {matchLabels: {app: ledger}}",
        f"          topologyKey: {key}",
    )


HOST, ZONE, LABELLED = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "labels: {app: ledger}"

# Three virtual machines: a report beside the ledger, an audit away from it. The label of the ledger is where it reaches no pod.
LAB = {
    "report.yaml": virtual_machine("report", *term("podAffinity", "app: ledger", HOST), strategy="Manual"),
    "audit.yaml": virtual_machine("audit", *term("podAntiAffinity", "app: ledger", HOST), strategy="Manual"),
}
MISPLACED = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: ledger
  namespace: ledger
  labels:
    app.kubernetes.io/instance: accounting
    app: ledger
spec:
  runStrategy: Manual
  template:
    metadata:
      labels:
        network.kubevirt.io/headlessService: headless
    spec:
      domain: {memory: {guest: 2Gi}, devices: {}}
"""
PLACED = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: ledger
  namespace: ledger
  labels:
    app.kubernetes.io/instance: accounting
spec:
  runStrategy: Manual
  template:
    metadata:
      labels:
        app: ledger
        network.kubevirt.io/headlessService: headless
    spec:
      domain: {memory: {guest: 2Gi}, devices: {}}
"""

SPREAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: ledger}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: ledger}}}}
  template:
    metadata: {{labels: {{app: ledger}}}}
    spec:
      containers: [{{name: ledger, image: busybox}}]
      topologySpreadConstraints:
        - maxSkew: {skew}
          topologyKey: node.cluster.x-k8s.io/esxi-host
          whenUnsatisfiable: DoNotSchedule
{rest}"""


def spread(skew: str, *rest: str) -> str:
    if rest and "matchLabelKeys" not in "".join(rest):
        rest = (*rest, "matchLabelKeys: [pod-template-hash]")
    return SPREAD.format(skew=skew, rest="".join(f"          {line}\n" for line in rest))


PREFERENCE = (
    "affinity:",
    "  nodeAffinity:",
    "    preferredDuringSchedulingIgnoredDuringExecution:",
    "      - weight: {weight}",
    "        preference: {{matchExpressions: [{{key: {key}, operator: {operator}, values: [{value}]}}]}}",
)


def preference(weight: str, key: str = "zone", operator: str = "In", value: str = "east") -> str:
    filled = (line.format(weight=weight, key=key, operator=operator, value=value) if "{" in line else line for line in PREFERENCE)
    return virtual_machine("ledger", *filled)


def deployment(name: str, *terms: str) -> str:
    lines = "".join(f"          - {each}\n" for each in terms)
    required = "      affinity:\n        podAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n"
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: c, image: busybox}}]
{required + lines if terms else ""}"""


ADVICE: dict[str, Advice] = {
    # Labels.
    "labels of a VM belong under spec.template.metadata.labels, not under metadata.labels": Advice(
        {**LAB, "ledger.yaml": MISPLACED},
        ["ledger.yaml:8:5 error label-not-on-template"],
        {**LAB, "ledger.yaml": PLACED},
    ),
    "the value that is asked for is the value of the label": Advice(
        {"report.yaml": virtual_machine("report", *term("podAffinity", "app: legder", HOST)), "ledger.yaml": PLACED},
        ["report.yaml:12:15 warning affinity-target-missing"],
        {"report.yaml": virtual_machine("report", *term("podAffinity", "app: ledger", HOST)), "ledger.yaml": PLACED},
    ),
    "virt-controller has labels of its own": Advice(
        virtual_machine("ledger", template="labels: {kubevirt.io: ledger}"),
        ["a.yaml:7:25 warning reserved-label"],
        virtual_machine("ledger", template="labels: {kubevirt.io/domain: ledger}"),
    ),
    # Topology keys.
    "a required term needs a topology key": Advice(
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", '""'), template=LABELLED),
        ["a.yaml:13:28 error empty-topology-key"],
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", ZONE), template=LABELLED),
    ),
    "a preferred term needs one as well: empty does not mean all topologies": Advice(
        virtual_machine("ledger", *preferred('""'), template=LABELLED),
        ["a.yaml:15:30 error empty-topology-key"],
        virtual_machine("ledger", *preferred(HOST), template=LABELLED),
    ),
    "a topology key is a legal label key": Advice(
        virtual_machine("ledger", *preferred("physical host"), template=LABELLED),
        ["a.yaml:15:30 error invalid-label-key"],
        virtual_machine("ledger", *preferred("physical-host"), template=LABELLED),
    ),
    "the label of the host is kubernetes.io/hostname": Advice(
        virtual_machine("web", *term("podAffinity", "app: cache", "topology.kubernetes.io/hostname")),
        ["a.yaml:13:28 warning unknown-node-label"],
        virtual_machine("web", *term("podAffinity", "app: cache", HOST)),
    ),
    "the zone of the first clouds is deprecated, as a topology key too": Advice(
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", "failure-domain.beta.kubernetes.io/zone"), template=LABELLED),
        ["a.yaml:13:28 warning deprecated-node-label"],
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", ZONE), template=LABELLED),
    ),
    "and so is the region": Advice(
        virtual_machine("ledger", "nodeSelector:", "  failure-domain.beta.kubernetes.io/region: south"),
        ["a.yaml:10:9 warning deprecated-node-label"],
        virtual_machine("ledger", "nodeSelector:", "  topology.kubernetes.io/region: south"),
    ),
    "required anti-affinity over zones is refused where LimitPodHardAntiAffinityTopology is on": Advice(
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", ZONE), template=LABELLED),
        ["a.yaml:13:28 error hard-anti-affinity-topology"],
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", HOST), template=LABELLED),
        also="hard-anti-affinity-topology",
    ),
    "preferred anti-affinity over zones is not": Advice(
        virtual_machine("ledger", *term("podAntiAffinity", "app: ledger", "rack"), template=LABELLED),
        ["a.yaml:13:28 error hard-anti-affinity-topology"],
        virtual_machine("ledger", *preferred(ZONE), template=LABELLED),
        also="hard-anti-affinity-topology",
    ),
    # Weights and preferences.
    "a weight is at least 1": Advice(preference("0"), ["a.yaml:12:23 error weight-out-of-range"], preference("1")),
    "a weight is at most 100": Advice(preference("101"), ["a.yaml:12:23 error weight-out-of-range"], preference("100")),
    "a preference never keeps a pod from running, unless the scheduler cannot read it": Advice(
        preference("75", "region", "In", '"N/A"'),
        ["a.yaml:13:84 error unparsable-preference"],
        preference("75", "region", "In", '"NA"'),
    ),
    "nodes are compared by whole numbers": Advice(
        preference("75", "cores", "Gt", '"8.5"'),
        ["a.yaml:13:83 error never-matching-comparison"],
        preference("75", "cores", "Gt", '"8"'),
    ),
    # Node constraints.
    "there is no nodeAntiAffinity: use NotIn or DoesNotExist in nodeAffinity": Advice(
        virtual_machine("ledger", "affinity:", "  nodeAntiAffinity: {}"),
        ["a.yaml:10:9 error unknown-field"],
        virtual_machine(
            "ledger",
            "affinity:",
            "  nodeAffinity:",
            "    requiredDuringSchedulingIgnoredDuringExecution:",
            "      nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: NotIn, values: [slow]}]}]",
        ),
    ),
    "a node selector belongs to the template's spec, not to that of the VM": Advice(
        virtual_machine("ledger").replace("  runStrategy", "  nodeSelector: {performance: high}\n  runStrategy"),
        ["a.yaml:5:3 error misplaced-constraint"],
        virtual_machine("ledger", "nodeSelector: {performance: high}"),
    ),
    "values of node selectors are strings": Advice(
        virtual_machine("ledger", "nodeSelector:", "  tainted: yes"),
        ["a.yaml:10:18 error wrong-type"],
        virtual_machine("ledger", "nodeSelector:", '  tainted: "yes"'),
    ),
    "Exists takes no value": Advice(
        virtual_machine("ledger", "tolerations:", "  - {key: key, operator: Exists, value: value, effect: NoSchedule}"),
        ["a.yaml:10:47 error invalid-toleration"],
        virtual_machine("ledger", "tolerations:", "  - {key: key, operator: Equal, value: value, effect: NoSchedule}"),
    ),
    # The first pod.
    "the first pod of a required affinity may go first only if it matches itself": Advice(
        {
            "a.yaml": deployment("a", "{labelSelector: {matchLabels: {app: b}}, topologyKey: kubernetes.io/hostname}"),
            "b.yaml": deployment("b", "{labelSelector: {matchLabels: {app: a}}, topologyKey: kubernetes.io/hostname}"),
        },
        ["a.yaml:14:14 error affinity-cycle", "b.yaml:14:14 error affinity-cycle"],
        {
            "a.yaml": deployment("a", "{labelSelector: {matchLabels: {app: a}}, topologyKey: kubernetes.io/hostname}"),
            "b.yaml": deployment("b", "{labelSelector: {matchLabels: {app: a}}, topologyKey: kubernetes.io/hostname}"),
        },
    ),
    "beside the cache and away from it is nowhere": Advice(
        {
            "cache.yaml": deployment("cache"),
            "web.yaml": virtual_machine(
                "web",
                *term("podAffinity", "app: cache", HOST),
                *term("podAntiAffinity", "app: cache", ZONE)[1:],
            ).replace(", namespace: ledger", ""),
        },
        ["web.yaml:12:15 error affinity-conflict"],
        {
            "cache.yaml": deployment("cache"),
            "web.yaml": virtual_machine(
                "web",
                *term("podAffinity", "app: cache", ZONE),
                *term("podAntiAffinity", "app: cache", HOST)[1:],
            ).replace(", namespace: ledger", ""),
        },
    ),
    # Migration and the descheduler.
    "a VM that is tied to a host cannot be live-migrated": Advice(
        virtual_machine("ledger", "evictionStrategy: LiveMigrate", "nodeSelector:", "  kubernetes.io/hostname: worker-2"),
        ["a.yaml:11:33 warning migration-impossible"],
        virtual_machine("ledger", "evictionStrategy: LiveMigrate", "nodeSelector:", "  performance: high"),
    ),
    "an annotation is a string": Advice(
        virtual_machine("ledger", template="annotations: {descheduler.alpha.kubernetes.io/evict: true}"),
        ["a.yaml:7:69 error annotation-not-string"],
        virtual_machine("ledger", template='annotations: {descheduler.alpha.kubernetes.io/evict: "true"}'),
    ),
    "the descheduler's annotation belongs to the template of the VM": Advice(
        virtual_machine("ledger", own='annotations: {descheduler.alpha.kubernetes.io/evict: "true"}'),
        ["a.yaml:3:59 warning misplaced-descheduler-annotation"],
        virtual_machine("ledger", template='annotations: {descheduler.alpha.kubernetes.io/evict: "true"}'),
    ),
    "only its presence counts": Advice(
        virtual_machine("ledger", template='annotations: {descheduler.alpha.kubernetes.io/prefer-no-eviction: "false"}'),
        ["a.yaml:7:82 warning misplaced-descheduler-annotation"],
        virtual_machine("ledger"),
    ),
    # Versions.
    "v1 has taken the place of v1alpha3": Advice(
        virtual_machine("ledger").replace("kubevirt.io/v1", "kubevirt.io/v1alpha3"),
        ["a.yaml:1:13 warning deprecated-kubevirt-api"],
        virtual_machine("ledger"),
    ),
    # Spread over physical hosts.
    "maxSkew is at least 1": Advice(
        spread("0", "labelSelector: {matchLabels: {app: ledger}}"),
        ["a.yaml:12:20 error invalid-spread-constraint"],
        spread("1", "labelSelector: {matchLabels: {app: ledger}}"),
    ),
    "a spread constraint counts the pods that its selector matches": Advice(
        spread("1"),
        ["a.yaml:12:11 warning selector-matches-nothing"],
        spread("1", "labelSelector: {matchLabels: {app: ledger}}"),
    ),
    "which should be its own": Advice(
        spread("1", "labelSelector: {matchLabels: {app: accounts}}"),
        ["a.yaml:15:46 warning spread-misses-itself"],
        spread("1", "labelSelector: {matchLabels: {app: ledger}}", "matchLabelKeys: [pod-template-hash]"),
    ),
}


@pytest.mark.parametrize("advice", ADVICE)
def test_manifests_against_the_advice_are_reported(advice: str) -> None:
    row = ADVICE[advice]
    found = lint(row.bad, also=row.also)
    assert places(found) == row.expected, [each.message for each in found]


@pytest.mark.parametrize("advice", ADVICE)
def test_manifests_that_follow_the_advice_are_not_reported(advice: str) -> None:
    row = ADVICE[advice]
    found = lint(row.good, also=row.also)
    assert places(found) == [], [each.message for each in found]


def test_at_the_label_the_selectors_that_need_it_are_named() -> None:
    (found,) = lint({**LAB, "ledger.yaml": MISPLACED})
    assert found.message == (
        "the label `app: ledger` is set only on the VirtualMachine itself, not on its pods;"
        " the required podAntiAffinity of VirtualMachine audit selects it, as does one more selector"
    )
    assert [(each.file, each.span.line) for each in found.related] == [("audit.yaml", 12), ("report.yaml", 12)]


def test_the_admission_plugin_is_named_with_the_cluster() -> None:
    """The command line selects the rule when the configuration names the plugin; nothing else about the target matters to it."""
    target = Target(NEWEST, admission_plugins=frozenset(("LimitPodHardAntiAffinityTopology",)))
    row = ADVICE["required anti-affinity over zones is refused where LimitPodHardAntiAffinityTopology is on"]
    assert places(lint(row.bad, also=row.also, target=target)) == row.expected
    assert lint(row.bad) == []
