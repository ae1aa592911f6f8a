"""How the nodes of a pool are replaced or restarted when the pool is upgraded: how many at once, and whether new nodes come first."""

from __future__ import annotations

from math import ceil, floor
from typing import Literal

from afflint.findings.namedtuples import NamedTuple

Amount = int | str
"""A number of nodes, or a percentage of the pool such as ``10%``."""


class UpgradeStrategy(NamedTuple):
    """How many nodes of a pool may be unavailable at once, and how many new nodes are created first.

    ``replaces``: the nodes are replaced by new ones with other names; otherwise they restart and keep their names. ``declared`` says where
    the numbers come from: ``maxUnavailable 1 of MachineConfigPool worker``; empty for a default.
    """

    unavailable: Amount = 1
    surge: Amount = 0
    replaces: bool = False
    declared: str = ""
    rounding: Literal["down", "up"] = "down"
    """How a percentage of unavailable nodes is rounded; that of a surge is rounded up."""
    counts_cordoned: bool = False
    """Whether nodes that are cordoned or not ready before the upgrade count as unavailable."""
    held: str = ""
    """Why no node is upgraded at all; empty if some are."""

    def at_once(self, nodes: int) -> tuple[int, int]:
        """Of a number of nodes, return how many are drained at once, and how many new ones are created first. At least one is drained."""
        surge = number_of(self.surge, nodes, "up")
        return max(1, surge + number_of(self.unavailable, nodes, self.rounding)), surge


def number_of(amount: Amount, nodes: int, rounding: Literal["down", "up"]) -> int:
    """Return a number of nodes, or a percentage of them."""
    if isinstance(amount, int):
        return max(0, amount)
    share = int(amount.removesuffix("%")) * nodes / 100
    return ceil(share) if rounding == "up" else floor(share)
