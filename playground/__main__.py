"""``python -m playground FOLDER``: build the page that runs afflint in a browser, with everything that it needs.

The page loads nothing from other sites: Pyodide (Python for browsers) and the libraries of afflint are downloaded here, with npm and pip,
at the versions and checksums below, and copied next to it. Any web server can serve the folder under any path, such as
``python -m http.server -d FOLDER``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

_ROOT = Path(__file__).parents[1]
_PAGE = Path(__file__).parent / "page"

PYODIDE = ("pyodide", "314.0.7", "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0")
_PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
WHEELS = (
    ("ruamel.yaml", "0.19.1", "27592957fedf6e0b62f281e96effd28043345e0e66001f97683aa9a40c667c93"),
    ("jsonschema", "4.26.0", "d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce"),
    ("attrs", "26.1.0", "c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309"),
    ("referencing", "0.37.0", "381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231"),
    ("jsonschema-specifications", "2025.9.1", "98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe"),
)
"""Name, version and SHA-256 of the archives; jsonschema and what it needs are there for the configuration."""

_PAGE_FILES = (
    "index.html", "playground.css", "playground.js", "afflint.js", "editor.js", "elements.js", "links.js", "results.js", "tabs.js",
    "names.js", "rule.js", "worker.js", "running.py", "persistent.py",
)  # fmt: skip
_EXAMPLES = (
    ("Replicas that may share a node", "examples/shop/cart.yaml"),
    ("A zone lost in a rollout", "playground/examples/rollout"),
    ("Virtual machines that stay Pending", "examples/customapp-typo"),
    ("Policies of a platform team", "playground/examples/policy"),
    ("All mistakes of a shop", "examples/shop"),
)
"""The titles of the examples, with the file or folder of each; the first one is on the home page of the site."""


class BuildError(Exception):
    """A page that cannot be built; the message names the reason."""


def write_page(target: Path) -> None:
    """Write the page to a folder without using the network; the files that it runs are still missing."""
    target.mkdir(parents=True, exist_ok=True)
    for name in _PAGE_FILES:
        shutil.copy(_PAGE / name, target)
    _write(target / "examples.json", json.dumps(list(examples()), ensure_ascii=False))


def build(target: Path, wheel: Path | None = None) -> None:
    """Write the page and everything that it runs to a folder. Without a wheel, afflint is built from this checkout. Raises BuildError."""
    write_page(target)
    (target / "pyodide").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _download_pyodide(work, target / "pyodide")
        wheels = [wheel or _build_wheel(work), *[_download_wheel(work, *each) for each in WHEELS]]
        for each in wheels:
            shutil.copy(each, target)
    version = wheels[0].name.split("-")[1]
    _write(target / "parts.json", json.dumps({"version": version, "wheels": [each.name for each in wheels]}))
    files = [*_PAGE_FILES, "examples.json", "parts.json", *(each.name for each in wheels), *(f"pyodide/{name}" for name in _PYODIDE_FILES)]
    digest = hashlib.sha256(b"".join(hashlib.sha256((target / name).read_bytes()).digest() for name in files)).hexdigest()
    service_worker = Template((_PAGE / "service-worker.js").read_text("utf-8"))
    _write(
        target / "service-worker.js", service_worker.safe_substitute(version=f"{version}-{digest[:12]}", files=json.dumps(["./", *files]))
    )


def examples() -> Iterator[dict[str, Any]]:
    """Yield the examples: title, files (text by name), and the report of this afflint about them, as ``running.py`` returns it."""
    for title, path in _EXAMPLES:
        found = [_ROOT / path] if path.endswith(".yaml") else sorted((_ROOT / path).glob("*.yaml"), key=_last_first)
        files = {each.name: each.read_text("utf-8") for each in found}
        yield {"title": title, "files": files, "report": _report(files)}


def _last_first(path: Path) -> tuple[bool, bool, str]:
    """Return a sort key: manifests, then nodes, then the configuration."""
    return path.name.startswith("."), path.stem == "nodes", path.name


def _report(files: Mapping[str, str]) -> Any:
    """Check files as the page does, with this Python instead of the one of the browser."""
    script = "import running, sys; print(running.answer(sys.stdin.read()))"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_PAGE), str(_ROOT / "src")])},
            input=json.dumps(["check", files]), capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
    if done.returncode:
        raise BuildError(f"afflint failed on an example:\n{done.stderr}")
    return json.loads(done.stdout)


def _download_pyodide(work: Path, target: Path) -> None:
    name, version, checksum = PYODIDE
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError("npm is not on PATH: it is needed to download Pyodide")
    _run([npm, "pack", "--silent", f"{name}@{version}"], work)
    archive = _verify(work / f"{name}-{version}.tgz", checksum)
    with tarfile.open(archive) as packed:
        for each in _PYODIDE_FILES:
            member = packed.extractfile(f"package/{each}")
            assert member is not None
            (target / each).write_bytes(member.read())


def _download_wheel(work: Path, name: str, version: str, checksum: str) -> Path:
    folder = work / name
    _run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(folder), f"{name}=={version}"],
        work,
    )
    (wheel,) = folder.glob("*.whl")
    return _verify(wheel, checksum)


def _build_wheel(work: Path) -> Path:
    _run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(work), str(_ROOT)], work)
    (wheel,) = work.glob("afflint-*.whl")
    return wheel


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"`{' '.join(command)}` failed:\n{done.stderr or done.stdout}")


def _verify(path: Path, checksum: str) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != checksum:
        raise BuildError(f"{path.name} has the checksum {found}, not {checksum}: it is not the tested version")
    return path


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """Parse the command line and build the page."""
    parser = argparse.ArgumentParser(prog="python -m playground", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for the page")
    parser.add_argument("--wheel", type=Path, help="a wheel of afflint; default: built from this checkout")
    given = parser.parse_args()
    try:
        build(given.folder.resolve(), given.wheel)
    except BuildError as error:
        sys.exit(str(error))
    print(f"{given.folder}: {sum(path.stat().st_size for path in given.folder.rglob('*') if path.is_file()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
