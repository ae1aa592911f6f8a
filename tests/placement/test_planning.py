"""A plan: what each node is to each workload and why, where the replicas go, and how many nodes each constraint excludes."""

from dataclasses import replace
from typing import Any

import pytest

from afflint.controllers.pod_source import PodSource
from afflint.kube.decoding import InventoryError
from afflint.placement.plan import Plan, WorkloadPlan
from afflint.placement.planner import DisruptionRequest, make_plan
from cluster_objects import (
    HOST,
    PREFERRED,
    ZONE,
    Object,
    apart,
    app,
    node,
    node_preferences,
    node_terms,
    pod,
    spread,
    term,
    together,
    zoned,
)
from workload_objects import apart_by, inventory, makers_in, pod_source, three_tiers, three_zones


def plan(nodes: list[Object], *pod_sources: PodSource, **more: Any) -> Plan:
    return make_plan(inventory(nodes, **more), pod_sources)


def only(found: Plan) -> WorkloadPlan:
    (workload,) = found.workloads
    return workload


def why(workload: WorkloadPlan) -> dict[str, str]:
    return {verdict.node: verdict.why for verdict in workload.verdicts}


def where(workload: WorkloadPlan) -> list[str | None]:
    return [replica.node for replica in workload.replicas]


# --- the scenario ------------------------------------------------------------------------------------------------------


def test_three_tiers_find_their_places() -> None:
    database, cache, appliance = make_plan(inventory(three_zones()), three_tiers()).workloads
    assert where(database) == ["worker-2", "worker-4", "worker-6"]
    assert where(cache) == ["worker-1", "worker-3", "worker-5"]
    assert where(appliance) == ["worker-1", "worker-3", "worker-5"]
    assert why(database)["worker-1"] == "lacks performance=high"
    assert why(database)["control-plane"] == "has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule"
    assert why(appliance)["worker-2"] == "has no pod with tier=cache"
    scores = {verdict.node: verdict.score for verdict in cache.verdicts}
    assert scores["control-plane"] is None
    assert (scores["worker-1"] or 0) > (scores["worker-2"] or 0) > 0


def test_a_label_key_that_does_not_exist_never_schedules_the_appliance() -> None:
    *_, appliance = make_plan(inventory(three_zones()), three_tiers("topology.kubernetes.io/hostname")).workloads
    assert where(appliance) == [None, None, None]
    assert appliance.replicas[0].why == (
        "6 nodes lack the topology key topology.kubernetes.io/hostname, "
        "1 has the untolerated taint node-role.kubernetes.io/control-plane:NoSchedule"
    )


def test_nodes_are_rows_with_their_zone() -> None:
    rows = make_plan(inventory(three_zones()), []).nodes
    assert [(row.name, row.domain) for row in rows][:3] == [("control-plane", None), ("worker-1", "a"), ("worker-2", "a")]
    assert rows[0].taints == ("node-role.kubernetes.io/control-plane:NoSchedule",)


# --- statements of the field -------------------------------------------------------------------------------------------


def test_a_preference_for_a_zone_draws_a_vm_there_but_forces_nothing() -> None:
    east = pod_source("vm", "VirtualMachine", affinity=node_preferences((75, "zone In east")))
    nodes = [node("n1"), node("n2", {"zone": "east"})]
    assert where(only(plan(nodes, east))) == ["n2"]
    assert where(only(plan(nodes[:1], east))) == ["n1"]


def test_a_vm_that_must_be_beside_another_follows_it() -> None:
    target = pod_source("fedora", "VirtualMachine", nodeSelector={HOST: "n2"})
    follower = pod_source("friend", "VirtualMachine", affinity=together(term(HOST, app("fedora"))))
    # The follower comes first in the manifests: it is pending until its companion runs.
    found = plan(zoned(n1="", n2="", n3=""), follower, target)
    assert [where(workload) for workload in found.workloads] == [["n2"], ["n2"]]


