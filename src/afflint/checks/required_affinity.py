"""Checks of required pod affinity across all manifests: cycles, conflicts, and several targets."""

from collections.abc import Iterator
from itertools import islice, pairwise

from afflint.checks.match import CrossManifestMatch, Match, Target
from afflint.checks.selector_places import MOST_TARGETS, at_selector, describe_labels, placed, term_place
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.index.facts import REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, Pods, PodsKey, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.kube.node_labels import at_least_as_wide
from afflint.kube.selector_algebra import implies
from afflint.kube.selectors import Selector

_MOST_NAMED = 3
# The limit of recorded dependencies per workload: cycles are short, and lists of targets are shared.
_WAITING_EACH = 10


class _AffinityNeeds(NamedTuple):
    """Pods with their required pod affinity terms, all met by one and the same pod."""

    pods: Pods
    selector_refs: list[SelectorRef]

    @property
    def requirements(self) -> tuple[object, ...]:
        """A key that is equal for pods with the same requirements."""
        return tuple((ref.selector, ref.scope) for ref in self.selector_refs)

    @property
    def can_be_first(self) -> bool:
        """Whether one pod can be scheduled before all others.

        That is so if it matches all its own terms (the first-pod rule of the scheduler), and assumed if its labels are unknown.
        """
        if not self.pods.labels_known:
            return True
        together = Selector(tuple([each for ref in self.selector_refs for each in ref.selector.requirements]))
        return all(map(_covers_own, self.selector_refs)) and self.pods.pod_labels.some(together)


def _covers_own(ref: SelectorRef) -> bool:
    return ref.scope is None or ref.namespace is None or ref.namespace in ref.scope


def _needs(manifest_index: ManifestIndex) -> list[_AffinityNeeds]:
    """Return all workloads with required pod affinity."""
    by_owner: dict[PodsKey, _AffinityNeeds] = {}
    for ref in manifest_index.selector_refs:
        pods = manifest_index.owner(ref) if ref.what == REQUIRED_AFFINITY else None
        if pods is not None:
            by_owner.setdefault(pods.key, _AffinityNeeds(pods, [])).selector_refs.append(ref)
    return list(by_owner.values())


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
        waited_for = grouped((target.key, wanted) for wanted, targets in self._targets.items() for target in targets)
        placeable = [wanted for wanted, targets in self._targets.items() if not targets]
        while placeable:
            for key in waiting_for.pop(placeable.pop(), ()):
                if self.stuck.pop(key, None) is not None:
                    placeable += waited_for.get(key, ())

    def _waiting_targets(self, need: _AffinityNeeds) -> list[Pods]:
        """Return the pods that meet the terms if all of them wait as well; none if one does not, or if there may be other pods."""
        targets: list[Pods] = []
        for target in self._manifest_index.selected_by_all(need.selector_refs):
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
        targets, ref = waiting.targets(need), need.selector_refs[0]
        if not target.complete and not any(manifest_index.related(ref, each) for each in targets[:MOST_TARGETS]):
            continue
        cycle = waiting.find_cycle(need)
        if cycle:
            steps = [f"{one.title} waits for {other.title}" for one, other in pairwise(cycle)]
            message = f"no pod can be scheduled first, so all stay Pending: {join_words(steps)}"
        else:
            names = join_words(dict.fromkeys(each.title for each in targets[:_MOST_NAMED]), "or")
            message = f"this waits for {names}, which can never be scheduled because of a cycle of required podAffinity"
        related = tuple(placed(each, f"{each.title} waits too") for each in targets[:_MOST_NAMED])
        yield at_selector(ref, Match(ref.path, message, key=True, related=related))


