"""What decides about evictions of the pods of a schedule, and the target pods of live migrations.

Semantics: KubeVirt's admitter of pod evictions, and virt-controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import ALLOWED, Eviction, eviction_of
from afflint.controllers.launcher_pod import OBSOLETE_HOST_MODEL, is_reported_by_nodes, target_labels
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import CREATED_BY, MIGRATION_UID
from afflint.kube.node_labels import HOSTNAME, domain_word
from afflint.kube.selectors import Requirement, Selector
from afflint.placement.disruption_budgets import Disruptions
from afflint.placement.schedule import PlacedWorkload, Schedule
from afflint.placement.schedule_index import ScheduleIndex
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY, selects
from afflint.scheduler.pods import Pod, PodKey, Term, parsed_terms

_NOTHING_KNOWN: Mapping[PodKey, Eviction] = {}
_NO_LABELS: Mapping[str, str] = {}


class Evictions:
    """What decides about evictions of the pods of one schedule."""

    def __init__(
        self, schedule_index: ScheduleIndex, budgets: Iterable[Budget] = (), running: Mapping[PodKey, Eviction] = _NOTHING_KNOWN
    ) -> None:
        """Prepare evictions. ``running`` has the results of evictions that are known from running VirtualMachineInstances."""
        self.schedule_index = schedule_index
        schedule = schedule_index.schedule
        self.disruptions = Disruptions(schedule.cluster, schedule.pods_of_workloads, budgets, schedule.unready)
        self._running = running
        self._known: dict[str, Eviction] = {}
        self._in_progress: Mapping[str, tuple[Pod, str]] | None = None

    def of(self, pod: Pod) -> Eviction:
        """Return the result of evicting a pod, without its PodDisruptionBudgets."""
        running = self._running.get(pod.key)
        if running is not None:
            return running
        placed = self.schedule_index.owners.get(pod.key)
        if placed is None:
            return ALLOWED
        known = self._known.get(placed.pod_source.key)
        if known is None:
            known = self._known[placed.pod_source.key] = eviction_of(placed.pod_source)
        return known

    def target_in_progress(self, pod: Pod) -> tuple[Pod, str] | None:
        """Return the pod to which a VM migrates already, and its node: see ``targets_in_progress``."""
        if self._in_progress is None:
            self._in_progress = targets_in_progress(self.schedule_index.schedule)
        return self._in_progress.get(pod.labels.get(CREATED_BY, ""))


def targets_in_progress(schedule: Schedule) -> dict[str, tuple[Pod, str]]:
    """Return the target pods of migrations that have a node, with these, by the UID of their VM.

    No second migration of the VM starts before this one ends (filterRunningNonMigratingVMIs,
    pkg/virt-controller/watch/drain/evacuation).
    """
    return {
        pod.labels[CREATED_BY]: (pod, node)
        for node, pods in schedule.cluster.pods_by_node().items()
        for pod in pods
        if MIGRATION_UID in pod.labels and CREATED_BY in pod.labels and not (pod.key in schedule.owners or pod.subject.terminating)
    }


def migration_target(
    pod: Pod, cluster: Cluster, node: str, placed: PlacedWorkload | None = None, selector: Mapping[str, str] = _NO_LABELS
) -> Pod:
    """Return the target pod of a live migration: it must run on another host, with a compatible CPU.

    ``placed`` is the workload of the pod, which knows the VirtualMachineInstance of a VM that runs. ``selector`` is the
    ``addedNodeSelector`` of the migration, over which the VM takes precedence. Labels that no node has are not required.
    Semantics: ``createTargetPod`` of KubeVirt (pkg/virt-controller/watch/migration).
    """
    source, pod = pod, pod if placed is None else placed.migrated.get(pod.key, pod)
    itself = Selector((Requirement(CREATED_BY, "In", (pod.labels.get(CREATED_BY, ""),)),))
    apart = Term(HOSTNAME, itself, frozenset((pod.namespace,)), None)
    name = f"{pod.name}-target"
    own = pod.rules.node_selector.requirements
    stated = {each.key for each in own}
    own = (*own, *[Requirement(key, "In", (value,)) for key, value in selector.items() if key not in stated])
    labels_of_node = cluster.table.nodes[cluster.table.numbers[node]].labels
    from_source = [each.key for each in source.rules.node_selector.requirements]
    asked = target_labels([each.key for each in own], from_source, labels_of_node, host_model=OBSOLETE_HOST_MODEL in pod.added)
    labels = [key for key in asked if is_reported_by_nodes(key, cluster.table.keys)]
    required = Selector((*own, *[Requirement(key, "In", ("true",)) for key in labels]))
    return pod._replace(
        name=name,
        anti_affinity=(*parsed_terms(pod.anti_affinity), apart),
        rules=pod.rules._replace(node_selector=required),
        added=pod.added.union(labels),
    )


class OwnSeparation(NamedTuple):
    """How the required anti-affinity of a VM rejects the target of its migration because of the VM itself.

    ``advice`` says that and what to change; ``nodes`` are those in its topology domain.
    """

    advice: str = ""
    nodes: frozenset[str] = frozenset()

    def others(self, rejected: Mapping[str, str]) -> dict[str, str]:
        """Return the nodes with the plugins that reject the target there, without those that ``advice`` explains."""
        return {node: plugin for node, plugin in rejected.items() if plugin != INTER_POD_AFFINITY or node not in self.nodes}


def own_separation(pod: Pod, cluster: Cluster, node: str, placed: PlacedWorkload | None = None) -> OwnSeparation:
    """Return how a VM rejects the target of its migration itself; empty if it does not, or if that decides about no node.

    The source pod runs until the migration ends, and the target pod has its labels and terms.
    """
    target = migration_target(pod, cluster, node, placed)
    own = [term for term in parsed_terms(target.anti_affinity)[:-1] if term.key != HOSTNAME and selects(term, pod, cluster.directory)]
    if not own:
        return OwnSeparation()
    without = cluster.copy()
    without.unbind(pod)
    feasible = without.evaluate(target).feasible
    column, numbers = cluster.table.column(HOSTNAME), cluster.table.numbers
    elsewhere = (name for name, possible in feasible.items() if possible and name != node)
    if all(column[numbers[name]] == column[numbers[node]] for name in elsewhere):
        return OwnSeparation()
    word = domain_word(own[0].key) or own[0].key
    runs = f"the VM itself runs in its {word} until the migration ends, so its required anti-affinity rejects the target pod there"
    advice = f"{runs}; require the anti-affinity over {HOSTNAME}, or prefer it over {own[0].key}"
    column = cluster.table.column(own[0].key)
    return OwnSeparation(advice, frozenset([name for name, number in numbers.items() if column[number] == column[numbers[node]]]))