def test_a_vm_that_must_not_be_beside_another_goes_elsewhere() -> None:
    target = pod_source("fedora", "VirtualMachine", nodeSelector={HOST: "n1"})
    other = pod_source("rival", "VirtualMachine", affinity=apart(term(HOST, app("fedora"))))
    found = plan(zoned(n1="", n2=""), target, other)
    assert [where(workload) for workload in found.workloads] == [["n1"], ["n2"]]
    assert why(found.workloads[1])["n1"] == "already has a pod of fedora"
    assert why(found.workloads[0])["n2"] == "has kubernetes.io/hostname=n2, not n1"


def test_the_best_sum_of_weighted_preferences_wins_and_a_node_without_any_is_still_feasible() -> None:
    wanted = node_preferences((5, "size In medium"), (10, "region In north"), (3, "size In large"))
    nodes = [
        node("large-north", {"size": "large", "region": "north"}),
        node("medium-north", {"size": "medium", "region": "north"}),
        node("medium-south", {"size": "medium", "region": "south"}),
        node("small-south", {"size": "small", "region": "south"}),
    ]
    found = only(plan(nodes, pod_source("web", affinity=wanted)))
    assert where(found) == ["medium-north"]
    assert all(verdict.feasible for verdict in found.verdicts)
    ranking = sorted(found.verdicts, key=lambda verdict: -(verdict.score or 0))
    assert [verdict.node for verdict in ranking] == ["medium-north", "large-north", "medium-south", "small-south"]
    assert where(only(plan(nodes[3:], pod_source("web", affinity=wanted)))) == ["small-south"]
    assert {verdict.node: verdict.weights for verdict in found.verdicts} == {
        "large-north": (13, 18),
        "medium-north": (15, 18),
        "medium-south": (5, 18),
        "small-south": (0, 18),
    }
    assert all(sum(value for _, value in verdict.parts) == verdict.score for verdict in found.verdicts)


def test_a_preference_for_company_is_met_where_it_is_and_one_against_it_where_it_is_not() -> None:
    nodes = [node("n1", {ZONE: "a"}), node("n2", {ZONE: "a"}), node("n3", {ZONE: "b"}), node("n4")]
    runs = (("x", "cache", "n1"), ("y", "cache", "n1"), ("z", "batch", "n3"))
    running = [pod(name, {"app": what}, on=on, namespace="default") for name, what, on in runs]
    liked = {"weight": 40, "podAffinityTerm": term(ZONE, app("cache"))}
    shunned = {"weight": 2, "podAffinityTerm": term(ZONE, app("batch"))}
    affinity = {"podAffinity": {PREFERRED: [liked]}, "podAntiAffinity": {PREFERRED: [shunned]}}
    found = only(plan(nodes, pod_source("web", affinity=affinity), pods=running))
    assert {verdict.node: verdict.weights for verdict in found.verdicts} == {"n1": (42, 42), "n2": (42, 42), "n3": (0, 42), "n4": (2, 42)}


# --- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "requirement", "words"),
    [
        ({}, "disk In ssd", "lacks disk=ssd"),
        ({"disk": "hdd"}, "disk In ssd", "has disk=hdd, not ssd"),
        ({"disk": "hdd"}, "disk In ssd,nvme", "has disk=hdd, not (ssd, nvme)"),
        ({"disk": "hdd"}, "disk NotIn hdd", "has disk=hdd, which is excluded"),
        ({}, "disk Exists", "lacks the label disk"),
        ({"disk": ""}, "disk DoesNotExist", "has the label disk"),
        ({"cores": "4"}, "cores Gt 8", "has cores=4, not cores > 8"),
        ({}, "@metadata.name In other", "not named by its node affinity"),
    ],
)
def test_why_a_node_does_not_match(labels: dict[str, str], requirement: str, words: str) -> None:
    assert why(only(plan([node("n1", labels)], pod_source("web", affinity=node_terms(requirement))))) == {"n1": words}


def test_several_terms_and_cordons() -> None:
    found = only(plan([node("n1"), node("n2", cordoned=True)], pod_source("web", affinity=node_terms("a In b", "c In d"))))
    assert why(found) == {"n1": "matches none of its 2 node affinity terms", "n2": "cordoned"}
    assert found.replicas[0].why == "1 node is cordoned, 1 matches none of its 2 node affinity terms"


