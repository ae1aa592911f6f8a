"""Which of the roots that were rendered are for different clusters: no manifest says so, but overlays of one base hardly share one.

Those for production and for tests ask for the same ports of the host, and keep away from pods of the same labels. Were they taken to run
side by side, there would be too little room that nobody lacks.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping

from afflint.findings.namedtuples import NamedTuple


class Root(NamedTuple):
    """A root as reports call it, and what one cluster would hardly get from another one as well: the objects with pods that it makes,
    and the files of those that it is made of.
    """

    name: str
    makes: frozenset[Hashable]


def clusters_of(roots: Mapping[str, Root]) -> list[frozenset[str]]:
    """The roots of each cluster, without those that exclude no other, as these may be of any; none where no two exclude each other.

    What tells a root from those that it excludes names its cluster: `production` in one application is that of the next.
    """
    words = {root: frozenset(re.findall(r"[^\W_]+", each.name)) for root, each in roots.items()}
    telling: dict[str, set[str]] = {}
    for group in _groups(roots):
        shared = frozenset.intersection(*[words[root] for root in group])
        for root in group:
            telling.setdefault(root, set()).update(words[root] - shared)
    named: dict[tuple[str, ...], list[_GuessedCluster]] = {}
    for root, its_words in telling.items():
        clusters = named.setdefault(tuple(sorted(its_words)), [])
        cluster = next((each for each in clusters if each.makes.isdisjoint(roots[root].makes)), None)
        if cluster is None:
            cluster = _GuessedCluster(set(), set())
            clusters.append(cluster)
        cluster.roots.add(root)
        cluster.makes.update(roots[root].makes)
    return [frozenset(cluster.roots) for _, clusters in sorted(named.items()) for cluster in clusters]


class _GuessedCluster(NamedTuple):
    roots: set[str]
    makes: set[Hashable]


def _groups(roots: Mapping[str, Root]) -> Iterator[list[str]]:
    """The roots that make the same."""
    making: dict[Hashable, list[str]] = {}
    for root, each in roots.items():
        for what in each.makes:
            making.setdefault(what, []).append(root)
    return (found for found in making.values() if len(found) > 1)
