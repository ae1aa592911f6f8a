"""Running pods that a restart would bring to nodes that they prefer."""

from typing import Any

import pytest

from afflint.controllers.observed_workloads import observed_workloads
from afflint.controllers.pod_replacement import NEVER
from afflint.placement.plan import Plan, PreferredRestart
from afflint.placement.planner import make_plan
from afflint.placement.selection import selected
from afflint.report.place.words import restart_words
from cluster_objects import HOST, ZONE, Object, apart, app, node, node_preferences, node_terms, pod, rather, spread, term, together
from report.place_sample import table
from workload_objects import VMI, inventory, pod_source, three_zones

LIKES_SSD = node_preferences((75, "disk In ssd"))
PLAIN = node_preferences((10, "performance NotIn high"))
NODES = [node("n1", {HOST: "n1"}), node("n2", {HOST: "n2", "disk": "ssd"})]


def running(name: str, on: str, kind: str = "ReplicaSet", **spec: Any) -> Object:
    """A running pod of the namespace shop whose owner has its name without the last part."""
    owner = name.rpartition("-")[0]
    found = pod(name, {"app": owner}, on=on, namespace="shop", **spec)
    group = "kubevirt.io/v1" if kind.startswith("Virtual") else "apps/v1"
    if kind:
        found["metadata"]["ownerReferences"] = [{"apiVersion": group, "kind": kind, "name": owner, "controller": True}]
    return found


def plan(*pods: Object, nodes: list[Object] = NODES) -> Plan:
    return make_plan(inventory(nodes, pods=list(pods)), observed_workloads([], pods, [each["metadata"]["name"] for each in nodes]))


def restarts(*pods: Object, nodes: list[Object] = NODES) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(each.pod, each.others, each.targets) for each in plan(*pods, nodes=nodes).restarts]


def test_a_label_that_came_later_attracts_a_pod_only_after_a_restart() -> None:
    [found] = plan(running("web-1", "n1", affinity=LIKES_SSD)).restarts
    assert found == PreferredRestart("web-1", "ReplicaSet shop/web", "n1", (), ("n2",), 0, 75, 75)
    assert restart_words(found) == "a restart would move it to n2 in this schedule (satisfied weight 75 of 75, here 0)"


def test_a_virtual_machine_whose_run_strategy_is_manual_can_be_restarted() -> None:
    """The user restarts it with virtctl, also if no controller does."""
    machine = pod_source("db", "VirtualMachine", namespace="shop", affinity=LIKES_SSD, pod_replacement=NEVER, **VMI)
    launcher = running("db-x7k2p", "n1", "VirtualMachineInstance")
    found = make_plan(inventory(NODES, pods=[launcher]), [machine])
    assert [(each.workload, each.pod, each.targets) for each in found.restarts] == [("VirtualMachine shop/db", "db-x7k2p", ("n2",))]


@pytest.mark.parametrize(
    "case",
    [
        running("web-1", "n2", affinity=LIKES_SSD),  # It is where it prefers to be.
        running("web-1", "n1"),  # It prefers nothing.
        running("web-1", "n1", affinity=node_preferences((75, "disk In nvme"))),  # No node satisfies it.
        running("web-1", "n1", affinity=LIKES_SSD, nodeSelector={HOST: "n1"}),  # Its rules do not allow the other node.
        running("web-1", "n1", "", affinity=LIKES_SSD),  # It has no controller: it is gone after a deletion.
        running("web-1", "n1", "DaemonSet", affinity=LIKES_SSD),
    ],
)
def test_it_is_silent(case: Object) -> None:
    assert restarts(case) == []


def test_a_preferred_node_that_is_cordoned_or_excluded_by_another_pod_does_not_count() -> None:
    liking = running("web-1", "n1", affinity=LIKES_SSD)
    assert restarts(liking, nodes=[NODES[0], node("n2", {HOST: "n2", "disk": "ssd"}, cordoned=True)]) == []
    web = app("web")
    both = [running(f"web-{number}", on, affinity={**LIKES_SSD, **apart(term(HOST, web))}) for number, on in enumerate(("n1", "n2"))]
    assert restarts(*both) == []


def test_other_preferences_of_the_pod_may_outweigh_it() -> None:
    """The restart brings it to the node with the best score, which two preferences share."""
    torn = node_preferences((75, "disk In ssd"), (75, f"{HOST} In n1"))
    assert restarts(running("web-1", "n1", affinity=torn)) == []


def test_what_violates_a_rule_is_reported_as_that_only() -> None:
    pod = running("web-1", "n1", affinity={"nodeAffinity": {**LIKES_SSD["nodeAffinity"], **node_terms("disk In ssd")["nodeAffinity"]}})
    found = plan(pod)
    assert ([each.pod for each in found.violations], found.restarts) == (["web-1"], ())


def pair(number: int, on: str) -> list[Object]:
    """A proxy that prefers plain nodes, and an appliance that must run beside it and prefers them as well."""
    proxy = {**PLAIN, **apart(term(ZONE, {"matchLabels": {"role": "proxy"}}))}
    appliance = {
        **PLAIN,
        **together(term(HOST, {"matchLabels": {"role": "proxy"}})),
        **apart(term(ZONE, {"matchLabels": {"role": "appliance"}})),
    }
    pods = [running(f"{role}{number}-0", on, affinity=each) for role, each in (("proxy", proxy), ("appliance", appliance))]
    for each, role in zip(pods, ("proxy", "appliance"), strict=True):
        each["metadata"]["labels"]["role"] = role
    return pods


