"""The nodes that the pods of each workload can use in any order of scheduling, and how many pods fit there at most."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from afflint.controllers import replicas
from afflint.controllers.pod_source import PodSource
from afflint.controllers.rollouts import coexisting_revision_label, most_at_once, revision_label
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.inventory.node_classes import NodeClass
from afflint.kube.selectors import EVERYTHING, Parsed, Selector, matches
from afflint.placement.rejections import RunningPod, RunningPodIndex
from afflint.placement.rolling_states import previous_revision
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.host_ports import HostPort, ports_conflict
from afflint.scheduler.matching import LabelIndex
from afflint.scheduler.node_fit import NodeFit
from afflint.scheduler.nodes import ITSELF
from afflint.scheduler.pods import Pod, SpreadConstraint, Term, parsed_terms
from afflint.scheduler.topology_spread import unparsable

UNLIMITED = 2**62
Nodes = frozenset[int]
"""Numbers of nodes, in the order of their names."""


class Variant(NamedTuple):
    """Pods of one workload that no constraint distinguishes: one of them, and how many there are."""

    workload: int
    pod: Pod
    number: int


class CapacityLimit(NamedTuple):
    """At most ``most`` pods fit: by anti-affinity over ``keys`` or by the spread constraint over one key.

    The key ITSELF means a host port that all of them request. ``domains`` are the values of the first key that the pods
    can reach; ``path`` leads to the constraint in the pod spec.
    """

    most: int
    keys: tuple[str, ...]
    domains: tuple[str, ...]
    path: Path
    spread: SpreadConstraint | None


@dataclass(slots=True, eq=False)
class _Gathering:
    """Required pod affinity terms, the variants that have them, and where the pods that they select can run."""

    terms: tuple[Term, ...]
    alone: bool
    """Whether these terms select no running pod: then a pod that its own terms select may be scheduled first."""
    members: list[int]
    values: dict[str, set[str | None]]
    """By topology key, the values where a pod that they select can run."""


class ScheduleBounds:
    """Conclusions that hold for every order of scheduling some workloads on a cluster with only the running pods.

    Pods that are being deleted are left out, because they block others only temporarily. ``classes`` are nodes that may be created,
    ``compiled`` the pods of the workloads if they are already known.
    """

    def __init__(
        self,
        cluster: Cluster,
        pod_sources: Sequence[PodSource],
        classes: Sequence[NodeClass] = (),
        compiled: Sequence[replicas.CompiledPods] | None = None,
    ) -> None:
        self.pod_sources = tuple(pod_sources)
        self.running_pods = RunningPodIndex(cluster)
        self.cluster = _without_terminating(cluster, self.running_pods)
        self.table = cluster.table
        self.directory = cluster.directory
        self.compiled = [replicas.compile_pods(pod_source, cluster) for pod_source in pod_sources] if compiled is None else compiled
        keys = self._mentioned_labels()
        self.variants = [variant for index in range(len(pod_sources)) for variant in self._variants(index, keys)]
        self.variants_of: list[list[int]] = [[] for _ in pod_sources]
        for number, variant in enumerate(self.variants):
            self.variants_of[variant.workload].append(number)
        self._index = LabelIndex(variant.pod.labels for variant in self.variants)
        self._by_port: dict[tuple[str, int], list[int]] = {}
        for number, variant in enumerate(self.variants):
            for port in dict.fromkeys((port.protocol, port.port) for port in variant.pod.ports):
                self._by_port.setdefault(port, []).append(number)
        self._fits: dict[object, NodeFit] = {}
        self._shared: dict[Nodes, Nodes] = {}
        self._unbarred: dict[object, Nodes] = {}
        self._parts: dict[tuple[str, Nodes], Mapping[str | None, Nodes]] = {}
        self._capacities: dict[tuple[Nodes, tuple[str, ...]], int] = {}
        self._counted: dict[object, dict[str | None, int]] = {}
        self.reach = self._reach()
        """For each variant, the nodes that its pods can use in some order of scheduling, at most."""
        self.elastic = unbounded_workloads([(variant.workload, variant.pod) for variant in self.variants], self.selects, classes)
        """The workloads for which pools may create more nodes."""
        self.bounded = all(each.count is not None for each in classes)
        """Whether the number of nodes has a maximum."""

    # --- variants and selectors ----------------------------------------------------------------------------------------------------

    def _mentioned_labels(self) -> frozenset[str]:
        """Return the label keys that any selector mentions."""
        pods = [each.pod for each in self.running_pods] + [compiled.template for compiled in self.compiled if compiled.template is not None]
        selectors = [term.selector for pod in pods for term in (*parsed_terms(pod.affinity), *parsed_terms(pod.anti_affinity))]
        parsed = [constraint.selector for pod in pods for constraint in pod.hard_spread]
        return frozenset(
            requirement.key for selector in (*selectors, *parsed) if isinstance(selector, Selector) for requirement in selector.requirements
        )

    def _variants(self, index: int, keys: frozenset[str]) -> Iterable[Variant]:
        pod_source, compiled = self.pod_sources[index], self.compiled[index]
        if pod_source.daemon:
            return [Variant(index, compiled.template, len(compiled.pods))] if compiled.template is not None and compiled.pods else []
        found: dict[object, list[Pod]] = {}
        for pod in compiled.pods:
            seen = frozenset((key, value) for key, value in pod.labels.items() if key in keys)
            found.setdefault((seen, pod.affinity, pod.anti_affinity, pod.hard_spread), []).append(pod)
        # Replicas beyond those that are made are like the last that is.
        missing = pod_source.replicas - len(compiled.pods)
        variants = [Variant(index, pods[0], len(pods)) for pods in found.values()]
        if variants and missing > 0:
            variants[-1] = variants[-1]._replace(number=variants[-1].number + missing)
        return variants

    def fit(self, pod: Pod) -> NodeFit:
        """Return how the nodes meet the node requirements of a pod."""
        if pod.rules not in self._fits:
            self._fits[pod.rules] = NodeFit(pod.rules, self.table)
        return self._fits[pod.rules]

    def selects(self, term: Term, other: Pod) -> bool:
        """Return whether a term of an incoming pod selects another pod."""
        names = self.directory.scope(term)
        return (names is None or other.namespace in names) and matches(term.selector, other.labels)

    def members_of(self, term: Term) -> list[int]:
        """Return the numbers of the variants that a term of an incoming pod selects."""
        return [number for number in self._index.candidates(term.selector) if self.selects(term, self.variants[number].pod)]

    def matched_by(self, selector: Parsed) -> list[int]:
        """Return the numbers of the variants that a selector matches in any namespace."""
        candidates = self._index.candidates(selector if isinstance(selector, Selector) else None)
        return [number for number in candidates if matches(selector, self.variants[number].pod.labels)]

    def asking_for(self, port: HostPort) -> list[int]:
        """Return the numbers of the variants that cannot share a node with a pod that uses a host port."""
        candidates = self._by_port.get((port.protocol, port.port), ())
        return [number for number in candidates if ports_conflict((port,), self.variants[number].pod.ports)]

    def barred_keys(self, coming: Pod, running: Pod) -> frozenset[str]:
        """Return the topology keys whose domain an incoming pod cannot share with a running one, by anti-affinity or a host port."""
        own = [term.key for term in parsed_terms(coming.anti_affinity) if self.selects(term, running)]
        theirs = [
            term.key
            for term in parsed_terms(running.anti_affinity)
            if matches(term.selector, coming.labels) and self.directory.covers(term, coming.namespace)
        ]
        ports = [ITSELF] if ports_conflict(coming.ports, running.ports) else []
        return frozenset(own + theirs + ports)

    def exclusive_keys(self, one: Pod, other: Pod) -> frozenset[str]:
        """Return the topology keys whose domain two pods cannot share, whichever is scheduled first."""
        return self.barred_keys(one, other) & self.barred_keys(other, one)

    # --- reachable nodes ---------------------------------------------------------------------------------------------

    def static(self, pod: Pod) -> Nodes:
        """Return the nodes that nothing rules out permanently: neither the node itself nor a running pod."""
        if pod.malformed_terms or unparsable(pod.hard_spread):
            return frozenset()
        keys = frozenset([constraint.key for constraint in pod.hard_spread] + [term.key for term in parsed_terms(pod.affinity)])
        nodes = self._unbarred.get((pod.rules, keys))
        if nodes is None:
            columns = [self.table.column(key) for key in keys]
            fitting = [node for node in self.fit(pod).candidates if all(column[node] is not None for column in columns)]
            nodes = self._unbarred[pod.rules, keys] = self._one(frozenset(fitting))
        for key, taken in self.cluster.barred(pod).items():
            column = self.table.column(key)
            nodes = self._one(frozenset(node for node in nodes if column[node] not in taken))
        return nodes

    def _one(self, nodes: Nodes) -> Nodes:
        """Return the one set with these nodes, so that pods with the same nodes share what is computed from it."""
        return self._shared.setdefault(nodes, nodes)

    def _reach(self) -> list[Nodes]:
        static = [self._start(variant) for variant in self.variants]
        # Pods reach nodes one after the other, each drawn by those before it: so the sets grow from nothing.
        reach: list[Nodes] = []
        gatherings: dict[tuple[Term, ...], _Gathering] = {}
        attended: dict[int, list[_Gathering]] = {}
        for number, variant in enumerate(self.variants):
            terms = parsed_terms(variant.pod.affinity)
            reach.append(frozenset() if terms else static[number])
            if terms:
                gathering = gatherings.get(terms)
                if gathering is None:
                    gathering = gatherings[terms] = self._gathering(terms)
                    for companion in self._companions_of(terms):
                        attended.setdefault(companion, []).append(gathering)
                gathering.members.append(number)
        for number, meetings in attended.items():
            for gathering in meetings:
                self._record_reachable(gathering, reach[number])
        waiting = list(gatherings.values())
        while waiting:
            gathering = waiting.pop()
            for number in gathering.members:
                grown = self._reachable_nodes(number, static[number], gathering)
                if len(grown) > len(reach[number]):
                    reach[number] = grown
                    waiting += [other for other in attended.get(number, ()) if self._record_reachable(other, grown)]
        return reach

    def _companions_of(self, terms: tuple[Term, ...]) -> list[int]:
        """Return the variants that required pod affinity selects."""
        return [number for number in self.members_of(terms[0]) if all(self.selects(term, self.variants[number].pod) for term in terms[1:])]

    def _gathering(self, terms: tuple[Term, ...]) -> _Gathering:
        running = self.cluster.companions(terms)
        columns = {term.key: self.table.column(term.key) for term in terms}
        gathering = _Gathering(terms, not any(column[node] is not None for column in columns.values() for node in running), [], {})
        self._record_reachable(gathering, running)
        return gathering

    def _record_reachable(self, gathering: _Gathering, nodes: Nodes) -> bool:
        """Record that selected pods can run on these nodes; return whether that adds a topology domain."""
        new = False
        for term in gathering.terms:
            known = gathering.values.setdefault(term.key, set())
            before = len(known)
            known.update(self._values(term.key, nodes))
            new = new or len(known) > before
        return new

    def _start(self, variant: Variant) -> Nodes:
        pod_source = self.pod_sources[variant.workload]
        if pod_source.node_name and not pod_source.daemon:
            # Such pods bypass the scheduler.
            return frozenset((self.table.numbers[pod_source.node_name],)) if pod_source.node_name in self.table.numbers else frozenset()
        return self.static(variant.pod)

    def _reachable_nodes(self, number: int, static: Nodes, gathering: _Gathering) -> Nodes:
        """Return the nodes where the required pod affinity can be met, as known so far."""
        pod = self.variants[number].pod
        if gathering.alone and all(self.selects(term, pod) for term in gathering.terms):
            return static
        columns = [(self.table.column(key), values) for key, values in gathering.values.items()]
        return self._one(frozenset(node for node in static if all(column[node] in values for column, values in columns)))

    def _split(self, key: str, nodes: Nodes) -> Mapping[str | None, Nodes]:
        """Return the nodes by their value of a label; None for those that lack it."""
        found = self._parts.get((key, nodes))
        if found is None:
            column = self.table.column(key)
            members = grouped((column[node], node) for node in nodes)
            found = self._parts[key, nodes] = {value: self._one(frozenset(numbers)) for value, numbers in members.items()}
        return found

    def domains(self, key: str, workload: int) -> list[Nodes]:
        """Return the nodes that any pod of a workload can use, by their value of a label; those that lack it count as one more."""
        return list(self._split(key, self.nodes_of(workload)).values())

    def _values(self, key: str, nodes: Nodes) -> Collection[str]:
        return [value for value in self._split(key, nodes) if value is not None]

    # --- how many fit --------------------------------------------------------------------------------------------------

    def members(self, workload: int) -> list[Variant]:
        """Return the variants of a workload."""
        return [self.variants[number] for number in self.variants_of[workload]]

    def nodes_of(self, workload: int) -> Nodes:
        """Return the nodes that any pod of a workload can use."""
        return self._one(frozenset().union(*{self.reach[number] for number in self.variants_of[workload]}))

    def limit(
        self, workload: int, nodes: Nodes, members: Sequence[Variant] | None = None, *, lasting: bool = False
    ) -> CapacityLimit | None:
        """Return the tightest bound on how many of the pods fit on these nodes; None if nothing bounds them.

        No order of scheduling places more. ``members`` replace the pods of the workload. With ``lasting``, spread constraints that a
        rollout may leave violated do not count.
        """
        pods = self.members(workload) if members is None else list(members)
        if not pods or self.pod_sources[workload].node_name or self.pod_sources[workload].daemon:
            return None
        keys = self._shared_exclusion(pods)
        limits = []
        if keys:
            most = self.capacity(nodes, keys)
            if most < UNLIMITED:
                telling = self._decisive_keys(keys, nodes, most)
                limits.append(CapacityLimit(most, telling, self.values(telling[0], nodes), self._apart(pods, telling[0]), None))
        for constraint in pods[0].pod.hard_spread:
            if lasting and self._is_lost_in_rollout(workload, constraint):
                continue
            if all(constraint in member.pod.hard_spread and matches(constraint.selector, member.pod.labels) for member in pods):
                most = self._spread_limit(workload, constraint, pods[0].pod, nodes, keys)
                if most < UNLIMITED:
                    limits.append(CapacityLimit(most, (constraint.key,), self.values(constraint.key, nodes), constraint.path, constraint))
        return min(limits, key=lambda limit: limit.most, default=None)

    def _is_lost_in_rollout(self, workload: int, constraint: SpreadConstraint) -> bool:
        """Return whether the pods of two revisions run at the same time, and a spread constraint counts both."""
        label = revision_label(self.pod_sources[workload].kind, self.pod_sources[workload].strategy)
        selector = constraint.selector
        return bool(label) and not (isinstance(selector, Selector) and any(each.key == label for each in selector.requirements))

    def kept_apart(self, workload: int) -> Mapping[str, Path]:
        """Return the topology keys whose domain no two pods of a workload can share, ITSELF included, with the paths of the constraints."""
        members = self.members(workload)
        return {key: self._apart(members, key) for key in self._shared_exclusion(members)}

    def _apart(self, members: Sequence[Variant], key: str) -> Path:
        """Return the path of the anti-affinity term over a key that separates these pods, or of their host port."""
        if key == ITSELF:
            return members[0].pod.ports[0].path
        terms = (term for member in members for term in parsed_terms(member.pod.anti_affinity) if term.key == key)
        return next((term.path for term in terms if any(self.selects(term, other.pod) for other in members)), ())

    def _decisive_keys(self, keys: tuple[str, ...], nodes: Nodes, most: int) -> tuple[str, ...]:
        """Return the keys that the bound comes from: without the host port, or only the host port, if the bound stays the same."""
        if ITSELF not in keys or len(keys) == 1:
            return keys
        rest = tuple([key for key in keys if key != ITSELF])
        return next((some for some in (rest, (ITSELF,)) if self.capacity(nodes, some) == most), keys)

    def values(self, key: str, nodes: Nodes) -> tuple[str, ...]:
        """Return the values of a label on these nodes."""
        return tuple(sorted(self._values(key, nodes)))

    def _shared_exclusion(self, members: Sequence[Variant]) -> tuple[str, ...]:
        """Return the topology keys whose domain no two of these pods can share."""
        shared: frozenset[str] | None = None
        for position, one in enumerate(members):
            for other in members[position:]:
                if other is one and one.number < 2:
                    continue
                keys = self.exclusive_keys(one.pod, other.pod)
                shared = keys if shared is None else shared & keys
                if not shared:
                    return ()
        return tuple(sorted(shared or ()))

    def capacity(self, nodes: Nodes, keys: tuple[str, ...]) -> int:
        """Return how many pods fit on the nodes if no two share a domain of any of these keys. Exact for up to two keys, else a bound."""
        most = self._capacities.get((nodes, keys))
        if most is None:
            most = self._capacities[nodes, keys] = self._capacity(nodes, keys)
        return most

    def _capacity(self, nodes: Nodes, keys: tuple[str, ...]) -> int:
        columns = {key: self.table.column(key) for key in keys}
        if any(all(column[node] is None for column in columns.values()) for node in nodes):
            return UNLIMITED
        # A node that lacks a key is a domain of its own in that respect: a number where others have a value.
        valued = {key: {node: node if column[node] is None else column[node] for node in nodes} for key, column in columns.items()}
        most = UNLIMITED
        for key in keys:
            if all(columns[key][node] is not None for node in nodes):
                most = min(most, len(set(valued[key].values())))
        for position, one in enumerate(keys):
            for other in keys[position + 1 :]:
                if any(columns[one][node] is None and columns[other][node] is None for node in nodes):
                    continue
                most = min(most, _matching({(valued[one][node], valued[other][node]) for node in nodes}))
        return most

    def _spread_limit(self, workload: int, constraint: SpreadConstraint, pod: Pod, nodes: Nodes, keys: tuple[str, ...]) -> int:
        """Return how many pods a hard spread constraint admits: no domain may exceed the emptiest one, filled to its limit, by maxSkew."""
        spread_keys = tuple([each.key for each in pod.hard_spread])
        members, domains = self.fit(pod).domains(constraint, spread_keys)
        column = self.table.column(constraint.key)
        counts = dict(domains)
        for node, count in self.cluster.matched(constraint, pod.namespace).items():
            if members[node]:
                counts[column[node]] += count
        reached = self._split(constraint.key, nodes)
        if not reached.keys() <= counts.keys():
            return UNLIMITED
        rooms = {value: self._room(reached.get(value), keys) for value in counts}
        least = 0
        if len(counts) >= constraint.min_domains:
            others = self._others_counted(workload, constraint, pod)
            shared = self._keys_across_revisions(workload, constraint, pod, keys)
            filled = rooms if shared == keys else {value: self._room(reached.get(value), shared) for value in counts}
            least = min((counts[value] + filled[value] + others.get(value, 0) for value in counts), default=0)
        top = least + constraint.max_skew
        # With maxSkew 1 and a pod that counts itself a domain takes pods up to the top, no further.
        total = sum(min(rooms[value], max(0, top - counts[value])) for value in counts)
        return min(total, UNLIMITED)

    def _room(self, nodes: Nodes | None, keys: tuple[str, ...]) -> int:
        """Return how many pods fit in a domain with these nodes, by anti-affinity over these keys; none if they reach no node there."""
        return 0 if nodes is None else self.capacity(nodes, keys) if keys else UNLIMITED

    def _keys_across_revisions(self, workload: int, constraint: SpreadConstraint, pod: Pod, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the keys whose domain the pods that the constraint counts cannot share, whatever their revision.

        With ``matchLabelKeys``, anti-affinity separates only pods of one revision, and a rollout runs pods of two beside each other.
        """
        label = coexisting_revision_label(self.pod_sources[workload].kind, self.pod_sources[workload].strategy)
        if not keys or label not in pod.labels:
            return keys
        other = previous_revision(pod, label)
        if not matches(constraint.selector, other.labels):
            return keys
        exclusive = self.exclusive_keys(pod, other)
        return tuple([key for key in keys if key in exclusive])

    def _others_counted(self, workload: int, constraint: SpreadConstraint, pod: Pod) -> dict[str | None, int]:
        """Return by domain how many pods of other workloads the constraint may count at the same time."""
        asked = (constraint.key, constraint.selector, pod.namespace)
        everybody = self._counted.get(asked)
        if everybody is None:
            everybody = self._counted[asked] = self._possible(constraint, pod, self.matched_by(constraint.selector))
        mine = self._possible(constraint, pod, self.variants_of[workload])
        return {value: count - mine.get(value, 0) for value, count in everybody.items()}

    def _possible(self, constraint: SpreadConstraint, pod: Pod, numbers: Iterable[int]) -> dict[str | None, int]:
        """Return by domain how many pods of these variants the constraint may count at the same time."""
        found: dict[str | None, int] = {}
        for number in numbers if constraint.selector != EVERYTHING else ():
            other = self.variants[number]
            if other.pod.namespace == pod.namespace and matches(constraint.selector, other.pod.labels):
                for value in self._split(constraint.key, self.reach[number]):
                    found[value] = found.get(value, 0) + self._most_at_once(other)
        return found

    def _most_at_once(self, variant: Variant) -> int:
        """Return how many pods like these may run at the same time, at most: an autoscaler adds pods, and so does a rollout."""
        own = self.pod_sources[variant.workload]
        if own.daemon:
            return 2 * variant.number
        most = UNLIMITED if own.scale.most is None and own.scale.open_ended else max(own.replicas, own.scale.most or 0)
        return variant.number + most_at_once(own.kind, own.strategy, most) - own.replicas


