"""The virt-launcher pod that virt-controller creates for a virtual machine instance, as far as it decides the placement.

Semantics: KubeVirt's pkg/virt-controller/services (nodeselectorrenderer.go, template.go, renderresources.go), watch/topology and, for the
target of a live migration, watch/migration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.controllers.kubevirt_cluster import (
    AMD64,
    ARM64,
    CPU_MANAGER,
    CROSS_ARCHITECTURE,
    HOST_MODEL,
    HOST_PASSTHROUGH,
    HYPERV_STRICT_CHECK,
    OLD_CPU_MANAGER,
    S390X,
    SCHEDULABLE,
    KubeVirtCluster,
    enabled,
    tsc_frequencies,
)
from afflint.controllers.launcher_resources import compute_resources, parse_millis, vcpu_count
from afflint.controllers.pod_labels import fill_labels
from afflint.controllers.virtual_machine import apply_defaults, apply_specs, claim_name
from afflint.kube.added_labels import VIRT_LAUNCHER
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.decoding import InventoryError, mapping
from afflint.kube.node_labels import HOSTNAME
from afflint.scheduler.requests import CPU, MEMORY
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import metadata_of, name_of

Object = dict[str, Any]

ARCH = "kubernetes.io/arch"
CPU_MODEL, CPU_FEATURE = "cpu-model.node.kubevirt.io/", "cpu-feature.node.kubevirt.io/"
CPU_VENDOR = "cpu-vendor.node.kubevirt.io/"
MACHINE_TYPE = "machine-type.node.kubevirt.io/"
HYPERV = "hyperv.node.kubevirt.io/"
TSC = "scheduling.node.kubevirt.io/tsc-frequency-"
REALTIME = "kubevirt.io/realtime"
SEV, SEV_ES, SEV_SNP, TDX, S390_PV = (
    "kubevirt.io/sev",
    "kubevirt.io/sev-es",
    "kubevirt.io/sev-snp",
    "kubevirt.io/tdx",
    "kubevirt.io/s390-pv",
)
VM_ARCHITECTURE = "kubevirt.io/vm-arch-"
OBSOLETE_HOST_MODEL = "node-labeller.kubevirt.io/obsolete-host-model"
MIGRATION_MODEL = "cpu-model-migration.node.kubevirt.io/"
HOST_MODEL_CPU, _HOST_MODEL_FEATURE = "host-model-cpu.node.kubevirt.io/", "host-model-required-features.node.kubevirt.io/"
RESERVATION = "pr.kubevirt.io/"
_HYPERV_LABELS = ("vpindex", "runtime", "reset", "synic", "synictimer", "frequencies", "reenlightenment", "tlbflush", "ipi")

# If no node has any label of a family, the node list is assumed to be incomplete.
_FAMILIES = (CPU_MODEL, CPU_FEATURE, CPU_VENDOR, MACHINE_TYPE, HYPERV, TSC, VM_ARCHITECTURE, MIGRATION_MODEL)
# Labels that the node labeller sets only on nodes with the capability.
_CAPABILITIES = frozenset((REALTIME, SEV, SEV_ES, SEV_SNP, TDX, S390_PV))
_LABELLER = ".node.kubevirt.io/"

# Prefixes of annotations that are not copied from the VMI to its pod.
_NOT_COPIED = ("kubectl.kubernetes.io", "kubevirt.io/latest-observed-api-version", "kubevirt.io/storage-observed-api-version")
# Fields that a pod gets from the VMI unchanged; no other field decides its placement.
_COPIED = ("topologySpreadConstraints", "schedulerName", "priorityClassName", "resourceClaims", "hostname")
_MAX_LENGTH = 63


def launcher_pod(
    vmi: Mapping[str, Any],
    kubevirt: Mapping[str, Any] | None,
    instancetype: Mapping[str, Any] | None = None,
    preference: Mapping[str, Any] | None = None,
    *,
    nodes: Iterable[Mapping[str, str]] = (),
    pvcs: Iterable[Mapping[str, Any]] = (),
    networks: Iterable[str] = (),
    resources: bool = True,
) -> Object:
    """Return the pod of a VMI under a KubeVirt resource, with the specs of an instance type and a preference.

    ``nodes`` are the labels of the cluster's nodes, which determine the TSC frequency; ``pvcs`` are claims, whose UIDs are used in the
    labels for disks with a persistent reservation; ``networks`` are the resources of its Multus networks. Without ``resources`` the pod
    has no resource requests. Raises InventoryError if KubeVirt creates no pod.
    """
    cluster = KubeVirtCluster(kubevirt or {})
    spec = apply_defaults(apply_specs(map_at(vmi, "spec"), instancetype, preference), cluster)
    metadata, name = metadata_of(vmi), name_of(vmi)
    machine = text_at(vmi, "status", "machine", "type") or map_at(spec, "domain", "machine")["type"]
    reservations = _reservations(spec, pvcs)
    pod: Object = {field: spec[field] for field in _COPIED if spec.get(field) is not None}
    pod["nodeSelector"] = _node_selector(spec, cluster, machine, nodes)
    affinity = _affinity(spec, cluster, reservations)
    if affinity is not None:
        pod["affinity"] = affinity
    pod["tolerations"] = spec["tolerations"] if spec.get("tolerations") is not None else []
    if cluster.runtime_class:
        pod["runtimeClassName"] = cluster.runtime_class
    _check_permitted(map_at(spec, "domain", "devices"), cluster)
    if resources:
        log = console_log_container(spec["domain"], cluster)
        pod["containers"] = [
            {"name": "compute", "resources": _resources(spec, cluster, networks, reserved=bool(reservations))},
            *([log] if log is not None else []),
        ]
    pod_metadata = {
        "name": f"virt-launcher-{name}",
        "namespace": text_at(metadata, "namespace") or "default",
        "labels": {**_labels(metadata, spec), **dict.fromkeys(reservations, "")},
        "annotations": _annotations(map_at(metadata, "annotations"), name, spec, machine),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod_metadata, "spec": pod}


# --- nodes -------------------------------------------------------------------------------------------------------------


def _node_selector(spec: Object, cluster: KubeVirtCluster, machine: str, nodes: Iterable[Mapping[str, str]]) -> object:
    """Return the nodeSelector: that of the KubeVirt resource, overridden by the user's, plus the labels that the VM needs."""
    architecture = spec["architecture"].lower()
    own = spec.get("nodeSelector")
    if own is not None and type(own) is not dict:
        return own  # The reader of the pod reports it.
    selector = {SCHEDULABLE: "true", ARCH: architecture, **cluster.node_selectors, **(own or {})}
    required = [*_required_labels(spec, cluster, architecture), *([f"{MACHINE_TYPE}{machine}"] if cluster.is_since(6) else ())]
    frequency = _tsc_frequency(spec, cluster, architecture, nodes)
    if frequency:
        required.append(f"{TSC}{frequency}")
    if cluster.has_gate(CROSS_ARCHITECTURE):
        del selector[ARCH]
        required.append(f"{VM_ARCHITECTURE}{architecture}")
    return {**selector, **dict.fromkeys(required, "true")}


