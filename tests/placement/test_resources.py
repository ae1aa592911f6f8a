"""Resources: what pods ask for, what nodes have, and which nodes have room. Left out unless nodes list them."""

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.controllers.kubevirt_cluster import KubeVirtCluster
from afflint.controllers.launcher_pod import memory_overhead
from afflint.controllers.pod_source import PodSource, Reference, Virtualization, read_pod_source
from afflint.controllers.replicas import compile_pods
from afflint.findings.finding import Site
from afflint.kube.decoding import InventoryError
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.failures import failures
from afflint.placement.order_search import decide
from afflint.placement.plan import Plan
from afflint.placement.plan_notes import KUBEVIRT_OVERHEAD
from afflint.placement.planner import make_plan
from afflint.placement.scenarios import scenarios_of
from afflint.placement.schedule import build_schedule
from afflint.placement.schedule_index import ScheduleIndex
from afflint.scheduler.cluster import Cluster, Verdict
from afflint.scheduler.pods import read_pod
from afflint.yaml import documents
from cluster_objects import HOST, ZONE, Object, apart, app, node, pod, spread, term, together
from workload_objects import inventory, pod_source

FIT = "NodeResourcesFit"
GI = 1024**3


def having(name: str, **allocatable: Any) -> Object:
    """A node of its own host name that has these resources for pods."""
    listed = {resource.replace("_", "-"): amount for resource, amount in allocatable.items()}
    return {**node(name, {HOST: name}), "status": {"allocatable": listed}}


def container(limits: Object | None = None, **requests: Any) -> Object:
    return {"name": "main", "resources": {"requests": requests, **({"limits": limits} if limits else {})}}


def asking(name: str = "pod", *, on: str = "", labels: dict[str, str] | None = None, **requests: Any) -> Object:
    """A pod of one container."""
    return pod(name, labels, on=on, containers=[container(**requests)])


def requests(**spec: Any) -> dict[str, int]:
    """What a pod counts for on its node besides being one pod."""
    status = spec.pop("status", {})
    found = dict(read_pod({**pod(**spec), "status": status}, resources=True).requests)
    assert found.pop("pods") == 1
    return found


def verdict(nodes: list[Object], wanted: Object, *running: Object) -> Verdict:
    return Cluster(nodes, running, resources=True).evaluate(wanted)


def plan(nodes: list[Object], *pod_sources: PodSource, **more: Any) -> Plan:
    return make_plan(inventory(nodes, resources=True, **more), pod_sources)


# --- what a pod asks for -----------------------------------------------------------------------------------------------


