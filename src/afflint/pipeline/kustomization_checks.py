"""Applies the rules about kustomizations to the kustomizations among the checked files. Other runs do not import this module."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from afflint.checks.kustomizations import KustomizationOfRun
from afflint.checks.match import located
from afflint.checks.registry import BoundRule
from afflint.findings.finding import FileId, Found
from afflint.inventory.kustomized_objects import ReadFile, first_kustomization, may_rename, only_document
from afflint.manifests.manifest import reference
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import FileResult
from afflint.source.kustomizations import LARGEST, NAMES
from afflint.source.sources import read_bytes
from afflint.yaml.document import Document, map_at, text_at
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.object_fields import kind_of


def found_in_kustomizations(
    rules: Collection[BoundRule], files: Files, kustomizations: Collection[FileId], results: Mapping[FileId, FileResult] | None
) -> Iterator[tuple[FileId, Found]]:
    """Yield the findings in some kustomizations.

    ``results`` are those of the map step: files that could not be read are unknown. None if there are none, and each file may be read.
    """
    read_file = _reader(files, results)
    for file in kustomizations:
        path = files.identity(file)
        text = read_file(path)
        if text is None or b"patch" not in text:
            continue
        for kustomization in _kustomizations_in(path, text, read_file):
            document = kustomization.document
            for rule in rules:
                check, _ = rule.check()
                for match in check(kustomization):
                    yield file, located(rule.name, match, (), reference(document.data), document, fixing=False)


def _kustomizations_in(path: str, text: bytes, read_file: ReadFile) -> Iterator[KustomizationOfRun]:
    """Yield the kustomization in a file, or those to which objects of Flux in the file add patches."""
    if path.endswith(NAMES):
        document = only_document(text)
        if document is not None:
            yield KustomizationOfRun(os.path.dirname(path), document.data, text, read_file, document)
        return
    index = 0
    for piece, line, _ in split(text) if _FLUX in text else ():
        document = read(piece, index, line)
        index += not document.empty
        if _FLUX in piece and document.problem is None and type(document.data) is dict:
            yield from _patched_by_flux(path, document, read_file)


_FLUX = b"kustomize.toolkit.fluxcd.io/"
_OF_REPOSITORY = 2
"""Paths with fewer folders may be those of another repository."""


def _patched_by_flux(path: str, document: Document, read_file: ReadFile) -> Iterator[KustomizationOfRun]:
    """Yield the kustomization that an object of Flux builds with its own patches (fluxcd/pkg kustomize ``Generator``)."""
    spec = map_at(document.data, "spec")
    folder, changes = text_at(spec, "path"), [spec.get(field) for field in ("namePrefix", "nameSuffix", "components")]
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if kind_of(document.data) != "Kustomization" or any(changes) or len(parts) < _OF_REPOSITORY or ".." in parts or "$" in folder:
        return
    top = os.path.dirname(path)
    while True:
        inside = os.path.join(top, *parts)
        text = first_kustomization(inside, read_file)
        if text is not None or os.path.dirname(top) == top:
            break
        top = os.path.dirname(top)
    built = only_document(text) if text is not None and not may_rename(text) else None
    if built is not None and text is not None:
        namespace = text_at(spec, "targetNamespace") or text_at(built.data, "namespace")
        yield KustomizationOfRun(inside, {**built.data, "namespace": namespace}, text, read_file, document, ("spec",))


def _reader(files: Files, results: Mapping[FileId, FileResult] | None) -> ReadFile:
    """Return a function that reads a file of the run by its path, each once; None for templates and files outside of the run."""
    kept: dict[str, bytes | None] = {}

    def read_file(path: str) -> bytes | None:
        path = os.path.normcase(path)
        if path not in kept:
            kept[path] = None
            file = files.numbers.get(path)
            result = results.get(file) if file is not None and results is not None else None
            if file is not None and (results is None or (result is not None and result.readable)):
                try:
                    data = to_utf8(read_bytes(files.sources[file]))
                except (OSError, UnicodeDecodeError):
                    data = None
                kept[path] = data if data is not None and len(data) <= LARGEST else None
        return kept[path]

    return read_file
