"""The effect of evicting the pod of a virtual machine: the VM migrates, is shut down, or keeps running on its node.

Semantics: the pod eviction admitter of KubeVirt (pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go). A
PodDisruptionBudget is consulted only if that webhook admits the eviction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from afflint.controllers.kubevirt_cluster import EXTERNAL, IF_POSSIBLE, LIVE_MIGRATE, KubeVirtCluster, describe_strategy, eviction_strategy
from afflint.controllers.migratability import DISKS, HOST_DEVICE, INTERFACE, Obstacle, obstacles
from afflint.controllers.pod_source import PodSource
from afflint.controllers.virtual_machine import apply_specs
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words
from afflint.kube.decoding import InventoryError
from afflint.yaml.document import text_at
from afflint.yaml.object_fields import condition_of


class Eviction(NamedTuple):
    """The effect of an eviction.

    ``allowed``: the pod is evicted like any other; a VM is shut down. ``migrates``: the VM is migrated to another node. ``held``: the
    eviction is rejected permanently, for the reason ``why``. ``external``: it is rejected until another controller has moved the VM.

    ``claims`` are the disks of a migrating VM whose access modes no manifest shows; they are assumed to be shared.
    """

    what: Literal["allowed", "migrates", "held", "external"]
    why: str = ""
    claims: tuple[str, ...] = ()


ALLOWED = Eviction("allowed")
_EXTERNALLY = Eviction(
    "external", "evictionStrategy External leaves the migration to another controller, and the drain waits until that has moved the VM"
)


def eviction_of(pod_source: PodSource) -> Eviction:
    """Return the effect of evicting a pod of a workload, as far as the manifests show whether its VMs can migrate."""
    if not pod_source.kubevirt:
        return ALLOWED
    kubevirt, own = pod_source.virtualization.kubevirt, pod_source.eviction_strategy
    strategy = eviction_strategy(own, kubevirt)
    if strategy == EXTERNAL:
        return _EXTERNALLY
    if strategy not in (LIVE_MIGRATE, IF_POSSIBLE):
        return ALLOWED
    return _migration(pod_source, _obstacles(pod_source), strategy)


def _migration(pod_source: PodSource, all_obstacles: Sequence[Obstacle], strategy: str) -> Eviction:
    """Return the effect of an eviction that asks for a migration."""
    obstacle = _first_known(all_obstacles, pod_source)
    if obstacle is None:
        return Eviction("migrates", claims=tuple(each.claim for each in all_obstacles if each.reason == DISKS and each.claim))
    if strategy == IF_POSSIBLE:
        return ALLOWED
    return Eviction("held", f"{describe_strategy(pod_source.eviction_strategy, pod_source.virtualization.kubevirt)}, but {obstacle.words}")


def eviction_of_machine(vmi: Mapping[str, Any], kubevirt: Mapping[str, Any], machine: PodSource | None = None) -> Eviction | None:
    """Return the effect of evicting a running VM, whose status has the LiveMigratable condition that virt-handler set.

    If it has no such condition and asks for live migration, the spec of the ``machine`` decides, see ``eviction_of``; None without it.
    """
    own = text_at(vmi, "spec", "evictionStrategy")
    strategy = eviction_strategy(own, kubevirt)
    if strategy == EXTERNAL:
        return _EXTERNALLY
    if strategy not in (LIVE_MIGRATE, IF_POSSIBLE):
        return ALLOWED
    condition = condition_of(vmi, "LiveMigratable")
    if condition is None:
        if machine is None:
            return None
        return _migration(machine, _obstacles_while_running(machine), strategy)
    obstacle = _reported_obstacle(condition)
    if obstacle is None:
        return Eviction("migrates")
    if strategy == IF_POSSIBLE:
        return ALLOWED
    return Eviction("held", f"{describe_strategy(own, kubevirt)}, but it cannot migrate{obstacle.words and ': '}{obstacle.words}")


def _reported_obstacle(condition: Mapping[str, Any]) -> Obstacle | None:
    if condition.get("status") == "True":
        return None
    reason = text_at(condition, "reason")
    return Obstacle(reason, (), text_at(condition, "message") or reason)


def unknown_strategy_note(pod_sources: Iterable[PodSource]) -> str:
    """Return a note that the eviction strategy of some VM workloads is unknown, and what is assumed; empty if all are known."""
    open_ones = [each for each in pod_sources if each.kubevirt and not each.eviction_strategy]
    assumed = sum(has_assumed_strategy(each) for each in open_ones)
    unknown = sum(not KubeVirtCluster(each.virtualization.kubevirt).eviction_strategy for each in open_ones)
    if not (assumed or unknown):
        return ""
    who, them = ("1 VM workload sets", "it") if assumed + unknown == 1 else (f"{assumed + unknown} VM workloads set", "them")
    if unknown:
        unknown_strategy = f"{who} no evictionStrategy, and the manifests contain no KubeVirt resource"
        return f"{unknown_strategy}: the simulation assumes that a drain shuts {them} down"
    cluster = next(each.virtualization.kubevirt for each in open_ones if has_assumed_strategy(each))
    missing = "the manifests contain neither a HyperConverged nor a KubeVirt resource, and the nodes are OpenShift's"
    default = f"evictionStrategy {eviction_strategy(None, cluster)}, the default of OpenShift Virtualization on these nodes"
    return f"{who} no evictionStrategy, {missing}: the simulation assumes {default}"


def has_assumed_strategy(pod_source: PodSource) -> bool:
    """Return whether the eviction strategy of a VM is a default that no manifest sets."""
    return pod_source.kubevirt and not pod_source.eviction_strategy and KubeVirtCluster(pod_source.virtualization.kubevirt).is_assumed


def migration_note(eviction: Eviction) -> str:
    """Return a note about what is assumed of the disks of a VM that migrates; empty if nothing is."""
    if not eviction.claims:
        return ""
    has = "has" if len(eviction.claims) == 1 else "have"
    unknown = f"no manifest shows whether {join_words(eviction.claims)} {has} the access mode ReadWriteMany"
    return f"the simulation assumes that it can migrate: {unknown}"


def migration_obstacle(pod_source: PodSource, vmi: Mapping[str, Any] | None = None, machine: PodSource | None = None) -> Obstacle | None:
    """Return what prevents the VMs of a workload from migrating, whether or not they request it; None if nothing is known.

    Of a running VM, the condition of its ``vmi`` decides, else its own spec in ``machine``.
    """
    condition = condition_of(vmi, "LiveMigratable")
    if condition is not None:
        return _reported_obstacle(condition)
    if machine is not None:
        return _first_known(_obstacles_while_running(machine), machine)
    return _first_known(_obstacles(pod_source), pod_source) if pod_source.kubevirt else None


def _obstacles_while_running(machine: PodSource) -> list[Obstacle]:
    """Return the obstacles of a VMI in a cluster, where KubeVirt has filled in the default interface."""
    return [each for each in _obstacles(machine) if not each.by_default]


def _first_known(candidates: Iterable[Obstacle], pod_source: PodSource) -> Obstacle | None:
    return next((each for each in candidates if _is_known(each, pod_source)), None)


def _obstacles(pod_source: PodSource) -> list[Obstacle]:
    given = pod_source.virtualization
    try:
        spec = apply_specs(pod_source.pod, given.instancetype, given.preference)
    except InventoryError:
        return []  # KubeVirt creates no pod; replicas.compile_pods reports that.
    vmi = {"metadata": {"annotations": dict(pod_source.annotations)}, "spec": spec}
    return list(obstacles(vmi, given.kubevirt, {**given.claims, **pod_source.claims}))


def _is_known(obstacle: Obstacle, pod_source: PodSource) -> bool:
    """Return whether the manifests show that an obstacle exists; a preference may choose the network binding."""
    if obstacle.by_default:
        return pod_source.preference is None
    return obstacle.certain or (
        KubeVirtCluster(pod_source.virtualization.kubevirt).is_known and obstacle.reason in (HOST_DEVICE, INTERFACE)
    )
