"""Groups rendered roots by cluster: no manifest shows it, but overlays of one base are hardly applied to the same cluster.

Overlays for production and for tests use the same host ports, and their anti-affinity matches the same labels. If they were scheduled on
one cluster, the simulation would report a lack of nodes that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple


class Root(NamedTuple):
    """A render root with its name in reports, and the objects that cannot exist twice in one cluster.

    ``objects`` are the workloads that it creates, and the files that define them.
    """

    name: str
    objects: frozenset[Hashable]


def clusters_of(roots: Mapping[str, Root]) -> list[frozenset[str]]:
    """Return the roots of each cluster; an empty list if no two roots exclude each other.

    Roots that exclude no other root are left out, as they may be part of any cluster. The words that distinguish a root from those that it
    excludes name its cluster: `production` of one application and `production` of another are the same cluster.
    """
    words = {root: frozenset(re.findall(r"[^\W_]+", each.name)) for root, each in roots.items()}
    distinguishing: dict[str, set[str]] = {}
    for group in _groups(roots):
        shared = frozenset.intersection(*[words[root] for root in group])
        for root in group:
            distinguishing.setdefault(root, set()).update(words[root] - shared)
    named: dict[tuple[str, ...], list[_GuessedCluster]] = {}
    for root, distinguishing_words in distinguishing.items():
        clusters = named.setdefault(tuple(sorted(distinguishing_words)), [])
        cluster = next((each for each in clusters if each.objects.isdisjoint(roots[root].objects)), None)
        if cluster is None:
            cluster = _GuessedCluster(set(), set())
            clusters.append(cluster)
        cluster.roots.add(root)
        cluster.objects.update(roots[root].objects)
    return [frozenset(cluster.roots) for _, clusters in sorted(named.items()) for cluster in clusters]


class _GuessedCluster(NamedTuple):
    roots: set[str]
    objects: set[Hashable]


def _groups(roots: Mapping[str, Root]) -> Iterator[list[str]]:
    """Yield the roots that create the same object."""
    creators = grouped((what, root) for root, each in roots.items() for what in each.objects)
    return (found for found in creators.values() if len(found) > 1)
