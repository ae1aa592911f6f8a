"""Renders charts with dependencies from the same repository, for the configured Kubernetes version."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape, glob
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.kube.label_syntax import is_subdomain
from afflint.rendering.boundary import Boundary, link_outside
from afflint.rendering.chart_downloads import ChartDownloads, chart_reference
from afflint.rendering.chart_schemas import loads_elsewhere
from afflint.rendering.given_values import Setting
from afflint.rendering.programs import ProgramRunner, RenderError, helm
from afflint.rendering.roots import chart_data
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, Source
from afflint.yaml.document import maps_at, text_at

RELEASE = "release"
_LOCAL = "file://"
_DEPENDENCY_FILES, _DEPENDENCIES = (CHART, "requirements.yaml"), "dependencies"
_LOCKS = ("Chart.lock", "requirements.lock")
_LARGEST_CHART = 64 << 20
"""The most bytes that are copied of a chart and its dependencies."""
_MOST_COPIES = 300
"""The most copies of charts for one: each of ten dependencies of ten dependencies is another one."""
_SIZE_PER_FILE = 1 << 10
"""Bytes that each copied file adds to its size."""
_SKIPPED_FOLDERS = (".git", "node_modules")
_MAX_DEPTH = 8
_NO_VALUES: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its Helm options: release, namespace, values files, further options.

    ``inline`` are values that override the files, and ``settings`` those that override these.
    """

    folder: str
    release: str = RELEASE
    namespace: str | None = None
    values: tuple[str, ...] = ()
    inline: tuple[Mapping[str, Any], ...] = ()
    settings: tuple[Setting, ...] = ()
    options: tuple[str, ...] = ()

    def with_defaults(self) -> Chart:
        """Return the chart with its default values."""
        return replace(self, values=(), inline=(), settings=())


class MissingDependency(NamedTuple):
    """A dependency that a chart is rendered without, and why."""

    name: str
    reason: str = "it is not in the repository"


@dataclass(frozen=True, slots=True)
class ChartCopy:
    """A copy of a chart with its dependencies in place. ``origins`` are pairs of copied and original folders, the deepest first.

    ``missing_dependencies`` are those that could not be found; the copy does not declare them.
    """

    folder: str
    origins: tuple[tuple[str, str], ...]
    missing_dependencies: tuple[MissingDependency, ...]

    def origin(self, file: str) -> str:
        """Return the original of a file of the copy."""
        for folder, source in self.origins:
            if file.startswith(os.path.join(folder, "")):
                return os.path.join(source, os.path.relpath(file, folder))
        return file


class Charts:
    """The charts of a repository by name, as possible dependencies. ``downloads`` has those in other places, if they are used."""

    def __init__(self, folders: Sequence[str], boundary: Boundary, downloads: ChartDownloads | None = None) -> None:
        self._boundary = boundary
        self.downloads = downloads
        self._folders: dict[str, str] = {}
        for folder in folders:
            self._folders.setdefault(str(chart_data(folder).get("name", "")), folder)

    def reject_links(self, folder: str) -> None:
        """Raise RenderError if a file of a chart is a link to a path outside its repository: templates could read that path."""
        try:
            link = link_outside(folder, self._boundary.top(os.path.realpath(folder)))
        except OSError as error:
            raise RenderError(f"the chart in {folder} cannot be read: {error.strerror or error}") from None
        if link is not None:
            raise RenderError(f"{quoted(os.path.relpath(link, folder))} in the chart is a link to a file outside the repository")

    def missing(self, folder: str) -> list[Mapping[str, Any]]:
        """Return the dependencies of a chart that are not in its ``charts`` folder."""
        return [each for each in _dependencies(folder) if not _has(folder, str(each.get("name", "")))]

    def copy(self, folder: str, target: str) -> ChartCopy:
        """Copy a chart with the dependencies that are in this repository. Raises OSError and RenderError."""
        return self._copy(folder, target, _CopyFilter(), 0)

    def _copy(self, folder: str, target: str, copied: _CopyFilter, depth: int) -> ChartCopy:
        self.reject_links(folder)
        copied.count_chart()
        shutil.copytree(folder, target, ignore=copied, ignore_dangling_symlinks=True, dirs_exist_ok=True)
        origins = [(target, folder)]
        missing: list[MissingDependency] = []
        for name, each in {str(each.get("name", "")): each for each in self.missing(folder)}.items():
            try:
                source = self._source_of(folder, each) if depth < _MAX_DEPTH and _is_plain(name) else None
            except RenderError as error:
                missing.append(MissingDependency(name, error.reason))
                continue
            if source is None:
                missing.append(MissingDependency(name))
            else:
                dependency = self._copy(source, os.path.join(target, "charts", name), copied, depth + 1)
                origins += dependency.origins
                missing += dependency.missing_dependencies
        if missing:
            _remove_dependencies(target, {each.name for each in missing})
        return ChartCopy(target, tuple(sorted(origins, key=lambda pair: -len(pair[0]))), tuple(missing))

    def _source_of(self, folder: str, dependency: Mapping[str, Any]) -> str | None:
        """Return the folder of a dependency: in this repository, or downloaded if that has another version. Raises RenderError."""
        name, repository = text_at(dependency, "name"), text_at(dependency, "repository")
        if repository.startswith(_LOCAL):
            here = os.path.realpath(os.path.join(folder, repository.removeprefix(_LOCAL)))
            is_chart = os.path.isfile(os.path.join(here, CHART)) and is_inside(here, self._boundary.top(os.path.realpath(folder)))
            return here if is_chart else None
        found = self._folders.get(name)
        found = None if found == folder else found  # A chart may have the name of the chart that it wraps.
        locks = [each for lock in _LOCKS for each in maps_at(chart_data(folder, lock), _DEPENDENCIES) if each.get("name") == name]
        version = text_at(locks[0] if locks else dependency, "version")
        if self.downloads is None or "://" not in repository or (found is not None and chart_data(found).get("version") == version):
            return found
        try:
            return self.downloads.unpacked(chart_reference(repository, name, version))
        except RenderError:
            if found is None:
                raise
            return found


