"""The plugin VolumeRestrictions: claims for a single pod, and inline disks that two pods on a node cannot share.

Semantics: pkg/scheduler/framework/plugins/volumerestrictions.
"""

from __future__ import annotations

from afflint.scheduler.pods import Pod
from afflint.scheduler.storage_state import StorageState
from afflint.scheduler.volume_rejection import VolumeRejection
from afflint.storage.objects import READ_WRITE_ONCE_POD
from afflint.storage.pod_volumes import InlineDisk, PodClaim

VOLUME_RESTRICTIONS = "VolumeRestrictions"

_DISK_IN_USE = VolumeRejection(VOLUME_RESTRICTIONS, ("node(s) had no available disk",), False)
_CLAIM_IN_USE = VolumeRejection(
    VOLUME_RESTRICTIONS,
    ("node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",),
    False,
)


def missing_claim(pod: Pod, state: StorageState) -> VolumeRejection | None:
    """Return why no node is possible: a claim of the pod does not exist."""
    for volume in pod.volumes:
        if isinstance(volume, PodClaim) and not volume.ephemeral and state.claim(volume) is None:
            return VolumeRejection(VOLUME_RESTRICTIONS, (f'persistentvolumeclaim "{volume.name}" not found',), True)
    return None


class VolumeRestrictions:
    """Which nodes the disks and claims of running pods exclude for a pod."""

    def __init__(self, pod: Pod, state: StorageState) -> None:
        occupancy = state.occupancy
        claims = [each for each in pod.volumes if isinstance(each, PodClaim) and not each.ephemeral]
        self._claim_in_use = any(
            bool(occupancy.users(each)) for each in claims if (claim := state.claim(each)) and READ_WRITE_ONCE_POD in claim.access_modes
        )
        disks = [each for each in pod.volumes if isinstance(each, InlineDisk)]
        self.disk_nodes = {
            node
            for held, tally in (occupancy.volumes() if disks else ())
            if isinstance(held, InlineDisk) and any(conflict(disk, held) for disk in disks)
            for node in tally
        }
        """The nodes on which a disk of the pod is in use."""

    @property
    def applies(self) -> bool:
        """Whether any node is rejected."""
        return self._claim_in_use or bool(self.disk_nodes)

    def reject(self, node: int) -> VolumeRejection | None:
        """Return why a node is not possible; None if it is."""
        if node in self.disk_nodes:
            return _DISK_IN_USE
        return _CLAIM_IN_USE if self._claim_in_use else None


_SHARED_READ_ONLY = ("gcePersistentDisk", "iscsi", "rbd")
_NEVER_SHARED = ("awsElasticBlockStore",)


def conflict(one: InlineDisk, other: InlineDisk) -> bool:
    """Return whether two pods with these disks cannot run on one node (isVolumeConflict)."""
    if one.field != other.field or one.names != other.names:
        return False
    if one.field == "rbd" and one.monitors.isdisjoint(other.monitors):
        return False
    return one.field in _NEVER_SHARED or (one.field in _SHARED_READ_ONLY and not (one.read_only and other.read_only))
