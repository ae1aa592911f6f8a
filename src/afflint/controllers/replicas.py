"""The pods that a workload declares: their names, labels, owners, and what controllers add to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

from afflint.controllers.launcher_selectors import Launcher, launcher_notes, launcher_of
from afflint.controllers.pod_labels import fill_labels, label_fields, machine_label_value
from afflint.controllers.pod_source import CONTAINER_FIELDS, PLACEMENT_FIELDS, RESOURCE_FIELDS, PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import POD_TEMPLATE_HASH, ROLLOUT_HASH, AddedLabel
from afflint.kube.decoding import InventoryError
from afflint.kube.kinds import is_single_machine
from afflint.kube.selectors import Malformed, parse_label_selector
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.declared_features import NODE_DECLARED_FEATURES
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.pods import Pod
from afflint.scheduler.profile import DEFAULT_PROFILE
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD
from afflint.yaml.document import map_at, maps_at, text_at

Object = dict[str, Any]

MAX_REPLICAS = 1000
"""The most pods that are created of one workload. More would repeat the result, and a manifest may set two billion."""

# The tolerations that the DaemonSet controller adds (pkg/controller/daemon/util AddOrUpdateDaemonPodTolerations).
_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_DAEMON_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")
# The admission plugin DefaultTolerationSeconds adds these to every pod, which can therefore be scheduled on such nodes, too.
_DEFAULT_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_HASH_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


# --- to pods -----------------------------------------------------------------------------------------------------------


def revision_hash(pod_source: PodSource, revision: int = 0) -> str:
    """Return the hash that controllers put into names and labels of the pods of one revision; it only has to differ by revision.

    Revision 0 is the one that runs, if one does.
    """
    if pod_source.revision and not revision:
        return pod_source.revision
    return _letters(f"{pod_source.group}/{pod_source.key}/{revision}")


def owner(pod_source: PodSource) -> Object | None:
    """Return the ReplicaSet, StatefulSet or ReplicationController by whose selector the scheduler spreads the pods, or None.

    For a Deployment it is the ReplicaSet of the current revision, which selects by pod-template-hash as well.
    """
    kind, name, selector = _owner_reference(pod_source, 0)[1], pod_source.name, pod_source.selector
    if kind == "ReplicationController":
        selector = pod_source.labels if selector is None else selector
        if not (isinstance(selector, Mapping) and all(type(value) is str for value in selector.values())):
            return None
    elif kind in ("ReplicaSet", "StatefulSet"):
        if not isinstance(selector, dict) or isinstance(parse_label_selector(selector), Malformed):
            return None
        if pod_source.kind in ("Deployment", "Rollout"):
            name = f"{pod_source.name}-{revision_hash(pod_source)}"
            labels = {**(selector.get("matchLabels") or {}), _hash_label(pod_source): revision_hash(pod_source)}
            selector = {**selector, "matchLabels": labels}
    else:
        return None
    return {"kind": kind, "metadata": {"name": name, "namespace": pod_source.namespace}, "spec": {"selector": selector}}


def template_pod(
    pod_source: PodSource, cluster: Cluster, name: str = "", *, index: int = 0, revision: int = 0, launcher: Launcher | None = None
) -> Object:
    """Return one pod of a workload as a cluster with these nodes stores it, not bound to a node.

    Raises InventoryError if ``cluster`` counts resources and the resources of a VM are malformed.
    """
    labels = fill_labels(_added(pod_source), pod_source.labels, lambda name: _field(pod_source, index, revision, name))
    if pod_source.kubevirt:
        launcher = launcher or launcher_of(pod_source, cluster)
        spec, labels = {**launcher.spec}, {**labels, **launcher.labels}
    else:
        fields = (*PLACEMENT_FIELDS, *CONTAINER_FIELDS, *(RESOURCE_FIELDS if cluster.resources else ()))
        spec = {field: pod_source.pod[field] for field in fields if pod_source.pod.get(field) is not None}
    spec["tolerations"] = _tolerations(pod_source, spec.get("tolerations"))
    api_version, kind, owner_name = _owner_reference(pod_source, revision)
    metadata: Object = {"name": name, "namespace": pod_source.namespace, "labels": labels, "annotations": dict(pod_source.annotations)}
    if kind:
        metadata["ownerReferences"] = [{"apiVersion": api_version, "kind": kind, "name": owner_name, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def compile_template(
    pod_source: PodSource, cluster: Cluster, name: str, *, index: int = 0, revision: int = 0, launcher: Launcher | None = None
) -> Pod:
    """Return ``template_pod`` compiled for the scheduler."""
    if not pod_source.kubevirt:
        return cluster.read(template_pod(pod_source, cluster, name, index=index, revision=revision))
    launcher = launcher or launcher_of(pod_source, cluster)
    pod = cluster.read(template_pod(pod_source, cluster, name, index=index, revision=revision, launcher=launcher))
    return pod._replace(added=launcher.added)


def notes(pod_source: PodSource, cluster: Cluster) -> tuple[str, ...]:
    """Return what was assumed or ignored when the pods were created."""
    lines = list(pod_source.notes)
    if pod_source.kubevirt:
        lines += launcher_notes(pod_source, cluster)
    if pod_source.replicas > MAX_REPLICAS and not pod_source.daemon:
        lines.append(f"{MAX_REPLICAS} of its {pod_source.replicas} replicas are shown")
    return tuple(lines)


def pod_name(pod_source: PodSource, which: int | str) -> str:
    """Return the name of a pod: with an ordinal for replicas, the node for a DaemonSet, the manifest's own for a Pod."""
    if pod_source.kind == "Pod":
        return pod_source.name
    if is_single_machine(pod_source.kind):
        return f"virt-launcher-{pod_source.name}"
    if isinstance(which, str):
        return f"{pod_source.name}-{which}"
    numbers = _numbers(pod_source, which)
    if pod_source.kind == "JobSet":
        return f"{pod_source.full_name}-{numbers['job']}-{numbers['ordinal']}"
    if pod_source.kind == "LeaderWorkerSet":
        return f"{pod_source.name}-{numbers['member']}"
    return f"{'virt-launcher-' if pod_source.kubevirt else ''}{pod_source.name}-{numbers['ordinal']}"