def test_what_other_pods_do_to_a_replica() -> None:
    nodes = zoned(a1="a", a2="a", b1="b")
    found = only(plan(nodes, pod_source("web", replicas=3, affinity=apart_by(ZONE, "web"))))
    assert where(found) == ["a1", "b1", None]
    assert found.replicas[2].why == "3 nodes share their zone with a replica of web"
    guard = pod("guard", {}, on="b1", affinity=apart(term(ZONE, app("web"))))
    found = only(plan(nodes, pod_source("web"), pods=[guard]))
    assert why(found)["b1"] == "zone b already has pod guard, whose anti-affinity excludes it"


def test_a_spread_that_is_full() -> None:
    nodes = [*zoned(a1="a"), node("b1", {HOST: "b1", ZONE: "b"}, cordoned=True)]
    found = only(plan(nodes, pod_source("web", replicas=2, topologySpreadConstraints=[spread(ZONE, app("web"))])))
    assert where(found) == ["a1", None]
    assert found.replicas[1].why == "1 node is cordoned, 1 would exceed maxSkew 1 per zone"


# --- kinds -------------------------------------------------------------------------------------------------------------


def test_daemon_sets_run_everywhere_they_may_and_others_see_them() -> None:
    agent = pod_source("agent", "DaemonSet", nodeSelector={"pool": "web"})
    beside = pod_source("beside", affinity=together(term(HOST, app("agent"))))
    nodes = [node("n1", {HOST: "n1"}), node("n2", {HOST: "n2", "pool": "web"})]
    found = plan(nodes, beside, agent)
    assert [where(workload) for workload in found.workloads] == [["n2"], ["n2"]]
    assert why(found.workloads[1])["n1"] == "lacks pool=web"


def test_a_daemon_set_that_keeps_apart_from_itself_leaves_nodes_empty() -> None:
    agent = pod_source("agent", "DaemonSet", affinity=apart_by(ZONE, "agent"))
    assert where(only(plan(zoned(a1="a", a2="a", b1="b"), agent))) == ["a1", None, "b1"]


def test_pods_that_name_their_node_are_there_whatever_the_scheduler_thinks() -> None:
    pinned = pod_source("pinned", "Pod", nodeName="n1")
    lost = pod_source("lost", "Pod", nodeName="nowhere")
    shy = pod_source("shy", affinity=apart(term(HOST, app("pinned"))))
    nodes = [node("n1", {HOST: "n1"}, taints=["a:NoSchedule"]), node("n2", {HOST: "n2"})]
    found = plan(nodes, shy, pinned, lost)
    assert [where(workload) for workload in found.workloads] == [["n2"], ["n1"], [None]]
    assert found.workloads[2].replicas[0].why == "spec.nodeName is nowhere, but the inventory has no node with this name"


def test_two_workloads_of_one_name_do_not_get_in_each_others_way() -> None:
    found = plan([node("n1")], pod_source("web"), pod_source("web", "StatefulSet"))
    names = [replica.pod for workload in found.workloads for replica in workload.replicas]
    assert names[0] == "web-0"
    assert len(set(names)) == 2


