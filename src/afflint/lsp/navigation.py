"""Navigation from selectors to the manifests that they select and back, and hints with the number of selected pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from afflint.findings.finding import FileId, Span
from afflint.findings.paths import Path
from afflint.index.facts import Pods, SelectorRef
from afflint.lsp.document import DocumentTexts
from afflint.lsp.explanation import count_selected
from afflint.lsp.indexer.document import IndexedDocument, ParsedText
from afflint.lsp.indexer.workspace import WorkspaceState
from afflint.lsp.symbol import manifest_at, pods_at, selectors_in, selects
from afflint.lsp.text import Place

_MOST = 200
"""The highest number of locations in a response."""


def related(document: IndexedDocument, place: Place, texts: DocumentTexts) -> list[dict[str, Any]]:
    """Return the locations related to a place: for a selector the labels of the pods that it selects, for labels their selectors."""
    line, column = document.text.position_of(place)
    located, state = manifest_at(document, line, column), document.workspace.state
    if located is None or state is None or state.reduced.manifest_index is None:
        return []
    manifest, path = located
    manifest_index = state.reduced.manifest_index
    for reach in selectors_in(document, manifest):
        # The selector, or anything else in its term.
        term_path = reach.path[:-1] if reach.template_path is not None else reach.path
        if path[: len(term_path)] == term_path:
            return _locations(
                ((_site(each), _labels_of(each)) for each in islice(manifest_index.selected(reach), _MOST)), document, texts, state
            )
    selecting = (reach for each in pods_at(document, manifest, path)[:1] for reach in manifest_index.reaches if selects(reach, each))
    return _locations(((_site(each), each.path) for each in islice(selecting, _MOST)), document, texts, state)


def _site(each: Pods | SelectorRef) -> tuple[FileId, int]:
    return each.site.file, each.site.document


def _labels_of(pods: Pods) -> Path:
    return (*pods.template_path, "metadata", "labels")


def _locations(
    places: Iterable[tuple[tuple[FileId, int], Path]], document: IndexedDocument, texts: DocumentTexts, state: WorkspaceState
) -> list[dict[str, Any]]:
    """Return places in documents as locations of the protocol; each file is read once."""
    parsed: dict[FileId, ParsedText] = {}
    locations = []
    for (file, index), path in dict.fromkeys(places):
        where = state.path(file)
        text = texts.read(where)
        if file not in parsed:
            parsed[file] = document.parsed if file == document.file else ParsedText(text.bytes, document.workspace.settings)
        parsed_document = parsed[file].numbered(index)
        if parsed_document is not None:
            locations.append({"uri": texts.uri(where), "range": text.range_of(parsed_document.locate(path, key=True))})
    return locations


def hints(document: IndexedDocument, first: int, last: int) -> Iterator[tuple[Span, str]]:
    """Yield the selectors between two lines, counted from 1, each with the number of pods that it selects."""
    state = document.workspace.state
    if state is None or state.reduced.manifest_index is None:
        return
    for parsed in document.parsed.documents:
        for manifest in document.parsed.manifests(parsed):
            for reach in selectors_in(document, manifest):
                span = parsed.locate(reach.path, key=True)
                if first <= span.line <= last:
                    yield span, count_selected(reach, state.reduced.manifest_index)
