"""Preemption in plans: who is preempted now, and by the pods that a failure, drain or removal displaces."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.controllers.budgets import Budget
from afflint.controllers.pod_source import PodSource
from afflint.inventory.priorities import priorities_of
from afflint.kube.selectors import Selector, parse_label_selector
from afflint.placement.plan import DisruptionEffect, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.schedule import build_schedule
from afflint.scheduler.preemption import Rank, preempt
from afflint.scheduler.profile import Profile, unknown_profile
from cluster_objects import HOST, Object, app, node, pod
from workload_objects import inventory, pod_source

GOLD = 100000


def sized(name: str, cpu: int = 4) -> Object:
    return {**node(name, {HOST: name}), "status": {"allocatable": {"cpu": str(cpu), "pods": "110"}}}


def containers(cpu: int) -> list[Object]:
    return [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]


def asks(name: str, kind: str = "Deployment", replicas: int = 1, *, cpu: int = 3, priority: int | None = 0, **more: Any) -> PodSource:
    """A workload whose pods request CPU and have a priority."""
    return dataclasses.replace(pod_source(name, kind, replicas, containers=containers(cpu), **more), priority=priority)


_CONTROLLERS = {"Deployment": "ReplicaSet", "VirtualMachine": "VirtualMachineInstance"}


def runs(name: str, on: str, kind: str = "Deployment", *, cpu: int = 3, priority: int = 0, **spec: Any) -> Object:
    """A running pod of a workload: the name of the workload is the first word of its name."""
    workload = name.partition("-")[0]
    made = pod(name, {"app": workload}, on=on, containers=containers(cpu), priority=priority, **spec)
    if kind != "Pod":
        controller = _CONTROLLERS.get(kind, kind)
        owner = f"{workload}-5d8f7" if controller == "ReplicaSet" else workload
        if controller == "ReplicaSet":
            made["metadata"]["labels"]["pod-template-hash"] = "5d8f7"
        made["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": controller, "name": owner, "controller": True}]
    return made


def planned(
    nodes: list[Object], workloads: list[PodSource], running: Sequence[Object] = (), budgets: Sequence[Budget] = (), **asked: Sequence[str]
) -> Plan:
    priorities = priorities_of(workloads, running, budgets)
    given = inventory(nodes, pods=running, resources=True, priorities=priorities)
    return make_plan(given, workloads, asked=DisruptionRequest(**asked), budgets=budgets)


def where(plan: Plan) -> dict[str, list[str | None]]:
    return {workload.name: [each.node for each in workload.replicas] for workload in plan.workloads}


def preempted(plan: Plan | DisruptionEffect) -> list[tuple[str, str, str, str | None]]:
    return [(each.pod, each.node, each.by, each.target) for each in plan.preempted]


def moves(loss: DisruptionEffect) -> list[tuple[str, str, str | None, str]]:
    return [(move.pod, move.source, move.target, move.fate) for move in loss.moves]


def budget(name: str, least: int) -> Budget:
    parsed = parse_label_selector(app(name))
    assert isinstance(parsed, Selector)
    return Budget("default", name, parsed, least, None)


# --- now -----------------------------------------------------------------------------------------------------------------


def test_gold_runs_and_batch_is_pending_whatever_the_order_of_the_manifests() -> None:
    plan = planned([sized("n1"), sized("n2")], [asks("batch", replicas=2), asks("gold", replicas=2, priority=GOLD)])
    assert where(plan) == {"batch": [None, None], "gold": ["n1", "n2"]}
    assert preempted(plan) == []  # No pod of batch has run.


def test_pending_pods_preempt_running_ones() -> None:
    workloads = [asks("batch", replicas=2), asks("gold", replicas=2, priority=GOLD)]
    plan = planned([sized("n1"), sized("n2")], workloads, [runs("batch-a", "n1"), runs("batch-b", "n2")])
    assert where(plan) == {"batch": [None, None], "gold": ["n1", "n2"]}
    assert preempted(plan) == [("batch-a", "n1", "gold-0", None), ("batch-b", "n2", "gold-1", None)]
    assert [each.why for each in plan.workloads[0].replicas] == ["2 nodes have insufficient CPU"] * 2
    assert plan.notes == ()


def test_a_victim_runs_again_where_it_fits_and_may_preempt_others() -> None:
    workloads = [asks("low"), asks("mid", priority=10), asks("gold", priority=GOLD, nodeSelector={HOST: "n1"})]
    plan = planned([sized("n1"), sized("n2")], workloads, [runs("mid-a", "n1", priority=10), runs("low-a", "n2")])
    assert where(plan) == {"low": [None], "mid": ["n2"], "gold": ["n1"]}
    assert sorted(preempted(plan)) == [("low-a", "n2", "mid-a", None), ("mid-a", "n1", "gold-0", "n2")]


@pytest.mark.parametrize("priority", [0, -1, None])
def test_equal_lower_and_unknown_priorities_preempt_no_pod(priority: int | None) -> None:
    plan = planned([sized("n1")], [asks("batch"), asks("gold", priority=priority, priorityClassName="x")], [runs("batch-a", "n1")])
    assert (where(plan), preempted(plan)) == ({"batch": ["n1"], "gold": [None]}, [])


def test_a_preemption_policy_of_never_preempts_no_pod() -> None:
    gold = dataclasses.replace(asks("gold", priority=GOLD), preempts=False)
    plan = planned([sized("n1")], [asks("batch"), gold], [runs("batch-a", "n1")])
    assert (where(plan), preempted(plan)) == ({"batch": ["n1"], "gold": [None]}, [])


def test_a_pod_without_a_controller_is_gone() -> None:
    plan = planned([sized("n1"), sized("n2", 1)], [asks("tool", "Pod"), asks("gold", priority=GOLD)], [runs("tool", "n1", "Pod")])
    assert where(plan) == {"tool": [None], "gold": ["n1"]}
    assert plan.workloads[0].replicas[0].why == "gold-0 preempts it, and it is not recreated"


def test_the_pod_of_a_daemon_set_stays_pending_on_its_node_or_preempts_there() -> None:
    gold = asks("gold", priority=GOLD, nodeSelector={HOST: "n1"})
    running = [runs("agent-a", "n1", "DaemonSet", cpu=1), runs("web-a", "n2", cpu=4)]
    low = planned([sized("n1", 3), sized("n2")], [asks("agent", "DaemonSet", cpu=1), asks("web", cpu=4), gold], running)
    assert where(low) == {"agent": [None, None], "web": ["n2"], "gold": ["n1"]}
    assert preempted(low) == [("agent-a", "n1", "gold-0", None)]
    running = [runs("agent-a", "n1", "DaemonSet", cpu=1, priority=2 * GOLD), runs("web-a", "n2", cpu=4)]
    high = planned([sized("n1", 3), sized("n2")], [asks("agent", "DaemonSet", cpu=1, priority=2 * GOLD), asks("web", cpu=4), gold], running)
    assert where(high) == {"agent": ["n1", "n2"], "web": [None], "gold": [None]}
    assert preempted(high) == [("web-a", "n2", "agent-n2", None)]


def test_a_budget_protects_pods_only_if_there_is_another_choice() -> None:
    workloads = [asks("web"), asks("api", priority=10, preempts=False), asks("gold", priority=GOLD)]
    running = [runs("web-a", "n1"), runs("api-a", "n2", priority=10)]
    free = planned([sized("n1"), sized("n2")], workloads, running)
    held = planned([sized("n1"), sized("n2")], workloads, running, [budget("web", 1)])
    both = planned([sized("n1"), sized("n2")], workloads, running, [budget("web", 1), budget("api", 1)])
    assert [preempted(each)[0][0] for each in (free, held, both)] == ["web-a", "api-a", "web-a"]


def test_a_budget_counts_only_pods_that_are_ready() -> None:
    workloads = [asks("web", replicas=2), asks("api", priority=10, preempts=False), asks("gold", priority=GOLD)]
    waiting = {**runs("web-b", "n2"), "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}}
    for second, victim in ((runs("web-b", "n2"), "web-a"), (waiting, "api-a")):
        running = [runs("web-a", "n1"), second, runs("api-a", "n3", priority=10)]
        plan = planned([sized("n1"), sized("n2"), sized("n3")], workloads, running, [budget("web", 1)])
        assert [each[0] for each in preempted(plan)] == [victim]


def test_each_preemption_uses_up_the_budget() -> None:
    workloads = [asks("web", replicas=2), asks("api", priority=10, preempts=False), asks("gold", replicas=2, priority=GOLD)]
    running = [runs("web-a", "n1"), runs("web-b", "n2"), runs("api-a", "n3", priority=10)]
    nodes = [sized("n1"), sized("n2"), sized("n3")]
    plan = planned(nodes, workloads, running, [budget("web", 1)])
    assert sorted(each[0] for each in preempted(plan)) == ["api-a", "web-a"]


# --- disruptions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["lose", "drain", "remove"])
def test_displaced_pods_preempt_on_the_other_nodes(action: str) -> None:
    workloads = [asks("batch"), asks("gold", priority=GOLD)]
    running = [runs("batch-a", "n1"), runs("gold-a", "n2", priority=GOLD)]
    (loss,) = planned([sized("n1"), sized("n2")], workloads, running, **{action: ["n2"]}).losses
    assert preempted(loss) == [("batch-a", "n1", "gold-a", None)]
    assert moves(loss) == [("batch-a", "n1", None, "waits"), ("gold-a", "n2", "n1", "recreated")]
    assert loss.outcomes == {"Deployment default/batch": "dead", "Deployment default/gold": "interrupted"}
    assert loss.left == {"Deployment default/batch": 0, "Deployment default/gold": 1}


def test_a_victim_that_runs_again_is_only_interrupted() -> None:
    workloads = [asks("batch"), asks("gold", priority=GOLD, nodeSelector={"disk": "ssd"})]
    nodes = [sized("n1"), sized("n2"), sized("n3")]
    for each in nodes[:2]:
        each["metadata"]["labels"]["disk"] = "ssd"
    running = [runs("batch-a", "n1"), runs("gold-a", "n2", priority=GOLD, nodeSelector={"disk": "ssd"})]
    (loss,) = planned(nodes, workloads, running, remove=["n2"]).losses
    assert moves(loss) == [("batch-a", "n1", "n3", "recreated"), ("gold-a", "n2", "n1", "recreated")]
    assert loss.outcomes == {"Deployment default/batch": "interrupted", "Deployment default/gold": "interrupted"}


def test_pods_of_an_ordered_stateful_set_wait_for_a_preempted_one() -> None:
    workloads = [asks("db", "StatefulSet", 2), asks("gold", priority=GOLD)]
    running = [runs("db-0", "n1", "StatefulSet"), runs("db-1", "n2", "StatefulSet"), runs("gold-a", "n3", priority=GOLD)]
    (loss,) = planned([sized("n1"), sized("n2"), sized("n3")], workloads, running, drain=["n3"]).losses
    assert moves(loss) == [("db-0", "n1", None, "waits"), ("gold-a", "n3", "n1", "recreated")]
    assert loss.outcomes["StatefulSet default/db"] == "degraded"


@pytest.mark.parametrize(("kind", "fate"), [("VirtualMachine", "waits"), ("VirtualMachineInstance", "gone")])
def test_a_virtual_machine_is_shut_down_and_not_migrated(kind: str, fate: str) -> None:
    """Its eviction strategy does not matter: the scheduler deletes the pod of the virtual machine."""
    domain = {"devices": {}, "memory": {"guest": "4Gi"}}
    erp = asks("erp", kind, evictionStrategy="LiveMigrate", domain=domain, nodeSelector={"disk": "ssd"})
    nodes = [sized("n1"), sized("n2"), sized("n3")]
    for each in nodes:
        each["status"]["allocatable"] |= {"memory": "6Gi", "devices.kubevirt.io/kvm": "100", "devices.kubevirt.io/tun": "100"}
        each["status"]["allocatable"] |= {"devices.kubevirt.io/vhost-net": "100", "ephemeral-storage": "100Gi"}
    nodes[0]["metadata"]["labels"]["disk"] = "ssd"
    gold = pod("gold-a", {"app": "gold"}, on="n2", nodeName="n2", priority=GOLD)
    gold["spec"]["containers"] = containers = [{"name": "c", "resources": {"requests": {"memory": "4Gi"}}}]
    gold["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gold-5d8f7", "controller": True}]
    gold["metadata"]["labels"]["pod-template-hash"] = "5d8f7"
    full = runs("full-a", "n3", cpu=1, priority=2 * GOLD)
    full["spec"]["containers"][0]["resources"]["requests"]["memory"] = "4Gi"
    workloads = [erp, dataclasses.replace(pod_source("gold", containers=containers), priority=GOLD), asks("full", priority=2 * GOLD)]
    (loss,) = planned(nodes, workloads, [gold, full], drain=["n2"]).losses
    assert [(each.workload, each.node, each.by) for each in loss.preempted] == [(f"{kind} default/erp", "n1", "gold-a")]
    assert {move.workload.partition(" ")[0]: move.fate for move in loss.moves} == {kind: fate, "Deployment": "recreated"}


def test_a_pod_that_did_not_run_before_a_drain_is_not_reported_as_preempted() -> None:
    """db-0 is created only because the drain ends its predecessor, and then gives way to gold."""
    db, gold = runs("db-0", "n2", "StatefulSet"), runs("gold-a", "n3", priority=GOLD)
    db["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    nodes = [sized("n1"), sized("n2"), sized("n3")]
    for each in nodes[1:]:
        each["metadata"]["labels"]["rack"] = "r"
    (loss,) = planned(nodes, [asks("db", "StatefulSet"), asks("gold", priority=GOLD)], [db, gold], drain=["rack=r"]).losses
    assert (preempted(loss), moves(loss)) == ([], [("gold-a", "n3", "n1", "recreated")])


def test_a_preemption_uses_up_the_budget_of_a_drain() -> None:
    workloads = [asks("gold", priority=GOLD), asks("web", replicas=2)]
    running = [runs("web-a", "n1"), runs("gold-a", "n2", priority=GOLD), runs("web-b", "n3")]
    nodes = [sized("n1"), sized("n2"), sized("n3")]
    for each in nodes[1:]:
        each["metadata"]["labels"]["rack"] = "r"
    (loss,) = planned(nodes, workloads, running, [budget("web", 1)], drain=["rack=r"]).losses
    assert [each[0] for each in preempted(loss)] == ["web-a"]
    assert [(each.pod, "requires 1 of 2 pods to be healthy, and 1 is" in each.why) for each in loss.blocked] == [("web-b", True)]


def test_without_different_priorities_nothing_is_computed() -> None:
    assert priorities_of([asks("web"), asks("api")], [runs("web-a", "n1")], ()) is None
    assert priorities_of([asks("web", priority=None)], (), ()) is None
    assert priorities_of([asks("web")], [runs("web-a", "n1", priority=5)], ()) is not None


# --- any plan ------------------------------------------------------------------------------------------------------------

some = st.sampled_from
drawn_workloads = st.lists(
    st.tuples(
        some(("Deployment", "StatefulSet", "DaemonSet")), st.integers(1, 3), st.integers(1, 3), some((-5, 0, 10, 100)), st.booleans()
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(2, 5), min_size=2, max_size=4), drawn=drawn_workloads, least=st.integers(0, 2))
def test_a_plan_ends_where_no_pending_pod_can_preempt_and_has_a_move_for_each_victim(
    sizes: list[int], drawn: list[tuple[str, int, int, int, bool]], least: int
) -> None:
    nodes = [sized(f"n{number}", size) for number, size in enumerate(sizes)]
    workloads, running = [], []
    for number, (kind, replicas, cpu, priority, is_running) in enumerate(drawn):
        name = f"w{number}"
        workloads.append(asks(name, kind, 1 if kind == "DaemonSet" else replicas, cpu=cpu, priority=priority))
        for place in range(len(nodes) if kind == "DaemonSet" else replicas if is_running else 0):
            running.append(runs(f"{name}-{place}", f"n{place % len(nodes)}", kind, cpu=cpu, priority=priority))
    budgets = [budget("w0", least)]
    priorities = priorities_of(workloads, running, budgets)
    schedule = build_schedule(inventory(nodes, pods=running, resources=True, priorities=priorities), workloads)
    ranks = {each.key: Rank(placed.pod_source.priority or 0) for placed in schedule.workloads for each in placed.pods}
    for placed in schedule.workloads:
        for waiting in [each for each in placed.pods if each.key in placed.pending and not placed.pod_source.daemon]:
            assert preempt(schedule.cluster, waiting, placed.pod_source.priority or 0, ranks.get).node is None
    for loss in planned(nodes, workloads, running, budgets, lose=["each:node"], drain=["each:node"], remove=["each:node"]).losses:
        moved = {(move.workload, move.pod): (move.source, move.target) for move in loss.moves}
        assert len(moved) == len(loss.moves)
        assert [each.target for each in loss.preempted] == [moved[each.workload, each.pod][1] for each in loss.preempted]


@pytest.mark.parametrize(("profile", "node"), [(Profile(), "n1"), (Profile(preempts=False), None), (unknown_profile("volcano"), None)])
def test_the_profile_of_a_pod_decides_whether_it_preempts(profile: Profile, node: str | None) -> None:
    workloads, running = [asks("gold", priority=GOLD), asks("low")], [runs("low-a", "n1")]
    given = inventory(
        [sized("n1")],
        pods=running,
        resources=True,
        priorities=priorities_of(workloads, running, ()),
        profiles={"default-scheduler": profile},
    )
    assert where(make_plan(given, workloads))["gold"] == [node]
