"""Kyverno's wildcards: ``*`` for any text and ``?`` for one character (ext/wildcard)."""

from __future__ import annotations

from afflint.mutation.undecided import UndecidedError

_MOST_COMPARED = 10_000_000
"""The limit of the product of both lengths, which bounds the time of a comparison."""


def is_match(pattern: str, text: str) -> bool:
    """Return whether a pattern with wildcards matches the whole text. Raises UndecidedError if both are very long."""
    if pattern == text or not has_wildcards(pattern):
        return pattern == text
    if len(pattern) * len(text) > _MOST_COMPARED:
        raise UndecidedError("it compares very long texts")
    at, position, star, resumed = 0, 0, -1, 0
    while position < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, resumed = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[position]):
            at, position = at + 1, position + 1
        elif star >= 0:
            resumed += 1
            at, position = star + 1, resumed
        else:
            return False
    return not pattern[at:].strip("*")


def may_match(pattern: str, text: str) -> bool:
    """Return whether a pattern matches the whole text; true if both are very long."""
    try:
        return is_match(pattern, text)
    except UndecidedError:
        return True


def has_wildcards(text: str) -> bool:
    """Return whether a text has a wildcard."""
    return "*" in text or "?" in text
