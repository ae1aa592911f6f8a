"""Rollouts of workloads: which pods their controllers replace, in which order, and where all pods may be in the end.

A rollout begins with the pods of a schedule, and all pods of other workloads stay. The new template has the same placement constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.controllers.evictions import migration_obstacle
from afflint.controllers.kubevirt_cluster import KubeVirtCluster
from afflint.controllers.pod_source import PodSource
from afflint.controllers.rollouts import REVISION_LABELS, pod_limit, rolling_update
from afflint.findings.errors import UnknownNameError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, nearest, pluralize
from afflint.placement.disruption_budgets import is_silent
from afflint.placement.evictions import migration_target
from afflint.placement.ordered_states import OrderedStates
from afflint.placement.plan import RolloutEffect, RolloutResult, RolloutStep
from afflint.placement.rejections import Rejections, RunningPodIndex
from afflint.placement.rolling_states import OldPod, RollingStates, deletion_cost, previous_revision
from afflint.placement.rollout_orders import MOST_STATES, Event, Nodes, RolloutStates, S
from afflint.placement.schedule import PlacedWorkload, Schedule, schedule_pods
from afflint.placement.volumes import attachment_waits
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.node_fit import SCHEDULER
from afflint.scheduler.pods import PodKey
from afflint.storage.pod_volumes import PodClaim
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import metadata_of

_MAX_UNAVAILABLE = (1, 37)
"""The first version in which maxUnavailable of a StatefulSet counts by default (the feature gate MaxUnavailableStatefulSet)."""
_MAX_UNAVAILABLE_GATE = "MaxUnavailableStatefulSet"
_MOST_OUTCOMES = 20
_EACH = "each"
_NO_COSTS: Mapping[PodKey, int] = {}


class ClusterSettings(NamedTuple):
    """The version and the enabled feature gates of a cluster, and the costs of deleting running pods."""

    version: tuple[int, int] = SCHEDULER
    feature_gates: Iterable[str] = ()
    costs: Mapping[PodKey, int] = _NO_COSTS


_DEFAULTS = ClusterSettings()


def deletion_costs(pods: Iterable[object]) -> Mapping[PodKey, int]:
    """Return the costs of deleting running pods that are not 0, from their annotations. ``pods`` are pods as parsed."""
    found = {}
    for pod in pods:
        metadata = metadata_of(pod)
        cost = deletion_cost(map_at(metadata, "annotations"))
        if cost:
            found[str(metadata.get("namespace") or "default"), str(metadata.get("name"))] = cost
    return found


def chosen_workloads(workloads: Sequence[PlacedWorkload], asked: Iterable[str]) -> list[PlacedWorkload]:
    """Return the workloads that `--roll` names: by key, name or namespace and name, or ``each``. Raises UnknownNameError."""
    names: dict[str, list[PlacedWorkload]] = {}
    for placed in workloads:
        own = placed.pod_source
        for name in dict.fromkeys((own.key, own.full_name, f"{own.namespace}/{own.full_name}", f"{own.kind}/{own.full_name}".lower())):
            names.setdefault(name, []).append(placed)
    chosen: dict[str, PlacedWorkload] = {}
    for name in asked:
        found = names.get(name) or names.get(name.lower())
        if name == _EACH and found is None:
            found = [placed for placed in workloads if placed.pods and _is_rolled(placed.pod_source)]
        if found is None:
            close = nearest(name, names)
            raise UnknownNameError(f"no workload is named {name!r}{f'; did you mean {close!r}?' if close else ''}", name)
        chosen.update((placed.pod_source.key, placed) for placed in found)
    return list(chosen.values())


def _is_rolled(pod_source: PodSource) -> bool:
    return pod_source.kind in REVISION_LABELS or pod_source.kind in ("StatefulSet", "DaemonSet") or pod_source.kubevirt


class Rollouts:
    """The rollouts that are simulated on one schedule. ``key`` is the label of the topology domains in the results."""

    def __init__(self, schedule: Schedule, key: str, settings: ClusterSettings = _DEFAULTS, most: int = MOST_STATES) -> None:
        """``most`` is the number of states up to which all orders of a rollout are examined."""
        self.schedule = schedule
        self._settings = settings
        self._most = most
        self._titles = {pod: placed.pod_source.key for pod, placed in schedule.owners.items()}
        table = schedule.cluster.table
        self._column = table.column(key)
        self._silent = frozenset([number for number, node in enumerate(table.nodes) if is_silent(node)])

    def roll(self, placed: PlacedWorkload) -> RolloutEffect:
        """Simulate the rollout of a workload."""
        pod_source = placed.pod_source
        if placed.unjudged:
            return self._effect(placed, "", "unjudged", placed.unjudged)
        if pod_source.kind in REVISION_LABELS and placed.pods:
            return self._deployment(placed)
        if pod_source.kind == "StatefulSet" and placed.pods:
            return self._stateful_set(placed)
        if pod_source.daemon and placed.template is not None:
            return self._daemon_set(placed)
        if pod_source.kubevirt:
            return self._effect(placed, "", "manual", machine_update(placed, self.schedule))
        return self._effect(placed, "", "manual", f"nothing replaces the pods of a {pod_source.kind}")

    def _effect(self, placed: PlacedWorkload, strategy: str, result: RolloutResult, why: str = "") -> RolloutEffect:
        """Return the effect of a rollout that does not change where pods are."""
        before = self._domains(self._nodes(placed))
        outcomes = (before,) if result == "completes" else ()
        ready = sum(before.values())
        return RolloutEffect(placed.pod_source.key, strategy, result, (), why, before, outcomes, len(before), ready)

    def _nodes(self, placed: PlacedWorkload) -> Nodes:
        numbers = self.schedule.cluster.table.numbers
        return tuple(sorted([numbers[node] for identity, node in placed.nodes.items() if identity in placed.running]))

    def _domains(self, nodes: Iterable[int]) -> dict[str, int]:
        """Return how many pods are in each domain, by its name in order."""
        found: dict[str, int] = {}
        for node in nodes:
            value = self._column[node] or ""
            found[value] = found.get(value, 0) + 1
        return dict(sorted(found.items()))

    # --- Deployments -----------------------------------------------------------------------------------------------------

    def _deployment(self, placed: PlacedWorkload) -> RolloutEffect:
        own = placed.pod_source
        limits = rolling_update(own.kind, own.strategy, own.replicas)
        if limits is None and own.strategy.get("type") != "Recreate":
            return self._effect(placed, "", "manual", "its strategy is unknown")
        strategy = "Recreate" if limits is None else f"maxSurge {limits.surge}, maxUnavailable {limits.unavailable}"
        numbers, costs = self.schedule.cluster.table.numbers, self._settings.costs
        label = REVISION_LABELS[own.kind]
        nodes = placed.nodes
        old = [
            OldPod(
                previous_revision(pod, label),
                numbers[nodes[pod.key]] if pod.key in nodes else None,
                costs.get(pod.key, 0),
                pod.key not in self.schedule.unready,
            )
            for pod in placed.pods
            if pod.key not in placed.held
        ]
        old.sort(key=lambda each: (each.node is None, each.node or 0))
        new = placed.pods[0] if placed.template is None else placed.template._replace(volumes=placed.pods[0].volumes)
        if own.node_name:
            return self._effect(placed, strategy, "completes")
        one_node = any(isinstance(each, PodClaim) and each.key in self.schedule.exclusive for each in new.volumes)
        new = new._replace(name=f"{own.full_name}-new")
        states = RollingStates(self._cluster_without(placed), old, new, len(old), limits, self._silent, one_node=one_node)
        return self._explored(placed, strategy, states, [each.pod.name for each in old], [each.node for each in old])

    def _cluster_without(self, placed: PlacedWorkload) -> Cluster:
        cluster = self.schedule.cluster.copy()
        for pod in placed.pods:
            if pod.key in placed.nodes:
                cluster.unbind(pod)
        return cluster

    def _explored(
        self, placed: PlacedWorkload, strategy: str, states: RolloutStates[S], names: Sequence[str], nodes: Sequence[int | None]
    ) -> RolloutEffect:
        """Return what the orders of a rollout lead to. ``names`` and ``nodes`` are those of the old pods by their indexes."""
        found = states.explore(self._column, self._most)
        example = states.example()
        last = example[-1][1] if example else states.start
        stuck = None if states.is_complete(last) else last
        result: RolloutResult = "completes"
        if stuck is not None or found.stuck:
            result = "may-block" if found.finals or found.rare or not found.exhaustive else "blocked"
        stuck = stuck or next(iter(found.stuck), None)
        why = self._reason(placed, states, stuck) if stuck is not None else ""
        outcomes = self._outcomes(found.finals)
        rare = [domains for domains, _ in self._outcomes(found.rare) if domains not in [each for each, _ in outcomes]]
        table = self.schedule.cluster.table
        between = [self._domains(each) for each in found.between]
        return RolloutEffect(
            placed.pod_source.key,
            strategy,
            result,
            tuple(_steps(example, names, nodes, table.names, placed.pod_source.full_name)),
            why,
            self._domains(self._nodes(placed)),
            tuple([domains for domains, _ in outcomes[:_MOST_OUTCOMES]]),
            min([len(each) for each in between if each], default=0),
            min(sum(each.values()) for each in between),
            found.exhaustive and not self._has_rivals(placed, states),
            tuple([tuple([table.names[node] for node in at]) for _, at in outcomes[:_MOST_OUTCOMES]]),
            tuple(rare[:_MOST_OUTCOMES]),
        )

    def _has_rivals(self, placed: PlacedWorkload, states: RolloutStates[S]) -> bool:
        """Return whether a Pending pod of another workload can be scheduled on a node that a rollout leaves for a moment."""
        cluster = states.emptied()
        others = [each for each in self.schedule.workloads if each is not placed and not each.unjudged]
        return any(cluster.room(pod) != 0 for each in others for pod in each.pods if pod.key in each.pending)

    def _outcomes(self, finals: Iterable[Nodes]) -> list[tuple[dict[str, int], Nodes]]:
        """Return the distributions at the end, each with an example of the nodes: first those with the fewest domains or the most skew."""
        by_domain: dict[tuple[tuple[str, int], ...], Nodes] = {}
        for nodes in sorted(finals):
            by_domain.setdefault(tuple(self._domains(nodes).items()), nodes)
        ranked = sorted(by_domain.items(), key=lambda item: (len(item[0]), -max([count for _, count in item[0]], default=0), item[0]))
        return [(dict(domains), nodes) for domains, nodes in ranked]

    def _reason(self, placed: PlacedWorkload, states: RolloutStates[S], stuck: S) -> str:
        """Return why nothing happens any more in a state: why no node accepts the next new pod, or which old pods never end."""
        cluster, names = states.fill(stuck), self.schedule.cluster.table.names
        # Old pods have their volumes already.
        pods = [(pod, names[node]) for pod, node in states.pods(stuck).values()][::-1]
        waits = attachment_waits(pods, self.schedule.exclusive)
        if waits:
            return f"the new pod is not ready: {next(iter(waits.values()))}"
        pod = states.next_pod(stuck)
        verdict = cluster.evaluate(pod)
        if any(verdict.feasible.values()):
            down = [name for number, name in enumerate(cluster.table.names) if number in self._silent]
            return f"pods on {join_words(down[:3])} never end while the node is unavailable" if down else "old pods are not ready"
        titles = {
            **self._titles,
            **{pod.key: placed.pod_source.key for pod in cluster.evicted(cluster.nodes) if pod.key not in self._titles},
        }
        return Rejections(cluster, pod, titles, placed.pod_source.key, RunningPodIndex(cluster)).summary(verdict.reason)

    # --- StatefulSets ----------------------------------------------------------------------------------------------------

    def _stateful_set(self, placed: PlacedWorkload) -> RolloutEffect:
        own = placed.pod_source
        if own.strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return self._effect(placed, "OnDelete", "manual", "its pods are replaced only when a user deletes them")
        limits = map_at(own.strategy, "rollingUpdate")
        given = limits.get("maxUnavailable") if self._counts_unavailable else None
        unavailable = max(1, pod_limit(given, own.replicas, up=False, default=1) or 1)
        start = limits.get("partition")
        partition = max(0, start - own.first) if isinstance(start, int) and not isinstance(start, bool) else 0
        strategy = f"maxUnavailable {unavailable}" + (f", partition {start}" if partition else "")
        if partition >= len(placed.pods):
            return self._effect(placed, strategy, "manual", f"its partition {start} leaves all pods as they are")
        if own.node_name:
            return self._effect(placed, strategy, "completes")
        numbers = self.schedule.cluster.table.numbers
        old = [(pod, numbers[placed.nodes[pod.key]] if pod.key in placed.nodes else None) for pod in placed.pods]
        states = OrderedStates(
            self._cluster_without(placed),
            old,
            placed.recreated.get(placed.pods[-1].key, placed.pods[-1])._replace(name=f"{own.full_name}-new"),
            partition=partition,
            unavailable=unavailable,
            ordered=own.pod_replacement.ordered,
            silent=self._silent,
        )
        return self._explored(placed, strategy, states, [pod.name for pod, _ in old], [node for _, node in old])

    @property
    def _counts_unavailable(self) -> bool:
        return self._settings.version >= _MAX_UNAVAILABLE or _MAX_UNAVAILABLE_GATE in self._settings.feature_gates

    # --- DaemonSets ------------------------------------------------------------------------------------------------------

    def _daemon_set(self, placed: PlacedWorkload) -> RolloutEffect:
        """Simulate the update of a DaemonSet: on each node a new pod replaces the old one (pkg/controller/daemon/update.go)."""
        own, template = placed.pod_source, placed.template
        assert template is not None
        if own.strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return self._effect(placed, "OnDelete", "manual", "its pods are replaced only when a user deletes them")
        limits = map_at(own.strategy, "rollingUpdate")
        eligible = len(placed.pods)
        surge = pod_limit(limits.get("maxSurge"), eligible, up=True, default=0) or 0
        unavailable = pod_limit(limits.get("maxUnavailable"), eligible, up=True, default=1)
        unavailable = 0 if surge else max(1, unavailable or 0)
        strategy = f"maxSurge {surge}, maxUnavailable {unavailable}"
        effect = self._effect(placed, strategy, "completes")
        table = self.schedule.cluster.table
        down = [node for node in placed.nodes.values() if table.numbers[node] in self._silent]
        if down:
            one = len(down) == 1
            which = f"{join_words(down[:3])}{f' and {len(down) - 3} more' if len(down) > 3 else ''} {'is' if one else 'are'} unavailable"
            allowed = surge or unavailable
            waits = f", and its pod{'s' * (not one)} already count{'s' * one} as {pluralize(len(down), 'unavailable pod')}"
            why = f"{which}{waits if len(down) >= allowed and not surge else ''}"
            return effect._replace(result="blocked", why=why, outcomes=())
        cluster = self.schedule.cluster if surge else self._cluster_without(placed)
        verdict = cluster.evaluate(template)
        stuck = {node: verdict.reason[node] for node in placed.nodes.values() if not verdict.feasible.get(node) and node in verdict.reason}
        if stuck:
            summary = Rejections(cluster, template, self._titles, own.key, RunningPodIndex(cluster)).summary(stuck)
            beside = "the new pod cannot run beside the old one: " if surge else "the new pod cannot be scheduled: "
            return effect._replace(result="blocked", why=beside + summary, outcomes=())
        steps: list[RolloutStep] = []
        for pod in placed.pods:
            node = placed.nodes.get(pod.key)
            if node is not None:
                pair = (RolloutStep("scheduled", f"{pod.name}-new", node), RolloutStep("removed", pod.name, node))
                steps += pair if surge else pair[::-1]
        least = effect.least_ready - (0 if surge else min(unavailable, len(placed.nodes)))
        return effect._replace(steps=tuple(steps), least_ready=least)


def _steps(
    example: Iterable[tuple[Event, object]], names: Sequence[str], nodes: Sequence[int | None], hosts: Sequence[str], workload: str
) -> Iterator[RolloutStep]:
    """Yield the steps of one order that a user sees: which pods are scheduled and removed."""
    created = 0
    for event, _ in example:
        if event.what == "scheduled" and event.node is not None:
            created += 1
            name = names[event.pods[0]] if event.pods else f"{workload}-new-{created}"
            yield RolloutStep("scheduled", name, hosts[event.node])
        elif event.what == "removed":
            for old in event.pods:
                node = nodes[old]
                yield RolloutStep("removed", names[old], None if node is None else hosts[node])


# What an update of KubeVirt does to running virtual machines: each is live-migrated, evicted, or stays as it is.
# Semantics: virt-controller's workload updater (pkg/virt-controller/watch/workload-updater). A changed template of a virtual machine does
# not change the running one: it applies after a restart.


LIVE_MIGRATE, EVICT = "LiveMigrate", "Evict"
ON_RESTART = "a changed template applies to a virtual machine when it restarts"


def update_methods(kubevirt: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the `workloadUpdateMethods` of the KubeVirt or HyperConverged resource; None if no manifest has the resource."""
    if not KubeVirtCluster(kubevirt).is_known:
        return None
    methods = map_at(kubevirt, "spec", "workloadUpdateStrategy").get("workloadUpdateMethods")
    return tuple([each for each in methods if isinstance(each, str)]) if isinstance(methods, list) else ()


