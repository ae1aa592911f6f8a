"""The command line in this process, in a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from afflint import cli
from checkout import clean_environment


class Done(NamedTuple):
    """The exit code, the lines of the report in the concise format, and what was said besides."""

    code: int
    lines: list[str]
    err: str


Afflint = Callable[..., Done]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "AFFLINT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Afflint:
    """``check("a.yaml")`` checks files of the folder; ``check("-", stdin="...")`` does so in a process of its own."""

    def check(*arguments: str, stdin: str | None = None) -> Done:
        words = ["check", "--format", "concise", *arguments]
        if stdin is not None:
            command = [sys.executable, "-m", "afflint", *words]
            ended = subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", env=clean_environment(), check=False)
            return Done(ended.returncode, ended.stdout.splitlines(), ended.stderr)
        monkeypatch.setattr(sys, "argv", ["afflint", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as raised:
            cli.main()
        assert isinstance(raised.value.code, int)
        out, err = capsys.readouterr()
        return Done(raised.value.code, out.splitlines(), err)

    return check


@pytest.fixture
def write(project: Path) -> Callable[[str, str], None]:
    """``write("a/b.yaml", text)`` writes a file of the folder."""

    def write(name: str, text: str) -> None:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return write
