"""Applies the rules about values that charts of the repository do not read. Runs without charts do not import this module."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from afflint.charts.chart_files import Kept, files_of_chart, merged_values, parts_of_chart
from afflint.charts.chart_table import ChartTable
from afflint.checks.match import located
from afflint.checks.read_values import ValuesOfChart
from afflint.findings.finding import NO_OBJECT, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.shapes import mentions_placement
from afflint.manifests.manifest import reference
from afflint.rendering.roots import chart_data
from afflint.source.skipped_files import reason_to_skip
from afflint.source.sources import CHART, VALUES, Source, read_bytes
from afflint.yaml.document import text_at
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.prefilter import in_template_folder, is_values_file

if TYPE_CHECKING:
    from afflint.checks.registry import BoundRule
    from afflint.rendering.helm import Chart
    from afflint.rendering.hints import Hint

_FOLDERS_ABOVE = 2
_LOCAL = "file://"
_FOLDERS_OF_VALUES = frozenset(("ci", "values", "environments", "env", "envs", "overrides"))


class ChartTables:
    """The charts that files belong to, each read once. ``paths`` are the files of the run."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._tables: dict[str, ChartTable | None] = {}
        self._by_name: dict[str, list[str]] = {}
        self._kept: Kept = {}
        for path in paths:
            if os.path.basename(path) == CHART:
                folder = os.path.realpath(os.path.dirname(path) or os.curdir)
                self._by_name.setdefault(text_at(chart_data(folder), "name"), []).append(folder)

    def of(self, folder: str) -> ChartTable | None:
        """Return what the chart in a folder does with values; None without a chart there."""
        if folder not in self._tables:
            has_chart = os.path.isfile(os.path.join(folder, CHART))
            self._tables[folder] = self._read(folder) if has_chart else None
        return self._tables[folder]

    def _read(self, folder: str) -> ChartTable:
        return ChartTable(parts_of_chart(files_of_chart(folder, self._dependency, kept=self._kept)), folder, stops=True)

    def _dependency(self, folder: str, dependency: Mapping[str, Any]) -> str | None:
        """Return the folder of a dependency: the path that the chart names, or the only chart of the run with its name and version."""
        address = text_at(dependency, "repository")
        if address.startswith(_LOCAL):
            return os.path.realpath(os.path.join(folder, address.removeprefix(_LOCAL)))
        version = text_at(dependency, "version")
        named = self._by_name.get(text_at(dependency, "name"), ())
        found = [each for each in named if each != folder and _may_be(version, text_at(chart_data(each), "version"))]
        return found[0] if len(found) == 1 else None


def _may_be(wanted: str, version: str) -> bool:
    """Return whether a version may be one that a dependency allows, by its first number, and by the second if that is zero."""
    numbers = re.findall(r"\d+|[x*]", wanted)
    own = re.findall(r"\d+", version)
    first = 2 if own[:1] == ["0"] else 1
    return all(one in ("x", "*", each) for one, each in zip(numbers[:first], own[:first], strict=False))


def chart_folder_of(path: str) -> str | None:
    """Return the folder of the chart that a values file belongs to, by the folder that it is in; None without one.

    Templates may read a file with another name below the chart as it is (`.Files`).
    """
    here = os.path.dirname(os.path.realpath(path))
    for depth in range(_FOLDERS_ABOVE):
        if depth and not is_values_file(path) and os.path.basename(os.path.dirname(path)) not in _FOLDERS_OF_VALUES:
            return None
        if os.path.isfile(os.path.join(here, CHART)):
            return here
        here = os.path.dirname(here)
    return None


def found_in_values(
    rules: Collection[BoundRule], sources: Sequence[Source], declaring: Collection[str], rendered: Sequence[Chart] = ()
) -> Iterator[tuple[str, Found]]:
    """Yield what rules find in the values of charts, with the paths of the files.

    ``sources`` are the files of the run, and ``declaring`` the paths of those that may have objects of Argo CD, Flux or helmfile.
    ``rendered`` are charts that were rendered, with the values that such objects give them.
    """
    paths = [each.path for each in sources]
    tables = ChartTables(paths)
    known = {each.folder for each in rendered}
    given: list[Hint | Chart] = [*rendered, *(each for each in _hints_in(declaring, paths) if each.folder not in known)]
    for path, values in _every(sources, tables, given):
        # What rules say about the output of a chart is more exact.
        is_rendered = any(table.folder in known for table in values.tables) and (values.declares or bool(values.release))
        for rule in rules if not is_rendered else (each for each in rules if each.name.endswith("-chart-value")):
            check, _ = rule.check()
            for match in check(values):
                ref = reference(values.document.data) if values.path else NO_OBJECT
                yield path, located(rule.name, match, (), ref, values.document, fixing=False)


