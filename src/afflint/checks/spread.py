"""Spread constraints that are accepted and spread nothing."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.constraint_selectors import has_placeholder, pod_selector, says
from afflint.checks.match import Match, Target
from afflint.checks.wording import nearest, quoted
from afflint.kube.constraints import Item
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder
from afflint.kube.selectors import Selector, holds, matches, requirement_paths


def spread_misses_itself(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Spread constraints whose selector does not match the pods that carry them: their own replicas are never counted."""
    if not isinstance(manifest, Workload) or not manifest.template_labels:
        return
    for spread in manifest.constraints.spreads:
        parsed = pod_selector(spread, manifest)
        if not isinstance(parsed, Selector) or has_placeholder(parsed) or matches(parsed, manifest.template_labels):
            continue
        if any(is_placeholder(value) for value in manifest.template_labels.values()):
            continue
        if matches(parsed, {**manifest.labels, **manifest.template_labels}):
            continue  # The label stands in the wrong metadata: label-not-on-template says so, at the label.
        yield _missed(spread, parsed, manifest)


def _missed(spread: Item, parsed: Selector, workload: Workload) -> Match:
    labels = workload.template_labels
    index = next(index for index, each in enumerate(parsed.requirements) if not holds(each, labels.get(each.key)))
    requirement = parsed.requirements[index]
    paths = requirement_paths(spread.data.get("labelSelector"))
    path = (*spread.path, "labelSelector", *(paths[index] if index < len(paths) else ()))
    if requirement.key in labels:
        own = f"they carry {quoted(f'{requirement.key}: {labels[requirement.key]}')}"
    else:
        close = nearest(requirement.key, labels)
        own = f"they carry no label {quoted(requirement.key)}" + (f" but {quoted(close)}" if close else "")
    message = f"this spread constraint does not count the pods it belongs to: it asks for {quoted(says(requirement))}, and {own}"
    return Match(path, message)


def spread_without_effect(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Required spread constraints whose maxSkew is so large that all replicas may share one domain."""
    if not isinstance(manifest, Workload) or manifest.replicas < 2:
        return
    for spread in manifest.constraints.spreads:
        skew = spread.data.get("maxSkew")
        if spread.data.get("whenUnsatisfiable") == "DoNotSchedule" and type(skew) is int and skew >= manifest.replicas:
            message = f"maxSkew {skew} lets all {manifest.replicas} replicas share one domain, so this constraint never holds anything back"
            yield Match((*spread.path, "maxSkew"), message)
