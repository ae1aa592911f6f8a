"""Replicas that ran on different nodes before a disruption and share a node after it: the next failure takes several of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from afflint.placement.plan import Application, DisruptionEffect, SharedNode, WorkloadPlan
from afflint.scheduler.node_fit import NODE_AFFINITY, NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION

_NODE_RULES = frozenset([NODE_AFFINITY, NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION])
"""The plugins whose rejection of a node does not depend on other pods."""


def with_shared_nodes(
    loss: DisruptionEffect, applications: Sequence[Application], workloads: Mapping[str, WorkloadPlan], *, grows: bool
) -> DisruptionEffect:
    """Add the nodes that replicas share after a disruption. ``workloads`` is by key; ``grows``: a node pool may create other nodes."""
    removed = loss.removed and with_shared_nodes(loss.removed, applications, workloads, grows=grows)
    return loss._replace(removed=removed, shared=tuple(_shared(loss, applications, workloads, grows=grows)))


def _shared(
    loss: DisruptionEffect, applications: Sequence[Application], workloads: Mapping[str, WorkloadPlan], *, grows: bool
) -> Iterator[SharedNode]:
    """Yield the node with the most replicas of each workload, and of each application whose workloads have one replica each."""
    moving = {move.workload for move in loss.moves if move.target is not None and move.workload in workloads}
    if not moving:
        return
    single = [each for each in applications if all(len(workloads[key].replicas) == 1 for key in each.workloads)]
    for application in single:
        if not moving.isdisjoint(application.workloads):
            yield from _shared_by(loss, application.name, [workloads[key] for key in application.workloads], proves=False)
    for key in dict.fromkeys(move.workload for move in loss.moves):
        if key in moving and len(workloads[key].replicas) > 1:
            yield from _shared_by(loss, "", [workloads[key]], proves=not grows)


def _shared_by(loss: DisruptionEffect, application: str, workloads: Sequence[WorkloadPlan], *, proves: bool) -> Iterator[SharedNode]:
    before: dict[tuple[str, str], str | None] = {
        (each.key, replica.pod): replica.node for each in workloads for replica in each.replicas if replica.node and not replica.why
    }
    if len(set(before.values())) < len(before):
        return
    keys, lost = tuple([each.key for each in workloads]), set(loss.nodes) - loss.drained
    moves = [move for move in loss.moves if move.workload in keys]
    after = {pod: node for pod, node in before.items() if node not in lost}
    staying = {node for pod, node in after.items() if pod not in {(move.workload, move.pod) for move in moves}}
    after.update({(move.workload, move.pod): move.target for move in moves})
    counts = Counter(sorted(node for node in after.values() if node is not None))
    [(node, number)] = counts.most_common(1)
    if number > 1:
        # A pigeonhole: more replicas are created again than other nodes may ever take one.
        usable = {verdict.node for verdict in workloads[0].verdicts if verdict.reason not in _NODE_RULES} - staying - set(loss.nodes)
        created = [move for move in moves if move.target is not None]
        all_run = counts.total() == len(workloads[0].replicas)
        always = proves and all_run and len(created) > len(usable) and all(move.fate == "recreated" for move in created)
        yield SharedNode(application, keys, node, number, counts.total(), always)
