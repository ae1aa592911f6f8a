"""Unbounded node classes, and the workloads that they can always take.

What is proved by counting nodes or domains holds for what is bounded alone. A pod that fits a class without a bound always finds one
more node, maybe in an unknown domain; so does a pod with affinity to such a pod, or spread by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from afflint.inventory.node_classes import NodeClass
from afflint.kube.selectors import Selector, matches
from afflint.scheduler.matching import LabelIndex
from afflint.scheduler.pods import Pod, Term, parsed_terms

Selects = Callable[[Term, Pod], bool]
"""Whether a term of an incoming pod selects another pod."""


def unbounded_workloads(pods: Sequence[tuple[int, Pod]], selects: Selects, classes: Iterable[NodeClass]) -> frozenset[int]:
    """Return the numbers of the workloads that unbounded classes may take, and of those whose nodes depend on where such pods run.

    ``pods`` are those of all workloads, each with the number of its workload; of equal pods, one is enough.
    """
    unbounded = [each for each in classes if each.count is None]
    if not unbounded:
        return frozenset()
    found = {workload for workload, pod in pods if _gains(pod, unbounded)}
    waiting = [(workload, pod) for workload, pod in pods if workload not in found and (pod.affinity or pod.hard_spread)]
    grown = True
    while grown:
        others = [pod for workload, pod in pods if workload in found]
        index = LabelIndex(pod.labels for pod in others)
        new = {workload for workload, pod in waiting if _depends(selects, pod, others, index)}
        waiting = [(workload, pod) for workload, pod in waiting if workload not in new]
        found |= new
        grown = bool(new)
    return frozenset(found)


def _gains(pod: Pod, unbounded: Iterable[NodeClass]) -> bool:
    """Return whether nodes of these classes help to schedule a pod: by taking it, or as domains that its spread constraint counts."""
    return any(each.may_take(pod.rules) for each in unbounded) or any(constraint.min_domains > 1 for constraint in pod.hard_spread)


def _depends(selects: Selects, pod: Pod, others: Sequence[Pod], index: LabelIndex) -> bool:
    """Return whether required affinity to other pods, or a spread constraint that counts them, affects a pod."""
    for term in parsed_terms(pod.affinity):
        if any(selects(term, others[number]) for number in index.candidates(term.selector)):
            return True
    for constraint in pod.hard_spread:
        selector = constraint.selector
        if isinstance(selector, Selector):
            selected = (others[number] for number in index.candidates(selector))
            if any(other.namespace == pod.namespace and matches(selector, other.labels) for other in selected):
                return True
    return False
