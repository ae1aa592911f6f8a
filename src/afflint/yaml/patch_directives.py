"""What strategic merge patches hold besides fields: directives that say how lists and maps are merged, which reach no cluster."""

from __future__ import annotations

from typing import Any

from afflint.findings.finding import Path

_PATCH = "$patch"
_DIRECTIVES = (_PATCH, "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
_IN_BYTES = tuple([each.encode() for each in _DIRECTIVES])


def holds_directives(raw_bytes: bytes) -> bool:
    """Whether a text may hold directives."""
    return any(each in raw_bytes for each in _IN_BYTES)


def is_directed(data: Any, path: Path) -> bool:
    """Whether what stands at a path is a directive, or lies in a map that is replaced or deleted, of which nobody knows the rest."""
    if path and type(path[-1]) is str and path[-1].startswith(_DIRECTIVES):
        return True
    for step in path:
        if type(data) is dict and _PATCH in data:
            return True
        try:
            data = data[step]
        except (LookupError, TypeError):
            return False
    return type(data) is dict and _PATCH in data
