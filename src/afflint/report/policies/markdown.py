"""The compliance report as Markdown, for job summaries and wikis: the policies, the owners, the trends."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.report.compliance import Compliance, grouped
from afflint.report.markdown import code, prose
from afflint.report.policies.text import group_cells, group_heads, policy_rows, summary
from afflint.report.trends import markdown as trends
from afflint.report.trends.model import MOST


def render(compliance: Compliance) -> Iterator[str]:
    """Yield the report in chunks."""
    if compliance.policies:
        yield f"### afflint: {prose(summary(compliance))}\n\n"
        heads, *rows = policy_rows(compliance)
        yield from trends.table(heads, rows)
        yield from _groups(compliance)
    else:
        yield "### afflint\n"
    for trend in compliance.trends:
        yield from trends.render(trend)


def _groups(compliance: Compliance) -> Iterator[str]:
    for by in ("namespace", "owner"):
        groups = grouped(compliance, "owner" if by == "owner" else "namespace")
        key = compliance.owner_key if by == "owner" else by
        if not (key and groups):
            continue
        yield f"\n#### By {by}{f' ({code(key)})' if by == 'owner' else ''}\n\n"
        yield from trends.table(group_heads(compliance, by), [group_cells(compliance, each) for each in groups[:MOST]])
        if len(groups) > MOST:
            yield f"\nand {len(groups) - MOST} more\n"
