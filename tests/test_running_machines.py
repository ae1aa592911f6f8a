"""`afflint place` and virtual machines that run: the VirtualMachine, its VirtualMachineInstance and the launcher pod.

A migration starts from the instance and the pod that run, a restart from the VirtualMachine.
"""

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

import yaml
from cluster_objects import HOST, Object
from command_line import exit_code

MODEL, FEATURE, VENDOR = "host-model-cpu.node.kubevirt.io/", "cpu-feature.node.kubevirt.io/", "cpu-vendor.node.kubevirt.io/"
MIGRATION_MODEL = "cpu-model-migration.node.kubevirt.io/"
Run = Callable[..., Any]


def node(name: str, **labels: str) -> Object:
    every = {HOST: name, "kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true", **labels}
    allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": every}, "status": {"allocatable": allocatable}}


def owned(kind: str, name: str, version: str = "kubevirt.io/v1") -> Object:
    return {"ownerReferences": [{"apiVersion": version, "kind": kind, "name": name, "uid": f"u-{name}", "controller": True}]}


def kubevirt(strategy: str = "Stage", **status: str) -> Object:
    configuration = {"evictionStrategy": "LiveMigrate", "vmRolloutStrategy": strategy}
    metadata = {"name": "kubevirt", "namespace": "kubevirt"}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": metadata,
        "spec": {"configuration": configuration},
        "status": status,
    }


SPEC = """
domain: {devices: {interfaces: [{name: default, masquerade: {}}]}, memory: {guest: 2Gi}}
networks: [{name: default, pod: {}}]
"""


def virtual_machine(spec: str = "", **status: Any) -> Object:
    template = {"spec": {**yaml.safe_load(SPEC), **(yaml.safe_load(spec) or {})}}
    metadata = {"name": "ledger", "namespace": "bank", "uid": "u-ledger"}
    content = {"runStrategy": "Always", "template": template}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": content, "status": status}


def instance(spec: str = "", *, on: str = "east-1", **status: Any) -> Object:
    metadata = {"name": "ledger", "namespace": "bank", "uid": "u-vmi", **owned("VirtualMachine", "ledger")}
    own = {**yaml.safe_load(SPEC), **(yaml.safe_load(spec) or {})}
    running = {"phase": "Running", "nodeName": on, **status}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": metadata, "spec": own, "status": running}


