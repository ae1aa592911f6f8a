"""The plugin PodTopologySpread: how evenly the pods that a constraint selects are spread over topology domains.

Semantics: pkg/scheduler/framework/plugins/podtopologyspread (filtering.go, scoring.go, common.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from afflint.kube.node_labels import HOSTNAME, ZONE
from afflint.kube.selectors import EVERYTHING, Malformed, Selector, matches
from afflint.scheduler.node_fit import NodeFit
from afflint.scheduler.node_groups import RepresentativeNodes
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy, Tally
from afflint.scheduler.pods import Pod, SpreadConstraint

POD_TOPOLOGY_SPREAD = "PodTopologySpread"


def default_constraints(selector: Selector) -> tuple[SpreadConstraint, ...]:
    """Return the system default constraints of a pod without any (plugin.go systemDefaultConstraints).

    ``selector`` is that of its services and its owner; there are no constraints if it selects everything.
    """
    if selector == EVERYTHING:
        return ()
    return (SpreadConstraint(HOSTNAME, 3, 1, selector), SpreadConstraint(ZONE, 5, 1, selector))


def inspected_keys(constraints: tuple[SpreadConstraint, ...], pod: Pod, occupancy: Occupancy) -> Iterator[tuple[str, Tally]]:
    """Yield the topology keys of constraints of the pod, each with the pods that the constraint counts."""
    for constraint in constraints:
        yield constraint.key, occupancy.matching_selector(constraint.selector, pod.namespace)


def unparsable(constraints: tuple[SpreadConstraint, ...]) -> bool:
    """Return whether a selector cannot be parsed, so that scheduling fails with an error."""
    return any(isinstance(constraint.selector, Malformed) for constraint in constraints)


def filter_nodes(candidates: list[int], pod: Pod, fit: NodeFit, table: NodeTable, occupancy: Occupancy) -> list[int]:
    """Return the candidates that no hard constraint of the pod rejects."""
    for constraint in pod.hard_spread:
        candidates = filter_by_constraint(candidates, constraint, pod, fit, table, occupancy)
    return candidates


def filter_by_constraint(
    candidates: list[int], constraint: SpreadConstraint, pod: Pod, fit: NodeFit, table: NodeTable, occupancy: Occupancy
) -> list[int]:
    """Return the candidates that one hard constraint of the pod does not reject."""
    column = table.column(constraint.key)
    members, empty_domains = fit.domains(constraint, tuple([each.key for each in pod.hard_spread]))
    domains: dict[str | None, int] = {}
    for node, count in occupancy.matching_selector(constraint.selector, pod.namespace).items():
        if members[node]:
            domains[column[node]] = domains.get(column[node], 0) + count
    # The global minimum is 0 if a domain is empty, or if there are fewer domains than minDomains.
    filled = len(domains) == len(empty_domains) >= constraint.min_domains
    least = min(domains.values(), default=0) if filled else 0
    most = constraint.max_skew + least - matches(constraint.selector, pod.labels)
    # A value whose nodes are all excluded by inclusion policies is not a domain and counts no pods.
    return [node for node in candidates if column[node] is not None and domains.get(column[node], 0) <= most]


def scores(
    feasible: list[int],
    constraints: tuple[SpreadConstraint, ...],
    pod: Pod,
    fit: NodeFit,
    table: NodeTable,
    occupancy: Occupancy,
    picked: RepresentativeNodes,
) -> list[int]:
    """Return the score of each feasible node under these soft constraints: the fewer matching pods, the better.

    ``feasible`` are representatives; what counts nodes counts all that they represent. A node without one of the keys of the pod's own
    constraints scores 0; the default constraints ignore missing keys.
    """
    strict = pod.has_spread
    keys = tuple([constraint.key for constraint in constraints]) if strict else ()
    rated = feasible
    for key in keys:
        column = table.column(key)
        rated = [node for node in rated if column[node] is not None]
    raw = dict.fromkeys(rated, 0.0)
    for constraint in constraints:
        column = table.column(constraint.key)
        tally = occupancy.matching_selector(constraint.selector, pod.namespace)
        if not tally:
            for node in rated:
                if column[node] is not None:
                    raw[node] += constraint.max_skew - 1
            continue
        if constraint.key == HOSTNAME:
            counts = {node: tally.get(node, 0) for node in rated}
            size = picked.count(rated)
        else:
            members, _ = fit.domains(constraint, keys)
            # A missing label counts as the empty value here, but adds no score below.
            domains = dict.fromkeys([column[node] or "" for node in rated], 0)
            for node, count in tally.items():
                value = column[node] or ""
                if members[node] and value in domains:
                    domains[value] += count
            counts = {node: domains[column[node] or ""] for node in rated}
            marks, alone = table.marks(constraint.key)
            # There are as many unique values as nodes that the representatives represent.
            size = len(domains) if not alone else len(domains) + sum([picked.stands_for[node] - 1 for node in rated if marks[node] is True])
        weight = log(size + 2)
        for node in rated:
            if column[node] is not None:
                raw[node] += counts[node] * weight + (constraint.max_skew - 1)
    return _normalized(feasible, {node: _rounded(score) for node, score in raw.items()})


def _rounded(score: float) -> int:
    """Round half away from zero, as Go's math.Round; Python's round() rounds half to even."""
    whole = int(score)
    return whole + (score - whole >= 0.5)


def _normalized(feasible: list[int], raw: dict[int, int]) -> list[int]:
    least, most = min(raw.values(), default=0), max(raw.values(), default=0)
    if most <= 0:
        return [100 if node in raw else 0 for node in feasible]
    return [100 * (most + least - raw[node]) // most if node in raw else 0 for node in feasible]
