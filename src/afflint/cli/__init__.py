"""The command line: the only package that prints and ends the process."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys

from afflint.cli.command import COMMANDS, load_command
from afflint.cli.output import FAULT, USAGE, notify
from afflint.findings.errors import UserError
from afflint.findings.phrases import visible

_FAULT_MESSAGE = """afflint: internal error: {error}
This is a bug in afflint, not in your manifests. Please report it with the command line, the file if possible, and the
output of `afflint --version -v`.
Set AFFLINT_TRACEBACK=1 to print the traceback."""


def main() -> None:
    """Run the command line and end the process with an exit code."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    try:
        return _run_and_report_errors()
    except OSError as error:  # From click, which writes help and versions itself.
        if sys.stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if isinstance(error, BrokenPipeError) else notify(f"afflint: cannot write: {error.strerror}", USAGE)


def _run_and_report_errors() -> int:
    # Manifests are trees without cycles; the garbage collector would take a tenth of the run.
    gc.disable()
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt as interrupt:
        from afflint.source.termination import exit_code

        return notify("", exit_code(interrupt))  # The shell prompt begins on a new line, not behind ^C.
    except UserError as error:
        return notify("\n".join(f"afflint: {visible(line)}" for line in str(error).splitlines()), USAGE)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EPIPE):
            raise
        return _report_failure(error)
    except Exception as error:
        return _report_failure(error)


def _run(words: list[str]) -> int:
    # Click expands wildcards on Windows, and answers a shell that asks for completions.
    if words[:1] and words[0] in COMMANDS and os.name != "nt" and "_AFFLINT_COMPLETE" not in os.environ:
        from afflint.cli.parser import HelpRequested, parse

        command = load_command(words[0])
        with contextlib.suppress(HelpRequested):
            return command.invoke(parse(command, words[1:]))
    from afflint.cli import click_app

    return click_app.run()


def _report_failure(error: Exception) -> int:
    from afflint.workers import WorkerDiedError

    if isinstance(error, WorkerDiedError):
        return notify(f"afflint: {error}", FAULT)
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return notify("afflint: the working directory no longer exists; change to an existing one", USAGE)
    if isinstance(error, MemoryError):
        return notify("afflint: out of memory; check fewer files at a time, or use fewer processes (`--jobs`)", FAULT)
    if os.environ.get("AFFLINT_TRACEBACK"):
        import traceback

        traceback.print_exc()
    summary = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return notify(_FAULT_MESSAGE.format(error=visible(summary)), FAULT)


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True
