"""The requests about a document that the indexer answers, because they need all manifests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.lsp import transport
from afflint.lsp.client_connection import ClientConnection
from afflint.lsp.document import ServerDocument
from afflint.lsp.document_requests import DocumentRequests
from afflint.lsp.editor_state import EditorState
from afflint.lsp.indexer.client import IndexerClient
from afflint.lsp.indexer.protocol import IndexerRequest, OpenDocument, Response
from afflint.lsp.transport import ResponseError

_METHODS = tuple(f"textDocument/{each}" for each in ("definition", "references", "completion", "inlayHint", "codeLens"))
"""The requests that the indexer answers alone."""


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
