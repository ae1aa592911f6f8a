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
        f"it cannot be live-migrated to any node: 1 node lacks {MIGRATION_MODEL}Icelake=true (required by virt-controller)"
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
