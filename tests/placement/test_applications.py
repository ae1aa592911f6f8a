"""Applications: which workloads are judged together, and what a disruption leaves of them."""

from typing import Any

import pytest

from afflint.controllers.budgets import Budget
from afflint.controllers.pod_source import PodSource
from afflint.findings.errors import UserError
from afflint.kube.selectors import parse_label_selector
from afflint.placement.applications import with_applications
from afflint.placement.plan import Application, Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from cluster_objects import HOST, ZONE, Object, apart, app, rather, spread, term, together, zoned
from workload_objects import VMI, inventory, pod_source

THREE = zoned(a1="a", b1="b", c1="c")


def machine(name: str, application: str = "sql", **spec: Any) -> PodSource:
    """A VM on its own with the label ``app``."""
    return pod_source(name, "VirtualMachine", labels={"app": application}, **VMI, **spec)


def apart_machines(key: str = ZONE) -> list[PodSource]:
    return [machine(f"sql-{number}", affinity=apart(term(key, app("sql")))) for number in range(3)]


def planned(nodes: list[Object], sources: list[PodSource], label: str = "", **more: Any) -> Plan:
    request = DisruptionRequest(more.pop("lose", ()), more.pop("drain", ()), more.pop("remove", ()))
    budgets = more.pop("budgets", ())
    return make_plan(inventory(nodes, **more), sources, asked=request, budgets=budgets, group_label=label)


def grouped(plan: Plan) -> list[tuple[str, str, list[str]]]:
    return [(each.name, each.selected_by, [key.rpartition("/")[2] for key in each.workloads]) for each in plan.applications]


def service(name: str, **selector: str) -> Object:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"selector": selector}}


def budget(name: str, selector: Object) -> Budget:
    parsed = parse_label_selector(selector)
    return Budget("default", name, parsed, 1, None)  # type: ignore[arg-type]


# --- which workloads are one application -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"affinity": apart(term(ZONE, app("sql")))}, "anti-affinity"),
        ({"affinity": rather("podAntiAffinity", (1, term(HOST, app("sql"))))}, "anti-affinity"),
        ({"topologySpreadConstraints": [spread(ZONE, app("sql"))]}, "spread constraint"),
        ({"topologySpreadConstraints": [spread(ZONE, app("sql"), when="ScheduleAnyway")]}, "spread constraint"),
    ],
    ids=["required anti-affinity", "preferred anti-affinity", "hard spread", "soft spread"],
)
def test_single_vms_that_keep_away_from_each_other_are_one_application(spec: Object, kind: str) -> None:
    found = planned(THREE, [machine(f"sql-{number}", **spec) for number in range(3)])
    assert grouped(found) == [("default/sql", kind, ["sql-0", "sql-1", "sql-2"])]


def test_vms_are_not_an_application_if_their_selector_also_selects_one_that_lacks_it() -> None:
    assert grouped(planned(THREE, [*apart_machines(), machine("test")])) == []


def test_a_selector_of_all_vms_makes_no_application() -> None:
    everywhere = apart(term(HOST, {"matchLabels": {"kubevirt.io": "virt-launcher"}}))
    assert grouped(planned(THREE, [machine("one", affinity=everywhere), machine("two", "mail", affinity=everywhere)])) == []


def test_deployments_are_not_an_application_because_of_their_anti_affinity() -> None:
    sources = [pod_source(name, labels={"app": "web"}, affinity=apart(term(HOST, app("web")))) for name in ("blue", "green")]
    assert grouped(planned(THREE, sources)) == []


def test_a_service_or_a_budget_makes_an_application_of_what_it_selects() -> None:
    sources = [pod_source(name, labels={"app": "web"}) for name in ("blue", "green")] + [pod_source("mail")]
    assert grouped(planned(THREE, sources, services=[service("front", app="web")])) == [
        ("default/front", "Service front", ["blue", "green"])
    ]
    assert grouped(planned(THREE, sources, services=[service("mail", app="mail"), service("external")])) == []
    assert grouped(planned(THREE, sources, budgets=[budget("web", app("web"))])) == [
        ("default/web", "PodDisruptionBudget web", ["blue", "green"])
    ]
    assert grouped(planned(THREE, sources, budgets=[budget("all", {})])) == []


