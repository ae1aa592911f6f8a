"""Launcher pods, and whether machines can be live-migrated, against the recorded answers of KubeVirt's own code."""

from typing import Any

import pytest

from afflint.controllers.launcher_pod import launcher_pod, target_labels
from afflint.controllers.migratability import obstacles
from afflint.kube.added_labels import CREATED_BY
from afflint.kube.decoding import InventoryError
from exactness import counted
from shared_material import cases

Case = dict[str, Any]

SELECTORS, MIGRATABLE = "kubevirt_selector_cases.jsonl.gz", "kubevirt_migratable_cases.jsonl.gz"
UID = "11111111-2222-3333-4444-555555555555"


def node_labels(case: Case) -> list[dict[str, str]]:
    return [node["metadata"]["labels"] for node in case.get("nodes", [])]


def rendered(case: Case) -> dict[str, Any]:
    """The pod of a case: of a launch, or the target of a migration."""
    vmi = {**case["vmi"], "metadata": {**case["vmi"]["metadata"], "uid": UID}}
    given = vmi, case["cluster_config"], case.get("instancetype"), case.get("preference")
    pod = launcher_pod(*given, nodes=node_labels(case), pvcs=case.get("pvcs", ()))
    if case["kind"] == "launch":
        return pod
    migration = case["migration"]
    source = next(node["metadata"]["labels"] for node in case["nodes"] if node["metadata"]["name"] == migration["source_node"])
    absent = str(pod["spec"].get("affinity"))
    return migration_target_pod(pod, source, host_model="obsolete-host-model" in absent, added=migration.get("added_node_selector"))


def migration_target_pod(pod: dict[str, Any], source: dict[str, str], *, host_model: bool, added: dict[str, str] | None) -> dict[str, Any]:
    """The target pod of a migration, from the launcher pod and the labels of the source node.

    ``host_model`` if the VM has the CPU model of its node; ``added`` is the ``addedNodeSelector`` of the migration.
    """
    spec = pod["spec"]
    wanted = dict.fromkeys(target_labels(spec["nodeSelector"], spec["nodeSelector"], source, host_model=host_model), "true")
    affinity = spec.get("affinity") or {}
    apart = affinity.get("podAntiAffinity") or {}
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    identity = {"matchLabels": {CREATED_BY: pod["metadata"]["labels"][CREATED_BY]}}
    terms = [*apart.get(field, ()), {"labelSelector": identity, "topologyKey": "kubernetes.io/hostname"}]
    changed = {
        "nodeSelector": {**(added or {}), **spec["nodeSelector"], **wanted},
        "affinity": {**affinity, "podAntiAffinity": {**apart, field: terms}},
    }
    return {**pod, "spec": {**spec, **changed}}


def answer(pod: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a pod, under the names of the recording."""
    spec, resources = pod["spec"], pod["spec"]["containers"][0]["resources"]
    return {
        "node_selector": spec["nodeSelector"],
        "affinity": spec.get("affinity"),
        "tolerations": spec["tolerations"],
        "labels": pod["metadata"]["labels"],
        "annotations": pod["metadata"]["annotations"],
        "device_requests": {name: value for name, value in resources["requests"].items() if name not in ("cpu", "memory")},
        "topology_spread_constraints": spec.get("topologySpreadConstraints"),
        "runtime_class": spec.get("runtimeClassName"),
    }


@pytest.fixture(scope="module")
def selector_cases() -> list[Case]:
    return cases(SELECTORS)


def test_pods_are_those_that_virt_controller_makes(selector_cases: list[Case]) -> None:
    compared = [case for case in selector_cases if "error" not in case]
    wrong = []
    for case in compared:
        found = answer(rendered(case))
        if case["kind"] == "migration":
            for field, names in (("labels", ("kubevirt.io/migrationJobUID",)), ("annotations", ("kubevirt.io/migrationJobName",))):
                case = {**case, field: {key: value for key, value in case[field].items() if key not in names}}
        wrong += [f"{case['id']} {field}: {value} against {case.get(field)}" for field, value in found.items() if value != case.get(field)]
    assert wrong == []
    counted("pods of virtual machines, and of their migrations", len(compared) - len({each.split()[0] for each in wrong}), len(compared))


def test_no_pod_where_virt_controller_makes_none(selector_cases: list[Case]) -> None:
    refused = [case for case in selector_cases if "error" in case]
    assert refused
    for case in refused:
        with pytest.raises(InventoryError) as raised:
            rendered(case)
        assert str(raised.value) == case["error"]


def test_machines_that_migrate_and_why_others_do_not() -> None:
    recorded = cases(MIGRATABLE)
    wrong = []
    for case in recorded:
        claims = [{"metadata": {"name": name}, "spec": {"accessModes": modes}} for name, modes in case.get("pvc_access_modes", {}).items()]
        first = next(obstacles(case["vmi"], case["cluster_config"], claims, host_cpu_model=case.get("host_cpu_model")), None)
        reason = None if first is None else first.reason
        if reason != (case["reason"] or None):
            wrong.append(f"{case['id']}: {reason} against {case['reason']}")
    assert wrong == []
    counted("machines that can be migrated, and why others cannot", len(recorded) - len(wrong), len(recorded))
    assert {case["reason"] for case in recorded} > {"", "InterfaceNotLiveMigratable", "DisksNotLiveMigratable"}