def _numbers(pod_source: PodSource, index: int) -> dict[str, str]:
    """Return the ordinals and group numbers of the pod at this index, by field."""
    group, member = divmod(index, pod_source.each)
    if pod_source.kind == "LeaderWorkerSet":
        # The leaders belong to another StatefulSet than the workers of their group.
        worker = pod_source.first + member
        leads = worker == 0
        name = f"{group}" if leads else f"{group}-{worker}"
        return {"group": f"{group}", "worker": f"{worker}", "member": name, "index": f"{group if leads else worker}"}
    if pod_source.kind == "JobSet":
        return {"job": f"{group}", "ordinal": f"{member}"}
    return {"ordinal": f"{pod_source.first + index}"}


# What the DaemonSet controller ignores: the pods that run on a node, and the features of its kubelet.
_CHANGEABLE_REASONS = (None, NODE_PORTS, NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY, NODE_DECLARED_FEATURES)


def fitting_nodes(cluster: Cluster, pod: Pod) -> list[str]:
    """Return the nodes that taints, labels and names let the pod run on, whatever else runs there.

    The DaemonSet controller decides this without the configuration of the scheduler.
    """
    reason = cluster.evaluate(pod._replace(rules=pod.rules._replace(profile=DEFAULT_PROFILE))).reason
    return [node for node in cluster.nodes if reason.get(node) in _CHANGEABLE_REASONS]


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


def _hash_label(pod_source: PodSource) -> str:
    return ROLLOUT_HASH if pod_source.kind == "Rollout" else POD_TEMPLATE_HASH


def _owner_reference(pod_source: PodSource, revision: int) -> tuple[str, str, str]:
    """Return API version, kind and name of the object that controls the pods; no kind for a Pod."""
    if pod_source.kind in ("Deployment", "Rollout"):
        return "apps/v1", "ReplicaSet", f"{pod_source.name}-{revision_hash(pod_source, revision)}"
    if pod_source.kubevirt:
        return "kubevirt.io/v1", "VirtualMachineInstance", pod_source.name
    if pod_source.kind in ("Job", "CronJob", "JobSet"):
        return "batch/v1", "Job", pod_source.full_name
    if pod_source.kind == "ReplicationController":
        return "v1", "ReplicationController", pod_source.name
    if pod_source.kind == "Pod":
        return "", "", ""
    # StatefulSet and DaemonSet exist in apps and other groups; the scheduler supports only those of apps.
    return f"{pod_source.group}/v1", pod_source.kind, pod_source.name


def _added(pod_source: PodSource) -> Sequence[AddedLabel]:
    """Return the labels that controllers add, with the names of VMs filled in."""
    if not pod_source.kubevirt:
        return pod_source.added
    hostname = pod_source.pod.get("hostname")
    hostname = hostname if type(hostname) is str else None
    return [label._replace(value=machine_label_value(label.value, pod_source.kind, hostname)) for label in pod_source.added]


def _field(pod_source: PodSource, index: int, revision: int, name: str) -> str:
    """Return the value of a field of the added labels for one pod."""
    if name == "hash":
        return revision_hash(pod_source, revision)
    if name in _ARBITRARY_FIELDS:
        return _ARBITRARY_FIELDS[name]
    if name in ("name", "guest", "part"):
        return pod_source.part if name == "part" else pod_source.name if name == "name" else pod_source.name.split(".")[0]
    numbers = _numbers(pod_source, index)
    if name in numbers:
        return numbers[name]
    # Each virtual machine has its own UID; the pods of a Job have that of the Job.
    alone = f"{pod_source.key}/{index}/{revision}" if pod_source.kubevirt else f"{pod_source.key}/{numbers.get('job', '')}"
    return _uid(alone) if name == "uid" else _letters(alone)[:5]


