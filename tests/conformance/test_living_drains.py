"""Drains that a real control plane ran: afflint says of each whether it completes and which nodes keep pods, as recorded."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afflint.config.settings import default
from afflint.pipeline.session import Session
from afflint.placement.plan import DisruptionEffect, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.upgrade_pools import UpgradeRequest
from afflint.simulation.inputs import inputs_of
from shared_material import cases


class Run(NamedTuple):
    """A drain of one recorded run: the case, the placement before it, and what followed."""

    case: dict[str, Any]
    initial: dict[str, Any]
    step: dict[str, Any]


def runs() -> Iterator[Run]:
    """Each distinct start of the cases that only drain, without force, and begin with every pod running."""
    for case in cases("living_cases.jsonl.gz"):
        first = case["event"][0]
        if case["kind"] != "drain" or len(case["event"]) != 1 or first.get("noIgnoreDaemonSets") or first.get("force"):
            continue
        for observed in case["observed"]:
            pods = observed["initial"]["pods"]
            if all("node" in pod for pod in pods) and not observed["steps"][0].get("timeout"):
                yield Run(case, observed["initial"], observed["steps"][0])


def running(case: dict[str, Any], pods: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The recorded pods as a dump would show them."""
    known = {f"{each['kind']}/{each['metadata']['name']}": each for each in case["manifests"]}
    return [_pod(known[pod["workload"]], pod) for pod in pods]


def _pod(workload: dict[str, Any], pod: dict[str, Any]) -> dict[str, Any]:
    kind, name = pod["workload"].split("/")
    if kind == "Pod":
        return {**workload, "spec": {**workload["spec"], "nodeName": pod["node"]}, "status": {"phase": "Running"}}
    template = workload["spec"]["template"]
    owner = ("ReplicaSet", pod["pod"].rpartition("-")[0]) if kind == "Deployment" else (kind, name)
    version = "batch/v1" if owner[0] == "Job" else "apps/v1"
    labels = dict(template["metadata"]["labels"])
    if kind == "Deployment":
        labels["pod-template-hash"] = owner[1].rpartition("-")[2]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod["pod"],
            "namespace": "shop",
            "labels": labels,
            "ownerReferences": [{"apiVersion": version, "kind": owner[0], "name": owner[1], "uid": "1", "controller": True}],
        },
        "spec": {**template["spec"], "nodeName": pod["node"]},
        "status": {"phase": "Running"},
    }


def plan(run: Run, folder: Path, asked: DisruptionRequest) -> Plan:
    """What afflint says of a request in the recorded state."""
    pods = running(run.case, run.initial["pods"])
    for name, items in (("nodes", run.case["nodes"]), ("manifests", run.case["manifests"]), ("pods", pods)):
        folder.joinpath(f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    session = Session(default()._replace(nodes=(str(folder / "nodes.json"),)))
    given = inputs_of(session, session.sources((str(folder / "manifests.json"),)), (str(folder / "pods.json"),)).simulation_input
    return make_plan(given.inventory, given.pod_sources, asked=asked, budgets=given.budgets, evictions=given.evictions)


def effect(run: Run, folder: Path) -> DisruptionEffect:
    """What afflint says of the drain."""
    return plan(run, folder, DisruptionRequest(drain=(",".join(run.step["drain"]["nodes"]),))).losses[0]


def pending(run: Run) -> dict[str, int]:
    """How many pods of each workload waited for a node in the end."""
    return dict(Counter(pod["workload"].replace("/", " shop/") for pod in run.step["pods"] if "pending" in pod))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Run, DisruptionEffect]]:
    """Each recorded run with what afflint says of it; runs with the same start once."""
    folder = tmp_path_factory.mktemp("drains")
    distinct = {json.dumps([run.case["id"], sorted((pod["workload"], pod["node"]) for pod in run.initial["pods"])]): run for run in runs()}
    return [(run, effect(run, folder)) for run in distinct.values()]


def test_each_drain_ends_as_recorded(compared: list[tuple[Run, DisruptionEffect]]) -> None:
    wrong = [run.case["id"] for run, reasons in compared if (reasons.result == "ends") != run.step["drain"]["ended"]]
    assert wrong == []
    several = [run for run, _ in compared if len(run.step["drain"]["nodes"]) > 1]
    assert len(several) > 20
    assert {run.step["drain"]["ended"] for run in several} == {True, False}


def test_as_many_pods_wait_for_a_node_as_recorded(compared: list[tuple[Run, DisruptionEffect]]) -> None:
    wrong = {}
    for run, reasons in compared:
        if reasons.result == "ends":
            waiting = dict(Counter(move.workload for move in reasons.moves if move.fate == "waits"))
            if waiting != pending(run):
                wrong[run.case["id"]] = (waiting, pending(run), run.case["note"])
    assert wrong == {}


def test_nodes_that_are_drained_and_uncordoned_one_by_one_leave_a_workload_where_it_was_recorded(tmp_path: Path) -> None:
    case = next(case for case in cases("living_cases.jsonl.gz") if case["id"] == "drain-043")
    (before,), (after,) = ([seen for seen, _ in case["seen"][when]] for when in ("initial", "final"))
    assert before == after == {"Deployment/web": {"a": 1, "b": 1, "c": 1}}
    run = Run(case, {"pods": []}, case["observed"][0]["steps"][0])
    (upgrade,) = plan(run, tmp_path, DisruptionRequest(upgrade=UpgradeRequest(["each"]))).upgrades
    assert upgrade.pools[0].nodes == ("a1", "a2", "b1", "b2", "c1", "c2")
    assert (upgrade.completes, upgrade.domains, len(upgrade.replicas)) == (True, (), 3)
