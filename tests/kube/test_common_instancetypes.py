"""The instance types and preferences that KubeVirt deploys: their sizes, and what they require of nodes."""

import pytest

from afflint.kube.common_instancetypes import instancetype, preference
from afflint.pipeline.map_step import default_settings
from afflint.placement.planner import make_plan
from afflint.simulation.inputs import PlaceInputs, read_place_inputs
from afflint.source.sources import Source

DEDICATED = {"dedicatedCPUPlacement": True, "isolateEmulatorThread": True}
NUMA = {"numa": {"guestMappingPassthrough": {}}}


@pytest.mark.parametrize(
    ("name", "cpu", "memory"),
    [
        ("u1.nano", {"guest": 1}, {"guest": "512Mi"}),
        ("u1.2xmedium", {"guest": 2}, {"guest": "4096Mi"}),
        ("u1.8xlarge", {"guest": 32}, {"guest": "131072Mi"}),
        ("d1.large", {"guest": 2, **DEDICATED}, {"guest": "8192Mi"}),
        ("o1.small", {"guest": 1}, {"guest": "2048Mi", "overcommitPercent": 50}),
        ("cx1.medium", {"guest": 1, **DEDICATED, **NUMA}, {"guest": "2048Mi", "hugepages": {"pageSize": "2Mi"}}),
        ("cx1.xlarge1gi", {"guest": 4, **DEDICATED, **NUMA}, {"guest": "8192Mi", "hugepages": {"pageSize": "1Gi"}}),
        ("m1.large", {"guest": 2}, {"guest": "16384Mi", "hugepages": {"pageSize": "2Mi"}}),
        ("n1.medium", {"guest": 4, **DEDICATED}, {"guest": "4096Mi", "hugepages": {"pageSize": "1Gi"}}),
        ("n1.2xlarge", {"guest": 16, **DEDICATED}, {"guest": "32768Mi", "hugepages": {"pageSize": "1Gi"}}),
        ("rt1.micro", {"guest": 1, **DEDICATED, **NUMA, "realtime": {}}, {"guest": "1024Mi", "hugepages": {"pageSize": "1Gi"}}),
    ],
    ids=lambda value: value if type(value) is str else "",
)
def test_sizes(name: str, cpu: dict[str, object], memory: dict[str, object]) -> None:
    assert instancetype(name) == {"cpu": cpu, "memory": memory}


@pytest.mark.parametrize(
    "name", ["", "u1", "u1.", "u1.large1gi", "u2.small", "m1.medium", "rt1.nano", "o1.2xmedium", "n1.small", "cx1.1gi"]
)
def test_other_names_are_unknown(name: str) -> None:
    assert instancetype(name) is None


@pytest.mark.parametrize(
    ("name", "architecture"),
    [("rhel.9", None), ("rhel.9.arm64", "arm64"), ("fedora.s390x", "s390x"), ("fedora.s390x.secex", "s390x"), ("rhel.9.desktop", None)],
)
def test_preferences_for_linux(name: str, architecture: str | None) -> None:
    found = preference(name)
    assert found is not None
    assert found.get("preferredArchitecture") == architecture
    assert ("preferredLaunchSecurity" in found) == name.endswith(".secex")


def test_preferences_for_windows_need_enlightenments() -> None:
    found = preference("windows.2k22.virtio")
    assert found is not None
    assert "synic" in found["features"]["preferredHyperv"]
    assert [preference(name) for name in ("windows.95", "rhel.9.arm64.secex", "debian.arm64", "")] == [None] * 4


VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec: {runStrategy: Always, instancetype: {name: cx1.medium%s}, preference: {name: rhel.9}, template: {spec: {domain: {devices: {}}}}}
"""
NODES = 'nodes: [{name: n1, labels: {kubevirt.io/cpumanager: "true"}}, {name: n2, labels: {kubevirt.io/cpumanager: "false"}}]'


def inputs(text: str) -> PlaceInputs:
    return read_place_inputs([Source("a", "a", text.encode())], [Source("n", "n", NODES.encode())], [], default_settings())


def feasible(text: str) -> list[str]:
    found = inputs(text).simulation_input
    (workload,) = make_plan(found.inventory, found.pod_sources).workloads
    return [each.node for each in workload.verdicts if each.feasible]


def test_a_vm_gets_a_common_instance_type_that_no_manifest_defines_and_a_note_says_so() -> None:
    assert feasible(VM % "") == ["n1"]
    (vm,) = inputs(VM % "").simulation_input.pod_sources
    assert vm.notes[0] == (
        "its instancetype cx1.medium and its preference rhel.9 are not defined in the manifests; "
        "the simulation uses those of KubeVirt's common instance types"
    )


def test_the_manifests_count_first_and_namespaced_types_are_never_common() -> None:
    own = "---\napiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: cx1.medium}\n"
    assert feasible(VM % "" + own + "spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}\n") == ["n1", "n2"]
    namespaced = VM % ", kind: VirtualMachineInstancetype"
    assert feasible(namespaced) == ["n1", "n2"]
    notes = inputs(namespaced).simulation_input.pod_sources[0].notes
    assert notes[1] == "its instancetype cx1.medium is not defined in the manifests; the simulation ignores its requirements"
