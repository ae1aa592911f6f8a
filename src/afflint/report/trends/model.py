"""Values of a trend: what each report of a history counted, and what the newest one added and fixed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from afflint.findings.finding import SEVERITIES, Finding, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize

Subject = Literal["findings", "violations"]
"""What a trend counts: findings of ``afflint check``, or violations of policies, which ``afflint report`` reports."""
Dimension = Literal["category", "rule", "owner", "folder"]
DIMENSIONS: Mapping[Subject, tuple[Dimension, ...]] = {
    "findings": ("category", "rule", "owner", "folder"),
    "violations": ("rule", "owner", "folder"),
}
MOST = 12
"""Up to this many points and rows are listed in a terminal and in Markdown."""


class TrendPoint(NamedTuple):
    """What one report counted. ``date`` is a day or a minute in UTC, ``file`` is None for the current run.

    ``scope`` is the number of documents or workloads of the run, ``unknown`` the number of sources that were not checked or of results that
    were not evaluated; None if the report does not say. ``new`` and ``fixed`` compare with the previous point; None for the first one.
    """

    date: str
    file: str | None
    severities: Mapping[Severity, int]
    counts: Mapping[Dimension, Mapping[str, int]]
    scope: int | None
    unknown: int | None
    new: int | None
    fixed: int | None

    @property
    def total(self) -> int:
        """Return the number of findings or violations."""
        return sum(self.severities.values())


class Trend(NamedTuple):
    """The points of one subject, oldest first (at least one), with the new and the fixed findings of the last."""

    subject: Subject
    points: tuple[TrendPoint, ...]
    new: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """Return the heading of the trend."""
        return "Findings over time" if self.subject == "findings" else "Policy violations over time"

    @property
    def unknown_words(self) -> str:
        """Return what the numbers leave out."""
        return "not checked" if self.subject == "findings" else "not evaluated"

    @property
    def scope_words(self) -> str:
        """Return what the size of a run is measured in."""
        return "documents" if self.subject == "findings" else "workloads"

    @property
    def severities(self) -> list[Severity]:
        """Return the severities that occur."""
        return [each for each in SEVERITIES if any(point.severities.get(each) for point in self.points)]


class TrendRow(NamedTuple):
    """A rule, an owner or another group: its number at each point."""

    name: str
    numbers: tuple[int, ...]

    @property
    def change(self) -> int:
        """Return the difference between the last two points; 0 if there is only one."""
        return self.numbers[-1] - self.numbers[-2] if len(self.numbers) > 1 else 0


def rows(trend: Trend, dimension: Dimension) -> list[TrendRow]:
    """Return a row per group, those with most findings at the last point first; nothing if there are no two groups to compare."""
    names = dict.fromkeys(name for point in trend.points for name in point.counts.get(dimension, ()))
    if len(names) < 2:
        return []
    found = [TrendRow(name, tuple(point.counts.get(dimension, {}).get(name, 0) for point in trend.points)) for name in names]
    return sorted(found, key=lambda row: (-row.numbers[-1], -max(row.numbers), row.name == "", row.name))


def heading(subject: Subject, dimension: Dimension) -> str:
    """Return the head of the column with the names of groups."""
    return "policy" if subject == "violations" and dimension == "rule" else dimension


def group_name(dimension: Dimension, name: str) -> str:
    """Return the name of a group for people."""
    return name or ("none" if dimension == "owner" else ".")


def summary(trend: Trend) -> str:
    """Return a sentence with the last number and how it compares with the previous report and with the first."""
    first, last = trend.points[0], trend.points[-1]
    noun = trend.subject.removesuffix("s")
    if len(trend.points) == 1:
        return f"{pluralize(last.total, noun)} on {last.date}."
    text = f"{pluralize(last.total, noun)} on {last.date}: {last.new} new and {last.fixed} fixed since {trend.points[-2].date}"
    return f"{text}; {first.total} on {first.date}." if len(trend.points) > 2 else f"{text}."


def cells(trend: Trend, point: TrendPoint) -> list[str]:
    """Return the row of a point, in the columns of ``heads``."""
    numbers = [point.total, *(point.severities.get(each, 0) for each in _columns(trend)), point.new, point.fixed, point.scope]
    unknown = [point.unknown] if has_unknown(trend) else []
    return [point.date, *("-" if number is None else str(number) for number in [*numbers, *unknown])]


def heads(trend: Trend) -> list[str]:
    """Return the heads of the table of points."""
    severities = [pluralize(2, each).partition(" ")[2] for each in _columns(trend)]
    return ["date", trend.subject, *severities, "new", "fixed", trend.scope_words, *([trend.unknown_words] if has_unknown(trend) else [])]


def has_unknown(trend: Trend) -> bool:
    """Return whether a run could not check or evaluate something."""
    return any(point.unknown for point in trend.points)


def _columns(trend: Trend) -> list[Severity]:
    """Return the severities with a column: none if all findings have the same one."""
    return trend.severities if len(trend.severities) > 1 else []


def row_cells(dimension: Dimension, row: TrendRow) -> list[str]:
    """Return a group as cells, in the columns of ``row_heads``."""
    numbers = (*row.numbers[:1][: len(row.numbers) > 2], *row.numbers[-2:])
    change = [f"{row.change:+}" if row.change else "0"] * (len(row.numbers) > 1)
    return [group_name(dimension, row.name), *map(str, numbers), *change]


def row_heads(trend: Trend, dimension: Dimension) -> list[str]:
    """Return the heads of a table of groups: the first, the previous and the last report, and the change."""
    dates = [point.date for point in (*trend.points[:1][: len(trend.points) > 2], *trend.points[-2:])]
    return [heading(trend.subject, dimension), *dates, *(["change"] if len(trend.points) > 1 else [])]


def tables(trend: Trend, most: int | None = MOST) -> Iterator[tuple[list[str], list[list[str]], int]]:
    """Yield the tables of a trend, each with its heads, its rows, and how many rows are left out: earlier points, or smaller groups."""
    shown: Sequence[TrendPoint] = trend.points if most is None else trend.points[-most:]
    yield heads(trend), [cells(trend, point) for point in shown], len(trend.points) - len(shown)
    for dimension in DIMENSIONS[trend.subject]:
        groups = rows(trend, dimension)
        if groups:
            listed = [row_cells(dimension, row) for row in groups[:most]]
            yield row_heads(trend, dimension), listed, len(groups) - len(listed)