def running_web(name: str, node_name: str, **more: Any) -> Object:
    found = pod(name, {"app": "web"}, on=node_name, **more)
    found["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}]
    return found


def test_what_runs_stays_where_it_is_and_only_what_is_missing_is_placed() -> None:
    web = pod_source("web", "StatefulSet", replicas=3, affinity=apart_by(HOST, "web"))
    nodes = zoned(n1="", n2="", n3="")
    found = plan(nodes, web, pods=[running_web("web-1", "n3")])
    assert [(replica.pod, replica.node) for replica in only(found).replicas] == [("web-0", "n1"), ("web-1", "n3"), ("web-2", "n2")]
    assert found.notes == (
        "1 running pod of these workloads stays on its node; use --replan to schedule it again",
        "FITS is for the first replica of a workload: one more may not fit next to the replicas that run",
    )
    # Two on one node, as they came there before the manifest kept them apart.
    found = plan(nodes, web, pods=[running_web("web-0", "n3"), running_web("web-1", "n3")])
    assert where(only(found)) == ["n3", "n3", "n1"]
    assert found.notes[0] == "2 running pods of these workloads stay on their nodes; use --replan to schedule them again"


def running_agent(name: str, node_name: str, **more: Any) -> Object:
    """A running pod of the DaemonSet ``agent``, with the node affinity that its controller adds."""
    found = pod(name, {"app": "agent"}, on=node_name, affinity=node_terms(f"@metadata.name In {node_name}"), **more)
    found["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "controller": True}]
    return found


AGENT = pod_source("agent", "DaemonSet")


class TestRunningPodsOfADaemonSet:
    def test_stay_and_only_missing_ones_are_created(self) -> None:
        found = plan(zoned(n1="", n2="", n3=""), AGENT, pods=[running_agent("agent-x", "n2")])
        assert [(each.pod, each.node) for each in only(found).replicas] == [("agent-n1", "n1"), ("agent-x", "n2"), ("agent-n3", "n3")]
        assert found.notes == ("1 running pod of these workloads stays on its node; use --replan to schedule it again",)

    def test_count_for_the_affinity_of_other_pods(self) -> None:
        web = pod_source("web", "StatefulSet", affinity=together(term(HOST, app("agent"))))
        agents = [running_agent("agent-x", "n1"), running_agent("agent-y", "n2")]
        found = plan(zoned(n1="", n2=""), web, AGENT, pods=[running_web("web-0", "n1", affinity=web.pod["affinity"]), *agents])
        assert [where(each) for each in found.workloads] == [["n1"], ["n1", "n2"]]
        assert found.violations == ()

    def test_run_where_a_new_one_would_be_rejected(self) -> None:
        web = pod_source("web", "StatefulSet", affinity=apart(term(HOST, app("agent"))))
        running = [running_agent("agent-x", "n1"), running_web("web-0", "n1", affinity=web.pod["affinity"])]
        found = plan(zoned(n1=""), web, AGENT, pods=running)
        assert [where(each) for each in found.workloads] == [["n1"], ["n1"]]
        assert [(each.pod, each.why) for each in found.violations] == [("web-0", "already has a pod of agent")]

    def test_stay_on_a_node_with_a_new_taint_and_use_its_resources(self) -> None:
        tainted = {**node("n1", {HOST: "n1"}, taints=["a:NoSchedule"]), "status": {"allocatable": {"cpu": "2", "pods": "9"}}}
        requests = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]}
        web = pod_source("web", tolerations=[{"operator": "Exists"}], **requests)
        found = plan([tainted], web, AGENT, pods=[running_agent("agent-x", "n1", **requests)], resources=True)
        assert [where(each) for each in found.workloads] == [[None], ["n1"]]
        assert found.workloads[0].replicas[0].why == "1 node has insufficient CPU"

    def test_stay_on_one_node_during_a_rollout(self) -> None:
        found = plan(zoned(n1=""), AGENT, pods=[running_agent("agent-x", "n1"), running_agent("agent-y", "n1")])
        assert where(only(found)) == ["n1", "n1"]

    def test_are_not_replaced_before_they_are_gone(self) -> None:
        ending = running_agent("agent-x", "n1")
        ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        found = only(plan(zoned(n1="", n2=""), AGENT, pods=[ending]))
        assert where(found) == [None, "n2"]
        assert found.replicas[0].why == "agent-x is still being deleted on n1: it is not replaced before it is gone"

    def test_are_replaced_if_they_have_failed(self) -> None:
        failed = {**running_agent("agent-x", "n1"), "status": {"phase": "Failed"}}
        assert [(each.pod, each.node) for each in only(plan(zoned(n1=""), AGENT, pods=[failed])).replicas] == [("agent-n1", "n1")]

    def test_are_created_again_with_replan(self) -> None:
        found = plan(zoned(n1="", n2=""), AGENT, pods=[running_agent("agent-x", "n2")], replan=True)
        assert [(each.pod, each.node) for each in only(found).replicas] == [("agent-n1", "n1"), ("agent-n2", "n2")]


