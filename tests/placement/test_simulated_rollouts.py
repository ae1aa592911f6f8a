"""Rollouts: which pods are replaced in which order, where all may be in the end, and what keeps a rollout from completing."""

from dataclasses import replace
from itertools import combinations, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.controllers.pod_source import PodSource, Virtualization
from afflint.findings.errors import UserError
from afflint.kube.node_labels import ZONE as ZONE_KEY
from afflint.placement.plan import RolloutEffect
from afflint.placement.planner import make_plan
from afflint.placement.rolling_states import _choices
from afflint.placement.rollouts import ClusterSettings, Rollouts
from afflint.placement.schedule import build_schedule
from afflint.report.place.sequences import rollout_lines
from cluster_objects import HOST, ZONE, Object, node, pod, zoned
from growth import calls
from workload_objects import apart_by, inventory, pod_source


def rolled(
    nodes: list[Object], *pod_sources: PodSource, name: str = "web", pods: list[Object] | None = None, resources: bool = False
) -> RolloutEffect:
    (effect,) = make_plan(inventory(nodes, pods=pods or [], resources=resources), pod_sources, roll=(name,)).rollouts
    return effect


def even(**more: Any) -> Object:
    """A hard spread constraint of ``web`` over zones, as a field of the pod spec."""
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"topologySpreadConstraints": [{**constraint, **more}]}


PER_REVISION = {"matchLabelKeys": ["pod-template-hash"]}
"""What keeps a spread constraint over rollouts."""
TWO = zoned(a1="a", b1="b")
THREE = zoned(a1="a", b1="b", c1="c")


# --- Deployments -------------------------------------------------------------------------------------------------------


def test_two_replicas_in_two_zones_may_end_in_one() -> None:
    effect = rolled(TWO, pod_source("web", replicas=2, **even()))
    assert (effect.result, effect.strategy) == ("completes", "maxSurge 1, maxUnavailable 0")
    assert effect.before == {"a": 1, "b": 1}
    assert effect.outcomes == ({"a": 2}, {"b": 2}, {"a": 1, "b": 1})
    assert (effect.fewest, effect.least_ready, effect.exhaustive) == (1, 2, True)


def test_a_constraint_that_counts_one_revision_keeps_both_zones_at_the_end_but_not_in_between() -> None:
    effect = rolled(zoned(a1="a", a2="a", b1="b", b2="b"), pod_source("web", replicas=2, **even(**PER_REVISION)))
    assert effect.outcomes == ({"a": 1, "b": 1},)
    assert effect.fewest == 1


def test_three_replicas_may_lose_one_of_three_zones_but_never_two() -> None:
    effect = rolled(THREE, pod_source("web", replicas=3, **even()))
    assert min(len(each) for each in effect.outcomes) == 2
    assert rolled(THREE, pod_source("web", replicas=3, **even(**PER_REVISION))).outcomes == ({"a": 1, "b": 1, "c": 1},)


def test_enough_zones_for_all_pods_keep_them_apart() -> None:
    effect = rolled(THREE, pod_source("web", replicas=2, **even()))
    assert {tuple(each.values()) for each in effect.outcomes} == {(1, 1)}
    assert {tuple(each.values()) for each in effect.rare} == {(2,)}


def test_without_surge_a_new_pod_may_be_scheduled_before_the_old_one_is_removed() -> None:
    removing = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    effect = rolled(THREE, pod_source("web", replicas=4, strategy=removing, **even()))
    assert effect.strategy == "maxSurge 0, maxUnavailable 1"
    assert {len(each) for each in effect.outcomes} == {3}
    assert {"a": 2, "c": 2} in effect.rare
    assert effect.least_ready == 3


def test_recreate_removes_all_pods_first() -> None:
    effect = rolled(TWO, pod_source("web", replicas=2, strategy={"type": "Recreate"}, **even()))
    assert (effect.strategy, effect.outcomes, effect.least_ready) == ("Recreate", ({"a": 1, "b": 1},), 0)
    assert [step.action for step in effect.steps] == ["removed", "removed", "scheduled", "scheduled"]


