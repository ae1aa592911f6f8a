"""Several disruptions as one: nodes drained in an order, and failures, drains and removals together."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from afflint.controllers.budgets import read_budget
from afflint.controllers.pod_source import PodSource
from afflint.findings.errors import UserError
from afflint.placement.failures import UnknownLossError, failures
from afflint.placement.plan import DisruptionEffect, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.report.place import json_report, page, table
from afflint.scheduler.cluster import Cluster
from checkout import ROOT
from cluster_objects import ZONE, Object, app, budget, spread, zoned
from workload_objects import apart_by, inventory, pod_source

SIX = zoned(a1="a", a2="a", b1="b", b2="b", c1="c", c2="c")


def planned(nodes: list[Object], pod_sources: list[PodSource], *budgets: Object, **asked: Any) -> Plan:
    request = DisruptionRequest(**asked)
    return make_plan(inventory(nodes), pod_sources, asked=request, budgets=[read_budget(each) for each in budgets])


def combined(nodes: list[Object], pod_sources: list[PodSource], *budgets: Object, **asked: Any) -> DisruptionEffect:
    (loss,) = planned(nodes, pod_sources, *budgets, together=True, **asked).losses
    return loss


def moves(loss: DisruptionEffect) -> list[str]:
    return [f"{move.pod}: {move.source} -> {move.target or move.fate}" for move in loss.moves]


# --- lists -------------------------------------------------------------------------------------------------------------


def test_nodes_in_a_list_are_one_disruption_in_the_given_order() -> None:
    (found,) = failures(Cluster(SIX), "c1,a1")
    assert found == ("nodes c1, a1", ("c1", "a1"))
    (found,) = failures(Cluster(SIX), "c2, zone=a, a1")
    assert found == ("c2, zone=a, a1", ("c2", "a1", "a2"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("a1,d1", "no node is named 'd1'"),
        ("a1,,b1", "'a1,,b1' has an empty item; list nodes with one comma between them"),
        ("a1,each:node", "'each:node' cannot be in a list: it is one disruption for each node or label value, the list is only one"),
    ],
)
def test_a_list_names_nodes_only(asked: str, message: str) -> None:
    with pytest.raises(UnknownLossError) as refused:
        failures(Cluster(SIX), asked)
    assert str(refused.value) == message


def test_a_drain_that_stops_keeps_no_other_drain_from_its_nodes() -> None:
    web = pod_source("web", replicas=1, nodeSelector={ZONE: "a"})
    api = pod_source("api", replicas=1, nodeSelector={ZONE: "b"})
    nodes = zoned(a1="a", b1="b", b2="b")
    (running,) = [each.replicas[0].node for each in planned(nodes, [web, api]).workloads if each.name == "api"]
    asked = ["a1", str(running)]
    one, two = (combined(nodes, [web, api], budget(minAvailable=1), drain=each) for each in ([",".join(asked)], asked))
    assert ([each.node for each in one.blocked], moves(one)) == (["a1"], [])
    assert ([each.node for each in two.blocked], len(moves(two))) == (["a1"], 1)


def test_the_order_of_nodes_decides_whether_a_drain_completes() -> None:
    """As recorded: with a1 first, the replacement of web-0 waits for zone a, and the budget then keeps web-1 on b1."""
    nodes = zoned(a1="a", b1="b", b2="b", b3="b")
    web = [pod_source("web", replicas=2, topologySpreadConstraints=[spread(ZONE, app("web"))])]
    blocked, ends = (planned(nodes, web, budget(maxUnavailable=1), drain=[order]).losses[0] for order in ("a1,b1,b2", "b1,a1,b2"))
    assert (blocked.result, [each.pod for each in blocked.blocked]) == ("blocked", ["web-1"])
    assert blocked.notes == ("the drain stops at b1: 1 further node is only cordoned",)
    assert (ends.result, moves(ends)) == ("ends", ["web-0: a1 -> waits", "web-1: b1 -> b3"])


# --- together ----------------------------------------------------------------------------------------------------------


def test_a_failure_during_maintenance_is_worse_than_each_of_the_two() -> None:
    """Two replicas that must not share a zone, two zones with two nodes each, and a budget that keeps one of them."""
    nodes = zoned(a1="a", a2="a", b1="b", b2="b")
    web = [pod_source("web", replicas=2, affinity=apart_by(ZONE, "web"))]
    for asked in ({"lose": ["b1"]}, {"drain": ["a1"]}):
        assert planned(nodes, web, budget(minAvailable=1), **asked).losses[0].outcomes["Deployment default/web"] != "dead"
    loss = combined(nodes, web, budget(minAvailable=1), lose=["b1"], drain=["a1"])
    assert loss.what == "lose node b1; drain node a1"
    assert loss.nodes == ("b1", "a1")
    # The pod on b1 is in deletion and still keeps its zone, so the budget has no healthy pod to spare.
    assert moves(loss) == ["web-1: b1 -> waits"]
    assert (loss.result, [each.pod for each in loss.blocked]) == ("blocked", ["web-0"])
    assert (
        loss.blocked[0].why
        == "PodDisruptionBudget web (minAvailable 1) requires 1 of 2 pods to be healthy, and 1 is, until the evicted pods are ready again"
    )


def test_drained_and_removed_is_a_planned_removal() -> None:
    """Without the node, its zone no longer counts for the spread constraint: the pod that waited is scheduled."""
    nodes = zoned(a1="a", b1="b", b2="b")
    web = [pod_source("web", replicas=2, topologySpreadConstraints=[spread(ZONE, app("web"))])]
    assert moves(combined(nodes, web, drain=["a1"])) == ["web-0: a1 -> waits"]
    assert moves(combined(nodes, web, drain=["a1"], remove=["a1"])) == ["web-0: a1 -> b2"]


def test_a_stateful_set_is_recreated_once_the_failed_node_is_removed() -> None:
    db = [pod_source("db", "StatefulSet", replicas=2)]
    nodes = zoned(n1="", n2="", n3="")
    assert moves(combined(nodes, db, lose=["n1"])) == ["db-0: n1 -> held"]
    loss = combined(nodes, db, lose=["n1"], remove=["n1"])
    assert moves(loss) == ["db-0: n1 -> n3"]
    assert loss.outcomes == {"StatefulSet default/db": "survives"}
    assert loss.result is None


def test_a_failed_node_is_not_drained_as_well() -> None:
    loss = combined(SIX, [pod_source("web", replicas=3)], lose=["a1"], drain=["zone=a"])
    assert [(stage.action, stage.nodes) for stage in loss.stages] == [("lose", ("a1",)), ("drain", ("a2",))]


def test_one_value_may_be_each() -> None:
    plan = planned(SIX, [pod_source("web", replicas=3)], drain=["a1"], lose=["each:zone"], together=True)
    # With zone a, its node a1 has failed and is not drained.
    assert [loss.what for loss in plan.losses] == ["lose zone=a", "lose zone=b; drain node a1", "lose zone=c; drain node a1"]
    with pytest.raises(UserError, match="--together takes only one each:…, not each:zone and each:node"):
        planned(SIX, [], drain=["each:node"], lose=["each:zone"], together=True)


def test_combinations_that_are_the_same_without_failed_nodes_are_simulated_once() -> None:
    plan = planned(zoned(a1="a", b1="b", b2="b"), [pod_source("web")], lose=["zone=b"], drain=["each:node"], remove=["a1"], together=True)
    assert [loss.what for loss in plan.losses] == ["lose zone=b; drain node a1; remove node a1", "lose zone=b; remove node a1"]


def test_reports_show_a_combined_disruption() -> None:
    plan = planned(SIX, [pod_source("web", replicas=3)], lose=["a1"], drain=["b1"], together=True)
    text = "".join(table.render(plan, color=False, width=120))
    assert "1 combined disruption (failures first, then drains, then removals)\n  lose node a1; drain node b1 (2 nodes)  survives" in text
    data = json.loads("".join(json_report.render(plan)))
    jsonschema.validate(data, json.loads(Path(ROOT, "schemas", "place.schema.json").read_text(encoding="utf-8")))
    assert [stage["action"] for stage in data["losses"][0]["stages"]] == ["lose", "drain"]
    assert "After the combination" in page.render(plan)
