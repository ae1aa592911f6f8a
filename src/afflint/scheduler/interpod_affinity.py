"""The plugin InterPodAffinity: nodes that running pods attract a pod to, and nodes that they exclude.

Semantics: pkg/scheduler/framework/plugins/interpodaffinity (filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from afflint.kube.selectors import Malformed, matches
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import OF_REQUIRED, Occupancy, Tally
from afflint.scheduler.pods import Pod, Term, parsed_terms

INTER_POD_AFFINITY = "InterPodAffinity"

Attraction = dict[str, dict[str | None, int]]
"""How much running pods attract a pod (or repel it, below zero), by topology key and value."""


def inspected_keys(pod: Pod, occupancy: Occupancy, *, scoring: bool) -> Iterator[tuple[str, Tally]]:
    """Yield the topology keys of the terms that concern the pod, each with the pods that the term counts.

    These are the pod's own terms and the terms of running pods that select it.
    """
    affinity = parsed_terms(pod.affinity)
    if affinity:
        companions = occupancy.matching_terms(*affinity)
        for term in affinity:
            yield term.key, companions
    for term in parsed_terms(pod.anti_affinity):
        yield term.key, occupancy.matching_terms(term)
    for term, tally in occupancy.forbidding(pod.subject):
        yield term.key, tally
    if scoring:
        for terms in (pod.preferred_affinity, pod.preferred_anti_affinity):
            for weighted in parsed_terms(terms):
                yield weighted.term.key, occupancy.matching_terms(weighted.term)
        for weighted, tally in occupancy.drawing(pod.subject):
            yield weighted.term.key, tally


def filter_nodes(candidates: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy, directory: Directory) -> list[int]:
    """Return the candidates that neither the pod's required terms nor the anti-affinity of running pods rejects."""
    if isinstance(pod.affinity, Malformed) or isinstance(pod.anti_affinity, Malformed):
        return []
    if INTER_POD_AFFINITY in pod.rules.profile.disabled:
        return candidates
    if pod.affinity:
        candidates = with_affinity(candidates, pod, pod.affinity, table, occupancy, directory)
    for key, values in excluded_values(pod, table, occupancy).items():
        column = table.column(key)
        candidates = [node for node in candidates if column[node] not in values]
    return candidates


def excluded_values(pod: Pod, table: NodeTable, occupancy: Occupancy) -> dict[str, set[str | None]]:
    """Return the label values that required anti-affinity excludes, by topology key: the pod's own and that of running pods."""
    if not pod.anti_affinity and not occupancy.forbids:
        return {}
    values_by_key: dict[str, set[str | None]] = {}
    for term in parsed_terms(pod.anti_affinity):
        values_by_key.setdefault(term.key, set()).update(_values(table, term.key, occupancy.matching_terms(term)))
    for term, tally in occupancy.forbidding(pod.subject):
        values_by_key.setdefault(term.key, set()).update(_values(table, term.key, tally))
    for values in values_by_key.values():
        values.discard(None)  # nodes without the key do not take part
    return {key: values for key, values in values_by_key.items() if values}


def with_affinity(
    candidates: list[int], pod: Pod, terms: tuple[Term, ...], table: NodeTable, occupancy: Occupancy, directory: Directory
) -> list[int]:
    """Return the candidates that share a domain, for each term, with a running pod that matches all terms (satisfyPodAffinity)."""
    companions = occupancy.matching_terms(*terms)
    wanted = {term.key: _values(table, term.key, companions) - {None} for term in terms}
    # The first pod of a group with affinity to itself: no pod matches yet, and its own terms select it.
    first = not any(wanted.values()) and all(selects(term, pod, directory) for term in terms)
    for key, values in wanted.items():
        column = table.column(key)
        candidates = [node for node in candidates if (column[node] is not None if first else column[node] in values)]
    return candidates


def selects(term: Term, pod: Pod, directory: Directory) -> bool:
    """Return whether a term of an incoming pod selects a pod."""
    names = directory.scope(term)
    return (names is None or pod.namespace in names) and matches(term.selector, pod.labels)


def _values(table: NodeTable, key: str, nodes: Iterable[int]) -> set[str | None]:
    column = table.column(key)
    return {column[node] for node in nodes}


def scores(feasible: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy) -> list[int] | None:
    """Return the score of each feasible node, normalized to 0..100; None if no term applies, so that the plugin is skipped."""
    profile = pod.rules.profile
    if profile.ignores_preferences and not (pod.preferred_affinity or pod.preferred_anti_affinity):
        return None
    pull: Attraction = {}
    for terms in (pod.preferred_affinity, pod.preferred_anti_affinity):
        for weight, term in parsed_terms(terms):
            _attract(pull, table, term.key, weight, occupancy.matching_terms(term))
    for (weight, term), tally in occupancy.drawing(pod.subject):
        if weight != OF_REQUIRED:
            _attract(pull, table, term.key, weight, tally)
        elif profile.required_weight:
            _attract(pull, table, term.key, profile.required_weight, tally)
    if not pull:
        return None
    raw = [0] * len(feasible)
    for key, by_value in pull.items():
        column = table.column(key)
        raw = [score + by_value.get(column[node], 0) for score, node in zip(raw, feasible, strict=True)]
    least, most = min(raw), max(raw)
    if least == most:
        return [0] * len(feasible)
    # The same order of operations as in NormalizeScore, so that rounding is equal.
    return [int(100.0 * ((score - least) / (most - least))) for score in raw]


def satisfied_preferences(feasible: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy) -> tuple[int, list[int]]:
    """Return the sum of the weights of the pod's own preferred terms, and for each feasible node the weights of those it satisfies.

    An affinity term is satisfied if a matching pod runs in the domain, an anti-affinity term if none does. This is for reports: the
    scheduler counts a weight once for each matching pod.
    """
    possible, satisfied = 0, [0] * len(feasible)
    for sign, terms in ((1, pod.preferred_affinity), (-1, pod.preferred_anti_affinity)):
        for weight, term in parsed_terms(terms):
            possible += abs(weight)
            column = table.column(term.key)
            taken = {column[node] for node, count in occupancy.matching_terms(term).items() if count} - {None}
            satisfied = [
                current + abs(weight) * ((column[node] in taken) == (sign > 0)) for current, node in zip(satisfied, feasible, strict=True)
            ]
    return possible, satisfied


def _attract(pull: Attraction, table: NodeTable, key: str, weight: int, tally: Tally) -> None:
    column = table.column(key)
    for node, count in tally.items():
        value = column[node]
        if value is not None:
            by_value = pull.setdefault(key, {})
            by_value[value] = by_value.get(value, 0) + weight * count