def _hints_in(declaring: Collection[str], paths: Sequence[str]) -> list[Hint]:
    if not declaring:
        return []
    from afflint.rendering.application_sets import ArgoClusters
    from afflint.rendering.boundary import Boundary
    from afflint.rendering.gitops import hints
    from afflint.rendering.helmfiles import add_helmfiles

    boundary = Boundary(paths)
    found = hints(declaring, boundary, ArgoClusters(paths))
    add_helmfiles(found, declaring, boundary)
    return [each for each in found.hints if os.path.isfile(os.path.join(each.folder, CHART))]


def _every(sources: Sequence[Source], tables: ChartTables, given: Sequence[Hint | Chart]) -> Iterator[tuple[str, ValuesOfChart]]:
    """Yield the values that charts get, with the paths of the files that contain them."""
    by_file: dict[str, list[Hint | Chart]] = {}
    for hint in given:
        for file in hint.values:
            by_file.setdefault(os.path.realpath(file), []).append(hint)
    of_charts = {os.path.realpath(each.path): each for each in sources if _is_of_chart(each)}
    folders = {real: folder for real in of_charts if (folder := chart_folder_of(real)) is not None}
    several = Counter(folder for real, folder in folders.items() if os.path.basename(real) != VALUES)
    named = {real: each for each in sources if (real := os.path.realpath(each.path)) in by_file} if by_file else {}
    files = {**of_charts, **named}
    for real, source in files.items():
        own, givers = folders.get(real), by_file.get(real, [])
        if own is not None and real == os.path.join(own, VALUES):
            users, values = [own], _GivenValues(declares=True, is_complete=True)
        elif givers:
            users = [*dict.fromkeys(each.folder for each in givers)]
            is_complete = len(givers) == 1 and len(givers[0].values) + len(givers[0].inline) + len(givers[0].settings) == 1
            values = _GivenValues(release=_name_of(givers[0]) if len(givers) == 1 else "", is_complete=is_complete)
        else:
            users, values = [own] if own is not None else [], _GivenValues(is_complete=own is not None and several[own] == 1)
        for path, each in _in_file(source, users, tables) if users else ():
            yield path, each._replace(**values._asdict())
    for hint in given:
        yield from _inline(hint, tables)


class _GivenValues(NamedTuple):
    """How a chart gets a file of values, see ``ValuesOfChart``."""

    declares: bool = False
    release: str = ""
    is_complete: bool = False


def _is_of_chart(source: Source) -> bool:
    return (source.values or is_values_file(source.name)) and not in_template_folder(source.name)


def _name_of(giver: Hint | Chart) -> str:
    """Return the name of a release; "" for the one that afflint gives to charts without an object."""
    from afflint.rendering.helm import RELEASE

    return giver.release if giver.release != RELEASE else ""


def _in_file(source: Source, folders: Sequence[str], tables: ChartTables) -> Iterator[tuple[str, ValuesOfChart]]:
    try:
        data = to_utf8(read_bytes(source))
    except (OSError, UnicodeDecodeError):
        return
    if not mentions_placement(data) or reason_to_skip(source.known_as, data):
        return
    for index, (piece, line, problem) in enumerate(split(data)):
        document = read(piece, index, line)
        if (
            problem is None
            and document.problem is None
            and type(document.data) is dict
            and not document.data.keys() >= {"apiVersion", "kind"}
        ):
            known = [table for folder in folders if (table := tables.of(folder)) is not None]
            if len(known) == len(folders):
                merged = merged_values(known[0].chart.defaults, document.data)
                yield source.path, ValuesOfChart(document, (), known, merged)


def _inline(hint: Hint | Chart, tables: ChartTables) -> Iterator[tuple[str, ValuesOfChart]]:
    """Yield the values that are written in the object that names a chart."""
    table, is_only = tables.of(hint.folder), len(hint.values) + len(hint.inline) + len(hint.settings) == 1
    merged = table.chart.defaults if table is not None else {}
    for inline in hint.inline:
        with suppress(TypeError):
            merged = merged_values(merged, inline.values)
    for inline in hint.inline:
        written = inline.written
        if table is not None and written is not None and not inline.target and not written.parameters and written.template is None:
            yield (
                written.text.file,
                ValuesOfChart(written.text.document, written.path, [table], merged, release=_name_of(hint), is_complete=is_only),
            )
