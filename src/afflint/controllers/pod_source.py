"""What an object says about the pods that it makes, as plain data that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from afflint.controllers.claims import SHARED, claims_made, volumes_of
from afflint.controllers.pod_labels import added_labels, part_of
from afflint.controllers.pod_replacement import AT_ONCE, PodReplacement, pod_replacement_of
from afflint.controllers.replica_counts import UNKNOWN_SCALE, ReplicaRange, pod_count, waits
from afflint.findings.finding import NO_FILE, Path, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import AddedLabel
from afflint.kube.manifests import Workload
from afflint.yaml.document import map_at, maps_at, text_at

PLACEMENT_FIELDS = (
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
"""The fields of a pod spec that decide where its pods may be."""
CONTAINER_FIELDS = ("initContainers", "containers")
"""Those that hold what may ask for ports of the host."""
RESOURCE_FIELDS = ("containers", "initContainers", "overhead", "resources", "domain")
"""Those that decide how much room the pods take."""
# The name of a virtual machine is not always that of its guest, and what it runs on is virtual hardware that not every node has.
# Its networks and annotations decide whether it can migrate.
_MACHINE_FIELDS = ("hostname", "domain", "networks")
_BARE = ("Pod", "VirtualMachineInstance")
# Others have kinds of these names, too.
_OF_APPS = ("StatefulSet", "DaemonSet")


class Reference(NamedTuple):
    """The name of an instance type or of a preference, and its kind."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Virtualization:
    """What decides on the pods of a virtual machine besides its template: KubeVirt's resource, and specs, None where there is none."""

    kubevirt: Mapping[str, Any] = field(default_factory=dict)
    instancetype: Mapping[str, Any] | None = None
    preference: Mapping[str, Any] | None = None
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The access modes of the claims of its namespace, as far as manifests tell them."""


NOWHERE = Site(NO_FILE, 0, ())


@dataclass(frozen=True, slots=True)
class PodSource:
    """What an object says about the pods of one of its templates.

    ``pod`` holds the placement fields of the pod spec, which lies at ``pod_path`` in the document of ``site``. ``replicas`` is how many
    pods are asked for; a DaemonSet's number depends on the nodes and stands here as 1. They are counted from ``first``, and those of a
    JobSet or LeaderWorkerSet ``each`` time anew in every Job or group. ``part`` tells the templates of one object apart.
    """

    kind: str
    group: str
    namespace: str
    name: str
    replicas: int
    labels: Mapping[str, str] = field(default_factory=dict)
    """Those of the pod template."""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    pod: Mapping[str, Any] = field(default_factory=dict)
    selector: object = None
    strategy: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""
    added: tuple[AddedLabel, ...] = ()
    """The labels that controllers add."""
    first: int = 0
    each: int = 1
    notes: tuple[str, ...] = ()
    site: Site = NOWHERE
    line: int = 0
    """Where the object is named."""
    generated: bool = False
    """Whether the cluster makes its name, so that several manifests alike are several objects."""
    pod_path: Path = ("spec", "template", "spec")
    waits: str = ""
    """What it says by which it waits for somebody to start it."""
    instancetype: Reference | None = None
    preference: Reference | None = None
    virtualization: Virtualization = Virtualization()
    """Found among the manifests of a run by these references."""
    pod_replacement: PodReplacement = AT_ONCE
    """What its controller does when a pod goes."""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The access modes of the claims that its machines make for themselves, as far as it tells them."""
    volumes: tuple[str, ...] = ()
    """The claims that its pods use, by name."""
    scale: ReplicaRange = UNKNOWN_SCALE
    """Between how many replicas an autoscaler keeps it; not known for others, of which there are so many as are asked for."""
    refused: str = ""
    """Why there are no pods of it: the API server takes no such object, or none of its pods."""

    def of_site(self, site: Site) -> PodSource:
        """The same, read at that place."""
        return replace(self, site=site)

    @property
    def key(self) -> str:
        """``Deployment shop/web``; ``StatefulSet.apps.kruise.io shop/db`` for one that is none of Kubernetes' own."""
        kind = f"{self.kind}.{self.group}" if self.kind in _OF_APPS and self.group != "apps" else self.kind
        return f"{kind} {self.namespace}/{self.full_name}"

    @property
    def full_name(self) -> str:
        """The object's name, with that of the template where it has several: ``train-workers``."""
        return f"{self.name}-{self.part}" if self.part else self.name

    @property
    def kubevirt(self) -> bool:
        """Whether its pods run virtual machines."""
        return self.group.endswith("kubevirt.io")

    @property
    def tied(self) -> bool:
        """Whether its volumes may tie its pods to a zone or a node: those of which nothing says that nodes share them."""
        modes = {**self.virtualization.claims, **self.claims}
        return any(SHARED not in modes.get(name, ()) for name in self.volumes)

    @property
    def sized(self) -> bool:
        """Whether it is known how much CPU and memory its machines have."""
        return self.instancetype is None or self.virtualization.instancetype is not None

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
        return text_at(self.pod, "nodeName")

    @property
    def eviction_strategy(self) -> str | None:
        """What is to happen to a VM when its node is drained, as far as the manifest says."""
        strategy = self.pod.get("evictionStrategy")
        return strategy if type(strategy) is str else None


