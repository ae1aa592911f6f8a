"""Writes fixed files, or shows the fixes as a diff."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afflint.cli.output import show_bytes
from afflint.findings.phrases import pluralize, visible
from afflint.pipeline.fixing import text_of
from afflint.report.diff import unified
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
