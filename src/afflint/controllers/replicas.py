"""From a manifest to the pods that its controller makes: their number, names, labels, owners, and what controllers add to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

from afflint.findings import Path
from afflint.kube.manifests import Workload
from afflint.kube.selectors import Malformed, parse_label_selector
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.decoding import InventoryError
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.pods import REQUIRED, Pod
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

Object = dict[str, Any]

MOST_REPLICAS = 1000
"""How many pods of one workload are made. More would only repeat what these show, and a manifest may ask for two billion."""

SCHEDULABLE = "kubevirt.io/schedulable"
ARCH = "kubernetes.io/arch"
CREATED_BY = "kubevirt.io/created-by"
TEMPLATE_HASH = "pod-template-hash"
REVISION_HASH = "controller-revision-hash"
HALTED = ("Halted", "Manual")

_FIELDS = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "nodeName",
    "schedulerName",
    "schedulingGates",
    "hostNetwork",
    "architecture",
    "evictionStrategy",
)
# What decides how much room the pods take.
_RESOURCE_FIELDS = ("containers", "initContainers", "overhead", "resources", "domain")
_BARE = ("Pod", "VirtualMachineInstance")
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


class PodMaker(NamedTuple):
    """What an object says about the pods that it makes: plain data that travels between processes.

    ``pod`` holds the placement fields of the pod spec, which lies at ``pod_path`` in its document. ``replicas`` is how many pods
    are asked for; a DaemonSet's number depends on the nodes and stands here as 1.
    """

    kind: str
    group: str
    namespace: str
    name: str
    replicas: int
    labels: Mapping[str, str] = {}
    """Those of the pod template."""
    annotations: Mapping[str, Any] = {}
    pod: Mapping[str, Any] = {}
    selector: object = None
    strategy: Mapping[str, Any] = {}
    indexed: bool = False
    notes: tuple[str, ...] = ()
    file: str = ""
    document: int = 0
    line: int = 0
    pod_path: Path = ("spec", "template", "spec")

    @property
    def key(self) -> str:
        """``Deployment shop/web``."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def kubevirt(self) -> bool:
        """Whether its pods run virtual machines."""
        return self.group.endswith("kubevirt.io")

    @property
    def daemon(self) -> bool:
        """Whether it makes one pod per node."""
        return self.kind == "DaemonSet"

    @property
    def bare(self) -> bool:
        """Whether nothing makes its pod anew when it is lost."""
        return self.kind in _BARE

    @property
    def node_name(self) -> str:
        """The node that the pod spec names, which bypasses the scheduler; empty mostly."""
        name = self.pod.get("nodeName")
        return name if type(name) is str else ""

    @property
    def eviction_strategy(self) -> str | None:
        """What is to happen to a VM when its node is drained, as far as the manifest says."""
        strategy = self.pod.get("evictionStrategy")
        return strategy if type(strategy) is str else None


# --- from the manifest -------------------------------------------------------------------------------------------------


def pod_maker(workload: Workload, file: str = "", *, resources: bool = False) -> PodMaker | None:
    """What the object says about its pods; None for one that makes none (a PodTemplate, a fragment made whole elsewhere).

    With ``resources`` that includes what decides how much room they take.
    """
    if workload.partial or workload.kind.name == "PodTemplate":
        return None
    spec = workload.spec
    replicas, notes = _replicas(workload)
    strategy = spec.get("strategy", spec.get("updateStrategy"))
    annotations = _map(_map(workload.template, "metadata"), "annotations")
    fields: tuple[str, ...] = _FIELDS
    if resources:
        notes = (*notes, *_resource_notes(workload))
        if _instancetype(workload) is None:
            fields = (*_FIELDS, *_RESOURCE_FIELDS)
    return PodMaker(
        kind=workload.kind.name,
        group=workload.kind.group,
        namespace=workload.namespace,
        name=_name(workload),
        replicas=replicas,
        labels=workload.template_labels,
        annotations=annotations,
        pod={field: workload.pod[field] for field in fields if field in workload.pod},
        selector=spec.get("selector"),
        strategy=strategy if type(strategy) is dict else {},
        indexed=_job_spec(workload).get("completionMode") == "Indexed",
        notes=(*notes, *_pod_notes(workload)),
        file=file,
        document=workload.document.index,
        line=workload.document.locate((*workload.base, "metadata", "name")).line,
        pod_path=workload.pod_path,
    )


