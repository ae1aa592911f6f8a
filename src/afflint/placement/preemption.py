"""Preemption among the pods of workloads: which pod is more important, what budgets allow, and what controllers do with victims.

A victim is deleted, not evicted: its PodDisruptionBudgets only make it less likely to be chosen, and a virtual machine is shut down,
whatever its evictionStrategy is.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property

from afflint.controllers.pod_source import PodSource
from afflint.inventory.inventory import Priorities
from afflint.placement.disruption_budgets import Disruptions, WorkloadPods
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.node_fit import NODE_AFFINITY
from afflint.scheduler.pods import Pod, PodKey, only_on
from afflint.scheduler.preemption import Allowance, PreemptingQueue, Rank

_NO_SOURCES: Mapping[PodKey, PodSource] = {}


class PreemptionRules:
    """What decides about preemption while one group of the pods of a plan is scheduled."""

    def __init__(
        self,
        priorities: Priorities,
        workloads: Sequence[WorkloadPods],
        recreated: Container[PodKey] = (),
        not_created: Container[PodKey] = (),
        more: Mapping[PodKey, PodSource] = _NO_SOURCES,
        recreated_pods: Mapping[PodKey, Pod] = {},
    ) -> None:
        """``workloads`` have all pods, except those that ``more`` has with their workloads.

        ``recreated`` are pods that do not run as in the dump any more, ``not_created`` those that are not created yet.
        ``recreated_pods`` replace running pods from which the templates of their workloads differ.
        """
        self._priorities = priorities
        self._workloads = workloads
        self._sources = {**{pod.key: source for source, pods in workloads for pod in pods}, **more}
        self._recreated = recreated
        self._not_created = not_created
        self._recreated_pods = recreated_pods
        self._removed: set[PodKey] = set()
        self._changes: list[tuple[Pod, int]] = []

    def schedule(self, cluster: Cluster, pods: Sequence[Pod]) -> PreemptingQueue:
        """Schedule pods in the order of their priorities, with preemption and retries until nothing changes, and return the queue.

        The cluster does not change. Pods that were preempted and are recreated are scheduled, too.
        """
        self._cluster = cluster
        queue = PreemptingQueue(cluster.copy(), pods, self)
        queue.run()
        for key, reasons in queue.unschedulable.items():
            queue.unschedulable[key] = self._own_reasons(key, reasons)
        return queue

    def rank(self, pod: PodKey) -> Rank | None:
        """Return the rank of a pod: as stored if it runs already, otherwise that of its workload; None if it is not known."""
        source = self._sources.get(pod)
        if pod not in self._removed and pod not in self._recreated and pod in self._priorities.running:
            return self._priorities.running[pod]
        return None if source is None or source.priority is None else Rank(source.priority)

    def preempts(self, pod: PodKey) -> bool:
        """Return whether a pod may preempt others: its preemptionPolicy is not Never."""
        source = self._sources.get(pod)
        return source is not None and source.preempts

    def allowances(self) -> Sequence[Allowance]:
        """Return the PodDisruptionBudgets with the disruptions that they allow now.

        The scheduler reads these from their status (`filterPodsWithPDBViolation`), where the disruption controller counts ready pods only.
        """
        if not self._priorities.budgets:
            return ()
        disruptions = self._disruptions
        healthy = [status.healthy for status in disruptions.covered]
        for pod, step in self._changes:
            if step < 0 and pod.key in disruptions.unready:
                continue
            for number in disruptions.of(pod):
                healthy[number] += step
        return [
            Allowance(status.budget.namespace, status.budget.selector, status.allowed(number), frozenset(status.budget.disrupted))
            for status, number in zip(disruptions.covered, healthy, strict=True)
        ]

    def count(self, pod: Pod, step: int) -> None:
        """Note that a pod was bound to a node (step 1) or removed from it (step -1)."""
        if step < 0:
            self._removed.add(pod.key)
        if not pod.subject.terminating:
            self._changes.append((pod, step))

    def replacement(self, victim: Pod, node: str) -> Pod | None:
        """Return the pod that the controller creates in place of a victim; None if it creates none."""
        source = self._sources.get(victim.key)
        if source is None or victim.subject.terminating or victim.key in self._not_created:
            return None
        if source.daemon:
            return only_on(victim, node)
        return self._recreated_pods.get(victim.key, victim) if comes_again(source) and not source.node_name else None

    def _own_reasons(self, pod: PodKey, reasons: dict[str, str]) -> dict[str, str]:
        """Return why nodes reject a pod; for the pod of a DaemonSet only its own node."""
        source = self._sources.get(pod)
        if source is None or not source.daemon:
            return reasons
        return {node: plugin for node, plugin in reasons.items() if plugin != NODE_AFFINITY}

    @cached_property
    def _disruptions(self) -> Disruptions:
        unready = {pod: phase for pod, phase in self._priorities.unready.items() if pod not in self._recreated}
        return Disruptions(self._cluster, self._workloads, self._priorities.budgets, unready)


def comes_again(source: PodSource) -> bool:
    """Return whether the controller of a workload creates another pod for one that was deleted on a node that works."""
    return not source.bare and source.pod_replacement.replaced != "never" and source.pod_replacement.after_shutdown
