"""Drains of nodes, as `kubectl drain --ignore-daemonsets --delete-emptydir-data` performs them without a time limit.

All nodes are cordoned first, then drained in order. An evicted pod is deleted if its PodDisruptionBudget allows it; otherwise the eviction
is retried. The controller creates a replacement, which may allow the next eviction. Virtual machines that request it are live-migrated:
the source pod counts until the target pod runs. Semantics: pkg/drain and pkg/cmd/drain of kubectl, the eviction subresource
(pkg/registry/core/pod/storage/eviction.go), and KubeVirt's admitter of pod evictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import ALLOWED, Eviction, eviction_of
from afflint.controllers.launcher_pod import OBSOLETE_HOST_MODEL, is_reported_by_nodes, target_labels
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import CREATED_BY
from afflint.kube.node_labels import HOSTNAME, domain_word
from afflint.kube.selectors import Requirement, Selector
from afflint.kube.taints import CORDON
from afflint.placement.disruption_budgets import Disruptions, is_silent
from afflint.placement.disruption_state import HELD, DisruptionState, ReplicaEnd, terminating
from afflint.placement.failures import Disruption
from afflint.placement.plan import Action, Blocked, DisruptionEffect
from afflint.placement.schedule import Attempt, schedule
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.interpod_affinity import selects
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey, Term, parsed_terms

if TYPE_CHECKING:
    from afflint.scheduler.preemption import Victim

UNMANAGED = "it has no controller: kubectl drain fails without --force, which deletes it permanently"
LINGERS = "its node is unavailable, so its deletion does not end before the node recovers or is removed"
TWO_BUDGETS = "its eviction fails because more than one PodDisruptionBudget selects it: "

PENDING = "Pending"
"""The phase of pods whose containers do not run yet: their eviction ignores PodDisruptionBudgets."""

RETRY = 300
"""After how many seconds the scheduler retries Pending pods that no event makes schedulable (podMaxInUnschedulablePodsDuration)."""

_NOTHING_KNOWN: Mapping[PodKey, Eviction] = {}


class Happening(NamedTuple):
    """What happens to a pod of a workload, by the workload's key."""

    what: Literal["evicted", "created", "migrated"]
    workload: str
    pod: PodKey


class Drains:
    """The drains that are simulated on one schedule."""

    def __init__(
        self, situation: DisruptionState, budgets: Iterable[Budget] = (), running: Mapping[PodKey, Eviction] = _NOTHING_KNOWN
    ) -> None:
        """Prepare drains. `running` has the results of evictions that are known from running VirtualMachineInstances."""
        self.situation = situation
        arrangement = situation.arrangement
        self.disruptions = Disruptions(arrangement.cluster, arrangement.pods_of_workloads, budgets, arrangement.unready)
        self._running = running
        self._evictions: dict[str, Eviction] = {}

    def eviction(self, pod: Pod) -> Eviction:
        """Return the result of evicting a pod, without its PodDisruptionBudgets."""
        running = self._running.get(pod.key)
        if running is not None:
            return running
        placed = self.situation.owners.get(pod.key)
        if placed is None:
            return ALLOWED
        known = self._evictions.get(placed.pod_source.key)
        if known is None:
            known = self._evictions[placed.pod_source.key] = eviction_of(placed.pod_source)
        return known

    def drain(self, failure: Disruption) -> DisruptionEffect:
        """Simulate a drain: whether it completes, and what happens to the pods."""
        cluster = self.situation.arrangement.cluster
        if not (cluster.evicted(failure.nodes) or cluster.ending(failure.nodes)):
            return DisruptionEffect(failure.what, failure.nodes, (), {}, "drain")
        evacuation = Evacuation(self, cluster)
        evacuation.drain(failure.nodes)
        return evacuation.effect(failure, "drain")


def cordoned(node: Node) -> Node:
    """Return the node after `kubectl cordon`, with the taint that the node lifecycle controller adds."""
    taints = node.taints if CORDON in node.taints else (*node.taints, CORDON)
    return node._replace(unschedulable=True, taints=taints)


def migration_target(pod: Pod, cluster: Cluster, node: str) -> Pod:
    """Return the target pod of a live migration: it must run on another host, with a compatible CPU.

    Labels that no node has are not required.
    """
    selector = Selector((Requirement(CREATED_BY, "In", (pod.labels.get(CREATED_BY, ""),)),))
    apart = Term(HOSTNAME, selector, frozenset((pod.namespace,)), None)
    name = f"{pod.name}-target"
    own = pod.rules.node_selector.requirements
    source = cluster.table.nodes[cluster.table.numbers[node]].labels
    asked = target_labels([each.key for each in own], source, host_model=OBSOLETE_HOST_MODEL in pod.added)
    labels = [key for key in asked if is_reported_by_nodes(key, cluster.table.keys)]
    selector = Selector((*own, *[Requirement(key, "In", ("true",)) for key in labels]))
    return pod._replace(
        name=name,
        anti_affinity=(*parsed_terms(pod.anti_affinity), apart),
        rules=pod.rules._replace(node_selector=selector),
        added=pod.added.union(labels),
    )


