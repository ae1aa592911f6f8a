"""Snippets: the source lines of a finding, with carets under the span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from afflint.findings.finding import FileId, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible
from afflint.report.phrases import columns

WIDTH = 100
"""The most terminal columns of a source line that are shown."""

_TAB = " " * 4
_TALLEST = 6
"""Longer spans are shown without their middle."""

_KEPT = 4_000_000
"""How many characters of source stay split into lines, beyond the two files last read."""


class Sources:
    """The lines of the files that findings point into. Findings come file by file, so it is enough to keep a few files."""

    def __init__(self, read: Callable[[FileId], str | None]) -> None:
        self._read = read
        self._files: dict[FileId, tuple[Sequence[str], int]] = {}
        self._size = 0

    def lines(self, file: FileId) -> Sequence[str]:
        """Return the lines of ``file`` without line breaks; none if it cannot be read."""
        if file not in self._files:
            text = self._read(file) or ""
            self._files[file] = (_split(text), len(text))
            self._size += len(text)
            while self._size > _KEPT and len(self._files) > 2:
                self._size -= self._files.pop(next(iter(self._files)))[1]
        return self._files[file][0]


def _split(text: str) -> Sequence[str]:
    # Not splitlines(): it also breaks at form feeds and the like, which no editor counts as the end of a line.
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n") if text else ()


class Row(NamedTuple):
    """A row of a snippet: marks of the span, then source text. ``number`` is None in rows with marks only."""

    number: int | None
    marks: str
    text: str


def snippet(lines: Sequence[str], span: Span) -> list[Row]:
    """Return the rows that show ``span``, safe to print; none if the file does not have that line any more."""
    if span.line > len(lines):
        return []
    last, end = ending(lines, span)
    if last > span.line:
        return list(_several(lines, span, last, end))
    text, before, under = _cut(lines[span.line - 1], span.column, end)
    return [Row(span.line, "", text), Row(None, " " * before + "^" * under, "")]


def ending(lines: Sequence[str], span: Span) -> tuple[int, int]:
    """Return the last line on which ``span`` covers text, and the column after its end there."""
    last, end = span.end_line, span.end_column
    if last > len(lines):
        last, end = len(lines), len(lines[-1]) + 1
    # A YAML block ends where the next token starts: that line, and empty lines before it, are not part of the block.
    while last > span.line and not lines[last - 1][: end - 1].strip():
        last -= 1
        end = len(lines[last - 1]) + 1
    return last, end


def _several(lines: Sequence[str], span: Span, last: int, end: int) -> Iterator[Row]:
    """Yield rows with a rail from the start of the span to a caret under its last character."""
    opening = lines[span.line - 1]
    text, before, _ = _cut(opening, span.column, span.column)
    if opening[: span.column - 1].strip():
        yield Row(span.line, "  ", text)
        yield Row(None, " " + "_" * (before + 1) + "^", "")
    else:
        yield Row(span.line, "/ ", text)
    tall = last - span.line + 1 > _TALLEST
    for number in range(span.line + 1, span.line + 3 if tall else last):
        yield Row(number, "| ", _cut(lines[number - 1], 1, 1)[0])
    if tall:
        yield Row(None, "| ...", "")
    text, before, _ = _cut(lines[last - 1], end - 1, end)
    yield Row(last, "| ", text)
    yield Row(None, "|" + "_" * (before + 1) + "^", "")


def _cut(line: str, start: int, end: int) -> tuple[str, int, int]:
    """Cut ``line`` around the columns ``start`` to ``end``; return the text and the terminal columns before and under them."""
    start = max(0, min(start - 1, len(line)))
    right, used = _fitting(line[start : start + WIDTH // 2], WIDTH // 2)
    left, used_left = _fitting(reversed(line[max(0, start - WIDTH) : start]), WIDTH - used)
    more, _ = _fitting(line[start + right : start + WIDTH], WIDTH - used - used_left)
    first, last = start - left, start + right + more
    opening = "..." if first > 0 else ""
    closing = "..." if last < len(line) else ""
    text = "".join(_cell(char)[0] for char in line[first:last]).rstrip()
    under = sum(_cell(char)[1] for char in line[start : min(end - 1, last)])
    return opening + text + closing, len(opening) + used_left, max(1, under)


def _fitting(chars: Iterable[str], room: int) -> tuple[int, int]:
    """Return how many of ``chars`` fit into ``room`` terminal columns, and how many columns they take."""
    count = used = 0
    for char in chars:
        width = _cell(char)[1]
        if used + width > room:
            break
        used += width
        count += 1
    return count, used


def _cell(char: str) -> tuple[str, int]:
    """Return ``char`` as printed, and the terminal columns that it takes."""
    if char == "\t":
        return _TAB, len(_TAB)
    shown = visible(char)
    return shown, len(shown) if shown != char else columns(char)
