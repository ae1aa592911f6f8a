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

from afflint.lsp.messages import ORDERS, REPORTS, Answer, Hello, Lines, Order, Progress, Ran, Recognized
from afflint.plain import PlainError
from afflint.records import NamedTuple
from afflint.session.processes import ending

_START = "import sys; sys.path[:] = sys.argv[1:]; from afflint.lsp.background import main; main()"
"""The other one looks for modules where this one does, and nowhere else: not in the folder that the editor has open."""
_FLAGS = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class Lost(NamedTuple):
    """The second process has ended, or could not be started, and what it was asked is left undone; ``ending`` says how it ended."""

    ending: str


Message = Ran | Progress | Recognized | Answer | Lost


class Companion:
    """``tell`` is called, from other threads, with what the second process says."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: SimpleQueue[Order | None] = SimpleQueue()

    @property
    def runs(self) -> bool:
        """Whether it has been started, and nobody has been told of its end."""
        return self._process is not None

    @property
    def number(self) -> int | None:
        """The number of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def start(self, hello: Hello) -> None:
        """Start it. Where that is not possible it is lost at once."""
        command = [sys.executable, "-c", _START, *sys.path]
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, creationflags=_FLAGS)
        except (OSError, ValueError) as error:
            self._tell(Lost(f"a second process cannot be started: {getattr(error, 'strerror', None) or error}"))
            return
        self._process, self._orders = process, SimpleQueue()
        threading.Thread(target=_write, args=(process, self._orders), name="orders", daemon=True).start()
        threading.Thread(target=self._read, args=(process,), name="reports", daemon=True).start()
        self.send([Order(hello)])

    def send(self, orders: Iterable[Order]) -> None:
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
        lines = Lines(partial(os.read, process.stdout.fileno()))
        with suppress(OSError, PlainError):
            while (line := lines.next()) is not None:
                self._tell(REPORTS.decode(line).what)
        process.kill()
        self._tell(Lost(f"the process that reads all manifests {ending(process.wait())}"))


def _write(process: subprocess.Popen[bytes], orders: SimpleQueue[Order | None]) -> None:
    """Hand on orders until there are none any more, or nobody reads them."""
    assert process.stdin is not None
    with suppress(OSError):
        while (order := orders.get()) is not None:
            line = ORDERS.encode(order) + b"\n"
            while line:
                line = line[os.write(process.stdin.fileno(), line) :]
