"""The resource requests of a virt-launcher pod, from the domain of its virtual machine and KubeVirt's defaults.

``launcher_overhead`` has the memory that KubeVirt adds for itself. The storage that it adds is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.kube.decoding import fail, flag, integer, mapping, sequence, string
from afflint.kube.quantities import LARGEST, parse_quantity
from afflint.scheduler.requests import CPU, HUGE_PAGES, MEMORY

_RESOURCES = "spec.domain.resources"


def compute_resources(data: object, cpu_ratio: int = 10, overcommit: int = 100) -> dict[str, Any]:
    """Return the ``resources`` of the compute container, from ``spec.domain``. Raises InventoryError.

    ``cpu_ratio`` is the number of virtual CPUs per requested CPU, ``overcommit`` the guest's memory in percent of the requested memory.
    """
    domain = mapping(data, "spec.domain")
    resources = mapping(domain.get("resources"), _RESOURCES)
    limits = dict(mapping(resources.get("limits"), f"{_RESOURCES}.limits"))
    requests = dict(mapping(resources.get("requests"), f"{_RESOURCES}.requests"))
    asked = {resource: parse_millis(requests.get(resource, 0), f"{_RESOURCES}.requests[{resource!r}]") for resource in (CPU, MEMORY)}
    capped = {resource: parse_millis(limits.get(resource, 0), f"{_RESOURCES}.limits[{resource!r}]") for resource in (CPU, MEMORY)}
    for resource in (CPU, MEMORY):
        if capped[resource] and not asked[resource]:
            asked[resource] = capped[resource]
            requests[resource] = _format_millis(capped[resource])
    cpu = mapping(domain.get("cpu"), "spec.domain.cpu")
    vcpus = _vcpus(cpu, asked[CPU], capped[CPU])
    memory = mapping(domain.get("memory"), "spec.domain.memory")
    if flag(cpu.get("dedicatedCpuPlacement"), "spec.domain.cpu.dedicatedCpuPlacement"):
        emulator = flag(cpu.get("isolateEmulatorThread"), "spec.domain.cpu.isolateEmulatorThread")
        requests[CPU] = _format_millis(1000 * (vcpus + emulator))
    elif CPU not in requests:
        requests[CPU] = _format_millis(-(-1000 * vcpus // cpu_ratio))
    requests.update(_memory(memory, asked[MEMORY], overcommit, given=MEMORY in requests))
    requests.update(_devices(mapping(domain.get("devices"), "spec.domain.devices")))
    return {"requests": requests, "limits": {resource: limit for resource, limit in limits.items() if resource != MEMORY}}


def vcpu_count(domain: Mapping[str, Any]) -> int:
    """Return the number of virtual CPUs of a domain. Raises InventoryError."""
    resources = mapping(domain.get("resources"), _RESOURCES)
    given = [parse_millis(mapping(resources.get(kind), f"{_RESOURCES}.{kind}").get(CPU), _RESOURCES) for kind in ("requests", "limits")]
    return _vcpus(mapping(domain.get("cpu"), "spec.domain.cpu"), given[0], given[1])


def _vcpus(cpu: Mapping[str, Any], asked: int, capped: int) -> int:
    """Return cores x sockets x threads; if none is set, the CPUs of the limits or requests, else 1."""
    topology = [integer(cpu.get(field), f"spec.domain.cpu.{field}", 0) for field in ("cores", "sockets", "threads")]
    if not any(topology):
        return -(-(capped or asked) // 1000) or 1
    vcpus = 1
    for number in topology:
        if number:
            vcpus *= number
    return min(vcpus, LARGEST)


def _memory(memory: Mapping[str, Any], asked: int, overcommit: int, *, given: bool) -> dict[str, str]:
    """Return the requested memory, else the guest's. Huge pages back the guest memory, plain memory the rest of the request."""
    guest = parse_millis(memory.get("guest", 0), "spec.domain.memory.guest")
    pages = mapping(memory.get("hugepages"), "spec.domain.memory.hugepages")
    size = string(pages.get("pageSize"), "spec.domain.memory.hugepages.pageSize")
    if not given:
        asked = (guest or (parse_millis(size, "spec.domain.memory.hugepages.pageSize") if size else 0)) * 100 // overcommit
    if not size:
        return {MEMORY: _format_millis(asked)}
    backed = min(asked, guest) if guest else asked
    written = str(memory["guest"]) if backed == guest else _format_millis(backed)
    return {f"{HUGE_PAGES}{size}": written, MEMORY: _format_millis(asked - backed)}


def _devices(devices: Mapping[str, Any]) -> dict[str, str]:
    """Return one unit of its resource for each GPU and host device."""
    counts: dict[str, int] = {}
    for field in ("gpus", "hostDevices"):
        where = f"spec.domain.devices.{field}"
        for index, item in enumerate(sequence(devices.get(field), where)):
            name = string(mapping(item, f"{where}[{index}]").get("deviceName"), f"{where}[{index}].deviceName")
            if name:
                counts[name] = counts.get(name, 0) + 1
    return {name: str(count) for name, count in counts.items()}


def parse_millis(data: object, what: str) -> int:
    """Return a quantity in thousandths, 0 for None. Raises InventoryError, with ``what`` as the name of the field."""
    quantity = parse_quantity(0 if data is None else data)
    if quantity is None or quantity.nanos < 0:
        fail(what, "is not a valid quantity")
    return quantity.milli


def _format_millis(millis: int) -> str:
    return f"{millis}m"
