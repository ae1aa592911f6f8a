"""Scenarios: what happens to the nodes of a cluster, one stage after another, and what follows from it.

A failure during maintenance is the common case of several stages: what survives each of the two may not survive both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product

from afflint.findings.errors import UserError
from afflint.placement.cluster_state import ClusterState
from afflint.placement.draining import drain
from afflint.placement.effects import effect
from afflint.placement.evictions import Evictions
from afflint.placement.failures import UnknownLossError, failures
from afflint.placement.node_lifecycle import NodeLifecycle
from afflint.placement.plan import Action, DisruptionEffect, Stage
from afflint.placement.pod_garbage import remove
from afflint.placement.schedule_index import ScheduleIndex
from afflint.scheduler.cluster import Cluster

ORDER: tuple[Action, ...] = ("lose", "drain", "remove")
"""The order in which the parts of a combined disruption happen."""


def stages(cluster: Cluster, asked: Iterable[Sequence[str]]) -> list[Stage]:
    """Return the disruptions that are ``asked`` for, by action in ORDER, each by itself. Raises UnknownLossError."""
    named = [(action, each) for action, values in zip(ORDER, asked, strict=True) for each in values]
    return [stage for action, each in named for stage in _parts(cluster, action, each)]


def _parts(cluster: Cluster, action: Action, asked: str) -> list[Stage]:
    try:
        return [Stage(action, *part) for part in failures(cluster, asked)]
    except UnknownLossError as error:
        raise UnknownLossError(str(error), asked) from None


def combinations(cluster: Cluster, asked: Iterable[Sequence[str]]) -> list[tuple[Stage, ...]]:
    """Return the combined disruptions: everything that is ``asked`` for, by action in ORDER.

    One of the values may be ``each:node`` or ``each:KEY``; there is then a combined disruption for each of its nodes or label values.
    Raises UnknownLossError, and UserError for more than one ``each:``.
    """
    named = [(action, each) for action, values in zip(ORDER, asked, strict=True) for each in values]
    several = [each for _, each in named if each.startswith("each:")]
    if len(several) > 1:
        raise UserError(f"--together takes only one each:…, not {' and '.join(several)}")
    choices = [_parts(cluster, action, each) for action, each in named]
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
    """The scenarios that are simulated on one schedule.

    A scenario is a list of events, and each event has a controller. Events have no times: all that a controller does ends before the
    next event, because a drain waits without a time limit. Only the deletions after a failure have times, and `NodeLifecycle` orders these.
    """

    def __init__(self, evictions: Evictions) -> None:
        self._evictions = evictions
        self._controllers: Mapping[Action, Callable[[ClusterState, Sequence[str]], None]] = {
            "lose": NodeLifecycle(evictions.schedule_index).fail,
            "drain": drain,
            "remove": remove,
        }

    def simulate(self, disruption: Stage | tuple[Stage, ...]) -> DisruptionEffect:
        """Simulate one disruption, or several as stages of one, each in the state that the one before it leaves."""
        if isinstance(disruption, Stage):
            return self.lose(disruption.what, disruption.nodes) if disruption.action == "lose" else self.effect_of(*disruption)
        state = ClusterState(self._evictions)
        for action, nodes in _events(disruption):
            self._controllers[action](state, nodes)
        what = "; ".join(f"{stage.action} {stage.what}" for stage in disruption)
        found = effect(state, what, _nodes_of(disruption), "together")._replace(stages=disruption)
        return found if any(stage.action != "lose" for stage in disruption) else self._then_removed(state, found)

    def lose(self, what: str, nodes: Sequence[str]) -> DisruptionEffect:
        """Simulate the failure of nodes, and their removal after it."""
        state = ClusterState(self._evictions)
        return self._then_removed(state, self._next(state, "lose", what, nodes))

    def _then_removed(self, state: ClusterState, lost: DisruptionEffect) -> DisruptionEffect:
        """Return the effect of a failure with that of the removal of its nodes, if it affects any replica."""
        return lost._replace(removed=self._next(state, "remove", lost.what, lost.nodes)) if lost.moves or lost.outcomes else lost

    def effect_of(self, action: Action, what: str, nodes: Sequence[str]) -> DisruptionEffect:
        """Simulate one event: a failure until the nodes recover or are removed, a drain, or a removal."""
        return self._next(ClusterState(self._evictions), action, what, nodes)

    def _next(self, state: ClusterState, action: Action, what: str, nodes: Sequence[str]) -> DisruptionEffect:
        self._controllers[action](state, nodes)
        return effect(state, what, nodes, action)


def scenarios_of(schedule_index: ScheduleIndex) -> Scenarios:
    """Return the scenarios of one schedule in which no PodDisruptionBudget matters."""
    return Scenarios(Evictions(schedule_index))


def _events(stages: Iterable[Stage]) -> Iterator[tuple[Action, tuple[str, ...]]]:
    """Yield what happens to which nodes. Those that fail do so at the same time, as do those that are removed."""
    for action, several in groupby(stages, key=lambda stage: stage.action):
        if action == "drain":
            yield from ((action, stage.nodes) for stage in several)
        else:
            yield action, _nodes_of(several)


def _nodes_of(stages: Iterable[Stage]) -> tuple[str, ...]:
    """Return the nodes of all stages, each once."""
    return tuple(dict.fromkeys(node for stage in stages for node in stage.nodes))
