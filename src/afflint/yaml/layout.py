"""The layout of a document: where entries of maps and lists begin and end, which comments belong to them, and the indentation."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, deque
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.yaml.composer import nodes_below
from afflint.yaml.document import Document
from afflint.yaml.emitter import Style


class UnclearError(Exception):
    """The text cannot be changed without changing something else, or without a guess."""


class LayoutEntry(NamedTuple):
    """An entry of a map or an item of a list.

    ``start`` is the index of its key or dash, ``after`` that after its colon or dash, ``end`` that of the end of its value.
    """

    start: int
    after: int
    end: int
    key: Any
    value: Any


_BREAK = re.compile(r"\r\n|\n|\r")
_REST = re.compile(r"[ \t]*(#[^\r\n]*)?(?=[\r\n]|\Z)")
_COMMENT = re.compile(r"(?:(?<=\s)|\A)#[^\r\n]*")
_ODD_BREAKS = ("\x85", "\u2028", "\u2029")


class TextLayout:
    """The text of a document with its nodes. All methods raise UnclearError if the text is written in an unusual way."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text()
        if any(each in self.text for each in _ODD_BREAKS):
            raise UnclearError

    # Entries.

    def node(self, path: Path) -> Any:
        """Return the node at ``path``, which is neither an alias nor has an anchor or a tag."""
        node = self.document.node_at(path)
        if node is None or self.text[node.start_mark.index : node.start_mark.index + 1] in ("&", "!"):
            raise UnclearError
        return node

    def entries(self, node: Any) -> list[LayoutEntry]:
        """Return the entries of a map or the items of a list, in the order of the text."""
        if type(node) is MappingNode:
            return [self._map_entry(key, value) for key, value in node.value]
        if type(node) is not SequenceNode:
            raise UnclearError
        found: list[LayoutEntry] = []
        for value in node.value:
            start = value.start_mark.index if node.flow_style else self._dash(node, value, found)
            after = start if node.flow_style else start + 1
            found.append(LayoutEntry(start, after, self._end(value, after), None, value))
        return found

    def _map_entry(self, key: Any, value: Any) -> LayoutEntry:
        start, end = key.start_mark.index, key.end_mark.index
        after = _AFTER_KEY.match(self.text, end)
        if type(key) is not ScalarNode or after is None or key.style in ("|", ">"):
            raise UnclearError
        return LayoutEntry(start, after.end(), self._end(value, after.end()), key, value)

    def _end(self, value: Any, after: int) -> int:
        start: int = value.start_mark.index
        if start < after:  # An alias.
            raise UnclearError
        return max(after, self.document.end_of(value)) if start < value.end_mark.index else after

    def _dash(self, node: Any, value: Any, before: list[LayoutEntry]) -> int:
        first: int = node.start_mark.index
        if self.text[first : first + 1] != "-":
            raise UnclearError
        if not before:
            return first
        column, line = self.column(first), self.line_start(value.start_mark.index)
        while line > before[-1].end:
            if self.text[line : line + column + 1] == " " * column + "-":
                return line + column
            line = self.line_start(line - 1)
        raise UnclearError

    # Lines.

    def line_start(self, index: int) -> int:
        """Return where the line of a character begins."""
        breaks = self.document.line_starts()
        return breaks[bisect_right(breaks, index) - 1]

    def line_end(self, index: int) -> int:
        """Return where the line of a character ends, before its line break."""
        found = _BREAK.search(self.text, index)
        return found.start() if found else len(self.text)

    def next_line(self, index: int) -> int:
        """Return where the line after that of a character begins; the end of the text after the last one."""
        found = _BREAK.search(self.text, index)
        return found.end() if found else len(self.text)

    def line_break(self, index: int) -> str:
        """Return the line break at or after a character; in the last line the first of the text, and a line feed without any."""
        found = _BREAK.search(self.text, index) or _BREAK.search(self.text)
        return found[0] if found else "\n"

    def column(self, index: int) -> int:
        """Return how many characters are before this one in its line."""
        return index - self.line_start(index)

    def is_first(self, index: int) -> bool:
        """Whether only spaces are before this character in its line."""
        return not self.text[self.line_start(index) : index].strip(" ")

    def comment_after(self, index: int) -> str:
        """Return the comment that ends the line, "" without one. Raises UnclearError if there is other text before it."""
        rest = _REST.match(self.text, index)
        if rest is None:
            raise UnclearError
        return rest[1] or ""

    def with_comments_above(self, entry: LayoutEntry, previous: int) -> int:
        """Return where the lines of an entry begin, including comments directly above its key, but not before ``previous``."""
        line = self.line_start(entry.start)
        indent = " " * self.column(entry.start)
        while line > previous:
            above = self.line_start(line - 1)
            if above <= previous or not self.text.startswith(f"{indent}#", above):
                break
            line = above
        return line

    # The document as a whole.

    def comments(self) -> Counter[str]:
        """Return the comments of the document, and how often each occurs."""
        if "#" not in self.text:
            return Counter()
        texts = sorted(each for node in nodes_below(self.document.node_at(())) if type(node) is ScalarNode for each in self._texts(node))
        found: Counter[str] = Counter()
        position = 0
        for start, end in [*texts, (len(self.text), len(self.text))]:
            if start >= position:
                found.update(match[0].rstrip() for match in _COMMENT.finditer(self.text, position, start))
            position = max(position, end)
        return found

    def _texts(self, node: Any) -> list[tuple[int, int]]:
        """Return the ranges in which a scalar may contain what looks like a comment."""
        start, end = node.start_mark.index, node.end_mark.index
        if node.style in ("'", '"'):
            return [(start, end)]
        if node.style in ("|", ">"):
            # The line with the indicator may end in a comment.
            first = self.next_line(start)
            return [(first, max(first, self.document.end_of(node)))]
        return [(start, end)] if "#" in node.value else []

    def style(self) -> Style:
        """Return how the document indents maps and lists, by the first of each."""
        step = dash = None
        pending = deque([self.document.node_at(())])
        while pending and (step is None or dash is None):
            node = pending.popleft()
            if type(node) is ScalarNode or node is None or node.flow_style:
                continue
            if type(node) is SequenceNode:
                pending.extend(each for each in node.value if each.start_mark.index > node.start_mark.index)
                continue
            for key, value in node.value:
                start = value.start_mark.index
                if type(value) is ScalarNode or value.flow_style or start < key.end_mark.index:
                    continue
                pending.append(value)
                deeper = self.column(start) - self.column(key.start_mark.index)
                if not self.is_first(start):
                    continue  # After an anchor or a tag.
                if type(value) is MappingNode:
                    step = deeper if step is None else step
                else:
                    dash = deeper if dash is None else dash
        step = 2 if step is None else step
        return Style(step, step if dash is None else dash)


def quote_at(document: Document, path: Path) -> str:
    """Return the quotes of strings between braces at ``path``: those of JSON if its keys have them."""
    first = _first_in_braces(document, path)
    return '"' if first is not None and first[0].style == '"' else ""


def colon_at(document: Document, path: Path) -> str:
    """Return the colon with its space, as it is written between braces at ``path``."""
    first = _first_in_braces(document, path)
    if first is not None and first[0].style == '"':
        between = document.text()[first[0].end_mark.index : first[1].start_mark.index]
        return ":" if between == ":" else ": "
    return ": "


def _first_in_braces(document: Document, path: Path) -> tuple[Any, Any] | None:
    """Return the first key and value of the nearest map in braces at ``path`` or above it."""
    for length in range(len(path), -1, -1):
        node = document.node_at(path[:length])
        if type(node) is MappingNode and node.flow_style and node.value:
            key, value = node.value[0]
            return key, value
    return None


_AFTER_KEY = re.compile(r"[ \t]*:")
