"""Regular expressions from files: only those that cannot take long are matched, because Python's matching goes back and tries again."""

from __future__ import annotations

import re

_LONGEST, _MOST_STEPS = 1_000, 10_000_000
_PIECE = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<lookaround>\(\?(?![:aims-]|P<))|(?P<close>\))"
    r"|(?P<repeat>[*+]|\{\d*,?\d*\})|(?P<choice>[?|])|(?P<other>.)",
    re.DOTALL,
)


class PatternError(ValueError):
    """A regular expression that is invalid, or that may take long; the message says which."""


def matches_all(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a whole text. Raises PatternError."""
    if len(pattern) > _LONGEST or _most_steps(pattern, len(text)) > _MOST_STEPS:
        raise PatternError("matching its pattern may take long")
    try:
        return re.fullmatch(pattern, text) is not None
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"its pattern is invalid: {error}") from None


def _most_steps(pattern: str, length: int) -> int:
    """Return an upper limit of the steps: each repetition may end at each position, and each choice has two outcomes.

    The search may begin at each position. A repetition of a group, and what refers to other parts of the text, has no such limit.
    """
    steps = length + 1
    before = ""
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup or ""
        if kind == "lookaround" or (kind == "escape" and piece[0][1].isdigit()) or (kind == "repeat" and before == "close"):
            return _MOST_STEPS + 1
        if kind == "repeat":
            steps *= length + 1
        elif kind == "choice" and before != "repeat":
            steps *= 2
        if steps > _MOST_STEPS:
            return steps
        before = kind
    return steps
