"""From which nodes the volumes of a StorageClass can be used."""

from typing import Any

import pytest

from afflint.storage.topology import VolumeTopology, topology_of

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def storage_class(provisioner: str, name: str = "data", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "provisioner": provisioner, **fields}


def csi_node(driver: str, *keys: str) -> dict[str, Any]:
    return {"spec": {"drivers": [{"name": driver, "nodeID": "n1", "topologyKeys": list(keys)}]}}


@pytest.mark.parametrize(
    ("provisioner", "parameters", "scope", "keys"),
    [
        pytest.param("ebs.csi.aws.com", {}, "zone", ("topology.ebs.csi.aws.com/zone",), id="EBS"),
        pytest.param("kubernetes.io/aws-ebs", {}, "zone", (ZONE,), id="EBS of the tree"),
        pytest.param("pd.csi.storage.gke.io", {"type": "pd-ssd"}, "zone", ("topology.gke.io/zone",), id="persistent disk"),
        pytest.param("pd.csi.storage.gke.io", {"replication-type": "regional-pd"}, "zones", (ZONE,), id="regional disk"),
        pytest.param("disk.csi.azure.com", {"skuName": "Premium_LRS"}, "zone", ("topology.disk.csi.azure.com/zone",), id="Azure LRS"),
        pytest.param("disk.csi.azure.com", {"skuname": "Premium_ZRS"}, "any", (), id="Azure ZRS"),
        pytest.param("disk.csi.azure.com", {"storageAccountType": "StandardSSD_ZRS"}, "any", (), id="Azure ZRS by its older name"),
        pytest.param("rook-ceph.rbd.csi.ceph.com", {}, "any", (), id="Ceph RBD"),
        pytest.param("rook-ceph.rbd.csi.ceph.com", {"topologyConstrainedPools": "[]"}, "unknown", (), id="Ceph with pools in zones"),
        pytest.param("rancher.io/local-path", {}, "node", (HOSTNAME,), id="local path"),
        pytest.param("topolvm.io", {}, "node", ("topology.topolvm.io/node",), id="TopoLVM"),
        pytest.param("linstor.csi.linbit.com", {}, "any", (), id="LINSTOR"),
        pytest.param(
            "linstor.csi.linbit.com",
            {"linstor.csi.linbit.com/allowRemoteVolumeAccess": "false"},
            "unknown",
            (),
            id="LINSTOR, replicas only",
        ),
        pytest.param("driver.longhorn.io", {"dataLocality": "strict-local"}, "unknown", (), id="Longhorn, strict-local"),
        pytest.param("csi.vsphere.vmware.com", {}, "unknown", (), id="vSphere, whose topology is an option of the driver"),
        pytest.param("csi.example.com", {}, "unknown", (), id="a driver of one's own"),
    ],
)
def test_the_provisioner_and_its_parameters_show_the_topology(
    provisioner: str, parameters: dict[str, str], scope: str, keys: tuple[str, ...]
) -> None:
    found = topology_of(storage_class(provisioner, parameters=parameters))
    assert (found.scope, found.keys) == (scope, keys)


def test_the_allowed_topologies_show_a_key_of_the_driver() -> None:
    allowed = [{"matchLabelExpressions": [{"key": "csi.example.com/rack", "values": ["r1", "r2"]}]}]
    found = topology_of(storage_class("csi.example.com", allowedTopologies=allowed))
    assert found == VolumeTopology("zone", ("csi.example.com/rack",), "StorageClass")


def test_allowed_topologies_do_not_tie_a_regional_disk_to_one_zone() -> None:
    allowed = [{"matchLabelExpressions": [{"key": "topology.gke.io/zone", "values": ["a", "b"]}]}]
    regional = storage_class("pd.csi.storage.gke.io", parameters={"replication-type": "regional-pd"}, allowedTopologies=allowed)
    assert topology_of(regional).scope == "zones"


def test_what_the_driver_reports_on_nodes_takes_precedence_over_the_table() -> None:
    on_nodes = [csi_node("other.example.com", "x"), csi_node("csi.vsphere.vmware.com", "topology.csi.vmware.com/k8s-zone")]
    found = topology_of(storage_class("csi.vsphere.vmware.com"), on_nodes)
    assert found == VolumeTopology("zone", ("topology.csi.vmware.com/k8s-zone",), "CSINode")
    assert topology_of(storage_class("ebs.csi.aws.com"), [csi_node("ebs.csi.aws.com")]) == VolumeTopology("any", (), "CSINode")


@pytest.mark.parametrize(
    ("word", "scope", "keys"),
    [("node", "node", (HOSTNAME,)), ("zone", "zone", (ZONE,)), ("any", "any", ()), ("example.com/rack", "zone", ("example.com/rack",))],
)
@pytest.mark.parametrize("name", ["data", "csi.example.com"])
def test_the_configuration_takes_precedence(name: str, word: str, scope: str, keys: tuple[str, ...]) -> None:
    found = topology_of(storage_class("csi.example.com"), [csi_node("csi.example.com", "other")], {name: word})
    assert (found.scope, found.keys, found.source) == (scope, keys, "configuration")


def test_nodes_without_the_label_of_the_driver_are_grouped_by_the_well_known_one() -> None:
    disk, local = topology_of(storage_class("ebs.csi.aws.com")), topology_of(storage_class("topolvm.io"))
    assert disk.keys_on({ZONE: "a", "topology.ebs.csi.aws.com/zone": "a"}) == ("topology.ebs.csi.aws.com/zone",)
    assert disk.keys_on({ZONE: "a"}) == (ZONE,)
    assert local.keys_on({HOSTNAME: "n1"}) == (HOSTNAME,)
    assert topology_of(storage_class("nfs.csi.k8s.io")).keys_on({ZONE: "a"}) == ()
