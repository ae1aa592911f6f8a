"""Nodes that are alike to a pod: the filters and scores are asked about one of them, and the answer goes for all.

Constraints look at the labels of nodes and at what runs there. Most nodes agree in the labels that a pod's constraints read, and
run none of the pods that they count, so that a cluster of thousands comes to a few classes and the nodes where such pods run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afflint.findings.namedtuples import NamedTuple


class NodeColumnClasses:
    """Nodes by what some columns hold for them: those of one class agree in all of them."""

    __slots__ = ("_class_of", "_members")

    def __init__(self, nodes: Sequence[int], columns: Sequence[Sequence[object]]) -> None:
        members: dict[tuple[object, ...], list[int]] = {}
        for node in nodes:
            members.setdefault(tuple([column[node] for column in columns]), []).append(node)
        self._members = list(members.values())
        self._class_of = {node: number for number, alike in enumerate(self._members) for node in alike}

    def pick(self, touched: set[int]) -> RepresentativeNodes:
        """One node of each class, its first; the nodes in ``touched`` differ from all others and stand for themselves."""
        away = [0] * len(self._members)
        stands_for: dict[int, int] = {}
        for node in touched:
            number = self._class_of.get(node)
            if number is not None:
                away[number] += 1
                stands_for[node] = 1
        for number, members in enumerate(self._members):
            if len(members) > away[number]:
                first = members[0] if not away[number] else next(node for node in members if node not in touched)
                stands_for[first] = len(members) - away[number]
        return RepresentativeNodes(sorted(stands_for), stands_for, touched, self)

    def number(self, node: int) -> int:
        """The number of the class that a node belongs to."""
        return self._class_of[node]

    def members(self, node: int) -> Sequence[int]:
        """The nodes of its class, in their order."""
        return self._members[self._class_of[node]]


class RepresentativeNodes(NamedTuple):
    """The nodes to ask about, in their order, and how many nodes each of them stands for."""

    nodes: list[int]
    stands_for: dict[int, int]
    touched: set[int]
    classes: NodeColumnClasses | None

    def alike(self, node: int) -> Iterable[int]:
        """The nodes that one of ``nodes`` stands for, itself among them."""
        if self.classes is None or node in self.touched:
            return (node,)
        return (other for other in self.classes.members(node) if other not in self.touched)

    def all(self, nodes: Iterable[int]) -> list[int]:
        """The nodes that these stand for, in their order."""
        return sorted([other for node in nodes for other in self.alike(node)])

    def count(self, nodes: Sequence[int]) -> int:
        """How many nodes these stand for."""
        if self.classes is None:
            return len(nodes)
        return sum([self.stands_for[node] for node in nodes])


def each_alone(nodes: Sequence[int]) -> RepresentativeNodes:
    """All of the nodes, each for itself: for so few that telling them apart would take longer."""
    return RepresentativeNodes(list(nodes), dict.fromkeys(nodes, 1), set(nodes), None)


NOBODY = RepresentativeNodes([], {}, set(), None)
