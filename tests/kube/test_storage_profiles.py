"""The access modes of a DataVolume that names none."""

import pytest

from afflint.storage.profiles import default_access_modes

MANY, ONCE = ("ReadWriteMany",), ("ReadWriteOnce",)


@pytest.mark.parametrize(
    ("provisioner", "parameters", "modes"),
    [
        ("ebs.csi.aws.com", {}, ONCE),
        ("ebs.csi.aws.com", {"type": "io2"}, MANY),
        ("driver.longhorn.io", {"migratable": "true"}, MANY),
        ("csi.trident.netapp.io", {"backendType": "ontap-san"}, MANY),
        ("csi.trident.netapp.io", {}, ()),
        ("openshift-storage.rbd.csi.ceph.com", {}, MANY),
        ("csi.example.com", {}, ()),
    ],
    ids=["disk", "shared disk", "longhorn", "trident", "trident without type", "ceph", "unknown"],
)
def test_the_first_mode_of_the_driver(provisioner: str, parameters: dict[str, str], modes: tuple[str, ...]) -> None:
    assert default_access_modes({"provisioner": provisioner, "parameters": parameters}, None) == modes


def test_the_profile_comes_before_the_table_and_its_spec_before_its_status() -> None:
    storage_class = {"provisioner": "ebs.csi.aws.com"}
    block, files = {"accessModes": list(MANY), "volumeMode": "Block"}, {"accessModes": list(ONCE), "volumeMode": "Filesystem"}
    assert default_access_modes(storage_class, {"status": {"claimPropertySets": [block, files]}}) == MANY
    assert default_access_modes(storage_class, {"status": {"claimPropertySets": [block, files]}}, "Filesystem") == ONCE
    assert default_access_modes(storage_class, {"spec": {"claimPropertySets": [files]}, "status": {"claimPropertySets": [block]}}) == ONCE


def test_a_requested_volume_mode_may_have_other_access_modes_than_the_first_entry() -> None:
    assert default_access_modes({"provisioner": "ebs.csi.aws.com"}, None, "Filesystem") == ()
