"""Pools of nodes as classes from which nodes are made, with the numbers that somebody asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from afflint.findings.errors import UserError
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.placement.node_classes import NodeClass
from afflint.pools.matching import PoolLabels, declared_keys
from afflint.pools.pool import Pool


class UnknownPoolError(UserError):
    """A number of nodes for a pool that no manifest declares."""


def growing(pools: Sequence[Pool]) -> list[NodeClass]:
    """The pools that may make more nodes than there are, as classes without a bound; how many of the nodes are theirs nobody knows."""
    return [replace(each, count=None) for each in classes_of(pools, {}) if each.count is None or each.least != each.count]


def classes_of(pools: Sequence[Pool], counts: Mapping[str, int]) -> list[NodeClass]:
    """A class for each pool, with ``counts`` nodes where it is named there, else as many as it says. Raises UnknownPoolError."""
    names = {pool.name for pool in pools}
    for name in counts:
        if name not in names:
            raise UnknownPoolError(f"--count: no node pool is named {quoted(name)}{did_you_mean(nearest(name, names))}")
    keys = declared_keys(pools)
    classes = []
    for pool in pools:
        each = len(pool.zones) if pool.per_zone else 1
        least, most = (bound if bound is None else bound * each for bound in (pool.least, pool.most))
        if pool.name in counts:
            least = most = counts[pool.name]
        taints = tuple([taint.taint for taint in pool.taints])
        known = PoolLabels(pool, keys)
        classes.append(NodeClass(pool.name, {}, taints, count=most, varied=frozenset(), least=least or 0, known=known))
    return classes
