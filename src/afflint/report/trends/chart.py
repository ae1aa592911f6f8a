"""Line charts as inline SVG: no script, no style attribute, colours from the style of the page.

A chart is an image with a title and a description; the numbers are in the table next to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from afflint.report.html_page import shown

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
