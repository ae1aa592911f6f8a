"""The KubeVirt resource of a cluster, with KubeVirt's defaults for absent fields (pkg/virt-config/virt-config.go)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import kind_of

AMD64, ARM64, S390X = "amd64", "arm64", "s390x"
HOST_MODEL, HOST_PASSTHROUGH = "host-model", "host-passthrough"

# Alpha gates are off unless the resource lists them: pkg/virt-config/featuregate.
CROSS_ARCHITECTURE, HYPERV_STRICT_CHECK, VGPU_LIVE_MIGRATION = (
    "CrossArchitectureVirtualization", "HypervStrictCheck", "VGPULiveMigration",
)  # fmt: skip

# ``kind`` of a resource that was not read from a KubeVirt resource: see ``hyperconverged``.
HYPERCONVERGED, OPENSHIFT = "HyperConverged", "OpenShift"

_MACHINE_TYPES = {AMD64: "q35", ARM64: "virt", S390X: "s390-ccw-virtio"}


class KubeVirtCluster:
    """A KubeVirt resource as parsed; ``{}`` if the cluster has none. Malformed fields count as absent."""

    def __init__(self, data: object) -> None:
        self._data = data
        self._configuration = map_at(data, "spec", "configuration")
        self._developer = map_at(self._configuration, "developerConfiguration")

    def has_gate(self, name: str) -> bool:
        """Return whether an alpha feature gate is on."""
        gates, disabled = (self._developer.get(field) for field in ("featureGates", "disabledFeatureGates"))
        return type(gates) is list and name in gates and not (type(disabled) is list and name in disabled)

    def is_since(self, minor: int) -> bool:
        """Return whether KubeVirt 1.``minor`` or later runs; an unknown version counts as the newest."""
        return self.version is None or self.version >= (1, minor)

    @property
    def version(self) -> tuple[int, int] | None:
        """The version of KubeVirt: that of the configuration, else the one that the status reports; None if it is unknown."""
        configured = self._data.get("version") if type(self._data) is dict else None
        if configured is not None:
            return configured[0], configured[1]
        found = _VERSION.match(text_at(self._data, "status", "observedKubeVirtVersion"))
        return (int(found[1]), int(found[2])) if found else None

    @property
    def node_selectors(self) -> dict[str, str]:
        """The nodeSelectors that every launcher pod gets."""
        return {key: value for key, value in map_at(self._developer, "nodeSelectors").items() if type(value) is str}

    @property
    def default_architecture(self) -> str:
        """The architecture of the nodes that run KubeVirt's own pods, as virt-operator records it in the status."""
        return text_at(self._data, "status", "defaultArchitecture") or AMD64

    @property
    def emulates(self) -> bool:
        """Whether VMs run without hardware virtualization (``useEmulation``)."""
        return self._developer.get("useEmulation") is True

    def cpu_model(self, architecture: str) -> str:
        """Return the CPU model of VMs that set none; arm64 supports only host-passthrough."""
        return HOST_PASSTHROUGH if architecture == ARM64 else text_at(self._configuration, "cpuModel") or HOST_MODEL

    def machine_type(self, architecture: str) -> str:
        """Return the machine type of VMs that set none."""
        own = map_at(self._configuration, "architectureConfiguration", architecture)
        given = text_at(self._configuration, "machineType") or text_at(own, "machineType")
        return given or _MACHINE_TYPES.get(architecture, _MACHINE_TYPES[AMD64])

    @property
    def runtime_class(self) -> str:
        """The runtime class of launcher pods; usually empty."""
        return text_at(self._configuration, "defaultRuntimeClass")

    @property
    def eviction_strategy(self) -> str:
        """The eviction strategy of VMs that set none; empty if it is unknown. A KubeVirt resource without one means ``None``."""
        known = (self.is_known or self.is_assumed) and self._origin != HYPERCONVERGED
        return text_at(self._configuration, "evictionStrategy") or ("None" if known else "")

    @property
    def updates_running_machines(self) -> bool:
        """Whether virt-controller changes placement fields of a running VMI when its VM changes (IsVMRolloutStrategyLiveUpdate).

        False if it is unknown. Without a vmRolloutStrategy it does since KubeVirt 1.6.
        """
        strategy = text_at(self._configuration, "vmRolloutStrategy")
        return strategy == "LiveUpdate" or (not strategy and self.is_known and self.is_since(6))

    @property
    def is_assumed(self) -> bool:
        """Whether no manifest has the resource, and these are the defaults of OpenShift Virtualization."""
        return self._origin == OPENSHIFT

    @property
    def is_known(self) -> bool:
        """Whether a manifest has the resource."""
        return type(self._data) is dict and bool(self._data.keys() - {"version"}) and not self.is_assumed

    @property
    def origin(self) -> str:
        """Where its settings come from, as text after a value, with a space or comma before it."""
        return _ORIGINS.get(self._origin, " of the KubeVirt resource")

    @property
    def _origin(self) -> str:
        return kind_of(self._data)

    @property
    def minimum_tsc_frequency(self) -> int | None:
        """The TSC frequency that VMs with a stable clock need, instead of the lowest frequency of the nodes."""
        given = self._developer.get("minimumClusterTSCFrequency")
        return given if type(given) is int else None

    @property
    def default_interface(self) -> str:
        """The binding of the interface that VMs without interfaces get."""
        return text_at(self._configuration, "network", "defaultNetworkInterface") or "bridge"

    def migrates_binding(self, name: str) -> bool:
        """Return whether a registered network binding plugin supports migration."""
        return type(map_at(self._configuration, "network", "binding", name).get("migration")) is dict

    def binding_memory(self, name: str) -> object:
        """Return the memory that a registered network binding plugin requests; None if it requests none."""
        return map_at(self._configuration, "network", "binding", name, "computeResourceOverhead", "requests").get("memory")

    @property
    def cpu_allocation_ratio(self) -> int:
        """The number of virtual CPUs per requested CPU."""
        return self._positive("cpuAllocationRatio", 10)

    @property
    def memory_overcommit(self) -> int:
        """The memory of guests in percent of the memory that their pods request."""
        return self._positive("memoryOvercommit", 100)

    def _positive(self, field: str, default: int) -> int:
        given = self._developer.get(field)
        return given if type(given) is int and given > 0 else default

    @property
    def overhead_ratio(self) -> float:
        """By how much the memory that KubeVirt requests for itself is multiplied."""
        given = text_at(self._configuration, "additionalGuestMemoryOverheadRatio")
        return float(given) if _RATIO.fullmatch(given) else 1.0

    @property
    def logs_serial_consoles(self) -> bool:
        """Whether the serial consoles of VMs are logged by default."""
        return "disableSerialConsoleLog" not in map_at(self._configuration, "virtualMachineOptions")

    @property
    def permitted_devices(self) -> dict[str, frozenset[str]] | None:
        """The resource names of permitted host devices, by the field that lists them; None if devices are not restricted."""
        permitted = self._configuration.get("permittedHostDevices")
        if type(permitted) is not dict:
            return None
        return {
            field: frozenset(text_at(each, "resourceName") for each in maps_at(permitted, field))
            for field in ("pciHostDevices", "mediatedDevices", "usb")
        }


