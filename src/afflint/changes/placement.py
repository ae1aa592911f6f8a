"""Compares where the workloads of two sides run: what holds for every order of scheduling, and what holds in each of several orders.

One schedule is only an example, and two examples differ although nothing has changed. So an effect is reported only if it follows from
proofs (``ScheduleBounds``), or if it is so in every schedule that is tried and in none of the other side. The schedules are those of
the order of the manifests, and of orders that depend only on the names of the workloads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

from afflint.changes.requirements import Requirements, manifest_effects, requirements_of
from afflint.controllers.pod_source import NOWHERE, PodSource
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize, summarize_names
from afflint.index.facts import Pods
from afflint.inventory.inventory import Inventory
from afflint.kube.node_labels import HOSTNAME, ZONE, domain_noun
from afflint.kube.selectors import Malformed, describe_briefly
from afflint.placement.autoscaling import scale_pools
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.evictions import Evictions
from afflint.placement.failures import Disruption
from afflint.placement.plan import Outcome
from afflint.placement.planner import make_plan
from afflint.placement.proofs import migration_blocked
from afflint.placement.rejections import Rejections, RunningPodIndex
from afflint.placement.scenarios import Scenarios
from afflint.placement.schedule import PlacedWorkload, Schedule, build_schedules, start
from afflint.placement.schedule_index import ScheduleIndex
from afflint.placement.workload_plans import preferences_of
from afflint.report.changes.model import REMOVED, Direction, NotCompared, PlacementChanges, PlacementEffect, WorkloadChange
from afflint.simulation.inputs import PlaceInputs
from afflint.source.kustomizations import NAMES
from afflint.source.sources import CHART
from afflint.workers import Workers

_SEVERITY: Mapping[Outcome, int] = {"survives": 0, "interrupted": 1, "degraded": 2, "dead": 3}
_WORDS = (
    ("keeps its replicas", "does no harm", "did no harm"),
    ("is interrupted", "interrupts it", "interrupted it"),
    ("has fewer replicas", "leaves it fewer replicas", "left it fewer replicas"),
    ("is down", "takes it down", "took it down"),
)
"""What becomes of a workload, and what a failure does and did to it, by the severity of the outcome."""
_ORDERS = ("1", "2", "3", "manifests")
"""The orders that are tried besides that by name, which is "": by the checksum of the name, and that of the manifests."""
SEEN = f"; seen in {len(_ORDERS) + 1} of {len(_ORDERS) + 1} schedules"
"""The end of a statement that holds in every schedule that was tried, and need not hold in others."""
_WORTH_PROCESSES = 3000
"""Starting processes costs about as much as a schedule of this many workloads on one node, or of one workload on as many nodes."""
_HERE = Workers()
_MOST_FILES = 2


def placement_changes(base: PlaceInputs, head: PlaceInputs, notes: Sequence[str] = (), workers: Workers = _HERE) -> PlacementChanges:
    """Return how the placement of each workload differs between two sides. ``workers`` try the orders of scheduling."""
    repeated = _repeated(base) | _repeated(head)
    before, after = _PlacedSide(base, repeated), _PlacedSide(head, repeated)
    nodes, pools = len(head.simulation_input.nodes), len(head.classes)
    counts = [pluralize(number, noun) for number, noun in ((nodes, "node"), (pools, "node pool")) if number]
    basis = f"{' and '.join(counts)} of {_files_of_nodes(head)}" if counts else "no nodes are known: only what the manifests show"
    keys = before.numbers.keys() | after.numbers.keys()
    if _is_same(before, after):
        return PlacementChanges((), len(keys), basis, tuple(notes))
    comparison = _PlacementComparison(before, after, workers)
    changes = [change for key in sorted(keys) if (change := comparison.change(key)) is not None]
    changes.sort(key=lambda each: each.direction != "worse")
    plans = (lambda: (before.plan, after.plan)) if after.has_nodes and before.has_nodes else None
    return PlacementChanges(tuple(changes), len(keys), basis, tuple(notes), plans, not_compared=tuple(comparison.not_compared(keys)))


def _files_of_nodes(inputs: PlaceInputs) -> str:
    """Return the names of the files with the nodes and pools."""
    numbers = {each.site.file for each in inputs.simulation_input.nodes}
    numbers |= {each.known.pool.site.file for each in inputs.classes if each.known is not None}
    names = sorted({inputs.names[number] for number in numbers if 0 <= number < len(inputs.names)})
    more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
    return ", ".join(names[:_MOST_FILES]) + more if names else "the command line"


def _repeated(inputs: PlaceInputs) -> frozenset[str]:
    """Return the keys of workloads that several files create, as overlays for several clusters do."""
    return frozenset(each.key for each, _ in inputs.simulation_input.repeated)


def _is_same(before: _PlacedSide, after: _PlacedSide) -> bool:
    """Return whether the simulations of both sides have the same input, whatever the order of the manifests and their files."""
    one, other = before.given, after.given
    return (
        one.inventory.storage == other.inventory.storage
        and before.compared == after.compared
        and before.other_definitions() == after.other_definitions()
        and [each.node for each in one.nodes] == [each.node for each in other.nodes]
        and _unordered(one.inventory.services) == _unordered(other.inventory.services)
        and _unordered(one.inventory.namespaces) == _unordered(other.inventory.namespaces)
        and list(one.inventory.pods) == list(other.inventory.pods)
        and _unordered(one.budgets) == _unordered(other.budgets)
        and one.evictions == other.evictions
        and _unordered(before.inputs.classes) == _unordered(after.inputs.classes)
    )


def _unordered(values: Sequence[object]) -> list[str]:
    return sorted(map(repr, values))


# --- one side ----------------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """What one schedule shows of a workload: how many replicas are scheduled, how many are missing, and why.

    ``zone`` and ``node`` are the severities of the worst failure of a zone and of a node, with the names of the failures that are so
    severe; ``blocking`` are the nodes whose drain the workload blocks, ``held`` how many of its VMs have no node to migrate to.
    """

    scheduled: int
    missing: int
    why: str
    zone: tuple[int, tuple[str, ...]]
    node: tuple[int, tuple[str, ...]]
    blocking: tuple[str, ...]
    blocked_why: str
    held: int
    held_why: str


class _Trial:
    """One schedule of all workloads of a side, and what failures and drains do to it; computed on first use."""

    def __init__(self, inputs: PlaceInputs, inventory: Inventory, pod_sources: Sequence[PodSource]) -> None:
        self._inputs = inputs
        self.pod_sources = pod_sources
        self.start = start(inventory, pod_sources)
        self.schedule: Schedule = build_schedules(self.start)
        self._placed = {placed.pod_source.key: placed for placed in self.schedule.workloads}

    @cached_property
    def survey(self) -> ScheduleBounds:
        return ScheduleBounds(self.start.before, self.pod_sources, (), self.start.compiled)

    @cached_property
    def _scenarios(self) -> Scenarios:
        given = self._inputs.simulation_input
        return Scenarios(Evictions(ScheduleIndex(self.schedule), given.budgets, given.evictions))

    @cached_property
    def _failures(self) -> dict[str, list[tuple[str, Mapping[str, Outcome]]]]:
        """What each failure of a zone and of a node does to the workloads."""
        effect_of = self._scenarios.effect_of
        return {word: [(each.what, effect_of("lose", *each).outcomes) for each in found] for word, found in _failing(self.schedule).items()}

    @cached_property
    def _blocked(self) -> dict[str, list[tuple[str, str]]]:
        """The nodes whose drain each workload blocks, with the reasons."""
        return grouped(
            (each.workload, (node, each.why))
            for node in self.schedule.before.nodes
            for each in self._scenarios.effect_of("drain", node, (node,)).blocked
        )

    @cached_property
    def _held(self) -> dict[str, tuple[int, str]]:
        """How many VMs of each workload have no node to migrate to, with the reasons."""
        return {each.pod_source.key: (each.blocked, each.excluded) for each in migration_blocked(self.survey, self.schedule)}

    def sample(self, key: str) -> Sample:
        """Return what this schedule shows of a workload."""
        placed = self._placed[key]
        blocked = self._blocked.get(key, [])
        held, held_why = self._held.get(key, (0, ""))
        return Sample(
            len(placed.nodes),
            max(placed.pod_source.replicas - len(placed.nodes), 0),
            self._why(placed),
            _worst(self._failures["zone"], key),
            _worst(self._failures["node"], key),
            tuple(sorted({node for node, _ in blocked})),
            blocked[0][1] if blocked else "",
            held,
            held_why,
        )

    def _why(self, placed: PlacedWorkload) -> str:
        """Return why the first replica without a node has none."""
        waiting = next((pod for pod in placed.pods if pod.key not in placed.nodes and pod.key not in placed.held), None)
        if waiting is None or placed.pod_source.node_name:
            return placed.error or ""
        titles = {identity: each.pod_source.key for identity, each in self.schedule.owners.items()}
        cluster = self.schedule.cluster
        rejections = Rejections(cluster, waiting, titles, placed.pod_source.key, RunningPodIndex(cluster))
        return rejections.summary(placed.pending.get(waiting.key, {}))


def _failing(schedule: Schedule) -> dict[str, list[Disruption]]:
    """Return the failures of each zone and of each node."""
    cluster = schedule.before
    nodes_of = grouped((value, node) for node, value in cluster.label(ZONE).items())
    zones = [Disruption(value, tuple(nodes)) for value, nodes in sorted(nodes_of.items())]
    return {"zone": zones, "node": [Disruption(node, (node,)) for node in cluster.nodes]}


def _worst(failures: Sequence[tuple[str, Mapping[str, Outcome]]], key: str) -> tuple[int, tuple[str, ...]]:
    found = {what: _SEVERITY[outcomes.get(key, "survives")] for what, outcomes in failures}
    worst = max(found.values(), default=0)
    return worst, tuple([what for what, severity in found.items() if severity == worst and worst])


class _PlacedSide:
    """A side, with what is computed about all of its workloads. The ``repeated`` ones have the folder that creates them in their keys."""

    def __init__(self, inputs: PlaceInputs, repeated: frozenset[str] = frozenset()) -> None:
        self.inputs, self._repeated = inputs, repeated
        given = inputs.simulation_input
        self.given = given
        self.has_nodes = bool(given.nodes or inputs.classes)
        # On nodes, only the first definition of a workload is placed.
        others = () if self.has_nodes else given.repeated
        self._pod_sources = (*given.pod_sources, *(each for each, _ in others))
        self._sources = (*given.sources, *(pods for _, pods in others))
        self.numbers: dict[str, int] = {}
        for number in range(len(self._pod_sources)):
            key, count = self._key(number), 1
            while key in self.numbers:  # Several objects render one folder.
                count += 1
                key = f"{self._key(number)} {count}"
            self.numbers[key] = number
        self._trials: dict[str, _Trial] = {}
        self._requirements: dict[str, Requirements] = {}

    def _key(self, number: int) -> str:
        key = self._pod_sources[number].key
        if key not in self._repeated or self.has_nodes or number >= len(self._sources):
            return key
        folder, name = os.path.split(self.inputs.names[self._sources[number].site.file])
        return f"{key} ({(folder or os.curdir) if name in (*NAMES, CHART) else os.path.join(folder, name)})"

    def other_definitions(self) -> dict[str, list[str]]:
        """Return further definitions of workloads that are not placed, by their keys."""
        return grouped(
            (each.key, repr(replace(each, site=NOWHERE, line=0, notes=(), pod_path=())))
            for each, _ in (self.given.repeated if self.has_nodes else ())
        )

    @cached_property
    def compared(self) -> dict[str, PodSource]:
        """The workloads by their keys, without what makes no difference to their placement: their places and notes."""
        sources = self._pod_sources
        return {key: replace(sources[at], site=NOWHERE, line=0, notes=(), pod_path=()) for key, at in self.numbers.items()}

    @cached_property
    def _inventory(self) -> Inventory:
        """The inventory with the nodes that pools create for the workloads, in the order of their names."""
        if not self.inputs.classes:
            return self.given.inventory
        return scale_pools(self.given.inventory, self._ordered(""), self.inputs.classes).inventory

    def _ordered(self, order: str) -> list[PodSource]:
        """Return the workloads in an order that depends on nothing but their names, ``manifests`` excepted."""
        if order == "manifests":
            return list(self.given.pod_sources)

        def checksum(key: str) -> bytes:
            return blake2b(f"{order} {key}".encode("utf-8", "surrogatepass"), digest_size=8).digest() if order else b""

        return sorted(self.given.pod_sources, key=lambda each: (checksum(each.key), each.key))

    def trial(self, order: str) -> _Trial:
        """Return the schedule of an order."""
        if order not in self._trials:
            self._trials[order] = _Trial(self.inputs, self._inventory, self._ordered(order))
        return self._trials[order]

    def __reduce__(self) -> tuple[type[_PlacedSide], tuple[PlaceInputs, frozenset[str]]]:
        """Let other processes compute what they need themselves."""
        return _PlacedSide, (self.inputs, self._repeated)

    def samples(self, keys: Sequence[str], order: str) -> dict[str, Sample]:
        """Return what the schedule of an order shows of some workloads."""
        trial = self.trial(order)
        return {key: trial.sample(key) for key in keys}

    @cached_property
    def plan(self) -> Any:
        """The plan of `afflint place`, with the workloads in the order of their names."""
        return make_plan(
            self.given.inventory,
            self._ordered(""),
            name_of=self.inputs.names.__getitem__,
            budgets=self.given.budgets,
            evictions=self.given.evictions,
            classes=self.inputs.classes,
        )

    def requirements(self, key: str) -> Requirements:
        """Return what the manifest of a workload requires."""
        if key not in self._requirements:
            self._requirements[key] = requirements_of(self.pod_source(key), self._pods(key))
        return self._requirements[key]

    def _pods(self, key: str) -> Pods | None:
        number = self.numbers[key]
        return self._sources[number] if number < len(self._sources) else None

    def manifest(self, key: str) -> tuple[object, ...]:
        """Return what ``requirements`` depends on: the workload, and the labels that controllers add to its pods."""
        pods = self._pods(key)
        return self.compared[key], *(() if pods is None else (pods.pod_labels, pods.labels_known, pods.operated, pods.namespace))

    def pod_source(self, key: str) -> PodSource:
        """Return a workload."""
        return self._pod_sources[self.numbers[key]]

    def name(self, key: str) -> tuple[str, str, str]:
        """Return the identity of a workload without its namespace."""
        pod_source = self.pod_source(key)
        return pod_source.kind, pod_source.group, pod_source.full_name

    def reach(self, key: str) -> Reach:
        """Return where the pods of a workload can run in some order of scheduling."""
        trial = self.trial("")
        survey = trial.survey
        index = next(number for number, each in enumerate(trial.pod_sources) if each.key == key)
        nodes = survey.nodes_of(index)
        created = {number for number, name in enumerate(survey.table.names) if name not in self._existing}
        existing = frozenset(survey.table.names[number] for number in nodes if number not in created)
        template = survey.compiled[index].template
        pools = [each for each in self.inputs.classes if template is not None and each.may_take(template.rules)]
        domains: dict[str, frozenset[str]] = {}
        for topology in {ZONE, HOSTNAME, *self.requirements(key).separation}:
            column = survey.table.column(topology)
            values = {value for number in nodes if number not in created and (value := column[number]) is not None}
            values |= {value for pool in pools if pool.known is not None for value in pool.known.values(topology)}
            domains[topology] = frozenset(values)
        return Reach(existing, frozenset(each.title for each in pools), domains, template is not None or not survey.compiled[index].pods)

    @cached_property
    def _existing(self) -> frozenset[str]:
        return frozenset(node.name for node in self.given.nodes)

    def preferences(self, key: str) -> dict[tuple[str, int], bool]:
        """Return the preferred nodes of a workload, each with whether a node that its pods can use is preferred."""
        trial = self.trial("")
        index = next(number for number, each in enumerate(trial.pod_sources) if each.key == key)
        template = trial.start.compiled[index].template
        preferred = preferences_of(template, trial.start.before)
        if not preferred or template is None or template.preferences is None or isinstance(template.preferences, Malformed):
            return {}
        words = [" and ".join(sorted(map(describe_briefly, each.term.requirements))) for each in template.preferences]
        return {(asks, each.weight): each.usable > 0 for asks, each in zip(words, preferred, strict=True)}


class Reach(NamedTuple):
    """The nodes that some pod of a workload can use, the pools that may create such nodes, and the values of topology keys there."""

    nodes: frozenset[str]
    pools: frozenset[str]
    domains: Mapping[str, frozenset[str]]
    known: bool


# --- both sides --------------------------------------------------------------------------------------------------------


class _PlacementComparison:
    def __init__(self, before: _PlacedSide, after: _PlacedSide, workers: Workers) -> None:
        self.before, self.after = before, after
        self._workers = workers
        self._others: dict[_PlacedSide, list[dict[str, Sample]]] = {}
        self.on_nodes = before.has_nodes and after.has_nodes

    def change(self, key: str) -> WorkloadChange | None:
        """Return how the placement of a workload differs; None if it does not."""
        if key not in self.before.numbers:
            if key in self._moved.values():
                return None
            return WorkloadChange(key, None, self._facts(self.after, key), (*self._of_new(key),))
        if key not in self.after.numbers:
            return WorkloadChange(key, self._facts(self.before, key), None, (self._of_removed(key),))
        effects = tuple(self._effects(key))
        if not effects:
            return None
        return WorkloadChange(key, self._facts(self.before, key), self._facts(self.after, key), effects)

    @cached_property
    def _moved(self) -> dict[str, str]:
        """The keys of workloads that are in another namespace now, and otherwise as before, with their new keys."""
        gone = {self.before.name(key): key for key in self.before.numbers if key not in self.after.numbers}
        came = {self.after.name(key): key for key in self.after.numbers if key not in self.before.numbers}
        pairs = {gone[name]: came[name] for name in gone.keys() & came.keys()}
        return {key: other for key, other in pairs.items() if self.before.requirements(key) == self.after.requirements(other)}

    def _of_removed(self, key: str) -> PlacementEffect:
        """Return what became of a workload that the head does not have."""
        if key in self._moved:
            return PlacementEffect(f"moved to the namespace {self.after.pod_source(self._moved[key]).namespace}", "neutral")
        return REMOVED

    def not_compared(self, keys: Iterable[str]) -> Iterator[NotCompared]:
        """Yield the workloads that differ and that the API server rejects, or that are not placed."""
        for key in sorted(keys):
            if key in self.before.numbers and key in self.after.numbers and self.before.manifest(key) != self.after.manifest(key):
                refuses = self.after.pod_source(key).refused
                if refuses and self.before.pod_source(key).refused:
                    yield NotCompared(key, refuses)
            elif key in self.after.numbers and key not in self.before.numbers and (refuses := self.after.pod_source(key).refused):
                yield NotCompared(key, refuses)
        before, after = self.before.other_definitions(), self.after.other_definitions()
        for key in sorted(before.keys() | after.keys()):
            if sorted(before.get(key, ())) != sorted(after.get(key, ())):
                yield NotCompared(key, "it is defined several times, and only the first definition is placed")

    def _effects(self, key: str) -> Iterator[PlacementEffect]:
        if not self.on_nodes and self.before.manifest(key) == self.after.manifest(key):
            return
        one, other = self.before.requirements(key), self.after.requirements(key)
        refused, refuses = self.before.pod_source(key).refused, self.after.pod_source(key).refused
        if refused or refuses:
            if refuses and not refused:
                yield PlacementEffect(refuses, "worse")
            elif refused and not refuses:
                yield PlacementEffect("the API server accepts it, which it did not before", "better")
            return
        if not self.on_nodes or self._is_undecidable(key):
            yield from manifest_effects(one, other, None)
            return
        was, now = self.before.reach(key), self.after.reach(key)
        yield from self._scheduling(key, one, other)
        if now.nodes or now.pools or other.daemon:
            yield from _reach_effects(was, now, daemon=other.daemon)
        yield from manifest_effects(one, other, {topology: len(values) for topology, values in now.domains.items()})
        if not other.daemon and now.nodes | now.pools:
            yield from self._survival(key)
            yield from self._eviction(key)
        yield from self._preferences(key)

    def _is_undecidable(self, key: str) -> bool:
        return key in self.before.given.undecidable or key in self.after.given.undecidable

    def _samples(self, side: _PlacedSide, key: str) -> list[Sample]:
        """Return what all schedules that are tried show of a workload."""
        if side not in self._others:
            keys = [key for key in side.numbers if self._may_differ(key)]
            workers = self._workers if len(side.given.pod_sources) * len(side.given.nodes) >= _WORTH_PROCESSES else _HERE
            self._others[side] = list(workers.map(partial(side.samples, keys), _ORDERS))
        return [side.trial("").sample(key), *[each[key] for each in self._others[side]]]

    def _may_differ(self, key: str) -> bool:
        """Return whether a workload is new, or the first schedules of both sides show something else of it."""
        if key not in self.after.numbers or self.after.pod_source(key).refused or self._is_undecidable(key):
            return False
        if key not in self.before.numbers or not self.on_nodes:
            return key not in self.before.numbers
        return self.before.trial("").sample(key) != self.after.trial("").sample(key)

    def _differs(self, key: str, measure: Callable[[Sample], int]) -> tuple[list[Sample], list[Sample]] | None:
        """Return what the schedules of both sides show, if the measure is different and does not depend on the order on either side."""
        first = [measure(side.trial("").sample(key)) for side in (self.before, self.after)]
        if first[0] == first[1]:
            return None
        before, after = self._samples(self.before, key), self._samples(self.after, key)
        was, now = {measure(each) for each in before}, {measure(each) for each in after}
        return (before, after) if len(was) == len(now) == 1 and was != now else None

    def _scheduling(self, key: str, one: Requirements, other: Requirements) -> Iterator[PlacementEffect]:
        found = self._differs(key, lambda sample: sample.missing) if not other.daemon else None
        if found is None:
            return
        before, after = found
        scheduled = f"{after[0].scheduled} of {pluralize(other.replicas, 'replica')} can be scheduled"
        if after[0].missing > before[0].missing:
            yield PlacementEffect(f"{scheduled}: {after[0].why}" if after[0].why else scheduled, "worse")
        else:
            yield PlacementEffect(f"{scheduled} (before: {before[0].scheduled} of {one.replicas})", "better")

    def _survival(self, key: str) -> Iterator[PlacementEffect]:
        for word in ("zone", "node"):
            found = self._differs(key, lambda sample, word=word: getattr(sample, word)[0])  # type: ignore[misc]
            if found is None or not all(sample.scheduled for samples in found for sample in samples):
                continue
            was, before = self._failure(self.before, key, word, found[0])
            now, after = self._failure(self.after, key, word, found[1])
            if now > was and not was:
                text = f"no longer survives the failure of {after}: it {_WORDS[now][0]}"
            elif now > was:
                text = f"the failure of {after} now {_WORDS[now][1]}; before, it only {_WORDS[was][2]}"
            elif now:
                text = f"the failure of {before} no longer {_WORDS[was][1]}; it only {_WORDS[now][1]}"
            else:
                text = f"survives the failure of any {word} (before, it {_WORDS[was][0]} after that of {before})"
            yield PlacementEffect(text + SEEN, "worse" if now > was else "better")

    def _failure(self, side: _PlacedSide, key: str, word: str, samples: Sequence[Sample]) -> tuple[int, str]:
        """Return the severity of the worst failure of a zone or node, and its name.

        It is named only if it is the worst in all schedules, and the pods run in no other zone, or on no other node, for certain.
        """
        reach, found = side.reach(key), [getattr(each, word) for each in samples]
        names = frozenset.intersection(*[frozenset(names) for _, names in found])
        is_certain = names >= (reach.domains[ZONE] if word == "zone" else reach.nodes)
        return found[0][0], _named(word, sorted(names) if is_certain else ())

    def _eviction(self, key: str) -> Iterator[PlacementEffect]:
        found = self._differs(key, lambda sample: bool(sample.blocking))
        if found is not None:
            before, after = found
            if after[0].blocking:
                names = self._blocked(self.after, key, after)
                named = _named("node", names) if names else "a node with its pods"
                yield PlacementEffect(f"drains of {named} no longer complete: {after[0].blocked_why}", "worse")
            else:
                names = self._blocked(self.before, key, before)
                known = f" (before: of {_named('node', names)})" if names else ""
                yield PlacementEffect(f"no longer blocks drains{known}", "better")
        found = self._differs(key, lambda sample: bool(sample.held))
        if found is not None:
            held = {each.held for each in found[1]}
            if min(held):
                number = str(min(held)) if len(held) == 1 else "some"
                yield PlacementEffect(f"{number} of its VMs can no longer migrate: {found[1][0].held_why}", "worse")
            else:
                yield PlacementEffect("its VMs can migrate", "better")

    def _blocked(self, side: _PlacedSide, key: str, samples: Sequence[Sample]) -> list[str]:
        """Return the nodes whose drain a workload blocks, if it is certain which."""
        names = frozenset.intersection(*[frozenset(each.blocking) for each in samples])
        return sorted(names) if names >= side.reach(key).nodes else []

    def _preferences(self, key: str) -> Iterator[PlacementEffect]:
        was, now = self.before.preferences(key), self.after.preferences(key)
        for asks, weight in sorted(was.keys() | now.keys()):
            counted, counts = was.get((asks, weight)), now.get((asks, weight))
            shown = f"the preference for nodes with {asks} (weight {weight})"
            if counted and counts is False:
                yield PlacementEffect(f"{shown} no longer counts: its pods cannot use such a node", "worse")
            elif counted is False and counts:
                yield PlacementEffect(f"{shown} counts: its pods can use such a node", "better")
            elif counted and counts is None:
                yield PlacementEffect(f"no longer has {shown}", "neutral")
            elif counts and counted is None:
                yield PlacementEffect(f"has {shown}", "neutral")

    def _of_new(self, key: str) -> Iterator[PlacementEffect]:
        requirements, refused = self.after.requirements(key), self.after.pod_source(key).refused
        number = "" if requirements.daemon else f" with {pluralize(requirements.replicas, 'replica')}"
        yield PlacementEffect(f"new workload{number}", "neutral")
        if refused:
            yield PlacementEffect(refused, "worse")
            return
        if not self.after.has_nodes or key in self.after.given.undecidable or requirements.daemon:
            return
        samples = self._samples(self.after, key)
        scheduled, sample = {each.scheduled for each in samples}, samples[0]
        if len(scheduled) == 1 and sample.missing:
            why = f": {sample.why}" if sample.why else ""
            text = f"{sample.scheduled} of {pluralize(requirements.replicas, 'replica')} can be scheduled{why}"
            yield PlacementEffect(text, "worse")

    def _facts(self, side: _PlacedSide, key: str) -> dict[str, Any]:
        """Return what is known of a workload on a side, as plain data."""
        requirements = side.requirements(key)
        facts: dict[str, Any] = {
            "replicas": None if requirements.daemon else requirements.replicas,
            "separation": {
                topology: {"required": each.is_required, "most": each.most, "skew": each.skew}
                for topology, each in sorted(requirements.separation.items())
            },
        }
        if not self.on_nodes or key in side.given.undecidable or side.pod_source(key).refused:
            return facts
        reach, sample, outcomes = side.reach(key), side.trial("").sample(key), list(_SEVERITY)
        facts |= {
            "scheduled": sample.scheduled,
            "nodes": len(reach.nodes),
            "pools": sorted(reach.pools),
            "zones": sorted(reach.domains[ZONE]),
            "zone_failure": outcomes[sample.zone[0]] if sample.scheduled else None,
            "node_failure": outcomes[sample.node[0]] if sample.scheduled else None,
            "blocks_drains": list(sample.blocking),
        }
        return facts


def _named(word: str, names: Sequence[str]) -> str:
    """Return ``zone a or b``; ``a zone`` if it is not certain which."""
    return f"{word} {summarize_names(names, 'or', 2)}" if names else f"a {word}"


def _reach_effects(was: Reach, now: Reach, *, daemon: bool) -> Iterator[PlacementEffect]:
    """Yield how the nodes and zones that the pods can use differ."""
    if not (was.known and now.known):
        return
    for key, noun in ((ZONE, domain_noun(ZONE)), (HOSTNAME, "")):
        before, after = (was.domains[key], now.domains[key]) if noun else (was.nodes, now.nodes)
        if noun:
            if before != after and (before or after):
                yield PlacementEffect(f"{noun}s: {_numbers(before, after)}", _grown(before, after))
        elif before != after:
            what = "runs on" if daemon else "nodes that it can use"
            numbers = f"{len(before)} → {len(after)}" if len(before) != len(after) else _numbers(before, after)
            yield PlacementEffect(f"{what}: {numbers}", _grown(before, after))
    if was.pools != now.pools:
        shown = f" ({summarize_names(sorted(now.pools))})" if now.pools else ""
        yield PlacementEffect(f"node pools that it can use: {len(was.pools)} → {len(now.pools)}{shown}", _grown(was.pools, now.pools))


def _numbers(before: frozenset[str], after: frozenset[str]) -> str:
    """Return ``3 → 1 (a)``; with equal numbers, only what is different: ``a → b``."""
    if len(before) == len(after):
        return f"{summarize_names(sorted(before - after))} → {summarize_names(sorted(after - before))}"
    shown = f" ({summarize_names(sorted(after))})" if after else ""
    return f"{len(before)} → {len(after)}{shown}"


def _grown(before: frozenset[str], after: frozenset[str]) -> Direction:
    return "worse" if len(after) < len(before) else "better" if len(after) > len(before) else "neutral"