def machine_update(placed: PlacedWorkload, schedule: Schedule) -> str:
    """Return in words when virtual machines take a changed template, and what an update of KubeVirt does to them."""
    methods = update_methods(placed.pod_source.virtualization.kubevirt)
    if methods is None:
        return ON_RESTART
    return f"{ON_RESTART}; an update of KubeVirt {_effect(placed, schedule, methods)}"


def _effect(placed: PlacedWorkload, schedule: Schedule, methods: tuple[str, ...]) -> str:
    obstacle = migration_obstacle(placed.pod_source)
    if LIVE_MIGRATE in methods and obstacle is None:
        stuck = _without_target(placed, schedule)
        return f"live-migrates it{f', but no node accepts the target pod of {stuck}' if stuck else ''} (workloadUpdateMethods: LiveMigrate)"
    why = f", because it cannot migrate: {obstacle.words}" if LIVE_MIGRATE in methods and obstacle is not None else ""
    if EVICT in methods:
        return f"evicts it (workloadUpdateMethods: Evict){why}"
    return f"leaves it as it is until it restarts{why or ' (no workloadUpdateMethods)'}"


def _without_target(placed: PlacedWorkload, schedule: Schedule) -> str:
    """Return the first of the virtual machines without a node to migrate to; empty if each has one."""
    cluster = schedule.cluster
    for pod in placed.pods:
        node = placed.nodes.get(pod.key)
        if node is not None and not schedule_pods(cluster, [migration_target(pod, cluster, node, placed)]).nodes:
            return pod.name
    return ""
