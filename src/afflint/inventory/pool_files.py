"""The node pools that the files of a run declare."""

from afflint.findings.namedtuples import NamedTuple
from afflint.pools.pool import Pool, PoolPart


class Pools(NamedTuple):
    """All pools, and objects that complete them. ``named``: whether the user named these files as the pools of the cluster."""

    pools: tuple[Pool, ...]
    parts: tuple[PoolPart, ...] = ()
    named: bool = False

    @property
    def whole(self) -> tuple[Pool, ...]:
        """The pools, each with what completes it."""
        from afflint.pools.references import resolve_references

        return tuple(resolve_references(self.pools, self.parts))

    def is_here(self, pool: Pool) -> bool:
        """Return whether a pool probably belongs to the cluster of the workloads."""
        return self.named or pool.whose != "other"

    def __bool__(self) -> bool:
        return bool(self.pools or self.parts)
