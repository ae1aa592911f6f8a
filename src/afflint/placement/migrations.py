"""Where a virtual machine that runs may migrate, what prevents it, and the smallest changes that let it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afflint.controllers.evictions import eviction_of, eviction_of_machine, migration_obstacle
from afflint.controllers.launcher_selectors import read_launcher
from afflint.controllers.migratability import FIXES
from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import compile_template
from afflint.controllers.running_machines import RunningMachine, is_passed_on, with_passed_changes
from afflint.findings.edits import EditError, Replace, applied
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import CREATED_BY
from afflint.kube.constraints import constraints_of
from afflint.kube.decoding import InventoryError
from afflint.kube.node_labels import HOSTNAME, domain_noun
from afflint.placement.changes import NEW_NODE, SETTING, PlanInput, SmallChange
from afflint.placement.evictions import migration_target, own_separation, targets_in_progress
from afflint.placement.explanation import Reason, reasons
from afflint.placement.manifest_changes import manifest_changes
from afflint.placement.node_changes import node_changes
from afflint.placement.schedule import PlacedWorkload, Schedule, schedule_pods
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.pods import Pod
from afflint.yaml.document import text_at

_MOST_NEW_NODES = 2
"""At most this many new nodes are tried: each takes another schedule."""


class MigrationChange(NamedTuple):
    """A change with which a VM may migrate to ``nodes``. ``restarts``: only once the VM has restarted with it."""

    text: str
    nodes: tuple[str, ...] = ()
    restarts: bool = False
    on_nodes: bool = False
    """Whether nodes change, and not the manifest."""


class RequestedTarget(NamedTuple):
    """Where the target pod of a VirtualMachineInstanceMigration may be scheduled, or why each node rejects it."""

    name: str
    """Of the migration."""
    pod: str
    """The target pod; empty before virt-controller creates it."""
    targets: tuple[str, ...]
    reasons: tuple[Reason, ...]

    @property
    def words(self) -> str:
        """What happens to it: ``no node takes its target pod virt-launcher-db-t``."""
        return f"{'a' if self.targets else 'no'} node takes its target pod{self.pod and ' '}{self.pod}"


class MigrationAnswer(NamedTuple):
    """Where a VM may migrate in a schedule: to ``targets``.

    ``obstacle`` prevents each migration, whatever the nodes; otherwise ``reasons`` are why nodes reject its target pod. ``drain`` is what a
    drain of its node does to it.
    """

    pod: str
    node: str
    drain: str
    targets: tuple[str, ...]
    obstacle: str
    reasons: tuple[Reason, ...]
    advice: str
    """What to change if the VM rejects its own target pod; empty otherwise."""
    changes: tuple[MigrationChange, ...]
    requested: RequestedTarget | None = None
    """The migration that is requested in the dump and waits for its target pod."""

    @property
    def possible(self) -> bool:
        """Whether it may migrate."""
        return bool(self.targets) and not self.obstacle


def migration_of(plan_input: PlanInput, schedule: Schedule, placed: PlacedWorkload, name: str = "") -> MigrationAnswer | None:
    """Return where a VM of a workload may migrate: the one in the pod ``name``, or the first one that may not; None if none runs."""
    answers = (_MigrationSearch(plan_input, schedule, placed, pod).answer() for pod in placed.pods if pod.key in placed.running)
    found = [each for each in answers if not name or each.pod == name]
    return next((each for each in found if not each.possible), found[0] if found else None)


def requested_target(schedule: Schedule, placed: PlacedWorkload, pod: Pod, machine: RunningMachine | None) -> RequestedTarget | None:
    """Return what happens to the requested migration of a VM in the pod ``pod``; None if none waits for its target pod.

    A target pod that exists is judged by its own selectors. virt-controller fails a migration whose target pod stays Pending
    (handlePendingPodTimeout, pkg/virt-controller/watch/migration), so it does not decide about later ones, such as those of a drain.
    """
    migration = machine.migration if machine is not None else None
    if migration is None or machine is None:
        return None
    cluster, node = schedule.cluster, placed.nodes[pod.key]
    try:
        if migration.pod is not None:
            target = read_launcher(migration.pod, (machine.pod_source or placed.pod_source).pod, cluster)
        else:
            target = migration_target(pod, cluster, node, placed, migration.selector)
    except InventoryError:
        return None
    found = cluster.evaluate(target)
    targets = tuple([name for name, possible in found.feasible.items() if possible and name != node])
    rejected = {} if targets else {each: plugin for each, plugin in found.reason.items() if each != node}
    return RequestedTarget(
        migration.name, target.name if migration.pod else "", targets, tuple(reasons(schedule, placed, target, rejected))
    )


class _MigrationSearch:
    """The migration of one VM of a schedule."""

    def __init__(self, plan_input: PlanInput, schedule: Schedule, placed: PlacedWorkload, pod: Pod) -> None:
        self._plan_input, self._schedule, self._placed, self._pod = plan_input, schedule, placed, pod
        self._node = placed.nodes[pod.key]
        self._machine = plan_input.inventory.machines.get(pod.key)
        own = None if self._machine is None else self._machine.pod_source
        self._own = placed.pod_source if own is None else with_passed_changes(own, placed.pod_source)
        """What a migration starts from."""

    def answer(self) -> MigrationAnswer:
        cluster, placed, pod, node = self._schedule.cluster, self._placed, self._pod, self._node
        machine = self._machine
        obstacle = migration_obstacle(placed.pod_source, machine and machine.data, machine and machine.pod_source)
        target = migration_target(pod, cluster, node, placed)
        already = targets_in_progress(self._schedule).get(pod.labels.get(CREATED_BY, ""))
        targets = self._nodes(cluster, target) if already is None else (already[1],)
        requested = requested_target(self._schedule, placed, pod, machine)
        answer = MigrationAnswer(pod.name, node, "", targets, "", (), "", (), requested)
        answer = answer._replace(drain=self._drain_words(possible=bool(targets)))
        if obstacle is not None:
            answer = answer._replace(obstacle=obstacle.words or "its condition LiveMigratable is false")
            return answer._replace(changes=(MigrationChange(FIXES[obstacle.reason], restarts=True),) if obstacle.reason in FIXES else ())
        if targets:
            return answer
        rejected = {each: plugin for each, plugin in cluster.evaluate(target).reason.items() if each != node}
        own = own_separation(pod, cluster, node, placed)
        return answer._replace(
            reasons=tuple(reasons(self._schedule, placed, target, own.others(rejected))),
            advice=own.advice,
            changes=tuple(self._changes(target, frozenset(rejected.values()))),
        )

    def _nodes(self, cluster: Cluster, target: Pod) -> tuple[str, ...]:
        """Return the other nodes that take a target pod; the one with preempted pods if no other does."""
        feasible = tuple([name for name, possible in cluster.evaluate(target).feasible.items() if possible and name != self._node])
        if feasible or self._schedule.priorities is None:
            return feasible
        preemption = self._schedule.preemption(more={target.key: self._placed.pod_source})
        return tuple([name for name in schedule_pods(cluster, [target], preemption).nodes.values() if name != self._node])

    def _drain_words(self, *, possible: bool) -> str:
        source, machine = self._placed.pod_source, self._machine
        eviction = None
        if machine is not None:
            eviction = eviction_of_machine(machine.data, source.virtualization.kubevirt, machine.pod_source)
        eviction = eviction or eviction_of(source)
        if eviction.what == "migrates":
            return "a drain of its node live-migrates it" if possible else "a drain of its node waits until a node takes it"
        if eviction.what == "external":
            return "a drain of its node waits until another controller has moved it (evictionStrategy External)"
        return f"a drain of its node {'shuts it down' if eviction.what == 'allowed' else 'waits until it is stopped'}"

    # --- changes -------------------------------------------------------------------------------------------------------

    def _changes(self, target: Pod, plugins: frozenset[str]) -> list[MigrationChange]:
        """Return the changes with which the VM may migrate, smallest first."""
        nodes = self._schedule.before.table.nodes
        wanted = {each.key: each.values[0] for each in target.rules.node_selector.requirements if each.values}
        known = [*_over_hosts(self._own), *manifest_changes(self._own.pod, nodes)]
        known += node_changes({**self._own.pod, "nodeSelector": wanted}, nodes)
        tried = sorted([each for each in known if not each.plugin or each.plugin in plugins], key=lambda change: change.size)
        found = [each for change in tried if change.size < NEW_NODE for each in self._tried(change)]
        if not found and HOSTNAME not in wanted:
            found = [each for change in tried if change.size == NEW_NODE for each in self._with_new_node(change)][:_MOST_NEW_NODES]
        return found

    def _tried(self, change: SmallChange) -> Iterator[MigrationChange]:
        cluster, pod = self._schedule.cluster.copy(), self._pod
        if change.nodes:
            nodes = self._nodes(cluster.changed(change.nodes), migration_target(pod, cluster, self._node, self._placed))
            if nodes:
                yield MigrationChange(change.text, nodes, on_nodes=True)
            return
        try:
            changed = replace(self._own, pod=applied(dict(self._own.pod), change.edits))
            started = compile_template(changed, cluster, pod.name)
        except (EditError, InventoryError):
            return
        if not self._plan_input.accepts_spec(changed.pod, self._own.pod):
            return
        like = self._placed.migrated.get(pod.key, pod)
        started = started._replace(labels=pod.labels, subject=pod.subject, requests=like.requests, rated=like.rated, volumes=like.volumes)
        placed = self._placed._replace(migrated={pod.key: started})
        passed_on = self._machine is not None and is_passed_on(self._placed.pod_source, {str(each.path[0]) for each in change.edits})
        nodes = self._nodes(cluster, migration_target(pod, cluster, self._node, placed)) if passed_on else ()
        if nodes:
            yield MigrationChange(change.text, nodes)
            return
        # After a restart, the VM runs with the change as well.
        cluster.unbind(pod)
        cluster.bind(started, self._node)
        nodes = self._nodes(cluster, migration_target(started, cluster, self._node, placed))
        if nodes:
            yield MigrationChange(change.text, nodes, restarts=True)

    def _with_new_node(self, change: SmallChange) -> Iterator[MigrationChange]:
        schedule = self._plan_input.changed(change).schedule()
        placed = next(each for each in schedule.workloads if each.pod_source.key == self._placed.pod_source.key)
        node = placed.nodes.get(self._pod.key)
        if node is not None and self._nodes(schedule.cluster, migration_target(self._pod, schedule.cluster, node, placed)):
            yield MigrationChange(change.text, on_nodes=True)


def _over_hosts(own: PodSource) -> Iterator[SmallChange]:
    """Yield the changes that let the VM run beside itself in another topology domain while it migrates."""
    for term in constraints_of(dict(own.pod), ()).pod_terms:
        key = text_at(term.data, "topologyKey")
        if term.anti and term.required and key not in ("", HOSTNAME):
            text = f"require the anti-affinity over {HOSTNAME} instead of {domain_noun(key)}s"
            yield SmallChange(text, SETTING, INTER_POD_AFFINITY, (Replace((*term.path, "topologyKey"), HOSTNAME),))
