"""Values that the library for CEL takes and returns: the forms that it can read, their sizes, and the error if an evaluation fails."""

from __future__ import annotations

import math
from typing import Any

from afflint.admission.cel_messages import reason_of

LARGEST = 1 << 20
"""Characters and values of an object, taken together: etcd keeps none much larger."""
_DEEPEST = 100
"""Levels of an object: the library goes down them by recursion."""


class EvaluationError(Exception):
    """The expression cannot be evaluated for an object, for the reason in the message. ``word`` is the name that causes it.

    ``certain``: the API server could not evaluate it either for the same values. ``is_missing_key``: a map does not have the key ``word``.
    """

    def __init__(self, message: str, word: str = "", certain: bool = False, is_missing_key: bool = False) -> None:
        super().__init__(message)
        self.word, self.certain, self.is_missing_key = word, certain, is_missing_key


class Sizes:
    """The length of the longest string and of the longest list or map in data, and the number of values.

    ``left``: the number of characters and values that may still be added.
    """

    def __init__(self) -> None:
        self.text = self.items = self.values = self.left = 0

    def add_text(self, length: int) -> None:
        self.left -= length + 1
        self.values += 1
        self.text = max(self.text, length)

    def add_items(self, length: int) -> None:
        self.left -= 1
        self.values += 1
        self.items = max(self.items, length)


def cleaned(value: Any, sizes: Sizes, depth: int) -> Any:
    """Return a value as the library needs it; ``depth``: how many levels below a variable it is. Raises EvaluationError."""
    left, sizes.left = sizes.left, LARGEST
    try:
        return _Cleaner(sizes).item(value, _DEEPEST + 1 - depth)
    finally:
        sizes.left = left


KEPT = "rules"
"""The field of an object (a Role, a ClusterRole) in which the API server keeps null."""


class _Cleaner:
    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def _container(self, value: Any, levels: int) -> Any:
        if levels < 0:
            raise EvaluationError("the object is nested too deeply")
        if type(value) is dict:
            kept = KEPT if levels == _DEEPEST else ""
            return {self._key(key): self.item(each, levels) for key, each in value.items() if each is not None or key == kept}
        return [self.item(each, levels) for each in value if each is not None]

    def _key(self, key: Any) -> str:
        text = key if type(key) is str else str(key)
        return text if text.isascii() and "\0" not in text else _sound(text)

    def item(self, value: Any, levels: int) -> Any:
        kind = type(value)
        sizes = self._sizes
        sizes.left -= 1
        sizes.values += 1
        if kind is str:
            length = len(value)
            sizes.left -= length
            if length > sizes.text:
                sizes.text = length
        elif kind is dict or kind is list or kind is tuple:
            sizes.items = max(sizes.items, len(value))
        if sizes.left < 0:
            raise EvaluationError("the object is too large")
        if kind is str:
            return value if value.isascii() and "\0" not in value else _sound(value)
        if kind is dict or kind is list or kind is tuple:
            return self._container(value, levels - 1)
        if kind is int and not -(2**63) <= value < 2**63:
            return float(value) if abs(value) < 1 << 1000 else math.inf
        return value


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


_SCALARS = frozenset(("BOOL", "INT", "UINT", "DOUBLE", "STRING", "TIMESTAMP", "DURATION"))


def plain(value: Any, sizes: Sizes) -> Any:
    """Convert a value of the library to plain data. The library's own conversion miscounts the references to Python's None."""
    kind, _, _ = str(value.type()).partition("<")
    if kind in _SCALARS:
        scalar = value.value()
        if kind == "STRING":
            sizes.add_text(len(scalar))
        else:
            sizes.left -= 1
        if sizes.left < 0:
            raise EvaluationError("its result is too large")
        return scalar
    if kind == "NULL":
        return None
    if kind == "LIST":
        items = value.value()
        _check_size(items, sizes)
        return [plain(each, sizes) for each in items]
    if kind == "MAP":
        pairs = value.value()
        _check_size(pairs, sizes)
        return {key: plain(each, sizes) for key, each in pairs.items()}
    if kind == "ERROR":
        try:
            reason = value.value()
        except TypeError:  # An optional value.
            reason = "its result is an optional value; use `orValue` to unwrap it"
        raise EvaluationError(*reason_of(reason))
    raise EvaluationError(f"afflint does not support a value of type {kind.lower()}")


def _check_size(items: Any, sizes: Sizes) -> None:
    sizes.add_items(len(items))
    if len(items) > sizes.left:
        raise EvaluationError("its result is too large")
