"""Turns of phrase that messages share: lists of words, near misses, values cut to a readable length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 60


def quoted(value: Any) -> str:
    """A value from a manifest in backticks, cut when it is long."""
    text = value if isinstance(value, str) else _plain(value)
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, ignoring case, dashes and underscores first; None when nothing is near."""
    candidates = list(known)
    folded = _fold(word)
    for each in candidates:
        if _fold(each) == folded:
            return each
    import difflib

    close = difflib.get_close_matches(word, candidates, n=1, cutoff=0.72)
    return close[0] if close else None


def listing(words: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def type_name(value: Any) -> str:
    """What a YAML value is, in the words of its author: a number, a boolean, a list, a map, a string, null."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    names: dict[type, str] = {list: "a list", dict: "a map", str: "a string"}
    return names.get(type(value), "null")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _fold(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
