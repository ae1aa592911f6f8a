"""Policies about virtual machines."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.live_migration import obstacle
from afflint.checks.match import Match
from afflint.checks.policies.subject import PolicySubject
from afflint.findings.phrases import quoted
from afflint.policies.manifest_params import RequiredMigratability
from afflint.policies.params import words_of


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
    from afflint.controllers.kubevirt_cluster import KubeVirtCluster, eviction_strategy

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
