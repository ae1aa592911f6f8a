"""The language server: it reads messages, keeps the open documents, and answers requests.

One thread reads, one answers. Everything that needs all manifests is done by a second process, the indexer (``lsp.indexer``), so that a
keystroke never waits for it.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from types import NoneType
from typing import Any, BinaryIO

from afflint import __version__
from afflint.config import RENDERERS
from afflint.config.trust import unused_render
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp import settings as client_settings
from afflint.lsp import transport
from afflint.lsp.capabilities import UNOPENED, Client, capabilities, pulls_of_unopened, watchers
from afflint.lsp.diagnostics import TOO_LARGE, configuration_diagnostics, diagnostics, too_large_diagnostic, unopened_diagnostics
from afflint.lsp.document import DocumentTexts, ServerDocument
from afflint.lsp.document_requests import DocumentRequests
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.client import IndexerClient, IndexerLost, RenderLost
from afflint.lsp.indexer.client import Message as Report
from afflint.lsp.indexer.protocol import (
    DocumentClosed,
    DocumentRecognized,
    FolderClosed,
    IndexerCommand,
    IndexerInit,
    IndexerRequest,
    OpenDocument,
    RenderEnded,
    RequestedFindings,
    Response,
    RunEnded,
    RunProgress,
    RunRequest,
)
from afflint.lsp.project import Project
from afflint.lsp.registrations import Registrations
from afflint.lsp.render_schedule import RenderSchedule, missing_tools_message
from afflint.lsp.rendered import RenderedFolder
from afflint.lsp.text import EditorText
from afflint.lsp.transport import InvalidMessage, Message, MessageReader, MessageWriter, ResponseError
from afflint.lsp.uris import to_path
from afflint.yaml.document import text_at, value_at_path

SKIPPED_LANGUAGES = frozenset(("helm", "gotmpl", "go-template", "helm-template", "jinja", "jinja-yaml"))
"""Languages of templates, which are not manifests before they are rendered."""

_LARGEST_DOCUMENT = 1 << 20
"""Characters: a larger document is not checked while it is open. The server answers nothing during a check, which takes up to ten seconds
for a document of this size that has thousands of findings."""
_PAUSE, _LONGEST_PAUSE = 0.25, 3.0
"""Seconds without a change before a run over all manifests; in a large folder, 1.5 times the duration of a run."""
_AT_LEAST_EVERY = 40
"""During continuous typing, a run starts at the latest after this multiple of its duration."""
_QUICK, _LONGEST_WAIT = 0.04, 0.3
"""A document that takes longer to check, in seconds, is only checked after a pause of twice that time, at most the second value."""
_IDLE = 3.0
"""Seconds without a message after which the user is considered to have stopped typing."""
_ERROR, _WARNING, _INFO = 1, 2, 3
_DEFERRED = tuple(f"textDocument/{each}" for each in ("definition", "references", "completion", "inlayHint", "codeLens"))
"""The requests about a document that the indexer answers alone."""
_RESTART_DELAY, _MAX_RESTART_DELAY = 1.0, 60.0
"""Seconds before the indexer is restarted after a failure; they double with each failure until a run ends."""
_MAX_WAIT = 3600.0


class _InputClosed(NamedTuple):
    """The end of the input, or of the editor."""


class _DeferredResult(NamedTuple):
    """A request that the indexer answers; ``result`` turns its answer into the result."""

    method: str
    params: Any
    document: ServerDocument
    result: Callable[[Any], Any]


class Server:
    """A server for one client, from its first message to its last."""

    def __init__(self, incoming: Callable[[int], bytes], outgoing: BinaryIO, command_line: CommandLineConfig) -> None:
        self._inbox: SimpleQueue[Message | InvalidMessage | Report | _InputClosed] = SimpleQueue()
        self._reader = MessageReader(incoming)
        self._writer = MessageWriter(outgoing, lambda: self._inbox.put(_InputClosed()))
        self._command_line = command_line
        self._indexer = IndexerClient(self._inbox.put)
        self._renders = RenderSchedule(self._inbox.put)
        self._failures, self._not_before = 0, 0.0
        """Failures of the indexer since the end of a run, and the time before which it is not restarted."""
        self._client = Client()
        self._settings = self._initial_settings = client_settings.EditorSettings()
        """The current settings, and the settings at the start, which are the defaults for later ones."""
        self._initialized = self._shut_down = False
        self._exit: int | None = None
        self._projects: dict[str, Project] = {}
        self._documents: dict[str, ServerDocument] = {}
        self._templates: dict[str, ServerDocument] = {}
        """Open templates: only findings of rendered output are shown in them."""
        self._too_large: set[str] = set()
        """The URIs of open documents that are too large to be checked."""
        self._cancelled: set[Any] = set()
        self._shown: dict[str, Any] = {}
        """The diagnostics that were last published, by URI."""
        self._due_checks: dict[str, float] = {}
        self._scheduled: dict[Project, tuple[float, float]] = {}
        """Projects with a pending run: its earliest time, and the time of the first request."""
        self._running: Project | None = None
        self._deferred: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
        """Requests to the indexer: the ID of the client's request, and the function that turns the answer into its result."""
        self._outdated = False
        """Whether a new indexer would be another version of afflint, so that the server has to be restarted first."""
        self._messages_shown: set[str] = set()
        self._callbacks: dict[str, Callable[[Any], None]] = {}
        self._registrations = Registrations(self._send_request)
        self._collection_due = False
        """Whether messages have been handled since the last garbage collection."""
        self._number = 0
        self._progress: str | None = None
        self._document_requests = DocumentRequests(
            self._documents, lambda document: self._without_left_out(document.findings()), lambda: self._client
        )
        self._requests = {**self._request_handlers(), **self._document_requests.handlers}
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
        wait = self._wait()
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
                    self._cancelled.add(parameters["id"])
                continue
            self._inbox.put(message)
        self._inbox.put(_InputClosed())

    def _wait(self) -> float:
        times = [*self._due_checks.values()]
        if self._running is None:
            times += [max(when, self._not_before) for when, _ in self._scheduled.values()]
        if (render := self._renders.next_time()) is not None:
            times.append(render)
        return max(min(times) - time.monotonic(), 0) if times else _MAX_WAIT

    def _handle(self, message: Message | InvalidMessage | Report | _InputClosed) -> None:
        try:
            if isinstance(message, _InputClosed):
                self._exit = 0 if self._shut_down else 1
            elif isinstance(message, InvalidMessage):
                self._writer.write({"id": None, "error": {"code": message.code, "message": message.reason}})
            elif isinstance(message, RunEnded | RunProgress | DocumentRecognized | Response | RenderEnded | IndexerLost | RenderLost):
                self._on_report(message)
            elif "method" not in message:
                self._on_response(message)
            elif "id" in message:
                self._request(message)
            else:
                self._notification(message)
        except Exception:
            self._report_error(traceback.format_exc())

    def _request(self, message: Message) -> None:
        identity, method = message["id"], message["method"]
        if type(identity) not in (int, float, str, NoneType) or type(method) is not str:
            self._writer.write({"id": None, "error": {"code": transport.INVALID_REQUEST, "message": "the message is not a valid request"}})
            return

        def result() -> Any:
            if self._shut_down:
                raise ResponseError(transport.INVALID_REQUEST, "the server has been shut down")
            if not self._initialized and method != "initialize":
                raise ResponseError(transport.NOT_INITIALIZED, "the server has not been initialized")
            handler = self._requests.get(method)
            if handler is None:
                raise ResponseError(transport.METHOD_NOT_FOUND, f"unknown method {method!r}")
            params = message.get("params") or {}
            if type(params) is not dict:
                raise ResponseError(transport.INVALID_PARAMS, "the parameters are not an object")
            _validate(method, params)
            return handler(params)

        self._respond(identity, result)

    def _respond(self, identity: Any, make: Callable[[], Any]) -> None:
        """Answer a request with the result of ``make``, or pass the request to the indexer."""
        try:
            if identity in self._cancelled:
                self._cancelled.discard(identity)
                raise ResponseError(transport.REQUEST_CANCELLED, "cancelled")
            result = make()
            if isinstance(result, _DeferredResult):
                self._ask_indexer(identity, result)
                return
        except ResponseError as error:
            self._writer.write({"id": identity, "error": {"code": error.code, "message": str(error)}})
        except Exception as error:
            self._report_error(traceback.format_exc())
            self._writer.write({"id": identity, "error": {"code": transport.INTERNAL_ERROR, "message": f"{type(error).__name__}: {error}"}})
        else:
            self._writer.write({"id": identity, "result": result})

    def _notification(self, message: Message) -> None:
        method = message["method"]
        if type(method) is not str or not _is_valid(method, message.get("params")):
            return
        if method == "exit":
            self._exit = 0 if self._shut_down else 1
        elif self._initialized and not self._shut_down and method in self._notifications:
            try:
                self._notifications[method](message.get("params") or {})
            except (KeyError, TypeError, AttributeError, ValueError):
                self._report_error(traceback.format_exc())

    def _on_response(self, message: Message) -> None:
        then = self._callbacks.pop(str(message.get("id")), None)
        if then is not None:
            then(message.get("result"))

    def _send_request(self, method: str, params: Any, then: Callable[[Any], None] = lambda _: None) -> None:
        self._number += 1
        identity = f"afflint-{self._number}"
        self._callbacks[identity] = then
        self._writer.write({"id": identity, "method": method, "params": params})

    def _notify(self, method: str, params: Any) -> None:
        self._writer.write({"method": method, "params": params})

    def _report_error(self, text: str) -> None:
        print(f"afflint: internal error:\n{text}", file=sys.stderr, flush=True)
        self._notify("window/logMessage", {"type": _ERROR, "message": f"afflint: internal error: {text.strip().splitlines()[-1]}"})

    def _show_message(self, text: str, kind: int = _WARNING) -> None:
        """Show a message to the user, each text only once."""
        if text not in self._messages_shown:
            self._messages_shown.add(text)
            self._notify("window/showMessage", {"type": kind, "message": f"afflint: {text}"})

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

    def _request_handlers(self) -> dict[str, Callable[[Any], Any]]:
        return {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            "textDocument/diagnostic": self._pull,
            "workspace/diagnostic": self._pull_all,
            "textDocument/hover": self._hover,
            **{method: partial(self._defer, method) for method in _DEFERRED},
        }

    def _initialize(self, params: Any) -> Any:
        if self._initialized:
            raise ResponseError(transport.INVALID_REQUEST, "the server is already initialized")
        self._initialized = True
        self._client = Client.of(params.get("capabilities"))
        self._settings = self._initial_settings = self._read_settings(params.get("initializationOptions"), initial=True)
        if self._settings.render and not self._command_line.render:
            self._command_line = self._command_line._replace(render=RENDERERS)
        if type(params.get("processId")) is int:
            self.end_with(params["processId"])
        folders = params.get("workspaceFolders")
        uris = [text_at(each, "uri") for each in folders] if isinstance(folders, list) else [params.get("rootUri")]
        for uri in uris:
            self._add_project(uri)
        return {"capabilities": capabilities(self._client, self._settings), "serverInfo": {"name": "afflint", "version": __version__}}

    def _read_settings(self, received: Any, *, initial: bool = False) -> client_settings.EditorSettings:
        faults: list[str] = []
        settings = client_settings.read(received, faults, self._initial_settings)
        for fault in faults:
            self._show_message(fault)
        if initial or settings.render == self._initial_settings.render:
            return settings
        # Later settings may come from a file of the folder that is open, whose author may be unknown. They must not start programs.
        self._show_message("the setting `render` has no effect here: start `afflint lsp --render`, or set it as an initialization option")
        return settings._replace(render=self._initial_settings.render)

    def _on_initialized(self, _params: Any) -> None:
        self._register()
        if self._client.registers_settings:
            self._registrations.register("settings", "workspace/didChangeConfiguration", {"section": "afflint"})
        if self._client.configures:
            self._send_request("workspace/configuration", {"items": [{"section": "afflint"}]}, self._configured)
        for project in self._projects.values():
            self._schedule_run(project, pause=0)
            self._request_render(project)

    def _register(self) -> None:
        """Register the capabilities that the current settings and configurations need."""
        if self._client.watches:
            named = [path for project in self._projects.values() for path in project.setup.named_files()]
            options = watchers(named, outside=self._client.watches_outside)
            self._registrations.register("files", "workspace/didChangeWatchedFiles", options)
        if self._client.pulls and self._client.registers_pulls and self._initial_settings.diagnostics != "workspace":
            # Later settings may need more than the server offered at the start.
            wanted = pulls_of_unopened() if self._settings.diagnostics == "workspace" else None
            self._registrations.register("unopened", "textDocument/diagnostic", wanted)

    def _configured(self, result: Any) -> None:
        self._change_settings(result[0] if isinstance(result, list) and result and isinstance(result[0], dict) else None)

    def _on_settings(self, params: Any) -> None:
        if self._client.configures:
            self._send_request("workspace/configuration", {"items": [{"section": "afflint"}]}, self._configured)
        elif isinstance(params.get("settings"), dict) and "afflint" in params["settings"]:
            self._change_settings(params["settings"])

    def _change_settings(self, received: Any) -> None:
        before, self._settings = self._settings, self._read_settings(received)
        if self._settings == before:
            return
        self._register()
        self._show_all()
        if self._settings.hints != before.hints and self._client.refreshes_hints:
            self._send_request("workspace/inlayHint/refresh", None)
        if self._indexer.runs:
            self._indexer.send([IndexerCommand(self._requested_findings)])
            for project in self._projects.values():
                self._schedule_run(project, pause=0)

    def _shutdown(self, _params: Any) -> None:
        self._shut_down = True

    # The indexer.

    def _ask_indexer(self, identity: Any, deferred: _DeferredResult) -> None:
        """Send a request to the indexer. If the indexer is not running, the answer is empty."""
        self._number += 1
        self._deferred[self._number] = identity, deferred.result
        if self._indexer.runs:
            self._send_document(deferred.document)
            self._indexer.send([IndexerCommand(IndexerRequest(self._number, deferred.method, deferred.params))])
        else:
            self._answer_deferred(Response(self._number))

    def _answer_deferred(self, answer: Response) -> None:
        identity, result_of = self._deferred.pop(answer.number)

        def result() -> Any:
            if answer.fault:
                self._report_error(answer.fault)
                raise ResponseError(transport.INTERNAL_ERROR, answer.fault.strip().splitlines()[-1])
            return result_of(answer.result)

        self._respond(identity, result)

    def _hover(self, params: Any) -> Any:
        document = self._document_requests.document(params) if self._settings.hover else None
        return document and _DeferredResult(
            "textDocument/hover", params, document, lambda explanation: self._document_requests.hover(document, params, explanation)
        )

    def _defer(self, method: str, params: Any) -> Any:
        document = self._document_requests.document(params) if self._is_wanted(method) else None
        # An empty result is a list for most methods.
        nothing: Any = None if method == "textDocument/completion" else []
        return (
            nothing if document is None else _DeferredResult(method, params, document, lambda result: nothing if result is None else result)
        )

    def _is_wanted(self, method: str) -> bool:
        """Return whether the current settings enable a method, which may have been offered at the start."""
        switches = {"completion": self._settings.completion, "inlayHint": self._settings.hints, "codeLens": self._settings.hints}
        return switches.get(method.rpartition("/")[2], True)

    def _send_document(self, document: ServerDocument) -> None:
        """Send the current version of a document to the indexer, unless it has it."""
        if not document.is_mirrored:
            document.is_mirrored = True
            project = document.project
            opened = OpenDocument(document.uri, document.path, project.folder, project.all_files, document.version, str(document.text))
            self._indexer.send([IndexerCommand(opened)])

    def _on_report(self, report: Report) -> None:
        if isinstance(report, RunEnded):
            self._on_run_ended(report)
        elif isinstance(report, RunProgress):
            self._show_progress(report)
        elif isinstance(report, Response):
            self._answer_deferred(report)
        elif isinstance(report, IndexerLost):
            self._on_indexer_lost(report)
        elif isinstance(report, RenderEnded | RenderLost):
            self._on_render_ended(report)
        else:
            self._on_recognized(report)

    def _on_indexer_lost(self, lost: IndexerLost) -> None:
        """Handle the end of the indexer. It is restarted when it is needed, after a delay that grows with each failure."""
        self._indexer.end()
        self._end_progress()
        self._failures += 1
        self._outdated |= lost.outdated
        again = "" if lost.outdated else "; findings across manifests are not updated until it has restarted"
        self._show_message(f"{lost.reason}{again}", _WARNING)
        for number in list(self._deferred):
            self._answer_deferred(Response(number))
        for document in self._documents.values():
            document.is_mirrored = False
        self._not_before = time.monotonic() + min(_RESTART_DELAY * 2 ** (self._failures - 1), _MAX_RESTART_DELAY)
        self._running = None
        if self._outdated:
            self._scheduled.clear()
            return
        for project in self._projects.values():
            project.stale = True
            project.unopened = {}
            self._schedule_run(project)

    # Folders and their projects.

    def _add_project(self, uri: Any) -> None:
        path = to_path(uri) if isinstance(uri, str) else None
        if path is not None and os.path.isdir(path) and not (path in self._projects and self._projects[path].all_files):
            self._remove_project(path)
            self._projects[path] = self._project(path, all_files=True)

    def _project(self, folder: str, *, all_files: bool) -> Project:
        try:
            return Project(folder, self._command_line, all_files=all_files)
        except UserError as error:
            self._show_message(str(error), _ERROR)
            return Project(folder, CommandLineConfig(no_config=True), all_files=all_files)

    def _project_of(self, path: str) -> Project:
        """Return the project of the innermost folder that contains a file.

        A file outside the open folders belongs to a project with the other open files in its folder.
        """
        above = [project for folder, project in self._projects.items() if project.all_files and _is_in(path, folder)]
        if above:
            return max(above, key=lambda project: len(project.folder))
        folder = os.path.dirname(path)
        if folder not in self._projects:
            self._projects[folder] = self._project(folder, all_files=False)
        return self._projects[folder]

    def _on_folders(self, params: Any) -> None:
        for each in params["event"]["removed"]:
            path = to_path(text_at(each, "uri"))
            if path is not None:
                self._remove_project(path)
        for each in params["event"]["added"]:
            self._add_project(text_at(each, "uri"))
        for document in self._documents.values():
            project = self._project_of(document.path)
            if project is not document.project:
                document.project = project
                document.is_mirrored = False
                if self._indexer.runs:
                    self._send_document(document)
                document.adopt()
        for project in self._projects.values():
            self._schedule_run(project, pause=0)
        for each in params["event"]["added"]:
            project_added = self._projects.get(to_path(text_at(each, "uri") or "") or "")
            if project_added is not None:
                self._request_render(project_added)
        self._register()
        self._show_all()

    def _remove_project(self, folder: str) -> None:
        """Remove the project of a folder."""
        project = self._projects.pop(folder, None)
        if project is not None:
            self._scheduled.pop(project, None)
            self._renders.forget(project)
            if self._running is project:
                self._running = None
            if self._indexer.runs:
                self._indexer.send([IndexerCommand(FolderClosed(folder))])

    def _on_watched(self, params: Any) -> None:
        changed = [path for each in params["changes"] if (path := to_path(text_at(each, "uri"))) is not None]
        for project in self._projects.values():
            named = project.setup.named_files()
            if any(path in named or _is_in(path, project.folder) or _is_configuration(path) for path in changed):
                project.stale = True
                self._schedule_run(project)
                self._request_render(project)

    # Open documents.

    def _on_open(self, params: Any) -> None:
        opened = params["textDocument"]
        uri, version, text = opened["uri"], opened["version"], opened["text"]
        path = self._path(uri)
        if path is None or type(text) is not str:
            return
        if opened.get("languageId") in SKIPPED_LANGUAGES:
            self._open_template(uri, path, version, text)
            return
        if len(text) > _LARGEST_DOCUMENT:
            self._leave_unchecked(uri)
            return
        document = ServerDocument(uri, path, version, EditorText(text, self._client.encoding), self._project_of(path))
        self._documents[uri] = document
        if self._indexer.runs:
            self._send_document(document)
        document.rendered.adopt(document.project.rendered.file(path), document.text)
        if self._running is document.project and document.project.state is None:
            document.project.stale = True  # The file may have been created after that run listed the files.
        self._changed(document)

    def _open_template(self, uri: str, path: str, version: int, text: str) -> None:
        """Keep a template that is open, if it is in a folder that is rendered."""
        above = [project for project in self._projects.values() if project.is_rendered and _is_in(path, project.folder)]
        if above and len(text) <= _LARGEST_DOCUMENT:
            project = max(above, key=lambda each: len(each.folder))
            document = ServerDocument(uri, path, version, EditorText(text, self._client.encoding), project)
            self._templates[uri] = document
            document.rendered.adopt(project.rendered.file(path), document.text)
            self._show_soon(document)

    def _path(self, uri: Any) -> str | None:
        """Return the path of a document; for one that was never saved, a path in the first folder."""
        if not isinstance(uri, str):
            return None
        if uri.startswith("untitled:"):
            folder = next((each.folder for each in self._projects.values() if each.all_files), os.getcwd())
            name = "".join(char if char.isalnum() or char in "-_." else "-" for char in uri.removeprefix("untitled:"))
            return os.path.join(folder, name if name.endswith((".yaml", ".yml", ".json")) else f"{name}.yaml")
        return to_path(uri)

    def _on_change(self, params: Any) -> None:
        document = self._documents.get(params["textDocument"]["uri"])
        if document is not None:
            document.change(params["textDocument"]["version"], params["contentChanges"])
            if document.text.size > _LARGEST_DOCUMENT:
                self._forget(document)
                self._leave_unchecked(document.uri)
            else:
                self._changed(document)
        elif (template := self._templates.get(params["textDocument"]["uri"])) is not None:
            template.change(params["textDocument"]["version"], params["contentChanges"])
            self._show_soon(template)

    def _leave_unchecked(self, uri: str) -> None:
        """Treat an open document as a file that is not open, with a note at its first line."""
        self._too_large.add(uri)
        self._notify("window/logMessage", {"type": _WARNING, "message": f"afflint: {uri}: {TOO_LARGE}"})
        if not self._client.pulls:
            self._publish(uri, [too_large_diagnostic()], None)

    def _changed(self, document: ServerDocument) -> None:
        wait = min(2 * document.cost, _LONGEST_WAIT) if document.cost > _QUICK else 0.0
        self._due_checks[document.uri] = time.monotonic() + wait
        self._schedule_run(document.project)

    def _on_save(self, params: Any) -> None:
        document = self._documents.get(params["textDocument"]["uri"])
        path = self._path(params["textDocument"]["uri"])
        if document is not None:
            self._due_checks[document.uri] = time.monotonic()
            if document.file is None or not self._client.watches:
                document.project.stale = True
            self._schedule_run(document.project, pause=0)
        if path is not None and _is_configuration(path):
            for project in self._projects.values():
                self._schedule_run(project, pause=0)
        opened = document or self._templates.get(params["textDocument"]["uri"])
        if opened is not None:
            opened.rendered.save(opened.text)
        for project in self._projects.values():
            if path is not None and (_is_in(path, project.folder) or path in project.setup.named_files()):
                self._request_render(project)

    def _on_close(self, params: Any) -> None:
        uri = params["textDocument"]["uri"]
        document = self._documents.get(uri)
        if document is not None:
            self._forget(document)
        elif self._templates.pop(uri, None) is not None:
            self._due_checks.pop(uri, None)
        elif uri not in self._too_large:
            return
        self._too_large.discard(uri)
        if not self._client.pulls and self._settings.diagnostics == "open":
            self._publish(uri, [], None)
            self._shown.pop(uri, None)

    def _forget(self, document: ServerDocument) -> None:
        """Treat a document as closed."""
        del self._documents[document.uri]
        self._due_checks.pop(document.uri, None)
        if self._indexer.runs:
            self._indexer.send([IndexerCommand(DocumentClosed(document.uri))])
        self._schedule_run(document.project)
        others = any(each.project is document.project for each in self._documents.values())
        if not document.project.all_files and not others:
            self._remove_project(document.project.folder)

    # Runs over projects.

    def _schedule_run(self, project: Project, pause: float | None = None) -> None:
        """Schedule a run over a project after a pause, so that it does not slow down each keystroke."""
        if self._outdated:
            return
        now = time.monotonic()
        if pause is None:
            pause = min(max(_PAUSE, 1.5 * project.cost), _LONGEST_PAUSE)
        since = self._scheduled.get(project, (now, now))[1]
        latest = since + max(_AT_LEAST_EVERY * project.cost, _LONGEST_PAUSE)
        self._scheduled[project] = min(now + pause, max(latest, now)), since

    def _do_due_work(self) -> None:
        """Do what is due while no message is waiting."""
        now = time.monotonic()
        for uri in [uri for uri, when in self._due_checks.items() if when <= now]:
            del self._due_checks[uri]
            document = self._opened(uri)
            if document is not None and not self._client.pulls:
                self._show(document)
            if not self._inbox.empty():
                return
        if self._running is None and now >= self._not_before:
            ready = [project for project, (when, _) in self._scheduled.items() if when <= now]
            if ready:
                del self._scheduled[ready[0]]
                self._start_run(ready[0])
        try:
            self._renders.start_due(self._command_line)
        except OSError as error:
            self._show_message(f"the renderer process cannot be started: {error.strerror or error}")

    def _start_run(self, project: Project) -> None:
        self._running = project
        if not self._indexer.runs:
            self._indexer.start(IndexerInit(self._client, self._command_line))
            self._indexer.send([IndexerCommand(self._requested_findings)])
        for document in self._documents.values():
            self._send_document(document)
        self._indexer.send([IndexerCommand(RunRequest(project.folder, project.all_files, project.stale))])
        project.stale = False

    @property
    def _requested_findings(self) -> RequestedFindings:
        settings = self._settings
        return RequestedFindings(tuple(sorted(client_settings.left_out(settings))), settings.diagnostics == "workspace")

    def _on_run_ended(self, ran: RunEnded) -> None:
        self._running = None
        self._failures = 0
        self._end_progress()
        project = self._projects.get(ran.folder)
        if ran.unexpected:
            self._report_error(ran.fault)
        elif ran.fault:
            self._show_message(ran.fault, _ERROR)
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
            self._show_message(str(problem), _ERROR)
        if ran.findings is None:
            return
        project.adopt(ran.findings)
        if ran.findings.unused_nodes and not ran.fault:
            self._show_message(f"{ran.findings.unused_nodes}; nodes are ignored", _WARNING)
        for document in self._documents.values():
            if document.project is project:
                document.adopt()
        self._show_all()
        if self._client.refreshes_hints and self._settings.hints:
            self._send_request("workspace/inlayHint/refresh", None)

    def _request_render(self, project: Project) -> None:
        """Render a folder soon. If only a configuration that was found asks for it, say that nothing is rendered, and why."""
        if self._outdated:
            return
        self._renders.request(project)
        note = unused_render(project.setup.config)
        if note is not None and note not in project.notes:
            self._log([note])
            project.notes = (note,)

    def _on_render_ended(self, report: RenderEnded | RenderLost) -> None:
        project = self._renders.ended(report)
        if project is None:
            return
        if isinstance(report, RenderLost):
            self._log([f"{report.reason}; the findings of rendered manifests are not updated"])
            return
        if report.unexpected:
            self._report_error(report.fault)
        elif report.fault:
            self._show_message(report.fault)
        if report.fault:
            return
        if report.missing_tools:
            self._show_message(missing_tools_message(report.missing_tools))
        if report.notes != project.notes:
            self._log(report.notes)
            project.notes = report.notes
        self._show_render(project, report)

    def _show_render(self, project: Project, report: RenderEnded) -> None:
        project.rendered = RenderedFolder(report)
        for document in (*self._documents.values(), *self._templates.values()):
            if document.project is project:
                document.rendered.adopt(project.rendered.file(document.path), document.text)
        self._show_all()

    def _log(self, lines: Iterable[str]) -> None:
        """Write one message to the log of the client."""
        text = "\n".join(lines)
        if text:
            self._notify("window/logMessage", {"type": _INFO, "message": f"afflint: {text}"})

    def _on_recognized(self, recognized: DocumentRecognized) -> None:
        """Take over the result of the last run for a document that was opened after it."""
        project, known = self._projects.get(recognized.folder), recognized.known
        document = self._documents.get(known.uri)
        if project is None or project.state is None or document is None or document.project is not project:
            return
        project.state.documents[known.uri] = known
        if known.place is None:
            project.stale = True  # The file may have been created since.
        document.adopt()
        self._show_soon(document)

    def _show_progress(self, progress: RunProgress) -> None:
        if not self._client.progresses:
            return
        value: dict[str, Any] = {
            "percentage": 100 * progress.done // max(progress.total, 1),
            "message": f"{progress.done} of {progress.total} files",
        }
        if self._progress is None:
            self._number += 1
            self._progress = f"afflint-progress-{self._number}"
            self._send_request("window/workDoneProgress/create", {"token": self._progress})
            value = {"kind": "begin", "title": "Reading manifests", "cancellable": False, **value}
        else:
            value = {"kind": "report", **value}
        self._notify("$/progress", {"token": self._progress, "value": value})

    def _end_progress(self) -> None:
        if self._progress is not None:
            self._notify("$/progress", {"token": self._progress, "value": {"kind": "end"}})
            self._progress = None

    # Diagnostics.

    @property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts([*self._documents.values(), *self._templates.values()], self._client.encoding)

    def _opened(self, uri: str) -> ServerDocument | None:
        """Return an open document, which may be a template."""
        return self._documents.get(uri) or self._templates.get(uri)

    def _show_all(self) -> None:
        """Show the current findings wherever they may have changed."""
        if self._client.pulls:
            self._send_request("workspace/diagnostic/refresh", None)
            return
        for document in (*self._documents.values(), *self._templates.values()):
            self._show_soon(document)
        results = dict(self._unopened()) if self._settings.diagnostics == "workspace" else {}
        for uri, items in results.items():
            self._publish(uri, items, None)
        for uri in [uri for uri in self._shown if uri not in results and self._opened(uri) is None and uri not in self._too_large]:
            self._publish(uri, [], None)

    def _show_soon(self, document: ServerDocument) -> None:
        """Show the current findings of a document as soon as no message is waiting."""
        if not self._client.pulls:
            self._due_checks.setdefault(document.uri, time.monotonic())
        else:
            self._send_request("workspace/diagnostic/refresh", None)

    def _show(self, document: ServerDocument) -> None:
        started = time.monotonic()
        items = self._diagnostics_of(document)
        document.cost = time.monotonic() - started
        self._publish(document.uri, items, document.version)

    def _publish(self, uri: str, items: list[dict[str, Any]], version: int | None) -> None:
        shown = (items, version)
        if self._shown.get(uri, ([], None) if version is None else None) != shown:
            self._shown[uri] = shown
            self._notify(
                "textDocument/publishDiagnostics", {"uri": uri, "diagnostics": items} | ({} if version is None else {"version": version})
            )

    def _diagnostics_of(self, document: ServerDocument) -> list[dict[str, Any]]:
        problems = [each for each in document.project.setup.problems if os.path.abspath(each.file) == document.path]
        own = [] if document.uri in self._templates else document.findings()
        findings = self._without_left_out([*own, *document.rendered.findings])
        shown = diagnostics(findings, document.text, self._texts, document.path_of)
        return configuration_diagnostics(problems, document.text) + shown

    def _without_left_out(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings without those of rules that another language server reports."""
        left_out = client_settings.left_out(self._settings)
        return [each for each in findings if each.rule not in left_out] if left_out else findings

    def _unopened(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the diagnostics of the files that are not open."""
        opened = {document.path for document in (*self._documents.values(), *self._templates.values())}
        for project in self._projects.values():
            shown = unopened_diagnostics(project.unopened, project.rendered, self._texts, self._without_left_out)
            yield from ((uri, items) for uri, items in shown if to_path(uri) not in opened)

    def _pull(self, params: Any) -> Any:
        document = self._opened(params["textDocument"]["uri"]) if params.get("identifier") != UNOPENED else None
        if document is not None:
            items = self._diagnostics_of(document)
        else:
            is_too_large = params["textDocument"]["uri"] in self._too_large and params.get("identifier") != UNOPENED
            items = [too_large_diagnostic()] if is_too_large else []
        return _report(items, params.get("previousResultId"))

    def _pull_all(self, params: Any) -> Any:
        before = {each["uri"]: each["value"] for each in params.get("previousResultIds") or ()}
        reports = []
        results: dict[str, tuple[list[dict[str, Any]], int | None]] = {}
        if params.get("identifier") != UNOPENED:
            opened = (*self._documents.values(), *self._templates.values())
            results = {each.uri: (self._diagnostics_of(each), each.version) for each in opened}
            results |= {uri: ([too_large_diagnostic()], None) for uri in self._too_large}
        if self._settings.diagnostics == "workspace":
            results |= {uri: (items, None) for uri, items in self._unopened()}
        for uri in dict.fromkeys((*results, *before)):
            items, version = results.get(uri, ([], None))
            if items or uri in before or version is not None:
                reports.append({"uri": uri, "version": version, **_report(items, before.get(uri))})
        return {"items": reports}


def _report(items: list[dict[str, Any]], before: Any) -> dict[str, Any]:
    """Return a report of the pull model: "unchanged" if the items are those of the previous report."""
    import json
    from zlib import crc32

    number = f"{crc32(json.dumps(items, sort_keys=True).encode()):08x}"
    return {"kind": "unchanged", "resultId": number} if number == before else {"kind": "full", "resultId": number, "items": items}


_WITH_POSITION = ("hover", "definition", "references", "completion")


def _validate(method: str, params: Any) -> None:
    """Check that a request about a document has a document and valid positions. Raises ResponseError."""
    area, _, name = str(method).partition("/")
    if area != "textDocument":
        return
    document = params.get("textDocument") if isinstance(params, dict) else None
    if not isinstance(document, dict) or not isinstance(document.get("uri"), str):
        raise ResponseError(transport.INVALID_PARAMS, "`textDocument` has no `uri`")
    places = [params.get("position")] if name in _WITH_POSITION else []
    if name in ("codeAction", "inlayHint"):
        span = params.get("range")
        places = [span.get("start"), span.get("end")] if isinstance(span, dict) else [None]
    for place in places:
        numbers = [place.get("line"), place.get("character")] if isinstance(place, dict) else []
        if not numbers or any(type(each) is not int or each < 0 for each in numbers):
            raise ResponseError(transport.INVALID_PARAMS, "`line` and `character` of a position must be integers from 0")


_DOCUMENT_URI: dict[tuple[str, ...], type] = {("textDocument", "uri"): str}
_REQUIRED_PARAMETERS: dict[str, dict[tuple[str, ...], type]] = {
    "textDocument/didOpen": {**_DOCUMENT_URI, ("textDocument", "version"): int, ("textDocument", "text"): str},
    "textDocument/didChange": {**_DOCUMENT_URI, ("contentChanges",): list},
    "textDocument/didSave": _DOCUMENT_URI,
    "textDocument/didClose": _DOCUMENT_URI,
    "workspace/didChangeWatchedFiles": {("changes",): list},
    "workspace/didChangeWorkspaceFolders": {("event", "added"): list, ("event", "removed"): list},
}


def _is_valid(method: str, params: Any) -> bool:
    """Return whether a notification has the parameters that the protocol requires. An invalid one is skipped, as it has no response."""
    return type(params or {}) is dict and all(
        type(value_at_path(params, *steps)) is kind for steps, kind in _REQUIRED_PARAMETERS.get(method, {}).items()
    )


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _is_configuration(path: str) -> bool:
    return os.path.basename(path) in (".afflint.yaml", ".afflint.yml", "pyproject.toml")
