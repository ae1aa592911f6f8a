"""The command line in this process, in a folder of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from command_line import exit_code, spawned


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
            code, out, err = spawned(*words, stdin=stdin)
            return Done(code, out.splitlines(), err)
        capsys.readouterr()
        code = exit_code(monkeypatch, *words)
        out, err = capsys.readouterr()
        return Done(code, out.splitlines(), err)

    return check


@pytest.fixture
def write(project: Path) -> Callable[[str, str], None]:
    """``write("a/b.yaml", text)`` writes a file of the folder."""

    def write(name: str, text: str) -> None:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return write
