"""Scenarios: what happens to the nodes of a cluster, one stage after another, and what follows from it.

A failure during maintenance is the common case of several stages: what survives each of the two may not survive both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from afflint.findings.errors import UserError
from afflint.placement import pod_garbage
from afflint.placement.cluster_state import ClusterState
from afflint.placement.draining import Drain
from afflint.placement.effects import effect
from afflint.placement.evictions import Evictions
from afflint.placement.failures import Disruption, failures
from afflint.placement.node_lifecycle import NodeLifecycle
from afflint.placement.plan import Action, DisruptionEffect, Stage
from afflint.placement.schedule_index import ScheduleIndex
from afflint.scheduler.cluster import Cluster

ORDER: tuple[Action, ...] = ("lose", "drain", "remove")
"""The order in which the parts of a combined disruption happen."""


def stages(cluster: Cluster, asked: Iterable[Sequence[str]]) -> list[Stage]:
    """Return the disruptions that are ``asked`` for, by action in ORDER, each by itself. Raises UnknownLossError."""
    named = [(action, each) for action, values in zip(ORDER, asked, strict=True) for each in values]
    return [Stage(action, *part) for action, each in named for part in failures(cluster, each)]


def combinations(cluster: Cluster, asked: Iterable[Sequence[str]]) -> list[tuple[Stage, ...]]:
    """Return the combined disruptions: everything that is ``asked`` for, by action in ORDER.

    One of the values may be ``each:node`` or ``each:KEY``; there is then a combined disruption for each of its nodes or label values.
    Raises UnknownLossError, and UserError for more than one ``each:``.
    """
    named = [(action, each) for action, values in zip(ORDER, asked, strict=True) for each in values]
    several = [each for _, each in named if each.startswith("each:")]
    if len(several) > 1:
        raise UserError(f"--together takes only one each:…, not {' and '.join(several)}")
    choices = [[Stage(action, *part) for part in failures(cluster, each)] for action, each in named]
    # Without nodes that have failed before, several of them may be equal.
    return [stages for stages in dict.fromkeys(map(_without_repeats, product(*choices))) if stages]


def _without_repeats(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Return the stages without nodes that have failed or been drained in an earlier one; only a removal follows another disruption."""
    seen: set[str] = set()
    kept = []
    for stage in stages:
        nodes = stage.nodes if stage.action == "remove" else tuple([node for node in stage.nodes if node not in seen])
        seen.update(nodes)
        if nodes:
            kept.append(stage._replace(nodes=nodes))
    return tuple(kept)


class Scenarios:
    """The scenarios that are simulated on one schedule."""

    def __init__(self, evictions: Evictions) -> None:
        self._evictions = evictions
        self._nodes = NodeLifecycle(evictions.schedule_index)

    def simulate(self, disruption: Stage | tuple[Stage, ...]) -> DisruptionEffect:
        """Simulate one disruption, or several of them as stages of one."""
        if not isinstance(disruption, Stage):
            return self._together(disruption)
        by_action = {"lose": self.lose, "drain": self.drain, "remove": self.remove}
        return by_action[disruption.action](Disruption(disruption.what, disruption.nodes))

    def _together(self, stages: Sequence[Stage]) -> DisruptionEffect:
        """Simulate the stages, each in the state that the one before it leaves. Nodes that fail do so at the same time."""
        state = ClusterState(self._evictions)
        lost = _nodes_of(stages, "lose")
        if lost:
            self._nodes.fail(state, lost)
        for stage in stages:
            if stage.action == "drain":
                Drain(state).drain(stage.nodes)
        removed = _nodes_of(stages, "remove")
        if removed:
            pod_garbage.remove(state, removed)
        what = "; ".join(f"{stage.action} {stage.what}" for stage in stages)
        return effect(state, what, _nodes_of(stages), "together", frozenset((*lost, *removed)))._replace(stages=tuple(stages))

    def lose(self, failure: Disruption) -> DisruptionEffect:
        """Simulate the failure of nodes, and their removal after it."""
        state = ClusterState(self._evictions)
        lost = self._fail(state, failure)
        if not (lost.moves or lost.outcomes):
            return lost
        pod_garbage.remove(state, failure.nodes)
        return lost._replace(removed=effect(state, failure.what, failure.nodes, "remove", frozenset(failure.nodes)))

    def fail(self, failure: Disruption) -> DisruptionEffect:
        """Simulate the failure of nodes until they recover or are removed."""
        return self._fail(ClusterState(self._evictions), failure)

    def drain(self, disruption: Disruption) -> DisruptionEffect:
        """Simulate a drain: whether it completes, and what happens to the pods."""
        state = ClusterState(self._evictions)
        Drain(state).drain(disruption.nodes)
        return effect(state, disruption.what, disruption.nodes, "drain")

    def remove(self, disruption: Disruption) -> DisruptionEffect:
        """Simulate the removal of nodes."""
        state = ClusterState(self._evictions)
        pod_garbage.remove(state, disruption.nodes)
        return effect(state, disruption.what, disruption.nodes, "remove", frozenset(disruption.nodes))

    def _fail(self, state: ClusterState, failure: Disruption) -> DisruptionEffect:
        self._nodes.fail(state, failure.nodes)
        return effect(state, failure.what, failure.nodes, "lose", frozenset(failure.nodes))


def scenarios_of(schedule_index: ScheduleIndex) -> Scenarios:
    """Return the scenarios of one schedule in which no PodDisruptionBudget matters."""
    return Scenarios(Evictions(schedule_index))


def _nodes_of(stages: Iterable[Stage], action: Action | None = None) -> tuple[str, ...]:
    """Return the nodes of all stages, or of those with one action, each once."""
    return tuple(dict.fromkeys(node for stage in stages if action in (None, stage.action) for node in stage.nodes))
