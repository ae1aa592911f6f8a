"""The requests about one document: hover, definition and references, completion, links, hints and actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from afflint.findings import Finding, Span
from afflint.lsp.capabilities import Client
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.opened import Opened, Texts
from afflint.lsp.text import Place

_END = 1 << 30


class Features:
    """Answers for the open documents. ``shown`` gives the findings that a document shows."""

    def __init__(self, documents: Mapping[str, Opened], shown: Callable[[Opened], list[Finding]], client: Callable[[], Client]) -> None:
        self._documents = documents
        self._shown = shown
        self._client = client

    @property
    def handlers(self) -> dict[str, Callable[[Any], Any]]:
        """What answers each request, by its method."""
        return {
            "textDocument/hover": self._hover,
            "textDocument/definition": self._related,
            "textDocument/references": self._related,
            "textDocument/completion": self._completion,
            "textDocument/documentLink": self._links,
            "textDocument/inlayHint": self._hints,
            "textDocument/codeLens": self._lenses,
            "textDocument/codeAction": self._actions,
            "codeAction/resolve": self._resolved,
        }

    def _document(self, params: Any) -> Opened | None:
        """The document that is asked about; None for one that is none of ours."""
        document = self._documents.get(params["textDocument"]["uri"])
        return document if document is not None and document.project.takes(document.path) else None

    def _texts(self) -> Texts:
        return Texts(self._documents, self._client().encoding)

    def _hover(self, params: Any) -> Any:
        from afflint.lsp.hover import hover

        document = self._document(params)
        if document is None:
            return None
        place = document.text.place(params["position"])
        return hover(document, place, self._shown(document), self._texts(), markdown=self._client().markdown)

    def _related(self, params: Any) -> Any:
        from afflint.lsp.navigation import related

        document = self._document(params)
        return [] if document is None else related(document, document.text.place(params["position"]), self._texts())

    def _completion(self, params: Any) -> Any:
        from afflint.lsp.completion import completions

        document = self._document(params)
        if document is None:
            return None
        place, state = document.text.place(params["position"]), document.project.state
        known = (None, []) if state is None else (state.gathered.fleet, state.gathered.nodes)
        start, found = completions(document.text, place, *known)
        replaced = _range(document, (place[0], start), place)
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

    def _links(self, params: Any) -> Any:
        from afflint.lsp.navigation import links
        from afflint.rules import rules

        document = self._document(params)
        if document is None:
            return []
        return [
            {"range": document.text.of_span(span), "target": page_uri(rule), "tooltip": rules()[rule].summary()}
            for span, rule in links(document, rules())
        ]

    def _hints(self, params: Any) -> Any:
        document = self._document(params)
        if document is None:
            return []
        first = document.text.outside(document.text.place(params["range"]["start"]))[0]
        last = document.text.outside(document.text.place(params["range"]["end"]))[0]
        found = []
        for span, text in self._selectors(document, first, last):
            line = span.line - 1
            end = document.text.position((line, len(document.text.line(line).rstrip())))
            found.append({"position": end, "label": text, "paddingLeft": True})
        return found

    def _lenses(self, params: Any) -> Any:
        document = self._document(params)
        if document is None:
            return []
        found = self._selectors(document, 1, _END)
        return [{"range": document.text.of_span(span), "command": {"title": text, "command": ""}} for span, text in found]

    def _selectors(self, document: Opened, first: int, last: int) -> list[tuple[Span, str]]:
        from afflint.lsp.navigation import hints

        return list(hints(document, first, last))

    def _actions(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        document = self._document(params)
        if document is None:
            return []
        start, end = document.text.place(params["range"]["start"]), document.text.place(params["range"]["end"])
        context = params.get("context")
        only = (context.get("only") if isinstance(context, dict) else None) or ()
        return Actions(document, self._shown(document), self._client()).at(start, end, [each for each in only if isinstance(each, str)])

    def _resolved(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        data = params.get("data")
        document = self._documents.get(data["uri"]) if isinstance(data, dict) and "edit" not in params else None
        return params if document is None else Actions(document, self._shown(document), self._client()).resolved(params)


def _range(document: Opened, start: Place, end: Place) -> dict[str, Any]:
    return {"start": document.text.position(start), "end": document.text.position(end)}
