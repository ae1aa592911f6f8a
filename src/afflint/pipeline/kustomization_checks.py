"""Applies the rules about kustomizations to the kustomizations among the checked files. Other runs do not import this module."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from afflint.checks.kustomizations import KustomizationOfRun
from afflint.findings.finding import FileId, Found
from afflint.inventory.kustomized_objects import ReadFile, only_document
from afflint.kube.manifests import reference
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import located
from afflint.source.kustomizations import LARGEST
from afflint.source.sources import read_bytes
from afflint.yaml.documents import to_utf8

if TYPE_CHECKING:
    from afflint.checks.registry import BoundRule
    from afflint.pipeline.map_step import FileResult


def found_in_kustomizations(
    rules: Collection[BoundRule], files: Files, kustomizations: Collection[FileId], results: Mapping[FileId, FileResult]
) -> Iterator[tuple[FileId, Found]]:
    """Yield the findings in some kustomizations. ``results`` are those of the map step: files that could not be read are unknown."""
    read_file = _reader(files, results)
    for file in kustomizations:
        path = files.identity(file)
        text = read_file(path)
        if text is None or b"patch" not in text:
            continue
        document = only_document(text)
        if document is None:
            continue
        kustomization = KustomizationOfRun(os.path.dirname(path), document, text, read_file)
        for rule in rules:
            check, _ = rule.check()
            for match in check(kustomization):
                yield file, located(rule.name, match, (), reference(document.data), document, fixing=False)


def _reader(files: Files, results: Mapping[FileId, FileResult]) -> ReadFile:
    """Return a function that reads a file of the run by its path, each once; None for templates and files outside of the run."""
    kept: dict[str, bytes | None] = {}

    def read_file(path: str) -> bytes | None:
        path = os.path.normcase(path)
        if path not in kept:
            kept[path] = None
            file = files.numbers.get(path)
            result = results.get(file) if file is not None else None
            if file is not None and result is not None and not (result.templated or result.unread):
                try:
                    data = to_utf8(read_bytes(files.sources[file]))
                except (OSError, UnicodeDecodeError):
                    data = None
                kept[path] = data if data is not None and len(data) <= LARGEST else None
        return kept[path]

    return read_file
