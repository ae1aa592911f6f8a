"""The user's own message of a policy: text with a few fields, and nothing else that has a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from afflint.findings.phrases import did_you_mean, nearest, quoted

FIELDS = {
    "object": "kind and name, such as `Deployment web`",
    "kind": "the kind of the object",
    "name": "the name of the object",
    "namespace": "its namespace, `default` where it names none",
    "policy": "the name of the policy",
    "message": "what the check itself says, with what is wrong",
}
"""What a message may hold in braces, and what that stands for. A brace of its own is written twice."""

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def faults(message: str) -> Iterator[str]:
    """What is wrong with a message."""
    for part in _PART.finditer(message):
        if part[0] in ("{", "}"):
            yield f"a `{part[0]}` that belongs to no field; one of its own is written `{part[0] * 2}`"
        elif part[1] is not None and part[1] not in FIELDS:
            close, known = nearest(part[1], FIELDS), ", ".join(f"`{{{each}}}`" for each in FIELDS)
            yield f"unknown field {quoted(part[0])}{did_you_mean(close and f'{{{close}}}') or f'; there are {known}'}"


def filled(message: str, fields: Mapping[str, str]) -> str:
    """The message with its fields filled in; each has to be there."""
    return _PART.sub(lambda part: part[0][0] if part[0] in ("{{", "}}") else fields[part[1]], message)


def holds_own_words(message: str) -> bool:
    """Whether the message says what the check says."""
    return any(part[1] == "message" for part in _PART.finditer(message))