def launcher(spec: str = "", *, on: str = "east-1", phase: str = "Running", name: str = "x", requests: Object | None = None) -> Object:
    metadata = {
        "name": f"virt-launcher-ledger-{name}",
        "namespace": "bank",
        "labels": {"kubevirt.io": "virt-launcher"},
        **owned("VirtualMachineInstance", "ledger"),
    }
    container = {"name": "compute", "image": "i", "resources": {"requests": requests or {"cpu": "100m", "memory": "2300Mi"}}}
    content = {"nodeName": on, "containers": [container], **(yaml.safe_load(spec) or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": content, "status": {"phase": phase}}


@pytest.fixture
def run(tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Returns what `afflint place` says about some objects on standard input, as JSON."""
    monkeypatch.chdir(str(tmp_path))

    def place(*objects: Object, words: tuple[str, ...] = ("--drain", "east-1")) -> Any:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        exit_code(monkeypatch, "place", "--no-config", "--nodes", "-", "--format", "json", *words)
        return json.loads(capsys.readouterr().out)

    return place


@pytest.fixture
def why(tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Returns the exit code of `afflint why ledger` with some objects on standard input, and its answer as JSON."""
    monkeypatch.chdir(str(tmp_path))

    def explain(*objects: Object) -> Any:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code = exit_code(monkeypatch, "why", "--no-config", "ledger", "--nodes", "-", "--format", "json")
        return code, json.loads(capsys.readouterr().out)

    return explain


def drained(plan: Any) -> str:
    """Where the machine goes, or why it stays."""
    (loss,) = plan["losses"]
    return "; ".join([each["why"] for each in loss["blocked"]] or [f"{each['fate']} to {each['target']}" for each in loss["moves"]])


EAST, WEST = node("east-1"), node("west-1")
ON_EAST, ON_WEST = "nodeSelector: {kubernetes.io/hostname: east-1}", "nodeSelector: {kubernetes.io/hostname: west-1}"
STAYS = "it cannot be live-migrated to any node: 1 node lacks kubernetes.io/hostname=east-1"


# --- a changed VirtualMachine ------------------------------------------------------------------------------------------


def test_a_migration_obeys_the_instance_until_the_machine_restarts(run: Run) -> None:
    plan = run(EAST, WEST, kubevirt("Stage"), virtual_machine(ON_WEST), instance(ON_EAST), launcher(ON_EAST))
    assert drained(plan) == STAYS
    (workload,) = plan["workloads"]
    assert workload["waitsForRestart"] == [f"nodeSelector {HOST} east-1 -> west-1"]
    assert f"1 change waits for a restart: nodeSelector {HOST} east-1 -> west-1" in workload["notes"]
    assert "1 VM has changes that wait for a restart: bank/ledger" in plan["notes"]
    assert plan["violations"] == []


def test_kubevirt_passes_the_change_on_with_live_update(run: Run) -> None:
    plan = run(EAST, WEST, kubevirt("LiveUpdate"), virtual_machine(ON_WEST), instance(ON_EAST), launcher(ON_EAST))
    assert drained(plan) == "migrated to west-1"
    assert "waitsForRestart" not in plan["workloads"][0]
    (found,) = plan["violations"]
    assert (found["why"], found["migration"]) == (f"has {HOST}=east-1, not west-1", "west-1")
    assert found["descheduler"] is None  # The descheduler reads the pod, which has the old rule.


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v1.5.0", STAYS), ("v1.6.0", "migrated to west-1")],
)
def test_live_update_is_the_default_since_kubevirt_1_6(run: Run, version: str, expected: str) -> None:
    config = kubevirt("", observedKubeVirtVersion=version)
    assert drained(run(EAST, WEST, config, virtual_machine(ON_WEST), instance(ON_EAST), launcher(ON_EAST))) == expected


def test_the_condition_restart_required_keeps_all_changes_back(run: Run) -> None:
    changed = virtual_machine(ON_WEST, conditions=[{"type": "RestartRequired", "status": "True"}])
    plan = run(EAST, WEST, kubevirt("LiveUpdate"), changed, instance(ON_EAST), launcher(ON_EAST))
    assert drained(plan) == STAYS
    assert plan["workloads"][0]["waitsForRestart"] == [f"nodeSelector {HOST} east-1 -> west-1"]


def test_a_restart_takes_the_changed_machine(run: Run) -> None:
    """Its eviction shuts the VM down, and KubeVirt starts it again."""
    shut_down = "evictionStrategy: None"
    machine = virtual_machine(f"{ON_WEST}\n{shut_down}")
    plan = run(EAST, WEST, kubevirt(), machine, instance(f"{ON_EAST}\n{shut_down}"), launcher(ON_EAST))
    assert drained(plan) == "recreated to west-1"


def test_equal_specifications_are_not_listed(run: Run) -> None:
    """KubeVirt fills in defaults: an evictionStrategy, a CPU model, an empty list."""
    own = f"{ON_EAST}\ntolerations: []\nschedulerName: default-scheduler"
    filled = f"{ON_EAST}\nevictionStrategy: LiveMigrate\ndomain: {{cpu: {{model: host-model}}, devices: {{}}, memory: {{guest: 2Gi}}}}"
    plan = run(EAST, WEST, kubevirt(), virtual_machine(own), instance(filled), launcher(ON_EAST))
    assert "waitsForRestart" not in plan["workloads"][0]
    assert not any("restart" in note for note in (*plan["notes"], *plan["workloads"][0]["notes"]))


def test_every_other_field_that_waits_is_named(run: Run) -> None:
    own = "tolerations: [{key: lab, operator: Exists}]\npriorityClassName: gold\nevictionStrategy: None\nnodeSelector: {disk: ssd}"
    plan = run(EAST, WEST, kubevirt(), virtual_machine(own), instance("evictionStrategy: LiveMigrate"), launcher())
    assert plan["workloads"][0]["waitsForRestart"] == [
        "nodeSelector disk none -> ssd",
        "tolerations",
        "priorityClassName None -> gold",
        "evictionStrategy LiveMigrate -> None",
    ]


# --- the launcher pod --------------------------------------------------------------------------------------------------


def cpu(model: str, *features: str) -> dict[str, str]:
    """The labels of a node with a CPU model, which only this model can run."""
    known = [f"{MODEL}{model}", f"{MIGRATION_MODEL}{model}", *[f"{FEATURE}{each}" for each in features]]
    required = [f"host-model-required-features.node.kubevirt.io/{each}" for each in features]
    return dict.fromkeys([*known, *required, f"{VENDOR}Intel"], "true")


HOST_MODEL = "domain: {cpu: {model: host-model}, devices: {interfaces: [{name: default, masquerade: {}}]}, memory: {guest: 2Gi}}"


def test_a_machine_that_has_migrated_requires_the_cpu_of_its_first_node(run: Run) -> None:
    """It was started on a Haswell: its pod has the selectors, and its node a newer CPU."""
    old, new = cpu("Haswell", "erms"), cpu("Icelake", "erms", "vaes")
    nodes = node("east-1", **new, **{f"{MIGRATION_MODEL}Haswell": "true"}), node("west-1", **old)
    objects = kubevirt(), virtual_machine(), instance(HOST_MODEL)
    fresh = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: \
[{key: node-labeller.kubevirt.io/obsolete-host-model, operator: DoesNotExist}]}]}}}"
    migrated = f'{fresh}\nnodeSelector: {{{MIGRATION_MODEL}Haswell: "true", {FEATURE}erms: "true"}}'
    assert drained(run(*nodes, *objects, launcher(migrated))) == "migrated to west-1"
    assert drained(run(*nodes, *objects, launcher(fresh))) == (
        f"it cannot be live-migrated to any node: 1 node lacks {MIGRATION_MODEL}Icelake=true "
        "(the CPU model of its host, required for a live migration)"
    )


