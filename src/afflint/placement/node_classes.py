"""Classes of nodes that are alike, some of which may be made as they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import Requirement, Selector, holds
from afflint.kube.taints import Taint, first_untolerated
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import NodeRules


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that are alike: ``count`` of them, None for as many as are needed. A Node is a class of one.

    ``varied`` are labels that every node of the class has, with values of which nothing is known but that there are ever more.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] | None = None
    count: int | None = 1
    varied: frozenset[str] = field(default_factory=lambda: frozenset((HOSTNAME,)))

    def nodes(self) -> list[Node]:
        """The nodes of a class that is bounded, each with its name for what varies; none of one that is not."""
        names = [self.name] if self.count == 1 else [f"{self.name}-{number}" for number in range(self.count or 0)]
        return [Node(name, {**dict.fromkeys(self.varied, name), **self.labels}, self.taints, False, self.allocatable) for name in names]

    def may_take(self, rules: NodeRules) -> bool:
        """Whether a node of the class can meet the demands of a pod on its node, as NodeFit decides it of one that is there."""
        if rules.node_name or first_untolerated(self.taints, rules.tolerations) is not None:
            return False
        terms = rules.terms
        return self._may_match(rules.node_selector) and (
            terms is None or any(isinstance(each, Selector) and self._may_match(each) for each in terms)
        )

    def _may_match(self, selector: Selector) -> bool:
        return all(self._may_hold(requirement) for requirement in selector.requirements)

    def _may_hold(self, requirement: Requirement) -> bool:
        if requirement.field:
            return True  # What the node will be called nobody knows.
        if requirement.key in self.varied and requirement.key not in self.labels:
            return requirement.operator != "DoesNotExist"
        return holds(requirement, self.labels.get(requirement.key))
