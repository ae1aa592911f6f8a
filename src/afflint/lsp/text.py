"""The text of a document in the editor, which changes piece by piece, and the conversion of positions in it.

An editor counts lines from 0 and columns from 0 in the negotiated units; afflint counts both from 1, columns in characters, and does not
count a byte order mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple

ENCODINGS = ("utf-32", "utf-8", "utf-16")
"""The units of columns in order of preference: with the first, columns need no conversion."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_BOM = "\ufeff"

Place = tuple[int, int]
"""A line and a column in characters, both from 0, in the text of the editor."""


class Shift(NamedTuple):
    """A range of text that was replaced: its start and end, and the end of the new text."""

    start: Place
    end: Place
    new_end: Place

    def move(self, place: Place) -> Place:
        """Return the new place for a place before the change. A place inside the range moves to its start."""
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
        self.raw_lines = _LINES.findall(text)
        """The lines with their line breaks."""
        self._encoding = encoding

    def __str__(self) -> str:
        return "".join(self.raw_lines)

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(map(len, self.raw_lines))

    @property
    def bytes(self) -> bytes:
        """The text as the bytes of a file."""
        return str(self).encode("utf-8", "surrogatepass")

    @property
    def has_bom(self) -> bool:
        """Whether the text begins with a byte order mark, as a file may."""
        return bool(self.raw_lines) and self.raw_lines[0].startswith(_BOM)

    def line(self, number: int) -> str:
        """Return a line without its line break; an empty one after the end of the text."""
        return self.raw_lines[number].rstrip("\r\n") if 0 <= number < len(self.raw_lines) else ""

    @property
    def line_count(self) -> int:
        """The number of lines that an editor shows: one more if the last line ends with a line break."""
        return len(self.raw_lines) + (not self.raw_lines or self.raw_lines[-1][-1:] in ("\r", "\n"))

    @property
    def line_break(self) -> str:
        """The line break of the first line."""
        first = self.raw_lines[0] if self.raw_lines else ""
        return first[len(first.rstrip("\r\n")) :] or "\n"

    # From the editor.

    def from_lsp(self, position: Any) -> Place:
        """Return the place of a position of the protocol; after the end of a line or the text, the place is that end. Raises ValueError."""
        line, units = position["line"], position["character"]
        if type(line) is not int or type(units) is not int or line < 0 or units < 0:
            raise ValueError("`line` and `character` of a position must be integers from 0")
        if line >= self.line_count:
            return self.line_count - 1, len(self.line(self.line_count - 1))
        return line, _characters(self.line(line), units, self._encoding)

    def replace(self, start: Place, end: Place, text: str) -> Shift:
        """Replace the text between two places."""
        end = max(start, end)
        first, last = start[0], end[0] + 1
        new = self._raw(start[0])[: start[1]] + text + self._raw(end[0])[end[1] :]
        # A carriage return and a line feed become one line break if the change brings them together.
        if not start[1] and first and self.raw_lines[first - 1].endswith("\r"):
            first -= 1
            new = self.raw_lines[first] + new
        if new.endswith("\r") and self._raw(last).startswith("\n"):
            new += self._raw(last)
            last += 1
        self.raw_lines[first:last] = _LINES.findall(new)
        inserted = _LINES.findall(text)
        if not inserted:
            return Shift(start, end, start)
        breaks = len(inserted) - (inserted[-1][-1:] not in ("\r", "\n"))
        column = len(inserted[-1]) if inserted[-1][-1:] not in ("\r", "\n") else 0
        return Shift(start, end, (start[0] + breaks, column + (start[1] if not breaks else 0)))

    def _raw(self, number: int) -> str:
        return self.raw_lines[number] if number < len(self.raw_lines) else ""

    def change(self, changes: Iterable[Any]) -> list[Shift] | None:
        """Apply the changes of a notification in order.

        Returns None if a change replaced the whole text. Raises ValueError, KeyError and TypeError for malformed changes.
        """
        shifts: list[Shift] | None = []
        for each in changes:
            text = each["text"]
            if type(text) is not str:
                raise ValueError("`text` of a change must be a string")
            if each.get("range") is None:
                self.raw_lines = _LINES.findall(text)
                shifts = None
            else:
                shift = self.replace(self.from_lsp(each["range"]["start"]), self.from_lsp(each["range"]["end"]), text)
                if shifts is not None:
                    shifts.append(shift)
        return shifts

    # To the editor.

    def to_lsp(self, place: Place) -> dict[str, int]:
        """Return a place as a position of the protocol."""
        line, column = place
        return {"line": line, "character": _units(self.line(line), column, self._encoding)}

    def range_of(self, span: Span) -> dict[str, Any]:
        """Return a span as a range of the protocol."""
        return {
            "start": self.to_lsp(self.place_of((span.line, span.column))),
            "end": self.to_lsp(self.place_of((span.end_line, span.end_column))),
        }

    def place_of(self, position: tuple[int, int]) -> Place:
        """Return a position, counted from 1, as a place."""
        line, column = position[0] - 1, position[1] - 1
        return line, column + (line == 0 and self.has_bom)

    def position_of(self, place: Place) -> tuple[int, int]:
        """Return a place as a position, counted from 1."""
        line, column = place
        return line + 1, max(column + 1 - (line == 0 and self.has_bom), 1)


def _characters(line: str, units: int, encoding: str) -> int:
    """Return the number of characters that take the given number of units, at most all of the line."""
    if encoding == "utf-32" or line.isascii():
        return min(units, len(line))
    for number, character in enumerate(line):
        if units <= 0:
            return number
        units -= _width(character, encoding)
    return len(line)


def _units(line: str, characters: int, encoding: str) -> int:
    """Return the number of units of the first characters of a line; each column after the end of the line counts as one."""
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
    """Return the span after changes; ``text`` is the changed text."""
    if not shifts:
        return span
    start, end = text.place_of((span.line, span.column)), text.place_of((span.end_line, span.end_column))
    for shift in shifts:
        start, end = shift.move(start), shift.move(end)
    return Span(*text.position_of(start), *text.position_of(max(start, end)))
