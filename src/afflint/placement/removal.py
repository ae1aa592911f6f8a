"""What the removal of nodes does: their objects are deleted, and with them all pods there, whoever owns them.

Semantics: `gcOrphaned` (pkg/controller/podgc). The scheduler forgets nodes, labels and pods at once; all controllers make pods anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from afflint.placement.disruption_state import DisruptionState, ReplicaEnd, identity_of
from afflint.placement.failures import Disruption
from afflint.placement.plan import DisruptionEffect
from afflint.placement.schedule import Identity
from afflint.scheduler.pods import Pod


class Removals:
    """The removals of nodes from one arrangement."""

    def __init__(self, situation: DisruptionState) -> None:
        self.situation = situation

    def remove(self, failure: Disruption) -> DisruptionEffect:
        """What becomes of the pods of the removed nodes.

        Pods of a DaemonSet vanish with their nodes. The others are made anew, in the order in which they had been placed, and pods that
        had no place before are tried after them.
        """
        situation, cluster = self.situation, self.situation.arrangement.cluster
        displaced, released = cluster.evicted(failure.nodes), situation.released(failure.nodes)
        if not (displaced or released):
            return DisruptionEffect(failure.what, failure.nodes, (), {}, "remove")
        anew, ended = self.sorted(displaced)
        anew.update(released)
        frozen: dict[Identity, str] = {}
        remaining = cluster.without(failure.nodes)
        attempt = situation.again(remaining, anew, frozen)
        for pod in (*anew.values(), *situation.waiting):
            if identity_of(pod) in attempt.nodes:
                remaining.bind(pod, attempt.nodes[identity_of(pod)])
        moves = situation.moves(remaining, anew, ended, attempt, frozen)
        outcomes = situation.outcomes(moves, attempt.nodes, frozenset(failure.nodes))
        return DisruptionEffect(failure.what, failure.nodes, tuple(moves), outcomes, "remove")

    def sorted(self, displaced: Sequence[Pod]) -> tuple[dict[Identity, Pod], dict[Identity, ReplicaEnd]]:
        """The pods that are made anew, and those that are not; without those that belong to their nodes."""
        anew: dict[Identity, Pod] = {}
        ended: dict[Identity, ReplicaEnd] = {}
        for pod in displaced:
            pod_replacement = self.situation.pod_replacement(pod)
            node = self.situation.pinned(pod)
            if pod_replacement.by_node:
                continue
            if pod_replacement.replaced == "never":
                ended[identity_of(pod)] = self.situation.never_again(pod)
            elif node:
                ended[identity_of(pod)] = ReplicaEnd("waits", f"its spec.nodeName is {node}")
            else:
                anew[identity_of(pod)] = pod
        return anew, ended
