"""The compliance report as Markdown, for job summaries and wikis: the policies, the owners, the trends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.report.compliance import Compliance, grouped
from afflint.report.markdown import code, prose
from afflint.report.paths import slashed
from afflint.report.policies.text import group_cells, group_heads, policy_rows, summary
from afflint.report.trends.model import MOST, Trend, tables
from afflint.report.trends.model import summary as trend_summary


def render(compliance: Compliance) -> Iterator[str]:
    """Yield the report in chunks."""
    if compliance.policies:
        yield f"### afflint: {prose(summary(compliance))}\n\n"
        heads, *rows = policy_rows(compliance)
        yield from _table(heads, rows)
        yield from _groups(compliance)
    else:
        yield "### afflint\n"
    for trend in compliance.trends:
        yield from _trend(trend)


def _groups(compliance: Compliance) -> Iterator[str]:
    for by in ("namespace", "owner"):
        groups = grouped(compliance, "owner" if by == "owner" else "namespace")
        key = compliance.owner_key if by == "owner" else by
        if not (key and groups):
            continue
        yield f"\n#### By {by}{f' ({code(key)})' if by == 'owner' else ''}\n\n"
        yield from _table(group_heads(compliance, by), [group_cells(compliance, each) for each in groups[:MOST]])
        if len(groups) > MOST:
            yield f"\nand {len(groups) - MOST} more\n"


def _trend(trend: Trend) -> Iterator[str]:
    """Yield a sentence, the tables of the text report, and what the last report added and fixed."""
    yield f"\n#### {trend.title}\n\n{prose(trend_summary(trend))}\n"
    for number, (heads, rows, rest) in enumerate(tables(trend)):
        yield "\n"
        yield from _table(heads, rows)
        if rest:
            yield f"\nand {rest} {'earlier' if not number else 'more'}\n"
    for title, found in (("New", trend.new), ("Fixed", trend.fixed)):
        if found:
            yield f"\n**{title} since {trend.points[-2].date}**\n\n"
            for each in found[:MOST]:
                where = code(f"{slashed(each.file)}:{each.span.line}")
                yield f"- {where} {each.severity}: {prose(each.message)} ({code(each.rule)})\n"
            if len(found) > MOST:
                yield f"- and {len(found) - MOST} more\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, the others to the right."""
    yield f"| {' | '.join(map(prose, heads))} |\n|---|{'---:|' * (len(heads) - 1)}\n"
    yield from (f"| {' | '.join((code(row[0]), *map(prose, row[1:])))} |\n" for row in rows)