def affinity_conflict(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required affinity to pods that required anti-affinity of either workload keeps out of the same topology domain."""
    for need in _needs(manifest_index):
        for ref in need.selector_refs:
            match = _conflict_with_itself(manifest_index, need, ref) or _conflict_with_targets(manifest_index, need, ref)
            if match is not None:
                yield at_selector(ref, match)
                break


def _conflict_with_itself(manifest_index: ManifestIndex, need: _AffinityNeeds, ref: SelectorRef) -> Match | None:
    """Return the match for pods that must share a domain with the same pods that their anti-affinity forbids."""
    if not ref.topology_key or ref.everywhere or (need.can_be_first and not need.pods.scale.may_replicate):
        return None
    for anti in _required_anti(manifest_index, need.pods):
        if (
            at_least_as_wide(anti.topology_key or "", ref.topology_key)
            and not anti.everywhere
            and anti.namespaces == ref.namespaces
            and implies(ref.selector, anti.selector)
        ):
            message = (
                f"the pods must share {quoted(ref.topology_key)} with pods that have {quoted(describe_labels(ref.selector))},"
                f" but their own required podAntiAffinity over {quoted(anti.topology_key or '')} forbids it"
            )
            return Match(ref.path, message, key=True, related=(term_place(anti),))
    return None


def _conflict_with_targets(manifest_index: ManifestIndex, need: _AffinityNeeds, ref: SelectorRef) -> Match | None:
    targets = list(islice(manifest_index.selected_by_all(need.selector_refs), MOST_TARGETS + 1))
    if not ref.topology_key or not targets or len(targets) > MOST_TARGETS:
        return None
    clashes = []
    for target in targets:
        clash = None
        if target.key != need.pods.key and manifest_index.related(ref, target):
            clash = _separating_term(manifest_index, ref, need.pods, target)
        if clash is None:
            return None
        clashes.append(clash)
    names = join_words(dict.fromkeys(target.title for target in targets[:_MOST_NAMED]))
    whose = f"the required podAntiAffinity of {clashes[0].title} over {quoted(clashes[0].topology_key or '')}"
    message = f"the pods must share {quoted(ref.topology_key)} with {names}, but {whose} forbids it"
    return Match(ref.path, message, key=True, related=(term_place(clashes[0]),))


def _separating_term(manifest_index: ManifestIndex, ref: SelectorRef, pods: Pods, target: Pods) -> SelectorRef | None:
    """Return the required anti-affinity of either workload that forbids the two to share a domain of the affinity's topology key."""
    for holder, other in ((pods, target), (target, pods)):
        for anti in _required_anti(manifest_index, holder):
            wide = at_least_as_wide(anti.topology_key or "", ref.topology_key or "")
            if wide and other.pod_labels.all(anti.selector) and surely_reaches(anti, other, ref):
                return anti
    return None


def _required_anti(manifest_index: ManifestIndex, pods: Pods) -> list[SelectorRef]:
    return [ref for ref in manifest_index.selector_refs_of(pods) if ref.what == REQUIRED_ANTI_AFFINITY and ref.topology_key]


def surely_reaches(anti: SelectorRef, other: Pods, affinity: SelectorRef) -> bool:
    """Return whether the anti-affinity certainly covers the other pods: an error must not depend on an unknown namespace."""
    if anti.everywhere:
        return False
    if anti.namespaces:
        return other.namespace in anti.namespaces
    if anti.namespace is not None and other.namespace is not None:
        return anti.namespace == other.namespace
    # An affinity that selects pods in its own namespace only requires both to be in the same one, whichever that is.
    return not affinity.everywhere and not affinity.namespaces


def no_single_target(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report required pod affinity terms that pods match one by one, but that no single pod matches together."""
    for need in _needs(manifest_index):
        if len(need.selector_refs) < 2 or need.can_be_first or next(manifest_index.selected_by_all(need.selector_refs), None) is not None:
            continue
        meeting = [_first_related(manifest_index, ref) for ref in need.selector_refs]
        if all(pods is not None and pods.labels_known for pods in meeting):
            pairs = [(pods, ref) for pods, ref in zip(meeting, need.selector_refs, strict=True) if pods is not None]
            names = join_words(f"{pods.title} ({quoted(describe_labels(ref.selector))})" for pods, ref in pairs[:_MOST_NAMED])
            all_terms = f"all {len(need.selector_refs)} required podAffinity terms"
            message = f"a single pod must match {all_terms}, but none does: {names} match only one each"
            related = tuple(placed(pods, f"{pods.title} matches only one term") for pods, _ in pairs[:_MOST_NAMED])
            first = need.selector_refs[0]
            yield at_selector(first, Match(first.path[:-2], message, key=True, related=related))


def _first_related(manifest_index: ManifestIndex, ref: SelectorRef) -> Pods | None:
    if not ref.selector.requirements:
        return None
    return next((pods for pods in islice(manifest_index.selected(ref), MOST_TARGETS) if manifest_index.related(ref, pods)), None)
