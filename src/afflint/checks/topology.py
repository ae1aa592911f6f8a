"""The known topology of a run: which topology domains contain which, and how many nodes one has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from afflint.kube.node_labels import ZONE
from afflint.kube.selectors import Requirement
from afflint.pools.matching import PoolLabels, declared_keys

if TYPE_CHECKING:
    from afflint.checks.cluster_view import ClusterView
    from afflint.index.facts import Pods
    from afflint.inventory.node_files import NodeFact
    from afflint.pools.pool import Pool


class KnownTopology:
    """``views`` are the nodes with the workloads of each cluster that the manifests are for, ``pools`` those that have no nodes yet."""

    def __init__(self, views: Sequence[ClusterView] = (), pools: Sequence[Pool] = ()) -> None:
        self.views = tuple(views)
        self._pools = tuple(pools) if not views else ()
        self._whole: dict[tuple[str, str], bool] = {}

    @cached_property
    def _labels(self) -> list[PoolLabels]:
        keys = declared_keys(self._pools)
        return [PoolLabels(pool, keys) for pool in self._pools]

    def holds_whole(self, pods: Pods, key: str, other: str) -> bool:
        """Whether all nodes with one value of ``other`` have one value of ``key``, as far as the pods may use them.

        Then pods in two domains of ``key`` are in two of ``other``.
        """
        return any(_holds_whole(view.usable(pods), key, other) for view in self.views) or self._pools_hold_whole(key, other)

    def _pools_hold_whole(self, key: str, other: str) -> bool:
        if (key, other) not in self._whole:
            values: dict[str, set[str]] = {}
            known = bool(self._labels)
            for labels in self._labels:
                inside, around = _values(labels, other), labels.values(key)
                known = known and bool(inside) and len(around) == 1
                for value in inside:
                    values.setdefault(value, set()).update(around)
            self._whole[key, other] = known and all(len(found) == 1 for found in values.values())
        return self._whole[key, other]

    def most_in_one(self, pods: Pods, key: str) -> int | None:
        """Return the most replicas of a workload that its constraints allow in one domain of a key; None if unbounded or unknown.

        Only nodes are considered, not pools. The bound holds after rollouts, too.
        """
        found: int | None = None
        for view in self.views:
            most = _most_in_one(view, pods, key)
            if most is not None:
                found = most if found is None else min(found, most)
        return found

    def nodes_in_one(self, alternatives: Iterable[Sequence[Requirement]], key: str) -> int | None:
        """How many nodes that meet any of some demands there are in one domain of a key, of several, at most; None if unknown.

        By pools alone.
        """
        asked = list(alternatives)
        counts: dict[str, int] = {}
        for labels in self._labels:
            pool = labels.pool
            if all(labels.unmet(each) for each in asked):
                continue
            values = _values(labels, key)
            if not values or pool.most is None:
                return None
            for value in values:
                counts[value] = counts.get(value, 0) + pool.most
        return max(counts.values()) if len(counts) > 1 else None


def _values(labels: PoolLabels, key: str) -> tuple[str, ...]:
    """Return the values of a label that the nodes of a pool may have; none if they are unknown."""
    return labels.values(key) or (labels.pool.zones if key == ZONE else ())


def _holds_whole(nodes: Sequence[NodeFact], key: str, other: str) -> bool:
    values: dict[str, str] = {}
    for node in nodes:
        inside, around = node.labels.get(other), node.labels.get(key)
        if inside is None or around is None or values.setdefault(inside, around) != around:
            return False
    return bool(values)


def _most_in_one(view: ClusterView, pods: Pods, key: str) -> int | None:
    survey = view.survey
    number = view.numbers.get(pods.key)
    if number is None or not survey.bounded or number in survey.elastic:
        return None
    limits = [survey.limit(number, domain, lasting=True) for domain in survey.domains(key, number)]
    return max([limit.most for limit in limits if limit is not None], default=None) if None not in limits else None
