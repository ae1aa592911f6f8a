"""Builds the extension for Visual Studio Code: ``python tools/vscode.py FOLDER`` writes afflint-VERSION.vsix there.

It needs npm and the package `build`. The extension contains the wheel of this checkout and the schema of the configuration; both are copied
into ``editors/vscode``, where Git ignores them. The file is valid for the Marketplace and for Open VSX.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTENSION = ROOT / "editors" / "vscode"


def build(folder: Path) -> Path:
    """Build the extension with everything that it contains; return the path of the file. Raises CalledProcessError."""
    bundled = EXTENSION / "bundled"
    shutil.rmtree(bundled, ignore_errors=True)
    with tempfile.TemporaryDirectory() as empty:
        # From another folder, so that Python does not import modules of the current one.
        wheel = [sys.executable, "-m", "build", "--wheel", "--outdir", str(bundled), str(ROOT)]
        subprocess.run(wheel, cwd=empty, check=True, stdout=subprocess.DEVNULL)
    (EXTENSION / "schemas").mkdir(exist_ok=True)
    shutil.copy(ROOT / "schemas" / "config.schema.json", EXTENSION / "schemas")
    npm("ci", "--no-audit", "--no-fund")
    for script in ("check", "build"):
        npm("run", "--silent", script)
    folder.mkdir(parents=True, exist_ok=True)
    version = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["version"]
    made = folder.resolve() / f"afflint-{version}.vsix"
    npm("run", "--silent", "package", "--", "--out", str(made))
    return made


def npm(*words: str) -> None:
    """Run npm in the folder of the extension. Raises CalledProcessError, after its output was printed."""
    program = shutil.which("npm")
    if program is None:
        sys.exit("npm is not installed")
    subprocess.run([program, *words], cwd=EXTENSION, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/vscode.py FOLDER")
    print(build(Path(sys.argv[1])))
