"""Trends on the page of ``afflint report``: a chart with its numbers next to it, and tables by group.

A chart is an image in SVG, without a script or a style attribute, with a title and a description. Its colours are those of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from afflint.findings.finding import Finding
from afflint.findings.phrases import pluralize
from afflint.report.html_page import bullets, column_heads, details, shown, state, wide_table
from afflint.report.phrases import html_words
from afflint.report.trends.model import DIMENSIONS, Dimension, Trend, cells, group_name, heading, heads, row_cells, row_heads, rows, summary

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
        yield f"</div>\n<div>\n{_reports(trend, name)}</div>\n</div>\n"
    else:
        yield _reports(trend, name)
    for dimension in DIMENSIONS[trend.subject]:
        yield from _groups(trend, dimension)
    for title, found in (("New", trend.new), ("Fixed", trend.fixed)):
        if found:
            yield _findings(f"{title} since {trend.points[-2].date}", found)
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


def _reports(trend: Trend, name: str) -> str:
    """Return the numbers of the chart, the newest report first."""
    lines = []
    for point in trend.points[: -_MOST_POINTS - 1 : -1]:
        first, *others = cells(trend, point)
        source = f' title="{shown(point.file)}"' if point.file else ""
        lines.append(f'<tr><th scope="row"{source}>{shown(first)}</th>{_numbers(others)}</tr>\n')
    left_out, more = len(trend.points) - _MOST_POINTS, "earlier; <code>--format json</code> has all"
    return wide_table("compliance numbers dates", f'aria-labelledby="{name}h"', _heads(heads(trend)), lines, left_out, more)


def _groups(trend: Trend, dimension: Dimension) -> Iterator[str]:
    found = rows(trend, dimension)
    if not found:
        return
    title = f"By {heading(trend.subject, dimension)}"
    dates = [point.date for point in trend.points]
    lines = []
    for row in found[:_MOST_ROWS]:
        _, *others = row_cells(dimension, row)
        label = f"<code>{shown(row.name)}</code>" if row.name else f'<span class="soft">{group_name(dimension, "")}</span>'
        line = f"<td>{sparkline(dates, row.numbers)}</td>" if len(dates) > 1 else ""
        lines.append(f'<tr><th scope="row">{label}</th>{_numbers(others)}{line}</tr>\n')
    columns = _heads(row_heads(trend, dimension)) + column_heads(["Trend"] * (len(dates) > 1))
    yield f"<h3>{title}</h3>\n"
    yield wide_table("compliance numbers", f'aria-label="{title}"', columns, lines, len(found) - _MOST_ROWS)


def _heads(words: Sequence[str]) -> str:
    first, *others = [word[0].upper() + word[1:] for word in words]
    return column_heads([first]) + column_heads(map(shown, others), "number")


def _numbers(words: Sequence[str]) -> str:
    return "".join(f'<td class="number">{word}</td>' for word in words)


def _findings(title: str, found: Sequence[Finding]) -> str:
    items = [
        f"{state(each.severity)} {html_words(each.message)} "
        f'<code class="where">{shown(each.file)}:{each.span.line}</code> <code>{shown(each.rule)}</code>'
        for each in found[:_MOST_FINDINGS]
    ]
    return details("fold", f"{title}: {len(found)}", bullets(items, "changed", left_out=len(found) - _MOST_FINDINGS))


# Charts.

_WIDTH, _HEIGHT = 360, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 8, 8, 22
"""Margins for the labels of the axes."""
_DOTS = 60
"""With more points than this, lines have no dots."""
_STEPS = (1, 2, 5)


def line_chart(name: str, title: str, description: str, dates: Sequence[str], lines: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Yield a chart with a line per CSS class in ``lines``: a number for each of two or more dates, oldest first.

    ``name`` makes its ids unique.
    """
    top = _nice(max((number for numbers in lines.values() for number in numbers), default=0))
    xs = _positions(dates)
    yield f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}t {name}d">\n'
    yield f'<title id="{name}t">{shown(title)}</title>\n<desc id="{name}d">{shown(description)}</desc>\n'
    for value in (0, top // 2, top) if top % 2 == 0 else (0, top):
        y = _y(value, top)
        yield f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/><text class="tick" x="{_LEFT - 5}" y="{y + 3.5:g}">{value}</text>\n'
    for place, date, anchor in ((_LEFT, dates[0], "start"), (_WIDTH - _RIGHT, dates[-1], "end")):
        yield f'<text x="{place}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{shown(date[:10])}</text>\n'
    for kind, numbers in lines.items():
        points = " ".join(f"{x:g},{_y(number, top):g}" for x, number in zip(xs, numbers, strict=True))
        yield f'<polyline class="line {kind}" points="{points}"/>\n'
        if len(dates) <= _DOTS:
            dots = zip(xs, numbers, dates, strict=True)
            yield "".join(
                f'<circle class="dot {kind}" cx="{x:g}" cy="{_y(number, top):g}" r="2.2"><title>{shown(date)}: {number}</title></circle>\n'
                for x, number, date in dots
            )
    yield "</svg>\n"


def sparkline(dates: Sequence[str], numbers: Sequence[int]) -> str:
    """Return a small chart of one row of a table, which has its numbers; screen readers skip it."""
    most = max(numbers, default=0) or 1
    points = " ".join(
        f"{(x - _LEFT) / (_WIDTH - _LEFT - _RIGHT) * 96 + 2:.4g},{18 - number / most * 16:.4g}"
        for x, number in zip(_positions(dates), numbers, strict=True)
    )
    return f'<svg class="spark" viewBox="0 0 100 20" aria-hidden="true"><polyline points="{points}"/></svg>'


def _positions(dates: Sequence[str]) -> list[float]:
    """Return the horizontal positions of the dates, in proportion to time; evenly if all dates are the same."""
    width = _WIDTH - _LEFT - _RIGHT
    times = [(datetime.fromisoformat(date) - datetime.min).total_seconds() for date in dates]
    if times[-1] <= times[0]:
        times = [float(number) for number in range(len(dates))]
    span = times[-1] - times[0]
    return [round(_LEFT + (time - times[0]) / span * width, 1) for time in times]


def _y(value: int, top: int) -> float:
    return round(_HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM), 1)


def _nice(most: int) -> int:
    """Return the first of 1, 2, 5, 10, 20, 50, ... that is not below ``most``."""
    power = 1
    while True:
        for step in _STEPS:
            if step * power >= most:
                return step * power
        power *= 10
