"""What a storage class offers on each node: volumes that exist, permission to create new ones, and capacity for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.volume_reach import VolumeReach
from afflint.scheduler.volumes import PersistentVolume, PersistentVolumeClaim, StorageCapacity, StorageClass, StorageObjects, Terms


class ClassProfile:
    """The available volumes of one storage class in groups of equal node affinity, smallest first, and its capacities, by node."""

    __slots__ = ("_at", "_capacities", "_everywhere", "_groups", "_reach", "_row", "_storage_class", "_table")

    def __init__(self, name: str, objects: StorageObjects, reach: VolumeReach, table: NodeTable) -> None:
        self._storage_class: StorageClass | None = objects.classes.get(name)
        self._table = table
        by_terms: dict[Terms, list[PersistentVolume]] = {}
        for volume in sorted(objects.volumes.values(), key=lambda each: (each.capacity.nanos, each.name)):
            if volume.storage_class == name and volume.claim is None and volume.available and not volume.deleting:
                by_terms.setdefault(volume.terms, []).append(volume)
        self._groups = list(by_terms.values())
        self._everywhere = [number for number, terms in enumerate(by_terms) if terms is None]
        self._at: dict[int, list[int]] = {}
        for number, terms in enumerate(by_terms):
            for node in reach.nodes(terms) if terms is not None else ():
                self._at.setdefault(node, []).append(number)
        self._capacities: dict[int, list[StorageCapacity]] = {}
        for capacity in objects.capacities.get(name, ()):
            for node in reach.nodes((capacity.nodes,)):
                self._capacities.setdefault(node, []).append(capacity)
        self._row: list[int] | None = None

    def groups_on(self, node: int) -> Iterator[Sequence[PersistentVolume]]:
        """Yield the groups of available volumes that a node can use; each group is ordered by capacity."""
        for number in (*self._everywhere, *self._at.get(node, ())):
            yield self._groups[number]

    def allows(self, node: int) -> bool:
        """Return whether new volumes can be created for a node."""
        kind = self._storage_class
        return kind is not None and kind.provisions and kind.allows(self._table.nodes[node].labels)

    def capacity(self, claim: PersistentVolumeClaim, node: int) -> StorageCapacity | None:
        """Return a capacity that a node can use and that is enough for a claim. Of several, the scheduler takes any."""
        return next((each for each in self._capacities.get(node, ()) if each.fits(claim.size)), None)

    @property
    def row(self) -> Sequence[int]:
        """For each node the class of nodes on which the storage class offers the same."""
        if self._row is None:
            rows: dict[object, int] = {}
            self._row = [
                rows.setdefault(
                    (tuple(self._at.get(node, ())), self.allows(node), tuple([each.key for each in self._capacities.get(node, ())])),
                    len(rows),
                )
                for node in range(len(self._table.nodes))
            ]
        return self._row


def fits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume is large enough for a claim and of the requested kind, and is not being deleted."""
    return (
        volume.capacity.nanos >= claim.size.nanos
        and volume.mode == claim.mode
        and volume.attributes_class == claim.attributes_class
        and not volume.deleting
    )
