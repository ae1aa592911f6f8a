"""Rolling upgrades of node pools: nodes are drained in order, restarted or replaced, and take pods again.

Semantics: the node controller of machine-config-operator (pkg/controller/node), rolling updates of a MachineDeployment of Cluster API, and
drift of Karpenter. All of them evict pods without a controller, too. Here they wait for PodDisruptionBudgets without a time limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import HOSTNAME
from afflint.kube.taints import CORDON
from afflint.placement.cluster_state import ClusterState
from afflint.placement.draining import Drain
from afflint.placement.effects import effect
from afflint.placement.evictions import Evictions
from afflint.placement.plan import Application, Blocked, DomainChange, Outage, PoolUpgrade, ReplicaMove, UpgradedReplica, UpgradeEffect
from afflint.placement.upgrade_pools import UpgradePool, capacity_words, skipped_words
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod

NEW = "-new"
"""What the name of a new node adds to the name of the node that it replaces."""


class NodeUpgrades:
    """The upgrades that are simulated on one schedule."""

    def __init__(self, evictions: Evictions, applications: Sequence[Application], key: str, unavailable: Mapping[str, str]) -> None:
        """``key`` is the node label that places of replicas are counted by; ``unavailable`` is the result of ``unavailable_nodes``."""
        self._evictions = evictions
        self._unavailable = unavailable
        self._schedule_index = evictions.schedule_index
        self._applications = applications
        self._key = key

    def upgrade(self, what: str, pools: Sequence[UpgradePool]) -> UpgradeEffect:
        """Upgrade pools one after another, each in the state that the one before it leaves."""
        state = ClusterState(self._evictions)
        outages = _Outages(self._applications, state)
        done = []
        for pool in pools:
            done.append(_PoolRun(state, pool, outages, self._unavailable).run())
        if not all(each.completes for each in done):
            done = list(self._with_further(pools, done))
        nodes = tuple(node for pool in pools for node in pool.nodes)
        found = effect(state, what, nodes, "drain")
        replicas = tuple(_replicas(found.moves, state))
        left_out = self._schedule_index.unevaluated(frozenset(nodes))
        unevaluated = tuple([f"{namespace}/{pod}" for namespace, pod in left_out])
        unjudged = frozenset([f"{namespace}/{pod}" for namespace, pod in left_out if (namespace, pod) in self._schedule_index.unjudged])
        return UpgradeEffect(
            what,
            tuple(done),
            replicas,
            tuple(outages.found.values()),
            tuple(self._domain_changes(state, replicas)),
            unevaluated,
            found.left,
            unjudged=unjudged,
            events=found.events,
        )

    def _with_further(self, pools: Sequence[UpgradePool], done: Sequence[PoolUpgrade]) -> Iterator[PoolUpgrade]:
        """Add the pods that stop the upgrade later, in a second run that takes each obstacle away while its node is upgraded."""
        state = ClusterState(self._evictions)
        outages = _Outages(self._applications, state)
        for pool, upgrade in zip(pools, done, strict=True):
            known = {(each.pod, each.node) for each in upgrade.blocked}
            found = _PoolRun(state, pool, outages, {}, clears=True).run().blocked
            yield upgrade._replace(further=tuple([each for each in found if (each.pod, each.node) not in known]))

    def _domain_changes(self, state: ClusterState, replicas: Iterable[UpgradedReplica]) -> Iterable[DomainChange]:
        """Yield in which domains the replicas of each workload ran before, and run in the end, where that differs."""
        start = self._schedule_index.schedule.cluster
        before, after = start.label(self._key), state.cluster.label(self._key)
        there = state.cluster.pods
        for key in dict.fromkeys(replica.workload for replica in replicas):
            placed = self._schedule_index.by_key[key]
            old = Counter(before.get(placed.nodes[pod], "") for pod in placed.running)
            new = Counter(after.get(there[pod.key], "") for pod in placed.pods if pod.key in there)
            if old != new:
                yield DomainChange(key, dict(sorted(old.items())), dict(sorted(new.items())))


class _Outages:
    """Finds the applications that have fewer running replicas while nodes are upgraded.

    A replica that is recreated at once does not count, unless no other one runs.
    """

    def __init__(self, applications: Sequence[Application], state: ClusterState) -> None:
        self._titles, self._log, running = state.schedule_index.titles, state.log, state.running
        self._read = 0
        members = {key: application.name for application in applications for key in application.workloads}
        self._group = {key: members.get(key, key) for key in running}
        self._running = self._sums(running)
        self._start = dict(self._running)
        self.found: dict[tuple[str, tuple[str, ...]], Outage] = {}

    def _sums(self, running: Mapping[str, int]) -> Counter[str]:
        sums = Counter[str]()
        for key, number in running.items():
            sums[self._group[key]] += number
        return sums

    def count(self, pool: str, nodes: Sequence[str]) -> None:
        """Count what the log got while ``nodes`` were drained; without nodes, what it got once they were upgraded."""
        touched: dict[str, None] = {}
        for event in self._log[self._read :]:
            if event.pod is None or event.what == "migrated":
                continue
            group = self._group[self._titles[event.pod]]
            touched[group] = None
            self._running[group] += 1 if event.what == "scheduled" else -1
            if not self._running[group]:
                self._add(group, pool, nodes)
        self._read = len(self._log)
        for group in touched:
            if self._running[group] < self._start[group]:
                self._add(group, pool, nodes)

    def _add(self, group: str, pool: str, nodes: Sequence[str]) -> None:
        if not nodes:
            return
        left = self._running[group]
        known = self.found.get((group, tuple(nodes)))
        if known is None or left < known.left:
            self.found[group, tuple(nodes)] = Outage(group, pool, tuple(nodes), left, self._start[group])


class _PoolRun:
    """The upgrade of one pool."""

    def __init__(
        self, state: ClusterState, pool: UpgradePool, outages: _Outages, unavailable: Mapping[str, str], *, clears: bool = False
    ) -> None:
        """With ``clears``, the pods that keep a node from being drained are blocked, but taken away until their node is upgraded."""
        self._state = state
        self._clears = clears
        self._away: list[tuple[Pod, str]] = []
        self._drain = Drain(state, force=True)
        self._pool = pool
        self._outages = outages
        table = state.cluster.table
        self._original = {name: table.nodes[table.numbers[name]] for name in pool.nodes}
        self._unavailable = {node: unavailable[node] for node in pool.nodes if pool.strategy.counts_cordoned and node in unavailable}
        self._waiting = [node for node in pool.nodes if node not in self._unavailable]
        self._to_create = list(pool.nodes)
        """The nodes for which no new node exists yet, if the pool replaces its nodes."""
        self._done: list[str] = []

    def run(self) -> PoolUpgrade:
        """Upgrade the nodes until all are done, or those that are drained all keep a pod."""
        pool, strategy = self._pool, self._pool.strategy
        at_once, surge = strategy.at_once(len(pool.nodes))
        usable = at_once - len(self._unavailable)
        why = "" if self._clears else strategy.held or (capacity_words(self._unavailable, at_once) if usable < 1 else "")
        blocked: list[Blocked] = []
        if not why:
            self._create(surge)
            blocked = self._roll(usable, surge)
            if self._unavailable and not blocked:
                why = skipped_words(self._unavailable)
        return PoolUpgrade(
            pool.title, pool.nodes, at_once, surge, strategy.replaces, strategy.declared, tuple(self._done), tuple(blocked), why
        )

    def _roll(self, at_once: int, surge: int) -> list[Blocked]:
        """Drain at most ``at_once`` nodes at a time; return the pods that keep the rest from being drained."""
        draining: list[str] = []
        removed: list[Blocked] = []
        while True:
            following = self._waiting[: at_once - len(draining)]
            del self._waiting[: len(following)]
            draining += following
            if not draining:
                return removed
            self._drain.cordon(following)
            stuck = self._drain.empty(draining)
            occupied = {each.node for each in stuck}
            ready = [node for node in draining if node not in occupied]
            self._outages.count(self._pool.title, draining)
            if not ready and not self._clears:
                return stuck
            if not ready:
                removed += stuck
                self._away += self._drain.take_away(draining)
                continue
            self._return(ready, surge)
            self._outages.count(self._pool.title, ())
            draining = [node for node in draining if node in occupied]

    def _return(self, nodes: Sequence[str], surge: int) -> None:
        """Let drained nodes come back, or replace them."""
        state = self._state
        self._done += nodes
        for node in nodes:
            state.record("removed" if self._pool.strategy.replaces else "ready", node)
        if self._pool.strategy.replaces:
            state.cluster = state.cluster.without(nodes)
            self._create(len(self._done) + surge - (len(self._pool.nodes) - len(self._to_create)))
        else:
            state.cluster = state.cluster.changed([self._original[node] for node in nodes])
        state.mark_available(nodes)
        new = NEW if self._pool.strategy.replaces else ""
        for pod, node in self._away:
            state.cluster.bind(pod, f"{node}{new}")
        self._away = []
        state.schedule_missing()

    def _create(self, number: int) -> None:
        """Create new nodes, each like the next one that it replaces, with the DaemonSet and static pods of that node."""
        following = self._to_create[: max(number, 0)]
        if not following or not self._pool.strategy.replaces:
            return
        del self._to_create[: len(following)]
        state = self._state
        cluster = state.schedule_index.schedule.cluster
        state.cluster = state.cluster.joined([_successor(self._original[name]) for name in following])
        for name in following:
            state.record("added", f"{name}{NEW}")
            for pod in cluster.evicted((name,)):
                if state.schedule_index.is_tied(pod):
                    state.cluster.bind(pod._replace(name=f"{pod.name}{NEW}"), f"{name}{NEW}")


def _successor(node: Node) -> Node:
    """Return the node that replaces another one: it has the same labels except for its own name, and is not cordoned."""
    name = f"{node.name}{NEW}"
    labels = {**node.labels, HOSTNAME: name} if HOSTNAME in node.labels else node.labels
    return node._replace(name=name, labels=labels, unschedulable=False, taints=tuple([each for each in node.taints if each != CORDON]))


class _Count(NamedTuple):
    evicted: int
    migrated: int


def _replicas(moves: Iterable[ReplicaMove], state: ClusterState) -> Iterable[UpgradedReplica]:
    """Yield the replicas that lost their node, with how often they did."""
    counts: dict[tuple[str, str], _Count] = {}
    for event in state.log:
        if event.pod is not None:
            key = state.schedule_index.titles[event.pod], event.pod[1]
            count = counts.get(key, _Count(0, 0))
            counts[key] = _Count(count.evicted + (event.what == "stopped"), count.migrated + (event.what == "migrated"))
    for move in moves:
        count = counts.get((move.workload, move.pod), _Count(0, 0))
        if move.source and (count.evicted or count.migrated):
            yield UpgradedReplica(move.workload, move.pod, move.source, move.target, count.evicted, count.migrated, move.why, move.fate)