def test_two_that_must_share_a_node_come_home_only_together() -> None:
    """After a drain and an uncordon, both are on the fast node; each one alone would stay with the other, or leave it behind."""
    others = [*pair(2, "worker-3"), *pair(3, "worker-5")]
    found = plan(*pair(1, "worker-2"), *others, nodes=three_zones())
    assert [(each.pod, each.others, each.targets) for each in found.restarts] == [("appliance1-0", ("proxy1-0",), ("worker-1",))]
    text = "stopped before either starts again, it and proxy1-0 would run on worker-1 in this schedule (satisfied weight 10 of 10, here 0)"
    assert restart_words(found.restarts[0]) == text
    assert restarts(*pair(1, "worker-1"), *others, nodes=three_zones()) == []


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_pods_that_must_share_a_node_are_stopped_together_in_any_order_of_documents(kind: str) -> None:
    web, db = running("web-0", "n1", kind, affinity=together(term(HOST, app("db")))), running("db-0", "n1", kind, affinity=LIKES_SSD)
    assert restarts(web, db) == restarts(db, web) == [("db-0", ("web-0",), ("n2",))]


def test_no_restart_leaves_a_pod_behind_that_requires_another() -> None:
    """The web pod requires the database on its node; it may be alone, in the group, or one of several replicas that cannot be stopped."""
    beside = together(term(HOST, app("db")))
    db = running("db-0", "n1", affinity=LIKES_SSD)
    pinned = running("web-0", "n1", affinity=beside, nodeSelector={HOST: "n1"})
    assert restarts(db, pinned) == []
    several = [running(f"web-{number}", "n1", affinity={**LIKES_SSD, **beside}) for number in range(2)]
    assert restarts(db, *several) == restarts(*several, db) == []
    cache, web = (running(f"{name}-0", "n1", affinity={**LIKES_SSD, **beside}) for name in ("cache", "web"))
    assert restarts(web, cache, db) == restarts(db, cache, web) == [("cache-0", ("db-0", "web-0"), ("n2",))]


def test_a_pod_that_is_still_being_deleted_counts_for_the_one_that_replaces_it() -> None:
    """A ReplicaSet creates the new pod while the old one ends, and the old one attracts it; a StatefulSet waits."""
    beside_itself = {**LIKES_SSD, **together(term(HOST, app("web")))}
    assert restarts(running("web-0", "n1", "ReplicaSet", affinity=beside_itself)) == []
    assert restarts(running("web-0", "n1", "StatefulSet", affinity=beside_itself)) == [("web-0", (), ("n2",))]


def test_a_pod_may_leave_one_that_requires_it_only_in_its_zone() -> None:
    nodes = [node(f"n{number}", {HOST: f"n{number}", ZONE: "a", **disk}) for number, disk in ((1, {}), (2, {"disk": "ssd"}))]
    web = running("web-0", "n1", affinity=together(term(ZONE, app("db"))))
    assert restarts(web, running("db-0", "n1", affinity=LIKES_SSD), nodes=nodes) == [("db-0", (), ("n2",))]


def test_the_reports_list_them_and_a_selection_shows_only_its_own() -> None:
    found = plan(running("web-1", "n1", affinity=LIKES_SSD), running("api-1", "n1", affinity=LIKES_SSD))
    lines = table(found).splitlines()
    at = lines.index("2 running pods would run on preferred nodes after a restart, each alone (preferences apply when a pod is scheduled)")
    assert [line.split()[:3] for line in lines[at + 1 :: 2][:2]] == [["shop/web", "web-1", "n1"], ["shop/api", "api-1", "n1"]]
    assert [each.pod for each in selected(found, ["api"]).restarts] == ["api-1"]


AVOIDS_ITSELF = {"affinity": rather("podAntiAffinity", (100, term(HOST, app("web"))))}
SPREADS = {"topologySpreadConstraints": [spread(HOST, app("web"), when="ScheduleAnyway")]}
THREE = [node(name, {HOST: name}) for name in ("n1", "n2", "n3")]


@pytest.mark.parametrize("spec", [AVOIDS_ITSELF, SPREADS], ids=["preferred anti-affinity", "soft spread"])
def test_pods_that_share_a_node_would_be_apart_after_a_restart(spec: dict[str, Any]) -> None:
    """After a node has come back, two of three replicas share one."""
    found = plan(*[running(f"web-{number}", on, **spec) for number, on in enumerate(["n1", "n1", "n2"])], nodes=THREE).restarts
    assert [(each.pod, each.targets, each.apart) for each in found] == [("web-0", ("n3",), (1, 0)), ("web-1", ("n3",), (1, 0))]
    text = "a restart would move it to n3 in this schedule (pods that it prefers to be apart from: 0 there, 1 here)"
    assert restart_words(found[0]) == text


@pytest.mark.parametrize(
    ("on", "nodes"),
    [
        (["n1", "n2", "n3"], THREE),
        (["n1", "n1", "n2", "n2"], THREE[:2]),
        (["n1", "n1", "n2"], [*THREE[:2], node("n3", {HOST: "n3"}, cordoned=True)]),
    ],
    ids=["apart", "as even as possible", "no other node"],
)
def test_pods_that_a_restart_would_not_separate_are_not_named(on: list[str], nodes: list[Object]) -> None:
    assert restarts(*[running(f"web-{number}", each, **SPREADS) for number, each in enumerate(on)], nodes=nodes) == []