def read_pod_source(workload: Workload, site: Site, *, resources: bool = False) -> PodSource | None:
    """What the object says about its pods; None for one that makes none (a PodTemplate, a fragment made whole elsewhere).

    With ``resources`` that includes what decides how much room they take.
    """
    if workload.partial or workload.kind.name == "PodTemplate":
        return None
    spec, count = workload.spec, pod_count(workload)
    strategy, notes = spec.get("strategy", spec.get("updateStrategy")), count.notes
    fields: tuple[str, ...] = (*PLACEMENT_FIELDS, *(_MACHINE_FIELDS if workload.kind.kubevirt else ()))
    if resources:
        notes = (*notes, *_resource_notes(workload))
        fields = (*fields, *RESOURCE_FIELDS)
    return PodSource(
        kind=workload.kind.name,
        group=workload.kind.group,
        namespace=workload.namespace,
        name=_name(workload),
        generated=workload.ref.name is None,
        replicas=count.planned,
        labels=workload.template_labels,
        annotations=map_at(workload.template, "metadata", "annotations"),
        pod={**_host_ports(workload), **_volumes(workload), **{field: workload.pod[field] for field in fields if field in workload.pod}},
        selector=spec.get("selector"),
        strategy=strategy if type(strategy) is dict else {},
        part=part_of(workload),
        added=added_labels(workload),
        first=count.first,
        each=count.each,
        notes=(*notes, *_pod_notes(workload)),
        site=site,
        line=workload.document.locate((*workload.base, "metadata", "name")).line,
        pod_path=workload.pod_path,
        waits=waits(workload),
        instancetype=_reference(workload, "instancetype"),
        preference=_reference(workload, "preference"),
        pod_replacement=pod_replacement_of(workload),
        claims=claims_made(workload),
        volumes=volumes_of(workload),
    )


def _host_ports(workload: Workload) -> dict[str, Any]:
    """The containers with those of their ports alone that are ports of the host, each in its place; nothing if there are none."""
    network = workload.pod.get("hostNetwork") is True
    found = {}
    for name in CONTAINER_FIELDS:
        containers = workload.pod.get(name)
        if type(containers) is list and not workload.kind.kubevirt:
            reduced = [_with_host_ports(each, network=network) for each in containers]
            if any(reduced):
                found[name] = reduced
    return found


def _with_host_ports(container: object, *, network: bool) -> dict[str, Any]:
    ports = container.get("ports") if isinstance(container, dict) else None
    if not isinstance(container, dict) or not isinstance(ports, list):
        return {}
    kept = [each if isinstance(each, dict) and _is_port(each, network=network) else {} for each in ports]
    return {"ports": kept, "restartPolicy": container.get("restartPolicy")} if any(kept) else {}


def _is_port(port: dict[str, Any], *, network: bool) -> bool:
    # On the network of the host a port of the container is one of the host: SetDefaults_PodSpec.
    number = port.get("hostPort") or (network and port.get("containerPort"))
    return type(number) is int and number > 0


def _name(workload: Workload) -> str:
    """The name of the object; one such as the API server might generate where the manifest leaves it to it."""
    if workload.ref.name is not None:
        return workload.ref.name
    generated = map_at(workload.data, "metadata").get("generateName")
    return f"{generated}x" if type(generated) is str else "unnamed"


def _pod_notes(workload: Workload) -> tuple[str, ...]:
    pod, notes = workload.pod, []
    if pod.get("nodeName"):
        notes.append("spec.nodeName assigns its pods to that node and bypasses the scheduler")
    scheduler = pod.get("schedulerName")
    if type(scheduler) is str and scheduler not in ("", "default-scheduler"):
        notes.append(f"it uses the scheduler {scheduler}; the rules of the default scheduler are assumed")
    if pod.get("schedulingGates"):
        notes.append("its scheduling gates are assumed to be removed")
    return tuple(notes)


def _reference(workload: Workload, field: str) -> Reference | None:
    """The instance type or preference of a VM. Where its volume is to tell which, the name is empty."""
    if not workload.kind.kubevirt or not workload.has_own_template:
        return None
    found = workload.above(1).get(field)
    if type(found) is not dict:
        return None
    return Reference(str(found.get("kind") or ""), str(found.get("name") or ""))


def _volumes(workload: Workload) -> dict[str, Any]:
    """The disks of a VM that may keep it from migrating, or apart from others, for what holds them."""
    found = maps_at(workload.pod, "volumes") if workload.kind.kubevirt else []
    kept = [{field: each[field] for field in _DISK_FIELDS if field in each} for each in found if not _HELD.isdisjoint(each)]
    return {"volumes": kept} if kept else {}


_HELD = frozenset(("persistentVolumeClaim", "dataVolume", "hostDisk"))
_DISK_FIELDS = ("name", *sorted(_HELD))


def _resource_notes(workload: Workload) -> tuple[str, ...]:
    runtime = workload.pod.get("runtimeClassName")
    if type(runtime) is str and runtime and not workload.pod.get("overhead"):
        return (f"the overhead that the runtime class {runtime} adds to its requests is ignored",)
    return ()
