"""Drains of nodes, as `kubectl drain --ignore-daemonsets --delete-emptydir-data` performs them without a time limit.

All nodes are cordoned first, then drained in order. An evicted pod is deleted if its PodDisruptionBudget allows it; otherwise the eviction
is retried. The controller creates a replacement, which may allow the next eviction. Virtual machines that request it are live-migrated:
the source pod counts until the target pod runs. Semantics: pkg/drain and pkg/cmd/drain of kubectl.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afflint.kube.taints import CORDON
from afflint.placement.cluster_state import ClusterState
from afflint.placement.plan import Blocked
from afflint.placement.pod_evictions import blocked, can_leave, evict_or_migrate, why_blocked
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey

UNMANAGED = "it has no controller: kubectl drain fails without --force, which deletes it permanently"
GUARDED = "it has no controller: kubectl drain fails without --force; its operator creates it again once the node is uncordoned"
LINGERS = "its node is unavailable, so its deletion does not end before the node recovers or is removed"


def cordoned(node: Node) -> Node:
    """Return the node after `kubectl cordon`, with the taint that the node lifecycle controller adds."""
    taints = node.taints if CORDON in node.taints else (*node.taints, CORDON)
    return node._replace(unschedulable=True, taints=taints)


def drain(state: ClusterState, nodes: Sequence[str]) -> None:
    """Cordon nodes, then evict their pods, one node after another, until a node keeps some."""
    evictor = Drain(state)
    evictor.cordon(nodes)
    for number, node in enumerate(nodes):
        stuck = evictor.empty((node,))
        state.blocked += stuck
        # kubectl continues with the next node if it cannot drain one, and waits for pods whose eviction it retries.
        if not all(each.refused for each in stuck):
            after = nodes[number + 1 :]
            if after:
                are = "node is" if len(after) == 1 else "nodes are"
                state.notes.append(f"the drain stops at {node}: {len(after)} further {are} only cordoned")
            break


def _forced_words(state: ClusterState, pod: Pod, node: str) -> str:
    """Return what would keep a drain with ``--force`` from completing."""
    return f"with --force, the drain of {node} would not complete either: {pod.name} is not evicted: {why_blocked(state, pod, node).why}"


def refusal(state: ClusterState, pod: Pod, node: str) -> Blocked:
    """Return why ``kubectl drain`` fails because of a pod without a controller."""
    return blocked(state, pod, node, GUARDED if state.schedule_index.guards(pod) else UNMANAGED, refused=True)


class Drain:
    """Empties nodes of a cluster. With ``force``, pods without a controller are evicted, too."""

    def __init__(self, state: ClusterState, *, force: bool = False) -> None:
        self._state = state
        self._force = force
        self._lingering: dict[PodKey, tuple[Pod, str]] = {}
        """The pods that were evicted from a node that is unavailable, where nothing ends them."""

    def cordon(self, nodes: Iterable[str]) -> None:
        """Cordon nodes."""
        state = self._state
        table = state.cluster.table
        state.cluster = state.cluster.changed([cordoned(table.nodes[table.numbers[node]]) for node in nodes])
        state.mark_unavailable(nodes)
        for node in nodes:
            state.record("cordoned", node)

    def empty(self, nodes: Sequence[str]) -> list[Blocked]:
        """Evict the pods of cordoned nodes until nothing changes; return those that remain, with the reasons."""
        state = self._state
        there = [(pod, node) for node in nodes for pod in state.cluster.evicted((node,)) if not state.schedule_index.is_tied(pod)]
        alone = [(pod, node) for pod, node in there if pod.controller is None]
        if alone and not self._force:
            state.notes += [_forced_words(state, pod, node) for pod, node in there if not can_leave(state, pod, node)][:1]
            return [refusal(state, pod, node) for pod, node in alone]
        for node in nodes:
            self._wait_for_the_deleted(node)
        progress, mark = True, len(state.preempted)
        while progress and there:
            before, placed = len(there), len(state.placed)
            gone = set(state.preempted[mark:])
            there = [(pod, node) for pod, node in there if pod.key not in gone and not self._evict(pod, node)]
            state.schedule_missing()
            progress = len(there) < before or len(state.placed) > placed
        lingering = [blocked(state, pod, node, LINGERS) for pod, node in self._lingering.values() if node in nodes]
        return [*lingering, *[why_blocked(state, pod, node) for pod, node in there]]

    def _evict(self, pod: Pod, node: str) -> bool:
        is_gone = evict_or_migrate(self._state, pod, node, f"{node} is drained")
        if is_gone and self._state.is_silent(node) and pod.key not in self._state.migrated:
            self._lingering[pod.key] = pod, node
        return is_gone

    def take_away(self, nodes: Sequence[str]) -> list[tuple[Pod, str]]:
        """Remove the pods that remain on nodes, as a user does; return them with their nodes. Those in deletion are gone."""
        state = self._state
        found = [(pod, node) for node in nodes for pod in state.cluster.evicted((node,)) if not state.schedule_index.is_tied(pod)]
        for pod in (*[pod for pod, _ in found], *state.cluster.ending(nodes)):
            state.cluster.unbind(pod)
        self._lingering = {key: each for key, each in self._lingering.items() if each[1] not in nodes}
        return found

    def _wait_for_the_deleted(self, node: str) -> None:
        """Remove the pods that are being deleted on a node, which needs no eviction, and create the pods that waited for that."""
        state = self._state
        if state.is_silent(node):
            return
        for pod in state.cluster.ending((node,)):
            state.cluster.unbind(pod)
        state.recreated.update(state.schedule_index.released((node,)))
        state.schedule_missing()
