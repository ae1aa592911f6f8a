"""The requests about one document that it takes nothing but the document to answer: links, and what can be done about findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from afflint.findings.finding import Finding
from afflint.lsp.capabilities import Client
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.document import ServerDocument


class Features:
    """Answers for the open documents. ``shown`` gives the findings that a document shows."""

    def __init__(
        self, documents: Mapping[str, ServerDocument], shown: Callable[[ServerDocument], list[Finding]], client: Callable[[], Client]
    ) -> None:
        self._documents = documents
        self._shown = shown
        self._client = client

    @property
    def handlers(self) -> dict[str, Callable[[Any], Any]]:
        """What answers each request, by its method."""
        return {
            "textDocument/documentLink": self._links,
            "textDocument/codeAction": self._actions,
            "codeAction/resolve": self._resolved,
        }

    def document(self, params: Any) -> ServerDocument | None:
        """The document that is asked about; None for one that is none of ours."""
        document = self._documents.get(params["textDocument"]["uri"])
        return document if document is not None and document.is_taken else None

    def hover(self, document: ServerDocument, params: Any, meant: str | None) -> Any:
        """The contents of a hover; ``meant`` is what the constraint means that is pointed at."""
        from afflint.lsp.hover import hover

        place = document.text.place(params["position"])
        return hover(document.text, place, self._shown(document), meant, markdown=self._client().markdown)

    def _links(self, params: Any) -> Any:
        from afflint.checks.registry import rules
        from afflint.lsp.links import links

        document = self.document(params)
        if document is None:
            return []
        return [
            {"range": document.text.of_span(span), "target": page_uri(rule), "tooltip": rules()[rule].summary()}
            for span, rule in links(document.text, rules())
        ]

    def _actions(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        document = self.document(params)
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
