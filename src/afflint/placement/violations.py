"""Running pods on nodes where the scheduler would not put them now, and what would bring them to other nodes.

Rules count when a pod is scheduled. A label, a taint or a rule that changes later leaves running pods where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from afflint.controllers.evictions import Eviction
from afflint.findings.namedtuples import NamedTuple
from afflint.placement.evictions import migration_target
from afflint.placement.plan import Violation
from afflint.placement.rejections import Rejections
from afflint.placement.schedule import PlacedWorkload, Schedule, schedule_pods
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_fit import NODE_AFFINITY, TAINT_TOLERATION
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import Pod, PodKey, parsed_terms
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

if TYPE_CHECKING:
    from afflint.placement.preemption import PreemptionRules

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
    """A pod that cannot be scheduled where it runs: its node and the plugin that rejects it."""

    placed: PlacedWorkload
    pod: Pod
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
        plugin = cluster.rejection(pod, node)
        if plugin in _STRATEGIES:
            titles = titles or {identity: each.pod_source.key for identity, each in schedule.owners.items()}
            restarts = _Restarts(real, schedule.preemption, eviction_of)
            yield _violation(_Place(placed, pod, node, plugin), cluster, titles, restarts)
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
    placed, pod, node, plugin = place
    real, key = restarts.real, placed.pod_source.key
    why = Rejections(cluster, pod, titles, key).phrase(node, plugin).one
    recreated = placed.pod_source.pod_replacement.replaced != "never" and not placed.pod_source.bare
    migrates = placed.pod_source.kubevirt and restarts.eviction_of(pod).what == "migrates"
    migration = restart = None
    if migrates:
        # The source of a live migration counts until the target runs.
        target = migration_target(pod, real, node)
        preemption = restarts.preemption(more={target.key: placed.pod_source})
        migration = schedule_pods(real, [target], preemption).nodes.get(target.key)
    if recreated:
        real.unbind(pod)
        restart = schedule_pods(real, [placed.recreated.get(pod.key, pod)], restarts.preemption((pod.key,))).nodes.get(pod.key)
        real.bind(pod, node)
    return Violation(pod.name, key, node, why, plugin, recreated, restart, migrates, migration, _strategy(place, cluster))


def _strategy(place: _Place, cluster: Cluster) -> str | None:
    """Return the strategy of the descheduler for a violation; None for pod affinity, which none enforces."""
    terms = parsed_terms(place.pod.affinity)
    apart = place.plugin != INTER_POD_AFFINITY or not terms or cluster.table.numbers[place.node] in cluster.companions(terms)
    return _STRATEGIES[place.plugin] if apart else None
