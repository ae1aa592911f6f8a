"""The plugin VolumeBinding: nodes from which the volumes of a pod can be used, and volumes for claims that are not bound yet.

Semantics: pkg/scheduler/framework/plugins/volumebinding (volume_binding.go, binder.go, scorer.go), and FindMatchingVolume of
k8s.io/component-helpers/storage/volume.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Malformed, Selector
from afflint.scheduler.pods import Pod
from afflint.scheduler.storage_classes import Slot, fits, slot_of
from afflint.scheduler.storage_state import ClaimBinding, StorageState
from afflint.scheduler.volume_rejection import VolumeRejection
from afflint.storage.objects import PersistentVolume, PersistentVolumeClaim, StorageCapacity
from afflint.storage.pod_volumes import PodClaim

VOLUME_BINDING = "VolumeBinding"
CAPACITY_SCORING = (1, 37)
"""From this version on StorageCapacityScoring is on: the node with the most storage left wins."""

_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
_NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
_NO_SPACE = "node(s) did not have enough free storage"
_WITHOUT_VOLUME = VolumeRejection(VOLUME_BINDING, (_NOTHING_TO_BIND,), True)
_NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Choice(NamedTuple):
    """What a pod binds on a node. ``capacities`` are those that were compared with the claims to provision, None if none was."""

    bindings: tuple[ClaimBinding, ...] = ()
    capacities: tuple[StorageCapacity | None, ...] = ()


_NOTHING = Choice()


class _UnboundClaim:
    """A claim that is not bound yet, and the volumes that it may take."""

    __slots__ = ("_first_on", "_free", "_profile", "_selected", "_state", "claim", "reserved")

    def __init__(self, claim: PersistentVolumeClaim, state: StorageState) -> None:
        self.claim = claim
        self._state = state
        self.reserved = [each for each in state.reserved(claim) if each.storage_class == claim.storage_class and fits(each, claim)]
        """The volumes that are reserved for it."""
        self._profile = state.profile(claim.storage_class)
        self._free = state.free_volumes(claim.storage_class)
        self._first_on: dict[int, Slot | None] = {}
        self._selected: dict[int, list[Slot]] = {}
        selector = claim.selector
        for volume in self._profile.selected(selector) if isinstance(selector, Selector) else ():
            group = self._profile.group_of[volume.name]
            if self._free.has(volume) and fits(volume, claim) and self._profile.groups[group].kind.suits(claim):
                self._selected.setdefault(group, []).append(slot_of(volume))

    @property
    def has_alternative(self) -> bool:
        """Whether the claim may be bound on a node that has no free volume for it."""
        return bool(self.reserved) or self._profile.creates

    def compare(self, nodes: Sequence[int]) -> frozenset[int]:
        """Find the smallest volume for each of many nodes, and return those without any.

        Each group of volumes is examined once, not once for each node.
        """
        groups, left = self._profile.groups, set(nodes)
        selected = [(slots[0], number) for number, slots in self._selected.items()]
        firsts = self._free.firsts(self.claim) if self.claim.selector is None else selected
        for first, number in sorted(firsts):
            found = left & groups[number].nodes
            self._first_on.update(dict.fromkeys(found, first))
            left -= found
            if not left:
                break
        self._first_on.update(dict.fromkeys(left))
        return frozenset(left)

    def volume_on(self, node: int, chosen: Container[str]) -> PersistentVolume | None:
        """Return the volume that the claim takes on a node: the one reserved for it, or the smallest that fits (FindMatchingVolume).

        ``chosen`` are the names of the volumes that other claims of the pod take.
        """
        for volume in self.reserved:
            if volume.name not in chosen:
                # No other volume is possible, even if this one cannot be used from the node.
                return volume if node in self._state.reach.nodes(volume.terms) else None
        first = self._first_on.get(node)
        if node not in self._first_on or (first is not None and first[1] in chosen):
            found = [self._first(number, chosen) for number in self._profile.groups_on(node)]
            first = min([each for each in found if each is not None], default=None)
        return None if first is None else self._state.volumes[first[1]]

    def _first(self, group: int, chosen: Container[str]) -> Slot | None:
        """Return the smallest volume of a group that the claim may take."""
        slots, start = self._selected.get(group, []), 0
        if self.claim.selector is None and self._profile.groups[group].kind.suits(self.claim):
            slots, start = self._free.at_least(self.claim.size.nanos, group)
        return next((slots[place] for place in range(start, len(slots)) if slots[place][1] not in chosen), None)


class VolumeBinding:
    """The claims of a pod by what has to happen to them. ``rejection`` is why no node is possible.

    ``error`` is whether a claim has a selector that cannot be parsed: then scheduling fails with an error as soon as a node is examined.
    """

    __slots__ = (
        "_choices", "_missing", "_state", "_unbound", "_without_volume", "bound", "error", "rejection", "to_match", "to_provision",
    )  # fmt: skip

    def __init__(self, pod: Pod, state: StorageState) -> None:
        self._state = state
        self.bound: list[PersistentVolume] = []
        self._missing = False
        self.to_match: list[PersistentVolumeClaim] = []
        self.to_provision: list[PersistentVolumeClaim] = []
        self._choices: dict[int, Choice] = {}
        self._without_volume: frozenset[int] = frozenset()
        self.error = False
        message = _unusable_claim(pod, state)
        if message is None and not self._sort_claims(pod):
            message = "pod has unbound immediate PersistentVolumeClaims"
        self.rejection = VolumeRejection(VOLUME_BINDING, (message,), True) if message is not None else None
        self._unbound = [_UnboundClaim(each, state) for each in self.to_match]
        """The claims to match, the smallest request first, with the volumes that they may take."""

    @property
    def applies(self) -> bool:
        """Whether the pod has claims."""
        return bool(self.bound or self._missing or self.to_match or self.to_provision)

    def _sort_claims(self, pod: Pod) -> bool:
        """Sort the claims by what has to happen to them; return whether all others are bound (GetPodVolumeClaims)."""
        classes = self._state.objects.classes
        for volume in pod.volumes:
            claim = self._state.claim(volume) if isinstance(volume, PodClaim) else None
            if claim is None:
                continue
            if claim.bound:
                self._add_bound(claim)
                continue
            storage_class = classes.get(claim.storage_class)
            if claim.volume or storage_class is None or not storage_class.on_first_use:
                return False
            if claim.selected_node is None:
                self.to_match.append(claim)
            else:
                self.to_provision.append(claim)
        # The smallest request first, so that large volumes are left for large claims.
        self.to_match.sort(key=lambda claim: claim.size.nanos)
        self.error = any(isinstance(claim.selector, Malformed) for claim in self.to_match)
        return True

    def _add_bound(self, claim: PersistentVolumeClaim) -> None:
        found = self._state.volumes.get(claim.volume)
        if found is None:
            self._missing = True
        elif not self._missing:  # Volumes of later claims are not examined.
            self.bound.append(found)

    # --- filter --------------------------------------------------------------------------------------------------------

    def compare(self, nodes: Sequence[int]) -> None:
        """Prepare ``reject`` for many nodes."""
        for unbound in self._unbound:
            without = unbound.compare(nodes)
            if len(self._unbound) == 1 and not (self.bound or self._missing or self.to_provision or unbound.has_alternative):
                self._without_volume = without

    def reject(self, node: int) -> VolumeRejection | None:
        """Return why a node is not possible; None if it is. ``choice`` has what the pod binds there."""
        if node in self._without_volume:
            return _WITHOUT_VOLUME
        state = self._state
        reachable = not self.bound or all(node in state.reach.nodes(state.terms_on(volume, node)) for volume in self.bound)
        messages = [] if reachable else [_CONFLICT]
        found = self._bindings(node)
        if isinstance(found, str):
            messages.append(found)
        if self._missing and reachable:
            messages.append(_NO_VOLUME)
        if messages:
            return VolumeRejection(VOLUME_BINDING, tuple(messages), True)
        assert isinstance(found, Choice)
        self._choices[node] = found
        return None

    def _bindings(self, node: int) -> Choice | str:
        """Return what the pod binds on a node, or the message why that is not possible (FindPodVolumes)."""
        if not self.to_match and not self.to_provision:
            return _NOTHING
        if self.to_provision:
            name = self._state.node_name(node)
            if any(claim.selected_node != name for claim in self.to_provision):
                return _NOTHING_TO_BIND
        matched: dict[str, ClaimBinding] = {}
        provisioned = self.to_provision.copy()
        for unbound in self._unbound:
            volume = unbound.volume_on(node, matched)
            if volume is None:
                provisioned.append(unbound.claim)
            else:
                matched[volume.name] = ClaimBinding(unbound.claim, volume)
        if not provisioned:
            return Choice(tuple(matched.values()))
        capacities = self._capacities(provisioned, node)
        if isinstance(capacities, str):
            return capacities
        return Choice((*matched.values(), *[ClaimBinding(claim, None) for claim in provisioned]), tuple(capacities))

    def _capacities(self, claims: list[PersistentVolumeClaim], node: int) -> list[StorageCapacity | None] | str:
        """Return the capacities for new volumes on a node, or the message why they cannot be created (checkVolumeProvisions)."""
        capacities: list[StorageCapacity | None] = []
        for claim in claims:
            profile = self._state.profile(claim.storage_class)
            if not profile.allows(node):
                return _NOTHING_TO_BIND
            capacity = None
            if self._compares_capacity(claim):
                capacity = profile.capacity(claim, node)
                if capacity is None:
                    return _NO_SPACE
            capacities.append(capacity)
        return capacities

    def _compares_capacity(self, claim: PersistentVolumeClaim) -> bool:
        objects = self._state.objects
        driver = objects.drivers.get(objects.classes[claim.storage_class].provisioner)
        return claim.request is not None and driver is not None and driver.storage_capacity

    def choice(self, node: int) -> Choice:
        """Return what the pod binds on a node; nothing if the node is not possible."""
        if node not in self._choices:
            self.reject(node)
        return self._choices.get(node, _NOTHING)

    # --- score ---------------------------------------------------------------------------------------------------------

    def scores(self, nodes: Sequence[int]) -> list[int]:
        """Return the score of each node: the percentage of storage that is left, 0 if the pod binds nothing there."""
        return [_score(self.choice(node)) for node in nodes]


def _unusable_claim(pod: Pod, state: StorageState) -> str | None:
    """Return the message about the first claim that cannot be used (podHasPVCs)."""
    for volume in pod.volumes:
        if not isinstance(volume, PodClaim):
            continue
        claim = state.claim(volume)
        if claim is None:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{volume.name}"'
        if claim.lost:
            return f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{claim.volume}"'
        if claim.deleting:
            return f'persistentvolumeclaim "{claim.name}" is being deleted'
        if volume.ephemeral and not _is_owner(pod, volume, claim):
            return f"PVC {claim.namespace}/{claim.name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"
    return None


def _is_owner(pod: Pod, volume: PodClaim, claim: PersistentVolumeClaim) -> bool:
    """Return whether a pod is the controller of a claim; by its name if its UID is unknown, as in a manifest."""
    kind, name, uid = claim.owner
    return uid == volume.uid if volume.uid else (kind, name) == ("Pod", pod.name)


def _score(choice: Choice) -> int:
    classes: dict[str, tuple[int, int]] = {}
    existing = [(claim, volume) for claim, volume in choice.bindings if volume is not None]
    if existing:
        for claim, volume in existing:
            requested, capacity = classes.get(volume.storage_class, (0, 0))
            classes[volume.storage_class] = requested + claim.size.value, capacity + volume.capacity.value
    else:
        for (claim, _), found in zip(choice.bindings, choice.capacities, strict=True):
            if found is not None and found.capacity is not None:
                requested, _ = classes.get(claim.storage_class, (0, 0))
                # Capacities of one class are not added up: both claims are compared with the same storage.
                classes[claim.storage_class] = requested + claim.size.value, found.capacity.value
    if not classes:
        return 0
    scores = [_left(requested, capacity) for requested, capacity in classes.values()]
    return (2 * sum(scores) + len(scores)) // (2 * len(scores))  # Rounded half up.


def _left(requested: int, capacity: int) -> int:
    """Return the percentage of a capacity that a request leaves."""
    return 0 if not capacity or requested > capacity else 100 - requested * 100 // capacity
