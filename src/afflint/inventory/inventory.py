"""The objects of a simulated cluster: nodes, running pods, storage and priorities; and which running pods are those of the workloads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.controllers import replicas
from afflint.controllers.budgets import Budget
from afflint.controllers.observed_workloads import ENDED, pod_state, spreading_owners
from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import CompiledPods
from afflint.controllers.running_machines import RunningMachines
from afflint.controllers.running_pods import pod_key, running_pods_of
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.node_classes import NodeClass
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.node_fit import SCHEDULER
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey, is_preempted
from afflint.scheduler.profile import Profile
from afflint.storage.objects import ClaimKey
from afflint.storage.pod_volumes import PodClaim
from afflint.yaml.document import map_at, text_at
from afflint.yaml.object_fields import kind_of, metadata_of, name_of

if TYPE_CHECKING:
    from afflint.scheduler.preemption import Rank


class WorkloadVolumes(NamedTuple):
    """The claims of a workload that the simulation considers: those that all pods share, and the templates of those of each pod.

    ``unknown`` says why other claims are not considered, ``notes`` what is assumed about the claims.
    """

    shared: tuple[str, ...] = ()
    per_pod: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class InventoryStorage(NamedTuple):
    """The storage of a cluster: the storage objects by the parameters of ``Cluster``, and the volumes of each workload by its key.

    ``claims`` are the claims among the objects, ``exclusive`` those whose volumes are attached to one node at a time.
    """

    objects: Mapping[str, Any]
    workloads: Mapping[str, WorkloadVolumes]
    claims: frozenset[ClaimKey]
    exclusive: frozenset[ClaimKey] = frozenset()

    def parameters(self) -> Mapping[str, Any]:
        """Return the arguments for ``Cluster``; none if no claim is considered."""
        return self.objects if self.claims else {}

    def with_claims(self, pod_source: PodSource, compiled: CompiledPods) -> CompiledPods:
        """Return the pods of a workload with their claims."""
        volumes = self.workloads.get(pod_source.key)
        if volumes is None or not (volumes.shared or volumes.per_pod):
            return compiled
        shared = self._known(pod_source.namespace, volumes.shared)

        def with_own(pod: Pod) -> Pod:
            own = self._known(pod.namespace, [f"{each}-{pod.name}" for each in volumes.per_pod]) if volumes.per_pod else ()
            return pod._replace(volumes=(*shared, *own))

        return compiled._replace(pods=tuple(map(with_own, compiled.pods)), template=compiled.template and with_own(compiled.template))

    def _known(self, namespace: str, names: Iterable[str]) -> tuple[PodClaim, ...]:
        return tuple([PodClaim(namespace, name) for name in names if (namespace, name) in self.claims])


class Priorities(NamedTuple):
    """What preemption needs beyond the workloads: the ranks of the running pods of a dump, and the PodDisruptionBudgets.

    ``unready`` are the running pods that are not ready, with their phases.
    """

    running: Mapping[PodKey, Rank]
    budgets: Sequence[Budget] = ()
    unready: Mapping[PodKey, str] = {}


_NO_MACHINES: RunningMachines = {}
_DEFAULT_ONLY: Mapping[str, Profile] = {}


class Inventory(NamedTuple):
    """The objects of a cluster, as parsed. ``pods`` are the running pods, ``classes`` nodes without objects.

    With ``resources``, pods are scheduled only where their requests fit. ``version`` and ``feature_gates`` are those of the cluster.
    With ``replan``, running pods of the workloads are scheduled again; otherwise they stay on their nodes. Without ``storage``, volumes do
    not count. Without ``priorities``, no pod preempts another.
    """

    nodes: Sequence[object]
    pods: Sequence[object] = ()
    namespaces: Sequence[object] = ()
    services: Sequence[object] = ()
    replica_sets: Sequence[object] = ()
    stateful_sets: Sequence[object] = ()
    replication_controllers: Sequence[object] = ()
    resources: bool = False
    classes: Sequence[NodeClass] = ()
    version: tuple[int, int] = SCHEDULER
    feature_gates: Collection[str] = ()
    replan: bool = False
    storage: InventoryStorage | None = None
    priorities: Priorities | None = None
    profiles: Mapping[str, Profile] = _DEFAULT_ONLY
    """The configured profiles of the scheduler by name."""
    machines: RunningMachines = _NO_MACHINES
    """The virtual machines in some of the pods."""

    def cluster(self, pod_sources: Sequence[PodSource] = (), ours: Running | None = None) -> Cluster:
        """Return the cluster before any workload is placed, without the running pods of the workloads, but with their controllers."""
        ours = self.running(pod_sources) if ours is None else ours
        owners: dict[str, list[object]] = {"ReplicaSet": [], "StatefulSet": [], "ReplicationController": []}
        for pod_source in pod_sources:
            own = [] if pod_source.has_own_pods else [replicas.owner(pod_source)]
            # Running pods have controllers of their own, whose names the manifest does not show.
            known = pod_source.observed if pod_source.has_own_pods else ours.kept.get(pod_source.key, ())
            names = {name_of(owner) for owner in own if owner is not None}
            own += [owner for owner in spreading_owners(pod_source.namespace, known, self.pods) if name_of(owner) not in names]
            for owner in filter(None, own):
                owners[kind_of(owner)].append(owner)
        mine = {*ours.replaced, *[index for kept in ours.kept.values() for index in kept], *ours.making_way}
        return Cluster(
            [*self.nodes, *[node for each in self.classes for node in each.nodes()]],
            [pod for index, pod in enumerate(self.pods) if index not in mine],
            self.namespaces,
            self.services,
            [*self.replica_sets, *owners["ReplicaSet"]],
            [*self.stateful_sets, *owners["StatefulSet"]],
            [*self.replication_controllers, *owners["ReplicationController"]],
            resources=self.resources,
            version=self.version,
            feature_gates=self.feature_gates,
            profiles=self.profiles,
            **(self.storage.parameters() if self.storage is not None else {}),
        )

    def _making_way(self) -> frozenset[int]:
        """Return the pods in deletion that Pending pods have preempted on their nominated nodes: they are gone before these run."""
        nominated = {text_at(pod, "status", "nominatedNodeName") for pod in self.pods if not text_at(pod, "spec", "nodeName")} - {""}
        return frozenset(
            index
            for index, pod in enumerate(self.pods if nominated else ())
            if text_at(pod, "spec", "nodeName") in nominated and is_preempted(metadata_of(pod), map_at(pod, "status"))
        )

    def running(self, pod_sources: Sequence[PodSource]) -> Running:
        """Return which running pods belong to these workloads, and what happens to them in a plan."""
        if not self.pods:
            return Running({}, (), 0, {}, 0)
        # An object that the API server rejects does not change running pods.
        pod_sources = [pod_source for pod_source in pod_sources if not pod_source.refused]
        made = running_pods_of(pod_sources, self.pods)
        making_way = self._making_way()
        if self.replan:
            return Running({}, tuple([index for each in made.values() for index in each]), 0, {}, 0)
        nodes = {name for node in self.nodes if (name := _name_of(node))}
        kept: dict[str, list[int]] = {}
        held: dict[str, list[int]] = {}
        waiting: dict[str, list[int]] = {}
        over = ending = 0
        for pod_source in pod_sources:
            if pod_source.has_own_pods:
                states = {index: pod_state(self.pods[index], nodes) for index in made[pod_source.key]}
                kept[pod_source.key] = [index for index, state in states.items() if state == "running"]
                held[pod_source.key] = [index for index, state in states.items() if state == "ending"]
                waiting[pod_source.key] = [index for index, state in states.items() if state == "pending"]
                ending += len(set(held[pod_source.key]).difference(making_way))
                continue
            mine = made.get(pod_source.key, ())
            there = [index for index in mine if text_at(self.pods[index], "spec", "nodeName") in nodes]
            finished = {index for index in there if text_at(self.pods[index], "status", "phase") in ENDED}
            ends = {index: None for index in there if metadata_of(self.pods[index]).get("deletionTimestamp") is not None}
            stay = [index for index in there if index not in finished and index not in ends]
            if len(stay) > pod_source.replicas:
                # The target of a migration runs beside the pod of its machine.
                stay.sort(key=lambda index: pod_key(self.pods[index]) not in self.machines)
            ending += len([index for index in ends if index not in finished and index not in making_way])
            kept[pod_source.key] = stay if pod_source.daemon else stay[: pod_source.replicas]
            if not (pod_source.daemon or pod_source.kubevirt):
                states = {index: pod_state(self.pods[index], nodes) for index in mine}
                waiting[pod_source.key] = [index for index, state in states.items() if state == "pending"]
            over += len(stay) - len(kept[pod_source.key])
            if pod_source.daemon or pod_source.pod_replacement.replaced == "gone":
                # The name of a pod is free only when its object is deleted, even if all its containers have ended.
                held[pod_source.key] = [index for index in ends if pod_source.pod_replacement.ordinals or index not in finished]
        return Running(kept, (), over, held, ending, waiting, making_way)


class Running(NamedTuple):
    """The running pods of the workloads by index: ``kept`` stay, ``replaced`` are scheduled again, ``over`` is how many are not requested.

    ``held`` are pods in deletion that are not replaced before they are gone. ``waiting`` are Pending pods, ``making_way`` pods in deletion
    that these have preempted; ``ending`` is the number of all others in deletion.
    """

    kept: Mapping[str, Sequence[int]]
    replaced: Sequence[int]
    over: int
    held: Mapping[str, Sequence[int]]
    ending: int
    waiting: Mapping[str, Sequence[int]] = {}
    making_way: Collection[int] = ()


def _name_of(node: object) -> str:
    if isinstance(node, Node):
        return node.name
    return name_of(node)
