"""The surroundings of a position in flow style: the maps and lists in brackets around it, from text that is seldom valid YAML yet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.lsp.text import EditorText, Place

_KEY = r"[^\s\"'#{}\[\],][^#{}\[\]]*?|\"[^\"]*\"|'[^']*'"
_OPENING = re.compile(rf" *(?P<dashes>(?:- +)*)(?:(?P<key>{_KEY})\s*:\s+)?(?:[&!]\S*\s+)*(?P<value>.*)")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_BEYOND = 20
"""The number of lines below the position that are searched for sibling values."""
_LONGEST = 10_000
"""Longer lines are skipped: they were generated, not typed."""


class Bracket:
    """A map or a list in brackets. ``key`` is the key whose value it is, None for an item of a list.

    ``pairs`` has the scalars of a map by key. During reading, ``name`` is the key of the next value, and ``start`` the place at which the
    current scalar begins, None before it.
    """

    def __init__(self, kind: str, key: str | None) -> None:
        self.is_map = kind == "{"
        self.key = key
        self.pairs: dict[str, str] = {}
        self.name: str | None = None
        self.start: Place | None = None
        self._written = ""

    def add(self, character: str, place: Place) -> None:
        """Add a character to the current scalar."""
        if self.start is None:
            if character.isspace():
                return
            self.start = place
        self._written += character

    def colon(self) -> None:
        """End a key."""
        self.name = self._scalar()
        self._begin()

    def comma(self) -> None:
        """End a value or an item."""
        if self.is_map and self.name is not None:
            self.pairs[self.name] = self._scalar()
        self.name = None
        self._begin()

    def _begin(self) -> None:
        self._written, self.start = "", None

    def _scalar(self) -> str:
        return self._written.strip().strip("\"'")


class Flow:
    """The brackets around a place, the outermost first.

    ``line`` is the line in block style that contains them, ``column`` the column at which its content begins after dashes, and ``key`` its
    key, None for an item of a list. ``name`` and ``start`` are those of the innermost bracket at the place.
    """

    def __init__(self, line: int, column: int, key: str | None, brackets: list[Bracket], place: Place) -> None:
        inner = brackets[-1]
        self.line, self.column, self.key = line, column, key
        self.brackets = brackets
        self.name = inner.name
        self.start = inner.start[1] if inner.start is not None and inner.start[0] == place[0] else place[1]


def flow_at(text: EditorText, place: Place) -> Flow | None:
    """Return the brackets that are open at a place; None in block style."""
    for number, column, key, start in _flow_starts(text, place[0]):
        flow = _FlowReader(text, number, column, key).read_until((number, start), place)
        if flow is not None:
            return flow
    return None


def _flow_starts(text: EditorText, last: int) -> Iterator[tuple[int, int, str | None, int]]:
    """Yield the lines of the document up to ``last`` whose value begins with a bracket: line, column, key, and column of the bracket."""
    first = next((number for number in range(last, -1, -1) if text.line(number).startswith("---")), 0)
    deeper: int | None = None
    for number in range(first, last + 1):
        line = text.line(number)
        indent = len(line) - len(line.lstrip(" "))
        if len(line) > _LONGEST or (deeper is not None and (indent > deeper or not line.strip())):
            continue
        match = _OPENING.match(line)
        deeper = None
        if match is None:
            continue
        column = match.end("dashes")
        if _BLOCK_SCALAR.match(match["value"]):
            deeper = column if match["key"] else indent
        elif match["value"][:1] in ("{", "["):
            yield number, column, match["key"] and match["key"].strip("\"'"), match.start("value")


class _FlowReader:
    """Reads flow style from an opening bracket on."""

    def __init__(self, text: EditorText, line: int, column: int, key: str | None) -> None:
        self._text = text
        self._block = line, column, key
        self._brackets: list[Bracket] = []
        self._result: Flow | None = None
        self._quote = ""

    def read_until(self, start: Place, goal: Place) -> Flow | None:
        """Return the brackets around a place with their contents; None if all of them are closed before it."""
        number, column = start
        while number <= min(goal[0] + _BEYOND, self._text.line_count - 1):
            line = self._text.line(number)
            while column <= len(line):
                if (number, column) == goal and self._brackets:
                    self._result = Flow(*self._block, list(self._brackets), goal)
                if column == len(line) or (line[column] == "#" and line[:column][-1:] in ("", " ", "\t") and not self._quote):
                    break
                self._character(line, (number, column))
                if not self._brackets:
                    return self._result
                column += 1
            if number == goal[0] and self._result is None:
                return None  # In a comment.
            number, column = number + 1, 0
        return self._result

    def _character(self, line: str, place: Place) -> None:
        character = line[place[1]]
        inner = self._brackets[-1] if self._brackets else None
        if inner is not None and self._quote:
            self._quote = "" if character == self._quote else self._quote
            inner.add(character, place)
        elif character in "{[":
            self._brackets.append(Bracket(character, self._block[2] if inner is None else inner.name))
        elif inner is None:
            return
        elif character in "}]":
            inner.comma()
            self._brackets.pop()
        elif character == ",":
            inner.comma()
        elif (
            character == ":" and inner.is_map and inner.name is None and line[place[1] + 1 : place[1] + 2] in ("", " ", "\t", ",", "}", "]")
        ):
            inner.colon()
        else:
            if character in "\"'" and inner.start is None:
                self._quote = character
            inner.add(character, place)
