"""The real command line, in a folder of its own, with an end to its memory."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from under_limits import Afflint, Ended

SOURCE = Path(__file__).parents[2] / "src"
LIMITS = Path(__file__).with_name("limits.py")


@pytest.fixture
def afflint(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Afflint:
    """``afflint("check", ...)`` runs afflint in the folder ``tmp_path``; standard input is empty, or ``stdin``, or ``closed``.

    ``before`` are words of a command that runs the command behind it.
    """
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot limit the memory of a process")
    report = tmp_path_factory.mktemp("limits") / "report"

    def run(
        *words: str | bytes, stdin: bytes | None = b"", megabytes: int = 1024, closed: bool = False, before: Sequence[str] = ()
    ) -> Ended:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("AFFLINT", "NO_COLOR", "FORCE_COLOR", "PYTHON"))
        }
        command: list[str | bytes] = [sys.executable, "-S", str(LIMITS), str(megabytes), str(report), *before, sys.executable]
        command += ["-m", "afflint"]
        if closed:
            command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *command]
        done = subprocess.run(
            [*command, *words],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"},
            input=stdin,
            capture_output=True,
            check=True,
            timeout=300,
        )
        code, seconds, taken = report.read_text().split()
        # Strictly: the output must be UTF-8.
        return Ended(int(code), done.stdout.decode(), done.stderr.decode(), float(seconds), float(taken))

    return run