def _without_terminating(cluster: Cluster, running_pods: Iterable[RunningPod]) -> Cluster:
    staying = {(each.pod.namespace, each.pod.name) for each in running_pods}
    leaving = [identity for identity in cluster.pods if identity not in staying]
    if not leaving:
        return cluster
    other = cluster.copy()
    for namespace, name in leaving:
        other.unbind({"metadata": {"namespace": namespace, "name": name}})
    return other


def _matching(edges: set[tuple[object, object]]) -> int:
    """Return the size of a maximum matching of a bipartite graph: augmenting paths from each vertex of the smaller side."""
    lefts, rights = {left for left, _ in edges}, {right for _, right in edges}
    if len(rights) < len(lefts):
        edges = {(right, left) for left, right in edges}
    neighbours = grouped((left, right) for left, right in sorted(edges, key=repr))
    partner: dict[object, object] = {}
    return sum(_augment(left, neighbours, partner) for left in neighbours)


def _augment(start: object, neighbours: dict[object, list[object]], partner: dict[object, object]) -> bool:
    came_from: dict[object, object] = {}
    queue = [start]
    for left in queue:
        for right in neighbours[left]:
            if right in came_from:
                continue
            came_from[right] = left
            if right not in partner:
                _flip(right, start, came_from, partner)
                return True
            queue.append(partner[right])
    return False


