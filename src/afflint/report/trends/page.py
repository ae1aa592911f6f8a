"""Trends on the page of ``afflint report``: a chart with its numbers next to it, and tables by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import Finding
from afflint.findings.phrases import pluralize
from afflint.report.html_page import shown
from afflint.report.phrases import html_words
from afflint.report.trends.chart import line_chart, sparkline
from afflint.report.trends.model import (
    DIMENSIONS,
    Dimension,
    Trend,
    cells,
    group_name,
    heading,
    heads,
    row_cells,
    row_heads,
    rows,
    summary,
)

_MOST_POINTS = 60
_MOST_ROWS = 100
_MOST_FINDINGS = 200


def render(trend: Trend) -> Iterator[str]:
    """Yield a section: the last number, the chart, the reports, the groups, and the new and fixed findings."""
    name = trend.subject[0]
    yield f'<section class="trend" aria-labelledby="{name}h">\n<h2 id="{name}h">{trend.title}</h2>\n'
    yield f'<p class="lead">{html_words(summary(trend))}</p>\n'
    if len(trend.points) > 1:
        yield '<div class="views two">\n<div>\n'
        yield from _chart(trend, name)
        yield "</div>\n<div>\n"
        yield from _reports(trend, name)
        yield "</div>\n</div>\n"
    else:
        yield from _reports(trend, name)
    for dimension in DIMENSIONS[trend.subject]:
        yield from _groups(trend, dimension)
    for title, found in (("New", trend.new), ("Fixed", trend.fixed)):
        if found:
            yield from _findings(f"{title} since {trend.points[-2].date}", found)
    yield "</section>\n"


def _chart(trend: Trend, name: str) -> Iterator[str]:
    totals = [point.total for point in trend.points]
    lines = {"total": totals}
    if len(trend.severities) > 1:
        lines |= {each: [point.severities.get(each, 0) for point in trend.points] for each in trend.severities}
    first, last = trend.points[0], trend.points[-1]
    most = max(trend.points, key=lambda point: point.total)
    words = f"{first.total} on {first.date}, {last.total} on {last.date}; at most {most.total}, on {most.date}."
    yield from line_chart(name, trend.title, words, [point.date for point in trend.points], lines)
    yield '<p class="key">'
    for each in lines:
        label = f"all {trend.subject}" if each == "total" else pluralize(2, each).partition(" ")[2]
        sample = f'<svg class="sample" viewBox="0 0 24 8" aria-hidden="true"><path class="line {each}" d="M1 4H23"/></svg>'
        yield f"<span>{sample} {label}</span>"
    yield "</p>\n"


def _reports(trend: Trend, name: str) -> Iterator[str]:
    """Yield the numbers of the chart, the newest report first."""
    yield f'<div class="scroll" tabindex="0" role="group" aria-labelledby="{name}h"><table class="compliance numbers dates">\n'
    yield f"<thead><tr>{_heads(heads(trend))}</tr></thead>\n<tbody>\n"
    for point in trend.points[: -_MOST_POINTS - 1 : -1]:
        first, *others = cells(trend, point)
        source = f' title="{shown(point.file)}"' if point.file else ""
        yield f'<tr><th scope="row"{source}>{shown(first)}</th>{_numbers(others)}</tr>\n'
    yield "</tbody>\n</table></div>\n"
    if len(trend.points) > _MOST_POINTS:
        yield f'<p class="soft">and {len(trend.points) - _MOST_POINTS} earlier; <code>--format json</code> has all</p>\n'


def _groups(trend: Trend, dimension: Dimension) -> Iterator[str]:
    found = rows(trend, dimension)
    if not found:
        return
    title = f"By {heading(trend.subject, dimension)}"
    dates = [point.date for point in trend.points]
    yield f'<h3>{title}</h3>\n<div class="scroll" tabindex="0" role="group" aria-label="{title}"><table class="compliance numbers">\n'
    head = '<th scope="col">Trend</th>' if len(dates) > 1 else ""
    yield f"<thead><tr>{_heads(row_heads(trend, dimension))}{head}</tr></thead>\n<tbody>\n"
    for row in found[:_MOST_ROWS]:
        _, *others = row_cells(dimension, row)
        label = f"<code>{shown(row.name)}</code>" if row.name else f'<span class="soft">{group_name(dimension, "")}</span>'
        line = f"<td>{sparkline(dates, row.numbers)}</td>" if len(dates) > 1 else ""
        yield f'<tr><th scope="row">{label}</th>{_numbers(others)}{line}</tr>\n'
    yield "</tbody>\n</table></div>\n"
    if len(found) > _MOST_ROWS:
        yield f'<p class="soft">and {len(found) - _MOST_ROWS} more</p>\n'


def _heads(words: Sequence[str]) -> str:
    first, *others = [word[0].upper() + word[1:] for word in words]
    return f'<th scope="col">{first}</th>' + "".join(f'<th scope="col" class="number">{shown(word)}</th>' for word in others)


def _numbers(words: Sequence[str]) -> str:
    return "".join(f'<td class="number">{word}</td>' for word in words)


def _findings(title: str, found: Sequence[Finding]) -> Iterator[str]:
    yield f'<details class="fold"><summary>{title}: {len(found)}</summary>\n<ul class="changed">\n'
    for each in found[:_MOST_FINDINGS]:
        where = f'<code class="where">{shown(each.file)}:{each.span.line}</code>'
        yield f'<li><span class="state {each.severity}">{each.severity}</span> {html_words(each.message)} {where} '
        yield f"<code>{shown(each.rule)}</code></li>\n"
    if len(found) > _MOST_FINDINGS:
        yield f"<li>and {len(found) - _MOST_FINDINGS} more</li>\n"
    yield "</ul>\n</details>\n"
