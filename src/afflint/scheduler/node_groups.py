"""Nodes that are equal to a pod: filters and scores are computed for one of them and apply to all.

Constraints read the labels of nodes and the pods that run there. Most nodes have equal values of the labels that a pod's constraints read
and run none of the pods that these count, so that thousands of nodes form a few classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afflint.findings.namedtuples import NamedTuple


class NodeColumnClasses:
    """Nodes grouped by the values of some columns; the nodes of one class have equal values in all of them."""

    __slots__ = ("_class_of", "_members")

    def __init__(self, nodes: Sequence[int], columns: Sequence[Sequence[object]]) -> None:
        members: dict[tuple[object, ...], list[int]] = {}
        for node in nodes:
            members.setdefault(tuple([column[node] for column in columns]), []).append(node)
        self._members = list(members.values())
        self._class_of = {node: number for number, alike in enumerate(self._members) for node in alike}

    def pick(self, touched: set[int]) -> RepresentativeNodes:
        """Return the first node of each class; nodes in ``touched`` differ from all others and represent only themselves."""
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
        """Return the number of the class of a node."""
        return self._class_of[node]

    def members(self, node: int) -> Sequence[int]:
        """Return the nodes of the class of a node, in their order."""
        return self._members[self._class_of[node]]


class RepresentativeNodes(NamedTuple):
    """The nodes to evaluate, in their order, and how many nodes each of them represents."""

    nodes: list[int]
    stands_for: dict[int, int]
    touched: set[int]
    classes: NodeColumnClasses | None

    def alike(self, node: int) -> Iterable[int]:
        """Return the nodes that a representative represents, including itself."""
        if self.classes is None or node in self.touched:
            return (node,)
        return (other for other in self.classes.members(node) if other not in self.touched)

    def all(self, nodes: Iterable[int]) -> list[int]:
        """Return the nodes that these represent, in their order."""
        return sorted([other for node in nodes for other in self.alike(node)])

    def count(self, nodes: Sequence[int]) -> int:
        """Return how many nodes these represent."""
        if self.classes is None:
            return len(nodes)
        return sum([self.stands_for[node] for node in nodes])


def ungrouped(nodes: Sequence[int]) -> RepresentativeNodes:
    """Return all nodes, each as its own representative: for few nodes, where grouping would cost more."""
    return RepresentativeNodes(list(nodes), dict.fromkeys(nodes, 1), set(nodes), None)


NO_NODES = RepresentativeNodes([], {}, set(), None)
