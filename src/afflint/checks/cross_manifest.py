"""Checks of pod affinity across all manifests: cycles, conflicts, and selectors that match no pod."""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.controllers.pod_labels import PodLabels, PossibleValues
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import did_you_mean, join_words, quoted
from afflint.findings.similarity import is_likely_typo
from afflint.index.facts import (
    PREFERRED_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
    REQUIRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    SPREAD,
    Pods,
    PodsKey,
    SelectorRef,
)
from afflint.index.manifest_index import IDENTITY, ManifestIndex, NearMiss, close, own_near_miss, under_other_keys
from afflint.kube.node_labels import HOSTNAME, at_least_as_wide
from afflint.kube.selector_algebra import implies
from afflint.kube.selectors import Requirement, Selector, describe, matches
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.controllers.migratability import Obstacle

_POD_TERMS = (REQUIRED_AFFINITY, PREFERRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY)
_ANTI = (REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY)
_MOST_NAMED = 3
# If a selector matches more workloads than this, the properties of each are not compared.
_MOST_TARGETS = 20
# The limit of recorded dependencies per workload: cycles are short, and lists of targets are shared.
_WAITING_EACH = 10


class _AffinityNeeds(NamedTuple):
    """Pods with their required pod affinity terms, all met by one and the same pod."""

    pods: Pods
    reaches: list[SelectorRef]

    @property
    def requirements(self) -> tuple[object, ...]:
        """A key that is equal for pods with the same requirements."""
        return tuple((reach.selector, reach.scope) for reach in self.reaches)

    @property
    def can_be_first(self) -> bool:
        """Whether one pod can be scheduled before all others.

        That is so if it matches all its own terms (the first-pod rule of the scheduler), and assumed if its labels are unknown.
        """
        if not self.pods.labels_known:
            return True
        together = Selector(tuple([each for reach in self.reaches for each in reach.selector.requirements]))
        return all(map(_covers_own, self.reaches)) and self.pods.pod_labels.some(together)


def _covers_own(reach: SelectorRef) -> bool:
    return reach.scope is None or reach.namespace is None or reach.namespace in reach.scope


def _needs(manifest_index: ManifestIndex) -> list[_AffinityNeeds]:
    """Return all workloads with required pod affinity."""
    by_owner: dict[PodsKey, _AffinityNeeds] = {}
    for reach in manifest_index.reaches:
        pods = manifest_index.owner(reach) if reach.what == REQUIRED_AFFINITY else None
        if pods is not None:
            by_owner.setdefault(pods.key, _AffinityNeeds(pods, [])).reaches.append(reach)
    return list(by_owner.values())


# Cycles.


class _Waiting:
    """The dependencies among pods that no first-pod rule helps; pods that can be scheduled are removed, so that only stuck ones remain."""

    def __init__(self, manifest_index: ManifestIndex) -> None:
        self._manifest_index = manifest_index
        self._room = _WAITING_EACH * (len(manifest_index.pods) + 100)
        self.stuck: dict[PodsKey, _AffinityNeeds] = {need.pods.key: need for need in _needs(manifest_index) if not need.can_be_first}
        self._targets: dict[tuple[object, ...], list[Pods]] = {}
        waiting_for: dict[tuple[object, ...], list[PodsKey]] = {}
        for key, need in self.stuck.items():
            waiting_for.setdefault(need.requirements, []).append(key)
            if need.requirements not in self._targets:
                self._targets[need.requirements] = self._waiting_targets(need)
        waited_for: dict[PodsKey, list[tuple[object, ...]]] = {}
        for wanted, targets in self._targets.items():
            for target in targets:
                waited_for.setdefault(target.key, []).append(wanted)
        placeable = [wanted for wanted, targets in self._targets.items() if not targets]
        while placeable:
            for key in waiting_for.pop(placeable.pop(), ()):
                if self.stuck.pop(key, None) is not None:
                    placeable += waited_for.get(key, ())

    def _waiting_targets(self, need: _AffinityNeeds) -> list[Pods]:
        """Return the pods that meet the terms if all of them wait as well; none if one does not, or if there may be other pods."""
        targets: list[Pods] = []
        for target in self._manifest_index.selected_by_all(need.reaches):
            if target.key not in self.stuck or not self._room:
                return []
            self._room -= 1
            targets.append(target)
        return targets

    def targets(self, need: _AffinityNeeds) -> list[Pods]:
        """Return the stuck pods that these pods wait for."""
        return self._targets[need.requirements]

    def find_cycle(self, need: _AffinityNeeds) -> list[Pods]:
        """Return the cycle from these pods back to themselves; empty if they only wait for pods in a cycle."""
        cycle = [need.pods]
        while len(cycle) <= _LONGEST_CYCLE:
            following = self.targets(self.stuck[cycle[-1].key])[0]
            if following.key == need.pods.key:
                return [*cycle, following]
            cycle.append(following)
        return []


