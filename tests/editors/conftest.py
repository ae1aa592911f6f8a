"""The extension for Visual Studio Code, packed once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed extension; building it needs npm and the package index, as the tests of the wheel do."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "vscode.py", tmp_path_factory.mktemp("vscode")],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert made.returncode == 0, made.stderr[-3000:]
    return Path(made.stdout.strip())
