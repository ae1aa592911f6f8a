"""What is at risk in a running cluster before any disruption: pods that cannot leave, exhausted budgets, replicas in one place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.grouping import grouped
from afflint.kube.node_labels import HOSTNAME
from afflint.placement.cluster_state import ClusterState
from afflint.placement.draining import LINGERS, refusal
from afflint.placement.evictions import Evictions
from afflint.placement.plan import Application, Blocked, Concentration, ExhaustedBudget, PresentState
from afflint.placement.pod_evictions import blocked, can_leave, limiting_budgets, why_blocked
from afflint.scheduler.pods import Pod, scheduling_key

_ENDS = frozenset(["Job", "CronJob"])
"""The kinds whose pods end by themselves: it does not matter that they run in one place."""


def present_state(evictions: Evictions, applications: Sequence[Application], key: str, scattered: Sequence[str]) -> PresentState | None:
    """Return what is at risk before any disruption; None if no pod of a workload runs.

    ``key`` is the node label that nodes are grouped by, ``scattered`` has the keys of workloads whose spread is not required.
    """
    workloads = evictions.schedule_index.schedule.workloads
    running = sum(len(placed.stays) for placed in workloads)
    if not running:
        return None
    state = ClusterState(evictions)
    pods = _running(state)
    concentrated = tuple(_concentrated(state, applications, (HOSTNAME, key)))
    return PresentState(running, tuple(_blocked(state, pods)), tuple(_exhausted(state, pods)), concentrated, tuple(scattered))


def _running(state: ClusterState) -> list[tuple[Pod, str]]:
    """Return the running pods that a drain evicts, each with its node, in the order of the nodes."""
    index, cluster = state.schedule_index, state.cluster
    where, numbers = cluster.pods, cluster.table.numbers
    found = []
    for pod in cluster.evicted(cluster.nodes):
        placed = index.owners.get(pod.key)
        if (placed is None or pod.key in placed.stays) and not index.is_tied(pod):
            found.append((pod, where[pod.key]))
    return sorted(found, key=lambda each: numbers[each[1]])


def _blocked(state: ClusterState, pods: list[tuple[Pod, str]]) -> Iterator[Blocked]:
    for pod, node in pods:
        if pod.controller is None:
            yield refusal(state, pod, node)
        if not can_leave(state, pod, node):
            # As after a cordon: the reasons do not mention the node itself.
            state.mark_unavailable((node,))
            yield why_blocked(state, pod, node)
            state.mark_available((node,))
        elif pod.controller is not None and state.is_silent(node) and state.evictions.of(pod).what == "allowed":
            yield blocked(state, pod, node, LINGERS)


def _exhausted(state: ClusterState, pods: list[tuple[Pod, str]]) -> Iterator[ExhaustedBudget]:
    """Yield the budgets that allow no eviction of a healthy pod, with the pods whose evictions they decide."""
    covered = grouped(
        (number, pod.name) for pod, _ in pods if state.evictions.of(pod).what == "allowed" for number in limiting_budgets(state, pod)
    )
    for number, names in sorted(covered.items()):
        status = state.disruptions.covered[number]
        if not status.allowed():
            yield ExhaustedBudget(f"{status.budget.namespace}/{status.budget.name}", status.arithmetic(status.healthy), tuple(names))


def _concentrated(state: ClusterState, applications: Sequence[Application], keys: Sequence[str]) -> Iterator[Concentration]:
    """Yield the applications whose running replicas share a domain of one of the keys; the first of the keys counts."""
    by_key = state.schedule_index.by_key
    members = {each for application in applications for each in application.workloads}
    single = [(each, (each,)) for each in by_key if each not in members]
    for name, own in (*[(each.name, each.workloads) for each in applications], *single):
        placed = [by_key[each] for each in own if each in by_key]
        pods = [(pod, each.nodes[pod.key]) for each in placed for pod in each.pods if pod.key in each.stays and pod.key not in each.waits]
        if len(pods) > 1 and not any(each.pod_source.daemon or each.pod_source.kind in _ENDS for each in placed):
            shared = next((found for key in keys if (found := _shared_domain(state, pods, key))), None)
            if shared:
                yield Concentration(name, own, len(pods), *shared)


def _shared_domain(state: ClusterState, pods: Sequence[tuple[Pod, str]], key: str) -> tuple[str, str, bool] | None:
    """Return the key, the domain that all pods share, and whether one of them could run in another one; None if they do not share one."""
    column, numbers = state.cluster.table.column(key), state.cluster.table.numbers
    here = {column[numbers[node]] for _, node in pods}
    [domain] = here if len(here) == 1 else [None]
    if domain is None or len({each for each in column if each is not None}) < 2:
        return None
    # Pods that differ only in name can run in the same places.
    different = {scheduling_key(pod): (pod, node) for pod, node in pods}.values()
    return key, domain, any(_can_run_elsewhere(state, pod, node, column) for pod, node in different)


def _can_run_elsewhere(state: ClusterState, pod: Pod, node: str, column: Sequence[str | None]) -> bool:
    """Return whether a pod could run in another domain than that of its node, with all others where they run."""
    cluster, numbers = state.cluster, state.cluster.table.numbers
    cluster.unbind(pod)
    found = any(column[numbers[each]] != column[numbers[node]] for each in cluster.feasible_nodes(pod))
    cluster.bind(pod, node)
    return found
