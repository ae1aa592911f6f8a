"""What a storage class offers on each node: volumes that exist, permission to create new ones, and capacity for them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Selector, matches
from afflint.scheduler.matching import LabelIndex
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.volume_reach import VolumeReach
from afflint.storage.objects import PersistentVolume, PersistentVolumeClaim, StorageCapacity, StorageClass, StorageObjects

Slot = tuple[int, str]
"""The position of a volume in the order in which claims take them: its capacity and name. Of equal ones the scheduler takes any."""


class VolumeKind(NamedTuple):
    """What a claim requests of a volume besides its capacity and labels."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]

    def suits(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether the volumes are of the kind that a claim requests."""
        return _same_kind(self, claim) and self.access_modes.issuperset(claim.access_modes)


class VolumeGroup(NamedTuple):
    """What free volumes have in common that only differ in capacity and labels. ``nodes`` can use them."""

    nodes: frozenset[int]
    kind: VolumeKind

    @property
    def is_local(self) -> bool:
        """Whether only one node can use the volumes."""
        return len(self.nodes) == 1


class ClassProfile:
    """The free volumes of one storage class, in groups, and its capacities, by node: as they are before any claim is bound."""

    def __init__(self, name: str, objects: StorageObjects, reach: VolumeReach, table: NodeTable) -> None:
        self._storage_class: StorageClass | None = objects.classes.get(name)
        self._table = table
        self.volumes = sorted([each for each in objects.volumes.values() if each.storage_class == name and _is_free(each)], key=slot_of)
        """The free volumes, smallest first."""
        numbers: dict[VolumeGroup, int] = {}
        self.group_of: dict[str, int] = {}
        """The number of the group of each free volume, by the name of the volume."""
        for volume in self.volumes:
            kind = VolumeKind(volume.mode, volume.attributes_class, frozenset(volume.access_modes))
            group = VolumeGroup(reach.nodes(volume.terms), kind)
            self.group_of[volume.name] = numbers.setdefault(group, len(numbers))
        self.groups = list(numbers)
        """The numbers of the groups of each kind."""
        self.kinds = grouped((group.kind, number) for number, group in enumerate(self.groups))
        everywhere = reach.nodes(None)
        self._everywhere = [number for number, group in enumerate(self.groups) if group.nodes == everywhere]
        self._at = grouped(
            (node, number) for number, group in enumerate(self.groups) for node in (group.nodes if group.nodes != everywhere else ())
        )
        self._capacities = grouped(
            (node, capacity) for capacity in objects.capacities.get(name, ()) for node in reach.nodes((capacity.nodes,))
        )
        self._row: list[int] | None = None
        self._row_by_size: list[int] | None = None
        self._labels: LabelIndex | None = None

    def groups_on(self, node: int) -> Sequence[int]:
        """Return the numbers of the groups of volumes that a node can use."""
        return (*self._everywhere, *self._at.get(node, ()))

    def selected(self, selector: Selector) -> list[PersistentVolume]:
        """Return the volumes that the selector of a claim matches, smallest first."""
        if self._labels is None:
            self._labels = LabelIndex([volume.labels for volume in self.volumes])
        candidates = [self.volumes[number] for number in sorted(self._labels.candidates(selector))]
        return [volume for volume in candidates if matches(selector, volume.labels)]

    @property
    def creates(self) -> bool:
        """Whether new volumes can be created."""
        return self._storage_class is not None and self._storage_class.provisions

    def allows(self, node: int) -> bool:
        """Return whether new volumes can be created for a node."""
        return self._storage_class is not None and self.creates and self._storage_class.allows(self._table.nodes[node].labels)

    def capacity(self, claim: PersistentVolumeClaim, node: int) -> StorageCapacity | None:
        """Return a capacity that a node can use and that is enough for a claim. Of several, the scheduler takes any."""
        return next((each for each in self._capacities.get(node, ()) if each.fits(claim.size)), None)

    @property
    def row(self) -> Sequence[int]:
        """For each node the class of nodes on which the storage class offers the same."""
        if self._row is None:
            self._row = self._classes(self.groups)
        return self._row

    @property
    def row_by_size(self) -> Sequence[int]:
        """For each node the class of nodes between which a claim without a selector makes no difference, as long as no volume is taken.

        Volumes that only one node can use are equal to those of another node if they are of equal kinds and capacities.
        """
        if self._row_by_size is None:
            sizes = grouped((self.group_of[volume.name], volume.capacity.nanos) for volume in self.volumes)
            offers = [(group.kind, tuple(sizes[number])) if group.is_local else (group, ()) for number, group in enumerate(self.groups)]
            self._row_by_size = self._classes(offers)
        return self._row_by_size

    def _classes(self, offers: Sequence[object]) -> list[int]:
        """Return the classes of nodes with equal offers and capacities, and permission to create volumes; an offer for each group."""
        rows: dict[object, int] = {}
        numbers: dict[object, int] = {}
        offered = [numbers.setdefault(offer, len(numbers)) for offer in offers]
        return [
            rows.setdefault(
                (
                    tuple(sorted([offered[group] for group in self._at.get(node, ())])),
                    self.allows(node),
                    tuple([each.key for each in self._capacities.get(node, ())]),
                ),
                len(rows),
            )
            for node in range(len(self._table.nodes))
        ]


class FreeVolumes:
    """The volumes of a storage class that no claim has taken yet, by the groups of its profile, smallest first."""

    def __init__(self, profile: ClassProfile, taken: Iterable[PersistentVolume]) -> None:
        self._profile = profile
        self._by_group: list[list[Slot]] = [[] for _ in profile.groups]
        self.taken_on: dict[int, int] = {}
        """How many of the volumes that only one node can use are taken, by node."""
        for volume in profile.volumes:
            self._slots(volume).append(slot_of(volume))
        for volume in taken:
            self.take(volume)

    def copy(self) -> FreeVolumes:
        """Return a copy that can change independently."""
        other = FreeVolumes.__new__(FreeVolumes)
        other._profile = self._profile
        other._by_group = [slots.copy() for slots in self._by_group]
        other.taken_on = self.taken_on.copy()
        return other

    def take(self, volume: PersistentVolume) -> None:
        """Note that a claim has taken a volume, which may have been reserved for it."""
        if self.has(volume):
            slots = self._slots(volume)
            del slots[bisect_left(slots, slot_of(volume))]
            self._count(volume, 1)

    def put_back(self, volume: PersistentVolume) -> None:
        """Note that no claim has a volume any longer."""
        if volume.name in self._profile.group_of:
            insort(self._slots(volume), slot_of(volume))
            self._count(volume, -1)

    def _count(self, volume: PersistentVolume, step: int) -> None:
        group = self._profile.groups[self._profile.group_of[volume.name]]
        for node in group.nodes if group.is_local else ():
            self.taken_on[node] = self.taken_on.get(node, 0) + step
            if not self.taken_on[node]:
                del self.taken_on[node]

    def has(self, volume: PersistentVolume) -> bool:
        """Return whether a volume is free."""
        slots, slot = self._slots(volume), slot_of(volume)
        place = bisect_left(slots, slot)
        return place < len(slots) and slots[place] == slot

    def _slots(self, volume: PersistentVolume) -> list[Slot]:
        group = self._profile.group_of.get(volume.name)
        return [] if group is None else self._by_group[group]

    def firsts(self, claim: PersistentVolumeClaim) -> list[tuple[Slot, int]]:
        """Return the smallest volume of each group that a claim without a selector may take, and the number of the group."""
        size, found = claim.size.nanos, []
        for number in [number for kind, numbers in self._profile.kinds.items() if kind.suits(claim) for number in numbers]:
            slots = self._by_group[number]
            if slots and slots[-1][0] >= size:
                found.append((slots[bisect_left(slots, (size, ""))], number))
        return found

    def at_least(self, size: int, group: int) -> tuple[list[Slot], int]:
        """Return the free volumes of a group, and the index of the first that is of some size or larger."""
        slots = self._by_group[group]
        return slots, bisect_left(slots, (size, ""))


def slot_of(volume: PersistentVolume) -> Slot:
    """Return the position of a volume in the order in which claims take them."""
    return volume.capacity.nanos, volume.name


def fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume is large enough for a claim and of the requested kind, and is not being deleted."""
    return volume.capacity.nanos >= claim.size.nanos and _same_kind(volume, claim) and not volume.deleting


def _same_kind(offered: PersistentVolume | VolumeKind, claim: PersistentVolumeClaim) -> bool:
    return offered.mode == claim.mode and offered.attributes_class == claim.attributes_class


def _is_free(volume: PersistentVolume) -> bool:
    return volume.claim is None and volume.available and not volume.deleting
