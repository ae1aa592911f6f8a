"""From which nodes a volume that does not exist yet can be used, as far as its StorageClass shows.

A driver writes the label values of the first node into the node affinity of a new PersistentVolume: the accessible topology of the CSI
specification, and `GenerateVolumeNodeAffinity` of kubernetes-csi/external-provisioner (pkg/controller/topology.go). The table of
provisioners follows the source code and the documentation of the drivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import HOSTNAME, ZONE
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import name_of

NO_PROVISIONER = "kubernetes.io/no-provisioner"

Scope = Literal["node", "zone", "zones", "any", "unknown"]
"""``node`` and ``zone``: the volume can be used only in the topology domain of the first node. ``zones``: in several zones, which the
driver chooses. ``any``: on all nodes. ``unknown``: nothing shows it."""

Source = Literal["configuration", "CSINode", "StorageClass", "provisioner", ""]
"""What shows the scope: see ``topology_of``."""


class VolumeTopology(NamedTuple):
    """The nodes that can use the volumes of a StorageClass.

    ``keys`` are the node labels that the node affinity of a volume names. They are empty for the scopes ``any`` and ``unknown``.
    """

    scope: Scope
    keys: tuple[str, ...] = ()
    source: Source = ""

    @property
    def limited(self) -> bool:
        """Whether the first node restricts the volume to some of the nodes."""
        return self.scope in ("node", "zone", "zones")

    def keys_on(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Return the label keys that show the topology on nodes with ``labels``.

        Drivers report labels of their own. Where a node lacks such a label, the well-known label of the same scope has the same domains.
        """
        present = tuple([key for key in self.keys if key in labels])
        if present or not self.limited:
            return present
        return (HOSTNAME,) if self.scope == "node" else (ZONE,)


ANY = VolumeTopology("any")
UNKNOWN = VolumeTopology("unknown")
WORDS: Mapping[str, VolumeTopology] = {"node": VolumeTopology("node", (HOSTNAME,)), "zone": VolumeTopology("zone", (ZONE,)), "any": ANY}
"""The words that a configuration uses for topologies; any other text is a label key."""


def _node(key: str = HOSTNAME) -> VolumeTopology:
    return VolumeTopology("node", (key,), "provisioner")


def _zone(key: str = ZONE) -> VolumeTopology:
    return VolumeTopology("zone", (key,), "provisioner")


_EVERYWHERE = VolumeTopology("any", (), "provisioner")
_SEVERAL_ZONES = VolumeTopology("zones", (ZONE,), "provisioner")

_SHARED_FILES = (
    "efs.csi.aws.com", "file.csi.azure.com", "nfs.csi.k8s.io", "manila.csi.openstack.org", "smb.csi.k8s.io", "filestore.csi.storage.gke.io",
)  # fmt: skip
_PROVISIONERS: Mapping[str, VolumeTopology] = {
    "ebs.csi.aws.com": _zone("topology.ebs.csi.aws.com/zone"),
    "kubernetes.io/aws-ebs": _zone(),
    "pd.csi.storage.gke.io": _zone("topology.gke.io/zone"),
    "kubernetes.io/gce-pd": _zone(),
    "disk.csi.azure.com": _zone("topology.disk.csi.azure.com/zone"),
    "kubernetes.io/azure-disk": _zone(),
    "cinder.csi.openstack.org": _zone("topology.cinder.csi.openstack.org/zone"),
    "kubernetes.io/cinder": _zone(),
    "csi.hetzner.cloud": _zone("csi.hetzner.cloud/location"),
    **dict.fromkeys(
        (
            "dobs.csi.digitalocean.com", "linodebs.csi.linode.com", "csi.scaleway.com", "block.csi.vultr.com",
            "blockvolume.csi.oraclecloud.com", "vpc.block.csi.ibm.io", "diskplugin.csi.alibabacloud.com", "evs.csi.huaweicloud.com",
        ),
        _zone(),
    ),
    "rancher.io/local-path": _node(),
    "topolvm.io": _node("topology.topolvm.io/node"),
    "topolvm.cybozu.com": _node("topology.topolvm.cybozu.com/node"),
    "local.csi.openebs.io": _node("openebs.io/nodename"),
    "zfs.csi.openebs.io": _node("openebs.io/nodename"),
    "openebs.io/local": _node(),
    "kubevirt.io.hostpath-provisioner": _node("topology.hostpath.csi/node"),
    "kubevirt.io/hostpath-provisioner": _node(),
    "k8s.io/minikube-hostpath": _node(),
    "directpv-min-io": _node("directpv.min.io/node"),
    **dict.fromkeys(
        (
            *_SHARED_FILES,
            "driver.longhorn.io", "io.openebs.csi-mayastor", "csi.trident.netapp.io", "pxd.portworx.com", "kubernetes.io/portworx-volume",
            "linstor.csi.linbit.com", "driver.harvesterhci.io", "csi.nutanix.com", "csi.hpe.com", "infinibox-csi-driver",
            "block.csi.ibm.com", "spectrumscale.csi.ibm.com", "csi.san.synology.com", "hspc.csi.hitachi.com",
        ),
        _EVERYWHERE,
    ),
}  # fmt: skip
DRIVER_ZONES = frozenset(key for each in _PROVISIONERS.values() if each.scope == "zone" for key in each.keys if key != ZONE)
"""The node labels with which drivers report the zone of a node."""
_ENDINGS: Mapping[str, VolumeTopology] = dict.fromkeys(
    (".rbd.csi.ceph.com", ".cephfs.csi.ceph.com", ".nfs.csi.ceph.com", "nfs-subdir-external-provisioner", ".dellemc.com"), _EVERYWHERE
)
"""Provisioners whose names the administrator begins, by the ends of the names."""
_BEGINNINGS: Mapping[str, VolumeTopology] = {"rbd.csi.ceph.com": _EVERYWHERE, "cephfs.csi.ceph.com": _EVERYWHERE, "fsx.": _EVERYWHERE}
_LAST_PARTS_OF_NODE_KEYS = ("hostname", "host", "node", "nodename")

