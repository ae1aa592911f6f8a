"""Applies the rules about values that charts of the repository do not read. Runs without charts do not import this module."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import partial
from typing import TYPE_CHECKING, Any

from afflint.charts.chart_files import Kept, files_of_chart, merged_values, parts_of_chart
from afflint.charts.chart_table import ChartTable
from afflint.checks.match import located
from afflint.checks.read_values import ValuesOfChart, may_have_placement
from afflint.findings.finding import NO_OBJECT, Found
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.manifests.manifest import reference
from afflint.rendering.roots import chart_data
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES as KUSTOMIZATIONS
from afflint.source.repositories import extent_of
from afflint.source.skipped_files import reason_to_skip
from afflint.source.sources import CHART, VALUES, Source, read_bytes
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.prefilter import in_template_folder, is_values_file

if TYPE_CHECKING:
    from afflint.checks.registry import BoundRule
    from afflint.rendering.given_values import Inline
    from afflint.rendering.helm import Chart
    from afflint.rendering.hints import Hint
    from afflint.rendering.source_documents import SourceText

_FOLDERS_ABOVE = 2
_LOCAL = "file://"
_MOST_OTHERS = 30
_OF_CHART = frozenset((CHART, "requirements.yaml"))
_CHARTS, _LARGEST = b"helmCharts", 1 << 20
_FOLDERS_OF_VALUES = frozenset(("ci", "values", "environments", "env", "envs", "overrides"))


Others = Callable[[], "Sequence[Mapping[str, Any]] | None"]
"""Returns the further values that a chart may get; None if they are not known."""


class ChartTables:
    """The charts that files belong to, each read once. ``paths`` are the files of the run."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._tables: dict[str, ChartTable | None] = {}
        self._by_name: dict[str, list[str]] = {}
        self._kept: Kept = {}
        self._values: dict[str, list[dict[str, Any]] | None] = {}
        self._parents: dict[str, list[str]] = {}
        for path in paths:
            if os.path.basename(path) == CHART:
                folder = os.path.realpath(os.path.dirname(path) or os.curdir)
                data = chart_data(folder)
                self._by_name.setdefault(text_at(data, "name"), []).append(folder)
                above, name = os.path.split(os.path.dirname(folder))
                addresses = [text_at(each, "repository") for each in maps_at(data, "dependencies")]
                inner = [os.path.join(folder, each.removeprefix(_LOCAL)) for each in addresses if each.startswith(_LOCAL)]
                for child, parent in ((folder, above) if name == "charts" else ("", ""), *((each, folder) for each in inner)):
                    self._parents.setdefault(os.path.realpath(child), []).append(parent)

    def parents_of(self, folder: str) -> list[ChartTable]:
        """Return the charts in whose folder a chart is, or that name its folder: their templates may read its values, too."""
        return [table for each in self._parents.get(folder, ()) if each and (table := self.of(each)) is not None]

    def of(self, folder: str) -> ChartTable | None:
        """Return what the chart in a folder does with values; None without a chart there."""
        if folder not in self._tables:
            has_chart = os.path.isfile(os.path.join(folder, CHART))
            self._tables[folder] = self._read(folder) if has_chart else None
        return self._tables[folder]

    def _read(self, folder: str) -> ChartTable:
        return ChartTable(parts_of_chart(files_of_chart(folder, self._dependency, kept=self._kept)), folder, stops=True)

    def values_in(self, files: Sequence[str]) -> Sequence[Mapping[str, Any]] | None:
        """Return the values in some files; None if one of them cannot be read, or if they are many."""
        if len(files) > _MOST_OTHERS:
            return None
        for path in files:
            if path not in self._values:
                read_whole = [read(piece, index, line) for index, (piece, line, _) in enumerate(split(_bytes_of(path)))]
                is_read = all(each.problem is None and type(each.data) in (dict, type(None)) for each in read_whole)
                self._values[path] = [map_at(each.data) for each in read_whole] if is_read else None
        found = [self._values[path] for path in files]
        return None if None in found else [each for known in found for each in known or ()]

    def _dependency(self, folder: str, dependency: Mapping[str, Any]) -> str | None:
        """Return the folder of a dependency: the path that the chart names, or the only chart of the run with its name and version."""
        address = text_at(dependency, "repository")
        if address.startswith(_LOCAL):
            return os.path.realpath(os.path.join(folder, address.removeprefix(_LOCAL)))
        name, version = text_at(dependency, "name"), text_at(dependency, "version")
        found = [each for each in self._by_name.get(name, ()) if each != folder and self._is_meant(each, name, version, address)]
        return found[0] if len(found) == 1 else None

    def _is_meant(self, folder: str, name: str, version: str, address: str) -> bool:
        """Return whether a chart is the one that a dependency names. One with an address has the very version, and wraps no other chart.

        Libraries of one name hardly differ.
        """
        data = chart_data(folder)
        if not address or text_at(data, "type") == "library":
            return _may_be(version, text_at(data, "version"))
        return version == text_at(data, "version") and all(text_at(each, "name") != name for each in maps_at(data, "dependencies"))


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
    hints, named = _hints_in(declaring, paths)
    given: list[Hint | Chart] = [*rendered, *(each for each in hints if each.folder not in known)]
    here = [each for each in given if os.path.isfile(os.path.join(each.folder, CHART))]
    elsewhere = {*map(os.path.realpath, named), *(os.path.realpath(file) for each in given if each not in here for file in _files_of(each))}
    for path, values, text in _every(sources, tables, here, elsewhere):
        # What rules say about the output of a chart is more exact.
        is_rendered = any(
            table.folder in known and (values.declares or values.release or _is_beside(path, table)) for table in values.tables
        )
        for rule in rules if not is_rendered else (each for each in rules if each.name.endswith("-chart-value")):
            check, _ = rule.check()
            for match in check(values):
                ref = reference(values.document.data) if values.path else NO_OBJECT
                found = located(rule.name, match, (), ref, values.document, fixing=False)
                if text is not None:
                    found = found._replace(document=text.index, span=text.place(match.path, "", key=match.key).span)
                yield path, found


