"""The language server: it reads messages, keeps the open documents, and answers requests.

One thread reads, one answers. Everything that needs all manifests is done by a second process, the indexer (``lsp.indexer``), so that a
keystroke never waits for it.
"""

from __future__ import annotations

import gc
import os
import threading
import time
import traceback
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import NoneType
from typing import Any, BinaryIO

from afflint import __version__
from afflint.config import RENDERERS
from afflint.config.trust import unused_render
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp import settings as client_settings
from afflint.lsp import transport
from afflint.lsp.capabilities import Client, capabilities, pulls_of_unopened, watchers
from afflint.lsp.client_connection import ERROR, LATER, WARNING, ClientConnection, Progress, Registrations
from afflint.lsp.document import ServerDocument
from afflint.lsp.document_requests import DeferredRequests, DeferredResult, DocumentRequests
from afflint.lsp.editor_state import EditorState, innermost, is_in
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.client import IndexerClient, IndexerLost, RenderLost
from afflint.lsp.indexer.client import Message as Report
from afflint.lsp.indexer.protocol import (
    DocumentClosed,
    DocumentRecognized,
    FolderClosed,
    IndexerInit,
    RenderEnded,
    RequestedFindings,
    Response,
    RunEnded,
    RunProgress,
    RunRequest,
)
from afflint.lsp.project import Project
from afflint.lsp.publication import Publication
from afflint.lsp.rendered import RenderedFolder
from afflint.lsp.schedules import RenderSchedule, RunSchedule
from afflint.lsp.text import EditorText
from afflint.lsp.transport import InvalidMessage, Message, MessageReader, ResponseError, notification_parameters, request_parameters
from afflint.lsp.uris import to_path
from afflint.yaml.document import text_at

SKIPPED_LANGUAGES = frozenset(("helm", "gotmpl", "go-template", "helm-template", "jinja", "jinja-yaml"))
"""Languages of templates, which are not manifests before they are rendered."""

_LARGEST_DOCUMENT = 1 << 20
"""Characters: a larger document is not checked while it is open. The server answers nothing during a check, which takes up to ten seconds
for a document of this size that has thousands of findings."""
_IDLE = 3.0
"""Seconds without a message after which the user is considered to have stopped typing."""
_MAX_WAIT = 3600.0
_NEEDED_BY = {"kustomize": "kustomizations", "helm": "charts"}


class _InputClosed(NamedTuple):
    """The end of the input, or of the editor."""


