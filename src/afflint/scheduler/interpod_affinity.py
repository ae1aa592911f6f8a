"""InterPodAffinity: which nodes the pods that already run draw a pod to, and which they keep it away from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from afflint.kube.selectors import Malformed, matches
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy, Tally
from afflint.scheduler.pods import Pod, Term, readable

INTER_POD_AFFINITY = "InterPodAffinity"

Pull = dict[str, dict[str | None, int]]
"""By topology key and value, how much running pods draw a pod there (or, below zero, repel it)."""


def looked_at(pod: Pod, occupancy: Occupancy, *, scoring: bool) -> Iterator[tuple[str, Tally]]:
    """The topology keys that the pod's terms, and those of running pods that select it, read, each with the pods that they count."""
    affinity = readable(pod.affinity)
    if affinity:
        companions = occupancy.matching_terms(*affinity)
        for term in affinity:
            yield term.key, companions
    for term in readable(pod.anti_affinity):
        yield term.key, occupancy.matching_terms(term)
    for term, tally in occupancy.forbidding(pod.subject):
        yield term.key, tally
    if scoring:
        for terms in (pod.preferred_affinity, pod.preferred_anti_affinity):
            for weighted in readable(terms):
                yield weighted.term.key, occupancy.matching_terms(weighted.term)
        for weighted, tally in occupancy.drawing(pod.subject):
            yield weighted.term.key, tally


def admitted(candidates: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy, directory: Directory) -> list[int]:
    """The candidates that neither the pod's required terms nor the anti-affinity of running pods rejects."""
    if isinstance(pod.affinity, Malformed) or isinstance(pod.anti_affinity, Malformed):
        return []
    if pod.affinity:
        candidates = _drawn(candidates, pod, pod.affinity, table, occupancy, directory)
    for key, values in barred(pod, table, occupancy).items():
        column = table.column(key)
        candidates = [node for node in candidates if column[node] not in values]
    return candidates


def barred(pod: Pod, table: NodeTable, occupancy: Occupancy) -> dict[str, set[str | None]]:
    """By topology key the values that required anti-affinity rules out: the pod's own, or that of running pods."""
    if not pod.anti_affinity and not occupancy.forbids:
        return {}
    found: dict[str, set[str | None]] = {}
    for term in readable(pod.anti_affinity):
        found.setdefault(term.key, set()).update(_values(table, term.key, occupancy.matching_terms(term)))
    for term, tally in occupancy.forbidding(pod.subject):
        found.setdefault(term.key, set()).update(_values(table, term.key, tally))
    for values in found.values():
        values.discard(None)  # neither a running pod nor a node without the key takes part
    return {key: values for key, values in found.items() if values}


def _drawn(
    candidates: list[int], pod: Pod, terms: tuple[Term, ...], table: NodeTable, occupancy: Occupancy, directory: Directory
) -> list[int]:
    """The candidates that share a topology value, for each of the terms, with a running pod that matches all of them."""
    companions = occupancy.matching_terms(*terms)
    wanted = {term.key: _values(table, term.key, companions) - {None} for term in terms}
    # The first of a group that wants to be together: nobody is there yet, and the pod itself is whom it looks for.
    first = not any(wanted.values()) and all(selects(term, pod, directory) for term in terms)
    for key, values in wanted.items():
        column = table.column(key)
        candidates = [node for node in candidates if (column[node] is not None if first else column[node] in values)]
    return candidates


def selects(term: Term, pod: Pod, directory: Directory) -> bool:
    """Whether a term of an incoming pod selects a pod."""
    names = directory.scope(term)
    return (names is None or pod.namespace in names) and matches(term.selector, pod.labels)


def _values(table: NodeTable, key: str, nodes: Iterable[int]) -> set[str | None]:
    column = table.column(key)
    return {column[node] for node in nodes}


def scores(feasible: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy) -> list[int] | None:
    """The score of each feasible node, stretched to 0..100; None when no term of anybody applies: the plugin is then skipped."""
    pull: Pull = {}
    for terms in (pod.preferred_affinity, pod.preferred_anti_affinity):
        for weight, term in readable(terms):
            _pull(pull, table, term.key, weight, occupancy.matching_terms(term))
    for (weight, term), tally in occupancy.drawing(pod.subject):
        _pull(pull, table, term.key, weight, tally)
    if not pull:
        return None
    raw = [0] * len(feasible)
    for key, by_value in pull.items():
        column = table.column(key)
        raw = [score + by_value.get(column[node], 0) for score, node in zip(raw, feasible, strict=True)]
    least, most = min(raw), max(raw)
    if least == most:
        return [0] * len(feasible)
    # Dividing first and multiplying afterwards loses the same fractions as the scheduler does.
    return [int(100.0 * ((score - least) / (most - least))) for score in raw]


def wishes(feasible: list[int], pod: Pod, table: NodeTable, occupancy: Occupancy) -> tuple[int, list[int]]:
    """The sum of the weights of the pod's own preferred terms, and for each feasible node those of the terms that it meets.

    A term of affinity is met where a pod that matches runs in the same domain, one of anti-affinity where none does. That is for people
    to read: the scheduler counts a weight once for each such pod.
    """
    possible, met = 0, [0] * len(feasible)
    for sign, terms in ((1, pod.preferred_affinity), (-1, pod.preferred_anti_affinity)):
        for weight, term in readable(terms):
            possible += abs(weight)
            column = table.column(term.key)
            taken = {column[node] for node, count in occupancy.matching_terms(term).items() if count} - {None}
            met = [sofar + abs(weight) * ((column[node] in taken) == (sign > 0)) for sofar, node in zip(met, feasible, strict=True)]
    return possible, met


def _pull(pull: Pull, table: NodeTable, key: str, weight: int, tally: Tally) -> None:
    column = table.column(key)
    for node, count in tally.items():
        value = column[node]
        if value is not None:
            by_value = pull.setdefault(key, {})
            by_value[value] = by_value.get(value, 0) + weight * count
