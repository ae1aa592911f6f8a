"""The delay in an editor: the time from a keystroke to the diagnostics, over the pipes of a language server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from bench.processes import BenchError

_PATIENCE = 300.0
_THINKS = 12
_TOPOLOGY_KEY = "topologyKey: topology.kubernetes.io/zone"


class Delays(NamedTuple):
    """Seconds from each keystroke to its diagnostics, and the seconds in which the server read the folder.

    ``processor`` is the processor time of the server in seconds for each keystroke, whatever it did; empty if the system does not report
    it.
    """

    seconds: list[float]
    processor: list[float]
    ready: float


def at(share: float, values: list[float]) -> float:
    """Return a quantile: the value that the given share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def many_documents(manifest: str, lines: int) -> str:
    """Return a file of about the given number of lines; each document is the manifest with another name."""
    number = lines // (manifest.count("\n") + 1) + 1
    return "---\n".join(manifest.replace("name: web\n", f"name: web-{each}\n", 1) for each in range(number))


def one_document(manifest: str, lines: int) -> str:
    """Return the same manifests as one document: a List."""
    items = many_documents(manifest, lines).split("---\n")
    indented = ("  - " + each.rstrip("\n").replace("\n", "\n    ") for each in items)
    return "apiVersion: v1\nkind: List\nitems:\n" + "\n".join(indented) + "\n"


def keystrokes(folder: str, text: str, count: int, pause: float) -> Delays:
    """Type in an unsaved document of a folder: empty a topology key and write it again, which adds and removes a finding.

    ``pause`` are the seconds between a response and the next keystroke; some pauses are longer. Raises BenchError.
    """
    command = [sys.executable, "-m", "afflint", "lsp", "--no-config"]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        editor = _Editor(process)
        started = time.perf_counter()
        capabilities = {"window": {"workDoneProgress": True}, "workspace": {"inlayHint": {"refreshSupport": True}}}
        editor.ask("initialize", {"rootUri": Path(folder).as_uri(), "capabilities": capabilities})
        editor.tell("initialized", {})
        uri = Path(folder, "typed.yaml").as_uri()
        editor.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
        # The first run over the folder ends before the measurement starts.
        editor.wait(lambda message: message.get("method") == "workspace/inlayHint/refresh")
        ready = time.perf_counter() - started
        row = text[: text.index(_TOPOLOGY_KEY, len(text) // 2)].count("\n")
        line = text.split("\n")[row]
        full, empty = line.index(_TOPOLOGY_KEY) + len("topologyKey: "), len(line)
        seconds: list[float] = []
        processor: list[float] = []
        for number in range(count):
            # Some pauses are longer, so that typing continues during a run over the folder.
            time.sleep(pause * (1 if number % _THINKS else _THINKS))
            end, new = (full + 2, line[full:]) if number % 2 else (empty, '""')
            change = {"range": {"start": {"line": row, "character": full}, "end": {"line": row, "character": end}}, "text": new}
            version = number + 2
            before, sent = _processor_time(process.pid), time.perf_counter()
            editor.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]})
            shown = editor.wait(lambda message, version=version: (message.get("params") or {}).get("version") == version)  # type: ignore[misc]
            seconds.append(time.perf_counter() - sent)
            processor.append(_processor_time(process.pid) - before)
            if (len(shown["params"]["diagnostics"]) > 0) == bool(number % 2):
                raise BenchError(f"{folder}: keystroke {number} gave {shown['params']['diagnostics'][:1]}")
        return Delays(seconds, processor if any(processor) else [], ready)
    finally:
        process.kill()
        process.communicate()


def _processor_time(process: int) -> float:
    """Return the processor time of all threads of a process so far; 0 if the system does not report it."""
    folder = f"/proc/{process}/task"
    nanoseconds = 0
    for thread in os.listdir(folder) if os.path.isdir(folder) else ():
        with suppress(OSError), open(f"{folder}/{thread}/schedstat", encoding="ascii") as file:
            nanoseconds += int(file.read().split()[0])
    return nanoseconds / 1e9


class _Editor:
    """The client of a language server."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        self._input = process.stdin.fileno()
        self._process = process
        self._inbox: SimpleQueue[dict[str, Any]] = SimpleQueue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            length = int(line.split(b":")[1])
            stream.readline()
            self._inbox.put(json.loads(stream.read(length)))

    def ask(self, method: str, params: Any) -> None:
        self._send({"id": method, "method": method, "params": params})
        self.wait(lambda message: message.get("id") == method and "method" not in message)

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        while data:
            data = data[os.write(self._input, data) :]

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the next message that is wanted, and answer requests of the server on the way."""
        while True:
            try:
                message = self._inbox.get(timeout=_PATIENCE)
            except Empty:
                raise BenchError("the language server does not answer") from None
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            if wanted(message):
                return message
