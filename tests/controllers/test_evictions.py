"""What the eviction of a virtual machine's pod comes to, by what the manifests tell."""

import pytest

from afflint.controllers.evictions import eviction_of, eviction_of_machine, migration_note, unknown_strategy_note
from afflint.controllers.pod_source import PodSource
from afflint.pipeline.map_step import default_settings
from afflint.simulation.inputs import read_place_inputs
from afflint.source.sources import Source

MASQUERADE = "networks: [{name: default, pod: {}}], domain: {devices: {interfaces: [{name: default, masquerade: {}}]%s}}"
KUBEVIRT = """
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {configuration: %s}
"""


def machine(spec: str, vm: str = "", metadata: str = "") -> str:
    return f"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: db}}
spec:
  runStrategy: Always
  {vm}
  template: {{metadata: {{{metadata}}}, spec: {{{spec}}}}}
"""


def migrating(devices: str = "", more: str = "", vm: str = "") -> str:
    return machine(f"evictionStrategy: LiveMigrate, {MASQUERADE % devices}{more}", vm)


def read(text: str) -> PodSource:
    given = [Source("a.yaml", "a.yaml", text.encode())], [Source("n", "n", b"nodes: [{name: n1}]")], []
    simulation_input = read_place_inputs(*given, default_settings()).simulation_input
    return next(pod_source for pod_source in simulation_input.pod_sources if pod_source.kubevirt)


def what(text: str) -> str:
    return eviction_of(read(text)).what


def why(text: str) -> str:
    return eviction_of(read(text)).why.partition(", but ")[2]


@pytest.mark.parametrize(
    ("own", "cluster", "expected"),
    [
        ("", "{}", "allowed"),
        ("", "{evictionStrategy: LiveMigrate}", "migrates"),
        ("None", "{evictionStrategy: LiveMigrate}", "allowed"),
        ("LiveMigrate", "{evictionStrategy: None}", "migrates"),
        ("", "{evictionStrategy: LiveMigrateIfPossible}", "migrates"),
        ("", "{evictionStrategy: External}", "external"),
    ],
)
def test_a_machine_obeys_the_cluster_where_it_says_nothing(own: str, cluster: str, expected: str) -> None:
    spec = f"{own and f'evictionStrategy: {own}, '}{MASQUERADE % ''}"
    assert what(machine(spec) + KUBEVIRT % cluster) == expected


def test_what_asks_for_a_migration_that_cannot_be_is_held_by_what_is_in_the_way() -> None:
    assert why(migrating(", hostDevices: [{name: a, deviceName: a.example/x}]")) == "host devices cannot be live-migrated"
    no_interface = machine("evictionStrategy: LiveMigrate, domain: {devices: {}}")
    assert why(no_interface) == "the VM lists no interface and gets a bridge on the pod network, which cannot be live-migrated"
    assert what(no_interface + KUBEVIRT % "{network: {defaultNetworkInterface: masquerade}}") == "migrates"


def test_what_the_kubevirt_resource_would_tell_is_not_taken_for_an_obstacle_without_it() -> None:
    one_gpu = migrating(", gpus: [{name: a, deviceName: a.example/x}]")
    assert what(one_gpu) == "migrates"
    assert why(one_gpu + KUBEVIRT % "{developerConfiguration: {}}") == "the GPU cannot be live-migrated"


def test_devices_of_the_instance_type_count() -> None:
    big = """
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: big}
spec: {cpu: {guest: 2}, memory: {guest: 1Gi}, hostDevices: [{name: a, deviceName: a.example/x}]}
"""
    assert why(migrating(vm="instancetype: {name: big}") + big) == "host devices cannot be live-migrated"


CLAIM = """
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data%s}
spec: {accessModes: [%s]}
"""
DISK = ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"


def test_disks_migrate_as_far_as_their_claims_can_be_shared() -> None:
    assert why(migrating(more=DISK) + CLAIM % ("", "ReadWriteOnce")) == "the disk data lacks the access mode ReadWriteMany"
    assert what(migrating(more=DISK) + CLAIM % ("", "ReadWriteMany")) == "migrates"
    volume = CLAIM.replace("v1\n", "cdi.kubevirt.io/v1beta1\n").replace("PersistentVolumeClaim", "DataVolume")
    by_cdi = volume.replace("{accessModes: [%s]}", "{storage: {accessModes: [%s]}}") % ("", "ReadWriteOnce")
    assert why(migrating(more=DISK) + by_cdi) == "the disk data lacks the access mode ReadWriteMany"
    made = "dataVolumeTemplates: [{metadata: {name: data}, spec: {pvc: {accessModes: [ReadWriteOnce]}}}]"
    assert why(migrating(more=DISK, vm=made)) == "the disk data lacks the access mode ReadWriteMany"


def test_an_unknown_disk_is_assumed_to_be_shared_and_that_is_reported() -> None:
    text = migrating(more=DISK) + CLAIM % (", namespace: other", "ReadWriteOnce")
    assert what(text) == "migrates"
    assert (
        migration_note(eviction_of(read(text)))
        == "the simulation assumes that it can migrate: no manifest shows whether data has the access mode ReadWriteMany"
    )


def test_a_machine_without_an_eviction_strategy_is_assumed_to_be_shut_down_and_that_is_reported() -> None:
    silent = machine(MASQUERADE % "")
    note = "no evictionStrategy, and the manifests contain no KubeVirt resource: the simulation assumes that a drain shuts"
    assert unknown_strategy_note([read(silent)]) == f"1 VM workload sets {note} it down"
    assert unknown_strategy_note([read(silent), read(silent)]) == f"2 VM workloads set {note} them down"
    assert unknown_strategy_note([read(silent + KUBEVIRT % "{}"), read(migrating())]) == ""


@pytest.mark.parametrize("devices", ["interfaces: 5", "interfaces: x", "interfaces: {}", "gpus: 3, hostDevices: x"])
def test_what_is_malformed_is_for_others_to_refuse(devices: str) -> None:
    text = machine(
        f"evictionStrategy: LiveMigrate, networks: [{{name: default, pod: {{}}}}], domain: {{devices: {{{devices}}}}}, volumes: x"
    )
    assert what(text) in ("migrates", "held")


# Of machines that run.

UNABLE = {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable", "message": "claim db is not shared"}
ASKED_BY_ALL = {"spec": {"configuration": {"evictionStrategy": "LiveMigrate"}}}


@pytest.mark.parametrize(
    ("strategy", "conditions", "expected"),
    [
        pytest.param("LiveMigrate", [{"type": "LiveMigratable", "status": "True"}], "migrates", id="it can"),
        pytest.param("LiveMigrate", [{"type": "Ready", "status": "False"}, UNABLE], "held", id="it cannot"),
        pytest.param("LiveMigrateIfPossible", [UNABLE], "allowed", id="it cannot, and need not"),
        pytest.param("LiveMigrate", None, None, id="not reported yet"),
        pytest.param("LiveMigrateIfPossible", [{"type": "Ready", "status": "True"}], None, id="not among the conditions"),
        pytest.param("None", None, "allowed", id="not reported, and it is not to"),
        pytest.param("None", [UNABLE], "allowed", id="it is not to"),
        pytest.param("External", [UNABLE], "external", id="others do it"),
        pytest.param(None, [UNABLE], "allowed", id="no strategy"),
    ],
)
def test_the_status_of_a_machine_shows_whether_it_can_migrate(strategy: str | None, conditions: object, expected: str | None) -> None:
    found = eviction_of_machine({"spec": {"evictionStrategy": strategy}, "status": {"conditions": conditions}}, {})
    assert (found and found.what) == expected


def test_a_machine_that_cannot_migrate_says_why() -> None:
    held = eviction_of_machine({"spec": {}, "status": {"conditions": [UNABLE]}}, ASKED_BY_ALL)
    assert held is not None
    assert held.why == (
        "evictionStrategy LiveMigrate of the KubeVirt resource asks for live migration, but it cannot migrate: claim db is not shared"
    )
