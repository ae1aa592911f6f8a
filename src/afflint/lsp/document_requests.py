"""The requests about a document: those that need only the document, and those that the indexer answers, because they need all manifests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from afflint.checks.registry import rules
from afflint.findings.finding import Finding, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp import transport
from afflint.lsp.client_connection import ClientConnection
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.document import ServerDocument
from afflint.lsp.editor_state import EditorState
from afflint.lsp.indexer.client import IndexerClient
from afflint.lsp.indexer.protocol import IndexerRequest, OpenDocument, Response
from afflint.lsp.text import EditorText
from afflint.lsp.transport import ResponseError

_SUPPRESSION = re.compile(r"#[ \t]*afflint:[ \t]*ignore[a-z-]*[ \t]*\[([^\]]*)\]")
_WORD = re.compile(r"[^\s,]+")
_METHODS = tuple(f"textDocument/{each}" for each in ("definition", "references", "completion", "inlayHint", "codeLens"))
"""The requests that the indexer answers alone."""


class DocumentRequests:
    """Answers requests about open documents. ``shown`` returns the findings that are shown in a document."""

    def __init__(self, editor: EditorState, shown: Callable[[ServerDocument], list[Finding]]) -> None:
        self._editor = editor
        self._shown = shown

    @property
    def handlers(self) -> dict[str, Callable[[Any], Any]]:
        """The handler of each request, by method."""
        return {
            "textDocument/documentLink": self._links,
            "textDocument/codeAction": self._actions,
            "codeAction/resolve": self._resolve_action,
        }

    def document(self, params: Any) -> ServerDocument | None:
        """Return the document of a request; None if it is not open or not checked."""
        document = self._editor.documents.get(params["textDocument"]["uri"])
        return document if document is not None and document.is_checked else None

    def hover(self, document: ServerDocument, params: Any, explanation: str | None) -> Any:
        """Return a hover with the findings at its position; None without any. ``explanation`` is that of the constraint there."""
        at = document.text.position_of(document.text.from_lsp(params["position"]))
        parts, span = [explanation] if explanation else [], None
        for finding in (*self._shown(document), *document.rendered.findings):
            start, end = (finding.span.line, finding.span.column), (finding.span.end_line, finding.span.end_column)
            if start <= at <= end:
                span = span or finding.span
                parts.append(_finding_text(finding))
        if not parts:
            return None
        text = "\n\n---\n\n".join(parts)
        markdown = self._editor.client.markdown
        contents = {"kind": "markdown", "value": text} if markdown else {"kind": "plaintext", "value": _plain(text)}
        return {"contents": contents} | ({"range": document.text.range_of(span)} if span is not None else {})

    def _links(self, params: Any) -> Any:
        document = self.document(params)
        if document is None:
            return []
        return [
            {"range": document.text.range_of(span), "target": page_uri(rule), "tooltip": rules()[rule].summary()}
            for span, rule in _links_in(document.text, rules())
        ]

    def _actions(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        document = self.document(params)
        if document is None:
            return []
        start, end = document.text.from_lsp(params["range"]["start"]), document.text.from_lsp(params["range"]["end"])
        only = (params.get("context") or {}).get("only") or ()
        return Actions(document, self._shown(document), self._editor.client).at(start, end, only)

    def _resolve_action(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        data = params.get("data")
        document = self._editor.documents.get(data["uri"]) if data and "edit" not in params else None
        return params if document is None else Actions(document, self._shown(document), self._editor.client).resolve(params)


class DeferredResult(NamedTuple):
    """A request that the indexer answers; ``result`` turns its answer into the result."""

    method: str
    params: Any
    document: ServerDocument
    result: Callable[[Any], Any]


class DeferredRequests:
    """Asks the indexer, and responds to the client when it has answered."""

    def __init__(self, client: ClientConnection, editor: EditorState, indexer: IndexerClient, documents: DocumentRequests) -> None:
        self._client = client
        self._editor = editor
        self._indexer = indexer
        self._documents = documents
        self._waiting: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
        """By the number of the question: the ID of the client's request, and the function that turns the answer into its result."""
        self._asked = 0

    @property
    def handlers(self) -> dict[str, Callable[[Any], Any]]:
        """The handler of each request, by method. It returns a DeferredResult, or the result if there is nothing to ask."""
        return {"textDocument/hover": self._hover, **{method: partial(self._defer, method) for method in _METHODS}}

    def _hover(self, params: Any) -> Any:
        document = self._documents.document(params) if self._editor.settings.hover else None
        return document and DeferredResult(
            "textDocument/hover", params, document, lambda explanation: self._documents.hover(document, params, explanation)
        )

    def _defer(self, method: str, params: Any) -> Any:
        document = self._documents.document(params) if self._is_wanted(method) else None
        # An empty result is a list for most methods.
        nothing: Any = None if method == "textDocument/completion" else []
        return (
            nothing if document is None else DeferredResult(method, params, document, lambda result: nothing if result is None else result)
        )

    def _is_wanted(self, method: str) -> bool:
        """Return whether the current settings enable a method, which may have been offered at the start."""
        settings = self._editor.settings
        switches = {"completion": settings.completion, "inlayHint": settings.hints, "codeLens": settings.hints}
        return switches.get(method.rpartition("/")[2], True)

    def ask(self, identity: Any, deferred: DeferredResult) -> None:
        """Send a request to the indexer. If the indexer is not running, the answer is empty."""
        self._asked += 1
        self._waiting[self._asked] = identity, deferred.result
        if self._indexer.runs:
            self.send_document(deferred.document)
            self._indexer.send(IndexerRequest(self._asked, deferred.method, deferred.params))
        else:
            self.answer(Response(self._asked))

    def answer(self, answer: Response) -> None:
        """Respond to the client with an answer of the indexer."""
        identity, result_of = self._waiting.pop(answer.number)

        def result() -> Any:
            if answer.fault:
                self._client.report_error(answer.fault)
                raise ResponseError(transport.INTERNAL_ERROR, answer.fault.strip().splitlines()[-1])
            return result_of(answer.result)

        self._client.respond(identity, result)

    def give_up(self) -> None:
        """Respond with empty results to all requests that wait, because the indexer has ended. A new one has no documents."""
        for number in list(self._waiting):
            self.answer(Response(number))
        for document in self._editor.documents.values():
            document.is_mirrored = False

    def send_document(self, document: ServerDocument) -> None:
        """Send the current version of a document to the indexer, unless it has it."""
        if not document.is_mirrored:
            document.is_mirrored = True
            project = document.project
            text = str(document.text)
            self._indexer.send(OpenDocument(document.uri, document.path, project.folder, project.all_files, document.version, text))


def _links_in(text: EditorText, known: Iterable[str]) -> Iterator[tuple[Span, str]]:
    """Yield the positions of known rule names in suppressions, which link to the pages of the rules, with the names."""
    names = frozenset(known)
    for number in range(text.line_count):
        line = text.line(number)
        if "afflint:" not in line:
            continue
        for match in _SUPPRESSION.finditer(line):
            for word in _WORD.finditer(match[1]):
                if word[0] in names:
                    start, end = match.start(1) + word.start(), match.start(1) + word.end()
                    yield Span(*text.position_of((number, start)), *text.position_of((number, end))), word[0]


def _finding_text(finding: Finding) -> str:
    if finding.category == "policy":
        return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n(policy {finding.rule})"
    page = rules()[finding.rule].page().split("\n", 1)[1].partition("\n## Examples")[0].strip()
    # Headings are too large for a hover window.
    page = re.sub(r"(?m)^#+ (.*)$", r"**\1**", page)
    return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n[{finding.rule}]({page_uri(finding.rule)}): {page}"


def _plain(text: str) -> str:
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"\1", text)
