"""The part of a plan that a user asks for by name."""

import pytest

from afflint.findings.errors import UserError
from afflint.placement.plan import Plan
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.placement.selection import selected
from afflint.placement.upgrade_pools import UpgradeRequest
from cluster_objects import HOST, ZONE, apart, app, node, term, zoned
from workload_objects import VMI, inventory, pod_source


def plan() -> Plan:
    nodes = [node(f"{zone}1.example.com", {HOST: f"{zone}1.example.com", ZONE: zone}) for zone in "abc"]
    machines = [
        pod_source(f"sql-{number}", "VirtualMachine", labels={"app": "sql"}, affinity=apart(term(ZONE, app("sql"))), **VMI)
        for number in range(3)
    ]
    mail = pod_source("mail", nodeSelector={ZONE: "a"})
    return make_plan(inventory(nodes), [*machines, mail], asked=DisruptionRequest(["each:node"]))


def names(found: Plan) -> list[str]:
    return [each.name for each in found.workloads]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("mail", ["mail"]),
        ("default/mail", ["mail"]),
        ("Deployment default/mail", ["mail"]),
        ("sql", ["sql-0", "sql-1", "sql-2"]),
        ("sql-[12]", ["sql-1", "sql-2"]),
        ("a1", ["sql-0", "mail"]),
    ],
)
def test_names_select_workloads_applications_and_nodes(asked: str, expected: list[str]) -> None:
    assert names(selected(plan(), [asked])) == expected


def test_a_workload_has_every_disruption_and_a_node_its_own() -> None:
    mail = selected(plan(), ["mail"])
    assert [dict(loss.outcomes) for loss in mail.losses] == [{"Deployment default/mail": "dead"}, {}, {}]
    assert [loss.applications for loss in mail.losses] == [(), (), ()]
    assert [loss.what for loss in selected(plan(), ["b1"]).losses] == ["node b1.example.com"]
    whole = plan()
    assert selected(whole, []) is whole


def test_a_name_that_nothing_has_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UserError, match="no workload, application or node is named 'mial'; did you mean 'mail'"):
        selected(plan(), ["mial"])


def test_upgrades_show_the_selected_workloads_only() -> None:
    nodes = zoned(n1="a", n2="b")
    asked = DisruptionRequest(upgrade=UpgradeRequest(["each"]))
    plan = make_plan(inventory(nodes), [pod_source("web"), pod_source("api")], asked=asked)
    (upgrade,) = selected(plan, ["web"]).upgrades
    assert {each.workload for each in plan.upgrades[0].replicas} == {"Deployment default/web", "Deployment default/api"}
    assert {each.workload for each in upgrade.replicas} == {"Deployment default/web"}
    assert {each.application for each in upgrade.outages} == {"Deployment default/web"}
