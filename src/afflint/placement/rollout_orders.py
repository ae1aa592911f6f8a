"""All orders in which a rollout may happen: the search through its states, whatever the kind of the workload.

Controllers and the scheduler act independently of each other. The successors of a state are what may happen next. If there are too many
states to look at each, orders are drawn at random with a fixed seed, so that results are the same in each run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Callable, Hashable, Iterator, Sequence
from random import Random
from typing import Generic, TypeVar

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod

MOST_STATES = 3000
"""Up to this many states, all of them are examined."""
_WALKS = 40
_MOST_STEPS = 4000
"""The most steps of an example, and of all random orders together."""
_SEED = 20261122

Nodes = tuple[int, ...]
"""Numbers of nodes, in ascending order; a node with several pods is repeated."""
S = TypeVar("S", bound=Hashable)
N = TypeVar("N", int, tuple[int, int])


class Event(NamedTuple):
    """What happens next: ``scheduled``, ``ready``, ``removed``, ``gone``, or ``scaled`` for a decision of the controller."""

    what: str
    node: int | None = None
    pods: tuple[int, ...] = ()
    """The indexes of the old pods that are removed or gone, or of the one that a scheduled pod replaces if each has its own volumes."""


class Exploration(NamedTuple, Generic[S]):
    """What a rollout may lead to: by the nodes of the ready pods, the states at its end and those between.

    ``rare`` are the states at its end that only a race between controllers leads to. In ``stuck`` states nothing happens any more, although
    the rollout is not complete. ``exhaustive``: no order has another result.
    """

    finals: frozenset[Nodes]
    rare: frozenset[Nodes]
    between: frozenset[Nodes]
    stuck: tuple[S, ...]
    exhaustive: bool


class RolloutStates(ABC, Generic[S]):
    """The states of the rollout of one workload, on a cluster without its pods. ``new`` is a pod of the new revision."""

    def __init__(self, cluster: Cluster, new: Pod) -> None:
        self.cluster = cluster
        self.new = new
        self._best: dict[object, Nodes] = {}
        self._bound: dict[object, Pod] = {}

    @property
    @abstractmethod
    def start(self) -> S:
        """The state before the rollout."""

    @abstractmethod
    def is_complete(self, state: S) -> bool:
        """Return whether all pods are of the new revision, and as many as requested are ready."""

    def is_rare(self, _state: S) -> bool:
        """Return whether only a race between controllers leads to a state."""
        return False

    @abstractmethod
    def ready_nodes(self, state: S) -> Nodes:
        """Return the nodes of the ready pods of both revisions."""

    @abstractmethod
    def next_steps(self, state: S) -> Iterator[tuple[Event, Callable[[], S]]]:
        """Yield what may happen next, each time with a function for the state after it: random orders use one of many."""

    @abstractmethod
    def pods(self, state: S) -> dict[object, tuple[Pod, int]]:
        """Return the pods of a state with their nodes, by something that identifies a pod in this and other states."""

    # --- the scheduler ---------------------------------------------------------------------------------------------------

    def next_pod(self, _state: S) -> Pod:
        """Return the pod that is created next: new pods of a workload differ only if each has its own volumes."""
        return self.new

    def best_nodes(self, state: S, occupancy: object, pod: Pod | None = None) -> Nodes:
        """Return the nodes on which the scheduler may schedule a new pod now: all with the best score.

        ``occupancy`` is equal for states with the same pods on the same nodes, if the same ``pod`` is scheduled.
        """
        best = self._best.get(occupancy)
        if best is None:
            numbers = self.fill(state).table.numbers
            best = self._best[occupancy] = tuple([numbers[name] for name in self.cluster.best_nodes(pod or self.new)])
        return best

    def fill(self, state: S) -> Cluster:
        """Return the cluster with the pods of a state; the next call changes it."""
        wanted = self.pods(state)
        for gone in self._bound.keys() - wanted.keys():
            self.cluster.unbind(self._bound.pop(gone))
        for added in wanted.keys() - self._bound.keys():
            pod, node = wanted[added]
            self.cluster.bind(pod, self.cluster.table.names[node])
            self._bound[added] = pod
        return self.cluster

    def emptied(self) -> Cluster:
        """Return the cluster without any pods of the workload; the next call of another method changes it."""
        for pod in self._bound.values():
            self.cluster.unbind(pod)
        self._bound.clear()
        return self.cluster

    def new_pods(self, nodes: Sequence[int]) -> dict[object, tuple[Pod, int]]:
        """Return new pods on these nodes."""
        counts: dict[int, int] = {}
        found: dict[object, tuple[Pod, int]] = {}
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
            found[node, counts[node]] = self.new._replace(name=f"{self.new.name}/{node}/{counts[node]}"), node
        return found

    # --- orders ----------------------------------------------------------------------------------------------------------

    def example(self) -> list[tuple[Event, S]]:
        """Return one order: each controller acts as early as possible, and new pods go to the emptiest of the best nodes."""
        steps: list[tuple[Event, S]] = []
        state: S | None = self.start
        while state is not None and len(steps) < _MOST_STEPS:
            step = self._orderly(state)
            steps += [step] if step is not None else []
            state = step[1] if step is not None else None
        return steps

    def _orderly(self, state: S) -> tuple[Event, S] | None:
        by_kind = grouped((step[0].what, step) for step in self.next_steps(state))
        kind = next((what for what in ("scaled", "removed", "gone", "scheduled", "ready") if what in by_kind), None)
        if kind is None:
            return None
        load: dict[int | None, int] = {}
        for _, node in self.pods(state).values():
            load[node] = load.get(node, 0) + 1
        event, after = min(by_kind[kind], key=lambda step: load.get(step[0].node, 0) if kind == "scheduled" else 0)
        return event, after()

    def explore(self, domains: Sequence[object], most: int = MOST_STATES) -> Exploration[S]:
        """Examine all states if there are at most ``most``, otherwise random orders; ``domains`` has the topology domain of each node."""
        found = _Reached(self)
        seen = {self.start}
        stack = [self.start]
        while stack and len(seen) <= most:
            state = stack.pop()
            after = [step[1]() for step in self.next_steps(state)]
            found.add(state, last=not after)
            new = [each for each in after if each not in seen]
            seen.update(new)
            stack += new
        if stack:
            self._walk(domains, found, min(_MOST_STEPS, 2 * most))
        rare = frozenset(found.rare - found.finals)
        return Exploration(frozenset(found.finals), rare, frozenset(found.between), tuple(found.stuck), not stack)

    def _walk(self, domains: Sequence[object], found: _Reached[S], most: int) -> None:
        """Follow orders at random, and then some that bring the new pods together in one domain."""
        random, steps = Random(_SEED), 0
        favoured = [each for each in dict.fromkeys(domains) if each is not None]
        for number, towards in enumerate([*[None] * _WALKS, *favoured]):
            state = self.start
            while steps < most * (1 if number < _WALKS else 2):
                options = list(self.next_steps(state))
                found.add(state, last=not options)
                if not options:
                    break
                state = self._drawn(options, random, towards, domains)
                steps += 1

    def _drawn(self, options: Sequence[tuple[Event, Callable[[], S]]], random: Random, towards: object, domains: Sequence[object]) -> S:
        """Return the state after one of several steps; with ``towards``, after one that brings the new pods together in that domain."""
        by_kind = grouped((step[0].what, step) for step in options)
        kind = random.choice(list(by_kind))
        steps = by_kind[kind]
        if towards is not None and kind == "scheduled":
            steps = [step for step in steps if step[0].node is not None and domains[step[0].node] == towards] or steps
        if towards is not None and kind == "removed":
            # A domain accepts more new pods if its old pods go first.
            states = [after() for _, after in steps]
            counts = [sum(domains[node] == towards for node in self.ready_nodes(state)) for state in states]
            return random.choice([state for state, count in zip(states, counts, strict=True) if count == min(counts)])
        return random.choice(steps)[1]()


class _Reached(Generic[S]):
    """What a search through states has found so far."""

    def __init__(self, states: RolloutStates[S]) -> None:
        self._states = states
        self.finals: set[Nodes] = set()
        self.rare: set[Nodes] = set()
        self.between: set[Nodes] = set()
        self.stuck: dict[S, None] = {}

    def add(self, state: S, *, last: bool) -> None:
        """Add a state, the ``last`` of an order or one before."""
        nodes, rare = self._states.ready_nodes(state), self._states.is_rare(state)
        if not rare:
            self.between.add(nodes)
        if last and not self._states.is_complete(state):
            self.stuck[state] = None
        elif last:
            (self.rare if rare else self.finals).add(nodes)


def with_number(numbers: tuple[N, ...], number: N) -> tuple[N, ...]:
    """Return the numbers, or pairs of them, with one more, in ascending order."""
    more = list(numbers)
    insort(more, number)
    return tuple(more)


def without_number(numbers: tuple[N, ...], number: N) -> tuple[N, ...]:
    """Return the numbers without one of those that are equal to ``number``."""
    at = numbers.index(number)
    return numbers[:at] + numbers[at + 1 :]
