"""Failures of nodes: Node and Pod objects remain, and the nodes get the taints of an unreachable node.

Semantics: pkg/controller/nodelifecycle (zones, taints), pkg/controller/tainteviction (tolerations). No kubelet ends
the pods, so they stay in deletion as long as the node exists: pod affinity counts them, topology spread does not. ReplicaSets and similar
controllers replace them at once; StatefulSets and virtual machines wait until they are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afflint.controllers.kubevirt_cluster import SCHEDULABLE
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import CONTROL_PLANE, DEPRECATED, MASTER, REGION, ZONE
from afflint.kube.taints import UNREACHABLE, UNREACHABLE_NO_SCHEDULE
from afflint.placement.cluster_state import ClusterState
from afflint.placement.disruption_budgets import is_silent
from afflint.placement.schedule_index import ReplicaEnd, ScheduleIndex, terminating
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey
from afflint.storage.pod_volumes import PodClaim

OUTSTAYS = "it is not evicted: it tolerates the taint of an unreachable node without a time limit"
NO_QUORUM = "the control plane loses its quorum: no pod is replaced until it recovers"
SUSPENDED = "evictions are suspended"
FIRST_NODE = f"the pods of the first node that fails may still be evicted: {SUSPENDED} when the others fail"
_EXCLUDED = "node.kubernetes.io/exclude-disruption"
# Seconds without a heartbeat before the taints are added and the pods' tolerationSeconds start.
_SILENCE = 50
# Seconds until a volume is detached from an unhealthy node by force (ReconcilerMaxWaitForUnmountDuration, the attach/detach controller).
_FORCED_DETACH = 360
_BETWEEN_NODES = 10
"""Seconds between the taints of two nodes of a zone (node-eviction-rate 0.1)."""
_LARGE_ZONE = 50
_MOST_OF_ZONE = 0.55
_ENOUGH = 3


class Displaced(NamedTuple):
    """The pods on failed nodes that are deleted, those of them that are recreated, and those that are not."""

    deleted: list[Pod]
    recreated: dict[PodKey, Pod]
    ended: dict[PodKey, ReplicaEnd]


class NodeLifecycle:
    """What the controllers of nodes do when nodes of one schedule fail."""

    def __init__(self, schedule_index: ScheduleIndex) -> None:
        self._index = schedule_index
        nodes = schedule_index.schedule.cluster.table.nodes
        self._planes = {node.name for node in nodes if CONTROL_PLANE in node.labels or MASTER in node.labels}
        self._zones = Zones(nodes)

    def fail(self, state: ClusterState, nodes: Sequence[str]) -> None:
        """Let nodes fail until they recover or are removed: their pods are deleted, and recreated elsewhere.

        They fail at the same time, so their order does not matter.
        """
        nodes = sorted(nodes, key=state.cluster.table.numbers.__getitem__)
        state.notes += self.notes(nodes)
        displaced = state.cluster.evicted(nodes)
        where = {pod.key: state.cluster.node_of(pod.key) or "" for pod in displaced}
        for node in nodes:
            state.record("unreachable", node)
        for pod in displaced:
            if not state.is_silent(where[pod.key]):
                state.stop(pod, f"{where[pod.key]} fails")
        table = state.cluster.table
        state.cluster = state.cluster.changed([unreachable(table.nodes[table.numbers[node]]) for node in nodes])
        state.mark_unavailable(nodes)
        deleted, recreated, ended = self.sort_displaced(nodes, displaced)
        for pod in displaced:
            if pod.key in ended:
                state.replace(pod, where[pod.key], ended[pod.key])
        start, batches = state.now, self.batches(nodes, deleted)
        for number, (second, batch) in enumerate(batches.items(), 1):
            state.now = start + second
            for pod in batch:
                state.cluster.unbind(pod)
                state.cluster.bind(terminating(pod), where[pod.key])
                if pod.key in recreated:
                    state.replace(pod, where[pod.key], None)
                    until = _SILENCE + (pod.toleration_seconds or 0)
                    state.after[pod.key] = until + self._detaching(pod)
                    state.deleted[pod.key] = start + until
            state.schedule_missing(while_others_end=False, again_later=number < len(batches))

    def batches(self, nodes: Sequence[str], deleted: Sequence[Pod]) -> dict[int, list[Pod]]:
        """Return the deleted pods by the second of their deletion: those that tolerate the taint for longer after the others.

        Spread constraints count pods until they are deleted. If there are any, those of one node of a zone come after those of another.
        """
        spread = any(pod.hard_spread for pod in deleted)
        at, where = self._zones.eviction_order(nodes) if spread else {}, self._index.where
        found = grouped((_SILENCE + at.get(where[pod.key], 0) + (pod.toleration_seconds or 0), pod) for pod in deleted)
        return {second: found[second] for second in sorted(found)}

    def _detaching(self, pod: Pod) -> int:
        """Return for how many seconds a volume of a deleted pod stays attached to the failed node."""
        exclusive = self._index.schedule.exclusive
        return _FORCED_DETACH if any(isinstance(each, PodClaim) and each.key in exclusive for each in pod.volumes) else 0

    def sort_displaced(self, nodes: Sequence[str], displaced: Sequence[Pod]) -> Displaced:
        """Sort the pods on failed nodes by what happens to them, without the pods of DaemonSets, which stay on their nodes."""
        suspended, where = self._zones.suspended(nodes), self._index.where
        deleted: list[Pod] = []
        staying: dict[PodKey, ReplicaEnd] = {}
        for pod in displaced:
            if not self._index.is_tied(pod):
                zone = suspended.get(where[pod.key])
                if zone is not None or pod.toleration_seconds is None:
                    staying[pod.key] = ReplicaEnd("stays", zone or OUTSTAYS)
                else:
                    deleted.append(pod)
        recreated, ended = self._index.sort_displaced(deleted, remain=True)
        return Displaced(deleted, recreated, {**staying, **ended})

    def notes(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Return what a failure does to the cluster as a whole."""
        lost = len(self._planes.intersection(nodes))
        quorum = (NO_QUORUM,) if lost and 2 * lost >= len(self._planes) else ()
        return (*quorum, *((FIRST_NODE,) if self._zones.spares_all_but_one(nodes) else ()))


