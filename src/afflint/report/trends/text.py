"""Trends for a terminal: a sentence, a table of the reports, a table per group, and what the last report added and fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import Finding
from afflint.findings.phrases import visible
from afflint.report.trends.model import MOST, Trend, summary, tables


def render(trend: Trend, *, verbose: bool = False) -> Iterator[str]:
    """Yield the trend in chunks; with ``verbose``, nothing is left out."""
    most = None if verbose else MOST
    yield f"{trend.title}: {summary(trend)}\n"
    for number, (heads, rows, rest) in enumerate(tables(trend, most)):
        yield "\n"
        yield from aligned(heads, rows)
        if rest:
            yield f"  and {rest} {'earlier' if not number else 'more'} (`-v` shows all)\n"
    for title, found in (("New", trend.new), ("Fixed", trend.fixed)):
        if found:
            yield f"\n{title} since {trend.points[-2].date}:\n"
            yield from (f"  {_line(each)}\n" for each in found[:most])
            if most is not None and len(found) > most:
                yield f"  and {len(found) - most} more (`-v` shows all)\n"


def _line(finding: Finding) -> str:
    return visible(f"{finding.file}:{finding.span.line}  {finding.severity}  {finding.message} [{finding.rule}]")


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, the others to the right."""
    table = [[visible(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(heads))]
    for row in table:
        first, *others = row
        cells = [f"{first:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip() + "\n"
