"""Virtual machines that get no pod, as all manifests together say."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import CrossManifestMatch, Match
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.index.facts import MachineSpec, Pods
from afflint.index.manifest_index import ManifestIndex


def machine_without_pod(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report VMs that set what their instance type sets, and VMs with host devices that the KubeVirt resource does not permit."""
    for pods in manifest_index.pods:
        if pods.machine is not None:
            for match in (*_conflicts(manifest_index, pods, pods.machine), *_forbidden(manifest_index, pods, pods.machine)):
                yield CrossManifestMatch(pods.site, pods.ref, match)


def _conflicts(manifest_index: ManifestIndex, pods: Pods, machine: MachineSpec) -> Iterator[Match]:
    if machine.instancetype is None:
        return
    from afflint.controllers.pod_source import Reference
    from afflint.controllers.virtual_machine import conflicts
    from afflint.inventory.virtual_machines import instancetype_of

    instancetype = instancetype_of(manifest_index, pods.namespace or "default", Reference(*machine.instancetype))
    for field in conflicts(machine.spec, instancetype) if instancetype is not None else ():
        path = (*pods.template_path, "spec", *field.split("."))
        message = f"its instancetype {quoted(machine.instancetype[1])} sets {quoted(field)}, too: KubeVirt rejects the VM"
        yield Match(path, message, f"Set `{field}` in one of them only.", key=True)


def _forbidden(manifest_index: ManifestIndex, pods: Pods, machine: MachineSpec) -> Iterator[Match]:
    if not manifest_index.has_one_kubevirt:
        return
    from afflint.controllers.kubevirt_cluster import KubeVirtCluster
    from afflint.controllers.launcher_pod import forbidden_devices

    cluster = KubeVirtCluster(manifest_index.kubevirt_resource)
    known = [name for names in (cluster.permitted_devices or {}).values() for name in names]
    for place, name in forbidden_devices(machine.spec["domain"]["devices"], cluster):
        path = (*pods.template_path, "spec", "domain", "devices", *place, "deviceName")
        close = nearest(name, known)
        hint = did_you_mean(close) if close is not None else ""
        message = f"`permittedHostDevices` does not list {quoted(name)}, so the VM gets no pod{hint}"
        yield Match(path, message, f"Write `{close}`." if close else "Add the device to the list, or remove it from the VM.")