_VERSION = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?!\d)")
_RATIO = re.compile(r"\d{1,3}(\.\d{1,9})?", re.ASCII)
_ORIGINS = {HYPERCONVERGED: " of the HyperConverged resource", OPENSHIFT: ", the default of OpenShift Virtualization,"}


# --- eviction strategies -----------------------------------------------------------------------------------------------

LIVE_MIGRATE, IF_POSSIBLE, EXTERNAL = "LiveMigrate", "LiveMigrateIfPossible", "External"


def eviction_strategy(own: str | None, kubevirt: Mapping[str, Any]) -> str:
    """Return the eviction strategy of a VM: its own, else that of the cluster, else ``None``."""
    return own or KubeVirtCluster(kubevirt).eviction_strategy or "None"


def describe_strategy(own: str | None, kubevirt: Mapping[str, Any]) -> str:
    """Return which strategy asks for migration, as text: ``evictionStrategy LiveMigrate asks for live migration``."""
    origin = "" if own else KubeVirtCluster(kubevirt).origin
    return f"evictionStrategy {eviction_strategy(own, kubevirt)}{origin} asks for live migration"


# --- labels of nodes ---------------------------------------------------------------------------------------------------

SCHEDULABLE = "kubevirt.io/schedulable"
CPU_MANAGER, OLD_CPU_MANAGER = "kubevirt.io/cpumanager", "cpumanager"
_TSC_FREQUENCY = "cpu-timer.node.kubevirt.io/tsc-frequency"


def tsc_frequencies(nodes: Iterable[Mapping[str, str]]) -> list[int]:
    """Return the TSC frequencies of the schedulable nodes, from the labels of the nodes."""
    written = [labels.get(_TSC_FREQUENCY, "") for labels in nodes if labels.get(SCHEDULABLE) == "true"]
    return [int(each) for each in written if each.isascii() and each.isdecimal() and len(each) < 20]


def enabled(feature: object) -> bool:
    """Return whether a feature is on: a feature that is set without ``enabled`` is."""
    return type(feature) is dict and feature.get("enabled") is not False
