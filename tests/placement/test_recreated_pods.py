"""Pods that replace running ones: their controller creates them from the template of the workload, not from the running pods."""

from typing import Any

import pytest

from afflint.controllers.pod_source import PodSource
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from cluster_objects import HOST, Object, node, pod, together
from workload_objects import inventory, pod_source

NODES = [node("n1", {HOST: "n1"}), node("n2", {HOST: "n2"})]
ON_SSD = {"nodeSelector": {"disk": "ssd"}}
OWNERS = {"Deployment": "ReplicaSet", "CronJob": "Job"}
FAST = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 50, "preference": {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n2"]}]}}
        ]
    }
}


def running(kind: str = "Deployment", **spec: Any) -> Object:
    """A pod of the workload `web` on n1."""
    names = {"Deployment": ("web-abc-1", "web-abc"), "StatefulSet": ("web-0", "web"), "CronJob": ("web-29000000-x", "web-29000000")}
    name, owner = names.get(kind, ("web-1", "web"))
    found = pod(name, {"app": "web"}, on="n1", namespace="default", **spec)
    found["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": OWNERS.get(kind, kind), "name": owner, "controller": True}]
    return found


def plan(template: PodSource, ran: Object, **asked: list[str]) -> Plan:
    return make_plan(inventory(NODES, pods=[ran]), [template], asked=DisruptionRequest(**asked))


def drained(template: PodSource, ran: Object) -> tuple[str | None, str]:
    """The node of the replacement after a drain of n1, and why no node takes it."""
    (loss,) = plan(template, ran, drain=["n1"]).losses
    (move,) = loss.moves
    return move.target, move.why


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job"])
def test_the_template_requires_what_the_running_pod_does_not(kind: str) -> None:
    assert drained(pod_source("web", kind, **ON_SSD), running(kind)) == (None, "1 node lacks disk=ssd")


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job"])
def test_the_running_pod_requires_what_the_template_does_not(kind: str) -> None:
    assert drained(pod_source("web", kind), running(kind, nodeSelector={HOST: "n1"})) == ("n2", "")


@pytest.mark.parametrize(
    "changed",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"affinity": together({"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}})},
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]},
    ],
)
def test_each_constraint_of_the_template_counts(changed: Object) -> None:
    assert drained(pod_source("web", **changed), running())[0] is None


def test_a_failure_and_a_rollout_use_the_template_as_a_drain_does() -> None:
    template = pod_source("web", "StatefulSet", **ON_SSD)
    asked = DisruptionRequest(remove=["n1"])
    made = make_plan(inventory(NODES, pods=[running("StatefulSet")]), [template], asked=asked, roll=["StatefulSet default/web"])
    assert [each.outcomes["StatefulSet default/web"] for each in made.losses] == ["dead"]
    assert [(each.result, each.why) for each in made.rollouts] == [("blocked", "2 nodes lack disk=ssd")]


def test_a_restart_is_proposed_for_preferences_of_the_template_only() -> None:
    restarts = plan(pod_source("web", affinity=FAST), running()).restarts
    assert [(each.pod, each.node, each.targets) for each in restarts] == [("web-abc-1", "n1", ("n2",))]
    assert not plan(pod_source("web"), running(affinity=FAST)).restarts


@pytest.mark.parametrize(
    "template",
    [
        pod_source("web", "StatefulSet", strategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, **ON_SSD),
        pod_source("web", paused=True, **ON_SSD),
        pod_source("web", "CronJob", **ON_SSD),
    ],
    ids=["partition", "paused", "job"],
)
def test_a_controller_that_keeps_the_revision_of_a_pod_recreates_the_same(template: PodSource) -> None:
    assert drained(template, running(template.kind)) == ("n2", "")


def sized(cpu: str, name: str = "c") -> Object:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("containers", "annotations", "target"),
    [
        ([sized("1")], {}, None),
        ([sized("1")], {"vpaUpdates": "Pod resources updated by web: container 0: cpu request"}, "n2"),
        ([sized("1"), sized("1", "istio-proxy")], {}, "n2"),
    ],
    ids=["template", "autoscaler", "sidecar"],
)
def test_requests_of_added_containers_and_of_an_autoscaler_stay(containers: list[Object], annotations: Object, target: str | None) -> None:
    """n2 has 4 CPU, the template requests 8: of a pod whose requests the cluster changes, only those that it runs with are known."""
    ran = running(containers=containers)
    ran["metadata"]["annotations"] = annotations
    nodes = [{**each, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}} for each in NODES]
    template = pod_source("web", containers=[sized("8")])
    (loss,) = make_plan(inventory(nodes, pods=[ran], resources=True), [template], asked=DisruptionRequest(drain=["n1"])).losses
    assert loss.moves[0].target == target