class TestRequests:
    def test_containers_add_up(self) -> None:
        found = requests(containers=[container(cpu="250m", memory="1Gi"), container(cpu=1, memory="512Mi")])
        assert found == {"cpu": 1250, "memory": GI + GI // 2}

    def test_a_limit_is_the_request_if_there_is_no_request(self) -> None:
        found = requests(containers=[container({"cpu": "2", "memory": "1Gi", "example.com/gpu": 1}, cpu="100m")])
        assert found == {"cpu": 100, "memory": GI, "example.com/gpu": 1}

    def test_each_amount_is_rounded_up_to_thousandths_and_the_sum_to_units(self) -> None:
        found = requests(containers=[container(cpu="0.1m", memory="100.0001m"), container(cpu="0.1m", memory="100m")])
        assert found == {"cpu": 2, "memory": 1}

    def test_init_containers_run_one_after_the_other(self) -> None:
        found = requests(
            containers=[container(cpu=1, memory="1Gi"), container(cpu=1)],
            initContainers=[container(cpu=3, memory="512Mi"), container(cpu=2, memory="768Mi")],
        )
        assert found == {"cpu": 3000, "memory": GI}

    def test_sidecars_stay_while_those_after_them_start(self) -> None:
        def sidecar(**listed: Any) -> Object:
            return {**container(**listed), "restartPolicy": "Always"}

        main = [container(cpu=1)]
        # The first init container runs alone, the last beside both sidecars.
        assert requests(containers=main, initContainers=[container(cpu=4), sidecar(cpu=1), sidecar(cpu=1)]) == {"cpu": 4000}
        assert requests(containers=main, initContainers=[sidecar(cpu=1), sidecar(cpu=1), container(cpu=4)]) == {"cpu": 6000}
        assert requests(containers=main, initContainers=[sidecar(cpu=1), container(cpu="1.5"), sidecar(cpu=1)]) == {"cpu": 3000}

    def test_overhead_comes_on_top(self) -> None:
        assert requests(containers=[container(cpu=1)], overhead={"cpu": "250m", "memory": "1Ki"}) == {"cpu": 1250, "memory": 1024}

    def test_what_the_pod_as_a_whole_asks_for_replaces_the_sum(self) -> None:
        found = requests(
            containers=[container(cpu=1, memory="1Gi", **{"ephemeral-storage": 7})],
            resources={"requests": {"cpu": "3", "ephemeral-storage": 1}},
            overhead={"cpu": "1"},
        )
        assert found == {"cpu": 4000, "memory": GI, "ephemeral-storage": 7}

    def test_a_limit_of_the_pod_counts_where_no_container_asks_and_always_for_huge_pages(self) -> None:
        limits = {"cpu": 9, "memory": "9Gi", "hugepages-2Mi": "4Mi"}
        found = requests(containers=[container(cpu=1, **{"hugepages-2Mi": "2Mi"})], resources={"limits": limits})
        assert found == {"cpu": 1000, "memory": 9 * GI, "hugepages-2Mi": 4 * 1024**2}

    def test_nothing_asked_for_is_nothing(self) -> None:
        assert requests(containers=[{"name": "a"}, container(cpu=0, memory=None), {"name": "b", "resources": None}]) == {}

    def test_the_scheduler_does_not_look_at_names_without_a_domain(self) -> None:
        assert requests(containers=[container(cpu=1, storage="1Gi", **{"requests.example.com/a": 1})]) == {"cpu": 1000}

    def test_a_running_pod_that_grows_counts_for_what_it_was_given(self) -> None:
        grown = {"name": "main", "resources": {"requests": {"cpu": 3}}, "allocatedResources": {"cpu": 2}}
        assert requests(containers=[container(cpu=1)], status={"containerStatuses": [grown]}) == {"cpu": 3000}

    def test_sidecars_and_other_init_containers_grow_as_well(self) -> None:
        grown = {"name": "main", "resources": {"requests": {"cpu": 3}}}
        status = {"initContainerStatuses": [grown]}
        assert requests(initContainers=[{**container(cpu=1), "restartPolicy": "Always"}], status=status) == {"cpu": 3000}
        assert requests(initContainers=[container(cpu=1)], status=status) == {"cpu": 3000}

    def test_a_resize_that_cannot_be_does_not_count(self) -> None:
        now = {"name": "main", "resources": {"requests": {"cpu": 1}}, "allocatedResources": {"cpu": 1}}
        conditions = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
        status = {"containerStatuses": [now], "conditions": conditions}
        assert requests(containers=[container(cpu=64)], status=status) == {"cpu": 1000}

    def test_resources_are_not_read_unless_asked_for(self) -> None:
        assert read_pod(pod(containers=[container(cpu="much")])).requests == ()


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"containers": [container(cpu="much")]}, "spec.containers[0].resources.requests['cpu'] is 'much', which is not a quantity"),
        ({"containers": [container(memory="1GB")]}, "spec.containers[0].resources.requests['memory'] is '1GB', which is not a quantity"),
        ({"containers": [container(cpu=[1])]}, "spec.containers[0].resources.requests['cpu'] is a list or a map, which is not a quantity"),
        ({"containers": [container({"cpu": -1})]}, "spec.containers[0].resources.limits['cpu'] is -1, which is negative"),
        ({"containers": [{"resources": {"requests": ["cpu"]}}]}, "spec.containers[0].resources.requests is a list, not a map"),
        ({"containers": {}}, "spec.containers is a map, not a list"),
        ({"initContainers": [7]}, "spec.initContainers[0] is the number 7, not a map"),
        ({"overhead": {"cpu": True}}, "spec.overhead['cpu'] is True, which is not a quantity"),
    ],
)
def test_requests_that_are_none_are_refused(spec: Object, message: str) -> None:
    with pytest.raises(InventoryError) as caught:
        Cluster([], resources=True).evaluate(pod("web", **spec))
    assert str(caught.value) == f"Pod 'default/web': {message}"
    assert Cluster([]).evaluate(pod("web", **spec)).error is None


