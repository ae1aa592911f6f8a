"""From what an object says about its pods to these pods: their names, labels, owners, and what controllers add to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

from afflint.controllers.launcher_selectors import Launcher, launcher_notes, launcher_of
from afflint.controllers.pod_labels import fields_of, filled, spelled
from afflint.controllers.pod_source import CONTAINER_FIELDS, PLACEMENT_FIELDS, RESOURCE_FIELDS, PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import POD_TEMPLATE_HASH, AddedLabel
from afflint.kube.constraints import REQUIRED
from afflint.kube.selectors import Malformed, parse_label_selector
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.decoding import InventoryError
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.pods import Pod
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

Object = dict[str, Any]

MOST_REPLICAS = 1000
"""How many pods of one workload are made. More would only repeat what these show, and a manifest may ask for two billion."""

# What pods of a DaemonSet tolerate so that they stay where others are driven away.
_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_DAEMON_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")
# The admission plugin DefaultTolerationSeconds lets every pod stay on such a node for a while, hence also go there.
_DEFAULT_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_HASH_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


# --- to pods -----------------------------------------------------------------------------------------------------------


def revision_hash(maker: PodSource, revision: int = 0) -> str:
    """What controllers put into names and labels of all pods of one revision. Any value will do, so long as revisions differ."""
    return _letters(f"{maker.group}/{maker.key}/{revision}")


def owner(maker: PodSource) -> Object | None:
    """The ReplicaSet, StatefulSet or ReplicationController whose selector the scheduler spreads the pods by; None if there is none.

    For a Deployment it is the ReplicaSet of the current revision, which selects by pod-template-hash as well.
    """
    kind, name, selector = _owner_reference(maker, 0)[1], maker.name, maker.selector
    if kind == "ReplicationController":
        selector = maker.labels if selector is None else selector
        if not (isinstance(selector, Mapping) and all(type(value) is str for value in selector.values())):
            return None
    elif kind in ("ReplicaSet", "StatefulSet"):
        if not isinstance(selector, dict) or isinstance(parse_label_selector(selector), Malformed):
            return None
        if maker.kind in ("Deployment", "Rollout"):
            name = f"{maker.name}-{revision_hash(maker)}"
            labels = {**(selector.get("matchLabels") or {}), _hash_label(maker): revision_hash(maker)}
            selector = {**selector, "matchLabels": labels}
    else:
        return None
    return {"kind": kind, "metadata": {"name": name, "namespace": maker.namespace}, "spec": {"selector": selector}}


def template_pod(
    maker: PodSource, cluster: Cluster, name: str = "", *, index: int = 0, revision: int = 0, launcher: Launcher | None = None
) -> Object:
    """One pod of the workload as a cluster with these nodes would hold it, tied to no particular node.

    Raises InventoryError for a VM whose resources make no sense, if resources count.
    """
    labels = _labels(maker, index, revision)
    if maker.kubevirt:
        launcher = launcher or launcher_of(maker, cluster)
        spec, labels = {**launcher.spec}, {**labels, **launcher.labels}
    else:
        fields = (*PLACEMENT_FIELDS, *CONTAINER_FIELDS, *(RESOURCE_FIELDS if cluster.resources else ()))
        spec = {field: maker.pod[field] for field in fields if maker.pod.get(field) is not None}
    spec["tolerations"] = _tolerations(maker, spec.get("tolerations"))
    api_version, kind, owner_name = _owner_reference(maker, revision)
    metadata: Object = {"name": name, "namespace": maker.namespace, "labels": labels, "annotations": dict(maker.annotations)}
    if kind:
        metadata["ownerReferences"] = [{"apiVersion": api_version, "kind": kind, "name": owner_name, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def read_template(
    maker: PodSource, cluster: Cluster, name: str, *, index: int = 0, revision: int = 0, launcher: Launcher | None = None
) -> Pod:
    """The same, compiled."""
    if not maker.kubevirt:
        return cluster.read(template_pod(maker, cluster, name, index=index, revision=revision))
    launcher = launcher or launcher_of(maker, cluster)
    pod = cluster.read(template_pod(maker, cluster, name, index=index, revision=revision, launcher=launcher))
    return pod._replace(added=launcher.added)


def make_pods(maker: PodSource, cluster: Cluster) -> list[Object]:
    """The pods of the workload as its controller makes them: its replicas, or one per eligible node for a DaemonSet.

    Names count up from 0 (``web-0``). Raises InventoryError for a DaemonSet whose template no scheduler could read.
    """
    if maker.daemon:
        if not maker.replicas:
            return []
        template = template_pod(maker, cluster)
        return [_tied(template, pod_name(maker, node), node) for node in fitting_nodes(cluster, cluster.read(template))]
    return [template_pod(maker, cluster, pod_name(maker, index), index=index) for index in range(min(maker.replicas, MOST_REPLICAS))]


def notes(maker: PodSource, cluster: Cluster) -> tuple[str, ...]:
    """What was assumed or left out when the pods were made."""
    found = list(maker.notes)
    if maker.kubevirt:
        found += launcher_notes(maker, cluster)
    if maker.replicas > MOST_REPLICAS and not maker.daemon:
        found.append(f"{MOST_REPLICAS} of its {maker.replicas} replicas are shown")
    return tuple(found)


def pod_name(maker: PodSource, which: int | str) -> str:
    """How a pod is called: a count for replicas, the node for a DaemonSet, the manifest's own name for a Pod."""
    if maker.kind == "Pod":
        return maker.name
    if maker.kind in ("VirtualMachine", "VirtualMachineInstance"):
        return f"virt-launcher-{maker.name}"
    if isinstance(which, str):
        return f"{maker.name}-{which}"
    numbers = _numbers(maker, which)
    if maker.kind == "JobSet":
        return f"{maker.full_name}-{numbers['job']}-{numbers['ordinal']}"
    if maker.kind == "LeaderWorkerSet":
        return f"{maker.name}-{numbers['member']}"
    return f"{'virt-launcher-' if maker.kubevirt else ''}{maker.name}-{numbers['ordinal']}"


