"""The host ports that pods request.

Semantics: GetHostPorts and HostPortInfo of the scheduler (pkg/scheduler/framework/types.go), with the host ports that the API server sets
for pods with hostNetwork (SetDefaults_PodSpec).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.decoding import integer, mapping, sequence, string

ANY_ADDRESS = "0.0.0.0"
"""The address that conflicts with all others; ``::`` does not, for the scheduler."""


class _HostPortFields(NamedTuple):
    ip: str
    protocol: str
    port: int


class HostPort(_HostPortFields):
    """A host port of a container. ``path`` is its position in the pod spec, which does not take part in comparisons."""

    path: Path = ()


def read_ports(spec: Mapping[str, Any]) -> tuple[HostPort, ...]:
    """Return the host ports that a pod requests, in its containers and sidecars.

    Malformed containers request nothing. Raises InventoryError for malformed ports.
    """
    network = spec.get("hostNetwork") is True
    ports: dict[HostPort, None] = {}
    for field in ("initContainers", "containers"):
        containers = spec.get(field)
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, dict) and (field == "containers" or container.get("restartPolicy") == "Always"):
                where = f"spec.{field}[{index}].ports"
                for number, entry in enumerate(sequence(container.get("ports"), where)):
                    port = _read(entry, f"{where}[{number}]", (field, index, "ports", number), network=network)
                    if port is not None:
                        ports.setdefault(port)
    return tuple(ports)


def _read(data: object, where: str, path: Path, *, network: bool) -> HostPort | None:
    entry, name = mapping(data, where), "hostPort"
    number = integer(entry.get(name), f"{where}.{name}", 0)
    if not number and network:
        name = "containerPort"
        number = integer(entry.get(name), f"{where}.{name}", 0)
    if number <= 0:
        return None
    ip, protocol = (string(entry.get(field), f"{where}.{field}") for field in ("hostIP", "protocol"))
    port = HostPort(ip or ANY_ADDRESS, protocol or "TCP", number)
    port.path = (*path, name)
    return port


def ports_conflict(one: Iterable[HostPort], other: Iterable[HostPort]) -> bool:
    """Return whether two pods request the same port on the same address (HostPortInfo.CheckConflict)."""
    return any(
        mine.port == theirs.port and mine.protocol == theirs.protocol and (mine.ip == theirs.ip or ANY_ADDRESS in (mine.ip, theirs.ip))
        for mine in one
        for theirs in other
    )
