"""Spread constraints that the API server accepts, but that do not spread the pods as their author expects."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.constraint_selectors import requirement_places
from afflint.checks.match import Match, Target, inserting
from afflint.constraints.pods import pod_constraints
from afflint.controllers.pod_labels import PodLabels, controller_context, pod_labels
from afflint.controllers.replica_counts import pod_count
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.index.facts import labels_known, pod_selector
from afflint.kube.constraints import ConstraintItem
from afflint.kube.node_labels import domain_word, suggested_label
from afflint.kube.selectors import Requirement, Selector, describe, has_placeholder
from afflint.manifests.label_places import SPREAD
from afflint.manifests.manifest import Labels, Workload
from afflint.yaml.document import map_at


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
        if missed is not None and not has_placeholder(parsed.requirements[missed]):
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


_MATCH_LABEL_KEYS = (1, 27)
"""The first Kubernetes version in which the feature gate of `matchLabelKeys` is on by default."""
_MATCH_LABEL_KEYS_GATE = "MatchLabelKeysInPodTopologySpread"


def spread_lost_in_rollout(manifest: Workload, target: Target) -> Iterator[Match]:
    """Report hard spread constraints that a rolling update may leave violated, because they count the pods of both revisions."""
    if not any(spread.hard for spread in pod_constraints(manifest).spreads) or manifest.partial:
        return
    if target.version < _MATCH_LABEL_KEYS and _MATCH_LABEL_KEYS_GATE not in target.feature_gates:
        return
    from afflint.controllers.rollouts import REVISION_LABELS, rolling_update
    from afflint.index.spreading import OwnPods, is_wider, spreading_constraints

    replicas = pod_count(manifest).number or 0
    rolling = rolling_update(manifest.kind.name, map_at(manifest.spec, "strategy"), replicas) if replicas > 1 else None
    if rolling is None or not rolling.surge:
        return
    own = OwnPods(pod_labels(manifest), labels_known(manifest, manifest.partial), manifest.ref.namespace)
    found = list(spreading_constraints(manifest.constraints, own, lambda _selector, _name: None))
    separating = [each for each in found if each.name != SPREAD and each.hard and each.works]
    for each in found:
        if (
            each.name != SPREAD
            or not each.hard
            or not each.works
            or each.undecidable
            or each.label_keys
            or not 0 < (each.most or 0) < replicas
        ):
            continue
        if suggested_label(each.key) is not None:
            continue  # No node has the label: unknown-node-label reports this.
        if domain_word(each.key) == "node":
            continue  # Clusters usually have enough nodes.
        # A domain takes more than maxSkew pods only if no other is empty, so that there are at most as many others as other pods.
        enough = replicas + rolling.surge - (each.most or 0) + 1
        if each.min_domains < enough and not any(is_wider(other.key, each.key) for other in separating):
            label = REVISION_LABELS[manifest.kind.name]
            remedy = f"Add `matchLabelKeys: [{label}]` to the constraint, so that it counts only the pods of one revision."
            message = f"{_uneven_domains(each.key, replicas, enough)}: this spread constraint also counts the pods of the previous revision"
            yield Match(each.path, message, remedy, edits=inserting(each.path, "matchLabelKeys", [label]))


_FEW_DOMAINS = 6
"""Clusters usually have fewer zones than this: a larger number as a condition says nothing."""


def _uneven_domains(key: str, replicas: int, enough: int) -> str:
    """Return what a rollout may do: ``with fewer than 3 zones, a rollout may leave both replicas in one zone``."""
    word, of_key = domain_word(key) or "domain", "" if domain_word(key) else f" of {quoted(key)}"
    condition = f"with fewer than {enough} {word}s{of_key}, " if enough <= _FEW_DOMAINS else ""
    uneven = f"the {replicas} replicas spread over {word}s{'' if condition else of_key} less evenly than required"
    return f"{condition}a rollout may leave {f'both replicas in one {word}' if replicas == 2 else uneven}"
