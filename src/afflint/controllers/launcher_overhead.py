"""The memory that KubeVirt requests for itself in a virt-launcher pod, beside the memory of the guest.

Semantics: KubeVirt's pkg/hypervisor/kvm (GetMemoryOverhead), pkg/network/resources (Calculate) and pkg/virt-controller/services
(serialconsolelog.go). The constants are those of KubeVirt 1.9; other versions differ by some MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.controllers.kubevirt_cluster import ARM64, KubeVirtCluster
from afflint.controllers.launcher_resources import parse_millis, vcpu_count
from afflint.kube.decoding import mapping
from afflint.scheduler.requests import CPU, MEMORY
from afflint.yaml.document import map_at, maps_at, text_at

Spec = Mapping[str, Any]

_MIB = 1024 * 1024
_PROCESSES = (25 + 100 + 25 + 40 + 50) * _MIB
"""virt-launcher-monitor, virt-launcher, virtlogd, virtqemud and qemu."""
_EACH_VCPU = _IO_THREAD = 8 * _MIB
_GRAPHICS, _ARM64_FIRMWARE, _PASSTHROUGH = 32 * _MIB, 128 * _MIB, 1024 * _MIB
_DOWNWARD_METRICS, _PROBES, _EACH_PROBE, _SEV, _TPM, _GUARANTEED = (each * _MIB for each in (1, 100, 10, 256, 53, 100))
_PASST = 250 * _MIB


def memory_overhead(spec: Spec, cluster: KubeVirtCluster) -> int:
    """Return the bytes that the compute container requests beside the guest's memory. Raises InventoryError for malformed quantities."""
    domain = mapping(spec.get("domain"), "spec.domain")
    devices = map_at(domain, "devices")
    overhead = _page_tables(domain) + _PROCESSES + _IO_THREAD + _EACH_VCPU * vcpu_count(domain)
    overhead += _GRAPHICS if devices.get("autoattachGraphicsDevice") is not False else 0
    overhead += _ARM64_FIRMWARE if spec["architecture"].lower() == ARM64 else 0
    overhead += _PASSTHROUGH if _passes_devices_through(devices) else 0
    overhead += _DOWNWARD_METRICS if any("downwardMetrics" in each for each in maps_at(spec, "volumes")) else 0
    probes = sum(type(map_at(spec, probe).get("exec")) is dict for probe in ("livenessProbe", "readinessProbe"))
    overhead += _PROBES + probes * _EACH_PROBE if probes else 0
    overhead += _SEV if not {"sev", "snp"}.isdisjoint(map_at(domain, "launchSecurity")) else 0
    tpm = devices.get("tpm")
    overhead += _TPM if type(tpm) is dict and tpm.get("enabled") is not False else 0
    overhead += _GUARANTEED if is_guaranteed(domain) else 0
    overhead += (
        parse_millis(map_at(domain, "memory", "reservedOverhead").get("addedOverhead"), "spec.domain.memory.reservedOverhead") // 1000
    )
    overhead += int(-(-overhead // 1000) * (cluster.overhead_ratio - 1)) * 1000
    return overhead + _network(devices, cluster)


def _page_tables(domain: Spec) -> int:
    """Return one bit for each 512 bytes that the VM itself requests."""
    requested = parse_millis(map_at(domain, "resources", "requests").get(MEMORY), "spec.domain.resources.requests['memory']")
    return -(-requested // 1_000_000) * 1000 // 512


def _passes_devices_through(devices: Spec) -> bool:
    shared = any(type(each.get("sriov")) is dict for each in maps_at(devices, "interfaces"))
    return bool(shared or maps_at(devices, "hostDevices") or maps_at(devices, "gpus"))


def is_guaranteed(domain: Spec) -> bool:
    """Return whether a VM has CPUs of its own, or requests what it is limited to (WantsToHaveQOSGuaranteed)."""
    if map_at(domain, "cpu").get("dedicatedCpuPlacement") is True:
        return True
    asked, capped = (
        {name: parse_millis(map_at(domain, "resources", kind).get(name), f"spec.domain.resources.{kind}") for name in (CPU, MEMORY)}
        for kind in ("requests", "limits")
    )
    memory = asked[MEMORY] == capped[MEMORY] if asked[MEMORY] else bool(capped[MEMORY])
    # A VM without a request for CPU requests its limit.
    return memory and bool(capped[CPU]) and (asked[CPU] or capped[CPU]) == capped[CPU]


def _network(devices: Spec, cluster: KubeVirtCluster) -> int:
    """Return the memory of network bindings, each once."""
    interfaces = maps_at(devices, "interfaces")
    passt = any(type(each.get(field)) is dict for each in interfaces for field in ("passt", "passtBinding"))
    names = dict.fromkeys(name for each in interfaces if (name := text_at(each, "binding", "name")))
    return (_PASST if passt else 0) + sum(parse_millis(cluster.binding_memory(name), f"network binding {name}") // 1000 for name in names)


def console_log_container(domain: Spec, cluster: KubeVirtCluster) -> dict[str, Any] | None:
    """Return the container that writes the log of the serial console; None if it is disabled."""
    devices = map_at(domain, "devices")
    logs = devices.get("logSerialConsole")
    if devices.get("autoattachSerialConsole") is False or not (logs if type(logs) is bool else cluster.logs_serial_consoles):
        return None
    requests = {CPU: "15m", MEMORY: "60M"} if is_guaranteed(domain) else {CPU: "5m", MEMORY: "35M"}
    return {"name": "guest-console-log", "resources": {"requests": requests, "limits": {CPU: "15m", MEMORY: "60M"}}}
