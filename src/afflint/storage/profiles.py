"""The access modes that the Containerized Data Importer requests for a DataVolume that names none.

Semantics: `renderPvcSpecVolumeModeAndAccessModesAndStorageClass` (pkg/controller/datavolume/util.go) and the table in
pkg/storagecapabilities/storagecapabilities.go, whose first entry for a provisioner counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.yaml.document import map_at, maps_at, text_at, texts_at

STORAGE_PROFILE = "StorageProfile"
DEFAULT_VIRT_CLASS = "storageclass.kubevirt.io/is-default-virt-class"
_MANY, _ONCE = ("ReadWriteMany",), ("ReadWriteOnce",)

_MODES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com",
            "kubernetes.io/azure-disk", "csi.vsphere.vmware.com", "cinder.csi.openstack.org", "kubernetes.io/cinder",
            "driver.longhorn.io", "topolvm.io", "topolvm.cybozu.com", "kubevirt.io/hostpath-provisioner", "directpv-min-io",
        ),
        _ONCE,
    ),
    **dict.fromkeys(
        (
            "rbd.csi.ceph.com", "cephfs.csi.ceph.com", "pxd.portworx.com", "kubernetes.io/portworx-volume", "linstor.csi.linbit.com",
            "efs.csi.aws.com", "file.csi.azure.com", "nfs.csi.k8s.io", "manila.csi.openstack.org",
        ),
        _MANY,
    ),
}  # fmt: skip
_ENDINGS = (".rbd.csi.ceph.com", ".cephfs.csi.ceph.com")
_TRIDENT = "csi.trident.netapp.io"


def default_access_modes(storage_class: Mapping[str, Any], profile: Mapping[str, Any] | None, volume_mode: str = "") -> tuple[str, ...]:
    """Return the access modes for a DataVolume of a StorageClass; empty if they are not known.

    ``profile`` is the StorageProfile of the class, if there is one, whose spec precedes its status. ``volume_mode`` is what the DataVolume
    requests: then the first entry with this mode counts. Objects are given as parsed.
    """
    for part in ("spec", "status"):
        sets = maps_at(profile, part, "claimPropertySets")
        if sets:
            found = next((each for each in sets if volume_mode in ("", text_at(each, "volumeMode") or "Filesystem")), {})
            return tuple(texts_at(found, "accessModes"))
    # The table has entries with other modes behind the first one.
    return _of_provisioner(storage_class) if not volume_mode else ()


def _of_provisioner(storage_class: Mapping[str, Any]) -> tuple[str, ...]:
    provisioner, parameters = text_at(storage_class, "provisioner"), map_at(storage_class, "parameters")
    if provisioner == "ebs.csi.aws.com" and parameters.get("type") == "io2":
        return _MANY
    if provisioner == "driver.longhorn.io" and parameters.get("migratable") == "true":
        return _MANY
    if provisioner == _TRIDENT:
        return _MANY if parameters.get("backendType") in ("ontap-nas", "ontap-san") else ()
    return _MODES.get(provisioner) or (_MANY if provisioner.endswith(_ENDINGS) else ())
