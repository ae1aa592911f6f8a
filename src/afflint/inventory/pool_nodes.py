"""Node pools as node classes, with the numbers of nodes that the user requests."""

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
    """Return the pools that may create more nodes, as unbounded classes, since the number of existing nodes of a pool is unknown."""
    return [replace(each, count=None) for each in classes_of(pools, {}) if each.count is None or each.least != each.count]


def classes_of(pools: Sequence[Pool], counts: Mapping[str, int]) -> list[NodeClass]:
    """Return a class for each pool, with the number of nodes in ``counts`` or else as declared. Raises UnknownPoolError."""
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