def _required_labels(spec: Object, cluster: KubeVirtCluster, architecture: str) -> Iterator[str]:
    """Yield the node labels that the features of a VM require with the value ``"true"``."""
    domain = spec["domain"]
    cpu, security, hyperv = domain["cpu"], domain.get("launchSecurity"), map_at(domain, "features", "hyperv")
    if cpu.get("dedicatedCpuPlacement") is True:
        yield CPU_MANAGER if cluster.is_since(8) else OLD_CPU_MANAGER
    if cpu["model"] not in (HOST_MODEL, HOST_PASSTHROUGH):
        yield f"{CPU_MODEL}{cpu['model']}"
    for feature in maps_at(cpu, "features"):
        if feature.get("policy") in (None, "", "require"):
            yield f"{CPU_FEATURE}{text_at(feature, 'name')}"
    if type(cpu.get("realtime")) is dict:
        yield REALTIME
    if cluster.has_gate(HYPERV_STRICT_CHECK):
        yield from [f"{HYPERV}{name}" for name in _HYPERV_LABELS if enabled(hyperv.get(name))]
        if enabled(hyperv.get("evmcs")):
            yield f"{CPU_VENDOR}Intel"
    if type(security) is dict:
        yield from _protection(security, architecture, cluster)


def required_labels(spec: Mapping[str, Any], version: tuple[int, int] | None = None) -> frozenset[str]:
    """Return the node labels that a VMI requires by itself in a version of KubeVirt, whatever the defaults of its cluster."""
    cluster = KubeVirtCluster({} if version is None else {"version": version})
    full = apply_defaults(spec, cluster)
    named = text_at(spec, "domain", "machine", "type") if cluster.is_since(6) else ""
    return frozenset((*_required_labels(full, cluster, full["architecture"].lower()), *([f"{MACHINE_TYPE}{named}"] if named else [])))