_LONGEST_CYCLE = 6


def affinity_cycle(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report workloads whose required pod affinities wait for each other, if no pod of the cycle can be scheduled first."""
    waiting = _Waiting(manifest_index)
    for need in waiting.stuck.values():
        targets, reach = waiting.targets(need), need.reaches[0]
        if not target.complete and not any(manifest_index.related(reach, each) for each in targets[:_MOST_TARGETS]):
            continue
        cycle = waiting.find_cycle(need)
        if cycle:
            steps = [f"{one.title} waits for {other.title}" for one, other in pairwise(cycle)]
            message = f"no pod can be scheduled first, so all stay Pending: {join_words(steps)}"
        else:
            names = join_words(dict.fromkeys(each.title for each in targets[:_MOST_NAMED]), "or")
            message = f"this waits for {names}, which can never be scheduled because of a cycle of required podAffinity"
        related = tuple(_placed(each, f"{each.title} waits too") for each in targets[:_MOST_NAMED])
        yield _at(reach, Match(reach.path, message, key=True, related=related))


# Conflicts.


def affinity_conflict(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required affinity to pods that required anti-affinity of either workload keeps out of the same topology domain."""
    for need in _needs(manifest_index):
        for reach in need.reaches:
            match = _conflict_with_itself(manifest_index, need, reach) or _conflict_with_targets(manifest_index, need, reach)
            if match is not None:
                yield _at(reach, match)
                break


def _conflict_with_itself(manifest_index: ManifestIndex, need: _AffinityNeeds, reach: SelectorRef) -> Match | None:
    """Return the match for pods that must share a domain with the same pods that their anti-affinity forbids."""
    if not reach.topology_key or reach.everywhere or (need.can_be_first and not need.pods.scale.may_replicate):
        return None
    for anti in _required_anti(manifest_index, need.pods):
        if (
            at_least_as_wide(anti.topology_key or "", reach.topology_key)
            and not anti.everywhere
            and anti.namespaces == reach.namespaces
            and implies(reach.selector, anti.selector)
        ):
            message = (
                f"the pods must share {quoted(reach.topology_key)} with pods that have {quoted(_describe_selector(reach.selector))},"
                f" but their own required podAntiAffinity over {quoted(anti.topology_key or '')} forbids it"
            )
            return Match(reach.path, message, key=True, related=(_term(anti),))
    return None


def _conflict_with_targets(manifest_index: ManifestIndex, need: _AffinityNeeds, reach: SelectorRef) -> Match | None:
    targets = list(islice(manifest_index.selected_by_all(need.reaches), _MOST_TARGETS + 1))
    if not reach.topology_key or not targets or len(targets) > _MOST_TARGETS:
        return None
    clashes = []
    for target in targets:
        clash = None
        if target.key != need.pods.key and manifest_index.related(reach, target):
            clash = _separating_term(manifest_index, reach, need.pods, target)
        if clash is None:
            return None
        clashes.append(clash)
    names = join_words(dict.fromkeys(target.title for target in targets[:_MOST_NAMED]))
    whose = f"the required podAntiAffinity of {clashes[0].title} over {quoted(clashes[0].topology_key or '')}"
    message = f"the pods must share {quoted(reach.topology_key)} with {names}, but {whose} forbids it"
    return Match(reach.path, message, key=True, related=(_term(clashes[0]),))


def _separating_term(manifest_index: ManifestIndex, reach: SelectorRef, pods: Pods, target: Pods) -> SelectorRef | None:
    """Return the required anti-affinity of either workload that forbids the two to share a domain of the affinity's topology key."""
    for holder, other in ((pods, target), (target, pods)):
        for anti in _required_anti(manifest_index, holder):
            wide = at_least_as_wide(anti.topology_key or "", reach.topology_key or "")
            if wide and other.pod_labels.all(anti.selector) and _surely_reaches(anti, other, reach):
                return anti
    return None


def _required_anti(manifest_index: ManifestIndex, pods: Pods) -> list[SelectorRef]:
    return [reach for reach in manifest_index.reaches_of(pods) if reach.what == REQUIRED_ANTI_AFFINITY and reach.topology_key]


def _surely_reaches(anti: SelectorRef, other: Pods, affinity: SelectorRef) -> bool:
    """Return whether the anti-affinity certainly covers the other pods: an error must not depend on an unknown namespace."""
    if anti.everywhere:
        return False
    if anti.namespaces:
        return other.namespace in anti.namespaces
    if anti.namespace is not None and other.namespace is not None:
        return anti.namespace == other.namespace
    # An affinity that selects pods in its own namespace only requires both to be in the same one, whichever that is.
    return not affinity.everywhere and not affinity.namespaces


# Targets.


def no_single_target(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required pod affinity terms that pods match one by one, but that no single pod matches together."""
    for need in _needs(manifest_index):
        if len(need.reaches) < 2 or need.can_be_first or next(manifest_index.selected_by_all(need.reaches), None) is not None:
            continue
        meeting = [_first_related(manifest_index, reach) for reach in need.reaches]
        if all(pods is not None and pods.labels_known for pods in meeting):
            pairs = [(pods, reach) for pods, reach in zip(meeting, need.reaches, strict=True) if pods is not None]
            names = join_words(f"{pods.title} ({quoted(_describe_selector(reach.selector))})" for pods, reach in pairs[:_MOST_NAMED])
            all_terms = f"all {len(need.reaches)} required podAffinity terms"
            message = f"a single pod must match {all_terms}, but none does: {names} match only one each"
            related = tuple(_placed(pods, f"{pods.title} matches only one term") for pods, _ in pairs[:_MOST_NAMED])
            first = need.reaches[0]
            yield _at(first, Match(first.path[:-2], message, key=True, related=related))


def _first_related(manifest_index: ManifestIndex, reach: SelectorRef) -> Pods | None:
    if not reach.selector.requirements:
        return None
    return next((pods for pods in islice(manifest_index.selected(reach), _MOST_TARGETS) if manifest_index.related(reach, pods)), None)


def affinity_target_missing(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report pod terms that select labels that no pod has: found by a near miss, or for required affinity if the context is complete."""
    for reach in manifest_index.reaches:
        owner = manifest_index.owner(reach) if reach.what in _POD_TERMS else None
        if owner is None or not reach.selector.requirements or manifest_index.is_selected(reach):
            continue
        if manifest_index.is_nearly_selected(reach):
            continue  # label-not-on-template reports it at the label.
        miss = _intended_label(manifest_index, reach, owner)
        if miss is not None:
            yield _at(reach, _near_miss_match(reach, miss, owner))
        elif target.complete and reach.what == REQUIRED_AFFINITY and not manifest_index.may_be_operated(reach):
            missing = f"no pod has {quoted(_describe_selector(reach.selector))}, and the configuration sets `complete: true`"
            message = f"{missing}: the pods stay Pending"
            yield _at(reach, Match(reach.path, message, key=True))


def _intended_label(manifest_index: ManifestIndex, reach: SelectorRef, owner: Pods) -> NearMiss | None:
    """Return the label that an affinity, or an anti-affinity to other pods, was meant to select.

    anti-affinity-misses-itself reports terms that were meant to select the pods' own labels.
    """
    miss = own_near_miss(reach, owner) if reach.what not in _ANTI and owner.labels_known else None
    miss = miss or manifest_index.near_miss(reach)
    return None if miss is not None and miss.pods.key == owner.key and reach.what in _ANTI else miss


def _near_miss_match(reach: SelectorRef, miss: NearMiss, owner: Pods) -> Match:
    label = quoted(f"{miss.key}: {miss.value}")
    where = f"on {miss.pods.title}" if miss.in_template else f"on {miss.pods.title}, but only in metadata.labels"
    if miss.pods.key == owner.key:
        where = "on its own pods"
    message = f"no pod has {quoted(_describe_selector(Selector((miss.asked,))))}, which this {reach.what} selects; {label} is {where}"
    path = (*miss.pods.template_path, "metadata", "labels") if miss.in_template else (*miss.pods.site.base, "metadata", "labels")
    return Match(reach.path, message, key=True, related=(_label(miss.pods, (*path, miss.key), f"{label} of {miss.pods.title}"),))


def namespace_misses_target(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report pod terms whose selector matches pods, but only in one namespace, which the term does not cover."""
    for reach in manifest_index.reaches:
        if reach.what not in _POD_TERMS or reach.scope is None or not reach.selector.requirements:
            continue
        pods = _own_pods_outside(manifest_index, reach) or _only_elsewhere(manifest_index, reach)
        if pods is None or any(is_placeholder(name) for name in (pods.namespace or "", *reach.scope)):
            continue
        names = [quoted(name) for name in reach.scope]
        own = "its own namespace " if not reach.namespaces else "the namespace " if len(names) == 1 else "the namespaces "
        message = (
            f"{quoted(_describe_selector(reach.selector))} is on {pods.title} in namespace {quoted(pods.namespace)},"
            f" but this {reach.what} selects pods only in {own}{join_words(names)}"
        )
        remedy = "List the namespace in `namespaces` next to topologyKey; without that field, a term applies only to its own namespace."
        yield _at(reach, Match(reach.path, message, remedy, key=True, related=(_placed(pods, pods.title),)))


def _only_elsewhere(manifest_index: ManifestIndex, reach: SelectorRef) -> Pods | None:
    """Return pods that a selector matches, if all that it matches are in one namespace, which it does not cover."""
    if manifest_index.is_selected(reach):
        return None
    elsewhere = list(islice(manifest_index.selected_anywhere(reach), _MOST_TARGETS))
    if len({pods.namespace for pods in elsewhere}) > 1:
        return None  # Several tenants: the namespace of this one may be missing in these manifests.
    return next((each for each in elsewhere if close(reach, each)), None)


def _own_pods_outside(manifest_index: ManifestIndex, reach: SelectorRef) -> Pods | None:
    """Return the pods with an anti-affinity that selects their own labels, but names only other namespaces.

    Pods there show that it separates the two on purpose. A copy of the object without a namespace does not: it is for another cluster.
    """
    own = manifest_index.owner(reach) if reach.what in _ANTI and reach.namespaces else None
    if own is None or own.namespace is None or own.namespace in reach.namespaces or not own.pod_labels.all(reach.selector):
        return None
    selected = list(islice(manifest_index.selected(reach), _MOST_TARGETS + 1))
    is_named_only_here = all(each.namespace is None and _is_copy(each, own) for each in selected)
    return own if is_named_only_here and len(selected) <= _MOST_TARGETS and not reach.everywhere else None


def _is_copy(one: Pods, other: Pods) -> bool:
    """Return whether two objects have the same kind and name: copies for several clusters or namespaces."""
    return one.ref.name is not None and (one.ref.kind, one.ref.name) == (other.ref.kind, other.ref.name)


# Anti-affinity.


def anti_affinity_misses_itself(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report anti-affinity whose selector matches no pod, but nearly matches the workload's own pods."""
    for reach in manifest_index.reaches:
        pods = manifest_index.owner(reach) if reach.what in _ANTI else None
        if pods is None or not reach.selector.requirements or not pods.template_labels:
            continue
        if pods.scale.is_single:
            continue
        if pods.pod_labels.some(reach.selector) or PodLabels(pods.merged_labels, pods.added).some(reach.selector):
            continue
        miss = own_near_miss(reach, pods) or under_other_keys(reach, pods) or (_other_value(reach, pods) if target.complete else None)
        if miss is None or (not pods.labels_known and miss.key != miss.asked.key):
            continue
        if next(manifest_index.selected_anywhere(reach), None) is None:
            yield _at(reach, _own_miss_match(reach, pods, miss))


def _other_value(reach: SelectorRef, pods: Pods) -> NearMiss | None:
    """Return the pods' own label with the selected key and another value; meaningful only if no pod has the selected value."""
    for asked in reach.selector.requirements:
        own = pods.template_labels.get(asked.key)
        if asked.operator == "In" and own is not None and own not in asked.values:
            return NearMiss(asked, pods, asked.key, own, True)
    return None


def _own_miss_match(reach: SelectorRef, pods: Pods, miss: NearMiss) -> Match:
    label = quoted(f"{miss.key}: {miss.value}")
    message = f"this {reach.what} separates no pods: it selects {quoted(describe(miss.asked))}, but the pods have {label}"
    home = (*pods.template_path, "metadata", "labels")
    remedy = f"Make the selector and {field_of(home[len(pods.site.base) :])} agree if the pods should be separated from each other."
    return Match(reach.path, message, remedy, key=True, related=(_label(pods, (*home, miss.key), f"the pods have {label}"),))


def operator_label_mismatch(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report anti-affinity and spread constraints of an operator's pods whose selector contradicts the labels that the operator sets."""
    for reach in manifest_index.reaches:
        owner = manifest_index.owner(reach) if reach.what in _ANTI or reach.what == SPREAD else None
        if owner is None or not owner.operated:
            continue
        if reach.what != SPREAD and next(manifest_index.selected_anywhere(reach), None) is not None:
            continue  # It separates the pods from others on purpose.
        sure = target.complete or reach.what == SPREAD
        why = _operator_contradiction(reach, owner, sure=sure) or _absent_label(reach, owner, sure=sure)
        if why is not None:
            effect = "counts none of its own pods" if reach.what == SPREAD else "separates none of its own pods"
            yield _at(reach, Match(reach.path, f"this {reach.what} {effect}: {why}", key=True))


def _operator_contradiction(reach: SelectorRef, owner: Pods, *, sure: bool) -> str | None:
    """Return how a selector contradicts the labels that the operator sets on the pods, or None if it does not.

    A spread constraint is meant to select the pods' own labels. An anti-affinity may select pods that are not in these manifests: unless a
    complete context makes it ``sure``, only a typo proves otherwise.
    """
    patterns, added = {label.key: label.value for label in owner.added.labels}, owner.pod_labels.added
    for asked in reach.selector.requirements:
        if any(map(is_placeholder, (asked.key, *asked.values))):
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


def _absent_label(reach: SelectorRef, owner: Pods, *, sure: bool) -> str | None:
    """Return that a selector needs a label that the operator's pods never have; None if they may have it.

    An anti-affinity that is not ``sure`` to mean the own pods means them if one of its values is on them under another key, or is the kind.
    """
    absent = [each for each in reach.selector.requirements if each.operator in ("In", "Exists") and owner.never_have(each.key)]
    if not absent or any(is_placeholder(text) for each in absent for text in (each.key, *each.values)):
        return None
    own = [(key, value) for key, value in owner.pod_labels.certain.items() if any(value in each.values for each in absent)]
    kind = (owner.ref.kind or "").lower()
    if not sure and not own and not any(kind in each.values for each in absent):
        return None
    first = next((each for each in absent if any(value in each.values for _, value in own)), absent[0])
    meant = next((f"; the pods have {quoted(f'{key}: {value}')}" for key, value in own if value in first.values), "")
    return f"it selects {quoted(describe(first))}, but the operator does not set the label {quoted(first.key)}{meant}"


def _contradicts(asked: Requirement, values: PossibleValues, *, sure: bool) -> bool:
    """Return whether the selector requires another value than the pods have; unless ``sure`` that they are meant, it must be a typo."""
    if asked.operator != "In" or values.rest or any(map(values.include, asked.values)):
        return False
    return sure or any(is_likely_typo(value, values.prefix) for value in asked.values)


def accidental_anti_affinity(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required anti-affinity that matches the workload's own pods and those of an unrelated workload as well."""
    for reach in manifest_index.reaches:
        pods = manifest_index.owner(reach) if reach.what == REQUIRED_ANTI_AFFINITY else None
        if pods is None or not reach.selector.requirements or not matches(reach.selector, pods.template_labels):
            continue
        if pods.ref.kind == "Pod":
            continue  # A Pod has no replicas: only the other workload can be meant.
        asked = {requirement.key for requirement in reach.selector.requirements}
        if _PART_OF in asked:
            continue  # A selector of the whole application means all its workloads.
        for other in islice(manifest_index.selected(reach), _MOST_TARGETS):
            if not matches(reach.selector, other.template_labels):
                continue  # A selector of a label that controllers put on many pods means them all.
            key = _distinguishing_label(pods, other, asked)
            if key is not None and _surely_reaches(reach, other, reach) and close(reach, other):
                yield _at(reach, _accidental_match(reach, pods, other, key))
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


def _accidental_match(reach: SelectorRef, pods: Pods, other: Pods, key: str) -> Match:
    message = (
        f"this {reach.what} also separates the pods from those of {other.title}, which also have"
        f" {quoted(_describe_selector(reach.selector))} but differ in {quoted(key)}"
    )
    remedy = f"Add {quoted(f'{key}: {pods.template_labels[key]}')} to the selector if it should select only the workload's own pods."
    return Match(reach.path, message, remedy, key=True, related=(_placed(other, other.title),))


# Spread and migration.


def spread_without_effect(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required spread constraints whose maxSkew is so large that all replicas may share one domain."""
    for reach in manifest_index.reaches:
        if reach.max_skew is None or reach.max_skew < 2:
            continue
        pods = manifest_index.owner(reach)
        most = pods.scale.most if pods is not None else None
        if pods is None or most is None or not 1 < most <= reach.max_skew:
            continue
        if not pods.pod_labels.all(reach.selector) or any(other.key != pods.key for other in manifest_index.selected(reach)):
            continue  # Other pods count as well, so that the constraint may still have an effect.
        every = f"all {most} replicas" + (f", the most that {pods.scale.scaler} asks for," if pods.scale.scaler else "")
        message = f"maxSkew {reach.max_skew} lets {every} share one topology domain, so the constraint has no effect"
        yield _at(reach, Match((*reach.path[:-1], "maxSkew"), message))


def migration_impossible(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report VMs that must be live-migrated when a node is drained, but cannot leave their host."""
    for pods in manifest_index.pods:
        if pods.migration is None:
            continue
        from afflint.controllers.kubevirt_cluster import LIVE_MIGRATE, KubeVirtCluster, describe_strategy, eviction_strategy

        if eviction_strategy(pods.migration.strategy, manifest_index.kubevirt_resource) != LIVE_MIGRATE:
            continue
        if not pods.migration.strategy and KubeVirtCluster(manifest_index.kubevirt_resource).is_assumed:
            continue  # No manifest requests the migration.
        required = f"{describe_strategy(pods.migration.strategy, manifest_index.kubevirt_resource)}, but"
        if pods.migration.pin is not None:
            path, host = pods.migration.pin
            message = f"{required} the VM must run on {quoted(host)}: a drain of that node never completes"
            yield CrossManifestMatch(pods.site, pods.ref, Match(path, message))
        found = obstacle(manifest_index, pods)
        if found is not None:
            remedy = _OTHER_BINDING if found.reason.startswith("Interface") else _IF_POSSIBLE
            message = f"{required} {found.words}: a drain of its node waits until the VM is stopped"
            yield CrossManifestMatch(pods.site, pods.ref, Match(found.path, message, remedy))
        for reach in manifest_index.reaches_of(pods):
            if reach.what == REQUIRED_AFFINITY and reach.topology_key == HOSTNAME:
                target = _only_target(manifest_index, reach, pods)
                if target is not None:
                    message = f"{required} this binds the VM to the host of {target.title}, which does not migrate with it"
                    path = (*reach.path[:-1], "topologyKey")
                    yield CrossManifestMatch(pods.site, pods.ref, Match(path, message, related=(_placed(target, target.title),)))


_IF_POSSIBLE = "Use `evictionStrategy: LiveMigrateIfPossible` to shut the VM down when its node is drained."
_OTHER_BINDING = "Give the VM an interface with `masquerade: {}`, or use `evictionStrategy: LiveMigrateIfPossible`."


def obstacle(manifest_index: ManifestIndex, pods: Pods) -> "Obstacle | None":
    """Return the first obstacle to a VM's migration; a missing interface does not matter if the VM is bound to one host."""
    if pods.migration is None:
        return None
    for each in pods.migration.obstacles:
        if each.by_default:
            known = not (pods.migration.pin or _has_other_default(manifest_index))
        else:
            default = manifest_index.template_modes(pods.site).get(each.claim)
            if default is not None and "ReadWriteMany" not in default.modes:
                words = f"the disk {each.claim} gets the access mode {default.modes[0]} of StorageClass {default.storage_class}"
                return each._replace(words=words)
            modes = manifest_index.access_modes(pods.namespace).get(each.claim, ())
            known = each.certain or (bool(modes) and "ReadWriteMany" not in modes)
        if known:
            return each
    return _instancetype_obstacle(manifest_index, pods, *pods.migration.instancetype) if pods.migration.instancetype else None


def _instancetype_obstacle(manifest_index: ManifestIndex, pods: Pods, kind: str, name: str) -> "Obstacle | None":
    """Return the obstacle to migration that the instance type of a VM adds: devices, or protection of its memory."""
    from afflint.controllers.kubevirt_cluster import KubeVirtCluster
    from afflint.controllers.migratability import HOST_DEVICE, SEV, TDX, obstacles
    from afflint.controllers.pod_source import Reference
    from afflint.controllers.virtual_machine import apply_specs
    from afflint.inventory.virtual_machines import instancetype_of

    instancetype = instancetype_of(manifest_index, pods.namespace or "default", Reference(kind, name))
    for each in obstacles({"spec": apply_specs({}, instancetype, None)}, manifest_index.kubevirt_resource) if instancetype else ():
        if each.reason in (HOST_DEVICE, SEV, TDX) and (each.certain or KubeVirtCluster(manifest_index.kubevirt_resource).is_known):
            words = f"{each.words} (from its instancetype {quoted(name)})"
            return each._replace(path=(*pods.template_path[:-1], "instancetype"), words=words)
    return None


def _has_other_default(manifest_index: ManifestIndex) -> bool:
    """Return whether the KubeVirt resource of the run gives VMs without an interface one that allows migration."""
    from afflint.controllers.kubevirt_cluster import KubeVirtCluster

    return KubeVirtCluster(manifest_index.kubevirt_resource).default_interface != "bridge"


def _only_target(manifest_index: ManifestIndex, reach: SelectorRef, pods: Pods) -> Pods | None:
    """Return the only other pods next to which the VM may run; None if there are several, or on several hosts, or none is known."""
    found = [target for target in islice(manifest_index.selected(reach), 2) if target.key != pods.key]
    if len(found) != 1 or pods.pod_labels.some(reach.selector):
        return None
    return found[0] if found[0].scale.most == 1 and manifest_index.related(reach, found[0]) else None


# Namespaces.


def namespace_selector_conflict(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report pods that their namespace's node selector or tolerations cause to be rejected or to stay Pending."""
    if manifest_index.says_about_pods:
        from afflint.checks.namespaces import contradicted_pods

        yield from contradicted_pods(manifest_index)


# Message texts and related places.


def _at(reach: SelectorRef, match: Match) -> CrossManifestMatch:
    return CrossManifestMatch(reach.site, reach.ref, match)


def _describe_selector(selector: Selector) -> str:
    """Describe a selector like labels where possible: ``app: fedora``."""
    parts = [
        f"{each.key}: {each.values[0]}" if each.operator == "In" and len(each.values) == 1 else describe(each)
        for each in selector.requirements[:3]
    ]
    return ", ".join(parts)


def _placed(pods: Pods, message: str) -> RelatedPlace:
    return _label(pods, (*pods.site.base, "metadata", "name"), message)._replace(key=False)


def _label(pods: Pods, path: Path, message: str) -> RelatedPlace:
    return RelatedPlace(pods.site.file, pods.site.document, path, True, message)


def _term(reach: SelectorRef) -> RelatedPlace:
    return RelatedPlace(reach.site.file, reach.site.document, reach.path, True, f"the {reach.what} of {reach.title}")
