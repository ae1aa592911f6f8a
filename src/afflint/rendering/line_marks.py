"""Marks at the ends of the lines of templates, as comments of YAML: what is rendered says by them which line made it.

Helm has no map from its output to the lines of templates. In a copy of a chart each line gets such a mark at which YAML allows a comment;
where that changes what is rendered, the marks in question are left out again. Marks of templates that include each other stand side by
side, the innermost first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from afflint.findings.namedtuples import NamedTuple
from afflint.source.files import read_regular

_MARK = re.compile(r"#@@(\d+):(\d+):([01])")
_SUFFIXES = (".yaml", ".yml", ".tpl", ".json")
_LARGEST = 1 << 20
_ACTION = re.compile(r"\{\{.*?\}\}")
_CONTROL = re.compile(r"\{\{-?\s*(?:if|else|end|range|with|define|block|break|continue|/\*|\$\w*\s*:?=)")
_SEVERAL_LINES = re.compile(r"\b(?:n?indent|toYaml|include|tpl|template)\b")
_ENTRY = re.compile(r"""\s*(?:-\s+)*(?:-(?:\s|$)|(?:"[^"]*"|'[^']*'|[^\s#"'\[\]{},&*!|>%@`][^#]*?|\0[^#:]*)\s*:(?:\s|$))""")
_BLOCK = re.compile(r"(?:^|[:\-]\s+|\s)[|>][+-]?\d?[+-]?\s*(?:#.*)?$")


class Mark(NamedTuple):
    """The line of a template: the file by its number, the line from 1, and whether it may make several lines."""

    file: int
    line: int
    several: bool


def marks_in(text: str) -> list[Mark]:
    """The marks in a line of what was rendered, the innermost first."""
    return [Mark(int(file), int(line), several == "1") for file, line, several in _MARK.findall(text)]


def templates_of(chart: str) -> list[str]:
    """The templates of a chart and of the charts in it."""
    found = []
    for folder, folders, names in os.walk(chart):
        folders.sort()
        parts = os.path.relpath(folder, chart).split(os.sep)
        if "templates" in parts:
            found += [os.path.join(folder, name) for name in sorted(names) if name.lower().endswith(_SUFFIXES)]
    return found


def marked(text: str, file: int, without: Iterable[int] = ()) -> str:
    """The text of a template with a mark at the end of each line that may have one, but for those lines."""
    left_out = {*without}
    state = _OpenBlocks()
    found = []
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.removesuffix("\r")
        several = state.mark(line)
        mark = "" if several is None or number in left_out else f" #@@{file}:{number}:{int(several)}"
        found.append(f"{line}{mark}{whole[len(line) :]}")
    return "\n".join(found)


def read_template(path: str) -> str | None:
    """The text of a template; None for what is none."""
    try:
        return read_regular(path, _LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


class _OpenBlocks:
    """What the lines so far have opened."""

    def __init__(self) -> None:
        self._in_action = False
        self._block: int | None = None
        self._flow = False

    def mark(self, line: str) -> bool | None:
        """Whether the line may make several lines; None where it must have no mark."""
        was_in_action, self._in_action = self._in_action, _ends_in_action(line, self._in_action)
        if was_in_action or self._in_action:
            return None
        content = line.strip()
        if not content:
            return None
        bare = _ACTION.sub("\0", line)
        if self._in_block(line, bare) or self._in_flow(bare):
            return None
        if content.startswith(("#", "---", "%")) or content.endswith("-}}"):
            return None
        several = _SEVERAL_LINES.search(line) is not None
        if not bare.strip("\0 \t"):
            return True if "indent" in line and several and not _CONTROL.search(line) else None
        if _CONTROL.match(content) and not bare.strip("\0 \t-"):
            return None
        return several if _ENTRY.match(bare) is not None else None

    def _in_block(self, line: str, bare: str) -> bool:
        """Whether the line is text of a block scalar; notes where one begins."""
        indentation = len(line) - len(line.lstrip(" "))
        if self._block is not None:
            if bare.lstrip().startswith("\0") or indentation > self._block:
                return True
            self._block = None
        if _BLOCK.search(bare) and _ENTRY.match(bare):
            # The text of an item's entry is indented farther than its dash.
            self._block = indentation
        return False

    def _in_flow(self, bare: str) -> bool:
        """Whether a list or map in brackets, or a quoted text, is open at the end of the line."""
        text = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", "", bare)
        text = re.sub(r"(?:^|\s)#.*", "", text)
        was = self._flow
        opened, closed = sum(map(text.count, "[{")), sum(map(text.count, "]}"))
        self._flow = (was and closed <= opened) or (not was and opened > closed)
        return was or self._flow or re.search(r"(?:^|[\s:\[{,-])[\"'][^\"']*$", text) is not None


def _ends_in_action(line: str, inside: bool) -> bool:
    position = 0
    while True:
        found = line.find("}}" if inside else "{{", position)
        if found < 0:
            return inside
        inside = not inside
        position = found + 2
