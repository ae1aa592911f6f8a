"""Short node names for the picture, without what all names have in common."""

from __future__ import annotations

from collections.abc import Sequence

from afflint.report.place.digest import Rack

_LONG = 12
"""A common prefix is left out if it is at least this long: ``worker-`` stays."""


def node_names(racks: Sequence[Rack]) -> dict[str, str]:
    """Return a unique short name by full name: ``node-000`` for ``node-000.fra-a.prod.example.internal``.

    A suffix that all nodes of a domain share is left out if the names stay unique.
    """
    names = [node.name for rack in racks for node in rack.nodes]
    ending = common_suffix(names)
    short = {name: name[: len(name) - len(ending)] for name in names}
    within_rack: dict[str, str] = {}
    for rack in racks:
        # A single node shares its whole name with itself.
        shared = common_suffix([node.name for node in rack.nodes]) if len(rack.nodes) > 1 else ending
        within_rack.update((node.name, node.name[: len(node.name) - len(shared)]) for node in rack.nodes)
    if len(set(within_rack.values())) == len(within_rack):
        short = within_rack
    opening = _common_prefix(list(short.values()))
    return {name: f"…{text[len(opening) :]}" for name, text in short.items()} if opening else short


def common_suffix(names: Sequence[str]) -> str:
    """Return the domain suffix that all names share, with its dot; never a part of an IP address."""
    if len(names) < 2:
        return ""
    shared = _shared_start([name[::-1] for name in names])[::-1]
    dot = shared.find(".")
    ending = shared[dot:] if dot >= 0 else ""
    if not any(char.isalpha() for char in ending) or any(len(name) == len(ending) for name in names):
        return ""
    return ending


def _common_prefix(names: Sequence[str]) -> str:
    """Return the prefix that all names share, up to a separator."""
    if len(names) < 2:
        return ""
    shared = _shared_start(names)
    opening = shared[: max(shared.rfind("-"), shared.rfind(".")) + 1]
    return opening if len(opening) >= _LONG and all(len(name) > len(opening) for name in names) else ""


def _shared_start(names: Sequence[str]) -> str:
    """Return the common prefix: the first and the last name in order share no more than all names do."""
    first, last = min(names), max(names)
    different = (index for index, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(different, min(len(first), len(last)))]
