"""Trends as Markdown: the tables of the text report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import Finding
from afflint.report.markdown import code, prose
from afflint.report.paths import slashed
from afflint.report.trends.model import MOST, Trend, summary, tables


def render(trend: Trend) -> Iterator[str]:
    """Yield the trend in chunks."""
    yield f"\n#### {trend.title}\n\n{prose(summary(trend))}\n"
    for number, (heads, rows, rest) in enumerate(tables(trend)):
        yield "\n"
        yield from table(heads, rows)
        if rest:
            yield f"\nand {rest} {'earlier' if not number else 'more'}\n"
    for title, found in (("New", trend.new), ("Fixed", trend.fixed)):
        if found:
            yield f"\n**{title} since {trend.points[-2].date}**\n\n"
            yield from (f"- {_item(each)}\n" for each in found[:MOST])
            if len(found) > MOST:
                yield f"- and {len(found) - MOST} more\n"


def _item(finding: Finding) -> str:
    return f"{code(f'{slashed(finding.file)}:{finding.span.line}')} {finding.severity}: {prose(finding.message)} ({code(finding.rule)})"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, the others to the right."""
    yield f"| {' | '.join(map(prose, heads))} |\n|---|{'---:|' * (len(heads) - 1)}\n"
    yield from (f"| {' | '.join((code(row[0]), *map(prose, row[1:])))} |\n" for row in rows)
