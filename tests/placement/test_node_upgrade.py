"""Rolling upgrades of node pools: where they stop, what moves how often, what is down meanwhile, and where everything runs in the end."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from afflint.controllers.budgets import read_budget
from afflint.controllers.pod_source import PodSource
from afflint.findings.errors import UserError
from afflint.placement.plan import Plan, UpgradeEffect
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.upgrade_pools import UpgradeRequest, unavailable_nodes
from afflint.report.place import json_report, page, table
from checkout import ROOT
from cluster_objects import HOST, PREFERRED, ZONE, Object, app, budget, expression, node, pod, spread, zoned
from workload_objects import apart_by, inventory, pod_source

LIVE = {
    "evictionStrategy": "LiveMigrate",
    "networks": [{"name": "default", "pod": {}}],
    "domain": {"devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
}
WORKER = {"node-role.kubernetes.io/worker": ""}


def planned(
    nodes: list[Object], pod_sources: list[PodSource], *budgets: Object, name: str = "each", pods: list[Object] | None = None, **more: Any
) -> Plan:
    request = DisruptionRequest(upgrade=UpgradeRequest([name], **more))
    return make_plan(inventory(nodes, pods=pods or []), pod_sources, asked=request, budgets=[read_budget(each) for each in budgets])


def upgraded(nodes: list[Object], pod_sources: list[PodSource], *budgets: Object, **more: Any) -> UpgradeEffect:
    (upgrade,) = planned(nodes, pod_sources, *budgets, **more).upgrades
    return upgrade


def config_pool(name: str = "worker", **spec: Any) -> Object:
    selector = {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}}
    return {"kind": "MachineConfigPool", "metadata": {"name": name}, "spec": {"nodeSelector": selector, **spec}}


def workers(**zones: str) -> list[Object]:
    return [node(name, {HOST: name, ZONE: zone, **WORKER}) for name, zone in zones.items()]


def moves(upgrade: UpgradeEffect) -> dict[str, tuple[int, int, str | None]]:
    """How often each replica is evicted and migrated, and where it runs in the end."""
    return {each.pod: (each.evicted, each.migrated, each.target) for each in upgrade.replicas}


def lines(plan: Plan) -> list[str]:
    text = "".join(table.render(plan, color=False, width=200))
    return [line.strip() for line in text[text.index("Upgrade of") :].splitlines() if line]


# --- one node after another ----------------------------------------------------------------------------------------------


def test_nodes_come_back_and_take_pods_again() -> None:
    """Three nodes, one database each: a replica has no other node while its own is upgraded."""
    db = pod_source("db", "StatefulSet", replicas=3, affinity=apart_by(HOST, "db"))
    upgrade = upgraded(zoned(n1="a", n2="b", n3="c"), [db])
    assert upgrade.completes
    assert upgrade.is_harmless
    assert moves(upgrade) == {"db-0": (1, 0, "n1"), "db-1": (1, 0, "n2"), "db-2": (1, 0, "n3")}
    assert [(each.nodes, each.left, each.replicas) for each in upgrade.outages] == [(("n1",), 2, 3), (("n2",), 2, 3), (("n3",), 2, 3)]
    assert upgrade.domains == ()


def test_a_workload_may_end_in_fewer_zones() -> None:
    """The replacement of web-0 goes beside another replica and does not return when a1 does."""
    web = pod_source("web", replicas=3, topologySpreadConstraints=[spread(ZONE, app("web"), when="ScheduleAnyway")])
    upgrade = upgraded(zoned(a1="a", b1="b", c1="c"), [web])
    (change,) = upgrade.domains
    assert (change.before, change.after) == ({"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 1})
    assert "in the end  default/web: zone a: 1, zone b: 1, zone c: 1 -> zone a: 2, zone b: 1" in lines(
        planned(zoned(a1="a", b1="b", c1="c"), [web])
    )


def test_an_upgrade_stops_where_a_budget_allows_no_eviction() -> None:
    web = pod_source("web", replicas=2, affinity=apart_by(HOST, "web"))
    plan = planned(zoned(n1="", n2="", n3=""), [web], budget(minAvailable=2))
    (pool,) = plan.upgrades[0].pools
    assert not pool.completes
    assert pool.upgraded == ()
    assert [(each.pod, each.node) for each in pool.blocked] == [("web-0", "n1")]
    assert lines(plan)[:3] == [
        "Upgrade of each: all nodes, 3 nodes (nodes are drained in order, and take pods again)",
        "stops       at n1; 0 of 3 nodes are upgraded, one at a time",
        (
            "blocked     web-0 of default/web is not evicted from n1: PodDisruptionBudget web (minAvailable 2) requires 2 of 2 pods to be "
            "healthy, and 2 are"
        ),
    ]
    assert lines(plan)[-1] == "Upgrade of each: never completes."


def test_machines_are_live_migrated_each_time_that_their_node_is_upgraded() -> None:
    machines = [pod_source(f"vm{number}", "VirtualMachine", pod=LIVE) for number in (1, 2)]
    upgrade = upgraded(zoned(n1="", n2=""), machines)
    assert upgrade.completes
    assert upgrade.outages == ()
    assert {name: count[:2] for name, count in moves(upgrade).items()} == {"virt-launcher-vm1": (0, 2), "virt-launcher-vm2": (0, 1)}


def test_a_machine_that_cannot_migrate_stops_the_upgrade() -> None:
    fixed = {**LIVE, "domain": {"devices": {"interfaces": [{"name": "default", "bridge": {}}]}}}
    upgrade = upgraded(zoned(n1="", n2=""), [pod_source("vm", "VirtualMachine", pod=fixed)])
    assert [each.pod for each in upgrade.pools[0].blocked] == ["virt-launcher-vm"]


def test_pods_without_a_controller_are_deleted_for_good() -> None:
    upgrade = upgraded(zoned(n1="", n2=""), [pod_source("tool", "Pod")])
    assert upgrade.completes
    assert not upgrade.is_harmless
    assert [(each.pod, each.fate) for each in upgrade.replicas] == [("tool", "gone")]


def test_running_pods_without_a_workload_are_not_evaluated() -> None:
    stranger = {**pod("x", on="n1"), "metadata": {"name": "x", "namespace": "default", "ownerReferences": [
        {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": "1", "controller": True}]}}  # fmt: skip
    upgrade = upgraded(zoned(n1="", n2=""), [], pods=[stranger])
    assert upgrade.unevaluated == ("default/x",)
    assert not upgrade.is_harmless


# --- pools ---------------------------------------------------------------------------------------------------------------


def test_a_machine_config_pool_sets_how_many_nodes_are_unavailable() -> None:
    nodes = workers(w1="a", w2="b", w3="c", w4="c")
    web = pod_source("web", replicas=4, affinity=apart_by(HOST, "web"))
    (pool,) = upgraded(nodes, [web], name="worker", config_pools=[config_pool(maxUnavailable="50%")]).pools
    assert (pool.pool, pool.at_once, pool.declared) == (
        "MachineConfigPool worker",
        2,
        "maxUnavailable 50% of MachineConfigPool worker",
    )
    assert pool.completes


def test_a_second_node_goes_on_while_the_first_is_stuck() -> None:
    """Nodes are upgraded one by one as long as one of the two that may be unavailable is free."""
    nodes = workers(w1="a", w2="b", w3="c", w4="d")
    web = pod_source("web", replicas=1)
    pool = upgraded(nodes, [web], budget(minAvailable=1), config_pools=[config_pool(maxUnavailable=2)]).pools[0]
    assert (pool.upgraded, [each.node for each in pool.blocked]) == (("w2", "w3", "w4"), ["w1"])


@pytest.mark.parametrize(
    ("spec", "held"),
    [
        ({"paused": True}, "it is paused"),
        ({}, "1 node is cordoned already, and only 1 may be unavailable: w2"),
        ({"maxUnavailable": 2}, "1 node is cordoned, and is upgraded only after that: w2"),
    ],
)
def test_a_machine_config_pool_may_not_start(spec: dict[str, Any], held: str) -> None:
    nodes = [*workers(w1="a"), node("w2", {HOST: "w2", **WORKER}, cordoned=True), *workers(w3="b")]
    (pool,) = upgraded(nodes, [pod_source("web")], config_pools=[config_pool(**spec)]).pools
    assert (pool.held, pool.completes) == (held, False)
    assert pool.upgraded == (("w1", "w3") if "maxUnavailable" in spec else ())


@pytest.mark.parametrize(
    ("condition", "annotations", "why"),
    [
        ({"type": "Ready", "status": "Unknown"}, {}, "not ready"),
        ({"type": "DiskPressure", "status": "True"}, {}, "under disk pressure"),
        ({"type": "NetworkUnavailable", "status": "True"}, {}, "without network"),
        ({"type": "MemoryPressure", "status": "True"}, {}, ""),
        ({}, {"currentConfig": "r-1", "desiredConfig": "r-2", "state": "Working"}, "being updated"),
        ({}, {"currentConfig": "r-1", "desiredConfig": "r-1", "state": "Working"}, "being updated"),
        ({}, {"currentConfig": "r-1", "desiredConfig": "r-2", "state": "Degraded"}, ""),
        ({}, {"currentConfig": "r-1", "desiredConfig": "r-1", "state": "Done"}, ""),
        ({}, {"currentConfig": "r-1", "state": "Done"}, ""),
    ],
)
def test_nodes_are_unavailable_as_the_machine_config_operator_counts_them(
    condition: dict[str, str], annotations: dict[str, str], why: str
) -> None:
    data = node("w1")
    data["status"] = {"conditions": [condition]} if condition else {}
    data["metadata"]["annotations"] = {f"machineconfiguration.openshift.io/{key}": value for key, value in annotations.items()}
    assert unavailable_nodes([data]) == ({"w1": why} if why else {})


def test_after_the_first_obstacle_the_others_are_listed_by_cause() -> None:
    """Two VMs that cannot migrate, and a budget that allows nothing, on three of four nodes; the upgrade stops at the first of them."""
    fixed = {**LIVE, "domain": {"devices": {"interfaces": [{"name": "default", "bridge": {}}]}}}
    machines = [pod_source(name, "VirtualMachine", pod={**fixed, "nodeSelector": {HOST: on}}) for name, on in (("a", "n1"), ("b", "n3"))]
    web = pod_source("web", nodeSelector={HOST: "n4"})
    plan = planned(zoned(n1="", n2="", n3="", n4=""), [*machines, web], budget(minAvailable=1))
    (pool,) = plan.upgrades[0].pools
    assert (pool.upgraded, [each.node for each in pool.blocked]) == ((), ["n1"])
    assert [(each.pod, each.node) for each in pool.further] == [("virt-launcher-b", "n3"), ("web-0", "n4")]
    assert pool.free == ("n2",)
    # What the upgrade does is counted until it stops.
    assert plan.upgrades[0].replicas == ()
    shown = [line.partition(": ")[0] for line in lines(plan)]
    assert shown[1:7] == [
        "stops       at n1; 0 of 4 nodes are upgraded, one at a time",
        "blocked     virt-launcher-a of default/a is not evicted from n1",
        "after that  2 more pods on 2 nodes would stop it (each pod that stops it counts as taken away until its node is upgraded)",
        "node n3     virt-launcher-b of default/b is not evicted from n3",
        "node n4     web-0 of default/web is not evicted from n4",
        "free        no pod stops it on 1 node",
    ]


def test_single_replicas_that_end_in_another_zone_are_counted() -> None:
    """Ten workloads of one replica on n1 move away, and do not return."""
    fixed = {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [expression("x In y")]}}]}}}
    many = [pod_source(f"app{number}", **fixed) for number in range(10)]
    nodes = [node("n1", {HOST: "n1", ZONE: "a", "x": "y"}), node("n2", {HOST: "n2", ZONE: "b"})]
    ends = [line for line in lines(planned(nodes, many, name=f"{HOST}=n1")) if line.startswith("in the end")]
    assert ends == [
        "in the end  10 workloads of one replica run in another zone: "
        + ", ".join(f"default/app{number}" for number in range(8))
        + " and 2 more"
    ]


def test_a_pool_that_never_starts_says_what_would_stop_it() -> None:
    web = pod_source("web", nodeSelector={HOST: "w2"})
    (pool,) = upgraded(workers(w1="a", w2="a"), [web], budget(minAvailable=1), config_pools=[config_pool(paused=True)]).pools
    assert (pool.held, pool.blocked, [each.node for each in pool.further]) == ("it is paused", (), ["w2"])


def test_a_node_of_a_custom_pool_is_not_a_worker() -> None:
    nodes = [*workers(w1="a"), node("i1", {HOST: "i1", **WORKER, "node-role.kubernetes.io/infra": ""})]
    pools = upgraded(nodes, [], config_pools=[config_pool(), config_pool("infra")]).pools
    assert [(pool.pool, pool.nodes) for pool in pools] == [("MachineConfigPool infra", ("i1",)), ("MachineConfigPool worker", ("w1",))]


def test_roles_are_pools_without_declarations_the_control_plane_first() -> None:
    nodes = [*workers(w1="b", w2="a"), node("m1", {"node-role.kubernetes.io/master": "", **WORKER}), node("x1")]
    pools = upgraded(nodes, []).pools
    assert [(pool.pool, pool.nodes) for pool in pools] == [
        ("role control-plane", ("m1",)),
        ("role worker", ("w2", "w1")),
        ("nodes without a role", ("x1",)),
    ]


def test_new_nodes_come_first_with_surge() -> None:
    """With a node more, the database keeps three replicas, and runs on the new nodes in the end."""
    db = pod_source("db", "StatefulSet", replicas=2, affinity=apart_by(HOST, "db"))
    upgrade = upgraded(zoned(n1="a", n2="b"), [db], surge=1)
    assert moves(upgrade) == {"db-0": (1, 0, "n1-new"), "db-1": (1, 0, "n2-new")}
    assert upgrade.outages == ()


def test_a_pod_that_names_its_host_does_not_fit_the_new_node() -> None:
    pinned = pod_source("agent", nodeSelector={HOST: "n1"})
    upgrade = upgraded(zoned(n1="", n2=""), [pinned], surge=1)
    assert moves(upgrade) == {"agent-0": (1, 0, None)}
    assert upgrade.completes
    assert not upgrade.is_harmless


def test_pods_of_a_daemon_set_run_on_new_nodes() -> None:
    """The new node has the DaemonSet's pod, whose host port keeps the Deployment off."""
    port = {"containers": [{"name": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    agent = pod_source("agent", "DaemonSet", **port)
    web = pod_source("web", **port)
    plan = planned(zoned(n1="", n2=""), [agent, web], surge=1)
    assert [replica.node for replica in plan.workloads[1].replicas] == [None]
    assert plan.upgrades[0].completes
    assert plan.upgrades[0].replicas == ()


def test_the_user_may_name_nodes_by_a_label() -> None:
    (pool,) = upgraded(zoned(a1="a", a2="a", b1="b"), [], name=f"{ZONE}=a", unavailable="100%").pools
    assert (pool.nodes, pool.at_once, pool.declared) == (("a1", "a2"), 2, "--max-unavailable 100%")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wroker", "--upgrade: no node pool or role is named `wroker`; did you mean `worker`?"),
        ("zone=x", "--upgrade: no node has the label zone=x"),
    ],
)
def test_an_unknown_pool_is_refused(name: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        upgraded(workers(w1="a"), [], name=name)
    assert str(refused.value) == message


# --- reports -------------------------------------------------------------------------------------------------------------


def test_reports_show_an_upgrade() -> None:
    web = pod_source("web", replicas=2, affinity=apart_by(HOST, "web"))
    plan = planned(workers(w1="a", w2="b"), [web], budget(minAvailable=1), config_pools=[config_pool()])
    data = json.loads("".join(json_report.render(plan)))
    jsonschema.validate(data, json.loads(Path(ROOT, "schemas", "place.schema.json").read_text(encoding="utf-8")))
    (upgrade,) = data["upgrades"]
    assert upgrade["completes"] is True
    assert upgrade["pools"][0]["nodes"] == ["w1", "w2"]
    assert lines(plan) == [
        "Upgrade of each: MachineConfigPool worker, 2 nodes (nodes are drained in order, and take pods again)",
        "completes  one at a time",
        "degraded   default/web keeps 1 of 2 for a time, while pods leave w1, w2",
        "recreated  2 replicas: 2 once",
        "2 of 2 replicas of 1 workload scheduled on 2 nodes.",
        "Upgrade of each: completes.",
    ]
    assert "keeps 1 of 2 for a time" in page.render(plan)


def test_a_pod_that_is_deleted_for_good_is_not_recreated() -> None:
    shown = lines(planned(workers(w1="a", w2="b"), [pod_source("tool", "Pod")], config_pools=[config_pool()]))
    assert "deleted     tool: the pod is not recreated: it has no controller" in shown
    assert not [line for line in shown if line.startswith("recreated")]