def _flip(right: object, start: object, came_from: dict[object, object], partner: dict[object, object]) -> None:
    owner_of = {left: matched for matched, left in partner.items()}
    while True:
        left = came_from[right]
        before = owner_of.get(left)
        partner[right] = left
        if left == start:
            return
        right = before


# Unbounded node classes, and the workloads that they can always take.
# What is proved by counting nodes or domains holds for what is bounded alone. A pod that fits a class without a bound always finds one
# more node, maybe in an unknown domain; so does a pod with affinity to such a pod, or spread by it.


Selects = Callable[[Term, Pod], bool]
"""Whether a term of an incoming pod selects another pod."""


def unbounded_workloads(pods: Sequence[tuple[int, Pod]], selects: Selects, classes: Iterable[NodeClass]) -> frozenset[int]:
    """Return the numbers of the workloads that unbounded classes may take, and of those whose nodes depend on where such pods run.

    ``pods`` are those of all workloads, each with the number of its workload; of equal pods, one is enough.
    """
    unbounded = [each for each in classes if each.count is None]
    if not unbounded:
        return frozenset()
    found = {workload for workload, pod in pods if _gains(pod, unbounded)}
    waiting = [(workload, pod) for workload, pod in pods if workload not in found and (pod.affinity or pod.hard_spread)]
    grown = True
    while grown:
        others = [pod for workload, pod in pods if workload in found]
        index = LabelIndex(pod.labels for pod in others)
        new = {workload for workload, pod in waiting if _depends(selects, pod, others, index)}
        waiting = [(workload, pod) for workload, pod in waiting if workload not in new]
        found |= new
        grown = bool(new)
    return frozenset(found)


def _gains(pod: Pod, unbounded: Iterable[NodeClass]) -> bool:
    """Return whether nodes of these classes help to schedule a pod: by taking it, or as domains that its spread constraint counts."""
    return any(each.may_take(pod.rules) for each in unbounded) or any(constraint.min_domains > 1 for constraint in pod.hard_spread)


def _depends(selects: Selects, pod: Pod, others: Sequence[Pod], index: LabelIndex) -> bool:
    """Return whether required affinity to other pods, or a spread constraint that counts them, affects a pod."""
    for term in parsed_terms(pod.affinity):
        if any(selects(term, others[number]) for number in index.candidates(term.selector)):
            return True
    for constraint in pod.hard_spread:
        selector = constraint.selector
        if isinstance(selector, Selector):
            selected = (others[number] for number in index.candidates(selector))
            if any(other.namespace == pod.namespace and matches(selector, other.labels) for other in selected):
                return True
    return False
