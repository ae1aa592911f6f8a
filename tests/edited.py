"""Makes the edits that findings offer."""

import re
from collections.abc import Sequence

from afflint.findings.finding import Edit, Span

_BREAK = re.compile(r"\r\n|\n|\r")


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with these edits, made from the last to the first, so that none moves another."""
    starts = _line_starts(text)
    for (line, column, end_line, end_column), replacement in sorted(edits, reverse=True):
        text = text[: starts[line - 1] + column - 1] + replacement + text[starts[end_line - 1] + end_column - 1 :]
    return text


def stretch(text: str, span: Span) -> str:
    """The text of a span."""
    starts = _line_starts(text)
    return text[starts[span.line - 1] + span.column - 1 : starts[span.end_line - 1] + span.end_column - 1]


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _BREAK.finditer(text))]