def _protection(security: Object, architecture: str, cluster: KubeVirtCluster) -> Iterator[str]:
    sev, snp = map_at(security, "sev"), type(security.get("snp")) is dict
    if type(security.get("sev")) is dict or snp:
        yield SEV
    if map_at(sev, "policy").get("encryptedState") is True:
        yield SEV_ES
    if snp and cluster.is_since(7):
        yield SEV_SNP
    if type(security.get("tdx")) is dict and cluster.is_since(7):
        yield TDX
    if architecture == S390X and cluster.is_since(6):
        yield S390_PV


def _tsc_frequency(spec: Object, cluster: KubeVirtCluster, architecture: str, nodes: Iterable[Mapping[str, str]]) -> int | None:
    """Return the TSC frequency that every node must support, for VMs that rely on it (watch/topology hinter.go, tsc.go)."""
    features = maps_at(spec["domain"]["cpu"], "features")
    required = any(each.get("name") == "invtsc" and each.get("policy") in ("require", "force") for each in features)
    helpful = enabled(map_at(spec, "domain", "features", "hyperv").get("reenlightenment"))
    if architecture != AMD64 or not (required or helpful):
        return None
    minimum = cluster.minimum_tsc_frequency
    if minimum is None:
        return min(tsc_frequencies(nodes), default=None)
    if minimum > 0:
        return minimum
    if required:
        raise InventoryError(
            "failed to determine the lowest tsc frequency on the cluster: "
            f"the configured minimumClusterTSCFrequency must be greater 0, but got {minimum}"
        )
    return None


def _affinity(spec: Object, cluster: KubeVirtCluster, reservations: Iterable[str]) -> object:
    """Return the user's affinity with what virt-controller adds; None if there is neither."""
    own, cpu = spec.get("affinity"), spec["domain"]["cpu"]
    if own is not None and type(own) is not dict:
        return own
    absent = [OBSOLETE_HOST_MODEL] if cpu["model"] == HOST_MODEL else []
    absent += [f"{CPU_FEATURE}{text_at(each, 'name')}" for each in maps_at(cpu, "features") if each.get("policy") == "forbid"]
    affinity = own
    if absent:
        affinity = _with_node_requirements(affinity or {}, [{"key": key, "operator": "DoesNotExist"} for key in absent])
    if cluster.has_gate(CROSS_ARCHITECTURE):
        expression = {"key": ARCH, "operator": "In", "values": [spec["architecture"].lower()]}
        term = {"weight": 100, "preference": {"matchExpressions": [expression]}}
        affinity = _with_items(affinity or {}, "nodeAffinity", PREFERRED, [term])
    for key in reservations:
        selector = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
        affinity = _with_items(affinity or {}, "podAntiAffinity", REQUIRED, [{"labelSelector": selector, "topologyKey": HOSTNAME}])
    return affinity