def _name(workload: Workload) -> str:
    metadata = _map(workload.data, "metadata")
    name = workload.ref.name
    if name is None:
        generated = metadata.get("generateName")
        name = f"{generated}x" if type(generated) is str else "unnamed"
    if workload.kind.name == "JobSet":
        job = _map_at(workload.data, workload.template_path[len(workload.base) : -3])
        return f"{name}-{job.get('name', workload.template_path[-4])}"
    return name


def _job_spec(workload: Workload) -> Mapping[str, Any]:
    """The JobSpec that holds the pod template, for the kinds that have one."""
    if workload.kind.name in ("Job", "CronJob", "JobSet"):
        return _map_at(workload.data, workload.template_path[len(workload.base) : -1])
    return {}


def _replicas(workload: Workload) -> tuple[int, tuple[str, ...]]:
    kind, spec = workload.kind.name, workload.spec
    if kind in ("Job", "CronJob", "JobSet"):
        return _job_pods(workload)
    if kind == "VirtualMachine":
        if spec.get("running") is False or spec.get("runStrategy") in HALTED:
            return 0, ("the VM is not to run, so it has no pod",)
        return 1, ()
    if kind == "LeaderWorkerSet":
        size = _count(_map(spec, "leaderWorkerTemplate").get("size"), 1)
        return _count(spec.get("replicas"), 1) * size, ("its leaders are taken to be placed as its workers are",)
    if workload.kind.replicas is None:
        return 1, ("one pod is assumed; an autoscaler decides how many there are",) if workload.kind.group == "serving.knative.dev" else ()
    field = workload.kind.replicas
    if spec.get(field) is None:
        return 1, (f"spec.{field} is absent: one pod is assumed, an autoscaler may ask for more",)
    replicas = _count(spec[field], 1)
    return replicas, (f"spec.{field} is 0: it has no pods",) if replicas == 0 else ()


def _job_pods(workload: Workload) -> tuple[int, tuple[str, ...]]:
    job = _job_spec(workload)
    if workload.spec.get("suspend") is True or job.get("suspend") is True:
        return 0, ("it is suspended, so it has no pods",)
    parallelism = _count(job.get("parallelism"), 1)
    if job.get("completions") is not None:
        parallelism = min(parallelism, _count(job["completions"], 1))
    if workload.kind.name == "JobSet":
        replicated = _map_at(workload.data, workload.template_path[len(workload.base) : -3])
        return parallelism * _count(replicated.get("replicas"), 1), ()
    return parallelism, ("one run of the CronJob is shown",) if workload.kind.name == "CronJob" else ()


def _pod_notes(workload: Workload) -> tuple[str, ...]:
    pod, notes = workload.pod, []
    if pod.get("nodeName"):
        notes.append("spec.nodeName puts its pods on that node without asking the scheduler")
    scheduler = pod.get("schedulerName")
    if type(scheduler) is str and scheduler not in ("", "default-scheduler"):
        notes.append(f"the scheduler {scheduler} places it; it is judged by the rules of the default one")
    if pod.get("schedulingGates"):
        notes.append("its scheduling gates are taken to be removed")
    return tuple(notes)


def _instancetype(workload: Workload) -> str | None:
    """The instancetype that a VM takes its CPU and memory from: its name, which may be empty; None without one."""
    if not workload.kind.kubevirt:
        return None
    found = _map_at(workload.data, workload.template_path[len(workload.base) : -1]).get("instancetype")
    return str(found.get("name") or "") if type(found) is dict else None


