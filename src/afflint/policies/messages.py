"""The user's own message of a policy: text with fields in braces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from afflint.findings.phrases import did_you_mean, nearest, quoted

FIELDS = {
    "object": "kind and name, such as `Deployment web`",
    "kind": "the kind of the object",
    "name": "the name of the object",
    "namespace": "its namespace, or `default` if it does not set one",
    "policy": "the name of the policy",
    "message": "the message of the check",
}
"""The fields that a message may contain, with their meaning. A literal brace is written twice."""

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def faults(message: str) -> Iterator[str]:
    """Yield the mistakes in a message."""
    for part in _PART.finditer(message):
        if part[0] in ("{", "}"):
            yield f"unmatched `{part[0]}`; write `{part[0] * 2}` for a literal brace"
        elif part[1] is not None and part[1] not in FIELDS:
            close, known = nearest(part[1], FIELDS), ", ".join(f"`{{{each}}}`" for each in FIELDS)
            yield f"unknown field {quoted(part[0])}{did_you_mean(close and f'{{{close}}}') or f'; the fields are {known}'}"


def filled(message: str, fields: Mapping[str, str]) -> str:
    """Replace the fields of a valid message."""
    return _PART.sub(lambda part: part[0][0] if part[0] in ("{{", "}}") else fields[part[1]], message)


def includes_check_message(message: str) -> bool:
    """Return whether the message contains the message of the check."""
    return any(part[1] == "message" for part in _PART.finditer(message))
