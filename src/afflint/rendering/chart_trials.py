"""Renderings of a chart with values of afflint's own, which show what the chart does when a user sets them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import escape, glob
from typing import Any

from afflint.charts.chart_files import files_of_chart, merged_values, parts_of_chart
from afflint.charts.chart_table import ChartTable
from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.given_values import merged
from afflint.rendering.helm import ChartRendering
from afflint.rendering.helm_origins import ChartSourceMap
from afflint.rendering.line_marks import read_template, templates_of
from afflint.rendering.roots import chart_data
from afflint.rendering.source_documents import SourceTexts

_MOST_RENDERS = 24
_MOST_DEPTH = 8
_MOST_TESTS = 3
"""The most values files of a chart's own tests that are used."""
POD_KINDS = frozenset(("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Pod"))
_WORKLOAD = re.compile(rf"(?m)^\s*kind:\s*[\"']?(?:{'|'.join(sorted(POD_KINDS))})\b")
_SOURCE = re.compile(r"(?m)^# Source: [^/\s]+/(\S+)")


class TrialOutput(NamedTuple):
    """The output of a chart with further values."""

    data: bytes
    source_map: Callable[[], ChartSourceMap]
    """Create the source map. This renders the chart again. Raises RenderError and OSError."""


@dataclass
class ChartTrials:
    """Renders one chart with further values, up to a limit. ``output`` is what it renders to without them.

    ``condition`` describes the values in messages that the chart is rendered with because it refuses its default values.
    """

    rendering: ChartRendering
    output: bytes
    texts: SourceTexts
    condition: str = ""
    renders: int = 0
    """The number of renderings so far."""

    @property
    def folder(self) -> str:
        """The folder of the chart."""
        return self.rendering.chart.folder

    @cached_property
    def table(self) -> ChartTable:
        """What the templates of the chart do with values."""
        return ChartTable(parts_of_chart(files_of_chart(self.folder)))

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values that the chart is rendered with, as far as they are in its own folder."""
        return merged_values(self.table.chart.defaults, self.rendering.extra)

    @property
    def exhausted(self) -> bool:
        """Whether the limit is reached."""
        return self.renders >= _MOST_RENDERS

    def lacks_workload(self, *outputs: bytes) -> bool:
        """Return whether a template with a kind that creates pods is in none of these outputs of the chart."""
        shown = {name for each in outputs for name in _SOURCE.findall(each.decode("utf-8", "replace"))}
        for file in templates_of(self.folder):
            name = os.path.relpath(file, self.folder).replace(os.sep, "/")
            if name not in shown and may_create_pods(file):
                return True
        return False

    def test_values(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the values of the chart's own tests, with the names of their files: a chart may render nothing without them."""
        for file in sorted(glob(os.path.join(escape(self.folder), "ci", "*-values.yaml")))[:_MOST_TESTS]:
            for text in self.texts.of(file)[:1]:
                if type(text.data) is dict:
                    yield os.path.relpath(file, self.folder).replace(os.sep, "/"), text.data

    def rendered(self, values: Mapping[str, Any]) -> TrialOutput | None:
        """Return the output with further values, if any; None if the limit is reached. Raises RenderError."""
        if not values:
            return TrialOutput(self.output, lambda: ChartSourceMap(self.output, self.rendering, self.texts))
        if self.exhausted:
            return None
        self.renders += 1
        rendering = replace(self.rendering, extra=merged(self.rendering.extra, values))
        try:
            output = rendering.output()
        except OSError:
            return None
        return TrialOutput(output, lambda: ChartSourceMap(output, rendering, self.texts, own_lines=True))


def may_create_pods(file: str) -> bool:
    """Return whether a template has a kind that creates pods in its text."""
    return _WORKLOAD.search(read_template(file) or "") is not None


def entries(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the paths and values in nested maps, up to a depth."""
    for key, value in data.items() if type(data) is dict and len(path) <= _MOST_DEPTH else ():
        if type(key) is str:
            yield (*path, key), value
            yield from entries(value, (*path, key))


def set_value(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a value at a path, unless a value above it is not a map."""
    for step in path[:-1]:
        below = values.setdefault(step, {})
        if type(below) is not dict:
            return
        values = below
    values[path[-1]] = value


def parts_of(folder: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a chart and its unpacked subcharts, with the paths of their values."""
    yield (), folder
    below = os.path.join(folder, "charts")
    names = sorted(os.listdir(below)) if os.path.isdir(below) else []
    aliased = {each.get("name") for each in chart_data(folder).get("dependencies") or () if type(each) is dict and "alias" in each}
    for name in names:
        data = chart_data(os.path.join(below, name))
        if type(data.get("name")) is str and data["name"] not in aliased and data.get("type") != "library":
            yield (data["name"],), os.path.join(below, name)
