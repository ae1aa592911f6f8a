"""The command line as tests run it: in this process, which is fast, or in one of its own."""

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from afflint import cli
from checkout import clean_environment


class Done(NamedTuple):
    """What a run came to."""

    code: int
    out: str
    err: str

    @property
    def rules(self) -> list[str]:
        """The rules of a report in the concise format, in its order."""
        return [line.rsplit("[", 1)[1].rstrip("]") for line in self.out.splitlines()]


Afflint = Callable[..., Done]
"""The fixture ``afflint``: words of a command line in, what came of them out."""


def exit_code(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Runs the command line in this process, and gives what it ends with."""
    monkeypatch.setattr(sys, "argv", ["afflint", *words])
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
    finally:
        gc.enable()  # The command line switches it off, for a process that soon ends.
    assert isinstance(ended.value.code, int)
    return ended.value.code


def spawned(*words: str, stdin: str = "", **environment: str) -> Done:
    """Runs the command line in a process of its own."""
    command = [sys.executable, "-m", "afflint", *words]
    done = subprocess.run(command, env=clean_environment(**environment), input=stdin, capture_output=True, encoding="utf-8", check=False)
    return Done(done.returncode, done.stdout, done.stderr)