def test_the_target_requests_what_the_running_pod_requests(run: Run) -> None:
    """The pod shows what KubeVirt adds in the version of the cluster, and what sidecars need."""
    small = node("west-1")
    small["status"]["allocatable"]["memory"] = "3Gi"
    objects = EAST, small, kubevirt(), virtual_machine(), instance()
    assert drained(run(*objects, launcher(requests={"memory": "2300Mi"}))) == "migrated to west-1"
    assert (
        drained(run(*objects, launcher(requests={"memory": "4Gi"})))
        == "it cannot be live-migrated to any node: 1 node has insufficient memory"
    )
    plan = run(*objects, launcher())
    assert not any("formula" in note for note in plan["notes"])


def test_the_pod_of_an_earlier_migration_is_not_that_of_the_machine(run: Run) -> None:
    ended = launcher(ON_WEST, on="west-1", phase="Succeeded", name="old")
    plan = run(EAST, WEST, kubevirt(), virtual_machine(), instance(), launcher(), ended)
    assert drained(plan) == "migrated to west-1"
    assert [each["pod"] for each in plan["workloads"][0]["replicas"]] == ["virt-launcher-ledger-x"]


def test_a_machine_that_migrates_now_is_on_its_source(run: Run) -> None:
    """The target pod runs beside it; the status of the instance names the node of the machine."""
    target = launcher(on="west-1", name="a-target")
    plan = run(EAST, WEST, kubevirt(), target, virtual_machine(), instance(), launcher(), words=())
    assert [(each["pod"], each["node"]) for each in plan["workloads"][0]["replicas"]] == [("virt-launcher-ledger-x", "east-1")]


# --- the condition LiveMigratable --------------------------------------------------------------------------------------


def test_a_running_machine_without_the_condition_is_judged_by_its_own_spec(run: Run) -> None:
    """The VM was changed to a shared disk, and runs with one that is not."""
    disk = "volumes: [{name: d, hostDisk: {path: /d, type: Disk, shared: %s}}]"
    plan = run(EAST, WEST, kubevirt(), virtual_machine(disk % "true"), instance(disk % "false"), launcher())
    assert drained(plan).endswith("asks for live migration, but a hostDisk that is not shared cannot be live-migrated")


def test_a_running_machine_without_interfaces_has_none(run: Run) -> None:
    """KubeVirt has filled in the default interface when it accepted the instance."""
    bare = "networks: []\ndomain: {devices: {}, memory: {guest: 2Gi}}"
    assert drained(run(EAST, WEST, kubevirt(), virtual_machine(bare), instance(bare), launcher())) == "migrated to west-1"
    assert "gets a bridge on the pod network" in drained(run(EAST, WEST, kubevirt(), virtual_machine(bare)))


