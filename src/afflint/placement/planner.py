"""Creates the plan of `afflint place`: a schedule of all workloads, a verdict on every node, and the effects of disruptions."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from afflint.controllers import replicas
from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import Eviction, eviction_of, migration_note, unknown_strategy_note
from afflint.controllers.observed_workloads import pod_state
from afflint.controllers.pod_source import PodSource
from afflint.controllers.running_pods import running_pods_of
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import ZONE, domain_noun
from afflint.kube.selectors import AnyOf, Malformed, describe
from afflint.kube.taints import Taint
from afflint.placement.applications import applications, with_applications
from afflint.placement.disruption_state import DisruptionState, preempted_pods
from afflint.placement.draining import Drains
from afflint.placement.failures import SHORT_KEYS, UnknownLossError, failures, label_key, no_such_label
from afflint.placement.node_classes import SOMEWHERE, NodeClass
from afflint.placement.node_loss import NodeLosses
from afflint.placement.plan import (
    VOLUMES_LEFT_OUT,
    AnonymousVerdict,
    DescheduleEffect,
    DisruptionEffect,
    NodeRow,
    Plan,
    PoolRow,
    Preempted,
    Preferred,
    Replica,
    RolloutEffect,
    UpgradeEffect,
    Verdicts,
    WorkloadPlan,
    unevaluated_words,
)
from afflint.placement.rejections import Phrase, Rejections, running_pod_index, unknown_node
from afflint.placement.removal import Removals
from afflint.placement.schedule import Inventory, PlacedWorkload, Schedule, build_schedule
from afflint.placement.violations import violations
from afflint.scheduler.cluster import Cluster, NumberedVerdict, Rating
from afflint.scheduler.node_fit import NODE_AFFINITY
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import NodeRules, Pod, PodKey
from afflint.scheduler.requests import HUGE_PAGES, REPORTED
from afflint.yaml.object_fields import name_of

if TYPE_CHECKING:
    from afflint.placement.descheduler_policy import DeschedulerPolicy
    from afflint.placement.upgrade_pools import UpgradeRequest
    from afflint.placement.volumes import InventoryStorage

KUBEVIRT_OVERHEAD = "the memory that KubeVirt itself needs for each VM is counted by the formula of KubeVirt 1.9; sidecars are not counted"
_MOST_NAMES = 3


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
    def by_action(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """The values for failures, drains and removals."""
        return self.lose, self.drain, self.remove


NOTHING = DisruptionRequest()
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
) -> Plan:
    """Schedule all workloads, evaluate every node for each of them, and simulate the requested disruptions.

    ``classes`` are node pools that grow if pods need nodes. ``asked`` are the disruptions, ``budgets`` the PodDisruptionBudgets of a drain,
    ``evictions`` the known results of evicting running pods, ``roll`` the workloads that are rolled out (see ``chosen_workloads``);
    ``name_of`` returns the name of a file. ``group_label`` is the pod label that applications are grouped by. Raises InventoryError for an
    invalid inventory, UnknownLossError for unknown nodes or a key to group by that no node has, and UserError for a pod label that no
    workload has, or an unknown workload.
    """
    made: Mapping[str, int] = {}
    if classes:
        from afflint.placement.autoscaling import scale_pools

        inventory, made = scale_pools(inventory, pod_sources, classes)
    arrangement = build_schedule(inventory, pod_sources)
    key = label_key(arrangement.before, group_by)
    # A well-known key may be missing from all nodes; any other key must be a mistake.
    if key not in SHORT_KEYS.values() and arrangement.before.nodes and not arrangement.before.label(key):
        raise UnknownLossError(no_such_label(arrangement.before, key))
    rows = tuple([_row(node, key, classes[made[node.name]].title if node.name in made else "") for node in arrangement.before.table.nodes])
    against = tuple(violations(arrangement, lambda pod: _eviction(pod, arrangement, evictions)))
    happening = list(_simulations(arrangement, asked, budgets, evictions))
    violating = {(each.workload, each.pod) for each in against}
    workloads = tuple(
        _Workloads(
            arrangement,
            inventory.storage,
            name_of,
            violating,
            drained=bool(asked.drain or asked.upgrade or asked.deschedule),
            disrupted=bool(happening or asked.upgrade or asked.deschedule),
        ).plans()
    )
    losses = tuple([happens() for happens, _ in happening])
    grouped = applications(arrangement.workloads, inventory.services, budgets, group_label)
    upgrades: tuple[UpgradeEffect, ...] = ()
    if asked.upgrade is not None and asked.upgrade.names:
        from afflint.placement.node_upgrade import NodeUpgrades
        from afflint.placement.upgrade_pools import pools_to_upgrade

        titles = {name: classes[number].title for name, number in made.items()}
        model = NodeUpgrades(Drains(DisruptionState(arrangement), budgets, evictions), grouped, key)
        upgrades = tuple([model.upgrade(name, pools) for name, pools in pools_to_upgrade(arrangement.before, asked.upgrade, titles)])
    descheduling: tuple[DescheduleEffect, ...] = ()
    if asked.deschedule:
        from afflint.placement.descheduling import Descheduling

        descheduler = Descheduling(Drains(DisruptionState(arrangement), budgets, evictions))
        descheduling = tuple([descheduler.simulate(policy) for policy in asked.deschedule])
    unevaluated: dict[str, None] = {}
    if happening:
        situation, tied = happening[0][1], frozenset(each.key for each in workloads if each.volumes)
        by_key = {each.key: each for each in workloads}
        losses = tuple([with_applications(_with_limitations(loss, situation, tied), grouped, by_key) for loss in losses])
        unevaluated.update(dict.fromkeys(pod for loss in losses for pod in loss.unevaluated))
    shut_down = unknown_strategy_note(pod_sources) if asked.drain or upgrades or descheduling else ""
    passed = [unevaluated_words(list(unevaluated), {pod for loss in losses for pod in loss.unjudged})] if unevaluated else []
    preempted = _preempted(arrangement)
    notes = (
        *_inventory_notes(inventory, pod_sources, len(preempted)),
        *passed,
        *([shut_down] if shut_down else []),
        *_resource_notes(arrangement),
    )
    pools = tuple([_pool_row(each, list(made.values()).count(number), name_of) for number, each in enumerate(classes)])
    return Plan(
        key,
        rows,
        workloads,
        losses,
        (*notes, *_pool_notes(rows, key, happening=bool(happening))),
        pools,
        violations=against,
        applications=grouped,
        preempted=preempted,
        upgrades=upgrades,
        descheduling=descheduling,
        rollouts=_rollouts(arrangement, inventory, key, roll) if roll else (),
    )


def _preempted(arrangement: Schedule) -> tuple[Preempted, ...]:
    """Return the running pods that are preempted in a schedule, in the order of the workloads."""
    found = [(victim, placed) for placed in arrangement.workloads for victim in placed.victims.values()]
    if not found:
        return ()
    titles = {identity: placed.pod_source.key for identity, placed in arrangement.owners.items()}
    nodes = {identity: node for _, placed in found for identity, node in placed.nodes.items()}
    return preempted_pods([victim for victim, _ in found], titles, nodes)


def _rollouts(arrangement: Schedule, inventory: Inventory, key: str, roll: Sequence[str]) -> tuple[RolloutEffect, ...]:
    from afflint.placement.rollouts import ClusterSettings, Rollouts, chosen_workloads, deletion_costs

    chosen = chosen_workloads(arrangement.workloads, roll)
    settings = ClusterSettings(inventory.version, inventory.feature_gates, deletion_costs(inventory.pods))
    rollouts = Rollouts(arrangement, key, settings)
    return tuple([rollouts.roll(placed) for placed in chosen])


def _eviction(pod: Pod, arrangement: Schedule, evictions: Mapping[PodKey, Eviction]) -> Eviction:
    """Return the effect of evicting the pod of a virtual machine."""
    return evictions.get(pod.key) or eviction_of(arrangement.owners[pod.key].pod_source)


def _simulations(
    arrangement: Schedule, asked: DisruptionRequest, budgets: Sequence[Budget], evictions: Mapping[PodKey, Eviction]
) -> Iterator[tuple[Callable[[], DisruptionEffect], DisruptionState]]:
    """Yield the requested disruptions in order: a function that simulates each, and the state before it."""
    if not any(asked.by_action):
        return
    situation = DisruptionState(arrangement)
    drains = Drains(situation, budgets, evictions)
    if asked.together:
        from afflint.placement.combined import CombinedDisruptions, combinations

        combined = CombinedDisruptions(drains)
        for stages in combinations(arrangement.before, asked.by_action):
            yield partial(combined.simulate, stages), situation
        return
    models = (NodeLosses(situation).lose, drains.drain, Removals(situation).remove)
    for happens, named in zip(models, asked.by_action, strict=True):
        for each in named:
            yield from ((partial(happens, failure), situation) for failure in failures(arrangement.before, each))


def _with_limitations(loss: DisruptionEffect, situation: DisruptionState, bound_by_volumes: Container[str]) -> DisruptionEffect:
    """Add what the result of a disruption does not cover: pods without a manifest, and the volumes of workloads that move."""
    blocked = {(each.pod, each.node) for each in loss.blocked if not each.workload}
    left_out = [
        (namespace, pod) for namespace, pod in situation.unevaluated(loss.nodes) if (pod, situation.where[namespace, pod]) not in blocked
    ]
    unevaluated = [f"{namespace}/{pod}" for namespace, pod in left_out]
    unjudged = frozenset([f"{namespace}/{pod}" for namespace, pod in left_out if (namespace, pod) in situation.unjudged])
    moved = dict.fromkeys(move.workload for move in loss.moves if move.target is not None and move.workload in bound_by_volumes)
    removed = loss.removed and _with_limitations(loss.removed, situation, bound_by_volumes)
    return loss._replace(unevaluated=tuple(unevaluated), volumes=tuple(moved), removed=removed, unjudged=unjudged)


def _inventory_notes(inventory: Inventory, pod_sources: Sequence[PodSource], preempted: int) -> list[str]:
    running = inventory.running(pod_sources)
    replaced, kept = len(running.replaced), sum(map(len, running.kept.values())) - preempted
    notes = []
    if kept:
        stay = "stays on its node; use --replan to schedule it" if kept == 1 else "stay on their nodes; use --replan to schedule them"
        notes.append(f"{kept} running pod{'s' * (kept > 1)} of these workloads {stay} again")
        if any(pod_source.replicas > 1 for pod_source in pod_sources if running.kept.get(pod_source.key)):
            notes.append("FITS is for the first replica of a workload: one more may not fit next to the replicas that run")
    if running.ending:
        one = running.ending == 1
        are = "pod of these workloads is" if one else "pods of these workloads are"
        notes.append(
            f"{running.ending} {are} being deleted and occup{'ies' if one else 'y'} resources until {'it is' if one else 'they are'} gone"
        )
    if running.over:
        notes.append(f"{pluralize(running.over, 'pod')} more than the manifests request {'runs' if running.over == 1 else 'run'}")
    nodes = {node.name if isinstance(node, Node) else name_of(node) for node in inventory.nodes}
    far = {index for index, pod in enumerate(inventory.pods) if pod_state(pod, nodes) == "elsewhere"}
    if far:
        far.difference_update(index for each in running_pods_of(pod_sources, inventory.pods).values() for index in each)
    if far:
        one = len(far) == 1
        notes.append(f"{pluralize(len(far), 'running pod')} {'is' if one else 'are'} left out: the node is not among the nodes of this run")
    if replaced:
        pods = f"{pluralize(replaced, 'running pod')} of these workloads {'is' if replaced == 1 else 'are'}"
        notes.append(f"{pods} ignored: the workloads are scheduled again from the manifests")
    return notes


def _resource_notes(arrangement: Schedule) -> list[str]:
    """Return which resources the simulation does not check."""
    if not arrangement.before.resources:
        return []
    notes = []
    nodes = arrangement.before.table.nodes
    silent = [node.name for node in nodes if node.allocatable is None]
    if silent:
        notes.append(f"{_nodes(silent)} no status.allocatable: resources are not checked there")
    templates = [placed.template for placed in arrangement.workloads if placed.template is not None]
    asked = {resource for template in templates for resource, _ in template.requests}
    for resource in REPORTED:
        if resource not in asked:
            continue
        missing = [node.name for node in nodes if node.allocatable is not None and resource not in node.allocatable]
        if missing:
            notes.append(f"{_nodes(missing)} no {resource} in status.allocatable; the simulation assumes that there is enough")
    if any(placed.pod_source.kubevirt for placed in arrangement.workloads):
        notes.append(KUBEVIRT_OVERHEAD)
    return notes


def _nodes(names: Sequence[str]) -> str:
    """``3 nodes (a, b, c) have``."""
    shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    return f"{pluralize(len(names), 'node')} ({shown}) {'have' if len(names) > 1 else 'has'}"


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


def _pool_notes(rows: Sequence[NodeRow], key: str, *, happening: bool) -> Iterator[str]:
    """Yield the assumptions about nodes of pools."""
    made = [row for row in rows if row.pool]
    if any(row.domain == SOMEWHERE for row in made):
        pools = list(dict.fromkeys(row.pool for row in made if row.domain == SOMEWHERE))
        unknown = f"the {domain_noun(key)} of the nodes of {join_words(pools)} is unknown"
        yield f"{unknown}; the simulation assumes that they share one, `{SOMEWHERE}`"
    if made and happening:
        yield "unavailable and removed nodes are not replaced: pools keep the size that they had before the disruption"


def _fitting(rating: Rating | None, possible: int) -> AnonymousVerdict:
    """Return the verdict on a node that fits. The rating is None if the scheduler fails in scoring."""
    if rating is None:
        return AnonymousVerdict(True, None, "", None)
    return AnonymousVerdict(True, None, "", rating.total, (rating.met, possible) if possible else None, rating.parts)


def preferences_of(template: Pod | None, cluster: Cluster) -> tuple[Preferred, ...]:
    """Return how many nodes match each preferred node affinity term of a pod."""
    if template is None or not template.preferences or isinstance(template.preferences, Malformed):
        return ()
    usable = [reason is None for reason in cluster.static_rejections(template)]
    usable = usable if any(usable) else [True] * len(usable)
    preferences = []
    for preference in template.preferences:
        met = cluster.table.matching(AnyOf((preference.term,)))
        both = sum(is_met and may_go for is_met, may_go in zip(met, usable, strict=True))
        asks = " and ".join(map(describe, preference.term.requirements))
        preferences.append(Preferred(asks, preference.weight, sum(met), both))
    return tuple(preferences)


class _Workloads:
    """The plans of the workloads of one schedule, which share what is computed about its pods."""

    def __init__(
        self,
        arrangement: Schedule,
        storage: InventoryStorage | None,
        name_of: Callable[[FileId], str],
        violating: Container[tuple[str, str]],
        *,
        drained: bool,
        disrupted: bool,
    ) -> None:
        self._disrupted = disrupted
        self._waits = any(placed.pending for placed in arrangement.workloads)
        self._violating = violating
        self._arrangement = arrangement
        self._storage = storage
        self._name_of = name_of
        self._drained = drained
        self._titles = {identity: placed.pod_source.key for identity, placed in arrangement.owners.items()}
        # A copy: the pods of one workload at a time are removed from it.
        self._cluster = arrangement.cluster.copy()
        self._running_pods = running_pod_index(arrangement.cluster)
        self._fitting: dict[tuple[Rating | None, int], AnonymousVerdict] = {}
        self._known: dict[tuple[str, str], AnonymousVerdict] = {}
        self._rejected_as_such: dict[NodeRules, dict[int, AnonymousVerdict]] = {}

    def plans(self) -> list[WorkloadPlan]:
        return [self._plan(placed) for placed in self._arrangement.workloads]

    def _plan(self, placed: PlacedWorkload) -> WorkloadPlan:
        pod_source = placed.pod_source
        notes = replicas.notes(pod_source, self._arrangement.before)
        assumed = migration_note(eviction_of(pod_source)) if self._drained else ""
        verdicts, error = self._verdicts(placed)
        return WorkloadPlan(
            key=pod_source.key,
            kind=pod_source.kind,
            namespace=pod_source.namespace,
            name=pod_source.full_name,
            file="" if pod_source.observed else self._name_of(pod_source.site.file),
            line=pod_source.line,
            verdicts=verdicts,
            replicas=self._replicas(placed),
            error=placed.error or error,
            notes=(
                *notes,
                *([VOLUMES_LEFT_OUT] if self._has_unknown_volumes(pod_source) else []),
                *self._volume_notes(pod_source),
                *self._outdated_affinity_notes(placed),
                *([assumed] if assumed else []),
                *self._missing_devices(placed),
                *self._unknown_priority(placed),
            ),
            preferences=preferences_of(placed.template, self._cluster),
            volumes=self._has_unknown_volumes(pod_source),
            unjudged=placed.unjudged,
        )

    def _has_unknown_volumes(self, pod_source: PodSource) -> bool:
        if not pod_source.bound_by_volumes or self._storage is None:
            return pod_source.bound_by_volumes
        volumes = self._storage.workloads.get(pod_source.key)
        return volumes is None or bool(volumes.unknown)

    def _volume_notes(self, pod_source: PodSource) -> tuple[str, ...]:
        """Return why volumes of a workload are not considered, and what is assumed about the others."""
        volumes = self._storage.workloads.get(pod_source.key) if self._storage is not None else None
        if volumes is None:
            return ()
        unknown = volumes.unknown if pod_source.bound_by_volumes else ()
        more = [f"{len(unknown) - _MOST_NAMES} more"] if len(unknown) > _MOST_NAMES else []
        listed = [f"its volumes: {join_words([*unknown[:_MOST_NAMES], *more])}"] if unknown else []
        return (*listed, *volumes.notes)

    def _outdated_affinity_notes(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield a note about pods on nodes that their node affinity no longer matches: the cluster does not move them."""
        template = placed.template
        if template is None or placed.pod_source.daemon or placed.pod_source.node_name or not placed.nodes or placed.unjudged:
            return
        as_such, numbers = self._cluster.static_rejections(template), self._cluster.table.numbers
        # Nothing is scheduled on such a node: these pods ran there before.
        outdated = [
            (pod, node)
            for (_, pod), node in placed.nodes.items()
            if as_such[numbers[node]] == NODE_AFFINITY and (placed.pod_source.key, pod) not in self._violating
        ]
        if outdated:
            rejections = Rejections(self._cluster, template, self._titles, placed.pod_source.key, self._running_pods, placed.nodes)
            shown = [f"{pod} on {node} ({rejections.phrase(node, NODE_AFFINITY).one})" for pod, node in outdated[:_MOST_NAMES]]
            more = f" and {len(outdated) - _MOST_NAMES} more" if len(outdated) > _MOST_NAMES else ""
            stay = "stays on its node" if len(outdated) == 1 else "stay on their nodes"
            yield f"{', '.join(shown)}{more} {stay}, although node affinity no longer matches: it applies only when a pod is scheduled"

    def _missing_devices(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield a note on each resource of a device plugin that no node has."""
        known, table = self._arrangement.before.nodes, self._arrangement.before.table
        for resource, _ in placed.template.requests if placed.template is not None and known else ():
            if resource not in REPORTED and not resource.startswith(HUGE_PAGES) and set(table.amounts(resource)) == {0}:
                yield f"no node has {resource} in status.allocatable: its pods stay Pending until a device plugin reports it"

    def _unknown_priority(self, placed: PlacedWorkload) -> Iterator[str]:
        """Yield a note if it matters that the priority of a workload is not known."""
        if placed.pod_source.priority is None and (self._disrupted or self._waits):
            name = placed.pod_source.pod["priorityClassName"]
            unknown = f"PriorityClass {name} is not defined in the manifests"
            yield f"{unknown}: the simulation neither preempts its pods nor lets them preempt others"

    def _verdicts(self, placed: PlacedWorkload) -> tuple[Verdicts, str | None]:
        """Return the verdict on each node while all other workloads are placed and none of the pods of this one is."""
        template = placed.template
        if template is None or placed.unjudged:
            return Verdicts(), None
        mine = [pod for pod in placed.pods if pod.key in placed.nodes]
        for pod in mine:
            # A volume that exists only in the plan does not restrict the first replica.
            (self._cluster.unbind if pod.key in placed.stays else self._cluster.release)(pod)
        judged = self._cluster.judge(template)
        judgements = self._judgements(placed, template, judged)
        for pod in mine:
            self._cluster.bind(pod, placed.nodes[pod.key])
        return Verdicts(self._cluster.table.names if judgements else (), judgements), judged.error

    def _judgements(self, placed: PlacedWorkload, template: Pod, judged: NumberedVerdict) -> list[AnonymousVerdict]:
        """Return the verdict on each node; the pods of the workload have been removed from the cluster."""
        rejections = Rejections(
            self._cluster, template, self._titles, placed.pod_source.key, self._running_pods, placed.nodes, judged.volume_rejections
        )
        # Rejections that do not depend on running pods are computed once for all workloads with the same node requirements.
        as_such, shared = self._cluster.static_rejections(template), self._rejected_as_such.setdefault(template.rules, {})
        verdicts, names = [], self._cluster.table.names
        # Equal nodes share one rating. Its hash is computed once, because that of nested tuples takes longer than all the rest.
        fitting: dict[int, AnonymousVerdict] = {}
        # What equal rejections by resources and volumes have in common.
        crowded = [node for node, plugin in enumerate(judged.rejections) if plugin == NODE_RESOURCES_FIT]
        causes: dict[int, object] = {**judged.volume_rejections, **dict(zip(crowded, self._cluster.loads(crowded), strict=True))}
        explained: dict[object, AnonymousVerdict] = {}
        for node, (plugin, rating) in enumerate(zip(judged.rejections, judged.ratings, strict=True)):
            if plugin is None:
                judgement = fitting.get(id(rating))
                if judgement is None:
                    new = _fitting(rating, judged.possible)
                    judgement = fitting[id(rating)] = self._fitting.setdefault((rating, judged.possible), new)
            elif plugin == as_such[node]:
                judgement = shared.get(node)
                if judgement is None:
                    judgement = shared[node] = self._rejected(plugin, rejections.phrase(names[node], plugin))
            elif node in causes:
                judgement = explained.get(causes[node])
                if judgement is None:
                    judgement = explained[causes[node]] = self._rejected(plugin, rejections.phrase(names[node], plugin))
            else:
                judgement = self._rejected(plugin, rejections.phrase(names[node], plugin))
            verdicts.append(judgement)
        return verdicts

    def _rejected(self, plugin: str, phrase: Phrase) -> AnonymousVerdict:
        judgement = self._known.get((plugin, phrase.one))
        if judgement is None:
            judgement = self._known[plugin, phrase.one] = AnonymousVerdict(False, plugin, phrase.one, None)
        return judgement

    def _replicas(self, placed: PlacedWorkload) -> tuple[Replica, ...]:
        if placed.template is None and not placed.pod_source.daemon:
            # The pods cannot be created, but the manifest requests them.
            count = min(placed.pod_source.replicas, replicas.MAX_REPLICAS)
            return tuple([Replica(replicas.pod_name(placed.pod_source, index), None) for index in range(count)])
        result = []
        # Pending replicas mostly have the same reasons.
        reasons_in_words: dict[tuple[object, int], str] = {}
        for pod in placed.pods:
            identity = pod.key
            node = placed.nodes.get(identity)
            why = placed.waits.get(identity, "")
            if node is None:
                if placed.unjudged and identity not in placed.held:
                    result.append(Replica(pod.name, None, f"not evaluated: {placed.unjudged}"))
                    continue
                reasons = placed.pending.get(identity, {})
                asked = (pod.subject, id(reasons))  # Replicas share the reasons, which cannot be hashed.
                if identity in placed.held:
                    why = placed.held[identity].why
                elif identity in placed.victims and identity not in placed.pending:
                    why = f"{placed.victims[identity].by.name} preempts it, and it is not recreated"
                else:
                    if asked not in reasons_in_words:
                        reasons_in_words[asked] = self._why(placed, identity, reasons)
                    why = reasons_in_words[asked]
            result.append(Replica(pod.name, node, why))
        return tuple(result)

    def _why(self, placed: PlacedWorkload, identity: PodKey, reasons: Mapping[str, str]) -> str:
        if placed.pod_source.node_name:
            return unknown_node(placed.pod_source.node_name)
        pod = next(pod for pod in placed.pods if pod.key == identity)
        rejections = Rejections(self._arrangement.cluster, pod, self._titles, placed.pod_source.key, self._running_pods)
        return rejections.summary(reasons)
