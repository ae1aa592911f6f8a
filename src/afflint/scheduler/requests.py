"""What pods request and what nodes have: resource lists as the API server stores them and the scheduler sums them up.

Amounts are integers: thousandths of a CPU, bytes of memory and storage, units of anything else. Semantics: PodRequests
(k8s.io/component-helpers/resource/helpers.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import fail, mapping, sequence
from afflint.kube.quantities import parse_quantity
from afflint.yaml.document import map_at

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


class Demands(NamedTuple):
    """What a pod uses of its node.

    ``rated`` is for the scores of other pods while it runs, ``scored`` for its own while it is scheduled: NodeResourcesFit scores an
    incoming pod without its pod-level resources (``getScorer`` of noderesources).
    """

    requests: Requests
    rated: Rated
    scored: Rated


def read_demands(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Demands:
    """Return what a pod uses of its node: one pod, and its requests with its overhead. Raises InventoryError.

    ``status`` matters for a running pod that is being resized.
    """
    containers = _Containers(spec, status)
    total = containers.total()
    total[PODS] = 1000
    amounts = {resource: _amount(resource, millis) for resource, millis in total.items() if _is_counted(resource)}
    scalars = sorted(amounts.keys() - set(REPORTED))
    requests = tuple([(resource, amounts[resource]) for resource in (*REPORTED, *scalars) if amounts.get(resource)])
    rated = _rated(containers.total(_DEFAULT_REQUESTS))
    return Demands(requests, rated, _rated(containers.total(_DEFAULT_REQUESTS, pod_level=False)) if spec.get("resources") else rated)


def _rated(total: Millis) -> Rated:
    return _amount(CPU, total.get(CPU, 0)), _amount(MEMORY, total.get(MEMORY, 0))


# 0.1 CPU and 200 MiB, in thousandths (DefaultMilliCPURequest, DefaultMemoryRequest).
_DEFAULT_REQUESTS: Millis = {CPU: 100, MEMORY: 200 * 2**20 * 1000}
_NO_REQUESTS: Millis = {}


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
    """The containers of one pod.

    A pod that is being resized counts with the highest of three sums over the pod: what it requests, what its node has allocated, and what
    applies to its containers now. The status of the pod has the last two, if all is in it, otherwise those of its containers. What the pod
    requests does not count if its node can never provide it (AggregateContainerRequests, containerAllocatedRequests and
    containerActuatedRequests of k8s.io/component-helpers/resource, as of 1.37; before, the maximum was that of each container).
    """

    def __init__(self, spec: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        self._spec = spec
        self._status = status
        self._requested = {
            field: [
                (container, _with_limits(container.get("resources"), f"{where}.resources")) for container, where in _containers(spec, field)
            ]
            for field in ("initContainers", "containers")
        }
        self._statuses = {
            str(entry.get("name")): entry
            for field in ("initContainerStatuses", "containerStatuses")
            for entry in _maps(status.get(field), f"status.{field}")
            if entry.get("resources") is not None or entry.get("allocatedResources") is not None
        }
        # Mostly, everything is equal, as written already.
        raw = {str(each.get("name")): map_at(each, "resources").get("requests") for each, _ in chain(*self._requested.values())}
        self._resized = status.get("allocatedResources") is not None or any(
            amounts not in (None, raw.get(name))
            for name, entry in self._statuses.items()
            for amounts in (entry.get("allocatedResources"), map_at(entry, "resources").get("requests"))
        )
        self._infeasible = bool(self._statuses) and any(
            condition.get("type") == "PodResizePending" and condition.get("reason") == "Infeasible"
            for condition in _maps(status.get("conditions"), "status.conditions")
        )

    def total(self, unstated: Mapping[str, int] = _NO_REQUESTS, *, pod_level: bool = True) -> Millis:
        """Return the requests of the pod; ``unstated`` are those of a container without any."""
        total = self._of_containers(unstated)
        if pod_level and self._spec.get("resources"):
            total.update(self._of_pod())
        _add(total, _list(self._spec.get("overhead"), "spec.overhead"))
        return total

    def _of_containers(self, unstated: Mapping[str, int]) -> Millis:
        requested = self._sum(unstated, _as_requested)
        if not (self._resized or self._infeasible):
            return requested
        total: Millis = {} if self._infeasible else requested
        allocated, actual = (_in_status(self._status, field) for field in _ALLOCATED_AND_ACTUAL)
        if allocated is None or actual is None:
            allocated, actual = self._sum(unstated, self._allocated), self._sum(unstated, self._actual)
        _raise(total, allocated)
        _raise(total, actual)
        return total

    def _of_pod(self) -> Millis:
        """Return the requests of the pod as a whole, which replace those of its containers.

        Where it sets limits only, the API server adds requests: those of the containers, or the limits (``defaultPodRequests``).
        """
        resources = mapping(self._spec.get("resources"), "spec.resources")
        requests, limits = (_list(resources.get(field), f"spec.resources.{field}") for field in ("requests", "limits"))
        if limits:
            containers = self._sum({}, _as_requested)
            pages = {resource: millis for resource, millis in limits.items() if resource.startswith(HUGE_PAGES)}
            requests = {**limits, **containers, **pages, **requests}
        found: Millis = {} if self._infeasible else {resource: millis for resource, millis in requests.items() if _is_pod_level(resource)}
        overhead = _list(self._spec.get("overhead"), "spec.overhead")
        for field in _ALLOCATED_AND_ACTUAL if requests else ():
            amounts = _in_status(self._status, field) or {}
            _raise(found, {resource: millis - overhead.get(resource, 0) for resource, millis in amounts.items() if _is_pod_level(resource)})
        return found

    def _sum(self, unstated: Mapping[str, int], amounts_of: Callable[[Mapping[str, Any], Millis], Millis]) -> Millis:
        """Return the sum over the containers, or the requests of an init container with the sidecars before it, if larger."""
        total: Millis = {}
        for container, requests in self._requested["containers"]:
            _add(total, {**unstated, **amounts_of(container, requests)})
        sidecars: Millis = {}
        most: Millis = {}
        for container, requests in self._requested["initContainers"]:
            amounts = {**unstated, **amounts_of(container, requests)}
            if container.get("restartPolicy") == "Always":
                _add(total, amounts)
                _add(sidecars, amounts)
                amounts = sidecars
            else:
                _add(amounts, sidecars)
            _raise(most, amounts)
        _raise(total, most)
        return total

    def _allocated(self, container: Mapping[str, Any], requests: Millis) -> Millis:
        allocated = self._statuses.get(str(container.get("name")), {}).get("allocatedResources")
        if allocated is not None:
            return _list(allocated, "status.containerStatuses.allocatedResources")
        return {} if self._infeasible else requests

    def _actual(self, container: Mapping[str, Any], requests: Millis) -> Millis:
        resources = mapping(self._statuses.get(str(container.get("name")), {}).get("resources"), "status.containerStatuses.resources")
        if resources.get("requests") is not None:
            return _list(resources["requests"], "status.containerStatuses.resources.requests")
        return self._allocated(container, requests)


def _as_requested(_container: Mapping[str, Any], requests: Millis) -> Millis:
    return requests


_ALLOCATED_AND_ACTUAL = ("allocatedResources", "resources")


def _in_status(status: Mapping[str, Any], field: str) -> Millis | None:
    """Return what the status of a pod says of the whole pod: what its node has allocated, or what applies now; None without it."""
    amounts = status.get(field)
    if field == "resources" and amounts is not None:
        field, amounts = "resources.requests", mapping(amounts, "status.resources").get("requests")
    return None if amounts is None else _list(amounts, f"status.{field}")


def _containers(spec: Mapping[str, Any], field: str) -> Iterable[tuple[dict[str, Any], str]]:
    for index, item in enumerate(sequence(spec.get(field), f"spec.{field}")):
        where = f"spec.{field}[{index}]"
        yield mapping(item, where), where


def _maps(data: object, what: str) -> list[dict[str, Any]]:
    return [mapping(item, f"{what}[{index}]") for index, item in enumerate(sequence(data, what))]


def _with_limits(data: object, where: str) -> Millis:
    """Return the requests; the API server sets an absent request to the limit."""
    resources = mapping(data, where)
    return {**_list(resources.get("limits"), f"{where}.limits"), **_list(resources.get("requests"), f"{where}.requests")}


def _is_pod_level(resource: str) -> bool:
    return resource in (CPU, MEMORY) or resource.startswith(HUGE_PAGES)


def _add(total: Millis, more: Millis) -> None:
    for resource, millis in more.items():
        total[resource] = total.get(resource, 0) + millis


def _raise(total: Millis, least: Millis) -> None:
    for resource, millis in least.items():
        total[resource] = max(total.get(resource, 0), millis)