def test_the_condition_counts_whatever_the_spec_shows(run: Run) -> None:
    reason = {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable", "message": "disk d is not shared"}
    blocked = run(EAST, WEST, kubevirt(), virtual_machine(), instance(conditions=[reason]), launcher())
    assert drained(blocked).endswith("but it cannot migrate: disk d is not shared")


# --- why it may migrate or not -----------------------------------------------------------------------------------------


def changes(answer: Any) -> list[tuple[str, list[str], bool]]:
    return [(each["text"], each["nodes"], each["restarts"]) for each in answer["migration"]["changes"]]


def test_why_names_the_nodes_that_a_machine_may_migrate_to(why: Run) -> None:
    """A single VM is always down while its own node fails, so that does not affect the exit code."""
    code, answer = why(
        EAST, WEST, node("plain", **{"kubevirt.io/schedulable": "false"}), kubevirt(), virtual_machine(), instance(), launcher()
    )
    assert code == 0
    migration = answer["migration"]
    assert (migration["possible"], migration["node"], migration["targets"]) == (True, "east-1", ["west-1"])
    assert migration["drain"] == "a drain of its node live-migrates it"
    assert (answer["failures"], answer["application"], answer["remedies"]) == ([], None, [])


def test_why_names_what_keeps_a_machine_on_its_node_and_the_smallest_change(why: Run) -> None:
    code, answer = why(EAST, WEST, kubevirt("LiveUpdate"), virtual_machine(ON_EAST), instance(ON_EAST), launcher(ON_EAST))
    assert code == 1
    [reason] = answer["migration"]["reasons"]
    assert (reason["text"], reason["nodes"]) == (f"lacks {HOST}=east-1", ["west-1"])
    assert answer["migration"]["drain"] == "a drain of its node waits until a node takes it"
    assert changes(answer) == [(f"remove `{HOST}: east-1` from nodeSelector", ["west-1"], False)]


def test_without_live_update_a_change_of_the_machine_needs_a_restart(why: Run) -> None:
    _, answer = why(EAST, WEST, kubevirt("Stage"), virtual_machine(ON_EAST), instance(ON_EAST), launcher(ON_EAST))
    assert changes(answer) == [(f"remove `{HOST}: east-1` from nodeSelector", ["west-1"], True)]


def test_the_pod_that_runs_keeps_its_anti_affinity_until_a_restart(why: Run) -> None:
    """KubeVirt passes the change on, but the source pod still rejects the target."""
    zones = [node(name, **{"topology.kubernetes.io/zone": "a"}) for name in ("east-1", "east-2")]
    rule = """
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {kubevirt.io: virt-launcher}}}
"""
    _, answer = why(*zones, kubevirt("LiveUpdate"), virtual_machine(rule), instance(rule), launcher(rule))
    assert answer["migration"]["advice"].startswith("the VM itself runs in its zone until the migration ends")
    assert changes(answer) == [
        (f"require the anti-affinity over {HOST} instead of zones", ["east-2"], True),
        ("make the required podAntiAffinity over zones preferred", ["east-2"], True),
    ]


def test_a_new_node_is_proposed_if_nothing_else_helps(why: Run) -> None:
    _, answer = why(EAST, kubevirt(), virtual_machine(), instance(), launcher())
    assert changes(answer) == [("add a node like `east-1`", [], False)]


def test_why_says_how_to_remove_an_obstacle(why: Run) -> None:
    reason = {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable", "message": "disk d is not shared"}
    code, answer = why(EAST, WEST, kubevirt(), virtual_machine(), instance(conditions=[reason]), launcher())
    assert (code, answer["migration"]["obstacle"]) == (1, "disk d is not shared")
    assert answer["migration"]["drain"] == "a drain of its node waits until it is stopped"
    assert changes(answer) == [("use disks with the access mode ReadWriteMany", [], True)]


def test_failures_are_those_of_the_application(why: Run) -> None:
    """Two VMs of one Service on two nodes: each failure leaves one of them."""
    label = {"app": "books"}
    objects: list[Object] = [EAST, WEST, kubevirt()]
    for name, on in (("ledger", "east-1"), ("archive", "west-1")):
        machine, running, pod = virtual_machine(), instance(on=on), launcher(on=on)
        for each in (machine, running):
            each["metadata"]["name"] = name
        machine["spec"]["template"]["metadata"] = {"labels": label}
        running["metadata"].update(labels=label, **owned("VirtualMachine", name))
        pod["metadata"].update(name=f"virt-launcher-{name}-x", **owned("VirtualMachineInstance", name))
        pod["metadata"]["labels"].update(label)
        objects += [machine, running, pod]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "books", "namespace": "bank"}, "spec": {"selector": label}}
    code, answer = why(*objects, service)
    assert (code, answer["survives"]) == (0, True)
    assert answer["application"]["workloads"] == ["VirtualMachine bank/ledger", "VirtualMachine bank/archive"]
    assert [(each["what"], each["left"]) for each in answer["failures"]] == [("node east-1", 1), ("node west-1", 1)]


