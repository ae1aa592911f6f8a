"""The part of the library rpds that jsonschema uses, on dictionaries, because no package registry has rpds compiled for browsers.

A change returns a new collection and copies the old one: a schema of the configuration needs a few dozen changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any


class HashTrieMap(dict[Any, Any]):
    """A map that is never changed."""

    __slots__ = ()

    @classmethod
    def convert(cls, values: Mapping[Any, Any]) -> HashTrieMap:
        """Return the values as such a map."""
        return values if isinstance(values, cls) else cls(values)

    def insert(self, key: Hashable, value: object) -> HashTrieMap:
        """Return a map with one more value."""
        return HashTrieMap({**self, key: value})

    def remove(self, key: Hashable) -> HashTrieMap:
        """Return a map without a value. Raises KeyError."""
        self[key]
        return HashTrieMap({each: value for each, value in self.items() if each != key})

    def update(self, values: Mapping[Any, Any]) -> HashTrieMap:  # type: ignore[override]
        """Return a map with more values."""
        return HashTrieMap({**self, **values})


class HashTrieSet(frozenset[Any]):
    """A set that is never changed."""

    __slots__ = ()

    def insert(self, value: Hashable) -> HashTrieSet:
        """Return a set with one more value."""
        return HashTrieSet([*self, value])

    def discard(self, value: Hashable) -> HashTrieSet:
        """Return a set without a value."""
        return HashTrieSet(each for each in self if each != value)

    def update(self, values: Iterable[Any]) -> HashTrieSet:
        """Return a set with more values."""
        return HashTrieSet([*self, *values])


class List(tuple[Any, ...]):
    """A list that is never changed."""

    __slots__ = ()

    def push_front(self, value: object) -> List:
        """Return a list with one more value, at its beginning."""
        return List((value, *self))
