"""From which nodes a volume can be used: the nodes that match its node affinity, looked up by label."""

from __future__ import annotations

from collections.abc import Sequence

from afflint.kube.selectors import Selector, matches
from afflint.scheduler.matching import LabelIndex
from afflint.scheduler.nodes import NodeTable
from afflint.storage.objects import Terms

_FEW = 32
"""Up to this number of nodes, each is better compared by itself than with a column over all nodes."""


class VolumeReach:
    """The nodes of a table that node selector terms match; each list of terms is resolved once."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._index = LabelIndex([node.labels for node in table.nodes])
        every = frozenset(range(len(table.nodes)))
        self._nodes: dict[Terms, frozenset[int]] = {None: every}
        self._distinct = {every: every}
        """Each set once, however many terms match it."""
        self._columns: dict[Terms, list[bool]] = {}

    def nodes(self, terms: Terms) -> frozenset[int]:
        """Return the numbers of the nodes that match one of the terms; all nodes for None (CheckNodeAffinity)."""
        found = self._nodes.get(terms)
        if found is None:
            labels = self._table.nodes
            found = frozenset(
                number
                for term in terms or ()
                if isinstance(term, Selector)
                for number in self._index.candidates(term)
                if matches(term, labels[number].labels)
            )
            found = self._nodes[terms] = self._distinct.setdefault(found, found)
        return found

    def few(self, terms: Terms) -> bool:
        """Return whether the terms match so few nodes that these are better compared one by one."""
        return terms is not None and len(self.nodes(terms)) <= _FEW

    def column(self, terms: Terms) -> Sequence[bool]:
        """Return for each node whether the terms match it."""
        if terms not in self._columns:
            found = self.nodes(terms)
            self._columns[terms] = [number in found for number in range(len(self._table.nodes))]
        return self._columns[terms]
