"""The second process of the server: it takes all manifests together, and answers what takes all of them to answer.

So a keystroke never shares its time with that. One thread takes orders and answers questions, one runs over folders. Everything it knows
can be told to it again: whatever becomes of it, the first process starts another. It ends with the first, whatever it is doing then.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from afflint.findings.codec import PlainError
from afflint.findings.errors import UserError
from afflint.lsp.diagnostics import diagnostics
from afflint.lsp.document import DocumentTexts
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer import protocol
from afflint.lsp.indexer.document import IndexedDocument
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.protocol import (
    BaselinedFinding,
    ClientWishes,
    DocumentClosed,
    DocumentFindings,
    DocumentRecognized,
    FileDiagnostics,
    FolderClosed,
    IndexerCommand,
    IndexerInit,
    IndexerMessage,
    IndexerRequest,
    LineReader,
    NumberedFile,
    OpenDocument,
    Response,
    RunEnded,
    RunFindings,
    RunProgress,
    RunRequest,
)
from afflint.lsp.indexer.requests import answer
from afflint.lsp.indexer.workspace import Workspace, WorkspaceState
from afflint.lsp.text import EditorText
from afflint.lsp.uris import of_path

_KINDER = 5
"""By so much it takes less than its share of a busy machine: whoever types comes first."""
_LONG, _STEP = 500, 100
"""How many files are worth showing how far a run is, and after how many it is shown."""
_BETWEEN_COLLECTIONS = 200
"""Runs leave no cycles behind as a rule, and looking for some takes long where there is much."""


class Indexer:
    """Does what the orders say. ``tell`` is called, from either thread, with what comes of them."""

    def __init__(self, hello: IndexerInit, tell: Callable[[RunEnded | RunProgress | DocumentRecognized | Response], None]) -> None:
        self._hello = hello
        self._tell = tell
        self._wishes = ClientWishes()
        self._overviews: dict[str, Workspace] = {}
        self._documents: dict[str, IndexedDocument] = {}
        self._shown: dict[str, dict[str, list[object]]] = {}
        """What was last told of files that are not open, by their folder and their URIs."""
        self._jobs: SimpleQueue[tuple[RunRequest, Workspace, dict[str, EditorBuffer]]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def take(self, order: IndexerCommand) -> None:
        """Do what an order says, or have it done."""
        what = order.what
        if isinstance(what, OpenDocument):
            self._document(what)
        elif isinstance(what, IndexerRequest):
            self._tell(self._answer(what))
        elif isinstance(what, RunRequest):
            self._run(what)
        elif isinstance(what, DocumentClosed):
            self._documents.pop(what.uri, None)
        elif isinstance(what, FolderClosed):
            self._overviews.pop(what.folder, None)
            self._shown.pop(what.folder, None)
        elif isinstance(what, ClientWishes):
            self._wishes = what

    # Documents.

    def _document(self, given: OpenDocument) -> None:
        overview = self._overview(given.folder, whole=given.whole)
        text = EditorText(given.text, self._hello.client.encoding)
        document = self._documents.get(given.uri)
        if document is not None and document.overview is overview:
            document.version, document.text = given.version, text
            return
        document = self._documents[given.uri] = IndexedDocument(given.uri, given.path, given.version, text, overview)
        if overview.state is not None:
            self._tell(DocumentRecognized(given.folder, _known(document, overview.state)))

    def _overview(self, folder: str, *, whole: bool) -> Workspace:
        if folder not in self._overviews:
            try:
                overview = Workspace(folder, self._hello.chosen, whole=whole)
            except UserError:  # The first process has met it as well, and said so.
                overview = Workspace(folder, CommandLineConfig(no_config=True), whole=whole)
            self._overviews[folder] = overview
        return self._overviews[folder]

    def _answer(self, asked: IndexerRequest) -> Response:
        try:
            document = self._documents[asked.params["textDocument"]["uri"]]
            texts = DocumentTexts(self._documents.values(), self._hello.client.encoding)
            return Response(asked.number, answer(asked.method, asked.params, document, texts))
        except Exception:
            return Response(asked.number, fault=traceback.format_exc())

    # Runs.

    def _run(self, asked: RunRequest) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
            self._thread.start()
        overview = self._overview(asked.folder, whole=asked.whole)
        mine = [each for each in self._documents.values() if each.overview is overview]
        self._jobs.put((asked, overview, {each.path: EditorBuffer(each.path, each.version, each.text.bytes) for each in mine}))

    def _work(self) -> None:
        runs = 0
        while True:
            asked, overview, buffers = self._jobs.get()
            ran = self._ran(asked, overview, buffers)
            if self._overviews.get(asked.folder) is overview:  # Otherwise nobody looks at it any more.
                self._tell(ran)
            if runs % _BETWEEN_COLLECTIONS == 0:
                # Whoever runs for days must not keep what nothing refers to; what it does keep need not be looked through again.
                gc.collect()
                gc.freeze()
            runs += 1

    def _ran(self, asked: RunRequest, overview: Workspace, buffers: dict[str, EditorBuffer]) -> RunEnded:
        folder = asked.folder

        def between(done: int, total: int) -> None:
            if total >= _LONG and done % _STEP == 0:
                self._tell(RunProgress(folder, done, total))

        if asked.anew:
            overview.forget_files()
        wishes = self._wishes
        started, before = time.monotonic(), overview.memory.seconds
        try:
            faults = overview.run(buffers, between, everything=wishes.everything)
            assert overview.state is not None
            told = self._told(overview, overview.state, wishes)
        except UserError as error:
            return RunEnded(folder, fault=str(error))
        except Exception:
            return RunEnded(folder, fault=traceback.format_exc(), unexpected=True)
        seconds = time.monotonic() - started - (overview.memory.seconds - before)
        return RunEnded(folder, told, "; ".join(faults), seconds=seconds)

    def _told(self, overview: Workspace, state: WorkspaceState, wishes: ClientWishes) -> RunFindings:
        gathered = state.gathered
        documents = [each for each in list(self._documents.values()) if each.overview is overview]
        return RunFindings(
            gathered.settings.with_nodes,
            gathered.suppression_filter.kustomizations.holding_all(),
            tuple([_known(each, state) for each in documents]),
            gathered.settings.learnt,
            tuple(sorted(gathered.settings.target.known_labels)),
            None if state.baseline is None else state.baseline.folder,
            tuple(self._unopened(overview, state, wishes, documents)),
            gathered.unused_nodes,
        )

    def _unopened(
        self, overview: Workspace, state: WorkspaceState, wishes: ClientWishes, documents: list[IndexedDocument]
    ) -> list[FileDiagnostics]:
        """What there is to show of files that are not open, as far as it has changed."""
        found: dict[str, list[object]] = {}
        if wishes.everything and overview.whole:
            opened = {each.file for each in documents}
            texts = DocumentTexts(documents, self._hello.client.encoding)
            for file, findings in state.findings.items():
                wanted = [each for each in findings if each.rule not in wishes.left_out]
                if file not in opened and wanted:
                    path = state.path(file)
                    found[of_path(path)] = [*diagnostics(wanted, texts.of(path), texts, state.path)]
        before = self._shown.get(overview.folder, {})
        self._shown[overview.folder] = found
        changed = [FileDiagnostics(uri, items) for uri, items in found.items() if before.get(uri) != items]
        return [*changed, *(FileDiagnostics(uri, []) for uri in before.keys() - found.keys())]


def _known(document: IndexedDocument, state: WorkspaceState) -> DocumentFindings:
    """What a run says about a document."""
    file, seen = document.file, state.buffers.get(document.path)
    version = document.first if seen is None else seen.version
    if file is None:
        return DocumentFindings(document.uri, version, None)
    result = state.gathered.results.get(file)
    across = None
    if result is not None and not (seen is not None and result.broken):
        across = tuple(state.gathered.across.get(file, ()))
    pointed_to = dict.fromkeys(place.file for each in across or () for place in each.related)
    places = tuple([_place(each, state) for each in pointed_to])
    old: tuple[BaselinedFinding, ...] = ()
    if state.baseline is not None:
        from afflint.pipeline.baseline import of_file

        entries = of_file(state.baseline, state.name(file)) | state.old.get(file, Counter())
        old = tuple([BaselinedFinding(entry, count) for entry, count in entries.items()])
    return DocumentFindings(document.uri, version, _place(file, state), across, places, old)


def _place(file: int, state: WorkspaceState) -> NumberedFile:
    return NumberedFile(file, state.name(file), state.path(file))


def main() -> None:
    """Take orders from standard input until its end, and write what comes of them on standard output."""
    incoming, outgoing = os.dup(0), os.dup(1)
    # Nothing but messages may reach the first process, whoever prints.
    os.dup2(2, 1)
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # The first process is told, and this one ends with it.
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_KINDER)
    sys.setswitchinterval(0.001)  # An answer must not wait long for a run.
    orders: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(LineReader(partial(os.read, incoming)), orders), name="reader", daemon=True).start()
    hello = _order(orders.get()).what
    assert isinstance(hello, IndexerInit)
    lock = threading.Lock()

    def tell(what: RunEnded | RunProgress | DocumentRecognized | Response) -> None:
        line = _encoded(what) + b"\n"
        with lock:
            try:
                while line:
                    line = line[os.write(outgoing, line) :]
            except OSError:
                os._exit(0)  # The first process has gone.

    background = Indexer(hello, tell)
    while True:
        background.take(_order(orders.get()))


def _order(line: bytes) -> IndexerCommand:
    """An order, read. One that is none comes from a process of other code: then this one ends."""
    try:
        return protocol.ORDERS.decode(line)
    except PlainError as error:
        print(f"afflint: unknown command from the server: {error}", file=sys.stderr, flush=True)
        sys.exit(protocol.NOT_UNDERSTOOD)


def _encoded(what: RunEnded | RunProgress | DocumentRecognized | Response) -> bytes:
    """A report as plain data. What JSON cannot hold are at most the data that a fix is meant to make: then it goes without fixes."""
    try:
        return protocol.REPORTS.encode(IndexerMessage(what))
    except PlainError:
        if isinstance(what, RunEnded) and what.told is not None:
            told = what.told._replace(documents=tuple(map(_without_fixes, what.told.documents)))
            what = what._replace(told=told)
        elif isinstance(what, DocumentRecognized):
            what = what._replace(known=_without_fixes(what.known))
        return protocol.REPORTS.encode(IndexerMessage(what))


def _without_fixes(known: DocumentFindings) -> DocumentFindings:
    return known._replace(across=known.across and tuple([each._replace(edits=(), meant=()) for each in known.across]))


def _read(lines: LineReader, orders: SimpleQueue[bytes]) -> None:
    with suppress(OSError):
        while (line := lines.next()) is not None:
            orders.put(line)
    os._exit(0)  # The first process is gone: nobody waits for anything any more.
