"""Data as YAML in the usual style of manifests: block style, quotes only where needed, long texts as block scalars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./@=,()%-]*(?:[: ][A-Za-z0-9_./@=,()%-]+)*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def yaml_text(data: dict[str, Any]) -> str:
    """Return one document, without a separator line."""
    return "\n".join(_mapping(data, "")) + "\n"


def _mapping(data: dict[str, Any], indent: str) -> Iterator[str]:
    for key, value in data.items():
        yield from _entry(f"{indent}{_scalar(key)}:", value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a key and its value. List items are not indented below their key: the more common of the two styles."""
    if isinstance(value, dict) and value:
        yield head
        yield from _mapping(value, indent + "  ")
    elif isinstance(value, list) and value:
        yield head
        for item in value:
            yield from _item(item, indent)
    elif isinstance(value, str) and "\n" in value:
        yield f"{head} |"
        yield from (f"{indent}  {line}" if line else "" for line in value.rstrip("\n").split("\n"))
    else:
        yield f"{head} {_scalar(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if not (isinstance(item, dict) and item):
        yield f"{indent}- {_scalar(item)}"
        return
    lines = _mapping(item, indent + "  ")
    yield f"{indent}- {next(lines).lstrip(' ')}"
    yield from lines


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return {"[]": "[]", "{}": "{}", "None": "null"}.get(str(value), str(value))
