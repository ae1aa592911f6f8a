"""Verdicts and runs against recorded answers of the real scheduler, and against a few scenarios written out here."""

from __future__ import annotations

import re
from typing import Any

from afflint.placement import Cluster, ScheduleResult
from cluster_objects import HOST, ZONE, Object, apart, app, expression, node, node_preferences, node_terms, pod, spread, term, together
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


PERFORMANCE = "performance In high"


def workers() -> list[Object]:
    """A control plane and three zones of two workers each; the second one of a zone is fast."""
    nodes = [node("control-plane", {HOST: "control-plane"}, taints=["node-role.kubernetes.io/control-plane:NoSchedule"])]
    for zone, (plain, fast) in {"north": ("w1", "w2"), "south": ("w3", "w4"), "west": ("w5", "w6")}.items():
        nodes += [node(plain, {HOST: plain, ZONE: zone}), node(fast, {HOST: fast, ZONE: zone, "performance": "high"})]
    return nodes


def replicas(name: str, count: int, **spec: Any) -> list[Object]:
    return [pod(f"{name}-{index}", {"app": name}, **spec) for index in range(count)]


DATABASE = {**node_terms(PERFORMANCE), **apart(term(ZONE, app("database")))}
CACHE = apart(term(ZONE, app("cache")))
APPLIANCE = {**together(term(HOST, app("cache"))), **apart(term(ZONE, app("appliance")))}


def three_tiers() -> list[Object]:
    return [
        *replicas("database", 3, affinity=DATABASE),
        *replicas("cache", 3, affinity=CACHE),
        *replicas("appliance", 3, affinity=APPLIANCE),
    ]


class TestThreeTiersInThreeZones:
    """Databases on fast nodes, one per zone; caches one per zone; an appliance beside each cache."""

    def lose(self, lost: str) -> ScheduleResult:
        run = Cluster(nodes=workers()).schedule(three_tiers())
        return run.cluster.without([lost]).schedule(run.cluster.evicted([lost]))

    def test_everything_finds_a_place(self) -> None:
        run = Cluster(nodes=workers()).schedule(three_tiers())
        assert run.unschedulable == {}
        assert [run.placements[f"database-{index}"] for index in range(3)] == ["w2", "w4", "w6"]
        assert [run.placements[f"cache-{index}"] for index in range(3)] == ["w1", "w3", "w5"]
        assert [run.placements[f"appliance-{index}"] for index in range(3)] == ["w1", "w3", "w5"]

    def test_losing_a_plain_node_moves_cache_and_appliance_to_the_fast_node_of_the_zone(self) -> None:
        after = self.lose("w1")
        assert after.settled == ({"cache-0": "w2", "appliance-0": "w2"}, {})

    def test_losing_a_fast_node_leaves_a_database_without_a_place(self) -> None:
        after = self.lose("w2")
        assert after.settled.placements == {}
        assert after.settled.unschedulable == {
            "database-0": {
                "control-plane": "TaintToleration",
                "w1": "NodeAffinity",
                "w3": "NodeAffinity",
                "w4": "InterPodAffinity",
                "w5": "NodeAffinity",
                "w6": "InterPodAffinity",
            }
        }

    def test_a_follower_before_its_leader_waits_for_the_next_round(self) -> None:
        run = Cluster(nodes=workers()).schedule([*replicas("appliance", 1, affinity=APPLIANCE), *replicas("cache", 1, affinity=CACHE)])
        assert run.placements == {"cache-0": "w1"}
        assert set(run.unschedulable) == {"appliance-0"}
        assert run.settled == ({"cache-0": "w1", "appliance-0": "w1"}, {})
        assert run.rounds == 1

    def test_with_a_key_that_no_node_has_nothing_ever_schedules(self) -> None:
        typo = together(term("topology.kubernetes.io/hostname", app("cache")))
        run = Cluster(nodes=workers()).schedule([*replicas("cache", 3, affinity=CACHE), *replicas("appliance", 3, affinity=typo)])
        assert set(run.settled.unschedulable) == {"appliance-0", "appliance-1", "appliance-2"}


class TestThreeRulesOfAffinity:
    """Preferred zone, required company, required distance: one rule each."""

    nodes = (node("e1", {HOST: "e1", "zone": "east"}), node("e2", {HOST: "e2", "zone": "east"}), node("w1", {HOST: "w1", "zone": "west"}))

    def test_a_weight_of_75_on_the_zone_prefers_it_and_does_not_insist(self) -> None:
        wants_east = node_preferences((75, "zone In east"))
        assert Cluster(nodes=self.nodes).schedule([pod("vm", affinity=wants_east)]).best == {"vm": ("e1", "e2")}
        assert Cluster(nodes=self.nodes[2:]).schedule([pod("vm", affinity=wants_east)]).placements == {"vm": "w1"}

    def test_required_company(self) -> None:
        beside = together(term(HOST, {"matchExpressions": [expression("app In db")]}))
        cluster = Cluster(nodes=self.nodes, pods=[pod("db", {"app": "db"}, on="w1")])
        assert cluster.schedule([pod("web", affinity=beside)]).placements == {"web": "w1"}

    def test_required_distance_takes_one_node_per_pod_and_no_more(self) -> None:
        run = Cluster(nodes=self.nodes).schedule(replicas("web", 4, affinity=apart(term(HOST, app("web")))))
        assert run.placements == {"web-0": "e1", "web-1": "e2", "web-2": "w1"}
        assert set(run.unschedulable) == {"web-3"}


def test_of_several_weighted_preferences_the_best_sum_wins() -> None:
    nodes = [node("a", {"disk": "ssd"}), node("b", {"disk": "ssd", "zone": "z1"}), node("c", {"zone": "z1", "gpu": ""}), node("d")]
    wishes = node_preferences((50, "disk In ssd"), (30, "zone In z1"), (15, "gpu Exists"))
    verdict = Cluster(nodes=nodes).evaluate(pod(affinity=wishes))
    assert verdict.scores["NodeAffinity"] == {"a": 62, "b": 100, "c": 56, "d": 0}
    assert all(verdict.feasible.values())  # also where no preference matches


def test_one_pod_per_physical_host() -> None:
    host = "node.cluster.x-k8s.io/esxi-host"
    nodes = [node(f"vm{index}", {HOST: f"vm{index}", host: f"esxi-{index // 2}"}) for index in range(6)]
    run = Cluster(nodes=nodes).schedule(replicas("web", 3, topologySpreadConstraints=[spread(host, app("web"))]))
    assert run.placements == {"web-0": "vm0", "web-1": "vm2", "web-2": "vm4"}
