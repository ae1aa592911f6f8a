"""Which pods a descheduler evicts: from busy nodes, beside pods that anti-affinity excludes, and for workloads with enough replicas."""

from typing import Any

import pytest
from descheduler_runs import APART, SPREAD, TAINTS, UTILIZATION, descheduled, moves, policy, running

from afflint.placement.plan import DescheduleEffect
from cluster_objects import HOST, ZONE, Object, apart, app, node, spread, term, zoned
from workload_objects import pod_source

SHARES = {"thresholds": {"cpu": 20, "memory": 20, "pods": 20}, "targetThresholds": {"cpu": 50, "memory": 50, "pods": 50}}


def requesting(**requests: str) -> Object:
    """The spec of a pod with these requests."""
    return {"containers": [{"name": "c", "resources": {"requests": requests}}]}


TENTH = requesting(cpu="100m", memory="100Mi")
"""A tenth of a node."""


def sized(name: str, *, allocatable: bool = True, pods: str = "10", **more: Any) -> Object:
    """A node with one CPU, 1,000 MiB and ten pods."""
    sizes = {"cpu": "1", "memory": "1000Mi", "pods": pods} if allocatable else {"cpu": "1"}
    return {**node(name, {HOST: name}, **more), "status": {"allocatable": sizes}}


def utilized(nodes: list[Object], on: list[str], args: Object | None = None, specs: dict[int, Object] | None = None) -> DescheduleEffect:
    """A run over pods of one Deployment on these nodes."""
    pods = [running(f"web-x-{number}", name, **(specs or {}).get(number, TENTH)) for number, name in enumerate(on)]
    chosen = policy(UTILIZATION, **{UTILIZATION: SHARES if args is None else args})
    return descheduled(nodes, [pod_source("web", replicas=len(on), **TENTH)], chosen, pods=pods)


# --- LowNodeUtilization --------------------------------------------------------------------------------------------------


def test_pods_move_from_a_busy_node_to_an_idle_one_until_it_is_no_longer_busy() -> None:
    effect = utilized([sized("n1"), sized("n2")], ["n1"] * 7)
    assert (moves(effect), effect.settled) == ([["web-x-0: n1 -> n2", "web-x-1: n1 -> n2"]], True)


@pytest.mark.parametrize(
    ("nodes", "on"),
    [
        pytest.param(["n1", "n2"], ["n1"] * 5, id="no node is above the target"),
        pytest.param(["n1", "n2"], ["n1"] * 7 + ["n2"] * 2, id="no node is below the threshold"),
        pytest.param(["n1", "n2"], ["n1", "n2"], id="every node is below the threshold"),
    ],
)
def test_balanced_nodes_keep_their_pods(nodes: list[str], on: list[str]) -> None:
    assert utilized([sized(name) for name in nodes], on).rounds == ()


def test_one_resource_makes_a_node_busy_and_all_of_them_make_it_idle() -> None:
    on, specs = ["n1", "n1", "n2"], {0: TENTH, 1: requesting(memory="600Mi"), 2: requesting(cpu="300m")}
    effect = utilized([sized("n1"), sized("n2"), sized("n3")], on, specs=specs)
    assert [each.pod for each in effect.rounds[0]] == ["web-x-0", "web-x-1"]
    assert utilized([sized("n1"), sized("n2")], on, specs=specs).rounds == ()


