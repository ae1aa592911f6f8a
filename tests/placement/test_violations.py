"""Running pods whose rules, or those of others, no longer allow their nodes; and what a restart or a live migration would do."""

from typing import Any

import pytest

from afflint.controllers.evictions import Eviction
from afflint.controllers.observed_workloads import observed_workloads
from afflint.inventory.inventory import Inventory
from afflint.placement.plan import Violation
from afflint.placement.planner import make_plan
from cluster_objects import HOST, ZONE, Object, apart, node, together, zoned
from cluster_objects import pod as plain_pod
from workload_objects import VMI, inventory, pod_source

NODES = zoned(w1="a", w2="b", w3="b")
SPREAD = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]
APART = apart({"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}})


def pod(name: str, on: str, owner: str = "ReplicaSet/web", **spec: Any) -> Object:
    found = plain_pod(name, {"app": name.rpartition("-")[0]}, on=on, namespace="shop", **spec)
    kind, _, of = owner.partition("/")
    if owner:
        found["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": of, "controller": True}]
    return found


def violations(*pods: Object, nodes: list[Object] = NODES) -> tuple[Violation, ...]:
    given: Inventory = inventory(nodes, pods=list(pods))
    return make_plan(given, observed_workloads([], pods, [each["metadata"]["name"] for each in nodes])).violations


def messages_of(*pods: Object, nodes: list[Object] = NODES) -> list[tuple[str, str, str | None, str | None]]:
    return [(each.pod, each.why, each.restart, each.descheduler) for each in violations(*pods, nodes=nodes)]


def test_a_label_that_the_node_has_lost() -> None:
    nodes = [*zoned(w1="a"), node("w2", {HOST: "w2", "disk": "ssd"})]
    assert messages_of(pod("web-1", "w1", nodeSelector={"disk": "ssd"}), nodes=nodes) == [
        ("web-1", "lacks disk=ssd", "w2", "RemovePodsViolatingNodeAffinity")
    ]
    assert messages_of(pod("web-1", "w2", nodeSelector={"disk": "ssd"}), nodes=nodes) == []


def test_a_taint_that_came_later() -> None:
    nodes = [node("w1", {HOST: "w1"}, taints=["dedicated=db:NoSchedule"]), node("w2", {HOST: "w2"})]
    assert messages_of(pod("web-1", "w1"), nodes=nodes) == [
        ("web-1", "has the untolerated taint dedicated=db:NoSchedule", "w2", "RemovePodsViolatingNodeTaints")
    ]
    assert messages_of(pod("web-1", "w1", tolerations=[{"operator": "Exists"}]), nodes=nodes) == []


@pytest.mark.parametrize("key", ["unschedulable", "not-ready", "memory-pressure"])
def test_a_cordon_or_the_condition_of_a_node_is_not_a_rule_of_a_pod(key: str) -> None:
    nodes = [node("w1", {HOST: "w1"}, taints=[f"node.kubernetes.io/{key}:NoSchedule"]), node("w2", {HOST: "w2"})]
    assert messages_of(pod("web-1", "w1"), nodes=nodes) == []
    nodes[0]["spec"]["unschedulable"] = True
    assert [each[1] for each in messages_of(pod("web-1", "w1", nodeSelector={"disk": "ssd"}), nodes=nodes)] == ["lacks disk=ssd"]


def test_two_that_must_be_apart_share_a_node() -> None:
    strategy = "RemovePodsViolatingInterPodAntiAffinity"
    pods = pod("web-1", "w1", affinity=APART), pod("web-2", "w1", affinity=APART), pod("web-3", "w2", affinity=APART)
    assert messages_of(*pods) == [(name, "already has a replica of web", "w3", strategy) for name in ("web-1", "web-2")]
    assert messages_of(*pods[1:]) == []


def test_the_anti_affinity_of_another_pod_counts_as_well() -> None:
    other, web = messages_of(pod("other-1", "w1", "ReplicaSet/other", affinity=APART), pod("web-1", "w1"))
    assert (other[:2], web[:2]) == (
        ("other-1", "already has a pod of web"),
        ("web-1", "already has a pod of other, whose anti-affinity excludes it"),
    )


def test_no_strategy_of_the_descheduler_is_for_pod_affinity() -> None:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "cache"}}}
    pods = pod("web-1", "w1", affinity=together(term)), pod("cache-1", "w2", "ReplicaSet/cache")
    assert messages_of(*pods) == [("web-1", "has no pod with app=cache", "w2", None)]


def test_a_spread_that_has_become_uneven() -> None:
    pods = [pod(f"web-{number}", on, topologySpreadConstraints=SPREAD) for number, on in enumerate(("w2", "w3", "w3"))]
    found = messages_of(*pods)
    assert [(name, restart, strategy) for name, _, restart, strategy in found] == [
        (name, "w1", "RemovePodsViolatingTopologySpreadConstraint") for name in ("web-0", "web-1", "web-2")
    ]


def test_without_another_node_a_restarted_pod_stays_pending_and_a_bare_one_is_gone() -> None:
    [owned] = violations(pod("web-1", "w1", nodeSelector={"disk": "ssd"}))
    [bare] = violations(pod("web-1", "w1", "", nodeSelector={"disk": "ssd"}))
    assert ((owned.recreated, owned.restart), (bare.recreated, bare.restart)) == ((True, None), (False, None))


def test_a_machine_may_migrate_to_where_its_rules_allow_it() -> None:
    """As in a cluster where the rule was added while the VM ran."""
    machine = pod_source("db", "VirtualMachine", namespace="shop", **VMI, nodeSelector={ZONE: "b"})
    launcher = pod("virt-launcher-db-x7k2p", "w1", "VirtualMachineInstance/db")
    evictions = {("shop", "virt-launcher-db-x7k2p"): Eviction("migrates")}
    [found] = make_plan(inventory(NODES, pods=[launcher]), [machine], evictions=evictions).violations
    assert (found.workload, found.why) == ("VirtualMachine shop/db", f"has {ZONE}=a, not b")
    assert found.migrates
    assert found.migration in ("w2", "w3")
    [found] = make_plan(inventory(NODES, pods=[launcher]), [machine]).violations
    assert (found.migrates, found.migration) == (False, None)


def test_what_the_simulation_schedules_is_not_a_violation() -> None:
    assert make_plan(inventory(NODES), [pod_source("web", replicas=4, affinity=APART)]).violations == ()
