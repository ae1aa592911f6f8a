"""Nodes that are equal to a pod: filters and scores are computed for one of them and apply to all.

Constraints read the labels of nodes and the pods that run there. Most nodes have equal values of the labels that a pod's constraints read
and run none of the pods that these count, so that thousands of nodes form a few classes. The scores of resources differ between the nodes
of a class, but other scores do not: only the nodes of a class with the most room can be the best.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Load, Occupancy

Outcome = tuple[int, ...]
"""The result of comparing the requests of a pod with a node: the weighted sum of the scores of resources, then these scores."""

NO_ROOM: Outcome = (-1,)
"""The outcome for a node that does not have enough resources."""


Outcomes = dict[tuple[int, Load], Outcome]
"""Outcomes by class of allocatable resources and load."""


class NodeColumnClasses:
    """Nodes grouped by the values of some columns; the nodes of one class have equal values in all of them."""

    def __init__(self, nodes: Sequence[int], columns: Sequence[Sequence[object]]) -> None:
        numbers: dict[tuple[object, ...], int] = {}
        self.number_of = {node: numbers.setdefault(tuple([column[node] for column in columns]), len(numbers)) for node in nodes}
        """The number of the class of each node."""
        self.sizes = [0] * len(numbers)
        for number in self.number_of.values():
            self.sizes[number] += 1


LoadKey = tuple[int, tuple[int, Load]]
"""What the nodes of a load class have in common: the number of their class; their class of allocatable resources and their load."""


class LoadClass:
    """The nodes of one class with equal allocatable resources on which the pods use equal amounts, in their order."""

    __slots__ = ("key", "nodes")

    def __init__(self, key: LoadKey) -> None:
        self.key = key
        self.nodes: list[int] = []

    def first(self, touched: set[int]) -> int | None:
        """Return the first node that is not in ``touched``; None if all are."""
        return next((node for node in self.nodes if node not in touched), None)

    def count(self, touched: set[int]) -> int:
        """Return how many of the nodes are in ``touched``."""
        return 0 if touched.isdisjoint(self.nodes) else sum([node in touched for node in self.nodes])


class LoadClasses:
    """Classes of nodes split by their loads, kept up to date with the pods that are bound and unbound."""

    def __init__(self, classes: NodeColumnClasses, table: NodeTable, occupancy: Occupancy) -> None:
        self.classes = classes
        self.created: list[LoadClass] = []
        """All load classes that ever existed. One without nodes does not get any again."""
        self.of_node: dict[int, LoadClass] = {}
        self._by_key: dict[LoadKey, LoadClass] = {}
        self._table = table
        self._occupancy = occupancy
        self._changes = len(occupancy.changes)
        for node in classes.number_of:
            self._put(node, self._key(node)).nodes.append(node)

    def update(self) -> None:
        """Move the nodes whose pods have changed to the classes of their loads."""
        changes = self._occupancy.changes
        if len(changes) == self._changes:
            return
        for node in dict.fromkeys(changes[self._changes :]):
            left = self.of_node.get(node)
            if left is None or left.key == (key := self._key(node)):
                continue
            del left.nodes[bisect_left(left.nodes, node)]
            if not left.nodes:
                del self._by_key[left.key]
            insort(self._put(node, key).nodes, node)
        self._changes = len(changes)

    def _key(self, node: int) -> LoadKey:
        return self.classes.number_of[node], (self._table.allocatable_rows[node], self._occupancy.load(node))

    def _put(self, node: int, key: LoadKey) -> LoadClass:
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = LoadClass(key)
            self.created.append(found)
        self.of_node[node] = found
        return found


class RankedNodes:
    """The nodes of some classes, ranked by their outcomes for pods with equal requests. ``known`` has outcomes that are known already."""

    def __init__(self, loads: LoadClasses, known: Outcomes) -> None:
        self.loads = loads
        self._known = known
        self._outcomes: dict[LoadClass, Outcome] = {}
        self._ranks: list[dict[int, list[LoadClass]]] = [{} for _ in loads.classes.sizes]
        self._seen = 0

    def pick(self, touched: set[int], rate: Callable[[list[int]], list[Outcome]], *, every: bool) -> RepresentativeNodes:
        """Return nodes that represent all others; nodes in ``touched`` differ from all others and represent only themselves.

        ``rate`` returns the outcome for each of some nodes.
        With ``every``, the nodes that a node represents have equal scores. Otherwise the nodes of a class with enough resources are
        represented by the first of the best.
        """
        self._update(rate)
        stands_for: dict[int, int] = {}
        away, without_room = [0] * len(self._ranks), [0] * len(self._ranks)
        for node in touched:
            load = self.loads.of_node.get(node)
            if load is not None:
                stands_for[node] = 1
                away[load.key[0]] += 1
                if self._outcomes[load] == NO_ROOM:
                    without_room[load.key[0]] += 1
        picked = RepresentativeNodes([], stands_for, touched, {}, {}, self._outcomes)
        for number, ranks in enumerate(self._ranks):
            if every:
                self._add_every(picked, ranks)
                continue
            left = self.loads.classes.sizes[number] - away[number]
            if -1 in ranks:
                short = sum([len(load.nodes) for load in ranks[-1]]) - without_room[number]
                left -= short
                if short:
                    _add_best(picked, ranks, (-1,), short)
            if left:
                _add_best(picked, ranks, sorted(ranks, reverse=True), left)
        picked.nodes.extend(sorted(stands_for))
        return picked

    def _update(self, rate: Callable[[list[int]], list[Outcome]]) -> None:
        self.loads.update()
        created = self.loads.created
        if len(created) == self._seen:
            return
        loads = [load for load in created[self._seen :] if load.nodes]
        self._seen = len(created)
        new = {load.key[1]: load.nodes[0] for load in loads if load.key[1] not in self._known}
        if new:
            self._known.update(zip(new, rate([*new.values()]), strict=True))
        for load in loads:
            outcome = self._outcomes[load] = self._known[load.key[1]]
            self._ranks[load.key[0]].setdefault(outcome[0], []).append(load)
        if len(self._outcomes) > 2 * len(self.loads.of_node):
            self._forget()

    def _forget(self) -> None:
        """Forget the load classes that no longer have nodes."""
        for ranks in self._ranks:
            for rank in list(ranks):
                _existing(ranks, rank)
        self._outcomes = {load: outcome for load, outcome in self._outcomes.items() if load.nodes}

    def _add_every(self, picked: RepresentativeNodes, ranks: dict[int, list[LoadClass]]) -> None:
        by_outcome = grouped((self._outcomes[load], load) for rank in list(ranks) for load in _existing(ranks, rank))
        for loads in by_outcome.values():
            firsts = [first for load in loads if (first := load.first(picked.touched)) is not None]
            if firsts:
                node = min(firsts)
                picked.stands_for[node] = sum([len(load.nodes) - load.count(picked.touched) for load in loads])
                picked.groups[node] = (loads,)


def _existing(ranks: dict[int, list[LoadClass]], rank: int) -> list[LoadClass]:
    """Return the load classes of a rank that have nodes, and forget the others."""
    loads = [load for load in ranks[rank] if load.nodes]
    if loads:
        ranks[rank] = loads
    else:
        del ranks[rank]
    return loads


def _add_best(picked: RepresentativeNodes, ranks: dict[int, list[LoadClass]], order: Iterable[int], count: int) -> None:
    """Add the first node of the first rank in an order that has any; it represents ``count`` nodes."""
    for rank in order:
        loads = _existing(ranks, rank)
        firsts = [first for load in loads if (first := load.first(picked.touched)) is not None]
        if firsts:
            node = min(firsts)
            picked.stands_for[node] = count
            picked.ties[node] = loads
            picked.groups[node] = (loads,) if rank == -1 else [ranks[other] for other in ranks if other != -1]
            return


class RepresentativeNodes(NamedTuple):
    """The nodes to evaluate, in their order, and how many nodes each of them represents."""

    nodes: list[int]
    stands_for: dict[int, int]
    touched: set[int]
    groups: dict[int, Sequence[Sequence[LoadClass]]]
    """All nodes that a node represents."""
    ties: dict[int, Sequence[LoadClass]]
    """The nodes that a node represents with the same scores of resources as its own."""
    outcomes: dict[LoadClass, Outcome]

    def by_outcome(self, node: int) -> Iterator[tuple[Outcome, Sequence[int]]]:
        """Yield the nodes that a representative represents, including itself, by their outcomes; one in ``touched`` has none."""
        groups = self.groups.get(node)
        if groups is None:
            yield (), (node,)
            return
        for load in chain.from_iterable(groups):
            nodes = load.nodes
            yield self.outcomes[load], nodes if self.touched.isdisjoint(nodes) else self._untouched((load,))

    def alike(self, node: int) -> Iterable[int]:
        """Return the nodes that a representative represents, including itself."""
        groups = self.groups.get(node)
        return (node,) if groups is None else self._untouched(chain.from_iterable(groups))

    def all(self, nodes: Iterable[int]) -> list[int]:
        """Return the nodes that these represent, in their order."""
        return sorted([other for node in nodes for other in self.alike(node)])

    def tied(self, nodes: Iterable[int]) -> list[int]:
        """Return the nodes with the same scores as these, in their order."""
        return sorted([other for node in nodes for other in (self._untouched(self.ties[node]) if node in self.ties else (node,))])

    def first_tied(self, nodes: Iterable[int]) -> Iterator[int]:
        """Yield the nodes with the same scores as these, without those that have the load of an earlier node."""
        for node in nodes:
            for load in self.ties.get(node, ()):
                first = load.first(self.touched)
                if first is not None:
                    yield first
            if node not in self.ties:
                yield node

    def count(self, nodes: Sequence[int]) -> int:
        """Return how many nodes these represent."""
        return sum([self.stands_for[node] for node in nodes])

    def _untouched(self, loads: Iterable[LoadClass]) -> list[int]:
        touched = self.touched
        return [node for load in loads for node in load.nodes if node not in touched]


def ungrouped(nodes: Sequence[int]) -> RepresentativeNodes:
    """Return all nodes, each as its own representative: for few nodes, where grouping would cost more."""
    return RepresentativeNodes(list(nodes), dict.fromkeys(nodes, 1), set(nodes), {}, {}, {})


NO_NODES = RepresentativeNodes([], {}, set(), {}, {}, {})
