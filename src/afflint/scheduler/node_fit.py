"""What a pod demands of the nodes themselves: NodeUnschedulable, NodeName, and the filters of TaintToleration and NodeAffinity."""

from __future__ import annotations

from afflint.kube.selectors import required_nodes
from afflint.kube.taints import admits_cordoned, count_unpreferred, first_untolerated
from afflint.scheduler.node_groups import RepresentativeNodes, each_alone
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.pods import NodeRules, SpreadConstraint

NODE_UNSCHEDULABLE = "NodeUnschedulable"
NODE_NAME = "NodeName"
TAINT_TOLERATION = "TaintToleration"
NODE_AFFINITY = "NodeAffinity"
BOTH_NAMES = f"{NODE_AFFINITY}+{NODE_NAME}"
"""What rejects a node where nodeName and the terms of node affinity both name nodes, and this is none of them."""
SCHEDULER = (1, 36)
"""The version of the scheduler where nobody says another. It matters only to which plugin is blamed for a pod with nodeName."""
NAMES_FIRST = (1, 37)
"""Since this version NodeName stands before NodeUnschedulable, and its PreFilter leaves out all other nodes."""


class NodeFit:
    """How the nodes of a table meet the demands of a pod, whatever runs on them. Each list has one entry per node.

    The same for all pods with the same demands, so all replicas of a workload share one.
    """

    __slots__ = ("_domains", "_each_alone", "_table", "candidates", "in_affinity", "rejections", "tolerated", "unpreferred")

    def __init__(self, rules: NodeRules, table: NodeTable, version: tuple[int, int] = SCHEDULER) -> None:
        self.in_affinity = table.matching(required_nodes(rules.node_selector, rules.terms), rules.named)
        """Whether nodeSelector and required node affinity hold."""
        tolerated = [first_untolerated(taints, rules.tolerations) is None for taints, _ in table.taint_classes]
        self.tolerated = [tolerated[row] for row in table.taint_rows]
        """Whether no taint keeps the pod away."""
        unpreferred = [count_unpreferred(taints, rules.tolerations) for taints, _ in table.taint_classes]
        self.unpreferred = [unpreferred[row] for row in table.taint_rows]
        """How many taints that the pod does not tolerate ask it to go elsewhere."""
        self.rejections = _rejections(rules, table, self.tolerated, self.in_affinity, version)
        """The first plugin that rejects the node, None for a node that passes."""
        self.candidates = [node for node, plugin in enumerate(self.rejections) if plugin is None]
        """The numbers of the nodes that pass."""
        self._each_alone: RepresentativeNodes | None = None
        self._table = table
        self._domains: dict[tuple[tuple[str, ...], str, bool, bool], tuple[list[bool], dict[str | None, int]]] = {}

    def each_alone(self) -> RepresentativeNodes:
        """The nodes that pass, each for itself."""
        if self._each_alone is None:
            self._each_alone = each_alone(self.candidates)
        return self._each_alone

    def domains(self, constraint: SpreadConstraint, keys: tuple[str, ...]) -> tuple[list[bool], dict[str | None, int]]:
        """Which nodes a spread constraint takes into account: those that have all of ``keys`` and that its policies let in.

        With them the values of its topology key on these nodes, each mapped to 0.
        """
        asked = (keys, constraint.key, constraint.honor_affinity, constraint.honor_taints)
        if asked not in self._domains:
            members = [True] * len(self.rejections)
            if constraint.honor_affinity:
                members = self.in_affinity
            if constraint.honor_taints:
                members = [member and tolerated for member, tolerated in zip(members, self.tolerated, strict=True)]
            for key in keys:
                members = [member and value is not None for member, value in zip(members, self._table.column(key), strict=True)]
            values = zip(members, self._table.column(constraint.key), strict=True)
            self._domains[asked] = members, {value: 0 for member, value in values if member and value is not None}
        return self._domains[asked]


def names_exclude_each_other(rules: NodeRules, version: tuple[int, int]) -> bool:
    """Whether nodeName and the terms name different nodes, so that PreFilter finds none and blames no plugin."""
    return version >= NAMES_FIRST and bool(rules.node_name) and rules.named is not None and rules.node_name not in rules.named


def _rejections(
    rules: NodeRules, table: NodeTable, tolerated: list[bool], in_affinity: list[bool], version: tuple[int, int]
) -> list[str | None]:
    cordoned_out = not admits_cordoned(rules.tolerations)
    # Nodes that are not named are left out before any filter runs.
    named, unnamed = rules.named, NODE_AFFINITY
    if rules.node_name and version >= NAMES_FIRST:
        unnamed = NODE_NAME if named is None else BOTH_NAMES
        named = frozenset((rules.node_name,)) if named is None else named & {rules.node_name}
    rejections: list[str | None] = []
    for number, node in enumerate(table.nodes):
        plugin = None
        if named is not None and node.name not in named:
            plugin = unnamed
        elif node.unschedulable and cordoned_out:
            plugin = NODE_UNSCHEDULABLE
        elif rules.node_name and rules.node_name != node.name:
            plugin = NODE_NAME
        elif not tolerated[number]:
            plugin = TAINT_TOLERATION
        elif not in_affinity[number]:
            plugin = NODE_AFFINITY
        rejections.append(plugin)
    return rejections
