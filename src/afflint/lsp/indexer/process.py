"""The indexer process: it runs over all manifests, and answers requests that need all of them.

So a keystroke never waits for a run. One thread reads commands and answers requests, another one does runs. The server can send everything
that the indexer knows again, so it restarts an indexer that has failed. The indexer ends with the server, whatever it is doing.
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
from queue import SimpleQueue

from afflint.findings.codec import PlainError
from afflint.findings.errors import UserError
from afflint.lsp.diagnostics import diagnostics
from afflint.lsp.document import DocumentTexts
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer import protocol
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.protocol import (
    BaselinedFinding,
    DocumentClosed,
    DocumentFindings,
    DocumentRecognized,
    FileDiagnostics,
    FolderClosed,
    IndexerCommand,
    IndexerInit,
    IndexerReport,
    IndexerRequest,
    NumberedFile,
    OpenDocument,
    RequestedFindings,
    Response,
    RunEnded,
    RunFindings,
    RunProgress,
    RunRequest,
    read_lines,
)
from afflint.lsp.indexer.requests import answer
from afflint.lsp.indexer.workspace import IndexedDocument, Workspace, WorkspaceState
from afflint.lsp.text import EditorText
from afflint.lsp.uris import to_uri
from afflint.pipeline.baseline import of_file
from afflint.pipeline.reduce_step import policies_of

_NICE_VALUE = 5
"""The nice value of the process: typing comes first on a busy machine."""
_LARGE_RUN, _PROGRESS_STEP = 500, 100
"""The number of files from which a run shows its progress, and the number of files between two updates."""
_BETWEEN_COLLECTIONS = 200
"""Runs between two garbage collections: a run rarely leaves cycles behind, and a collection of a large heap takes long."""


class Indexer:
    """Executes commands. ``report`` is called from either thread with the results."""

    def __init__(self, init: IndexerInit, report: Callable[[IndexerReport], None]) -> None:
        self._init = init
        self._report = report
        self._requested = RequestedFindings()
        self._workspaces: dict[str, Workspace] = {}
        self._documents: dict[str, IndexedDocument] = {}
        self._shown: dict[str, dict[str, list[object]]] = {}
        """The last reported diagnostics of files that are not open, by folder and URI."""
        self._jobs: SimpleQueue[tuple[RunRequest, Workspace, dict[str, EditorBuffer]]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def execute(self, command: IndexerCommand) -> None:
        """Execute a command, or hand it to the thread for runs."""
        if isinstance(command, OpenDocument):
            self._document(command)
        elif isinstance(command, IndexerRequest):
            self._report(self._respond(command))
        elif isinstance(command, RunRequest):
            self._run(command)
        elif isinstance(command, DocumentClosed):
            self._documents.pop(command.uri, None)
        elif isinstance(command, FolderClosed):
            self._workspaces.pop(command.folder, None)
            self._shown.pop(command.folder, None)
        elif isinstance(command, RequestedFindings):
            self._requested = command

    # Documents.

    def _document(self, opened: OpenDocument) -> None:
        workspace = self._workspace(opened.folder, all_files=opened.all_files)
        text = EditorText(opened.text, self._init.client.encoding)
        document = self._documents.get(opened.uri)
        if document is not None and document.workspace is workspace:
            document.version, document.text = opened.version, text
            return
        document = self._documents[opened.uri] = IndexedDocument(opened.uri, opened.path, opened.version, text, workspace)
        if workspace.state is not None:
            self._report(DocumentRecognized(opened.folder, _document_findings(document, workspace.state)))

    def _workspace(self, folder: str, *, all_files: bool) -> Workspace:
        if folder not in self._workspaces:
            try:
                workspace = Workspace(folder, self._init.command_line, all_files=all_files)
            except UserError:  # The server has reported the same error.
                workspace = Workspace(folder, CommandLineConfig(no_config=True), all_files=all_files)
            self._workspaces[folder] = workspace
        return self._workspaces[folder]

    def _respond(self, request: IndexerRequest) -> Response:
        try:
            document = self._documents[request.params["textDocument"]["uri"]]
            texts = DocumentTexts(self._documents.values(), self._init.client.encoding)
            return Response(request.number, answer(request.method, request.params, document, texts))
        except Exception:
            return Response(request.number, fault=traceback.format_exc())

    # Runs.

    def _run(self, request: RunRequest) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
            self._thread.start()
        workspace = self._workspace(request.folder, all_files=request.all_files)
        open_documents = [each for each in self._documents.values() if each.workspace is workspace]
        self._jobs.put((request, workspace, {each.path: EditorBuffer(each.path, each.version, each.text.bytes) for each in open_documents}))

    def _work(self) -> None:
        runs = 0
        while True:
            request, workspace, buffers = self._jobs.get()
            run_ended = self._run_now(request, workspace, buffers)
            if self._workspaces.get(request.folder) is workspace:  # Otherwise the folder has been closed.
                self._report(run_ended)
            if runs % _BETWEEN_COLLECTIONS == 0:
                # Free cycles in a process that runs for days; frozen objects are not searched again.
                gc.collect()
                gc.freeze()
            runs += 1

    def _run_now(self, request: RunRequest, workspace: Workspace, buffers: dict[str, EditorBuffer]) -> RunEnded:
        folder = request.folder

        def report_progress(done: int, total: int) -> None:
            if total >= _LARGE_RUN and done % _PROGRESS_STEP == 0:
                self._report(RunProgress(folder, done, total))

        if request.rescan:
            workspace.forget_files()
        requested = self._requested
        started, before = time.monotonic(), workspace.map_cache.seconds
        try:
            faults = workspace.run(buffers, report_progress, with_unopened=requested.with_unopened)
            assert workspace.state is not None
            result = self._run_findings(workspace, workspace.state, requested)
        except UserError as error:
            return RunEnded(folder, fault=str(error))
        except Exception:
            return RunEnded(folder, fault=traceback.format_exc(), unexpected=True)
        seconds = time.monotonic() - started - (workspace.map_cache.seconds - before)
        return RunEnded(folder, result, "; ".join(faults), seconds=seconds)

    def _run_findings(self, workspace: Workspace, state: WorkspaceState, requested: RequestedFindings) -> RunFindings:
        reduced = state.reduced
        documents = [each for each in list(self._documents.values()) if each.workspace is workspace]
        return RunFindings(
            reduced.settings.inventory,
            reduced.suppression_filter.kustomizations.holding_all(),
            tuple([_document_findings(each, state) for each in documents]),
            reduced.settings.learnt,
            tuple(sorted(reduced.settings.target.known_labels)),
            None if state.baseline is None else state.baseline.folder,
            tuple(self._unopened(workspace, state, requested, documents)),
            reduced.unused_nodes,
            reduced.settings.target.chart_sources,
        )

    def _unopened(
        self, workspace: Workspace, state: WorkspaceState, requested: RequestedFindings, documents: list[IndexedDocument]
    ) -> list[FileDiagnostics]:
        """Return the diagnostics of files that are not open, as far as they have changed."""
        diagnostics_by_uri: dict[str, list[object]] = {}
        if requested.with_unopened and workspace.all_files:
            opened = {each.file for each in documents}
            texts = DocumentTexts(documents, self._init.client.encoding)
            for file, findings in state.findings.items():
                wanted = [each for each in findings if each.rule not in requested.left_out]
                if file not in opened and wanted:
                    path = state.path(file)
                    diagnostics_by_uri[to_uri(path)] = [*diagnostics(wanted, texts.read(path), texts, state.path)]
        before = self._shown.get(workspace.folder, {})
        self._shown[workspace.folder] = diagnostics_by_uri
        changed = [FileDiagnostics(uri, items) for uri, items in diagnostics_by_uri.items() if before.get(uri) != items]
        return [*changed, *(FileDiagnostics(uri, []) for uri in before.keys() - diagnostics_by_uri.keys())]


def _document_findings(document: IndexedDocument, state: WorkspaceState) -> DocumentFindings:
    """Return the result of a run for a document."""
    file, seen = document.file, state.buffers.get(document.path)
    version = document.first if seen is None else seen.version
    if file is None:
        return DocumentFindings(document.uri, version, None)
    result = state.reduced.results.get(file)
    across = None
    if result is not None and not (seen is not None and result.broken):
        across = tuple(state.reduced.across.get(file, ()))
    pointed_to = dict.fromkeys(place.file for each in across or () for place in each.related)
    places = tuple([_numbered_file(each, state) for each in pointed_to])
    old: tuple[BaselinedFinding, ...] = ()
    if state.baseline is not None:
        entries = of_file(state.baseline, state.name(file)) | state.old.get(file, Counter())
        old = tuple([BaselinedFinding(entry, count) for entry, count in entries.items()])
    mutating = policies_of(state.reduced.files.names, state.reduced.mutating)
    policies = () if mutating is None else tuple(mutating(file))
    return DocumentFindings(document.uri, version, _numbered_file(file, state), across, places, old, policies)


def _numbered_file(file: int, state: WorkspaceState) -> NumberedFile:
    return NumberedFile(file, state.name(file), state.path(file))


def main() -> None:
    """Execute the commands on standard input until its end, and write the results to standard output."""
    incoming, outgoing = os.dup(0), os.dup(1)
    # Only messages may reach the server: anything that a library prints goes to standard error.
    os.dup2(2, 1)
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # The server handles the interrupt, and the indexer ends with it.
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICE_VALUE)
    sys.setswitchinterval(0.001)  # A response must not wait long for a run.
    commands: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(incoming, commands), name="reader", daemon=True).start()
    init = _decode_command(commands.get())
    assert isinstance(init, IndexerInit)
    lock = threading.Lock()

    def report(what: IndexerReport) -> None:
        line = _encode(what)
        with lock:
            try:
                protocol.write_line(outgoing, line)
            except OSError:
                os._exit(0)  # The server has ended.

    indexer = Indexer(init, report)
    while True:
        indexer.execute(_decode_command(commands.get()))


def _decode_command(line: bytes) -> IndexerCommand:
    """Decode a command. An invalid one was sent by another version of afflint, so the process ends."""
    try:
        return protocol.COMMANDS.decode(line)
    except PlainError as error:
        print(f"afflint: unknown command from the server: {error}", file=sys.stderr, flush=True)
        sys.exit(protocol.NOT_UNDERSTOOD)


def _encode(what: IndexerReport) -> bytes:
    """Encode a message. Only the data that a fix is meant to produce may be impossible in JSON; then the message has no fixes."""
    try:
        return protocol.REPORTS.encode(what)
    except PlainError:
        if isinstance(what, RunEnded) and what.findings is not None:
            findings = what.findings._replace(documents=tuple(map(_without_fixes, what.findings.documents)))
            what = what._replace(findings=findings)
        elif isinstance(what, DocumentRecognized):
            what = what._replace(known=_without_fixes(what.known))
        return protocol.REPORTS.encode(what)


def _without_fixes(known: DocumentFindings) -> DocumentFindings:
    return known._replace(across=known.across and tuple([each._replace(edits=(), meant=()) for each in known.across]))


def _read(descriptor: int, commands: SimpleQueue[bytes]) -> None:
    with suppress(OSError):
        for line in read_lines(descriptor):
            commands.put(line)
    os._exit(0)  # The server has ended, so no result is needed.
