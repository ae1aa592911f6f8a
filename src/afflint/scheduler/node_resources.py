"""The plugin NodeResourcesFit: whether the allocatable resources of a node are enough for one more pod; and scores by resources.

Semantics: pkg/scheduler/framework/plugins/noderesources (fit.go fitsRequest, least_allocated.go, balanced_allocation.go).
"""

from __future__ import annotations

from afflint.findings.namedtuples import NamedTuple
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy
from afflint.scheduler.pods import Pod
from afflint.scheduler.requests import CPU, MEMORY, Rated, Requests

NODE_RESOURCES_FIT = "NodeResourcesFit"
BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation"
RESOURCE_SCORES = (NODE_RESOURCES_FIT, BALANCED_ALLOCATION)
"""The plugins that score nodes by resources, in the order of their scores."""


class Shortage(NamedTuple):
    """A resource that is too scarce on a node for a pod: the amount that the pod requests, and the amount that is left."""

    resource: str
    asked: int
    left: int


def filter_nodes(candidates: list[int], requests: Requests, table: NodeTable, occupancy: Occupancy) -> list[int]:
    """Return the candidates with enough resources for the requests. An unknown amount of a resource is enough."""
    for resource, asked in requests:
        most, used = table.amounts(resource), occupancy.used(resource)
        candidates = [node for node in candidates if (amount := most[node]) is None or used.get(node, 0) + asked <= amount]
    return candidates


def shortages(node: int, requests: Requests, table: NodeTable, occupancy: Occupancy) -> list[Shortage]:
    """Return the resources that are too scarce on the node, in the order of the scheduler."""
    scarce = []
    for resource, asked in requests:
        amount = table.amounts(resource)[node]
        if amount is not None:
            left = amount - occupancy.used(resource).get(node, 0)
            if asked > left:
                scarce.append(Shortage(resource, asked, left))
    return scarce


def scores(feasible: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy, version: tuple[int, int]) -> dict[str, list[int]]:
    """Return the scores of the feasible nodes by plugin, in the default configuration.

    NodeResourcesFit scores the least allocated node best. NodeResourcesBalancedAllocation scores a node best if equal fractions of CPU and
    memory are requested, from 1.36 on if the pod makes the fractions more equal; it is skipped for a pod that requests neither. A node
    without allocatable resources scores like a node with none.
    """
    by_plugin = {NODE_RESOURCES_FIT: _least_allocated(feasible, pod.scored, table, occupancy)}
    requests = dict(pod.requests)
    asked = requests.get(CPU, 0), requests.get(MEMORY, 0)
    if any(asked):
        balanced = _balanced(feasible, asked, table, occupancy)
        if version >= SCORES_IMPROVEMENT:
            before = _balanced(feasible, (0, 0), table, occupancy)
            balanced = [50 + (50 + new - old) // 2 for new, old in zip(balanced, before, strict=True)]
        by_plugin[BALANCED_ALLOCATION] = balanced
    return by_plugin


SCORES_IMPROVEMENT = (1, 36)
"""From this version on NodeResourcesBalancedAllocation compares the balance of a node with and without the pod."""


def _least_allocated(nodes: list[int], asked: Rated, table: NodeTable, occupancy: Occupancy) -> list[int]:
    totals, counts = [0] * len(nodes), [0] * len(nodes)
    for resource, amount in zip((CPU, MEMORY), asked, strict=True):
        column, rated = table.amounts(resource), occupancy.rated(resource)
        for place, node in enumerate(nodes):
            most = column[node]
            if most:
                counts[place] += 1
                left = most - rated.get(node, 0) - amount
                if left > 0:
                    totals[place] += left * 100 // most
    return [total // count if count else 0 for total, count in zip(totals, counts, strict=True)]


def _balanced(nodes: list[int], asked: tuple[int, int], table: NodeTable, occupancy: Occupancy) -> list[int]:
    most_cpu, most_memory = table.amounts(CPU), table.amounts(MEMORY)
    used_cpu, used_memory = occupancy.used(CPU), occupancy.used(MEMORY)
    more_cpu, more_memory = asked
    scores = []
    for node in nodes:
        cpu, memory = most_cpu[node], most_memory[node]
        deviation = 0.0
        if cpu and memory:
            of_cpu = (used_cpu.get(node, 0) + more_cpu) / cpu
            of_memory = (used_memory.get(node, 0) + more_memory) / memory
            # Not min(), which takes longer than all the rest.
            deviation = abs((of_cpu if of_cpu < 1 else 1.0) - (of_memory if of_memory < 1 else 1.0)) / 2
        scores.append(int((1 - deviation) * 100))
    return scores
