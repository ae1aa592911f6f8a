"""What a pod requires of the nodes themselves: NodeUnschedulable, NodeName, and the filters of TaintToleration and NodeAffinity."""

from __future__ import annotations

from afflint.constraints.nodes import required_nodes
from afflint.kube.selectors import EVERYTHING
from afflint.kube.taints import admits_cordoned, count_unpreferred, first_untolerated
from afflint.scheduler.node_groups import RepresentativeNodes, ungrouped
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.pods import NodeRules, SpreadConstraint
from afflint.scheduler.profile import UNKNOWN_PROFILE

NODE_UNSCHEDULABLE = "NodeUnschedulable"
NODE_NAME = "NodeName"
TAINT_TOLERATION = "TaintToleration"
NODE_AFFINITY = "NodeAffinity"
BOTH_NAMES = f"{NODE_AFFINITY}+{NODE_NAME}"
"""The reason for a node that nodeName and the node affinity terms exclude together, when both name nodes."""
SCHEDULER = (1, 36)
"""The default version of the scheduler. It matters only for the plugin that is reported for a pod with nodeName, and for scores."""
NAMES_FIRST = (1, 37)
"""From this version on NodeName runs before NodeUnschedulable, and its PreFilter leaves out all other nodes."""


class NodeFit:
    """How the nodes of a table meet the requirements of a pod, whatever runs on them. Each list has one entry per node.

    It is equal for all pods with the same requirements, so all replicas of a workload share one.
    """

    __slots__ = ("_domains", "_table", "_ungrouped", "candidates", "in_affinity", "rejections", "tolerated", "unpreferred")

    def __init__(self, rules: NodeRules, table: NodeTable, version: tuple[int, int] = SCHEDULER) -> None:
        self.in_affinity = table.matching(required_nodes(rules.node_selector, rules.terms), rules.named)
        """Whether nodeSelector and required node affinity match."""
        tolerated = [first_untolerated(taints, rules.tolerations) is None for taints, _ in table.taint_classes]
        self.tolerated = [tolerated[row] for row in table.taint_rows]
        """Whether the pod tolerates all NoSchedule and NoExecute taints."""
        unpreferred = [count_unpreferred(taints, rules.tolerations) for taints, _ in table.taint_classes]
        self.unpreferred = [unpreferred[row] for row in table.taint_rows]
        """The number of PreferNoSchedule taints that the pod does not tolerate."""
        self.rejections = _rejections(rules, table, self.tolerated, self.in_affinity, version)
        """The first plugin that rejects the node, None for a node that passes."""
        self.candidates = [node for node, plugin in enumerate(self.rejections) if plugin is None]
        """The numbers of the nodes that pass."""
        self._ungrouped: RepresentativeNodes | None = None
        self._table = table
        self._domains: dict[tuple[tuple[str, ...], str, bool, bool], tuple[list[bool], dict[str | None, int]]] = {}

    def ungrouped(self) -> RepresentativeNodes:
        """Return the nodes that pass, each as its own representative."""
        if self._ungrouped is None:
            self._ungrouped = ungrouped(self.candidates)
        return self._ungrouped

    def domains(self, constraint: SpreadConstraint, keys: tuple[str, ...]) -> tuple[list[bool], dict[str | None, int]]:
        """Return the nodes that a spread constraint counts, and the values of its topology key on these nodes, each mapped to 0.

        A counted node has all of ``keys``, and the inclusion policies of the constraint admit it.
        """
        cache_key = (keys, constraint.key, constraint.honor_affinity, constraint.honor_taints)
        if cache_key not in self._domains:
            members = [True] * len(self.rejections)
            if constraint.honor_affinity:
                members = self.in_affinity
            if constraint.honor_taints:
                members = [member and tolerated for member, tolerated in zip(members, self.tolerated, strict=True)]
            for key in keys:
                members = [member and value is not None for member, value in zip(members, self._table.column(key), strict=True)]
            values = zip(members, self._table.column(constraint.key), strict=True)
            self._domains[cache_key] = members, {value: 0 for member, value in values if member and value is not None}
        return self._domains[cache_key]


def names_conflict(rules: NodeRules, version: tuple[int, int]) -> bool:
    """Return whether nodeName and the terms name different nodes, so that PreFilter finds none and no plugin is reported."""
    return version >= NAMES_FIRST and bool(rules.node_name) and rules.named is not None and rules.node_name not in rules.named


def _rejections(
    rules: NodeRules, table: NodeTable, tolerated: list[bool], in_affinity: list[bool], version: tuple[int, int]
) -> list[str | None]:
    profile = rules.profile
    if profile.unknown:
        return [UNKNOWN_PROFILE] * len(table.nodes)
    added = table.matching(required_nodes(EVERYTHING, profile.added_terms)) if profile.added_terms is not None else None
    disabled = profile.disabled
    cordoned_out = not admits_cordoned(rules.tolerations)
    # PreFilter leaves out nodes that are not named before any filter runs.
    named, unnamed = rules.named, NODE_AFFINITY
    if rules.node_name and version >= NAMES_FIRST:
        unnamed = NODE_NAME if named is None else BOTH_NAMES
        named = frozenset((rules.node_name,)) if named is None else named & {rules.node_name}
    rejections: list[str | None] = []
    for number, node in enumerate(table.nodes):
        plugin = None
        if named is not None and node.name not in named:
            plugin = unnamed
        elif node.unschedulable and cordoned_out and NODE_UNSCHEDULABLE not in disabled:
            plugin = NODE_UNSCHEDULABLE
        elif rules.node_name and rules.node_name != node.name and NODE_NAME not in disabled:
            plugin = NODE_NAME
        elif not tolerated[number] and TAINT_TOLERATION not in disabled:
            plugin = TAINT_TOLERATION
        elif not (in_affinity[number] and (added is None or added[number])) and NODE_AFFINITY not in disabled:
            plugin = NODE_AFFINITY
        rejections.append(plugin)
    return rejections
