"""A language client for tests: it starts `afflint lsp`, exchanges messages over its standard input and output, and records them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from checkout import clean_environment

PATIENCE = 30.0
RUN_ENDED = "workspace/inlayHint/refresh"
"""What the server asks for after each run over all files, if the client says that it can be asked."""
REFRESHING = {"workspace": {"inlayHint": {"refreshSupport": True}}}


class Client:
    """A session. ``published`` has the last diagnostics of each file, by its path relative to the folder."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        capabilities: Any = None,
        options: Any = None,
        initialize: bool = True,
        command: Sequence[str] = (sys.executable, "-m", "afflint", "lsp"),
    ) -> None:
        self.folder = folder
        pipe, environment = subprocess.PIPE, clean_environment()
        self.process = subprocess.Popen(
            [*command, *arguments], cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.published: dict[str, list[Any]] = {}
        self.versions: dict[str, int | None] = {}
        self.versions_seen: list[int | None] = []
        self.notifications: list[Any] = []
        self.asked: list[Any] = []
        self.settings: Any = {}
        self._answers: dict[int, Any] = {}
        self._inbox: Queue[Any] = Queue()
        self._number = self._runs = 0
        self._texts: dict[str, int] = {}
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.capabilities: Any = None
        if initialize:
            announced = {**REFRESHING, **(capabilities or {})}
            params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": announced, "initializationOptions": options}
            self.capabilities = self.request("initialize", params)["capabilities"]
            self.notify("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                if self.process.poll() is None:
                    self.request("shutdown", None)
                    self.notify("exit", None)
                assert self.process.wait(PATIENCE) == 0, self.errors()
                errors = self.errors()
                assert not errors, errors
        finally:
            self.end()

    def end(self) -> None:
        """End the server, whatever it is doing."""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # Those that a tracer would leave behind, too.
        self.process.kill()
        self.process.wait()
        self._reading.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def errors(self) -> str:
        """Return the standard error of the server after its end."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    # Messages.

    def send(self, message: Any) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def raw(self, body: bytes) -> None:
        self.bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self._runs = 0
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """Return the result of a request, or the whole response if it is an error."""
        answer = self.wait(self.start(method, params))
        return answer.get("result", answer)

    def start(self, method: str, params: Any) -> int:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def wait(self, number: int | None) -> Any:
        self.until(lambda: number in self._answers, f"no answer to {number}")
        return self._answers.pop(number)  # type: ignore[arg-type]

    def until(self, condition: Callable[[], Any], complaint: str = "it never came true") -> None:
        """Handle messages until a condition is true."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self._next(max(end - time.monotonic(), 0)), (
                f"{complaint}; notifications: {self.notifications[-5:]}, published: {self.published}"
            )

    def settle(self) -> None:
        """Handle messages until a run over all files has ended since the last change, and no other one ends for a while."""
        self.until(lambda: self._runs)
        while self._next(0.7):
            pass

    def _next(self, timeout: float) -> bool:
        try:
            self._take(self._inbox.get(timeout=timeout))
        except Empty:
            return False
        return True

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            assert line.startswith(b"Content-Length: "), line
            assert stream.readline() == b"\r\n"
            self._inbox.put(json.loads(stream.read(int(line.split()[1]))))

    def _take(self, message: Any) -> None:
        assert message["jsonrpc"] == "2.0"
        if "method" not in message:
            self._answers[message["id"]] = message
        elif "id" in message:
            self.asked.append(message)
            self._runs += message["method"] == RUN_ENDED
            result = [self.settings] if message["method"] == "workspace/configuration" else None
            self.send({"id": message["id"], "result": result})
        elif message["method"] == "textDocument/publishDiagnostics":
            name = self.name(message["params"]["uri"])
            self.published[name] = message["params"]["diagnostics"]
            self.versions[name] = message["params"].get("version")
            self.versions_seen.append(self.versions[name])
        else:
            self.notifications.append(message)

    # Documents.

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def name(self, uri: str) -> str:
        from urllib.parse import unquote

        return unquote(uri).removeprefix(f"file://{self.folder}/")

    def open(self, name: str, text: str | None = None, language: str = "yaml") -> None:
        if text is None:
            text = (self.folder / name).read_bytes().decode()
        self._texts[name] = 1
        self.notify("textDocument/didOpen", {"textDocument": {"uri": self.uri(name), "languageId": language, "version": 1, "text": text}})

    def change(self, name: str, *changes: Any) -> None:
        """Each change is a whole text, or (line, character, line, character, text)."""
        self._texts[name] += 1
        listed = [
            {"text": each}
            if isinstance(each, str)
            else {"range": {"start": position(*each[:2]), "end": position(*each[2:4])}, "text": each[4]}
            for each in changes
        ]
        self.notify(
            "textDocument/didChange", {"textDocument": {"uri": self.uri(name), "version": self._texts[name]}, "contentChanges": listed}
        )

    def close(self, name: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def save(self, name: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": self.uri(name)}})

    def at(self, name: str, line: int, character: int, **more: Any) -> Any:
        return {"textDocument": {"uri": self.uri(name)}, "position": position(line, character), **more}

    def rules(self, name: str) -> list[str]:
        """``3:5 rule`` for each diagnostic, counted as the protocol does."""
        return [short(each) for each in self.published.get(name, [])]

    def wait_for(self, name: str, *expected: str) -> None:
        """Until exactly these diagnostics of a file are shown."""
        self.until(lambda: name in self.published and self.rules(name) == list(expected), f"never {expected}, but {self.rules(name)}")


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def short(diagnostic: Any) -> str:
    start = diagnostic["range"]["start"]
    return f"{start['line']}:{start['character']} {diagnostic['code']}"