def _with_node_requirements(affinity: Object, expressions: list[Object]) -> Object:
    """Add requirements to each of the ORed node selector terms, or in a new term if there are no terms."""
    nodes = affinity.get("nodeAffinity")
    if nodes is not None and type(nodes) is not dict:
        return affinity
    required = (nodes or {}).get(REQUIRED)
    if required is None:
        extended: object = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    elif type(required) is dict and type(required.get("nodeSelectorTerms")) is list:
        terms = [_with_appended(term, "matchExpressions", expressions) for term in required["nodeSelectorTerms"]]
        extended = {**required, "nodeSelectorTerms": terms}
    else:
        extended = required
    return {**affinity, "nodeAffinity": {**(nodes or {}), REQUIRED: extended}}


def _with_items(affinity: Object, kind: str, field: str, items: list[Object]) -> Object:
    terms = affinity.get(kind)
    return affinity if terms is not None and type(terms) is not dict else {**affinity, kind: _with_appended(terms or {}, field, items)}


def _with_appended(data: object, field: str, items: list[Object]) -> object:
    """Append items to one of the lists of a map; malformed data stays as it is, and the reader of the pod reports it."""
    if type(data) is not dict or not (data.get(field) is None or type(data[field]) is list):
        return data
    return {**data, field: [*(data.get(field) or []), *items]}


# --- what else the pod has ---------------------------------------------------------------------------------------------


