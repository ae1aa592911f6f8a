"""Kyverno's wildcards: ``*`` for any text and ``?`` for one character (ext/wildcard)."""

from __future__ import annotations

import re
from functools import cache


def is_match(pattern: str, text: str) -> bool:
    """Return whether a pattern with wildcards matches the whole text."""
    return pattern == text or _compiled(pattern).fullmatch(text) is not None


def has_wildcards(text: str) -> bool:
    """Return whether a text has a wildcard."""
    return "*" in text or "?" in text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # A run of stars means the same as one, and would cost exponential time.
    words = re.split(r"(\*+|\?)", pattern)
    return re.compile("".join(".*" if word[:1] == "*" else "." if word == "?" else re.escape(word) for word in words), re.DOTALL)
