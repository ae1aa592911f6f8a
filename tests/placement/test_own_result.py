"""A plan is the plan of its own result: pods stay where a plan has put them, whatever is known about their controllers."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.controllers.observed_workloads import observed_workloads
from afflint.controllers.pod_source import PodSource
from afflint.placement.plan import Plan
from afflint.placement.planner import make_plan
from afflint.placement.schedule import build_schedule
from cluster_objects import HOST, Object, apart, app, term, together
from random_orders import KEYS, drawn_cluster, drawn_workload
from workload_objects import create_pods, inventory, pod_source


def drawn_agent(random: Random) -> PodSource:
    """A DaemonSet on all nodes or some, with constraints on other pods or none."""
    affinity = random.choice([{}, apart(term(HOST, app("x"))), together(term(random.choice(KEYS), app("x")))])
    return pod_source("agent", "DaemonSet", affinity=affinity, **random.choice([{}, {"nodeSelector": {"disk": "f"}}]))


def with_agent(random: Random, workload: PodSource) -> PodSource:
    """A workload whose pods must share a domain with a pod of the DaemonSet."""
    affinity = {**workload.pod["affinity"], **together(term(random.choice(KEYS), app("agent")))}
    return pod_source("near", replicas=2, affinity=affinity)


def dumped(nodes: list[Object], workloads: list[PodSource]) -> list[Object]:
    """The pods of a schedule as a cluster stores them."""
    schedule = build_schedule(inventory(nodes), workloads)
    running = []
    for workload, placed in zip(workloads, schedule.workloads, strict=True):
        for pod in create_pods(workload, schedule.before):
            node = placed.nodes.get((pod["metadata"]["namespace"], pod["metadata"]["name"]))
            if node is not None:
                running.append({**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running"}})
    return running


def where(plan: Plan) -> dict[str, dict[str, str]]:
    """The nodes of the pods of each workload."""
    return {each.key: {replica.pod: replica.node for replica in each.replicas if replica.node} for each in plan.workloads}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_pods_of_a_plan_stay_with_and_without_the_manifest_of_a_daemon_set(seed: int) -> None:
    random = Random(seed)
    nodes, workloads = drawn_cluster(random)
    workloads = [each for each in workloads if not each.kubevirt]
    workloads += [drawn_agent(random), with_agent(random, drawn_workload(random, "near"))]
    random.shuffle(workloads)
    running = dumped(nodes, workloads)
    others = [each for each in workloads if not each.daemon]
    names = [each["metadata"]["name"] for each in nodes]

    first = make_plan(inventory(nodes), workloads)
    known = make_plan(inventory(nodes, pods=running), workloads)
    observed = make_plan(inventory(nodes, pods=running), [*others, *observed_workloads(others, running, names)])
    assert where(known) == where(first)
    assert {key: pods for key, pods in where(known).items() if pods} == {key: pods for key, pods in where(observed).items() if pods}
    assert set(known.violations) == set(observed.violations)
