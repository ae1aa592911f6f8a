"""The pods that an object declares, as plain data that can be sent to other processes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from afflint.controllers.claims import SHARED, claim_names, template_claims
from afflint.controllers.pod_labels import added_labels, template_part
from afflint.controllers.pod_replacement import AT_ONCE, PodReplacement, pod_replacement_of
from afflint.controllers.replica_counts import UNKNOWN_SCALE, ReplicaRange, not_started_by, pod_count
from afflint.findings.finding import NO_FILE, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.added_labels import AddedLabel
from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at, maps_at, text_at, texts_at
from afflint.yaml.object_fields import condition_of, kind_of, metadata_of

PLACEMENT_FIELDS = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "nodeName",
    "schedulerName",
    "schedulingGates",
    "schedulingGroup",
    "resourceClaims",
    "hostNetwork",
    "architecture",
    "evictionStrategy",
)
"""The fields of a pod spec that decide which nodes its pods can run on."""
PRIORITY_FIELDS = ("priorityClassName", "priority", "preemptionPolicy")
"""The fields that decide which pods are scheduled first."""
CONTAINER_FIELDS = ("initContainers", "containers")
"""The fields of the containers that may use host ports."""
RESOURCE_FIELDS = ("containers", "initContainers", "overhead", "resources", "domain")
"""The fields that decide how much the pods request."""
# The host name of the guest may differ from the name of the VM, the domain may need hardware that only some nodes have,
# and the networks decide whether the VM can migrate.
_MACHINE_FIELDS = ("hostname", "domain", "networks")
_PROBES = ("livenessProbe", "readinessProbe")
_BARE = ("Pod", "VirtualMachineInstance")
# Other API groups have kinds with these names, too.
_OF_APPS = ("StatefulSet", "DaemonSet")


class Reference(NamedTuple):
    """The kind and name of an object: an instance type, a preference or a controller."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Virtualization:
    """What the pods of a VM depend on besides its template: the KubeVirt resource, and specs, None if they are absent."""

    kubevirt: Mapping[str, Any] = field(default_factory=dict)
    instancetype: Mapping[str, Any] | None = None
    preference: Mapping[str, Any] | None = None
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The access modes of the claims in its namespace, as far as the manifests show them."""
    networks: tuple[str, ...] = ()
    """The resource of each Multus network whose NetworkAttachmentDefinition names one."""


NOWHERE = Site(NO_FILE, 0, ())


@dataclass(frozen=True, slots=True)
class PodSource:
    """The pods that one template of an object declares.

    ``pod`` has the placement fields of the pod spec, which is at ``pod_path`` in the document of ``site``. ``replicas`` is the number of
    pods; for a DaemonSet, whose number depends on the nodes, it is 1. Ordinals start at ``first``. A JobSet or LeaderWorkerSet counts
    ``each`` pods in every Job or group. ``part`` distinguishes the templates of one object.
    """

    kind: str
    group: str
    namespace: str
    name: str
    replicas: int
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the pod template."""
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
    """The line of the object's name; 0 if it was not asked for."""
    generated: bool = False
    """Whether the API server generates the name, so that equal manifests are different objects."""
    pod_path: Path = ("spec", "template", "spec")
    not_started_by: str = ""
    """The field that keeps it from starting, as text; empty if it starts."""
    instancetype: Reference | None = None
    preference: Reference | None = None
    virtualization: Virtualization = Virtualization()
    """Resolved from these references among the manifests of a run."""
    pod_replacement: PodReplacement = AT_ONCE
    """How its controller replaces pods."""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The access modes of the claims that its VMs create for themselves, as far as they are known."""
    volumes: tuple[str, ...] = ()
    """The names of the claims that its pods use."""
    has_local_storage: bool = False
    """Whether its pods have an emptyDir or hostPath volume, as those of every virtual machine do."""
    scale: ReplicaRange = UNKNOWN_SCALE
    """The range of replicas that an autoscaler sets; unknown without one, and then ``replicas`` applies."""
    refused: str = ""
    """Why it has no pods: the API server rejects the object or all of its pods."""
    controller: Reference | None = None
    """The object that controls the object itself, as a Deployment controls its ReplicaSets."""
    observed: tuple[int, ...] = ()
    """The indexes of its running pods, if it has no manifest and is known from them only."""
    priority: int | None = 0
    """The priority of its pods; None if its PriorityClass is unknown. Resolved among the manifests of a plan."""
    revision: str = ""
    """The hash of the revision that runs, in the labels of its pods; empty if none runs."""
    preempts: bool = True
    """Whether its pods preempt others of lower priority."""
    drivers: tuple[str, ...] = ()
    """The CSI drivers that a DaemonSet registers with the kubelet of each node, as far as its containers name their sockets."""
    paused: bool = False
    """Whether its rollouts are paused, so that its ReplicaSets keep their revisions."""
    requires_restart: bool = False
    """Whether a VM changes only when it restarts: its status has the condition RestartRequired."""

    def with_site(self, site: Site) -> PodSource:
        """Return a copy with another site."""
        return replace(self, site=site)

    @property
    def key(self) -> str:
        """``Deployment shop/web``; ``StatefulSet.apps.kruise.io shop/db`` for a kind that only shares its name with one of Kubernetes."""
        kind = f"{self.kind}.{self.group}" if self.kind in _OF_APPS and self.group != "apps" else self.kind
        return f"{kind} {self.namespace}/{self.full_name}"

    @property
    def full_name(self) -> str:
        """The name of the object, with that of the template if it has several: ``train-workers``."""
        return f"{self.name}-{self.part}" if self.part else self.name

    @property
    def kubevirt(self) -> bool:
        """Whether its pods run virtual machines."""
        return self.group.endswith("kubevirt.io")

    @property
    def has_own_pods(self) -> bool:
        """Whether its pods are those that run, each with its own constraints. The pods of VMs follow from the VirtualMachineInstance."""
        return bool(self.observed) and not self.kubevirt

    @property
    def bound_by_volumes(self) -> bool:
        """Whether its volumes may bind its pods to a zone or node, because they are not known to be shared."""
        modes = {**self.virtualization.claims, **self.claims}
        return any(SHARED not in modes.get(name, ()) for name in self.volumes)

    @property
    def has_known_size(self) -> bool:
        """Whether the CPU and memory of its VMs are known."""
        return self.instancetype is None or self.virtualization.instancetype is not None

    @property
    def daemon(self) -> bool:
        """Whether it has one pod per node."""
        return self.kind == "DaemonSet"

    @property
    def bare(self) -> bool:
        """Whether no controller replaces its pod."""
        return self.kind in _BARE and not self.guards

    @property
    def guards(self) -> bool:
        """Whether its pods have no controller, and an operator creates each again on its node: the guard pods of OpenShift."""
        return self.kind == "Pod" and self.pod_replacement.ordinals

    @property
    def scheduler(self) -> str:
        """The scheduler of its pods; an instance type may set it."""
        return text_at(self.virtualization.instancetype or {}, "schedulerName") or text_at(self.pod, "schedulerName") or "default-scheduler"

    @property
    def node_name(self) -> str:
        """The node that the pod spec names, which bypasses the scheduler; usually empty."""
        return text_at(self.pod, "nodeName")

    @property
    def eviction_strategy(self) -> str | None:
        """The eviction strategy that the manifest of a VM sets, if any."""
        strategy = self.pod.get("evictionStrategy")
        return strategy if type(strategy) is str else None


def read_pod_source(workload: Workload, site: Site, *, resources: bool = False, lines: bool = False) -> PodSource | None:
    """Return the pods that an object declares; None if it creates none (a PodTemplate, or a patch).

    With ``resources`` the result includes the fields that decide how much the pods request, with ``lines`` the line of the object's name,
    for which the document is parsed again.
    """
    if workload.partial or workload.kind.name == "PodTemplate":
        return None
    spec, count = workload.spec, pod_count(workload)
    strategy, notes = spec.get("strategy", spec.get("updateStrategy")), count.notes
    fields: tuple[str, ...] = (*PLACEMENT_FIELDS, *PRIORITY_FIELDS, *(_MACHINE_FIELDS if workload.kind.kubevirt else ()))
    if resources:
        notes = (*notes, *_resource_notes(workload))
        fields = (*fields, *RESOURCE_FIELDS, *(_PROBES if workload.kind.kubevirt else ()))
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
        strategy=map_at(strategy),
        part=template_part(workload),
        added=added_labels(workload),
        first=count.first,
        each=count.each,
        notes=(*notes, *_pod_notes(workload)),
        site=site,
        line=line_of_name(workload) if lines else 0,
        pod_path=workload.pod_path,
        not_started_by=not_started_by(workload),
        instancetype=_reference(workload, "instancetype"),
        preference=_reference(workload, "preference"),
        pod_replacement=pod_replacement_of(workload),
        claims=template_claims(workload),
        volumes=claim_names(workload),
        has_local_storage=workload.kind.kubevirt or has_local_storage(workload.pod),
        controller=_controller(workload),
        drivers=_drivers(workload) if workload.kind.name == "DaemonSet" else (),
        paused=spec.get("paused") is True,
        requires_restart=workload.kind.kubevirt and condition_of(workload.data, "RestartRequired") is not None,
    )


def _drivers(workload: Workload) -> tuple[str, ...]:
    """Return the CSI drivers whose sockets containers name: ``--kubelet-registration-path`` of node-driver-registrar, or a variable."""
    texts = [
        text
        for container in maps_at(workload.pod, "containers")
        for text in (
            *texts_at(container, "args"),
            *texts_at(container, "command"),
            *[text_at(each, "value") for each in maps_at(container, "env")],
        )
    ]
    found = [match.group(1) for text in texts if (match := _DRIVER_SOCKET.search(text))]
    return tuple(dict.fromkeys(found))


_DRIVER_SOCKET = re.compile(r"/plugins/([^/\s]+)/[^/\s]+\.sock\Z")


def has_local_storage(spec: Mapping[str, Any]) -> bool:
    """Return whether a pod spec has an emptyDir or hostPath volume (`IsPodWithLocalStorage` of the descheduler)."""
    return any("emptyDir" in volume or "hostPath" in volume for volume in maps_at(spec, "volumes"))


def line_of_name(workload: Workload) -> int:
    """Return the line of the name of the object, counted from 1."""
    return workload.document.line_of((*workload.base, "metadata", "name"))


def _host_ports(workload: Workload) -> dict[str, Any]:
    """Return the containers with only their host ports, each at its index; empty if no container has any."""
    network = workload.pod.get("hostNetwork") is True
    reduced_fields = {}
    for name in CONTAINER_FIELDS:
        containers = workload.pod.get(name)
        if type(containers) is list and not workload.kind.kubevirt:
            reduced = [_with_host_ports(each, network=network) for each in containers]
            if any(reduced):
                reduced_fields[name] = reduced
    return reduced_fields


def _with_host_ports(container: object, *, network: bool) -> dict[str, Any]:
    ports = container.get("ports") if isinstance(container, dict) else None
    if not isinstance(container, dict) or not isinstance(ports, list):
        return {}
    kept = [each if isinstance(each, dict) and _is_port(each, network=network) else {} for each in ports]
    return {"ports": kept, "restartPolicy": container.get("restartPolicy")} if any(kept) else {}


def _is_port(port: dict[str, Any], *, network: bool) -> bool:
    # With hostNetwork the containerPort is the default of the hostPort: SetDefaults_PodSpec.
    number = port.get("hostPort") or (network and port.get("containerPort"))
    return type(number) is int and number > 0


def _name(workload: Workload) -> str:
    """Return the name of the object, or a name as the API server might generate it."""
    if workload.ref.name is not None:
        return workload.ref.name
    generated = metadata_of(workload.data).get("generateName")
    return f"{generated}x" if type(generated) is str else "unnamed"


def _pod_notes(workload: Workload) -> tuple[str, ...]:
    pod, notes = workload.pod, []
    if pod.get("nodeName"):
        notes.append("spec.nodeName assigns its pods to that node and bypasses the scheduler")
    return tuple(notes)


def _controller(workload: Workload) -> Reference | None:
    references = maps_at(workload.data, "metadata", "ownerReferences")
    return next((Reference(kind_of(each), text_at(each, "name")) for each in references if each.get("controller") is True), None)


def _reference(workload: Workload, field: str) -> Reference | None:
    """Return the instance type or preference of a VM; its name is empty if it is inferred from a volume."""
    if not workload.kind.kubevirt or not workload.has_own_template:
        return None
    reference = workload.above(1).get(field)
    if type(reference) is not dict:
        return None
    return Reference(kind_of(reference), str(reference.get("name") or ""))


def _volumes(workload: Workload) -> dict[str, Any]:
    """Return the disks of a VM that may prevent its migration, separate it from other pods or need memory."""
    volumes = maps_at(workload.pod, "volumes") if workload.kind.kubevirt else []
    kept = [{field: each[field] for field in _DISK_FIELDS if field in each} for each in volumes if not _HELD.isdisjoint(each)]
    return {"volumes": kept} if kept else {}


_HELD = frozenset(("persistentVolumeClaim", "dataVolume", "hostDisk", "downwardMetrics"))
_DISK_FIELDS = ("name", *sorted(_HELD))


def _resource_notes(workload: Workload) -> tuple[str, ...]:
    runtime = workload.pod.get("runtimeClassName")
    if type(runtime) is str and runtime and not workload.pod.get("overhead"):
        return (f"the simulation ignores the overhead that the runtime class {runtime} adds to its requests",)
    return ()
