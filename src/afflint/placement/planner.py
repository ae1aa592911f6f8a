"""Creates the plan of `afflint place`: a schedule of all workloads, a verdict on every node, and the effects of disruptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import Eviction, unknown_strategy_note
from afflint.controllers.pod_source import PodSource
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.steps import begin, counted, counted_results
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import NodeClass
from afflint.kube.node_labels import ZONE
from afflint.kube.selectors import describe
from afflint.kube.taints import Taint, format_taint
from afflint.placement.applications import applications, with_applications
from afflint.placement.autoscaling import scale_pools
from afflint.placement.effects import preempted_pods
from afflint.placement.evictions import Evictions, migration_target
from afflint.placement.failures import SHORT_KEYS, UnknownLossError, label_key, no_such_label
from afflint.placement.plan import (
    Application,
    DescheduleEffect,
    DisruptionEffect,
    NodeRow,
    Plan,
    PoolRow,
    Preempted,
    RolloutEffect,
    SharedNode,
    Stage,
    UpgradeEffect,
    Violation,
    WorkloadPlan,
    unevaluated_words,
)
from afflint.placement.plan_notes import drain_notes, inventory_notes, pool_notes, resource_notes, waiting_notes
from afflint.placement.present import present_state
from afflint.placement.rejections import Rejections
from afflint.placement.restarts import preferred_restarts
from afflint.placement.scenarios import Scenarios, combinations, stages
from afflint.placement.schedule import PlacedWorkload, Schedule, build_schedule, schedule_pods
from afflint.placement.schedule_index import ScheduleIndex
from afflint.placement.workload_plans import WorkloadPlans
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_fit import NODE_AFFINITY, NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey, parsed_terms
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD
from afflint.workers import PerProcess, Workers

if TYPE_CHECKING:
    from afflint.placement.preemption import PreemptionRules

if TYPE_CHECKING:
    from afflint.placement.descheduler_policy import DeschedulerPolicy
    from afflint.placement.upgrade_pools import UpgradeRequest


class DisruptionRequest(NamedTuple):
    """The nodes that fail, are drained and are removed, each in the syntax that ``failures`` parses."""

    lose: Sequence[str] = ()
    drain: Sequence[str] = ()
    remove: Sequence[str] = ()
    together: bool = False
    """Whether all of them are one disruption."""
    upgrade: UpgradeRequest | None = None
    """The node pools that are upgraded."""
    deschedule: Sequence[DeschedulerPolicy] = ()
    """The policies of deschedulers that run."""

    @property
    def drains(self) -> bool:
        """Whether pods are evicted."""
        return bool(self.drain or (self.upgrade is not None and self.upgrade.names) or self.deschedule)

    @property
    def is_any(self) -> bool:
        """Whether any disruption is requested."""
        return self.drains or bool(self.lose or self.remove)

    @property
    def by_action(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """The values for failures, drains and removals."""
        return self.lose, self.drain, self.remove


NOTHING = DisruptionRequest()
_HERE = Workers()
_WORTH_PROCESSES = 2_000_000
_DISRUPTING = "simulating failures and drains"
"""From this number of disruptions times pods, other processes pay: each of them has to schedule all pods first."""
_NONE: Mapping[PodKey, Eviction] = {}


def make_plan(
    inventory: Inventory,
    pod_sources: Sequence[PodSource],
    group_by: str = ZONE,
    asked: DisruptionRequest = NOTHING,
    name_of: Callable[[FileId], str] = str,
    budgets: Sequence[Budget] = (),
    evictions: Mapping[PodKey, Eviction] = _NONE,
    classes: Sequence[NodeClass] = (),
    group_label: str = "",
    roll: Sequence[str] = (),
    workers: Workers = _HERE,
) -> Plan:
    """Schedule all workloads, evaluate every node for each of them, and simulate the requested disruptions.

    ``classes`` are node pools that grow if pods need nodes. ``asked`` are the disruptions, ``budgets`` the PodDisruptionBudgets of a drain,
    ``evictions`` the known results of evicting running pods, ``roll`` the workloads that are rolled out (see ``chosen_workloads``);
    ``name_of`` returns the name of a file. ``group_label`` is the pod label that applications are grouped by; ``workers`` simulate some of
    many failures, drains and removals. Raises InventoryError for an invalid inventory, UnknownLossError for unknown nodes or a key to group
    by that no node has, UserError for a pod label that no workload has, or an unknown workload, and WorkerDiedError.
    """
    inventory, grown = _grown(inventory, pod_sources, classes)
    schedule = build_schedule(inventory, pod_sources)
    key = _grouping_key(schedule, group_by)
    grouped = applications(schedule.workloads, inventory.services, budgets, group_label)
    again = partial(_evictions, inventory, pod_sources, budgets, evictions)
    simulations = _Simulations(schedule, asked, again, workers)
    against = tuple(violations(schedule, simulations.evictions.of)) if inventory.pods else ()
    violating = {(each.workload, each.pod) for each in against}
    views = WorkloadPlans(schedule, inventory, name_of, violating, key=key, drained=asked.drains, disrupted=asked.is_any)
    workloads = tuple(views.plans())
    losses = simulations.losses(grouped, workloads, grows=bool(classes))
    preempted = _preempted(schedule)
    rows = tuple([_row(node, key, grown.get(node.name, "")) for node in schedule.before.table.nodes])
    notes = (
        *inventory_notes(inventory, pod_sources, len(preempted)),
        *drain_notes(inventory, {node for each in losses if each.action == "drain" for node in each.nodes}),
        *waiting_notes(workloads),
        *_unevaluated_notes(losses),
        *filter(None, [unknown_strategy_note(pod_sources) if asked.drains else ""]),
        *resource_notes(schedule, inventory),
        *pool_notes(rows, key, happening=bool(losses)),
    )
    return Plan(
        key,
        rows,
        workloads,
        losses,
        notes,
        tuple([_pool_row(each, list(grown.values()).count(each.title), name_of) for each in classes]),
        violations=against,
        restarts=tuple(preferred_restarts(schedule, violating)) if inventory.pods else (),
        applications=grouped,
        preempted=preempted,
        upgrades=simulations.upgrades(grouped, key, grown, inventory.nodes),
        descheduling=simulations.descheduling(against),
        rollouts=_rollouts(schedule, inventory, key, roll) if roll else (),
        now=present_state(simulations.evictions, grouped, key, views.scattered) if inventory.pods else None,
    )


def _grown(inventory: Inventory, pod_sources: Sequence[PodSource], classes: Sequence[NodeClass]) -> tuple[Inventory, Mapping[str, str]]:
    """Return the inventory with the nodes that pools create for Pending pods, and the title of the pool of each of these nodes."""
    if not classes:
        return inventory, {}
    inventory, made = scale_pools(inventory, pod_sources, classes)
    return inventory, {node: classes[number].title for node, number in made.items()}


def _grouping_key(schedule: Schedule, group_by: str) -> str:
    """Return the label key that nodes are grouped by. Raises UnknownLossError."""
    key = label_key(schedule.before, group_by)
    # A well-known key may be missing from all nodes; any other key must be a mistake.
    if key not in SHORT_KEYS.values() and schedule.before.nodes and not schedule.before.label(key):
        raise UnknownLossError(no_such_label(schedule.before, key))
    return key


class _Simulations:
    """The requested disruptions of one schedule."""

    def __init__(self, schedule: Schedule, asked: DisruptionRequest, again: Callable[..., Evictions], workers: Workers) -> None:
        """``again`` returns what decides about evictions, in another process, too; its argument is the schedule if that is known."""
        self._schedule = schedule
        self._asked = asked
        self._again = again
        self._workers = workers

    @cached_property
    def evictions(self) -> Evictions:
        """What decides about evictions."""
        return self._again(self._schedule)

    def losses(self, grouped: Sequence[Application], workloads: Sequence[WorkloadPlan], *, grows: bool) -> tuple[DisruptionEffect, ...]:
        """Return the effects of failures, drains and removals, with those on applications. ``grows``: pools may create nodes."""
        if not any(self._asked.by_action):
            return ()
        by_key = {each.key: each for each in workloads}
        unknown_volumes = frozenset(each.key for each in workloads if each.volumes)
        evaluates = not workloads or not all(each.unjudged for each in workloads)
        simulated = (each._replace(evaluates=evaluates) for each in self._simulated())
        found = (_with_limitations(each, self.evictions.schedule_index, unknown_volumes) for each in simulated)
        return tuple([with_shared_nodes(with_applications(each, grouped, by_key), grouped, by_key, grows=grows) for each in found])

    def _simulated(self) -> Iterator[DisruptionEffect]:
        listed = combinations if self._asked.together else stages
        disruptions: Sequence[Stage | tuple[Stage, ...]] = listed(self._schedule.before, self._asked.by_action)
        simulate = Scenarios(self.evictions).simulate
        if len(disruptions) * len(self.evictions.schedule_index.where) < _WORTH_PROCESSES:
            return map(simulate, counted(_DISRUPTING, disruptions))
        results = self._workers.map(partial(_simulate, PerProcess(self._again)), disruptions, simulate)
        return iter(counted_results(_DISRUPTING, results, len(disruptions)))

    def upgrades(
        self, grouped: Sequence[Application], key: str, grown: Mapping[str, str], nodes: Sequence[object]
    ) -> tuple[UpgradeEffect, ...]:
        """Return the effects of upgrades. ``grown`` has the titles of the pools of new nodes, ``nodes`` are those of the inventory."""
        asked = self._asked.upgrade
        if asked is None or not asked.names:
            return ()
        from afflint.placement.node_upgrade import NodeUpgrades
        from afflint.placement.upgrade_pools import pools_to_upgrade, unavailable_nodes

        begin("simulating upgrades")
        simulated = NodeUpgrades(self.evictions, grouped, key, unavailable_nodes(nodes))
        return tuple([simulated.upgrade(name, pools) for name, pools in pools_to_upgrade(self._schedule.before, asked, grown)])

    def descheduling(self, against: Sequence[Violation]) -> tuple[DescheduleEffect, ...]:
        """Return what the deschedulers do, and why they leave pods that violate rules where they are."""
        if not self._asked.deschedule:
            return ()
        from afflint.placement.descheduling import Descheduling

        descheduling = Descheduling(self.evictions, against)
        return tuple(map(descheduling.simulate, counted("simulating deschedulers", self._asked.deschedule)))


def _evictions(
    inventory: Inventory,
    pod_sources: Sequence[PodSource],
    budgets: Sequence[Budget],
    evictions: Mapping[PodKey, Eviction],
    schedule: Schedule | None = None,
) -> Evictions:
    """Return what decides about evictions of the pods of a schedule, which is computed if it is not given."""
    return Evictions(ScheduleIndex(schedule or build_schedule(inventory, pod_sources)), budgets, evictions)


def _simulate(evictions: PerProcess[Evictions], disruption: Stage | tuple[Stage, ...]) -> DisruptionEffect:
    return Scenarios(evictions.get()).simulate(disruption)


def _unevaluated_notes(losses: Sequence[DisruptionEffect]) -> list[str]:
    """Return a note about the running pods on disrupted nodes whose future is unknown."""
    pods = list(dict.fromkeys(pod for loss in losses for pod in loss.unevaluated))
    return [unevaluated_words(pods, {pod for loss in losses for pod in loss.unjudged})] if pods else []


def _preempted(schedule: Schedule) -> tuple[Preempted, ...]:
    """Return the running pods that are preempted in a schedule, in the order of the workloads."""
    found = [(victim, placed) for placed in schedule.workloads for victim in placed.victims.values()]
    if not found:
        return ()
    titles = {identity: placed.pod_source.key for identity, placed in schedule.owners.items()}
    nodes = {identity: node for _, placed in found for identity, node in placed.nodes.items()}
    return preempted_pods([victim for victim, _ in found], titles, nodes)


def _rollouts(schedule: Schedule, inventory: Inventory, key: str, roll: Sequence[str]) -> tuple[RolloutEffect, ...]:
    from afflint.placement.rollouts import ClusterSettings, Rollouts, chosen_workloads, deletion_costs

    chosen = chosen_workloads(schedule.workloads, roll)
    settings = ClusterSettings(inventory.version, inventory.feature_gates, deletion_costs(inventory.pods))
    rollouts = Rollouts(schedule, key, settings)
    return tuple([rollouts.roll(placed) for placed in counted("simulating rollouts", chosen)])


def _with_limitations(loss: DisruptionEffect, schedule_index: ScheduleIndex, bound_by_volumes: Collection[str]) -> DisruptionEffect:
    """Add what the result of a disruption does not cover: pods without a manifest, and the volumes of workloads that move."""
    blocked = {(each.pod, each.node) for each in loss.blocked if not each.workload}
    left_out = [
        (namespace, pod)
        for namespace, pod in schedule_index.unevaluated(loss.nodes)
        if (pod, schedule_index.where[namespace, pod]) not in blocked
    ]
    unevaluated = [f"{namespace}/{pod}" for namespace, pod in left_out]
    unjudged = frozenset([f"{namespace}/{pod}" for namespace, pod in left_out if (namespace, pod) in schedule_index.unjudged])
    moved = dict.fromkeys(move.workload for move in loss.moves if move.target is not None and move.workload in bound_by_volumes)
    removed = loss.removed and _with_limitations(loss.removed._replace(evaluates=loss.evaluates), schedule_index, bound_by_volumes)
    return loss._replace(unevaluated=tuple(unevaluated), volumes=tuple(moved), removed=removed, unjudged=unjudged)


def _row(node: Node, key: str, pool: str) -> NodeRow:
    return NodeRow(node.name, node.labels.get(key), node.unschedulable, _shown(node.taints), node.labels, pool)


def _shown(taints: Sequence[Taint]) -> tuple[str, ...]:
    return tuple(map(format_taint, taints))


def _pool_row(pool: NodeClass, nodes: int, name_of: Callable[[FileId], str]) -> PoolRow:
    assert pool.known is not None
    declared = pool.known.pool
    labels = tuple([describe(label.requirement) for label in declared.labels if label.path])
    return PoolRow(
        pool.name, pool.title, declared.cluster, pool.least, pool.count, nodes, _shown(pool.taints), labels, name_of(declared.site.file)
    )


# Running pods on nodes where the scheduler would not put them now, and what would bring them to other nodes.
# Rules count when a pod is scheduled. A label, a taint or a rule that changes later leaves running pods where they are.


# The strategies of the descheduler (sigs.k8s.io/descheduler, pkg/framework/plugins) by the rule that a pod violates.
_STRATEGIES = {
    NODE_AFFINITY: "RemovePodsViolatingNodeAffinity",
    TAINT_TOLERATION: "RemovePodsViolatingNodeTaints",
    POD_TOPOLOGY_SPREAD: "RemovePodsViolatingTopologySpreadConstraint",
    INTER_POD_AFFINITY: "RemovePodsViolatingInterPodAntiAffinity",
}
# Taints that Kubernetes sets by itself: a cordon, or the condition of a node.
_AUTOMATIC = "node.kubernetes.io/"


class _Place(NamedTuple):
    """A pod that cannot be scheduled where it runs: the pod with its rules of today, its node and the plugin that rejects it."""

    placed: PlacedWorkload
    pod: Pod
    ruled: Pod
    node: str
    plugin: str


def violations(schedule: Schedule, eviction_of: Callable[[Pod], Eviction]) -> Iterator[Violation]:
    """Yield the running pods that their own required rules, or the anti-affinity of others, keep from their node, in order.

    Cordons, the conditions of nodes and resources are not rules of a pod. Pods of DaemonSets are left out, whose controller names the
    node. ``eviction_of`` returns the effect of evicting a pod.
    """
    workloads = [placed for placed in schedule.workloads if placed.stays and not placed.pod_source.daemon]
    if not workloads:
        return
    running = [(placed, pod) for placed in workloads for pod in placed.pods if pod.key in placed.stays]
    real, titles = schedule.cluster.copy(), dict[PodKey, str]()
    nodes = real.table.nodes
    ready = [changed for node, changed in zip(nodes, map(_ready, nodes), strict=True) if node is not changed]
    cluster = real.changed(ready) if ready else real.copy()
    for placed in schedule.workloads:
        for pod in placed.pods:
            if pod.key in placed.nodes and pod.key not in placed.stays:
                cluster.unbind(pod)
    for placed, pod in running:
        node = placed.nodes[pod.key]
        cluster.unbind(pod)
        # A VM may have got other rules while it runs, which its pod does not have.
        ruled = placed.migrated.get(pod.key, pod)
        plugin = cluster.rejection(ruled, node)
        if plugin in _STRATEGIES:
            titles = titles or {identity: each.pod_source.key for identity, each in schedule.owners.items()}
            restarts = _Restarts(real, schedule.preemption, eviction_of)
            yield _violation(_Place(placed, pod, ruled, node, plugin), cluster, titles, restarts)
        cluster.bind(pod, node)


def _ready(node: Node) -> Node:
    """Return the node without what does not concern the rules of pods: cordons and conditions."""
    taints = tuple([taint for taint in node.taints if not taint.key.startswith(_AUTOMATIC)])
    return node if taints == node.taints and not node.unschedulable else node._replace(taints=taints, unschedulable=False)


class _Restarts(NamedTuple):
    """Where pods come to run: the cluster with all pods, what decides about preemption, and the effect of evicting a pod."""

    real: Cluster
    preemption: Callable[..., PreemptionRules | None]
    eviction_of: Callable[[Pod], Eviction]


def _violation(place: _Place, cluster: Cluster, titles: Mapping[PodKey, str], restarts: _Restarts) -> Violation:
    """Describe a violation. The pod is bound in the real cluster, and not in ``cluster``, where all nodes are ready."""
    placed, pod, ruled, node, plugin = place
    real, key = restarts.real, placed.pod_source.key
    why = Rejections(cluster, ruled, titles, key).phrase(node, plugin).one
    recreated = placed.pod_source.pod_replacement.replaced != "never" and not placed.pod_source.bare
    migrates = placed.pod_source.kubevirt and restarts.eviction_of(pod).what == "migrates"
    migration = restart = None
    if migrates:
        # The source of a live migration counts until the target runs.
        target = migration_target(pod, real, node, placed)
        preemption = restarts.preemption(more={target.key: placed.pod_source})
        migration = schedule_pods(real, [target], preemption).nodes.get(target.key)
    if recreated:
        real.unbind(pod)
        restart = schedule_pods(real, [placed.recreated.get(pod.key, pod)], restarts.preemption((pod.key,))).nodes.get(pod.key)
        real.bind(pod, node)
    return Violation(pod.name, key, node, why, plugin, recreated, restart, migrates, migration, _strategy(place, cluster))


def _strategy(place: _Place, cluster: Cluster) -> str | None:
    """Return the strategy of the descheduler for a violation; None for pod affinity, which none enforces, and for rules the pod lacks."""
    if place.ruled is not place.pod and cluster.rejection(place.pod, place.node) != place.plugin:
        return None
    terms = parsed_terms(place.pod.affinity)
    apart = place.plugin != INTER_POD_AFFINITY or not terms or cluster.table.numbers[place.node] in cluster.companions(terms)
    return _STRATEGIES[place.plugin] if apart else None


# Replicas that ran on different nodes before a disruption and share a node after it: the next failure takes several of them.


_NODE_RULES = frozenset([NODE_AFFINITY, NODE_NAME, NODE_UNSCHEDULABLE, TAINT_TOLERATION])
"""The plugins whose rejection of a node does not depend on other pods."""


def with_shared_nodes(
    loss: DisruptionEffect, applications: Sequence[Application], workloads: Mapping[str, WorkloadPlan], *, grows: bool
) -> DisruptionEffect:
    """Add the nodes that replicas share after a disruption. ``workloads`` is by key; ``grows``: a node pool may create other nodes."""
    removed = loss.removed and with_shared_nodes(loss.removed, applications, workloads, grows=grows)
    return loss._replace(removed=removed, shared=tuple(_shared(loss, applications, workloads, grows=grows)))


def _shared(
    loss: DisruptionEffect, applications: Sequence[Application], workloads: Mapping[str, WorkloadPlan], *, grows: bool
) -> Iterator[SharedNode]:
    """Yield the node with the most replicas of each workload, and of each application whose workloads have one replica each."""
    moving = {move.workload for move in loss.moves if move.target is not None and move.workload in workloads}
    if not moving:
        return
    single = [each for each in applications if all(len(workloads[key].replicas) == 1 for key in each.workloads)]
    for application in single:
        if not moving.isdisjoint(application.workloads):
            yield from _shared_by(loss, application.name, [workloads[key] for key in application.workloads], proves=False)
    for key in dict.fromkeys(move.workload for move in loss.moves):
        if key in moving and len(workloads[key].replicas) > 1:
            yield from _shared_by(loss, "", [workloads[key]], proves=not grows)


def _shared_by(loss: DisruptionEffect, application: str, workloads: Sequence[WorkloadPlan], *, proves: bool) -> Iterator[SharedNode]:
    before: dict[tuple[str, str], str | None] = {
        (each.key, replica.pod): replica.node for each in workloads for replica in each.replicas if replica.node and not replica.why
    }
    if len(set(before.values())) < len(before):
        return
    keys, lost = tuple([each.key for each in workloads]), set(loss.nodes) - loss.drained
    moves = [move for move in loss.moves if move.workload in keys]
    after = {pod: node for pod, node in before.items() if node not in lost}
    staying = {node for pod, node in after.items() if pod not in {(move.workload, move.pod) for move in moves}}
    after.update({(move.workload, move.pod): move.target for move in moves})
    counts = Counter(sorted(node for node in after.values() if node is not None))
    [(node, number)] = counts.most_common(1)
    if number > 1:
        # A pigeonhole: more replicas are created again than other nodes may ever take one.
        usable = {verdict.node for verdict in workloads[0].verdicts if verdict.reason not in _NODE_RULES} - staying - set(loss.nodes)
        created = [move for move in moves if move.target is not None]
        all_run = counts.total() == len(workloads[0].replicas)
        always = proves and all_run and len(created) > len(usable) and all(move.fate == "recreated" for move in created)
        yield SharedNode(application, keys, node, number, counts.total(), always)
