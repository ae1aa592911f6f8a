"""What the removal of nodes does: the Node objects and all pods on them are deleted.

Semantics: `gcOrphaned` (pkg/controller/podgc). The scheduler forgets nodes, labels and pods at once; all controllers recreate their pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from afflint.placement.disruption_state import DisruptionState, ReplicaEnd
from afflint.placement.failures import Disruption
from afflint.placement.plan import DisruptionEffect
from afflint.scheduler.pods import Pod, PodKey


class Removals:
    """The removals of nodes that are simulated on one schedule."""

    def __init__(self, situation: DisruptionState) -> None:
        self.situation = situation

    def remove(self, failure: Disruption) -> DisruptionEffect:
        """Simulate the removal of nodes.

        Pods of a DaemonSet are not replaced. The others are recreated in the order in which they were scheduled; pods that were Pending
        are tried after them.
        """
        situation, cluster = self.situation, self.situation.arrangement.cluster
        displaced, released = cluster.evicted(failure.nodes), situation.released(failure.nodes)
        if not (displaced or released):
            return DisruptionEffect(failure.what, failure.nodes, (), {}, "remove")
        recreated, ended = self.sorted(displaced)
        recreated.update(released)
        frozen: dict[PodKey, str] = {}
        remaining = cluster.without(failure.nodes)
        attempt = situation.again(remaining, recreated, frozen)
        situation.make_room(remaining, attempt, recreated, ended)
        for pod in (*recreated.values(), *situation.waiting):
            if pod.key in attempt.nodes:
                remaining.bind(pod, attempt.nodes[pod.key])
        moves = situation.moves(remaining, recreated, ended, attempt, frozen)
        running = situation.running_again(remaining, attempt.nodes)
        outcomes = situation.outcomes(moves, running, frozenset(failure.nodes))
        left = situation.left(moves, running)
        preempted = situation.preempted(attempt.victims, attempt.nodes)
        return DisruptionEffect(failure.what, failure.nodes, tuple(moves), outcomes, "remove", left=left, preempted=preempted)

    def sorted(self, displaced: Sequence[Pod]) -> tuple[dict[PodKey, Pod], dict[PodKey, ReplicaEnd]]:
        """Return the pods that are recreated and those that are not, without the pods of DaemonSets."""
        recreated: dict[PodKey, Pod] = {}
        ended: dict[PodKey, ReplicaEnd] = {}
        for pod in displaced:
            pod_replacement = self.situation.pod_replacement(pod)
            node = self.situation.pinned(pod)
            if pod_replacement.by_node:
                continue
            if pod_replacement.replaced == "never":
                ended[pod.key] = self.situation.never_again(pod)
            elif node:
                ended[pod.key] = ReplicaEnd("waits", f"its spec.nodeName is {node}")
            else:
                recreated[pod.key] = pod
        return recreated, ended
