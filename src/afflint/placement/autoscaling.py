"""Nodes that an autoscaler creates for Pending pods, up to the maximum size of each pool.

An autoscaler acts on Pending pods, and creates a node in a pool whose nodes could take such a pod (FAQ of cluster-autoscaler).
Which of several pools it scales is up to the autoscaler: here it is the first that can, in the order of the files.
Each round schedules all pods again, instead of those that are Pending in a `ClusterState`: a plan is one schedule on all of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from afflint.controllers.pod_source import PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import NodeClass
from afflint.kube.constraints import constraints_of
from afflint.kube.node_labels import DEPRECATED, ZONE
from afflint.manifests.label_places import node_choices, topology_keys
from afflint.placement.schedule import PlacedWorkload, Schedule, build_schedule
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import NodeRules, Pod, parsed_terms
from afflint.storage.topology import DRIVER_ZONES

_MOST_ROUNDS = 200
_MOST_FUTILE = 2
"""How often nodes are created in a pool although no further pod can be scheduled on them."""


class _PendingPods(NamedTuple):
    """The number of a pool, and the node requirements of the pods that wait for its nodes."""

    number: int
    rules: NodeRules


class ScaledInventory(NamedTuple):
    """The inventory with the nodes of pools, and the number of the pool of each such node."""

    inventory: Inventory
    made: Mapping[str, int]


def scale_pools(inventory: Inventory, pod_sources: Sequence[PodSource], classes: Sequence[NodeClass]) -> ScaledInventory:
    """Return the inventory with the minimum nodes of each pool, and the nodes created for pods that would stay Pending."""
    return _PoolScaling(inventory, pod_sources, classes).grow()


class _PoolScaling:
    def __init__(self, inventory: Inventory, pod_sources: Sequence[PodSource], classes: Sequence[NodeClass]) -> None:
        self.inventory = inventory
        self.pod_sources = pod_sources
        self.classes = classes
        cluster = inventory.cluster()
        self.taken = {node.name for node in cluster.table.nodes}
        self.driver_zones = _driver_zones(cluster.table.nodes)
        self.keys = {key for pod_source in pod_sources for key in _keys_asked(pod_source)}
        self.nodes: dict[str, tuple[Node, int]] = {}
        self.counts = [0] * len(classes)
        """How many nodes were numbered in each pool; ``made_in`` has how many exist."""
        self.made_in = [0] * len(classes)
        self.steps: dict[_PendingPods, int] = {}
        self.futile: dict[_PendingPods, int] = {}
        self.before: dict[_PendingPods, int] = {}

    def grow(self) -> ScaledInventory:
        for number, each in enumerate(self.classes):
            for _ in range(each.least):
                self._make(number, None)
        kept = frozenset(self.nodes)
        schedule = build_schedule(self._now(), self.pod_sources)
        for _ in range(_MOST_ROUNDS):
            if not self._answer(schedule):
                break
            schedule = build_schedule(self._now(), self.pod_sources)
        return self._without_empty(schedule, kept)

    def _now(self, names: Sequence[str] | None = None) -> Inventory:
        chosen = [node for name, (node, _) in self.nodes.items() if names is None or name in names]
        return self.inventory._replace(nodes=[*self.inventory.nodes, *chosen])

    def _make(self, number: int, pod: Pod | None) -> None:
        each = self.classes[number]
        while True:
            name = f"{each.name}-{self.counts[number] + 1}"
            self.counts[number] += 1
            if name not in self.taken:
                break
        self.taken.add(name)
        self.made_in[number] += 1
        node = each.node(name, self.counts[number] - 1, pod.rules if pod is not None else None, self.keys)
        if self.driver_zones and ZONE in node.labels:
            node = node._replace(labels={**dict.fromkeys(self.driver_zones, node.labels[ZONE]), **node.labels})
        self.nodes[name] = node, number

    def _answer(self, schedule: Schedule) -> bool:
        """Create nodes for the Pending pods; return whether more can be tried.

        Workloads with the same node requirements share the new nodes: at most as many at once as the workload that needs most.
        """
        groups: dict[_PendingPods, list[PlacedWorkload]] = {}
        for placed in schedule.workloads:
            asked = self._pool_for(placed)
            if asked is not None:
                groups.setdefault(asked, []).append(placed)
        for asked, several in groups.items():
            waiting = sum(len(placed.pending) for placed in several)
            if waiting >= self.before.get(asked, waiting + 1):
                self.futile[asked] = self.futile.get(asked, 0) + 1
            self.before[asked] = waiting
            if self.futile.get(asked, 0) < _MOST_FUTILE:
                self._make_for(asked.number, asked, several)
        return bool(groups)

    def _make_for(self, number: int, asked: _PendingPods, several: Sequence[PlacedWorkload]) -> None:
        pods = [placed.template for placed in several if placed.template is not None]
        most = max([len(placed.pending) if _repels_itself(pod) else _ALONE for placed, pod in zip(several, pods, strict=True)])
        # An autoscaler knows the zones of a pool before there is a node in each; the scheduler spreads over those that it sees.
        first = max([self.classes[number].variety(spread.key) for pod in pods for spread in pod.hard_spread], default=1)
        step = self.steps[asked] = min(2 * self.steps.get(asked, 0) or first, most)
        for _ in range(min(step, sum(len(placed.pending) for placed in several), self._room(number))):
            self._make(number, pods[0])
        if _is_of_karpenter(self.classes[number]):
            self._make_domains(pods)

    def _make_domains(self, pods: Sequence[Pod]) -> None:
        """Create the first node for each domain of the hard spread constraints of pods in the other NodePools that may take them.

        Karpenter knows the domains of all of its pools before they have nodes (`NewTopology`, pkg/controllers/provisioning/scheduling).
        """
        for pod in pods:
            for number, each in enumerate(self.classes):
                known = each.known
                varieties = [each.variety(spread.key) for spread in pod.hard_spread if known is not None and known.values(spread.key)]
                if varieties and not self.made_in[number] and _is_of_karpenter(each) and each.may_take(pod.rules):
                    for _ in range(min(max(varieties), self._room(number))):
                        self._make(number, pod)

    def _room(self, number: int) -> int:
        most = self.classes[number].count
        return _UNBOUNDED if most is None else most - self.made_in[number]

    def _pool_for(self, placed: PlacedWorkload) -> _PendingPods | None:
        """Return the pool in which nodes are created for the Pending pods of a workload, if any, with the node requirements of the pods."""
        if not placed.pending or placed.template is None or placed.error or placed.pod_source.daemon or placed.pod_source.node_name:
            return None
        for number, each in enumerate(self.classes):
            asked = _PendingPods(number, placed.template.rules)
            if self.futile.get(asked, 0) < _MOST_FUTILE and self._room(number) > 0 and each.may_take(placed.template.rules):
                return asked
        return None

    def _without_empty(self, schedule: Schedule, kept: frozenset[str]) -> ScaledInventory:
        """Remove nodes that only run pods of DaemonSets, unless pods then stay Pending.

        If pods stay Pending in any case, each pool keeps a node, so that the report can say why.
        """
        used = {node for placed in schedule.workloads if not placed.pod_source.daemon for node in placed.nodes.values()}
        waiting = _waiting(schedule)
        shown = set(self._one_of_each(used | kept)) if waiting else set()
        names = [name for name in self.nodes if name in kept or name in used or name in shown]
        if len(names) < len(self.nodes) and _waiting(build_schedule(self._now(names), self.pod_sources)) > waiting:
            names = list(self.nodes)
        return ScaledInventory(self._now(names), {name: self.nodes[name][1] for name in names})

    def _one_of_each(self, there: AbstractSet[str]) -> Iterator[str]:
        """Yield one node for each pool that would have none: it shows why Pending pods cannot be scheduled there."""
        having = {self.nodes[name][1] for name in there if name in self.nodes}
        for number in range(len(self.classes)):
            if number in having:
                continue
            made = next((name for name, (_, each) in self.nodes.items() if each == number), None)
            if made is None and self._room(number) > 0:
                self._make(number, None)
                made = next(reversed(self.nodes))
            if made is not None:
                yield made


_UNBOUNDED = 1 << 30
_ALONE = 16
"""How many nodes at once are created at most for pods that may share a node."""


def _is_of_karpenter(pool: NodeClass) -> bool:
    return pool.known is not None and (pool.known.pool.ref.api_version or "").startswith("karpenter.sh/")


def _driver_zones(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return the labels with which drivers of volumes report the zone of every node, as they will for new nodes."""
    return tuple(
        [key for key in sorted(DRIVER_ZONES) if nodes and all(node.labels.get(key, "") == node.labels.get(ZONE) for node in nodes)]
    )


def _waiting(schedule: Schedule) -> int:
    return sum(len(placed.pending) for placed in schedule.workloads if not placed.pod_source.daemon)


def _repels_itself(pod: Pod) -> bool:
    """Return whether pods like this one may each need a node of their own."""
    return bool(parsed_terms(pod.anti_affinity) or pod.hard_spread or pod.ports)


def _keys_asked(pod_source: PodSource) -> Iterator[str]:
    """Yield the topology keys of the constraints of a workload, and the deprecated labels by which it selects nodes."""
    constraints = constraints_of(dict(pod_source.pod), ())
    yield from (place.key for place in topology_keys(constraints))
    yield from (place.key for place in node_choices(constraints) if place.key in DEPRECATED)
