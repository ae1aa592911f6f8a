"""The source positions of what downloaded charts render: only files that the user can edit count, and only what the user can change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from afflint.findings.paths import Path
from afflint.rendering.helm_origins import ChartSourceMap
from afflint.rendering.kustomize_origins import RenderedIdentity, identity_of
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace, documents_of, value_at
from afflint.source.repositories import is_inside

UNCHANGED = "unchanged"
"""The kind of a place of a value that a downloaded chart has whatever the user sets."""


class ChartDefaults:
    """What a downloaded chart renders with its default values, which ``render`` returns."""

    def __init__(self, render: Callable[[], bytes]) -> None:
        self._render = render
        self._known: dict[tuple[str, str, str], Any] | None = None

    def marked(self, place: SourcePlace, identity: RenderedIdentity, path: Path, data: Any) -> SourcePlace:
        """Return a place for the value at a path of an object: of the kind UNCHANGED if the chart has that value by default."""
        try:
            is_default = bool(value_at(data, path) == value_at(self._objects()[_without_namespace(identity)], path))
        except (LookupError, TypeError):
            return place
        return replace(place, kind=UNCHANGED) if is_default else place

    def _objects(self) -> dict[tuple[str, str, str], Any]:
        if self._known is None:
            try:
                found = [each.data for each in documents_of(self._render()).values() if type(each.data) is dict]
            except (OSError, RenderError):
                found = []
            self._known = {_without_namespace(identity_of(data)): data for data in found}
        return self._known


class DownloadedSourceMap:
    """The source map of a chart that was downloaded, or that depends on such a chart.

    ``folder`` holds the downloaded charts. What comes from there is at ``elsewhere``; ``defaults`` are those of a downloaded chart.
    """

    def __init__(self, inner: ChartSourceMap, folder: str, elsewhere: SourcePlace, defaults: ChartDefaults | None) -> None:
        self._inner = inner
        self._folder = folder
        self._elsewhere = elsewhere
        self._defaults = defaults

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:
        """Return the source positions of a rendered value, or of its key, that are in files of the user."""
        found = [each for each in self._inner.place(document, identity, path, key=key) if not is_inside(each.file, self._folder)]
        if found or self._defaults is None:
            return tuple(found) or (self._elsewhere,)
        return (self._defaults.marked(self._elsewhere, identity, path, self._inner.data(document)),)

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity: a template does not show another one."""
        return self._inner.source_identity(identity)


def _without_namespace(identity: RenderedIdentity) -> tuple[str, str, str]:
    """Return what identifies an object in a chart, to whose objects Argo CD and Flux add a namespace."""
    return identity.api_version, identity.kind, identity.name
