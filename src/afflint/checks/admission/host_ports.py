"""Host ports that the API server rejects: out of range, requested twice by one pod, or different from the port on the host network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from afflint.checks.admission.refusal_time import with_rejection_note
from afflint.checks.match import Match, Target
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted
from afflint.kube.constraints import ConstraintItem, items
from afflint.kube.types import INT32
from afflint.manifests.manifest import Workload
from afflint.yaml.placeholders import is_placeholder

_LAST = 65535
_DEFAULTED_IN_PODS = (1, 28)
"""Since this version hostPort is defaulted to containerPort for pods on the host network, but not in pod templates."""

_Key = tuple[str, str, int]
"""Protocol, address and number: a pod requests each host port once."""


def invalid_host_port(workload: Workload, target: Target) -> Iterator[Match]:
    """Report host ports out of range, requested twice by a pod, or different from containerPort on the host network."""
    on_host = workload.pod.get("hostNetwork") is True
    stored = workload.kind.name != "Pod" and target.version >= _DEFAULTED_IN_PODS
    for containers in _sharing_ports(workload):
        first: dict[_Key, Path] = {}
        for port in [port for container in containers for port in items(container.data, "ports", container.path)]:
            number, own = _number(port.data.get("hostPort")), _number(port.data.get("containerPort"))
            if number:
                yield from _faults(port, number, own if on_host and port.path[-4] == "containers" else None)
            requested = number or (own if on_host else None)
            key = _key(port.data, requested) if requested else None
            if key is not None and key in first:
                match = _duplicate(port, key, field_of(first[key][len(workload.pod_path) :]), named=bool(number))
                yield with_rejection_note(match, stored and not number)
            elif key is not None:
                first[key] = port.path


def _sharing_ports(workload: Workload) -> Iterator[Iterable[ConstraintItem]]:
    """Yield groups of containers that must not request the same host port: all containers, and each init container alone."""
    yield items(workload.pod, "containers", workload.pod_path)
    for container in items(workload.pod, "initContainers", workload.pod_path):
        yield [container]


def _faults(port: ConstraintItem, number: int, own: int | None) -> Iterator[Match]:
    """Yield the mistakes of a host port; ``own`` is the containerPort of a container on the host network."""
    path = (*port.path, "hostPort")
    if not 0 < number <= _LAST:
        yield Match(path, f"the host port {quoted(number)} is outside the range 1 to {_LAST}", f"Write a port number from 1 to {_LAST}.")
    elif own and own != number:
        message = f"hostPort {quoted(number)} differs from containerPort {quoted(own)}, but with `hostNetwork: true` both must be the same"
        yield Match(path, message, "Write the same number in both, or remove hostPort.", field=(*port.path, "containerPort"))


def _duplicate(port: ConstraintItem, key: _Key, first: str, *, named: bool) -> Match:
    """Return the match for a repeated host port; ``first`` requested it before, ``named`` is whether hostPort is set."""
    protocol, address, number = key
    port_name = f"the host port {quoted(f'{number}/{protocol}')}{f' of {address}' if address else ''}"
    message = f"this pod requests {port_name} twice: {first} requests it as well"
    if not named:
        message += ", because with `hostNetwork: true` each containerPort is also a host port"
    path, field = (*port.path, "hostPort" if named else "containerPort"), (*port.path, "hostPort")
    return Match(path, message, "Remove one of the two, or use another port.", field=field)


def _key(port: dict[str, Any], number: int) -> _Key | None:
    """Return the key of a host port; None if protocol or address is a placeholder."""
    protocol, address = (port.get(field) or "" for field in ("protocol", "hostIP"))
    if not isinstance(protocol, str) or not isinstance(address, str) or is_placeholder(protocol) or is_placeholder(address):
        return None
    return protocol or "TCP", address, number


def _number(value: object) -> int | None:
    """Return a port as the API server decodes it; None if it is absent or not a 32-bit integer, which `wrong-type` reports."""
    return int(value) if isinstance(value, int | float) and INT32.fits(value) else None
