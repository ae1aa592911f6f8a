"""StatefulSets whose replicas are in several zones although nothing requires it."""

from typing import Any

import pytest

from afflint.placement.planner import make_plan
from cluster_objects import HOST, ZONE, Object, apart, app, node, node_terms, pod, rather, spread, term, zoned
from workload_objects import inventory, pod_source

NODES = zoned(a1="a", a2="a", b1="b", b2="b")
BY_CHANCE = "its replicas are in 2 zones in this schedule; nothing requires that: zone a can take all 3"


def notes(kind: str = "StatefulSet", replicas: int = 3, nodes: list[Object] = NODES, by: str = "zone", **more: Any) -> list[str]:
    given = make_plan(
        inventory(nodes, **({"resources": True} if "containers" in more else {})), [pod_source("db", kind, replicas, **more)], by
    )
    return [note for each in given.workloads for note in each.notes if "requires" in note]


def test_two_zones_by_chance() -> None:
    """Every replica fits everywhere: the scheduler spreads them, and may put them into one zone next time."""
    assert notes() == [BY_CHANCE]
    assert notes(topologySpreadConstraints=[spread(ZONE, app("db"), when="ScheduleAnyway")]) == [BY_CHANCE]
    assert notes(affinity=rather("podAntiAffinity", (1, term(HOST, app("db"))))) == [BY_CHANCE]


def test_anti_affinity_over_nodes_requires_no_zones_if_a_zone_has_enough_nodes() -> None:
    """A guide suggests it for redundancy across zones; over hosts it does not give that."""
    both = notes(replicas=2, affinity=apart(term(HOST, app("db"))))
    assert both == ["its replicas are in 2 zones in this schedule; nothing requires that: zone a can take all 2"]
    assert notes(replicas=3, affinity=apart(term(HOST, app("db")))) == []


@pytest.mark.parametrize(
    "constraints",
    [
        {"topologySpreadConstraints": [spread(ZONE, app("db"))]},
        {"affinity": apart(term(ZONE, app("db"))), "replicas": 2},
        {"affinity": node_terms("kubernetes.io/hostname In a1,b1") | apart(term(HOST, app("db"))), "replicas": 2},
        {"nodeSelector": {ZONE: "a"}},
        {"kind": "Deployment"},
        {"replicas": 1},
        {"by": "kubernetes.io/hostname"},
        {"nodes": [*NODES[:2], node("x", {HOST: "x"})]},
    ],
)
def test_it_is_silent(constraints: dict[str, Any]) -> None:
    assert notes(**constraints) == []


def test_running_replicas_are_not_only_in_this_schedule() -> None:
    running = [pod(f"db-{number}", {"app": "db"}, on=on, namespace="default") for number, on in enumerate(("a1", "b1"))]
    for each in running:
        each["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}]
    [plan] = make_plan(inventory(NODES, pods=running), [pod_source("db", "StatefulSet", 2)]).workloads
    assert plan.notes == ("its replicas are in 2 zones; nothing requires that: zone a can take all 2",)
    assert [each.node for each in plan.replicas] == ["a1", "b1"]
