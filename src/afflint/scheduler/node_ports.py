"""The filter NodePorts: two pods with the same host port cannot share a node (pkg/scheduler/framework/plugins/nodeports)."""

from __future__ import annotations

from afflint.scheduler.host_ports import HostPort
from afflint.scheduler.occupancy import Occupancy

NODE_PORTS = "NodePorts"


def nodes_using(ports: tuple[HostPort, ...], occupancy: Occupancy) -> set[int]:
    """Return the nodes on which any of the ports is in use."""
    return {node for port in ports for tally in occupancy.on_port(port) for node in tally}


def filter_nodes(nodes: list[int], ports: tuple[HostPort, ...], occupancy: Occupancy) -> list[int]:
    """Return the nodes on which all of the ports are free; the same list if that is all of them."""
    in_use = nodes_using(ports, occupancy)
    return nodes if in_use.isdisjoint(nodes) else [node for node in nodes if node not in in_use]
