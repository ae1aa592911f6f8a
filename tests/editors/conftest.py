"""The extension for Visual Studio Code, packed once."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed extension; building it needs npm and the package index, as the tests of the wheel do.

    All workers of pytest-xdist share one, because it is built in the folder of the extension.
    """
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with open(folder / "vscode.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = [*(folder / "vscode").glob("*.vsix")]
        return made[0] if made else _pack(folder / "vscode")


def _pack(folder: Path) -> Path:
    command = [sys.executable, ROOT / "tools" / "vscode.py", folder]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Path(done.stdout.strip())
