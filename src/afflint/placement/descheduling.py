"""What a descheduler does: rounds of evictions, each followed by the scheduling of new pods, until nothing changes or a state returns.

Semantics: pkg/framework/plugins of sigs.k8s.io/descheduler. A plugin decides by the pods that run when it starts; evicted pods are
recreated after it. PodDisruptionBudgets apply, and virtual machines that request it are live-migrated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil

from afflint.controllers.pod_source import PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Malformed, matches
from afflint.kube.taints import tolerated
from afflint.placement.cluster_state import ClusterState
from afflint.placement.descheduler_policy import (
    ANTI_AFFINITY,
    BALANCE,
    DUPLICATES,
    LOW_UTILIZATION,
    NODE_AFFINITY,
    NODE_TAINTS,
    SPREAD,
    DeschedulerPolicy,
    EvictionRules,
    Plugin,
    is_critical,
    is_simulated,
    thresholds,
)
from afflint.placement.disruption_budgets import is_silent
from afflint.placement.effects import effect
from afflint.placement.evictions import Evictions
from afflint.placement.plan import DescheduledPod, DescheduleEffect, DeschedulerAnswer, Violation
from afflint.placement.pod_evictions import evict_or_migrate, why_blocked
from afflint.scheduler.interpod_affinity import selects
from afflint.scheduler.pods import Pod, PodKey, SpreadConstraint, parsed_terms
from afflint.yaml.document import texts_at

MOST_ROUNDS = 50
_EVICT = "descheduler.alpha.kubernetes.io/evict"
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_RESOURCES = ("cpu", "memory", "pods")
_NO_UTILIZATION = f"not simulated: {LOW_UTILIZATION}, because not all nodes have cpu, memory and pods in status.allocatable"


class _PodOnNode(NamedTuple):
    """A running pod and its node."""

    pod: Pod
    node: str


class Descheduling:
    """The deschedulers that are simulated on one schedule."""

    def __init__(self, evictions: Evictions, violations: Sequence[Violation] = ()) -> None:
        self._evictions = evictions
        self._violations = [each for each in violations if each.descheduler]
        self._schedule_index = evictions.schedule_index

    def simulate(self, policy: DeschedulerPolicy) -> DescheduleEffect:
        """Run the descheduler again and again, until it evicts no pod or the pods run as they did before an earlier round."""
        state = ClusterState(self._evictions)
        states = {self._positions(state): 0}
        rounds: list[tuple[DescheduledPod, ...]] = []
        repeats: int | None = None
        while len(rounds) < MOST_ROUNDS:
            evicted = _Round(state, policy).run()
            if not evicted:
                break
            rounds.append(evicted)
            positions = self._positions(state)
            if positions in states:
                repeats = states[positions]
                break
            states[positions] = len(rounds)
        settled = len(rounds) < MOST_ROUNDS and repeats is None
        machines = any(each.pod_source.kubevirt for each in self._schedule_index.schedule.workloads)
        notes = [*policy.notes, *([policy.machine_note] if machines and policy.machine_note else [])]
        notes += [_NO_UTILIZATION] if self._lacks_utilization(policy) else []
        moves = effect(state, policy.name, (), "drain").moves
        return DescheduleEffect(policy.name, tuple(rounds), repeats, settled, moves, tuple(notes), tuple(self._answers(policy, rounds)))

    def _answers(self, policy: DeschedulerPolicy, rounds: Sequence[Sequence[DescheduledPod]]) -> Iterator[DeschedulerAnswer]:
        """Yield what a descheduler does about each running pod that violates a rule."""
        moved = {(each.workload, each.pod) for evicted in rounds for each in evicted}
        for each in self._violations:
            placed = self._schedule_index.by_key[each.workload]
            pod = next(pod for pod in placed.pods if pod.name == each.pod)
            if (each.workload, each.pod) in moved:
                yield DeschedulerAnswer(each.workload, each.pod, "moved", "")
                continue
            answer = _Round(ClusterState(self._evictions), policy).answer(each, pod)
            instead = any(other.plugin == each.descheduler for evicted in rounds for other in evicted)
            if instead and answer.result == "spared" and answer.why.endswith("does not select it"):
                answer = answer._replace(why=f"{each.descheduler} evicts another pod instead")
            yield answer

    def _lacks_utilization(self, policy: DeschedulerPolicy) -> bool:
        """Return whether a plugin measures utilization that nodes do not report."""
        asked = any(plugin.name == LOW_UTILIZATION and is_simulated(plugin) for profile in policy.profiles for plugin in profile.plugins)
        nodes = self._schedule_index.schedule.cluster.table.nodes
        return asked and any(node.allocatable is None or not all(node.allocatable.get(each) for each in _RESOURCES) for node in nodes)

    def _positions(self, state: ClusterState) -> frozenset[tuple[tuple[str, str], int]]:
        """Return how many pods of each workload run on each node: pods of one workload are alike."""
        titles, there = self._schedule_index.titles, state.cluster.pods
        return frozenset(Counter((titles.get(key, f"{key}"), node) for key, node in there.items()).items())


class _Round:
    """One run of the descheduler."""

    def __init__(self, state: ClusterState, policy: DeschedulerPolicy) -> None:
        self._state = state
        self._schedule_index = state.schedule_index
        self._policy = policy
        self._evicted: list[DescheduledPod] = []
        nodes = state.cluster.table.nodes
        self._nodes = [
            node for node in nodes if not is_silent(node) and (policy.node_selector is None or matches(policy.node_selector, node.labels))
        ]
        self._names = [node.name for node in self._nodes]

    def run(self) -> tuple[DescheduledPod, ...]:
        """Run the plugins of all profiles: those that deschedule first, then those that balance."""
        for balances in (False, True):
            for profile in self._policy.profiles:
                for plugin in profile.plugins:
                    if is_simulated(plugin) and (plugin.name in BALANCE) == balances:
                        self._run(plugin, profile.rules)
        return tuple(self._evicted)

    def answer(self, violation: Violation, pod: Pod) -> DeschedulerAnswer:
        """Return why the descheduler leaves a pod where it is, or that it asks for its eviction in vain."""
        chosen = [(plugin, each.rules) for each in self._policy.profiles for plugin in each.plugins if plugin.name == violation.descheduler]
        spared = DeschedulerAnswer(violation.workload, violation.pod, "spared", f"no profile enables {violation.descheduler}")
        if not chosen:
            return spared
        self._begin(*chosen[0])
        why = self._spared(pod)
        if not why and not self._passes_node_fit(pod, violation.node):
            why = "with nodeFit, it would have to fit another node"
        if not why and _PodOnNode(pod, violation.node) not in list(self._found()):
            why = f"{violation.descheduler} does not select it"
        if why:
            return spared._replace(why=why)
        return spared._replace(result="in vain", why=why_blocked(self._state, pod, violation.node).why)

    def _begin(self, plugin: Plugin, rules: EvictionRules) -> None:
        self._cluster = self._state.cluster.copy()
        self._rules, self._plugin = rules, plugin
        self._on = {name: self._cluster.evicted((name,)) for name in self._names}

    def _found(self) -> Iterator[_PodOnNode]:
        """Return the pods that the plugin would evict."""
        find: Mapping[str, Callable[[], Iterator[_PodOnNode]]] = {
            NODE_AFFINITY: self._against_node_affinity,
            NODE_TAINTS: self._against_taints,
            ANTI_AFFINITY: self._against_anti_affinity,
            SPREAD: self._against_spread,
            DUPLICATES: self._duplicates,
            LOW_UTILIZATION: self._on_busy_nodes,
        }
        return find[self._plugin.name]()

    def _run(self, plugin: Plugin, rules: EvictionRules) -> None:
        self._begin(plugin, rules)
        start = len(self._evicted)
        for pod, node in list(self._found()):
            self._evict(pod, node)
        self._state.schedule_missing()
        there = self._state.cluster.pods
        self._evicted[start:] = [each._replace(target=there.get(each.key)) for each in self._evicted[start:]]

    def _evict(self, pod: Pod, node: str) -> bool:
        """Evict a pod if its node fit and its budget allow it; return whether it is evicted or migrated."""
        if not self._passes_node_fit(pod, node):
            return False
        if any(each.key == pod.key for each in self._evicted if each.plugin == self._plugin.name):
            return False
        before = self._state.migrated.get(pod.key)
        if not evict_or_migrate(self._state, pod, node, f"the descheduler evicts it: {self._plugin.name}"):
            return False
        migrated = self._state.migrated.get(pod.key) not in (None, before)
        workload = self._schedule_index.titles.get(pod.key, "")
        self._evicted.append(DescheduledPod(workload, pod.namespace, pod.name, self._plugin.name, node, None, migrated))
        return True

    # --- which pods may be evicted -------------------------------------------------------------------------------------------

    def _candidates(self, node: str) -> list[Pod]:
        return [pod for pod in self._on[node] if self._is_evictable(pod)]

    def _is_evictable(self, pod: Pod) -> bool:
        return not self._spared(pod)

    def _spared(self, pod: Pod) -> str:
        """Return why plugin and evictor do not consider a pod (`Filter` of DefaultEvictor); empty if they do."""
        placed, rules = self._schedule_index.owners.get(pod.key), self._rules
        if not self._plugin.covers(pod.namespace, pod.labels):
            return f"{self._plugin.name} leaves out its namespace or its labels"
        if placed is None:
            return "it is not known what would become of it"
        source = placed.pod_source
        if _EVICT in source.annotations:
            return ""
        if rules.selector is not None and not matches(rules.selector, pod.labels):
            return "the labelSelector of the evictor leaves it out"
        if source.bare and not source.kubevirt:
            return "it has no controller"
        if source.daemon and not rules.daemon_sets:
            return "it is a pod of a DaemonSet"
        return self._spared_by_rules(pod, source, len(placed.pods))

    def _spared_by_rules(self, pod: Pod, source: PodSource, replicas: int) -> str:
        rules, priority = self._rules, source.priority
        if not rules.critical and is_critical(priority):
            return "its priority is that of system components"
        if not rules.critical and rules.priority is not None and (priority or 0) >= rules.priority:
            return f"its priority is not below {rules.priority}"
        openshift = self._policy.name.startswith("KubeDescheduler")
        if source.has_local_storage and not rules.local_storage:
            return "it has local storage" + (" (the profile EvictPodsWithLocalStorage is missing)" if openshift else "")
        if source.volumes and not rules.claims:
            return "it has a PersistentVolumeClaim" + (" (the profile EvictPodsWithPVC is missing)" if openshift else "")
        if not rules.without_budget and not self._state.disruptions.of(pod):
            return "it has no PodDisruptionBudget"
        few = rules.min_replicas > 1 and replicas < rules.min_replicas
        return f"its workload has fewer than {rules.min_replicas} replicas" if few else ""

    def _fits(self, pod: Pod, node: str, *, own: bool = False) -> bool:
        """Return whether a pod fits a node as the descheduler judges it (`NodeFit`), which ignores spread constraints and pod affinity."""
        number = self._cluster.table.numbers[node]
        if self._cluster.static_rejections(pod)[number] is not None:
            return False
        for term in parsed_terms(pod.anti_affinity):
            if term.key in self._cluster.table.nodes[number].labels and any(
                other.key != pod.key and selects(term, other, self._cluster.directory) for other in self._on.get(node, ())
            ):
                return False
        return own or not self._cluster.shortages(pod, node)

    def _passes_node_fit(self, pod: Pod, node: str) -> bool:
        """Return whether the evictor lets a pod go (`PreEvictionFilter` of DefaultEvictor): with nodeFit it asks for another node."""
        return not self._rules.node_fit or self._fits_elsewhere(pod, node, self._names)

    def _fits_elsewhere(self, pod: Pod, node: str, among: Sequence[str]) -> bool:
        return any(name != node and self._fits(pod, name) for name in among)

    def _matches_node(self, pod: Pod, node: str) -> bool:
        """Return whether a node meets the nodeSelector and the required node affinity of a pod."""
        row = self._cluster.table.nodes[self._cluster.table.numbers[node]]
        rules = pod.rules
        terms = rules.terms is None or any(matches(term, row.labels, row.name) for term in rules.terms)
        return terms and matches(rules.node_selector, row.labels)

    # --- plugins -------------------------------------------------------------------------------------------------------------

    def _against_node_affinity(self) -> Iterator[_PodOnNode]:
        """Yield pods with node affinity that their node does not meet, or that prefer another node more."""
        for kind in texts_at(self._plugin.args, "nodeAffinityType"):
            for node in self._names:
                for pod in self._candidates(node):
                    if kind == _REQUIRED and pod.rules.terms is not None and not self._matches_node(pod, node):
                        if any(self._fits(pod, name, own=name == node) for name in self._names):
                            yield _PodOnNode(pod, node)
                    elif kind == _PREFERRED and pod.preferences and not isinstance(pod.preferences, Malformed):
                        weights = {name: self._weight(pod, name) for name in self._names}
                        fits = any(self._fits(pod, name, own=name == node) for name in self._names)
                        if fits and max(weights.values()) > weights[node]:
                            yield _PodOnNode(pod, node)

    def _weight(self, pod: Pod, node: str) -> int:
        row = self._cluster.table.nodes[self._cluster.table.numbers[node]]
        preferences = () if pod.preferences is None or isinstance(pod.preferences, Malformed) else pod.preferences
        return sum(each.weight for each in preferences if matches(each.term, row.labels, row.name))

    def _against_taints(self) -> Iterator[_PodOnNode]:
        """Yield pods that do not tolerate a NoSchedule taint of their node, such as that of a cordon."""
        excluded = texts_at(self._plugin.args, "excludedTaints")
        included = texts_at(self._plugin.args, "includedTaints")
        effects = ("NoSchedule", "PreferNoSchedule") if self._plugin.args.get("includePreferNoSchedule") is True else ("NoSchedule",)
        for node in self._nodes:
            taints = [taint for taint in node.taints if taint.effect in effects]
            taints = [taint for taint in taints if not {taint.key, f"{taint.key}={taint.value}"}.intersection(excluded)]
            if included:
                taints = [taint for taint in taints if {taint.key, f"{taint.key}={taint.value}"}.intersection(included)]
            for pod in self._candidates(node.name) if taints else ():
                if any(not tolerated(taint, pod.rules.tolerations) for taint in taints):
                    yield _PodOnNode(pod, node.name)

    def _against_anti_affinity(self) -> Iterator[_PodOnNode]:
        """Yield pods whose required anti-affinity selects another pod in their domain; the lowest priority of a node first."""
        gone: set[PodKey] = set()
        table, directory = self._cluster.table, self._cluster.directory
        everywhere = [_PodOnNode(pod, name) for name in self._names for pod in self._on[name]]
        for node in self._names:
            for pod in sorted(self._on[node], key=self._priority):
                for term in parsed_terms(pod.anti_affinity):
                    column = table.column(term.key)
                    value = column[table.numbers[node]]
                    others = (each for each in everywhere if each.pod.key != pod.key and each.pod.key not in gone)
                    if value is not None and any(
                        column[table.numbers[other.node]] == value and selects(term, other.pod, directory) for other in others
                    ):
                        if self._is_evictable(pod):
                            gone.add(pod.key)
                            yield _PodOnNode(pod, node)
                        break

    def _priority(self, pod: Pod) -> int:
        placed = self._schedule_index.owners.get(pod.key)
        return (placed.pod_source.priority or 0) if placed is not None else 0

    def _against_spread(self) -> Iterator[_PodOnNode]:
        """Yield the pods whose eviction would balance the domains of a spread constraint, each constraint by itself."""
        soft = "ScheduleAnyway" in texts_at(self._plugin.args, "constraints")
        hard = "DoNotSchedule" in (texts_at(self._plugin.args, "constraints") or ("DoNotSchedule",))
        evictable = [_PodOnNode(pod, node) for node in self._names for pod in self._candidates(node)]
        seen: set[object] = set()
        found: dict[PodKey, _PodOnNode] = {}
        for pod, _ in evictable:
            own = (*(pod.hard_spread if hard else ()), *(pod.soft_spread if soft else ()))
            for constraint in own:
                scope = (pod.rules.node_selector, pod.rules.terms) if constraint.honor_affinity else ()
                identity = (pod.namespace, constraint, scope, pod.rules.tolerations if constraint.honor_taints else ())
                if identity not in seen:
                    seen.add(identity)
                    for each in self._unbalanced(pod, constraint, [other for other in evictable if other.pod.namespace == pod.namespace]):
                        found.setdefault(each.pod.key, each)
        yield from found.values()

    def _unbalanced(self, owner: Pod, constraint: SpreadConstraint, evictable: Sequence[_PodOnNode]) -> list[_PodOnNode]:
        """Return the pods to evict for one constraint (`balanceDomains`): from the fullest domains, as many as emptier ones can take."""
        eligible = [node for node in self._nodes if constraint.key in node.labels and self._counts(owner, constraint, node.name)]
        domains: dict[str, list[_PodOnNode]] = {node.labels[constraint.key]: [] for node in eligible}
        column, numbers = self._cluster.table.column(constraint.key), self._cluster.table.numbers
        for each in evictable:
            value = column[numbers[each.node]]
            if value is not None and matches(constraint.selector, each.pod.labels):
                domains.setdefault(value, []).append(each)
        sizes = [len(pods) for pods in domains.values()]
        if not sizes or max(sizes) - min(sizes) <= constraint.max_skew:
            return []
        average = sum(sizes) / len(domains)
        ordered = [sorted(pods, key=self._last_first) for pods in sorted(domains.values(), key=len)]
        below = {value for value, pods in domains.items() if len(pods) < average}
        fitting = [node.name for node in eligible if node.labels[constraint.key] in below]
        checks = self._plugin.args.get("topologyBalanceNodeFit") is not False
        found: list[_PodOnNode] = []
        low, high = 0, len(ordered) - 1
        while low < high:
            if len(ordered[high]) <= average:
                high -= 1
            skew = len(ordered[high]) - len(ordered[low])
            if skew <= constraint.max_skew:
                low += 1
                continue
            least = min(ceil(len(ordered[high]) - average), ceil(average - len(ordered[low])))
            number = min(least, ceil((skew - constraint.max_skew) / 2))
            if number <= 0:
                low += 1
                continue
            ordered[high].sort(key=lambda each: self._fits_elsewhere(each.pod, each.node, fitting))
            moved = ordered[high][-number:]
            found += [each for each in moved if not checks or self._fits_elsewhere(each.pod, each.node, fitting)]
            ordered[high] = ordered[high][:-number]
            ordered[low] = ordered[low] + moved
        return found

    def _counts(self, owner: Pod, constraint: SpreadConstraint, node: str) -> bool:
        """Return whether a node is a domain of a constraint (`matchNodeInclusionPolicies`)."""
        if constraint.honor_affinity and not self._matches_node(owner, node):
            return False
        taints = self._cluster.table.nodes[self._cluster.table.numbers[node]].taints
        blocking = [taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute")]
        return not constraint.honor_taints or all(tolerated(taint, owner.rules.tolerations) for taint in blocking)

    def _last_first(self, each: _PodOnNode) -> tuple[bool, int]:
        """Return a sort key: pods are evicted from the end, those without node requirements and with the lowest priority first."""
        rules = each.pod.rules
        has_requirements = bool(rules.node_selector.requirements) or rules.terms is not None or each.pod.preferences is not None
        return not has_requirements, -self._priority(each.pod)

    def _duplicates(self) -> Iterator[_PodOnNode]:
        """Yield the pods of a workload beyond its even share of the nodes that it can use.

        The pod of each virtual machine has an owner of its own.
        """
        spared = texts_at(self._plugin.args, "excludeOwnerKinds")
        by_owner: dict[str, dict[str, list[Pod]]] = {}
        for node in self._names:
            for pod in self._candidates(node):
                placed = self._schedule_index.owners[pod.key]
                if pod.controller is not None and pod.controller[1] not in spared and not placed.pod_source.kubevirt:
                    by_owner.setdefault(placed.pod_source.key, {}).setdefault(node, []).append(pod)
        for pods_on in by_owner.values():
            if all(len(pods) < 2 for pods in pods_on.values()):
                continue
            first = next(iter(pods_on.values()))[0]
            # Cordons count only as taints here.
            targets = [name for name in self._names if self._matches_node(first, name) and self._is_tolerated(first, name)]
            if len(targets) < 2:
                continue
            share = ceil(sum(map(len, pods_on.values())) / len(targets))
            for node, pods in pods_on.items():
                yield from (_PodOnNode(pod, node) for pod in pods[share:])

    def _is_tolerated(self, pod: Pod, node: str) -> bool:
        taints = self._cluster.table.nodes[self._cluster.table.numbers[node]].taints
        return all(tolerated(taint, pod.rules.tolerations) for taint in taints if taint.effect in ("NoSchedule", "NoExecute"))

    def _on_busy_nodes(self) -> Iterator[_PodOnNode]:
        """Yield pods of overutilized nodes, as long as underutilized ones can take what they request.

        Of these nodes only the taints count (`evictPods` in nodeutilization): without nodeFit a pod may be evicted that returns.
        """
        sizes = {node.name: node.allocatable for node in self._nodes}
        if any(size is None or not all(size.get(name) for name in _RESOURCES) for size in sizes.values()):
            return
        under, over = thresholds(self._plugin, _RESOURCES)
        usage = {name: self._usage(self._on[name]) for name in self._names}

        def share(name: str, resource: str) -> float:
            return 100 * usage[name][resource] / (sizes[name] or {})[resource]

        low = [
            node.name for node in self._nodes if not node.unschedulable and all(share(node.name, each) < under[each] for each in _RESOURCES)
        ]
        busy = [name for name in self._names if name not in low and any(share(name, each) > over[each] for each in _RESOURCES)]
        least = self._plugin.args.get("numberOfNodes")
        if not busy or len(low) <= (least if type(least) is int else 0) or len(low) == len(self._names):
            return
        free = {each: sum((sizes[name] or {})[each] * over[each] / 100 - usage[name][each] for name in low) for each in _RESOURCES}
        for node in sorted(busy, key=lambda name: -sum(share(name, each) for each in _RESOURCES)):
            for pod in sorted(self._candidates(node), key=self._priority):
                if not any(share(node, each) > over[each] for each in _RESOURCES) or min(free.values()) <= 0:
                    break
                if any(self._is_tolerated(pod, name) for name in low) and self._passes_node_fit(pod, node):
                    yield _PodOnNode(pod, node)
                    for each, amount in self._usage([pod]).items():
                        usage[node][each] -= amount
                        free[each] -= amount

    @staticmethod
    def _usage(pods: Sequence[Pod]) -> dict[str, float]:
        total = dict.fromkeys(_RESOURCES, 0.0)
        for pod in pods:
            for resource, amount in pod.requests:
                if resource in total:
                    total[resource] += amount
        return total