_SHARED_FILE_ENDINGS = (".cephfs.csi.ceph.com", ".nfs.csi.ceph.com", "nfs-subdir-external-provisioner")
_BLOCK_DEVICES = frozenset(("driver.longhorn.io", "linstor.csi.linbit.com", "io.openebs.csi-mayastor", "rbd.csi.ceph.com"))


def is_for_one_node(provisioner: str) -> bool | None:
    """Return whether a ReadWriteOnce volume of a provisioner can be used on only one node at a time; None if it is not known.

    Kubernetes attaches such a volume to one node (`IsMultiAttachAllowed`, pkg/volume/util). Drivers of shared file systems attach nothing,
    so that nodes can share their volumes whatever access mode a claim requests.
    """
    if provisioner in _SHARED_FILES or provisioner.endswith(_SHARED_FILE_ENDINGS):
        return False
    known = _of_provisioner(provisioner)
    limited = known is not None and known.limited
    return True if limited or provisioner in _BLOCK_DEVICES or provisioner.endswith(".rbd.csi.ceph.com") else None


def topology_of(
    storage_class: Mapping[str, Any], csi_nodes: Iterable[Mapping[str, Any]] = (), configured: Mapping[str, str] | None = None
) -> VolumeTopology:
    """Return the topology of the volumes that a StorageClass provisions.

    ``storage_class`` and ``csi_nodes`` are objects as parsed; ``configured`` are the topologies that the configuration sets, by class or
    provisioner. The first of these that says something decides: the configuration, the topology keys that the driver reports on nodes
    (CSINode), the keys of ``allowedTopologies``, and the table of known provisioners with the parameters of the class.
    """
    provisioner = text_at(storage_class, "provisioner")
    for name in (name_of(storage_class), provisioner):
        if configured and name in configured:
            return topology_of_word(configured[name])
    reported = _reported_keys(provisioner, csi_nodes)
    if reported is not None:
        return _of_keys(reported, "CSINode") if reported else VolumeTopology("any", (), "CSINode")
    parameters = {str(key).rpartition("/")[2]: str(value) for key, value in map_at(storage_class, "parameters").items()}
    known = _by_parameters(provisioner, parameters) or _of_provisioner(provisioner)
    allowed = _allowed_keys(storage_class)
    if allowed and not (known and known.scope == "zones"):
        return _of_keys(allowed, "StorageClass")
    return known or UNKNOWN


def topology_of_word(word: str) -> VolumeTopology:
    """Return the topology for a value of ``storage`` in the configuration: ``node``, ``zone``, ``any`` or a label key."""
    found = WORDS.get(word) or _of_keys((word,), "")
    return found._replace(source="configuration")


def _reported_keys(provisioner: str, csi_nodes: Iterable[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the topology keys that a driver reports, None if no node has the driver."""
    for csi_node in csi_nodes:
        for driver in maps_at(csi_node, "spec", "drivers"):
            if driver.get("name") == provisioner:
                keys = driver.get("topologyKeys")
                return tuple([key for key in keys if isinstance(key, str)]) if isinstance(keys, list) else ()
    return None


def _allowed_keys(storage_class: Mapping[str, Any]) -> tuple[str, ...]:
    expressions = [
        each for term in maps_at(storage_class, "allowedTopologies") for each in maps_at(term, "matchLabelExpressions") if each.get("key")
    ]
    return tuple(dict.fromkeys([str(each["key"]) for each in expressions]))


def _of_keys(keys: Sequence[str], source: Source) -> VolumeTopology:
    of_nodes = any(key.rpartition("/")[2] in _LAST_PARTS_OF_NODE_KEYS for key in keys)
    return VolumeTopology("node" if of_nodes else "zone", tuple(keys), source)


def _of_provisioner(provisioner: str) -> VolumeTopology | None:
    found = _PROVISIONERS.get(provisioner)
    if found is not None:
        return found
    by_ending = (topology for ending, topology in _ENDINGS.items() if provisioner.endswith(ending))
    by_beginning = (topology for beginning, topology in _BEGINNINGS.items() if provisioner.startswith(beginning))
    return next(by_ending, None) or next(by_beginning, None)


def _by_parameters(provisioner: str, parameters: Mapping[str, str]) -> VolumeTopology | None:
    """Return the topology that the parameters of a class select instead of the usual one of its provisioner, None if they do not."""
    if provisioner in ("pd.csi.storage.gke.io", "kubernetes.io/gce-pd"):
        regional = "regional-pd" in parameters.get("replication-type", "") or "high-availability" in parameters.get("type", "")
        return _SEVERAL_ZONES if regional else None
    if provisioner in ("disk.csi.azure.com", "kubernetes.io/azure-disk"):
        sku = next((value for key, value in parameters.items() if key.lower() in ("skuname", "storageaccounttype")), "")
        return _EVERYWHERE if sku.lower().endswith("_zrs") else None
    if "topologyConstrainedPools" in parameters:
        return UNKNOWN
    if provisioner == "linstor.csi.linbit.com":
        return UNKNOWN if parameters.get("allowRemoteVolumeAccess", "true").lower() != "true" else None
    if provisioner == "driver.longhorn.io":
        return UNKNOWN if parameters.get("dataLocality") == "strict-local" else None
    if provisioner == "io.openebs.csi-mayastor":
        return UNKNOWN if parameters.get("local", "").lower() == "true" else None
    return None