def _files_of(giver: Hint | Chart) -> Iterator[str]:
    """Yield the files of values that an object gives to a chart."""
    yield from giver.values
    yield from (each.written.text.file for each in giver.inline if each.written is not None)


def _is_beside(path: str, table: ChartTable) -> bool:
    """Return whether a chart that is rendered is also rendered with a file of values in its folder."""
    from afflint.rendering.helm import VALUES_BESIDE

    return any(fnmatch(os.path.relpath(os.path.realpath(path), table.folder), each) for each in VALUES_BESIDE)


def _hints_in(declaring: Collection[str], paths: Sequence[str]) -> tuple[list[Hint], set[str]]:
    """Return the charts that objects of Argo CD and Flux, helmfiles and kustomizations name, with their values.

    And all files of values that these name, also for charts in other places.
    """
    named: set[str] = set()
    helmfiles = [each for each in paths if "helmfile" in each]
    found = _hints_of_kustomizations(paths)
    if declaring or helmfiles:
        from afflint.rendering.application_sets import ArgoClusters
        from afflint.rendering.boundary import Boundary
        from afflint.rendering.gitops import hints
        from afflint.rendering.helmfiles import add_helmfiles

        boundary = Boundary(paths)
        declared = hints(declaring, boundary, ArgoClusters(paths))
        add_helmfiles(declared, helmfiles, boundary)
        found += [*declared.hints, *(each.hint for each in declared.remote if each.hint is not None)]
        named = declared.values
    return found, named


def _hints_of_kustomizations(paths: Sequence[str]) -> list[Hint]:
    found: list[Hint] = []
    for path in paths:
        if os.path.basename(path) not in KUSTOMIZATIONS or _CHARTS not in _bytes_of(path):
            continue
        from afflint.rendering.given_values import Inline, Written
        from afflint.rendering.hints import Hint
        from afflint.rendering.kustomize_charts import FIELD, declarations_in
        from afflint.rendering.source_documents import SourceTexts

        folder = os.path.dirname(os.path.realpath(path))
        for text in SourceTexts().of(path):
            declared = declarations_in(map_at(text.data), folder)
            entries = [] if any(declared.rejections(extent_of(folder))) else [*enumerate(maps_at(declared.data, FIELD))]
            for chart, (number, entry) in zip(declared.charts, entries, strict=False):
                written = Written(text, (FIELD, number, "valuesInline"))
                inline = (Inline(map_at(entry, "valuesInline"), written),) if map_at(entry, "valuesInline") else ()
                release, home = text_at(entry, "releaseName"), os.path.realpath(chart.folder)
                found.append(Hint(home, f"Kustomization {path}", path, release=release, values=chart.values, inline=inline))
    return found


