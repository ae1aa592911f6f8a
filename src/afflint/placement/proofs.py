"""Proofs that no order of scheduling can place a workload, and that a workload does not survive a disruption.

Every function takes a ``ScheduleBounds``. Results have the numbers that a message needs; ``proved`` distinguishes what holds for
every order and assignment from what holds for one schedule. DaemonSets and pods with a ``spec.nodeName`` are left out,
and so are workloads for which nodes may be created (``ScheduleBounds.elastic``). Where nodes may be created, only proofs are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial

from afflint.controllers import replicas
from afflint.controllers.pod_source import PodSource
from afflint.controllers.rollouts import pod_limit, rolling_update
from afflint.findings.grouping import grouped_sets
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import pluralize
from afflint.kube.constraints import REQUIRED
from afflint.kube.decoding import InventoryError
from afflint.kube.node_labels import HOSTNAME, ZONE
from afflint.kube.selectors import matches
from afflint.placement.bounds import UNLIMITED, CapacityLimit, ScheduleBounds, Variant
from afflint.placement.evictions import migration_target, own_separation
from afflint.placement.failures import Disruption
from afflint.placement.rejections import Rejections, RunningPodIndex, kind_of_domain
from afflint.placement.schedule import PlacedWorkload, Schedule
from afflint.placement.schedule_index import ScheduleIndex
from afflint.placement.shortfalls import Shortfalls
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.host_ports import HostPort
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_fit import NODE_AFFINITY, NODE_UNSCHEDULABLE, TAINT_TOLERATION
from afflint.scheduler.node_ports import NODE_PORTS
from afflint.scheduler.nodes import ITSELF
from afflint.scheduler.pods import Pod, SpreadConstraint, parsed_terms
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD
from afflint.yaml.document import map_at


class Unschedulable(NamedTuple):
    """A workload whose replicas stay Pending in every order. ``excluded`` counts the nodes for each reason in words.

    ``assumes_complete``: pods that neither the manifests nor the inventory mention could make it schedulable.
    """

    pod_source: PodSource
    nodes: int
    excluded: str
    reasons: Mapping[str, str]
    """The plugin that rejects each node."""
    path: Path
    assumes_complete: bool


class TooFewDomains(NamedTuple):
    """A workload with more replicas than fit: at most ``most``, by anti-affinity over ``keys``, a host port or a hard spread constraint.

    ``domains`` are the values of the first key that the replicas can reach, ``excluded`` says why the other nodes are not possible.
    """

    pod_source: PodSource
    replicas: int
    most: int
    keys: tuple[str, ...]
    domains: tuple[str, ...]
    spread: SpreadConstraint | None
    excluded: str
    path: Path
    port: HostPort | None = None


class FailedReplica(NamedTuple):
    """One failure after which fewer replicas run than before: ``running`` in this schedule.

    ``most`` is how many run in any placement, at most; None if that number is not less than all of them. ``explain`` returns why the other
    nodes reject a replica; ``passing``: only until the failed nodes recover or are removed.
    """

    what: str
    running: int
    most: int | None
    explain: Callable[[], str]
    passing: bool = False

    @property
    def proved(self) -> bool:
        """Whether fewer replicas run than before in any placement."""
        return self.most is not None


class NotFailureTolerant(NamedTuple):
    """Failures that leave a workload with fewer replicas than it had."""

    pod_source: PodSource
    replicas: int
    failures: tuple[FailedReplica, ...]


class RolloutDeadlock(NamedTuple):
    """A rolling update that may not remove a pod and whose first new pod cannot be scheduled."""

    pod_source: PodSource
    replicas: int
    max_surge: int
    max_unavailable: int
    excluded: str
    path: Path
    proved: bool


class MigrationBlocked(NamedTuple):
    """Virtual machines without a node to migrate to: ``blocked`` of ``placed`` in this schedule."""

    pod_source: PodSource
    placed: int
    blocked: int
    excluded: str
    path: Path
    proved: bool


class SingleDomainPossible(NamedTuple):
    """A workload whose replicas may all be scheduled in one domain of the key, as ``placement`` in ``domain`` shows."""

    pod_source: PodSource
    replicas: int
    key: str
    domain: str
    placement: tuple[tuple[str, str], ...]


class MinDomainsUnreachable(NamedTuple):
    """A hard spread constraint with more ``minDomains`` than domains: each domain then takes at most ``max_skew`` of the pods it selects.

    ``own``: it selects the replicas themselves.
    """

    pod_source: PodSource
    key: str
    min_domains: int
    domains: tuple[str, ...]
    max_skew: int
    own: bool
    path: Path


class OneEligibleDomain(NamedTuple):
    """A hard spread constraint for which only ``domain`` counts of the domains of the known nodes; it selects the replicas themselves.

    ``by_affinity``: the node affinity of the pods excludes all nodes of the ``others``.
    """

    pod_source: PodSource
    key: str
    domain: str
    others: int
    by_affinity: bool
    path: Path


class SpreadBlockedByTaints(NamedTuple):
    """Domains that count as empty for a hard spread constraint, although taints or cordons keep the pods out of them.

    ``most`` replicas fit; None if the number is not bounded. ``helps``: ``nodeTaintsPolicy: Honor`` would exclude all these domains.
    """

    pod_source: PodSource
    key: str
    blocked: tuple[str, ...]
    replicas: int
    most: int | None
    helps: bool
    path: Path


# --- one workload ------------------------------------------------------------------------------------------------------


def unschedulable(survey: ScheduleBounds) -> Iterator[Unschedulable]:
    """Yield the workloads whose replicas stay Pending in every order. Exact if no other pods run than the bounds have."""
    for index, pod_source in _judged(survey):
        if survey.nodes_of(index):
            continue
        pod = survey.members(index)[0].pod
        reasons = survey.cluster.evaluate(pod).reason
        excluded = Rejections(survey.cluster, pod, running_pods=survey.running_pods).summary(reasons)
        # If matching pods ran, these pods could be scheduled; only these manifests show that no such pods run.
        complete = bool(parsed_terms(pod.affinity)) and bool(survey.static(pod))
        path = (*pod_source.pod_path, *_culprit(pod_source, pod, reasons.values()))
        yield Unschedulable(pod_source, len(survey.cluster.nodes), excluded, reasons, path, complete)


def too_few_domains(survey: ScheduleBounds) -> Iterator[TooFewDomains]:
    """Yield the workloads with some replicas that do not fit, by counting the domains that they can reach."""
    for index, pod_source in _judged(survey):
        nodes = survey.nodes_of(index)
        limit = survey.limit(index, nodes)
        if limit is not None and nodes and limit.most < pod_source.replicas:
            yield _too_few(survey, index, pod_source, limit)


def too_few_domains_at_most(survey: ScheduleBounds) -> Iterator[TooFewDomains]:
    """Yield the workloads whose minimum replicas fit, but not the maximum that an autoscaler may set."""
    for index, pod_source in _judged(survey):
        most = pod_source.scale.most
        nodes = survey.nodes_of(index) if most is not None else None
        limit = survey.limit(index, nodes) if nodes else None
        if limit is not None and most is not None and pod_source.replicas <= limit.most < most:
            yield _too_few(survey, index, pod_source, limit)._replace(replicas=most)


def _too_few(survey: ScheduleBounds, index: int, pod_source: PodSource, limit: CapacityLimit) -> TooFewDomains:
    pod = survey.members(index)[0].pod
    reasons = survey.cluster.evaluate(pod).reason
    excluded = Rejections(survey.cluster, pod, running_pods=survey.running_pods).summary(reasons)
    path = (*pod_source.pod_path, *limit.path)
    port = pod.ports[0] if ITSELF in limit.keys else None
    return TooFewDomains(pod_source, pod_source.replicas, limit.most, limit.keys, limit.domains, limit.spread, excluded, path, port)


def domain_count(shortage: TooFewDomains) -> str:
    """Return ``3 replicas, 2 zones: 4 nodes lack performance=high, 1 is cordoned``."""
    kind, number = kind_of_domain(shortage.keys[0]), len(shortage.domains)
    where = f"{pluralize(number, 'value')} of {kind}" if "/" in kind else pluralize(number, kind)
    return f"{shortage.replicas} replicas, {where}" + (f": {shortage.excluded}" if shortage.excluded else "")


def _judged(survey: ScheduleBounds) -> Iterator[tuple[int, PodSource]]:
    for index, pod_source in enumerate(survey.pod_sources):
        if not pod_source.daemon and not pod_source.node_name and survey.members(index) and index not in survey.elastic:
            yield index, pod_source


_READ_BY: Mapping[str, tuple[Path, ...]] = {
    TAINT_TOLERATION: (("tolerations",),),
    NODE_UNSCHEDULABLE: (("tolerations",),),
    NODE_AFFINITY: (("nodeSelector",), ("affinity", "nodeAffinity", REQUIRED)),
    POD_TOPOLOGY_SPREAD: (("topologySpreadConstraints",),),
    INTER_POD_AFFINITY: (("affinity", "podAffinity", REQUIRED), ("affinity", "podAntiAffinity", REQUIRED)),
}
"""The fields of a pod spec by which each filter rejects nodes, the likelier cause first. Host ports have a path of their own."""


def _culprit(pod_source: PodSource, pod: Pod, plugins: Iterable[str]) -> Path:
    """Return the path of the field that excludes most nodes, if it is in the manifest and not added to the pod by a controller."""
    counts = Counter(plugins)
    for plugin in sorted(counts, key=lambda each: (-counts[each], each)):
        if plugin == NODE_PORTS:
            return pod.ports[0].path
        for path in _READ_BY.get(plugin, ()):
            if _has(pod_source.pod, path):
                return path
    return ()


def _has(data: object, path: Path) -> bool:
    for step in path:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True


# --- failures ----------------------------------------------------------------------------------------------------------


def not_failure_tolerant(survey: ScheduleBounds, schedule: Schedule, failures: Iterable[Disruption]) -> Iterator[NotFailureTolerant]:
    """Yield the workloads that run fewer replicas after one of these failures than before it, with the failures.

    The objects of failed nodes stay. Workloads whose pods are replaced only after their node is removed (StatefulSets, virtual machines)
    are evaluated after the removal: before it they lack a replica whatever their constraints are. Counting the remaining domains may
    prove for every schedule that fewer run.
    """
    shortfalls = Shortfalls(ScheduleIndex(schedule))
    failed: dict[str, list[FailedReplica]] = {}
    indexes = {pod_source.key: index for index, pod_source in _judged(survey)}
    for failure in failures:
        removed = shortfalls.removed(failure)
        missing = {key: (number, False) for key, number in removed.items()}
        # While the nodes exist, so do their domains and the pods that are being deleted. Only constraints on pods depend on these.
        if any(each.hard_spread or each.anti_affinity for each in shortfalls.displaced(failure)):
            for key, number in shortfalls.lost(failure).items():
                if (
                    key in indexes
                    and survey.pod_sources[indexes[key]].pod_replacement.replaced == "deleted"
                    and number > removed.get(key, 0)
                ):
                    missing[key] = (number, True)
        for key, (number, passing) in missing.items():
            if key in indexes:
                placed = schedule.workloads[indexes[key]]
                most = most_after(survey, indexes[key], failure)
                proved = not passing and most < placed.pod_source.replicas
                if proved or survey.bounded:
                    why = partial(_first_reason, shortfalls, failure, key, passing=passing)
                    failed.setdefault(key, []).append(
                        FailedReplica(failure.what, len(placed.nodes) - number, most if proved else None, why, passing)
                    )
    for key, index in indexes.items():
        if key in failed:
            yield NotFailureTolerant(survey.pod_sources[index], survey.pod_sources[index].replicas, tuple(failed[key]))


def _first_reason(shortfalls: Shortfalls, failure: Disruption, key: str, *, passing: bool) -> str:
    """Return why the other nodes reject the first replica that a workload lacks."""
    return shortfalls.moves(failure, "lose" if passing else "remove")[key][0].why


def most_after(survey: ScheduleBounds, index: int, failure: Disruption) -> int:
    """Return how many replicas of a workload fit, at most, on the nodes that a failure leaves."""
    lost = {survey.table.numbers[node] for node in failure.nodes}
    remaining = survey.nodes_of(index) - lost
    if not remaining:
        return 0
    limit = survey.limit(index, remaining)
    # A spread constraint no longer counts domains that failed completely, so its bound for all domains does not apply here.
    return UNLIMITED if limit is None or limit.spread is not None else limit.most


# --- rolling updates ---------------------------------------------------------------------------------------------------


def rollout_deadlock(survey: ScheduleBounds, schedule: Schedule) -> Iterator[RolloutDeadlock]:
    """Yield the Deployments whose rolling update cannot begin: it may not remove a pod, and the new pod cannot be scheduled.

    The deadlock occurs in this schedule; it is proved if no complete placement leaves a node for the new pod.
    """
    exclusions = _Exclusions(schedule)
    for index, pod_source in _judged(survey):
        rolling = rolling_update(pod_source.kind, pod_source.strategy, pod_source.replicas) if pod_source.kind == "Deployment" else None
        placed = schedule.workloads[index]
        if rolling is None or len(placed.nodes) < pod_source.replicas or not placed.pods:
            continue
        surge, unavailable = rolling
        if unavailable > 0 or surge == 0:
            continue
        try:
            pod = replicas.compile_template(pod_source, schedule.before, f"{pod_source.name}-surge", revision=1)
        except InventoryError:
            continue
        if schedule.cluster.room(pod) != 0:
            continue
        verdict = schedule.cluster.evaluate(pod)
        excluded = exclusions.of(pod_source, pod, verdict.reason)
        limit = survey.limit(index, survey.nodes_of(index), [*survey.members(index), Variant(index, pod, 1)])
        proved = limit is not None and limit.most <= pod_source.replicas
        if not (proved or survey.bounded):
            continue
        path = (*pod_source.pod_path, *(limit.path if limit is not None and proved else _culprit(pod_source, pod, verdict.reason.values())))
        yield RolloutDeadlock(pod_source, pod_source.replicas, surge, unavailable, excluded, path, proved)


def daemon_surge_on_port(survey: ScheduleBounds) -> Iterator[tuple[PodSource, HostPort]]:
    """Yield the DaemonSets whose new pod would run beside the old one (maxSurge), with the host port that both use."""
    for pod_source, compiled in zip(survey.pod_sources, survey.compiled, strict=True):
        surge = map_at(pod_source.strategy, "rollingUpdate").get("maxSurge")
        template = compiled.template
        rolls = pod_source.daemon and pod_source.strategy.get("type", "RollingUpdate") == "RollingUpdate"
        if rolls and template is not None and template.ports and compiled.pods and pod_limit(surge, len(compiled.pods), up=True, default=0):
            yield pod_source, template.ports[0]


class _Exclusions:
    """The reasons why the nodes of a schedule reject a pod."""

    def __init__(self, schedule: Schedule) -> None:
        self._cluster = schedule.cluster
        self._titles = {identity: placed.pod_source.key for identity, placed in schedule.owners.items()}
        self._running_pods = RunningPodIndex(schedule.cluster)

    def of(self, pod_source: PodSource, pod: Pod, reasons: Mapping[str, str]) -> str:
        return Rejections(self._cluster, pod, self._titles, pod_source.key, self._running_pods).summary(reasons)


# --- migration ---------------------------------------------------------------------------------------------------------


def migration_blocked(survey: ScheduleBounds, schedule: Schedule) -> Iterator[MigrationBlocked]:
    """Yield the workloads with virtual machines that have no node to migrate to while they run on their own node.

    All virtual machines are evaluated; the caller decides whether their manifests request migration (``eviction_of``).
    """
    exclusions = _Exclusions(schedule)
    for index, pod_source in _judged(survey):
        placed = schedule.workloads[index]
        if not pod_source.kubevirt or not placed.nodes:
            continue
        blocked, excluded, reasons = 0, "", {}
        for pod in placed.pods:
            if pod.key not in placed.nodes:
                continue
            target = migration_target(pod, schedule.cluster, placed.nodes[pod.key])
            verdict = schedule.cluster.evaluate(target)
            if not any(verdict.feasible.values()):
                if not blocked:
                    reasons = verdict.reason
                    own = own_separation(pod, schedule.cluster, placed.nodes[pod.key])
                    excluded = "; ".join(filter(None, [exclusions.of(pod_source, target, own.others(reasons)), own.advice]))
                blocked += 1
        if blocked:
            proved = _never_migrates(survey, index)
            if not (proved or survey.bounded):
                continue
            path = (*pod_source.pod_path, *_culprit(pod_source, placed.pods[0], reasons.values()))
            yield MigrationBlocked(pod_source, len(placed.nodes), blocked, excluded, path, proved)


def _never_migrates(survey: ScheduleBounds, index: int) -> bool:
    nodes = survey.nodes_of(index)
    column = survey.table.column(HOSTNAME)
    if all(column[node] is not None for node in nodes) and len({column[node] for node in nodes}) <= 1:
        return True
    members = survey.members(index)
    # The target pod counts as one more replica: it has the same labels and terms.
    limit = survey.limit(index, nodes, [*members[:-1], members[-1]._replace(number=members[-1].number + 1)])
    return limit is not None and limit.most <= survey.pod_sources[index].replicas


# --- domains -----------------------------------------------------------------------------------------------------------


def single_domain_possible(survey: ScheduleBounds, schedule: Schedule, key: str = ZONE) -> Iterator[SingleDomainPossible]:
    """Yield the workloads with several replicas that may all run in one domain of the key, with a placement that shows it.

    All other pods are where the schedule has them. Only workloads that can reach two domains are evaluated.
    """
    cluster = schedule.cluster.copy()
    members = grouped_sets((value, number) for number, value in enumerate(cluster.table.column(key)) if value is not None)
    for index, pod_source in _judged(survey):
        placed = schedule.workloads[index]
        domains = survey.values(key, survey.nodes_of(index))
        if len(placed.pods) < 2 or len(placed.nodes) < len(placed.pods) or len(domains) < 2:
            continue
        for pod in placed.pods:
            cluster.unbind(pod)
        for value in domains:
            placement = _all_in(cluster, placed, members[value])
            if placement:
                yield SingleDomainPossible(pod_source, pod_source.replicas, key, value, placement)
                break
        for pod in placed.pods:
            cluster.bind(pod, placed.nodes[pod.key])


def _all_in(cluster: Cluster, placed: PlacedWorkload, allowed: Container[int]) -> tuple[tuple[str, str], ...]:
    """Place each pod on the first possible node of the domain; return no placement if one of them has none."""
    bound: list[tuple[Pod, str]] = []
    for pod in placed.pods:
        number = cluster.first_node(pod, allowed)
        if number is None:
            break
        node = cluster.table.names[number]
        cluster.bind(pod, node)
        bound.append((pod, node))
    for pod, _ in bound:
        cluster.unbind(pod)
    return tuple([(pod.name, node) for pod, node in bound]) if len(bound) == len(placed.pods) else ()


def min_domains_unreachable(survey: ScheduleBounds) -> Iterator[MinDomainsUnreachable]:
    """Yield the hard spread constraints with more ``minDomains`` than the nodes have domains."""
    for _, pod_source, pod, constraint in _hard_constraints(survey):
        keys = tuple([each.key for each in pod.hard_spread])
        _, domains = survey.fit(pod).domains(constraint, keys)
        # Without a domain, minDomains does not matter: the pods fit no node, or no node has the label.
        if domains and len(domains) < constraint.min_domains:
            values = tuple(sorted(value for value in domains if value is not None))
            path = (*pod_source.pod_path, *constraint.path)
            own = matches(constraint.selector, pod.labels)
            yield MinDomainsUnreachable(pod_source, constraint.key, constraint.min_domains, values, constraint.max_skew, own, path)


def one_eligible_domain(survey: ScheduleBounds) -> Iterator[OneEligibleDomain]:
    """Yield the hard spread constraints that separate no replicas, because the inclusion policies leave one of several domains."""
    for _, pod_source, pod, constraint in _hard_constraints(survey):
        fit, column = survey.fit(pod), survey.table.column(constraint.key)
        _, eligible = fit.domains(constraint, tuple([each.key for each in pod.hard_spread]))
        others = {value for value in column if value is not None}.difference(eligible)
        works = len(eligible) != 1 or not others or constraint.min_domains > 1 or pod_source.replicas < 2
        if not works and matches(constraint.selector, pod.labels):
            by_affinity = not any(fits and value in others for value, fits in zip(column, fit.in_affinity, strict=True))
            path = (*pod_source.pod_path, *constraint.path)
            yield OneEligibleDomain(pod_source, constraint.key, str(next(iter(eligible))), len(others), by_affinity, path)


def spread_blocked_by_taints(survey: ScheduleBounds) -> Iterator[SpreadBlockedByTaints]:
    """Yield the hard spread constraints that count domains which taints or cordons close to the pods: these keep the minimum low."""
    for index, pod_source, pod, constraint in _hard_constraints(survey):
        fit = survey.fit(pod)
        members, domains = fit.domains(constraint, tuple([each.key for each in pod.hard_spread]))
        column = survey.table.column(constraint.key)
        open_domains = {column[node] for node in fit.candidates}
        shut = [node for node, member in enumerate(members) if member and fit.rejections[node] in (TAINT_TOLERATION, NODE_UNSCHEDULABLE)]
        blocked = {value for node in shut if (value := column[node]) in domains and value not in open_domains and value is not None}
        if blocked and open_domains:
            limit = survey.limit(index, survey.nodes_of(index))
            most = limit.most if limit is not None and limit.spread == constraint else None
            helps = all(not fit.tolerated[node] for node in shut if column[node] in blocked)
            path = (*pod_source.pod_path, *constraint.path)
            yield SpreadBlockedByTaints(pod_source, constraint.key, tuple(sorted(blocked)), pod_source.replicas, most, helps, path)


def _hard_constraints(survey: ScheduleBounds) -> Iterator[tuple[int, PodSource, Pod, SpreadConstraint]]:
    for index, pod_source in _judged(survey):
        pod = survey.members(index)[0].pod
        for constraint in pod.hard_spread:
            yield index, pod_source, pod, constraint
