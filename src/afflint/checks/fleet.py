"""Pod affinities held against all other manifests: what waits for itself, what excludes itself, what aims at nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from afflint.checks.constraint_selectors import has_placeholder, says
from afflint.checks.match import FleetMatch, Match, Place, Target
from afflint.checks.wording import listing, quoted
from afflint.facts import PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY, REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, Pods, Reach, Site
from afflint.findings import field_of
from afflint.fleet import Fleet, near
from afflint.kube.node_labels import at_least_as_wide
from afflint.kube.selectors import Selector, matches

_MOST_NAMED = 3


class _Needs(NamedTuple):
    """A workload with the required pod affinity terms that must all be met by one pod, and the workloads that would do."""

    pods: Pods
    reaches: list[Reach]
    targets: list[Pods]

    @property
    def opens_itself(self) -> bool:
        """The first-pod rule: a pod that matches all its own terms may go first."""
        return all(matches(reach.selector, self.pods.template_labels) and _covers_own(reach) for reach in self.reaches)


def _covers_own(reach: Reach) -> bool:
    return reach.everywhere or not reach.namespaces or reach.namespace is None or reach.namespace in reach.namespaces


def _needs(fleet: Fleet) -> list[_Needs]:
    """All workloads with required pod affinity. One pod must match every term, so targets are the intersection."""
    by_owner: dict[tuple[Site, object], list[Reach]] = {}
    for reach in fleet.reaches:
        if reach.what == REQUIRED_AFFINITY:
            by_owner.setdefault((reach.site, reach.path[:-4]), []).append(reach)
    found: list[_Needs] = []
    for reaches in by_owner.values():
        pods = fleet.owner(reaches[0])
        if pods is not None and not any(has_placeholder(reach.selector) for reach in reaches):
            found.append(_Needs(pods, reaches, list(fleet.selected_by_all(reaches))))
    return found


def affinity_cycle(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Required pod affinities that wait for each other, when no pod of the circle may go first."""
    waiting = {need.pods.site: need for need in _needs(fleet) if not need.opens_itself and need.targets}
    # Whoever can be placed is taken out, until only those are left that wait for one another.
    dependants: dict[Site, list[Site]] = {}
    for site, need in waiting.items():
        for target in need.targets:
            dependants.setdefault(target.site, []).append(site)
    placeable = [site for site, need in waiting.items() if any(target.site not in waiting for target in need.targets)]
    stuck = dict(waiting)
    while placeable:
        site = placeable.pop()
        if stuck.pop(site, None) is not None:
            placeable += [each for each in dependants.get(site, ()) if each in stuck]
    for need in stuck.values():
        reach = need.reaches[0]
        alone = all(target.site == need.pods.site for target in need.targets)
        if alone:
            message = (
                f"the required podAffinity asks for pods that only {need.pods.title} has, and its pods do not match all of it themselves"
            )
        else:
            names = listing(dict.fromkeys(target.title for target in need.targets[:_MOST_NAMED]), "or")
            message = f"this waits for {names}, which in turn waits for {need.pods.title}: nothing can be placed first"
        related = tuple(_placed(target, f"{target.title}, which waits too") for target in need.targets[:_MOST_NAMED])
        yield FleetMatch(need.pods.site, need.pods.ref, Match(reach.path, message, key=True, related=related))


