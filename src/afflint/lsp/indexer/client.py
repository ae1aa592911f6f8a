"""The second process, seen from the first: started when there is something to do, and again after it has died."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from afflint import __version__
from afflint.findings.codec import PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.indexer.protocol import (
    NOT_UNDERSTOOD,
    ORDERS,
    REPORTS,
    DocumentRecognized,
    IndexerCommand,
    IndexerInit,
    LineReader,
    Response,
    RunEnded,
    RunProgress,
)
from afflint.pipeline.workers import ending

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
from afflint.lsp.indexer.process import main
main()
"""
"""The other one looks for modules where this one does, and nowhere else: not in the folder that the editor has open.

It may be of another version than this one, when afflint was upgraded since this one started: so the first that it says is its version,
and nothing in these lines rests on what another version may have changed.
"""
_PATIENCE = 5.0
_UNTIL_THEN = "restart the language server; until then findings across manifests are not updated"
_FLAGS = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class IndexerLost(NamedTuple):
    """The second process has ended, or could not be started, and what it was asked is left undone; ``ending`` says how it ended.

    ``outdated``: another would end like that as well until the server is started again.
    """

    ending: str
    outdated: bool = False


Message = RunEnded | RunProgress | DocumentRecognized | Response | IndexerLost


class IndexerClient:
    """``tell`` is called, from other threads, with what the second process says."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: SimpleQueue[IndexerCommand | None] = SimpleQueue()

    @property
    def runs(self) -> bool:
        """Whether it has been started, and nobody has been told of its end."""
        return self._process is not None

    @property
    def number(self) -> int | None:
        """The number of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def start(self, hello: IndexerInit) -> None:
        """Start it. Where that is not possible it is lost at once."""
        command = [sys.executable, "-c", _START, __version__, *sys.path]
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, creationflags=_FLAGS)
        except (OSError, ValueError) as error:
            self._tell(IndexerLost(f"the indexer process cannot be started: {getattr(error, 'strerror', None) or error}"))
            return
        self._process, self._orders = process, SimpleQueue()
        threading.Thread(target=_write, args=(process, self._orders), name="orders", daemon=True).start()
        threading.Thread(target=self._read, args=(process,), name="reports", daemon=True).start()
        self.send([IndexerCommand(hello)])

    def send(self, orders: Iterable[IndexerCommand]) -> None:
        """Have it do something; never waits. Without a process nothing is done."""
        for order in orders:
            self._orders.put(order)

    def end(self) -> None:
        """End it, whatever it is doing: it holds nothing that anybody needs. It can be started again."""
        process, self._process = self._process, None
        self._orders.put(None)
        if process is not None:
            process.kill()
            process.wait()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._tell(_until_lost(LineReader(partial(os.read, process.stdout.fileno())), process, self._tell))


def _until_lost(lines: LineReader, process: subprocess.Popen[bytes], tell: Callable[[Message], None]) -> IndexerLost:
    """Hand on what it says until its end."""
    is_understood = True
    with suppress(OSError):
        version = lines.next()
        if version is not None and version.strip() != __version__.encode():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)  # It says what it is, and ends.
            process.kill()
            process.wait()
            other = version.decode("ascii", "replace").strip()
            return IndexerLost(f"afflint {other} has been installed, but this server is {__version__}: {_UNTIL_THEN}", outdated=True)
        try:
            while (line := lines.next()) is not None:
                tell(REPORTS.decode(line).what)
        except PlainError:
            is_understood = False
    process.kill()
    code = process.wait()
    if is_understood and code != NOT_UNDERSTOOD:
        return IndexerLost(f"the indexer process {ending(code)}")
    return IndexerLost(f"afflint has changed since this server was started: {_UNTIL_THEN}", outdated=True)


def _write(process: subprocess.Popen[bytes], orders: SimpleQueue[IndexerCommand | None]) -> None:
    """Hand on orders until there are none any more, or nobody reads them."""
    assert process.stdin is not None
    with suppress(OSError):
        while (order := orders.get()) is not None:
            line = ORDERS.encode(order) + b"\n"
            while line:
                line = line[os.write(process.stdin.fileno(), line) :]