def test_running_pods_may_be_scheduled_again() -> None:
    web = pod_source("web", "StatefulSet", replicas=2, affinity=apart_by(HOST, "web"))
    found = plan(zoned(n1="", n2=""), web, pods=[running_web("web-0", "n2")], replan=True)
    assert where(only(found)) == ["n1", "n2"]
    assert found.notes[0] == "1 running pod of these workloads is ignored: the workloads are scheduled again from the manifests"


def test_pods_beyond_what_is_asked_for_run_on_and_those_that_end_do_not_count() -> None:
    web = pod_source("web", "StatefulSet", affinity=apart_by(HOST, "web"))
    done = {**running_web("web-9", "n1"), "status": {"phase": "Succeeded"}}
    found = plan(zoned(n1="", n2=""), web, pods=[running_web("web-0", "n2"), running_web("web-1", "n1"), done])
    assert where(only(found)) == ["n2"]
    assert found.notes[-1] == "1 pod more than the manifests request runs"


def test_a_scheduler_that_fails_on_a_pod_is_an_error() -> None:
    odd = {
        "nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["-5"]}]}}]}
    }
    found = only(plan(zoned(n1="", n2=""), pod_source("web", affinity=odd)))
    assert found.error == "PreScore NodeAffinity"
    assert where(found) == [None]


def test_an_inventory_that_is_none_is_refused() -> None:
    with pytest.raises(InventoryError, match="appears twice"):
        plan([node("n1"), node("n1")], pod_source("web"))


def test_order_of_manifests_is_the_order_of_scheduling() -> None:
    text = "\n---\n".join(
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: 1\n"
        f"  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      containers: [{{name: a, image: a}}]\n"
        "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        "[{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}\n"
        for name in ("second", "first")
    )
    found = make_plan(inventory(zoned(n1="")), makers_in(text))
    assert [where(workload) for workload in found.workloads] == [["n1"], [None]]


def test_every_replica_of_sixty_workloads_gets_one_of_five_hundred_nodes() -> None:
    nodes = [node(f"n{number:03}", {HOST: f"n{number:03}", ZONE: f"z{number % 5}"}) for number in range(500)]
    pod_sources = [pod_source(f"app{number}", replicas=3, affinity=apart_by(ZONE, f"app{number}")) for number in range(60)]
    found = make_plan(inventory(nodes), pod_sources, asked=DisruptionRequest(lose=["each:zone"]))
    assert all(None not in where(workload) for workload in found.workloads)


def test_what_would_be_refused_leaves_those_that_run_where_they_are() -> None:
    refused = replace(pod_source("web", "StatefulSet"), refused="the API server would reject it")
    shy = pod_source("shy", affinity=apart_by(HOST, "web"))
    found = plan(zoned(n1="", n2=""), refused, shy, pods=[running_web("web-0", "n1")])
    assert [where(workload) for workload in found.workloads] == [[None], ["n2"]]
    assert found.workloads[0].error == "the API server would reject it"


def test_pods_that_run_where_their_manifest_would_not_let_them_come_are_named() -> None:
    web = pod_source("web", "StatefulSet", replicas=2, nodeSelector={"disk": "ssd"})
    nodes = [node("n1", {"disk": "ssd"}), node("n2")]
    found = only(plan(nodes, web, pods=[running_web("web-0", "n2")]))
    assert where(found) == ["n2", "n1"]
    message = (
        "web-0 on n2 (lacks disk=ssd) stays on its node, although node affinity no longer matches: it applies only when a pod is scheduled"
    )
    assert found.notes == (message,)


def test_pods_that_run_on_a_cordoned_or_tainted_node_need_no_word() -> None:
    nodes = [node("n1", {HOST: "n1"}, taints=["a:NoSchedule"]), node("n2", {HOST: "n2"})]
    found = only(plan(nodes, pod_source("web", "StatefulSet"), pods=[running_web("web-0", "n1")]))
    assert (where(found), found.notes) == (["n1"], ())
