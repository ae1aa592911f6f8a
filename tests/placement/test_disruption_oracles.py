"""Two ways to ask one question about a disruption give one answer, on generated clusters."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from afflint.controllers.budgets import read_budget
from afflint.controllers.pod_source import PodSource
from afflint.inventory.inventory import Priorities
from afflint.placement import planner
from afflint.placement.plan import DisruptionEffect, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.schedule import build_schedule
from afflint.placement.upgrade_pools import UpgradeRequest
from afflint.scheduler.pods import Pod
from afflint.scheduler.preemption import Rank
from afflint.workers import Workers
from cluster_objects import HOST, ZONE, Object, app, node, zoned
from random_orders import drawn_cluster
from workload_objects import inventory, pod_source

SEEDS = range(150)
HERE = Workers()


class Question:
    """A generated cluster, with priorities and budgets in a part of the cases, and some nodes of it."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.nodes, self.pod_sources = drawn_cluster(random)
        names = [each["metadata"]["name"] for each in self.nodes]
        self.names = random.sample(names, random.randint(1, len(names)))
        self.budgets = [_budget(each, random) for each in self.pod_sources if random.random() < 0.3]
        self.priorities: Priorities | None = None
        if random.random() < 0.4:
            self.pod_sources = [replace(each, priority=random.choice([0, 10, 100])) for each in self.pod_sources]
            self.priorities = Priorities(dict[tuple[str, str], Rank](), self.budgets)

    def plan(self, workers: Workers = HERE, **asked: Any) -> Plan:
        given = inventory(self.nodes, priorities=self.priorities)
        return make_plan(given, self.pod_sources, asked=DisruptionRequest(**asked), budgets=self.budgets, workers=workers)

    def effect(self, **asked: Any) -> DisruptionEffect:
        (found,) = self.plan(**asked).losses
        return found


def _budget(pod_source: PodSource, random: Random) -> Any:
    spec: Object = {"selector": app(pod_source.name), random.choice(["minAvailable", "maxUnavailable"]): random.randint(1, 2)}
    metadata = {"name": pod_source.name, "namespace": "default"}
    return read_budget({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})


def effects(found: DisruptionEffect) -> DisruptionEffect:
    """The effects without the words of the request."""
    return found._replace(what="", action="lose", nodes=tuple(sorted(found.nodes)), removed=None, stages=())


@pytest.mark.parametrize("action", ["lose", "remove"])
def test_one_disruption_of_several_nodes_is_that_of_each_of_them_together(action: str) -> None:
    different = []
    for seed in SEEDS:
        question = Question(seed)
        alone = question.effect(**{action: [",".join(question.names)]})
        together = question.effect(**{action: question.names}, together=True)
        if effects(alone) != effects(together):
            different.append(seed)
    assert different == []


def test_the_removal_after_a_failure_is_that_of_both_together() -> None:
    for seed in SEEDS:
        question = Question(seed)
        nodes = [",".join(question.names)]
        removed = question.effect(lose=nodes).removed
        if removed is not None:
            assert effects(removed) == effects(question.effect(lose=nodes, remove=nodes, together=True))


def _dumped(pod: Pod, node: str, spec: Mapping[str, Any]) -> Object:
    assert pod.controller is not None
    owner = dict(zip(("apiVersion", "kind", "name"), pod.controller, strict=True), controller=True)
    metadata = {"name": pod.name, "namespace": pod.namespace, "labels": dict(pod.labels), "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "nodeName": node}, "status": {"phase": "Running"}}


def test_a_plan_with_the_pods_of_a_plan_leaves_them_where_they_are() -> None:
    compared = 0
    for seed in SEEDS:
        nodes, pod_sources = drawn_cluster(Random(seed))
        pod_sources = [each for each in pod_sources if each.kind in ("Deployment", "StatefulSet")]
        placed = build_schedule(inventory(nodes), pod_sources).workloads
        pods = [_dumped(pod, each.nodes[pod.key], each.pod_source.pod) for each in placed for pod in each.pods if pod.key in each.nodes]
        found = make_plan(inventory(nodes, pods=pods), pod_sources)
        before = {(each.pod_source.key, pod.name): each.nodes.get(pod.key) for each in placed for pod in each.pods}
        assert {(each.key, replica.pod): replica.node for each in found.workloads for replica in each.replicas} == before
        compared += len(pods)
    assert compared > len(SEEDS)


def test_a_zone_that_can_be_drained_can_be_upgraded_at_once_and_the_same_pods_move() -> None:
    """Not the other way round: a drain takes one node after another, and a budget may stop it earlier."""
    drained = 0
    for seed in SEEDS:
        question = Question(seed)
        zone = question.nodes[0]["metadata"]["labels"].get(ZONE)
        if zone:
            drain = question.effect(drain=[f"zone={zone}"])
            (upgrade,) = question.plan(upgrade=UpgradeRequest([f"{ZONE}={zone}"], unavailable="100%")).upgrades
            if drain.result == "ends":
                drained += 1
                assert upgrade.completes
                moved = {(replica.workload, replica.pod) for replica in upgrade.replicas}
                assert {(move.workload, move.pod) for move in drain.moves} == moved
    assert drained > len(SEEDS) / 2


def test_events_and_moves_name_the_same_seconds() -> None:
    """Pods that tolerate an unreachable node for longer are replaced later."""
    unreachable = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}
    web, api = pod_source("web", replicas=1), pod_source("api", replicas=1, tolerations=[unreachable])
    nodes = [*zoned(n1=""), node("n2", {HOST: "n2"}, taints=["spare:PreferNoSchedule"])]
    (loss,) = make_plan(inventory(nodes), [web, api], asked=DisruptionRequest(lose=["n1"])).losses
    seconds = {event.pod[1]: event.at for event in loss.events if event.pod is not None and event.what == "scheduled"}
    assert seconds == {move.pod: move.after for move in loss.moves}
    assert sorted(seconds.values()) == [350, 650]


def test_a_pod_that_tolerates_an_unreachable_node_for_longer_gets_what_the_others_leave() -> None:
    """Each pod has its node; when both nodes fail, one node with room for one pod is left."""
    unreachable = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}
    port = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    web, api = pod_source("web", replicas=1, tolerations=[unreachable], **port), pod_source("api", replicas=1, **port)
    nodes = [*zoned(n1="", n2=""), node("n3", {HOST: "n3"}, taints=["spare:PreferNoSchedule"])]
    (loss,) = make_plan(inventory(nodes), [web, api], asked=DisruptionRequest(lose=["n1,n2"])).losses
    assert {move.pod: (move.target, move.after) for move in loss.moves} == {"api-0": ("n3", 350), "web-0": (None, 650)}


@pytest.mark.parametrize("together", [False, True])
def test_other_processes_simulate_the_same(monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    asked = {"lose": ["each:node"], "drain": ["zone=a"], "remove": ["zone=a"], "together": together}
    question = next(found for found in map(Question, SEEDS) if found.budgets and "a" in {zone_of(each) for each in found.nodes})
    here = question.plan(**asked)
    monkeypatch.setattr(planner, "_WORTH_PROCESSES", 0)
    calls = list[int]()

    class Recorded(Workers):
        def map(self, *given: Any) -> Iterator[Any]:
            calls.append(len(given[1]))
            return super().map(*given)

    assert question.plan(Recorded(2), **asked).losses == here.losses
    assert calls == [len(here.losses)]
    assert calls[0] > 1


def zone_of(found: Object) -> str | None:
    return found["metadata"]["labels"].get(ZONE)
