"""Scores by resources with other strategies, resources or weights than the default ones.

Semantics: pkg/scheduler/framework/plugins/noderesources (resource_allocation.go, least_allocated.go, most_allocated.go,
requested_to_capacity_ratio.go, balanced_allocation.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from afflint.scheduler.node_resources import BALANCED_ALLOCATION, NODE_RESOURCES_FIT, SCORES_IMPROVEMENT
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy
from afflint.scheduler.pods import Pod
from afflint.scheduler.profile import ResourceScoring
from afflint.scheduler.requests import CPU, MEMORY, PODS, REPORTED

LEAST_ALLOCATED, MOST_ALLOCATED, CAPACITY_RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, CAPACITY_RATIO)


def strategy_scores(
    scoring: ResourceScoring, feasible: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy, version: tuple[int, int]
) -> dict[str, list[int]]:
    """Return the scores of the feasible nodes by plugin; see ``node_resources.scores``."""
    requests = dict(pod.requests)
    by_plugin = {NODE_RESOURCES_FIT: [_fit(scoring, node, pod, requests, table, occupancy) for node in feasible]}
    asked = [(name, requests.get(name, 0)) for name in scoring.balanced if name != PODS]
    if any(amount for _, amount in asked):
        # A pod does not balance an extended resource that it does not request.
        counted = [(name, amount) for name, amount in asked if amount or name in REPORTED]
        balanced = [_balance(node, counted, table, occupancy) for node in feasible]
        if version >= SCORES_IMPROVEMENT:
            without = [(name, 0) for name, _ in counted]
            before = [_balance(node, without, table, occupancy) for node in feasible]
            balanced = [50 + (50 + new - old) // 2 for new, old in zip(balanced, before, strict=True)]
        by_plugin[BALANCED_ALLOCATION] = balanced
    return by_plugin


def _fit(scoring: ResourceScoring, node: int, pod: Pod, requests: dict[str, int], table: NodeTable, occupancy: Occupancy) -> int:
    total = weights = 0
    for name, weight in scoring.resources:
        most = _scored(name, table)[node]
        if name in (CPU, MEMORY):
            taken = occupancy.rated(name).get(node, 0) + pod.scored[name == MEMORY]
        else:
            taken = occupancy.used(name).get(node, 0) + requests.get(name, 0)
        if not most or (name not in REPORTED and name not in requests):
            continue
        score = _score(scoring, taken, most)
        if score or scoring.strategy != CAPACITY_RATIO:
            total += score * weight
            weights += weight
    if not weights:
        return 0
    return int(total / weights + 0.5) if scoring.strategy == CAPACITY_RATIO else total // weights


def _scored(resource: str, table: NodeTable) -> list[int | None]:
    """Return the amount of a resource on each node for scores: pods never score (``calculateResourceAllocatableRequest``)."""
    return [0] * len(table.nodes) if resource == PODS else table.amounts(resource)


def _score(scoring: ResourceScoring, taken: int, most: int) -> int:
    if scoring.strategy == LEAST_ALLOCATED:
        return (most - taken) * 100 // most if taken <= most else 0
    used = min(taken, most) * 100 // most
    return used if scoring.strategy == MOST_ALLOCATED else _on_line(scoring.shape, used)


def _on_line(shape: Sequence[tuple[int, int]], utilization: int) -> int:
    """Return the value of the broken line through the points (BuildBrokenLinearFunction)."""
    before: tuple[int, int] | None = None
    for point in shape:
        if utilization <= point[0]:
            if before is None:
                return point[1]
            # Go truncates the quotient toward zero.
            return before[1] + int((point[1] - before[1]) * (utilization - before[0]) / (point[0] - before[0]))
        before = point
    return before[1] if before is not None else 0


def _balance(node: int, asked: Sequence[tuple[str, int]], table: NodeTable, occupancy: Occupancy) -> int:
    """Return how equal the requested fractions of some resources are on a node, from 0 to 100."""
    fractions = [
        min((occupancy.used(name).get(node, 0) + amount) / most, 1.0) for name, amount in asked if (most := _scored(name, table)[node])
    ]
    if len(fractions) == 2:
        deviation = abs(fractions[0] - fractions[1]) / 2
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = sqrt(sum([(fraction - mean) ** 2 for fraction in fractions]) / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100)
