"""The indexer as the server sees it: a process that is started on demand, and again after it has ended unexpectedly."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from afflint import __version__
from afflint.findings.codec import PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.indexer.protocol import (
    COMMANDS,
    NOT_UNDERSTOOD,
    REPORTS,
    IndexerCommand,
    IndexerInit,
    IndexerReport,
    RenderEnded,
    read_lines,
    write_line,
)

_START = """
import os, sys
sys.path[:] = sys.argv[2:]
from afflint import __version__
try:
    print(__version__, flush=True)
except OSError:
    os._exit(0)
if __version__ != sys.argv[1]:
    sys.exit(f"afflint: this process is afflint {__version__}, but the server that started it is {sys.argv[1]}")
from afflint.lsp.indexer.MODULE import main
main()
"""
"""The indexer imports modules from the same places as the server, and from nowhere else: not from the folder that is open in the editor.

It may be another version than the server, if afflint was upgraded since the server started. So it first prints its version, and these lines
depend on nothing that may differ between versions.
"""
PATIENCE = 5.0
"""Seconds in which a process ends by itself before it is killed."""
_UNTIL_THEN = "restart the language server; until then findings across manifests are not updated"
_FLAGS = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class IndexerLost(NamedTuple):
    """The indexer has ended, or could not be started; requests to it are not answered. ``reason`` says how it ended.

    ``outdated``: another indexer would end like this, too, until the server is restarted.
    """

    reason: str
    outdated: bool = False


class RenderLost(NamedTuple):
    """The renderer has ended without a result, because of ``reason``, or because it was cancelled (no reason)."""

    reason: str = ""


Message = IndexerReport | RenderEnded | IndexerLost | RenderLost


class IndexerClient:
    """Starts the indexer and exchanges messages with it. ``report`` is called from other threads with each message."""

    def __init__(self, report: Callable[[Message], None]) -> None:
        self._report = report
        self._process: subprocess.Popen[bytes] | None = None
        self._commands: SimpleQueue[IndexerCommand | None] = SimpleQueue()

    @property
    def runs(self) -> bool:
        """Whether the indexer has been started, and its end has not been handled yet."""
        return self._process is not None

    def start(self, init: IndexerInit) -> None:
        """Start the indexer. Reports IndexerLost if that is not possible."""
        try:
            process = start_process("process")
        except (OSError, ValueError) as error:
            self._report(IndexerLost(f"the indexer process cannot be started: {getattr(error, 'strerror', None) or error}"))
            return
        self._process, self._commands = process, SimpleQueue()
        threading.Thread(target=_write, args=(process, self._commands), name="commands", daemon=True).start()
        threading.Thread(target=lambda: self._report(report_until_lost(process, self._report)), name="reports", daemon=True).start()
        self.send(init)

    def send(self, command: IndexerCommand) -> None:
        """Send a command without waiting. Without a running indexer, it is dropped."""
        self._commands.put(command)

    def end(self) -> None:
        """End the indexer, whatever it is doing: it has no state that is needed later. It can be started again."""
        process, self._process = self._process, None
        self._commands.put(None)
        if process is not None:
            process.kill()
            process.wait()


def start_process(module: str) -> subprocess.Popen[bytes]:
    """Start the process whose module in this package is named. Raises OSError and ValueError."""
    command = [sys.executable, "-c", _START.replace("MODULE", module), __version__, *sys.path]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, creationflags=_FLAGS)


def report_until_lost(process: subprocess.Popen[bytes], report: Callable[[Message], None]) -> IndexerLost:
    """Report the messages of a process until it ends, and return how it ended."""
    assert process.stdout is not None
    lines, is_understood = read_lines(process.stdout.fileno()), True
    with suppress(OSError):
        version = next(lines, None)
        if version is not None and version.strip() != __version__.encode():
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)  # It prints its version, and ends.
            process.kill()
            process.wait()
            other = version.decode("ascii", "replace").strip()
            return IndexerLost(f"afflint {other} has been installed, but this server is {__version__}: {_UNTIL_THEN}", outdated=True)
        try:
            for line in lines:
                report(REPORTS.decode(line))
        except PlainError:
            is_understood = False
    process.kill()
    code = process.wait()
    if is_understood and code != NOT_UNDERSTOOD:
        return IndexerLost(f"the indexer process {_ending(code)}")
    return IndexerLost(f"afflint has changed since this server was started: {_UNTIL_THEN}", outdated=True)


def _ending(exit_code: int) -> str:
    """Describe how a process ended."""
    if exit_code >= 0:
        return f"ended with exit code {exit_code}" if exit_code else "ended early"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"


def _write(process: subprocess.Popen[bytes], commands: SimpleQueue[IndexerCommand | None]) -> None:
    """Write commands until the process ends or the queue ends."""
    assert process.stdin is not None
    with suppress(OSError):
        while (command := commands.get()) is not None:
            write_line(process.stdin.fileno(), COMMANDS.encode(command))
