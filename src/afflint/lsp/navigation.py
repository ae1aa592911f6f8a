"""From selectors to the manifests that they select, and back; and what stands behind a selector: how much that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from afflint.findings.finding import FileId, Path, Span
from afflint.index.facts import Pods, SelectorRef
from afflint.lsp.document import DocumentTexts
from afflint.lsp.explanation import how_many
from afflint.lsp.indexer.document import IndexedDocument, ParsedText
from afflint.lsp.indexer.workspace import WorkspaceState
from afflint.lsp.symbol import at, pods_at, reaches_of, selects
from afflint.lsp.text import Place

_MOST = 200
"""So many places are named at most."""


def related(document: IndexedDocument, place: Place, texts: DocumentTexts) -> list[dict[str, Any]]:
    """What belongs to the place that is pointed at: of a selector the labels of the pods that it selects, of labels their selectors."""
    line, column = document.text.outside(place)
    found, state = at(document, line, column), document.overview.state
    if found is None or state is None or state.gathered.manifest_index is None:
        return []
    manifest, path = found
    manifest_index = state.gathered.manifest_index
    for reach in reaches_of(document, manifest):
        # A selector, or anything else in the term that it stands in.
        whole = reach.path[:-1] if reach.template_path is not None else reach.path
        if path[: len(whole)] == whole:
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
    """Places in documents of files as the protocol has them; each file is read once."""
    parsed: dict[FileId, ParsedText] = {}
    found = []
    for (file, index), path in dict.fromkeys(places):
        where = state.path(file)
        text = texts.of(where)
        if file not in parsed:
            parsed[file] = document.parsed if file == document.file else ParsedText(text.bytes, document.overview.settings)
        one = parsed[file].numbered(index)
        if one is not None:
            found.append({"uri": texts.uri(where), "range": text.of_span(one.locate(path, key=True))})
    return found


def hints(document: IndexedDocument, first: int, last: int) -> Iterator[tuple[Span, str]]:
    """The selectors between two lines, counted from 1, each with how much it selects."""
    state = document.overview.state
    if state is None or state.gathered.manifest_index is None:
        return
    for parsed in document.parsed.documents:
        for manifest in document.parsed.manifests(parsed):
            for reach in reaches_of(document, manifest):
                span = parsed.locate(reach.path, key=True)
                if first <= span.line <= last:
                    yield span, how_many(reach, state.gathered.manifest_index)
