"""The server: takes messages, keeps the open documents, and answers.

One thread reads, one answers. Whatever takes all manifests is done by a second process (``background``), seen through ``companion``: a
keystroke never waits for that.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from queue import Empty, SimpleQueue
from types import NoneType
from typing import Any, BinaryIO

from afflint import __version__
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp import settings as client_settings
from afflint.lsp import transport
from afflint.lsp.capabilities import UNOPENED, Client, capabilities, pulls_of_unopened, watchers
from afflint.lsp.diagnostics import TOO_LARGE, diagnostics, of_configuration, too_large
from afflint.lsp.document import DocumentTexts, ServerDocument
from afflint.lsp.document_requests import Features
from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.client import IndexerClient, IndexerLost
from afflint.lsp.indexer.client import Message as Report
from afflint.lsp.indexer.protocol import (
    ClientWishes,
    DocumentClosed,
    DocumentRecognized,
    FolderClosed,
    IndexerCommand,
    IndexerInit,
    IndexerRequest,
    OpenDocument,
    Response,
    RunEnded,
    RunProgress,
    RunRequest,
)
from afflint.lsp.project import Project
from afflint.lsp.registrations import Registrations
from afflint.lsp.text import EditorText
from afflint.lsp.transport import InvalidMessage, Message, MessageReader, MessageWriter, ResponseError
from afflint.lsp.uris import to_path
from afflint.yaml.document import text_at, value_at_path

SKIPPED_LANGUAGES = frozenset(("helm", "gotmpl", "go-template", "helm-template", "jinja", "jinja-yaml"))
"""What is no manifest before something else is made of it."""

_LARGEST_DOCUMENT = 1 << 20
"""Characters: a larger document is not checked while it is open. The server answers nothing during a check, which takes up to ten seconds
for a document of this size that has thousands of findings."""
_PAUSE, _LONGEST_PAUSE = 0.25, 3.0
"""Seconds without a change after which all manifests are taken together again: in a large folder half as much again as that takes."""
_AT_LEAST_EVERY = 40
"""While one goes on typing, it is done all the same after so many times what it takes."""
_QUICK, _LONGEST_WAIT = 0.04, 0.3
"""What takes more seconds to check than this is checked only when nothing was typed for twice as long, or for so many seconds."""
_IDLE = 3.0
"""Seconds without a message in which somebody who types has stopped for a while."""
_ERROR, _WARNING, _INFO = 1, 2, 3
_LATER = tuple(f"textDocument/{each}" for each in ("definition", "references", "completion", "inlayHint", "codeLens"))
"""The requests about a document that the second process answers alone."""
_AFTER_A_DEATH, _LONGEST_AFTER = 1.0, 60.0
"""Seconds after which the second process is started again when it has died; twice as many each time until it comes to an end of a run."""
_WAITS = 3600.0


class _InputClosed(NamedTuple):
    """The end of the input, or of the editor."""


class _Later(NamedTuple):
    """In place of a result: the second process is asked about a document, and ``result`` makes the result of its answer."""

    method: str
    params: Any
    document: ServerDocument
    result: Callable[[Any], Any]


class Server:
    """One client, from its first message to its last."""

    def __init__(self, incoming: Callable[[int], bytes], outgoing: BinaryIO, chosen: CommandLineConfig) -> None:
        self._inbox: SimpleQueue[Message | InvalidMessage | Report | _InputClosed] = SimpleQueue()
        self._reader = MessageReader(incoming)
        self._writer = MessageWriter(outgoing, lambda: self._inbox.put(_InputClosed()))
        self._chosen = chosen
        self._companion = IndexerClient(self._inbox.put)
        self._deaths, self._not_before = 0, 0.0
        """How often the second process has died since a run ended, and until when it is not started again for that."""
        self._client = Client()
        self._settings = self._first_settings = client_settings.EditorSettings()
        """Those of now, and those that the client started with, which hold where its settings say nothing."""
        self._initialized = self._shut_down = False
        self._exit: int | None = None
        self._projects: dict[str, Project] = {}
        self._documents: dict[str, ServerDocument] = {}
        self._too_large: set[str] = set()
        """The URIs of open documents that are too large to be checked."""
        self._cancelled: set[Any] = set()
        self._shown: dict[str, Any] = {}
        """What was last published for each file, by its URI."""
        self._due: dict[str, float] = {}
        self._wanted: dict[Project, tuple[float, float]] = {}
        """The projects that are to be run over: when at the earliest, and since when."""
        self._running: Project | None = None
        self._questions: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
        """What the second process has been asked: the request of the client, and what makes its result of the answer."""
        self._outdated = False
        """Whether the second process would be of other code than this one: then it takes a restart of the server."""
        self._said: set[str] = set()
        self._asked: dict[str, Callable[[Any], None]] = {}
        self._registrations = Registrations(self._ask)
        self._littered = False
        """Whether anything has been done since it was looked for what nothing refers to."""
        self._number = 0
        self._progress: str | None = None
        self._features = Features(self._documents, lambda document: self._wished(document.findings()), lambda: self._client)
        self._requests = {**self._request_handlers(), **self._features.handlers}
        self._notifications = self._notification_handlers()

    # The loop.

    def serve(self) -> int:
        """Answer until the client says that it is enough. Returns the exit code: 0 after a shutdown, else 1."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        # Checks leave no cycles behind as a rule, and looking for some takes as long as a check: that is done when nobody types.
        gc.disable()
        try:
            while self._exit is None:
                self._turn()
        finally:
            self._companion.end()
        return self._exit

    def _turn(self) -> None:
        """Take the next message, or do what is due if none comes before that."""
        wait = self._wait()
        try:
            message = self._inbox.get(timeout=min(wait, _IDLE) if self._littered else wait)
        except Empty:
            if self._littered and wait >= _IDLE:
                gc.collect()
                self._littered = False
        else:
            self._take(message)
            self._littered = True
        if self._exit is None and self._inbox.empty():
            self._catch_up()

    def end_with(self, process: int) -> None:
        """Stop serving when that process is gone."""
        transport.end_with(process, lambda: self._inbox.put(_InputClosed()))

    def _read(self) -> None:
        while (message := self._reader.read()) is not None:
            if isinstance(message, dict) and message.get("method") == "$/cancelRequest":
                # At once: what it cancels may be waiting already.
                given = message.get("params")
                if isinstance(given, dict) and isinstance(given.get("id"), int | str):
                    self._cancelled.add(given["id"])
                continue
            self._inbox.put(message)
        self._inbox.put(_InputClosed())

    def _wait(self) -> float:
        times = [*self._due.values()]
        if self._running is None:
            times += [max(when, self._not_before) for when, _ in self._wanted.values()]
        return max(min(times) - time.monotonic(), 0) if times else _WAITS

    def _take(self, message: Message | InvalidMessage | Report | _InputClosed) -> None:
        try:
            if isinstance(message, _InputClosed):
                self._exit = 0 if self._shut_down else 1
            elif isinstance(message, InvalidMessage):
                self._writer.write({"id": None, "error": {"code": message.code, "message": message.reason}})
            elif isinstance(message, RunEnded | RunProgress | DocumentRecognized | Response | IndexerLost):
                self._reported(message)
            elif "method" not in message:
                self._answered(message)
            elif "id" in message:
                self._request(message)
            else:
                self._notification(message)
        except Exception:
            self._fault(traceback.format_exc())

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
        """Answer a request with what comes of ``make``, or have the second process answer it."""
        try:
            if identity in self._cancelled:
                self._cancelled.discard(identity)
                raise ResponseError(transport.REQUEST_CANCELLED, "cancelled")
            result = make()
            if isinstance(result, _Later):
                self._ask_behind(identity, result)
                return
        except ResponseError as error:
            self._writer.write({"id": identity, "error": {"code": error.code, "message": str(error)}})
        except Exception as error:
            self._fault(traceback.format_exc())
            self._writer.write({"id": identity, "error": {"code": transport.INTERNAL_ERROR, "message": f"{type(error).__name__}: {error}"}})
        else:
            self._writer.write({"id": identity, "result": result})

    def _notification(self, message: Message) -> None:
        method = message["method"]
        if type(method) is not str or not _is_sound(method, message.get("params")):
            return
        if method == "exit":
            self._exit = 0 if self._shut_down else 1
        elif self._initialized and not self._shut_down and method in self._notifications:
            try:
                self._notifications[method](message.get("params") or {})
            except (KeyError, TypeError, AttributeError, ValueError):
                self._fault(traceback.format_exc())

    def _answered(self, message: Message) -> None:
        then = self._asked.pop(str(message.get("id")), None)
        if then is not None:
            then(message.get("result"))

    def _ask(self, method: str, params: Any, then: Callable[[Any], None] = lambda _: None) -> None:
        self._number += 1
        identity = f"afflint-{self._number}"
        self._asked[identity] = then
        self._writer.write({"id": identity, "method": method, "params": params})

    def _tell(self, method: str, params: Any) -> None:
        self._writer.write({"method": method, "params": params})

    def _fault(self, text: str) -> None:
        print(f"afflint: internal error:\n{text}", file=sys.stderr, flush=True)
        self._tell("window/logMessage", {"type": _ERROR, "message": f"afflint: internal error: {text.strip().splitlines()[-1]}"})

    def _say(self, text: str, kind: int = _WARNING) -> None:
        """Show something to the user, once as long as it stays the same."""
        if text not in self._said:
            self._said.add(text)
            self._tell("window/showMessage", {"type": kind, "message": f"afflint: {text}"})

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
            **{method: partial(self._later, method) for method in _LATER},
        }

    def _initialize(self, params: Any) -> Any:
        if self._initialized:
            raise ResponseError(transport.INVALID_REQUEST, "the server is already initialized")
        self._initialized = True
        self._client = Client.of(params.get("capabilities"))
        self._settings = self._first_settings = self._read_settings(params.get("initializationOptions"))
        if type(params.get("processId")) is int:
            self.end_with(params["processId"])
        folders = params.get("workspaceFolders")
        uris = [text_at(each, "uri") for each in folders] if isinstance(folders, list) else [params.get("rootUri")]
        for uri in uris:
            self._add_folder(uri)
        return {"capabilities": capabilities(self._client, self._settings), "serverInfo": {"name": "afflint", "version": __version__}}

    def _read_settings(self, given: Any) -> client_settings.EditorSettings:
        faults: list[str] = []
        settings = client_settings.read(given, faults, self._first_settings)
        for fault in faults:
            self._say(fault)
        return settings

    def _on_initialized(self, _params: Any) -> None:
        self._register()
        if self._client.registers_settings:
            self._registrations.hold("settings", "workspace/didChangeConfiguration", {"section": "afflint"})
        if self._client.configures:
            self._ask("workspace/configuration", {"items": [{"section": "afflint"}]}, self._configured)
        for project in self._projects.values():
            self._want(project, pause=0)

    def _register(self) -> None:
        """Ask the client for what the settings and the configurations of now need."""
        if self._client.watches:
            named = [path for project in self._projects.values() for path in project.setup.named_files()]
            options = watchers(named, outside=self._client.watches_outside)
            self._registrations.hold("files", "workspace/didChangeWatchedFiles", options)
        if self._client.pulls and self._client.registers_pulls and self._first_settings.diagnostics != "workspace":
            # Settings that came after the start may want more than was offered then.
            wanted = pulls_of_unopened() if self._settings.diagnostics == "workspace" else None
            self._registrations.hold("unopened", "textDocument/diagnostic", wanted)

    def _configured(self, result: Any) -> None:
        self._change_settings(result[0] if isinstance(result, list) and result and isinstance(result[0], dict) else None)

    def _on_settings(self, params: Any) -> None:
        if self._client.configures:
            self._ask("workspace/configuration", {"items": [{"section": "afflint"}]}, self._configured)
        elif isinstance(params.get("settings"), dict) and "afflint" in params["settings"]:
            self._change_settings(params["settings"])

    def _change_settings(self, given: Any) -> None:
        before, self._settings = self._settings, self._read_settings(given)
        if self._settings == before:
            return
        self._register()
        self._show_all()
        if self._settings.hints != before.hints and self._client.refreshes_hints:
            self._ask("workspace/inlayHint/refresh", None)
        if self._companion.runs:
            self._companion.send([IndexerCommand(self._wishes)])
            for project in self._projects.values():
                self._want(project, pause=0)

    def _shutdown(self, _params: Any) -> None:
        self._shut_down = True

    # The second process.

    def _ask_behind(self, identity: Any, later: _Later) -> None:
        """Have the second process answer a request. While there is none, all that it could tell is unknown."""
        self._number += 1
        self._questions[self._number] = identity, later.result
        if self._companion.runs:
            self._mirror(later.document)
            self._companion.send([IndexerCommand(IndexerRequest(self._number, later.method, later.params))])
        else:
            self._answer(Response(self._number))

    def _answer(self, answer: Response) -> None:
        identity, result_of = self._questions.pop(answer.number)

        def result() -> Any:
            if answer.fault:
                self._fault(answer.fault)
                raise ResponseError(transport.INTERNAL_ERROR, answer.fault.strip().splitlines()[-1])
            return result_of(answer.result)

        self._respond(identity, result)

    def _hover(self, params: Any) -> Any:
        document = self._features.document(params) if self._settings.hover else None
        return document and _Later("textDocument/hover", params, document, lambda meant: self._features.hover(document, params, meant))

    def _later(self, method: str, params: Any) -> Any:
        document = self._features.document(params) if self._is_wanted(method) else None
        # What is unknown is nothing to a client, and that is a list for most.
        nothing: Any = None if method == "textDocument/completion" else []
        return nothing if document is None else _Later(method, params, document, lambda result: nothing if result is None else result)

    def _is_wanted(self, method: str) -> bool:
        """Whether the settings of now ask for it: what was offered at the start may have been switched off since."""
        switches = {"completion": self._settings.completion, "inlayHint": self._settings.hints, "codeLens": self._settings.hints}
        return switches.get(method.rpartition("/")[2], True)

    def _mirror(self, document: ServerDocument) -> None:
        """Give the second process a document as it is now, unless it has it."""
        if not document.is_mirrored:
            document.is_mirrored = True
            project = document.project
            given = OpenDocument(document.uri, document.path, project.folder, project.whole, document.version, str(document.text))
            self._companion.send([IndexerCommand(given)])

    def _reported(self, report: Report) -> None:
        if isinstance(report, RunEnded):
            self._ran(report)
        elif isinstance(report, RunProgress):
            self._show_progress(report)
        elif isinstance(report, Response):
            self._answer(report)
        elif isinstance(report, IndexerLost):
            self._lost(report)
        else:
            self._recognized(report)

    def _lost(self, lost: IndexerLost) -> None:
        """The second process is gone: it is started again when there is something to do, each time after a longer while."""
        self._companion.end()
        self._end_progress()
        self._deaths += 1
        self._outdated |= lost.outdated
        again = "" if lost.outdated else "; findings across manifests are not updated until it has restarted"
        self._say(f"{lost.ending}{again}", _WARNING)
        for number in list(self._questions):
            self._answer(Response(number))
        for document in self._documents.values():
            document.is_mirrored = False
        self._not_before = time.monotonic() + min(_AFTER_A_DEATH * 2 ** (self._deaths - 1), _LONGEST_AFTER)
        self._running = None
        if self._outdated:
            self._wanted.clear()
            return
        for project in self._projects.values():
            project.stale = True
            project.unopened = {}
            self._want(project)

    # Folders and their projects.

    def _add_folder(self, uri: Any) -> None:
        path = to_path(uri) if isinstance(uri, str) else None
        if path is not None and os.path.isdir(path) and not (path in self._projects and self._projects[path].whole):
            self._drop(path)
            self._projects[path] = self._project(path, whole=True)

    def _project(self, folder: str, *, whole: bool) -> Project:
        try:
            return Project(folder, self._chosen, whole=whole)
        except UserError as error:
            self._say(str(error), _ERROR)
            return Project(folder, CommandLineConfig(no_config=True), whole=whole)

    def _project_of(self, path: str) -> Project:
        """The project of the innermost folder that a file lies in; what lies in none is a project with its neighbours that are open."""
        above = [project for folder, project in self._projects.items() if project.whole and _lies_in(path, folder)]
        if above:
            return max(above, key=lambda project: len(project.folder))
        folder = os.path.dirname(path)
        if folder not in self._projects:
            self._projects[folder] = self._project(folder, whole=False)
        return self._projects[folder]

    def _on_folders(self, params: Any) -> None:
        for each in params["event"]["removed"]:
            path = to_path(text_at(each, "uri"))
            if path is not None:
                self._drop(path)
        for each in params["event"]["added"]:
            self._add_folder(text_at(each, "uri"))
        for document in self._documents.values():
            project = self._project_of(document.path)
            if project is not document.project:
                document.project = project
                document.is_mirrored = False
                if self._companion.runs:
                    self._mirror(document)
                document.adopt()
        for project in self._projects.values():
            self._want(project, pause=0)
        self._register()
        self._show_all()

    def _drop(self, folder: str) -> None:
        """Forget the project of a folder."""
        project = self._projects.pop(folder, None)
        if project is not None:
            self._wanted.pop(project, None)
            if self._running is project:
                self._running = None
            if self._companion.runs:
                self._companion.send([IndexerCommand(FolderClosed(folder))])

    def _on_watched(self, params: Any) -> None:
        changed = [path for each in params["changes"] if (path := to_path(text_at(each, "uri"))) is not None]
        for project in self._projects.values():
            named = project.setup.named_files()
            if any(path in named or _lies_in(path, project.folder) or _is_configuration(path) for path in changed):
                project.stale = True
                self._want(project)

    # Open documents.

    def _on_open(self, params: Any) -> None:
        given = params["textDocument"]
        uri, version, text = given["uri"], given["version"], given["text"]
        path = self._path(uri)
        if path is None or given.get("languageId") in SKIPPED_LANGUAGES or type(text) is not str:
            return
        if len(text) > _LARGEST_DOCUMENT:
            self._leave_unchecked(uri)
            return
        document = ServerDocument(uri, path, version, EditorText(text, self._client.encoding), self._project_of(path))
        self._documents[uri] = document
        if self._companion.runs:
            self._mirror(document)
        if self._running is document.project and document.project.state is None:
            document.project.stale = True  # It may have been made after that run looked for the files.
        self._changed(document)

    def _path(self, uri: Any) -> str | None:
        """Where a document lies, or would: what has never been saved, where the first folder is."""
        if not isinstance(uri, str):
            return None
        if uri.startswith("untitled:"):
            folder = next((each.folder for each in self._projects.values() if each.whole), os.getcwd())
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

    def _leave_unchecked(self, uri: str) -> None:
        """Treat an open document as a file that is not open, and say so at its first line."""
        self._too_large.add(uri)
        self._tell("window/logMessage", {"type": _WARNING, "message": f"afflint: {uri}: {TOO_LARGE}"})
        if not self._client.pulls:
            self._publish(uri, [too_large()], None)

    def _changed(self, document: ServerDocument) -> None:
        wait = min(2 * document.cost, _LONGEST_WAIT) if document.cost > _QUICK else 0.0
        self._due[document.uri] = time.monotonic() + wait
        self._want(document.project)

    def _on_save(self, params: Any) -> None:
        document = self._documents.get(params["textDocument"]["uri"])
        path = self._path(params["textDocument"]["uri"])
        if document is not None:
            self._due[document.uri] = time.monotonic()
            if document.file is None or not self._client.watches:
                document.project.stale = True
            self._want(document.project, pause=0)
        if path is not None and _is_configuration(path):
            for project in self._projects.values():
                self._want(project, pause=0)

    def _on_close(self, params: Any) -> None:
        uri = params["textDocument"]["uri"]
        document = self._documents.get(uri)
        if document is not None:
            self._forget(document)
        elif uri not in self._too_large:
            return
        self._too_large.discard(uri)
        if not self._client.pulls and self._settings.diagnostics == "open":
            self._publish(uri, [], None)
            self._shown.pop(uri, None)

    def _forget(self, document: ServerDocument) -> None:
        """Take a document for one that is not open."""
        del self._documents[document.uri]
        self._due.pop(document.uri, None)
        if self._companion.runs:
            self._companion.send([IndexerCommand(DocumentClosed(document.uri))])
        self._want(document.project)
        others = any(each.project is document.project for each in self._documents.values())
        if not document.project.whole and not others:
            self._drop(document.project.folder)

    # Runs over projects.

    def _want(self, project: Project, pause: float | None = None) -> None:
        """Have a project run over after a pause: what it takes must not go on beside each keystroke."""
        if self._outdated:
            return
        now = time.monotonic()
        if pause is None:
            pause = min(max(_PAUSE, 1.5 * project.cost), _LONGEST_PAUSE)
        since = self._wanted.get(project, (now, now))[1]
        latest = since + max(_AT_LEAST_EVERY * project.cost, _LONGEST_PAUSE)
        self._wanted[project] = min(now + pause, max(latest, now)), since

    def _catch_up(self) -> None:
        """What is due when nobody waits for an answer."""
        now = time.monotonic()
        for uri in [uri for uri, when in self._due.items() if when <= now]:
            del self._due[uri]
            document = self._documents.get(uri)
            if document is not None and not self._client.pulls:
                self._show(document)
            if not self._inbox.empty():
                return
        if self._running is None and now >= self._not_before:
            ready = [project for project, (when, _) in self._wanted.items() if when <= now]
            if ready:
                del self._wanted[ready[0]]
                self._start(ready[0])

    def _start(self, project: Project) -> None:
        self._running = project
        if not self._companion.runs:
            self._companion.start(IndexerInit(self._client, self._chosen))
            self._companion.send([IndexerCommand(self._wishes)])
        for document in self._documents.values():
            self._mirror(document)
        self._companion.send([IndexerCommand(RunRequest(project.folder, project.whole, project.stale))])
        project.stale = False

    @property
    def _wishes(self) -> ClientWishes:
        settings = self._settings
        return ClientWishes(tuple(sorted(client_settings.left_out(settings))), settings.diagnostics == "workspace")

    def _ran(self, ran: RunEnded) -> None:
        self._running = None
        self._deaths = 0
        self._end_progress()
        project = self._projects.get(ran.folder)
        if ran.unexpected:
            self._fault(ran.fault)
        elif ran.fault:
            self._say(ran.fault, _ERROR)
        if project is None:
            return
        project.reread()
        self._register()
        project.cost = ran.seconds
        for problem in project.setup.problems[:1]:
            self._say(str(problem), _ERROR)
        if ran.told is None:
            return
        project.adopt(ran.told)
        if ran.told.unused_nodes and not ran.fault:
            self._say(f"{ran.told.unused_nodes}; nodes are ignored", _WARNING)
        for document in self._documents.values():
            if document.project is project:
                document.adopt()
        self._show_all()
        if self._client.refreshes_hints and self._settings.hints:
            self._ask("workspace/inlayHint/refresh", None)

    def _recognized(self, recognized: DocumentRecognized) -> None:
        """What the last run says about a document that was opened after it."""
        project, known = self._projects.get(recognized.folder), recognized.known
        document = self._documents.get(known.uri)
        if project is None or project.state is None or document is None or document.project is not project:
            return
        project.state.documents[known.uri] = known
        if known.place is None:
            project.stale = True  # It may be a file that has just been made.
        document.adopt()
        self._show_again(document)

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
            self._ask("window/workDoneProgress/create", {"token": self._progress})
            value = {"kind": "begin", "title": "Reading manifests", "cancellable": False, **value}
        else:
            value = {"kind": "report", **value}
        self._tell("$/progress", {"token": self._progress, "value": value})

    def _end_progress(self) -> None:
        if self._progress is not None:
            self._tell("$/progress", {"token": self._progress, "value": {"kind": "end"}})
            self._progress = None

    # Diagnostics.

    @property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(self._documents.values(), self._client.encoding)

    def _show_all(self) -> None:
        """Show what is found now wherever that may have changed."""
        if self._client.pulls:
            self._ask("workspace/diagnostic/refresh", None)
            return
        for document in self._documents.values():
            self._show_again(document)
        found = dict(self._unopened()) if self._settings.diagnostics == "workspace" else {}
        for uri, items in found.items():
            self._publish(uri, items, None)
        for uri in [uri for uri in self._shown if uri not in found and uri not in self._documents and uri not in self._too_large]:
            self._publish(uri, [], None)

    def _show_again(self, document: ServerDocument) -> None:
        """Show what is found in a document when nobody waits for an answer."""
        if not self._client.pulls:
            self._due.setdefault(document.uri, time.monotonic())
        else:
            self._ask("workspace/diagnostic/refresh", None)

    def _show(self, document: ServerDocument) -> None:
        started = time.monotonic()
        items = self._of_document(document)
        document.cost = time.monotonic() - started
        self._publish(document.uri, items, document.version)

    def _publish(self, uri: str, items: list[dict[str, Any]], version: int | None) -> None:
        shown = (items, version)
        if self._shown.get(uri, ([], None) if version is None else None) != shown:
            self._shown[uri] = shown
            self._tell(
                "textDocument/publishDiagnostics", {"uri": uri, "diagnostics": items} | ({} if version is None else {"version": version})
            )

    def _of_document(self, document: ServerDocument) -> list[dict[str, Any]]:
        problems = [each for each in document.project.setup.problems if os.path.abspath(each.file) == document.path]
        found = diagnostics(self._wished(document.findings()), document.text, self._texts, document.path_of)
        return of_configuration(problems, document.text) + found

    def _wished(self, findings: list[Finding]) -> list[Finding]:
        """Without what is left to another server."""
        left_out = client_settings.left_out(self._settings)
        return [each for each in findings if each.rule not in left_out] if left_out else findings

    def _unopened(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The diagnostics of the files with findings that are not open."""
        opened = {document.path for document in self._documents.values()}
        for project in self._projects.values():
            yield from ((uri, items) for uri, items in project.unopened.items() if to_path(uri) not in opened)

    def _pull(self, params: Any) -> Any:
        document = self._documents.get(params["textDocument"]["uri"]) if params.get("identifier") != UNOPENED else None
        if document is not None:
            items = self._of_document(document)
        else:
            items = [too_large()] if params["textDocument"]["uri"] in self._too_large and params.get("identifier") != UNOPENED else []
        return _report(items, params.get("previousResultId"))

    def _pull_all(self, params: Any) -> Any:
        before = {each["uri"]: each["value"] for each in params.get("previousResultIds") or ()}
        reports = []
        found: dict[str, tuple[list[dict[str, Any]], int | None]] = {}
        if params.get("identifier") != UNOPENED:
            found = {each.uri: (self._of_document(each), each.version) for each in self._documents.values()}
            found |= {uri: ([too_large()], None) for uri in self._too_large}
        if self._settings.diagnostics == "workspace":
            found |= {uri: (items, None) for uri, items in self._unopened()}
        for uri in dict.fromkeys((*found, *before)):
            items, version = found.get(uri, ([], None))
            if items or uri in before or version is not None:
                reports.append({"uri": uri, "version": version, **_report(items, before.get(uri))})
        return {"items": reports}


def _report(items: list[dict[str, Any]], before: Any) -> dict[str, Any]:
    """The answer to one who pulls: that nothing has changed, if it has not."""
    import json
    from zlib import crc32

    number = f"{crc32(json.dumps(items, sort_keys=True).encode()):08x}"
    return {"kind": "unchanged", "resultId": number} if number == before else {"kind": "full", "resultId": number, "items": items}


_AT_A_PLACE = ("hover", "definition", "references", "completion")


def _validate(method: str, params: Any) -> None:
    """Refuse parameters that name no document, or no place in it, where the request is about one. Raises ResponseError."""
    area, _, name = str(method).partition("/")
    if area != "textDocument":
        return
    document = params.get("textDocument") if isinstance(params, dict) else None
    if not isinstance(document, dict) or not isinstance(document.get("uri"), str):
        raise ResponseError(transport.INVALID_PARAMS, "`textDocument` has no `uri`")
    places = [params.get("position")] if name in _AT_A_PLACE else []
    if name in ("codeAction", "inlayHint"):
        span = params.get("range")
        places = [span.get("start"), span.get("end")] if isinstance(span, dict) else [None]
    for place in places:
        numbers = [place.get("line"), place.get("character")] if isinstance(place, dict) else []
        if not numbers or any(type(each) is not int or each < 0 for each in numbers):
            raise ResponseError(transport.INVALID_PARAMS, "a position needs two numbers from 0: `line` and `character`")


_OF_DOCUMENT: dict[tuple[str, ...], type] = {("textDocument", "uri"): str}
_NEEDED: dict[str, dict[tuple[str, ...], type]] = {
    "textDocument/didOpen": {**_OF_DOCUMENT, ("textDocument", "version"): int, ("textDocument", "text"): str},
    "textDocument/didChange": {**_OF_DOCUMENT, ("contentChanges",): list},
    "textDocument/didSave": _OF_DOCUMENT,
    "textDocument/didClose": _OF_DOCUMENT,
    "workspace/didChangeWatchedFiles": {("changes",): list},
    "workspace/didChangeWorkspaceFolders": {("event", "added"): list, ("event", "removed"): list},
}


def _is_sound(method: str, params: Any) -> bool:
    """Whether a notification has what the protocol wants it to have. One that has not is passed over: nobody waits for an answer."""
    return type(params or {}) is dict and all(
        type(value_at_path(params, *steps)) is kind for steps, kind in _NEEDED.get(method, {}).items()
    )


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _is_configuration(path: str) -> bool:
    return os.path.basename(path) in (".afflint.yaml", ".afflint.yml", "pyproject.toml")
