"""`afflint place` against recorded runs of a living control plane: what it says contains what was observed.

If several things happen one after another, a case is compared as far as `place` simulates them from a snapshot: all rollouts, but only the
first failure.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from afflint.placement.failures import Disruption
from afflint.placement.node_lifecycle import FIRST_NODE
from afflint.placement.plan import DisruptionEffect, Plan, RolloutEffect
from afflint.placement.planner import NOTHING, make_plan
from afflint.placement.rolling_states import OldPod, RollingStates
from afflint.placement.rollout_orders import MOST_STATES
from afflint.placement.rollouts import ClusterSettings, Rollouts
from afflint.placement.schedule import build_schedule
from exactness import counted
from living import ZONE, Object, inputs, patched, recorded_runs, zones_of

VERSION = (1, 37)
MANY_STATES = 20_000
TIES = {"shipped": "equal nodes in order", "random": "equal nodes at random"}
NOUNS = {"drain": "drains", "lose": "failures of nodes", "remove": "removals of nodes"}
RUNS = recorded_runs()
ROLLS = [case for case in RUNS if case["kind"] == "roll"]
DISRUPTIONS = [case for case in RUNS if case["kind"] in ("drain", "lose", "remove")]
Effects = dict[tuple[str, str], RolloutEffect]


def steps_of(case: Object) -> Iterator[tuple[Object, Sequence[Object], Object]]:
    """Each event with the pods before it and the recorded step, for every repeat."""
    for observed in case["observed"]:
        before = observed["initial"]["pods"]
        for event, step in zip(case["event"], observed["steps"], strict=False):
            yield event, before, step
            before = step["pods"]


def placed_as(pods: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(sorted([each["workload"] or each["pod"], each.get("node") or ""] for each in pods))


# --- rollouts ----------------------------------------------------------------------------------------------------------


def rollout_of(case: Object, event: Object, before: Sequence[Object], most: int = MOST_STATES) -> RolloutEffect:
    target = event["target"]
    manifests = patched(case["manifests"], target, event.get("patch", {}))
    given = inputs(case["nodes"], manifests, before, before=case["manifests"]).simulation_input
    schedule = build_schedule(given.inventory, given.pod_sources)
    rolled = next(each for each in schedule.workloads if f"{each.pod_source.kind}/{each.pod_source.name}" == target)
    return Rollouts(schedule, ZONE, ClusterSettings(VERSION), most).roll(rolled)


def ends_as_foretold(effect: RolloutEffect, pods: Sequence[Object], zones: Mapping[str, str]) -> bool:
    """Whether a recorded end of a rollout is one of those that are shown."""
    if any(not each.get("node") for each in pods):
        return effect.result in ("blocked", "may-block")
    return effect.result != "blocked" and dict(Counter(zones[each["node"]] for each in pods)) in [*effect.outcomes, *effect.rare]


def rollouts_disagree(case: Object) -> bool:
    zones, known = zones_of(case["nodes"]), Effects()
    for event, before, step in steps_of(case):
        target = event["target"]
        pods = [each for each in step["pods"] if each["workload"] == target and not each.get("terminating")]
        key = target, placed_as(before)
        if key not in known:
            known[key] = rollout_of(case, event, before)
        if not ends_as_foretold(known[key], pods, zones) and not known[key].exhaustive:
            known[key] = rollout_of(case, event, before, MANY_STATES)
        if not ends_as_foretold(known[key], pods, zones):
            return True
    return len(case["event"]) == 1 and meanwhile_disagrees(case, known)


def meanwhile_disagrees(case: Object, effects: Effects) -> bool:
    """Whether pods were ready in fewer zones, or fewer pods, than shown."""
    for distribution, _ in case["seen"].get("ready_in_between", ()):
        ready = {zone: number for zone, number in distribution.get(case["event"][0]["target"], {}).items() if zone != "pending"}
        # A race that leads to a rare end has states of its own before that.
        fewest = min(len(domains) for each in effects.values() for domains in (*each.rare, dict.fromkeys(range(each.fewest))))
        least = min(each.least_ready for each in effects.values())
        if (ready and len(ready) < fewest) or sum(ready.values()) < least:
            return True
    return False


@pytest.mark.skipif(not RUNS, reason="recorded runs are not beside this checkout")
@pytest.mark.parametrize("ties", ["shipped", "random"])
def test_a_rollout_ends_as_one_of_its_outcomes(ties: str) -> None:
    cases = [case for case in ROLLS if case["ties"] == ties]
    wrong = [(case["id"], case["note"]) for case in cases if rollouts_disagree(case)]
    assert wrong == []
    counted(f"rollouts in a running control plane, {TIES[ties]}: every end, pods ready meanwhile", len(cases) - len(wrong), len(cases))


# --- drains, failures, removals ----------------------------------------------------------------------------------------


def plan_of(case: Object, event: Object, before: Sequence[Object], nodes: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> Plan:
    given = inputs(case["nodes"], case["manifests"], before).simulation_input
    # `--drain` takes one node or a label; the recording names the nodes.
    monkeypatch.setattr("afflint.placement.scenarios.failures", lambda _cluster, _asked: [Disruption("these nodes", tuple(nodes))])
    asked = NOTHING._replace(**{event["do"]: ("these",)})
    return make_plan(given.inventory, given.pod_sources, asked=asked, budgets=given.budgets, evictions=given.evictions)


def running(step: Object, lost: Sequence[str]) -> Counter[str]:
    """How many pods of each workload run, by the key of the workload, without those on ``lost`` nodes."""
    found: Counter[str] = Counter()
    for each in step["pods"]:
        key = (each["workload"] or f"Pod/{each['pod']}").replace("/", " shop/")
        found[key] += bool(each.get("node")) and each["node"] not in lost and not each.get("terminating")
    return found


def left(plan: Plan, effect: DisruptionEffect) -> dict[str, int]:
    """What `place` says of the same."""
    before = {each.key: sum(replica.node is not None for replica in each.replicas) for each in plan.workloads if each.kind != "DaemonSet"}
    return {key: effect.left.get(key, number) for key, number in before.items()}


def disruptions_disagree(case: Object, monkeypatch: pytest.MonkeyPatch) -> bool:
    known: dict[str, Plan] = {}
    for observed in case["observed"]:
        event, step, before = case["event"][0], observed["steps"][0], observed["initial"]["pods"]
        if "pods" not in step:
            continue
        nodes = step.get("nodes") or event["nodes"]
        key = placed_as(before) + json.dumps(nodes)
        if key not in known:
            known[key] = plan_of(case, event, before, nodes, monkeypatch)
        (effect,) = known[key].losses
        seen, expected = running(step, nodes if event["do"] == "lose" else ()), left(known[key], effect)
        # Of the nodes of a zone in which evictions are suspended, the first may fail before that.
        first = max(Counter(each["node"] for each in before if each.get("node") in nodes).values()) if FIRST_NODE in effect.notes else 0
        if not all(number <= seen[each] <= number + first for each, number in expected.items()):
            return True
        if event["do"] == "drain" and (effect.result == "ends") != step["drain"]["ended"]:
            return True
    return False


@pytest.mark.skipif(not RUNS, reason="recorded runs are not beside this checkout")
@pytest.mark.parametrize("kind", ["drain", "lose", "remove"])
def test_as_many_pods_run_after_a_disruption(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case for case in DISRUPTIONS if case["kind"] == kind]
    wrong = [(case["id"], case["note"]) for case in cases if disruptions_disagree(case, monkeypatch)]
    assert wrong == []
    counted(f"{NOUNS[kind]} in a running control plane: pods that run afterwards", len(cases) - len(wrong), len(cases))


# --- scaling -----------------------------------------------------------------------------------------------------------


def left_after_removal(case: Object, target: str, before: Sequence[Object], number: int) -> list[dict[str, int]]:
    """In which zones ``number`` pods of a workload may be left when its controller removes the others."""
    given = inputs(case["nodes"], case["manifests"], before).simulation_input
    schedule = build_schedule(given.inventory, given.pod_sources)
    placed = next(each for each in schedule.workloads if f"{each.pod_source.kind}/{each.pod_source.name}" == target)
    zones, table = zones_of(case["nodes"]), schedule.cluster.table
    if placed.pod_source.kind == "StatefulSet":
        # The highest ordinals go first.
        kept = sorted(placed.nodes, key=lambda identity: int(identity[1].rpartition("-")[2]))[:number]
        return [dict(Counter(zones[placed.nodes[identity]] for identity in kept))]
    old = [OldPod(pod, table.numbers[placed.nodes[pod.key]]) for pod in placed.pods if pod.key in placed.nodes]
    states = RollingStates(schedule.cluster.copy(), old, placed.pods[0], len(old), None)
    removals = [after() for event, after in states.next_steps(states.start._replace(old_wanted=number)) if event.what == "removed"]
    return [dict(Counter(zones[table.names[node]] for node in states.ready_nodes(state))) for state in removals]


def scaling_disagrees(case: Object) -> bool:
    zones = zones_of(case["nodes"])
    for event, before, step in steps_of(case):
        target, number = event["target"], event["replicas"]
        pods = [each for each in step["pods"] if each["workload"] == target and not each.get("terminating")]
        there = [each for each in before if each["workload"] == target]
        if number < len(there):
            found = dict(Counter(zones[each["node"]] for each in pods))
            if found not in left_after_removal(case, target, before, number):
                return True
            continue
        manifests = patched(case["manifests"], target, {"spec": {"replicas": number}})
        given = inputs(case["nodes"], manifests, before).simulation_input
        plan = make_plan(given.inventory, given.pod_sources, budgets=given.budgets, evictions=given.evictions)
        key = target.replace("/", " shop/")
        runs = next(sum(replica.node is not None for replica in each.replicas) for each in plan.workloads if each.key == key)
        if runs != sum(bool(each.get("node")) for each in pods):
            return True
    return False


@pytest.mark.skipif(not RUNS, reason="recorded runs are not beside this checkout")
def test_scaling_leaves_pods_where_they_may_be_left() -> None:
    cases = [case for case in RUNS if case["kind"] == "scale"]
    wrong = [(case["id"], case["note"]) for case in cases if scaling_disagrees(case)]
    assert wrong == []
    counted("scaled workloads in a running control plane: which pods are removed, how many run", len(cases) - len(wrong), len(cases))


@pytest.mark.skipif(not RUNS, reason="recorded runs are not beside this checkout")
def test_scaling_down_may_leave_fewer_zones_than_a_spread_constraint_allows_to_fill() -> None:
    """A ReplicaSet first removes pods that share a node, whatever their zones."""
    case = next(case for case in RUNS if case["id"] == "scale-005")
    before = case["observed"][0]["initial"]["pods"]
    assert {len(zones) for zones in left_after_removal(case, "Deployment/web", before, 2)} == {1, 2}
