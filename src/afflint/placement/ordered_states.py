"""The states of a rolling update of a StatefulSet: each pod is removed before another with its name is created, the highest ordinal first.

Semantics: updateStatefulSet and processReplica (pkg/controller/statefulset). An update with `maxUnavailable` removes several pods at once;
with the pod management policy OrderedReady they are created one after another, the lowest ordinal first.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial

from afflint.findings.namedtuples import NamedTuple
from afflint.placement.rollout_orders import Event, Nodes, RolloutStates, with_number, without_number
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod


class OrderedState(NamedTuple):
    """``removed`` is the number of pods that were removed.

    ``new`` and ``ready`` are the new pods that have a node, not ready yet and ready: their ordinals and the numbers of their nodes. Pods
    without volumes of their own all have the last ordinal, so that states with equal pods on the same nodes are equal.
    """

    removed: int
    new: tuple[tuple[int, int], ...]
    ready: tuple[tuple[int, int], ...]

    @property
    def missing(self) -> int:
        """The number of removed pods without a new one that has a node."""
        return self.removed - len(self.new) - len(self.ready)


class OrderedStates(RolloutStates[OrderedState]):
    """The states of a rolling update of a StatefulSet.

    ``old`` are its pods by ordinal with their nodes, None for those that are Pending; ``silent`` the nodes that are unavailable. The first
    ``partition`` pods are not replaced.
    """

    def __init__(
        self,
        cluster: Cluster,
        old: Sequence[tuple[Pod, int | None]],
        new: Pod,
        *,
        partition: int,
        unavailable: int,
        ordered: bool,
        silent: Container[int] = (),
    ) -> None:
        super().__init__(cluster, new)
        self.old = old
        self._last = len(old) - 1
        self._distinct = len({pod.volumes for pod, _ in old}) > 1
        self.partition = partition
        self.unavailable = unavailable
        self.ordered = ordered
        self.silent = silent

    @property
    def start(self) -> OrderedState:
        return OrderedState(0, (), ())

    @property
    def to_replace(self) -> int:
        """The number of pods that the update replaces."""
        return max(0, len(self.old) - self.partition)

    def is_complete(self, state: OrderedState) -> bool:
        return len(state.ready) == self.to_replace and all(self._is_ready(each) for each in range(len(self.old) - state.removed))

    def ready_nodes(self, state: OrderedState) -> Nodes:
        old = [node for _, node in self.old[: len(self.old) - state.removed] if node is not None and node not in self.silent]
        return tuple(sorted((*old, *[node for _, node in state.ready])))

    def next_steps(self, state: OrderedState) -> Iterator[tuple[Event, Callable[[], OrderedState]]]:
        left = len(self.old) - state.removed
        down = sum(not self._is_ready(each) for each in range(left))
        for started in dict.fromkeys(state.new):
            yield Event("ready", started[1]), partial(_with_ready, state, started)
        for ordinal in self._missing(state):
            # An ordered set creates no pod while an earlier one is not ready.
            if self.ordered and (down or any(started < ordinal or not self._distinct for started, _ in state.new)):
                break
            occupancy = state.removed, tuple(sorted((*state.new, *state.ready))), ordinal
            for node in self.best_nodes(state, occupancy, self._new_pod(ordinal)):
                replaced = (ordinal,) if self._distinct else ()
                yield Event("scheduled", node, replaced), partial(_with_new, state, (ordinal, node))
            if self.ordered:
                break
        if state.removed < self.to_replace and self._may_remove(state, left, down):
            yield Event("removed", None, (left - 1,)), partial(state._replace, removed=state.removed + 1)

    def pods(self, state: OrderedState) -> dict[object, tuple[Pod, int]]:
        started = (*state.new, *state.ready)
        found = {} if self._distinct else self.new_pods([node for _, node in started])
        if self._distinct:
            found.update({("new", *each): (self._new_pod(each[0]), each[1]) for each in started})
        for ordinal, (pod, node) in enumerate(self.old[: len(self.old) - state.removed]):
            if node is not None:
                found["old", ordinal] = pod, node
        return found

    def next_pod(self, state: OrderedState) -> Pod:
        return self._new_pod(next(iter(self._missing(state)), self._last))

    def _missing(self, state: OrderedState) -> Sequence[int]:
        """Return the ordinals of removed pods without a new one that has a node, the lowest first; only the last if all pods are equal."""
        if not self._distinct:
            return [self._last] if state.missing else []
        started = {ordinal for ordinal, _ in (*state.new, *state.ready)}
        return [each for each in range(len(self.old) - state.removed, len(self.old)) if each not in started]

    def _new_pod(self, ordinal: int) -> Pod:
        """Return the new pod with an ordinal, which uses the volumes of the old one."""
        return self.new._replace(name=self.old[ordinal][0].name, volumes=self.old[ordinal][0].volumes) if self._distinct else self.new

    def _is_ready(self, ordinal: int) -> bool:
        node = self.old[ordinal][1]
        return node is not None and node not in self.silent

    def _may_remove(self, state: OrderedState, left: int, down: int) -> bool:
        """Return whether the next pod may be removed: if it runs, no more than the limit may be missing; if not, it can be replaced."""
        if self.old[left - 1][1] in self.silent:
            return False  # Nothing ends a pod on an unavailable node.
        if self.ordered and down:
            return False  # The controller stops at the first pod that is not ready.
        unavailable = state.missing + len(state.new) + down
        return unavailable < self.unavailable or (not self._is_ready(left - 1) and unavailable <= self.unavailable)


def _with_ready(state: OrderedState, started: tuple[int, int]) -> OrderedState:
    return state._replace(new=without_number(state.new, started), ready=with_number(state.ready, started))


def _with_new(state: OrderedState, started: tuple[int, int]) -> OrderedState:
    return state._replace(new=with_number(state.new, started))
