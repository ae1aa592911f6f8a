"""What if I add nodes: a node that is only declared beside a dump may get what kubelets and virt-handler add to nodes."""

import json
from collections.abc import Mapping

from afflint.pipeline.map_step import default_settings
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.simulation.inputs import PlaceInputs, PlaceRequest, read_place_inputs
from afflint.source.sources import Source
from linting import findings_of, settings_of

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec:
  runStrategy: Always
  template:
    spec:
      %s
      domain: {memory: {guest: 1Gi}, devices: {}}
"""
KUBEVIRT_LABELS = {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "arm64", "machine-type.node.kubevirt.io/virt": "true"}
NEW = "nodes: [{name: new, labels: {disk: ssd}, allocatable: {cpu: '8', memory: 32Gi, pods: '110'}}]"
MACHINE_SET = """\
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: fast, namespace: openshift-machine-api}
spec:
  replicas: 0
  template: {spec: {metadata: {labels: {disk: ssd}}}}
"""
ON_SSD = "nodeSelector: {disk: ssd}\n      architecture: arm64"


def dump(*nodes: Mapping[str, str]) -> str:
    """The output of ``kubectl get nodes -o json``."""
    status = {
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k"}
    }
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"old{number}", "labels": labels}, "status": status}
        for number, labels in enumerate(nodes)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def inputs(vm: str, *nodes: str, resources: bool = False, counts: Mapping[str, int] | None = None) -> PlaceInputs:
    files = [Source(f"n{number}.yaml", f"n{number}.yaml", text.encode()) for number, text in enumerate(nodes)]
    sources = [Source("a.yaml", "a.yaml", vm.encode())]
    return read_place_inputs(sources, files, [], default_settings(), request=PlaceRequest(resources=resources, counts=counts or {}))


def plan(found: PlaceInputs) -> Plan:
    return make_plan(found.simulation_input.inventory, found.simulation_input.pod_sources, classes=found.classes)


def verdicts(found: PlaceInputs) -> dict[str, str]:
    (workload,) = plan(found).workloads
    return {each.node: "yes" if each.feasible else each.why for each in workload.verdicts}


def test_a_listed_node_beside_a_dump_takes_a_vm() -> None:
    found = inputs(VM % ON_SSD, dump(KUBEVIRT_LABELS), NEW)
    assert verdicts(found) == {"old0": "lacks disk=ssd", "new": "yes"}
    (note,) = found.notes
    assert note == (
        "new is declared, not in the node dump; the simulation assumes that it gets kubevirt.io/schedulable, "
        "machine-type.node.kubevirt.io/... and kubernetes.io/arch as the nodes of the dump have"
    )


def test_the_note_says_which_cpu_model_of_several_is_assumed() -> None:
    nodes = [
        {**KUBEVIRT_LABELS, f"host-model-cpu.node.kubevirt.io/{model}": "true", f"cpu-model-migration.node.kubevirt.io/{model}": "true"}
        for model in ("Icelake", "Cascadelake", "Cascadelake")
    ]
    (mixed,) = inputs(VM % ON_SSD, dump(*nodes), NEW).notes
    assert mixed.endswith("as the nodes of the dump have, and the CPU model Cascadelake; other nodes have Icelake")
    (same,) = inputs(VM % ON_SSD, dump(*nodes[1:]), NEW).notes
    assert same.endswith("as the nodes of the dump have")


def test_a_node_of_the_dump_has_only_its_own_labels() -> None:
    found = inputs(VM % "architecture: arm64", dump(KUBEVIRT_LABELS, {"kubernetes.io/arch": "arm64"}), NEW)
    assert verdicts(found)["old1"].startswith("lacks kubevirt.io/schedulable=true")


def test_what_a_declared_node_states_counts() -> None:
    off = "nodes: [{name: new, labels: {disk: ssd, kubevirt.io/schedulable: 'false'}}]"
    assert verdicts(inputs(VM % ON_SSD, dump(KUBEVIRT_LABELS), off))["new"].startswith("has kubevirt.io/schedulable=false, not true")


def test_labels_that_no_node_of_the_dump_has_are_not_expected() -> None:
    selecting = VM % "nodeSelector: {disk: ssd, rack: r1}\n      architecture: arm64"
    assert verdicts(inputs(selecting, dump(KUBEVIRT_LABELS | {"rack": "r1"}), NEW))["new"] == "lacks rack=r1"


def test_devices_of_virt_handler_are_expected_and_cpu_and_memory_are_not() -> None:
    assert verdicts(inputs(VM % ON_SSD, dump(KUBEVIRT_LABELS), NEW, resources=True))["new"] == "yes"
    small = NEW.replace("32Gi", "512Mi")
    assert "memory" in verdicts(inputs(VM % ON_SSD, dump(KUBEVIRT_LABELS), small, resources=True))["new"]


def test_a_vm_migrates_to_a_declared_node_as_if_it_had_the_usual_cpu() -> None:
    intel = {"kubernetes.io/arch": "amd64", "cpu-vendor.node.kubevirt.io/Intel": "true", "host-model-cpu.node.kubevirt.io/Icelake": "true"}
    amd = {"kubernetes.io/arch": "amd64", "cpu-vendor.node.kubevirt.io/AMD": "true"}
    migrating = "evictionStrategy: LiveMigrate\n      networks: [{name: a, pod: {}}]"
    vm = (VM % migrating).replace("devices: {}", "devices: {interfaces: [{name: a, masquerade: {}}]}")

    found = inputs(vm, dump(intel), NEW).simulation_input
    (loss,) = make_plan(found.inventory, found.pod_sources, asked=DisruptionRequest(drain=("old0",))).losses
    assert loss.result == "ends"
    expected = inputs(vm, dump(amd, intel, intel), NEW).simulation_input.expected.labels
    assert [key for key in expected if "cpu-" in key] == [
        "cpu-model-migration.node.kubevirt.io/Icelake",
        "cpu-vendor.node.kubevirt.io/Intel",
    ]


def test_a_pool_with_a_number_of_nodes_takes_vms() -> None:
    found = inputs(VM % ON_SSD, dump(KUBEVIRT_LABELS), MACHINE_SET, counts={"fast": 2})
    (workload,) = plan(found).workloads
    assert [each.node for each in workload.replicas] == ["fast-1"]
    assert {each.node: each.feasible for each in workload.verdicts} == {"old0": False, "fast-1": True, "fast-2": True}
    assert found.notes[0].startswith("MachineSet fast is declared")


def test_lists_alone_are_compared_with_each_other() -> None:
    both = "nodes: [{name: a, labels: {kubevirt.io/schedulable: 'true'}}, {name: b}]"
    assert verdicts(inputs(VM % "", both))["b"] == "lacks kubevirt.io/schedulable=true (required by KubeVirt)"


def test_workloads_without_vms_are_not_concerned() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'a.example/a:1'}]}\n"
    assert inputs(pod, dump(KUBEVIRT_LABELS), NEW).notes == ()


def test_check_reports_a_vm_only_if_no_declared_node_may_run_it() -> None:
    def unschedulable(*nodes: str) -> int:
        files = {f"n{number}.yaml": text.encode() for number, text in enumerate(nodes)}
        found = findings_of({"a.yaml": (VM % ON_SSD).encode(), **files}, settings_of(), nodes=[*files])
        return sum(each.rule == "unschedulable" for each in found)

    assert unschedulable(dump(KUBEVIRT_LABELS)) == 1
    assert unschedulable(dump(KUBEVIRT_LABELS), NEW) == 0
    assert unschedulable(dump(KUBEVIRT_LABELS), NEW.replace("ssd", "hdd")) == 1
