"""The requests about a document that need all manifests to answer: explanations, selected pods, and completions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from afflint.findings.finding import FileId, Span
from afflint.findings.paths import Path
from afflint.findings.phrases import visible
from afflint.index.facts import Pods, SelectorRef, facts_of
from afflint.index.manifest_index import ManifestIndex, covers
from afflint.inventory.node_files import NodeFact
from afflint.lsp.document import DocumentTexts
from afflint.lsp.explanation import RunContext, count_selected, explain, selectors_of
from afflint.lsp.indexer.workspace import IndexedDocument, ParsedText, WorkspaceState
from afflint.lsp.text import Place
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.cursor import cursor_at

if TYPE_CHECKING:
    from afflint.pools.pool import Pool

_END = 1 << 30


def answer(method: str, params: Any, document: IndexedDocument, texts: DocumentTexts) -> Any:
    """Return the result of a request; for a hover, the explanation of the constraint at the position, in Markdown."""
    return _ANSWERS[method](params, document, texts)


def _hover(params: Any, document: IndexedDocument, texts: DocumentTexts) -> str | None:
    found = manifest_at(document, *document.text.position_of(document.text.from_lsp(params["position"])))
    if found is None:
        return None
    manifest, path = found
    state = document.workspace.state
    manifest_index = None if state is None else state.reduced.manifest_index

    def place(pods: Pods) -> str:
        title = visible(pods.title)
        return title if state is None else f"[{title}]({texts.uri(state.path(pods.site.file))})"

    nodes = [] if state is None else state.reduced.nodes
    explained = explain(manifest, path, selectors_in(document, manifest), RunContext(manifest_index, nodes, place))
    if explained is not None:
        return f"{visible(manifest.title())} {explained[1]}"
    pods = pods_at(document, manifest, path)
    if not pods or manifest_index is None:
        return None
    return selectors_of([each for each in manifest_index.selector_refs if selects(each, pods[0])], pods[0])


def _related(params: Any, document: IndexedDocument, texts: DocumentTexts) -> Any:
    return related(document, document.text.from_lsp(params["position"]), texts)


def _completion(params: Any, document: IndexedDocument, _texts: DocumentTexts) -> Any:
    from afflint.lsp.completion import completions

    place, state = document.text.from_lsp(params["position"]), document.workspace.state
    start, found = completions(document.text, place, *_known(state))
    replaced = {"start": document.text.to_lsp((place[0], start)), "end": document.text.to_lsp(place)}
    items = [
        {
            "label": item.label,
            "kind": kind,
            "detail": item.detail,
            "filterText": item.label,
            "sortText": f"{number:04}",
            "textEdit": {"range": replaced, "newText": item.text},
        }
        for number, (item, kind) in enumerate(found)
    ]
    return {"isIncomplete": False, "items": items}


def _known(state: WorkspaceState | None) -> tuple[ManifestIndex | None, Sequence[NodeFact], Sequence[Pool]]:
    """Return the manifests, the nodes, and the node pools of the cluster that the manifests are for."""
    if state is None:
        return None, (), ()
    pools = state.reduced.pools
    return state.reduced.manifest_index, state.reduced.nodes, [each for each in pools.whole if pools.is_here(each)] if pools else ()


def _hints(params: Any, document: IndexedDocument, _texts: DocumentTexts) -> Any:
    first = document.text.position_of(document.text.from_lsp(params["range"]["start"]))[0]
    last = document.text.position_of(document.text.from_lsp(params["range"]["end"]))[0]
    shown: list[dict[str, Any]] = []
    for span, text in hints(document, first, last):
        line = span.line - 1
        end = document.text.to_lsp((line, len(document.text.line(line).rstrip())))
        shown.append({"position": end, "label": text, "paddingLeft": True})
    return shown


def _lenses(_params: Any, document: IndexedDocument, _texts: DocumentTexts) -> Any:
    found = hints(document, 1, _END)
    return [{"range": document.text.range_of(span), "command": {"title": text, "command": ""}} for span, text in found]


_ANSWERS: dict[str, Callable[[Any, IndexedDocument, DocumentTexts], Any]] = {
    "textDocument/hover": _hover,
    "textDocument/definition": _related,
    "textDocument/references": _related,
    "textDocument/completion": _completion,
    "textDocument/inlayHint": _hints,
    "textDocument/codeLens": _lenses,
}


# The object at a position of a document, and navigation from selectors to the manifests that they select and back.


_MOST = 200
"""The highest number of locations in a response."""


def manifest_at(document: IndexedDocument, line: int, column: int) -> tuple[Manifest, Path] | None:
    """Return the manifest at a position, counted from 1, and the path of the value there."""
    parsed = document.parsed.document(line)
    if parsed is None:
        return None
    path = cursor_at(parsed, line, column).path
    candidates = [each for each in document.parsed.manifests(parsed) if path[: len(each.base)] == each.base]
    # One whose pod template contains the path comes first.
    candidates.sort(key=lambda each: not (isinstance(each, Workload) and path[: len(each.template_path)] == each.template_path))
    return (candidates[0], path) if candidates else None


def selectors_in(document: IndexedDocument, manifest: Manifest) -> list[SelectorRef]:
    """Return the selectors in the current version of a manifest, as a run would collect them."""
    selectors = [each for each in facts_of(manifest) if isinstance(each, SelectorRef)]
    state, file = document.workspace.state, document.file
    if state is None or file is None:
        return selectors
    folder = state.reduced.files.folder(file)
    return [each._replace(site=each.site._replace(file=file, folder=folder)) for each in selectors]


def pods_at(document: IndexedDocument, manifest: Manifest, path: Path) -> list[Pods]:
    """Return the pods of the last run whose labels or whose object is at a path of a document."""
    state = document.workspace.state
    manifest_index = None if state is None else state.reduced.manifest_index
    return [] if manifest_index is None else [each for each in manifest_index.pods if _is_at(each, document, manifest.document.index, path)]


def _is_at(pods: Pods, document: IndexedDocument, index: int, path: Path) -> bool:
    """Return whether a path is in the metadata of the pod template or of the object of some pods."""
    if pods.site.file != document.file or pods.site.document != index:
        return False
    places = ((*pods.template_path, "metadata"), (*pods.site.base, "metadata"), (*pods.site.base, "kind"))
    return any(path[: len(each)] == each for each in places)


def selects(ref: SelectorRef, pods: Pods) -> bool:
    """Return whether a selector matches some pods, in a namespace that it covers."""
    return covers(ref, pods.namespace) and pods.pod_labels.some(ref.selector)


def related(document: IndexedDocument, place: Place, texts: DocumentTexts) -> list[dict[str, Any]]:
    """Return the locations related to a place: for a selector the labels of the pods that it selects, for labels their selectors."""
    line, column = document.text.position_of(place)
    located, state = manifest_at(document, line, column), document.workspace.state
    if located is None or state is None or state.reduced.manifest_index is None:
        return []
    manifest, path = located
    manifest_index = state.reduced.manifest_index
    for ref in selectors_in(document, manifest):
        # The selector, or anything else in its term.
        term_path = ref.path[:-1] if ref.template_path is not None else ref.path
        if path[: len(term_path)] == term_path:
            selected = islice(manifest_index.selected(ref), _MOST)
            return _locations(((_site(each), (*each.template_path, "metadata", "labels")) for each in selected), document, texts, state)
    selecting = (ref for each in pods_at(document, manifest, path)[:1] for ref in manifest_index.selector_refs if selects(ref, each))
    return _locations(((_site(each), each.path) for each in islice(selecting, _MOST)), document, texts, state)


def _site(each: Pods | SelectorRef) -> tuple[FileId, int]:
    return each.site.file, each.site.document


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
            for ref in selectors_in(document, manifest):
                span = parsed.locate(ref.path, key=True)
                if first <= span.line <= last:
                    yield span, count_selected(ref, state.reduced.manifest_index)
