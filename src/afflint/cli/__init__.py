"""The command line: the only room that prints and ends the process."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys

import click

from afflint import __version__
from afflint.cli.output import FAULT, USAGE, say, shown
from afflint.errors import UserError
from afflint.wording import nearest

_FAULT_MESSAGE = """afflint: internal error: {error}
This is a fault of afflint, not of your manifests. Please report it with the command line and, if you can, the file.
Set AFFLINT_TRACEBACK=1 to see where it happened."""


_COMMANDS = {
    "check": "afflint.cli.check:check",
    "merge": "afflint.cli.shards:merge",
    "place": "afflint.cli.place:place",
    "rule": "afflint.cli.pages:rule_command",
    "config": "afflint.cli.pages:config_command",
    "lsp": "afflint.cli.lsp:lsp",
}


class _Commands(click.Group):
    """Imports of its commands only the one that is asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            if name.startswith("-") or context.resilient_parsing:  # A shell that completes hears no errors.
                return None
            close = "--version" if name == "version" else nearest(name, _COMMANDS)
            raise click.UsageError(f"No such command {name!r}." + (f" Did you mean {close!r}?" if close else ""))
        from importlib import import_module

        module, _, attribute = _COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="afflint")
def cli() -> None:
    """Lint where Kubernetes and KubeVirt workloads are placed: labels, affinity, spread, tolerations.

    Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 wrong usage or configuration; 3 a fault of afflint.
    """


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
        result = cli.main(prog_name="afflint", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE
    except click.ClickException as error:
        return say(f"afflint: {shown(' '.join(error.format_message().split()))}", USAGE)
    except UserError as error:
        return say("\n".join(f"afflint: {shown(line)}" for line in str(error).splitlines()), USAGE)
    except SystemExit:
        return 0  # Click's way out when whoever reads its output has gone.
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EPIPE):
            raise
        return _failed(error)
    except Exception as error:
        return _failed(error)
    return result if isinstance(result, int) else 0


def _failed(error: Exception) -> int:
    from afflint.session.processes import WorkerDiedError

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
