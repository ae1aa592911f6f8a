"""A cluster that answers where the scheduler puts pods: feasible nodes, reasons for rejections, and the queue of pods.

Semantics: schedulingCycle, findNodesThatFitPod, prioritizeNodes and selectHost of kube-scheduler (pkg/scheduler/schedule_one.go), and the
hints by which its queue retries pods (pkg/scheduler/backend/queue).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import fail
from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import AnyOf, Malformed, Selector, matches
from afflint.kube.taints import compares_values
from afflint.scheduler import declared_features, image_locality, interpod_affinity, node_ports, node_resources, topology_spread
from afflint.scheduler.declared_features import NODE_DECLARED_FEATURES
from afflint.scheduler.image_locality import IMAGE_LOCALITY
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.node_fit import NODE_AFFINITY, SCHEDULER, TAINT_TOLERATION, NodeFit, names_conflict
from afflint.scheduler.node_groups import (
    NO_NODES,
    NO_ROOM,
    LoadClasses,
    NodeColumnClasses,
    Outcome,
    Outcomes,
    RankedNodes,
    RepresentativeNodes,
    ungrouped,
)
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT, RESOURCE_SCORES, Shortage
from afflint.scheduler.nodes import ITSELF, Node, NodeTable, read_node
from afflint.scheduler.occupancy import MatchTables, Occupancy, Tally
from afflint.scheduler.plugins import PLUGINS, VOLUME_FILTERS
from afflint.scheduler.pods import (
    NodeRules,
    Pod,
    PodKey,
    Preference,
    SpreadConstraint,
    Term,
    as_filtered,
    parsed_terms,
    read_pod,
    scheduling_key,
)
from afflint.scheduler.profile import Profile, only_filter
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

if TYPE_CHECKING:
    from afflint.scheduler.cluster_storage import ClusterStorage, PodStorage
    from afflint.scheduler.rejection_messages import RejectionMessages
    from afflint.scheduler.volume_rejection import VolumeRejection

VOLUME_BINDING = "VolumeBinding"
WITH_VOLUMES = (1, 37)
"""The default version of the scheduler of a cluster with storage objects: the first that scores volumes."""

WEIGHTS = {name: plugin.weight for name, plugin in PLUGINS.items() if plugin.weight}
"""The weight of each plugin's score in the default configuration (pkg/scheduler/apis/config/v1/default_plugins.go)."""

_LATER_FILTERS = (NODE_PORTS, NODE_RESOURCES_FIT, None, POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY, NODE_DECLARED_FEATURES)
"""The filters after those for labels and taints, in their order; None are those for volumes."""

# Replicas share a fit and come in sequence; each pod of a DaemonSet needs its own, with an entry per node.
_MAX_CACHED_FITS = 1000
# Rankings and outcomes have an entry for each load that a node has had.
_MAX_RANKED = 250_000
# Up to this number of nodes, grouping them costs more than it saves.
_MAX_UNGROUPED = 32


class _VerdictFields(NamedTuple):
    feasible: dict[str, bool]
    reason: dict[str, str]
    scores: dict[str, dict[str, int]]
    total: dict[str, int]
    error: str | None = None


_Result = TypeVar("_Result")


class Verdict(_VerdictFields):
    """The decision of the scheduler about one pod.

    ``feasible`` shows for each node whether the pod can run there, ``reason`` has the first plugin that rejects a node, ``scores`` each
    plugin's 0..100 for the feasible nodes (without skipped plugins), and ``total`` their weighted sum. ``error`` is the extension point
    and plugin at which scheduling fails with an error, so that the pod stays Pending; after a failure in PreFilter or Filter everything
    else is empty.

    Only a cluster with storage objects has more, which does not take part in comparisons: ``messages`` has the scheduler's texts for each
    node that is not feasible, ``unresolvable`` the nodes among them where the eviction of other pods cannot help, and ``bindings`` for
    each feasible node the volume that each claim of the pod takes there, or ``(provision)``.
    """

    messages: Mapping[str, list[str]] = {}
    unresolvable: frozenset[str] = frozenset()
    bindings: Mapping[str, dict[str, str]] = {}


class Rating(NamedTuple):
    """The rating of a feasible node: the weighted sum of scores, the part of each plugin, the weights of satisfied preferences."""

    total: int
    parts: tuple[tuple[str, int], ...]
    met: int


class NumberedVerdict(NamedTuple):
    """A verdict by the numbers of nodes: the plugin that rejects each node, or its rating.

    Both lists are empty after a failure in PreFilter. ``possible`` is the sum of the weights of the pod's preferences, and
    ``volume_rejections`` is why the plugins for volumes reject nodes.
    """

    rejections: list[str | None]
    ratings: list[Rating | None]
    error: str | None
    possible: int = 0
    volume_rejections: Mapping[int, VolumeRejection] = {}


class SettledPlacements(NamedTuple):
    """The result after all retries: the node of each scheduled pod, and the plugin that rejects each node for the others."""

    placements: dict[str, str]
    unschedulable: dict[str, dict[str, str]]


class ScheduleResult(NamedTuple):
    """The result of scheduling pods in their order.

    ``placements`` and ``unschedulable`` are the results of the first attempt; ``settled`` has both after pending pods were retried in
    ``rounds`` rounds, until a round scheduled none. ``best`` has the nodes that tied for each scheduled pod (the scheduler picks one at
    random, this queue the first), ``errors`` the reason why scheduling failed with an error on a pending pod. ``cluster`` is the cluster at
    the end. Pods are identified by name, or by namespace/name if a name is not unique.
    """

    placements: dict[str, str]
    unschedulable: dict[str, dict[str, str]]
    settled: SettledPlacements
    rounds: int
    best: dict[str, tuple[str, ...]]
    errors: dict[str, str]
    cluster: Cluster


class FilteredNodes(NamedTuple):
    """The representative nodes of a pod that are left after each filter."""

    fit: NodeFit
    picked: RepresentativeNodes
    unused: list[int]
    """Nodes on which no requested host port is in use."""
    roomy: list[int]
    usable: list[int]
    """Nodes from which the volumes of the pod can be used."""
    spread: list[int]
    together: list[int]
    """Nodes that required pod affinity and anti-affinity allow."""
    feasible: list[int]
    everywhere: str | None = None
    """The plugin that rejects the pod in PreFilter, for all nodes; "" if no single plugin does."""
    error: str | None = None
    storage: PodStorage | None = None
    """The decision of the plugins for volumes; None if the pod has none."""
    pod: Pod | None = None
    """The pod, if the filters looked at nodes."""
    reserved: Mapping[int, str | None] = {}
    """The plugins that reject nodes because of pods that are nominated for them."""


