"""Writes data as YAML text that the API server and every other reader read as the same data."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.scalars import resolve_plain

# YAML allows many more unquoted scalars, but all readers agree on these.
_PLAIN = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`~=<.+0-9][^\s,\[\]{}#]*(?: [^\s,\[\]{}#]+)*")
# Of scalars that begin like a number only versions and the like stay unquoted, not dates and times.
_NUMBER_LIKE = re.compile(r"[0-9.+-][0-9A-Za-z./_-]*[A-Za-z][0-9A-Za-z./_-]*")
_TIMES = re.compile(r"[0-9T:.Z+-]*")
# YAML does not allow longer keys on one line.
_LONGEST_KEY = 500


def scalar(value: Any, quote: str = "", *, flow: bool = False) -> str | None:
    """Write a scalar, a string in these quotes or in others if it needs them; None for what YAML cannot represent."""
    if isinstance(value, str):
        return _string(value, quote, flow)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    return str(value)


def key(text: str, quote: str = "", *, flow: bool = False) -> str | None:
    """Write the key of a map; None for one that does not fit on one line."""
    written = _string(text, quote, flow)
    return written if written is not None and len(written) <= _LONGEST_KEY else None


class UnwritableError(ValueError):
    """A value that YAML cannot represent."""


class Style(NamedTuple):
    """The indentation of a document: the step from a map to a nested one, and that of dashes below the key of their list."""

    step: int = 2
    dash: int = 2


class Verbatim(NamedTuple):
    """An entry of a map in the words of its author, in lines that begin at the column of its key; and the same as data."""

    lines: tuple[str, ...]
    data: Any


def block(value: dict[str, Any] | list[Any], style: Style) -> list[str]:
    """Write a map or a list that is not empty as lines in block style from the first column on. Raises UnwritableError."""
    found: list[str] = []
    if isinstance(value, list):
        for item in value:
            found += entry("-", item, style)
        return found
    for name, below in value.items():
        found += below.lines if isinstance(below, Verbatim) else entry(f"{_require_text(key(name))}:", below, style)
    return found


def entry(lead: str, value: Any, style: Style) -> list[str]:
    """Write a value after its key and colon, or after its dash, as lines."""
    if not isinstance(value, (dict, list)) or not value:
        return [f"{lead} {flow(value) if isinstance(value, (dict, list)) else _require_text(scalar(value))}"]
    below = block(value, style)
    if lead == "-":
        comments = next(number for number, line in enumerate(below) if not line.startswith("#"))
        return [*below[:comments], f"- {below[comments]}", *(f"  {line}" if line else "" for line in below[comments + 1 :])]
    pad = " " * (style.dash if isinstance(value, list) else style.step)
    return [lead, *(pad + line if line else "" for line in below)]


def flow(value: Any, quote: str = "", *, colon: str = ": ", comma: str = ", ") -> str:
    """Write a value on one line, in braces and brackets, with strings in these quotes. Raises UnwritableError."""
    if isinstance(value, Verbatim):
        value = value.data
    if isinstance(value, list):
        return f"[{comma.join(flow(item, quote, colon=colon, comma=comma) for item in value)}]"
    if isinstance(value, dict):
        pairs = (
            f"{_require_text(key(name, quote, flow=True))}{colon}{flow(below, quote, colon=colon, comma=comma)}"
            for name, below in value.items()
        )
        return f"{{{comma.join(pairs)}}}"
    return _require_text(scalar(value, quote, flow=True))


def _require_text(text: str | None) -> str:
    if text is None:
        raise UnwritableError
    return text


def _string(text: str, quote: str, flow: bool) -> str | None:
    if not quote and _is_plain(text, flow):
        return text
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    written = json.dumps(text, ensure_ascii=False)
    if not text.isprintable():
        if any("\ud800" <= char <= "\udfff" for char in text):
            return None
        # JSON does not have longer escapes, and YAML accepts all characters beyond these unescaped.
        written = "".join(char if char.isprintable() or char > "\uffff" else f"\\u{ord(char):04x}" for char in written)
    return written


def _is_plain(text: str, flow: bool) -> bool:
    """Whether a string does not need quotes: neither afflint nor other readers of YAML read it as something else."""
    if not text.isprintable() or text.endswith(":") or ": " in text or (flow and not {":", "?"}.isdisjoint(text)):
        return False
    if not (_PLAIN.fullmatch(text) or (_NUMBER_LIKE.fullmatch(text) and not _TIMES.fullmatch(text) and not text.startswith(("-", ".")))):
        return False
    try:
        return resolve_plain(text) == text
    except ValueError:
        return False
