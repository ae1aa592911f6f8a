"""What prevents the live migration of a virtual machine (KubeVirt pkg/virt-handler/vm.go, calculateLiveMigrationCondition).

The condition ignores placement: a VM that may run on only one host is migratable, and its target pod stays Pending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.controllers.kubevirt_cluster import AMD64, HOST_MODEL, S390X, VGPU_LIVE_MIGRATION, KubeVirtCluster, enabled, tsc_frequencies
from afflint.controllers.virtual_machine import Spec, apply_defaults, claim_name
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.yaml.document import map_at, maps_at, text_at, texts_at
from afflint.yaml.object_fields import name_of

INTERFACE, CPU_MODE = "InterfaceNotLiveMigratable", "CPUModeLiveMigratable"
HOST_DEVICE, DISKS = "HostDeviceNotLiveMigratable", "DisksNotLiveMigratable"
SEV, TDX, SECURE_EXECUTION = "SEVNotLiveMigratable", "TDXNotLiveMigratable", "SecureExecutionNotLiveMigratable"
NO_TSC_FREQUENCY, HYPERV_PASSTHROUGH = "NoTSCFrequencyNotLiveMigratable", "HypervPassthroughNotLiveMigratable"

FIXES: Mapping[str, str] = {
    INTERFACE: "give it an interface with `masquerade: {}`",
    HOST_DEVICE: "remove its GPUs and host devices",
    DISKS: "use disks with the access mode ReadWriteMany",
}
"""By reason, what lets a VM migrate."""

_BRIDGE_MAY_MIGRATE = "kubevirt.io/allow-pod-bridge-network-live-migration"
# Interface bindings that can migrate; passtBinding replaced passt.
_MIGRATING = ("masquerade", "passtBinding", "passt")

Claims = Iterable[Mapping[str, Any]] | Mapping[str, Iterable[str]]
"""Claims as parsed, or the access modes of each claim by its name."""


class Obstacle(NamedTuple):
    """Something that prevents a VM from migrating.

    ``reason`` is that of the LiveMigratable condition, ``path`` the field below the spec, ``words`` the problem as text. ``certain`` if
    nothing else in the cluster can change it; ``by_default`` if a KubeVirt resource could change it. ``claim`` is the claim of a disk.
    """

    reason: str
    path: Path
    words: str
    certain: bool = True
    by_default: bool = False
    claim: str = ""


def obstacles(
    vmi: Mapping[str, Any],
    kubevirt: Mapping[str, Any] | None,
    pvcs: Claims = (),
    *,
    nodes: Iterable[Mapping[str, str]] = (),
    host_cpu_model: str | None = None,
) -> Iterator[Obstacle]:
    """Yield everything that prevents a VMI from migrating, in the order of KubeVirt's checks."""
    cluster = KubeVirtCluster(kubevirt or {})
    spec = apply_defaults(map_at(vmi, "spec"), cluster)
    domain, architecture = spec["domain"], spec["architecture"].lower()
    yield from _interface(spec, map_at(vmi, "metadata", "annotations"), cluster)
    if domain["cpu"]["model"] == HOST_MODEL and host_cpu_model == "":
        yield Obstacle(CPU_MODE, ("domain", "cpu", "model"), "the node of the VM reports no CPU model", certain=False)
    yield from _devices(map_at(domain, "devices"), cluster)
    yield from _protection(domain.get("launchSecurity"), architecture)
    yield from _features(map_at(domain, "features"), architecture, cluster, nodes)
    yield from _disks(spec, map_at(vmi, "status"), _access_modes(pvcs))


def _interface(spec: Spec, annotations: Mapping[str, Any], cluster: KubeVirtCluster) -> Iterator[Obstacle]:
    """Yield an interface on the pod network that cannot migrate; a VM without interfaces gets the default one (pkg/network/vmispec)."""
    devices = map_at(spec, "domain", "devices")
    networks, interfaces = maps_at(spec, "networks"), maps_at(devices, "interfaces")
    if not networks and not interfaces:
        bridged = devices.get("autoattachPodInterface") is not False and cluster.default_interface == "bridge"
        if bridged and _BRIDGE_MAY_MIGRATE not in annotations:
            words = "the VM lists no interface and gets a bridge on the pod network, which cannot be live-migrated"
            yield Obstacle(INTERFACE, ("evictionStrategy",), words, by_default=True)
        return
    on_pods = {text_at(network, "name") for network in networks if type(network.get("pod")) is dict}
    listed = devices.get("interfaces")
    for index, interface in enumerate(listed if type(listed) is list else ()):
        if type(interface) is not dict or text_at(interface, "name") not in on_pods:
            continue
        plugin, bridged = text_at(interface, "binding", "name"), type(interface.get("bridge")) is dict
        if any(type(interface.get(binding)) is dict for binding in _MIGRATING) or (plugin and cluster.migrates_binding(plugin)):
            continue
        if bridged and _BRIDGE_MAY_MIGRATE in annotations:
            continue
        path: Path = ("domain", "devices", "interfaces", index, *(("bridge",) if bridged else ()))
        yield Obstacle(INTERFACE, path, "a bridge on the pod network cannot be live-migrated", certain=bridged)