def test_the_text_of_why_begins_with_the_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": [EAST, WEST, kubevirt(), virtual_machine(ON_EAST), instance(ON_EAST)]})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    monkeypatch.setenv("COLUMNS", "100")
    exit_code(monkeypatch, "why", "--no-config", "ledger", "--nodes", "-")
    assert (
        capsys.readouterr().out.split("\nnote:")[0]
        == f"""\
VirtualMachine bank/ledger (<stdin>:1): its pod runs and cannot migrate.

It needs
  nodes with {HOST}=east-1
  105m CPU and 2.3Gi memory for each pod

Why virt-launcher-ledger on east-1 cannot migrate
  1 node lacks {HOST}=east-1: west-1 (has {HOST}=west-1, not east-1)
  a drain of its node waits until a node takes it

What would let it migrate
  1. remove `{HOST}: east-1` from nodeSelector: to west-1, after a restart
"""
    )


# --- migrations that are requested ---------------------------------------------------------------------------------------


def migration(phase: str = "Scheduling", **spec: Any) -> Object:
    metadata = {"name": "move", "namespace": "bank", "uid": "u-move"}
    content = {"vmiName": "ledger", **spec}
    kind = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration"}
    return {**kind, "metadata": metadata, "spec": content, "status": {"phase": phase}}


def target(spec: str = "", *, on: str = "") -> Object:
    """The target pod of the migration: Pending until it has a node."""
    pod = launcher(spec, on=on, phase="Running" if on else "Pending", name="target")
    pod["metadata"]["labels"]["kubevirt.io/migrationJobUID"] = "u-move"
    pod["metadata"]["annotations"] = {"kubevirt.io/migrationJobName": "move"}
    return pod


def waits(plan: Any) -> list[str]:
    assert not any("skipped" in note for note in plan["notes"])
    return [note for note in plan["workloads"][0]["notes"] if "Migration" in note]


WAITS = "VirtualMachineInstanceMigration move waits: no node takes its target pod"
RUNS = [kubevirt(), virtual_machine(), instance(), launcher()]


def test_the_added_node_selector_counts_for_the_target(run: Run, why: Run) -> None:
    objects = [EAST, WEST, *RUNS, migration(addedNodeSelector={"rack": "r7"})]
    assert waits(run(*objects)) == [f"{WAITS}: 1 node lacks rack=r7"]
    requested = why(*objects)[1]["migration"]["requested"]
    assert (requested["name"], requested["pod"], requested["targets"]) == ("move", None, [])
    assert [each["text"] for each in requested["reasons"]] == ["lacks rack=r7"]
    assert waits(run(EAST, node("west-1", rack="r7"), *objects[2:])) == []


def test_the_node_selector_of_the_machine_takes_precedence_over_the_added_one(run: Run) -> None:
    machine = [kubevirt(), virtual_machine("nodeSelector: {rack: r8}"), instance("nodeSelector: {rack: r8}"), launcher()]
    nodes = [node("east-1", rack="r8"), node("west-1", rack="r8")]
    assert waits(run(*nodes, *machine, migration(addedNodeSelector={"rack": "r7"}))) == []


@pytest.mark.parametrize("machine", [RUNS, [kubevirt(), instance(), launcher()]], ids=["with its VM", "without its VM"])
def test_a_pending_target_is_judged_by_its_own_selectors(run: Run, why: Run, machine: list[Object]) -> None:
    waiting = target(f"nodeSelector: {{{FEATURE}vmx: 'true'}}")
    objects = [EAST, node("west-1", **{VENDOR + "AMD": "true"}), *machine, migration(), waiting]
    lacks = f"1 node lacks {FEATURE}vmx=true (required by KubeVirt)"
    assert waits(run(*objects)) == [f"{WAITS} virt-launcher-ledger-target: {lacks}"]
    if machine is RUNS:
        code, answer = why(*objects)
        assert code == 0  # Another migration may succeed.
        assert answer["migration"]["requested"]["pod"] == "virt-launcher-ledger-target"