def test_a_node_that_has_no_amounts_is_refused() -> None:
    with pytest.raises(InventoryError, match=r"Node 'n1': status.allocatable\['memory'\] is '8 GB', which is not a quantity"):
        Cluster([having("n1", memory="8 GB")], resources=True)
    assert Cluster([having("n1", memory="8 GB")]).nodes == ("n1",)


# --- where there is room -----------------------------------------------------------------------------------------------


class TestFilter:
    def test_off_by_default(self) -> None:
        assert Cluster([having("n1", cpu=1)]).evaluate(asking(cpu=2)).feasible == {"n1": True}

    def test_room_is_what_running_pods_leave(self) -> None:
        nodes = [having("n1", cpu=4, memory="4Gi"), having("n2", cpu=4, memory="4Gi")]
        found = verdict(nodes, asking(memory="2Gi"), asking("a", on="n1", memory="1Gi"), asking("b", on="n1", memory="1025Mi"))
        assert found.feasible == {"n1": False, "n2": True}
        assert found.reason == {"n1": FIT}

    def test_an_exact_fit_is_one(self) -> None:
        nodes = [having("n1", cpu="1500m")]
        running = asking("a", on="n1", cpu="1")
        assert verdict(nodes, asking(cpu="500m"), running).feasible == {"n1": True}
        assert verdict(nodes, asking(cpu="501m"), running).feasible == {"n1": False}

    def test_pods_are_counted_whatever_they_ask_for(self) -> None:
        nodes = [having("n1", pods=2)]
        assert verdict(nodes, pod(), pod("a", on="n1")).feasible == {"n1": True}
        assert verdict(nodes, pod(), pod("a", on="n1"), pod("b", on="n1")).reason == {"n1": FIT}

    def test_finished_pods_take_no_room_and_those_being_deleted_do(self) -> None:
        nodes = [having("n1", cpu=1)]
        done = {**asking("a", on="n1", cpu=1), "status": {"phase": "Succeeded"}}
        going = asking("a", on="n1", cpu=1)
        going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        assert verdict(nodes, asking(cpu=1), done).feasible == {"n1": True}
        assert verdict(nodes, asking(cpu=1), going).feasible == {"n1": False}

    def test_who_asks_for_none_of_a_resource_does_not_mind_that_too_much_of_it_is_taken(self) -> None:
        nodes = [having("n1", cpu=1, memory="1Gi")]
        assert verdict(nodes, asking(memory="1Gi"), asking("a", on="n1", cpu=2)).feasible == {"n1": True}

    def test_a_node_that_says_what_it_has_has_no_other_devices(self) -> None:
        gpu = "example.com/gpu"
        nodes = [having("n1", cpu=1), having("n2", cpu=1, **{gpu: "1"}), node("n3")]
        assert verdict(nodes, asking(**{gpu: 1})).feasible == {"n1": False, "n2": True, "n3": True}

    def test_huge_pages_are_a_resource_of_their_own(self) -> None:
        nodes = [{**node("n1"), "status": {"allocatable": {"memory": "8Gi", "hugepages-2Mi": "1Gi"}}}]
        assert verdict(nodes, asking(**{"hugepages-2Mi": "1Gi"})).feasible == {"n1": True}
        assert verdict(nodes, asking(**{"hugepages-1Gi": "1Gi"})).feasible == {"n1": False}

    def test_capacity_replaces_an_absent_allocatable(self) -> None:
        assert verdict([{**node("n1"), "status": {"capacity": {"cpu": 1}}}], asking(cpu=2)).feasible == {"n1": False}

    def test_an_unknown_amount_of_a_node_excludes_no_pod(self) -> None:
        nodes = [node("n1"), {**node("n2"), "status": {"allocatable": {}}}, having("n3", cpu=4)]
        assert all(verdict(nodes, asking(memory="64Gi", **{"ephemeral-storage": "1Ti"})).feasible.values())

    def test_it_comes_after_node_affinity_and_before_topology_spread(self) -> None:
        small = having("n1", cpu=1)
        hog = asking(cpu=2)
        labelled = {**hog, "spec": {**hog["spec"], "nodeSelector": {"disk": "ssd"}}}
        assert verdict([small], labelled).reason == {"n1": "NodeAffinity"}
        spreading = {**hog, "spec": {**hog["spec"], "topologySpreadConstraints": [spread(ZONE, app("web"))]}}
        assert verdict([small], spreading).reason == {"n1": FIT}
        lonely = {**hog, "spec": {**hog["spec"], "affinity": apart(term(HOST, app("web")))}}
        assert verdict([small], lonely, pod("a", {"app": "web"}, on="n1")).reason == {"n1": FIT}

    def test_full_nodes_remain_domains_of_topology_spread(self) -> None:
        nodes = [having("n1", cpu=1), having("n2", cpu=1)]
        wanted = asking("w", labels={"app": "web"}, cpu=1)
        wanted["spec"]["topologySpreadConstraints"] = [spread(HOST, app("web"))]
        running = asking("a", on="n1", cpu=1), pod("b", {"app": "web"}, on="n2")
        # The empty domain n1 has no room, and filling n2 would leave it behind by two.
        assert verdict(nodes, wanted, *running).reason == {"n1": FIT, "n2": "PodTopologySpread"}

    def test_a_run_fills_nodes_and_copies_keep_apart(self) -> None:
        cluster = Cluster([having("n1", cpu=1), having("n2", cpu=2)], resources=True)
        run = cluster.schedule([asking(f"p{number}", cpu="600m") for number in range(5)])
        assert run.placements == {"p0": "n2", "p1": "n1", "p2": "n2", "p3": "n2"}
        assert run.unschedulable == {"p4": {"n1": FIT, "n2": FIT}}
        assert cluster.feasible_nodes(asking(cpu=1)) == ["n1", "n2"]
        run.cluster.unbind(asking("p1"))
        assert run.cluster.feasible_nodes(asking(cpu=1)) == ["n1"]
        assert [each.left for each in run.cluster.without(["n1"]).shortages(asking(cpu=1), "n2")] == [200]


