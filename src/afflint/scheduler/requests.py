"""What pods request and what nodes have: resource lists as the API server stores them and the scheduler sums them up.

Amounts are integers: thousandths of a CPU, bytes of memory and storage, units of anything else. Semantics: PodRequests
(k8s.io/component-helpers/resource/helpers.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from afflint.kube.decoding import fail, mapping, sequence
from afflint.kube.quantities import parse_quantity

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
HUGE_PAGES = "hugepages-"

REPORTED = (PODS, CPU, MEMORY, "ephemeral-storage")
"""The resources that every kubelet reports, in the order in which the scheduler reads them."""

Requests = tuple[tuple[str, int], ...]
"""The requests of a pod by resource, in the order of the scheduler; resources without a request are left out."""

Rated = tuple[int, int]
"""The CPU and memory of a pod for scores: a container without requests counts with a default."""

Millis = dict[str, int]
"""Amounts by resource in thousandths, the finest unit that the API server keeps, so that sums are exact."""


def read_requests(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Requests:
    """Return what a pod uses of its node: one pod, and its requests with its overhead. Raises InventoryError.

    ``status`` matters for a running pod that is being resized.
    """
    total = _total(spec, status)
    total[PODS] = 1000
    amounts = {resource: _amount(resource, millis) for resource, millis in total.items() if _is_counted(resource)}
    scalars = sorted(amounts.keys() - set(REPORTED))
    return tuple([(resource, amounts[resource]) for resource in (*REPORTED, *scalars) if amounts.get(resource)])


def read_rated(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Rated:
    """Return the CPU and memory of a pod for scores (pkg/scheduler/util GetNonzeroRequests). Raises InventoryError."""
    total = _total(spec, status, _DEFAULT_REQUESTS)
    return _amount(CPU, total.get(CPU, 0)), _amount(MEMORY, total.get(MEMORY, 0))


# 0.1 CPU and 200 MiB, in thousandths (DefaultMilliCPURequest, DefaultMemoryRequest).
_DEFAULT_REQUESTS: Millis = {CPU: 100, MEMORY: 200 * 2**20 * 1000}


def _total(spec: Mapping[str, Any], status: Mapping[str, Any], unstated: Mapping[str, int] | None = None) -> Millis:
    total = _Containers(status, unstated or {}).total(spec)
    _override(total, mapping(spec.get("resources"), "spec.resources"))
    _add(total, _list(spec.get("overhead"), "spec.overhead"))
    return total


def read_allocatable(status: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the allocatable resources of a node; None if its status lists none. Raises InventoryError."""
    # The API server sets an absent allocatable to the capacity (SetDefaults_NodeStatus).
    field = "allocatable" if status.get("allocatable") is not None else "capacity"
    listed = _list(status.get(field), f"status.{field}")
    return {resource: _amount(resource, millis) for resource, millis in listed.items()} or None


def _is_counted(resource: str) -> bool:
    """Return whether the scheduler reads the resource: the standard ones, huge pages, and those with a domain."""
    if resource in REPORTED or resource.startswith((HUGE_PAGES, "attachable-volumes-")):
        return True
    return "/" in resource and ("kubernetes.io/" in resource or not resource.startswith("requests."))


