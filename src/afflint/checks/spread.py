"""Spread constraints that the API server accepts, but that have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.constraint_selectors import requirement_places
from afflint.checks.match import Match
from afflint.constraints.pods import pod_constraints
from afflint.controllers.pod_labels import PodLabels, controller_context
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.index.facts import labels_known, pod_selector
from afflint.kube.constraints import ConstraintItem
from afflint.kube.manifests import Labels, Workload
from afflint.kube.selectors import Requirement, Selector, describe


def spread_misses_itself(manifest: Workload) -> Iterator[Match]:
    """Report spread constraints whose selector does not match their own pods: the replicas are never counted."""
    if not manifest.constraints.spreads or not manifest.template_labels:
        return
    known = labels_known(manifest, manifest.partial)
    labels, added = manifest.template_labels, controller_context(manifest)
    for spread, data in zip(pod_constraints(manifest).spreads, manifest.constraints.spreads, strict=True):
        parsed = pod_selector(spread, manifest)
        if not isinstance(parsed, Selector) or PodLabels({**manifest.labels, **labels}, added).some(parsed):
            continue  # label-not-on-template reports a label that is set in the wrong metadata.
        # Labels that a patch does not repeat may exist; those that it sets are the labels of the pods.
        missed = PodLabels(labels, added).missed(parsed, known=known)
        if missed is not None:
            yield _missed(data, parsed, missed, manifest)


def _missed(spread: ConstraintItem, parsed: Selector, index: int, workload: Workload) -> Match:
    labels, requirement = workload.template_labels, parsed.requirements[index]
    places: list[Path] = requirement_places(spread.data.get("labelSelector"), parsed)
    path = (*spread.path, "labelSelector", *(places[index] if index < len(places) else ()))
    if requirement.key in labels:
        own = f"they have {quoted(f'{requirement.key}: {labels[requirement.key]}')}"
    else:
        close = nearest(requirement.key, labels)
        hint = did_you_mean(close) if close is not None else _other_key(requirement, labels)
        own = f"they have no label {quoted(requirement.key)}{hint}"
    message = f"this spread constraint does not count its own pods: it selects {quoted(describe(requirement))}, but {own}"
    return Match(path, message, key=path[-1] == requirement.key and requirement.key not in labels)


def _other_key(requirement: Requirement, labels: Labels) -> str:
    """Return the label of the pods that has the required value under another key, for a message; empty if none has."""
    meant = next((f"{key}: {value}" for key, value in labels.items() if requirement.operator == "In" and value in requirement.values), None)
    return "" if meant is None else f"; they have {quoted(meant)}"
