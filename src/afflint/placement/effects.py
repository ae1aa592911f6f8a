"""The effect of what happened in a cluster on its workloads: which pods moved, and how many replicas run in the end."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.findings.grouping import grouped
from afflint.placement.cluster_state import RETRY, ClusterState
from afflint.placement.plan import Action, ClusterEvent, DisruptionEffect, Outcome, Preempted, ReplicaMove
from afflint.placement.rejections import RunningPodIndex
from afflint.placement.schedule import PlacedWorkload
from afflint.scheduler.pods import PodKey

if TYPE_CHECKING:
    from afflint.scheduler.preemption import Victim


def effect(state: ClusterState, what: str, nodes: Sequence[str], action: Action) -> DisruptionEffect:
    """Return the effect of all that happened so far. ``what`` and ``nodes`` say what is disrupted."""
    moves = [*_moves(state), *_moves_of_daemons(state)]
    running = state.schedule_index.running_again(state.cluster, state.placed)
    by_workload = grouped((move.workload, move) for move in moves)
    placed = state.schedule_index.by_key
    left = {key: _left(placed[key], each, running) for key, each in by_workload.items()}
    outcomes = {key: _outcome(len(placed[key].running), number, gap=key in state.gaps) for key, number in left.items()}
    return DisruptionEffect(
        what,
        tuple(nodes),
        tuple(moves),
        outcomes,
        action,
        tuple(state.blocked),
        tuple(state.notes),
        left=left,
        preempted=_preempted(state),
        events=tuple(sorted((*state.log, *_pending(state, moves)), key=lambda event: event.at)),
    )


def _moves(state: ClusterState) -> list[ReplicaMove]:
    """Return what happens to each displaced replica, in the order of the workloads."""
    index = state.schedule_index
    running_pods = RunningPodIndex(state.cluster) if state.pending else None
    waits = index.waits(state.cluster, state.placed)
    moves = []
    displaced = state.recreated.keys() | state.ended.keys() | state.migrated.keys()
    for identity in sorted(index.ranks.keys() & displaced, key=index.ranks.__getitem__):
        workload = index.owners[identity]
        key, pod, source = workload.pod_source.key, identity[1], workload.nodes.get(identity, "")
        target = state.placed.get(identity)
        after = RETRY if identity in state.late else state.after.get(identity, 0)
        if identity in workload.held:
            # It did not run before: it is reported where the deletion of another pod allows it.
            source = workload.held[identity].node
            moves += [ReplicaMove(key, pod, source, target, after=after)] if source and target is not None else []
        elif identity in state.ended:
            moves.append(ReplicaMove(key, pod, source, None, state.ended[identity].why, state.ended[identity].fate))
        elif identity in state.migrated:
            moves.append(ReplicaMove(key, pod, source, state.migrated[identity], "", "migrated"))
        elif identity in state.behind:
            moves.append(ReplicaMove(key, pod, source, None, f"created only after {state.behind[identity]} is ready", "waits", after))
        elif identity in waits:
            moves.append(ReplicaMove(key, pod, source, None, waits[identity], "attaching", after))
        elif target is not None:
            moves.append(ReplicaMove(key, pod, source, target, after=after))
        else:
            reasons = state.pending.get(identity, {})
            why = index.why(state.cluster, state.recreated[identity], key, reasons, running_pods, state.unavailable)
            moves.append(ReplicaMove(key, pod, source, None, why, "waits", after))
    return moves


def _moves_of_daemons(state: ClusterState) -> Iterator[ReplicaMove]:
    """Yield what happens to the pods of each DaemonSet whose nodes are all unreachable or removed."""
    removed, down = ({event.node for event in state.log if event.what in words} for words in (("removed",), ("unreachable", "removed")))
    for key, on in state.schedule_index.daemons.items():
        if on <= down:
            for pod, node in state.schedule_index.by_key[key].nodes.items():
                yield ReplicaMove(key, pod[1], node, None, "", "gone" if node in removed else "stays")


def _pending(state: ClusterState, moves: Iterable[ReplicaMove]) -> Iterator[ClusterEvent]:
    """Yield an event for each new pod that no node takes; its reason is that of its move."""
    index = state.schedule_index
    why = {(move.workload, move.pod): move.why for move in moves if move.fate == "waits"}
    missing = state.recreated.keys() - state.placed.keys() - state.behind.keys()
    for identity in sorted(index.ranks.keys() & missing, key=index.ranks.__getitem__):
        key = index.titles[identity], identity[1]
        if key in why:
            yield ClusterEvent(state.deleted.get(identity, state.now), "pending", "", identity, why[key])


def _left(placed: PlacedWorkload, moves: Iterable[ReplicaMove], running: Container[PodKey]) -> int:
    """Return how many replicas of a workload run in the end."""
    names = {name for _, name in placed.running}
    gained = sum(pod.key not in placed.running and pod.key in running for pod in placed.pods)
    return len(placed.running) + gained - sum(move.target is None for move in moves if move.pod in names)


def _outcome(before: int, left: int, *, gap: bool) -> Outcome:
    """Return the outcome for a workload. ``gap``: no replica of it ran for a time."""
    if left < before:
        return "degraded" if left else "dead"
    return "interrupted" if gap else "survives"


def _preempted(state: ClusterState) -> tuple[Preempted, ...]:
    """Return the victims of preemption that ran before the disruption."""
    owners = state.schedule_index.owners
    ran = [each for key, each in state.victims.items() if key not in owners or key in owners[key].nodes]
    return preempted_pods(ran, state.schedule_index.titles, state.placed)


def preempted_pods(victims: Iterable[Victim], titles: Mapping[PodKey, str], nodes: Mapping[PodKey, str]) -> tuple[Preempted, ...]:
    """Return the victims of preemption as a part of a plan, without those that were being deleted already.

    ``titles`` has the keys of workloads, ``nodes`` the nodes of the pods that are scheduled again.
    """
    return tuple(
        [
            Preempted(pod.name, titles.get(pod.key, ""), node, by.name, titles.get(by.key, ""), nodes.get(pod.key))
            for pod, node, by in victims
            if not pod.subject.terminating
        ]
    )
