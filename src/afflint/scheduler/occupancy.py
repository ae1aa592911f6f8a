"""The pods that run on the nodes, counted by everything that filters and scores read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import fail
from afflint.kube.selectors import EVERYTHING, Parsed, Selector, matches
from afflint.scheduler.host_ports import ANY_ADDRESS, HostPort
from afflint.scheduler.matching import Counted, MatchTable, anchors, counts
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.pods import Pod, Subject, Term, WeightedTerm, parsed_terms
from afflint.scheduler.requests import CPU, MEMORY

if TYPE_CHECKING:
    from afflint.storage.pod_volumes import PodVolume

Tally = dict[int, int]
"""A number of pods, or an amount that pods use, by node; nodes without any are left out."""

Load = tuple[int, ...]
"""What the pods on a node use, as a whole."""

NO_PODS: Tally = {}
OF_REQUIRED = 2**31
"""The weight of the required pod affinity terms of running pods: the profile of the incoming pod has the real one. No preference has it."""


class MatchTables:
    """Which terms select which pods, in both directions; shared by the copies of a cluster."""

    def __init__(self, directory: Directory) -> None:
        def reaches(term: Term, subject: Subject, labels: dict[str, str]) -> bool:
            return matches(term.selector, labels) and directory.covers(term, subject.namespace)

        self.directory = directory
        self.counted: MatchTable[Counted] = MatchTable(counts, lambda counted: anchors(counted.scopes[0][0]))
        """What incoming pods count among running pods."""
        self.forbidding: MatchTable[Term] = MatchTable(reaches, lambda term: anchors(term.selector))
        """Required anti-affinity terms of running pods, matched against incoming pods."""
        self.drawing: MatchTable[WeightedTerm] = MatchTable(
            lambda weighted, subject, labels: reaches(weighted.term, subject, labels), lambda weighted: anchors(weighted.term.selector)
        )
        """All terms of running pods that score for incoming pods."""
        self.resources: dict[str, None] = {}
        """The resources that any pod has requested, in the order of loads."""


class Bound(NamedTuple):
    """A pod on a node, with the numbers of its subject and terms in the match tables."""

    pod: Pod
    node: int
    subject: int
    forbidding: tuple[int, ...]
    drawing: tuple[int, ...]


_COUNTED = ("_subjects", "_tallies", "_forbidding", "_drawing", "_used", "_rated", "_ports", "_pods", "_volumes")


class Occupancy:
    """The pods that run on the nodes of one cluster."""

    def __init__(self, tables: MatchTables) -> None:
        self._tables = tables
        self.bound: dict[tuple[str, str], Bound] = {}
        self.changes: list[int] = []
        """The node of each pod that was bound or unbound."""
        self._loads: dict[int, Load] = {}
        self._subjects: dict[int, Tally] = {}
        self._tallies: dict[int, Tally] = {}
        self._forbidding: dict[int, Tally] = {}
        self._drawing: dict[int, Tally] = {}
        self._used: dict[str, Tally] = {}
        self._rated: dict[str, Tally] = {}
        self._pods: dict[str, Tally] = {}
        self._ports: dict[HostPort, Tally] = {}
        self._volumes: dict[PodVolume, Tally] = {}

    def copy(self) -> Occupancy:
        """Return a copy that can change independently."""
        other = Occupancy(self._tables)
        other.bound = self.bound.copy()
        other._loads = self._known_loads().copy()
        for name in _COUNTED:
            setattr(other, name, {key: tally.copy() for key, tally in getattr(self, name).items()})
        return other

    def renumbered(self, numbers: Mapping[int, int]) -> Occupancy:
        """Return the pods on some of the nodes, by the new numbers of these nodes."""
        other = Occupancy(self._tables)
        other.bound = {
            identity: Bound(entry.pod, numbers[entry.node], entry.subject, entry.forbidding, entry.drawing)
            for identity, entry in self.bound.items()
            if entry.node in numbers
        }
        other._loads = {numbers[node]: load for node, load in self._known_loads().items() if node in numbers}
        for name in _COUNTED:
            tallies: dict[object, Tally] = getattr(self, name)
            setattr(
                other,
                name,
                {key: {numbers[node]: count for node, count in tally.items() if node in numbers} for key, tally in tallies.items()},
            )
        return other

    def bind(self, pod: Pod, node: int) -> None:
        """Bind a pod to a node. Raises InventoryError for a pod without a name or a pod that is bound already."""
        identity = pod.key
        if not pod.name:
            fail("a Pod that runs on a node", "has no name")
        if identity in self.bound:
            fail(f"Pod {pod.namespace + '/' + pod.name!r}", "appears twice")
        tables = self._tables
        entry = Bound(
            pod,
            node,
            tables.counted.subject(pod.subject),
            tuple([tables.forbidding.selector(term) for term in parsed_terms(pod.anti_affinity)]),
            tuple([tables.drawing.selector(term) for term in _drawing_terms(pod)]),
        )
        self.bound[identity] = entry
        self._count(entry, 1)

    def unbind(self, namespace: str, name: str) -> None:
        """Remove a pod from its node. Raises InventoryError if it is not bound."""
        entry = self.bound.pop((namespace, name), None)
        if entry is None:
            fail(f"Pod {namespace + '/' + name!r}", "does not run on a node")
        self._count(entry, -1)

    def _count(self, entry: Bound, step: int) -> None:
        node = entry.node
        self.changes.append(node)
        self._loads.pop(node, None)
        _add(self._subjects.setdefault(entry.subject, {}), node, step)
        for number in self._tables.counted.selectors_of[entry.subject]:
            # Tallies that no constraint has read yet are computed on first use.
            if number in self._tallies:
                _add(self._tallies[number], node, step)
        for number in entry.forbidding:
            _add(self._forbidding.setdefault(number, {}), node, step)
        for number in entry.drawing:
            _add(self._drawing.setdefault(number, {}), node, step)
        for resource, amount in entry.pod.requests:
            if resource not in self._used:
                self._used[resource] = {}
                self._tables.resources.setdefault(resource)
            _add(self._used[resource], node, step * amount)
        if entry.pod.requests:
            for resource, amount in zip((CPU, MEMORY), entry.pod.rated, strict=True):
                if amount:
                    _add(self._rated.setdefault(resource, {}), node, step * amount)
        _add(self._pods.setdefault("", {}), node, step)
        for port in entry.pod.ports:
            _add(self._ports.setdefault(port, {}), node, step)
        for volume in entry.pod.volumes:
            _add(self._volumes.setdefault(volume, {}), node, step)

    def used(self, resource: str) -> Tally:
        """Return how much of a resource the pods on each node request, if they were compiled with requests."""
        return self._used.get(resource, NO_PODS)

    def rated(self, resource: str) -> Tally:
        """Return the CPU or memory of the pods on each node for scores, where containers without requests count too."""
        return self._rated.get(resource, NO_PODS)

    def pods(self) -> Tally:
        """Return how many pods run on each node."""
        return self._pods.get("", NO_PODS)

    def load(self, node: int) -> Load:
        """Return what the pods on a node use: equal loads are equal numbers of pods and equal amounts of each resource.

        This is also true for the loads of nodes of copies.
        """
        load = self._loads.get(node)
        if load is None:
            number = self.pods().get(node, 0)
            tallies = (self.rated(CPU), self.rated(MEMORY), *map(self.used, self._tables.resources)) if number else ()
            amounts = [tally.get(node, 0) for tally in tallies]
            load = self._loads[node] = (number, *amounts)
        return load

    def _known_loads(self) -> dict[int, Load]:
        """Return the loads of all nodes with pods, so that they are computed once for all copies."""
        for node in self.pods():
            self.load(node)
        return self._loads

    def on_port(self, port: HostPort) -> Iterator[Tally]:
        """Yield the pods that use a port on the same address of their node, or on all addresses."""
        if port.ip == ANY_ADDRESS:
            yield from (tally for held, tally in self._ports.items() if held[1:] == port[1:])
        else:
            yield self._ports.get(port, NO_PODS)
            yield self._ports.get(port._replace(ip=ANY_ADDRESS), NO_PODS)

    def users(self, volume: PodVolume) -> Tally:
        """Return the pods that use a claim or an inline disk, if they were compiled with volumes."""
        return self._volumes.get(volume, NO_PODS)

    def volumes(self) -> Iterator[tuple[PodVolume, Tally]]:
        """Yield the claims and inline disks of the pods."""
        yield from self._volumes.items()

    def tally(self, counted: Counted) -> Tally:
        """Return how many of the counted pods run on each node."""
        number = self._tables.counted.selector(counted)
        tally = self._tallies.get(number)
        if tally is None:
            tally = self._tallies[number] = {}
            for subject in self._tables.counted.subjects_of[number]:
                for node, count in self._subjects.get(subject, NO_PODS).items():
                    _add(tally, node, count)
        return tally

    def matching_terms(self, *terms: Term, terminating: bool = True) -> Tally:
        """Return the pods that match all of these terms of an incoming pod."""
        scopes = tuple([(term.selector, self._tables.directory.scope(term)) for term in terms if term.selector is not None])
        return self.tally(Counted(scopes, terminating)) if len(scopes) == len(terms) else NO_PODS

    def matching_selector(self, selector: Parsed, namespace: str) -> Tally:
        """Return the pods that a spread constraint counts.

        An empty selector matches none, and pods that are being deleted do not count (countPodsMatchSelector).
        """
        if not isinstance(selector, Selector) or selector == EVERYTHING:
            return NO_PODS
        return self.tally(Counted(((selector, frozenset((namespace,))),), False))

    def add(self, selector: Selector, pod: Pod, step: int) -> None:
        """Count a bound pod once more or less among those that a spread constraint of its namespace counts."""
        if self.matching_selector(selector, pod.namespace) is not NO_PODS:
            _add(self.tally(Counted(((selector, frozenset((pod.namespace,))),), False)), self.bound[pod.key].node, step)

    @property
    def forbids(self) -> bool:
        """Whether any pod with required anti-affinity terms was ever bound."""
        return bool(self._forbidding)

    def forbidding(self, subject: Subject) -> Iterator[tuple[Term, Tally]]:
        """Yield the required anti-affinity terms of running pods that select an incoming pod, with the nodes of these pods."""
        table = self._tables.forbidding
        for number in table.selectors_of[table.subject(subject)]:
            if self._forbidding.get(number):
                yield table.selectors[number], self._forbidding[number]

    def drawing(self, subject: Subject) -> Iterator[tuple[WeightedTerm, Tally]]:
        """Yield the scoring terms of running pods that select an incoming pod, with the nodes of these pods."""
        table = self._tables.drawing
        if not self._drawing:
            return
        for number in table.selectors_of[table.subject(subject)]:
            if self._drawing.get(number):
                yield table.selectors[number], self._drawing[number]


def _drawing_terms(pod: Pod) -> Iterator[WeightedTerm]:
    for term in parsed_terms(pod.affinity):
        yield WeightedTerm(OF_REQUIRED, term)
    for terms in (pod.preferred_affinity, pod.preferred_anti_affinity):
        yield from parsed_terms(terms)


def _add(tally: Tally, node: int, step: int) -> None:
    count = tally.get(node, 0) + step
    if count:
        tally[node] = count
    else:
        del tally[node]