@pytest.mark.parametrize(
    "change",
    [{"phase": "Failed"}, {"phase": "Succeeded"}, {"phase": "Running"}, {"sendTo": {"migrationID": "x", "connectURL": "other:9185"}}],
)
def test_a_migration_that_has_ended_or_has_a_target_changes_nothing(run: Run, change: Any) -> None:
    assert waits(run(EAST, WEST, *RUNS, migration(**{"addedNodeSelector": {"rack": "r7"}, **change}))) == []


def test_a_target_pod_on_a_node_waits_no_longer(run: Run) -> None:
    assert waits(run(EAST, WEST, *RUNS, migration(addedNodeSelector={"rack": "r7"}), target(on="west-1"))) == []


def test_a_migration_in_progress_ends_on_the_node_of_its_target(run: Run, why: Run) -> None:
    pods = [launcher(), target(on="west-1")]
    for pod in pods:
        pod["metadata"]["labels"]["kubevirt.io/created-by"] = "u-vmi"
    objects = [EAST, WEST, node("north-1"), *RUNS[:-1], migration("Running"), *pods]
    assert drained(run(*objects)) == "migrated to west-1"
    assert why(*objects)[1]["migration"]["targets"] == ["west-1"]


def test_a_target_pod_of_a_migration_that_has_failed_is_left_out(run: Run) -> None:
    assert waits(run(EAST, WEST, *RUNS, migration("Failed"), target("nodeSelector: {rack: r7}"))) == []


def test_the_machine_does_not_run_in_a_pending_target(run: Run) -> None:
    plan = run(EAST, WEST, *RUNS[:-1], migration(), target("nodeSelector: {rack: r7}"))
    assert waits(plan) == [f"{WAITS} virt-launcher-ledger-target: 1 node lacks rack=r7"]
    assert drained(plan) == "migrated to west-1"


# --- networks with devices -------------------------------------------------------------------------------------------------

VF = "example.com/vf"
FAST = """
networks: [{name: default, pod: {}}, {name: fast, multus: {networkName: fabric/fast}}]
domain: {devices: {interfaces: [{name: default, masquerade: {}}, {name: fast, sriov: {}}]}, memory: {guest: 2Gi}}
"""


def network(namespace: str = "fabric", name: str = "fast", resource: str = VF) -> Object:
    metadata = {"name": name, "namespace": namespace, "annotations": {"k8s.v1.cni.cncf.io/resourceName": resource}}
    kind = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    return {**kind, "metadata": metadata, "spec": {"config": "{}"}}


def with_devices(name: str, number: str) -> Object:
    result = node(name)
    result["status"]["allocatable"][VF] = number
    return result


def scheduled(plan: Any) -> list[str | None]:
    return [each["node"] for each in plan["workloads"][0]["replicas"]]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [("0", [None]), ("1", ["west-1"])],
)
def test_a_machine_needs_the_device_of_its_network(run: Run, devices: str, expected: list[str | None]) -> None:
    assert scheduled(run(EAST, with_devices("west-1", devices), kubevirt(), network(), virtual_machine(FAST), words=())) == expected


def test_each_network_needs_a_device_of_its_own(run: Run) -> None:
    two = FAST.replace("networkName: fabric/fast}}", "networkName: fabric/fast}}, {name: slow, multus: {networkName: local}}")
    own = network("bank", "local")
    assert scheduled(run(with_devices("west-1", "1"), kubevirt(), network(), own, virtual_machine(two), words=())) == [None]
    assert scheduled(run(with_devices("west-1", "2"), kubevirt(), network(), own, virtual_machine(two), words=())) == ["west-1"]


@pytest.mark.parametrize("nodes", [[EAST, WEST], [with_devices("east-1", "1"), with_devices("west-1", "1")]], ids=["no node", "others"])
def test_an_unknown_network_or_device_requires_nothing(run: Run, nodes: list[Object]) -> None:
    definition = network() if nodes[0] is EAST else network("elsewhere")
    plan = run(*nodes, kubevirt(), definition, virtual_machine(FAST), words=())
    assert scheduled(plan) != [None]
    ignored = [f"no node has {VF} in status.allocatable, so the simulation ignores what its networks request"]
    assert [note for note in plan["workloads"][0]["notes"] if VF in note] == (ignored if nodes[0] is EAST else [])