def affinity_conflict(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Required affinity to pods that required anti-affinity, on either side, keeps out of the same domain."""
    anti: dict[Site, list[Reach]] = {}
    for reach in fleet.reaches:
        if reach.what == REQUIRED_ANTI_AFFINITY and reach.topology_key:
            anti.setdefault(reach.site, []).append(reach)
    for need in _needs(fleet):
        others = [target for target in need.targets[:50] if target.site != need.pods.site]
        if not others or len(others) != len(need.targets):
            continue
        for reach in need.reaches:
            if not reach.topology_key:
                continue
            clashes = [_keeps_apart(reach, need.pods, target, anti) for target in others]
            if all(clashes):
                clash = clashes[0]
                assert clash is not None
                names = listing(dict.fromkeys(target.title for target in others[:_MOST_NAMED]))
                message = f"the pods must share {quoted(reach.topology_key)} with {names}, and {_whose(clash)} keeps them apart there"
                place = Place(clash.site.file, clash.site.document, clash.path, True, f"the {clash.what} of {clash.title}")
                yield FleetMatch(need.pods.site, need.pods.ref, Match(reach.path, message, key=True, related=(place,)))
                break


def _keeps_apart(reach: Reach, pods: Pods, target: Pods, anti: dict[Site, list[Reach]]) -> Reach | None:
    """The required anti-affinity, of either, that forbids the two to share a domain of the affinity's topology key."""
    for holder, other in ((pods, target), (target, pods)):
        for each in anti.get(holder.site, ()):
            wide = at_least_as_wide(each.topology_key or "", reach.topology_key or "")
            if wide and matches(each.selector, other.template_labels) and _reaches_namespace(each, other):
                return each
    return None


def _reaches_namespace(reach: Reach, pods: Pods) -> bool:
    """Certain reach only: an error must not rest on a namespace that nobody wrote down."""
    if reach.namespaces:
        return pods.namespace in reach.namespaces
    return not reach.everywhere and reach.namespace == pods.namespace


def _whose(reach: Reach) -> str:
    return f"the required podAntiAffinity of {reach.title} over {quoted(reach.topology_key or '')}"


def no_single_target(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Several required pod affinity terms, each met by somebody and all of them by nobody: one pod must meet all."""
    for need in _needs(fleet):
        if len(need.reaches) < 2 or need.targets or need.opens_itself:
            continue
        each = [next((pods for pods in fleet.selected(reach) if near(reach, pods)), None) for reach in need.reaches]
        if all(each):
            names = listing(
                f"{pods.title} ({quoted(_asked(reach.selector))})" for pods, reach in zip(each, need.reaches, strict=True) if pods
            )
            message = f"one pod must meet all {len(need.reaches)} required podAffinity terms, and none does: {names} meet one each"
            related = tuple(_placed(pods, f"{pods.title} meets only one term") for pods in each[:_MOST_NAMED] if pods)
            path = need.reaches[0].path[:-2]
            yield FleetMatch(need.pods.site, need.pods.ref, Match(path, message, key=True, related=related))


def affinity_target_missing(fleet: Fleet, target: Target) -> Iterator[FleetMatch]:
    """Required pod affinity to labels that no pod has: known when the context is complete, or by a near miss."""
    for need in _needs(fleet):
        if need.targets or need.opens_itself:
            continue
        for reach in need.reaches:
            if not reach.selector.requirements or any(True for _ in fleet.selected(reach)):
                continue
            if any(True for _ in fleet.nearly_selected(reach)):
                continue  # label-not-on-template says so, where the label stands.
            miss = fleet.near_miss(reach)
            asked = quoted(_asked(reach.selector))
            if miss is not None:
                pods, key, value, in_template = miss
                where = "" if in_template else ", but in metadata.labels"
                message = f"no pod has {asked}; {quoted(f'{key}: {value}')} is on {pods.title}{where}"
                home = (*pods.template_path, "metadata", "labels", key) if in_template else (*pods.site.base, "metadata", "labels", key)
                place = Place(pods.site.file, pods.site.document, home, True, f"{quoted(f'{key}: {value}')} of {pods.title}")
                yield FleetMatch(need.pods.site, need.pods.ref, Match(reach.path, message, key=True, related=(place,)))
            elif target.complete:
                message = f"no pod has {asked}, and the context is complete: the pods can go nowhere"
                yield FleetMatch(need.pods.site, need.pods.ref, Match(reach.path, message, key=True))


def namespace_misses_target(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Pod terms whose selector matches pods, but only in namespaces that the term does not cover."""
    for reach in fleet.reaches:
        if reach.what not in _POD_TERMS or reach.everywhere or not reach.selector.requirements or has_placeholder(reach.selector):
            continue
        if reach.namespace is None and not reach.namespaces:
            continue
        anywhere = [pods for pods in fleet.selected_anywhere(reach, 20)]
        if not anywhere or any(_may_cover(reach, pods) for pods in anywhere):
            continue
        pods = next((each for each in anywhere if near(reach, each)), None)
        if pods is None:
            continue
        own = (
            f"the namespaces {listing(map(quoted, reach.namespaces))}"
            if reach.namespaces
            else f"its own namespace {quoted(reach.namespace or '')}"
        )
        asked, there = quoted(_asked(reach.selector)), quoted(pods.namespace or "")
        message = f"{asked} is on {pods.title} in namespace {there}, and this term looks only in {own}"
        remedy = f"Add `namespaces: [{pods.namespace}]` beside topologyKey; without it a term covers its own namespace only."
        place = _placed(pods, pods.title)
        yield FleetMatch(reach.site, reach.ref, Match(reach.path, message, remedy, key=True, related=(place,)))


_POD_TERMS = (REQUIRED_AFFINITY, PREFERRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY)


def _may_cover(reach: Reach, pods: Pods) -> bool:
    if pods.namespace is None:
        return True
    return pods.namespace in (reach.namespaces or (reach.namespace,))


def anti_affinity_misses_itself(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Anti-affinity whose selector matches neither the own pods nor anybody else's, and nearly the own."""
    for reach in fleet.reaches:
        if reach.what not in (REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY) or not reach.selector.requirements:
            continue
        pods = fleet.owner(reach)
        if pods is None or not pods.may_replicate or not pods.template_labels or has_placeholder(reach.selector):
            continue
        if matches(reach.selector, pods.template_labels) or matches(reach.selector, pods.merged_labels):
            continue
        slip = fleet.slip(reach.selector, pods.template_labels)
        if slip is None or any(True for _ in fleet.selected_anywhere(reach, 1)):
            continue
        requirement, own = slip
        label = quoted(f"{requirement.key}: {own}")
        message = f"this {reach.what} keeps no pods apart: it asks for {quoted(says(requirement))}, and the pods carry {label}"
        home = field_of((*pods.template_path[len(pods.site.base) :], "metadata", "labels"))
        remedy = f"Make the selector and {home} agree if the pods are to keep apart from each other."
        place = Place(
            pods.site.file,
            pods.site.document,
            (*pods.template_path, "metadata", "labels", requirement.key),
            True,
            f"the pods carry {label}",
        )
        yield FleetMatch(reach.site, reach.ref, Match(reach.path, message, remedy, key=True, related=(place,)))


def accidental_anti_affinity(fleet: Fleet, _target: Target) -> Iterator[FleetMatch]:
    """Required anti-affinity that matches the own pods and those of an unrelated workload as well."""
    for reach in fleet.reaches:
        if reach.what != REQUIRED_ANTI_AFFINITY or not reach.selector.requirements:
            continue
        pods = fleet.owner(reach)
        if pods is None or not matches(reach.selector, pods.template_labels):
            continue
        asked = {requirement.key for requirement in reach.selector.requirements}
        for other in fleet.selected_anywhere(reach, 20):
            key = _told_apart_by(pods, other, asked)
            if other.site != pods.site and key is not None and _reaches_namespace(reach, other) and near(reach, other):
                message = (
                    f"this also keeps the pods away from those of {other.title}, which share {quoted(_asked(reach.selector))}"
                    f" and differ in {quoted(key)}"
                )
                remedy = f"Add {quoted(f'{key}: {pods.template_labels[key]}')} to the selector if only the own pods are meant."
                yield FleetMatch(
                    reach.site, reach.ref, Match(reach.path, message, remedy, key=True, related=(_placed(other, other.title),))
                )
                break


_IDENTITY = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app", "name")


def _told_apart_by(pods: Pods, other: Pods, asked: set[str]) -> str | None:
    for key in _IDENTITY:
        mine, theirs = pods.template_labels.get(key), other.template_labels.get(key)
        if key not in asked and mine and theirs and mine != theirs:
            return key
    return None


def _asked(selector: Selector) -> str:
    """A selector in the words of labels, as far as it is one: ``app: fedora``."""
    parts = [
        f"{each.key}: {each.values[0]}" if each.operator == "In" and len(each.values) == 1 else says(each)
        for each in selector.requirements[:3]
    ]
    return ", ".join(parts)


def _placed(pods: Pods, message: str) -> Place:
    return Place(pods.site.file, pods.site.document, (*pods.site.base, "metadata", "name"), False, message)
