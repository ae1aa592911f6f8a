"""How many disruptions PodDisruptionBudgets allow: the arithmetic of the disruption controller (pkg/controller/disruption)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from afflint.controllers.budgets import Budget
from afflint.controllers.pod_replacement import pod_replacement_of_owner
from afflint.controllers.pod_source import PodSource
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize
from afflint.kube.taints import NOT_READY, UNREACHABLE
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey, Subject


class BudgetStatus(NamedTuple):
    """The pods of a budget: how many are expected, and how many are healthy before a disruption.

    `unscaled` is the kind of a controller without a scale, if the budget needs one: then no disruption is allowed.
    """

    budget: Budget
    expected: int
    healthy: int
    unscaled: str
    unready: tuple[str, ...] = ()
    """The names of the running pods that are not ready."""
    leaving: int = 0
    """How many pods are ready and not healthy, because the API server has accepted their eviction (``status.disruptedPods``).

    Each of them ends, or counts as healthy again after two minutes (DeletionTimeout of the disruption controller).
    """

    @property
    def desired(self) -> int:
        """Return how many pods must be healthy."""
        return self.budget.desired(self.expected)

    def allowed(self, healthy: int | None = None) -> int:
        """Return how many pods may be evicted while `healthy` pods are healthy; by default as many as before the disruption."""
        return 0 if self.unscaled else self.budget.disruptions_allowed(self.expected, self.healthy if healthy is None else healthy)

    def allows_unready(self, healthy: int | None = None) -> bool:
        """Return whether a pod that is not ready may be evicted while `healthy` pods are healthy (spec.unhealthyPodEvictionPolicy)."""
        return self.budget.always_allows_unready or (self.healthy if healthy is None else healthy) >= self.desired > 0

    def arithmetic(self, healthy: int) -> str:
        """Return why no eviction is allowed: ``PodDisruptionBudget web (minAvailable 2) requires 2 of 3 pods to be healthy, and 2 are``."""
        name = f"PodDisruptionBudget {self.budget.name} ({self.budget.amount})"
        if self.unscaled:
            return f"{name} allows no disruptions: a {self.unscaled} does not report how many pods it should have"
        if self.expected <= 0:
            return f"{name} allows no disruptions: its pods have no controller that reports how many there should be"
        if not self.budget.sets_amount:
            return f"{name} allows no disruptions"
        why = f"; {self._unready_words} not ready" if self.unready else ""
        return f"{name} requires {self.desired} of {self.expected} pods to be healthy, and {healthy} {'is' if healthy == 1 else 'are'}{why}"

    @property
    def _unready_words(self) -> str:
        names = join_words(self.unready) if len(self.unready) <= _MOST_NAMES else pluralize(len(self.unready), "pod")
        return f"{names} {'is' if len(self.unready) == 1 else 'are'}"


_MOST_NAMES = 3
_ALL_READY: Mapping[PodKey, str] = {}

WorkloadPods = tuple[PodSource, Sequence[Pod]]
"""A workload with its pods."""


class Disruptions:
    """The budgets of a cluster with the pods that they select."""

    def __init__(
        self,
        cluster: Cluster,
        workloads: Iterable[WorkloadPods],
        budgets: Iterable[Budget],
        unready: Mapping[PodKey, str] = _ALL_READY,
    ) -> None:
        """``cluster`` has all running pods, and ``workloads`` all pods of the workloads, running or not.

        ``unready`` are the running pods that are not ready, with their phases.
        """
        self.unready = unready
        self._budgets = list(budgets)
        self._by_namespace = grouped((budget.namespace, number) for number, budget in enumerate(self._budgets))
        self._of: dict[Subject, tuple[int, ...]] = {}
        self.covered: Sequence[BudgetStatus] = self._counted(cluster, workloads) if self._budgets else ()

    def of(self, pod: Pod) -> tuple[int, ...]:
        """Return the numbers of the budgets that select a pod."""
        known = self._of.get(pod.subject)
        if known is None:
            numbers = self._by_namespace.get(pod.namespace, ())
            known = self._of[pod.subject] = tuple([each for each in numbers if self._budgets[each].covers(pod.namespace, pod.labels)])
        return known

    def _counted(self, cluster: Cluster, workloads: Iterable[WorkloadPods]) -> list[BudgetStatus]:
        counting = [_Counting() for _ in self._budgets]
        ours = set()
        for pod_source, pods in workloads:
            # Neither a DaemonSet nor the controllers of virtual machines have a scale.
            scaled = pod_source.pod_replacement.scaled and not pod_source.daemon
            for pod in pods:
                ours.add(pod.key)
                for number in self.of(pod):
                    counting[number].pods += 1
                    if not pod_source.bare or pod_source.kubevirt:
                        counting[number].owners[pod_source.key] = (pod_source.replicas, "" if scaled else _controller(pod, pod_source.kind))
        for pod, node_is_well in _running(cluster):
            for number in self.of(pod):
                if node_is_well and pod.key not in self.unready:
                    counting[number].add_ready(leaves=pod.name in self._budgets[number].disrupted)
                if pod.key in self.unready:
                    counting[number].unready.append(pod.name)
                if pod.key not in ours:
                    counting[number].add_stranger(pod)
        return [each.result(budget) for each, budget in zip(counting, self._budgets, strict=True)]


class _Counting:
    """What one budget covers, while it is counted."""

    def __init__(self) -> None:
        self.pods = 0
        self.healthy = self.leaving = 0
        self.unready: list[str] = []
        self.owners: dict[object, tuple[int, str]] = {}

    def add_ready(self, *, leaves: bool) -> None:
        """Count a ready pod, which ``leaves`` if its eviction is accepted."""
        self.healthy += not leaves
        self.leaving += leaves

    def add_stranger(self, pod: Pod) -> None:
        """Count a running pod without a manifest: its controller is assumed to expect as many pods as exist."""
        self.pods += 1
        if pod.controller is not None:
            pod_replacement = pod_replacement_of_owner(pod.controller[1])
            number, _ = self.owners.get(pod.controller, (0, ""))
            self.owners[pod.controller] = number + 1, "" if pod_replacement.scaled else pod.controller[1]

    def result(self, budget: Budget) -> BudgetStatus:
        expected, unscaled = self.pods, ""
        if not budget.counts_pods:
            expected = sum(number for number, _ in self.owners.values())
            unscaled = next((kind for _, kind in self.owners.values() if kind), "")
        return BudgetStatus(budget, expected, self.healthy, unscaled, tuple(self.unready), self.leaving)


def _controller(pod: Pod, kind: str) -> str:
    return pod.controller[1] if pod.controller is not None else kind


def is_silent(node: Node) -> bool:
    """Return whether a node is unreachable or not ready."""
    return any(taint.key in (UNREACHABLE.key, NOT_READY) for taint in node.taints)


def _running(cluster: Cluster) -> list[tuple[Pod, bool]]:
    """Return the pods that are not being deleted, each with whether its node is ready."""
    where = cluster.pods
    silent = {node.name for node in cluster.table.nodes if is_silent(node)}
    return [(pod, where[pod.key] not in silent) for pod in cluster.evicted(cluster.nodes)]
