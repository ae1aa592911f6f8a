"""Marks at the ends of lines of templates, as YAML comments, which show in the output the line that produced it.

Helm has no map from its output to the lines of templates. In a copy of the chart, each line that may end in a YAML comment gets a mark;
marks that change the output are removed again. If templates include each other, several marks follow each other, the innermost first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from afflint.findings.namedtuples import NamedTuple
from afflint.source.files import read_regular
from afflint.yaml.template_actions import actions_in, with_replaced, word_of

_MARK = re.compile(r"#@@(\d+):(\d+):([01])")
_SUFFIXES = (".yaml", ".yml", ".tpl", ".json")
_LARGEST = 1 << 20
_CONTROL = frozenset(("if", "else", "end", "range", "with", "define", "block", "break", "continue", "/*", "="))
_WHOLE, _PART = "\0", "\1"
"""What replaces an action in a line, and a part of an action of several lines."""
_MULTILINE = re.compile(r"\b(?:n?indent|toYaml|include|tpl|template)\b")
_ENTRY = re.compile(r"""\s*(?:-\s+)*(?:-(?:\s|$)|(?:"[^"]*"|'[^']*'|[^\s#"'\[\]{},&*!|>%@`][^#]*?|\0[^#:]*)\s*:(?:\s|$))""")
_BLOCK = re.compile(r"(?:^|[:\-]\s+|\s)[|>][+-]?\d?[+-]?\s*(?:#.*)?$")


class Mark(NamedTuple):
    """A mark: the number of the file, the line from 1, and whether the line may produce several lines."""

    file: int
    line: int
    is_multiline: bool


def marks_in(text: str) -> list[Mark]:
    """Return the marks in a line of the output, the innermost first."""
    return [Mark(int(file), int(line), is_multiline == "1") for file, line, is_multiline in _MARK.findall(text)]


def templates_of(chart: str) -> list[str]:
    """Return the templates of a chart and of its subcharts."""
    found = []
    for folder, folders, names in os.walk(chart):
        folders.sort()
        parts = os.path.relpath(folder, chart).split(os.sep)
        if "templates" in parts:
            found += [os.path.join(folder, name) for name in sorted(names) if is_template_name(name)]
    return found


def is_template_name(name: str) -> bool:
    """Return whether a file in the templates folder of a chart is a template, by its name."""
    return name.lower().endswith(_SUFFIXES)


def add_marks(text: str, file: int, without: Iterable[int] = ()) -> str:
    """Return the text of a template with a mark at the end of each line that may have one, except for the lines in ``without``."""
    skipped = {*without}
    state = _OpenBlocks()
    found = []
    bare = with_replaced(text, actions_in(text).found, lambda each: "\n".join([_PART] * (each.count("\n") + 1)) if "\n" in each else _WHOLE)
    for number, (raw_line, bare_line) in enumerate(zip(text.split("\n"), bare.split("\n"), strict=True), 1):
        line = raw_line.removesuffix("\r")
        is_multiline = state.mark(line, bare_line.removesuffix("\r")) if _PART not in bare_line else None
        mark = "" if is_multiline is None or number in skipped else f" #@@{file}:{number}:{int(is_multiline)}"
        found.append(f"{line}{mark}{raw_line[len(line) :]}")
    return "\n".join(found)


def read_template(path: str) -> str | None:
    """Return the text of a template; None if it cannot be read."""
    try:
        return read_regular(path, _LARGEST).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


class _OpenBlocks:
    """The block scalars and brackets that are open at the current line."""

    def __init__(self) -> None:
        self._block: int | None = None
        self._flow = False

    def mark(self, line: str, bare: str) -> bool | None:
        """Return whether the line may produce several lines; None if it must not have a mark. ``bare`` is the line without actions."""
        content = line.strip()
        if not content:
            return None
        if self._in_block(line, bare) or self._in_flow(bare):
            return None
        if content.startswith(("#", "---", "%")) or content.endswith("-}}"):
            return None
        is_multiline = _MULTILINE.search(line) is not None
        if not bare.strip("\0 \t"):
            is_control = any(word_of(each.text) in _CONTROL for each in actions_in(line).found)
            return True if "indent" in line and is_multiline and not is_control else None
        if word_of(content) in _CONTROL and not bare.strip("\0 \t-"):
            return None
        return is_multiline if _ENTRY.match(bare) is not None else None

    def _in_block(self, line: str, bare: str) -> bool:
        """Return whether the line is text of a block scalar, and remember a block scalar that begins on it."""
        indentation = len(line) - len(line.lstrip(" "))
        if self._block is not None:
            if bare.lstrip().startswith(_WHOLE) or indentation > self._block:
                return True
            self._block = None
        if _BLOCK.search(bare) and _ENTRY.match(bare):
            # The text of a block scalar in a list item is indented further than the dash.
            self._block = indentation
        return False

    def _in_flow(self, bare: str) -> bool:
        """Return whether brackets or a quoted string are open at the end of the line."""
        text = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'", "", bare)
        text = re.sub(r"(?:^|\s)#.*", "", text)
        was_open = self._flow
        opened, closed = sum(map(text.count, "[{")), sum(map(text.count, "]}"))
        self._flow = (was_open and closed <= opened) or (not was_open and opened > closed)
        return was_open or self._flow or re.search(r"(?:^|[\s:\[{,-])[\"'][^\"']*$", text) is not None