def _bytes_of(path: str) -> bytes:
    try:
        return read_regular(path, _LARGEST)
    except OSError:
        return b""


_Given = tuple[str, ValuesOfChart, "SourceText | None"]
"""The path of a file, values in it, and the text that contains them, if that is a scalar."""


def _every(sources: Sequence[Source], tables: ChartTables, given: Sequence[Hint | Chart], elsewhere: Collection[str]) -> Iterator[_Given]:
    """Yield the values that charts get, with the paths of the files that contain them. Those of charts ``elsewhere`` are left out."""
    by_file = grouped((os.path.realpath(file), hint) for hint in given for file in hint.values)
    of_charts = {os.path.realpath(each.path): each for each in sources if _is_of_chart(each)}
    folders = {real: folder for real in of_charts if (folder := chart_folder_of(real)) is not None}
    by_folder = grouped((folder, real) for real, folder in folders.items() if real != os.path.join(folder, VALUES))
    named = {real: each for each in sources if (real := os.path.realpath(each.path)) in by_file} if by_file else {}
    files = {**of_charts, **named}
    for real, source in files.items():
        own, givers = folders.get(real), by_file.get(real, [])
        if own is not None and not givers and os.path.basename(real) != VALUES:
            table = tables.of(own)
            if real in elsewhere or (table is not None and table.reads_files):
                continue
        if own is not None and real == os.path.join(own, VALUES):
            users, values = [own], _GivenValues(declares=True)
        elif givers:
            users = [*dict.fromkeys(each.folder for each in givers)]
            values = _GivenValues(release=_name_of(givers[0]) if len(givers) == 1 else "", others=_others_of(tables, givers, real))
        else:
            beside = [each for each in by_folder.get(own or "", ()) if each != real]
            users, values = [own] if own is not None else [], _GivenValues(others=partial(tables.values_in, beside))
        for path, each in _in_file(source, users, tables) if users else ():
            yield path, each._replace(**values._asdict()), None
    for hint in given:
        yield from _inline(hint, tables)


class _GivenValues(NamedTuple):
    """How a chart gets a file of values, see ``ValuesOfChart``."""

    declares: bool = False
    release: str = ""
    others: Others = lambda: ()


def _is_of_chart(source: Source) -> bool:
    is_values = source.values and os.path.basename(source.path) not in _OF_CHART
    return (is_values or is_values_file(source.name)) and not in_template_folder(source.name)


def _others_of(tables: ChartTables, givers: Sequence[Hint | Chart], file: str, besides: Inline | None = None) -> Others:
    """Return a function for what objects give their charts, except for a file, or for one of the values in them."""
    if any(each.settings or getattr(each, "patches", None) is not None for each in givers):
        return lambda: None
    files = [real for each in givers for path in each.values if (real := os.path.realpath(path)) != file]
    inline = [each.values for giver in givers for each in giver.inline if each is not besides]
    return lambda: None if (read := tables.values_in(files)) is None else [*read, *inline]


def _name_of(giver: Hint | Chart) -> str:
    """Return the name of a release; "" for the one that afflint gives to charts without an object."""
    from afflint.rendering.helm import RELEASE

    return giver.release if giver.release != RELEASE else ""


def _in_file(source: Source, folders: Sequence[str], tables: ChartTables) -> Iterator[tuple[str, ValuesOfChart]]:
    try:
        data = to_utf8(read_bytes(source))
    except (OSError, UnicodeDecodeError):
        return
    if not may_have_placement(data) or reason_to_skip(source.known_as, data):
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
                parents = tables.parents_of(folders[0]) if len(folders) == 1 else []
                yield source.path, ValuesOfChart(document, (), known, merged, parents=parents)


def _inline(hint: Hint | Chart, tables: ChartTables) -> Iterator[_Given]:
    """Yield the values that are written in the object that names a chart."""
    table = tables.of(hint.folder)
    for inline in hint.inline:
        written = inline.written
        if table is None or written is None or inline.target or written.parameters or "{{" in (written.template or ""):
            continue
        merged = merged_values(table.chart.defaults, map_at(inline.values))
        others = _others_of(tables, [hint], "", inline)
        values = ValuesOfChart(written.text.document, written.path, [table], merged, release=_name_of(hint), others=others)
        yield written.text.file, values, written.text if written.template is not None else None
