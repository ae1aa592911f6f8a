"""The volumes of a pod that the scheduler reads: claims, and disks that are named in the pod itself.

Semantics: the volumes that pkg/scheduler/framework/plugins/{volumerestrictions,nodevolumelimits,volumebinding} look at, and
VolumeClaimName of k8s.io/component-helpers/storage/ephemeral.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import flag, mapping, sequence, string, strings


class PodClaim(NamedTuple):
    """A PersistentVolumeClaim that a pod uses.

    ``ephemeral`` is whether the claim belongs to this pod only; ``uid`` is the UID of such a pod, empty if it is unknown.
    """

    namespace: str
    name: str
    ephemeral: bool = False
    uid: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name of the claim."""
        return self.namespace, self.name


class InlineDisk(NamedTuple):
    """A disk of a cloud or a storage system that a pod names itself: the field that names it, and what identifies it there."""

    field: str
    names: tuple[str, ...]
    monitors: frozenset[str] = frozenset()
    """The monitors of a Ceph cluster: equal disks share at least one."""
    read_only: bool = False


PodVolume = PodClaim | InlineDisk

_DISK_FIELDS = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskURI",),
    "cinder": ("volumeID",),
    "portworxVolume": ("volumeID",),
    "iscsi": ("iqn",),
    "rbd": ("pool", "image"),
}
"""The fields that identify an inline disk. The portal and the number of an iSCSI disk do not matter to the scheduler."""


def read_volumes(namespace: str, pod: str, uid: str, spec: Mapping[str, Any]) -> tuple[PodVolume, ...]:
    """Return the claims and inline disks of a pod; volumes of other types are left out. Raises InventoryError."""
    volumes: list[PodVolume] = []
    for index, item in enumerate(sequence(spec.get("volumes"), "spec.volumes")):
        where = f"spec.volumes[{index}]"
        volume = mapping(item, where)
        if volume.get("persistentVolumeClaim") is not None:
            claim = mapping(volume["persistentVolumeClaim"], f"{where}.persistentVolumeClaim")
            volumes.append(PodClaim(namespace, string(claim.get("claimName"), f"{where}.persistentVolumeClaim.claimName")))
        elif volume.get("ephemeral") is not None:
            volumes.append(PodClaim(namespace, f"{pod}-{string(volume.get('name'), f'{where}.name')}", True, uid))
        else:
            volumes += [_disk(field, volume[field], f"{where}.{field}") for field in _DISK_FIELDS if volume.get(field) is not None]
    return tuple(volumes)


def _disk(field: str, data: object, where: str) -> InlineDisk:
    entry = mapping(data, where)
    names = tuple([string(entry.get(name), f"{where}.{name}") for name in _DISK_FIELDS[field]])
    if field == "rbd":
        names = (names[0] or "rbd", names[1])  # The default of the API server (SetDefaults_RBDVolumeSource).
    monitors = strings(entry.get("monitors"), f"{where}.monitors")
    return InlineDisk(field, names, frozenset(monitors), flag(entry.get("readOnly"), f"{where}.readOnly"))
