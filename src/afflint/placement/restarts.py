"""Running pods that a restart would bring to nodes that they prefer: preferences apply only when a pod is scheduled."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import permutations

from afflint.kube.selectors import Malformed
from afflint.placement.plan import PreferredRestart
from afflint.placement.schedule import PlacedWorkload, Schedule, schedule_pods
from afflint.scheduler.interpod_affinity import selects
from afflint.scheduler.pods import Pod, PodKey, Preference, parsed_terms, scheduling_key

_MOST_TOGETHER = 3
"""At most this many pods are restarted together, in each order."""


def preferred_restarts(schedule: Schedule, violating: Container[tuple[str, str]]) -> Iterator[PreferredRestart]:
    """Yield the running pods that would run on nodes that satisfy more of their node preferences if they were restarted.

    Where a restart of the pod alone does not help, the pods on its node that must run with it, or it with them, are restarted, too.
    ``violating`` are pods that other reports name: workload key and name.
    """
    restarts = _RestartTrials(schedule)
    done: set[PodKey] = set()
    for placed in schedule.workloads:
        for pod in placed.pods:
            is_named = pod.key in done or (placed.pod_source.key, pod.name) in violating
            if pod.key in restarts.owners and not is_named and (restart := restarts.alone(pod) or restarts.together(pod)):
                done.update(restart[1])
                yield restart[0]


def _can_restart(placed: PlacedWorkload) -> bool:
    """Return whether a user can restart the pods. DaemonSets name the nodes of theirs."""
    source = placed.pod_source
    return not (source.daemon or source.node_name or placed.unjudged) and (source.kubevirt or not source.bare)


def _preferences(pod: Pod) -> tuple[Preference, ...]:
    return () if pod.preferences is None or isinstance(pod.preferences, Malformed) else pod.preferences


class _RestartTrials:
    """The running pods of a schedule, and where restarts would bring them with all other pods in place."""

    def __init__(self, schedule: Schedule) -> None:
        self.cluster = schedule.cluster.copy()
        self.owners = {each: placed.pod_source.key for placed in schedule.workloads if _can_restart(placed) for each in placed.stays}
        self._on_node = self.cluster.pods_by_node() if self.owners else {}
        self._known: dict[object, tuple[str, ...]] = {}

    def weights(self, pod: Pod) -> list[int]:
        """Return the sum of the weights of a pod's preferences that each node satisfies."""
        return self.cluster.met_weights(_preferences(pod))

    def alone(self, pod: Pod) -> tuple[PreferredRestart, list[PodKey]] | None:
        """Return the result of restarting a pod, if all nodes with the best score then satisfy more of its preferences."""
        node = self._unsatisfied_on(pod)
        if node is None:
            return None
        asked = scheduling_key(pod), node
        if asked not in self._known:
            self.cluster.unbind(pod)
            self._known[asked] = tuple(self.cluster.best_nodes(pod))
            self.cluster.bind(pod, node)
        return self._result([pod], node, self._known[asked])

    def together(self, pod: Pod) -> tuple[PreferredRestart, list[PodKey]] | None:
        """Return the result of restarting a pod with those that must run with it, if in each order all get the same, better node."""
        node = self._unsatisfied_on(pod)
        tied = [other for other in self._on_node[node] if other.key != pod.key and self._is_tied(pod, other)] if node is not None else []
        if node is None or not 0 < len(tied) < _MOST_TOGETHER or any(each.key not in self.owners for each in tied):
            return None
        group, targets = [pod, *tied], set[str | None]()
        for order in permutations(group):
            for each in group:
                self.cluster.unbind(each)
            placed = schedule_pods(self.cluster, order).nodes
            targets.update(placed.get(each.key) for each in group)
            for each in group:
                self.cluster.bind(each, node)
        return self._result(group, node, tuple(filter(None, targets))) if len(targets) == 1 else None

    def _unsatisfied_on(self, pod: Pod) -> str | None:
        """Return the node of a pod, if another one that its own rules allow satisfies more of its preferences."""
        weights = self.weights(pod)
        node = self.cluster.node_of(pod.key)
        if node is None or not any(weights):
            return None
        allowed = [weight for weight, plugin in zip(weights, self.cluster.static_rejections(pod), strict=True) if plugin is None]
        return node if max(allowed, default=0) > weights[self.cluster.table.numbers[node]] else None

    def _is_tied(self, pod: Pod, other: Pod) -> bool:
        """Return whether one of two pods requires to run with the other."""
        directory = self.cluster.directory
        return any(selects(term, b, directory) for a, b in ((pod, other), (other, pod)) for term in parsed_terms(a.affinity))

    def _result(self, pods: list[Pod], node: str, targets: tuple[str, ...]) -> tuple[PreferredRestart, list[PodKey]] | None:
        numbers = self.cluster.table.numbers
        for number, pod in enumerate(pods):
            weights = self.weights(pod)
            least, now = min([weights[numbers[each]] for each in targets], default=-1), weights[numbers[node]]
            if least < now or (number == 0 and least == now):
                return None
        weights, possible = self.weights(pods[0]), sum(each.weight for each in _preferences(pods[0]))
        met = weights[numbers[node]], min(weights[numbers[each]] for each in targets)
        names = tuple([each.name for each in pods[1:]])
        return PreferredRestart(pods[0].name, self.owners[pods[0].key], node, names, targets, *met, possible), [each.key for each in pods]
