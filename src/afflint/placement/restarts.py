"""Running pods that a restart would bring to nodes that they prefer: preferences apply only when a pod is scheduled."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
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
    A restart after which another pod runs without one that it requires is left out. ``violating`` are pods that other reports name:
    workload key and name.
    """
    restarts = _RestartTrials(schedule)
    done: set[PodKey] = set()
    for placed in schedule.workloads:
        for pod in placed.pods:
            is_named = pod.key in done or (placed.pod_source.key, pod.name) in violating
            if (
                pod.key in restarts.owners
                and not is_named
                and (restart := restarts.alone(pod) or restarts.together(pod) or restarts.apart(pod))
            ):
                done.update(restart[1])
                yield restart[0]


def _can_restart(placed: PlacedWorkload) -> bool:
    """Return whether a user can restart the pods. DaemonSets name the nodes of theirs."""
    source = placed.pod_source
    return not (source.daemon or source.node_name or placed.unjudged) and (source.kubevirt or not source.bare)


def _preferences(pod: Pod) -> tuple[Preference, ...]:
    return () if pod.preferences is None or isinstance(pod.preferences, Malformed) else pod.preferences


_Result = tuple[PreferredRestart, list[PodKey]]


class _RestartTrials:
    """The running pods of a schedule, and where restarts would bring them with all other pods in place."""

    def __init__(self, schedule: Schedule) -> None:
        self.cluster = schedule.cluster.copy()
        restartable = [placed for placed in schedule.workloads if _can_restart(placed)]
        self.owners = {each: placed.pod_source.key for placed in restartable for each in placed.stays}
        at_once = [placed for placed in restartable if placed.pod_source.pod_replacement.replaced == "deleted"]
        self._at_once = {each for placed in at_once for each in placed.stays}
        self._single = {each for placed in restartable if len(placed.pods) == 1 for each in placed.stays}
        self._recreated = {identity: pod for placed in schedule.workloads for identity, pod in placed.recreated.items()}
        self._on_node = self.cluster.pods_by_node() if self.owners else {}
        self._requiring = [(pod, node) for node, pods in self._on_node.items() for pod in pods if parsed_terms(pod.affinity)]
        self._known: dict[object, tuple[str, ...]] = {}
        self._separations: dict[object, tuple[tuple[str, ...], tuple[int, int]] | None] = {}

    def weights(self, pod: Pod) -> list[int]:
        """Return the sum of the weights of the preferences that each node satisfies, of the pod that a restart creates."""
        return self.cluster.met_weights(_preferences(self._instead_of(pod)))

    def _instead_of(self, pod: Pod) -> Pod:
        return self._recreated.get(pod.key, pod)

    def alone(self, pod: Pod) -> _Result | None:
        """Return the result of restarting a pod, if all nodes with the best score then satisfy more of its preferences."""
        node = self._unsatisfied_on(pod)
        if node is None:
            return None
        created = self._instead_of(pod)
        asked = scheduling_key(pod), scheduling_key(created), node
        if asked not in self._known:
            self._known[asked] = self._targets(pod, created, node)
        return self._result([pod], node, self._known[asked])

    def together(self, pod: Pod) -> _Result | None:
        """Return the result of restarting a pod with those that must run with it, if in each order all get the same, better node.

        All of them have to be gone before one is scheduled again: a user can stop a workload of one pod, but not some pods of others.
        """
        node = self._unsatisfied_on(pod)
        group = self._tied(pod, node) if node is not None else []
        if node is None or not 1 < len(group) <= _MOST_TOGETHER or not self._single.issuperset([each.key for each in group]):
            return None
        targets = set[str | None]()
        for order in permutations(group):
            for each in group:
                self.cluster.unbind(each)
            placed = schedule_pods(self.cluster, list(map(self._instead_of, order))).nodes
            targets.update(placed.get(each.key) for each in group)
            for each in group:
                self.cluster.bind(each, node)
        [target] = targets if len(targets) == 1 else [None]
        if target is None or self._leaves_behind(group, node, [target]):
            return None
        heads = ([each, *(other for other in group if other is not each)] for each in group)
        return next(filter(None, (self._result(pods, node, (target,)) for pods in heads)), None)

    def _targets(self, pod: Pod, created: Pod, node: str) -> tuple[str, ...]:
        """Return the nodes with the best score after a restart of a pod; none if it leaves a pod behind that requires it."""
        # A ReplicaSet replaces a pod that is still being deleted: this pod may count, or be gone.
        targets = dict.fromkeys(self.cluster.best_nodes(created) if pod.key in self._at_once else [])
        self.cluster.unbind(pod)
        targets.update(dict.fromkeys(self.cluster.best_nodes(created)))
        self.cluster.bind(pod, node)
        return () if self._leaves_behind([pod], node, targets) else tuple(targets)

    def apart(self, pod: Pod) -> _Result | None:
        """Return the result of restarting a pod, if all nodes with the best score then have fewer pods that it prefers to be apart from."""
        created, node = self._instead_of(pod), self.cluster.node_of(pod.key)
        if node is None or not (created.soft_spread or created.preferred_anti_affinity):
            return None
        asked = "apart", scheduling_key(pod), scheduling_key(created), node
        if asked not in self._separations:
            self.cluster.unbind(pod)
            [now] = self._crowds(created, [node])
            self.cluster.bind(pod, node)
            targets = self._targets(pod, created, node) if now else ()
            self.cluster.unbind(pod)
            then = max(self._crowds(created, targets), default=now)
            self.cluster.bind(pod, node)
            self._separations[asked] = (targets, (now, then)) if then < now else None
        found = self._separations[asked]
        if found is None:
            return None
        return PreferredRestart(pod.name, self.owners[pod.key], node, (), found[0], 0, 0, 0, found[1]), [pod.key]

    def _crowds(self, pod: Pod, nodes: Sequence[str]) -> list[int]:
        """Return how many pods that a pod prefers to be apart from run in its domains on each of some nodes."""
        table, crowds = self.cluster.table, [0] * len(nodes)
        for key, tally in self.cluster.avoided(pod):
            column = table.column(key)
            for number, node in enumerate(nodes):
                value = column[table.numbers[node]]
                crowds[number] += sum(count for other, count in tally.items() if column[other] == value) if value is not None else 0
        return crowds

    def _unsatisfied_on(self, pod: Pod) -> str | None:
        """Return the node of a pod, if another one that its own rules allow satisfies more of its preferences."""
        weights = self.weights(pod)
        node = self.cluster.node_of(pod.key)
        if node is None or not any(weights):
            return None
        allowed = [
            weight for weight, plugin in zip(weights, self.cluster.static_rejections(self._instead_of(pod)), strict=True) if plugin is None
        ]
        return node if max(allowed, default=0) > weights[self.cluster.table.numbers[node]] else None

    def _tied(self, pod: Pod, node: str) -> list[Pod]:
        """Return a pod and all on its node that must run with it or with each other, in the order of their names; the first few of many."""
        found, left = [pod], [each for each in self._on_node[node] if each.key != pod.key]
        for each in found:
            if len(found) > _MOST_TOGETHER:
                break
            more = [other for other in left if self._requires(each, other) or self._requires(other, each)]
            left = [other for other in left if other not in more]
            found += more
        return sorted(found, key=lambda each: each.key)

    def _requires(self, pod: Pod, other: Pod) -> bool:
        pod, other = self._instead_of(pod), self._instead_of(other)
        return any(selects(term, other, self.cluster.directory) for term in parsed_terms(pod.affinity))

    def _leaves_behind(self, group: Sequence[Pod], node: str, targets: Iterable[str]) -> bool:
        """Return whether another pod requires one of a group in its topology domain, and a target is in another domain."""
        keys, table = {each.key for each in group}, self.cluster.table
        here, *there = [table.nodes[table.numbers[each]].labels for each in (node, *targets)]
        return any(
            here.get(term.key) == table.nodes[table.numbers[on]].labels.get(term.key)
            and any(labels.get(term.key) != here.get(term.key) for labels in there)
            and any(selects(term, each, self.cluster.directory) for each in group)
            for other, on in self._requiring
            if other.key not in keys
            for term in parsed_terms(other.affinity)
        )

    def _result(self, pods: list[Pod], node: str, targets: tuple[str, ...]) -> _Result | None:
        numbers = self.cluster.table.numbers
        for number, pod in enumerate(pods):
            weights = self.weights(pod)
            least, now = min([weights[numbers[each]] for each in targets], default=-1), weights[numbers[node]]
            if least < now or (number == 0 and least == now):
                return None
        weights, possible = self.weights(pods[0]), sum(each.weight for each in _preferences(self._instead_of(pods[0])))
        met = weights[numbers[node]], min(weights[numbers[each]] for each in targets)
        names = tuple([each.name for each in pods[1:]])
        return PreferredRestart(pods[0].name, self.owners[pods[0].key], node, names, targets, *met, possible), [each.key for each in pods]
