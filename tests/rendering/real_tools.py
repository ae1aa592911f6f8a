"""The real kustomize and Helm: on PATH, or where `.ci/tools` has installed them. A test that needs a missing tool is skipped."""

import os
from pathlib import Path
from shutil import which

import pytest

FOLDER = Path(
    os.environ.get("AFFLINT_TEST_TOOLS") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "afflint-test-tools"
)


def found_tool(name: str) -> str | None:
    """The path of a program; None if it is not installed."""
    return which(name) or which(name, path=str(FOLDER))


def tool(name: str) -> str:
    """The same; skips the test if it is not installed."""
    found = found_tool(name)
    if found is None:
        pytest.skip(f"{name} is neither on PATH nor in {FOLDER}: `.ci/tools` builds it where Go is")
    return found


def on_path(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Put programs on PATH, for afflint to find them there."""
    folders = [os.path.dirname(tool(name)) for name in names]
    monkeypatch.setenv("PATH", os.pathsep.join([*dict.fromkeys(folders), os.environ["PATH"]]))
