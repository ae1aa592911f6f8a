"""Whatever the nodes and the workloads are, rules about nodes and placement end with findings, not with a fault."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.findings.finding import SEVERITIES, Finding
from afflint.inventory.node_files import NodeFileError
from linting import findings_of, settings_of
from node_text import read_nodes

KEYS = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "disk",
    "Disk",
    "node.cluster.x-k8s.io/esxi-host",
]
VALUES = ["a", "b", "east", "East", ""]
APPS = ["web", "till"]

# Plain data of any shape, for where something else is expected.
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "web", "Exists", "${X}", "1e3"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*KEYS, "key", "labelSelector", "values"]), inner, max_size=2)
    ),
    max_leaves=4,
)
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=4)
taints = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["gpu", "dedicated"]), "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])}
    ),
    max_size=2,
)
node = st.fixed_dictionaries({"labels": labels}, optional={"taints": taints, "unschedulable": st.booleans()})
selector: st.SearchStrategy[Any] = st.none() | st.just({}) | st.builds(lambda app: {"matchLabels": {"app": app}}, st.sampled_from(APPS))
term = st.fixed_dictionaries(
    {"topologyKey": st.sampled_from(KEYS), "labelSelector": selector},
    optional={"namespaces": st.just(["shop"]), "namespaceSelector": st.just({}), "matchLabelKeys": st.just(["pod-template-hash"])},
)
pod_affinity = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(term, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(
            st.fixed_dictionaries({"weight": st.integers(1, 100), "podAffinityTerm": term}), max_size=1
        ),
    },
)
expression = st.fixed_dictionaries(
    {
        "key": st.sampled_from(KEYS),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt"]),
        "values": st.lists(st.sampled_from(VALUES), max_size=2),
    }
)
node_affinity = st.builds(
    lambda found: {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": found}]}},
    st.lists(expression, max_size=2),
)
constraint = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 2),
        "topologyKey": st.sampled_from(KEYS),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": selector,
    },
    optional={"minDomains": st.integers(1, 4), "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"])},
)
pod_spec = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": labels,
        "nodeName": st.sampled_from(["n0", "gone"]),
        "tolerations": st.lists(st.just({"operator": "Exists"}), max_size=1),
        "affinity": st.fixed_dictionaries(
            {}, optional={"nodeAffinity": node_affinity, "podAffinity": pod_affinity, "podAntiAffinity": pod_affinity}
        ),
        "topologySpreadConstraints": st.lists(constraint, max_size=2),
        "evictionStrategy": st.just("LiveMigrate"),
    },
)
KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "Pod": "v1",
    "VirtualMachineInstanceReplicaSet": "kubevirt.io/v1",
    "VirtualMachine": "kubevirt.io/v1",
}


def manifest(kind: str, app: str, replicas: Any, spec: dict[str, Any]) -> dict[str, Any]:
    spec = {**spec, **({"domain": {}} if KINDS[kind].startswith("kubevirt") else {"containers": [{"name": "c", "image": "i"}]})}
    metadata = {"name": app, "namespace": "shop", "labels": {"app": app}}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
    template = {"metadata": {"labels": {"app": app}}, "spec": spec}
    own = {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": template}
    return {"apiVersion": KINDS[kind], "kind": kind, "metadata": metadata, "spec": own}


def workloads(spec: st.SearchStrategy[dict[str, Any]], replicas: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.builds(manifest, st.sampled_from(sorted(KINDS)), st.sampled_from(APPS), replicas, spec), min_size=1, max_size=3)


def findings(nodes: list[dict[str, Any]], objects: list[dict[str, Any]]) -> list[Finding]:
    inventory = json.dumps({"nodes": [{"name": f"n{number}", **each} for number, each in enumerate(nodes)]}).encode()
    data = {"a.yaml": "\n---\n".join(map(json.dumps, objects)).encode(), "nodes.yaml": inventory}
    return findings_of(data, settings_of(), nodes=["nodes.yaml"])


few_examples = settings(max_examples=120, derandomize=True)


@few_examples
@given(st.lists(node, min_size=1, max_size=5), workloads(pod_spec, st.integers(0, 4)))
def test_small_clusters(nodes: list[dict[str, Any]], objects: list[dict[str, Any]]) -> None:
    for finding in findings(nodes, objects):
        assert finding.severity in SEVERITIES
        assert finding.message
        assert "None" not in finding.message
        assert "  " not in finding.message
        assert finding.span.line >= 1
        assert finding.help.endswith(".")


@few_examples
@given(st.dictionaries(st.sampled_from(["name", "labels", "taints", "unschedulable", "allocatable", "kind"]), ANYTHING))
def test_an_inventory_of_any_shape_is_read_or_refused_with_its_place(entry: dict[str, Any]) -> None:
    complaint = ""
    try:
        found = [node.name for node in read_nodes("nodes.yaml", json.dumps({"nodes": [entry]}).encode())]
    except NodeFileError as error:
        found, complaint = [], str(error)
    assert complaint.startswith("nodes.yaml:1:") or found == [entry["name"]]
