"""The source positions of what the charts of a kustomization render: each chart is rendered once more by itself.

After ``HelmChartInflationGenerator`` of sigs.k8s.io/kustomize/api/internal/builtins, which gives the charts their values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.given_values import Inline, Written
from afflint.rendering.helm import KUBE_VERSION
from afflint.rendering.hints import Hint
from afflint.rendering.kustomize_charts import FIELD, KustomizeChart, declarations_in, is_generator
from afflint.rendering.kustomize_origins import OBJECT, RenderedIdentity, SourceMap, identity_of
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace, SourceText, SourceTexts, counterpart, documents_of, value_at
from afflint.source.repositories import is_inside
from afflint.yaml.document import list_at, map_at, text_at, texts_at


class ChartOutput(NamedTuple):
    """The output of a chart, and a function that creates its source map. Raises RenderError."""

    data: bytes
    source_map: Callable[[], SourceMap]


class _ChartInBuild(NamedTuple):
    """The objects of a chart by their documents, its source map, and where the kustomization names the chart."""

    objects: Mapping[int, Any]
    source_map: SourceMap
    naming: SourcePlace


@dataclass(slots=True)
class KustomizeChartMap:
    """The source map of all charts that the kustomizations of a build render.

    ``render`` renders a chart. ``downloaded`` are the folders of charts in other places, by those in which kustomize looks for them;
    ``downloads`` is the folder of these charts. ``top`` is the top of the repository: what a build must not render, such as a chart outside
    it, is not rendered here, either.
    """

    render: Callable[[Hint], ChartOutput]
    texts: SourceTexts
    downloaded: Mapping[str, str]
    downloads: str
    top: str
    _known: dict[str, list[_ChartInBuild]] = field(default_factory=dict)

    def places(self, file: str, identity: RenderedIdentity, data: Any, path: Path, *, key: bool) -> tuple[SourcePlace, ...]:
        """Return the sources of a value of an object that a chart rendered; ``data`` is the object, and ``file`` declares the charts.

        Empty without such a chart. The place of a value that is not in files of the user is where the chart is named, of the kind OBJECT.
        """
        found = [
            (len(identity_of(each).name), number, chart)
            for chart in self._charts_in(file)
            for number, each in chart.objects.items()
            if _fits(each, identity)
        ]
        for _, number, chart in sorted(found, key=lambda each: -each[0]):
            other = counterpart(chart.objects[number], data, path)
            if other is None or value_at(chart.objects[number], other) != value_at(data, path):
                continue
            places = chart.source_map.place(number, identity_of(chart.objects[number]), other, key=key)
            own = tuple([each for each in places if not self.downloads or not is_inside(each.file, self.downloads)])
            return own or (chart.naming,)
        return (found[0][2].naming,) if found else ()

    def _charts_in(self, file: str) -> list[_ChartInBuild]:
        if file not in self._known:
            self._known[file] = [chart for text in self.texts.of(file) for chart in self._charts_of(text)]
        return self._known[file]

    def _charts_of(self, text: SourceText) -> Iterator[_ChartInBuild]:
        if type(text.data) is not dict:
            return
        listed = enumerate(list_at(text.data, FIELD))
        paths: list[Path] = [()] if is_generator(text.data) else [(FIELD, number) for number, each in listed if type(each) is dict]
        declared = declarations_in(text.data, os.path.dirname(text.file))
        if any(declared.rejections(self.top)):  # A file of generators may have other documents, which the build has not examined.
            return
        for path, chart in zip(paths, declared.charts, strict=True):
            entry = value_at(text.data, path)
            inline = tuple(self._values(entry, chart, Written(text, (*path, "valuesInline"))))
            release, namespace = text_at(entry, "releaseName"), text_at(entry, "namespace") or None
            folder = self.downloaded.get(chart.folder, chart.folder)
            hint = Hint(os.path.realpath(folder), "", text.file, namespace, release=release, inline=inline, options=_options(entry))
            with suppress(RenderError, OSError):
                output = self.render(hint)
                objects = {number: each.data for number, each in documents_of(output.data).items() if type(each.data) is dict}
                yield _ChartInBuild(objects, output.source_map(), text.place((*path, "name"), OBJECT))

    def _values(self, entry: Mapping[str, Any], chart: KustomizeChart, written: Written) -> Iterator[Inline]:
        """Yield the values of a chart in the order in which they override each other."""
        first = chart.values[: 1 if text_at(entry, "valuesFile") else 0]
        in_file = [each for file in first for each in self._in_file(file)]
        inline = [Inline(map_at(entry, "valuesInline"), written)] if map_at(entry, "valuesInline") else []
        merge = text_at(entry, "valuesMerge")
        yield from inline if merge == "replace" else (*inline, *in_file) if merge == "merge" else (*in_file, *inline)
        yield from (each for file in chart.values[len(first) :] for each in self._in_file(file))

    def _in_file(self, file: str) -> list[Inline]:
        return [Inline(each.data, Written(each)) for each in self.texts.of(file) if type(each.data) is dict]


def _options(entry: Mapping[str, Any]) -> tuple[str, ...]:
    versions = [word for each in texts_at(entry, "apiVersions") for word in ("--api-versions", each)]
    flags = (("includeCRDs", "--include-crds"), ("skipTests", "--skip-tests"), ("skipHooks", "--no-hooks"))
    kubernetes = (KUBE_VERSION, text_at(entry, "kubeVersion")) if text_at(entry, "kubeVersion") else ()
    return (*versions, *kubernetes, *(flag for field, flag in flags if entry.get(field) is True))


def _fits(data: Any, identity: RenderedIdentity) -> bool:
    """Return whether an object of a chart may be one in the output, which may have got another name and namespace."""
    each = identity_of(data)
    return each.kind == identity.kind and each.api_version == identity.api_version and each.name in identity.name
