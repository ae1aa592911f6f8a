"""Values by key: lists and sets of what shares one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """Return the values of each key, keys and values in the order of the pairs."""
    found: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def grouped_sets(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, set[_Value]]:
    """Return the values of each key as sets, the keys in the order of the pairs."""
    found: dict[_Key, set[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return found
