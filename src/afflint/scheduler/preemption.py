"""Which pods a pod preempts: the plugin DefaultPreemption of kube-scheduler.

Semantics: pkg/scheduler/framework/plugins/defaultpreemption (SelectVictimsOnNode, filterPodsWithPDBViolation) and
pkg/scheduler/framework/preemption (pickOneNodeForPreemption). With more than a hundred nodes, the scheduler evaluates only some of them,
from a random one on; here all nodes are candidates.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import EVERYTHING, Selector, matches
from afflint.scheduler.cluster import Cluster, EvenQueue
from afflint.scheduler.pods import Pod, PodKey, scheduling_key

NoVictims = Literal["unresolvable", "no victims", "does not fit"]
"""Why a node is not a candidate: removing pods does not help, no pod has a lower priority, or the pod does not fit without these either."""

_OFFSET = 2**31
"""What the scheduler adds to each priority in a sum, so that a victim of negative priority counts, too."""
_MOST_KNOWN = 8
"""For how many kinds of pods a queue remembers the victims on each node."""
_NOW = "~"
"""Comes after every time in the format of the API server."""


class Rank(NamedTuple):
    """How important a running pod is: its priority, and the time of its start (RFC 3339 in UTC), empty if it starts only now."""

    priority: int
    started: str = ""

    @property
    def importance(self) -> tuple[int, str]:
        """Return a sort key that puts the most important pod first: the highest priority, then the earliest start (MoreImportantPod)."""
        return -self.priority, self.started or _NOW


class Allowance(NamedTuple):
    """A PodDisruptionBudget with the number of disruptions that it allows now (``status.disruptionsAllowed``)."""

    namespace: str
    selector: Selector | None
    disruptions: int
    disrupted: frozenset[str] = frozenset()
    """The pods whose eviction is counted already (``status.disruptedPods``)."""


class NodeVictims(NamedTuple):
    """A node that a pod fits without its victims, the most important first, and how many of these violate their budget."""

    node: str
    victims: tuple[Pod, ...]
    violations: int
    score: tuple[int, int, int, int]
    """The violated budgets, the priority of the most important victim, the sum of priorities, the number of victims: the least is best."""
    latest_start: str


class Preemption(NamedTuple):
    """The result of a preemption: the node and the victims, the most important first; ``node`` is None if no pod is preempted.

    ``violations`` is how many of the victims violate their PodDisruptionBudget; ``excluded`` has the nodes that are not candidates.
    """

    node: str | None
    victims: tuple[Pod, ...]
    violations: int
    excluded: Mapping[str, NoVictims]
    candidates: Sequence[NodeVictims] = ()


Ranks = Callable[[PodKey], Rank | None]
"""Returns the rank of a running pod; None for a pod that is never a victim, because its priority is not known."""


def preempt(cluster: Cluster, pod: Pod, priority: int, ranks: Ranks, allowances: Sequence[Allowance] = ()) -> Preemption:
    """Return which running pods a pod of some priority preempts, and on which node, without changing the cluster.

    The pod must not fit any node now, and its preemptionPolicy must not be Never. Of nodes that are equally good, the first is chosen. The
    scheduler prefers a node with the fewest violated budgets, then the lowest priority of the most important victim, the smallest sum of
    priorities, the fewest victims, and the latest start of its most important victims.
    """
    return _preempt(cluster.copy(), pod, priority, _RankedPods(cluster, ranks), allowances)


def waits_for_victims(cluster: Cluster, pod: Pod, priority: int, ranks: Ranks) -> bool:
    """Return whether a pod may not preempt others, because victims of an earlier preemption are still being deleted on its nominated node.

    After ``PodEligibleToPreemptOthers`` of the plugin DefaultPreemption: the nominated node must be one that the end of its pods may free.
    """
    if pod.nominated not in (cluster.resolvable_nodes(pod) or () if pod.nominated else ()):
        return False
    victims = [each for each in cluster.pods_by_node().get(pod.nominated, ()) if each.preempted]
    return any(rank.priority < priority for each in victims if (rank := ranks(each.key)) is not None)


class _RankedPods:
    """The running pods of known priority on each node, the most important first."""

    def __init__(self, cluster: Cluster, ranks: Ranks) -> None:
        self.ranks = ranks
        self._on: dict[str, list[tuple[tuple[int, str], PodKey, Pod]]] = {}
        self._priorities: dict[int, int] = {}
        for node, pods in cluster.pods_by_node().items():
            for pod in pods:
                self.add(pod, node)

    def add(self, pod: Pod, node: str) -> None:
        """Note that a pod runs on a node."""
        rank = self.ranks(pod.key)
        if rank is not None:
            insort(self._on.setdefault(node, []), (rank.importance, pod.key, pod))
            self._priorities[rank.priority] = self._priorities.get(rank.priority, 0) + 1

    def remove(self, pod: Pod, node: str) -> None:
        """Note that a pod no longer runs on a node. Its rank must still be the one that it was added with."""
        rank = _rank(self.ranks, pod)
        on = self._on[node]
        del on[bisect_left(on, (rank.importance, pod.key))]
        self._priorities[rank.priority] -= 1
        if not self._priorities[rank.priority]:
            del self._priorities[rank.priority]

    def any_below(self, priority: int) -> bool:
        """Return whether any pod has a lower priority."""
        return bool(self._priorities) and min(self._priorities) < priority

    def below(self, priority: int, node: str) -> list[Pod]:
        """Return the pods of lower priority on a node, the most important first."""
        on = self._on.get(node, [])
        return [pod for _, _, pod in on[bisect_left(on, ((1 - priority, ""),)) :]]


def _preempt(
    cluster: Cluster,
    pod: Pod,
    priority: int,
    running: _RankedPods,
    allowances: Sequence[Allowance],
    known: dict[str, NodeVictims | NoVictims] | None = None,
) -> Preemption:
    """Do the same on a cluster whose pods may be removed and bound again. ``known`` are nodes that were evaluated before."""
    resolvable = frozenset(cluster.resolvable_nodes(pod) or ())
    by_namespace: dict[str, list[tuple[int, Allowance]]] = {}
    for number, allowance in enumerate(allowances):
        if allowance.selector is not None and allowance.selector != EVERYTHING:
            by_namespace.setdefault(allowance.namespace, []).append((number, allowance))
    excluded: dict[str, NoVictims] = {}
    candidates = []
    evaluated = {} if known is None else known
    for node in cluster.nodes:
        if node not in resolvable:
            excluded[node] = "unresolvable"
            continue
        candidate = evaluated.get(node)
        if candidate is None:
            lower = running.below(priority, node)
            candidate = evaluated[node] = _candidate(cluster, pod, node, lower, by_namespace, running.ranks) if lower else "no victims"
        if isinstance(candidate, str):
            excluded[node] = candidate
        else:
            candidates.append(candidate)
    if not candidates:
        return Preemption(None, (), 0, excluded)
    chosen = _best(candidates)
    return Preemption(chosen.node, chosen.victims, chosen.violations, excluded, candidates)


def _candidate(
    cluster: Cluster,
    pod: Pod,
    node: str,
    lower: Sequence[Pod],
    allowances: Mapping[str, Sequence[tuple[int, Allowance]]],
    ranks: Ranks,
) -> NodeVictims | NoVictims:
    """Return which of the pods of lower priority must leave a node, the most important first, and how good a choice the node is."""
    found = _victims_on(cluster, pod, node, *_by_violation(lower, allowances))
    if found is None:
        return "does not fit"
    unordered, violations = found
    victims = tuple(sorted(unordered, key=lambda each: (_rank(ranks, each).importance, each.key)))
    priorities = [_rank(ranks, victim).priority for victim in victims]
    score = violations, priorities[0], sum([each + _OFFSET for each in priorities]), len(priorities)
    # The victims of the highest priority come first, and of these the one that started first.
    return NodeVictims(node, victims, violations, score, _rank(ranks, victims[0]).importance[1])


def _rank(ranks: Ranks, pod: Pod) -> Rank:
    rank = ranks(pod.key)
    assert rank is not None
    return rank


def _by_violation(pods: Iterable[Pod], allowances: Mapping[str, Sequence[tuple[int, Allowance]]]) -> tuple[list[Pod], list[Pod]]:
    """Return the pods whose removal violates a budget, if all before them are removed too, and the others."""
    left: dict[int, int] = {}
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        violated = False
        # A pod without labels has no budget, and an empty selector selects no pod here.
        for number, allowance in allowances.get(pod.namespace, ()) if pod.labels else ():
            if pod.name not in allowance.disrupted and matches(allowance.selector, pod.labels):
                left[number] = left.get(number, allowance.disruptions) - 1
                violated = left[number] < 0
                if violated:
                    break  # The scheduler stops here. It sees the budgets in any order.
        (violating if violated else others).append(pod)
    return violating, others


def _victims_on(cluster: Cluster, pod: Pod, node: str, violating: Sequence[Pod], others: Sequence[Pod]) -> tuple[list[Pod], int] | None:
    """Return the pods that must leave a node, and how many violate a budget; None if the pod does not fit without any of them.

    All are removed first; then each may stay if the pod still fits, those with a violated budget first.
    """
    victims: list[Pod] = []

    def remove(each: Pod) -> None:
        if each.subject.terminating:
            cluster.recount(pod, each, -1)
        cluster.unbind(each)

    def bind(each: Pod) -> None:
        cluster.bind(each, node)
        if each.subject.terminating:
            cluster.recount(pod, each, 1)

    for each in (*violating, *others):
        remove(each)
    if not cluster.fits(pod, node):
        for each in (*violating, *others):
            bind(each)
        return None
    violations = 0
    for number, each in enumerate((*violating, *others)):
        bind(each)
        if not cluster.fits(pod, node):
            remove(each)
            victims.append(each)
            violations += number < len(violating)
    for each in victims:
        bind(each)
    return victims, violations


def _best(candidates: Sequence[NodeVictims]) -> NodeVictims:
    """Return the node to preempt pods on (pickOneNodeForPreemption)."""
    least = min([each.score for each in candidates])
    return max([each for each in candidates if each.score == least], key=lambda each: each.latest_start)


class PreemptionState(Protocol):
    """What a queue with preemption knows of the pods: their ranks, and what their controllers do."""

    def rank(self, pod: PodKey) -> Rank | None:
        """Return the rank of a pod; None if its priority is not known."""

    def preempts(self, pod: PodKey) -> bool:
        """Return whether a pod may preempt others."""

    def allowances(self) -> Sequence[Allowance]:
        """Return the PodDisruptionBudgets as they are now."""

    def count(self, pod: Pod, step: int) -> None:
        """Note that a pod was bound to a node (step 1) or removed from it (step -1)."""

    def replacement(self, victim: Pod, node: str) -> Pod | None:
        """Return the pod that the controller of a victim creates in its place; None if it creates none."""


class Victim(NamedTuple):
    """A pod that was preempted, the node that it ran on, and the pod that preempted it."""

    pod: Pod
    node: str
    by: Pod


class PreemptingQueue(EvenQueue):
    """A queue by priority, in which a pod without a feasible node preempts others: PostFilter of the scheduler.

    Victims are scheduled again, as their controllers recreate them. The queue ends: each preemption replaces pods by one of higher
    priority.
    """

    def __init__(self, cluster: Cluster, pods: Iterable[Pod], state: PreemptionState) -> None:
        super().__init__(cluster, pods)
        self._state = state
        self.victims: dict[PodKey, Victim] = {}
        """The pods that ran before and were preempted."""
        self._changes = 0
        self._futile: dict[object, int] = {}
        self._known: dict[object, dict[str, NodeVictims | NoVictims]] = {}
        self._ranked: _RankedPods | None = None
        """The running pods; None before the first preemption."""

    def _round(self, pending: list[PodKey]) -> bool:
        before = self._changes
        for key in sorted(pending, key=lambda key: -self._priority(key)):
            self._try(key, self.pods[key])
        return self._changes > before

    def _priority(self, pod: PodKey) -> int:
        rank = self._state.rank(pod)
        return 0 if rank is None else rank.priority

    def _try(self, key: PodKey, pod: Pod) -> None:
        before = len(self.placements)
        super()._try(key, pod)
        if len(self.placements) > before:
            self._started(pod, self.placements[key])
        elif key not in self.errors:
            self._preempt(key, pod)

    def _preempt(self, key: PodKey, pod: Pod) -> None:
        rank, profile = self._state.rank(key), pod.rules.profile
        if rank is None or not self._state.preempts(key) or profile.unknown or not profile.preempts:
            return
        if waits_for_victims(self.cluster, pod, rank.priority, self._state.rank):
            return
        # Until something changes, pods that differ only by name fail again.
        asked = scheduling_key(pod), rank.priority
        if self._futile.get(asked) == self._changes:
            return
        if self._ranked is None:
            self._ranked = _RankedPods(self.cluster, self._state.rank)
        if not self._ranked.any_below(rank.priority):
            return
        allowances = self._state.allowances()
        known = self._known_victims(pod, rank.priority) if not allowances else None
        found = _preempt(self.cluster, pod, rank.priority, self._ranked, allowances, known)
        if found.node is None:
            self._futile[asked] = self._changes
            return
        for victim in found.victims:
            self._remove(victim, found.node, pod)
        self._bind(key, pod, self.cluster.table.numbers[found.node])
        self._started(pod, found.node)
        # What failed before may fit now.
        self._failed.clear()

    def _known_victims(self, pod: Pod, priority: int) -> dict[str, NodeVictims | NoVictims] | None:
        """Return the nodes that were evaluated for an equal pod and have not changed since; None if other nodes matter, too.

        Whether a pod without constraints on other pods fits a node depends on the pods of that node only.
        """
        if pod.hard_spread or pod.affinity or pod.anti_affinity or pod.volumes or self.cluster.forbidding(pod):
            return None
        asked = pod.rules, pod.requests, pod.ports, priority
        if asked not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[asked] = {}
        return self._known[asked]

    def _remove(self, victim: Pod, node: str, by: Pod) -> None:
        self.cluster.unbind(victim)
        if self._ranked is not None:
            self._ranked.remove(victim, node)
        self._changed(victim, node, -1)
        if self.placements.pop(victim.key, None) is None:
            self.victims[victim.key] = Victim(victim, node, by)
        replacement = self._state.replacement(victim, node)
        if replacement is not None:
            self.pods[victim.key] = replacement
            self.unschedulable[victim.key] = {}

    def _started(self, pod: Pod, node: str) -> None:
        if self._ranked is not None:
            self._ranked.add(pod, node)
        self._changed(pod, node, 1)

    def _changed(self, pod: Pod, node: str, step: int) -> None:
        self._changes += 1
        for known in self._known.values():
            known.pop(node, None)
        self._state.count(pod, step)
