"""Verdicts and runs against recorded answers of the real scheduler, and against a few scenarios written out here."""

import re
from typing import Any

from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, node
from exactness import counted
from shared_material import cases


def cluster_of(case: dict[str, Any]) -> Cluster:
    return Cluster(
        nodes=case["nodes"],
        pods=case["existing"],
        namespaces=case["namespaces"],
        services=case.get("services", ()),
        replica_sets=case.get("replicaSets", ()),
        stateful_sets=case.get("statefulSets", ()),
        resources=case.get("resources", False),
        version=(1, int(case.get("kubernetes", case.get("version", "1.34")).split(".")[1])),
        feature_gates=case.get("gates", ()),
    )


def difference(case: dict[str, Any]) -> list[str]:
    """The parts of a verdict that are not as recorded."""
    expected = case["answer"].get("fixed", case["answer"])
    verdict = cluster_of(case).evaluate(case["pod"])
    parts = {
        "feasible": (verdict.feasible, expected["feasible"]),
        "reason": (verdict.reason, expected.get("reason", {})),
        "scores": (verdict.scores, expected.get("scores", {})),
        "total": (verdict.total, expected.get("total", {})),
        "error": (verdict.error, _failure(expected.get("error"))),
    }
    return [f"{case['id']} {part}" for part, (found, wanted) in parts.items() if found != wanted]


def _failure(error: str | None) -> str | None:
    """The extension point and the plugin that fails, out of the scheduler's message where that was recorded."""
    message = re.match(r'(\w+) : running \w+ plugin "(\w+)"', error or "")
    return " ".join(message.groups()) if message else error


def run_difference(case: dict[str, Any]) -> list[str]:
    """The parts of a run that are not as recorded."""
    expected = case["answer"]
    run = cluster_of(case).schedule(case["pods"])
    settled = expected.get("settled", {**expected, "rounds": 0})
    parts = {
        "placements": (run.placements, expected["placements"]),
        "unschedulable": (run.unschedulable, expected["unschedulable"]),
        "settled placements": (run.settled.placements, settled["placements"]),
        "settled unschedulable": (run.settled.unschedulable, settled["unschedulable"]),
        "rounds": (run.rounds, settled["rounds"]),
    }
    return [f"{case['id']} {part}" for part, (found, wanted) in parts.items() if found != wanted]


def step_difference(case: dict[str, Any]) -> list[str]:
    """The steps of a run that are not as recorded: what is feasible, why not, the totals and which nodes tie."""
    cluster = cluster_of(case)
    pods = {item["metadata"]["name"]: item for item in case["pods"]}
    found = []
    for step in case["answer"]["steps"]:
        incoming = pods[step["pod"]]
        verdict = cluster.evaluate(incoming)
        best = [name for name, total in verdict.total.items() if total == max(verdict.total.values())]
        feasible = [name for name, fits in verdict.feasible.items() if fits]
        answer = (feasible, verdict.reason, verdict.total, best, best[0] if best else "")
        if answer != (step["feasible"], step.get("reason", {}), step.get("total", {}), step.get("best", []), step["node"]):
            found.append(f"{case['id']} {step['pod']}")
        if step["node"]:
            cluster.bind(incoming, step["node"])
    return found


class TestRecordedAnswers:
    def test_every_single_case(self) -> None:
        recorded = [case for case in cases("scheduling_cases.jsonl.gz") if not case["answer"].get("api_invalid")]
        assert recorded
        wrong = [part for case in recorded for part in difference(case)]
        assert wrong == []
        counted("scheduling of one pod: possible nodes, reasons, every score", len(recorded) - len(wrong), len(recorded))

    def test_even_what_no_api_server_would_store(self) -> None:
        recorded = [case for case in cases("scheduling_cases.jsonl.gz") if case["answer"].get("api_invalid")]
        assert [part for case in recorded for part in difference(case)] == []

    def test_edge_cases_of_newer_versions(self) -> None:
        recorded = [case for case in cases("edge_cases.jsonl.gz") if "answer" in case]
        assert recorded
        assert [part for case in recorded for part in difference(case)] == []

    def test_scores_of_resources(self) -> None:
        recorded = cases("scheduling_resources_cases.jsonl.gz")
        assert recorded
        wrong = [part for case in recorded for part in difference(case)]
        assert wrong == []
        counted("the same with resource requests", len(recorded) - len(wrong), len(recorded))

    def test_tolerations_that_compare_numbers(self) -> None:
        recorded = cases("scheduling_gates_cases.jsonl.gz")
        assert recorded
        wrong = [part for case in recorded for part in difference(case)]
        assert wrong == []
        counted("the same with the feature gate TaintTolerationComparisonOperators", len(recorded) - len(wrong), len(recorded))

    def test_every_sequence(self) -> None:
        recorded = cases("sequence_cases.jsonl.gz")
        assert recorded
        wrong = [part for case in recorded for part in run_difference(case)]
        assert wrong == []
        counted("scheduling of a sequence of pods: nodes, retries, pending pods", len(recorded) - len(wrong), len(recorded))

    def test_every_step_of_every_sequence(self) -> None:
        assert [part for case in cases("sequence_cases.jsonl.gz") for part in step_difference(case)] == []


def workers() -> list[Object]:
    """A control plane and three zones of two workers each; the second one of a zone is fast."""
    nodes = [node("control-plane", {HOST: "control-plane"}, taints=["node-role.kubernetes.io/control-plane:NoSchedule"])]
    for zone, (plain, fast) in {"north": ("w1", "w2"), "south": ("w3", "w4"), "west": ("w5", "w6")}.items():
        nodes += [node(plain, {HOST: plain, ZONE: zone}), node(fast, {HOST: fast, ZONE: zone, "performance": "high"})]
    return nodes
