"""Checks of PodDisruptionBudgets by the numbers of replicas in the manifests, for runs without nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace
from afflint.index.facts import BUDGET_SELECTOR, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.manifests.manifest import LABELLED

if TYPE_CHECKING:
    from afflint.controllers.budgets import Budget

_SCALED = LABELLED - {"DaemonSet", "VirtualMachineInstanceReplicaSet"}
_MOST_NAMED = 3


def drain_blocked(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report PodDisruptionBudgets that allow no eviction of workloads whose numbers of replicas are fixed and known."""
    budgets = {(each.namespace, each.name): each for each in manifest_index.facts.budgets}
    if not budgets:
        return
    # Of a budget that is defined twice, an overlay may define one.
    defined = Counter((each.namespace, each.name) for each in manifest_index.facts.budgets)
    for ref in manifest_index.selector_refs:
        name = (ref.namespace or "default", ref.ref.name or "")
        if ref.what == BUDGET_SELECTOR and defined[name] == 1:
            yield from _blocked(manifest_index, ref, budgets[name])


def _blocked(manifest_index: ManifestIndex, ref: SelectorRef, budget: Budget) -> Iterator[CrossManifestMatch]:
    owners = [manifest_index.with_scale(pods) for pods in manifest_index.selected(ref)]
    if not owners or not all(map(_is_fixed, owners)) or manifest_index.may_be_operated(ref):
        return
    expected = sum(pods.scale.least or 0 for pods in owners)
    if expected == 0 or not budget.sets_amount or budget.disruptions_allowed(expected, expected):
        return
    defined = {(pods.ref.kind, pods.namespace, pods.ref.name) for pods in owners}
    if sum((pods.ref.kind, pods.namespace, pods.ref.name) in defined for pods in manifest_index.pods) > len(defined):
        return  # An overlay may define one of them.
    from afflint.placement.disruption_budgets import BudgetStatus

    message = f"{BudgetStatus(budget, expected, expected, '').arithmetic(expected)}: a drain of their nodes never completes"
    field = "maxUnavailable" if budget.max_unavailable is not None else "minAvailable"
    related = tuple(_places(owners))
    match = Match((*ref.site.base, "spec", field), message, related=related, severity="info" if budget.is_full else None)
    yield CrossManifestMatch(ref.site, ref.ref, match)


def _is_fixed(pods: Pods) -> bool:
    """Return whether the number of pods is known and no autoscaler changes it."""
    scale = pods.scale
    whole = not pods.partial and pods.labels_known and pods.ref.kind in _SCALED
    return whole and scale.least is not None and scale.least == scale.most and not scale.scaler


def _places(owners: Sequence[Pods]) -> Iterator[RelatedPlace]:
    for pods in owners[:_MOST_NAMED]:
        name = (*pods.site.base, "metadata", "name")
        yield RelatedPlace(pods.site.file, pods.site.document, name, False, f"{pods.title} is covered by it")
