"""What is certain about a failure without simulating it is what the simulation shows, on clusters of all kinds."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.controllers.pod_source import PodSource
from afflint.placement.failures import Disruption, failures
from afflint.placement.plan import Action
from afflint.placement.rejections import Rejections
from afflint.placement.scenarios import Scenarios, scenarios_of
from afflint.placement.schedule import Schedule, build_schedule
from afflint.placement.schedule_index import ScheduleIndex
from afflint.placement.shortfalls import Shortfalls
from cluster_objects import HOST, ZONE, Object, apart, app, node, pod, rather, spread, term, together, zoned
from workload_objects import apart_by, inventory, pod_source

KINDS = ["Deployment", "StatefulSet", "Job", "DaemonSet", "Pod", "VirtualMachineInstanceReplicaSet", "VirtualMachine"]
FOR_EVER = {"tolerations": [{"operator": "Exists"}]}
A_WHILE = {"tolerations": [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}]}


@st.composite
def terms(draw: st.DrawFn) -> Object:
    return term(draw(st.sampled_from([HOST, ZONE])), app(draw(st.sampled_from("abc"))))


@st.composite
def workloads(draw: st.DrawFn) -> PodSource:
    name = draw(st.sampled_from("abcdef"))
    affinity: Object = {}
    for make in draw(st.lists(st.sampled_from([apart, together, "rather", "own"]), max_size=2, unique=True)):
        if make == "rather":
            affinity |= rather("podAffinity", (5, draw(terms())))
        else:
            affinity |= apart_by(draw(st.sampled_from([HOST, ZONE])), name) if make == "own" else make(draw(terms()))  # type: ignore[operator]
    more: Object = {"affinity": affinity} if affinity else {}
    more |= draw(st.sampled_from([{}, {}, FOR_EVER, A_WHILE, {"nodeSelector": {ZONE: "a"}}]))
    if draw(st.booleans()):
        policy = draw(st.sampled_from([{}, {"minDomains": 2}, {"nodeTaintsPolicy": "Honor"}]))
        when = "ScheduleAnyway" if draw(st.booleans()) else "DoNotSchedule"
        policy = policy if when == "DoNotSchedule" else {}
        more["topologySpreadConstraints"] = [spread(draw(st.sampled_from([HOST, ZONE])), app(name), 1, when, **policy)]
    kind = draw(st.sampled_from(KINDS))
    if not kind.startswith("Virtual"):
        container: Object = {"name": "c", "resources": {"requests": {"cpu": draw(st.sampled_from(["100m", "900m"]))}}}
        if draw(st.integers(0, 4)) == 0:
            container["ports"] = [{"hostPort": 80}]
        more["containers"] = [container]
    single = kind in ("Pod", "DaemonSet", "VirtualMachine")
    return pod_source(f"{name}{draw(st.integers(0, 99))}", kind, 1 if single else draw(st.integers(1, 4)), labels={"app": name}, **more)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    count = draw(st.integers(2, 9))
    nodes = []
    for number in range(count):
        name = f"n{number}"
        labels = {HOST: name, ZONE: draw(st.sampled_from("abc"))} if draw(st.integers(0, 9)) else {HOST: name}
        each = node(name, labels, taints=draw(st.sampled_from([[], [], [], ["gpu=1:NoSchedule"]])))
        each["status"] = {"allocatable": {"cpu": "2", "pods": "6"}}
        nodes.append(each)
    pod_sources = draw(st.lists(workloads(), min_size=1, max_size=6, unique_by=lambda each: each.name))
    running = [pod(f"other-{index}", {"app": "c"}, on=f"n{index % count}", containers=[]) for index in range(draw(st.integers(0, 2)))]
    return build_schedule(inventory(nodes, pods=running, resources=draw(st.booleans())), pod_sources)


def simulated(schedule: Schedule, failure: Disruption, action: Action) -> dict[str, int]:
    """How many replicas of each workload lack a node when everything is simulated; the pods of a DaemonSet that is down stay on theirs."""
    index = ScheduleIndex(schedule)
    loss = scenarios_of(index).effect_of(action, *failure)
    staying = {"off", "gone"}
    return Counter(
        move.workload
        for move in loss.moves
        if move.target is None and move.fate not in (staying | {"stays"} if move.workload in index.daemons else staying)
    )


def everything(schedule: Schedule) -> list[Disruption]:
    zones = ["each:zone"] if schedule.before.label(ZONE) else []
    return [failure for what in ("each:node", *zones) for failure in failures(schedule.before, what)]


@settings(max_examples=150)
@given(schedules())
def test_what_is_certain_is_what_a_simulation_shows(schedule: Schedule) -> None:
    shortfalls = Shortfalls(ScheduleIndex(schedule))
    for failure in everything(schedule):
        assert shortfalls.removed(failure) == simulated(schedule, failure, "remove"), f"{failure.what} is removed"
        assert shortfalls.lost(failure) == simulated(schedule, failure, "lose"), f"{failure.what} fails"


@settings(max_examples=50)
@given(schedules())
def test_asking_changes_nothing(schedule: Schedule) -> None:
    shortfalls = Shortfalls(ScheduleIndex(schedule))
    asked = everything(schedule)
    before = [(shortfalls.removed(failure), shortfalls.lost(failure)) for failure in asked]
    assert [(shortfalls.removed(failure), shortfalls.lost(failure)) for failure in reversed(asked)] == before[::-1]


@settings(max_examples=100)
@given(schedules())
def test_a_summary_counts_the_phrases_of_all_nodes(schedule: Schedule) -> None:
    for placed in schedule.workloads:
        if placed.template is not None:
            reasons = schedule.cluster.evaluate(placed.template).reason
            rejections = Rejections(schedule.cluster, placed.template)
            phrases = [rejections.phrase(node, plugin) for node, plugin in reasons.items()]
            counted = Counter((phrase.singular, phrase.plural) for phrase in phrases)
            ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
            messages = [f"{number} {'nodes ' if not at and number > 1 else '' if at else 'node '}{words[number > 1]}"
                    for at, (words, number) in enumerate(ordered)]  # fmt: skip
            assert rejections.summary(reasons) == ", ".join(messages)


THIRTY = [each for index in range(30) for each in zoned(**{f"n{index:02}": "abc"[index % 3]})]


@pytest.mark.parametrize("more", [
    {},
    {"affinity": apart_by(HOST, "web")},
    {"affinity": apart_by(ZONE, "web")},
    {"topologySpreadConstraints": [spread(ZONE, app("web"))]},
    {"topologySpreadConstraints": [spread(HOST, app("web"), 2)]},
])  # fmt: skip
def test_common_workloads_on_many_nodes_are_not_simulated(monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]) -> None:
    schedule = build_schedule(inventory(THIRTY), [pod_source("web", replicas=3, **more), pod_source("db", "StatefulSet", replicas=3)])
    single = failures(schedule.before, "each:node")
    expected = [(simulated(schedule, each, "remove"), simulated(schedule, each, "lose")) for each in single]
    monkeypatch.delattr(Scenarios, "effect_of")
    shortfalls = Shortfalls(ScheduleIndex(schedule))
    assert [(shortfalls.removed(each), shortfalls.lost(each)) for each in single] == expected
