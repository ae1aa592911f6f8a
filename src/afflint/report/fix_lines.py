"""A fix as removed and added lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from afflint.findings.finding import Edit, Fix
from afflint.findings.namedtuples import NamedTuple

_AROUND = 2
"""Unchanged lines shown on either side; edits closer than twice this number of lines are one change."""
_TALLEST = 200
"""Longer changes are not compared line by line."""
_BREAK = re.compile(r"\r\n|\r")


class DiffLine(NamedTuple):
    """A line of a change: unchanged (``" "``), removed (``"-"``) or added (``"+"``); ``number`` is its line in the file before the fix."""

    kind: Literal[" ", "-", "+"]
    number: int | None
    text: str


def changes(lines: Sequence[str], fix: Fix) -> Iterator[list[DiffLine]]:
    """Yield the changes that ``fix`` makes to ``lines``, in order; none if the file no longer has the lines."""
    near: list[Edit] = []
    for edit in sorted(fix.edits):
        if near and edit.span.line > max(each.span.end_line for each in near) + 2 * _AROUND:
            yield _change(lines, near)
            near = []
        near.append(edit)
    if near and max(each.span.end_line for each in near) <= len(lines):
        yield _change(lines, near)


def _change(lines: Sequence[str], edits: Sequence[Edit]) -> list[DiffLine]:
    first = max(1, edits[0].span.line - _AROUND)
    last = min(len(lines), max(edit.span.end_line for edit in edits) + _AROUND)
    before = list(lines[first - 1 : last])
    after = _edited(before, edits, first)
    return list(_compared(before, after, first))


def _edited(lines: Sequence[str], edits: Sequence[Edit], first: int) -> list[str]:
    """Apply edits to lines that start at line ``first``; the last edit first, so that none moves another."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    text = "\n".join(lines)
    for span, replacement in reversed(edits):
        begin, end = starts[span.line - first] + span.column - 1, starts[span.end_line - first] + span.end_column - 1
        text = text[:begin] + _BREAK.sub("\n", replacement) + text[end:]
    return text.split("\n")


def _compared(before: Sequence[str], after: Sequence[str], first: int) -> Iterator[DiffLine]:
    if max(len(before), len(after)) > _TALLEST:
        blocks = [("replace", 0, len(before), 0, len(after))]
    else:
        from difflib import SequenceMatcher

        blocks = list(SequenceMatcher(None, before, after, autojunk=False).get_opcodes())
    for tag, begin, end, new_begin, new_end in blocks:
        kind: Literal[" ", "-"] = " " if tag == "equal" else "-"
        yield from (DiffLine(kind, first + number, before[number]) for number in range(begin, end))
        if tag != "equal":
            yield from (DiffLine("+", None, text) for text in after[new_begin:new_end])
