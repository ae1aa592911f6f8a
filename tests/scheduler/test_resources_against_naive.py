"""Nodes with equal loads share their outcome, and loads are kept up from pod to pod: checked against going over everything each time."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from naive_scheduler import NaiveScheduler
from test_against_naive import NAMESPACES, label_sets, often, optional, rarely, some, specs

from afflint.scheduler.cluster import Cluster
from cluster_objects import HOST, ZONE, Object, node, pod

NAMES = ("n1", "n2", "n3", "n4", "n5", "n6", "n7")
GPU = "example.com/gpu"

# Few different amounts, so that nodes get equal loads in different ways.
allocatable: st.SearchStrategy[Any] = some(
    (
        {"cpu": 2, "memory": "2048Mi", "pods": 4},
        {"cpu": 2, "memory": "2048Mi", "pods": 4},
        {"cpu": "2500m", "memory": "4096Mi", "pods": 4},
        {"cpu": 2, "memory": "2048Mi", "pods": 2, GPU: 1},
        {"cpu": 2},
        None,
    )
)
amounts = optional(cpu=some(("100m", "500m", "500m", 1)), memory=some(("200Mi", "512Mi", "512Mi", "1024Mi")))
resources = st.builds(lambda drawn, gpu: {"requests": {**drawn, **({GPU: 1} if gpu else {})}}, amounts, rarely)
containers = st.lists(resources.map(lambda drawn: {"name": "c", "ports": [], "resources": drawn}), min_size=1, max_size=2)
constrained = specs.map(lambda spec: {field: value for field, value in spec.items() if field != "initContainers"})
kinds = st.builds(
    lambda labels, spec, listed: (labels, {**spec, "containers": listed}),
    label_sets,
    st.one_of(st.just({}), st.just({}), constrained),
    containers,
)


@st.composite
def nodes(draw: st.DrawFn) -> list[Object]:
    drawn = []
    for name in NAMES[: draw(st.integers(4, 7))]:
        has = draw(allocatable)
        labels = {HOST: name, ZONE: draw(some(("a", "b")))}
        drawn.append({**node(name, labels), **({} if has is None else {"status": {"allocatable": has}})})
    return drawn


@st.composite
def pods_of(draw: st.DrawFn, prefix: str, most: int, names: tuple[str, ...] = ("",)) -> list[Object]:
    """Pods of few kinds, so that several are equal."""
    few = draw(st.lists(kinds, min_size=1, max_size=3))
    drawn = []
    for number in range(draw(st.integers(1, most))):
        labels, spec = draw(some(few))
        drawn.append(pod(f"{prefix}-{number}", labels, on=draw(some(names)), **spec))
    return drawn


def bound(each: Object, name: str) -> Object:
    return {**each, "spec": {**each["spec"], "nodeName": name}}


def naive_run(nodes: list[Object], present: list[Object], new: list[Object], *, even: bool) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The node of each pod that is scheduled at the first attempt, and the nodes that tied for it."""
    present, placed = list(present), {}
    for each in new:
        feasible, _, _, total, error = NaiveScheduler(nodes, present, NAMESPACES, [], resources=True).evaluate(each)
        single = sum(feasible.values()) == 1
        best = [name for name in feasible if feasible[name] and (single or (not error and total[name] == max(total.values())))]
        if best:
            load = Counter(other["spec"]["nodeName"] for other in present)
            chosen = min(best, key=lambda name: (load[name], name)) if even else best[0]
            placed[each["metadata"]["name"]] = chosen, tuple(best)
            present.append(bound(each, chosen))
    return placed


def cluster_of(nodes: list[Object], pods: list[Object]) -> Cluster:
    return Cluster(nodes=nodes, pods=pods, namespaces=NAMESPACES, resources=True)


@often
@given(nodes(), pods_of("running", 8, NAMES), pods_of("new", 7))
def test_a_run_is_that_of_the_naive_scheduler(nodes: list[Object], running: list[Object], new: list[Object]) -> None:
    cluster = cluster_of(nodes, running)
    present = [each for each in running if each["spec"]["nodeName"] in cluster.nodes]
    run = cluster.schedule(new)
    assert {name: (run.placements[name], run.best[name]) for name in run.placements} == naive_run(nodes, present, new, even=False)
    evenly = {name: chosen for name, (chosen, _) in naive_run(nodes, present, new, even=True).items()}
    assert cluster.schedule(new, even=True).placements == evenly


@often
@given(nodes(), pods_of("running", 6, NAMES), pods_of("new", 8), st.data())
def test_every_answer_between_changes_is_that_of_the_naive_scheduler(
    nodes: list[Object], running: list[Object], new: list[Object], data: st.DataObject
) -> None:
    cluster = cluster_of(nodes, running)
    present = [each for each in running if each["spec"]["nodeName"] in cluster.nodes]
    for each in new:
        naive = NaiveScheduler(nodes, present, NAMESPACES, [], resources=True)
        verdict = cluster.evaluate(each)
        assert tuple(verdict) == naive.evaluate(each)
        feasible = [name for name, fits in verdict.feasible.items() if fits]
        assert cluster.feasible_nodes(each) == feasible
        compiled = cluster.read(each)
        if verdict.error is None:
            assert cluster.room(compiled) == len(feasible)
        judged = cluster.judge(compiled)
        assert {name: plugin for name, plugin in zip(cluster.nodes, judged.rejections, strict=True) if plugin} == verdict.reason
        assert {name: rating.total for name, rating in zip(cluster.nodes, judged.ratings, strict=True) if rating} == verdict.total
        # On any node, as a change from outside, or away again.
        unbind = data.draw(st.booleans(), label="unbind")
        if present and unbind:
            gone = data.draw(some(present), label="gone")
            present.remove(gone)
            cluster.unbind(gone)
        else:
            chosen = data.draw(some(cluster.nodes), label="node")
            present.append(bound(each, chosen))
            cluster.bind(each, chosen)
    copied = cluster.copy()
    again = {**new[0], "metadata": {**new[0]["metadata"], "name": "again"}}
    assert tuple(copied.evaluate(again)) == NaiveScheduler(nodes, present, NAMESPACES, [], resources=True).evaluate(again)
