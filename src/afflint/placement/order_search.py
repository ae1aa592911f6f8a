"""An exact search, with a limit, over the orders in which workloads that constrain each other can be scheduled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal

from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import MAX_REPLICAS, pod_name
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Parsed
from afflint.placement.bounds import ScheduleBounds
from afflint.placement.schedule import Schedule
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, Term, parsed_terms

Answer = Literal["placed", "impossible", "not decided"]

MOST_STEPS = 5_000
"""How many times the search computes the nodes for a pod before it stops without a decision."""

Placement = tuple[tuple[str, str], ...]
"""Pods and their nodes, in the order in which they are scheduled."""


class Decision(NamedTuple):
    """Whether all replicas of some workloads can be placed together.

    ``placement`` has all ``replicas`` pods if ``answer`` is placed; otherwise it is the largest one that the search reached in ``steps``.
    """

    answer: Answer
    replicas: int
    placement: Placement
    steps: int


class ContendingWorkloads(NamedTuple):
    """Workloads with Pending replicas in one schedule, although each of them could be scheduled alone.

    If the answer is ``impossible``, no order places all; if it is ``placed``, ``decision`` has an order that does. ``until_moved``: what
    no order of scheduling does, a rollout or an eviction may, because a constraint counts on the pods that run.
    """

    pod_sources: tuple[PodSource, ...]
    pending: tuple[str, ...]
    decision: Decision
    until_moved: bool


def contending_workloads(survey: ScheduleBounds, schedule: Schedule, steps: int = MOST_STEPS) -> Iterator[ContendingWorkloads]:
    """Yield the groups of workloads with Pending replicas that no single workload explains, each decided by a search."""
    for group in coupled(survey):
        alone = [index for index in group if not _fits_alone(survey, index)]
        pending = [name for index in group if not survey.pod_sources[index].daemon for (_, name) in schedule.workloads[index].pending]
        # The order does not matter if nodes can be created.
        if pending and not alone and survey.elastic.isdisjoint(group):
            decision = decide(survey, group, steps)
            pod_sources = tuple([survey.pod_sources[index] for index in group])
            yield ContendingWorkloads(pod_sources, tuple(pending), decision, _counts_on_others(survey, group))


def _counts_on_others(survey: ScheduleBounds, group: Sequence[int]) -> bool:
    """Return whether the nodes of these pods depend on pods that run and may be moved: by pod affinity or a spread constraint."""
    return any(variant.pod.hard_spread or variant.pod.affinity for index in group for variant in survey.members(index))


def _fits_alone(survey: ScheduleBounds, index: int) -> bool:
    nodes = survey.nodes_of(index)
    limit = survey.limit(index, nodes)
    return bool(nodes) and (limit is None or limit.most >= survey.pod_sources[index].replicas)


def coupled(survey: ScheduleBounds) -> list[list[int]]:
    """Return the workloads in groups; workloads of different groups do not affect where the other can be scheduled."""
    leader = list(range(len(survey.pod_sources)))

    def find(index: int) -> int:
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    # Variants with the same constraint select the same pods: these are looked up once.
    selected: dict[object, list[int]] = {}
    for variant in survey.variants:
        for asked, search in _selections(survey, variant.pod):
            others = selected.get(asked)
            if others is None:
                others = selected[asked] = search()
                joined = others
            else:
                joined = others[:1]
            for number in joined:
                leader[find(survey.variants[number].workload)] = find(variant.workload)
    groups = grouped((find(index), index) for index in range(len(survey.pod_sources)))
    return sorted(groups.values())


def _selections(survey: ScheduleBounds, pod: Pod) -> Iterator[tuple[object, Callable[[], list[int]]]]:
    """Yield each constraint of a pod with the function that finds the variants that it selects."""
    for term in {*parsed_terms(pod.affinity), *parsed_terms(pod.anti_affinity)}:
        yield term, partial(survey.members_of, term)
    for term in parsed_terms(pod.anti_affinity):
        yield ("against", term), partial(_kept_away, survey, term)
    for constraint in pod.hard_spread:
        yield (pod.namespace, constraint.selector), partial(_counted, survey, pod.namespace, constraint.selector)
    for port in pod.ports:
        yield port, partial(survey.asking_for, port)


def _kept_away(survey: ScheduleBounds, term: Term) -> list[int]:
    """Return the variants that an anti-affinity term of a running pod excludes."""
    return [number for number in survey.matched_by(term.selector) if survey.directory.covers(term, survey.variants[number].pod.namespace)]


def _counted(survey: ScheduleBounds, namespace: str, selector: Parsed) -> list[int]:
    """Return the variants that a spread constraint counts."""
    return [number for number in survey.matched_by(selector) if survey.variants[number].pod.namespace == namespace]


def decide(survey: ScheduleBounds, workloads: Sequence[int], steps: int = MOST_STEPS) -> Decision:
    """Decide whether all replicas of these workloads can be scheduled, in some order and on any node that is possible at the time.

    The answers placed and impossible are exact. Other workloads are absent; pods of DaemonSets and pods with a ``spec.nodeName`` run.
    """
    return _Search(survey, workloads, steps).run()


class _Search:
    """A depth-first search over sets of placed pods that visits equal sets only once."""

    def __init__(self, survey: ScheduleBounds, workloads: Sequence[int], steps: int) -> None:
        self.survey = survey
        self.cluster: Cluster = survey.cluster.copy()
        self.steps = steps
        self.used = 0
        self.cut_short = False
        self.best: Placement = ()
        self.seen: set[frozenset[tuple[int, int, int]]] = set()
        self.kinds: list[list[Pod]] = []
        self.names: list[list[str]] = []
        self.taken_for_granted = False
        for index in workloads:
            self._add(index)
        self.wanted = sum(map(len, self.kinds))
        # Without required affinity and hard spread, placing a pod never adds a node for another one: any may be first.
        pods = [pods[0] for pods in self.kinds]
        self.any_order = not any(pod.affinity or pod.hard_spread for pod in pods)
        self.classes = self._node_classes(pods)
        self.occupied = [0] * len(survey.table.nodes)
        for each in survey.running_pods:
            self.occupied[survey.table.numbers[each.node]] += 1

    def _add(self, index: int) -> None:
        pod_source, compiled = self.survey.pod_sources[index], self.survey.compiled[index]
        if pod_source.daemon or pod_source.node_name:
            # In another order they might be scheduled later, so what they block proves nothing.
            self.taken_for_granted = True
            for number, pod in enumerate(compiled.pods):
                node = compiled.nodes[number] if pod_source.daemon else pod_source.node_name
                if node in self.survey.table.numbers:
                    self.cluster.bind(pod._replace(name=f"{index}/{number}"), node)
            return
        for number in self.survey.variants_of[index]:
            variant = self.survey.variants[number]
            count = min(variant.number, MAX_REPLICAS)
            # With names that no other pod can have.
            self.kinds.append([variant.pod._replace(name=f"{index}/{number}/{each}") for each in range(count)])
            self.names.append([variant.pod.name if count == 1 else pod_name(pod_source, each) for each in range(count)])

    def _node_classes(self, pods: Sequence[Pod]) -> list[object]:
        """Return the class of each node. Empty nodes of the same class can be swapped without changing any result."""
        survey, table = self.survey, self.survey.table
        keys = sorted(
            {term.key for pod in pods for term in (*parsed_terms(pod.affinity), *parsed_terms(pod.anti_affinity))}
            | {constraint.key for pod in pods for constraint in pod.hard_spread}
            | {term.key for each in survey.running_pods for term in parsed_terms(each.pod.anti_affinity)}
        )
        columns = []
        for key in keys:
            column = table.column(key)
            times = Counter(column)
            # A value that only one node has, such as a host name, only means that it is different.
            columns.append([value if value is None or times[value] > 1 else True for value in column])
        fits = [survey.fit(pod) for pod in pods]
        return [
            (
                tuple([column[node] for column in columns]),
                tuple([(fit.rejections[node], fit.in_affinity[node], fit.tolerated[node]) for fit in fits]),
                frozenset((row.allocatable or {}).items()),
            )
            for node, row in enumerate(table.nodes)
        ]

    # --- search -------------------------------------------------------------------------------------------------

    def run(self) -> Decision:
        counts = [0] * len(self.kinds)
        where: dict[tuple[int, int], int] = {}
        order: list[tuple[int, int]] = []
        stack = [self._moves(counts)]
        while stack and len(order) < self.wanted and not self.cut_short:
            move = next(stack[-1], None)
            if move is None:
                stack.pop()
                if order:
                    self._back(order, counts, where)
                continue
            kind, node = move
            where[move] = where.get(move, 0) + 1
            state = frozenset((*pair, number) for pair, number in where.items())
            if state in self.seen:
                self._forget(where, move)
                continue
            self.seen.add(state)
            self.cluster.bind(self.kinds[kind][counts[kind]], self.survey.table.names[node])
            counts[kind] += 1
            self.occupied[node] += 1
            order.append(move)
            if len(order) > len(self.best):
                self.best = self._placement(order)
            stack.append(self._moves(counts))
        if len(order) == self.wanted:
            return Decision("placed", self.wanted, self.best, self.used)
        proved = not self.cut_short and not self.taken_for_granted
        return Decision("impossible" if proved else "not decided", self.wanted, self.best, self.used)

    def _back(self, order: list[tuple[int, int]], counts: list[int], where: dict[tuple[int, int], int]) -> None:
        kind, node = order.pop()
        counts[kind] -= 1
        self.occupied[node] -= 1
        self.cluster.unbind(self.kinds[kind][counts[kind]])
        self._forget(where, (kind, node))

    @staticmethod
    def _forget(where: dict[tuple[int, int], int], move: tuple[int, int]) -> None:
        where[move] -= 1
        if not where[move]:
            del where[move]

    def _moves(self, counts: list[int]) -> Iterator[tuple[int, int]]:
        """Yield the next pods and their possible nodes, pods with the fewest nodes first."""
        options = []
        for kind, pods in enumerate(self.kinds):
            if counts[kind] == len(pods):
                continue
            if self.used >= self.steps:
                self.cut_short = True
                return
            self.used += 1
            nodes = self._distinct(self.cluster.feasible_nodes(pods[counts[kind]]))
            if self.any_order and not nodes:
                return
            options.append((len(nodes), kind, nodes))
        options.sort()
        for _, kind, nodes in options[:1] if self.any_order else options:
            for node in nodes:
                yield kind, node

    def _distinct(self, names: list[str]) -> list[int]:
        """Return the numbers of the nodes, without empty nodes that are equal to an earlier one."""
        seen: set[object] = set()
        found = []
        for name in names:
            node = self.survey.table.numbers[name]
            if not self.occupied[node]:
                if self.classes[node] in seen:
                    continue
                seen.add(self.classes[node])
            found.append(node)
        return found

    def _placement(self, order: list[tuple[int, int]]) -> Placement:
        taken = [0] * len(self.kinds)
        found = []
        for kind, node in order:
            found.append((self.names[kind][taken[kind]], self.survey.table.names[node]))
            taken[kind] += 1
        return tuple(found)
