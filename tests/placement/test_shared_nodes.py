"""Replicas that share a node after a disruption, though they ran on different nodes before it."""

from typing import Any

from afflint.placement.plan import DisruptionEffect, Plan, SharedNode
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.selection import selected
from afflint.report.place.table import render
from cluster_objects import HOST, Object, app, node, node_preferences, rather, term, zoned
from workload_objects import VMI, inventory, pod_source, three_zones

FAST = {"performance": "high"}
WEB = "Deployment default/web"
ALWAYS = "in every order in which all run, some share a node"


def shared_lines(plan: Plan) -> list[str]:
    """The lines of the text about shared nodes, with single spaces."""
    return [" ".join(line.split()) for line in "".join(render(plan, color=False, width=250)).splitlines() if "share" in line]


def after(*pod_sources: Any, nodes: list[Object], **asked: list[str]) -> DisruptionEffect:
    """What the first of the disruptions does."""
    return make_plan(inventory(nodes), pod_sources, asked=DisruptionRequest(**asked)).losses[0]


def test_without_a_spare_node_some_share_one_in_every_order() -> None:
    """Three databases have three fast nodes; when one is drained, two nodes are left for them."""
    databases = pod_source("db", "VirtualMachineInstanceReplicaSet", 3, nodeSelector=FAST, **VMI)
    found = after(databases, nodes=three_zones(), drain=["worker-2"])
    assert found.outcomes == {"VirtualMachineInstanceReplicaSet default/db": "survives"}
    assert found.shared == (SharedNode("", ("VirtualMachineInstanceReplicaSet default/db",), "worker-4", 2, 3, True),)


def test_with_a_spare_node_this_is_only_seen_in_the_schedule() -> None:
    nodes = [*(node(name, {HOST: name, **FAST}) for name in ("n1", "n2")), node("n3", {HOST: "n3"})]
    liked = pod_source("web", replicas=2, affinity=node_preferences((100, "performance In high")))
    assert after(liked, nodes=nodes, drain=["n1"]).shared == (SharedNode("", (WEB,), "n2", 2, 2, False),)


def test_failed_nodes_count_when_they_are_removed_and_combined_ones_together() -> None:
    nodes = zoned(n1="a", n2="b", n3="c")
    stateful = pod_source("db", "StatefulSet", 3)
    lost = after(stateful, nodes=nodes, lose=["n1"])
    assert lost.shared == ()
    assert lost.removed is not None
    assert [(each.node, each.number, each.always) for each in lost.removed.shared] == [("n2", 2, True)]
    request = DisruptionRequest(drain=["n1"], remove=["n2"], together=True)
    [both] = make_plan(inventory(nodes), [stateful], asked=request).losses
    assert [(each.node, each.number, each.running) for each in both.shared] == [("n3", 3, 3)]


def test_it_is_silent_if_replicas_shared_a_node_before_or_none_do_afterwards() -> None:
    nodes = zoned(n1="a", n2="b", n3="c")
    assert after(pod_source("web", replicas=4), nodes=nodes, drain=["n1"]).shared == ()
    assert after(pod_source("web", replicas=2), nodes=nodes, drain=["n1"]).shared == ()
    assert after(pod_source("web", replicas=1), nodes=nodes, drain=["n1"]).shared == ()
    assert after(pod_source("web", "DaemonSet"), nodes=nodes, drain=["n1"]).shared == ()


def test_the_machines_of_an_application_count_together() -> None:
    apart = rather("podAntiAffinity", (1, term(HOST, app("sql"))))
    machines = [pod_source(f"sql-{number}", "VirtualMachine", labels={"app": "sql"}, affinity=apart, **VMI) for number in range(3)]
    found = after(*machines, nodes=zoned(n1="a", n2="b", n3="c"), drain=["n1"])
    assert [(each.application, each.number, each.running, each.always) for each in found.shared] == [("default/sql", 2, 3, False)]


def test_a_selection_shows_only_its_own() -> None:
    plan = make_plan(
        inventory(zoned(n1="a", n2="b")),
        [pod_source("web", replicas=2), pod_source("api", replicas=2)],
        asked=DisruptionRequest(drain=["n1"]),
    )
    assert [each.workloads for each in plan.losses[0].shared] == [(WEB,), ("Deployment default/api",)]
    assert [each.workloads for each in selected(plan, ["web"]).losses[0].shared] == [(WEB,)]


def test_the_text_says_it_in_one_line_for_each_disruption() -> None:
    web, api = pod_source("web", replicas=2), pod_source("api", replicas=2)
    plan = make_plan(inventory(zoned(n1="a", n2="b")), [web, api], asked=DisruptionRequest(drain=["n1"]))
    assert shared_lines(plan) == [f"2 of 2 replicas of default/web then share n2 in this schedule; {ALWAYS}; likewise default/api (n2)"]


def test_many_disruptions_share_a_line() -> None:
    nodes = [*three_zones(), *(node(f"spare-{number}") for number in range(10))]
    databases = pod_source("db", "VirtualMachineInstanceReplicaSet", 3, nodeSelector=FAST, **VMI)
    plan = make_plan(inventory(nodes), [databases], asked=DisruptionRequest(drain=["each:node"]))
    assert shared_lines(plan) == [
        f"shared nodes after 3 of 17 drains, 2 of 3 replicas of default/db share a node in this schedule (worker-4, worker-2); {ALWAYS}"
    ]


def test_each_workload_and_each_disruption_is_counted_once() -> None:
    """Drains of all nodes after which two workloads share nodes: they are survived, and there are not others that survive."""
    nodes = zoned(**{f"n{number}": "abc"[number % 3] for number in range(14)})
    plan = make_plan(
        inventory(nodes), [pod_source("web", replicas=14), pod_source("api", replicas=14)], asked=DisruptionRequest(drain=["each:node"])
    )
    [text] = shared_lines(plan)
    assert text.startswith("shared nodes after 14 of 14 drains, 2 of 14 replicas of default/web share a node in this schedule (")
    assert text.endswith(f"; {ALWAYS}; likewise default/api (after 14)")
    assert "14 drains survives" in " ".join("".join(render(plan, color=False, width=250)).split())


def test_nothing_is_proved_about_orders_in_which_all_run_if_some_cannot_run() -> None:
    """After the failure of two of three nodes, the third has room for two of the three replicas."""
    room = {"status": {"allocatable": {"cpu": "2", "pods": "110"}}}
    nodes = [{**node(name, {HOST: name}), **room} for name in ("n1", "n2", "n3")]
    containers = [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]
    web, asked = pod_source("web", replicas=3, containers=containers), DisruptionRequest(remove=["n1,n2"])
    [lost] = make_plan(inventory(nodes, resources=True), [web], asked=asked).losses
    assert [(each.number, each.running, each.always) for each in lost.shared] == [(2, 2, False)]


def test_disruptions_that_end_alike_are_not_listed_again() -> None:
    web = pod_source("web", replicas=2)
    plan = make_plan(inventory(zoned(n1="a", n2="b")), [web], asked=DisruptionRequest(drain=["n1"]))
    many = plan._replace(losses=tuple([loss._replace() for loss in plan.losses * 13]))
    assert shared_lines(many) == [
        f"shared nodes after 13 of 13 drains, 2 of 2 replicas of default/web share a node in this schedule (n2); {ALWAYS}"
    ]
