"""What the removal of nodes does: the Node objects and all pods on them are deleted.

Semantics: `gcOrphaned` (pkg/controller/podgc). The scheduler forgets nodes, labels and pods at once; all controllers recreate their pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from afflint.placement.cluster_state import ClusterState


def remove(state: ClusterState, nodes: Sequence[str]) -> None:
    """Delete Node objects. Pods of a DaemonSet are not replaced.

    The others are recreated in the order in which they were scheduled; pods that were Pending are tried after them.
    """
    index, nodes = state.schedule_index, sorted(nodes, key=state.cluster.table.numbers.__getitem__)
    displaced = [(pod, state.cluster.node_of(pod.key) or "") for pod in state.cluster.evicted(nodes)]
    # The pods on unreachable nodes have stopped before.
    remaining = [key for key, end in state.ended.items() if end.fate in ("held", "stays") and state.displaced[key][1] in nodes]
    held = [state.displaced[key] for key in remaining if state.ended.pop(key).fate == "held"]
    stopped = set(remaining)
    for pod, node in displaced:
        if pod.key not in stopped:
            state.stop(pod, f"{node} is removed")
    state.cluster = state.cluster.without(nodes)
    state.mark_available(nodes)
    for node in nodes:
        state.record("removed", node)
    for pod, node in (*displaced, *held):
        if not index.goes_with_node(pod):
            state.replace(pod, node, index.end_of(pod))
    state.recreated.update(index.released(nodes))
    # Pods that no longer exist keep no drain from completing.
    state.blocked = [each for each in state.blocked if each.node not in nodes]
    state.schedule_missing(while_others_end=False)
