"""Virtual machines on labelled nodes: what virt-controller asks for on their behalf decides where they go, and is said to be its."""

from afflint.pipeline.map_step import default_settings
from afflint.placement.plan import Plan
from afflint.placement.planner import make_plan
from afflint.simulation.inputs import PlaceRequest, read_place_inputs
from afflint.source.sources import Source
from on_nodes import messages_of

NODES = """
- name: worker-0
  labels:
    kubevirt.io/schedulable: "true"
    kubernetes.io/arch: amd64
    kubevirt.io/cpumanager: "true"
    machine-type.node.kubevirt.io/q35: "true"
    cpu-model.node.kubevirt.io/Icelake-Server: "true"
    cpu-feature.node.kubevirt.io/avx512f: "true"
- name: worker-1
  labels:
    kubevirt.io/schedulable: "true"
    kubernetes.io/arch: amd64
    kubevirt.io/cpumanager: "false"
    machine-type.node.kubevirt.io/q35: "true"
    cpu-model.node.kubevirt.io/Penryn: "true"
    cpu-feature.node.kubevirt.io/sse4.1: "true"
- name: worker-2
  labels:
    kubevirt.io/schedulable: "true"
    kubernetes.io/arch: arm64
    kubevirt.io/cpumanager: "true"
    machine-type.node.kubevirt.io/virt: "true"
"""


def machine(domain: str = "", spec: str = "", vm: str = "") -> str:
    return f"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: db}}
spec:
  {vm or "runStrategy: Always"}
  template: {{spec: {{domain: {{devices: {{}}{domain and ", "}{domain}}}{spec and ", "}{spec}}}}}
"""


def place(*manifests: str, nodes: str = NODES, context: str = "", only_running: bool = False) -> Plan:
    def source(name: str, text: str) -> Source:
        return Source(name, name, text.encode())

    given = [source("a.yaml", "---\n".join(manifests))], [source("n", f"nodes:{nodes}")], [], default_settings(), [source("c", context)]
    simulation_input, problems, names, *_ = read_place_inputs(*given, request=PlaceRequest(only_running=only_running))
    assert problems == ()
    return make_plan(simulation_input.inventory, simulation_input.pod_sources, name_of=names.__getitem__)


def verdicts(*manifests: str, context: str = "") -> dict[str, str]:
    """Of the first workload: what each node is to it, ``yes`` where it fits."""
    (first, *_) = place(*manifests, context=context).workloads
    return {verdict.node: "yes" if verdict.feasible else verdict.why for verdict in first.verdicts}


def test_a_machine_needs_a_node_that_can_do_what_its_domain_asks_for() -> None:
    its = " (required by KubeVirt)"
    assert verdicts(machine("cpu: {dedicatedCpuPlacement: true, cores: 2}")) == {
        "worker-0": "yes",
        "worker-1": f"has kubevirt.io/cpumanager=false, not true{its}",
        "worker-2": f"has kubernetes.io/arch=arm64, not amd64{its}",
    }
    assert verdicts(machine("cpu: {model: Penryn}"))["worker-0"] == f"lacks cpu-model.node.kubevirt.io/Penryn=true{its}"
    assert verdicts(machine("cpu: {features: [{name: avx512f, policy: require}]}"))["worker-1"] == (
        f"lacks cpu-feature.node.kubevirt.io/avx512f=true{its}"
    )
    forbidding = machine("cpu: {features: [{name: avx512f, policy: forbid}]}")
    assert verdicts(forbidding)["worker-0"] == f"has the label cpu-feature.node.kubevirt.io/avx512f{its}"
    assert verdicts(forbidding)["worker-1"] == "yes"
    assert verdicts(machine("", "architecture: arm64"))["worker-2"] == "yes"


def test_a_selector_of_the_author_is_not_attributed_to_virt_controller() -> None:
    assert verdicts(machine(spec="nodeSelector: {kubernetes.io/arch: amd64}"))["worker-2"] == "has kubernetes.io/arch=arm64, not amd64"


def test_unschedulable_says_who_asks() -> None:
    [found] = messages_of("unschedulable", NODES, machine("cpu: {model: EPYC}"))
    assert "2 nodes lack cpu-model.node.kubevirt.io/EPYC=true (required by KubeVirt)" in found


KUBEVIRT = """\
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {configuration: {cpuModel: Penryn, developerConfiguration: {nodeSelectors: {kubevirt.io/cpumanager: "false"}}}}
"""


def test_the_kubevirt_resource_of_the_run_counts_and_that_of_its_context() -> None:
    expected = {"worker-0": "has kubevirt.io/cpumanager=true, not false (required by KubeVirt)", "worker-1": "yes"}
    assert verdicts(machine(), KUBEVIRT).items() >= expected.items()
    assert verdicts(machine(), context=KUBEVIRT).items() >= expected.items()


INSTANCETYPES = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: fast}
spec: {cpu: {guest: 2, dedicatedCPUPlacement: true}, memory: {guest: 1Gi}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: fast, namespace: elsewhere}
spec: {cpu: {guest: 2, model: EPYC}, memory: {guest: 1Gi}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata: {name: old}
spec: {cpu: {preferredCPUFeatures: [{name: sse4.1, policy: require}]}}
"""


