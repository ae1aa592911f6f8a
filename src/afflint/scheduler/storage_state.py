"""The storage of a cluster as the scheduler sees it now: its objects, and which claims the pods that it scheduled have bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Requirement, Selector
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy
from afflint.scheduler.storage_classes import ClassProfile, FreeVolumes
from afflint.scheduler.volume_reach import VolumeReach
from afflint.storage.csi_translation import PLUGINS, translated_terms
from afflint.storage.objects import ClaimKey, ClaimRef, CSINode, PersistentVolume, PersistentVolumeClaim, StorageObjects, Terms
from afflint.storage.pod_volumes import PodClaim

PROVISION = "(provision)"
"""The name of a volume that a driver would create."""


class ClaimBinding(NamedTuple):
    """What a pod binds on a node: ``volume`` is None for a claim whose volume a driver creates."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None


class StorageState:
    """Volumes and claims of a cluster, and which of them are bound.

    ``new_volumes`` has, by storage class, the label keys whose values on the chosen node a new volume gets as node affinity. For
    other classes it is unknown where a new volume can be used: its claim then only has the node that was selected.
    """

    def __init__(self, objects: StorageObjects, table: NodeTable, occupancy: Occupancy, new_volumes: Mapping[str, tuple[str, ...]]) -> None:
        self.objects = objects
        self.claims: dict[ClaimKey, PersistentVolumeClaim] = objects.claims.copy()
        self.volumes: dict[str, PersistentVolume] = objects.volumes.copy()
        self.occupancy = occupancy
        self.reach = VolumeReach(table)
        self.csi: list[CSINode | None] = [objects.nodes.get(name) for name in table.names]
        """What the CSI drivers of each node declare."""
        rows: dict[object, int] = {}
        self.csi_rows = [rows.setdefault(each and each[1:], len(rows)) for each in self.csi]
        """For each node the class of nodes whose drivers declare the same."""
        self._table = table
        self._new_volumes = new_volumes
        self._profiles: dict[str, ClassProfile] = {}
        self._free: dict[str, FreeVolumes] = {}
        self._translated: dict[str, Terms] = {}
        self._reserved: dict[ClaimKey, list[str]] | None = None

    @cached_property
    def drivers(self) -> frozenset[str]:
        """The CSI drivers of the cluster; empty if it is not known which drivers run on which nodes."""
        registered = frozenset([driver for csi in self.csi if csi is not None for driver, _ in csi.limits])
        return registered.union(self.objects.drivers) if registered else registered

    def copy(self, occupancy: Occupancy) -> StorageState:
        """Return a copy for a copy of the running pods, which can change independently."""
        other = StorageState.__new__(StorageState)
        for name in vars(self):
            setattr(other, name, getattr(self, name))
        other.claims, other.volumes = self.claims.copy(), self.volumes.copy()
        other._free = {name: free.copy() for name, free in self._free.items()}
        other.occupancy = occupancy
        return other

    def on(self, table: NodeTable, occupancy: Occupancy) -> StorageState:
        """Return the same storage with other nodes or other labels of nodes."""
        objects = self.objects._replace(claims=self.claims.copy(), volumes=self.volumes.copy())
        return StorageState(objects, table, occupancy, self._new_volumes)

    def node_name(self, node: int) -> str:
        """Return the name of a node by its number."""
        return self._table.names[node]

    def claim(self, volume: PodClaim) -> PersistentVolumeClaim | None:
        """Return the claim that a pod names; None if it does not exist."""
        return self.claims.get((volume.namespace, volume.name))

    def profile(self, storage_class: str) -> ClassProfile:
        """Return what a storage class offers on each node. Only volumes that were available from the start are in it."""
        if storage_class not in self._profiles:
            self._profiles[storage_class] = ClassProfile(storage_class, self.objects, self.reach, self._table)
        return self._profiles[storage_class]

    def free_volumes(self, storage_class: str) -> FreeVolumes:
        """Return the volumes of a storage class that no claim has now."""
        if storage_class not in self._free:
            profile = self.profile(storage_class)
            self._free[storage_class] = FreeVolumes(
                profile, [each for each in profile.volumes if self.volumes[each.name].claim is not None]
            )
        return self._free[storage_class]

    def reserved(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """Return the volumes that are reserved for a claim, by name (IsVolumeBoundToClaim)."""
        if self._reserved is None:
            self._reserved = {}
            for volume in sorted(self.objects.volumes.values(), key=lambda each: each.name):
                if volume.claim is not None:
                    self._reserved.setdefault(volume.claim[:2], []).append(volume.name)
        volumes = [self.volumes[name] for name in self._reserved.get(claim.key, ())]
        return [each for each in volumes if each.claim is not None and each.claim.uid in ("", claim.uid)]

    def terms_on(self, volume: PersistentVolume, node: int) -> Terms:
        """Return the node affinity of a volume as the scheduler reads it for a node: that for the CSI driver where this is in use."""
        plugin, csi = PLUGINS.get(volume.source), self.csi[node]
        if plugin is None or csi is None or plugin.name not in csi.migrated:
            return volume.terms
        return self.translated(volume)

    def translated(self, volume: PersistentVolume) -> Terms:
        """Return the node affinity of a volume for the CSI driver that replaces its plugin; its own if no driver does."""
        if volume.source not in PLUGINS:
            return volume.terms
        if volume.name not in self._translated:
            self._translated[volume.name] = translated_terms(volume, PLUGINS[volume.source])
        return self._translated[volume.name]

    # --- changes -------------------------------------------------------------------------------------------------------

    def bind(self, bindings: Sequence[ClaimBinding], node: int) -> None:
        """Bind claims as the scheduler, the controller of volumes and the drivers do after a node was chosen (Reserve, PreBind)."""
        for claim, volume in bindings:
            if volume is None:
                volume = self._provisioned(claim, node)
            if volume is None:
                self.claims[claim.key] = claim._replace(selected_node=self.node_name(node))
                continue
            self.free_volumes(volume.storage_class).take(volume)
            self.volumes[volume.name] = volume._replace(claim=ClaimRef(*claim.key, claim.uid), available=False)
            self.claims[claim.key] = claim._replace(volume=volume.name, bound=True)

    def release(self, claims: Iterable[ClaimKey]) -> list[ClaimKey]:
        """Undo what was bound since the objects were read; return the claims that are no longer bound."""
        released = []
        for key in claims:
            now, first = self.claims.get(key), self.objects.claims.get(key)
            if now is None or first is None or now is first or first.bound:
                continue
            self.claims[key] = first
            released.append(key)
            known = self.objects.volumes.get(now.volume)
            if known is not None:
                self.volumes[now.volume] = known
                self.free_volumes(known.storage_class).put_back(known)
            else:
                self.volumes.pop(now.volume, None)
        return released

    def _provisioned(self, claim: PersistentVolumeClaim, node: int) -> PersistentVolume | None:
        """Return the volume that the driver of the class creates for a node; None if it is not known where it can be used."""
        keys = self._new_volumes.get(claim.storage_class)
        if keys is None:
            return None
        labels = self._table.nodes[node].labels
        terms: Terms = (Selector(tuple([Requirement(key, "In", (labels.get(key, ""),)) for key in keys])),) if keys else None
        name = f"pvc-{claim.name}" if f"pvc-{claim.name}" not in self.volumes else f"pvc-{claim.namespace}-{claim.name}"
        driver = self.objects.classes[claim.storage_class].provisioner
        return PersistentVolume(
            name, {}, terms, claim.storage_class, claim.size, claim.access_modes, claim.mode, claim.attributes_class, None, False, False,
            "csi", driver, name,
        )  # fmt: skip
