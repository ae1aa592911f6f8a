"""Trees of files for rendering tests, and the output of `check --render` for them: each finding in one line."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from command_line import exit_code


def write(files: Mapping[str, str], top: Path | None = None) -> None:
    """Write files below a folder, the working directory without one, by their names."""
    for name, text in files.items():
        path = (top or Path()) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def reasons(report: dict[str, Any]) -> list[str]:
    """Why something is not rendered, by a report in JSON."""
    return [each["reason"] for each in report["coverage"]["not_seen"]]


class Checking:
    """Runs `afflint check --render` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capfd = capfd

    def __call__(self, *words: str, code: int | None = None) -> str:
        """What it prints."""
        ended = exit_code(self._monkeypatch, "check", "--no-cache", *words)
        sys.stdout.flush()
        out, err = self._capfd.readouterr()
        assert code is None or ended == code, out + err
        return out + err

    def report(self, *words: str) -> dict[str, Any]:
        """The report in JSON."""
        printed: dict[str, Any] = json.loads(self("--render", "--format", "json", *words))
        return printed

    def messages(self, *words: str) -> list[str]:
        """`file:line:column rule field [roots]` of each finding."""
        return [
            f"{each['file']}:{each['line']}:{each['column']} {each['rule']} {each['field']} {each.get('rendered_in', [])}"
            for each in self.report(*words)["findings"]
        ]
