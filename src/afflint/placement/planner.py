"""Creates the plan of `afflint place`: a schedule of all workloads, a verdict on every node, and the effects of disruptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import Eviction, unknown_strategy_note
from afflint.controllers.pod_source import PodSource
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import NodeClass
from afflint.kube.node_labels import ZONE
from afflint.kube.selectors import describe
from afflint.kube.taints import Taint
from afflint.placement.applications import applications, with_applications
from afflint.placement.effects import preempted_pods
from afflint.placement.evictions import Evictions
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
    Stage,
    UpgradeEffect,
    WorkloadPlan,
    unevaluated_words,
)
from afflint.placement.plan_notes import inventory_notes, pool_notes, resource_notes
from afflint.placement.restarts import preferred_restarts
from afflint.placement.scenarios import Scenarios, combinations, stages
from afflint.placement.schedule import Schedule, build_schedule
from afflint.placement.schedule_index import ScheduleIndex
from afflint.placement.shared_nodes import with_shared_nodes
from afflint.placement.violations import violations
from afflint.placement.workload_plans import WorkloadPlans
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import PodKey
from afflint.workers import PerProcess, Workers

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
    views = WorkloadPlans(schedule, inventory.storage, name_of, violating, key=key, drained=asked.drains, disrupted=asked.is_any)
    workloads = tuple(views.plans())
    losses = simulations.losses(grouped, workloads, grows=bool(classes))
    preempted = _preempted(schedule)
    rows = tuple([_row(node, key, grown.get(node.name, "")) for node in schedule.before.table.nodes])
    notes = (
        *inventory_notes(inventory, pod_sources, len(preempted)),
        *_unevaluated_notes(losses),
        *filter(None, [unknown_strategy_note(pod_sources) if asked.drains else ""]),
        *resource_notes(schedule),
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
        upgrades=simulations.upgrades(grouped, key, grown),
        descheduling=simulations.descheduling(),
        rollouts=_rollouts(schedule, inventory, key, roll) if roll else (),
    )


def _grown(inventory: Inventory, pod_sources: Sequence[PodSource], classes: Sequence[NodeClass]) -> tuple[Inventory, Mapping[str, str]]:
    """Return the inventory with the nodes that pools create for Pending pods, and the title of the pool of each of these nodes."""
    if not classes:
        return inventory, {}
    from afflint.placement.autoscaling import scale_pools

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
            return map(simulate, disruptions)
        return self._workers.map(partial(_simulate, PerProcess(self._again)), disruptions, simulate)

    def upgrades(self, grouped: Sequence[Application], key: str, grown: Mapping[str, str]) -> tuple[UpgradeEffect, ...]:
        """Return the effects of upgrades. ``grown`` has the titles of the pools of new nodes."""
        asked = self._asked.upgrade
        if asked is None or not asked.names:
            return ()
        from afflint.placement.node_upgrade import NodeUpgrades
        from afflint.placement.upgrade_pools import pools_to_upgrade

        simulated = NodeUpgrades(self.evictions, grouped, key)
        return tuple([simulated.upgrade(name, pools) for name, pools in pools_to_upgrade(self._schedule.before, asked, grown)])

    def descheduling(self) -> tuple[DescheduleEffect, ...]:
        """Return what the deschedulers do."""
        if not self._asked.deschedule:
            return ()
        from afflint.placement.descheduling import Descheduling

        return tuple(map(Descheduling(self.evictions).simulate, self._asked.deschedule))


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
    return tuple([rollouts.roll(placed) for placed in chosen])


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
    return tuple([f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}" for taint in taints])


def _pool_row(pool: NodeClass, nodes: int, name_of: Callable[[FileId], str]) -> PoolRow:
    assert pool.known is not None
    declared = pool.known.pool
    labels = tuple([describe(label.requirement) for label in declared.labels if label.path])
    return PoolRow(
        pool.name, pool.title, declared.cluster, pool.least, pool.count, nodes, _shown(pool.taints), labels, name_of(declared.site.file)
    )