def test_without_node_fit_a_pod_is_evicted_that_returns() -> None:
    """Each replica needs a node of its own, and the idle node has one."""
    spec = {**TENTH, "affinity": apart(term(HOST, app("web")))}
    static = running("busy", "n1", owner="busy", **requesting(cpu="600m"))
    static["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "1", "controller": True}]
    pods = [running("web-x-0", "n1", **spec), running("web-x-1", "n2", **spec), static]
    nodes = [sized("n1"), sized("n2")]
    for fit, rounds in ((False, [["web-x-0: n1 -> n1"]]), (True, [])):
        chosen = policy(UTILIZATION, evictor={"nodeFit": fit}, **{UTILIZATION: SHARES})
        effect = descheduled(nodes, [pod_source("web", replicas=2, **spec)], chosen, pods=pods)
        assert (moves(effect), effect.settled) == (rounds, fit)


def test_a_cordoned_node_takes_no_pods() -> None:
    assert utilized([sized("n1"), sized("n2", cordoned=True)], ["n1"] * 7).rounds == ()


def test_a_pod_that_fits_no_idle_node_stays() -> None:
    bound = {**TENTH, "nodeSelector": {HOST: "n1"}}
    effect = utilized([sized("n1"), sized("n2")], ["n1"] * 7, specs={0: bound, 1: bound})
    assert moves(effect) == [["web-x-2: n1 -> n2", "web-x-3: n1 -> n2"]]


def test_a_minimum_of_idle_nodes_must_be_exceeded() -> None:
    nodes = [sized("n1"), sized("n2")]
    assert utilized(nodes, ["n1"] * 7, {**SHARES, "numberOfNodes": 1}).rounds == ()
    assert utilized(nodes, ["n1"] * 7, {**SHARES, "numberOfNodes": 0}).rounds != ()


def test_evictions_stop_when_the_idle_nodes_are_filled_to_their_target() -> None:
    shares = {"thresholds": {"cpu": 20, "memory": 20, "pods": 20}, "targetThresholds": {"cpu": 20, "memory": 20, "pods": 20}}
    effect = utilized([sized("n1"), sized("n2")], ["n1"] * 8 + ["n2"], shares)
    assert [len(evicted) for evicted in effect.rounds] == [1]


def test_the_node_with_the_highest_use_is_relieved_first() -> None:
    effect = utilized([sized("n1"), sized("n2"), sized("n3")], ["n1"] * 6 + ["n2"] * 8)
    assert moves(effect)[0][0] == "web-x-6: n2 -> n3"


def test_without_the_sizes_of_all_nodes_nothing_is_evicted_and_a_note_says_so() -> None:
    effect = utilized([sized("n1"), sized("n2", allocatable=False)], ["n1"] * 7)
    assert effect.rounds == ()
    assert effect.notes == ("not simulated: LowNodeUtilization, because not all nodes have cpu, memory and pods in status.allocatable",)
    assert utilized([sized("n1"), sized("n2")], ["n1"] * 7).notes == ()


# --- minReplicas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("replicas", "evicted"), [(1, 0), (2, 1), (3, 1)])
def test_workloads_with_fewer_replicas_than_the_minimum_keep_their_pods(replicas: int, evicted: int) -> None:
    nodes = [node("n1", {HOST: "n1"}, taints=["maintenance:NoSchedule"]), *zoned(n2="")]
    pods = [running(f"web-x-{number}", "n1" if number == 0 else "n2") for number in range(replicas)]
    effect = descheduled(nodes, [pod_source("web", replicas=replicas)], policy(TAINTS, evictor={"minReplicas": 2}), pods=pods)
    assert sum(map(len, effect.rounds)) == evicted


def test_a_minimum_of_one_spares_no_workload() -> None:
    nodes = [node("n1", {HOST: "n1"}, taints=["maintenance:NoSchedule"]), *zoned(n2="")]
    effect = descheduled(nodes, [pod_source("web")], policy(TAINTS, evictor={"minReplicas": 1}), pods=[running("web-x-0", "n1")])
    assert (moves(effect), effect.notes) == ([["web-x-0: n1 -> n2"]], ())


# --- anti-affinity -------------------------------------------------------------------------------------------------------


def separated(on: dict[str, str], key: str = HOST, nodes: list[Object] | None = None) -> list[list[str]]:
    """The moves of one pod of ``web`` and one of ``db`` on these nodes; the anti-affinity of ``web`` selects ``db``."""
    spec = {"affinity": apart(term(key, app("db")))}
    pods = [running("web-x-1", on["web"], **spec), running("db-x-1", on["db"], owner="db")]
    nodes = nodes or zoned(n1="", n2="")
    return moves(descheduled(nodes, [pod_source("web", **spec), pod_source("db")], policy(APART), pods=pods))


def test_a_pod_is_evicted_from_the_node_of_a_pod_that_its_anti_affinity_selects() -> None:
    assert separated({"web": "n1", "db": "n1"}) == [["web-x-1: n1 -> n2"]]


def test_a_selected_pod_in_another_domain_and_another_pod_in_the_same_domain_evict_none() -> None:
    assert separated({"web": "n1", "db": "n2"}) == []
    spec = {"affinity": apart(term(HOST, app("db")))}
    pods = [running("web-x-1", "n1", **spec), running("cache-x-1", "n1", owner="cache"), running("db-x-1", "n2", owner="db")]
    sources = [pod_source("web", **spec), pod_source("cache"), pod_source("db")]
    assert descheduled(zoned(n1="", n2="", n3=""), sources, policy(APART), pods=pods).rounds == ()


def test_the_domain_is_the_value_of_the_topology_key() -> None:
    nodes = zoned(a1="a", a2="a", b1="b")
    assert separated({"web": "a1", "db": "a2"}, ZONE, nodes) == [["web-x-1: a1 -> b1"]]
    assert separated({"web": "a1", "db": "b1"}, ZONE, nodes) == []
    assert separated({"web": "n1", "db": "n1"}, ZONE) == [], "nodes without the label are in no domain"


def test_of_two_pods_that_exclude_each_other_the_one_with_the_lower_priority_is_evicted() -> None:
    mutual = {"affinity": apart(term(HOST, {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}))}
    pods = [running("db-x-1", "n1", owner="db", **mutual), running("web-x-1", "n1", **mutual)]
    for low, high in (("web", "db"), ("db", "web")):
        sources = [pod_source(low, priority=1, **mutual), pod_source(high, priority=2, **mutual)]
        assert moves(descheduled(zoned(n1="", n2=""), sources, policy(APART), pods=pods)) == [[f"{low}-x-1: n1 -> n2"]]


# --- balance -------------------------------------------------------------------------------------------------------------


def test_a_duplicate_that_fits_no_other_node_stays() -> None:
    pods = [running(f"web-x-{number}", "n1", **TENTH) for number in range(2)]
    sources = [pod_source("web", replicas=2, **TENTH)]
    assert descheduled([sized("n1"), sized("n2", pods="0")], sources, policy("RemoveDuplicates"), pods=pods).rounds == ()
    assert descheduled([sized("n1"), sized("n2")], sources, policy("RemoveDuplicates"), pods=pods).rounds != ()


def test_half_of_the_difference_leaves_the_fullest_domain_pods_of_low_priority_first() -> None:
    even = {"topologySpreadConstraints": [spread(ZONE, {"matchLabels": {"tier": "x"}}, when="ScheduleAnyway")]}
    pods = [running(f"{name}-x-{number}", "a1", name, **even) for name in ("first", "second") for number in range(2)]
    for each in pods:
        each["metadata"]["labels"]["tier"] = "x"
    labels = {"tier": "x"}
    sources = [
        pod_source(name, replicas=2, labels={"app": name, **labels}, priority=priority, **even)
        for name, priority in (("first", 1), ("second", 2))
    ]
    effect = descheduled(zoned(a1="a", b1="b"), sources, policy(SPREAD, **{SPREAD: {"constraints": ["ScheduleAnyway"]}}), pods=pods)
    assert sorted(moves(effect)[0]) == ["first-x-0: a1 -> b1", "first-x-1: a1 -> b1"]


def test_a_spread_constraint_without_domains_evicts_none() -> None:
    even = {"topologySpreadConstraints": [spread("rack", app("web"), when="ScheduleAnyway")]}
    pods = [running(f"web-x-{number}", "n1", **even) for number in range(2)]
    chosen = policy(SPREAD, **{SPREAD: {"constraints": ["ScheduleAnyway"]}})
    assert descheduled(zoned(n1="", n2=""), [pod_source("web", replicas=2, **even)], chosen, pods=pods).rounds == ()
