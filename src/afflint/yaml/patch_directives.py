"""Directives of strategic merge patches, which define how lists and maps are merged and never reach the cluster."""

from __future__ import annotations

from typing import Any

from afflint.findings.paths import Path

_PATCH = "$patch"
_DIRECTIVES = (_PATCH, "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
_IN_BYTES = tuple([each.encode() for each in _DIRECTIVES])


def holds_directives(raw_bytes: bytes) -> bool:
    """Whether a text may contain directives."""
    return any(each in raw_bytes for each in _IN_BYTES)


def is_directed(data: Any, path: Path) -> bool:
    """Whether the value at a path is a directive, or in a map that is replaced or deleted, whose other fields are unknown."""
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
