"""Processes of programs that work on what others wrote: with limits, in an empty folder, and never longer than afflint itself."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import IO

from afflint.programs.sandbox import limit_resources, prefix
from afflint.source.temporary_folders import TemporaryFolder

_BLOCK = 1 << 16
_MOST_COMPLAINT = 1 << 20
"""The most bytes of the error output that are kept."""


class TimeLimitError(Exception):
    """A program reached its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it did not finish within {seconds:.0f} seconds")


class OutputLimitError(Exception):
    """A program wrote more than ``size`` bytes, which is its limit."""

    def __init__(self, size: int) -> None:
        super().__init__(f"it wrote more than {size >> 20} MB")


class GuardedProcess:
    """A program that runs for at most ``seconds``, in a process group of its own. Use it as a context, at whose end it has ended.

    ``command`` begins with an absolute path. The program starts in an empty folder, so that no file of the tree chooses what it does, with
    the variables of ``environment`` only, and without the network unless ``network`` is set. ``given`` is its standard input.
    On Linux it ends with the thread that has started it, if the system has `setpriv`. Raises OSError if it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        seconds: float,
        network: bool = True,
        given: IO[bytes] | None = None,
    ) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self.complaint = bytearray()
        """The beginning of the error output."""
        self._process = subprocess.Popen(
            [*prefix(command[0], network=network), *command],
            stdin=subprocess.DEVNULL if given is None else given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=_empty_folder(),
            bufsize=0,
            start_new_session=True,  # So that the processes that it starts end with it.
        )
        limit_resources(self._process.pid, seconds)
        self._waiting = b""
        self.blocks = _blocks(self) if os.name == "posix" else _blocks_of_threads(self)
        """The output, in blocks, until the program closes it. Raises TimeLimitError."""

    def __enter__(self) -> GuardedProcess:
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the program and the processes that it has started."""
        self.end()

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes of the output, fewer at its end. Raises TimeLimitError."""
        pieces = [self._waiting]
        missing = size - len(self._waiting)
        while missing > 0 and (block := next(self.blocks, b"")):
            pieces.append(block)
            missing -= len(block)
        data = b"".join(pieces)
        self._waiting = data[size:]
        return data[:size]

    def read_line(self) -> bytes:
        """Return the output up to the next line break, with it, or to the end; at most 64 KB. Raises TimeLimitError."""
        while b"\n" not in self._waiting and len(self._waiting) < _BLOCK and (block := next(self.blocks, b"")):
            self._waiting += block
        line, found, self._waiting = self._waiting.partition(b"\n")
        return line + found

    def output(self, most: int) -> bytes:
        """Return the whole output. Raises TimeLimitError, and OutputLimitError if it is more than ``most`` bytes."""
        data = bytearray()
        for block in self.blocks:
            data += block
            if len(data) > most:
                raise OutputLimitError(most)
        return bytes(data)

    def wait(self) -> int:
        """Return the exit code of the program once it has ended. Raises TimeLimitError."""
        try:
            return self._process.wait(max(self.remaining(), 0.1))
        except subprocess.TimeoutExpired:
            raise TimeLimitError(self._seconds) from None

    def remaining(self) -> float:
        """Return how many seconds are left. Raises TimeLimitError if none are."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeLimitError(self._seconds)
        return left

    def end(self) -> None:
        """End the program and the processes that it has started."""
        with suppress(OSError):  # It has already ended.
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """The ends of the pipes for output and error output."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        return self._process.stdout, self._process.stderr


def _blocks(process: GuardedProcess) -> Iterator[bytes]:
    from selectors import EVENT_READ, DefaultSelector

    output, complaint = process.pipes
    with DefaultSelector() as waiting:
        waiting.register(output, EVENT_READ)
        waiting.register(complaint, EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select(process.remaining()):
                block = os.read(key.fd, _BLOCK)
                if not block:
                    waiting.unregister(key.fileobj)
                elif key.fileobj is output:
                    yield block
                elif len(process.complaint) < _MOST_COMPLAINT:
                    process.complaint += block


def _blocks_of_threads(process: GuardedProcess) -> Iterator[bytes]:
    """Yield the output where the system cannot wait for pipes: the program is ended at its time limit, which closes them."""
    output, complaint = process.pipes

    def keep_complaint() -> None:
        while block := complaint.read(_BLOCK):
            if len(process.complaint) < _MOST_COMPLAINT:
                process.complaint += block

    reader = threading.Thread(target=keep_complaint, daemon=True)
    reader.start()
    deadline = threading.Timer(process.remaining(), process.end)
    deadline.start()
    try:
        while block := output.read(_BLOCK):
            yield block
        reader.join()
        process.remaining()
    finally:
        deadline.cancel()


@cache
def _folder_of_run() -> str:
    folder = TemporaryFolder()
    atexit.register(folder.remove)
    return folder.path


@cache
def private_folder(name: str) -> str:
    """Return a folder with this name that no other program uses, and that exists as long as this process. Raises OSError."""
    path = os.path.join(_folder_of_run(), name)
    os.mkdir(path, 0o700)
    return path


def _empty_folder() -> str:
    """Return an empty folder; the root of the file system if none can be created."""
    try:
        return private_folder("empty")
    except OSError:
        return os.path.abspath(os.sep)
