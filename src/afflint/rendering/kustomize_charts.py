"""Helm charts that a kustomization renders with `kustomize build --enable-helm`.

kustomize passes most fields of a chart to helm as they are, and writes files named after the chart. So a chart is only rendered if each of
these fields is plain. After ``HelmChartInflationGenerator`` of sigs.k8s.io/kustomize/api/internal/builtins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.rendering.boundary import link_outside
from afflint.source.repositories import is_inside
from afflint.yaml.document import map_at, maps_at, text_at, texts_at

_GENERATOR, _GLOBALS = "helmchartinflationgenerator", "helmGlobals"
FIELD = "helmCharts"
VALUES = ("valuesFile", "additionalValuesFiles", "valuesInline", "valuesMerge")
"""The fields of a chart that set values."""
_PASSED = ("version", "repo", "releaseName", "namespace", "kubeVersion")
_FLAGS = ("includeCRDs", "skipHooks", "skipTests", "debug")
_OF_CHART = frozenset(("name", "apiVersions", *_PASSED, *VALUES, *_FLAGS))
"""The fields of a chart that are rendered. Helm evaluates `nameTemplate` with functions that read the environment."""
_OF_GLOBALS = frozenset(("chartHome",))
"""The fields for all charts. Helm reads plugins from `configHome`."""
_OF_OBJECT = frozenset(("apiVersion", "kind", "metadata"))
_OLD_FIELD = "helmChartInflationGenerator"
"""An older form of `helmCharts`."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_URL = re.compile(r"https?:", re.IGNORECASE)
_DEFAULT_HOME = "charts"


class KustomizeChart(NamedTuple):
    """A chart that a kustomization names: its folder, its values files, and the repository and version, "" if it names none."""

    name: str
    folder: str
    values: tuple[str, ...]
    repository: str = ""
    version: str = ""

    @property
    def shown(self) -> str:
        """The chart, as messages name it."""
        return f"the chart {self.name}"

    @property
    def is_here(self) -> bool:
        """Whether the chart is in the repository, so that kustomize does not download it."""
        return os.path.isdir(self.folder)


class ChartDeclarations(NamedTuple):
    """The part of a kustomization, or of a generator that it names, that declares charts, and the folder that its paths start from."""

    data: Mapping[str, Any]
    folder: str
    is_generator: bool = False

    @property
    def charts(self) -> list[KustomizeChart]:
        """The charts, with absolute paths."""
        home = text_at(self.data, _GLOBALS, "chartHome") or _DEFAULT_HOME
        return [_chart(each, self.folder, home) for each in maps_at(self.data, FIELD)]

    def rejections(self, top: str) -> Iterator[str]:
        """Yield the reasons why the charts must not be rendered. ``top`` is the top of the repository, links resolved."""
        yield from _unusual_keys(self)
        for entry, chart in zip(maps_at(self.data, FIELD), self.charts, strict=True):
            if _NAME.fullmatch(chart.name) is None:
                yield f"{quoted(chart.name)} is not the name of a chart"
                continue
            passed = [*(text_at(entry, key) for key in _PASSED), *texts_at(entry, "apiVersions")]
            yield from (f"{quoted(each)} cannot be passed to Helm" for each in passed if each.startswith("-"))
            paths = [text_at(self.data, _GLOBALS, "chartHome"), text_at(entry, "valuesFile"), *texts_at(entry, "additionalValuesFiles")]
            yield from (f"{quoted(each)} is an absolute path" for each in paths if os.path.isabs(each))  # Not in the copy.
            yield from (f"{quoted(each)} is a URL, from which afflint takes no values" for each in paths if _URL.match(each))
            outside = [
                each for each in (chart.folder, *chart.values) if not (is_inside(each, top) and is_inside(os.path.realpath(each), top))
            ]
            yield from (f"{quoted(os.path.relpath(each, self.folder))} is outside the repository" for each in outside)
            if chart.is_here and not outside:
                yield from self._links(chart, top)

    def _links(self, chart: KustomizeChart, top: str) -> Iterator[str]:
        try:
            link = link_outside(os.path.realpath(chart.folder), top)
        except OSError as error:
            yield f"the chart {quoted(chart.name)} cannot be read: {error.strerror or error}"
            return
        if link is not None:
            yield f"{quoted(os.path.relpath(link, self.folder))} in the chart is a link to a file outside the repository"


def is_generator(data: Mapping[str, Any]) -> bool:
    """Return whether some data configures a generator of the objects of a chart."""
    return str(data.get("kind", "")).casefold() == _GENERATOR


def declarations_in(data: Mapping[str, Any], folder: str) -> ChartDeclarations:
    """Return the charts that a kustomization, or the configuration of a generator, declares."""
    if is_generator(data):
        return ChartDeclarations({FIELD: [data], _GLOBALS: data}, folder, is_generator=True)
    return ChartDeclarations(data, folder)


def _chart(entry: Mapping[str, Any], folder: str, home: str) -> KustomizeChart:
    name, version, repository = (text_at(entry, key) for key in ("name", "version", "repo"))
    parts = [folder, home, f"{name}-{version}"] if version and repository else [folder, home]
    values = [each for each in (text_at(entry, "valuesFile"), *texts_at(entry, "additionalValuesFiles")) if each]
    # kustomize removes `..` before it follows links.
    chart, *files = (os.path.normpath(os.path.join(*each)) for each in ((*parts, name), *((folder, value) for value in values)))
    return KustomizeChart(name, chart, tuple(files), repository, version)


def _unusual_keys(declared: ChartDeclarations) -> Iterator[str]:
    """Yield a reason for each field that is not one of a chart exactly: kustomize ignores the case of keys, under which `ſ` is `s`."""
    data = declared.data
    allowed = [(each, _OF_CHART | (_OF_GLOBALS | _OF_OBJECT if declared.is_generator else frozenset())) for each in maps_at(data, FIELD)]
    if not declared.is_generator:
        allowed.append((map_at(data, _GLOBALS), _OF_GLOBALS))
    unusual = [key for each, known in allowed for key in each if key not in known]
    unusual += [_OLD_FIELD] if _OLD_FIELD in data else []
    for key in dict.fromkeys(map(str, unusual)):
        yield f"afflint does not render charts of a kustomization with the field {quoted(key)}"