class _CopyFilter:
    """Selects the files of a chart and its dependencies to copy, up to a total size and number of charts.

    Pipes and devices are skipped because reading them may block. Links to folders are skipped unless they lead to a chart and are not below
    another link.
    """

    def __init__(self) -> None:
        self._remaining = _LARGEST_CHART
        self._charts = 0

    def count_chart(self) -> None:
        """Count a copy. Raises RenderError if there are more than in any real chart."""
        self._charts += 1
        if self._charts > _MOST_COPIES:
            raise RenderError(f"the chart and its dependencies are more than {_MOST_COPIES} charts")

    def __call__(self, folder: str, names: list[str]) -> set[str]:
        return {name for name in names if not self._is_copied(folder, name)}

    def _is_copied(self, folder: str, name: str) -> bool:
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            linked = os.path.islink(path)
            chained = linked and os.path.realpath(folder) != os.path.abspath(folder)
            return name not in _SKIPPED_FOLDERS and not chained and (not linked or os.path.isfile(os.path.join(path, CHART)))
        size = os.path.getsize(path) if os.path.isfile(path) else self._remaining + 1
        if size <= self._remaining:
            self._remaining -= size + _SIZE_PER_FILE
            return True
        return False


def file_in(folder: str, name: str) -> str | None:
    """Return the path of a values file in a chart; None without such a file."""
    path = os.path.realpath(os.path.join(folder, name))
    return path if is_inside(path, os.path.realpath(folder)) and os.path.isfile(path) else None


def _dependencies(folder: str) -> Iterator[Mapping[str, Any]]:
    for name in _DEPENDENCY_FILES:
        listed = chart_data(folder, name).get(_DEPENDENCIES)
        yield from (each for each in (listed if type(listed) is list else ()) if type(each) is dict)


def _remove_dependencies(chart: str, names: set[str]) -> None:
    """Remove dependencies from the files of a copy."""
    for file in _DEPENDENCY_FILES:
        data = chart_data(chart, file)
        listed = data.get(_DEPENDENCIES)
        if type(listed) is list:
            remaining = [each for each in listed if type(each) is not dict or each.get("name") not in names]
            with open(os.path.join(chart, file), "w", encoding="utf-8") as written:
                json.dump({**data, _DEPENDENCIES: remaining}, written)


def _has(folder: str, name: str) -> bool:
    charts = os.path.join(folder, "charts")
    packed = os.path.join(escape(charts), f"{escape(name)}-*.tgz")
    return _is_plain(name) and (os.path.isfile(os.path.join(charts, name, CHART)) or bool(glob(packed)))


def _is_plain(name: str) -> bool:
    """Return whether the name of a chart is that of a folder, and no path to another one."""
    return os.path.basename(name) == name not in ("", os.curdir, os.pardir) and "\0" not in name


