"""What an update of KubeVirt does to running virtual machines: each is live-migrated, evicted, or stays as it is.

Semantics: virt-controller's workload updater (pkg/virt-controller/watch/workload-updater). A changed template of a virtual machine does not
change the running one: it applies after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.controllers.evictions import migration_obstacle
from afflint.controllers.kubevirt_cluster import KubeVirtCluster
from afflint.placement.evictions import migration_target
from afflint.placement.schedule import PlacedWorkload, Schedule, schedule_pods
from afflint.yaml.document import map_at

LIVE_MIGRATE, EVICT = "LiveMigrate", "Evict"
ON_RESTART = "a changed template applies to a virtual machine when it restarts"


def update_methods(kubevirt: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the `workloadUpdateMethods` of the KubeVirt or HyperConverged resource; None if no manifest has the resource."""
    if not KubeVirtCluster(kubevirt).is_known:
        return None
    methods = map_at(kubevirt, "spec", "workloadUpdateStrategy").get("workloadUpdateMethods")
    return tuple([each for each in methods if isinstance(each, str)]) if isinstance(methods, list) else ()


def machine_update(placed: PlacedWorkload, schedule: Schedule) -> str:
    """Return in words when virtual machines take a changed template, and what an update of KubeVirt does to them."""
    methods = update_methods(placed.pod_source.virtualization.kubevirt)
    if methods is None:
        return ON_RESTART
    return f"{ON_RESTART}; an update of KubeVirt {_effect(placed, schedule, methods)}"


def _effect(placed: PlacedWorkload, schedule: Schedule, methods: tuple[str, ...]) -> str:
    obstacle = migration_obstacle(placed.pod_source)
    if LIVE_MIGRATE in methods and obstacle is None:
        stuck = _without_target(placed, schedule)
        return f"live-migrates it{f', but no node accepts the target pod of {stuck}' if stuck else ''} (workloadUpdateMethods: LiveMigrate)"
    why = f", because it cannot migrate: {obstacle.words}" if LIVE_MIGRATE in methods and obstacle is not None else ""
    if EVICT in methods:
        return f"evicts it (workloadUpdateMethods: Evict){why}"
    return f"leaves it as it is until it restarts{why or ' (no workloadUpdateMethods)'}"


def _without_target(placed: PlacedWorkload, schedule: Schedule) -> str:
    """Return the first of the virtual machines without a node to migrate to; empty if each has one."""
    cluster = schedule.cluster
    for pod in placed.pods:
        node = placed.nodes.get(pod.key)
        if node is not None and not schedule_pods(cluster, [migration_target(pod, cluster, node)]).nodes:
            return pod.name
    return ""
