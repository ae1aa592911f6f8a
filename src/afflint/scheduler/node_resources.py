"""NodeResourcesFit: whether what a node has is enough for what the pods on it ask for and one more pod."""

from __future__ import annotations

from typing import NamedTuple

from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy
from afflint.scheduler.requests import Requests

NODE_RESOURCES_FIT = "NodeResourcesFit"


class Shortage(NamedTuple):
    """A resource that a node has too little of for one more pod: what the pod asks for, and what is left."""

    resource: str
    asked: int
    left: int


def admitted(candidates: list[int], requests: Requests, table: NodeTable, occupancy: Occupancy) -> list[int]:
    """The candidates that have room for the requests. Where it is not known how much of a resource a node has, there is."""
    for resource, asked in requests:
        most, used = table.amounts(resource), occupancy.used(resource)
        candidates = [node for node in candidates if (amount := most[node]) is None or used.get(node, 0) + asked <= amount]
    return candidates


def shortages(node: int, requests: Requests, table: NodeTable, occupancy: Occupancy) -> list[Shortage]:
    """What the node lacks for the requests, in the order in which the scheduler looks at resources."""
    found = []
    for resource, asked in requests:
        amount = table.amounts(resource)[node]
        if amount is not None:
            left = amount - occupancy.used(resource).get(node, 0)
            if asked > left:
                found.append(Shortage(resource, asked, left))
    return found
