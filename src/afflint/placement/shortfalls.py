"""How many replicas each workload lacks after nodes fail or are removed, without simulating the failures whose result is certain.

A simulation looks at all nodes and all pods. Mostly that is not needed: a replaced pod certainly finds a node if more nodes take it than
the other replaced pods can take away from it, and it certainly finds none if no node takes it even before these are placed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import matches
from afflint.placement.failures import Disruption
from afflint.placement.node_lifecycle import NodeLifecycle
from afflint.placement.plan import Action, DisruptionEffect, ReplicaMove
from afflint.placement.scenarios import scenarios_of
from afflint.placement.schedule_index import ReplicaEnd, ScheduleIndex, terminating
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, PodKey, SpreadConstraint, parsed_terms, scheduling_key

Missing = Mapping[str, int]
"""By workload key how many replicas find no node; workloads that lack none are left out."""

Displacing = Callable[[], AbstractContextManager[None]]


class Shortfalls:
    """The shortfalls of one schedule, for each failure."""

    def __init__(self, schedule_index: ScheduleIndex) -> None:
        self._schedule_index = schedule_index
        self._scenarios, self._nodes = scenarios_of(schedule_index), NodeLifecycle(schedule_index)
        self._simulated: dict[tuple[Action, Disruption], dict[str, list[ReplicaMove]]] = {}
        self._widths: dict[str, int] = {}
        self._rooms: dict[object, int | None] = {}
        cluster = schedule_index.schedule.cluster
        # Pods are removed from this copy and added again.
        self._cluster = cluster.copy()
        self._running = _by_node(cluster, cluster.evicted(cluster.nodes))
        self._ending = _by_node(cluster, cluster.ending(cluster.nodes))

    def displaced(self, failure: Disruption) -> list[Pod]:
        """Return the pods on the nodes of a failure, in the order in which they were placed, without those that are being deleted."""
        return _on(self._running, failure.nodes)

    def removed(self, failure: Disruption) -> Missing:
        """Return by workload how many replicas cannot be scheduled after the nodes are removed."""
        certain = self._certainly_removed(failure)
        return certain if certain is not None else _counted(self.moves(failure, "remove"))

    def lost(self, failure: Disruption) -> Missing:
        """Return by workload how many replicas do not run until the failed nodes recover or are removed."""
        certain = self._certainly_lost(failure)
        return certain if certain is not None else _counted(self.moves(failure, "lose"))

    def moves(self, failure: Disruption, action: Action) -> dict[str, list[ReplicaMove]]:
        """Return by workload key the replicas that cannot be scheduled in a simulation."""
        asked = action, failure
        if asked not in self._simulated:
            self._simulated[asked] = _missing(self._scenarios.effect_of(action, *failure), self._schedule_index.daemons)
        return self._simulated[asked]

    # --- what is certain -----------------------------------------------------------------------------------------------

    def _certainly_removed(self, failure: Disruption) -> Missing | None:
        if self._schedule_index.held:
            return None
        displaced = self.displaced(failure)
        recreated, ended = self._schedule_index.sort_displaced(displaced)

        @contextmanager
        def gone() -> Iterator[None]:
            """Yield the cluster without the pods of the removed nodes."""
            pods = [*displaced, *_on(self._ending, failure.nodes)]
            for pod in pods:
                self._cluster.unbind(pod)
            yield
            self._bind(pods)

        return self._judged(_Question(self._numbers(failure), True, len(recreated)), recreated, ended, gone)

    def _certainly_lost(self, failure: Disruption) -> Missing | None:
        displaced = self.displaced(failure)
        deleted, recreated, ended = self._nodes.sort_displaced(failure.nodes, displaced)
        if len(self._nodes.batches(failure.nodes, deleted)) > 1:
            return None
        names = {pod.key for pod in deleted}
        staying = tuple([pod for pod in displaced if pod.key not in names])

        @contextmanager
        def deleting() -> Iterator[None]:
            """Yield the cluster in which the pods of the failed nodes are being deleted."""
            going = [terminating(pod) for pod in deleted]
            for pod, instead in zip(deleted, going, strict=True):
                self._cluster.unbind(pod)
                self._cluster.bind(instead, self._schedule_index.where[pod.key])
            yield
            for pod in going:
                self._cluster.unbind(pod)
            self._bind(deleted)

        return self._judged(_Question(self._numbers(failure), False, len(recreated), staying), recreated, ended, deleting)

    def _numbers(self, failure: Disruption) -> frozenset[int]:
        return frozenset([self._cluster.table.numbers[node] for node in failure.nodes])

    def _bind(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self._cluster.bind(pod, self._schedule_index.where[pod.key])

    def _judged(
        self, question: _Question, recreated: Mapping[PodKey, Pod], ended: Mapping[PodKey, ReplicaEnd], displacing: Displacing
    ) -> Missing | None:
        """Return the shortfalls; None if they are not certain. Within ``displacing``, the displaced pods are not on their nodes."""
        owners = self._schedule_index.owners
        lacking = [identity for identity, end in ended.items() if identity in owners and end.fate not in _NOT_MISSED]
        # The pods of no workload only take nodes away.
        pods = {identity: pod for identity, pod in recreated.items() if identity in owners}
        if any(self._in_order(identity) and len(owners[identity].nodes) < len(owners[identity].pods) for identity in pods):
            return None
        finds = {identity: self._finds_node_at_once(question, pod) for identity, pod in pods.items()}
        open_questions = {identity: self._competition(question, pods[identity]) for identity, found in finds.items() if found is None}
        if open_questions:
            with displacing():
                for identity, taken in open_questions.items():
                    finds[identity] = self._finds_node(question, pods[identity], taken)
        for identity, found in finds.items():
            # The pods behind one that is missing are not created, either.
            if found is None or (not found and self._in_order(identity)):
                return None
        missing: dict[str, int] = {}
        for identity in (*lacking, *[identity for identity, found in finds.items() if not found]):
            key = owners[identity].pod_source.key
            missing[key] = missing.get(key, 0) + 1
        return missing

    def _in_order(self, identity: PodKey) -> bool:
        return self._schedule_index.owners[identity].pod_source.pod_replacement.ordered

    def _finds_node_at_once(self, question: _Question, pod: Pod) -> bool | None:
        """Return whether a pod finds a node, as far as that is certain while all displaced pods are still in their places.

        Pods that leave their nodes, or are being deleted there, let others in and keep none out.
        """
        if pod.affinity or pod.hard_spread:
            return None
        kind = scheduling_key(pod)
        if kind not in self._rooms:
            self._rooms[kind] = self._cluster.room(pod)
        room = self._rooms[kind]
        if room is None:
            return None
        if room - len(question.nodes) > self._competition(question, pod):
            return True
        # A pod that is being deleted counts for anti-affinity as one that runs.
        return False if room == 0 and not question.removed and not (pod.ports or pod.requests) else None

    def _finds_node(self, question: _Question, pod: Pod, taken: int) -> bool | None:
        """Return whether a pod finds a node, whatever the places of the other displaced pods; None if that is not certain.

        The displaced pods are off their nodes. They may occupy at most `taken` nodes that the pod could use.
        """
        if any(each.min_domains > 1 or any(_counts(each, pod, other) for other in question.staying) for each in pod.hard_spread):
            return None  # The failed nodes may no longer be domains.
        if pod.affinity and not self._has_company(pod):
            return None
        room = self._cluster.room(pod, question.nodes)
        if room is None:
            return None
        if room > taken:
            return True
        # Pods that are placed may be the company that others look for, or fill the domain that held a spread down.
        if pod.affinity or pod.hard_spread:
            return None
        # A pod may tolerate that its node cannot be reached.
        possible = room if question.removed else self._cluster.room(pod)
        return False if possible == 0 else None

    def _competition(self, question: _Question, pod: Pod) -> int:
        """Return how many nodes the other displaced pods may take from a pod at most. All pods are still on their nodes."""
        competitors = self._cluster.competitors(pod, question.nodes)
        taken = sum([number * self._width(key) for key, number in competitors.items()])
        return taken + (question.pods if pod.requests else 0)

    def _width(self, key: str) -> int:
        """Return how many nodes the largest topology domain of a key has."""
        if key not in self._widths:
            times = Counter(value for value in self._cluster.table.column(key) if value is not None)
            self._widths[key] = max(times.values(), default=1)
        return self._widths[key]

    def _has_company(self, pod: Pod) -> bool:
        """Return whether the required affinity of a pod selects pods that run, so that it is not the first of a group."""
        terms = parsed_terms(pod.affinity)
        columns = [self._cluster.table.column(term.key) for term in terms]
        return any(column[node] is not None for node in self._cluster.companions(terms) for column in columns)


class _Question(NamedTuple):
    """Nodes that are removed or fail, how many pods are created in place of those there, and which pods remain there."""

    nodes: frozenset[int]
    removed: bool
    pods: int
    staying: tuple[Pod, ...] = ()


def _counts(constraint: SpreadConstraint, pod: Pod, other: Pod) -> bool:
    """Return whether a spread constraint of a pod counts another pod."""
    return other.namespace == pod.namespace and matches(constraint.selector, other.labels)


_NOT_MISSED = ("off", "gone")
"""The fates of replicas that no controller replaces, so that they do not look for a node."""


def _missing(loss: DisruptionEffect, daemons: Container[str]) -> dict[str, list[ReplicaMove]]:
    """Return the replicas without a node by their workload. The pods of a DaemonSet that is down stay on their nodes."""
    missing: dict[str, list[ReplicaMove]] = {}
    for move in loss.moves:
        if move.target is None and move.fate not in _NOT_MISSED and not (move.fate == "stays" and move.workload in daemons):
            missing.setdefault(move.workload, []).append(move)
    return missing


def _counted(missing: Mapping[str, Sequence[ReplicaMove]]) -> Missing:
    return {key: len(moves) for key, moves in missing.items()}


_Ranked = dict[str, list[tuple[int, Pod]]]


def _by_node(cluster: Cluster, pods: Sequence[Pod]) -> _Ranked:
    """Return the pods by the node that they run on, each with its rank among all."""
    where, found = cluster.pods, _Ranked()
    for rank, pod in enumerate(pods):
        found.setdefault(where[pod.key], []).append((rank, pod))
    return found


def _on(ranked: _Ranked, nodes: Iterable[str]) -> list[Pod]:
    there = [each for node in nodes for each in ranked.get(node, ())]
    return [pod for _, pod in sorted(there, key=lambda each: each[0])]