def _reservations(spec: Object, pvcs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the labels that separate pods with a persistent reservation of the same disk; without a UID the claim's name is used."""
    reserving = {
        text_at(disk, "name") for disk in maps_at(spec, "domain", "devices", "disks") if map_at(disk, "lun").get("reservation") is True
    }
    if not reserving:
        return []
    uids = {name_of(claim): text_at(claim, "metadata", "uid") for claim in pvcs}
    claims = [claim_name(volume) for volume in maps_at(spec, "volumes") if volume.get("name") in reserving]
    return list(dict.fromkeys(f"{RESERVATION}{uids.get(claim) or claim}" for claim in claims if claim))


def _resources(spec: Object, cluster: KubeVirtCluster, networks: Iterable[str], *, reserved: bool) -> Object:
    """Return the resources of the compute container, with the devices of the node that the VM needs (renderresources.go)."""
    base = compute_resources(spec["domain"], cluster.cpu_allocation_ratio, cluster.memory_overcommit)
    # With huge pages, overcommitGuestOverhead has no effect.
    if map_at(spec, "domain", "memory", "hugepages") or map_at(spec, "domain", "resources").get("overcommitGuestOverhead") is not True:
        guest = parse_millis(base["requests"][MEMORY], MEMORY)
        base["requests"][MEMORY] = f"{guest + 1000 * memory_overhead(spec, cluster)}m"
    devices, security = map_at(spec, "domain", "devices"), spec["domain"].get("launchSecurity")
    interfaces = maps_at(devices, "interfaces")
    needed = {
        "kvm": not cluster.emulates,
        "tun": True,
        "vhost-net": not cluster.emulates and (not interfaces or any(each.get("model") in (None, "", "virtio") for each in interfaces)),
        "vhost-vsock": devices.get("autoattachVSOCK") is True,
        "sev": type(security) is dict and not {"sev", "snp"}.isdisjoint(security),
        "tdx": type(security) is dict and "tdx" in security,
        "pr-helper": reserved,
    }
    device_requests = {f"{DEVICES}{device}": "1" for device, is_needed in needed.items() if is_needed}
    found = {kind: {**base[kind], **device_requests} for kind in ("requests", "limits")}
    for resource, amounts in [(resource, amounts) for resource in networks for amounts in found.values()]:
        amounts[resource] = f"{parse_millis(amounts.get(resource), resource) + 1000}m"
    return found


DEVICES = "devices.kubevirt.io/"


def _check_permitted(devices: Object, cluster: KubeVirtCluster) -> None:
    for (field, _), name in forbidden_devices(devices, cluster):
        what = "GPU" if field == "gpus" else "HostDevice"
        raise InventoryError(f"{what} {name} is not permitted in permittedHostDevices configuration")


def forbidden_devices(devices: Object, cluster: KubeVirtCluster) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the field, the index and the name of each device of a VM that ``permittedHostDevices`` of the KubeVirt resource lacks.

    The VM then gets no pod: validatePermittedHostDevices, pkg/virt-controller/services/template.go.
    """
    permitted = cluster.permitted_devices
    for field in ("gpus", "hostDevices") if permitted is not None else ():
        for index, device in enumerate(maps_at(devices, field)):
            name = text_at(device, "deviceName")
            if name and not any(name in names for names in (permitted or {}).values()):
                yield (field, index), name


def _labels(metadata: Object, spec: Object) -> dict[str, str]:
    name = text_at(metadata, "name")
    hostname = text_at(spec, "hostname") or name.split(".")[0]
    values = {"uid": text_at(metadata, "uid"), "hostname": hostname[:_MAX_LENGTH].rstrip("-"), "machine": _identifier(name)}
    return fill_labels(VIRT_LAUNCHER, map_at(metadata, "labels"), values.__getitem__)


def _identifier(name: str) -> str:
    """Return the name of a VM as a label value; a name that is too long is cut and ends in a hash."""
    if len(name) <= _MAX_LENGTH:
        return name
    from hashlib import sha1

    return f"{name[: _MAX_LENGTH - 9]}-{sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]}"


def _annotations(own: Object, name: str, spec: Object, machine: str) -> Object:
    numbered = (spec["architecture"] == AMD64 and "q35" in machine) or spec["architecture"] == ARM64
    return {
        **{key: value for key, value in own.items() if not str(key).startswith(_NOT_COPIED)},
        "kubevirt.io/domain": name,
        "kubectl.kubernetes.io/default-container": "compute",
        "descheduler.alpha.kubernetes.io/request-evict-only": "",
        "kubevirt.io/migrationTransportUnix": "true",
        **({"kubevirt.io/pci-topology-version": "v3"} if numbered else {}),
    }


def is_reported_by_nodes(key: str, labels: Iterable[str]) -> bool:
    """Return whether the node labels of an inventory can show which nodes have a label that virt-controller requires."""
    family = next((each for each in _FAMILIES if key.startswith(each)), None)
    if family is not None:
        return any(label.startswith(family) for label in labels)
    if key in _CAPABILITIES:
        return any(_LABELLER in label for label in labels)
    return key in labels


def label_family(key: str) -> str:
    """Return a node label without its specific part: ``cpu-model.node.kubevirt.io/...``."""
    return next((f"{each}..." for each in _FAMILIES if key.startswith(each)), key)


# --- live migration ----------------------------------------------------------------------------------------------------


def target_labels(own: Iterable[str], running: Iterable[str], source: Mapping[str, str], *, host_model: bool) -> Iterator[str]:
    """Yield the node labels that the target of a migration requires in addition to its ``own``.

    ``running`` are the labels that the running pod requires, ``source`` those of its node. Semantics: ``createTargetPod`` and
    ``prepareNodeSelectorForHostCpuModel`` of KubeVirt's migration controller.
    """
    own = frozenset(own)
    if host_model:
        # virt-controller assumes that a VM whose pod already requires CPU features has migrated before.
        found = [key for key in running if CPU_FEATURE in key or MIGRATION_MODEL in key]
        yield from [key for key in found or _host_model_labels(source) if key not in own]
    if not any(key.startswith(CPU_VENDOR) for key in own):
        yield from [key for key, value in source.items() if key.startswith(CPU_VENDOR) and value == "true"]


def _host_model_labels(source: Mapping[str, str]) -> Iterator[str]:
    model = next((key.removeprefix(HOST_MODEL_CPU) for key in source if key.startswith(HOST_MODEL_CPU)), None)
    if model is not None:
        yield f"{MIGRATION_MODEL}{model}"
        yield from [f"{CPU_FEATURE}{key.removeprefix(_HOST_MODEL_FEATURE)}" for key in source if key.startswith(_HOST_MODEL_FEATURE)]


# The memory that KubeVirt requests for itself in a virt-launcher pod, beside the memory of the guest.
# Semantics: KubeVirt's pkg/hypervisor/kvm (GetMemoryOverhead), pkg/network/resources (Calculate) and pkg/virt-controller/services
# (serialconsolelog.go). The constants are those of KubeVirt 1.9; other versions differ by some MiB.


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
