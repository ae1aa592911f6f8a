"""Checks of the selectors of pods across all manifests: they match no pod, the wrong pods, or have no effect."""

from collections.abc import Iterator, Sequence
from itertools import islice

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.checks.required_affinity import surely_reaches
from afflint.checks.selector_places import MOST_TARGETS, at_selector, describe_labels, label_place, placed
from afflint.controllers.pod_labels import PodLabels, PossibleValues
from afflint.findings.grouping import grouped
from afflint.findings.paths import field_of
from afflint.findings.phrases import did_you_mean, join_words, quoted
from afflint.findings.similarity import is_likely_typo
from afflint.index.facts import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    SPREAD,
    Pods,
    SelectorRef,
)
from afflint.index.manifest_index import IDENTITY, ManifestIndex, NearMiss, close, own_near_miss, under_other_keys
from afflint.kube.added_labels import FormerLabel, is_one_of
from afflint.kube.selectors import Requirement, Selector, describe, has_placeholder, matches
from afflint.yaml.placeholders import is_placeholder

_POD_TERMS = (REQUIRED_AFFINITY, PREFERRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY)
_ANTI = (REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY)


def affinity_target_missing(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report pod terms that select labels that no pod has: found by a near miss, or for required affinity if the context is complete."""
    for ref in manifest_index.selector_refs:
        owner = manifest_index.owner(ref) if ref.what in _POD_TERMS else None
        if owner is None or not ref.selector.requirements or manifest_index.is_selected(ref):
            continue
        if manifest_index.is_nearly_selected(ref):
            continue  # label-not-on-template reports it at the label.
        miss = _intended_label(manifest_index, ref, owner)
        if miss is not None:
            yield at_selector(ref, _near_miss_match(ref, miss, owner))
        elif target.complete and ref.what == REQUIRED_AFFINITY and not manifest_index.may_be_operated(ref):
            missing = f"no pod has {quoted(describe_labels(ref.selector))}, and the configuration sets `complete: true`"
            message = f"{missing}: the pods stay Pending"
            yield at_selector(ref, Match(ref.path, message, key=True))


def _intended_label(manifest_index: ManifestIndex, ref: SelectorRef, owner: Pods) -> NearMiss | None:
    """Return the label that an affinity, or an anti-affinity to other pods, was meant to select.

    anti-affinity-misses-itself reports terms that were meant to select the pods' own labels.
    """
    miss = own_near_miss(ref, owner) if ref.what not in _ANTI and owner.labels_known else None
    miss = miss or manifest_index.near_miss(ref)
    return None if miss is not None and miss.pods.key == owner.key and ref.what in _ANTI else miss


def _near_miss_match(ref: SelectorRef, miss: NearMiss, owner: Pods) -> Match:
    label = quoted(f"{miss.key}: {miss.value}")
    where = f"on {miss.pods.title}" if miss.in_template else f"on {miss.pods.title}, but only in metadata.labels"
    if miss.pods.key == owner.key:
        where = "on its own pods"
    message = f"no pod has {quoted(describe_labels(Selector((miss.asked,))))}, which this {ref.what} selects; {label} is {where}"
    path = (*miss.pods.template_path, "metadata", "labels") if miss.in_template else (*miss.pods.site.base, "metadata", "labels")
    return Match(ref.path, message, key=True, related=(label_place(miss.pods, (*path, miss.key), f"{label} of {miss.pods.title}"),))


def namespace_misses_target(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report pod terms whose selector matches pods, but only in one namespace, which the term does not cover."""
    for ref in manifest_index.selector_refs:
        if ref.what not in _POD_TERMS or ref.scope is None or not ref.selector.requirements:
            continue
        pods = _own_pods_outside(manifest_index, ref) or _only_elsewhere(manifest_index, ref)
        if pods is None or any(is_placeholder(name) for name in (pods.namespace or "", *ref.scope)):
            continue
        names = [quoted(name) for name in ref.scope]
        own = "its own namespace " if not ref.namespaces else "the namespace " if len(names) == 1 else "the namespaces "
        message = (
            f"{quoted(describe_labels(ref.selector))} is on {pods.title} in namespace {quoted(pods.namespace)},"
            f" but this {ref.what} selects pods only in {own}{join_words(names)}"
        )
        remedy = "List the namespace in `namespaces` next to topologyKey; without that field, a term applies only to its own namespace."
        yield at_selector(ref, Match(ref.path, message, remedy, key=True, related=(placed(pods, pods.title),)))


def _only_elsewhere(manifest_index: ManifestIndex, ref: SelectorRef) -> Pods | None:
    """Return pods that a selector matches, if all that it matches are in one namespace, which it does not cover."""
    if manifest_index.is_selected(ref):
        return None
    elsewhere = list(islice(manifest_index.selected_anywhere(ref), MOST_TARGETS))
    if len({pods.namespace for pods in elsewhere}) > 1:
        return None  # Several tenants: the namespace of this one may be missing in these manifests.
    return next((each for each in elsewhere if close(ref, each)), None)


def _own_pods_outside(manifest_index: ManifestIndex, ref: SelectorRef) -> Pods | None:
    """Return the pods with an anti-affinity that selects their own labels, but names only other namespaces.

    Pods there show that it separates the two on purpose. A copy of the object without a namespace does not: it is for another cluster.
    """
    own = manifest_index.owner(ref) if ref.what in _ANTI and ref.namespaces else None
    if own is None or own.namespace is None or own.namespace in ref.namespaces or not own.pod_labels.all(ref.selector):
        return None
    selected = list(islice(manifest_index.selected(ref), MOST_TARGETS + 1))
    is_named_only_here = all(each.namespace is None and _is_copy(each, own) for each in selected)
    return own if is_named_only_here and len(selected) <= MOST_TARGETS and not ref.everywhere else None


def _is_copy(one: Pods, other: Pods) -> bool:
    """Return whether two objects have the same kind and name: copies for several clusters or namespaces."""
    return one.ref.name is not None and (one.ref.kind, one.ref.name) == (other.ref.kind, other.ref.name)


def anti_affinity_misses_itself(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report anti-affinity whose selector matches no pod, but nearly matches the workload's own pods."""
    for ref in manifest_index.selector_refs:
        pods = manifest_index.owner(ref) if ref.what in _ANTI else None
        if pods is None or not ref.selector.requirements or not pods.template_labels:
            continue
        if pods.scale.is_single:
            continue
        if pods.pod_labels.some(ref.selector) or PodLabels(pods.merged_labels, pods.added).some(ref.selector):
            continue
        miss = own_near_miss(ref, pods) or under_other_keys(ref, pods) or (_other_value(ref, pods) if target.complete else None)
        if miss is None or has_placeholder(miss.asked) or (not pods.labels_known and miss.key != miss.asked.key):
            continue
        if next(manifest_index.selected_anywhere(ref), None) is None:
            yield at_selector(ref, _own_miss_match(ref, pods, miss))

    yield from _copied_terms(manifest_index)


def _copied_terms(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report the only anti-affinity of a release with several pods that is the same as that of the other release which it names."""
    alike = grouped(((each.what, each.selector, each.topology_key), each) for each in manifest_index.facts.value_terms)
    for terms in alike.values():
        asked = [
            each for each in terms[0].selector.requirements if each.key in IDENTITY and each.operator == "In" and len(each.values) == 1
        ]
        name = asked[0].values[0] if asked else ""
        source = next((each for each in terms if each.ref.name == name and not is_placeholder(name)), None)
        for each in terms if source is not None else ():
            if source is not None and each.lone and not any(name in own or own in name for own in each.names):
                message = (
                    f"this {each.what} does not separate the pods of {each.ref.name} from each other: it selects those of {source.title},"
                    f" which has the same one, so it is probably a copy"
                )
                remedy = "Select the labels of the own pods, or add a term for these if the other pods are meant."
                place = RelatedPlace(source.site.file, source.site.document, source.path, True, f"the {source.what} of {source.title}")
                match = Match(each.path, message, remedy, key=True, related=(place,), severity="info")
                yield CrossManifestMatch(each.site, each.ref, match)


def _other_value(ref: SelectorRef, pods: Pods) -> NearMiss | None:
    """Return the pods' own label with the selected key and another value; meaningful only if no pod has the selected value."""
    for asked in ref.selector.requirements:
        own = pods.template_labels.get(asked.key)
        if asked.operator == "In" and own is not None and own not in asked.values:
            return NearMiss(asked, pods, asked.key, own, True)
    return None


def _own_miss_match(ref: SelectorRef, pods: Pods, miss: NearMiss) -> Match:
    label = quoted(f"{miss.key}: {miss.value}")
    message = f"this {ref.what} separates no pods: it selects {quoted(describe(miss.asked))}, but the pods have {label}"
    home = (*pods.template_path, "metadata", "labels")
    remedy = f"Make the selector and {field_of(home[len(pods.site.base) :])} agree if the pods should be separated from each other."
    return Match(ref.path, message, remedy, key=True, related=(label_place(pods, (*home, miss.key), f"the pods have {label}"),))


def operator_label_mismatch(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report anti-affinity and spread constraints of an operator's pods whose selector contradicts the labels that the operator sets."""
    for ref in manifest_index.selector_refs:
        owner = manifest_index.owner(ref) if ref.what in _ANTI or ref.what == SPREAD else None
        if owner is None or not owner.operated:
            continue
        if ref.what != SPREAD and next(manifest_index.selected_anywhere(ref), None) is not None:
            continue  # It separates the pods from others on purpose.
        sure = target.complete or ref.what == SPREAD
        effect = f"this {ref.what} {'counts' if ref.what == SPREAD else 'separates'} none of its own pods"
        why = _operator_contradiction(ref, owner, sure=sure) or _absent_label(ref, owner, sure=sure)
        former = next(filter(None, (_former_label(each, owner) for each in ref.selector.requirements)), None)
        if why is not None:
            yield at_selector(ref, Match(ref.path, f"{effect}: {why}", key=True))
        elif former is not None:
            why = f"later versions do not set {quoted(f'{former.key}: {former.values[0]}')}{_same_value(owner, former.values)}"
            message = f"{effect} unless the operator is older than {former.before}: {why}"
            yield at_selector(ref, Match(ref.path, message, key=True, severity="info"))


def _former_label(asked: Requirement, owner: Pods) -> FormerLabel | None:
    """Return the label of older versions of the operator that a requirement selects; None if it selects another one."""
    if asked.operator not in ("In", "Exists") or owner.other_labels is None or is_one_of(asked.key, owner.other_labels):
        return None  # The resource may set it itself.
    for former in owner.former_labels:
        values = [value.replace("{name}", owner.ref.name or "") for value in former.values]
        met = tuple([value for value in values if asked.operator == "Exists" or value in asked.values])
        if asked.key == former.key and met:
            return former._replace(values=met)
    return None


def _same_value(owner: Pods, values: Sequence[str]) -> str:
    """Return the part of a message that names the label of the pods which has one of these values; "" without one."""
    return next((f"; the pods have {quoted(f'{key}: {value}')}" for key, value in owner.pod_labels.certain.items() if value in values), "")


def _operator_contradiction(ref: SelectorRef, owner: Pods, *, sure: bool) -> str | None:
    """Return how a selector contradicts the labels that the operator sets on the pods, or None if it does not.

    A spread constraint is meant to select the pods' own labels. An anti-affinity may select pods that are not in these manifests: unless a
    complete context makes it ``sure``, only a typo proves otherwise.
    """
    patterns, added = {label.key: label.value for label in owner.added.labels}, owner.pod_labels.added
    for asked in ref.selector.requirements:
        if has_placeholder(asked) or _former_label(asked, owner) is not None:
            continue
        values = added.get(asked.key)
        if values is None and asked.key not in owner.template_labels:
            meant = next((key for key in patterns if is_likely_typo(asked.key, key)), None)
            if meant is not None and asked.operator in ("In", "Exists"):
                return f"the operator does not set the label {quoted(asked.key)}{did_you_mean(meant)}"
        elif values is not None and _is_certain(owner, patterns[asked.key]) and _contradicts(asked, values, sure=sure):
            return f"it selects {quoted(describe(asked))}, but the operator sets {quoted(f'{asked.key}: {values.prefix}')}"
    return None


def _is_certain(owner: Pods, pattern: str) -> bool:
    """Return whether the value of an operator's label does not depend on its version: it is the name of the resource, or all are known."""
    return "{name}" in pattern or owner.other_labels is not None


def _absent_label(ref: SelectorRef, owner: Pods, *, sure: bool) -> str | None:
    """Return that a selector needs a label that the operator's pods never have; None if they may have it.

    An anti-affinity that is not ``sure`` to mean the own pods means them if one of its values is on them under another key, or is the kind.
    """
    asked = [each for each in ref.selector.requirements if _former_label(each, owner) is None]
    absent = [each for each in asked if each.operator in ("In", "Exists") and owner.never_have(each.key)]
    if not absent or any(map(has_placeholder, absent)):
        return None
    own = {value for value in owner.pod_labels.certain.values() if any(value in each.values for each in absent)}
    kind = (owner.ref.kind or "").lower()
    if not sure and not own and not any(kind in each.values for each in absent):
        return None
    first = next((each for each in absent if own.intersection(each.values)), absent[0])
    meant = _same_value(owner, first.values)
    return f"it selects {quoted(describe(first))}, but the operator does not set the label {quoted(first.key)}{meant}"


def _contradicts(asked: Requirement, values: PossibleValues, *, sure: bool) -> bool:
    """Return whether the selector requires another value than the pods have; unless ``sure`` that they are meant, it must be a typo."""
    if asked.operator != "In" or values.rest or any(map(values.include, asked.values)):
        return False
    return sure or any(is_likely_typo(value, values.prefix) for value in asked.values)


def accidental_anti_affinity(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required anti-affinity that matches the workload's own pods and those of an unrelated workload as well."""
    for ref in manifest_index.selector_refs:
        pods = manifest_index.owner(ref) if ref.what == REQUIRED_ANTI_AFFINITY else None
        if pods is None or not ref.selector.requirements or not matches(ref.selector, pods.template_labels):
            continue
        if pods.ref.kind == "Pod":
            continue  # A Pod has no replicas: only the other workload can be meant.
        asked = {requirement.key for requirement in ref.selector.requirements}
        if _PART_OF in asked:
            continue  # A selector of the whole application means all its workloads.
        for other in islice(manifest_index.selected(ref), MOST_TARGETS):
            if not matches(ref.selector, other.template_labels):
                continue  # A selector of a label that controllers put on many pods means them all.
            key = _distinguishing_label(pods, other, asked)
            if key is not None and surely_reaches(ref, other, ref) and close(ref, other):
                yield at_selector(ref, _accidental_match(ref, pods, other, key))
                break


_PART_OF = "app.kubernetes.io/part-of"
_DAEMONS = "DaemonSet"


def _distinguishing_label(pods: Pods, other: Pods, asked: set[str]) -> str | None:
    """Return the label that distinguishes two applications.

    None if the selector uses that label, or if both are DaemonSets, which may take turns on a node on purpose.
    """
    if other.site == pods.site or pods.ref.kind == other.ref.kind == _DAEMONS:
        return None
    for key in (*IDENTITY, "app.kubernetes.io/instance"):
        mine, theirs = pods.template_labels.get(key), other.template_labels.get(key)
        if key not in asked and mine and theirs and mine != theirs:
            return key
    return None


def _accidental_match(ref: SelectorRef, pods: Pods, other: Pods, key: str) -> Match:
    message = (
        f"this {ref.what} also separates the pods from those of {other.title}, which also have"
        f" {quoted(describe_labels(ref.selector))} but differ in {quoted(key)}"
    )
    remedy = f"Add {quoted(f'{key}: {pods.template_labels[key]}')} to the selector if it should select only the workload's own pods."
    return Match(ref.path, message, remedy, key=True, related=(placed(other, other.title),))


def spread_without_effect(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required spread constraints whose maxSkew is so large that all replicas may share one domain."""
    for ref in manifest_index.selector_refs:
        if ref.max_skew is None or ref.max_skew < 2:
            continue
        pods = manifest_index.owner(ref)
        most = pods.scale.most if pods is not None else None
        if pods is None or most is None or not 1 < most <= ref.max_skew:
            continue
        if not pods.pod_labels.all(ref.selector) or any(other.key != pods.key for other in manifest_index.selected(ref)):
            continue  # Other pods count as well, so that the constraint may still have an effect.
        every = f"all {most} replicas" + (f", the most that {pods.scale.scaler} asks for," if pods.scale.scaler else "")
        message = f"maxSkew {ref.max_skew} lets {every} share one topology domain, so the constraint has no effect"
        yield at_selector(ref, Match((*ref.path[:-1], "maxSkew"), message))


def namespace_selector_conflict(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report pods that their namespace's node selector or tolerations cause to be rejected or to stay Pending."""
    if manifest_index.facts.about_pods:
        from afflint.checks.namespaces import contradicted_pods

        yield from contradicted_pods(manifest_index)
