"""The access modes of DataVolumes that name none: those that the Containerized Data Importer takes from the StorageClass."""

import subprocess
import sys
from pathlib import Path

import pytest

from checkout import clean_environment
from linting import messages_of

CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %s, annotations: {%s: "true"}}
provisioner: %s
---
"""
PROFILE = """\
apiVersion: cdi.kubevirt.io/v1beta1
kind: StorageProfile
metadata: {name: fast}
spec: {claimPropertySets: [{accessModes: [%s], volumeMode: Block}]}
---
"""
MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db, namespace: prod}
spec:
  runStrategy: Always
  dataVolumeTemplates: [{metadata: {name: root}, spec: {source: {blank: {}}, %s: {%sresources: {requests: {storage: 1Gi}}}}}]
  template:
    metadata: {labels: {app: db}}
    spec:
      evictionStrategy: LiveMigrate
      domain: {memory: {guest: 1Gi}, devices: {interfaces: [{name: default, masquerade: {}}]}}
      networks: [{name: default, pod: {}}]
      volumes: [{name: root, dataVolume: {name: root}}]
---
"""
DEFAULT, VIRT = "storageclass.kubernetes.io/is-default-class", "storageclass.kubevirt.io/is-default-virt-class"
EBS, RBD = "ebs.csi.aws.com", "openshift-storage.rbd.csi.ceph.com"


def disks(manifests: str) -> list[str]:
    return [each for each in messages_of(manifests, "migration-impossible") if "disk" in each]


def once(line: int, of: str = "fast") -> list[str]:
    message = f"the disk root gets the access mode ReadWriteOnce of StorageClass {of}"
    required = "evictionStrategy LiveMigrate asks for live migration"
    return [f"{line}:18 {required}, but {message}: a drain of its node waits until the VM is stopped"]


@pytest.mark.parametrize("field", ["", "storageClassName: fast, "])
def test_the_default_class_or_the_one_that_is_named(field: str) -> None:
    assert disks(CLASS % ("fast", DEFAULT, EBS) + MACHINE % ("storage", field)) == once(18)
    assert disks(CLASS % ("fast", DEFAULT, RBD) + MACHINE % ("storage", field)) == []


def test_the_default_class_for_virtual_machines_comes_first() -> None:
    both = CLASS % ("fast", DEFAULT, EBS) + CLASS % ("shared", VIRT, RBD)
    assert disks(both + MACHINE % ("storage", "")) == []
    assert disks(both.replace(EBS, "-").replace(RBD, EBS) + MACHINE % ("storage", "")) == once(23, "shared")


@pytest.mark.parametrize(("modes", "silent"), [("ReadWriteMany", True), ("ReadWriteOnce", False)])
def test_a_storage_profile_decides(modes: str, silent: bool) -> None:
    for provisioner in (EBS, RBD):
        found = disks(CLASS % ("fast", DEFAULT, provisioner) + PROFILE % modes + MACHINE % ("storage", ""))
        assert (not found) == silent


@pytest.mark.parametrize(
    "manifests",
    [
        MACHINE % ("storage", ""),  # The class is not known.
        CLASS % ("fast", DEFAULT, "example.com/unknown") + MACHINE % ("storage", ""),
        CLASS % ("fast", DEFAULT, EBS) + CLASS % ("other", DEFAULT, RBD) + MACHINE % ("storage", ""),  # Which one?
        CLASS % ("fast", DEFAULT, EBS) + MACHINE % ("storage", "storageClassName: elsewhere, "),
        CLASS % ("fast", DEFAULT, EBS) + MACHINE % ("storage", "volumeMode: Block, "),  # The driver may have several sets of modes.
        CLASS % ("fast", DEFAULT, EBS) + MACHINE % ("storage", "accessModes: [ReadWriteMany], "),
        CLASS % ("fast", DEFAULT, EBS) + MACHINE % ("pvc", ""),  # Without a default: the API server rejects it.
    ],
)
def test_where_the_modes_are_not_known_nothing_is_reported(manifests: str) -> None:
    assert disks(manifests) == []


def test_a_data_volume_of_its_own() -> None:
    spec = "{source: {blank: {}}, storage: {resources: {requests: {storage: 1Gi}}}}"
    volume = f"apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {{name: root, namespace: prod}}\nspec: {spec}\n---\n"
    machine = "\n".join(line for line in (MACHINE % ("storage", "")).splitlines() if "dataVolumeTemplates" not in line) + "\n"
    assert len(disks(CLASS % ("fast", DEFAULT, EBS) + volume + machine)) == 1
    assert disks(CLASS % ("fast", DEFAULT, RBD) + volume + machine) == []
    assert disks(volume + machine) == []


def test_a_drain_waits_for_the_machine_too(tmp_path: Path) -> None:
    (tmp_path / "vm.yaml").write_text(CLASS % ("fast", DEFAULT, EBS) + MACHINE % ("storage", ""), encoding="utf-8")
    (tmp_path / "nodes.yaml").write_text("nodes: [{name: n1}, {name: n2}]\n", encoding="utf-8")
    command = [sys.executable, "-m", "afflint", "place", "--no-config", "vm.yaml", "--nodes", "nodes.yaml", "--drain", "n1"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(COLUMNS="200"), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert "the disk root lacks the access mode ReadWriteMany" in done.stdout
