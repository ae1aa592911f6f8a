"""Writes fixed files, or shows the fixes as a diff."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from afflint.cli.output import show_bytes
from afflint.findings.phrases import pluralize, visible
from afflint.pipeline.fixing import text_of
from afflint.source.atomic_write import WriteError, replace_file
from afflint.yaml.documents import encoding_of

if TYPE_CHECKING:
    from afflint.fix.rounds import FileChange, FixOutcome
    from afflint.source.sources import Source


def write_fixes(fixed: FixOutcome, stdin: Source | None) -> list[str]:
    """Write the fixed files, and standard input to standard output; return the errors.

    Files are written one by one, and each is either replaced or left unchanged. Standard input is written even without fixes.
    """
    problems = []
    text = stdin.data if stdin else None
    for change in fixed.changes:
        if stdin is not None and change.source.path == stdin.path:
            text = change.after
        else:
            try:
                replace_file(change.source.path, change.before, change.after)
            except WriteError as error:
                problems.append(str(error))
    if text is not None:
        show_bytes(text)
    return problems


def patch(fixed: FixOutcome) -> Iterator[bytes]:
    """Yield all changes as one unified diff for ``git apply`` and ``patch``; the lines of each file keep its encoding."""
    for change in fixed.changes:
        # A diff splits at the line feed byte of ASCII, so UTF-16 is compared byte by byte, decoded as Latin-1.
        encoding = "utf-8" if encoding_of(change.before)[1] == "utf-8" else "latin-1"
        before, after = (data.decode(encoding, "surrogateescape") for data in (change.before, change.after))
        for number, line in enumerate(unified(_name(change), before, after)):
            yield line.encode("utf-8" if number < _HEADER else encoding, "surrogateescape")


def diff(fixed: FixOutcome, color: bool) -> Iterator[str]:
    """Yield all changes as one unified diff for people; text from a manifest cannot send escape sequences to the terminal."""
    for change in fixed.changes:
        before, after = (text_of(data) or "" for data in (change.before, change.after))
        for line in unified(_name(change), before, after):
            if sys.stdout is not None and sys.stdout.isatty():
                line = visible(line.rstrip("\r\n").replace("\t", "    ")) + "\n"
            style = next((style for lead, style in _STYLES if line.startswith(lead)), "") if color else ""
            yield f"\x1b[{style}m{line[:-1]}\x1b[0m\n" if style else line


def _name(change: FileChange) -> str:
    return change.source.name.replace(os.sep, "/")


_HEADER = 2
"""The number of lines at the start of a diff that name the file."""
_STYLES = (("---", "1"), ("+++", "1"), ("@@", "36"), ("-", "31"), ("+", "32"))


def would_fix(fixed: FixOutcome, *, unsafe: bool) -> str:
    """Return the summary of a diff: how many findings it would fix, and how many more with unsafe fixes."""
    more = 0 if unsafe else sum(each.fix is not None and not each.fix.safe for each in fixed.outcome.findings)
    hint = f" ({more} more with --unsafe-fixes)" if more else ""
    if not fixed.changes:
        return f"Nothing to fix{hint}."
    return f"Would fix {pluralize(fixed.number, 'finding')} in {pluralize(len(fixed.changes), 'file')}{hint}."


# Unified diffs in linear time for texts with few differences; difflib alone takes quadratic time.


_AGREEING = 6
"""Equal lines that end a difference."""
_LONGEST = 600
"""Longer differences are left to difflib."""

_Change = tuple[str, int, int, int, int]
"""An opcode of difflib: the operation, and the line ranges in both texts."""


def unified(name: str, before: str, after: str) -> Iterator[str]:
    """Yield the lines of a diff in the format of ``patch``; none for equal texts."""
    if before == after:
        return
    one, other = _lines(before), _lines(after)
    yield f"--- {name}\n"
    yield f"+++ {name}\n"
    matcher = SequenceMatcher(None, "", "")
    matcher.opcodes = _changes(one, other)  # type: ignore[attr-defined]  # Otherwise it computes them.
    for group in matcher.get_grouped_opcodes():
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for done, start, end, other_start, other_end in group:
            if done == "equal":
                yield from (_shown(" ", line) for line in one[start:end])
            else:
                yield from (_shown("-", line) for line in one[start:end])
                yield from (_shown("+", line) for line in other[other_start:other_end])


def _lines(text: str) -> list[str]:
    """Split a text into lines as ``patch`` does: only a line feed ends a line."""
    *complete, last = text.split("\n")
    return [*(f"{line}\n" for line in complete), *([last] if last else [])]


def _range(start: int, end: int) -> str:
    """Return a range as in ``diff -u``: lines count from 1; an empty range has the number of the line before it."""
    length = end - start
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"


def _shown(lead: str, line: str) -> str:
    return lead + line if line.endswith("\n") else f"{lead}{line}\n\\ No newline at end of file\n"


def _changes(one: Sequence[str], other: Sequence[str]) -> list[_Change]:
    opcodes: list[_Change] = []
    at, other_at = 0, 0
    while at < len(one) or other_at < len(other):
        start, other_start = at, other_at
        while at < len(one) and other_at < len(other) and one[at] == other[other_at]:
            at, other_at = at + 1, other_at + 1
        if at > start:
            opcodes.append(("equal", start, at, other_start, other_at))
        if at == len(one) and other_at == len(other):
            break
        end, other_end = _next_agreeing(one, at, other, other_at)
        for done, first, last, other_first, other_last in SequenceMatcher(None, one[at:end], other[other_at:other_end]).get_opcodes():
            opcodes.append((done, at + first, at + last, other_at + other_first, other_at + other_last))
        at, other_at = end, other_end
    return opcodes


def _next_agreeing(one: Sequence[str], at: int, other: Sequence[str], other_at: int) -> tuple[int, int]:
    """Return the nearest lines at which two texts agree again; their ends if that is not soon."""
    for distance in range(1, _LONGEST):
        for ahead in range(distance + 1):
            start, other_start = at + ahead, other_at + distance - ahead
            if one[start : start + 1] == other[other_start : other_start + 1] and (
                one[start : start + _AGREEING] == other[other_start : other_start + _AGREEING]
            ):
                return min(start, len(one)), min(other_start, len(other))
    return len(one), len(other)
