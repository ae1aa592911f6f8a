"""Turns of phrase that messages share: lists of words, near misses, values cut to a readable length.

Here is also the one place where text out of manifests and configurations is made fit to be shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 60
_NEAR = 0.72
"""Words less alike than this (in difflib's measure) are no slips of each other."""


def quoted(value: Any) -> str:
    r"""A value from a manifest in backticks, on one line: cut when it is long, line breaks and the like as ``\n``, nothing as ``""``."""
    text = value if isinstance(value, str) else plain(value)
    if not text:
        return '`""`'
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return f"`{visible(text)}`"


def visible(text: str) -> str:
    r"""``text`` with every character that is not plainly printable written as an escape: ``\n``, ``\x1b``, ``\u202e``.

    Those are the controls, bidirectional overrides, zero-width characters, line separators, odd spaces, unpaired surrogates
    and unassigned code points: all that could move a cursor, break a line, hide, or not be encoded at all. What comes out
    is one line that XML 1.0 can carry. A backslash stays as it is, so that Windows paths stay readable.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def plain(value: Any) -> str:
    """A value that is no string as YAML would have it: ``true``, ``null``, ``1000`` also for 1e3."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "null" if value is None else str(value)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, ignoring case, dashes and underscores first; None when nothing is near."""
    candidates = list(known)
    folded = _fold(word)
    for each in candidates:
        if _fold(each) == folded:
            return each
    # Two letters in each other's place are too far apart for difflib in a short word.
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
    """``a, b and c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def pluralize(number: int, noun: str) -> str:
    """``1 file``, ``2 files``, ``3 policies``; "info" has no plural."""
    if number == 1 or noun == "info":
        return f"{number} {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("cy") else f"{number} {noun}s"


def did_you_mean(word: str | None) -> str:
    """What is added to the message about a word nobody knows: a question, or nothing when no known word is near."""
    return f"; did you mean {quoted(word)}?" if word else ""


def type_name(value: Any) -> str:
    """What a YAML value is, in the words of its author: a number, a boolean, a list, a map, a string, null."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    names: dict[type, str] = {list: "a list", dict: "a map", str: "a string"}
    return names.get(type(value), "null")


def _fold(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
