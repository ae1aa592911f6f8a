"""Several disruptions as one state: nodes fail, others are drained in that state, then Node objects are deleted.

A failure during maintenance is the common case: what survives each of the two may not survive both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from afflint.findings.errors import UserError
from afflint.placement.disruption_budgets import is_silent
from afflint.placement.disruption_state import terminating
from afflint.placement.draining import Drains, Evacuation
from afflint.placement.failures import Disruption, failures
from afflint.placement.node_loss import NodeLosses, unreachable
from afflint.placement.plan import Action, DisruptionEffect, Stage
from afflint.placement.removal import Removals
from afflint.scheduler.cluster import Cluster

ORDER: tuple[Action, ...] = ("lose", "drain", "remove")
"""The order in which the parts of a combined disruption happen."""


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


class CombinedDisruptions:
    """The combined disruptions that are simulated on one schedule."""

    def __init__(self, drains: Drains) -> None:
        self.situation = drains.situation
        self._drains = drains
        self._losses = NodeLosses(drains.situation)
        self._removals = Removals(drains.situation)

    def simulate(self, stages: Sequence[Stage]) -> DisruptionEffect:
        """Simulate the stages, each in the state that the one before it leaves."""
        what = "; ".join(f"{stage.action} {stage.what}" for stage in stages)
        nodes = tuple(dict.fromkeys(node for stage in stages for node in stage.nodes))
        evacuation = Evacuation(self._drains, self.situation.arrangement.cluster)
        lost = tuple([node for stage in stages if stage.action == "lose" for node in stage.nodes])
        if lost:
            self._fail(evacuation, Disruption(what, lost))
        for stage in stages:
            if stage.action == "drain":
                evacuation.drain(stage.nodes)
        removed = tuple(dict.fromkeys(node for stage in stages if stage.action == "remove" for node in stage.nodes))
        if removed:
            self._remove(evacuation, removed)
        down = frozenset((*lost, *removed))
        return evacuation.effect(Disruption(what, nodes), "together", down)._replace(stages=tuple(stages))

    def _fail(self, evacuation: Evacuation, failure: Disruption) -> None:
        """Let nodes fail, as NodeLosses does."""
        evacuation.notes += self._losses.notes(failure)
        table = evacuation.cluster.table
        displaced = evacuation.cluster.evicted(failure.nodes)
        where = evacuation.cluster.pods
        for pod in displaced:
            if not is_silent(table.nodes[table.numbers[where[pod.key]]]):
                evacuation.stop(pod)
        evacuation.cluster = evacuation.cluster.changed([unreachable(table.nodes[table.numbers[node]]) for node in failure.nodes])
        evacuation.unavailable = (*evacuation.unavailable, *failure.nodes)
        deleted, recreated, ended = self._losses.sorted(failure, displaced)
        for pod in deleted:
            evacuation.cluster.unbind(pod)
            evacuation.cluster.bind(terminating(pod), where[pod.key])
        evacuation.recreated.update(recreated)
        evacuation.ended.update(ended)
        evacuation.replace_missing()

    def _remove(self, evacuation: Evacuation, nodes: Sequence[str]) -> None:
        """Delete Node objects, as Removals does."""
        where = self.situation.where
        displaced = evacuation.cluster.evicted(nodes)
        # The pods of failed nodes have stopped before.
        stopped = {key for key, end in evacuation.ended.items() if end.fate in ("held", "stays") and where[key] in nodes}
        for pod in displaced:
            if pod.key not in stopped:
                evacuation.stop(pod)
        held = {key: self.situation.owned[key] for key in stopped if evacuation.ended[key].fate == "held"}
        for key in stopped:
            del evacuation.ended[key]
        recreated, ended = self._removals.sorted([*displaced, *held.values()])
        evacuation.cluster = evacuation.cluster.without(nodes)
        for key in (*recreated, *ended):
            evacuation.placed.pop(key, None)
            evacuation.migrated.pop(key, None)
        evacuation.recreated.update(recreated)
        evacuation.recreated.update(self.situation.released(nodes))
        evacuation.ended.update(ended)
        # Pods that no longer exist keep no drain from completing.
        evacuation.blocked = [each for each in evacuation.blocked if each.node not in nodes]
        evacuation.replace_missing()
