"""Phrases that messages share: lists of words, suggestions, values shortened to a readable length.

This is also the only place that makes text from manifests and configurations safe to print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_LONGEST = 60
_NEAR = 0.72
"""Words with a lower similarity than this (``difflib`` ratio) are not suggested."""


def quoted(value: Any) -> str:
    r"""Quote a value from a manifest on one line in backticks: shortened if long, line breaks escaped as ``\n``, nothing as ``""``."""
    text = value if isinstance(value, str) else plain(value)
    if not text:
        return '`""`'
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return f"`{visible(text)}`"


def visible(text: str) -> str:
    r"""Escape every character in ``text`` that is not printable: ``\n``, ``\x1b``, ``\u202e``.

    Those are controls, bidirectional overrides, zero-width characters, line separators, unusual spaces, unpaired surrogates
    and unassigned code points: all that could move a cursor, break a line, hide text, or not be encoded. The result is one
    line that XML 1.0 can represent. A backslash is not escaped, so that Windows paths stay readable.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def plain(value: Any) -> str:
    """Format a value that is not a string as YAML does: ``true``, ``null``, ``1000`` also for 1e3."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "null" if value is None else str(value)


def kind_of_value(value: object) -> str:
    """Return what a value of a wrong type is: ``null``, ``a list``, ``the number 3``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    return {"str": "a string", "list": "a list", "dict": "a map"}.get(type(value).__name__, "something else")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant, ignoring case, dashes and underscores first; None if none is similar."""
    candidates = list(known)
    folded = _fold(word)
    for each in candidates:
        if _fold(each) == folded:
            return each
    # difflib rates a short word with two swapped letters too low.
    letters = sorted(folded)
    for each in candidates:
        if len(each) == len(word) and sorted(_fold(each)) == letters:
            return each
    import difflib

    close = difflib.get_close_matches(word, candidates, n=1, cutoff=_NEAR)
    if close:
        return close[0]
    by_lower = {each.lower(): each for each in candidates}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=_NEAR)
    return by_lower[close[0]] if close else None


def join_words(words: Iterable[str], last: str = "and") -> str:
    """Join words as in ``a, b and c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


MOST_NAMED = 4
"""A message names at most this many of several objects or values."""


def summarize_names(words: Sequence[str], last: str = "and", most: int = MOST_NAMED) -> str:
    """Join the first words and the number of the others as in ``a, b, c, d and 3 more``."""
    others = [f"{len(words) - most} more"] if len(words) > most else []
    return join_words([*words[:most], *others], last)


def pluralize(number: int, noun: str) -> str:
    """Format a number with a noun: ``1 file``, ``2 files``, ``3 policies``; "info" does not have a plural."""
    if number == 1 or noun == "info":
        return f"{number} {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("cy") else f"{number} {noun}s"


def did_you_mean(word: str | None) -> str:
    """Return the question to append to a message about an unknown word; empty if no known word is similar."""
    return f"; did you mean {quoted(word)}?" if word else ""


def type_name(value: Any) -> str:
    """Name the type of a YAML value: a number, a boolean, a list, a map, a string, null."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    names: dict[type, str] = {list: "a list", dict: "a map", str: "a string"}
    return names.get(type(value), "null")


def _fold(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