def test_daemonsets_are_not_part_of_an_application() -> None:
    sources = [pod_source("log", "DaemonSet", labels={"app": "web"}), pod_source("web")]
    assert grouped(planned(THREE, sources, services=[service("web", app="web")])) == []


def test_the_selector_with_the_fewest_workloads_counts() -> None:
    sources = [pod_source(name, labels={"app": name[:3], "tier": "front"}) for name in ("web-1", "web-2", "api-1")]
    found = planned(THREE, sources, services=[service("front", tier="front"), service("web", app="web")])
    assert grouped(found) == [("default/web", "Service web", ["web-1", "web-2"])]


def test_a_chosen_label_groups_and_nothing_else_does() -> None:
    sources = [*apart_machines(), pod_source("web", labels={"part-of": "shop"}), pod_source("api", labels={"part-of": "shop"})]
    assert grouped(planned(THREE, sources, "part-of")) == [("default/shop", "label part-of=shop", ["web", "api"])]
    other = pod_source("api", labels={"part-of": "shop"}, namespace="test")
    assert grouped(planned(THREE, [sources[3], other], "part-of")) == []
    with pytest.raises(UserError, match="no workload has the pod label part_of; did you mean 'part-of'"):
        planned(THREE, sources, "part_of")


# --- what a disruption leaves ------------------------------------------------------------------------------------------


def effects(plan: Plan) -> list[list[tuple[str, int, int]]]:
    return [[(each.outcome, each.left, each.replicas) for each in loss.applications] for loss in plan.losses]


def test_an_application_keeps_two_of_three_vms() -> None:
    found = planned(THREE, apart_machines(), lose=["each:zone"], remove=["a1"])
    assert effects(found) == [[("degraded", 2, 3)]] * 4
    assert [list(loss.outcomes.values()) for loss in found.losses] == [["dead"]] * 4


def test_an_application_on_one_node_is_down_with_it() -> None:
    pair = [machine(name, "dc") for name in ("dc-0", "dc-1")]
    found = planned(zoned(n1="a"), pair, services=[service("dc", app="dc")], lose=["n1"])
    assert effects(found) == [[("dead", 0, 2)]]


def test_an_application_is_interrupted_if_all_of_its_workloads_are() -> None:
    sources = [pod_source(name, labels={"app": "web"}, nodeSelector=select) for name, select in (("one", {}), ("two", {ZONE: "b"}))]
    nodes = zoned(a1="a", b1="b", b2="b")
    web = [service("web", app="web")]
    assert [loss.outcomes for loss in planned(nodes, sources, services=web, remove=["a1"]).losses] == [
        {"Deployment default/one": "interrupted"}
    ]
    assert effects(planned(nodes, sources, services=web, remove=["a1"])) == [[("survives", 2, 2)]]
    both = [pod_source(name, labels={"app": "web"}, affinity=together(term(HOST, app("web")))) for name in ("one", "two")]
    assert effects(planned(nodes, both, services=web, remove=["a1"])) == [[("interrupted", 2, 2)]]
    assert effects(planned(zoned(a1="a"), both, services=web, remove=["a1"])) == [[("dead", 0, 2)]]


@pytest.mark.parametrize("action", ["lose", "drain", "remove"])
def test_an_application_of_one_workload_has_its_outcome_and_no_replica_is_lost_in_the_count(action: str) -> None:
    sources = [pod_source(f"w{number}", replicas=number % 4, affinity=apart(term(HOST, app(f"w{number}")))) for number in range(8)]
    found = planned(zoned(a1="a", a2="a", b1="b", c1="c"), sources, **{action: ["each:node", "each:zone"]})
    alone = [Application(each.name, "", (each.key,)) for each in found.workloads]
    by_key = {each.key: each for each in found.workloads}
    assert any(loss.outcomes for loss in found.losses)
    for loss in found.losses:
        judged = with_applications(loss, alone, by_key).applications
        assert {key: outcome for each in judged for key, outcome in zip(each.workloads, [each.outcome], strict=True)} == loss.outcomes
        whole = with_applications(loss, [Application("all", "", tuple(by_key))], by_key).applications
        unhurt = [each for each in found.workloads if each.key not in loss.outcomes]
        kept = sum(each.left for each in judged) + sum(replica.node is not None for each in unhurt for replica in each.replicas)
        assert [each.left for each in whole] == [kept] * bool(loss.outcomes)
