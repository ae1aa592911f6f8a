"""The extension for Visual Studio Code, packed once, and a replacement for the Python extension."""

import fcntl
import json
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
    assert "WARNING" not in done.stderr, "the Marketplace would complain"
    return Path(done.stdout.strip())


PYTHON = """\
const vscode = require("vscode");
const fs = require("fs");
const path = require("path");
exports.activate = (context) => {
  const selected = new vscode.EventEmitter();
  const read = () => {
    const file = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, ".selected");
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim() : undefined;
  };
  const select = vscode.commands.registerCommand("python.setInterpreter", () => selected.fire({ path: read() }));
  context.subscriptions.push(selected, select);
  return {
    environments: {
      getActiveEnvironmentPath: () => read(),
      resolveEnvironment: async (python) => ({ executable: { uri: vscode.Uri.file(python) } }),
      onDidChangeActiveEnvironmentPath: selected.event,
    },
  };
};
"""


@pytest.fixture(scope="session")
def python_extension(tmp_path_factory: pytest.TempPathFactory, packed: Path) -> Path:
    """An extension in place of the Python extension, with the part of it that is used: the file `.selected` names the interpreter."""
    assert packed.exists(), "its tools are installed"
    folder = tmp_path_factory.mktemp("python-extension")
    command = {"command": "python.setInterpreter", "title": "Select Interpreter", "category": "Python"}
    manifest = {
        "name": "python",
        "publisher": "ms-python",
        "version": "1.0.0",
        "engines": {"vscode": "^1.100.0"},
        "main": "./extension.js",
        "activationEvents": ["onStartupFinished"],
        "contributes": {"commands": [command]},
    }
    (folder / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "extension.js").write_text(PYTHON, encoding="utf-8")
    vsce = ROOT / "editors" / "vscode" / "node_modules" / ".bin" / "vsce"
    made = folder / "python.vsix"
    pack = [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", made]
    subprocess.run(pack, cwd=folder, capture_output=True, check=True)
    return made