@pytest.mark.parametrize("has_pod", [True, False])
def test_the_target_of_a_migration_needs_a_free_device(run: Run, has_pod: bool) -> None:
    pod = launcher(requests={"cpu": "100m", "memory": "2300Mi", VF: "1"})
    objects = [kubevirt(), network(), virtual_machine(FAST), instance(FAST), *([pod] if has_pod else [])]
    plan = run(with_devices("east-1", "1"), with_devices("west-1", "0"), *objects)
    assert drained(plan) == f"it cannot be live-migrated to any node: 1 node has insufficient {VF}"
    assert drained(run(with_devices("east-1", "1"), with_devices("west-1", "1"), *objects)) == "migrated to west-1"


# --- where virt-handler runs -----------------------------------------------------------------------------------------------


def listed(name: str, **labels: str) -> Object:
    """A node that a user writes by hand, without the labels of virt-handler."""
    result = node(name, **labels)
    del result["metadata"]["labels"]["kubevirt.io/schedulable"]
    return result


def placing(placement: str, kind: str = "KubeVirt") -> Object:
    chosen = {"nodePlacement": yaml.safe_load(placement)}
    if kind == "KubeVirt":
        return {**kubevirt(), "spec": {"workloads": chosen}}
    spec = {"workloads": chosen} if kind == "v1beta1" else {"deployment": {"nodePlacements": {"workload": chosen["nodePlacement"]}}}
    metadata = {"name": "kubevirt-hyperconverged", "namespace": "kubevirt"}
    return {"apiVersion": f"hco.kubevirt.io/{kind}", "kind": "HyperConverged", "metadata": metadata, "spec": spec}


def possible(plan: Any) -> list[str]:
    return [each["node"] for each in plan["workloads"][0]["verdicts"] if each["feasible"]]


HANDLERS = [listed("a"), listed("b"), listed("v", role="virt")]
PREFERENCE = "{weight: 1, preference: {matchExpressions: [{key: role, operator: In, values: [virt]}]}}"
BESIDE = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}"
TERM = "{nodeSelectorTerms: [{matchExpressions: [{key: role, operator: In, values: [virt]}]}]}"


@pytest.mark.parametrize("kind", ["KubeVirt", "v1beta1", "v1"])
@pytest.mark.parametrize(
    "placement",
    [
        "nodeSelector: {role: virt}",
        f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {TERM}}}}}",
    ],
)
def test_machines_run_only_where_virt_handler_does(run: Run, kind: str, placement: str) -> None:
    plan = run(*HANDLERS, placing(placement, kind), virtual_machine(), words=())
    assert possible(plan) == ["v"]
    assert plan["workloads"][0]["verdicts"][0]["why"] == "lacks kubevirt.io/schedulable=true (required by KubeVirt)"


@pytest.mark.parametrize(
    "placement",
    [
        "nodeSelector: {role: elsewhere}",  # The list of nodes is incomplete.
        f"affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{PREFERENCE}]}}}}",
        f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{BESIDE}]}}}}",
    ],
    ids=["on no node", "preferred", "pods"],
)
def test_other_placements_of_virt_handler_exclude_no_node(run: Run, placement: str) -> None:
    assert possible(run(*HANDLERS, placing(placement), virtual_machine(), words=())) == ["a", "b", "v"]


def test_nodes_of_a_dump_show_where_virt_handler_runs(run: Run) -> None:
    nodes = [node("a"), listed("v", role="virt")]
    assert possible(run(*nodes, placing("nodeSelector: {role: virt}"), virtual_machine(), words=())) == ["a"]


def test_a_machine_that_excludes_itself_is_explained_and_not_counted(run: Run, why: Run) -> None:
    machine = """
    affinity:
      podAntiAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {kubevirt.io: virt-launcher}}}
    """
    nodes = [node(name, **{"topology.kubernetes.io/zone": "z"}) for name in ("east-1", "west-1")]
    far = node("far-1", gpu="yes", **{"topology.kubernetes.io/zone": "far"})
    far["spec"] = {"unschedulable": True}
    objects = [*nodes, far, kubevirt(), virtual_machine(machine), instance(machine), launcher(machine)]
    itself = "the VM itself runs in its zone until the migration ends, so its required anti-affinity rejects the target pod there"
    assert drained(run(*objects)).startswith(f"it cannot be live-migrated to any node: 1 node is cordoned; {itself}")
    assert [each["text"] for each in why(*objects)[1]["migration"]["reasons"]] == ["is cordoned"]