def _none(fit: NodeFit, everywhere: str | None = None, error: str | None = None, storage: PodStorage | None = None) -> FilteredNodes:
    """Return the result of filters that end before they look at nodes."""
    return FilteredNodes(fit, NO_NODES, [], [], [], [], [], [], everywhere, error, storage)


class _Scored(NamedTuple):
    scores: dict[str, list[int]]
    total: list[int]
    error: str | None = None


class Cluster:
    """Nodes, the pods that run on them, and the other objects that the scheduler reads.

    Objects are given as parsed from YAML or JSON; nodes, namespaces and services may be compiled already. Pods without a node, on an
    unknown node or already finished do not count.

    With ``resources`` the filter NodeResourcesFit applies: the requests of pods must fit the allocatable resources of nodes. ``version``
    is the version of the scheduler: it decides which plugin rejects a node for a pod with ``nodeName``, and the score of
    NodeResourcesBalancedAllocation. Of ``feature_gates`` only the one for tolerations that compare numbers matters.

    Volumes count if any kind of storage object is given, even an empty list. A scheduled pod binds its claims. ``new_volumes`` has, by
    storage class, the label keys whose values on the chosen node become the node affinity of a new volume; of other classes it is unknown.
    Without a ``version``, a cluster with storage objects has the first that scores volumes.

    Raises InventoryError for malformed objects.
    """

    def __init__(
        self,
        nodes: Iterable[object],
        pods: Iterable[object] = (),
        namespaces: Iterable[object] = (),
        services: Iterable[object] = (),
        replica_sets: Iterable[object] = (),
        stateful_sets: Iterable[object] = (),
        replication_controllers: Iterable[object] = (),
        *,
        resources: bool = False,
        version: tuple[int, int] | None = None,
        feature_gates: Collection[str] = (),
        persistent_volumes: Iterable[object] | None = None,
        persistent_volume_claims: Iterable[object] | None = None,
        storage_classes: Iterable[object] | None = None,
        csi_nodes: Iterable[object] | None = None,
        csi_drivers: Iterable[object] | None = None,
        csi_storage_capacities: Iterable[object] | None = None,
        volume_attachments: Iterable[object] | None = None,
        new_volumes: Mapping[str, tuple[str, ...]] | None = None,
        profiles: Mapping[str, Profile] | None = None,
    ) -> None:
        storage = (
            persistent_volumes,
            persistent_volume_claims,
            storage_classes,
            csi_nodes,
            csi_drivers,
            csi_storage_capacities,
            volume_attachments,
        )
        volumes = any(each is not None for each in storage)
        self._storage: ClusterStorage | None
        if version is None:
            version = WITH_VOLUMES if volumes else SCHEDULER
        directory = Directory(namespaces, services, replica_sets, stateful_sets, replication_controllers, profiles)
        rows = [node if isinstance(node, Node) else read_node(node, resources=resources) for node in nodes]
        self._start(NodeTable(rows), MatchTables(directory), resources, version, compares_values(version, feature_gates))
        if volumes:
            from afflint.scheduler.cluster_storage import ClusterStorage
            from afflint.storage.objects import read_storage

            objects = read_storage(*[each or () for each in storage])
            self._storage = ClusterStorage(objects, self.table, self._occupancy, version, new_volumes or {})
        for pod in map(self.read, pods):
            if pod.rules.node_name in self.table.numbers and not pod.finished:
                self._occupancy.bind(pod, self.table.numbers[pod.rules.node_name])

    def _start(self, table: NodeTable, tables: MatchTables, resources: bool, version: tuple[int, int], comparisons: bool) -> None:
        self.table = table
        self.tables = tables
        self.resources = resources
        self._version = version
        self._comparisons = comparisons
        self._occupancy = Occupancy(tables)
        self._fits: dict[NodeRules, NodeFit] = {}
        self._preferences: dict[tuple[Preference, ...], list[int]] = {}
        self._images: dict[tuple[str, ...], dict[int, int]] = {}
        self._classes: dict[object, NodeColumnClasses] = {}
        self._loads: dict[NodeColumnClasses, LoadClasses] = {}
        self._rankings: dict[object, RankedNodes] = {}
        self._outcomes: dict[object, Outcomes] = {}
        self._storage = None
        self._nominations: dict[PodKey, Pod] = {}
        """The Pending pods that wait for a node on which they have preempted others."""

    # --- contents ------------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, in their order."""
        return tuple(self.table.names)

    @property
    def directory(self) -> Directory:
        """The namespaces, services and owners of pods."""
        return self.tables.directory

    @property
    def pods(self) -> dict[tuple[str, str], str]:
        """The node of every running pod, by the pod's namespace and name."""
        return {identity: self.table.names[entry.node] for identity, entry in self._occupancy.bound.items()}

    def node_of(self, pod: tuple[str, str]) -> str | None:
        """Return the node of a running pod; None if it does not run."""
        entry = self._occupancy.bound.get(pod)
        return None if entry is None else self.table.names[entry.node]

    def emptiest(self, nodes: Iterable[int]) -> int:
        """Return the node with the fewest pods, by its number; of several the first."""
        pods = self._occupancy.pods()
        return min(nodes, key=lambda node: (pods.get(node, 0), node))

    def label(self, key: str) -> dict[str, str]:
        """Return the value of a label on each node that has it: its topology domain."""
        return {name: value for name, value in zip(self.table.names, self.table.column(key), strict=True) if value is not None}

    def evicted(self, nodes: Iterable[str]) -> list[Pod]:
        """Return the pods on these nodes as their controllers would create them again: without a node.

        Pods that are being deleted are left out, because their replacements exist already.
        """
        numbers = {self._number(name) for name in nodes}
        lost = [entry.pod for entry in self._occupancy.bound.values() if entry.node in numbers and not entry.pod.subject.terminating]
        return [pod._replace(rules=pod.rules._replace(node_name="")) for pod in lost]

    def ending(self, nodes: Iterable[str]) -> list[Pod]:
        """Return the pods on these nodes that are being deleted."""
        numbers = {self._number(name) for name in nodes}
        return [entry.pod for entry in self._occupancy.bound.values() if entry.node in numbers and entry.pod.subject.terminating]

    # --- changes -------------------------------------------------------------------------------------------------------

    def copy(self) -> Cluster:
        """Return a copy in which pods can be bound without changing this cluster."""
        other = Cluster.__new__(Cluster)
        other._start(self.table, self.tables, self.resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.copy()
        other._fits, other._preferences, other._classes, other._images = self._fits, self._preferences, self._classes, self._images
        other._outcomes = self._outcomes
        other._nominations = self._nominations.copy()
        if self._storage is not None:
            other._storage = self._storage.copy(other._occupancy)
        return other

    def without(self, nodes: Iterable[str]) -> Cluster:
        """Return the cluster without these nodes and the pods that run on them."""
        lost = {self._number(name) for name in nodes}
        other = Cluster.__new__(Cluster)
        other._start(self.table.without(lost), self.tables, self.resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.renumbered(
            {number: other._number(name) for number, name in enumerate(self.table.names) if number not in lost}
        )
        other._outcomes = self._outcomes
        return other._with_storage_of(self)

    def joined(self, nodes: Iterable[Node]) -> Cluster:
        """Return the cluster with further nodes."""
        other = Cluster.__new__(Cluster)
        other._start(NodeTable([*self.table.nodes, *nodes]), self.tables, self.resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.renumbered({number: other._number(name) for number, name in enumerate(self.table.names)})
        return other._with_storage_of(self)

    def changed(self, nodes: Iterable[Node]) -> Cluster:
        """Return the cluster with these nodes, identified by name, changed in labels and taints. Running pods stay."""
        other = Cluster.__new__(Cluster)
        table = self.table.changed({self._number(node.name): node for node in nodes})
        other._start(table, self.tables, self.resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.copy()
        other._outcomes = self._outcomes
        return other._with_storage_of(self)

    def _with_storage_of(self, other: Cluster) -> Cluster:
        self._nominations = other._nominations.copy()
        if other._storage is not None:
            self._storage = other._storage.on(self.table, self._occupancy)
        return self

    def bind(self, pod: Mapping[str, object] | Pod, node: str) -> None:
        """Bind a pod to a node, as the scheduler does: its claims, too."""
        compiled, number = self._compiled(pod), self._number(node)
        if self._storage is not None and compiled.volumes:
            self._storage.bind(compiled, number)
        self._occupancy.bind(compiled, number)
        self._nominations.pop(compiled.key, None)

    @property
    def reserves(self) -> bool:
        """Whether nodes are reserved for nominated pods."""
        return bool(self._nominations)

    def nominate(self, pod: Pod) -> None:
        """Reserve the nominated node of a Pending pod against pods of lower or equal priority, until the pod is bound."""
        self._nominations[pod.key] = pod

    def unbind(self, pod: Mapping[str, object] | Pod) -> None:
        """Remove a running pod. Its claims stay bound."""
        compiled = self._compiled(pod)
        self._occupancy.unbind(compiled.namespace, compiled.name)
        if self._storage is not None and compiled.volumes:
            self._storage.unbind(compiled)

    def recount(self, pod: Pod, gone: Pod, step: int) -> None:
        """Count a pod on its node once more (step 1) or less for the required spread of another one, until the opposite step.

        PodTopologySpread does not count pods in deletion, but subtracts them when DefaultPreemption removes them (``updateWithPod``).
        """
        for selector in {each.selector for each in pod.hard_spread if isinstance(each.selector, Selector)}:
            if pod.namespace == gone.namespace and matches(selector, gone.labels):
                self._occupancy.add(selector, gone, step)

    def release(self, pod: Pod) -> None:
        """Remove a running pod, and the bindings that its claims have got since the cluster was created."""
        self.unbind(pod)
        if self._storage is not None and pod.volumes:
            self._storage.release(pod)

    # --- questions -----------------------------------------------------------------------------------------------------

    def evaluate(self, pod: Mapping[str, object] | Pod) -> Verdict:
        """Return the decision about a pod: feasible nodes, reasons for the others, and scores.

        A single feasible node is scored too, although the scheduler skips scoring then. All nodes are evaluated, although the scheduler
        stops early in clusters with 100 nodes or more (numFeasibleNodesToFind).
        """
        compiled = self._compiled(pod)
        filtered = self.filtered(compiled)
        if filtered.error is not None:
            return Verdict({}, {}, {}, {}, filtered.error)
        names, picked = self.table.names, filtered.picked
        left = picked.all(filtered.feasible)
        feasible = dict.fromkeys(names, False)
        for node in left:
            feasible[names[node]] = True
        reasons = self.reasons(filtered)
        reason = {name: plugin for name, plugin in zip(names, reasons, strict=True) if plugin is not None}
        scored = self._score(compiled, filtered) if left else _Scored({}, [])
        rated = {other: place for place, node in enumerate(filtered.feasible) for other in picked.alike(node)}
        scores = {plugin: {names[node]: values[rated[node]] for node in left} for plugin, values in scored.scores.items()}
        total = {names[node]: scored.total[rated[node]] for node in left} if scored.error is None else {}
        verdict = Verdict(feasible, reason, scores, total, scored.error)
        if self._storage is not None:
            self._add_messages(verdict, compiled, filtered, reasons)
        return verdict

    def _add_messages(self, verdict: Verdict, pod: Pod, filtered: FilteredNodes, reasons: Sequence[str | None]) -> None:
        """Add the scheduler's messages, and what the pod binds on each feasible node."""
        names, storage = self.table.names, filtered.storage
        messages = self._messages(pod, filtered, reasons)
        verdict.messages = {names[node]: messages.texts[node] for node in sorted(messages.texts)}
        verdict.unresolvable = frozenset(names[node] for node in messages.unresolvable)
        if storage is not None:
            verdict.bindings = {
                names[node]: chosen
                for node in filtered.picked.all(filtered.feasible)
                if (chosen := storage.bindings(node))  # Local volumes of equal nodes have different names.
            }

    def _messages(self, pod: Pod, filtered: FilteredNodes, reasons: Sequence[str | None]) -> RejectionMessages:
        """Return the scheduler's messages for each rejected node, and where the removal of other pods cannot help."""
        from afflint.scheduler.rejection_messages import RejectionMessages

        messages = RejectionMessages(as_filtered(pod), filtered.fit, self.table, self._occupancy, self.directory, self._version)
        messages.add(reasons)
        for node, rejection in _volume_rejections(filtered, range(len(self.table.names))):
            messages.texts[node] = list(rejection.messages)
            if rejection.unresolvable:
                messages.unresolvable.add(node)
        return messages

    def judge(self, pod: Pod) -> NumberedVerdict:
        """Return the decision about a pod by the numbers of nodes, without the scores of each plugin."""
        filtered = self.filtered(pod, every=False)
        if filtered.error is not None:
            return NumberedVerdict([], [], filtered.error)
        rejections = self.reasons(filtered)
        ratings: list[Rating | None] = [None] * len(rejections)
        scored = self._score(pod, filtered) if filtered.feasible else _Scored({}, [])
        possible, met = self._wishes(pod, filtered.feasible)
        weights = _weights_of(pod)
        for place, (node, total) in enumerate(zip(filtered.feasible, scored.total, strict=False)):
            parts = {plugin: weights[plugin] * values[place] for plugin, values in scored.scores.items()}
            by_outcome: dict[Outcome, Rating] = {}
            for outcome, nodes in filtered.picked.by_outcome(node):
                rating = by_outcome.get(outcome)
                if rating is None:
                    rating = by_outcome[outcome] = _with_outcome(total, parts, met[place], outcome, weights)
                for other in nodes:
                    ratings[other] = rating
        return NumberedVerdict(rejections, ratings, scored.error, possible, dict(_volume_rejections(filtered, range(len(rejections)))))

    def _wishes(self, pod: Pod, feasible: list[int]) -> tuple[int, list[int]]:
        """Return the sum of the weights of all preferences, and for each feasible node the weights of those it satisfies."""
        possible, met = interpod_affinity.satisfied_preferences(feasible, pod, self.table, self._occupancy)
        if pod.preferences is None or isinstance(pod.preferences, Malformed):
            return possible, met
        weights = self.met_weights(pod.preferences)
        return possible + sum(each.weight for each in pod.preferences), [
            total + weights[node] for total, node in zip(met, feasible, strict=True)
        ]

    def static_rejections(self, pod: Pod) -> list[str | None]:
        """Return for each node the plugin that rejects it whatever runs there; None if none does."""
        return self._fit(pod.rules).rejections

    def rejection(self, pod: Pod, node: str) -> str | None:
        """Return the first plugin that rejects the pod on one node; None if it can run there, or if scheduling fails with an error."""
        number, fit = self._number(node), self._fit(pod.rules)
        pod = as_filtered(pod)
        if fit.rejections[number] is not None or pod.malformed_terms or topology_spread.unparsable(pod.hard_spread):
            return fit.rejections[number]
        if pod.ports and not node_ports.filter_nodes([number], pod.ports, self._occupancy):
            return NODE_PORTS
        if pod.hard_spread and not topology_spread.filter_nodes([number], pod, fit, self.table, self._occupancy):
            return POD_TOPOLOGY_SPREAD
        if not interpod_affinity.filter_nodes([number], pod, self.table, self._occupancy, self.directory):
            return INTER_POD_AFFINITY
        if pod.features and self._version >= declared_features.SINCE and not self.table.declaring(pod.features)[number]:
            return NODE_DECLARED_FEATURES
        return None

    def fits(self, pod: Pod, node: str) -> bool:
        """Return whether the pod can run on one node now, with its requests and volumes; not if scheduling fails with an error."""
        return bool(self.filtered(pod, scoring=False, only=self._number(node)).feasible)

    def resolvable_nodes(self, pod: Pod) -> list[str] | None:
        """Return the nodes that reject the pod for a reason that the removal of other pods may resolve, in their order.

        These are the nodes with the status Unschedulable, not UnschedulableAndUnresolvable. None if scheduling fails with an error.
        """
        filtered = self.filtered(pod, scoring=False)
        if filtered.error is not None:
            return None
        if pod.malformed_terms:
            return []
        reasons = self.reasons(filtered)
        unresolvable = self._messages(pod, filtered, reasons).unresolvable
        return [
            name
            for node, (name, plugin) in enumerate(zip(self.table.names, reasons, strict=True))
            if plugin is not None and node not in unresolvable
        ]

    def pods_by_node(self) -> dict[str, list[Pod]]:
        """Return the running pods on each node that has any, including those that are being deleted."""
        return grouped((self.table.names[entry.node], entry.pod) for entry in self._occupancy.bound.values())

    def feasible_nodes(self, pod: Mapping[str, object] | Pod) -> list[str]:
        """Return the nodes where the pod can run now, in the order of their names; none if scheduling fails with an error."""
        filtered = self.filtered(self._compiled(pod), scoring=False)
        return [self.table.names[node] for node in filtered.picked.all(filtered.feasible)]

    def best_nodes(self, pod: Pod) -> list[str]:
        """Return the nodes with the best score on which the pod can run now: the scheduler picks one of them."""
        filtered = self.filtered(pod)
        return [self.table.names[node] for node in filtered.picked.all(self.best_of(pod, filtered)[0])]

    def room(self, pod: Pod, without: frozenset[int] = frozenset()) -> int | None:
        """Return on how many nodes outside ``without`` the pod can run now; None if scheduling fails with an error.

        If more nodes are feasible than are in ``without``, the result is a lower bound: all of ``without`` are assumed to be feasible.
        """
        filtered = self.filtered(pod, scoring=False)
        if filtered.error is not None:
            return None
        if not filtered.feasible:
            return 0
        if isinstance(pod.preferences, Malformed) or topology_spread.unparsable(self._soft_spread(pod)):
            return None
        count = filtered.picked.count(filtered.feasible)
        if count > len(without):
            return count - len(without)
        return len(set(filtered.picked.all(filtered.feasible)) - without)

    def first_node(self, pod: Pod, among: Container[int]) -> int | None:
        """Return the first of the nodes in ``among`` where the pod can run now; None if there is no such node."""
        filtered = self.filtered(pod, scoring=False)
        return next((node for node in filtered.picked.all(filtered.feasible) if node in among), None)

    @property
    def storage(self) -> ClusterStorage | None:
        """The volumes, claims and CSI drivers; None if volumes do not count."""
        return self._storage

    def examine_volumes(self, pod: Pod) -> PodStorage | None:
        """Return how the volumes of a pod restrict its nodes now; None if it has none, or if volumes do not count."""
        return self._storage.examine(pod) if self._storage is not None and pod.volumes else None

    def competitors(self, pod: Pod, nodes: frozenset[int]) -> dict[str, int]:
        """Return how many pods on some nodes would exclude the pod from the domain that they move to, by topology key.

        The pod itself does not count. ITSELF is the key of pods that would use a host port of the pod.
        """
        totals: dict[str, int] = {}

        def count(key: str, tally: Tally, own: bool) -> None:
            matching = (
                sum([tally[node] for node in nodes if node in tally])
                if len(nodes) < len(tally)
                else sum([number for node, number in tally.items() if node in nodes])
            )
            totals[key] = totals.get(key, 0) + matching - own

        occupancy = self._occupancy
        own_terms = parsed_terms(pod.anti_affinity)
        for term in own_terms:
            count(term.key, occupancy.matching_terms(term), interpod_affinity.selects(term, pod, self.directory))
        for term, tally in occupancy.forbidding(pod.subject):
            count(term.key, tally, term in own_terms)
        for constraint in pod.hard_spread:
            counted = occupancy.matching_selector(constraint.selector, pod.namespace)
            # An empty selector matches no pod here.
            count(constraint.key, counted, bool(counted) and matches(constraint.selector, pod.labels))
        for port in pod.ports:
            for tally in occupancy.on_port(port):
                count(ITSELF, tally, False)
        return totals

    def schedule(self, pods: Iterable[Mapping[str, object] | Pod], *, even: bool = False) -> ScheduleResult:
        """Schedule pods in their order, each on the best node (on a tie the first by name), then retry pending pods.

        This cluster does not change; the result has the changed copy. With ``even`` ties go to the node with the fewest pods, as in a
        cluster whose pods request equal resources, and the result does not show which nodes tied.
        """
        return _schedule(self.copy(), [self._compiled(pod) for pod in pods], even=even)

    def loads(self, nodes: Iterable[int]) -> list[object]:
        """Return what decides which resources are scarce on each node: equal values of nodes are equal shortages for every pod."""
        rows, load = self.table.allocatable_rows, self._occupancy.load
        return [(rows[node], load(node)) for node in nodes]

    def shortages(self, pod: Mapping[str, object] | Pod, node: str) -> list[Shortage]:
        """Return the resources that are too scarce on a node for the pod now; empty if resources do not count."""
        return node_resources.shortages(self._number(node), as_filtered(self._compiled(pod)).requests, self.table, self._occupancy)

    def barred(self, pod: Pod) -> dict[str, set[str | None]]:
        """Return the label values, by topology key, that anti-affinity or host ports exclude for the pod.

        The anti-affinity is that of the pod and of running pods.
        """
        values = interpod_affinity.excluded_values(pod, self.table, self._occupancy)
        taken: set[str | None] = {self.table.names[node] for node in node_ports.nodes_using(pod.ports, self._occupancy)}
        return {**values, ITSELF: taken} if taken else values

    def companions(self, terms: tuple[Term, ...], *, terminating: bool = True) -> frozenset[int]:
        """Return the numbers of the nodes with running pods that match all of these required affinity terms of an incoming pod."""
        return frozenset(self._occupancy.matching_terms(*terms, terminating=terminating))

    def company(self, pod: Pod) -> object:
        """Return how many pods run on which nodes that required spread and affinity of a pod count: a value to compare."""
        tallies = [self._occupancy.matching_selector(each.selector, pod.namespace) for each in pod.hard_spread]
        tallies += [self._occupancy.matching_terms(term) for term in parsed_terms(pod.affinity)]
        return tuple([frozenset(tally.items()) for tally in tallies])

    def avoided(self, pod: Pod) -> list[tuple[str, Tally]]:
        """Return the topology key of each soft spread constraint and preferred anti-affinity of a pod, and which pods it counts where."""
        found = [(each.key, self._occupancy.matching_selector(each.selector, pod.namespace)) for each in pod.soft_spread]
        terms = () if isinstance(pod.preferred_anti_affinity, Malformed) else pod.preferred_anti_affinity
        return found + [(each.term.key, self._occupancy.matching_terms(each.term)) for each in terms]

    def forbidding(self, pod: Pod) -> list[Term]:
        """Return the required anti-affinity terms of running pods that select the pod."""
        return [term for term, _ in self._occupancy.forbidding(pod.subject)]

    def matched(self, constraint: SpreadConstraint, namespace: str) -> Tally:
        """Return how many pods that a spread constraint counts run on each node, by its number."""
        return self._occupancy.matching_selector(constraint.selector, namespace)

    def read(self, pod: object) -> Pod:
        """Compile a Pod object, with its requests if resources count. Raises InventoryError."""
        compiled = read_pod(pod, resources=self.resources, comparisons=self._comparisons, volumes=self._storage is not None)
        if not self.directory.profiles:
            return compiled
        from afflint.scheduler.configuration import with_profile

        return with_profile(compiled, self.directory)

    def _compiled(self, pod: Mapping[str, object] | Pod) -> Pod:
        return pod if isinstance(pod, Pod) else self.read(pod)

    def _number(self, name: str) -> int:
        if name not in self.table.numbers:
            fail(f"Node {name!r}", "is not in the cluster")
        return self.table.numbers[name]

    # --- filters and scores --------------------------------------------------------------------------------------------

    def filtered(self, pod: Pod, *, scoring: bool = True, every: bool = True, only: int | None = None) -> FilteredNodes:
        """Run the filters on all nodes, or on one node ``only``; without ``every``, only the best nodes of each class are scored."""
        filtered = self._filtered(pod, scoring, every, only)
        return self._beside_nominated(pod, filtered) if self._nominations else filtered

    def _beside_nominated(self, pod: Pod, filtered: FilteredNodes) -> FilteredNodes:
        """Leave out the nodes that the pod does not fit beside the pods of at least its priority that are nominated for them.

        Semantics: RunFilterPluginsWithNominatedPods of pkg/scheduler/framework/runtime.
        """
        nominated: dict[int, list[Pod]] = {}
        for each in self._nominations.values():
            node = self.table.numbers.get(each.nominated)
            if node is not None and node in filtered.picked.nodes and each.priority >= pod.priority and each.key != pod.key:
                nominated.setdefault(node, []).append(each)
        reserved: dict[int, str | None] = {}
        for node, others in nominated.items():
            for each in others:
                self._occupancy.bind(each, node)
            beside = self._filtered(pod, False, True, node)
            if not beside.feasible:
                reserved[node] = self.reasons(beside)[node]
            for each in others:
                self._occupancy.unbind(*each.key)
        left = [node for node in filtered.feasible if node not in reserved]
        return filtered._replace(feasible=left, reserved=reserved)

    def _filtered(self, pod: Pod, scoring: bool, every: bool, only: int | None) -> FilteredNodes:
        fit = self._fit(pod.rules)
        if pod.rules.named is not None and not pod.rules.named:
            return _none(fit, everywhere=NODE_AFFINITY)
        if names_conflict(pod.rules, self._version):
            return _none(fit, everywhere="")
        storage = self._storage.examine(pod) if self._storage is not None and pod.volumes else None
        if storage is not None and storage.rejection is not None:
            return _none(fit, everywhere=storage.rejection.plugin, storage=storage)
        if topology_spread.unparsable(pod.hard_spread):
            return _none(fit, error=f"PreFilter {POD_TOPOLOGY_SPREAD}")
        if pod.malformed_terms:
            return _none(fit, everywhere=INTER_POD_AFFINITY)
        if only is None:
            picked = self._picked(pod, fit, storage, scoring, every)
        else:
            picked = ungrouped([only] if fit.rejections[only] is None else [])
        whole, pod = pod, as_filtered(pod)
        roomy = unused = node_ports.filter_nodes(picked.nodes, pod.ports, self._occupancy) if pod.ports else picked.nodes
        if pod.requests:
            roomy = node_resources.filter_nodes(roomy, pod.requests, self.table, self._occupancy)
        usable = roomy
        if storage is not None:
            error = storage.error(roomy)
            if error is not None:
                return _none(fit, error=error)
            usable = storage.filter_nodes(roomy)
        spread = usable
        if pod.hard_spread:
            spread = topology_spread.filter_nodes(spread, pod, fit, self.table, self._occupancy)
        feasible = together = interpod_affinity.filter_nodes(spread, pod, self.table, self._occupancy, self.directory)
        if pod.features and self._version >= declared_features.SINCE:
            declaring = self.table.declaring(pod.features)
            feasible = [node for node in together if declaring[node]]
        return FilteredNodes(fit, picked, unused, roomy, usable, spread, together, feasible, storage=storage, pod=whole)

    def _picked(self, pod: Pod, fit: NodeFit, storage: PodStorage | None, scoring: bool, every: bool) -> RepresentativeNodes:
        """Return one of all nodes that are equal to the filters (and scores) of the pod, out of those that fit it."""
        if len(fit.candidates) <= _MAX_UNGROUPED:
            return fit.ungrouped()
        table, occupancy = self.table, self._occupancy
        keys: set[str] = set()
        touched: set[int] = set()
        spread = (*pod.hard_spread, *(self._soft_spread(pod) if scoring else ()))
        looked_at = chain(
            topology_spread.inspected_keys(spread, pod, occupancy), interpod_affinity.inspected_keys(pod, occupancy, scoring=scoring)
        )
        for key, tally in looked_at:
            keys.add(key)
            # The score of a spread over hosts is per node, whatever the label is (podtopologyspread/scoring.go).
            if tally and (key == HOSTNAME or table.marks(key)[1]):
                touched.update(tally)
        touched |= node_ports.nodes_using(pod.ports, occupancy)
        names = {pod.nominated, *[each.nominated for each in self._nominations.values()]}
        touched |= {table.numbers[name] for name in names if name in table.numbers}
        others: dict[object, Sequence[object]] = {}
        if storage is not None:
            touched |= storage.touched
            others.update(storage.columns())
        if scoring and (by_images := self._image_scores(pod)):
            others[pod.images] = [by_images.get(node, 0) for node in range(len(table.nodes))]
        if pod.features:
            others[pod.features] = table.declaring(pod.features)
        classes = self._classes_of(pod, fit, frozenset(keys), others)
        return self._ranked(pod, classes, scoring).pick(touched, partial(self._rate, pod, scoring), every=every)

    def _classes_of(self, pod: Pod, fit: NodeFit, keys: frozenset[str], others: Mapping[object, Sequence[object]]) -> NodeColumnClasses:
        asked = (pod.rules, pod.preferences, keys, frozenset(others))
        classes = self._classes.get(asked)
        if classes is None:
            if len(self._classes) >= _MAX_CACHED_FITS:
                self._classes.clear()
            columns: list[Sequence[object]] = [fit.unpreferred, *[self.table.marks(key)[0] for key in keys], *others.values()]
            if pod.preferences is not None and not isinstance(pod.preferences, Malformed):
                columns.append(self.met_weights(pod.preferences))
            classes = self._classes[asked] = NodeColumnClasses(fit.candidates, columns)
        return classes

    def _ranked(self, pod: Pod, classes: NodeColumnClasses, scoring: bool) -> RankedNodes:
        """Return the nodes of some classes, ranked for pods with the requests of this one."""
        asked = (classes, pod.requests, pod.scored if scoring else None)
        ranked = self._rankings.get(asked)
        if ranked is None or len(ranked.loads.created) >= _MAX_RANKED:
            if sum([len(each.loads.created) for each in self._rankings.values()]) >= _MAX_RANKED:
                self._rankings.clear()
                self._loads.clear()
            loads = self._loads.get(classes)
            if loads is None:
                loads = self._loads[classes] = LoadClasses(classes, self.table, self._occupancy)
            known = self._known_outcomes((pod.rules.profile, *asked[1:]))
            ranked = self._rankings[asked] = RankedNodes(loads, known)
        return ranked

    def _known_outcomes(self, asked: tuple[object, ...]) -> Outcomes:
        if sum(map(len, self._outcomes.values())) >= _MAX_RANKED:
            self._outcomes.clear()
        return self._outcomes.setdefault(asked, {})

    def _rate(self, pod: Pod, scoring: bool, nodes: list[int]) -> list[Outcome]:
        """Return whether each node has enough resources for the pod, and the scores of resources."""
        if not pod.requests:
            return [(0,)] * len(nodes)
        roomy = node_resources.filter_nodes(nodes, as_filtered(pod).requests, self.table, self._occupancy)
        scores = self._resource_scores(pod, roomy) if scoring else {}
        outcomes = dict(zip(roomy, zip(_weighted(scores, len(roomy), _weights_of(pod)), *scores.values(), strict=True), strict=True))
        return [outcomes.get(node, NO_ROOM) for node in nodes]

    def _soft_spread(self, pod: Pod) -> tuple[SpreadConstraint, ...]:
        """Return the constraints for scoring: the pod's own, or the system defaults for a pod without any; none if they do not score."""
        if POD_TOPOLOGY_SPREAD not in _weights_of(pod):
            return ()
        return pod.soft_spread if pod.has_spread else topology_spread.default_constraints(self.directory.default_selector(pod))

    def _fit(self, rules: NodeRules) -> NodeFit:
        fit = self._fits.get(rules)
        if fit is None:
            if len(self._fits) >= _MAX_CACHED_FITS:
                self._fits.clear()
            fit = self._fits[rules] = NodeFit(rules, self.table, self._version)
        return fit

    def reasons(self, filtered: FilteredNodes) -> list[str | None]:
        """Return the first plugin that rejects each node."""
        if filtered.everywhere is not None:
            return [filtered.everywhere] * len(self.table.names)
        if filtered.pod is not None and filtered.pod.rules.profile.order:
            return self._reasons_in_order(filtered.pod)
        rejections = filtered.fit.rejections.copy()
        stages = (
            filtered.picked.nodes,
            filtered.unused,
            filtered.roomy,
            filtered.usable,
            filtered.spread,
            filtered.together,
            filtered.feasible,
        )
        for plugin, before, after in zip(_LATER_FILTERS, stages, stages[1:], strict=False):
            if len(after) == len(before):
                continue
            if plugin is None:
                for node, rejection in _volume_rejections(filtered, ()):
                    rejections[node] = rejection.plugin
                continue
            for node in filtered.picked.all(set(before).difference(after)):
                rejections[node] = plugin
        for node, plugin in filtered.reserved.items():
            rejections[node] = plugin
        return rejections

    def _reasons_in_order(self, pod: Pod) -> list[str | None]:
        """Return the first plugin that rejects each node, if the profile of the pod has another order: each plugin is asked alone."""
        rejections: list[str | None] = [None] * len(self.table.names)
        for plugin in pod.rules.profile.order:
            rules = pod.rules._replace(profile=only_filter(pod.rules.profile, plugin))
            alone = pod._replace(rules=rules, volumes=pod.volumes if plugin in VOLUME_FILTERS else ())
            reasons = self.reasons(self.filtered(alone, scoring=False))
            rejections = [first or reason for first, reason in zip(rejections, reasons, strict=True)]
        return rejections

    def best_of(self, pod: Pod, filtered: FilteredNodes) -> tuple[list[int], str | None]:
        """Return the best of the representative nodes, and the error of a plugin, if any."""
        feasible = filtered.feasible
        own = self.table.numbers.get(pod.nominated)
        if own in feasible:
            return [own], filtered.error  # evaluateNominatedNode of pkg/scheduler/schedule_one.go.
        # The scheduler skips scoring for a single node, so errors of score plugins do not matter.
        if filtered.picked.count(feasible) <= 1:
            return feasible, filtered.error
        scored = self._score(pod, filtered)
        most = max(scored.total, default=0)
        return [node for node, total in zip(feasible, scored.total, strict=False) if total == most], scored.error

    def _score(self, pod: Pod, filtered: FilteredNodes) -> _Scored:
        """Return the scores of the feasible representative nodes, in their order."""
        weights = _weights_of(pod)
        prescored = pod.rules.profile.prescored
        if isinstance(pod.preferences, Malformed) and (prescored is None or NODE_AFFINITY in prescored):
            return _Scored({}, [], f"PreScore {NODE_AFFINITY}")
        spread = self._soft_spread(pod)
        if topology_spread.unparsable(spread):
            return _Scored({}, [], f"PreScore {POD_TOPOLOGY_SPREAD}")
        feasible = filtered.feasible
        scores = {TAINT_TOLERATION: _normalize_reversed([filtered.fit.unpreferred[node] for node in feasible])}
        if pod.preferences is not None and not isinstance(pod.preferences, Malformed):
            preference = self.met_weights(pod.preferences)
            scores[NODE_AFFINITY] = _normalize([preference[node] for node in feasible])
        if spread:
            scores[POD_TOPOLOGY_SPREAD] = topology_spread.scores(
                feasible, spread, pod, filtered.fit, self.table, self._occupancy, filtered.picked
            )
        drawn = interpod_affinity.scores(feasible, pod, self.table, self._occupancy)
        if drawn is not None:
            scores[INTER_POD_AFFINITY] = drawn
        if pod.requests:
            scores |= self._resource_scores(pod, feasible)
        if by_images := self._image_scores(pod):
            scores[IMAGE_LOCALITY] = [by_images.get(node, 0) for node in feasible]
        if self._storage is not None and self._storage.scores_all:
            scores[VOLUME_BINDING] = filtered.storage.binding.scores(feasible) if filtered.storage is not None else [0] * len(feasible)
        scores = {plugin: values for plugin, values in scores.items() if plugin in weights}
        return _Scored(scores, _weighted(scores, len(feasible), weights))

    def _resource_scores(self, pod: Pod, nodes: list[int]) -> dict[str, list[int]]:
        """Return the scores of nodes by resources, for the plugins that score."""
        scoring = pod.rules.profile.scoring
        if scoring is None:
            scores = node_resources.scores(nodes, pod, self.table, self._occupancy, self._version)
        else:
            from afflint.scheduler.scoring_strategy import strategy_scores

            scores = strategy_scores(scoring, nodes, pod, self.table, self._occupancy, self._version)
        weights = pod.rules.profile.weights
        return scores if weights is None else {plugin: values for plugin, values in scores.items() if plugin in weights}

    def _image_scores(self, pod: Pod) -> dict[int, int]:
        """Return the scores of nodes by the images that they have, those above 0."""
        found = self._images.get(pod.images)
        if found is None:
            if len(self._images) >= _MAX_CACHED_FITS:
                self._images.clear()
            found = self._images[pod.images] = image_locality.scores(pod.images, self.table)
        return found

    def met_weights(self, preferences: tuple[Preference, ...]) -> list[int]:
        """Return for each node the sum of the weights of the preferred node affinity terms that match it."""
        if preferences not in self._preferences:
            weights = [0] * len(self.table.nodes)
            for preference in preferences:
                matching = self.table.matching(AnyOf((preference.term,)))
                weights = [current + preference.weight * hit for current, hit in zip(weights, matching, strict=True)]
            self._preferences[preferences] = weights
        return self._preferences[preferences]


def _volume_rejections(filtered: FilteredNodes, nodes: Iterable[int]) -> Iterator[tuple[int, VolumeRejection]]:
    """Yield the nodes that the plugins for volumes reject, and why: all of ``nodes`` if they reject the pod as a whole."""
    storage = filtered.storage
    if storage is None:
        return
    if storage.rejection is not None:
        yield from ((node, storage.rejection) for node in nodes)
    for representative, rejection in storage.rejections.items():
        for node in filtered.picked.alike(representative):
            yield node, rejection


def _with_outcome(total: int, parts: Mapping[str, int], met: int, outcome: Outcome, weights: Mapping[str, int]) -> Rating:
    """Return the rating of a node that differs from a rated one only in the outcome for resources."""
    scores = dict(zip([plugin for plugin in RESOURCE_SCORES if plugin in parts], outcome[1:], strict=False))
    other = {plugin: weights[plugin] * scores[plugin] if plugin in scores else part for plugin, part in parts.items()}
    return Rating(total + sum(other.values()) - sum(parts.values()), tuple(other.items()), met)


def _weights_of(pod: Pod) -> Mapping[str, int]:
    """Return the weights of the plugins that score nodes for a pod."""
    weights = pod.rules.profile.weights
    return WEIGHTS if weights is None else weights


def _weighted(scores: Mapping[str, list[int]], count: int, weights: Mapping[str, int]) -> list[int]:
    """Return the weighted sum of the scores of each of ``count`` nodes."""
    total = [0] * count
    for plugin, values in scores.items():
        weight = weights[plugin]
        total = [current + weight * value for current, value in zip(total, values, strict=True)]
    return total


def _normalize_reversed(raw: list[int]) -> list[int]:
    most = max(raw)
    return [100 - 100 * value // most for value in raw] if most else [100] * len(raw)


def _normalize(raw: list[int]) -> list[int]:
    most = max(raw)
    return [100 * value // most for value in raw] if most else [0] * len(raw)


class SchedulingQueue:
    """Pods in the order in which they are scheduled, and what became of each. The cluster gets the pods.

    Raises InventoryError for pods of the same name.
    """

    def __init__(self, cluster: Cluster, pods: Iterable[Pod]) -> None:
        self.cluster = cluster
        self.pods: dict[PodKey, Pod] = {}
        for pod in pods:
            if pod.key in self.pods:
                fail(f"Pod {'/'.join(pod.key)!r}", "is listed twice among the pods to schedule")
            self.pods[pod.key] = pod
        self.placements: dict[PodKey, str] = {}
        self.unschedulable: dict[PodKey, dict[str, str]] = {}
        """The Pending pods, and the plugin that rejects each node."""
        self.tied: dict[PodKey, tuple[str, ...]] = {}
        self.errors: dict[PodKey, str] = {}
        # Until what it depends on changes, a pending pod fails again, and so do pods that differ only by name.
        self._failed: dict[object, tuple[object, dict[str, str], str | None]] = {}
        self._reasons: dict[tuple[str | None, ...], dict[str, str]] = {}

    def try_all(self) -> None:
        """Try each pod once."""
        self._round(list(self.pods))

    def retry(self) -> int:
        """Try the Pending pods in rounds, until a round schedules none; return the number of rounds."""
        rounds, progress = 0, True
        while self.unschedulable and progress:
            rounds += 1
            progress = self._round(list(self.unschedulable))
        return rounds

    def _round(self, pending: list[PodKey]) -> bool:
        """Try each pending pod once; return whether any was scheduled."""
        before = len(self.placements)
        for key in pending:
            self._try(key, self.pods[key])
        return len(self.placements) > before

    def _try(self, key: PodKey, pod: Pod) -> None:
        kind = scheduling_key(pod) if self._failed else None
        known, reasons, error = self._failed.get(kind, _NEVER)
        if known is None or known != self._depends_on(pod):
            filtered = self.cluster.filtered(pod, every=False)
            best, error = self.cluster.best_of(pod, filtered)
            if best:
                self._bind(key, pod, self._chosen(key, best, filtered.picked))
                self._note(key, error)
                return
            reasons = self._rejections(filtered)
            self._failed[kind or scheduling_key(pod)] = self._depends_on(pod), reasons, error
        self.unschedulable[key] = reasons
        self._note(key, error)

    def _bind(self, key: PodKey, pod: Pod, node: int) -> None:
        name = self.cluster.table.names[node]
        self.cluster.bind(pod, name)
        self.unschedulable.pop(key, None)
        self.placements[key] = name

    def _depends_on(self, _pod: Pod) -> object:
        """Return a value that changes when the result for a Pending pod, with its reasons, may change: with each pod that is bound."""
        return len(self.placements)

    def _rejections(self, filtered: FilteredNodes) -> dict[str, str]:
        """Return the plugin that rejects each node, by the node's name; nothing after an error. Equal results are shared."""
        if filtered.error is not None:
            return {}
        plugins = tuple(self.cluster.reasons(filtered))
        if plugins not in self._reasons:
            names = self.cluster.table.names
            self._reasons[plugins] = {name: plugin for name, plugin in zip(names, plugins, strict=True) if plugin is not None}
        return self._reasons[plugins]

    def _chosen(self, key: PodKey, best: list[int], picked: RepresentativeNodes) -> int:
        """Return the number of the node to bind the pod to."""
        self.tied[key] = tuple([self.cluster.table.names[node] for node in picked.tied(best)])
        return best[0]  # Each representative is the first of its ties.

    def _note(self, key: PodKey, error: str | None) -> None:
        self.errors.pop(key, None)
        if error is not None:
            self.errors[key] = error


class EvenQueue(SchedulingQueue):
    """A queue in which ties go to the node with the fewest pods. Why pods stay Pending is only computed in the end."""

    def run(self, *, explain: bool = True) -> None:
        """Schedule all pods, with retries. Without ``explain``, the result does not show why pods stay Pending."""
        self.try_all()
        self.retry()
        known: dict[object, dict[str, str]] = {}
        for key in self.unschedulable if explain else ():
            pod = self.pods[key]
            kind = scheduling_key(pod)
            if kind not in known:
                known[kind] = super()._rejections(self.cluster.filtered(pod, every=False))
            self.unschedulable[key] = known[kind]

    def _depends_on(self, pod: Pod) -> object:
        # Pods that are bound only take room. The scheduler, too, retries a pod only when a pod has changed that matters to it.
        return len(self.placements) if pod.volumes else self.cluster.company(pod)

    def _rejections(self, _filtered: FilteredNodes) -> dict[str, str]:
        return {}

    def _chosen(self, _key: PodKey, best: list[int], picked: RepresentativeNodes) -> int:
        return self.cluster.emptiest(picked.first_tied(best))


_NEVER: tuple[object, dict[str, str], str | None] = (None, {}, None)


def _schedule(cluster: Cluster, pods: list[Pod], *, even: bool) -> ScheduleResult:
    """Schedule pods in their order, with retries, and bind them in the cluster: see ``Cluster.schedule``."""
    queue = EvenQueue(cluster, pods) if even else SchedulingQueue(cluster, pods)
    count = Counter(pod.name for pod in pods)
    names = {key: "/".join(key) if count[key[1]] > 1 else key[1] for key in queue.pods}

    def named(results: Mapping[PodKey, _Result]) -> dict[str, _Result]:
        return {names[key]: result for key, result in results.items()}

    queue.try_all()
    placements, unschedulable = named(queue.placements), named(queue.unschedulable)
    rounds = queue.retry()
    settled = SettledPlacements(named(queue.placements), named(queue.unschedulable))
    return ScheduleResult(placements, unschedulable, settled, rounds, named(queue.tied), named(queue.errors), cluster)