def own_separation(pod: Pod, cluster: Cluster, node: str) -> str:
    """Return advice if the required anti-affinity of a VM rejects the target of its migration because of the VM itself; else nothing.

    The source pod runs until the migration ends, and the target pod has its labels and terms.
    """
    own = [term for term in parsed_terms(pod.anti_affinity) if term.key != HOSTNAME and selects(term, pod, cluster.directory)]
    if not own:
        return ""
    without = cluster.copy()
    without.unbind(pod)
    feasible = without.evaluate(migration_target(pod, cluster, node)).feasible
    column, numbers = cluster.table.column(HOSTNAME), cluster.table.numbers
    elsewhere = (name for name, possible in feasible.items() if possible and name != node)
    if all(column[numbers[name]] == column[numbers[node]] for name in elsewhere):
        return ""
    word = domain_word(own[0].key) or own[0].key
    runs = f"the VM itself runs in its {word} until the migration ends, so its required anti-affinity rejects the target pod there"
    return f"{runs}; require the anti-affinity over {HOSTNAME}, or prefer it over {own[0].key}"


class Evacuation:
    """The pods of a schedule while nodes lose them: which are evicted, recreated and live-migrated so far, and where they run now."""

    def __init__(self, drains: Drains, cluster: Cluster, *, force: bool = False) -> None:
        """Begin with the pods in `cluster`, which is not changed. With `force`, pods without a controller are evicted, too."""
        self._force = force
        self.happenings: list[Happening] = []
        self.drains = drains
        self.situation = situation = drains.situation
        self.disruptions = drains.disruptions
        self.cluster = cluster.copy()
        self.unavailable: tuple[str, ...] = ()
        """The nodes that are cordoned or have failed: explanations do not mention them."""
        self.healthy: dict[int, int] = {}
        self._lingering: dict[PodKey, tuple[Pod, str]] = {}
        """Evicted from a node that is unavailable, where nothing ends them."""
        self._unready = dict(self.disruptions.unready)
        self.recreated: dict[PodKey, Pod] = {}
        """Evicted, and to be recreated."""
        self.ended: dict[PodKey, ReplicaEnd] = {}
        self.frozen: dict[PodKey, str] = {}
        self.placed: dict[PodKey, str] = {}
        self.late: set[PodKey] = set()
        """Scheduled only when the scheduler retries pods that no event has made schedulable."""
        self.migrated: dict[PodKey, str] = {}
        self.pending: dict[PodKey, Mapping[str, str]] = {}
        self.running = {placed.pod_source.key: len(placed.running) for placed in situation.arrangement.workloads}
        self.gaps: set[str] = set()
        self.waiting = {pod.key: pod for pod in situation.waiting}
        self.blocked: list[Blocked] = []
        self.notes: list[str] = []
        self.victims: dict[PodKey, Victim] = {}
        """Preempted by pods that were evicted before."""
        self.preempted: list[PodKey] = []
        """All of these, in order; a pod may be preempted several times."""

    def drain(self, nodes: Sequence[str]) -> None:
        """Cordon the nodes, then evict their pods, one node after another, until a node keeps some."""
        self.cordon(nodes)
        for number, node in enumerate(nodes):
            stuck = self.empty((node,))
            self.blocked += stuck
            # kubectl continues with the next node if it cannot drain one, and waits for pods whose eviction it retries.
            if not all(each.refused for each in stuck):
                after = nodes[number + 1 :]
                if after:
                    are = "node is" if len(after) == 1 else "nodes are"
                    self.notes.append(f"the drain stops at {node}: {len(after)} further {are} only cordoned")
                break

    def effect(self, failure: Disruption, action: Action, down: frozenset[str] = frozenset()) -> DisruptionEffect:
        """Return the effect of all that happened so far. ``down`` are the nodes whose DaemonSet pods stop."""
        attempt = Attempt(self.placed, self.pending, {})
        moves = self.situation.moves(self.cluster, self.recreated, self.ended, attempt, self.frozen, self.unavailable, self.migrated)
        late = {(self._title(identity), identity[1]) for identity in self.late}
        moves = [move._replace(after=RETRY) if (move.workload, move.pod) in late else move for move in moves]
        running = self.situation.running_again(self.cluster, self.placed)
        outcomes = self.situation.outcomes(moves, running, down, self.gaps)
        left = self.situation.left(moves, running)
        preempted = self.situation.preempted(self.victims.values(), self.placed)
        blocked, notes = tuple(self.blocked), tuple(self.notes)
        return DisruptionEffect(failure.what, failure.nodes, tuple(moves), outcomes, action, blocked, notes, left=left, preempted=preempted)

    def cordon(self, nodes: Iterable[str]) -> None:
        """Cordon nodes."""
        table = self.cluster.table
        self.cluster = self.cluster.changed([cordoned(table.nodes[table.numbers[node]]) for node in nodes])
        self.unavailable = (*self.unavailable, *nodes)

    def empty(self, nodes: Sequence[str]) -> list[Blocked]:
        """Evict the pods of cordoned nodes until nothing changes; return those that remain, with the reasons."""
        there = [(pod, node) for node in nodes for pod in self.cluster.evicted((node,)) if not self.situation.pod_replacement(pod).by_node]
        alone = [(pod, node) for pod, node in there if pod.controller is None]
        if alone and not self._force:
            return [self._blocked(pod, node, UNMANAGED, refused=True) for pod, node in alone]
        for node in nodes:
            self._wait_for_the_deleted(node)
        progress, mark = True, len(self.preempted)
        while progress and there:
            before, placed = len(there), len(self.placed)
            gone = set(self.preempted[mark:])
            there = [(pod, node) for pod, node in there if pod.key not in gone and not self.evict_or_migrate(pod, node)]
            self.replace_missing()
            progress = len(there) < before or len(self.placed) > placed
        lingering = [self._blocked(pod, node, LINGERS) for pod, node in self._lingering.values() if node in nodes]
        return [*lingering, *[self._blocking_reason(pod, node) for pod, node in there]]

    def _wait_for_the_deleted(self, node: str) -> None:
        """Remove the pods that are being deleted on a node, which needs no eviction, and create the pods that waited for that."""
        if self._is_silent(node):
            return
        for pod in self.cluster.ending((node,)):
            self.cluster.unbind(pod)
        self.recreated.update(self.situation.released((node,)))
        self.replace_missing()

    def _is_silent(self, node: str) -> bool:
        return is_silent(self.cluster.table.nodes[self.cluster.table.numbers[node]])

    # --- one pod -------------------------------------------------------------------------------------------------------

    def evict_or_migrate(self, pod: Pod, node: str) -> bool:
        """Evict or live-migrate a pod; return whether this is possible now."""
        eviction = self.drains.eviction(pod)
        if eviction.what != "allowed":
            return eviction.what == "migrates" and self._migrate(pod, node)
        if self._is_silent(node):
            self._unready.setdefault(pod.key, "")
        budgets = self.disruptions.of(pod)
        phase = self._unready.get(pod.key)
        if phase != PENDING and (len(budgets) > 1 or not all(self._is_allowed(each, unready=phase is not None) for each in budgets)):
            return False
        self._evict(pod, node)
        return True

    def _migrate(self, pod: Pod, node: str) -> bool:
        wanted = migration_target(pod, self.cluster, node)
        owner = self.situation.owners.get(pod.key)
        more = {wanted.key: owner.pod_source} if owner is not None else {}
        recreated = {*self.recreated, *self.victims}
        attempt = schedule(self.cluster, [wanted], self.situation.arrangement.standings(recreated, self.frozen, more))
        target = attempt.nodes.get(wanted.key)
        if target is None:
            return False
        self._make_room(attempt)
        self.cluster.unbind(pod)
        self.cluster.bind(pod, target)
        self.migrated[pod.key] = target
        self._note("migrated", pod)
        return True

    def _note(self, what: Literal["evicted", "created", "migrated"], pod: Pod) -> None:
        key = self.situation.titles.get(pod.key)
        if key is not None:
            self.happenings.append(Happening(what, key, pod.key))

    def stop(self, pod: Pod) -> None:
        """Count a pod that no longer runs."""
        was_ready = self._unready.pop(pod.key, None) is None
        # A budget does not block others because of a replacement that is not simulated.
        if was_ready and pod.key not in self.situation.unjudged:
            self._count_healthy(pod, -1)
        key = self.situation.titles.get(pod.key)
        if key is not None and pod.key not in self.situation.by_key[key].waits:
            self._note("evicted", pod)
            self.running[key] -= 1
            if not self.running[key]:
                self.gaps.add(key)

    def _evict(self, pod: Pod, node: str) -> None:
        identity, pod_replacement = pod.key, self.situation.pod_replacement(pod)
        self.cluster.unbind(pod)
        lingers = self._is_silent(node)
        if lingers:
            self.cluster.bind(terminating(pod), node)
            self._lingering[identity] = pod, node
        self.stop(pod)
        self.placed.pop(identity, None)
        pinned = self.situation.pinned(pod)
        if pod_replacement.replaced == "never" or not pod_replacement.after_shutdown:
            self.ended[identity] = self.situation.never_again(pod)
        elif lingers and pod_replacement.replaced == "gone":
            self.ended[identity] = ReplicaEnd("held", HELD)
        elif pinned:
            self.ended[identity] = ReplicaEnd("waits", f"its spec.nodeName is {pinned}")
        else:
            self.recreated[identity] = pod

    def _make_room(self, attempt: Attempt) -> None:
        """Remove the pods that are preempted; those that are recreated are scheduled like evicted ones."""
        self.situation.make_room(self.cluster, attempt, self.recreated, self.ended)
        for victim in attempt.victims:
            if victim.pod.subject.terminating:
                continue
            self.victims.setdefault(victim.pod.key, victim)
            self.preempted.append(victim.pod.key)
            self.placed.pop(victim.pod.key, None)
            self.migrated.pop(victim.pod.key, None)
            self.stop(victim.pod)

    def replace_missing(self) -> None:
        """Schedule the evicted pods, and those that were Pending before."""
        missing = {identity: pod for identity, pod in self.recreated.items() if identity not in self.placed}
        if not missing:
            return
        self.frozen = {}
        attempt = self.situation.again(self.cluster, missing, self.frozen, self.placed)
        self.pending = attempt.pending
        self._make_room(attempt)
        for identity, node in attempt.nodes.items():
            pod = self.recreated.get(identity) or self.waiting[identity]
            if identity in self.recreated and self._waits_for_retry(pod):
                self.late.add(identity)
            self.cluster.bind(pod, node)
            self.placed[identity] = node
            self._count_healthy(pod, 1)
            key = self.situation.titles.get(identity)
            if key is not None:
                self._note("created", pod)
                self.running[key] += 1

    def _waits_for_retry(self, pod: Pod) -> bool:
        """Return whether a new pod that is created during the drain stays Pending until the scheduler retries it.

        Pods may be the first that required affinity to themselves selects, but not while evicted pods still terminate; and the deletion of
        those makes no pod schedulable (isSchedulableAfterPodChange, pkg/scheduler/framework/plugins/interpodaffinity).
        """
        terms = parsed_terms(pod.affinity)
        if not terms or not all(selects(term, pod, self.cluster.directory) for term in terms):
            return False
        here = {identity for identity in self.late if self.situation.titles.get(identity) == self.situation.titles.get(pod.key)}
        return bool(here) or not self.cluster.companions(terms)

    # --- budgets -------------------------------------------------------------------------------------------------------

    def _is_allowed(self, budget: int, *, unready: bool) -> bool:
        """Return whether a budget allows an eviction now; of a pod that is not ready, by the policy for these pods, too."""
        status, healthy = self.disruptions.covered[budget], self.healthy.get(budget)
        return status.allowed(healthy) > 0 or (unready and status.allows_unready(healthy))

    def _count_healthy(self, pod: Pod, step: int) -> None:
        for budget in self.disruptions.of(pod):
            self.healthy[budget] = self.healthy.get(budget, self.disruptions.covered[budget].healthy) + step

    # --- results ------------------------------------------------------------------------------------------------------

    def _blocking_reason(self, pod: Pod, node: str) -> Blocked:
        """Return why a pod does not leave its node."""
        eviction = self.drains.eviction(pod)
        if eviction.why:
            return self._blocked(pod, node, eviction.why)
        if eviction.what == "migrates":
            target = migration_target(pod, self.cluster, node)
            reasons = next(iter(schedule(self.cluster, [target]).pending.values()), {})
            why = self.situation.why(self.cluster, target, self._key(pod), reasons, failed=self.unavailable)
            own = own_separation(pod, self.cluster, node)
            return self._blocked(pod, node, f"it cannot be live-migrated to any node{f': {why}' if why else ''}{f'; {own}' if own else ''}")
        budgets = [self.disruptions.covered[each] for each in self.disruptions.of(pod)]
        if len(budgets) > 1:
            return self._blocked(pod, node, TWO_BUDGETS + ", ".join(each.budget.name for each in budgets), refused=True)
        number = self.disruptions.of(pod)[0]
        healthy = self.healthy.get(number, budgets[0].healthy)
        why = budgets[0].arithmetic(healthy)
        if budgets[0].allowed() > 0:
            why += ", until the evicted pods are scheduled"
        return self._blocked(pod, node, why)

    def _blocked(self, pod: Pod, node: str, why: str, *, refused: bool = False) -> Blocked:
        return Blocked(self._key(pod), pod.name, node, why, refused)

    def _key(self, pod: Pod) -> str:
        return self._title(pod.key)

    def _title(self, identity: PodKey) -> str:
        return self.situation.titles.get(identity, "")