def _amount(resource: str, millis: int) -> int:
    return millis if resource == CPU else -(-millis // 1000)


def _list(data: object, what: str) -> Millis:
    amounts = {}
    for resource, value in mapping(data, what).items():
        if not isinstance(resource, str):
            fail(what, "has a key that is not a string")
        quantity = parse_quantity(0 if value is None else value)
        if quantity is None:
            fail(f"{what}[{resource!r}]", f"is {_shown(value)}, which is not a quantity")
        if quantity.nanos < 0:
            fail(f"{what}[{resource!r}]", f"is {_shown(value)}, which is negative")
        amounts[resource] = quantity.milli
    return amounts


def _shown(value: object) -> str:
    return repr(value)[:40] if isinstance(value, str | int | float) else "a list or a map"


class _Containers:
    """The containers of one pod. A container that is being resized counts with the maximum of requested, allocated and actual."""

    def __init__(self, status: Mapping[str, Any], unstated: Mapping[str, int]) -> None:
        self._unstated = unstated
        self._statuses: dict[str, Mapping[str, Any]] = {}
        for field in ("initContainerStatuses", "containerStatuses"):
            for index, item in enumerate(sequence(status.get(field), f"status.{field}")):
                entry = mapping(item, f"status.{field}[{index}]")
                if entry.get("resources") is not None:
                    self._statuses[str(entry.get("name"))] = entry
        self._infeasible = bool(self._statuses) and any(
            condition.get("type") == "PodResizePending" and condition.get("reason") == "Infeasible"
            for condition in _maps(status.get("conditions"), "status.conditions")
        )

    def total(self, spec: Mapping[str, Any]) -> Millis:
        """Return the sum over the containers, or the requests of an init container with the sidecars before it, if larger."""
        total: Millis = {}
        for container, where in _containers(spec, "containers"):
            _add(total, self._requests(container, where, resizable=True))
        sidecars: Millis = {}
        most: Millis = {}
        for container, where in _containers(spec, "initContainers"):
            restartable = container.get("restartPolicy") == "Always"
            requests = self._requests(container, where, resizable=restartable)
            if restartable:
                _add(total, requests)
                _add(sidecars, requests)
                requests = sidecars
            else:
                _add(requests, sidecars)
            _raise(most, requests)
        _raise(total, most)
        return total

    def _requests(self, container: Mapping[str, Any], where: str, *, resizable: bool) -> Millis:
        resources = mapping(container.get("resources"), f"{where}.resources")
        requests = _with_limits(resources, f"{where}.resources")
        status = self._statuses.get(str(container.get("name"))) if resizable else None
        if status is not None:
            if self._infeasible:
                requests = {}
            actual = mapping(status.get("resources"), "status.containerStatuses.resources")
            _raise(requests, _list(actual.get("requests"), "status.containerStatuses.resources.requests"))
            _raise(requests, _list(status.get("allocatedResources"), "status.containerStatuses.allocatedResources"))
        return {**self._unstated, **requests}


def _containers(spec: Mapping[str, Any], field: str) -> Iterable[tuple[dict[str, Any], str]]:
    for index, item in enumerate(sequence(spec.get(field), f"spec.{field}")):
        where = f"spec.{field}[{index}]"
        yield mapping(item, where), where


def _maps(data: object, what: str) -> list[dict[str, Any]]:
    return [mapping(item, f"{what}[{index}]") for index, item in enumerate(sequence(data, what))]


def _with_limits(resources: Mapping[str, Any], where: str) -> Millis:
    """Return the requests; the API server sets an absent request to the limit."""
    return {**_list(resources.get("limits"), f"{where}.limits"), **_list(resources.get("requests"), f"{where}.requests")}


def _override(total: Millis, resources: Mapping[str, Any]) -> None:
    """Replace the sum by the pod-level requests; pod-level limits apply if nothing else requests the resource."""
    for resource, millis in _list(resources.get("limits"), "spec.resources.limits").items():
        if _is_pod_level(resource) and (resource not in total or resource.startswith(HUGE_PAGES)):
            total[resource] = millis
    for resource, millis in _list(resources.get("requests"), "spec.resources.requests").items():
        if _is_pod_level(resource):
            total[resource] = millis


def _is_pod_level(resource: str) -> bool:
    return resource in (CPU, MEMORY) or resource.startswith(HUGE_PAGES)


def _add(total: Millis, more: Millis) -> None:
    for resource, millis in more.items():
        total[resource] = total.get(resource, 0) + millis


def _raise(total: Millis, least: Millis) -> None:
    for resource, millis in least.items():
        total[resource] = max(total.get(resource, 0), millis)
