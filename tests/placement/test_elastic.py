"""Nodes that are made as they are needed: what they can take is never impossible, and all other proofs hold."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afflint.controllers.pod_source import PodSource
from afflint.inventory.node_classes import NodeClass
from afflint.kube.taints import Taint
from afflint.placement import proofs
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.failures import failures
from afflint.placement.order_search import contending_workloads
from afflint.placement.schedule import build_schedule
from cluster_objects import HOST, ZONE, Object, app, spread, term, together, zoned
from workload_objects import apart_by, inventory, pod_source

GPU = Taint("gpu", "", "NoSchedule")


def judged(nodes: list[Object], pod_sources: list[PodSource], *classes: NodeClass) -> list[tuple[str, str]]:
    """What is claimed: the proof and the workload."""
    simulation_input = inventory(nodes, classes=classes)
    schedule = build_schedule(simulation_input, pod_sources)
    survey = ScheduleBounds(schedule.before, pod_sources, classes)
    lost = [failure for each in ("each:node", "each:zone") if schedule.before.label(ZONE) for failure in failures(schedule.before, each)]
    found = [
        *(("unschedulable", each.pod_source.name) for each in proofs.unschedulable(survey)),
        *(("too few domains", each.pod_source.name) for each in proofs.too_few_domains(survey)),
        *(("competing", pod_source.name) for each in contending_workloads(survey, schedule) for pod_source in each.pod_sources),
        *(("not failure tolerant", each.pod_source.name) for each in proofs.not_failure_tolerant(survey, schedule, lost)),
        *(("rollout", each.pod_source.name) for each in proofs.rollout_deadlock(survey, schedule)),
        *(("migration", each.pod_source.name) for each in proofs.migration_blocked(survey, schedule)),
        *(("min domains", each.pod_source.name) for each in proofs.min_domains_unreachable(survey)),
        *(("taints", each.pod_source.name) for each in proofs.spread_blocked_by_taints(survey)),
    ]
    return sorted(set(found))


def pool(count: int | None = None, *taints: Taint, varied: tuple[str, ...] = (HOST,), **labels: str) -> NodeClass:
    return NodeClass("pool", {"pool": "extra", **labels}, taints, count=count, varied=frozenset(varied))


@pytest.mark.parametrize(
    ("claim", "workload"),
    [
        ("unschedulable", pod_source("web", nodeSelector={"pool": "extra"})),
        ("too few domains", pod_source("web", replicas=3, affinity=apart_by(HOST, "web"))),
        ("not failure tolerant", pod_source("web", replicas=2, affinity=apart_by(HOST, "web"))),
        ("rollout", pod_source("web", replicas=2, affinity=apart_by(HOST, "web"), strategy={"rollingUpdate": {"maxUnavailable": 0}})),
        ("migration", pod_source("web", "VirtualMachineInstanceReplicaSet", replicas=2, affinity=apart_by(HOST, "web"))),
        ("min domains", pod_source("web", topologySpreadConstraints=[spread(ZONE, app("web"), minDomains=3)])),
    ],
)
def test_what_is_impossible_without_a_class_is_not_with_one_that_has_no_bound(claim: str, workload: PodSource) -> None:
    nodes = zoned(n1="a", n2="b")
    assert (claim, "web") in judged(nodes, [workload])
    assert judged(nodes, [workload], pool(varied=(HOST, ZONE))) == []
    assert (claim, "web") in judged(nodes, [workload], pool(0)), "a class of no nodes changes nothing"


def test_workloads_that_leave_each_other_no_room_find_it_on_nodes_that_are_made() -> None:
    nodes = zoned(n1="a", n2="a")
    pod_sources = [pod_source("web", replicas=2, affinity=apart_by(HOST, "web")), pod_source("batch", affinity=apart_by(HOST, "web"))]
    assert ("competing", "batch") in judged(nodes, pod_sources)
    assert judged(nodes, pod_sources, pool(None, GPU)) == judged(nodes, pod_sources)
    assert judged(nodes, pod_sources, pool()) == []


def test_a_bounded_class_is_a_number_of_nodes() -> None:
    web = pod_source("web", replicas=4, affinity=apart_by(HOST, "web"))
    assert judged(zoned(n1="a"), [web], pool(2)) == judged(zoned(n1="a", n2="a", n3="a"), [web])
    assert ("too few domains", "web") not in judged(zoned(n1="a"), [web], pool(3))


@pytest.mark.parametrize(
    ("pods", "takes"),
    [
        ({}, True),
        ({"nodeSelector": {"pool": "extra"}}, True),
        ({"nodeSelector": {"pool": "other"}}, False),
        ({"nodeSelector": {ZONE: "b"}}, False),
        ({"nodeSelector": {HOST: "w7"}}, True),
        ({"nodeName": "w7"}, False),
    ],
)
def test_a_class_takes_what_its_labels_let_in(pods: dict[str, Any], *, takes: bool) -> None:
    """Host names of nodes that are yet to be made may be any."""
    survey = ScheduleBounds(inventory(zoned(n1="a")).cluster(), [pod_source("web", **pods)])
    rules = survey.compiled[0].template
    assert rules is not None
    assert pool(**{ZONE: "a"}).may_take(rules.rules) is takes


def test_affinity_to_a_pod_that_new_nodes_may_take_can_be_met_anywhere() -> None:
    cache = pod_source("cache", nodeSelector={"pool": "extra"})
    web = pod_source("web", nodeSelector={"disk": "ssd"}, affinity=together(term(ZONE, app("cache"))))
    nodes = zoned(n1="a")
    nodes[0]["metadata"]["labels"]["disk"] = "ssd"
    assert judged(nodes, [cache, web]) == [("unschedulable", "cache"), ("unschedulable", "web")]
    assert judged(nodes, [cache, web], pool(varied=(HOST, ZONE))) == []


def test_a_class_with_an_untolerated_taint_leaves_all_proofs_as_they_are() -> None:
    web = pod_source("web", replicas=3, affinity=apart_by(HOST, "web"))
    claims = judged(zoned(n1="a"), [web])
    assert ("too few domains", "web") in claims
    assert judged(zoned(n1="a"), [web], pool(None, GPU)) == claims


some = st.sampled_from
specs: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    some(({"nodeSelector": {"pool": "extra"}}, {"nodeSelector": {ZONE: "a"}}, {"tolerations": [{"key": "gpu", "operator": "Exists"}]})),
    st.builds(lambda key, name: {"affinity": apart_by(key, name)}, some((HOST, ZONE)), some(("x", "y"))),
    st.builds(lambda key, name: {"affinity": together(term(key, app(name)))}, some((HOST, ZONE)), some(("x", "y"))),
    st.builds(
        lambda key, name, more: {"topologySpreadConstraints": [spread(key, app(name), **more)]},
        some((HOST, ZONE)),
        some(("x", "y")),
        st.fixed_dictionaries({}, optional={"minDomains": st.just(2), "nodeAffinityPolicy": st.just("Ignore")}),
    ),
)
both = st.builds(lambda one, other: {**one, **other}, specs, specs)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(some(("a", "b")), min_size=1, max_size=3),
    both,
    both,
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
    st.dictionaries(st.just(ZONE), some(("a", "c"))),
)
def test_what_is_impossible_beside_a_class_without_a_bound_is_so_however_many_nodes_are_made(
    zones: list[str], one: dict[str, Any], two: dict[str, Any], few: int, many: int, tainted: bool, labels: dict[str, str]
) -> None:
    nodes = zoned(**{f"n{number}": zone for number, zone in enumerate(zones)})
    pod_sources = [pod_source("x", replicas=few, **one), pod_source("y", replicas=many, **two)]
    taints = (GPU,) if tainted else ()
    claims = judged(nodes, pod_sources, pool(None, *taints, **labels))
    for count in range(4):
        placed = {
            each.pod_source.name: each
            for each in build_schedule(inventory(nodes, classes=[pool(count, *taints, **labels)]), pod_sources).workloads
        }
        for claim, name in claims:
            if claim == "unschedulable":
                assert not placed[name].nodes
            if claim == "too few domains":
                assert placed[name].pending
