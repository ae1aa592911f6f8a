"""A virtual machine instance as KubeVirt stores it: with its instance type, its preference and the defaults applied.

Semantics: KubeVirt's pkg/instancetype (apply, preference/apply) and pkg/defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.controllers.kubevirt_cluster import KubeVirtCluster, enabled
from afflint.kube.decoding import InventoryError
from afflint.kube.quantities import parse_quantity
from afflint.yaml.document import map_at, maps_at, text_at

Spec = dict[str, Any]

_POD = "spec.template.spec"


# --- instance type and preference --------------------------------------------------------------------------------------


def apply_specs(spec: Mapping[str, Any], instancetype: Mapping[str, Any] | None, preference: Mapping[str, Any] | None) -> Spec:
    """Return the spec of a VMI with the specs of its instance type and preference applied.

    Raises InventoryError if the instance type sets a field that the VM sets, in which case KubeVirt creates no pod.
    """
    result = {**spec}
    if instancetype is not None:
        both = [f"{_POD}.{field}" for field in conflicts(result, instancetype)]
        if both:
            raise InventoryError(f"instancetype conflict: VM field(s) {', '.join(both)} conflicts with selected instance type")
        _apply_instancetype(result, instancetype)
    if preference is not None:
        _apply_preference(result, preference)
    return result


# The CPU fields of an instance type, with their names in a VMI.
_CPU_FIELDS = {
    "model": "model", "dedicatedCPUPlacement": "dedicatedCpuPlacement", "isolateEmulatorThread": "isolateEmulatorThread", "numa": "numa",
    "realtime": "realtime",
}  # fmt: skip
_TOPOLOGY = ("sockets", "cores", "threads")


def conflicts(spec: Mapping[str, Any], instancetype: Mapping[str, Any]) -> list[str]:
    """Return the fields of a VMI's spec that its instance type sets too, even to the same value (pkg/instancetype/apply)."""
    found = [
        field for field in ("nodeSelector", "schedulerName") if instancetype.get(field) is not None and spec.get(field) not in (None, "")
    ]
    domain, theirs = map_at(spec, "domain"), map_at(instancetype, "cpu")
    own = map_at(domain, "cpu")
    if theirs:
        found += [f"domain.cpu.{field}" for field in _TOPOLOGY if own.get(field)]
        for kind in ("requests", "limits"):
            found += [f"domain.resources.{kind}.cpu"] if "cpu" in map_at(domain, "resources", kind) else []
        found += [
            f"domain.cpu.{ours}"
            for field, ours in _CPU_FIELDS.items()
            if theirs.get(field) is not None and own.get(ours) not in (None, "", False)
        ]
    if map_at(instancetype, "memory"):
        found += ["domain.memory"] if domain.get("memory") is not None and map_at(domain, "memory").get("guest") else []
        for kind in ("requests", "limits"):
            found += [f"domain.resources.{kind}.memory"] if "memory" in map_at(domain, "resources", kind) else []
    if instancetype.get("launchSecurity") is not None and domain.get("launchSecurity") is not None:
        found.append("domain.launchSecurity")
    for field in ("gpus", "hostDevices"):
        if instancetype.get(field) and map_at(domain, "devices").get(field):
            found.append(f"domain.devices.{field}")
    return found


def _apply_instancetype(spec: Spec, instancetype: Mapping[str, Any]) -> None:
    for field in ("nodeSelector", "schedulerName"):
        if instancetype.get(field) is not None:
            spec[field] = instancetype[field]
    domain = spec["domain"] = {**map_at(spec, "domain")}
    theirs = map_at(instancetype, "cpu")
    if theirs:
        given = {ours: theirs[field] for field, ours in _CPU_FIELDS.items() if theirs.get(field) is not None}
        domain["cpu"] = {**map_at(domain, "cpu"), **given, **({"sockets": theirs["guest"]} if theirs.get("guest") is not None else {})}
    if map_at(instancetype, "memory"):
        _apply_memory(domain, map_at(instancetype, "memory"))
    if instancetype.get("launchSecurity") is not None:
        domain["launchSecurity"] = instancetype["launchSecurity"]
    devices = {field: instancetype[field] for field in ("gpus", "hostDevices") if instancetype.get(field)}
    if devices:
        domain["devices"] = {**map_at(domain, "devices"), **devices}