# --- against adding up each time ---------------------------------------------------------------------------------------

amounts = st.sampled_from(("0", "1", "100m", "1500m", "0.1m", "1Ki", "1.5Ki", "2e3", "3k", "1100000n", 2, 0.25))
lists = st.dictionaries(st.sampled_from(("cpu", "memory", "example.com/gpu", "hugepages-2Mi")), amounts, max_size=3)
containers = st.builds(
    lambda wanted, limits, policy: {"name": "c", "resources": {"requests": wanted, "limits": limits}, **policy},
    lists,
    lists,
    st.sampled_from(({}, {"restartPolicy": "Always"})),
)
specs = st.fixed_dictionaries(
    {"containers": st.lists(containers, max_size=3)}, optional={"initContainers": st.lists(containers, max_size=4), "overhead": lists}
)


def exact(amount: object) -> Fraction:
    """An amount as the API server stores it: rounded up to thousandths."""
    text = str(amount)
    for suffix, factor in (("Ki", Fraction(1024)), ("k", Fraction(1000)), ("m", Fraction(1, 1000)), ("n", Fraction(1, 10**9))):
        if text.endswith(suffix):
            return Fraction(-(-Fraction(text.removesuffix(suffix)) * factor * 1000 // 1), 1000)
    return Fraction(-(-Fraction(text) * 1000 // 1), 1000)


def naive_requests(spec: Object) -> dict[str, int]:
    """The most that is in use at any time: while each init container runs beside the sidecars before it, and then by all that stay."""

    def wanted(each: Object) -> dict[str, Fraction]:
        return {name: exact(amount) for name, amount in {**each["resources"]["limits"], **each["resources"]["requests"]}.items()}

    found = {}
    starting = spec.get("initContainers", [])
    for name in ("cpu", "memory", "example.com/gpu", "hugepages-2Mi"):
        use = [wanted(each).get(name, Fraction(0)) for each in starting]
        stays = [each.get("restartPolicy") == "Always" for each in starting]
        before = [sum(one for one, stay in zip(use[:index], stays[:index], strict=True) if stay) for index in range(len(use) + 1)]
        times = [before[index] + use[index] for index in range(len(use))]
        times.append(before[-1] + sum(wanted(each).get(name, Fraction(0)) for each in spec["containers"]))
        total = (max(times) + exact(spec.get("overhead", {}).get(name, 0))) * (1000 if name == "cpu" else 1)
        if total:
            found[name] = -(-total.numerator // total.denominator)
    return found


@settings(deadline=None)
@given(specs)
def test_requests_are_the_most_in_use_at_any_time(spec: Object) -> None:
    assert requests(**spec) == naive_requests(spec)


@settings(max_examples=60, deadline=None)
@given(st.lists(lists, min_size=1, max_size=4), st.lists(st.tuples(specs, st.integers(0, 3)), max_size=8), specs)
def test_the_filter_is_adding_up_and_comparing(have: list[Object], run: list[tuple[Object, int]], spec: Object) -> None:
    nodes = [{**node(f"n{number}"), "status": {"allocatable": listed}} for number, listed in enumerate(have)]
    running = [pod(f"p{number}", on=f"n{on}", **listed) for number, (listed, on) in enumerate(run) if on < len(have)]
    expected = {}
    for number, listed in enumerate(have):
        here = [naive_requests(each) for each, on in run if on == number]

        def fits(name: str, asked: int, listed: Object = listed, here: list[dict[str, int]] = here) -> bool:
            if not listed or (name in ("cpu", "memory") and name not in listed):
                return True
            has = exact(listed.get(name, 0)) * (1000 if name == "cpu" else 1)
            return asked + sum(each.get(name, 0) for each in here) <= -(-has.numerator // has.denominator)

        expected[f"n{number}"] = all(fits(name, asked) for name, asked in naive_requests(spec).items())
    assert verdict(nodes, pod("new", **spec), *running).feasible == expected


# --- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted, has, words",
    [
        ({"memory": "3Gi"}, {"memory": "1Gi"}, "insufficient memory: 3Gi requested, 1Gi available"),
        ({"cpu": "2"}, {"cpu": "500m"}, "insufficient CPU: 2 requested, 500m available"),
        (
            {"cpu": "2", "memory": 10},
            {"cpu": 1, "memory": 9},
            "insufficient CPU: 2 requested, 1 available; insufficient memory: 10 requested, 9 available",
        ),
        # Rounded apart, so that the difference shows.
        ({"memory": "4Gi"}, {"memory": 4 * GI - 1}, "insufficient memory: 4Gi requested, 3.99Gi available"),
        ({"memory": 4 * GI + 1}, {"memory": "4Gi"}, "insufficient memory: 4.01Gi requested, 4Gi available"),
        ({"ephemeral-storage": "1Ti"}, {"ephemeral-storage": "512Mi"}, "insufficient ephemeral-storage: 1Ti requested, 512Mi available"),
        ({"example.com/gpu": 2}, {"example.com/gpu": 1}, "insufficient example.com/gpu: 2 requested, 1 available"),
        ({"example.com/gpu": 2}, {"cpu": 1}, "insufficient example.com/gpu: 2 requested, 0 available"),
        ({}, {"pods": 0}, "has the maximum number of pods"),
    ],
)
def test_a_rejection_says_what_is_asked_and_what_is_left(wanted: Object, has: Object, words: str) -> None:
    found = plan([having("n1", **has)], pod_source("web", containers=[container(**wanted)]))
    (row,) = found.workloads[0].verdicts
    assert (row.reason, row.why) == (FIT, words)


def test_more_taken_than_there_is_leaves_nothing() -> None:
    found = plan([having("n1", cpu=1)], pod_source("web", containers=[container(cpu=1)]), pods=[asking("old", on="n1", cpu=3)])
    assert found.workloads[0].verdicts[0].why == "insufficient CPU: 1 requested, 0 available"


def test_nodes_without_room_are_counted_by_what_they_lack() -> None:
    nodes = [having("n1", memory="1Gi"), having("n2", memory="2Gi"), having("n3", cpu=1), having("n4", pods=0)]
    wanted = pod_source("web", containers=[container(memory="3Gi", cpu=2)])
    (replica,) = plan(nodes, wanted).workloads[0].replicas
    assert replica.why == "2 nodes have insufficient memory, 1 has insufficient CPU, 1 has the maximum number of pods"


def test_what_is_left_for_a_workload_does_not_count_its_own_pods() -> None:
    web = pod_source("web", replicas=3, containers=[container(cpu=1)])
    found = plan([having("n1", cpu=2)], web, pods=[asking("old", on="n1", cpu="500m")]).workloads[0]
    assert [replica.node for replica in found.replicas] == ["n1", None, None]
    assert found.verdicts[0].feasible
    big = pod_source("big", containers=[container(cpu=2)])
    found = plan([having("n1", cpu=2)], big, pods=[asking("old", on="n1", cpu="500m")]).workloads[0]
    assert found.verdicts[0].why == "insufficient CPU: 2 requested, 1500m available"


# --- workloads ---------------------------------------------------------------------------------------------------------


def test_every_replica_takes_room_and_daemons_come_first() -> None:
    nodes = [having("n1", cpu=2), having("n2", cpu=2)]
    web = pod_source("web", replicas=4, containers=[container(cpu=1)])
    agent = pod_source("agent", "DaemonSet", containers=[container(cpu="500m")])
    found = plan(nodes, web, agent)
    assert [replica.node for replica in found.workloads[0].replicas] == ["n1", "n2", None, None]
    assert [replica.node for replica in found.workloads[1].replicas] == ["n1", "n2"]


def test_a_daemon_without_room_on_its_node_is_pending_there() -> None:
    agent = pod_source("agent", "DaemonSet", containers=[container(cpu=1)])
    found = plan([having("n1", cpu=2), having("n2", cpu="500m")], agent).workloads[0]
    assert [(replica.node, replica.why) for replica in found.replicas] == [("n1", ""), (None, "1 node has insufficient CPU")]


def test_a_failure_leaves_those_without_a_place_that_no_node_has_room_for() -> None:
    nodes = [having("n1", cpu=2), having("n2", cpu=2)]
    big, small = pod_source("big", replicas=2, containers=[container(cpu="1500m")]), pod_source("small", containers=[container(cpu="500m")])
    schedule = build_schedule(inventory(nodes, resources=True), [big, small])
    (failure,) = failures(schedule.before, "n1")
    loss = scenarios_of(ScheduleIndex(schedule)).effect_of("remove", *failure)
    assert [(move.pod, move.target, move.why) for move in loss.moves] == [
        ("big-0", None, "1 node has insufficient CPU"),
        ("small-0", "n2", ""),
    ]


def test_a_pending_pod_is_not_taken_for_a_larger_one_like_it() -> None:
    nodes = [having("n1", cpu=3), having("n2", cpu=4)]
    first = {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n1"]}]}
    on_n1 = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": first}]}}
    anchor = pod_source("anchor", "ReplicaSet", containers=[container(cpu=2)], affinity=on_n1)
    beside = together(term(HOST, app("anchor")))
    big = pod_source("big", "ReplicaSet", labels={"app": "x"}, affinity=beside, containers=[container(cpu=4)])
    small = pod_source("small", "ReplicaSet", 2, labels={"app": "x"}, affinity=beside, containers=[container(cpu=1)])
    schedule = build_schedule(inventory(nodes, resources=True), [anchor, big, small])
    assert [len(placed.pending) for placed in schedule.workloads] == [0, 1, 1]
    # Beside the anchor on its new node there is room for both of the small ones, though for none of the big ones.
    (failure,) = failures(schedule.before, "n1")
    outcomes = scenarios_of(ScheduleIndex(schedule)).effect_of("remove", *failure).outcomes
    assert outcomes == dict.fromkeys(("ReplicaSet default/anchor", "ReplicaSet default/small"), "interrupted")


def test_nodes_that_differ_in_room_alone_are_not_alike_to_the_search() -> None:
    pod_sources = [pod_source("small", containers=[container(cpu=1)]), pod_source("big", containers=[container(cpu=2)])]
    cluster = inventory([having("n1", cpu=2), having("n2", cpu=1)], resources=True).cluster(pod_sources)
    assert decide(ScheduleBounds(cluster, pod_sources), [0, 1]).answer == "placed"


def test_running_pods_of_the_dump_count_except_those_scheduled_again() -> None:
    web = pod_source("web", "StatefulSet", containers=[container(cpu=1)])
    mine = asking("web-0", on="n1", cpu=1)
    mine["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}]
    assert plan([having("n1", cpu=1)], web, pods=[mine]).workloads[0].replicas[0].node == "n1"
    assert plan([having("n1", cpu=1)], web, pods=[asking("other", on="n1", cpu=1)]).workloads[0].replicas[0].node is None


def test_requests_that_are_none_are_an_error_of_their_workload_alone() -> None:
    found = plan(
        [having("n1", cpu=1)], pod_source("bad", containers=[container(cpu="1 core")]), pod_source("good", containers=[container(cpu=1)])
    )
    assert found.workloads[0].error == (
        "Pod 'default/bad-0': spec.containers[0].resources.requests['cpu'] is '1 core', which is not a quantity"
    )
    assert found.workloads[1].replicas[0].node == "n1"


# --- virtual machines --------------------------------------------------------------------------------------------------


def launcher(**domain: Any) -> dict[str, int]:
    """What the virt-launcher pod of a machine with this domain asks for, without what KubeVirt needs for itself."""
    domain["devices"] = {**domain.get("devices", {}), "autoattachSerialConsole": False}
    compiled = compile_pods(pod_source("vm", "VirtualMachineInstance", domain=domain), Cluster([], resources=True))
    assert compiled.error is None, compiled.error
    found = dict(compiled.pods[0].requests)
    assert found.pop("pods") == 1
    found["memory"] -= memory_overhead({"domain": domain, "architecture": "amd64"}, KubeVirtCluster({}))
    return {name: amount for name, amount in found.items() if amount}


class TestMachines:
    def test_ten_virtual_cpus_share_one(self) -> None:
        assert launcher(cpu={"cores": 4, "sockets": 2, "threads": 2}) == {"cpu": 1600}
        assert launcher(cpu={"cores": 3}) == {"cpu": 300}
        assert launcher() == {"cpu": 100}

    def test_the_guest_sees_what_is_requested_unless_requests_say_more(self) -> None:
        assert launcher(memory={"guest": "2Gi"}) == {"cpu": 100, "memory": 2 * GI}
        listed = {"requests": {"memory": "1Gi", "cpu": "2", "ephemeral-storage": 5}}
        assert launcher(memory={"guest": "2Gi"}, resources=listed) == {"cpu": 2000, "memory": GI, "ephemeral-storage": 5}

    def test_limits_are_requests_where_there_are_none(self) -> None:
        assert launcher(resources={"limits": {"cpu": "3", "memory": "1Gi"}}) == {"cpu": 3000, "memory": GI}
        listed = {"limits": {"memory": "4Gi"}, "requests": {"memory": "1Gi"}}
        assert launcher(resources=listed) == {"cpu": 100, "memory": GI}

    def test_dedicated_cpus_are_requested_whole(self) -> None:
        assert launcher(cpu={"cores": 4, "dedicatedCpuPlacement": True}) == {"cpu": 4000}
        assert launcher(cpu={"cores": 4, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}) == {"cpu": 5000}
        listed = {"requests": {"cpu": "2"}}
        assert launcher(cpu={"dedicatedCpuPlacement": True}, resources=listed) == {"cpu": 2000}

    def test_huge_pages_hold_the_guest(self) -> None:
        pages = {"pageSize": "2Mi"}
        assert launcher(memory={"guest": "1Gi", "hugepages": pages}) == {"cpu": 100, "hugepages-2Mi": GI}
        more = {"requests": {"memory": "3Gi"}}
        assert launcher(memory={"guest": "1Gi", "hugepages": pages}, resources=more) == {
            "cpu": 100,
            "memory": 2 * GI,
            "hugepages-2Mi": GI,
        }

    def test_devices_are_pieces_of_their_resource(self) -> None:
        devices = {"gpus": [{"name": "a", "deviceName": "nv.com/T4"}, {"name": "b", "deviceName": "nv.com/T4"}]}
        assert launcher(devices={**devices, "hostDevices": [{"deviceName": "example.com/nic"}]}) == {
            "cpu": 100,
            "example.com/nic": 1,
            "nv.com/T4": 2,
        }

    def test_a_domain_that_is_none_is_an_error_of_the_machine(self) -> None:
        found = plan([having("n1", cpu=1)], pod_source("vm", "VirtualMachineInstance", domain={"memory": {"guest": "much"}}))
        assert found.workloads[0].error == "spec.domain.memory.guest is not a valid quantity"


MACHINE = """
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec:
  runStrategy: Always
  instancetype: {name: u1.large}
  template: {spec: {domain: {devices: {}, memory: {guest: 64Gi}}}}
"""


def read_makers(text: str) -> list[PodSource]:
    """The workloads of a YAML document, read with their resources."""
    document = documents.read(text.encode(), 0, 1)
    workloads = [each for each in manifests_in(document) if isinstance(each, Workload)]
    found = [read_pod_source(each, Site(0, 0, each.base), resources=True) for each in workloads]
    return [each for each in found if each is not None]


def test_without_its_instance_type_the_requests_of_a_machine_are_unknown() -> None:
    assert plan([having("n1", cpu=1, memory="1Gi")], *read_makers(MACHINE)).workloads[0].replicas[0].node == "n1"


def test_a_machine_is_as_large_as_its_instance_type() -> None:
    (made,) = read_makers(MACHINE.replace(", memory: {guest: 64Gi}", ""))
    small, large = ({"cpu": {"guest": 1}, "memory": {"guest": guest}} for guest in ("512Mi", "2Gi"))
    shared = {"cpu": {"guest": 4}, "memory": {"guest": "1536Mi", "overcommitPercent": 50}}
    nodes = [having("n1", cpu=1, memory="1400Mi")]
    for instancetype, placed in ((small, "n1"), (large, None), (shared, "n1")):
        machine = dataclasses.replace(made, virtualization=Virtualization({}, instancetype))
        assert plan(nodes, machine).workloads[0].replicas[0].node == placed


def test_an_instancetype_that_a_pool_names_is_found() -> None:
    pool = """
apiVersion: pool.kubevirt.io/v1beta1
kind: VirtualMachinePool
metadata: {name: db}
spec:
  replicas: 1
  selector: {matchLabels: {app: db}}
  virtualMachineTemplate:
    spec:
      runStrategy: Always
      instancetype: {name: u1.large}
      template: {metadata: {labels: {app: db}}, spec: {domain: {devices: {}}}}
"""
    assert read_makers(pool)[0].instancetype == Reference("", "u1.large")


def test_the_domain_of_a_manifest_counts() -> None:
    found = plan([having("n1", cpu=1, memory="1Gi")], *read_makers(MACHINE.replace("  instancetype: {name: u1.large}\n", "")))
    assert found.workloads[0].verdicts[0].why == "insufficient memory: 64.32Gi requested, 1Gi available"


# --- notes -------------------------------------------------------------------------------------------------------------


def test_without_resources_requests_do_not_count() -> None:
    found = make_plan(inventory([having("n1", cpu=1)]), [pod_source("web", containers=[container(cpu=9)])])
    assert found.notes == ()
    assert found.workloads[0].replicas[0].node == "n1"


def test_the_plan_says_which_nodes_are_not_checked_for_what() -> None:
    nodes = [having("n1", cpu=1, memory="1Gi", pods=9), having("n2", cpu=1), *[node(f"n{number}") for number in range(3, 8)]]
    assert plan(nodes, pod_source("web", containers=[container(memory="1Gi")])).notes == (
        "5 nodes (n3, n4, n5, …) have no status.allocatable: resources are not checked there",
        "1 node (n2) has no pods in status.allocatable; the simulation assumes that there is enough",
        "1 node (n2) has no memory in status.allocatable; the simulation assumes that there is enough",
    )


def test_the_plan_says_how_it_counts_what_virtual_machines_need_more() -> None:
    full = having("n1", cpu=1, memory="1Gi", pods=9)
    assert plan([full], pod_source("vm", "VirtualMachine", domain={})).notes == (KUBEVIRT_OVERHEAD,)


def test_the_overhead_of_a_runtime_class_is_left_out() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  runtimeClassName: kata
  containers: [{name: web, image: web}]
"""
    assert read_makers(text)[0].notes == ("the simulation ignores the overhead that the runtime class kata adds to its requests",)
    assert read_makers(text + "  overhead: {cpu: 250m}\n")[0].notes == ()
