"""Each test of rendering works in its own folder."""

from pathlib import Path

import pytest

from rendering.rendered_trees import Checking


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def checking(project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Checking:  # noqa: ARG001
    """The command line in that folder."""
    return Checking(monkeypatch, capfd)
