"""The plugin VolumeZone: the zone and region labels of volumes against those of nodes.

Semantics: pkg/scheduler/framework/plugins/volumezone.
"""

from __future__ import annotations

from afflint.kube.node_labels import DEPRECATED, TOPOLOGY_LABELS
from afflint.kube.selectors import Requirement
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.pods import Pod
from afflint.scheduler.storage_state import StorageState
from afflint.scheduler.volume_rejection import VolumeRejection
from afflint.storage.existing_volumes import zone_requirements
from afflint.storage.objects import PersistentVolume
from afflint.storage.pod_volumes import PodClaim

VOLUME_ZONE = "VolumeZone"

_NO_ZONE = VolumeRejection(VOLUME_ZONE, ("node(s) had no available volume zone",), True)


class VolumeZone:
    """The zones and regions of the volumes of a pod. ``rejection`` is why no node is possible."""

    def __init__(self, pod: Pod, state: StorageState, table: NodeTable) -> None:
        self._table = table
        self.topologies: list[Requirement] = []
        self.rejection: VolumeRejection | None = None
        for volume in pod.volumes:
            if isinstance(volume, PodClaim) and not volume.ephemeral:
                found = _volume_of(volume, state)
                if isinstance(found, str):
                    self.rejection = VolumeRejection(VOLUME_ZONE, (found,), True)
                    return
                if found is not None:
                    self.topologies += zone_requirements(found.labels)

    @property
    def applies(self) -> bool:
        """Whether a volume has a zone or a region."""
        return bool(self.topologies)

    def reject(self, node: int) -> VolumeRejection | None:
        """Return why a node is not possible; None if it is. A node without any of the labels accepts every volume."""
        labels = self._table.nodes[node].labels
        if not any(key in labels for key in TOPOLOGY_LABELS):
            return None
        for each in self.topologies:
            value = labels.get(each.key)
            # The older label of a volume also matches the newer one of a node, but not the other way round.
            if value is None:
                value = labels.get(DEPRECATED.get(each.key, each.key))
            if value not in each.values:
                return _NO_ZONE
        return None


def _volume_of(volume: PodClaim, state: StorageState) -> PersistentVolume | str | None:
    """Return the volume of a claim, None if it is bound on first use, or the message why no node is possible (getPVbyPod)."""
    claim = state.claim(volume)
    assert claim is not None  # VolumeRestrictions rejects the pod otherwise.
    if claim.volume:
        return state.volumes.get(claim.volume) or f'persistentvolume "{claim.volume}" not found'
    if not claim.storage_class:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage_class = state.objects.classes.get(claim.storage_class)
    if storage_class is None:
        return f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
    return None if storage_class.on_first_use else "PersistentVolume had no name"
