"""What a chart does with each of its values, as its templates say: which they read, and which field of which object each becomes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from afflint.charts.chart_files import ChartFiles, ChartParts, parts_of_chart
from afflint.charts.symbols import Ref
from afflint.charts.template_layout import Landing, landings_in
from afflint.charts.template_reader import TemplateReader, ValueReads
from afflint.findings.paths import Path
from afflint.kube.kinds import EACH

_CHAIN = re.compile(r"\.Values((?:\.\w+)+)")


@dataclass(eq=False)
class ChartTable:
    """What the templates of a chart and its dependencies do with values. ``landings`` are the gaps in the objects that they write."""

    chart: ChartParts
    reads: ValueReads = field(default_factory=ValueReads)
    landings: list[Landing] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the chart."""
        return self.chart.name

    @cached_property
    def _whole(self) -> _PathTree:
        return _PathTree(self.reads.whole)

    @cached_property
    def _asked(self) -> _PathTree:
        return _PathTree([*self.reads.asked, *self.chart.conditions])

    @cached_property
    def paths(self) -> list[Path]:
        """The paths of the values that the templates read."""
        return [*dict.fromkeys(path for path in self.reads.whole if path)]

    def is_known(self, path: Path) -> bool:
        """Return whether everything that may read the value at a path is known."""
        if self.reads.opened is not None or self.chart.is_library or path[:1] == ("global",):
            return False
        return not any(path[: len(each)] == each[: len(path)] for each in self.chart.missing)

    def reads_at(self, path: Path) -> bool:
        """Return whether a template reads the value at a path, a part of it, or a map that contains it."""
        return self._whole.meets(path)

    def asks_at(self, path: Path) -> bool:
        """Return whether a template asks whether the value at a path, or a part of it, is set."""
        return self._asked.meets(path)

    def at(self, path: Path) -> Iterator[tuple[Landing, Path]]:
        """Yield the places that the value at a path reaches, each with the path in the object."""
        for each in self.landings:
            if isinstance(each.value, Ref) and each.field is not None and _matches(each.value.path, path[: len(each.value.path)]):
                yield each, (*each.field, *path[len(each.value.path) :])


class _PathTree:
    """Paths, to be found by their beginnings."""

    def __init__(self, paths: Iterator[Path] | Mapping[Path, Any] | list[Path]) -> None:
        self._root: dict[Any, Any] = {}
        for path in paths:
            here = self._root
            for step in path:
                here = here.setdefault(step, {})
            here[_END] = {}

    def meets(self, path: Path) -> bool:
        """Return whether a path is one of them, begins with one of them, or is the beginning of one."""
        here = [self._root]
        for step in path:
            if any(_END in each for each in here):
                return True
            keys = (step, EACH) if step != EACH else None
            here = [each[key] for each in here for key in (keys or each) if key in each and key is not _END]
            if not here:
                return False
        return True


_END = object()


def _matches(pattern: Path, path: Path) -> bool:
    return len(pattern) == len(path) and all(one in (EACH, own) or own == EACH for one, own in zip(pattern, path, strict=True))


def table_of(files: ChartFiles) -> ChartTable:
    """Return what the templates of a chart do with values."""
    chart = parts_of_chart(files)
    reader = TemplateReader(chart.parts, is_complete=not chart.missing)
    table = ChartTable(chart)
    for each in reader.written():
        table.landings += landings_in(each)
    table.reads = reader.reads
    return table


def chains_in(values: Any) -> Iterator[Path]:
    """Yield the paths of other values that texts in some values name, which a chart may fill as templates."""
    waiting = [values]
    while waiting:
        each = waiting.pop()
        if type(each) is dict:
            waiting += each.values()
        elif type(each) is list:
            waiting += each
        elif type(each) is str and "{{" in each:
            yield from (tuple(match[1].split(".")[1:]) for match in _CHAIN.finditer(each))
