"""Writes a first configuration as text, with a comment that explains each key."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.emitter import flow

_WIDTH = 110
_TYPED = re.compile("`[^`]*`")
_NO_BREAK = "\x00"


class ConfigEntry(NamedTuple):
    """A key, its value and an explanation; an ``offered`` entry is written as a comment that the user can enable."""

    key: str
    value: Any
    about: str
    offered: bool = False


def as_yaml(heading: str, entries: Iterable[ConfigEntry]) -> str:
    """Write the text of a ``.afflint.yaml``."""
    return _text(heading, ((each, f"{each.key}:{_block(each.value)}") for each in entries))


def as_toml(heading: str, entries: Iterable[ConfigEntry]) -> str:
    """Write the text of the table ``[tool.afflint]`` of a pyproject.toml."""
    return "[tool.afflint]\n" + _text(heading, ((each, f"{each.key} = {_toml(each.value)}") for each in entries))


def _text(heading: str, written: Iterable[tuple[ConfigEntry, str]]) -> str:
    parts = [_comment(heading)]
    parts += [f"{_comment(entry.about)}{textwrap.indent(text, '# ') if entry.offered else text}\n" for entry, text in written]
    return "\n".join(parts)


def _comment(text: str) -> str:
    """Wrap text in comment lines; what is in backticks stays on one line, so that it can be copied."""
    unbroken = _TYPED.sub(lambda match: match[0].replace(" ", _NO_BREAK), text)
    lines = textwrap.wrap(unbroken, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line.replace(_NO_BREAK, ' ')}\n" for line in lines)


def _block(value: Any) -> str:
    """Write a value after its key: on one line, or a list of maps with one item per line."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "".join(f"\n  - {flow(item)}" for item in value)
    return f" {flow(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        pairs = (f"{key} = {_toml(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value, ensure_ascii=False)
