"""The states of a rolling update of a Deployment: a Deployment, its two ReplicaSets and the scheduler act independently of each other.

Semantics: rolloutRolling, reconcileNewReplicaSet, reconcileOldReplicaSets and rolloutRecreate (pkg/controller/deployment),
getPodsToDelete (pkg/controller/replicaset) and ActivePodsWithRanks (pkg/controller/controller_utils.go). The Deployment counts the pods
that its ReplicaSets should have, which may remove them later: a new pod may be scheduled before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from itertools import islice

from afflint.controllers.rollouts import RollingUpdate
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Selector
from afflint.placement.rollout_orders import Event, Nodes, RolloutStates, with_number, without_number
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, Term, WeightedTerm, parsed_terms

_MOST_CHOICES = 24
"""The most ways to choose pods of equal rank that are tried."""
_PREVIOUS = "previous"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class OldPod(NamedTuple):
    """A pod of the previous revision: its node, or None if it is Pending, and the cost of its deletion (a higher one is kept longer)."""

    pod: Pod
    node: int | None
    cost: int = 0
    ready: bool = True


class RollingState(NamedTuple):
    """The pods of both revisions.

    ``old`` and ``dying`` are the indexes of the old pods that run and that are being deleted, ``new`` and ``ready`` the nodes of the new
    pods that are not ready yet and that are. ``old_wanted`` and ``new_wanted`` are the numbers of pods that the ReplicaSets should have.
    """

    old: tuple[int, ...]
    dying: tuple[int, ...]
    new: Nodes
    ready: Nodes
    old_wanted: int
    new_wanted: int
    overtaken: bool = False
    """Whether a new pod was scheduled before an old one was removed that the Deployment no longer counts."""

    @property
    def pending(self) -> int:
        """The number of new pods without a node."""
        return self.new_wanted - len(self.new) - len(self.ready)


class RollingStates(RolloutStates[RollingState]):
    """The states of a rolling update, or with ``limits`` None of the strategy `Recreate`.

    ``silent`` are the nodes that are unavailable. With ``one_node``, the pods use a volume that is attached to one node at a time.
    """

    def __init__(
        self,
        cluster: Cluster,
        old: Sequence[OldPod],
        new: Pod,
        replicas: int,
        limits: RollingUpdate | None,
        silent: Container[int] = (),
        *,
        one_node: bool = False,
    ) -> None:
        super().__init__(cluster, new)
        self.one_node = one_node
        self.old = old
        self.replicas = replicas
        self.limits = limits
        self.silent = silent
        # Pods in deletion matter to the scheduler only for pod affinity, resources and host ports: spread constraints ignore them.
        self._dying_counts = limits is None or any(map(_is_seen_in_deletion, (new, *[each.pod for each in old[:1]])))

    @property
    def start(self) -> RollingState:
        return RollingState(tuple(range(len(self.old))), (), (), (), len(self.old), 0)

    def is_complete(self, state: RollingState) -> bool:
        return len(state.ready) == self.replicas and not (state.old or state.dying or state.new)

    def is_rare(self, state: RollingState) -> bool:
        return state.overtaken

    def ready_nodes(self, state: RollingState) -> Nodes:
        return tuple(sorted((*state.ready, *[node for each in state.old if (node := self._ready_on(each)) is not None])))

    def next_steps(self, state: RollingState) -> Iterator[tuple[Event, Callable[[], RollingState]]]:
        for node in filter(self._attachable(state), dict.fromkeys(state.new)):
            yield Event("ready", node), partial(_with_ready, state, node)
        for one in {self._class(each): each for each in reversed(state.dying)}.values():
            if self.old[one].node not in self.silent:
                yield Event("gone", self.old[one].node, (one,)), partial(_without_dying, state, one)
        number = len(state.old) - state.old_wanted
        if state.pending:
            occupancy = self._nodes_of(state.old), self._nodes_of(state.dying), tuple(sorted((*state.new, *state.ready)))
            for node in self.best_nodes(state, occupancy):
                yield Event("scheduled", node), partial(_with_new, state, node, number > 0)
        for chosen in self._removals(state, number) if number > 0 else ():
            yield Event("removed", None, chosen), partial(self._without_old, state, chosen)
        scaled = self._scaled(state)
        if scaled != state:
            yield Event("scaled"), lambda: scaled

    def _without_old(self, state: RollingState, chosen: tuple[int, ...]) -> RollingState:
        """Return the state after the deletion of some old pods."""
        dying = tuple(sorted([*state.dying, *filter(self._takes_time, chosen)]))
        return state._replace(old=tuple([each for each in state.old if each not in chosen]), dying=dying)

    def _attachable(self, state: RollingState) -> Callable[[int], bool]:
        """Return whether the volume of the pods can be attached to a node: not while a pod on another node has it."""
        holders = {*self._nodes_of(state.old), *self._nodes_of(state.dying), *state.ready} if self.one_node else set()
        return lambda node: holders <= {node}

    def pods(self, state: RollingState) -> dict[object, tuple[Pod, int]]:
        found = self.new_pods((*state.new, *state.ready))
        for one in (*state.old, *state.dying):
            pod, node = self.old[one][:2]
            if node is not None:
                ending = one in state.dying
                seen = pod._replace(subject=pod.subject._replace(terminating=True)) if ending else pod
                found["dying" if ending else "old", one] = seen, node
        return found

    def _takes_time(self, old: int) -> bool:
        """Return whether it matters that the deletion of an old pod takes time."""
        node = self.old[old].node
        return node is not None and (self._dying_counts or node in self.silent)

    # --- the Deployment --------------------------------------------------------------------------------------------------

    def _scaled(self, state: RollingState) -> RollingState:
        """Return the state after the Deployment has changed the number of pods of one of its ReplicaSets."""
        if self.limits is None:
            if state.old_wanted:
                return state._replace(old_wanted=0)
            return state if state.old or state.dying else state._replace(new_wanted=self.replicas)
        surge, unavailable = self.limits
        room = self.replicas + surge - state.old_wanted - state.new_wanted
        if room > 0 and state.new_wanted < self.replicas:
            return state._replace(new_wanted=state.new_wanted + min(room, self.replicas - state.new_wanted))
        least = self.replicas - unavailable
        removable = state.old_wanted + state.new_wanted - least - (state.new_wanted - len(state.ready))
        if state.old_wanted == 0 or removable <= 0:
            return state
        available = min(state.old_wanted, sum(self._ready_on(each) is not None for each in state.old))
        # Old pods that are not available go first: cleanupUnhealthyReplicas.
        wanted = state.old_wanted - min(removable, max(0, state.old_wanted - available))
        surplus = available + len(state.ready) - least
        return state._replace(old_wanted=wanted - min(wanted, max(0, surplus)))

    # --- its ReplicaSet --------------------------------------------------------------------------------------------------

    def _removals(self, state: RollingState, number: int) -> Iterator[tuple[int, ...]]:
        """Yield the choices of old pods that their ReplicaSet may remove: by rank, any of those with equal rank."""
        related = Counter((*[self.old[each].node for each in state.old], *state.new, *state.ready))

        def rank(one: int) -> tuple[bool, bool, int, int]:
            node = self.old[one].node
            return node is not None, self._ready_on(one) is not None, self.old[one].cost, -related[node]

        ranked = sorted(state.old, key=rank)
        last = rank(ranked[number - 1])
        certain = [each for each in ranked[:number] if rank(each) != last]
        alike = grouped((self._class(each), each) for each in ranked if rank(each) == last)
        for chosen in islice(_choices([*alike.values()], number - len(certain)), _MOST_CHOICES):
            yield tuple(sorted((*certain, *chosen)))

    def _class(self, one: int) -> tuple[int, int, bool]:
        """Return what distinguishes an old pod from others."""
        node = self.old[one].node
        return -1 if node is None else node, self.old[one].cost, self.old[one].ready

    def _ready_on(self, one: int) -> int | None:
        """Return the node of an old pod if it is ready."""
        node = self.old[one].node
        return None if node is None or node in self.silent or not self.old[one].ready else node

    def _nodes_of(self, indexes: Sequence[int]) -> Nodes:
        return tuple(sorted([node for each in indexes if (node := self.old[each].node) is not None]))


def _choices(groups: Sequence[Sequence[int]], number: int) -> Iterator[tuple[int, ...]]:
    """Yield the choices of members that differ in how many each group has: most of the first group first."""
    sizes = [len(group) for group in groups]
    counts, left = [0] * len(groups), number
    at = -1
    while True:
        for later in range(at + 1, len(groups)):
            counts[later] = min(left, sizes[later])
            left -= counts[later]
        yield tuple([each for group, count in zip(groups, counts, strict=True) for each in group[:count]])
        at, room = len(groups) - 1, 0
        while at >= 0 and not (counts[at] and room):
            room += sizes[at] - counts[at]
            left += counts[at]
            at -= 1
        if at < 0:
            return
        counts[at] -= 1
        left += 1


def _with_ready(state: RollingState, node: int) -> RollingState:
    return state._replace(new=without_number(state.new, node), ready=with_number(state.ready, node))


def _without_dying(state: RollingState, one: int) -> RollingState:
    return state._replace(dying=without_number(state.dying, one))


def _with_new(state: RollingState, node: int, early: bool) -> RollingState:
    """Return the state after a new pod was scheduled; ``early``: before an old one was removed that no longer counts."""
    return state._replace(new=with_number(state.new, node), overtaken=state.overtaken or early)


def _is_seen_in_deletion(pod: Pod) -> bool:
    terms = (pod.affinity, pod.anti_affinity, pod.preferred_affinity, pod.preferred_anti_affinity)
    return any(terms) or bool(pod.requests or pod.rated != (0, 0) or pod.ports or pod.volumes)


def deletion_cost(annotations: dict[str, object]) -> int:
    """Return the cost of deleting a pod from its annotations; 0 without a valid one."""
    value = annotations.get(_DELETION_COST)
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdigit() and len(value) < 12 else 0


def previous_revision(pod: Pod, label: str) -> Pod:
    """Return a pod as one of the previous revision: ``label`` has another value, also where its own terms select it."""
    labels = {**pod.labels, label: _PREVIOUS}
    return pod._replace(
        labels=labels,
        subject=pod.subject._replace(labels=frozenset(labels.items())),
        affinity=_renamed(parsed_terms(pod.affinity), label),
        anti_affinity=_renamed(parsed_terms(pod.anti_affinity), label),
        preferred_affinity=_renamed_weighted(parsed_terms(pod.preferred_affinity), label),
        preferred_anti_affinity=_renamed_weighted(parsed_terms(pod.preferred_anti_affinity), label),
    )


def _renamed_weighted(terms: Sequence[WeightedTerm], label: str) -> tuple[WeightedTerm, ...]:
    return tuple([each._replace(term=_renamed((each.term,), label)[0]) for each in terms])


def _renamed(terms: Sequence[Term], label: str) -> tuple[Term, ...]:
    found = []
    for term in terms:
        asked = term.selector.requirements if term.selector is not None else ()
        if any(each.key == label for each in asked):
            requirements = [each._replace(values=(_PREVIOUS,)) if each.key == label else each for each in asked]
            term = term._replace(selector=Selector(tuple(requirements)))
        found.append(term)
    return tuple(found)
