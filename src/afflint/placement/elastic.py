"""Nodes that may be made as they are needed: classes of nodes alike, and the workloads of which they leave nothing impossible.

What is proved by counting nodes or domains holds for what is bounded alone. A pod that fits a class without a bound always finds one
more node, maybe in a domain that nobody knows yet; so may whoever is drawn to such a pod, or spread by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import Malformed, Requirement, Selector, holds, matches
from afflint.kube.taints import Taint, first_untolerated
from afflint.scheduler.matching import LabelIndex
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import NodeRules, Pod

if TYPE_CHECKING:
    from afflint.placement.survey import Survey


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


def elastic(survey: Survey, classes: Iterable[NodeClass]) -> frozenset[int]:
    """The workloads that classes without a bound may take, by their number, and those whose room depends on where such pods are."""
    unbounded = [each for each in classes if each.count is None]
    if not unbounded:
        return frozenset()
    found = {variant.workload for variant in survey.variants if _gains(variant.pod, unbounded)}
    waiting = [
        variant for variant in survey.variants if variant.workload not in found and (variant.pod.affinity or variant.pod.hard_spread)
    ]
    grown = True
    while grown:
        others = [variant.pod for variant in survey.variants if variant.workload in found]
        index = LabelIndex(pod.labels for pod in others)
        new = {variant.workload for variant in waiting if _depends(survey, variant.pod, others, index)}
        waiting = [variant for variant in waiting if variant.workload not in new]
        found |= new
        grown = bool(new)
    return frozenset(found)


def _gains(pod: Pod, unbounded: Iterable[NodeClass]) -> bool:
    """Whether nodes of these classes make room for a pod: by taking it, or by being the domains that its spread waits for."""
    return any(each.may_take(pod.rules) for each in unbounded) or any(constraint.min_domains > 1 for constraint in pod.hard_spread)


def _depends(survey: Survey, pod: Pod, others: Sequence[Pod], index: LabelIndex) -> bool:
    """Whether a pod must be where one of some others is, or is spread by them."""
    for term in () if isinstance(pod.affinity, Malformed) else pod.affinity:
        if any(survey.selects(term, others[number]) for number in index.candidates(term.selector)):
            return True
    for constraint in pod.hard_spread:
        selector = constraint.selector
        if isinstance(selector, Selector):
            found = (others[number] for number in index.candidates(selector))
            if any(other.namespace == pod.namespace and matches(selector, other.labels) for other in found):
                return True
    return False