def unreachable(node: Node) -> Node:
    """Return the node with the taints of an unreachable one. virt-controller marks it as not schedulable for virtual machines."""
    labels = {**node.labels, SCHEDULABLE: "false"} if SCHEDULABLE in node.labels else node.labels
    return node._replace(taints=(*node.taints, UNREACHABLE_NO_SCHEDULE, UNREACHABLE), labels=labels)


class Zones:
    """The zones by which the node lifecycle controller distinguishes failures of nodes and of the network: `ComputeZoneState`.

    A zone is a pair of region and zone labels; nodes without them are a zone of their own. Nodes that are already unreachable count.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._zone_of = {node.name: _zone(node) for node in nodes if _EXCLUDED not in node.labels}
        self._members = grouped((zone, name) for name, zone in self._zone_of.items())
        self._silent = {node.name for node in nodes if is_silent(node)}

    def suspended(self, failing: Iterable[str]) -> dict[str, str]:
        """Return the failing nodes from which no pod is evicted, each with the reason."""
        failing = set(failing)
        down = failing | self._silent
        if self._members and all(down.issuperset(members) for members in self._members.values()):
            return dict.fromkeys(failing, f"{SUSPENDED} while all nodes are unavailable")
        found = {}
        for zone in {self._zone_of[node] for node in failing if node in self._zone_of}:
            members = self._members[zone]
            lost = sum(node in down for node in members)
            partly = _ENOUGH <= lost < len(members) and lost / len(members) >= _MOST_OF_ZONE
            if partly and len(members) <= _LARGE_ZONE:
                which = f" in zone {zone[1]}" if zone[1] else " without a zone" if len(self._members) > 1 else ""
                why = f"{SUSPENDED}: {lost} of {len(members)} nodes{which} are unavailable"
                found.update(dict.fromkeys(failing.intersection(members), why))
        return found

    def eviction_order(self, failing: Iterable[str]) -> dict[str, int]:
        """Return after how many seconds each of the failing nodes gets the taint that evicts its pods: one of a zone after another."""
        numbers: dict[tuple[str, str] | None, int] = {}
        found = {}
        for node in failing:
            zone = self._zone_of.get(node)
            found[node] = _BETWEEN_NODES * numbers.get(zone, 0)
            numbers[zone] = numbers.get(zone, 0) + 1
        return found

    def spares_all_but_one(self, failing: Iterable[str]) -> bool:
        """Return whether evictions are suspended because only a part of a zone fails: the first nodes may fail before that."""
        suspended = self.suspended(failing)
        zones = {self._zone_of[node] for node in suspended if node in self._zone_of}
        return bool(suspended) and not all(
            self._members[zone] and set(self._members[zone]) <= suspended.keys() | self._silent for zone in zones
        )


_OLD = {new: old for old, new in DEPRECATED.items()}


def _zone(node: Node) -> tuple[str, str]:
    """Return region and zone, by the deprecated labels if they exist: GetZoneKey in k8s.io/component-helpers."""
    region, zone = (node.labels.get(_OLD[key]) or node.labels.get(key, "") for key in (REGION, ZONE))
    return region, zone
