"""The label selectors and match expressions of a workload that the API server reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from afflint.kube.constraints import ConstraintItem, NodeTerm, PodTerm, items
from afflint.manifests.manifest import Workload


class WorkloadSelectors:
    """The label selectors of a workload, with its own selector, and the match expressions of selectors and node selector terms."""

    __slots__ = ("expressions", "node_expressions", "required_expressions", "selector_expressions", "selectors")

    def __init__(self, workload: Workload) -> None:
        terms, own = workload.constraints.node_terms, own_selector(workload)
        self.selectors = workload.constraints.selectors if own is None else (*workload.constraints.selectors, own)
        self.selector_expressions = tuple(_match_expressions(self.selectors))
        self.required_expressions = tuple(_match_expressions(term for term in terms if term.required))
        self.node_expressions = self.required_expressions + tuple(_match_expressions(term for term in terms if not term.required))
        self.expressions = self.selector_expressions + self.node_expressions


@lru_cache(maxsize=1)
def workload_selectors(workload: Workload) -> WorkloadSelectors:
    """Return the selectors of a workload, cached for the checks that run on the same workload."""
    return WorkloadSelectors(workload)


def own_selector(workload: Workload) -> ConstraintItem | None:
    """Return the pod selector of the controller if it is a label selector that the API server reads."""
    style = workload.kind.selector
    if style in ("core", "kubevirt") or (style == "job" and workload.kind.name == "Job"):
        selector = workload.spec.get("selector")
        if type(selector) is dict:
            return ConstraintItem((*workload.base, "spec", "selector"), selector)
    return None


def label_key_carriers(workload: Workload) -> tuple[ConstraintItem | PodTerm, ...]:
    """Return the items with a topologyKey and matchLabelKeys: pod affinity terms and spread constraints."""
    return (*workload.constraints.pod_terms, *workload.constraints.spreads)


def _match_expressions(holders: Iterable[ConstraintItem | NodeTerm]) -> Iterator[ConstraintItem]:
    for holder in holders:
        if "matchExpressions" in holder.data:
            yield from items(holder.data, "matchExpressions", holder.path)
