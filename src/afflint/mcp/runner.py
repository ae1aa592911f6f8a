"""Runs commands of afflint for the MCP server: each in a process of its own, below one folder, with a deadline and a bounded output."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence

from afflint.config import find
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.source.repositories import is_really_inside
from afflint.source.sources import WILDCARDS

_START = """
import sys
paths = int(sys.argv[1])
sys.path[:] = sys.argv[2 : 2 + paths]
sys.argv[1:] = sys.argv[2 + paths :]
from afflint.__main__ import main
from afflint.source.repositories import confine
confine(".")
main()
"""
"""The command imports modules from the same places as the server, and none from the folder that it reads.

Neither links nor wildcards lead out of the folder, even if the repository extends beyond it.
"""

_DEADLINE = 120.0
"""Seconds after which a command is ended."""


class CommandResult(NamedTuple):
    """The result of a command: its exit code, its standard output, and the lines of its standard error."""

    code: int
    output: str
    notes: tuple[str, ...]


class CommandRunner:
    """Runs commands of afflint in ``root``, an absolute path, which they cannot leave."""

    def __init__(self, root: str) -> None:
        self.root = root
        folders = [folder for folder in sys.path if folder and not _is_same_folder(folder, root)]
        self._program = (sys.executable, "-c", _START, str(len(folders)), *folders)

    def inside(self, paths: Iterable[str]) -> list[str]:
        """Return paths as arguments of a command: relative to the root or absolute, but inside it. Raises UserError for others.

        A glob stays one. Wildcards match no ``..``, so what is in front of the first one decides.
        """
        checked = []
        for path in paths:
            whole = os.path.join(self.root, path)
            literal = whole
            if not os.path.lexists(whole) and any(mark in path for mark in WILDCARDS):
                literal = whole[: min(whole.find(mark) for mark in WILDCARDS if mark in whole)]
                if ".." in path.replace(os.sep, "/").split("/"):
                    raise UserError(f"{path!r}: a glob cannot contain `..`")
            if "\0" in path or not is_really_inside(literal, self.root):
                raise UserError(f"{path!r} is outside {self.root}, the only folder that this server reads")
            checked.append(f"./{path}" if path.startswith("-") else path)
        return checked

    def run(self, command: str, options: Sequence[str], arguments: Sequence[str]) -> CommandResult:
        """Run one command of afflint. Raises UserError for wrong usage, and if the command does not finish.

        A configuration above the root is not used.
        """
        found = find(self.root)
        config = ["--no-config"] if found is None or not is_really_inside(os.path.join(self.root, found), self.root) else []
        variables = {**os.environ, "AFFLINT_NO_CACHE": "1", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", "COLUMNS": "120"}
        try:
            done = subprocess.run(
                [*self._program, command, *config, *options, "--", *arguments],
                cwd=self.root,
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_DEADLINE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UserError(f"it did not finish within {_DEADLINE:.0f} seconds; name fewer paths") from None
        except ValueError:
            raise UserError("an argument contains a NUL character") from None
        notes = done.stderr.decode("utf-8", "replace").splitlines()
        if done.returncode not in (0, 1):
            raise UserError(_message(notes, done.returncode))
        return CommandResult(done.returncode, done.stdout.decode("utf-8", "replace"), tuple(notes))


def _message(notes: Sequence[str], code: int) -> str:
    return "\n".join(line.removeprefix("afflint: ") for line in notes) or f"afflint ended with exit code {code}"


def _is_same_folder(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
