"""Verdicts and sequences with volumes against recorded answers of kube-scheduler 1.37."""

from typing import Any

from volume_sequences import Replay, storage_of

from afflint.scheduler.cluster import Cluster
from exactness import counted
from shared_material import cases


def cluster_of(case: dict[str, Any], version: tuple[int, int]) -> Cluster:
    return Cluster(case["nodes"], case["existing"], case["namespaces"], version=version, **storage_of(case))


def difference(case: dict[str, Any], expected: dict[str, Any], version: tuple[int, int]) -> list[str]:
    """The parts of a verdict that are not as recorded. Scores were not recorded for versions before 1.37."""
    verdict = cluster_of(case, version).evaluate(case["pod"])
    parts = {
        "feasible": (verdict.feasible, expected["feasible"]),
        "reason": (verdict.reason, expected.get("reason", {})),
        "messages": (verdict.messages, expected.get("message", {})),
        "unresolvable": (verdict.unresolvable, expected.get("unresolvable", {}).keys()),
        "bindings": (verdict.bindings, expected.get("bindings", {})),
    }
    if version >= (1, 37):
        parts["scores"] = (verdict.scores, expected.get("scores", {}))
        parts["total"] = (verdict.total, expected.get("total", {}))
    return [f"{case['id']} {part}" for part, (found, wanted) in parts.items() if found != wanted]


def test_every_single_case() -> None:
    recorded = [case for case in cases("volume_cases.jsonl.gz") if not case.get("api_invalid")]
    wrong = [part for case in recorded for part in difference(case, case["answer"], (1, 37))]
    assert wrong == []
    counted("pods with volumes: possible nodes, messages, scores, bindings", len(recorded) - len(wrong), len(recorded))


def test_even_what_no_api_server_would_store() -> None:
    recorded = [case for case in cases("volume_cases.jsonl.gz") if case.get("api_invalid")]
    assert [part for case in recorded for part in difference(case, case["answer"], (1, 37))] == []


def test_before_1_37_neither_capacities_nor_missing_drivers_count() -> None:
    recorded = [case for case in cases("volume_cases.jsonl.gz") if "answer_before_1_37" in case]
    assert recorded
    assert [part for case in recorded for part in difference(case, case["answer_before_1_37"], (1, 36))] == []


def test_every_sequence() -> None:
    """Claims that stay bound when nodes fail, are drained and come back, and claims that are deleted."""
    recorded = cases("volume_sequences.jsonl.gz")
    wrong = [case["id"] for case in recorded if [*Replay(case).rounds()] != case["answer"]["rounds"]]
    assert wrong == []
    counted("sequences with volumes, failures and drains: nodes, bindings, scores", len(recorded) - len(wrong), len(recorded))


def test_without_volumes_a_cluster_with_storage_objects_answers_like_any_other() -> None:
    for case in cases("scheduling_cases.jsonl.gz")[::5]:
        plain = Cluster(case["nodes"], case["existing"], case["namespaces"], version=(1, 36))
        assert cluster_of(case, (1, 36)).evaluate(case["pod"]) == plain.evaluate(case["pod"]), case["id"]