def _numbers(maker: PodSource, index: int) -> dict[str, str]:
    """Where the pods of a workload count, the numbers of the one at this index."""
    group, member = divmod(index, maker.each)
    if maker.kind == "LeaderWorkerSet":
        # The leader is the pod of its group that another StatefulSet makes.
        worker = maker.first + member
        leads = worker == 0
        name = f"{group}" if leads else f"{group}-{worker}"
        return {"group": f"{group}", "worker": f"{worker}", "member": name, "index": f"{group if leads else worker}"}
    if maker.kind == "JobSet":
        return {"job": f"{group}", "ordinal": f"{member}"}
    return {"ordinal": f"{maker.first + index}"}


# What rejects a node for what runs on the nodes, which may change.
_FOR_NOW = (None, NODE_PORTS, NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY)


def fitting_nodes(cluster: Cluster, pod: Pod) -> list[str]:
    """The nodes that the pod may use as far as the nodes alone decide, whatever else runs there: by taints, labels and names."""
    reason = cluster.evaluate(pod).reason
    return [node for node in cluster.nodes if reason.get(node) in _FOR_NOW]


# --- what controllers add ----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _letters(text: str) -> str:
    number, letters = crc32(text.encode("utf-8", "surrogatepass")) | 1 << 32, ""
    for _ in range(7):
        number, digit = divmod(number, len(_HASH_LETTERS))
        letters += _HASH_LETTERS[digit]
    return letters


def _uid(text: str) -> str:
    number = crc32(text.encode("utf-8", "surrogatepass"))
    return f"{number:08x}-0000-4000-8000-{number ^ 0xA5A5A5A5:012x}"


def _hash_label(maker: PodSource) -> str:
    return "rollouts-pod-template-hash" if maker.kind == "Rollout" else POD_TEMPLATE_HASH


def _owner_reference(maker: PodSource, revision: int) -> tuple[str, str, str]:
    """API version, kind and name of the object that controls the pods; no kind for a Pod."""
    if maker.kind in ("Deployment", "Rollout"):
        return "apps/v1", "ReplicaSet", f"{maker.name}-{revision_hash(maker, revision)}"
    if maker.kubevirt:
        return "kubevirt.io/v1", "VirtualMachineInstance", maker.name
    if maker.kind in ("Job", "CronJob", "JobSet"):
        return "batch/v1", "Job", maker.full_name
    if maker.kind == "ReplicationController":
        return "v1", "ReplicationController", maker.name
    if maker.kind == "Pod":
        return "", "", ""
    # StatefulSet and DaemonSet exist in apps and elsewhere; the scheduler knows those of apps alone.
    return f"{maker.group}/v1", maker.kind, maker.name


def _labels(maker: PodSource, index: int, revision: int) -> dict[str, str]:
    """All labels of one pod. What only a cluster could tell is made up: equal for pods that share it, and different for others."""
    return filled(_added(maker), maker.labels, lambda name: _field(maker, index, revision, name))