def _apply_memory(domain: Spec, theirs: Mapping[str, Any]) -> None:
    """Apply the guest memory; with overcommitPercent the pod requests less than the guest has."""
    own = domain["memory"] = {**map_at(domain, "memory")}
    own.update({field: theirs[field] for field in ("guest", "hugepages") if theirs.get(field) is not None})
    share = theirs.get("overcommitPercent")
    guest = parse_quantity(theirs.get("guest"))
    if type(share) is int and 0 < share < 100 and guest is not None:
        resources = {**map_at(domain, "resources")}
        resources["requests"] = {**map_at(resources, "requests"), "memory": f"{guest.milli * (100 - share) // 100}m"}
        domain["resources"] = resources


def _apply_preference(spec: Spec, preference: Mapping[str, Any]) -> None:
    """Set the fields of a preference that the VM leaves open (pkg/instancetype/preference/apply)."""
    architecture = text_at(preference, "preferredArchitecture")
    if architecture and not spec.get("architecture"):
        spec["architecture"] = architecture
    domain = spec["domain"] = {**map_at(spec, "domain")}
    machine = text_at(preference, "machine", "preferredMachineType")
    if machine and not text_at(domain, "machine", "type"):
        domain["machine"] = {**map_at(domain, "machine"), "type": machine}
    wanted = maps_at(preference, "cpu", "preferredCPUFeatures")
    if wanted:
        cpu = domain["cpu"] = {**map_at(domain, "cpu")}
        own = maps_at(cpu, "features")
        names = {each.get("name") for each in own}
        cpu["features"] = [*own, *[each for each in wanted if each.get("name") not in names]]
    hyperv = map_at(preference, "features", "preferredHyperv")
    if hyperv:
        features = domain["features"] = {**map_at(domain, "features")}
        given = {name: state for name, state in map_at(features, "hyperv").items() if state is not None}
        features["hyperv"] = {**hyperv, **given}
    if preference.get("preferredLaunchSecurity") is not None and domain.get("launchSecurity") is None:
        domain["launchSecurity"] = preference["preferredLaunchSecurity"]


# --- defaults ----------------------------------------------------------------------------------------------------------


def apply_defaults(spec: Mapping[str, Any], cluster: KubeVirtCluster) -> Spec:
    """Return the spec of a VMI with the defaults that affect its placement."""
    architecture = text_at(spec, "architecture") or cluster.default_architecture
    domain = {**map_at(spec, "domain")}
    if not text_at(domain, "machine", "type"):
        domain["machine"] = {**map_at(domain, "machine"), "type": cluster.machine_type(architecture.lower())}
    cpu = domain["cpu"] = {**map_at(domain, "cpu")}
    cpu["model"] = text_at(cpu, "model") or cluster.cpu_model(architecture.lower())
    hyperv = map_at(domain, "features", "hyperv")
    if hyperv:
        domain["features"] = {**map_at(domain, "features"), "hyperv": _with_dependencies(hyperv)}
        if enabled(hyperv.get("evmcs")):
            cpu["features"] = _requiring(maps_at(cpu, "features"), "vmx")
    return {**spec, "architecture": architecture, "domain": domain}


# Features of Hyper-V that need another one, dependants first: pkg/defaults/hyperv.go.
_NEEDS = {"synictimer": "synic", "synic": "vpindex", "tlbflush": "vpindex", "ipi": "vpindex"}


def _with_dependencies(hyperv: Mapping[str, Any]) -> Spec:
    """Enable the features that others need, unless they are disabled explicitly (KubeVirt rejects that elsewhere)."""
    result = {**hyperv}
    for feature, needed in _NEEDS.items():
        if enabled(result.get(feature)) and result.get(needed) is None:
            result[needed] = {"enabled": True}
    return result


def _requiring(features: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    if any(each.get("name") == name for each in features):
        return [{**each, "policy": "require"} if each.get("name") == name else each for each in features]
    return [*features, {"name": name, "policy": "require"}]


def claim_name(volume: Mapping[str, Any]) -> str:
    """Return the claim behind a volume, which has the name of the DataVolume that creates it; empty for other volumes."""
    return text_at(volume, "persistentVolumeClaim", "claimName") or text_at(volume, "dataVolume", "name")