def test_instance_types_and_preferences_are_found_among_the_manifests() -> None:
    fast = machine(vm="instancetype: {name: fast}")
    assert verdicts(fast, INSTANCETYPES)["worker-1"] == "has kubevirt.io/cpumanager=false, not true (required by KubeVirt)"
    assert verdicts(fast, INSTANCETYPES)["worker-0"] == "yes"
    old = machine(vm="preference: {kind: virtualmachinepreferences, name: old}")
    assert verdicts(old, INSTANCETYPES)["worker-0"] == "lacks cpu-feature.node.kubevirt.io/sse4.1=true (required by KubeVirt)"


def test_those_that_are_not_there_are_named() -> None:
    both = machine(vm="instancetype: {name: fast, kind: VirtualMachineInstancetype}\n  preference: {inferFromVolume: disk}")
    note = "its instancetype fast and its preference are not defined in the manifests; the simulation ignores their requirements"
    assert place(both, INSTANCETYPES).workloads[0].notes[0] == note
    one = "its preference old is not defined in the manifests; the simulation ignores its requirements"
    assert place(machine(vm="preference: {name: old}"), INSTANCETYPES).workloads[0].notes[0] == one


def test_an_instance_type_that_sets_what_the_machine_sets_gives_no_pod() -> None:
    clash = place(machine("cpu: {dedicatedCpuPlacement: true}", vm="instancetype: {name: fast}"), INSTANCETYPES).workloads[0]
    assert clash.error == (
        "instancetype conflict: VM field(s) spec.template.spec.domain.cpu.dedicatedCpuPlacement conflicts with selected instance type"
    )


def test_a_machine_that_waits_to_be_started_is_planned_as_if_it_ran() -> None:
    halted = machine(vm="runStrategy: Halted")
    (found,) = place(halted).workloads
    assert [replica.node for replica in found.replicas] == ["worker-0"]
    assert "runStrategy Halted: it does not start automatically, but is simulated as if it were running" in found.notes
    (started,) = place(machine(), only_running=True).workloads
    assert [replica.node for replica in started.replicas] == ["worker-0"]
    (left,) = place(halted, only_running=True).workloads
    assert left.replicas == ()
    assert "runStrategy Halted: it does not start automatically, so it has no pod" in left.notes


def test_a_model_that_is_yet_to_be_filled_in_proves_nothing() -> None:
    assert messages_of("unschedulable", NODES, machine('cpu: {model: "${MODEL}"}')) == []


def test_a_machine_with_the_cpu_of_its_node_migrates_only_to_a_node_that_knows_that_one() -> None:
    keys = ("host-model-cpu.node.kubevirt.io/{}", "cpu-model-migration.node.kubevirt.io/{}", "cpu-vendor.node.kubevirt.io/Intel")
    labels = ["".join(f'{key.format(model)}: "true", ' for key in keys) for model in ("Skylake", "Penryn")]
    nodes = "".join(f"\n- name: w{index}\n  labels: {{{each}}}" for index, each in enumerate(labels)) + "\n"
    text = machine(spec="evictionStrategy: LiveMigrate")
    (found,) = messages_of("migration-blocked", nodes, text)
    assert "1 lacks cpu-model-migration.node.kubevirt.io/Skylake=true (the CPU model of its host, required for a live migration)" in found
    passthrough = machine("cpu: {model: host-passthrough}", spec="evictionStrategy: LiveMigrate")
    assert messages_of("migration-blocked", nodes, passthrough) == []


def test_the_migration_of_a_machine_requires_no_label_of_a_kind_that_no_node_reports() -> None:
    """A list of nodes written by hand often has the CPU models of the nodes, but not the models that they can emulate."""
    nodes = "".join(f'\n- {{name: {name}, labels: {{host-model-cpu.node.kubevirt.io/Skylake: "true"}}}}' for name in ("w0", "w1"))
    assert messages_of("migration-blocked", nodes, machine(spec="evictionStrategy: LiveMigrate")) == []
