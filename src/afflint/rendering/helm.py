"""Renders charts with dependencies from the same repository, for the configured Kubernetes version."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import escape, glob
from threading import Lock
from typing import Any
from weakref import finalize

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.kube.label_syntax import is_subdomain
from afflint.rendering.boundary import Boundary, link_outside
from afflint.rendering.chart_copies import DEPENDENCIES, DEPENDENCY_FILES, LARGEST_CHART, ChartCopier, ChartCopyError
from afflint.rendering.chart_downloads import ChartDownloads, chart_reference
from afflint.rendering.given_values import Inline, Setting
from afflint.rendering.programs import ProgramRunner, RenderError, helm
from afflint.rendering.roots import chart_data
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, Source
from afflint.source.temporary_folders import TemporaryFolder, temporary_folder
from afflint.source.trees import TreeLimits, TreeWriter, writing
from afflint.yaml.document import maps_at, text_at
from afflint.yaml.json_text import json_text

RELEASE = "release"
_LOCAL = "file://"
_LOCKS = ("Chart.lock", "requirements.lock")
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its Helm options: release, namespace, values files, further options.

    ``inline`` are values that override the files, and ``settings`` those that override these.
    """

    folder: str
    release: str = RELEASE
    namespace: str | None = None
    values: tuple[str, ...] = ()
    inline: tuple[Inline, ...] = ()
    settings: tuple[Setting, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def root_file(self) -> str:
        """The Chart.yaml of the chart."""
        return os.path.join(self.folder, CHART)


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
        self._lock = Lock()
        self._temporary: TemporaryFolder | None = None
        self._copies: dict[str, ChartCopy] = {}
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

    def copied(self, folder: str) -> ChartCopy:
        """Return a copy of a chart that is not changed, and exists as long as this object. Raises OSError and RenderError."""
        with self._lock:
            if self._temporary is None:
                self._temporary = TemporaryFolder()
                finalize(self, self._temporary.remove)
            if folder not in self._copies:
                self._copies[folder] = self.copy(folder, os.path.join(self._temporary.path, str(len(self._copies)), "chart"))
            return self._copies[folder]

    def copy(self, folder: str, target: str) -> ChartCopy:
        """Copy a chart with the dependencies that are in this repository to a new folder. Raises OSError and RenderError."""
        os.makedirs(os.path.dirname(target), exist_ok=True)
        top, name = os.path.split(target)
        with writing(top, TreeLimits("the chart", size=2 * LARGEST_CHART)) as tree:
            return self.copy_into(tree, top, name, folder)

    def copy_into(self, tree: TreeWriter, top: str, above: str, folder: str) -> ChartCopy:
        """Copy a chart with its dependencies to the folder ``above`` of a tree at ``top``. Raises OSError and RenderError."""
        try:
            origins, missing = self._copy(ChartCopier(tree), top, above, folder, 0)
        except ChartCopyError as error:
            raise RenderError(str(error)) from None
        return ChartCopy(os.path.join(top, above), tuple(sorted(origins, key=lambda pair: -len(pair[0]))), tuple(missing))

    def _copy(
        self, copier: ChartCopier, top: str, above: str, folder: str, depth: int
    ) -> tuple[list[tuple[str, str]], list[MissingDependency]]:
        """Return the copied folders with their originals, and the missing dependencies. Raises OSError, RenderError, ChartCopyError."""
        self.reject_links(folder)
        sources: dict[str, str] = {}
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
                sources[name] = source
        declaring = {name: data for name in DEPENDENCY_FILES if type((data := chart_data(folder, name)).get(DEPENDENCIES)) is list}
        copier.copy(folder, above, declaring, {each.name for each in missing})
        origins = [(os.path.join(top, above), folder)]
        for name, source in sources.items():
            further = self._copy(copier, top, f"{above}/charts/{name}", source, depth + 1)
            origins += further[0]
            missing += further[1]
        return origins, missing

    def _source_of(self, folder: str, dependency: Mapping[str, Any]) -> str | None:
        """Return the folder of a dependency: in this repository, or downloaded if that has another version. Raises RenderError."""
        name, repository = text_at(dependency, "name"), text_at(dependency, "repository")
        if repository.startswith(_LOCAL):
            here = os.path.realpath(os.path.join(folder, repository.removeprefix(_LOCAL)))
            is_chart = os.path.isfile(os.path.join(here, CHART)) and is_inside(here, self._boundary.top(os.path.realpath(folder)))
            return here if is_chart else None
        found = self._folders.get(name)
        found = None if found == folder else found  # A chart may have the name of the chart that it wraps.
        locks = [each for lock in _LOCKS for each in maps_at(chart_data(folder, lock), DEPENDENCIES) if each.get("name") == name]
        version = text_at(locks[0] if locks else dependency, "version")
        if self.downloads is None or "://" not in repository or (found is not None and chart_data(found).get("version") == version):
            return found
        try:
            return self.downloads.unpacked(chart_reference(repository, name, version))
        except RenderError:
            if found is None:
                raise
            return found


def file_in(folder: str, name: str) -> str | None:
    """Return the path of a values file in a chart; None without such a file."""
    path = os.path.realpath(os.path.join(folder, name))
    return path if is_inside(path, os.path.realpath(folder)) and os.path.isfile(path) else None


def _dependencies(folder: str) -> Iterator[Mapping[str, Any]]:
    for name in DEPENDENCY_FILES:
        listed = chart_data(folder, name).get(DEPENDENCIES)
        yield from (each for each in (listed if type(listed) is list else ()) if type(each) is dict)


def _has(folder: str, name: str) -> bool:
    charts = os.path.join(folder, "charts")
    packed = os.path.join(escape(charts), f"{escape(name)}-*.tgz")
    return _is_plain(name) and (os.path.isfile(os.path.join(charts, name, CHART)) or bool(glob(packed)))


def _is_plain(name: str) -> bool:
    """Return whether the name of a chart is that of a folder, and no path to another one."""
    return os.path.basename(name) == name not in ("", os.curdir, os.pardir) and "\0" not in name


class Replacements(NamedTuple):
    """What a chart is rendered with instead of its values: values files by path, and inline values and settings by number."""

    files: Mapping[str, str] = {}
    inline: Mapping[int, Any] = {}
    settings: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class ChartRendering:
    """A chart with what renders it, as often as needed, in copies of its folder.

    ``program`` is Helm, ``version`` that of Kubernetes, "" for the default of Helm. ``known`` are the charts that it may depend on, and
    ``extra`` are values that override all others, and ``without`` are templates that copies lack, by their paths in the chart.
    """

    runner: ProgramRunner
    program: Sequence[str]
    known: Charts
    chart: Chart
    version: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    def copy(self, target: str) -> Callable[[str], str]:
        """Copy the chart into a folder, and return a function that maps a file of the copy to its original.

        Raises OSError and RenderError.
        """
        copy = self.known.copy(self.chart.folder, target)
        for each in self.without:
            os.unlink(os.path.join(target, *each.split("/")))
        return copy.origin

    def with_defaults(self) -> ChartRendering:
        """Return the rendering of the chart with its default values."""
        return replace(self, chart=replace(self.chart, values=(), inline=(), settings=()))

    def render(self, folder: str, replaced: Replacements = Replacements()) -> bytes:  # noqa: B008
        """Render the copy of the chart in a folder, with replacements for values. Raises RenderError."""
        chart = self.chart
        # An invalid name could be an option, such as --post-renderer.
        command = [*self.program, chart.release if is_subdomain(chart.release) else RELEASE, folder]
        values = [replaced.files.get(os.path.realpath(each), each) for each in chart.values]
        inline = [replaced.inline.get(number, each.values) for number, each in enumerate(chart.inline)]
        with temporary_folder() as temporary:
            for number, each in enumerate(each for each in (*inline, self.extra) if each):
                values.append(os.path.join(temporary, f"inline-{number}.json"))
                with open(values[-1], "w", encoding="utf-8") as file:
                    file.write(json_text(each))
            command += [*(word for each in values for word in ("--values", each)), *chart.options]
            command += [word for number, each in enumerate(chart.settings) for word in each.words(replaced.settings.get(number))]
            if self.version and KUBE_VERSION not in chart.options:  # Otherwise Helm assumes a version that is built in.
                command += [KUBE_VERSION, f"v{self.version}.0"]
            if not self.version or tuple(map(int, self.version.split("."))) >= _SERVED_SINCE:
                command += ["--api-versions", _SERVED]
            return self.runner.output([*command, *(["--namespace", chart.namespace] if chart.namespace else [])], chart.folder)

    def output(self) -> bytes:
        """Return the output of a new copy of the chart. Raises RenderError and OSError."""
        with temporary_folder() as folder:
            top = os.path.join(folder, "chart")
            self.copy(top)
            return self.render(top)

    def first(self, folder: str) -> tuple[bytes, ChartRendering]:
        """Return the output of a copy of the chart in a folder, and the rendering of the chart with the values files that it needs.

        A chart that cannot be rendered with its default values is rendered with values of its own tests (``ci/*-values.yaml``), or with
        those of an environment beside it (``values-*.yaml``). Raises the RenderError of the first attempt.
        """
        try:
            return self.render(folder), self
        except RenderError as error:
            patterns = [os.path.join(escape(self.chart.folder), each) for each in VALUES_BESIDE]
            for file in [each for pattern in patterns for each in sorted(glob(pattern))[:_MOST_VALUES]]:
                with suppress(RenderError):
                    other = replace(self, chart=replace(self.chart, values=(*self.chart.values, file)))
                    return other.render(folder), other
            raise error


KUBE_VERSION, NO_SCHEMA = "--kube-version", "--skip-schema-validation"
_SERVED = ",".join(
    f"{group}/{kind}"
    for group, kinds in {
        "v1": "Pod Service ConfigMap Secret ServiceAccount Namespace PersistentVolume PersistentVolumeClaim",
        "apps/v1": "Deployment StatefulSet DaemonSet ReplicaSet",
        "batch/v1": "Job CronJob",
        "policy/v1": "PodDisruptionBudget",
        "autoscaling/v1": "HorizontalPodAutoscaler",
        "autoscaling/v2": "HorizontalPodAutoscaler",
        "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
        "rbac.authorization.k8s.io/v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
        "scheduling.k8s.io/v1": "PriorityClass",
        "storage.k8s.io/v1": "StorageClass CSIDriver",
        "apiextensions.k8s.io/v1": "CustomResourceDefinition",
        "admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    }.items()
    for kind in kinds.split()
)
"""The kinds that every cluster serves, from a version on. Helm alone knows only their group versions."""
_SERVED_SINCE = (1, 23)
VALUES_BESIDE = (os.path.join("ci", "*-values.yaml"), "values-*.yaml", "values.*.yaml")
_MOST_VALUES = 3
"""The most values files of each pattern that are tried."""


def render_named_chart(chart: str, values: Sequence[str] = ()) -> tuple[Source, tuple[str, ...]]:
    """Return the output for a chart that the user names, and the names of its dependencies that are missing.

    Dependencies next to the chart are added in a temporary copy; the chart is rendered without those that are missing. Raises RenderError.
    """
    folder = os.path.realpath(chart)
    beside = [os.path.dirname(file) for file in sorted(glob(os.path.join(escape(os.path.dirname(folder)), "*", CHART)))]
    charts = Charts(beside, Boundary([os.path.join(folder, CHART)]))
    if not os.path.isdir(folder) or not charts.missing(folder):
        return helm(chart, values), ()
    with temporary_folder() as temporary:
        try:
            copy = charts.copy(folder, os.path.join(temporary, "chart"))
        except OSError as error:
            raise RenderError(f"the chart {quoted(chart)} cannot be copied: {error.strerror or error}") from None
        return helm(chart, values, copy=copy.folder), tuple([each.name for each in copy.missing_dependencies])
