"""The requests about a document that need all manifests to answer: explanations, selected pods, and completions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from afflint.findings.phrases import visible
from afflint.index.facts import Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.node_files import NodeFact
from afflint.lsp.document import DocumentTexts
from afflint.lsp.explanation import RunContext, explain, selectors_of
from afflint.lsp.indexer.workspace import IndexedDocument, WorkspaceState
from afflint.lsp.navigation import hints, manifest_at, pods_at, related, selectors_in, selects

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
