"""The command line: the only room that prints and ends the process."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys

from afflint.cli.output import FAULT, USAGE, say, shown
from afflint.findings.errors import UserError

_FAULT_MESSAGE = """afflint: internal error: {error}
This is a fault of afflint, not of your manifests. Please report it with the command line, the file if you can, and what
`afflint --version -v` says.
Set AFFLINT_TRACEBACK=1 to see where it happened."""


def main() -> None:
    """Run the command line and end the process with one of the exit codes above."""
    sys.exit(_guarded())


def _guarded() -> int:
    try:
        return _ended()
    except OSError as error:  # Out of click, which writes help and versions itself.
        if sys.stdout is not None:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if isinstance(error, BrokenPipeError) else say(f"afflint: cannot write: {error.strerror}", USAGE)


def _ended() -> int:
    # Manifests are trees without cycles; looking for some costs a tenth of the run.
    gc.disable()
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:
        return say("", 130)  # What follows begins on a line of its own, not behind ^C.
    except UserError as error:
        return say("\n".join(f"afflint: {shown(line)}" for line in str(error).splitlines()), USAGE)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EPIPE):
            raise
        return _failed(error)
    except Exception as error:
        return _failed(error)


def _run(words: list[str]) -> int:
    if words[:1] == ["check"]:
        from afflint.cli import check, fast_parser

        given = fast_parser.read(check.COMMAND, words[1:])
        if given is not None:
            return check.check(**given)
    from afflint.cli import click_app

    return click_app.run()


def _failed(error: Exception) -> int:
    from afflint.pipeline.workers import WorkerDiedError

    if isinstance(error, WorkerDiedError):
        return say(f"afflint: {error}", FAULT)
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return say("afflint: the working directory no longer exists; change to one that does", USAGE)
    if isinstance(error, MemoryError):
        return say("afflint: memory ran out; check fewer files at a time, or with fewer processes (`--jobs`)", FAULT)
    if os.environ.get("AFFLINT_TRACEBACK"):
        import traceback

        traceback.print_exc()
    summary = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return say(_FAULT_MESSAGE.format(error=shown(summary)), FAULT)


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True
