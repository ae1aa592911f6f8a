"""A cluster to ask where a pod can go, why not elsewhere, and where the scheduler puts a number of pods one after the other."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import AnyOf, Malformed, matches
from afflint.kube.taints import compares_values
from afflint.scheduler import interpod_affinity, node_ports, node_resources, topology_spread
from afflint.scheduler.decoding import refuse
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.node_fit import NODE_AFFINITY, SCHEDULER, TAINT_TOLERATION, NodeFit, names_exclude_each_other
from afflint.scheduler.node_groups import NOBODY, NodeColumnClasses, RepresentativeNodes
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.node_resources import BALANCED_ALLOCATION, NODE_RESOURCES_FIT, Shortage
from afflint.scheduler.nodes import ITSELF, Node, NodeTable, read_node
from afflint.scheduler.occupancy import MatchTables, Occupancy, Tally
from afflint.scheduler.pods import NodeRules, Pod, Preference, SpreadConstraint, Term, but_for_the_name, read_pod, readable
from afflint.scheduler.requests import CPU, MEMORY
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

WEIGHTS = {
    TAINT_TOLERATION: 3,
    NODE_AFFINITY: 2,
    POD_TOPOLOGY_SPREAD: 2,
    INTER_POD_AFFINITY: 2,
    NODE_RESOURCES_FIT: 1,
    BALANCED_ALLOCATION: 1,
}
"""What each plugin's score counts in the total, in the scheduler's default configuration."""

_DYNAMIC_FILTERS = (NODE_PORTS, NODE_RESOURCES_FIT, POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY)
"""The filters that look at what runs on the nodes, in their order."""

# Replicas share a fit, and they come one after the other; the pods of a daemon set have one each, of the size of the cluster.
_REMEMBERED_FITS = 1000
# Of so few nodes each is asked about.
_FEW = 32


class Verdict(NamedTuple):
    """What the scheduler makes of one pod.

    ``feasible`` tells for each node whether the pod can go there, ``reason`` names the plugin that rejected a node first,
    ``scores`` holds each plugin's 0..100 for the feasible nodes (a plugin that has nothing to say is left out), and ``total``
    their weighted sum. ``error`` says in which step of which plugin the scheduler fails on the pod, which then stays pending;
    a failure in PreFilter leaves everything else empty.
    """

    feasible: dict[str, bool]
    reason: dict[str, str]
    scores: dict[str, dict[str, int]]
    total: dict[str, int]
    error: str | None = None


class Rating(NamedTuple):
    """How a feasible node rates: the weighted sum of scores, what each plugin puts into it, the weights of the preferences it meets."""

    total: int
    parts: tuple[tuple[str, int], ...]
    met: int


class NumberedVerdict(NamedTuple):
    """A verdict by the numbers of nodes: the plugin that rejects each, or its weighted sum of scores.

    Both are empty after a failure in PreFilter. ``possible`` is the sum of the weights of what the pod prefers.
    """

    rejections: list[str | None]
    ratings: list[Rating | None]
    error: str | None
    possible: int = 0


class SettledPlacements(NamedTuple):
    """Where pods are after retries: the node of each, and for each without a place the plugin that rejected each node."""

    placements: dict[str, str]
    unschedulable: dict[str, dict[str, str]]


class ScheduleResult(NamedTuple):
    """What became of pods that were scheduled one after the other.

    ``placements`` and ``unschedulable`` are those of the first attempt; ``settled`` the same two after pending pods were tried
    again, in ``rounds`` rounds, until a whole round placed none. ``best`` holds the nodes that tied for each placed pod (the
    scheduler takes one of them by chance, a run the first), ``errors`` why the scheduler failed on a pod that is still pending.
    ``cluster`` is the cluster at the end. Pods are named as in their metadata; pods that share a name, as namespace/name.
    """

    placements: dict[str, str]
    unschedulable: dict[str, dict[str, str]]
    settled: SettledPlacements
    rounds: int
    best: dict[str, tuple[str, ...]]
    errors: dict[str, str]
    cluster: Cluster


class _Filtered(NamedTuple):
    """What the filters say of the nodes picked from among those that are alike to the pod: which are left after each stage."""

    fit: NodeFit
    picked: RepresentativeNodes
    unused: list[int]
    """Where no port that the pod asks for is in use."""
    roomy: list[int]
    spread: list[int]
    feasible: list[int]
    everywhere: str | None = None
    """The plugin that rejected the pod as such, before any node was looked at; "" where it was none by itself."""
    error: str | None = None


class _Scored(NamedTuple):
    scores: dict[str, list[int]]
    total: list[int]
    error: str | None = None


class Cluster:
    """Nodes, what runs on them, and what the scheduler needs to know beside.

    Objects are taken as parsed from YAML or JSON; nodes, namespaces and services may be read already. Pods without a node, on an
    unknown node or already finished do not count.
    With ``resources`` pods have to find room: the filter NodeResourcesFit counts what they request against what nodes have.
    ``version`` is the scheduler's version: it decides which plugin rejects a node for a pod with ``nodeName``, and the score
    NodeResourcesBalancedAllocation. Of the ``feature_gates`` only that of tolerations which compare numbers matters.
    Raises InventoryError for objects that cannot be what they stand for.
    """

    __slots__ = ("_classes", "_comparisons", "_fits", "_occupancy", "_preferences", "_resources", "_table", "_tables", "_version")

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
        version: tuple[int, int] = SCHEDULER,
        feature_gates: Collection[str] = (),
    ) -> None:
        directory = Directory(namespaces, services, replica_sets, stateful_sets, replication_controllers)
        rows = [node if isinstance(node, Node) else read_node(node, resources=resources) for node in nodes]
        self._start(NodeTable(rows), MatchTables(directory), resources, version, compares_values(version, feature_gates))
        for pod in map(self.read, pods):
            if pod.rules.node_name in self._table.numbers and not pod.finished:
                self._occupancy.bind(pod, self._table.numbers[pod.rules.node_name])

    def _start(self, table: NodeTable, tables: MatchTables, resources: bool, version: tuple[int, int], comparisons: bool) -> None:
        self._table = table
        self._tables = tables
        self._resources = resources
        self._version = version
        self._comparisons = comparisons
        self._occupancy = Occupancy(tables)
        self._fits: dict[NodeRules, NodeFit] = {}
        self._preferences: dict[tuple[Preference, ...], list[int]] = {}
        self._classes: dict[object, NodeColumnClasses] = {}

    # --- what is there -------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, in their order."""
        return tuple(self._table.names)

    @property
    def table(self) -> NodeTable:
        """The nodes with their labels, taints and resources. It never changes."""
        return self._table

    @property
    def directory(self) -> Directory:
        """The namespaces, services and owners of pods that it was made with."""
        return self._tables.directory

    @property
    def resources(self) -> bool:
        """Whether pods have to find room."""
        return self._resources

    @property
    def pods(self) -> dict[tuple[str, str], str]:
        """The node of every pod that runs, by the pod's namespace and name."""
        return {identity: self._table.names[entry.node] for identity, entry in self._occupancy.bound.items()}

    def label(self, key: str) -> dict[str, str]:
        """The value of a label on each node that has it: its topology domain."""
        return {name: value for name, value in zip(self._table.names, self._table.column(key), strict=True) if value is not None}

    def evicted(self, nodes: Iterable[str]) -> list[Pod]:
        """The pods that run on these nodes, as their controllers would create them anew: bound to no node.

        Pods that are being deleted are left out: what replaces them has been created already.
        """
        numbers = {self._number(name) for name in nodes}
        lost = [entry.pod for entry in self._occupancy.bound.values() if entry.node in numbers and not entry.pod.subject.terminating]
        return [pod._replace(rules=pod.rules._replace(node_name="")) for pod in lost]

    def ending(self, nodes: Iterable[str]) -> list[Pod]:
        """The pods on these nodes that are being deleted."""
        numbers = {self._number(name) for name in nodes}
        return [entry.pod for entry in self._occupancy.bound.values() if entry.node in numbers and entry.pod.subject.terminating]

    # --- what could be there -------------------------------------------------------------------------------------------

    def copy(self) -> Cluster:
        """The same cluster, in which pods can be bound without changing this one."""
        other = Cluster.__new__(Cluster)
        other._start(self._table, self._tables, self._resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.copy()
        other._fits, other._preferences, other._classes = self._fits, self._preferences, self._classes
        return other

    def without(self, nodes: Iterable[str]) -> Cluster:
        """The cluster that remains when these nodes are lost, and with them the pods that run there."""
        lost = {self._number(name) for name in nodes}
        other = Cluster.__new__(Cluster)
        remaining = NodeTable(node for number, node in enumerate(self._table.nodes) if number not in lost)
        other._start(remaining, self._tables, self._resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.renumbered(
            {number: other._number(name) for number, name in enumerate(self._table.names) if number not in lost}
        )
        return other

    def changed(self, nodes: Iterable[Node]) -> Cluster:
        """The same cluster in which these nodes, known by their names, have other labels and taints. What runs there stays."""
        other = Cluster.__new__(Cluster)
        table = self._table.changed({self._number(node.name): node for node in nodes})
        other._start(table, self._tables, self._resources, self._version, self._comparisons)
        other._occupancy = self._occupancy.copy()
        return other

    def bind(self, pod: Mapping[str, object] | Pod, node: str) -> None:
        """Let a pod run on a node, as if the scheduler had put it there."""
        self._occupancy.bind(self._compiled(pod), self._number(node))

    def unbind(self, pod: Mapping[str, object] | Pod) -> None:
        """Take a running pod away."""
        compiled = self._compiled(pod)
        self._occupancy.unbind(compiled.namespace, compiled.name)

    # --- questions -----------------------------------------------------------------------------------------------------

    def evaluate(self, pod: Mapping[str, object] | Pod) -> Verdict:
        """What the scheduler makes of the pod now: where it can go, why not elsewhere, and how it rates the nodes.

        A single feasible node is scored as well, though the scheduler takes it without looking at scores. All nodes are looked
        at, where the scheduler stops early in clusters of a hundred nodes and more.
        """
        compiled = self._compiled(pod)
        filtered = self._filter(compiled)
        if filtered.error is not None:
            return Verdict({}, {}, {}, {}, filtered.error)
        names, picked = self._table.names, filtered.picked
        left = picked.all(filtered.feasible)
        feasible = dict.fromkeys(names, False)
        for node in left:
            feasible[names[node]] = True
        reason = {name: plugin for name, plugin in zip(names, self._reasons(filtered), strict=True) if plugin is not None}
        if not left:
            return Verdict(feasible, reason, {}, {})
        scored = self._score(compiled, filtered)
        if scored.error is not None:
            return Verdict(feasible, reason, {}, {}, scored.error)
        rated = {other: place for place, node in enumerate(filtered.feasible) for other in picked.alike(node)}
        scores = {plugin: {names[node]: values[rated[node]] for node in left} for plugin, values in scored.scores.items()}
        return Verdict(feasible, reason, scores, {names[node]: scored.total[rated[node]] for node in left})

    def judge(self, pod: Pod) -> NumberedVerdict:
        """What ``evaluate`` tells of the pod, but for the scores of each plugin, by the number of each node."""
        filtered = self._filter(pod)
        if filtered.error is not None:
            return NumberedVerdict([], [], filtered.error)
        rejections = self._reasons(filtered)
        ratings: list[Rating | None] = [None] * len(rejections)
        scored = self._score(pod, filtered) if filtered.feasible else _Scored({}, [])
        possible, met = self._wishes(pod, filtered.feasible)
        for place, (node, total) in enumerate(zip(filtered.feasible, scored.total, strict=False)):
            parts = tuple([(plugin, WEIGHTS[plugin] * values[place]) for plugin, values in scored.scores.items()])
            rating = Rating(total, parts, met[place])
            for other in filtered.picked.alike(node):
                ratings[other] = rating
        return NumberedVerdict(rejections, ratings, scored.error, possible)

    def _wishes(self, pod: Pod, feasible: list[int]) -> tuple[int, list[int]]:
        """The sum of the weights of all that the pod prefers, and for each feasible node those of the terms that it meets."""
        possible, met = interpod_affinity.wishes(feasible, pod, self._table, self._occupancy)
        if pod.preferences is None or isinstance(pod.preferences, Malformed):
            return possible, met
        weights = self._preference(pod.preferences)
        return possible + sum(each.weight for each in pod.preferences), [
            sofar + weights[node] for sofar, node in zip(met, feasible, strict=True)
        ]

    def rejected_as_such(self, pod: Pod) -> list[str | None]:
        """For each node the plugin that rejects it, whatever runs there."""
        return self._fit(pod.rules).rejections

    def feasible_nodes(self, pod: Mapping[str, object] | Pod) -> list[str]:
        """The nodes where the pod can go now, in the order of their names; none if the scheduler fails on the pod."""
        filtered = self._filter(self._compiled(pod), scoring=False)
        return [self._table.names[node] for node in filtered.picked.all(filtered.feasible)]

    def room(self, pod: Pod, without: frozenset[int] = frozenset()) -> int | None:
        """On how many nodes the pod can go now, some left out by their numbers; None if the scheduler fails on the pod.

        Where more nodes take the pod than are left out, all of the latter are taken to be among them.
        """
        filtered = self._filter(pod, scoring=False)
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
        """The number of the first of some nodes that takes the pod now; None if none does."""
        filtered = self._filter(pod, scoring=False)
        first = [next((each for each in filtered.picked.alike(node) if each in among), None) for node in filtered.feasible]
        return min((node for node in first if node is not None), default=None)

    def competitors(self, pod: Pod, nodes: frozenset[int]) -> dict[str, int]:
        """By topology key how many of the pods on some nodes would keep the pod out of the domain that they move to, itself left out.

        ITSELF stands for the pods that would take a port of their host.
        """
        found: dict[str, int] = {}

        def count(key: str, tally: Tally, own: bool) -> None:
            there = (
                sum([tally[node] for node in nodes if node in tally])
                if len(nodes) < len(tally)
                else sum([number for node, number in tally.items() if node in nodes])
            )
            found[key] = found.get(key, 0) + there - own

        occupancy = self._occupancy
        own_terms = readable(pod.anti_affinity)
        for term in own_terms:
            count(term.key, occupancy.matching_terms(term), interpod_affinity.selects(term, pod, self.directory))
        for term, tally in occupancy.forbidding(pod.subject):
            count(term.key, tally, term in own_terms)
        for constraint in pod.hard_spread:
            counted = occupancy.matching_selector(constraint.selector, pod.namespace)
            # An empty selector counts no pod.
            count(constraint.key, counted, bool(counted) and matches(constraint.selector, pod.labels))
        for port in pod.ports:
            for tally in occupancy.on_port(port):
                count(ITSELF, tally, False)
        return found

    def schedule(self, pods: Iterable[Mapping[str, object] | Pod], *, even: bool = False) -> ScheduleResult:
        """Put pods on nodes in their order, each on the best node (the smallest name if several tie), then retry the pending ones.

        This cluster stays as it is; the run holds the changed copy. With ``even`` the node with the fewest pods comes first where
        several tie, as it does in a cluster whose pods request alike, and the run does not tell which tied.
        """
        compiled = [self._compiled(pod) for pod in pods]
        return (_EvenSchedulingRun if even else _SchedulingRun)(self.copy(), compiled).run()

    def shortages(self, pod: Mapping[str, object] | Pod, node: str) -> list[Shortage]:
        """What a node has too little of to take the pod beside those that run there; nothing where resources are left out."""
        return node_resources.shortages(self._number(node), self._compiled(pod).requests, self._table, self._occupancy)

    def barred(self, pod: Pod) -> dict[str, set[str | None]]:
        """By topology key the values where the pod cannot go for anti-affinity, its own or that of pods that run, or for taken ports."""
        found = interpod_affinity.barred(pod, self._table, self._occupancy)
        taken: set[str | None] = {self._table.names[node] for node in node_ports.taken(pod.ports, self._occupancy)}
        return {**found, ITSELF: taken} if taken else found

    def companions(self, terms: tuple[Term, ...], *, terminating: bool = True) -> frozenset[int]:
        """The numbers of the nodes where pods run that match all of these required affinity terms of an incoming pod."""
        return frozenset(self._occupancy.matching_terms(*terms, terminating=terminating))

    def forbidding(self, pod: Pod) -> list[Term]:
        """The required anti-affinity terms of pods that run which select the pod."""
        return [term for term, _ in self._occupancy.forbidding(pod.subject)]

    def matched(self, constraint: SpreadConstraint, namespace: str) -> Tally:
        """How many pods that a spread constraint of an incoming pod counts run on each node, by its number."""
        return self._occupancy.matching_selector(constraint.selector, namespace)

    def read(self, pod: object) -> Pod:
        """A Pod object as this cluster looks at pods: with what it requests if resources count. Raises InventoryError."""
        return read_pod(pod, resources=self._resources, comparisons=self._comparisons)

    def _compiled(self, pod: Mapping[str, object] | Pod) -> Pod:
        return pod if isinstance(pod, Pod) else self.read(pod)

    def _number(self, name: str) -> int:
        if name not in self._table.numbers:
            refuse(f"Node {name!r}", "is not in the cluster")
        return self._table.numbers[name]

    # --- how they are answered -----------------------------------------------------------------------------------------

    def _filter(self, pod: Pod, *, scoring: bool = True) -> _Filtered:
        fit = self._fit(pod.rules)
        if pod.rules.named is not None and not pod.rules.named:
            return _Filtered(fit, NOBODY, [], [], [], [], everywhere=NODE_AFFINITY)
        if names_exclude_each_other(pod.rules, self._version):
            return _Filtered(fit, NOBODY, [], [], [], [], everywhere="")
        if topology_spread.unparsable(pod.hard_spread):
            return _Filtered(fit, NOBODY, [], [], [], [], error=f"PreFilter {POD_TOPOLOGY_SPREAD}")
        if pod.malformed_terms:
            return _Filtered(fit, NOBODY, [], [], [], [], everywhere=INTER_POD_AFFINITY)
        picked = self._picked(pod, fit, scoring)
        roomy = unused = node_ports.admitted(picked.nodes, pod.ports, self._occupancy) if pod.ports else picked.nodes
        if pod.requests:
            roomy = node_resources.admitted(roomy, pod.requests, self._table, self._occupancy)
        spread = roomy
        if pod.hard_spread:
            spread = topology_spread.admitted(spread, pod, fit, self._table, self._occupancy)
        feasible = interpod_affinity.admitted(spread, pod, self._table, self._occupancy, self.directory)
        return _Filtered(fit, picked, unused, roomy, spread, feasible)

    def _picked(self, pod: Pod, fit: NodeFit, scoring: bool) -> RepresentativeNodes:
        """Of the nodes that the pod fits as such, one of all that nothing tells apart which its filters (and scores) look at."""
        if len(fit.candidates) <= _FEW:
            return fit.each_alone()
        table, occupancy = self._table, self._occupancy
        keys: set[str] = set()
        touched: set[int] = set()
        spread = (*pod.hard_spread, *(self._soft_spread(pod) if scoring else ()))
        looked_at = chain(topology_spread.looked_at(spread, pod, occupancy), interpod_affinity.looked_at(pod, occupancy, scoring=scoring))
        for key, tally in looked_at:
            keys.add(key)
            # Spread over hosts scores by node, whatever its label says.
            if tally and (key == HOSTNAME or table.marks(key)[1]):
                touched.update(tally)
        for resource, _ in pod.requests:
            touched.update(occupancy.used(resource))
        if pod.requests and scoring:
            touched.update(occupancy.rated(CPU))
        touched |= node_ports.taken(pod.ports, occupancy)
        return self._classes_of(pod, fit, frozenset(keys)).pick(touched)

    def _classes_of(self, pod: Pod, fit: NodeFit, keys: frozenset[str]) -> NodeColumnClasses:
        resources = dict.fromkeys([resource for resource, _ in pod.requests] + ([CPU, MEMORY] if pod.requests else []))
        asked = (pod.rules, pod.preferences, keys, tuple(resources))
        classes = self._classes.get(asked)
        if classes is None:
            if len(self._classes) >= _REMEMBERED_FITS:
                self._classes.clear()
            columns: list[Sequence[object]] = [fit.unpreferred, *[self._table.marks(key)[0] for key in keys]]
            columns += [self._table.amounts(resource) for resource in asked[3]]
            if pod.preferences is not None and not isinstance(pod.preferences, Malformed):
                columns.append(self._preference(pod.preferences))
            classes = self._classes[asked] = NodeColumnClasses(fit.candidates, columns)
        return classes

    def _soft_spread(self, pod: Pod) -> tuple[SpreadConstraint, ...]:
        """The constraints that score: the pod's own, or for a pod without any those of the scheduler's defaults."""
        return pod.soft_spread if pod.has_spread else topology_spread.default_constraints(self.directory.default_selector(pod))

    def _fit(self, rules: NodeRules) -> NodeFit:
        fit = self._fits.get(rules)
        if fit is None:
            if len(self._fits) >= _REMEMBERED_FITS:
                self._fits.clear()
            fit = self._fits[rules] = NodeFit(rules, self._table, self._version)
        return fit

    def _reasons(self, filtered: _Filtered) -> list[str | None]:
        """For each node the plugin that rejects it first."""
        if filtered.everywhere is not None:
            return [filtered.everywhere] * len(self._table.names)
        rejections = filtered.fit.rejections.copy()
        stages = (filtered.picked.nodes, filtered.unused, filtered.roomy, filtered.spread, filtered.feasible)
        for plugin, before, after in zip(_DYNAMIC_FILTERS, stages, stages[1:], strict=False):
            if len(after) < len(before):
                for node in filtered.picked.all(set(before).difference(after)):
                    rejections[node] = plugin
        return rejections

    def _score(self, pod: Pod, filtered: _Filtered) -> _Scored:
        """How the feasible ones of the picked nodes rate, in their order."""
        if isinstance(pod.preferences, Malformed):
            return _Scored({}, [], f"PreScore {NODE_AFFINITY}")
        spread = self._soft_spread(pod)
        if topology_spread.unparsable(spread):
            return _Scored({}, [], f"PreScore {POD_TOPOLOGY_SPREAD}")
        feasible = filtered.feasible
        scores = {TAINT_TOLERATION: _fewest_best([filtered.fit.unpreferred[node] for node in feasible])}
        if pod.preferences is not None:
            preference = self._preference(pod.preferences)
            scores[NODE_AFFINITY] = _most_best([preference[node] for node in feasible])
        if spread:
            scores[POD_TOPOLOGY_SPREAD] = topology_spread.scores(
                feasible, spread, pod, filtered.fit, self._table, self._occupancy, filtered.picked
            )
        drawn = interpod_affinity.scores(feasible, pod, self._table, self._occupancy)
        if drawn is not None:
            scores[INTER_POD_AFFINITY] = drawn
        if pod.requests:
            scores |= node_resources.scores(feasible, pod, self._table, self._occupancy, self._version)
        total = [0] * len(feasible)
        for plugin, values in scores.items():
            weight = WEIGHTS[plugin]
            total = [sofar + weight * value for sofar, value in zip(total, values, strict=True)]
        return _Scored(scores, total)

    def _preference(self, preferences: tuple[Preference, ...]) -> list[int]:
        """For each node the weights of the preferred node affinity terms that match it."""
        if preferences not in self._preferences:
            weights = [0] * len(self._table.nodes)
            for preference in preferences:
                matching = self._table.matching(AnyOf((preference.term,)))
                weights = [sofar + preference.weight * hit for sofar, hit in zip(weights, matching, strict=True)]
            self._preferences[preferences] = weights
        return self._preferences[preferences]


def _fewest_best(raw: list[int]) -> list[int]:
    most = max(raw)
    return [100 - 100 * value // most for value in raw] if most else [100] * len(raw)


def _most_best(raw: list[int]) -> list[int]:
    most = max(raw)
    return [100 * value // most for value in raw] if most else [0] * len(raw)


class _SchedulingRun:
    """One run of the scheduler over pods in their order."""

    def __init__(self, cluster: Cluster, pods: list[Pod]) -> None:
        self.cluster = cluster
        self.pods = dict(zip(_run_names(pods), pods, strict=True))
        self.placements: dict[str, str] = {}
        self.unschedulable: dict[str, dict[str, str]] = {}
        self.best: dict[str, tuple[str, ...]] = {}
        self.errors: dict[str, str] = {}
        # Nothing changes for a pending pod until one is placed, and pods that differ by name alone fail alike.
        self.failed: dict[object, tuple[int, dict[str, str], str | None]] = {}
        self.reasons: dict[tuple[str | None, ...], dict[str, str]] = {}

    def run(self) -> ScheduleResult:
        self._round(list(self.pods))
        placements, unschedulable = self.placements.copy(), self.unschedulable.copy()
        rounds, progress = 0, True
        while self.unschedulable and progress:
            rounds += 1
            progress = self._round(list(self.unschedulable))
        settled = SettledPlacements(self.placements, self.unschedulable)
        return ScheduleResult(placements, unschedulable, settled, rounds, self.best, self.errors, self.cluster)

    def _round(self, pending: list[str]) -> bool:
        """Try each pending pod once; whether any was placed."""
        before = len(self.placements)
        for name in pending:
            self._try(name, self.pods[name])
        return len(self.placements) > before

    def _try(self, name: str, pod: Pod) -> None:
        cluster = self.cluster
        kind = but_for_the_name(pod) if self.failed else None
        placed, reasons, error = self.failed.get(kind, _NEVER)
        if placed != len(self.placements):
            filtered = cluster._filter(pod)
            best, error = self._best(pod, filtered)
            if best:
                self._place(name, pod, best, filtered.picked, error)
                return
            reasons = {} if filtered.error is not None else self._shared(cluster._reasons(filtered))
            self.failed[kind or but_for_the_name(pod)] = len(self.placements), reasons, error
        self.unschedulable[name] = reasons
        self._note(name, error)

    def _best(self, pod: Pod, filtered: _Filtered) -> tuple[list[int], str | None]:
        """The best of the picked nodes, and why the scheduler fails on the pod."""
        feasible = filtered.feasible
        # The scheduler does not score a single node, so nothing that goes wrong in scoring keeps the pod from it.
        if filtered.picked.count(feasible) <= 1:
            return feasible, filtered.error
        scored = self.cluster._score(pod, filtered)
        most = max(scored.total, default=0)
        return [node for node, total in zip(feasible, scored.total, strict=False) if total == most], scored.error

    def _place(self, name: str, pod: Pod, best: list[int], picked: RepresentativeNodes, error: str | None) -> None:
        node = self._chosen(name, best, picked)
        self.cluster._occupancy.bind(pod, node)
        self.unschedulable.pop(name, None)
        self.placements[name] = self.cluster._table.names[node]
        self._note(name, error)

    def _chosen(self, name: str, best: list[int], picked: RepresentativeNodes) -> int:
        """Which of the best nodes the pod goes to."""
        names = self.cluster._table.names
        self.best[name] = tuple([names[node] for node in picked.all(best)])
        return best[0]  # Each of the picked nodes is the first of those it stands for.

    def _note(self, name: str, error: str | None) -> None:
        self.errors.pop(name, None)
        if error is not None:
            self.errors[name] = error

    def _shared(self, plugins: list[str | None]) -> dict[str, str]:
        """The plugin that rejected each node by its name; pods that are rejected alike share the answer."""
        asked = tuple(plugins)
        if asked not in self.reasons:
            names = self.cluster._table.names
            self.reasons[asked] = {name: plugin for name, plugin in zip(names, plugins, strict=True) if plugin is not None}
        return self.reasons[asked]


class _EvenSchedulingRun(_SchedulingRun):
    """A run that takes the node with the fewest pods where several tie."""

    def __init__(self, cluster: Cluster, pods: list[Pod]) -> None:
        super().__init__(cluster, pods)
        # The members of each class with the pods that they had when last looked at: in a run nodes only get more.
        self.emptiest: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.kept: list[NodeColumnClasses] = []

    def _chosen(self, _name: str, best: list[int], picked: RepresentativeNodes) -> int:
        load = self.cluster._occupancy.pods()
        if picked.classes is None:
            return min(best, key=lambda node: (load.get(node, 0), node))
        return min([(load.get(node, 0), node) if node in picked.touched else self._emptiest(picked, node, load) for node in best])[1]

    def _emptiest(self, picked: RepresentativeNodes, node: int, load: Tally) -> tuple[int, int]:
        """Of the nodes that one of the picked stands for, that with the fewest pods, and how many these are."""
        classes = picked.classes
        assert classes is not None
        asked = id(classes), classes.number(node)
        if asked not in self.emptiest:
            self.kept.append(classes)  # Nothing else is to have its id.
            self.emptiest[asked] = sorted([(load.get(other, 0), other) for other in classes.members(node)])
        heap, aside = self.emptiest[asked], []
        while heap[0][1] in picked.touched or heap[0][0] != load.get(heap[0][1], 0):
            count, other = heappop(heap)
            if other in picked.touched:
                aside.append((count, other))
            else:
                heappush(heap, (load.get(other, 0), other))
        found = heap[0]
        for each in aside:
            heappush(heap, each)
        return found


_NEVER: tuple[int, dict[str, str], str | None] = (-1, {}, None)


def _run_names(pods: list[Pod]) -> list[str]:
    """How a run calls its pods: by name where that is enough."""
    shared: dict[str, int] = {}
    for pod in pods:
        shared[pod.name] = shared.get(pod.name, 0) + 1
    names = [pod.name if shared[pod.name] == 1 else f"{pod.namespace}/{pod.name}" for pod in pods]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        refuse(f"Pod {twice!r}", "is listed twice among the pods to schedule")
    return names
