"""Completes pools with what other manifests add to them: templates, classes, autoscalers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.pools.pool import Key, Label, Pool, PoolPart, PoolTaint

_MAX_DEPTH = 4


def resolve_references(pools: Iterable[Pool], parts: Iterable[PoolPart]) -> list[Pool]:
    """Return the pools, completed by the parts that they name.

    Labels and taints are unknown if a part is missing or ambiguous. A pool that is declared twice, as in a base and in an overlay, is
    returned twice: the cluster may get either.
    """
    by_key = grouped((part.key, part) for part in parts)
    return [_complete(pool, by_key) for pool in pools]


def _complete(pool: Pool, by_key: Mapping[Key, list[PoolPart]]) -> Pool:
    for key in pool.optional:
        candidates = by_key.get(key, [])
        for part in candidates[:1]:
            pool = _apply_scale(_add_part(pool, part), candidates)
    waiting = [(key, 0) for key in pool.parts]
    for key, depth in waiting:
        candidates = [part for part in by_key.get(key, ()) if _same_place(part, pool)] or by_key.get(key, [])
        alike = {(part.labels, part.taints) for part in candidates}
        if len(alike) != 1:
            pool = pool._replace(closed=False)
            continue
        pool = _apply_scale(_add_part(pool, candidates[0]), candidates)
        if depth < _MAX_DEPTH:
            waiting += [(each, depth + 1) for each in candidates[0].parts]
    return pool


def _same_place(part: PoolPart, pool: Pool) -> bool:
    return (part.site.file, part.site.folder) == (pool.site.file, pool.site.folder)


def _add_part(pool: Pool, part: PoolPart) -> Pool:
    """Return the pool with what a part adds; the pool's own labels take precedence."""
    own = pool.keys
    labels: tuple[Label, ...] = (*pool.labels, *[each._replace(path=()) for each in part.labels if each.key not in own])
    taints: tuple[PoolTaint, ...] = (*pool.taints, *[each._replace(path=()) for each in part.taints])
    return pool._replace(labels=labels, taints=taints, closed=pool.closed and part.known)


def _apply_scale(pool: Pool, parts: Iterable[PoolPart]) -> Pool:
    """Return the pool with the numbers of the parts that scale it: with several, the cluster may get any of them."""
    scaling = [part for part in parts if part.scales]
    if not scaling:
        return pool
    least, most = [part.least for part in scaling], [part.most for part in scaling]
    return pool._replace(
        least=None if None in least else min(each for each in least if each is not None),
        most=None if None in most else max(each for each in most if each is not None),
    )


class Pools(NamedTuple):
    """All pools, and objects that complete them. ``named``: whether the user named these files as the pools of the cluster."""

    pools: tuple[Pool, ...]
    parts: tuple[PoolPart, ...] = ()
    named: bool = False

    @property
    def whole(self) -> tuple[Pool, ...]:
        """The pools, each with what completes it."""
        return tuple(resolve_references(self.pools, self.parts))

    def is_here(self, pool: Pool) -> bool:
        """Return whether a pool probably belongs to the cluster of the workloads."""
        return self.named or pool.whose != "other"

    def __bool__(self) -> bool:
        return bool(self.pools or self.parts)
