"""Checks of PodDisruptionBudgets by the pods in the manifests: those that select none, and those that block a drain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace
from afflint.checks.selector_places import at_selector, describe_labels, label_place
from afflint.findings.grouping import grouped
from afflint.findings.phrases import quoted
from afflint.index.facts import BUDGET_SELECTOR, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex, NearMiss, close, covers
from afflint.kube.selectors import Selector, has_placeholder
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


def selector_matches_nothing(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report PodDisruptionBudgets that select no pods, if they nearly select close ones, or have the name of a workload."""
    refs = [ref for ref in manifest_index.selector_refs if ref.what == BUDGET_SELECTOR and ref.selector.requirements]
    named = _by_name(manifest_index.pods) if refs else {}
    for ref in refs:
        if manifest_index.is_selected(ref) or manifest_index.is_nearly_selected(ref) or manifest_index.may_be_operated(ref):
            continue  # label-not-on-template reports a label that is only on the workload.
        miss = manifest_index.near_miss(ref) or _of_namesake(ref, named.get(_stem(ref.ref.name or ""), ()))
        if miss is None or not miss.in_template or has_placeholder(miss.asked) or not miss.pods.labels_known:
            continue
        label, asked = quoted(f"{miss.key}: {miss.value}"), quoted(describe_labels(Selector((miss.asked,))))
        message = f"no pod has {asked}, so this PodDisruptionBudget protects none; {miss.pods.title} has {label}"
        home = (*miss.pods.template_path, "metadata", "labels", miss.key)
        related = label_place(miss.pods, home, f"{label} of {miss.pods.title}")
        remedy = f"Select {label}, or another label of the pod template."
        yield at_selector(ref, Match((*ref.path, "matchLabels", miss.asked.key), message, remedy, related=(related,)))


def _by_name(every: Sequence[Pods]) -> dict[str, list[Pods]]:
    return grouped((pods.ref.name or "", pods) for pods in every)


def _stem(budget: str) -> str:
    """Return the name of a budget without the words for its kind: mostly the name of the workload that it is for."""
    return re.sub(r"^(?:pdb|poddisruptionbudget)-|-(?:pdb|poddisruptionbudget|disruption-budget|budget)$", "", budget)


def _of_namesake(ref: SelectorRef, workloads: Sequence[Pods]) -> NearMiss | None:
    """Return the label of the only close workload with the name of a budget that has another value than the budget requires."""
    near = [pods for pods in workloads if close(ref, pods) and covers(ref, pods.namespace)]
    for asked in ref.selector.requirements if len(near) == 1 else ():
        own = near[0].template_labels.get(asked.key)
        if asked.operator == "In" and own is not None and own not in asked.values:
            return NearMiss(asked, near[0], asked.key, own, True)
    return None