def test_pods_that_share_a_node_with_another_are_removed_first() -> None:
    steps = rolled(TWO, pod_source("web", replicas=2, **even())).steps
    assert [step.action for step in steps] == ["scheduled", "removed"] * 2
    assert steps[0].node == steps[1].node


def running(name: str, on: str, cost: str = "0", *, ready: bool = True) -> Object:
    """A pod of ``web`` in a dump."""
    made = pod(f"web-5bd4c8f7c9-{name}", {"app": "web", "pod-template-hash": "5bd4c8f7c9"}, on=on)
    made["metadata"].update(
        annotations={"controller.kubernetes.io/pod-deletion-cost": cost},
        ownerReferences=[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5bd4c8f7c9", "controller": True}],
    )
    made["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    return made


def test_a_pod_that_is_not_ready_is_removed_before_those_that_are() -> None:
    web = pod_source("web", replicas=3, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    ready = rolled(THREE, web, pods=[running("x", "a1"), running("y", "b1"), running("z", "c1")])
    assert ready.least_ready == 3
    effect = rolled(THREE, web, pods=[running("x", "a1"), running("y", "b1", ready=False), running("z", "c1")])
    assert next(step for step in effect.steps if step.action == "removed").node == "b1"
    assert (effect.result, effect.least_ready) == ("completes", 2)


def test_a_pod_whose_deletion_costs_more_is_kept_longer() -> None:
    nodes = zoned(a1="a", b1="b", c1="c", d1="d")
    pods = [running("x", "a1", "100"), running("y", "b1", "-5")]
    effect = rolled(nodes, pod_source("web", replicas=2, affinity=apart_by(HOST, "web")), pods=pods)
    assert [step.node for step in effect.steps if step.action == "removed"] == ["b1", "a1"]


def test_a_surge_pod_without_a_node_blocks_the_rollout() -> None:
    effect = rolled(THREE, pod_source("web", replicas=3, affinity=apart_by(ZONE, "web")))
    assert (effect.result, effect.outcomes) == ("blocked", ())
    assert effect.why == "3 nodes share their zone with a replica of web"
    removing = {"rollingUpdate": {"maxUnavailable": 1}}
    assert rolled(THREE, pod_source("web", replicas=3, strategy=removing, affinity=apart_by(ZONE, "web"))).result == "completes"


def test_a_surge_pod_without_cpu_blocks_the_rollout() -> None:
    nodes = THREE
    for each in nodes:
        each["status"] = {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "110"}}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "600m"}}}]
    web = pod_source("web", replicas=3, containers=containers)
    effect = rolled(nodes, web, resources=True)
    assert effect.result == "blocked"
    assert "cpu" in effect.why.lower()
    assert rolled(nodes, replace(web, strategy={"rollingUpdate": {"maxUnavailable": 1}}), resources=True).result == "completes"


def test_orders_are_drawn_at_random_if_there_are_too_many_and_the_same_each_time() -> None:
    web = pod_source("web", replicas=6, **even())
    nodes = zoned(**{f"{zone}{number}": zone for zone in "abc" for number in range(1, 4)})
    schedule = build_schedule(inventory(nodes), [web])
    first = Rollouts(schedule, ZONE_KEY, most=100).roll(schedule.workloads[0])
    assert not first.exhaustive
    assert first == Rollouts(schedule, ZONE_KEY, most=100).roll(schedule.workloads[0])
    assert any(max(each.values()) == 3 for each in first.outcomes)


def test_a_node_that_is_unavailable_keeps_its_old_pod_and_recreate_waits_for_it() -> None:
    down = node("c1", {ZONE: "c"}, taints=["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"])
    nodes = [*TWO, down]
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5bd4c8f7c9", "controller": True}]
    pods = [pod(f"web-5bd4c8f7c9-{on}", {"app": "web", "pod-template-hash": "5bd4c8f7c9"}, on=on) for on in ("a1", "b1", "c1")]
    for each in pods:
        each["metadata"]["ownerReferences"] = owner
    effect = rolled(nodes, pod_source("web", replicas=3, strategy={"type": "Recreate"}), pods=pods)
    assert effect.result == "blocked"
    assert "c1" in effect.why


