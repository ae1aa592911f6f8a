"""Names of nodes as a picture has room for: without what they all have in common."""

from __future__ import annotations

from collections.abc import Sequence

from afflint.report.place.digest import Rack

_LONG = 12
"""A beginning that all names share is left out when it is at least as long as this: ``worker-`` stays."""


def node_names(racks: Sequence[Rack]) -> dict[str, str]:
    """By full name, a short one, no two alike: ``node-000`` for ``node-000.fra-a.prod.example.internal`` among its like.

    What the nodes of a rack share is left out where the names can still be told apart.
    """
    names = [node.name for rack in racks for node in rack.nodes]
    ending = _ending(names)
    short = {name: name[: len(name) - len(ending)] for name in names}
    racked: dict[str, str] = {}
    for rack in racks:
        # What is peculiar to a single node is its name.
        shared = _ending([node.name for node in rack.nodes]) if len(rack.nodes) > 1 else ending
        racked.update((node.name, node.name[: len(node.name) - len(shared)]) for node in rack.nodes)
    if len(set(racked.values())) == len(racked):
        short = racked
    opening = _opening(list(short.values()))
    return {name: f"…{text[len(opening) :]}" for name, text in short.items()} if opening else short


def _ending(names: Sequence[str]) -> str:
    """The domain that all names end in, with its dot: no part of an address in digits."""
    if len(names) < 2:
        return ""
    shared = _beginning([name[::-1] for name in names])[::-1]
    dot = shared.find(".")
    ending = shared[dot:] if dot >= 0 else ""
    if not any(char.isalpha() for char in ending) or any(len(name) == len(ending) for name in names):
        return ""
    return ending


def _opening(names: Sequence[str]) -> str:
    """The words that all names begin with."""
    if len(names) < 2:
        return ""
    shared = _beginning(names)
    opening = shared[: max(shared.rfind("-"), shared.rfind(".")) + 1]
    return opening if len(opening) >= _LONG and all(len(name) > len(opening) for name in names) else ""


def _beginning(names: Sequence[str]) -> str:
    """What all names begin with: the first and the last in order have no more in common than all."""
    first, last = min(names), max(names)
    different = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(different, min(len(first), len(last)))]
