"""A plan prepared for the picture on the page: replicas by node and by disruption, and a badge for each workload."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import is_machine_made
from afflint.placement.plan import DisruptionEffect, Plan, WorkloadPlan
from afflint.report.html_page import shown, state
from afflint.report.place.view import PlaceView, Rack, by_action, common_suffix, replicas_by_node, shared_start, worst
from afflint.report.place.words import NOUNS, VERDICT_WORDS

_HUES, _SHAPES = 7, 4
_DENSE_NODES, _DENSE_PODS = 40, 8
"""With more nodes or more replicas per node, a replica is drawn as initials only."""
_LONG = 12
"""A common prefix of node names is left out if it is at least this long: ``worker-`` stays."""


class Badge(NamedTuple):
    """The badge of a workload: the number of its section, unique initials, and the CSS classes for its colour and shape."""

    number: int
    initials: str
    classes: str


class Arrival(NamedTuple):
    """A replica that runs on another node after disruption number ``loss``."""

    loss: int
    workload: str
    pod: str
    source: str


class Scene(PlaceView):
    """A plan prepared for drawing: replicas by node, disruptions numbered from 1, the worst first."""

    def __init__(self, plan: Plan, marks: Mapping[str, Badge] | None = None) -> None:
        """Prepare a plan. ``marks`` are the badges of the workloads, for several pictures with the same ones."""
        super().__init__(plan, shown)
        self.nodes = _node_names(self.racks)
        self.effects_of_losses = [self.effects(loss) for loss in self.losses]
        self.badges = badges(plan.workloads) if marks is None else marks
        # Pods of DaemonSets are on every node: they are not drawn.
        self.drawn = {workload.key: workload for workload in plan.workloads if workload.kind != "DaemonSet"}
        replicas = sum(len(workload.replicas) for workload in self.drawn.values())
        self.dense = len(plan.nodes) > _DENSE_NODES or replicas > _DENSE_PODS * max(1, len(plan.nodes))
        self.pods: dict[str, list[tuple[str, str]]] = {}
        for workload in self.drawn.values():
            for node, pods in replicas_by_node(workload).items():
                self.pods.setdefault(node, []).extend((workload.key, pod) for pod in pods)
        self.takes: dict[str, list[int]] = {}
        self.arrivals: dict[str, list[Arrival]] = {}
        self.departures: dict[tuple[str, str], list[tuple[int, str | None]]] = {}
        self.blocked = [{(each.workload, each.pod) for each in loss.blocked} for loss in self.losses]
        for number, loss in enumerate(self.losses, 1):
            self._add(number, loss)
        self.labels = _distinctive_labels(plan)
        self.actions = list(by_action(plan.losses))

    def _add(self, number: int, loss: DisruptionEffect) -> None:
        for node in loss.nodes:
            self.takes.setdefault(node, []).append(number)
        for move in loss.moves:
            self.departures.setdefault((move.workload, move.pod), []).append((number, move.target))
            if move.target is not None and (move.workload in self.drawn or move.workload not in self.workloads):
                self.arrivals.setdefault(move.target, []).append(Arrival(number, move.workload, move.pod, move.source))

    @property
    def noun(self) -> str:
        """What the disruptions are: their kind, if there is only one."""
        return NOUNS[self.actions[0]] if len(self.actions) == 1 else "disruption"

    def node(self, name: str) -> str:
        """Return the short name of a node, escaped for HTML."""
        return shown(self.nodes.get(name, name))

    def what(self, loss: DisruptionEffect) -> str:
        """Return what fails, escaped for HTML: a single node by its short name."""
        return f"node {self.node(loss.nodes[0])}" if is_of_node(loss) else shown(self.titles[loss.what])

    def badge(self, key: str) -> str:
        """Return the badge of a workload; screen readers skip it, because the name is next to it."""
        mark = self.badges.get(key)
        return "" if mark is None else f'<span class="chip {mark.classes}" aria-hidden="true"><b>{mark.initials}</b></span>'


def is_of_node(loss: DisruptionEffect) -> bool:
    """Return whether a disruption names one node."""
    return bool(loss.nodes) and loss.what == f"node {loss.nodes[0]}"


def badges(workloads: Sequence[WorkloadPlan]) -> dict[str, Badge]:
    """Return a badge for each workload key: all colours in one shape, then the next shape."""
    marks: dict[str, Badge] = {}
    taken: set[str] = set()
    for number, workload in enumerate(workloads):
        words = re.findall("[A-Za-z0-9]+", workload.name) or ["?"]
        initials = (words[0][0] + words[1][0] if len(words) > 1 else words[0][:2]).upper()
        choices = (initials if count < 2 else f"{initials}{count}" for count in range(1, len(workloads) + 2))
        initials = next(choice for choice in choices if choice not in taken)
        taken.add(initials)
        marks[workload.key] = Badge(number + 1, initials, f"c{number % _HUES} s{number // _HUES % _SHAPES}")
    return marks


def _node_names(racks: Sequence[Rack]) -> dict[str, str]:
    """Return a unique short name by full name: ``node-000`` for ``node-000.fra-a.prod.example.internal``.

    A suffix that all nodes of a domain share is left out if the names stay unique.
    """
    names = [node.name for rack in racks for node in rack.nodes]
    ending = common_suffix(names)
    short = {name: name[: len(name) - len(ending)] for name in names}
    within_rack: dict[str, str] = {}
    for rack in racks:
        # A single node shares its whole name with itself.
        shared = common_suffix([node.name for node in rack.nodes]) if len(rack.nodes) > 1 else ending
        within_rack.update((node.name, node.name[: len(node.name) - len(shared)]) for node in rack.nodes)
    if len(set(within_rack.values())) == len(within_rack):
        short = within_rack
    opening = _common_prefix(list(short.values()))
    return {name: f"…{text[len(opening) :]}" for name, text in short.items()} if opening else short


def _common_prefix(names: Sequence[str]) -> str:
    """Return the prefix that all names share, up to a separator."""
    if len(names) < 2:
        return ""
    shared = shared_start(names)
    opening = shared[: max(shared.rfind("-"), shared.rfind(".")) + 1]
    return opening if len(opening) >= _LONG and all(len(name) > len(opening) for name in names) else ""


def _distinctive_labels(plan: Plan) -> dict[str, list[str]]:
    """Return the labels that users set on some nodes but not on all, by node: those that constraints are likely to use."""
    pairs = Counter(pair for node in plan.nodes for pair in node.labels.items())
    distinctive = {
        (key, value)
        for (key, value), count in pairs.items()
        if count < len(plan.nodes) and key != plan.group_by and not is_machine_made(key)
    }
    return {
        node.name: [f"{key}={value}" for key, value in sorted(node.labels.items()) if (key, value) in distinctive] for node in plan.nodes
    }


def outcome_words(outcome: str) -> str:
    """Return a verdict, or the result of a drain, as a coloured word."""
    return state(outcome, VERDICT_WORDS[outcome])


def ending(loss: DisruptionEffect) -> str:
    """Return the worst effect of a disruption; for a drain that never completes, its result."""
    return outcome_words(loss.result if loss.result is not None and loss.blocked else worst(loss))