# --- StatefulSets ------------------------------------------------------------------------------------------------------


def stateful(replicas: int, *, strategy: dict[str, Any] | None = None, **more: Any) -> PodSource:
    return pod_source("db", "StatefulSet", replicas, strategy=strategy or {}, **more)


def test_a_stateful_set_replaces_one_pod_after_another_from_the_highest_ordinal() -> None:
    effect = rolled(THREE, stateful(3, affinity=apart_by(ZONE, "db")), name="db")
    assert (effect.result, effect.strategy, effect.least_ready) == ("completes", "maxUnavailable 1", 2)
    assert [step.pod for step in effect.steps if step.action == "removed"] == ["db-2", "db-1", "db-0"]
    assert effect.outcomes == ({"a": 1, "b": 1, "c": 1},)


def test_a_partition_leaves_the_lower_ordinals() -> None:
    effect = rolled(THREE, stateful(3, strategy={"rollingUpdate": {"partition": 2}}), name="db")
    assert [step.pod for step in effect.steps if step.action == "removed"] == ["db-2"]
    assert effect.strategy == "maxUnavailable 1, partition 2"
    assert rolled(THREE, stateful(3, strategy={"rollingUpdate": {"partition": 3}}), name="db").result == "manual"
    assert rolled(THREE, stateful(3, strategy={"type": "OnDelete"}), name="db").result == "manual"


@pytest.mark.parametrize(("version", "gates", "least"), [((1, 36), (), 3), ((1, 36), ("MaxUnavailableStatefulSet",), 2), ((1, 37), (), 2)])
def test_max_unavailable_of_a_stateful_set_depends_on_the_version(version: tuple[int, int], gates: tuple[str, ...], least: int) -> None:
    db = stateful(4, strategy={"rollingUpdate": {"maxUnavailable": "50%"}})
    schedule = build_schedule(inventory(THREE), [db])
    effect = Rollouts(schedule, ZONE_KEY, ClusterSettings(version, gates)).roll(schedule.workloads[0])
    assert effect.least_ready == least


def test_an_ordered_set_with_a_pending_pod_is_not_updated() -> None:
    effect = rolled(TWO, stateful(3, affinity=apart_by(ZONE, "db")), name="db")
    assert (effect.result, effect.steps) == ("blocked", ())


# --- DaemonSets and others ---------------------------------------------------------------------------------------------


def agent(strategy: dict[str, Any] | None = None, **more: Any) -> PodSource:
    return pod_source("agent", "DaemonSet", strategy=strategy or {}, **more)


def test_a_daemon_set_replaces_the_pod_of_one_node_after_another() -> None:
    effect = rolled(THREE, agent(), name="agent")
    assert (effect.result, effect.strategy, effect.least_ready) == ("completes", "maxSurge 0, maxUnavailable 1", 2)
    assert [step.action for step in effect.steps[:2]] == ["removed", "scheduled"]


def test_a_daemon_set_that_surges_onto_its_own_host_port_never_completes() -> None:
    ports = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    effect = rolled(THREE, agent({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}, **ports), name="agent")
    assert effect.result == "blocked"
    assert effect.why.startswith("the new pod cannot run beside the old one: 3 nodes ")
    assert "host port 80" in effect.why
    assert rolled(THREE, agent(**ports), name="agent").result == "completes"


def test_a_daemon_set_waits_for_a_node_that_is_down() -> None:
    taints = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]
    nodes = [*TWO, node("c1", {ZONE: "c"}, taints=taints)]
    tolerant = {"tolerations": [{"operator": "Exists"}]}
    effect = rolled(nodes, agent(**tolerant), name="agent")
    assert effect.result == "blocked"
    assert effect.why == "c1 is unavailable, and its pod already counts as 1 unavailable pod"


