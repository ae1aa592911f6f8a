"""The HyperConverged resource of OpenShift Virtualization, read as the KubeVirt resource that its operator writes.

Semantics: hyperconverged-cluster-operator, controllers/handlers/kubevirt.go (NewKubeVirt), pkg/internal/nodeinfo and, for the eviction
strategy, pkg/webhooks/mutator (mutateEvictionStrategy). Fields of v1beta1 are directly below the spec, those of v1 in sections of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afflint.controllers.kubevirt_cluster import HYPERCONVERGED, HYPERV_STRICT_CHECK, LIVE_MIGRATE, OPENSHIFT
from afflint.kube.node_labels import WORKER
from afflint.yaml.document import map_at

Object = dict[str, Any]
NodeLabels = Sequence[Mapping[str, str]]

_OPENSHIFT_NODE = "node.openshift.io/os_id"
# Where v1 and v1beta1 have a field of the configuration of the KubeVirt resource.
_FIELDS: tuple[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], ...] = (
    (("evictionStrategy",), (("virtualization", "evictionStrategy"), ("evictionStrategy",))),
    (("cpuModel",), (("virtualization", "virtualMachineOptions", "defaultCPUModel"), ("defaultCPUModel",))),
    (("defaultRuntimeClass",), (("virtualization", "virtualMachineOptions", "defaultRuntimeClass"), ("defaultRuntimeClass",))),
    (
        ("developerConfiguration", "cpuAllocationRatio"),
        (("virtualization", "vmiCPUAllocationRatio"), ("resourceRequirements", "vmiCPUAllocationRatio")),
    ),
    (
        ("developerConfiguration", "memoryOvercommit"),
        (
            ("virtualization", "higherWorkloadDensity", "memoryOvercommitPercentage"),
            ("higherWorkloadDensity", "memoryOvercommitPercentage"),
        ),
    ),
)
_HOST_DEVICES = (("virtualization", "permittedHostDevices"), ("permittedHostDevices",))
_OPTIONS = (("virtualization", "virtualMachineOptions"), ("virtualMachineOptions",))
_WORKLOADS = (("deployment", "nodePlacements", "workload"), ("workloads", "nodePlacement"))
_BINDINGS = (("networking", "networkBinding"), ("networkBinding",))


def kubevirt_in_effect(kubevirt: Object | None, hyperconverged: Object | None, nodes: NodeLabels) -> Object:
    """Return the KubeVirt resource that virt-controller reads; empty if neither resource is known and the nodes are not OpenShift's.

    ``nodes`` are the labels of the nodes, empty if they are not known. The operator writes every field of the HyperConverged resource
    into the KubeVirt resource; the latter decides what the former leaves open. On OpenShift without either, the defaults are assumed.
    """
    if hyperconverged is not None:
        written = _as_kubevirt(hyperconverged)
        own = _strategy_by_topology(hyperconverged, nodes)
        base: Object = {"spec": {"configuration": {**_DEFAULTS, **({"evictionStrategy": own} if own else {})}}}
        return {**_merged(_merged(base, kubevirt or {}), written), "kind": HYPERCONVERGED}
    if kubevirt is not None:
        return kubevirt
    if not any(_OPENSHIFT_NODE in labels for labels in nodes):
        return {}
    return {"kind": OPENSHIFT, "spec": {"configuration": {**_DEFAULTS, "evictionStrategy": _by_workers(nodes)}}}


_DEFAULTS: Object = {
    "vmRolloutStrategy": "LiveUpdate",
    "network": {"defaultNetworkInterface": "masquerade", "binding": {"l2bridge": {"migration": {}}}},
    "developerConfiguration": {"featureGates": ["CPUManager", HYPERV_STRICT_CHECK]},
}
"""What the operator writes whatever its own resource says, as far as it affects placement."""


def _as_kubevirt(hyperconverged: Object) -> Object:
    """Return the fields that a HyperConverged resource sets, in a KubeVirt resource."""
    spec = map_at(hyperconverged, "spec")
    configuration: Object = {}
    for target, sources in _FIELDS:
        value = next((found for each in sources if (found := map_at(spec, *each[:-1]).get(each[-1])) is not None), None)
        if value is not None:
            _set(configuration, target, value)
    devices = next((found for each in _HOST_DEVICES if (found := map_at(spec, *each))), None)
    if devices:
        renamed = {"usb" if field == "usbHostDevices" else field: value for field, value in devices.items()}
        configuration["permittedHostDevices"] = renamed
    if any(map_at(spec, *each).get("disableSerialConsoleLog") is True for each in _OPTIONS):
        configuration["virtualMachineOptions"] = {"disableSerialConsoleLog": {}}
    bindings = next((found for each in _BINDINGS if (found := map_at(spec, *each))), None)
    if bindings:
        configuration["network"] = {"binding": bindings}
    placement = next((found for each in _WORKLOADS if (found := map_at(spec, *each))), None)
    return {"spec": {"configuration": configuration, **({"workloads": {"nodePlacement": placement}} if placement else {})}}


def _set(data: Object, path: Iterable[str], value: object) -> None:
    *above, last = path
    for step in above:
        data = data.setdefault(step, {})
    data[last] = value


def _merged(base: Object, over: Mapping[str, Any]) -> Object:
    """Return ``base`` with the fields of ``over``, map by map."""
    result = {**base}
    for key, value in over.items():
        below = result.get(key)
        result[key] = _merged(below, value) if type(below) is dict and type(value) is dict else value
    return result


def _strategy_by_topology(hyperconverged: Object, nodes: NodeLabels) -> str:
    """Return the eviction strategy that the webhook of the operator sets by default; empty if the number of workers is unknown."""
    available = map_at(hyperconverged, "status").get("infrastructureHighlyAvailable")
    if type(available) is bool:
        return LIVE_MIGRATE if available else "None"
    return _by_workers(nodes) if nodes else ""


def _by_workers(nodes: NodeLabels) -> str:
    """Return LiveMigrate for several workers, None for one; lists written by hand may leave the role of nodes out."""
    workers = sum(WORKER in labels for labels in nodes)
    return LIVE_MIGRATE if (workers or len(nodes)) > 1 else "None"
