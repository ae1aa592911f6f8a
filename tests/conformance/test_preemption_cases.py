"""Preemption against a recorded control plane: what a plan says has been observed, from the same placement before."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cluster_objects import ZONE, Object
from command_line import exit_code
from shared_material import recorded, shared

Spread = dict[str, dict[str, int]]
"""By workload, how many pods run in each zone or are Pending."""


def preemptions() -> list[Object]:
    """The recorded cases of preemption; none if they are not available."""
    try:
        cases = recorded(shared("conformance", "living_cases.jsonl.gz"))
    except pytest.skip.Exception:
        return []
    return [case for case in cases if case["kind"] == "preempt"]


def running(objects: list[Object], recorded_pods: list[Object]) -> list[Object]:
    """The pods of a recorded placement, as the API server returns them."""
    classes = {each["metadata"]["name"]: each["value"] for each in objects if each["kind"] == "PriorityClass"}
    made = {f"{each['kind']}/{each['metadata']['name']}": each for each in objects}
    found = []
    for one in [each for each in recorded_pods if "node" in each]:
        workload = made[one["workload"]]
        template = workload["spec"]["template"]
        owner = {"apiVersion": "apps/v1", "kind": workload["kind"], "name": workload["metadata"]["name"], "controller": True}
        labels = dict(template["metadata"]["labels"])
        if workload["kind"] == "Deployment":
            replica_set = one["pod"].rpartition("-")[0]
            owner |= {"kind": "ReplicaSet", "name": replica_set}
            labels["pod-template-hash"] = replica_set.rpartition("-")[2]
        spec = {**template["spec"], "nodeName": one["node"], "priority": classes.get(template["spec"].get("priorityClassName"), 0)}
        metadata = {"name": one["pod"], "namespace": "shop", "labels": labels, "ownerReferences": [owner]}
        found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}})
    return found


def spread(pods: list[tuple[str, str | None]], zones: dict[str, str]) -> Spread:
    counted: dict[str, Counter[str]] = {}
    for workload, node in pods:
        counted.setdefault(workload, Counter())[zones[node] if node else "pending"] += 1
    return {workload: dict(sorted(each.items())) for workload, each in sorted(counted.items())}


def planned(plan: Any, zones: dict[str, str]) -> Spread:
    """Where the pods are in the end: after the drain, if there is one."""
    pods = {(each["key"], pod["pod"]): pod["node"] for each in plan["workloads"] for pod in each["replicas"]}
    for loss in plan["losses"]:
        assert loss["result"] == "ends"
        pods.update({(move["workload"], move["pod"]): move["target"] for move in loss["moves"]})
    return spread([(key.replace(" shop/", "/"), node) for (key, _), node in pods.items()], zones)


@pytest.mark.parametrize("case", preemptions(), ids=lambda case: case["id"])
def test_a_plan_has_been_observed(
    case: Object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    zones = {each["metadata"]["name"]: each["metadata"]["labels"][ZONE] for each in case["nodes"]}
    first = case["event"][0]
    objects = [*case["manifests"], *first.get("objects", ())]
    outcomes: dict[str, list[Spread]] = {}
    dumps: dict[str, list[Object]] = {}
    drained: dict[str, list[str]] = {}
    for repeat in case["observed"]:
        pods = running(objects, repeat["initial"]["pods"])
        where = sorted((each["workload"], each.get("node", "")) for each in repeat["initial"]["pods"])
        nodes = repeat["steps"][0].get("nodes", [])
        before = json.dumps([where, nodes])
        dumps[before], drained[before] = pods, nodes
        after = [(each["workload"], each.get("node")) for each in repeat["steps"][0]["pods"] if not each.get("terminating")]
        outcomes.setdefault(before, []).append(spread(after, zones))
    for before, observed in outcomes.items():
        (tmp_path / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": case["nodes"]}))
        (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": dumps[before]}))
        drains = [word for node in drained[before] for word in ("--drain", node)]
        files = (str(tmp_path / "all.json"), "--nodes", str(tmp_path / "nodes.json"), "--pods", str(tmp_path / "pods.json"))
        exit_code(monkeypatch, "place", *files, "--format", "json", "--no-config", *drains)
        plan = json.loads(capsys.readouterr().out)
        assert planned(plan, zones) in observed