class Server:
    """A server for one client, from its first message to its last."""

    def __init__(self, incoming: Callable[[int], bytes], outgoing: BinaryIO, command_line: CommandLineConfig) -> None:
        self._inbox: SimpleQueue[Message | InvalidMessage | Report | _InputClosed] = SimpleQueue()
        self._reader = MessageReader(incoming)
        self._client = ClientConnection(outgoing, lambda: self._inbox.put(_InputClosed()))
        self._progress = Progress(self._client)
        self._registrations = Registrations(self._client.request)
        self._command_line = command_line
        self._initial_settings = client_settings.EditorSettings()
        """The settings at the start, which are the defaults for later ones."""
        self._editor = EditorState(self._new_project)
        self._publication = Publication(self._client, self._editor)
        self._document_requests = DocumentRequests(self._editor, self._publication.findings_of)
        self._indexer = IndexerClient(self._inbox.put)
        self._deferred = DeferredRequests(self._client, self._editor, self._indexer, self._document_requests)
        self._runs = RunSchedule()
        self._renders = RenderSchedule(self._inbox.put)
        self._initialized = self._shut_down = False
        self._exit: int | None = None
        self._collection_due = False
        """Whether messages have been handled since the last garbage collection."""
        self._requests = {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            **self._document_requests.handlers,
            **self._deferred.handlers,
            **self._publication.handlers,
        }
        self._notifications = self._notification_handlers()

    # The loop.

    def serve(self) -> int:
        """Handle messages until the client ends the session. Returns the exit code: 0 after a shutdown request, else 1."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        # A check rarely leaves cycles behind, and a collection takes as long as a check, so it waits until the user stops typing.
        gc.disable()
        try:
            while self._exit is None:
                self._step()
        finally:
            self._indexer.end()
            self._renders.end()
        return self._exit

    def _step(self) -> None:
        """Handle the next message, or do what is due if no message arrives before."""
        times = [*self._publication.due.values(), *self._runs.next_times(), *self._renders.next_times()]
        wait = max(min(times) - time.monotonic(), 0) if times else _MAX_WAIT
        try:
            message = self._inbox.get(timeout=min(wait, _IDLE) if self._collection_due else wait)
        except Empty:
            if self._collection_due and wait >= _IDLE:
                gc.collect()
                self._collection_due = False
        else:
            self._handle(message)
            self._collection_due = True
        if self._exit is None and self._inbox.empty():
            self._do_due_work()

    def end_with(self, process: int) -> None:
        """Stop serving when a process has ended."""
        transport.end_with(process, lambda: self._inbox.put(_InputClosed()))

    def _read(self) -> None:
        while (message := self._reader.read()) is not None:
            if isinstance(message, dict) and message.get("method") == "$/cancelRequest":
                # Handled at once, because the cancelled request may already be waiting.
                parameters = message.get("params")
                if isinstance(parameters, dict) and isinstance(parameters.get("id"), int | str):
                    self._client.cancel(parameters["id"])
                continue
            self._inbox.put(message)
        self._inbox.put(_InputClosed())

    def _do_due_work(self) -> None:
        """Do what is due while no message is waiting."""
        if not self._publication.show_due(lambda: not self._inbox.empty()):
            return
        project = self._runs.start_due()
        if project is not None:
            self._start_run(project)
        try:
            self._renders.start_due(self._command_line)
        except OSError as error:
            self._client.show_message(f"the renderer process cannot be started: {error.strerror or error}")

    def _handle(self, message: Message | InvalidMessage | Report | _InputClosed) -> None:
        try:
            if isinstance(message, _InputClosed):
                self._exit = 0 if self._shut_down else 1
            elif isinstance(message, InvalidMessage):
                self._client.reject(message)
            elif isinstance(message, RunEnded | RunProgress | DocumentRecognized | Response | RenderEnded | IndexerLost | RenderLost):
                self._on_report(message)
            elif "method" not in message:
                self._client.on_response(message)
            elif "id" in message:
                self._request(message)
            else:
                self._notification(message)
        except Exception:
            self._client.report_error(traceback.format_exc())

    def _request(self, message: Message) -> None:
        identity, method = message["id"], message["method"]
        if type(identity) not in (int, float, str, NoneType) or type(method) is not str:
            self._client.reject(InvalidMessage(transport.INVALID_REQUEST, "the message is not a valid request"))
            return

        def result() -> Any:
            if self._shut_down:
                raise ResponseError(transport.INVALID_REQUEST, "the server has been shut down")
            if not self._initialized and method != "initialize":
                raise ResponseError(transport.NOT_INITIALIZED, "the server has not been initialized")
            handler = self._requests.get(method)
            if handler is None:
                raise ResponseError(transport.METHOD_NOT_FOUND, f"unknown method {method!r}")
            answer = handler(request_parameters(method, message.get("params") or {}))
            if isinstance(answer, DeferredResult):
                self._deferred.ask(identity, answer)
                return LATER
            return answer

        self._client.respond(identity, result)

    def _notification(self, message: Message) -> None:
        method = message["method"]
        if type(method) is not str:
            return
        params = notification_parameters(method, message.get("params"))
        if params is None:
            self._client.log([f"skipped a malformed notification `{method}`"], WARNING)
            return
        if method == "exit":
            self._exit = 0 if self._shut_down else 1
        elif self._initialized and not self._shut_down and method in self._notifications:
            self._notifications[method](params)

    # From initialize to exit.

    def _notification_handlers(self) -> dict[str, Callable[[Any], None]]:
        return {
            "initialized": self._on_initialized,
            "textDocument/didOpen": self._on_open,
            "textDocument/didChange": self._on_change,
            "textDocument/didSave": self._on_save,
            "textDocument/didClose": self._on_close,
            "workspace/didChangeWatchedFiles": self._on_watched,
            "workspace/didChangeWorkspaceFolders": self._on_folders,
            "workspace/didChangeConfiguration": self._on_settings,
        }

    def _initialize(self, params: Any) -> Any:
        if self._initialized:
            raise ResponseError(transport.INVALID_REQUEST, "the server is already initialized")
        self._initialized = True
        self._editor.client = Client.of(params.get("capabilities"))
        self._editor.settings = self._initial_settings = self._read_settings(params.get("initializationOptions"), initial=True)
        if self._initial_settings.render and not self._command_line.render:
            self._command_line = self._command_line._replace(render=RENDERERS)
        if type(params.get("processId")) is int:
            self.end_with(params["processId"])
        folders = params.get("workspaceFolders")
        uris = [text_at(each, "uri") for each in folders] if isinstance(folders, list) else [params.get("rootUri")]
        for uri in uris:
            self._open_folder(uri)
        return {
            "capabilities": capabilities(self._editor.client, self._editor.settings),
            "serverInfo": {"name": "afflint", "version": __version__},
        }

    def _read_settings(self, received: Any, *, initial: bool = False) -> client_settings.EditorSettings:
        faults: list[str] = []
        settings = client_settings.read(received, faults, self._initial_settings)
        for fault in faults:
            self._client.show_message(fault)
        if initial or settings.render == self._initial_settings.render:
            return settings
        # Later settings may come from a file of the folder that is open, whose author may be unknown. They must not start programs.
        self._client.show_message(
            "the setting `render` has no effect here: start `afflint lsp --render`, or set it as an initialization option"
        )
        return settings._replace(render=self._initial_settings.render)

    def _on_initialized(self, _params: Any) -> None:
        self._register()
        if self._editor.client.registers_settings:
            self._registrations.register("settings", "workspace/didChangeConfiguration", {"section": "afflint"})
        if self._editor.client.configures:
            self._client.request("workspace/configuration", {"items": [{"section": "afflint"}]}, self._configured)
        for project in self._editor.projects.values():
            self._runs.request(project, pause=0)
            self._request_render(project)

    def _register(self) -> None:
        """Register the capabilities that the current settings and configurations need."""
        if self._editor.client.watches:
            named = [path for project in self._editor.projects.values() for path in project.setup.named_files()]
            options = watchers(named, outside=self._editor.client.watches_outside)
            self._registrations.register("files", "workspace/didChangeWatchedFiles", options)
        if self._editor.client.pulls and self._editor.client.registers_pulls and self._initial_settings.diagnostics != "workspace":
            # Later settings may need more than the server offered at the start.
            wanted = pulls_of_unopened() if self._editor.settings.diagnostics == "workspace" else None
            self._registrations.register("unopened", "textDocument/diagnostic", wanted)

    def _configured(self, result: Any) -> None:
        self._change_settings(result[0] if isinstance(result, list) and result and isinstance(result[0], dict) else None)

    def _on_settings(self, params: Any) -> None:
        if self._editor.client.configures:
            self._client.request("workspace/configuration", {"items": [{"section": "afflint"}]}, self._configured)
        elif isinstance(params.get("settings"), dict) and "afflint" in params["settings"]:
            self._change_settings(params["settings"])

    def _change_settings(self, received: Any) -> None:
        before, self._editor.settings = self._editor.settings, self._read_settings(received)
        if self._editor.settings == before:
            return
        self._register()
        self._publication.show_all()
        if self._editor.settings.hints != before.hints and self._editor.client.refreshes_hints:
            self._client.request("workspace/inlayHint/refresh", None)
        if self._indexer.runs:
            self._indexer.send(self._requested_findings)
            for project in self._editor.projects.values():
                self._runs.request(project, pause=0)

    def _shutdown(self, _params: Any) -> None:
        self._shut_down = True

    # The indexer.

    def _on_report(self, report: Report) -> None:
        if isinstance(report, RunEnded):
            self._on_run_ended(report)
        elif isinstance(report, RunProgress):
            if self._editor.client.progresses:
                self._progress.show(report.done, report.total)
        elif isinstance(report, Response):
            self._deferred.answer(report)
        elif isinstance(report, IndexerLost):
            self._on_indexer_lost(report)
        elif isinstance(report, RenderEnded | RenderLost):
            self._on_render_ended(report)
        else:
            self._on_recognized(report)

    def _on_indexer_lost(self, lost: IndexerLost) -> None:
        """Handle the end of the indexer. It is restarted when it is needed, after a delay that grows with each failure."""
        self._indexer.end()
        self._progress.end()
        self._runs.failed(outdated=lost.outdated)
        again = "" if lost.outdated else "; findings across manifests are not updated until it has restarted"
        self._client.show_message(f"{lost.reason}{again}")
        self._deferred.give_up()
        if self._runs.outdated:
            return
        for project in self._editor.projects.values():
            project.stale = True
            project.unopened = {}
            self._runs.request(project)

    # Folders and their projects.

    def _open_folder(self, uri: Any) -> None:
        path = to_path(uri) if isinstance(uri, str) else None
        if path is None or not os.path.isdir(path):
            return
        project = self._editor.projects.get(path)
        if project is None or not project.all_files:
            self._remove_project(path)
            self._editor.open_folder(path)

    def _new_project(self, folder: str, all_files: bool) -> Project:
        try:
            return Project(folder, self._command_line, all_files=all_files)
        except UserError as error:
            self._client.show_message(str(error), ERROR)
            return Project(folder, CommandLineConfig(no_config=True), all_files=all_files)

    def _on_folders(self, params: Any) -> None:
        for each in params["event"]["removed"]:
            path = to_path(text_at(each, "uri"))
            if path is not None:
                self._remove_project(path)
        for each in params["event"]["added"]:
            self._open_folder(text_at(each, "uri"))
        for document in self._editor.documents.values():
            project = self._editor.project_of(document.path)
            if project is not document.project:
                document.project = project
                document.is_mirrored = False
                if self._indexer.runs:
                    self._deferred.send_document(document)
                document.adopt()
        for project in self._editor.projects.values():
            self._runs.request(project, pause=0)
        for each in params["event"]["added"]:
            project_added = self._editor.projects.get(to_path(text_at(each, "uri") or "") or "")
            if project_added is not None:
                self._request_render(project_added)
        self._register()
        self._publication.show_all()

    def _remove_project(self, folder: str) -> None:
        """Remove the project of a folder."""
        project = self._editor.projects.pop(folder, None)
        if project is not None:
            self._runs.forget(project)
            self._renders.forget(project)
            if self._indexer.runs:
                self._indexer.send(FolderClosed(folder))

    def _on_watched(self, params: Any) -> None:
        changed = [path for each in params["changes"] if (path := to_path(text_at(each, "uri"))) is not None]
        for project in self._editor.projects.values():
            named = project.setup.named_files()
            if any(path in named or is_in(path, project.folder) or _is_configuration(path) for path in changed):
                project.stale = True
                self._runs.request(project)
                self._request_render(project)

    # Open documents.

    def _on_open(self, params: Any) -> None:
        opened = params["textDocument"]
        uri, version, text = opened["uri"], opened["version"], opened["text"]
        path = self._editor.path(uri)
        if path is None or type(text) is not str:
            return
        if opened.get("languageId") in SKIPPED_LANGUAGES:
            self._open_template(uri, path, version, text)
            return
        if len(text) > _LARGEST_DOCUMENT:
            self._publication.leave_unchecked(uri)
            return
        document = ServerDocument(uri, path, version, EditorText(text, self._editor.client.encoding), self._editor.project_of(path))
        self._editor.documents[uri] = document
        if self._indexer.runs:
            self._deferred.send_document(document)
        document.rendered.adopt(document.project.rendered.file(path), document.text)
        if self._runs.running is document.project and document.project.state is None:
            document.project.stale = True  # The file may have been created after that run listed the files.
        self._on_text(document)

    def _open_template(self, uri: str, path: str, version: int, text: str) -> None:
        """Keep a template that is open, if it is in a folder that is rendered."""
        project = innermost([each for each in self._editor.projects.values() if each.is_rendered], path)
        if project is not None and len(text) <= _LARGEST_DOCUMENT:
            document = ServerDocument(uri, path, version, EditorText(text, self._editor.client.encoding), project)
            self._editor.templates[uri] = document
            document.rendered.adopt(project.rendered.file(path), document.text)
            self._publication.show_soon(document)

    def _on_change(self, params: Any) -> None:
        document = self._editor.documents.get(params["textDocument"]["uri"])
        if document is not None:
            document.change(params["textDocument"]["version"], params["contentChanges"])
            if document.text.size > _LARGEST_DOCUMENT:
                self._forget(document)
                self._publication.leave_unchecked(document.uri)
            else:
                self._on_text(document)
        elif (template := self._editor.templates.get(params["textDocument"]["uri"])) is not None:
            template.change(params["textDocument"]["version"], params["contentChanges"])
            self._publication.show_soon(template)

    def _on_text(self, document: ServerDocument) -> None:
        """Check a document whose text is new."""
        self._publication.show_after_change(document)
        self._runs.request(document.project)

    def _on_save(self, params: Any) -> None:
        document = self._editor.documents.get(params["textDocument"]["uri"])
        path = self._editor.path(params["textDocument"]["uri"])
        if document is not None:
            self._publication.due[document.uri] = time.monotonic()
            if document.file is None or not self._editor.client.watches:
                document.project.stale = True
            self._runs.request(document.project, pause=0)
        if path is not None and _is_configuration(path):
            for project in self._editor.projects.values():
                self._runs.request(project, pause=0)
        opened = document or self._editor.templates.get(params["textDocument"]["uri"])
        if opened is not None:
            opened.rendered.save(opened.text)
        for project in self._editor.projects.values():
            if path is not None and (is_in(path, project.folder) or path in project.setup.named_files()):
                self._request_render(project)

    def _on_close(self, params: Any) -> None:
        uri = params["textDocument"]["uri"]
        document = self._editor.documents.get(uri)
        if document is not None:
            self._forget(document)
        elif self._editor.templates.pop(uri, None) is not None:
            self._publication.due.pop(uri, None)
        elif uri not in self._editor.too_large:
            return
        self._editor.too_large.discard(uri)
        self._publication.clear(uri)

    def _forget(self, document: ServerDocument) -> None:
        """Treat a document as closed."""
        del self._editor.documents[document.uri]
        self._publication.due.pop(document.uri, None)
        if self._indexer.runs:
            self._indexer.send(DocumentClosed(document.uri))
        self._runs.request(document.project)
        others = any(each.project is document.project for each in self._editor.documents.values())
        if not document.project.all_files and not others:
            self._remove_project(document.project.folder)

    # Runs over projects.

    def _start_run(self, project: Project) -> None:
        if not self._indexer.runs:
            self._indexer.start(IndexerInit(self._editor.client, self._command_line))
            self._indexer.send(self._requested_findings)
        for document in self._editor.documents.values():
            self._deferred.send_document(document)
        self._indexer.send(RunRequest(project.folder, project.all_files, project.stale))
        project.stale = False

    @property
    def _requested_findings(self) -> RequestedFindings:
        settings = self._editor.settings
        return RequestedFindings(tuple(sorted(client_settings.left_out(settings))), settings.diagnostics == "workspace")

    def _on_run_ended(self, ran: RunEnded) -> None:
        self._runs.ended()
        self._progress.end()
        project = self._editor.projects.get(ran.folder)
        if ran.unexpected:
            self._client.report_error(ran.fault)
        elif ran.fault:
            self._client.show_message(ran.fault, ERROR)
        if project is None:
            return
        was_rendered = project.is_rendered
        project.reread()
        if project.is_rendered != was_rendered:
            self._show_render(project, RenderEnded(project.folder))
            self._request_render(project)
        self._register()
        project.cost = ran.seconds
        for problem in project.setup.problems[:1]:
            self._client.show_message(str(problem), ERROR)
        if ran.findings is None:
            return
        project.adopt(ran.findings)
        if ran.findings.unused_nodes and not ran.fault:
            self._client.show_message(f"{ran.findings.unused_nodes}; nodes are ignored")
        for document in self._editor.documents.values():
            if document.project is project:
                document.adopt()
        self._publication.show_all()
        if self._editor.client.refreshes_hints and self._editor.settings.hints:
            self._client.request("workspace/inlayHint/refresh", None)

    def _request_render(self, project: Project) -> None:
        """Render a folder soon. If only a configuration that was found asks for it, say that nothing is rendered, and why."""
        if self._runs.outdated:
            return
        self._renders.request(project)
        note = unused_render(project.setup.config)
        if note is not None and note not in project.notes:
            self._client.log([note])
            project.notes = (note,)

    def _on_render_ended(self, report: RenderEnded | RenderLost) -> None:
        project = self._renders.ended(report)
        if project is None:
            return
        if isinstance(report, RenderLost):
            self._client.log([f"{report.reason}; the findings of rendered manifests are not updated"])
            return
        if report.unexpected:
            self._client.report_error(report.fault)
        elif report.fault:
            self._client.show_message(report.fault)
        if report.fault:
            return
        if report.missing_tools:
            missing = " and ".join(f"`{each}`" for each in report.missing_tools)
            what = " and ".join(_NEEDED_BY[each] for each in RENDERERS if each in report.missing_tools)
            are = "is" if len(report.missing_tools) == 1 else "are"
            self._client.show_message(f"{missing} {are} not on PATH, so {what} are not rendered")
        if report.notes != project.notes:
            self._client.log(report.notes)
            project.notes = report.notes
        self._show_render(project, report)

    def _show_render(self, project: Project, report: RenderEnded) -> None:
        project.rendered = RenderedFolder(report)
        for document in self._editor.all_opened():
            if document.project is project:
                document.rendered.adopt(project.rendered.file(document.path), document.text)
        self._publication.show_all()

    def _on_recognized(self, recognized: DocumentRecognized) -> None:
        """Take over the result of the last run for a document that was opened after it."""
        project, known = self._editor.projects.get(recognized.folder), recognized.known
        document = self._editor.documents.get(known.uri)
        if project is None or project.state is None or document is None or document.project is not project:
            return
        project.state.documents[known.uri] = known
        if known.place is None:
            project.stale = True  # The file may have been created since.
        document.adopt()
        self._publication.show_soon(document)


def _is_configuration(path: str) -> bool:
    return os.path.basename(path) in (".afflint.yaml", ".afflint.yml", "pyproject.toml")
