"""Policies about workloads as a whole: number of replicas, priority, budget and autoscaler that they need, live migration."""

from __future__ import annotations

from collections.abc import Iterator
from glob import has_magic

from afflint.checks.live_migration import obstacle
from afflint.checks.match import Match, inserting, replacing
from afflint.checks.policies.node_requirements import name_path
from afflint.checks.policies.subject import PolicySubject
from afflint.controllers.kubevirt_cluster import KubeVirtCluster, eviction_strategy
from afflint.controllers.replica_counts import ReplicaRange
from afflint.findings.paths import Path
from afflint.findings.phrases import pluralize, quoted
from afflint.kube.kinds import REPLICAS
from afflint.policies.check_params import (
    MinimumReplicas,
    NoParameters,
    RequiredBudget,
    RequiredMigratability,
    RequiredPriorityClass,
    RequiredService,
)
from afflint.policies.params import words_of
from afflint.source.globs import name_matcher
from afflint.yaml.document import list_at
from afflint.yaml.placeholders import is_placeholder


def minimum_replicas(case: PolicySubject, params: MinimumReplicas) -> Iterator[Match]:
    """Report workloads that may have fewer replicas, but at least one: a workload without replicas is turned off."""
    if case.manifest_index is None:
        if case.pods.scale.current != 0:
            yield _candidate(case)  # An autoscaler may set another number.
        return
    scale = _scale(case)
    least = scale.least
    if least is None or scale.current == 0 or least >= params.replicas:
        return
    required = f"the policy requires at least {params.replicas}"
    if scale.scaler:
        yield Match(name_path(case), f"{scale.scaler} may scale {case.title} to {pluralize(least, 'replica')}; {required}")
        return
    path = (*case.pods.site.base, *REPLICAS)
    is_set = case.sets_replicas
    edits = replacing(path, params.replicas) if is_set else inserting(path[:-1], path[-1], params.replicas)
    yield Match(path if is_set else name_path(case), f"{case.title} has {pluralize(least, 'replica')}; {required}", edits=edits)


def required_budget(case: PolicySubject, params: RequiredBudget) -> Iterator[Match]:
    """Report workloads whose pods no PodDisruptionBudget covers."""
    pods = case.pods
    if case.manifest_index is None:
        yield _candidate(case)
        return
    most = _scale(case).most
    if most is None or most < params.min_replicas or not pods.labels_known:
        return
    if not case.manifest_index.is_budgeted(pods):
        yield Match(name_path(case), f"no PodDisruptionBudget covers the pods of {case.title}")


def required_autoscaler(case: PolicySubject, _params: NoParameters) -> Iterator[Match]:
    """Report workloads that no autoscaler scales."""
    if case.manifest_index is None:
        if case.pods.scale.current != 0:
            yield _candidate(case)
    elif not case.pods.scale.scaler and _scale(case).current not in (0, None):
        yield Match(name_path(case), f"no HorizontalPodAutoscaler or ScaledObject scales {case.title}")


def required_service(case: PolicySubject, params: RequiredService) -> Iterator[Match]:
    """Report workloads whose pods no Service selects."""
    pods = case.pods
    if case.manifest_index is None:
        if not params.exempt_without_ports or any(list_at(each, "ports") for each in list_at(case.pod, "containers")):
            yield _candidate(case)
    elif pods.labels_known and _scale(case).most != 0 and pods.key not in case.manifest_index.exposed:
        yield Match(name_path(case), f"no Service selects the pods of {case.title}")


def required_priority_class(case: PolicySubject, params: RequiredPriorityClass) -> Iterator[Match]:
    """Report pods that name no priority class, or one that is not allowed."""
    if case.pods.operated:
        return
    name = case.pod.get("priorityClassName")
    allowed = f": {words_of(params.classes)}" if params.classes else ""
    path: Path = (*case.pod_path, "priorityClassName")
    only = params.classes[0] if len(params.classes) == 1 and not has_magic(params.classes[0]) else None
    if not name:
        edits = inserting(path[:-1], path[-1], only) if only is not None else ()
        yield Match(name_path(case), f"{case.title} sets no priorityClassName; the policy requires one{allowed}", edits=edits)
    elif type(name) is str and params.classes and not is_placeholder(name):
        named = name_matcher(params.classes)
        if named is not None and not named(name):
            edits = replacing(path, only) if only is not None else ()
            message = f"{case.title} has the priority class {quoted(name)}; the policy allows only {words_of(params.classes)}"
            yield Match(path, message, edits=edits)


def required_migratability(case: PolicySubject, params: RequiredMigratability) -> Iterator[Match]:
    """Report virtual machines that cannot migrate to another node while they run."""
    migration = case.migration
    if migration is None:
        return
    if case.manifest_index is None:
        # The configuration of the cluster and its claims decide the other cases.
        if migration.pin or migration.obstacles or migration.instancetype or params.eviction_strategies:
            yield Match((), "it may not be able to migrate")
        return
    configured = migration.strategy or ""
    cluster = KubeVirtCluster(case.manifest_index.kubevirt_resource)
    strategy = eviction_strategy(migration.strategy, case.manifest_index.kubevirt_resource)
    known = configured or (cluster.is_known and cluster.eviction_strategy)
    if params.eviction_strategies and strategy not in params.eviction_strategies and known:
        where = f"has the eviction strategy {quoted(strategy)}" + ("" if configured else cluster.origin)
        path = (*case.pod_path, "evictionStrategy") if configured else case.pod_path
        yield Match(
            path, f"{case.title} {where}; it must have {words_of(params.eviction_strategies)}", "Set `evictionStrategy` to one of these."
        )
    if migration.pin is not None:
        path, host = migration.pin
        yield Match(path, f"{case.title} cannot migrate: it must run on {quoted(host)}")
    found = obstacle(case.manifest_index, case.pods._replace(migration=migration))
    if found is not None:
        yield Match(found.path, f"{case.title} cannot migrate: {found.words}")


def _scale(case: PolicySubject) -> ReplicaRange:
    """Return the number of replicas: 1 if neither the manifest nor an autoscaler sets it."""
    scale = case.pods.scale
    return scale if scale.open_ended or scale.current is not None or case.sets_replicas else ReplicaRange(1, 1, 1)


def _candidate(case: PolicySubject) -> Match:
    """Return a match for the map step: other manifests decide."""
    return Match(case.pods.site.base, "")
