"""What reaches the user: standard output, files, standard error, and the exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import IO, Any, BinaryIO

from afflint.findings.errors import UserError

FOUND, USAGE, FAULT = 1, 2, 3
"""Exit codes: findings at or above --fail-on; wrong usage or configuration; a fault of afflint."""


def write(target: str, chunks: Iterable[str]) -> None:
    """A whole file or none: written beside its place and then moved there. Devices and pipes are written as they are."""
    from afflint.source.atomic_write import write_temporary_beside

    def encoded(file: BinaryIO) -> None:
        file.writelines(chunk.encode() for chunk in chunks)

    try:
        # What /dev/stdout leads to may have no path of its own.
        if os.path.isfile(target) or not os.path.exists(target):
            write_temporary_beside(os.path.realpath(target), encoded)
        else:
            with open(target, "wb", buffering=1 << 16, opener=lambda path, _: os.open(path, os.O_WRONLY)) as file:
                encoded(file)
    except OSError as error:
        raise UserError(f"cannot write {target!r}: {error.strerror}") from None


def show(chunks: Iterable[str], *, beside: bool = False) -> None:
    """Print to standard output (``beside``: error), whatever its encoding; a reader that has gone ends it quietly."""
    stream = sys.stderr if beside else sys.stdout
    if stream is None:
        raise UserError(f"standard {'error' if beside else 'output'} is closed; --output FILE takes the report")
    prepare(stream, windows=os.name == "nt")
    _put(stream, chunks)


def write_or_show(target: str | None, chunks: Iterable[str]) -> None:
    """Write to a file, or print to standard output where none is named."""
    if target is None:
        show(chunks)
    else:
        write(target, chunks)


def prepare(stream: IO[str], *, windows: bool) -> None:
    """Make standard output take whatever is printed.

    On Windows text that does not go to the console would be in the code page of the system, with line ends of its own: reports are UTF-8
    everywhere, and the same bytes.
    """
    if not isinstance(stream, TextIOWrapper):
        return
    if windows and not stream.isatty() and not os.environ.get("PYTHONIOENCODING"):
        stream.reconfigure(encoding="utf-8", newline="\n")
    # A name from a manifest must not end the run because the terminal cannot show it.
    stream.reconfigure(errors="backslashreplace")


def show_bytes(data: bytes) -> None:
    """Print bytes to standard output just as they are."""
    if sys.stdout is None:
        raise UserError("standard output is closed, where the fixed text is to go")
    sys.stdout.flush()
    _put(sys.stdout.buffer, [data])


def _put(stream: IO[Any], chunks: Iterable[Any]) -> None:
    try:
        stream.writelines(chunks)
        stream.flush()
    except OSError as error:
        # What is still buffered would fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):  # Whoever reads our output may have seen enough.
            raise UserError(f"cannot write the report: {error.strerror}") from None


def say(message: str, code: int = 0) -> int:
    """Print a message to standard error; ``code`` is given back, as the exit code that goes with it."""
    import contextlib

    if sys.stderr is not None:  # Closed: then the exit code has to do.
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()
    return code


def colored(when: str) -> bool:
    """Whether standard output gets colours: ``always``, ``never``, or ``auto`` by the environment and the terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and _console_has_colours()


def _console_has_colours() -> bool:
    """Whether the console obeys escape sequences: on Windows only once it has been asked to, and older ones never."""
    if sys.platform != "win32":
        return True
    import ctypes

    kernel, mode = ctypes.windll.kernel32, ctypes.c_ulong()
    console = kernel.GetStdHandle(-11)  # STD_OUTPUT_HANDLE
    # 4: ENABLE_VIRTUAL_TERMINAL_PROCESSING
    return bool(kernel.GetConsoleMode(console, ctypes.byref(mode)) and kernel.SetConsoleMode(console, mode.value | 4))


def shown(text: str) -> str:
    """Text out of manifests, file names or errors, fit for a terminal."""
    from afflint.findings.phrases import visible

    return visible(text)


class ProgressLine:
    """How many files are done, on standard error, once a run on a terminal takes longer than a second. Gone when its context is left."""

    def __init__(self, total: int) -> None:
        import time

        self._total = total
        self._clock = time.monotonic
        self._next = self._clock() + 1
        self._shown = False

    def __call__(self, done: int) -> None:
        now = self._clock()
        if now < self._next or sys.stderr is None or not sys.stderr.isatty():
            return
        self._next = now + 0.1
        self._shown = True
        width = 24
        filled = width * done // max(self._total, 1)
        sys.stderr.write(f"\r{'━' * filled}{'─' * (width - filled)} {done}/{self._total} files")
        sys.stderr.flush()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def among(names: Iterable[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Those of some files' names that are named one by one, and not by the folder that they lie in."""
    given = {os.path.normpath(path) for path in paths if not os.path.isdir(path)}
    return tuple([name for name in names if os.path.normpath(name) in given])
