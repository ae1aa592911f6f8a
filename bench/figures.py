"""Figures from measurements: medians, ranges, ratios by round, and limits that are met or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from bench.processes import Usage


class Range(NamedTuple):
    """The median and the range of a figure over all rounds."""

    median: float
    low: float
    high: float


class Row(NamedTuple):
    """One command on one tree. ``wall_ratio`` and ``cpu_ratio`` are relative to the command ``base``, None for that command itself."""

    tree: str
    name: str
    wall: Range
    cpu: Range
    peak: int
    base: str | None = None
    wall_ratio: Range | None = None
    cpu_ratio: Range | None = None


class Bar(NamedTuple):
    """A promise: ``value`` is at most ``limit``. ``beside`` is the same ratio in processor time, if that is meaningful.

    ``judged`` is False on trees of another size than the one that the limit applies to.
    """

    what: str
    value: float
    limit: float
    judged: bool = True
    beside: float | None = None

    @property
    def met(self) -> bool:
        return self.value <= self.limit


def over_rounds(values: Iterable[float]) -> Range:
    """Return the median and the range. A median is robust against a round in which the machine was busy."""
    listed = list(values)
    return Range(median(listed), min(listed), max(listed))


def ratio(usages: Sequence[Usage], base: Sequence[Usage], figure: Callable[[Usage], float]) -> Range:
    """Return the ratio of a figure, computed for each round, because commands in one round ran under similar load."""
    return over_rounds(figure(one) / figure(other) for one, other in zip(usages, base, strict=True))


def wall(usage: Usage) -> float:
    return usage.wall


def cpu(usage: Usage) -> float:
    return usage.cpu


def rows(tree: str, usages: dict[str, list[Usage]], base: str) -> list[Row]:
    """Return the row of each command on a tree, with the ratios to one of them."""
    return [
        Row(
            tree,
            name,
            over_rounds(map(wall, taken)),
            over_rounds(map(cpu, taken)),
            max(usage.peak for usage in taken),
            None if name == base else base,
            None if name == base else ratio(taken, usages[base], wall),
            None if name == base else ratio(taken, usages[base], cpu),
        )
        for name, taken in usages.items()
    ]


# Text output.

_HEADINGS = ("tree", "command", "wall s", "min..max", "cpu s", "min..max", "peak MB", "x wall", "min..max", "x cpu", "of")


def table(shown: Sequence[Row]) -> str:
    """Return the rows under headings, with aligned columns."""
    lines = [_HEADINGS, *(_cells(row) for row in shown)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    ratios: tuple[str, ...] = ("",) * 4
    if row.wall_ratio and row.cpu_ratio:
        ratios = (f"{row.wall_ratio.median:.2f}", _ends(row.wall_ratio, 2), f"{row.cpu_ratio.median:.2f}", row.base or "")
    seconds = (f"{row.wall.median:.3f}", _ends(row.wall, 3), f"{row.cpu.median:.3f}", _ends(row.cpu, 3))
    return (row.tree, row.name, *seconds, f"{row.peak / 1e6:.0f}", *ratios)


def _ends(figures: Range, digits: int) -> str:
    return f"{figures.low:.{digits}f}..{figures.high:.{digits}f}"


def bar_line(bar: Bar) -> str:
    """Return ``met      fleet, one job, relative to R: 1.42 (1.40 in processor time), at most 1.8``."""
    verdict = ("met" if bar.met else "NOT MET") if bar.judged else "-"
    value = bar.value if isinstance(bar.value, int) else f"{bar.value:.2f}"
    beside = "" if bar.beside is None else f" ({bar.beside:.2f} in processor time)"
    return f"{verdict:<8} {bar.what}: {value}{beside}, at most {bar.limit:g}"
