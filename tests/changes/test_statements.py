"""What `afflint diff` states about placement holds whatever the order in which the pods are scheduled: 100 orders do not refute it.

Except what it says it has only seen in the schedules that it tried.
"""

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tools.diff_histories import ZONE, End, confirm

from afflint import config
from afflint.changes import placement
from afflint.changes.placement import SEEN, placement_changes
from afflint.pipeline.session import Session
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.report.place import json_report
from afflint.simulation.inputs import PlaceInputs, inputs_of
from afflint.source.sources import Source
from afflint.workers import Workers

Object = dict[str, Any]
ORDERS = 100
HOST = "kubernetes.io/hostname"


def nodes(*, cpu: int) -> list[Object]:
    """Two nodes in the zones a and b, and one in c."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {ZONE: name[0], HOST: name, "disk": "ssd" if name in ("a1", "c1") else "hdd"}},
            "status": {"allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": "20"}},
        }
        for name in ("a1", "a2", "b1", "b2", "c1")
    ]


def deployment(name: str, replicas: int, cpu: str, constraints: Object) -> Object:
    pod = {"containers": [{"name": name, "image": "nginx:1.27", "resources": {"requests": {"cpu": cpu}}}], **constraints}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }


def budget(name: str, unavailable: int) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"maxUnavailable": unavailable, "selector": {"matchLabels": {"app": name}}},
    }


def spread(name: str, key: str, *, required: bool) -> Object:
    unsatisfiable = "DoNotSchedule" if required else "ScheduleAnyway"
    selector = {"matchLabels": {"app": name}}
    return {
        "topologySpreadConstraints": [{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": unsatisfiable, "labelSelector": selector}]
    }


def apart(name: str, key: str, *, required: bool) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    if required:
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return {
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}}
    }


def near(other: str, key: str) -> Object:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": other}}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


keys = st.sampled_from([ZONE, HOST])


@st.composite
def constraints(draw: st.DrawFn, name: str) -> Object:
    kind = draw(st.sampled_from(["none", "spread", "apart", "near", "selector"]))
    if kind == "spread":
        return spread(name, draw(keys), required=draw(st.booleans()))
    if kind == "apart":
        return apart(name, draw(keys), required=draw(st.booleans()))
    if kind == "near":
        return near(draw(st.sampled_from(["web", "api"])), draw(keys))
    return {"nodeSelector": {"disk": draw(st.sampled_from(["ssd", "hdd"]))}} if kind == "selector" else {}


@st.composite
def workload(draw: st.DrawFn, name: str) -> list[Object]:
    made = deployment(name, draw(st.integers(1, 4)), draw(st.sampled_from(["100m", "1", "2"])), draw(constraints(name)))
    return [made, *([budget(name, draw(st.integers(0, 1)))] if draw(st.booleans()) else [])]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Object], list[Object]]:
    """Two states of a cluster, one or two of whose three workloads differ."""
    room = draw(st.sampled_from([3, 4, 20]))
    both = [draw(workload(name)) for name in ("web", "api", "db")]
    other = [draw(workload("web")), draw(workload("api")) if draw(st.booleans()) else both[1], both[2]]
    return [*nodes(cpu=room), *chain(*both)], [*nodes(cpu=room), *chain(*other)]


def inputs(objects: Sequence[Object]) -> PlaceInputs:
    data = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    return inputs_of(Session(config.default()), [Source("all.json", "/all.json", data)])


def end(state: PlaceInputs, random: Random) -> End:
    """What `afflint place` says with the workloads in a random order."""
    given = state.simulation_input
    sources = random.sample(given.pod_sources, len(given.pod_sources))
    names = [node.name for node in given.nodes]
    zones = sorted({node.labels[ZONE] for node in given.nodes})
    asked = DisruptionRequest([*[f"{ZONE}={zone}" for zone in zones], *names], names)
    plan = make_plan(given.inventory, sources, asked=asked, budgets=given.budgets)
    return End(json.loads("".join(json_report.render(plan))))


def refuted(before: Sequence[Object], after: Sequence[Object], orders: int = ORDERS) -> list[str]:
    """The statements about two states that an order of scheduling refutes."""
    base, head = inputs(before), inputs(after)
    stated = [(each.workload, effect.text) for each in placement_changes(base, head).workloads for effect in each.effects]
    stated = [(workload, text) for workload, text in stated if not text.endswith(SEEN)]
    if not stated:
        return []
    found = {}
    for seed in range(orders):
        random = Random(seed)
        was, now = end(base, random), end(head, random)
        for key, text in stated:
            verdict, why = confirm(key, text, was, now)
            if verdict == "refuted":
                found.setdefault((key, text), why)
    return [f"{key}: {text}: {why}" for (key, text), why in found.items()]


# Each example takes seconds, so that they are few, and none is made smaller.
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(pairs())
def test_no_order_refutes_a_statement(states: tuple[list[Object], list[Object]]) -> None:
    assert refuted(*states) == []


def test_what_only_the_tried_schedules_show_says_so() -> None:
    """Both replicas share a node with the pod of api, in each of the schedules."""
    before, after = deployment("web", 2, "1", apart("web", HOST, required=True)), deployment("web", 2, "1", near("api", HOST))
    api = deployment("api", 1, "1", {})
    changes = placement_changes(inputs([*nodes(cpu=20), before, api]), inputs([*nodes(cpu=20), after, api])).workloads
    texts = [effect.text for each in changes for effect in each.effects]
    failures = [text for text in texts if "failure" in text]
    assert failures == [
        f"no longer survives the failure of a {word}: it is interrupted; seen in 5 of 5 schedules" for word in ("zone", "node")
    ]


@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(pairs(), st.randoms(use_true_random=False))
def test_another_order_of_the_objects_changes_nothing(states: tuple[list[Object], list[Object]], random: Random) -> None:
    for objects in states:
        assert placement_changes(inputs(objects), inputs(random.sample(objects, len(objects)))).workloads == ()


class Copying(Workers):
    """Calls a copy of each function here, as another process does."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], here: Callable[[Any], Any] | None = None) -> Iterator[Any]:
        assert here is None
        self.orders = list(items)
        return map(pickle.loads(pickle.dumps(function)), self.orders)


def test_other_processes_state_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "_WORTH_PROCESSES", 0)
    base = inputs([*nodes(cpu=4), deployment("web", 2, "1", {}), deployment("api", 2, "1", {})])
    head = inputs([*nodes(cpu=4), deployment("web", 4, "5", {}), deployment("api", 2, "1", {}), deployment("new", 2, "5", {})])
    alone, copying = placement_changes(base, head), Copying()
    texts = [effect.text for each in alone.workloads for effect in each.effects]
    assert any("0 of 4 replicas can be scheduled" in text for text in texts)
    assert placement_changes(base, head, workers=copying).workloads == alone.workloads
    assert copying.orders == [*placement._ORDERS]
    assert placement_changes(base, head, workers=Workers(3)).workloads == alone.workloads
