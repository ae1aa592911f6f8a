"""The plugin NodeVolumeLimits: how many volumes of a driver a node can attach, and whether the driver is installed there.

Semantics: pkg/scheduler/framework/plugins/nodevolumelimits (csi.go, utils.go).
"""

from __future__ import annotations

from collections import Counter

from afflint.findings.namedtuples import NamedTuple
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.pods import Pod, PodKey
from afflint.scheduler.storage_state import StorageState
from afflint.scheduler.volume_rejection import VolumeRejection
from afflint.storage.csi_translation import BY_NAME, NEVER_COUNTED, PLUGINS, InTreePlugin, disk_handle, volume_handle
from afflint.storage.objects import CSINode, PersistentVolumeClaim
from afflint.storage.pod_volumes import InlineDisk, PodVolume

NODE_VOLUME_LIMITS = "NodeVolumeLimits"
LIMIT_SCALING = (1, 37)
"""From this version on VolumeLimitScaling is on: drivers can require that a node has them."""

_TOO_MANY = VolumeRejection(NODE_VOLUME_LIMITS, ("node(s) exceed max volume count",), False)


class DriverVolume(NamedTuple):
    """A volume as its driver identifies it: the driver counts it once for all pods of a node."""

    driver: str
    handle: str


class AttachedVolumes:
    """The volumes of drivers on each node: those of the running pods, and those that VolumeAttachments name."""

    def __init__(self, state: StorageState, table: NodeTable) -> None:
        self._state = state
        self._on: dict[int, Counter[DriverVolume]] = {}
        self.counts: dict[int, Counter[str]] = {}
        """How many volumes of each driver are on each node that has any."""
        self._by_pod: dict[PodKey, tuple[int, set[DriverVolume]]] = {}
        self._by_attachment: set[tuple[int, DriverVolume]] = set()
        for driver, name, volume in state.objects.attachments:
            attached = state.volumes.get(volume)
            if name in table.numbers and driver and attached is not None and attached.source == "csi":
                self._by_attachment.add((table.numbers[name], DriverVolume(driver, attached.handle)))
        for node, found in self._by_attachment:
            self._add(node, found)
        for entry in state.occupancy.bound.values():
            if entry.pod.volumes:
                self.add(entry.pod, entry.node)

    def add(self, pod: Pod, node: int) -> None:
        """Count the volumes of a pod on a node."""
        volumes = driver_volumes(pod, self._state, self._state.csi[node])
        self._by_pod[pod.key] = node, volumes
        for volume in volumes:
            self._add(node, volume)

    def _add(self, node: int, volume: DriverVolume) -> None:
        on = self._on.setdefault(node, Counter())
        if not on[volume]:
            self.counts.setdefault(node, Counter())[volume.driver] += 1
        on[volume] += 1

    def remove(self, pod: Pod) -> None:
        """Stop counting the volumes of a pod that was removed from its node."""
        node, volumes = self._by_pod.pop(pod.key, (0, set()))
        for volume in volumes:
            self._on[node][volume] -= 1
            if not self._on[node][volume]:
                self.counts[node][volume.driver] -= 1

    def in_use(self, node: int, volume: DriverVolume) -> bool:
        """Return whether a running pod of a node uses a volume. One that is only attached counts again for the scheduler."""
        return node in self._on and self._on[node][volume] > ((node, volume) in self._by_attachment)


def driver_volumes(pod: Pod, state: StorageState, csi: CSINode | None) -> set[DriverVolume]:
    """Return the volumes that a pod attaches on a node with these drivers (filterAttachableVolumes)."""
    return {found for volume in pod.volumes if (found := _driver_volume(volume, state, csi)) is not None and all(found)}


def missing_driver(pod: Pod, state: StorageState, node: int) -> str:
    """Return the CSI driver of a volume of a pod that a node lacks according to its CSINode; empty if it has all, or they are not known.

    The scheduler does not ask for it, but the kubelet cannot mount the volume (kubernetes pkg/volume/csi, ``csiAttacher``).
    """
    csi = state.csi[node] if state.drivers else None
    if csi is None:
        return ""
    missing = state.drivers - dict(csi.limits).keys()
    return min([each.driver for each in driver_volumes(pod, state, csi) if each.driver in missing], default="")


def _driver_volume(volume: PodVolume, state: StorageState, csi: CSINode | None) -> DriverVolume | None:
    if isinstance(volume, InlineDisk):
        plugin = PLUGINS.get(volume.field)
        return DriverVolume(plugin.driver, disk_handle(volume)) if plugin is not None and _replaced(plugin, csi) else None
    claim = state.claim(volume)
    if claim is None:
        return None
    found = state.volumes.get(claim.volume)
    if found is None:
        return _new_volume(claim, state, csi)
    if found.source == "csi":
        return DriverVolume(found.driver, found.handle)
    plugin = PLUGINS.get(found.source)
    return DriverVolume(plugin.driver, volume_handle(found)) if plugin is not None and _replaced(plugin, csi) else None


def _new_volume(claim: PersistentVolumeClaim, state: StorageState, csi: CSINode | None) -> DriverVolume | None:
    """Return the volume that the driver of its class will create for a claim (getCSIDriverInfoFromSC)."""
    storage_class = state.objects.classes.get(claim.storage_class)
    if storage_class is None or storage_class.provisioner in NEVER_COUNTED:
        return None
    handle = f"\0{claim.namespace}/{claim.name}"  # Not the handle of any volume that exists.
    plugin = BY_NAME.get(storage_class.provisioner)
    if plugin is None:
        return DriverVolume(storage_class.provisioner, handle)
    return DriverVolume(plugin.driver, handle) if _replaced(plugin, csi) else None


def _replaced(plugin: InTreePlugin, csi: CSINode | None) -> bool:
    """Return whether the volumes of a plugin count as volumes of its driver on a node with these drivers (isCSIMigrationOn)."""
    return csi is not None and (plugin.always or plugin.name in csi.migrated)


class VolumeLimits:
    """The volumes that a pod would add to a node. ``attached`` is None if no driver has a limit on any node."""

    def __init__(self, pod: Pod, state: StorageState, attached: AttachedVolumes | None, version: tuple[int, int]) -> None:
        self._pod = pod
        self._state = state
        self._attached = attached
        self._new: dict[int, set[DriverVolume]] = {}
        drivers = state.objects.drivers.values() if version >= LIMIT_SCALING else ()
        self._strict = frozenset(driver.name for driver in drivers if driver.required_on_node)

    @property
    def applies(self) -> bool:
        """Whether any driver has a limit or has to be installed."""
        return self._attached is not None or bool(self._strict)

    def reject(self, node: int) -> VolumeRejection | None:
        """Return why a node is not possible; None if it is."""
        csi, row = self._state.csi[node], self._state.csi_rows[node]
        if row not in self._new:
            self._new[row] = driver_volumes(self._pod, self._state, csi)
        volumes = self._new[row]
        limits = dict(csi.limits) if csi is not None else {}
        for driver in sorted({volume.driver for volume in volumes} & self._strict):
            if driver not in limits:
                return VolumeRejection(NODE_VOLUME_LIMITS, (f"{driver} CSI driver is not installed on the node",), False)
        if self._attached is None or not limits or not volumes:
            return None
        added = Counter(volume.driver for volume in volumes if not self._attached.in_use(node, volume))
        present = self._attached.counts.get(node, Counter())
        for driver, count in added.items():
            limit = limits.get(driver)
            if limit is not None and present[driver] + count > limit:
                return _TOO_MANY
        return None
