"""The texts with which the scheduler rejects nodes, as in the events of a pod that stays Pending (Kubernetes 1.37)."""

from __future__ import annotations

from collections.abc import Sequence

from afflint.findings.grouping import grouped
from afflint.kube.selectors import Malformed
from afflint.scheduler.declared_features import NODE_DECLARED_FEATURES
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY, with_affinity
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.node_fit import BOTH_NAMES, NAMES_FIRST, NODE_AFFINITY, NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION, NodeFit
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT, shortages
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy
from afflint.scheduler.pods import NodeRules, Pod, parsed_terms
from afflint.scheduler.requests import PODS
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD, filter_by_constraint

_FIXED = {
    NODE_UNSCHEDULABLE: ("node(s) were unschedulable", True),
    TAINT_TOLERATION: ("node(s) had untolerated taint(s)", True),
    NODE_PORTS: ("node(s) didn't have free ports for the requested pod ports", False),
    NODE_DECLARED_FEATURES: ("node(s) didn't match Pod's required features", True),
    BOTH_NAMES: (f"node(s) didn't satisfy plugin(s) [{NODE_AFFINITY} {NODE_NAME}]", True),
    "": (f"node(s) didn't satisfy plugin(s) [{NODE_AFFINITY} {NODE_NAME}] simultaneously", True),
}
"""The texts of plugins that always give the same one, and whether the eviction of other pods cannot help."""


class RejectionMessages:
    """The texts for the nodes that plugins other than those for volumes reject for a pod, and where evictions cannot help."""

    def __init__(
        self, pod: Pod, fit: NodeFit, table: NodeTable, occupancy: Occupancy, directory: Directory, version: tuple[int, int]
    ) -> None:
        self._pod = pod
        self._fit = fit
        self._table = table
        self._occupancy = occupancy
        self._directory = directory
        self._version = version
        self.texts: dict[int, list[str]] = {}
        self.unresolvable: set[int] = set()

    def add(self, reasons: Sequence[str | None]) -> None:
        """Add the texts for the first plugin that rejects each node; None and plugins for volumes are left out."""
        nodes = grouped((plugin, node) for node, plugin in enumerate(reasons) if plugin is not None)
        for plugin, rejected in nodes.items():
            if plugin in _FIXED:
                text, unresolvable = _FIXED[plugin]
                self._note(rejected, text, unresolvable=unresolvable)
            elif plugin in (NODE_AFFINITY, NODE_NAME):
                for node in rejected:
                    self._note([node], _name_text(plugin, self._pod.rules, self._table.names[node], self._version), unresolvable=True)
            elif plugin == NODE_RESOURCES_FIT:
                self._add_shortages(rejected)
            elif plugin == POD_TOPOLOGY_SPREAD:
                self._add_spread(rejected)
            elif plugin == INTER_POD_AFFINITY and not self._pod.malformed_terms:
                self._add_terms(rejected)

    def _note(self, nodes: Sequence[int], text: str, *, unresolvable: bool) -> None:
        for node in nodes:
            self.texts.setdefault(node, []).append(text)
        if unresolvable:
            self.unresolvable.update(nodes)

    def _add_shortages(self, nodes: list[int]) -> None:
        equal = grouped(((self._table.allocatable_rows[node], self._occupancy.load(node)), node) for node in nodes)
        for group in equal.values():
            for resource, asked, _ in shortages(group[0], self._pod.requests, self._table, self._occupancy):
                most = self._table.amounts(resource)[group[0]]
                text = "Too many pods" if resource == PODS else f"Insufficient {resource}"
                self._note(group, text, unresolvable=most is not None and asked > most)

    def _add_spread(self, nodes: list[int]) -> None:
        text = "node(s) didn't match pod topology spread constraints"
        for constraint in self._pod.hard_spread:
            column = self._table.column(constraint.key)
            self._note([node for node in nodes if column[node] is None], f"{text} (missing required label)", unresolvable=True)
            nodes = [node for node in nodes if column[node] is not None]
            left = filter_by_constraint(nodes, constraint, self._pod, self._fit, self._table, self._occupancy)
            self._note([node for node in nodes if node not in left], text, unresolvable=False)
            nodes = left

    def _add_terms(self, nodes: list[int]) -> None:
        table, occupancy, affinity = self._table, self._occupancy, self._pod.affinity
        if affinity and not isinstance(affinity, Malformed):
            left = set(with_affinity(nodes, self._pod, affinity, table, occupancy, self._directory))
            self._note([node for node in nodes if node not in left], "node(s) didn't match pod affinity rules", unresolvable=True)
            nodes = [node for node in nodes if node in left]
        for term in parsed_terms(self._pod.anti_affinity):
            column = table.column(term.key)
            taken = {column[node] for node in occupancy.matching_terms(term)} - {None}
            self._note(
                [node for node in nodes if column[node] in taken], "node(s) didn't match pod anti-affinity rules", unresolvable=False
            )
            nodes = [node for node in nodes if column[node] not in taken]
        self._note(nodes, "node(s) didn't satisfy existing pods anti-affinity rules", unresolvable=False)


def _name_text(plugin: str, rules: NodeRules, node: str, version: tuple[int, int]) -> str:
    """Return the text for a node that the pod does not name, or whose labels do not match."""
    if plugin == NODE_NAME:
        by_name = version >= NAMES_FIRST
        return f"node(s) didn't satisfy plugin(s) [{NODE_NAME}]" if by_name else "node(s) didn't match the requested node name"
    if rules.named is not None and not rules.named:
        return "pod affinity terms conflict"
    if rules.named is not None and node not in rules.named:
        return f"node(s) didn't satisfy plugin(s) [{NODE_AFFINITY}]"
    return "node(s) didn't match Pod's node affinity/selector"
