"""Each test of rendering works in its own folder, with the programs that it needs."""

from pathlib import Path

import pytest

from rendering.real_tools import on_path
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


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize", "helm")


@pytest.fixture
def helm_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "helm")


@pytest.fixture
def tools_and_git(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The programs, without settings of the user for Git, and without a proxy."""
    on_path(monkeypatch, "kustomize", "helm", "git")
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