# Fields whose value is unknown and arbitrary. The Jobs of a CronJob are named by their scheduled time, in minutes since 1970.
_ARBITRARY_FIELDS = {"generation": "1", "number": "1", "minute": "29000000", "unknown": "unknown"}
# Fields with the same value on all pods of one revision.
_SHARED_FIELDS = frozenset(("hash", "name", "guest", "part", *_ARBITRARY_FIELDS))


def _are_alike(pod_source: PodSource) -> bool:
    """Return whether all pods of one revision have the same labels."""
    shared = _SHARED_FIELDS if pod_source.kubevirt or pod_source.kind == "JobSet" else _SHARED_FIELDS | {"uid", "random"}
    return all(shared.issuperset(label_fields(label.value)) for label in _added(pod_source))


def _tolerations(pod_source: PodSource, own: object) -> object:
    if own is None:
        own = []
    if not isinstance(own, list):
        return own
    added: list[Object] = []
    if pod_source.daemon:
        wanted = (*_DAEMON_TOLERATIONS, _DAEMON_NETWORK) if pod_source.pod.get("hostNetwork") is True else _DAEMON_TOLERATIONS
        added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in wanted]
    for key in _DEFAULT_TOLERATIONS:
        if not any(_covers(toleration, key) for toleration in (*own, *added)):
            added.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    return [*own, *added]


def _covers(toleration: object, key: str) -> bool:
    if not isinstance(toleration, dict):
        return False
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def recreated_pod(pod_source: PodSource, index: int, running: Pod, data: object, template: Pod) -> Pod:
    """Return the pod that the controller creates in place of a running one, which keeps its name.

    ``template`` is the pod at this index from the template of the workload, ``data`` the running pod as parsed. What the cluster has
    added to the running pod stays: labels, volumes, and the requests of added containers or of an autoscaler. Semantics:
    `newVersionedStatefulSetPod` for the partition of a StatefulSet; the template of a Job cannot change.
    """
    partition = map_at(pod_source.strategy, "rollingUpdate").get("partition") if pod_source.kind == "StatefulSet" else None
    keeps_ordinal = type(partition) is int and pod_source.first + index < partition and pod_source.strategy.get("type") != "OnDelete"
    if pod_source.paused or keeps_ordinal or pod_source.kind in ("CronJob", "JobSet"):
        return running
    labels = {**running.labels, **pod_source.labels}
    names = {text_at(each, "name") for field in CONTAINER_FIELDS for each in maps_at(pod_source.pod, field)}
    added = any(text_at(each, "name") not in names for field in CONTAINER_FIELDS for each in maps_at(data, "spec", field))
    sized = running if added or "vpaUpdates" in map_at(data, "metadata", "annotations") else template
    return template._replace(
        name=running.name,
        labels=labels,
        subject=running.subject._replace(labels=frozenset(labels.items())),
        controller=running.controller,
        rules=template.rules._replace(node_name=""),
        requests=sized.requests,
        rated=sized.rated,
        scored=sized.scored,
        volumes=running.volumes,
        priority=running.priority,
    )


class CompiledPods(NamedTuple):
    """The compiled pods of a workload. ``template`` is a pod without a name, None if ``error`` says why it cannot be read.

    ``recreated`` has by index the pods that replace running pods once these are gone, where they differ from them.
    ``migrated`` has by index the pods from which live migrations of running VMs start, where they differ from the running pods.
    For a DaemonSet ``nodes`` has the node of each pod in ``pods``. The pods have no node affinity of their own, so that they share their
    constraints and the scheduler decides once for all of them.
    """

    pods: tuple[Pod, ...]
    template: Pod | None
    nodes: tuple[str, ...] = ()
    error: str | None = None
    recreated: Mapping[int, Pod] = {}
    migrated: Mapping[int, Pod] = {}


def compile_pods(pod_source: PodSource, cluster: Cluster) -> CompiledPods:
    """Return the compiled pods of a workload. Pods that differ only in their names share everything else."""
    if pod_source.refused:
        return CompiledPods((), None, error=pod_source.refused)
    try:
        launcher = launcher_of(pod_source, cluster) if pod_source.kubevirt else None
        template = compile_template(pod_source, cluster, pod_name(pod_source, 0), launcher=launcher)
        if pod_source.daemon:
            nodes = tuple(fitting_nodes(cluster, template)) if pod_source.replicas else ()
            return CompiledPods(tuple([template._replace(name=pod_name(pod_source, node)) for node in nodes]), template, nodes)
        count = min(pod_source.replicas, MAX_REPLICAS)
        if count > 1 and not _are_alike(pod_source):
            names = [pod_name(pod_source, index) for index in range(count)]
            pods = [compile_template(pod_source, cluster, name, index=index, launcher=launcher) for index, name in enumerate(names)]
            return CompiledPods(tuple(pods), template)
        return CompiledPods(tuple([template._replace(name=pod_name(pod_source, index)) for index in range(count)]), template)
    except InventoryError as error:
        return CompiledPods((), None, error=str(error))
