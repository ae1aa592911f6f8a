"""The text of a document as the editor holds it, changed piece by piece, and positions in it in the units of either side.

An editor counts lines from 0 and columns in the units that were agreed on; afflint counts both from 1 and columns in characters, and
does not count a byte order mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple

ENCODINGS = ("utf-32", "utf-8", "utf-16")
"""The units of columns, in the order in which they are preferred: with the first nothing has to be counted."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BOM = "\ufeff"

Place = tuple[int, int]
"""A line and a column in characters, both from 0, in the text as the editor has it."""


class Shift(NamedTuple):
    """A stretch of text that was replaced: where it began and ended, and where what took its place ends."""

    start: Place
    end: Place
    new_end: Place

    def place(self, place: Place) -> Place:
        """Where a place lies now. What lay inside the stretch lies at its beginning."""
        if place < self.start:
            return place
        if place < self.end:
            return self.start
        line, column = place
        if line == self.end[0]:
            return self.new_end[0], column - self.end[1] + self.new_end[1]
        return line - self.end[0] + self.new_end[0], column


class EditorText:
    """A text in lines. ``encoding`` is the unit in which the editor counts columns."""

    def __init__(self, text: str, encoding: str) -> None:
        self._lines = _LINES.findall(text)
        self._encoding = encoding

    def __str__(self) -> str:
        return "".join(self._lines)

    @property
    def size(self) -> int:
        """How many characters it has."""
        return sum(map(len, self._lines))

    @property
    def bytes(self) -> bytes:
        """The text as a file would hold it."""
        return str(self).encode("utf-8", "surrogatepass")

    @property
    def whole_lines(self) -> list[str]:
        """The lines with their breaks."""
        return self._lines

    @property
    def marked(self) -> bool:
        """Whether it begins with a byte order mark, as a file may."""
        return bool(self._lines) and self._lines[0].startswith(_BOM)

    def line(self, number: int) -> str:
        """A line without its break; an empty one behind the end."""
        return self._lines[number].rstrip("\r\n") if 0 <= number < len(self._lines) else ""

    @property
    def lines(self) -> int:
        """How many lines an editor shows: one more where the last one ends in a break."""
        return len(self._lines) + (not self._lines or self._lines[-1][-1:] in ("\r", "\n"))

    @property
    def line_break(self) -> str:
        """How its lines end."""
        first = self._lines[0] if self._lines else ""
        return first[len(first.rstrip("\r\n")) :] or "\n"

    # From the editor.

    def place(self, position: Any) -> Place:
        """A position of the protocol; behind the end of a line, or of the text, it is that end. Raises ValueError."""
        line, units = position["line"], position["character"]
        if type(line) is not int or type(units) is not int or line < 0 or units < 0:
            raise ValueError("a position needs two numbers from 0")
        if line >= self.lines:
            return self.lines - 1, len(self.line(self.lines - 1))
        return line, _characters(self.line(line), units, self._encoding)

    def replace(self, start: Place, end: Place, text: str) -> Shift:
        """Put ``text`` in place of a stretch."""
        end = max(start, end)
        first, last = start[0], end[0] + 1
        new = self._raw(start[0])[: start[1]] + text + self._raw(end[0])[end[1] :]
        # A carriage return and a line feed that come to stand side by side are one line break.
        if not start[1] and first and self._lines[first - 1].endswith("\r"):
            first -= 1
            new = self._lines[first] + new
        if new.endswith("\r") and self._raw(last).startswith("\n"):
            new += self._raw(last)
            last += 1
        self._lines[first:last] = _LINES.findall(new)
        inserted = _LINES.findall(text)
        if not inserted:
            return Shift(start, end, start)
        breaks = len(inserted) - (inserted[-1][-1:] not in ("\r", "\n"))
        column = len(inserted[-1]) if inserted[-1][-1:] not in ("\r", "\n") else 0
        return Shift(start, end, (start[0] + breaks, column + (start[1] if not breaks else 0)))

    def _raw(self, number: int) -> str:
        return self._lines[number] if number < len(self._lines) else ""

    def change(self, changes: Iterable[Any]) -> list[Shift] | None:
        """Apply the changes of a notification, in order. None when one of them replaced the whole text. Raises ValueError, KeyError."""
        shifts: list[Shift] | None = []
        for each in changes:
            text = each["text"]
            if type(text) is not str:
                raise ValueError("a change needs a text")
            if each.get("range") is None:
                self._lines = _LINES.findall(text)
                shifts = None
            else:
                shift = self.replace(self.place(each["range"]["start"]), self.place(each["range"]["end"]), text)
                if shifts is not None:
                    shifts.append(shift)
        return shifts

    # To the editor.

    def position(self, place: Place) -> dict[str, int]:
        """A place as a position of the protocol."""
        line, column = place
        return {"line": line, "character": _units(self.line(line), column, self._encoding)}

    def of_span(self, span: Span) -> dict[str, Any]:
        """A span of afflint as a range of the protocol."""
        return {
            "start": self.position(self.inside((span.line, span.column))),
            "end": self.position(self.inside((span.end_line, span.end_column))),
        }

    def inside(self, position: tuple[int, int]) -> Place:
        """A line and column as afflint counts them, as a place."""
        line, column = position[0] - 1, position[1] - 1
        return line, column + (line == 0 and self.marked)

    def outside(self, place: Place) -> tuple[int, int]:
        """A place as afflint counts lines and columns."""
        line, column = place
        return line + 1, max(column + 1 - (line == 0 and self.marked), 1)


def _characters(line: str, units: int, encoding: str) -> int:
    """How many characters of a line so many units are, at most all."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    for number, character in enumerate(line):
        if units <= 0:
            return number
        units -= _width(character, encoding)
    return len(line)


def _units(line: str, characters: int, encoding: str) -> int:
    """How many units the first characters of a line are; what lies behind its end counts as one each."""
    if encoding == "utf-32" or line.isascii():
        return characters
    before = line[:characters]
    return sum(_width(character, encoding) for character in before) + characters - len(before)


def _width(character: str, encoding: str) -> int:
    code = ord(character)
    if encoding == "utf-16":
        return 1 + (code > 0xFFFF)
    return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)


def shifted(span: Span, shifts: Sequence[Shift], text: EditorText) -> Span:
    """Where a span lies after changes; ``text`` is the changed one."""
    if not shifts:
        return span
    start, end = text.inside((span.line, span.column)), text.inside((span.end_line, span.end_column))
    for shift in shifts:
        start, end = shift.place(start), shift.place(end)
    return Span(*text.outside(start), *text.outside(max(start, end)))
