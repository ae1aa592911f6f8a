"""Failures of nodes: Node and Pod objects remain, and the nodes get the taints of an unreachable node.

Semantics: pkg/controller/nodelifecycle (zones, taints), pkg/controller/tainteviction (tolerations). No kubelet ends
the pods, so they stay in deletion as long as the node exists: pod affinity counts them, topology spread does not. ReplicaSets and similar
controllers replace them at once; StatefulSets and virtual machines wait until they are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from afflint.controllers.kubevirt_cluster import SCHEDULABLE
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import CONTROL_PLANE, DEPRECATED, MASTER, REGION, ZONE
from afflint.kube.taints import UNREACHABLE, UNREACHABLE_NO_SCHEDULE
from afflint.placement.disruption_budgets import is_silent
from afflint.placement.disruption_state import HELD, DisruptionState, ReplicaEnd, terminating
from afflint.placement.failures import Disruption
from afflint.placement.plan import DisruptionEffect
from afflint.placement.removal import Removals
from afflint.placement.schedule import Attempt
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.nodes import Node
from afflint.scheduler.pod_volumes import PodClaim
from afflint.scheduler.pods import Pod, PodKey

if TYPE_CHECKING:
    from afflint.scheduler.preemption import Victim

OUTSTAYS = "it is not evicted: it tolerates the taint of an unreachable node without a time limit"
NO_QUORUM = "the control plane loses its quorum: no pod is replaced until it recovers"
FIRST_NODE = "the pods of the first node that fails may still be evicted: evictions are suspended when the others fail"
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


class NodeLosses:
    """The failures that are simulated on one schedule."""

    def __init__(self, situation: DisruptionState) -> None:
        self.situation = situation
        self._removals = Removals(situation)
        nodes = situation.arrangement.cluster.table.nodes
        self._planes = {node.name for node in nodes if CONTROL_PLANE in node.labels or MASTER in node.labels}
        self._zones = Zones(nodes)

    def lose(self, failure: Disruption) -> DisruptionEffect:
        """Simulate the failure, and the removal of the failed nodes after it."""
        lost = self.out_of_reach(failure)
        return lost._replace(removed=self._removals.remove(failure)) if lost.moves or lost.outcomes else lost

    def out_of_reach(self, failure: Disruption) -> DisruptionEffect:
        """Simulate the failure until the nodes recover or are removed."""
        situation, cluster = self.situation, self.situation.arrangement.cluster
        notes = self.notes(failure)
        displaced = cluster.evicted(failure.nodes)
        if not displaced:
            return DisruptionEffect(failure.what, failure.nodes, (), {}, notes=notes)
        deleted, recreated, ended = self.sorted(failure, displaced)
        failed = cluster.changed([unreachable(cluster.table.nodes[cluster.table.numbers[node]]) for node in failure.nodes])
        due = {
            (situation.titles.get(identity), identity[1]): _SILENCE + (pod.toleration_seconds or 0) + self._detaching(pod)
            for identity, pod in recreated.items()
        }
        attempt, frozen = self._replaced(failed, self.batches(failure, deleted), recreated, ended)
        down = frozenset(failure.nodes)
        moves = situation.moves(failed, recreated, ended, attempt, frozen, down)
        moves = [move._replace(after=due.get((move.workload, move.pod), 0)) for move in moves]
        came = situation.running_again(failed, attempt.nodes)
        outcomes = situation.outcomes(moves, came, down)
        left = situation.left(moves, came)
        preempted = situation.preempted(attempt.victims, attempt.nodes)
        return DisruptionEffect(failure.what, failure.nodes, tuple(moves), outcomes, notes=notes, left=left, preempted=preempted)

    def _replaced(
        self, failed: Cluster, batches: Iterable[Sequence[Pod]], recreated: dict[PodKey, Pod], ended: dict[PodKey, ReplicaEnd]
    ) -> tuple[Attempt, dict[PodKey, str]]:
        """Delete the pods and schedule their replacements, one batch after another; return where they are, and who waits.

        Pods that are preempted are added to ``recreated`` or ``ended``.
        """
        situation = self.situation
        placed: dict[PodKey, str] = {}
        frozen: dict[PodKey, str] = {}
        due: dict[PodKey, Pod] = {}
        victims: list[Victim] = []
        attempt = Attempt({}, {}, {})
        for batch in batches:
            for pod in batch:
                failed.unbind(pod)
                failed.bind(terminating(pod), situation.where[pod.key])
                if pod.key in recreated:
                    due[pod.key] = pod
            frozen.clear()
            missing = {identity: pod for identity, pod in due.items() if identity not in placed}
            attempt = situation.again(failed, missing, frozen, placed)
            situation.make_room(failed, attempt, recreated, ended)
            for victim in attempt.victims:
                placed.pop(victim.pod.key, None)
                due.update({victim.pod.key: victim.pod} if victim.pod.key in recreated else {})
            victims += attempt.victims
            _bind_new(failed, [*due.values(), *situation.waiting], attempt)
            placed.update(attempt.nodes)
        return Attempt(placed, attempt.pending, attempt.errors, tuple(victims)), frozen

    def batches(self, failure: Disruption, deleted: Sequence[Pod]) -> list[list[Pod]]:
        """Return the deleted pods in the order of their deletion: those of one node of a zone after those of another.

        The order matters only to spread constraints, which count pods until they are deleted. Without any, all are one batch.
        """
        if not any(pod.hard_spread for pod in deleted):
            return [list(deleted)]
        at = self._zones.eviction_order(failure.nodes)
        found: dict[int, list[Pod]] = {}
        for pod in deleted:
            found.setdefault(at[self.situation.where[pod.key]] + (pod.toleration_seconds or 0), []).append(pod)
        return [found[second] for second in sorted(found)] or [[]]

    def _detaching(self, pod: Pod) -> int:
        """Return for how many seconds a volume of a deleted pod stays attached to the failed node."""
        exclusive = self.situation.arrangement.exclusive
        return _FORCED_DETACH if any(isinstance(each, PodClaim) and each.key in exclusive for each in pod.volumes) else 0

    def sorted(self, failure: Disruption, displaced: Sequence[Pod]) -> Displaced:
        """Sort the pods on the failed nodes by what happens to them, without the pods of DaemonSets, which stay on their nodes."""
        situation, where = self.situation, self.situation.where
        suspended = self._zones.suspended(failure.nodes)
        deleted: list[Pod] = []
        recreated: dict[PodKey, Pod] = {}
        ended: dict[PodKey, ReplicaEnd] = {}
        for pod in displaced:
            identity, pod_replacement = pod.key, situation.pod_replacement(pod)
            zone = suspended.get(where[identity])
            if pod_replacement.by_node:
                continue
            if zone is not None:
                ended[identity] = ReplicaEnd("stays", zone)
                continue
            if pod.toleration_seconds is None:
                ended[identity] = ReplicaEnd("stays", OUTSTAYS)
                continue
            deleted.append(pod)
            if pod_replacement.replaced == "never":
                ended[identity] = situation.never_again(pod)
            elif pod_replacement.replaced == "gone":
                ended[identity] = ReplicaEnd("held", HELD)
            elif situation.pinned(pod):
                ended[identity] = ReplicaEnd("waits", f"its spec.nodeName is {situation.pinned(pod)}")
            else:
                recreated[identity] = pod
        return Displaced(deleted, recreated, ended)

    def notes(self, failure: Disruption) -> tuple[str, ...]:
        """Return what a failure does to the cluster as a whole."""
        lost = len(self._planes.intersection(failure.nodes))
        quorum = (NO_QUORUM,) if lost and 2 * lost >= len(self._planes) else ()
        return (*quorum, *((FIRST_NODE,) if self._zones.spares_all_but_one(failure.nodes) else ()))


def unreachable(node: Node) -> Node:
    """Return the node with the taints of an unreachable one. virt-controller marks it as not schedulable for virtual machines."""
    labels = {**node.labels, SCHEDULABLE: "false"} if SCHEDULABLE in node.labels else node.labels
    return node._replace(taints=(*node.taints, UNREACHABLE_NO_SCHEDULE, UNREACHABLE), labels=labels)


def _bind_new(cluster: Cluster, pods: Iterable[Pod], attempt: Attempt) -> None:
    for pod in pods:
        if pod.key in attempt.nodes:
            cluster.bind(pod, attempt.nodes[pod.key])


class Zones:
    """The zones by which the node lifecycle controller distinguishes failures of nodes and of the network: `ComputeZoneState`.

    A zone is a pair of region and zone labels; nodes without them are a zone of their own. Nodes that are already unreachable count.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._zone_of = {node.name: _zone(node) for node in nodes if _EXCLUDED not in node.labels}
        self._members: dict[tuple[str, str], list[str]] = {}
        for name, zone in self._zone_of.items():
            self._members.setdefault(zone, []).append(name)
        self._silent = {node.name for node in nodes if is_silent(node)}

    def suspended(self, failing: Iterable[str]) -> dict[str, str]:
        """Return the failing nodes from which no pod is evicted, each with the reason."""
        failing = set(failing)
        down = failing | self._silent
        if self._members and all(down.issuperset(members) for members in self._members.values()):
            return dict.fromkeys(failing, "evictions are suspended while all nodes are unavailable")
        found = {}
        for zone in {self._zone_of[node] for node in failing if node in self._zone_of}:
            members = self._members[zone]
            lost = sum(node in down for node in members)
            partly = _ENOUGH <= lost < len(members) and lost / len(members) >= _MOST_OF_ZONE
            if partly and len(members) <= _LARGE_ZONE:
                which = f" in zone {zone[1]}" if zone[1] else " without a zone" if len(self._members) > 1 else ""
                why = f"evictions are suspended: {lost} of {len(members)} nodes{which} are unavailable"
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