def _command(program: Sequence[str], chart: Chart, folder: str, kubernetes_version: str, values: Sequence[str]) -> list[str]:
    """Return the command that renders a chart in a folder. Without ``--kube-version``, Helm assumes a version that is built in."""
    # An invalid name could be an option, such as --post-renderer.
    release = chart.release if is_subdomain(chart.release) else RELEASE
    command = [*program, release, folder, *(word for file in values for word in ("--values", file)), *chart.options]
    command += [word for each in chart.settings for word in each.words()]
    if kubernetes_version and KUBE_VERSION not in chart.options:
        command += [KUBE_VERSION, f"v{kubernetes_version}.0"]
    return command + (["--namespace", chart.namespace] if chart.namespace else [])


def render_chart(
    runner: ProgramRunner,
    program: Sequence[str],
    chart: Chart,
    folder: str,
    kubernetes_version: str,
    values: Sequence[str],
    extra: Mapping[str, Any] = _NO_VALUES,
) -> bytes:
    """Render a chart in a folder with these values files, and with ``extra`` values that override all others. Raises RenderError."""
    written = [each for each in (*chart.inline, extra) if each]
    if not written:
        return runner.output(_command(program, chart, folder, kubernetes_version, values), chart.folder)
    with tempfile.TemporaryDirectory(prefix="afflint-") as temporary:
        names = [os.path.join(os.path.realpath(temporary), f"inline-{number}.json") for number in range(len(written))]
        for name, each in zip(names, written, strict=True):
            with open(name, "w", encoding="utf-8") as file:
                json.dump(each, file)
        return runner.output(_command(program, chart, folder, kubernetes_version, [*values, *names]), chart.folder)


class RenderedChart(NamedTuple):
    """The output of a chart, and the chart with the values files and options that it was rendered with."""

    output: bytes
    chart: Chart


def render_template(runner: ProgramRunner, program: Sequence[str], chart: Chart, folder: str, kubernetes_version: str) -> RenderedChart:
    """Render a chart in a folder: ``chart.folder`` or a copy of it.

    A schema of values that loads other schemas is not used. A chart that cannot be rendered with its default values is
    rendered with values of its own tests (``ci/*-values.yaml``), or with those of an environment beside it (``values-*.yaml``). Raises the
    RenderError of the first attempt.
    """
    if NO_SCHEMA not in chart.options and loads_elsewhere(folder):
        chart = replace(chart, options=(*chart.options, NO_SCHEMA))

    def rendered(chart: Chart) -> RenderedChart:
        return RenderedChart(render_chart(runner, program, chart, folder, kubernetes_version, chart.values), chart)

    try:
        return rendered(chart)
    except RenderError as error:
        for extra in _values_beside(chart):
            with suppress(RenderError):
                return rendered(replace(chart, values=(*chart.values, extra)))
        raise error


KUBE_VERSION, NO_SCHEMA = "--kube-version", "--skip-schema-validation"
_VALUES_BESIDE = (os.path.join("ci", "*-values.yaml"), "values-*.yaml", "values.*.yaml")
_MOST_VALUES = 3
"""The most values files of each pattern that are tried."""


def _values_beside(chart: Chart) -> Iterator[str]:
    for pattern in _VALUES_BESIDE:
        yield from sorted(glob(os.path.join(escape(chart.folder), pattern)))[:_MOST_VALUES]


def render_named_chart(chart: str, values: Sequence[str] = ()) -> tuple[Source, tuple[str, ...]]:
    """Return the output for a chart that the user names, and the names of its dependencies that are missing.

    Dependencies next to the chart are added in a temporary copy; the chart is rendered without those that are missing. Raises RenderError.
    """
    folder = os.path.realpath(chart)
    beside = [os.path.dirname(file) for file in sorted(glob(os.path.join(escape(os.path.dirname(folder)), "*", CHART)))]
    charts = Charts(beside, Boundary([os.path.join(folder, CHART)]))
    if not os.path.isdir(folder) or not charts.missing(folder):
        return helm(chart, values), ()
    with tempfile.TemporaryDirectory(prefix="afflint-") as temporary:
        try:
            copy = charts.copy(folder, os.path.join(os.path.realpath(temporary), "chart"))
        except OSError as error:
            raise RenderError(f"the chart {quoted(chart)} cannot be copied: {error.strerror or error}") from None
        return helm(chart, values, copy=copy.folder), tuple([each.name for each in copy.missing_dependencies])
