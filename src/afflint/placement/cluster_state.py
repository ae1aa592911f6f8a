"""A cluster that changes: which pods of a schedule run, wait, move or end, and a log of what happened to them.

The controllers of nodes and evictions change the state: `node_lifecycle`, `pod_garbage`, `draining`, `node_upgrade`, `descheduling`. What
all of them need is here: the controllers of workloads create a pod for one that is gone, and the scheduler binds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from afflint.placement.disruption_budgets import is_silent
from afflint.placement.plan import Blocked, ClusterEvent, EventKind
from afflint.placement.schedule import Attempt
from afflint.placement.schedule_index import ReplicaEnd
from afflint.scheduler.interpod_affinity import selects
from afflint.scheduler.pods import Pod, PodKey, parsed_terms

if TYPE_CHECKING:
    from afflint.placement.evictions import Evictions
    from afflint.scheduler.preemption import Victim

RETRY = 300
"""After how many seconds the scheduler retries Pending pods that no event makes schedulable (podMaxInUnschedulablePodsDuration)."""


class ClusterState:
    """The pods of one schedule while disruptions change where they run."""

    def __init__(self, evictions: Evictions) -> None:
        """Begin with the pods of the schedule that evictions are decided for."""
        self.schedule_index = schedule_index = evictions.schedule_index
        self.evictions = evictions
        self.disruptions = evictions.disruptions
        self.cluster = schedule_index.schedule.cluster.copy()
        self.now = 0
        """The seconds since the first disruption, as far as constants of Kubernetes decide them."""
        self.log: list[ClusterEvent] = []
        self.unavailable: tuple[str, ...] = ()
        """The nodes that are cordoned or unreachable: explanations do not mention them."""
        self.unready = dict(self.disruptions.unready)
        self.displaced: dict[PodKey, tuple[Pod, str]] = {}
        """The pods that are gone, or in deletion, or no longer run, each with its last node."""
        self.recreated: dict[PodKey, Pod] = {}
        """Those for which another is created."""
        self.ended: dict[PodKey, ReplicaEnd] = {}
        self.behind: dict[PodKey, str] = {}
        """The pods that are created only after another one is ready, with its name."""
        self.placed: dict[PodKey, str] = {}
        self.after: dict[PodKey, int] = {}
        """After how many seconds a new pod is scheduled and has its volumes, at the earliest; not for pods that are replaced at once."""
        self.deleted: dict[PodKey, int] = {}
        """After how many seconds a pod on an unreachable node is deleted, so that another is created."""
        self.late: set[PodKey] = set()
        """The pods that are scheduled only when the scheduler retries pods that no event has made schedulable."""
        self.migrated: dict[PodKey, str] = {}
        self.pending: Mapping[PodKey, Mapping[str, str]] = {}
        self.running = {placed.pod_source.key: len(placed.running) for placed in schedule_index.schedule.workloads}
        """By workload key, how many pods run now."""
        self.gaps: set[str] = set()
        """The workloads that had no running pod for a time."""
        self.blocked: list[Blocked] = []
        self.notes: list[str] = []
        self.victims: dict[PodKey, Victim] = {}
        """The pods that are preempted, each with the first preemption."""
        self.preempted: list[PodKey] = []
        """All of these, in order; a pod may be preempted several times."""
        self._waiting = {pod.key: pod for pod in schedule_index.waiting}
        self._healthy: dict[int, int] = {}
        self._company: dict[PodKey, object] = {}
        """The pods that required spread and affinity of Pending pods counted when these were last tried."""

    def record(self, what: EventKind, node: str, pod: PodKey | None = None, cause: str = "") -> None:
        """Add an event to the log."""
        at = self.now
        if what == "scheduled" and pod is not None:
            at = max(at, self.deleted.get(pod, 0)) + (RETRY if pod in self.late else 0)
        self.log.append(ClusterEvent(at, what, node, pod, cause))

    # --- nodes ---------------------------------------------------------------------------------------------------------

    def is_silent(self, node: str) -> bool:
        """Return whether a node is unreachable or not ready."""
        return is_silent(self.cluster.table.nodes[self.cluster.table.numbers[node]])

    # --- pods that end -------------------------------------------------------------------------------------------------

    def stop(self, pod: Pod, cause: str) -> None:
        """Count a pod that no longer runs."""
        was_ready = self.unready.pop(pod.key, None) is None
        # A budget does not block others because of a replacement that is not simulated.
        if was_ready and pod.key not in self.schedule_index.unjudged:
            self._count_healthy(pod, -1)
        key = self.schedule_index.titles.get(pod.key)
        if key is not None and pod.key not in self.schedule_index.by_key[key].waits:
            self.record("stopped", self.cluster.node_of(pod.key) or "", pod.key, cause)
            self.running[key] -= 1
            if not self.running[key]:
                self.gaps.add(key)

    def replace(self, pod: Pod, node: str, end: ReplicaEnd | None) -> None:
        """Note that another pod is created for one that is gone from a node, unless ``end`` says why none is."""
        self.displaced[pod.key] = pod, node
        self.placed.pop(pod.key, None)
        self.migrated.pop(pod.key, None)
        self.after.pop(pod.key, None)
        self.deleted.pop(pod.key, None)
        if end is None:
            self.ended.pop(pod.key, None)
            self.recreated[pod.key] = self.schedule_index.instead_of(pod)
        else:
            self.recreated.pop(pod.key, None)
            self.ended[pod.key] = end

    # --- pods that are created -----------------------------------------------------------------------------------------

    def schedule_missing(self, *, while_others_end: bool = True, again_later: bool = False) -> None:
        """Schedule the pods that are recreated, and those that were Pending before.

        ``while_others_end``: the pods that they replace end in an orderly way, and count as long as that takes. ``again_later``: more pods
        are deleted soon, so that pods may wait that nothing has helped since the last time.
        """
        missing = {identity: pod for identity, pod in self.recreated.items() if identity not in self.placed}
        hopeless: dict[PodKey, Mapping[str, str]] = {}
        if again_later and self.schedule_index.schedule.priorities is None:
            hopeless = {each: why for each, why in self.pending.items() if each in missing and self._fails_again(missing[each])}
            missing = {identity: pod for identity, pod in missing.items() if identity not in hopeless}
        if not missing:
            return
        self.behind = {}
        # Whether a pod waits for a retry depends on the pods before it, so these must be bound one by one.
        here = not (while_others_end and any(pod.affinity for pod in (*missing.values(), *self._waiting.values())))
        attempt = self.schedule_index.again(self.cluster, missing, self.behind, self.placed, here=here, explain=not again_later)
        self.pending = {**hopeless, **attempt.pending}
        if again_later:
            self._company.update({each: self.cluster.company(missing[each]) for each in self.pending if each in missing})
        self.preempt(attempt)
        for identity, node in attempt.nodes.items():
            pod = self.recreated.get(identity) or self._waiting[identity]
            if while_others_end and identity in self.recreated and self._waits_for_retry(pod):
                self.late.add(identity)
            if self.cluster.node_of(identity) is None:
                self.cluster.bind(pod, node)
            self.placed[identity] = node
            self._count_healthy(pod, 1)
            key = self.schedule_index.titles.get(identity)
            if key is not None:
                self.record("scheduled", node, identity)
                self.running[key] += 1

    def preempt(self, attempt: Attempt) -> None:
        """Remove the pods that are preempted; those that are recreated are scheduled like evicted ones."""
        for victim in attempt.victims:
            pod = victim.pod
            if not pod.subject.terminating:
                self.victims.setdefault(pod.key, victim)
                self.preempted.append(pod.key)
                self.stop(pod, f"{victim.by.name} preempts it")
            self.cluster.unbind(pod)
            if not pod.subject.terminating:
                self.placed.pop(pod.key, None)
                self.migrated.pop(pod.key, None)
                if pod.key in self.schedule_index.owners:
                    self.replace(pod, victim.node, self.schedule_index.end_of(pod, is_shut_down=True))

    def migrate(self, pod: Pod, node: str, cause: str) -> None:
        """Move a pod of a virtual machine to another node."""
        if pod.key in self.schedule_index.titles:
            self.record("migrated", node, pod.key, cause)
        self.cluster.unbind(pod)
        self.cluster.bind(pod, node)
        self.migrated[pod.key] = node

    def _fails_again(self, pod: Pod) -> bool:
        """Return whether no pod has changed that a Pending pod depends on, and no others are created only after it."""
        placed = self.schedule_index.owners.get(pod.key)
        is_ordered = placed is not None and placed.pod_source.pod_replacement.ordered
        return not (is_ordered or pod.volumes) and self._company.get(pod.key) == self.cluster.company(pod)

    def _waits_for_retry(self, pod: Pod) -> bool:
        """Return whether a new pod that is created during the drain stays Pending until the scheduler retries it.

        Pods may be the first that required affinity to themselves selects, but not while evicted pods still terminate; and the deletion of
        those makes no pod schedulable (isSchedulableAfterPodChange, pkg/scheduler/framework/plugins/interpodaffinity).
        """
        terms = parsed_terms(pod.affinity)
        if not terms or not all(selects(term, pod, self.cluster.directory) for term in terms):
            return False
        here = {identity for identity in self.late if self.schedule_index.titles.get(identity) == self.schedule_index.titles.get(pod.key)}
        return bool(here) or not self.cluster.companions(terms)

    # --- budgets -------------------------------------------------------------------------------------------------------

    def healthy(self, budget: int) -> int:
        """Return how many pods of a budget are healthy, once evictions that were under way before are complete."""
        status = self.disruptions.covered[budget]
        return self._healthy.get(budget, status.healthy + status.leaving)

    def allows(self, budget: int, *, unready: bool) -> bool:
        """Return whether a budget allows an eviction now; of a pod that is not ready, by the policy for these pods, too."""
        status, healthy = self.disruptions.covered[budget], self.healthy(budget)
        return status.allowed(healthy) > 0 or (unready and status.allows_unready(healthy))

    def _count_healthy(self, pod: Pod, step: int) -> None:
        for budget in self.disruptions.of(pod):
            self._healthy[budget] = self.healthy(budget) + step

    # --- the nodes of a drain and of an upgrade ------------------------------------------------------------------------

    def mark_unavailable(self, nodes: Iterable[str]) -> None:
        """Note that nodes take no pods."""
        self.unavailable = (*self.unavailable, *nodes)

    def mark_available(self, nodes: Iterable[str]) -> None:
        """Note that nodes take pods again, or no longer exist."""
        gone = set(nodes)
        self.unavailable = tuple([node for node in self.unavailable if node not in gone])