def _resource_notes(workload: Workload) -> tuple[str, ...]:
    instancetype = _instancetype(workload)
    if instancetype is not None:
        return (f"CPU and memory come from its instancetype{instancetype and ' '}{instancetype}: unknown here, so they are left out",)
    runtime = workload.pod.get("runtimeClassName")
    if type(runtime) is str and runtime and not workload.pod.get("overhead"):
        return (f"what the runtime class {runtime} adds to its requests as overhead is left out",)
    return ()


def _count(value: object, default: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**31:
        return default
    return max(int(value), 0)


def _map(data: Mapping[str, Any], field: str) -> dict[str, Any]:
    value = data.get(field)
    return value if type(value) is dict else {}


def _map_at(data: Any, path: Path) -> dict[str, Any]:
    for step in path:
        data = data[step]
    return data if type(data) is dict else {}


# --- to pods -----------------------------------------------------------------------------------------------------------


def revision_hash(maker: PodMaker, revision: int = 0) -> str:
    """What controllers put into names and labels of all pods of one revision. Any value will do, so long as revisions differ."""
    return _letters(f"{maker.group}/{maker.key}/{revision}")


def owner(maker: PodMaker) -> Object | None:
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


def template_pod(maker: PodMaker, cluster: Cluster, name: str = "", *, index: int = 0, revision: int = 0) -> Object:
    """One pod of the workload as a cluster with these nodes would hold it, tied to no particular node.

    Raises InventoryError for a VM whose resources make no sense, if resources count.
    """
    spec = {field: maker.pod[field] for field in _FIELDS if maker.pod.get(field) is not None}
    if cluster.resources:
        spec.update(_room(maker))
    labels = {**maker.labels, **_added_labels(maker, name, index, revision)}
    if maker.kubevirt:
        _add_node_selector(spec, _launcher_nodes(maker, cluster))
    spec["tolerations"] = _tolerations(maker, spec.get("tolerations"))
    api_version, kind, owner_name = _owner_reference(maker, revision)
    metadata: Object = {"name": name, "namespace": maker.namespace, "labels": labels, "annotations": dict(maker.annotations)}
    if kind:
        metadata["ownerReferences"] = [{"apiVersion": api_version, "kind": kind, "name": owner_name, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _room(maker: PodMaker) -> Object:
    """The fields of the pod spec that decide how much room the pod takes."""
    if not maker.kubevirt:
        return {field: maker.pod[field] for field in _RESOURCE_FIELDS if maker.pod.get(field) is not None}
    if "domain" not in maker.pod:
        return {}
    from afflint.controllers.launcher import compute_resources

    return {"containers": [{"name": "compute", "resources": compute_resources(maker.pod["domain"])}]}


def make_pods(maker: PodMaker, cluster: Cluster) -> list[Object]:
    """The pods of the workload as its controller makes them: its replicas, or one per eligible node for a DaemonSet.

    Names count up from 0 (``web-0``). Raises InventoryError for a DaemonSet whose template no scheduler could read.
    """
    if maker.daemon:
        if not maker.replicas:
            return []
        template = template_pod(maker, cluster)
        return [_tied(template, pod_name(maker, node), node) for node in fitting_nodes(cluster, cluster.read(template))]
    return [template_pod(maker, cluster, pod_name(maker, index), index=index) for index in range(min(maker.replicas, MOST_REPLICAS))]


def notes(maker: PodMaker, cluster: Cluster) -> tuple[str, ...]:
    """What was assumed or left out when the pods were made."""
    found = list(maker.notes)
    if maker.kubevirt:
        if not cluster.label(SCHEDULABLE):
            found.append(f"no node carries {SCHEDULABLE}, so the nodeSelector that virt-controller adds for it is left out")
        architectures = sorted(set(cluster.label(ARCH).values()))
        if len(architectures) > 1 and not maker.pod.get("architecture"):
            found.append(f"nodes have the architectures {', '.join(architectures)}; the VM is taken to be {_architecture(architectures)}")
    if maker.replicas > MOST_REPLICAS and not maker.daemon:
        found.append(f"{MOST_REPLICAS} of its {maker.replicas} replicas are shown")
    return tuple(found)


def pod_name(maker: PodMaker, which: int | str) -> str:
    """How a pod is called: a count for replicas, the node for a DaemonSet, the manifest's own name for a Pod."""
    if maker.kind == "Pod":
        return maker.name
    if maker.kind in ("VirtualMachine", "VirtualMachineInstance"):
        return f"virt-launcher-{maker.name}"
    return f"virt-launcher-{maker.name}-{which}" if maker.kubevirt else f"{maker.name}-{which}"


# What rejects a node for what runs on the nodes, which may change.
_FOR_NOW = (None, NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY)


def fitting_nodes(cluster: Cluster, pod: Pod) -> list[str]:
    """The nodes that the pod may use as far as the nodes alone decide, whatever else runs there: by taints, labels and names."""
    reason = cluster.evaluate(pod).reason
    return [node for node in cluster.nodes if reason.get(node) in _FOR_NOW]


def running_pods_of(makers: Iterable[PodMaker], pods: Iterable[object]) -> set[int]:
    """Which of the running pods (as a cluster gives them out) these workloads have made, by their index."""
    by_name: dict[tuple[str, str], int] = {}
    by_owner: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for index, data in enumerate(pods):
        metadata = _map(data, "metadata") if isinstance(data, dict) else {}
        namespace = str(metadata.get("namespace") or "default")
        by_name[namespace, str(metadata.get("name"))] = index
        references = metadata.get("ownerReferences")
        for entry in references if isinstance(references, list) else ():
            if isinstance(entry, dict):
                by_owner.setdefault((namespace, str(entry.get("kind"))), []).append((str(entry.get("name")), index))
    found: set[int] = set()
    for maker in makers:
        if maker.kind == "Pod":
            found.update({by_name[maker.namespace, maker.name]} if (maker.namespace, maker.name) in by_name else ())
            continue
        kind, ending = _MADE_THROUGH.get(maker.kind, (maker.kind, ""))
        pattern = re.compile(re.escape(maker.name) + ending)
        found.update(index for name, index in by_owner.get((maker.namespace, kind), ()) if pattern.fullmatch(name))
    return found


# The object between a controller and its pods, and what its name adds to the controller's.
_MADE_THROUGH = {
    "Deployment": ("ReplicaSet", "-[a-z0-9]+"),
    "Rollout": ("ReplicaSet", "-[a-z0-9]+"),
    "CronJob": ("Job", "-[0-9]+"),
    "VirtualMachine": ("VirtualMachineInstance", ""),
    "VirtualMachineInstanceReplicaSet": ("VirtualMachineInstance", "[a-z0-9]{5}"),
    "VirtualMachinePool": ("VirtualMachineInstance", "-[0-9]+"),
}


# --- what controllers add ----------------------------------------------------------------------------------------------


def _letters(text: str) -> str:
    number, letters = crc32(text.encode("utf-8", "surrogatepass")) | 1 << 32, ""
    for _ in range(7):
        number, digit = divmod(number, len(_HASH_LETTERS))
        letters += _HASH_LETTERS[digit]
    return letters


def _uid(text: str) -> str:
    number = crc32(text.encode("utf-8", "surrogatepass"))
    return f"{number:08x}-0000-4000-8000-{number ^ 0xA5A5A5A5:012x}"


def _hash_label(maker: PodMaker) -> str:
    return "rollouts-pod-template-hash" if maker.kind == "Rollout" else TEMPLATE_HASH


def _owner_reference(maker: PodMaker, revision: int) -> tuple[str, str, str]:
    """API version, kind and name of the object that controls the pods; no kind for a Pod."""
    if maker.kind in ("Deployment", "Rollout"):
        return "apps/v1", "ReplicaSet", f"{maker.name}-{revision_hash(maker, revision)}"
    if maker.kubevirt:
        return "kubevirt.io/v1", "VirtualMachineInstance", maker.name
    if maker.kind in ("Job", "CronJob", "JobSet"):
        return "batch/v1", "Job", maker.name
    if maker.kind == "ReplicationController":
        return "v1", "ReplicationController", maker.name
    if maker.kind == "Pod":
        return "", "", ""
    # StatefulSet and DaemonSet exist in apps and elsewhere; the scheduler knows those of apps alone.
    return f"{maker.group}/v1", maker.kind, maker.name


def _added_labels(maker: PodMaker, name: str, index: int, revision: int) -> dict[str, str]:
    kind, hashed = maker.kind, revision_hash(maker, revision)
    if kind in ("Deployment", "ReplicaSet", "Rollout"):
        return {} if kind == "ReplicaSet" else {_hash_label(maker): hashed}
    if kind == "StatefulSet":
        pod_label = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(index)}
        return {REVISION_HASH: f"{maker.name}-{hashed}", **pod_label}
    if kind == "DaemonSet":
        return {REVISION_HASH: hashed, "pod-template-generation": "1"}
    if kind in ("Job", "CronJob", "JobSet"):
        uid = _uid(maker.key)
        added = {"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid, "job-name": maker.name}
        if maker.indexed:
            added["batch.kubernetes.io/job-completion-index"] = str(index)
        return {**added, "batch.kubernetes.io/job-name": maker.name}
    if maker.kubevirt:
        machine = name.removeprefix("virt-launcher-")
        uid = _uid(f"{maker.key}/{index}/{revision}")
        return {"kubevirt.io": "virt-launcher", CREATED_BY: uid, "vm.kubevirt.io/name": machine, "vmi.kubevirt.io/id": machine}
    return {}


def _launcher_nodes(maker: PodMaker, cluster: Cluster) -> dict[str, str]:
    """What virt-controller adds to the nodeSelector, as far as the inventory has these labels at all."""
    added: dict[str, str] = {}
    if cluster.label(SCHEDULABLE):
        added[SCHEDULABLE] = "true"
    architectures = sorted(set(cluster.label(ARCH).values()))
    if architectures:
        declared = maker.pod.get("architecture")
        added[ARCH] = declared.lower() if type(declared) is str and declared else _architecture(architectures)
    return added


def _architecture(architectures: list[str]) -> str:
    return "amd64" if "amd64" in architectures else architectures[0]


def _add_node_selector(spec: Object, added: dict[str, str]) -> None:
    own = spec.get("nodeSelector") or {}
    # What is no map at all stays, for whoever reads the pod to refuse.
    if isinstance(own, dict):
        spec["nodeSelector"] = {**added, **own}


def _tolerations(maker: PodMaker, own: object) -> object:
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


class Compiled(NamedTuple):
    """The pods of a workload, read once. ``template`` is a pod of it without a name, None when ``error`` says why it cannot be read.

    For a DaemonSet each pod of ``pods`` is meant for the node of the same position in ``nodes``, and is not tied to it by an
    affinity of its own: the pods share their constraints, which spares a decision per node and pod.
    """

    pods: tuple[Pod, ...]
    template: Pod | None
    nodes: tuple[str, ...] = ()
    error: str | None = None


def compile_pods(maker: PodMaker, cluster: Cluster) -> Compiled:
    """The pods of a workload, ready for the scheduler. Pods that differ in their names alone share all else."""
    try:
        template = cluster.read(template_pod(maker, cluster, pod_name(maker, 0)))
        if maker.daemon:
            nodes = tuple(fitting_nodes(cluster, template)) if maker.replicas else ()
            return Compiled(tuple([template._replace(name=pod_name(maker, node)) for node in nodes]), template, nodes)
        count = min(maker.replicas, MOST_REPLICAS)
        if maker.kubevirt or maker.kind == "StatefulSet" or maker.indexed:
            made = [cluster.read(template_pod(maker, cluster, pod_name(maker, index), index=index)) for index in range(count)]
            return Compiled(tuple(made), template)
        return Compiled(tuple([template._replace(name=pod_name(maker, index)) for index in range(count)]), template)
    except InventoryError as error:
        return Compiled((), None, error=str(error))
