"""Changes that Flux makes to the output of a chart with kustomize: ``postRenderers`` of a HelmRelease."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from afflint.findings.paths import Path
from afflint.rendering.kustomize import WRAPPER, build_annotated, build_kustomization
from afflint.rendering.kustomize_origins import InlinePatches, Origins, RenderedIdentity, SourceMap
from afflint.rendering.programs import ProgramRunner
from afflint.rendering.source_documents import SourcePlace, SourceTexts
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.cursor import cursor_at

_OUTPUT = "output.yaml"


def post_render(runner: ProgramRunner, program: Sequence[str], output: bytes, changes: Mapping[str, Any]) -> bytes:
    """Return the output of a chart with changes, which are fields of a kustomization. Raises RenderError."""
    with temporary_folder() as folder:
        return build_kustomization(runner, program, _write(folder, output), changes)


class PostRenderedSourceMap:
    """The source map of a chart whose output is changed: the patch that sets a value, or else the source in the chart.

    ``output`` is that of the chart, ``chart_map`` returns its source map. Raises RenderError.
    """

    def __init__(
        self,
        runner: ProgramRunner,
        program: Sequence[str],
        output: bytes,
        changes: Mapping[str, Any],
        patches: InlinePatches | None,
        chart_map: Callable[[], SourceMap],
    ) -> None:
        self._texts = SourceTexts()
        with temporary_folder() as folder, temporary_folder() as wrapper:
            top, around = folder, wrapper
            annotated = build_annotated(runner, program, _write(top, output), around, (), changes)
            self._file = os.path.join(top, _OUTPUT)
            self._texts.of(self._file)  # It is read while it exists.
            self._origins = Origins(annotated, around, self._file, self._texts, wrapping=patches)
        self._chart = chart_map()

    def place(self, document: int, identity: RenderedIdentity, path: Path, *, key: bool = False) -> tuple[SourcePlace, ...]:  # noqa: ARG002
        """Return the source position of a rendered value, or of its key, followed by related positions."""
        place = self._origins.place(identity, path, key=key)
        text = next((each for each in self._texts.of(self._file) if each.index == place.document), None)
        if place.file != self._file or text is None:
            return (place,)
        at = cursor_at(text.document, place.span.line, place.span.column)
        return self._chart.place(place.document, identity, at.path, key=at.on_key)

    def source_identity(self, identity: RenderedIdentity) -> RenderedIdentity | None:
        """Return the identity: a template does not show another one."""
        return identity


def _write(folder: str, output: bytes) -> str:
    with open(os.path.join(folder, _OUTPUT), "wb") as file:
        file.write(output)
    with open(os.path.join(folder, WRAPPER), "w", encoding="utf-8") as file:
        file.write(f"resources: [{_OUTPUT}]\n")
    return folder