def _added(maker: PodSource) -> Sequence[AddedLabel]:
    """What the controllers add to the labels, with the names of machines spelled out."""
    if not maker.kubevirt:
        return maker.added
    hostname = maker.pod.get("hostname")
    hostname = hostname if type(hostname) is str else None
    return [label._replace(value=spelled(label.value, maker.kind, hostname)) for label in maker.added]


def _field(maker: PodSource, index: int, revision: int, name: str) -> str:
    """What a field of the table of added labels is on one pod."""
    if name == "hash":
        return revision_hash(maker, revision)
    if name in _ALIKE:
        return _ALIKE[name]
    if name in ("name", "guest", "part"):
        return maker.part if name == "part" else maker.name if name == "name" else maker.name.split(".")[0]
    numbers = _numbers(maker, index)
    if name in numbers:
        return numbers[name]
    # Each virtual machine has a UID of its own, the pods of a Job that of the Job.
    alone = f"{maker.key}/{index}/{revision}" if maker.kubevirt else f"{maker.key}/{numbers.get('job', '')}"
    return _uid(alone) if name == "uid" else _letters(alone)[:5]


# What nobody can tell, and of which any value will do. The Jobs of a CronJob are named by the minute for which they were due, since 1970.
_ALIKE = {"generation": "1", "number": "1", "minute": "29000000", "unknown": "unknown"}
# What is the same on all pods of one revision.
_SHARED = frozenset(("hash", "name", "guest", "part", *_ALIKE))


def _are_alike(maker: PodSource) -> bool:
    """Whether all pods of one revision have the same labels."""
    shared = _SHARED if maker.kubevirt or maker.kind == "JobSet" else _SHARED | {"uid", "random"}
    return all(shared.issuperset(fields_of(label.value)) for label in _added(maker))


def _tolerations(maker: PodSource, own: object) -> object:
    if own is None:
        own = []
    if not isinstance(own, list):
        return own
    added: list[Object] = []
    if maker.daemon:
        wanted = (*_DAEMON_TOLERATIONS, _DAEMON_NETWORK) if maker.pod.get("hostNetwork") is True else _DAEMON_TOLERATIONS
        added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in wanted]
    for key in _DEFAULT_TOLERATIONS:
        if not any(_covers(toleration, key) for toleration in (*own, *added)):
            added.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    return [*own, *added]


def _covers(toleration: object, key: str) -> bool:
    if not isinstance(toleration, dict):
        return False
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _tied(template: Object, name: str, node: str) -> Object:
    """A DaemonSet's pod for one node: its controller replaces whatever required node affinity the template has."""
    affinity = template["spec"].get("affinity") or {}
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    node_affinity = {**(affinity.get("nodeAffinity") or {}), REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}
    spec = {**template["spec"], "affinity": {**affinity, "nodeAffinity": node_affinity}}
    return {**template, "metadata": {**template["metadata"], "name": name}, "spec": spec}


class CompiledPods(NamedTuple):
    """The pods of a workload, read once. ``template`` is a pod of it without a name, None when ``error`` says why it cannot be read.

    For a DaemonSet each pod of ``pods`` is meant for the node of the same position in ``nodes``, and is not tied to it by an
    affinity of its own: the pods share their constraints, which spares a decision per node and pod.
    """

    pods: tuple[Pod, ...]
    template: Pod | None
    nodes: tuple[str, ...] = ()
    error: str | None = None


def compile_pods(maker: PodSource, cluster: Cluster) -> CompiledPods:
    """The pods of a workload, ready for the scheduler. Pods that differ in their names alone share all else."""
    if maker.refused:
        return CompiledPods((), None, error=maker.refused)
    try:
        launcher = launcher_of(maker, cluster) if maker.kubevirt else None
        template = read_template(maker, cluster, pod_name(maker, 0), launcher=launcher)
        if maker.daemon:
            nodes = tuple(fitting_nodes(cluster, template)) if maker.replicas else ()
            return CompiledPods(tuple([template._replace(name=pod_name(maker, node)) for node in nodes]), template, nodes)
        count = min(maker.replicas, MOST_REPLICAS)
        if count > 1 and not _are_alike(maker):
            names = [pod_name(maker, index) for index in range(count)]
            made = [read_template(maker, cluster, name, index=index, launcher=launcher) for index, name in enumerate(names)]
            return CompiledPods(tuple(made), template)
        return CompiledPods(tuple([template._replace(name=pod_name(maker, index)) for index in range(count)]), template)
    except InventoryError as error:
        return CompiledPods((), None, error=str(error))