def test_a_virtual_machine_takes_a_new_template_when_it_restarts() -> None:
    effect = rolled(THREE, pod_source("vm", "VirtualMachine"), name="vm")
    assert (effect.result, effect.why) == ("manual", "a changed template applies to a virtual machine when it restarts")


@pytest.mark.parametrize(
    ("methods", "nodes", "expected"),
    [
        (["LiveMigrate", "Evict"], TWO, "live-migrates it (workloadUpdateMethods: LiveMigrate)"),
        (
            ["LiveMigrate"],
            TWO[:1],
            "live-migrates it, but no node accepts the target pod of virt-launcher-vm (workloadUpdateMethods: LiveMigrate)",
        ),
        (["Evict"], TWO, "evicts it (workloadUpdateMethods: Evict)"),
        ([], TWO, "leaves it as it is until it restarts (no workloadUpdateMethods)"),
    ],
)
def test_an_update_of_kubevirt_moves_or_evicts_machines(methods: list[str], nodes: list[Object], expected: str) -> None:
    kubevirt = {
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"workloadUpdateStrategy": {"workloadUpdateMethods": methods}},
    }
    network = {"domain": {"devices": {"interfaces": [{"name": "n", "masquerade": {}}]}}, "networks": [{"name": "n", "pod": {}}]}
    machine = replace(pod_source("vm", "VirtualMachine", **network), virtualization=Virtualization(kubevirt))
    names = {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes}
    machines = [node(name, {**labels, HOST: name, "kubevirt.io/schedulable": "true"}) for name, labels in names.items()]
    when = "a changed template applies to a virtual machine when it restarts"
    assert rolled(machines, machine, name="vm").why == f"{when}; an update of KubeVirt {expected}"


# --- what is asked -----------------------------------------------------------------------------------------------------


def test_workloads_are_named_in_several_ways_and_each_means_those_with_rollouts() -> None:
    sources = [pod_source("web", replicas=2), agent(), pod_source("once", "Job")]
    for name in ("web", "default/web", "Deployment default/web", "deployment/web"):
        assert [each.workload for each in make_plan(inventory(TWO), sources, roll=(name,)).rollouts] == ["Deployment default/web"]
    found = make_plan(inventory(TWO), sources, roll=("each", "web")).rollouts
    assert [each.workload for each in found] == ["Deployment default/web", "DaemonSet default/agent"]
    with pytest.raises(UserError, match="no workload is named 'agents'; did you mean 'agent'"):
        make_plan(inventory(TWO), sources, roll=("agents",))


def test_the_example_of_the_usual_end_comes_before_the_rare_one() -> None:
    effect = rolled(zoned(a1="a", b1="b", b2="b"), pod_source("web", replicas=3, **even()))
    assert effect.rare
    lines = [line.partition(" ")[0].strip(":,") for line in rollout_lines(effect, "zone")]
    assert lines[-2:] == ["for", "rarely"]


@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=5), data=st.data())
def test_choices_of_pods_are_the_combinations_that_differ_by_group(sizes: list[int], data: st.DataObject) -> None:
    members = [(group, number) for group, size in enumerate(sizes) for number in range(size)]
    number = data.draw(st.integers(1, len(members)))
    first: dict[object, tuple[int, ...]] = {}
    for chosen in combinations(range(len(members)), number):
        first.setdefault(tuple([members[each][0] for each in chosen]), chosen)
    groups = [[index for index, (group, _) in enumerate(members) if group == each] for each in range(len(sizes))]
    assert list(_choices(groups, number)) == [*first.values()]


def test_few_of_many_choices_are_found_at_once() -> None:
    """All choices of 100 of 200 pods would take longer than the universe exists."""
    groups = [[number, number + 1] for number in range(0, 200, 2)]
    assert calls(lambda: [*islice(_choices(groups, 100), 24)]) < 100_000
