"""Virtual machines that run: which pods a migration and a restart create, and which changes of a VM wait for a restart.

A restart starts from the VirtualMachine. A migration starts from the VirtualMachineInstance and the launcher pod that runs. Semantics:
KubeVirt's pkg/virt-controller/services (RenderMigrationManifest), watch/migration (createTargetPod) and watch/vm
(handleAffinityChangeRequest, handleTolerationsChangeRequest).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.kubevirt_cluster import KubeVirtCluster
from afflint.controllers.launcher_selectors import read_launcher
from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import compile_template
from afflint.controllers.virtual_machine import apply_specs
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import InventoryError
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, PodKey
from afflint.yaml.document import map_at


class RequestedMigration(NamedTuple):
    """A VirtualMachineInstanceMigration whose target pod is not scheduled yet."""

    name: str
    selector: Mapping[str, str]
    """Its ``addedNodeSelector``, which a target pod that exists has among its own."""
    pod: Mapping[str, Any] | None
    """The target pod as parsed; None before virt-controller creates it."""


class RunningMachine(NamedTuple):
    """A VirtualMachineInstance of a dump as parsed, and the pods that it declares; None if its fields are malformed."""

    data: Mapping[str, Any]
    pod_source: PodSource | None
    has_pod: bool
    """Whether the dump has its launcher pod."""
    migration: RequestedMigration | None = None


RunningMachines = Mapping[PodKey, RunningMachine]
"""By namespace and name of the launcher pod."""


class LauncherPods(NamedTuple):
    """The pods of a VM that runs: the launcher pod, the one that a migration starts from, and the one after a restart."""

    running: Pod
    migrated: Pod
    restarted: Pod


def launcher_pods(data: Mapping[str, Any], machine: RunningMachine | None, vm: PodSource, template: Pod, cluster: Cluster) -> LauncherPods:
    """Return the pods of a VM that runs in the pod ``data``. Raises InventoryError if that is malformed.

    ``template`` is the pod of its workload ``vm``, and counts as the running pod as well without a ``machine``.
    """
    own = machine.pod_source if machine is not None else None
    running = read_launcher(data, (own or vm).pod, cluster)
    restarted = template._replace(name=running.name)
    if machine is None or own is None:
        exact = restarted._replace(requests=running.requests, rated=running.rated) if running.requests else restarted
        return LauncherPods(exact, exact, exact)
    try:
        rendered = compile_template(own, cluster, running.name)
        updated = compile_template(with_passed_changes(own, vm), cluster, running.name)
    except InventoryError:
        return LauncherPods(running, running, restarted)
    if not machine.has_pod:
        return LauncherPods(rendered, updated, restarted)
    # The launcher pod shows what KubeVirt requests, sidecars and hotplugged disks included.
    if restarted.requests == rendered.requests or not vm.has_known_size:
        restarted = restarted._replace(requests=running.requests, rated=running.rated)
    updated = updated._replace(labels=running.labels, subject=running.subject, requests=running.requests, rated=running.rated)
    return LauncherPods(running, updated, restarted)


# --- changes -----------------------------------------------------------------------------------------------------------

_PASSED_ON = ("nodeSelector", "affinity", "tolerations")
_COMPARED = (*_PASSED_ON, "topologySpreadConstraints", "schedulerName", "priorityClassName")
_DEFAULTS = {"schedulerName": "default-scheduler"}


def with_passed_changes(machine: PodSource, vm: PodSource) -> PodSource:
    """Return a running VMI with the fields that virt-controller takes from its changed VM before it migrates."""
    if not passes_changes(vm):
        return machine
    fields = _effective(vm)
    pod = {key: value for key, value in machine.pod.items() if key not in _PASSED_ON}
    return replace(machine, pod={**pod, **{key: fields[key] for key in _PASSED_ON if fields.get(key) is not None}})


def passes_changes(vm: PodSource) -> bool:
    """Return whether virt-controller changes the placement of a running VMI when its VM changes, and knows how."""
    is_known = vm.kind == "VirtualMachine" and not vm.observed and vm.has_known_size
    return is_known and not vm.requires_restart and KubeVirtCluster(vm.virtualization.kubevirt).updates_running_machines


def is_passed_on(vm: PodSource, fields: Collection[str]) -> bool:
    """Return whether virt-controller passes a change of some fields of a VM on to its running VMI."""
    return passes_changes(vm) and frozenset(_PASSED_ON).issuperset(fields)


def waiting_changes(vm: PodSource, machines: Sequence[RunningMachine]) -> tuple[str, ...]:
    """Return the placement fields of a VM that differ from those of its running VMI until a restart, each as text."""
    machine = machines[0].pod_source if len(machines) == 1 and vm.kind == "VirtualMachine" and not vm.observed else None
    try:
        return tuple(_changes(machine, vm)) if machine is not None else ()
    except InventoryError:
        return ()


def _changes(machine: PodSource, vm: PodSource) -> Iterator[str]:
    wanted = _effective(vm)
    passed = _PASSED_ON if passes_changes(vm) else ()
    # An unknown instance type may set these.
    unknown = () if vm.has_known_size else ("nodeSelector", "schedulerName")
    for field in _COMPARED:
        old, new = (spec.get(field) or _DEFAULTS.get(field) for spec in (machine.pod, wanted))
        if field in passed or field in unknown or (old or None) == (new or None):
            continue
        if field == "nodeSelector":
            yield from _label_changes(map_at(machine.pod, field), map_at(wanted, field))
        else:
            yield f"{field} {old} -> {new}" if isinstance(old or new, str) else field
    if vm.eviction_strategy and machine.eviction_strategy != vm.eviction_strategy:
        yield f"evictionStrategy {machine.eviction_strategy} -> {vm.eviction_strategy}"


def _label_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) != new.get(key):
            before, after = (str(labels[key]) if key in labels else "none" for labels in (old, new))
            yield f"nodeSelector {key} {before} -> {after}"


def _effective(vm: PodSource) -> Mapping[str, Any]:
    """Return the spec of the VMI that a restart creates. Raises InventoryError if its instance type conflicts with it."""
    return apply_specs(vm.pod, vm.virtualization.instancetype, vm.virtualization.preference)
