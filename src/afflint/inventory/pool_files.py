"""The pools of nodes that the files of a run declare."""

from afflint.findings.namedtuples import NamedTuple
from afflint.pools.pool import Pool, PoolPart


class Pools(NamedTuple):
    """All pools, and what completes some. ``named``: whether somebody said that these are those of the cluster, whatever their format."""

    pools: tuple[Pool, ...]
    parts: tuple[PoolPart, ...] = ()
    named: bool = False

    @property
    def whole(self) -> tuple[Pool, ...]:
        """The pools, each with what completes it."""
        from afflint.pools.references import resolve_references

        return tuple(resolve_references(self.pools, self.parts))

    def is_here(self, pool: Pool) -> bool:
        """Whether a pool is one of the cluster that the workloads are for, as far as one can tell."""
        return self.named or pool.whose != "other"

    def __bool__(self) -> bool:
        return bool(self.pools or self.parts)
