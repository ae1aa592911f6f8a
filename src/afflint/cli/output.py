"""Output for the user: standard output, files, standard error, the exit codes, and the metadata of pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

from afflint.findings.errors import UserError
from afflint.findings.phrases import visible

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event, Lock

    from afflint.report.html_page import PageMetadata

FOUND, USAGE, FAULT = 1, 2, 3
"""Exit codes: findings at or above --fail-on; wrong usage or configuration; a bug in afflint."""


def write(target: str, chunks: Iterable[str]) -> None:
    """Write a file completely or not at all; a device or an open file of the user is written directly. Raises UserError."""
    from afflint.source.atomic_write import write_file

    try:
        write_file(target, lambda file: file.writelines(chunk.encode() for chunk in chunks))
    except OSError as error:
        raise UserError(f"cannot write {target!r}: {error.strerror or error}") from None


def show(chunks: Iterable[str], *, to_stderr: bool = False) -> None:
    """Print to standard output, or with ``to_stderr`` to standard error, in any encoding; a closed pipe ends the output silently."""
    stream = sys.stderr if to_stderr else sys.stdout
    if stream is None:
        raise UserError(f"standard {'error' if to_stderr else 'output'} is closed; write the report with --output FILE")
    prepare(stream, windows=os.name == "nt")
    _write_chunks(stream, chunks)


def write_or_show(target: str | None, chunks: Iterable[str]) -> None:
    """Write to the file, or print to standard output if ``target`` is None."""
    if target is None:
        show(chunks)
    else:
        write(target, chunks)


def prepare(stream: IO[str], *, windows: bool) -> None:
    """Make standard output accept all characters.

    On Windows, text that is not written to the console would use the code page and the line ends of the system; reports are UTF-8 with
    the same bytes everywhere.
    """
    if not isinstance(stream, TextIOWrapper):
        return
    if windows and not stream.isatty() and not os.environ.get("PYTHONIOENCODING"):
        stream.reconfigure(encoding="utf-8", newline="\n")
    # A name from a manifest must not end the run because the terminal cannot show it.
    stream.reconfigure(errors="backslashreplace")


def show_bytes(data: bytes) -> None:
    """Print bytes to standard output unchanged."""
    if sys.stdout is None:
        raise UserError("standard output is closed; --fix of standard input writes the fixed text to it")
    sys.stdout.flush()
    _write_chunks(sys.stdout.buffer, [data])


def _write_chunks(stream: IO[Any], chunks: Iterable[Any]) -> None:
    try:
        stream.writelines(chunks)
        stream.flush()
    except OSError as error:
        # The rest of the buffer would fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):  # A reader such as `head` may stop early.
            raise UserError(f"cannot write the report: {error.strerror}") from None


def notify(message: str, code: int = 0) -> int:
    """Print a message to standard error, and return ``code``, the exit code of the message."""
    import contextlib

    if ProgressLine.running is not None:
        ProgressLine.running.say(message)
    elif sys.stderr is not None:  # It is None if closed; the exit code is returned in any case.
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()
    return code


def colored(when: str) -> bool:
    """Return whether standard output is coloured: ``always``, ``never``, or ``auto``, which asks the environment and the terminal."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and _console_has_colours()


def _console_has_colours() -> bool:
    """Return whether the console interprets escape sequences; on Windows it has to be asked to, and older consoles cannot."""
    if sys.platform != "win32":
        return True
    import ctypes

    kernel, mode = ctypes.windll.kernel32, ctypes.c_ulong()
    console = kernel.GetStdHandle(-11)  # STD_OUTPUT_HANDLE
    # 4: ENABLE_VIRTUAL_TERMINAL_PROCESSING
    return bool(kernel.GetConsoleMode(console, ctypes.byref(mode)) and kernel.SetConsoleMode(console, mode.value | 4))


class ProgressLine:
    """What the run is doing and how much of it is done, on standard error of a terminal after a second; erased at the end of its context.

    Called with a number, it shows how many of ``total`` files are done.
    """

    FIRST, EVERY = 1.0, 0.2
    """After how many seconds it appears, and how often it changes."""
    running: ProgressLine | None = None
    """The line of this process, if its standard error is a terminal."""

    def __init__(self, total: int = 0) -> None:
        self._step = ("", 0, 0)
        self._files = total
        self._stop: Callable[[], None] = lambda: None
        self._lock: Lock | None = None
        self._shows = False

    def __call__(self, done: int) -> None:
        self.report("files", done, self._files)

    def report(self, doing: str, done: int, total: int) -> None:
        """Note a step, its parts that are done, and all of its parts; 0 if these are not counted."""
        self._step = doing, done, total

    def __enter__(self) -> ProgressLine:
        if sys.stderr is None or not sys.stderr.isatty():
            return self
        import threading

        from afflint.findings.steps import listening

        ended, self._lock = threading.Event(), threading.Lock()
        context = listening(self.report)
        context.__enter__()
        thread = threading.Thread(target=self._run, args=(ended,), daemon=True)
        thread.start()

        def stop() -> None:
            ended.set()
            thread.join()
            context.__exit__(None, None, None)
            self._write("", shows=False)
            ProgressLine.running = None

        self._stop = stop
        ProgressLine.running = self
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _run(self, ended: Event) -> None:
        """Write the line again and again until the run ends."""
        wait = self.FIRST
        while not ended.wait(wait):
            wait = self.EVERY
            doing, done, total = self._step
            width = 24
            filled = width * done // max(total, 1)
            bar = f"{'━' * filled}{'─' * (width - filled)} {done}/{total} " if total else ""
            if doing:
                self._write(f"{bar}{doing}", shows=True)

    def _write(self, text: str, *, shows: bool) -> None:
        """Write instead of the line, which is shown with ``shows``."""
        import contextlib

        assert self._lock is not None
        with self._lock, contextlib.suppress(OSError, ValueError, UnicodeError):
            sys.stderr.write(f"{_ERASED if self._shows or shows else ''}{text}")
            sys.stderr.flush()
            self._shows = shows

    def say(self, message: str) -> None:
        """Write a message instead of the line, which comes back below it."""
        self._write(f"{message}\n", shows=False)


_ERASED = "\r\x1b[K"


def named_files(names: Iterable[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Return the names of files that are among the paths themselves, not only inside a folder of these."""
    files = {os.path.normpath(path) for path in paths if not os.path.isdir(path)}
    return tuple([name for name in names if os.path.normpath(name) in files])


def format_module(package: str, name: str) -> Any:
    """Import the module of a format, below ``afflint.report``."""
    from importlib import import_module

    return import_module(f"afflint.report.{package}.{_MODULES.get(name, name)}")


_MODULES = {"json": "json_report", "csv": "csv_report", "html": "page"}


def page_metadata() -> PageMetadata:
    """Return the metadata of a report page: the current time, and the command line of this process, quoted for a shell."""
    import shlex

    from afflint.report.html_page import PageMetadata

    return PageMetadata(f"{_now():%Y-%m-%d %H:%M} UTC", shlex.join(["afflint", *sys.argv[1:]]))


def today() -> str:
    """Return the current day in UTC as YYYY-MM-DD, the format of baselines."""
    return f"{_now():%Y-%m-%d}"


def _now() -> datetime:
    """Return the time in UTC: SOURCE_DATE_EPOCH if it is set, for reproducible output. Raises UserError."""
    from datetime import datetime, timezone

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise UserError(f"SOURCE_DATE_EPOCH takes a number of seconds, not {visible(epoch)!r}") from None
