"""Volumes of plugins that were part of Kubernetes, as the CSI drivers that replaced these plugins see them.

Semantics: k8s.io/csi-translation-lib (translate.go, plugins/*.go).
"""

from __future__ import annotations

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import BETA_REGION, BETA_ZONE, REGION, ZONE
from afflint.kube.selectors import Requirement, Selector
from afflint.storage.objects import PersistentVolume, Terms
from afflint.storage.pod_volumes import InlineDisk


class InTreePlugin(NamedTuple):
    """A plugin that a CSI driver replaces. ``zone_key`` is the label of the driver for zones, empty if volumes keep their affinity."""

    name: str
    driver: str
    zone_key: str
    always: bool
    """Whether NodeVolumeLimits counts its volumes on every node with a CSINode, listed there as migrated or not."""


PLUGINS = {
    "awsElasticBlockStore": InTreePlugin("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone", True),
    "gcePersistentDisk": InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone", True),
    "azureDisk": InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com", "", True),
    "cinder": InTreePlugin("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone", True),
    "portworxVolume": InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com", "", False),
}
"""The plugins by the field of a volume that they read."""

BY_NAME = {plugin.name: plugin for plugin in PLUGINS.values()}
NEVER_COUNTED = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
"""Provisioners that CSI drivers replace, too, whose volumes the scheduler does not count."""


def translated_terms(volume: PersistentVolume, plugin: InTreePlugin) -> Terms:
    """Return the node affinity of a volume with the zone label of the driver (translateTopologyFromInTreeToCSI).

    Without a zone in the affinity, the zone label of the volume is added to every term.
    """
    terms = volume.terms
    if not plugin.zone_key:
        return terms
    zone, region = _topology_keys(volume)
    if _has_values(terms, zone):
        terms = _renamed(terms, zone, plugin.zone_key)
    elif zones := sorted({part.strip() for part in volume.labels.get(zone, "").split("__")} - {""}):
        added = Requirement(plugin.zone_key, "In", tuple(zones))
        terms = tuple([_extended(each, added) for each in terms or (None,)])
    return _renamed(terms, region, REGION) if region == BETA_REGION and _has_values(terms, region) else terms


def _extended(term: object, added: Requirement) -> Selector | None:
    if term is None:
        return Selector((added,))
    return Selector((*term.requirements, added)) if isinstance(term, Selector) else None


def _topology_keys(volume: PersistentVolume) -> tuple[str, str]:
    """Return the keys of zone and region that a volume uses: those of its affinity come before its labels (getTopologyLabel)."""
    used = {each.key for term in volume.terms or () if isinstance(term, Selector) for each in term.requirements}
    for keys in (used, volume.labels):
        if ZONE in keys:
            return ZONE, REGION
        if BETA_ZONE in keys:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _has_values(terms: Terms, key: str) -> bool:
    return any(each.key == key and each.values for term in terms or () if isinstance(term, Selector) for each in term.requirements)


def _renamed(terms: Terms, key: str, new: str) -> Terms:
    def rename(requirement: Requirement) -> Requirement:
        return requirement._replace(key=new) if requirement.key == key else requirement

    return None if terms is None else tuple([Selector(tuple(map(rename, t.requirements))) if isinstance(t, Selector) else t for t in terms])


def volume_handle(volume: PersistentVolume) -> str:
    """Return the handle of an in-tree volume for its driver; empty if it has none."""
    if volume.source == "gcePersistentDisk":
        return _google_handle(volume.labels.get(ZONE) or volume.labels.get(BETA_ZONE) or "", volume.handle)
    return _amazon_handle(volume.handle) if volume.source == "awsElasticBlockStore" else volume.handle


def disk_handle(disk: InlineDisk) -> str:
    """Return the handle of an inline disk for its driver; empty if it has none."""
    if disk.field == "gcePersistentDisk":
        return _google_handle("", disk.names[0])
    return _amazon_handle(disk.names[0]) if disk.field == "awsElasticBlockStore" else disk.names[0]


def _google_handle(label: str, disk: str) -> str:
    """Return the handle of a disk with this zone label: that of a regional disk if the label names several zones."""
    zones = label.split("__")
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{zones[0] or 'UNSPECIFIED'}/disks/{disk}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    if len(regions) > 1 or any(zone.count("-") != 2 for zone in zones):
        return ""
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{disk}"


def _amazon_handle(name: str) -> str:
    """Return the identifier in ``aws://zone/vol-1`` (KubernetesVolumeIDToEBSVolumeID)."""
    if not name.startswith("aws://"):
        return name
    handle = name.removeprefix("aws://").partition("/")[2].strip("/")
    return handle if handle.startswith("vol-") and "/" not in handle else ""
