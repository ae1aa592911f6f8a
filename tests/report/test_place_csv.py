"""The simulation as CSV: all names of lists that the text cuts, a line for each."""

import csv
import io

import pytest
from place_sample import BAKERY, TROUBLE, hostile, node, workload

from afflint.placement.plan import Blocked, Concentration, DisruptionEffect, ExhaustedBudget, Plan, PresentState, Replica, Violation
from afflint.report.place import csv_report

HEAD = ["scenario", "state", "workload", "pod", "node", "reason"]


def rows(plan: Plan) -> list[list[str]]:
    head, *found = csv.reader(io.StringIO("".join(csv_report.render(plan))))
    assert head == HEAD
    assert {len(each) for each in found} <= {len(HEAD)}
    return found


def test_a_running_cluster_has_a_line_for_each_pod_at_risk() -> None:
    web = workload("Deployment shop/web", [], [Replica(f"web-{number}", "n1") for number in range(30)])
    blocked = tuple(Blocked(web.key, each.pod, "n1", "PodDisruptionBudget web") for each in web.replicas)
    now = PresentState(
        30,
        blocked,
        (ExhaustedBudget("shop/web", "it requires 30 of 30", ("web-0",)),),
        (Concentration(web.key, (web.key,), 30, "zone", "a", movable=True),),
        ("StatefulSet shop/db",),
    )
    violation = Violation("web-0", web.key, "n1", "lacks disk=ssd", "NodeAffinity", True, "n2", False, None, None)
    found = rows(Plan("zone", (node("n1", "a"),), (web,), (), (), violations=(violation,), now=now))
    assert found[0] == ["now", "violates rules", web.key, "web-0", "n1", "lacks disk=ssd"]
    assert [row[3] for row in found if row[1] == "blocked"] == [f"web-{number}" for number in range(30)]
    assert found[-3:] == [
        ["now", "no eviction allowed", "shop/web", "web-0", "", "it requires 30 of 30"],
        ["now", "in one place", web.key, "", "zone=a", "another domain could take a replica"],
        ["now", "in several places by chance", "StatefulSet shop/db", "", "", "nothing requires that"],
    ]


def test_harm_of_disruptions_is_listed_by_replica_and_survivors_are_not() -> None:
    ledger = "VirtualMachineInstanceReplicaSet bakery/ledger"
    lines = [(f"lose node fast-{number + 1}", f"ledger-{number}", f"fast-{number + 1}") for number in range(3)]
    assert [row[:5] for row in rows(BAKERY)] == [[scenario, "degraded", ledger, pod, on] for scenario, pod, on in lines]
    assert any(row[:2] == ["now", "Pending"] for row in rows(TROUBLE))


def test_a_drain_that_is_refused_says_so() -> None:
    loss = DisruptionEffect("node n1", ("n1",), (), {}, "drain", blocked=(Blocked("", "tool", "n1", "it has no controller", refused=True),))
    assert rows(Plan("zone", (node("n1", "a"),), (), (loss,), ())) == [
        ["drain node n1", "refused", "", "tool", "n1", "it has no controller"]
    ]


@pytest.mark.parametrize("name", ["=cmd|'/C calc'!A0", "+1", "-1", "@sum", "\t=1"])
def test_no_name_is_a_formula(name: str) -> None:
    loss = DisruptionEffect("node n1", ("n1",), (), {}, "drain", blocked=(Blocked("", name, "n1", name),))
    ((*_, pod, _, why),) = rows(Plan("zone", (node("n1", "a"),), (), (loss,), ()))
    assert (pod, why) == (f"'{name}", f"'{name}")


@pytest.mark.parametrize("name", ["two\nlines", 'a"b,c', "\ud800", "\u202eevil"])
def test_hostile_names_stay_in_their_cells(name: str) -> None:
    assert "".join(csv_report.render(hostile(name))).encode()
    assert rows(hostile(name))
