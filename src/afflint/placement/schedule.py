"""One legal placement of all workloads: every pod that their controllers create, scheduled by the rules of kube-scheduler."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from afflint.controllers import replicas
from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import CompiledPods
from afflint.controllers.running_machines import RunningMachines, launcher_pods
from afflint.controllers.running_pods import unready_pods
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.steps import begin
from afflint.inventory.inventory import Inventory
from afflint.placement.volumes import volume_waits, waits_for_volumes
from afflint.scheduler.cluster import Cluster, EvenQueue
from afflint.scheduler.pods import Pod, PodKey, only_on
from afflint.yaml.document import map_at, maps_at, text_at

if TYPE_CHECKING:
    from afflint.inventory.inventory import Priorities
    from afflint.placement.disruption_budgets import WorkloadPods
    from afflint.placement.preemption import PreemptionRules
    from afflint.scheduler.preemption import Victim
    from afflint.storage.objects import ClaimKey


class Held(NamedTuple):
    """Why a pod is not created or not scheduled yet.

    ``node``: the node of the pod in deletion that it replaces. ``after``: the Pending pod after which it is created.
    """

    why: str
    node: str = ""
    after: PodKey | None = None


_NOTHING: Mapping[PodKey, Held] = {}


_NO_WAITS: Mapping[PodKey, str] = {}
_NO_VICTIMS: Mapping[PodKey, Victim] = {}
_NO_SOURCES: Mapping[PodKey, PodSource] = {}
_NO_PODS: Mapping[PodKey, Pod] = {}


class PlacedWorkload(NamedTuple):
    """A workload with its pods, the node of each scheduled pod, and for each Pending pod the plugin that rejects each node.

    ``error`` says why its pods cannot be parsed or why the scheduler fails on them. ``held`` are the pods that are not created yet.
    """

    pod_source: PodSource
    pods: tuple[Pod, ...]
    template: Pod | None
    nodes: Mapping[PodKey, str]
    pending: Mapping[PodKey, Mapping[str, str]]
    error: str | None
    held: Mapping[PodKey, Held] = _NOTHING
    stays: frozenset[PodKey] = frozenset()
    """The pods that ran there before."""
    waits: Mapping[PodKey, str] = _NO_WAITS
    """Why scheduled pods do not run: a volume is attached to another node."""
    victims: Mapping[PodKey, Victim] = _NO_VICTIMS
    """The pods that ran there before and are preempted."""
    recreated: Mapping[PodKey, Pod] = _NO_PODS
    """The pods that replace running pods once these are gone, where the template differs from them."""
    migrated: Mapping[PodKey, Pod] = _NO_PODS
    """The pods from which live migrations of running VMs start, where their VirtualMachineInstances are known."""

    @property
    def unjudged(self) -> str:
        """Why it is unknown where its pods are scheduled; empty if it is known."""
        return self.template.rules.profile.unknown if self.template is not None and not self.pod_source.node_name else ""

    @property
    def running(self) -> AbstractSet[PodKey]:
        """The scheduled pods that do not wait for a volume."""
        return self.nodes.keys() - self.waits.keys()


class Schedule(NamedTuple):
    """A placement of all workloads. ``before`` is the cluster without them, ``cluster`` the one with all scheduled pods."""

    before: Cluster
    cluster: Cluster
    workloads: tuple[PlacedWorkload, ...]
    exclusive: frozenset[ClaimKey] = frozenset()
    """The claims whose volumes are attached to one node at a time."""
    priorities: Priorities | None = None
    unready: Mapping[PodKey, str] = _NO_WAITS
    """The running pods that are not ready, with their phases."""

    @property
    def pods_of_workloads(self) -> list[WorkloadPods]:
        """Each workload with its pods."""
        return [(placed.pod_source, placed.pods) for placed in self.workloads]

    @property
    def owners(self) -> dict[PodKey, PlacedWorkload]:
        """The workload of each pod."""
        return {pod.key: placed for placed in self.workloads for pod in placed.pods}

    def preemption(
        self, recreated: Container[PodKey] = (), not_created: Container[PodKey] = (), more: Mapping[PodKey, PodSource] = _NO_SOURCES
    ) -> PreemptionRules | None:
        """Return what decides about preemption; None if no pod preempts another.

        ``recreated`` are pods that no longer run as before, ``not_created`` those that are not created yet, and ``more`` the workloads of
        pods that are not among those of the schedule: targets of live migrations.
        """
        if self.priorities is None:
            return None
        from afflint.placement.preemption import PreemptionRules

        templates = {identity: pod for placed in self.workloads for identity, pod in placed.recreated.items()}
        return PreemptionRules(self.priorities, self.pods_of_workloads, recreated, not_created, more, templates)


class Attempt(NamedTuple):
    """The result of scheduling some pods: their nodes, for Pending pods the plugin that rejects each node, and errors of the scheduler.

    ``victims`` are the pods that ran before and were preempted; those that are recreated are among the others, too.
    """

    nodes: Mapping[PodKey, str]
    pending: Mapping[PodKey, Mapping[str, str]]
    errors: Mapping[PodKey, str]
    victims: tuple[Victim, ...] = ()


def schedule_pods(
    cluster: Cluster, pods: Sequence[Pod], preemption: PreemptionRules | None = None, *, in_place: bool = False, explain: bool = True
) -> Attempt:
    """Schedule pods in their order, with retries until nothing changes.

    With ``preemption``, they are scheduled in the order of their priorities, and may preempt others. ``in_place``: the cluster itself gets
    the pods, which takes less time than a copy; only without preemption. Without ``explain``, the result may not show why pods stay
    Pending.
    """
    if not pods:
        return Attempt({}, {}, {})
    if preemption is not None:
        preempting = preemption.schedule(cluster, pods)
        return Attempt(preempting.placements, preempting.unschedulable, preempting.errors, tuple(preempting.victims.values()))
    begin("scheduling pods")
    queue = EvenQueue(cluster if in_place else cluster.copy(), pods)
    queue.run(explain=explain)
    return Attempt(queue.placements, queue.unschedulable, queue.errors)


class Start(NamedTuple):
    """Some workloads, the pods of each, and the cluster before any of them is placed."""

    before: Cluster
    pod_sources: Sequence[PodSource]
    compiled: Sequence[CompiledPods]
    staying: Sequence[Mapping[int, str]] = ()
    """For each workload, the nodes of its running pods by their index among its pods; empty if no workload has any."""
    held: Sequence[Mapping[int, Held]] = ()
    """For each workload, the pods that are not created yet by their index; empty if no workload has any."""
    exclusive: frozenset[ClaimKey] = frozenset()
    """The claims whose volumes are attached to one node at a time."""
    priorities: Priorities | None = None
    unready: Mapping[PodKey, str] = _NO_WAITS
    """The running pods that are not ready, with their phases."""


def start(inventory: Inventory, pod_sources: Sequence[PodSource]) -> Start:
    """Create the pods of the workloads, and the cluster on which they are scheduled."""
    running = inventory.running(pod_sources)
    before = inventory.cluster(pod_sources, running)
    compiled = [
        _observed(pod_source, inventory, before) if pod_source.has_own_pods else _with_claims(pod_source, inventory, before)
        for pod_source in pod_sources
    ]
    exclusive = inventory.storage.exclusive if inventory.storage is not None else frozenset()
    kept, held, waiting = running.kept, running.held, running.waiting
    _nominate(before, compiled)
    if not any(any(each.values()) for each in (kept, held, waiting)):
        return Start(before, pod_sources, compiled, exclusive=exclusive, priorities=inventory.priorities)
    staying = [
        (each, _nodes_of(pod_source, inventory, kept.get(pod_source.key, ())))
        if pod_source.has_own_pods
        else _staying(
            pod_source, each, [map_at(inventory.pods[index]) for index in kept.get(pod_source.key, ())], before, inventory.machines
        )
        for pod_source, each in zip(pod_sources, compiled, strict=True)
    ]
    not_made = [
        _held(pod_source, each, nodes, [before.read(inventory.pods[index]) for index in held.get(pod_source.key, ())])
        for pod_source, (each, nodes) in zip(pod_sources, staying, strict=True)
    ]
    pods = [
        with_pending_pods(pod_source, each, nodes, why, [inventory.pods[index] for index in waiting.get(pod_source.key, ())], before)
        for pod_source, (each, nodes), why in zip(pod_sources, staying, not_made, strict=True)
    ]
    if before.reserves:
        pods = [_with_priority(each, pod_source.priority or 0) for pod_source, each in zip(pod_sources, pods, strict=True)]
    return Start(
        before, pod_sources, pods, [nodes for _, nodes in staying], not_made, exclusive, inventory.priorities, unready_pods(inventory.pods)
    )


def _nominate(cluster: Cluster, compiled: Iterable[CompiledPods]) -> None:
    """Reserve the nodes that Pending pods have preempted others on."""
    for each in compiled:
        for pod in each.pods:
            if pod.nominated and not pod.rules.profile.unknown:
                cluster.nominate(pod)


def _with_priority(compiled: CompiledPods, priority: int) -> CompiledPods:
    template = compiled.template
    pods = tuple([pod._replace(priority=priority) for pod in compiled.pods])
    return compiled._replace(pods=pods, template=template and template._replace(priority=priority))


def _with_claims(pod_source: PodSource, inventory: Inventory, cluster: Cluster) -> CompiledPods:
    """Return the pods of a workload, with their claims if volumes count."""
    compiled = replicas.compile_pods(pod_source, cluster)
    return compiled if inventory.storage is None else inventory.storage.with_claims(pod_source, compiled)


def _observed(pod_source: PodSource, inventory: Inventory, cluster: Cluster) -> CompiledPods:
    """Return the pods of a workload that is known from its running pods only: these pods, without their nodes."""
    pods = [cluster.read(inventory.pods[index]) for index in pod_source.observed]
    if pod_source.daemon:
        nodes = tuple([pod.rules.node_name or next(iter(pod.rules.named or ()), "") for pod in pods])
        pods = list(map(_of_daemon_set, pods))
        return CompiledPods(tuple(pods), pods[0], nodes)
    free = [_unbound(pod) for pod in pods]
    if pod_source.guards:
        return CompiledPods(tuple([only_on(each, pod.rules.node_name) for each, pod in zip(free, pods, strict=True)]), free[0])
    return CompiledPods(tuple(free), free[0])


def _unbound(pod: Pod) -> Pod:
    """Return a running pod as its controller creates it again."""
    return pod._replace(rules=pod.rules._replace(node_name=""), subject=pod.subject._replace(terminating=False))


def _nodes_of(pod_source: PodSource, inventory: Inventory, kept: Sequence[int]) -> dict[int, str]:
    """Return the nodes of the running pods of a workload without a manifest, by their numbers among its pods."""
    numbers = {index: number for number, index in enumerate(pod_source.observed)}
    return {numbers[index]: text_at(inventory.pods[index], "spec", "nodeName") for index in kept}


def _staying(
    pod_source: PodSource, compiled: CompiledPods, kept: Sequence[Mapping[str, Any]], cluster: Cluster, machines: RunningMachines
) -> tuple[CompiledPods, dict[int, str]]:
    """Return the pods of a workload, with running pods instead of new ones (by ordinal, if the name has one), and the nodes of these."""
    running = [cluster.read(data) for data in kept]
    if pod_source.daemon:
        return _staying_by_node(compiled, running)
    pods, nodes = list(compiled.pods), dict[int, str]()
    recreated, migrated = dict[int, Pod](), dict[int, Pod]()
    numbers = {pod.name: number for number, pod in enumerate(pods)}
    free = iter([number for number in range(len(pods)) if pods[number].name not in {pod.name for pod in running}])
    for pod, data in zip(running[: len(pods)], kept, strict=False):
        number = numbers[pod.name] if pod.name in numbers else next(free)
        nodes[number] = pod.rules.node_name
        template, pods[number] = pods[number], _unbound(pod)._replace(volumes=pod.volumes or pods[number].volumes)
        if pod_source.kubevirt:
            made = launcher_pods(data, machines.get(pod.key), pod_source, template, cluster)
            pods[number], migrated[number], instead = (each._replace(name=pod.name, volumes=template.volumes) for each in made)
        else:
            instead = pods[number] if pod_source.bare else replicas.recreated_pod(pod_source, number, pods[number], data, template)
        if instead != pods[number]:
            recreated[number] = instead
    return compiled._replace(pods=tuple(pods), recreated=recreated, migrated=migrated), nodes


def _staying_by_node(compiled: CompiledPods, running: Sequence[Pod]) -> tuple[CompiledPods, dict[int, str]]:
    """Return the pods of a DaemonSet, with running pods instead of the new ones of their nodes, and the nodes of the running pods.

    Pods that run where no new one would be created are added: on nodes with a new taint, or beside another pod of a rollout.
    """
    pods, nodes = list(compiled.pods), list(compiled.nodes)
    free = {node: number for number, node in enumerate(nodes)}
    staying: dict[int, str] = {}
    for pod in running:
        node = pod.rules.node_name
        number = free.pop(node, len(pods))
        volumes = pod.volumes or (compiled.template.volumes if compiled.template is not None else ())
        pods[number : number + 1] = [_of_daemon_set(pod)._replace(volumes=volumes)]
        nodes[number : number + 1] = [node]
        staying[number] = node
    return compiled._replace(pods=tuple(pods), nodes=tuple(nodes)), staying


def _of_daemon_set(pod: Pod) -> Pod:
    """Return a running pod of a DaemonSet as it is created again, without the node affinity to its node: see CompiledPods."""
    return _unbound(pod._replace(rules=pod.rules._replace(terms=None, named=None)))


def _held(pod_source: PodSource, compiled: CompiledPods, staying: Mapping[int, str], ending: Sequence[Pod]) -> dict[int, Held]:
    """Return the pods of a workload that are not created while others are in deletion: their replacements, and later ones if ordered."""
    numbers = {pod.name: number for number, pod in enumerate(compiled.pods)}
    by_node = {node: number for number, node in enumerate(compiled.nodes) if number not in staying}
    free = iter([number for number in range(len(compiled.pods)) if number not in staying])
    held: dict[int, Held] = {}
    for pod in ending:
        if pod_source.daemon:
            number = by_node.get(pod.rules.node_name)
        else:
            number = numbers.get(pod.name) if pod_source.pod_replacement.ordinals else next(free, None)
        if number is not None:
            held[number] = Held(
                f"{pod.name} is still being deleted on {pod.rules.node_name}: it is not replaced before it is gone", pod.rules.node_name
            )
    if held and pod_source.pod_replacement.ordered:
        first = compiled.pods[min(held)].name
        for number in range(min(held), len(compiled.pods)):
            if number not in staying:
                held.setdefault(number, Held(f"created only after {first} is ready"))
    return held


def with_pending_pods(
    pod_source: PodSource,
    compiled: CompiledPods,
    nodes: Mapping[int, str],
    held: dict[int, Held],
    pending: Sequence[object],
    cluster: Cluster,
) -> CompiledPods:
    """Return the pods of a workload, with Pending pods of a dump instead of new ones; ``held`` gets those that wait for something else.

    A Pending pod of an older revision is left out if its controller deletes it.
    """
    read = [(cluster.read(data), data) for data in pending]
    pods, recreated = list(compiled.pods), dict(compiled.recreated)
    numbers = {pod.name: number for number, pod in enumerate(pods)}
    named = {pod.name for pod, _ in read}
    free = iter([number for number, pod in enumerate(pods) if number not in nodes and pod.name not in named])
    for pod, data in read:
        number = numbers[pod.name] if pod.name in numbers else next(free, None)
        if number is None or number in nodes or number in held:
            continue
        gates = [text_at(gate, "name") for gate in maps_at(data, "spec", "schedulingGates")]
        if not pod_source.has_own_pods:
            pod = pod._replace(volumes=pod.volumes or pods[number].volumes)
            instead = replicas.recreated_pod(pod_source, number, pod, data, pods[number])._replace(nominated=pod.nominated)
            if instead != pod and not (gates or keeps_pending_pods(pod_source)):
                continue
            if instead != pod:
                recreated[number] = instead
            pods[number] = pod
        if gates:
            held[number] = Held(f"its schedulingGate {gates[0]} is not removed yet: the scheduler does not consider it")
        if pod_source.pod_replacement.ordered:
            for later in range(number + 1, len(pods)):
                if later not in nodes:
                    held.setdefault(later, Held(f"created only after {pod.name} is ready", after=pod.key))
    _nominate(cluster, [compiled._replace(pods=tuple(pods))])
    return compiled._replace(pods=tuple(pods), recreated=recreated)


def keeps_pending_pods(pod_source: PodSource) -> bool:
    """Return whether the controller of a workload keeps a Pending pod although the template has changed.

    A Deployment scales its old ReplicaSets down. A StatefulSet deletes the pod, unless it creates its pods in order: then it waits until
    the pod is ready ("forced rollback" in its documentation; updateStatefulSet of pkg/controller/statefulset).
    """
    ordered = pod_source.pod_replacement.ordered
    return ordered if pod_source.kind == "StatefulSet" else pod_source.kind not in ("Deployment", "Rollout", "DeploymentConfig")


def build_schedule(inventory: Inventory, pod_sources: Sequence[PodSource]) -> Schedule:
    """Create the pods of the workloads and schedule them."""
    return build_schedules(start(inventory, pod_sources))


def build_schedules(beginning: Start) -> Schedule:
    """Schedule the pods of all workloads: pods with a ``spec.nodeName`` first, then those of DaemonSets, then replicas.

    Replicas are in the order of their priorities, then in the order given. Pending pods preempt others of lower priority. Those that stay
    Pending are tried again until nothing changes, as the scheduler's queue does.
    """
    work = _ScheduleBuilder(beginning)
    work.pin()
    work.settle()
    while work.release():
        work.settle()
    return work.result()


class _ScheduleBuilder:
    """A schedule under construction."""

    def __init__(self, beginning: Start) -> None:
        self.before, self.pod_sources, compiled, self.staying, held, self.exclusive, self.priorities, self.unready = beginning
        self.cluster = self.before.copy()
        self.held = {
            pod.key: why for each, whys in zip(compiled, held, strict=False) for number, why in whys.items() for pod in (each.pods[number],)
        }
        self.compiled = _distinct(compiled, self.pod_sources, self.before.pods.keys() - self.held.keys())
        self.recreated = {
            each.pods[number].key: pod._replace(name=each.pods[number].name)
            for each in self.compiled
            for number, pod in each.recreated.items()
        }
        self.migrated = {each.pods[number].key: pod for each in self.compiled for number, pod in each.migrated.items()}
        self.nodes: dict[PodKey, str] = {}
        self.pending: dict[PodKey, Mapping[str, str]] = {}
        self.errors: dict[PodKey, str] = {}
        self.victims: dict[PodKey, Victim] = {}
        self.changes = 0

    def pin(self) -> None:
        """Bind the running pods, and those with a `spec.nodeName`, which the scheduler ignores."""
        known = set(self.before.nodes)
        for nodes, compiled in zip(self.staying, self.compiled, strict=False):
            for number, node in nodes.items():
                self._bind(compiled.pods[number], node)
        for pod_source, compiled in zip(self.pod_sources, self.compiled, strict=True):
            if pod_source.node_name and not pod_source.daemon:
                for pod in compiled.pods:
                    if pod.key in self.nodes or pod.key in self.held:
                        continue
                    if pod_source.node_name in known:
                        self._bind(pod, pod_source.node_name)
                    else:
                        self.pending[pod.key] = {}

    def settle(self) -> None:
        """Schedule all other pods, in rounds until nothing changes."""
        daemons = [
            compiled
            for pod_source, compiled in zip(self.pod_sources, self.compiled, strict=True)
            if pod_source.daemon and not _is_unjudged(compiled)
        ]
        queue = sorted(zip(self.pod_sources, self.compiled, strict=True), key=lambda each: -(each[0].priority or 0))
        others = [
            pod
            for pod_source, compiled in queue
            if not (pod_source.daemon or pod_source.node_name or _is_unjudged(compiled))
            for pod in compiled.pods
            if pod.key not in self.held
        ]
        progress = True
        while progress:
            before = self.changes
            for compiled in daemons:
                self._place_daemons(compiled)
            waiting = [pod for pod in others if not self._is_settled(pod)]
            self._apply(waiting, schedule_pods(self.cluster, waiting, self._preemption()))
            # New placements can only change the result for pods of a DaemonSet: the scheduler has retried all others.
            progress = self.changes > before and any(pod.key in self.pending for each in daemons for pod in each.pods)

    def release(self) -> bool:
        """Create the pods that waited for a pod that has a node now; return whether there are any."""
        released = [key for key, held in self.held.items() if held.after in self.nodes]
        for key in released:
            del self.held[key]
        return bool(released)

    def _is_settled(self, pod: Pod) -> bool:
        """Return whether a pod has a node, or was preempted and is not recreated."""
        return pod.key in self.nodes or (pod.key in self.victims and pod.key not in self.pending)

    def _place_daemons(self, compiled: CompiledPods) -> None:
        template = compiled.template
        if template is None:
            return
        created = [(pod, node) for pod, node in zip(compiled.pods, compiled.nodes, strict=True) if pod.key not in self.held]
        waiting = [(pod, node) for pod, node in created if not self._is_settled(pod)]
        # Pods of a DaemonSet run on different nodes and mostly have no constraints on each other: then one verdict is valid for all.
        aware = bool(template.hard_spread or template.affinity or template.anti_affinity or template.malformed_terms or template.volumes)
        verdict = None
        for pod, node in waiting:
            if verdict is None or aware:
                verdict = self.cluster.evaluate(only_on(pod, node) if aware else template)
            if verdict.feasible.get(node):
                self._bind(pod, node)
                self.pending.pop(pod.key, None)
            else:
                self.pending[pod.key] = {node: verdict.reason[node]} if node in verdict.reason else {}
        if self.priorities is not None:
            self._preempt_for_daemons([pod for pod, _ in waiting if pod.key in self.pending], {pod.key: node for pod, node in waiting})

    def _preempt_for_daemons(self, pods: Sequence[Pod], nodes: Mapping[PodKey, str]) -> None:
        """Schedule the pods of a DaemonSet whose nodes reject them because of other pods."""
        numbers = self.cluster.table.numbers
        known = [pod for pod in pods if nodes[pod.key] in numbers]
        waiting = [pod for pod in known if self.cluster.static_rejections(pod)[numbers[nodes[pod.key]]] is None]
        self._apply(waiting, schedule_pods(self.cluster, [only_on(pod, nodes[pod.key]) for pod in waiting], self._preemption()))

    def _apply(self, waiting: Sequence[Pod], attempt: Attempt) -> None:
        """Take over the result of scheduling some pods."""
        for victim in attempt.victims:
            identity = victim.pod.key
            self.cluster.unbind(victim.pod)
            self.nodes.pop(identity, None)
            self.victims.setdefault(identity, victim)
            self.changes += 1
        for pod in (*waiting, *[self.recreated.get(victim.pod.key, victim.pod) for victim in attempt.victims]):
            if pod.key in attempt.nodes:
                self._bind(pod, attempt.nodes[pod.key])
                self.pending.pop(pod.key, None)
        self.pending.update(attempt.pending)
        for pod in waiting:
            self.errors.pop(pod.key, None)
        self.errors.update(attempt.errors)

    def _bind(self, pod: Pod, node: str) -> None:
        self.cluster.bind(pod, node)
        self.nodes[pod.key] = node
        self.changes += 1

    def _preemption(self) -> PreemptionRules | None:
        """Return what decides about preemption now; None if no pod preempts another."""
        if self.priorities is None:
            return None
        from afflint.placement.preemption import PreemptionRules

        workloads = [(source, compiled.pods) for source, compiled in zip(self.pod_sources, self.compiled, strict=True)]
        return PreemptionRules(self.priorities, workloads, self.victims, recreated_pods=self.recreated)

    def result(self) -> Schedule:
        workloads = []
        staying = self.staying or [{} for _ in self.pod_sources]
        for pod_source, compiled, ran in zip(self.pod_sources, self.compiled, staying, strict=True):
            identities = [pod.key for pod in compiled.pods]
            nodes = {identity: self.nodes[identity] for identity in identities if identity in self.nodes}
            pending = {identity: self.pending[identity] for identity in identities if identity in self.pending}
            error = compiled.error or next((self.errors[identity] for identity in identities if identity in self.errors), None)
            held = {identity: self.held[identity] for identity in identities if identity in self.held} if self.held else _NOTHING
            stays = frozenset([compiled.pods[number].key for number in ran])
            victims = {each: self.victims[each] for each in identities if self._is_shown(each, stays)} if self.victims else _NO_VICTIMS
            placed = PlacedWorkload(pod_source, compiled.pods, compiled.template, nodes, pending, error, held, stays - victims.keys())
            recreated = {each: self.recreated[each] for each in identities if each in self.recreated} if self.recreated else _NO_PODS
            migrated = {each: self.migrated[each] for each in identities if each in self.migrated} if self.migrated else _NO_PODS
            more = victims or recreated or migrated
            workloads.append(placed._replace(victims=victims, recreated=recreated, migrated=migrated) if more else placed)
        if waits_for_volumes(self.exclusive, self.cluster):
            workloads = self._with_waits(workloads)
        return Schedule(self.before, self.cluster, tuple(workloads), self.exclusive, self.priorities, self.unready)

    def _is_shown(self, identity: PodKey, stays: Container[PodKey]) -> bool:
        """Return whether a pod was preempted and either ran before, or is not recreated."""
        return identity in self.victims and (identity in stays or not (identity in self.nodes or identity in self.pending))

    def _with_waits(self, workloads: Sequence[PlacedWorkload]) -> list[PlacedWorkload]:
        """Return the workloads with the pods that wait for volumes that other pods use."""
        pods = {pod.key: pod for placed in workloads for pod in placed.pods}
        first = [identity for placed in workloads for identity in placed.stays]
        order = dict.fromkeys([*first, *self.nodes])
        placed_pods = [(pods[identity], self.nodes[identity]) for identity in order if identity in self.nodes]
        waits = volume_waits(placed_pods, self.exclusive, self.cluster, frozenset(first))
        return [placed._replace(waits={each: waits[each] for each in placed.nodes if each in waits}) for placed in workloads]


def _is_unjudged(compiled: CompiledPods) -> bool:
    """Return whether it is unknown how the scheduler of some pods places them."""
    return compiled.template is not None and bool(compiled.template.rules.profile.unknown)


def _distinct(compiled: Sequence[CompiledPods], pod_sources: Sequence[PodSource], taken: set[PodKey]) -> list[CompiledPods]:
    """Rename pods that would share a name: a cluster adds a random suffix to most names."""
    result = []
    for pod_source, each in zip(pod_sources, compiled, strict=True):
        pods = []
        for pod in each.pods:
            name, count = pod.name, 1
            while (pod.namespace, name) in taken:
                count += 1
                name = (
                    f"{pod.name}-{replicas.revision_hash(pod_source)}"
                    if count == 2
                    else f"{pod.name}-{replicas.revision_hash(pod_source)}{count}"
                )
            taken.add((pod.namespace, name))
            pods.append(pod if name == pod.name else pod._replace(name=name))
        result.append(each._replace(pods=tuple(pods)))
    return result