def _devices(devices: Mapping[str, Any], cluster: KubeVirtCluster) -> Iterator[Obstacle]:
    if maps_at(devices, "hostDevices"):
        yield Obstacle(HOST_DEVICE, ("domain", "devices", "hostDevices"), "host devices cannot be live-migrated")
    gpus = maps_at(devices, "gpus")
    if not gpus:
        return
    mediated = (cluster.permitted_devices or {}).get("mediatedDevices", frozenset())
    if len(gpus) > 1 or not (cluster.has_gate(VGPU_LIVE_MIGRATION) and text_at(gpus[0], "deviceName") in mediated):
        words = "GPUs cannot be live-migrated" if len(gpus) > 1 else "the GPU cannot be live-migrated"
        yield Obstacle(HOST_DEVICE, ("domain", "devices", "gpus"), words, certain=len(gpus) > 1)


def _protection(security: object, architecture: str) -> Iterator[Obstacle]:
    if type(security) is not dict:
        return
    at: Path = ("domain", "launchSecurity")
    for field in ("sev", "snp"):
        if type(security.get(field)) is dict:
            yield Obstacle(SEV, (*at, field), "a VM protected by SEV cannot be live-migrated")
    if type(security.get("tdx")) is dict:
        yield Obstacle(TDX, (*at, "tdx"), "a VM protected by TDX cannot be live-migrated")
    if architecture == S390X:
        yield Obstacle(SECURE_EXECUTION, at, "a VM under Secure Execution cannot be live-migrated")


def _features(
    features: Mapping[str, Any], architecture: str, cluster: KubeVirtCluster, nodes: Iterable[Mapping[str, str]]
) -> Iterator[Obstacle]:
    if enabled(map_at(features, "hyperv").get("reenlightenment")):
        known = cluster.minimum_tsc_frequency if cluster.minimum_tsc_frequency is not None else min(tsc_frequencies(nodes), default=0)
        if architecture != AMD64 or known <= 0:
            path: Path = ("domain", "features", "hyperv", "reenlightenment")
            yield Obstacle(NO_TSC_FREQUENCY, path, "no node reports its TSC frequency", certain=False)
    if enabled(features.get("hypervPassthrough")):
        yield Obstacle(
            HYPERV_PASSTHROUGH, ("domain", "features", "hypervPassthrough"), "a VM with hypervPassthrough cannot be live-migrated"
        )


def _disks(spec: Spec, status: Mapping[str, Any], modes: Mapping[str, frozenset[str]]) -> Iterator[Obstacle]:
    """Yield disks that the target node cannot open at the same time, except those that are migrated as well."""
    moved = {text_at(volume, "volumeName") for volume in maps_at(status, "migratedVolumes")}
    volumes = spec.get("volumes")
    for index, volume in enumerate(volumes if type(volumes) is list else ()):
        if type(volume) is not dict or text_at(volume, "name") in moved:
            continue
        claim, disk = claim_name(volume), volume.get("hostDisk")
        if claim and "ReadWriteMany" not in modes.get(claim, ()):
            words = f"the disk {claim} lacks the access mode ReadWriteMany"
            yield Obstacle(DISKS, ("volumes", index), words, certain=claim in modes, claim=claim)
        elif type(disk) is dict and disk.get("shared") is not True:
            yield Obstacle(DISKS, ("volumes", index, "hostDisk"), "a hostDisk that is not shared cannot be live-migrated")


def _access_modes(claims: Claims) -> dict[str, frozenset[str]]:
    if isinstance(claims, Mapping):
        return {name: frozenset(modes) for name, modes in claims.items()}
    return {name_of(claim): frozenset(texts_at(claim, "spec", "accessModes")) for claim in claims}
