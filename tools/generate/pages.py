"""Generate code fences of the pages in docs/: files of the repository, and commands with their output.

A fence below ``<!-- file PATH -->`` contains that file. A ```` ```console ```` fence contains commands after ``$`` and their output;
a shell runs them in a folder with the examples.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from tools.generate import GeneratedFile, missing_programs

from checkout import ROOT, clean_environment
from git_history import History
from rendering.real_tools import found_tool

DOCS = ROOT / "docs"
NOT_RUN = ("pip ", "dask ")
"""Fences whose first command begins like this need the network and are not run."""
RENDERERS = ("kustomize", "helm")
"""What `--render` runs. Without them, fences that use it stay as they are."""

_FILE = re.compile(r"(<!-- file (\S+) -->\n```[a-z]*\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"(^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def files() -> Iterator[GeneratedFile]:
    """Yield the pages in docs/ with files or output of commands."""
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        renders = any(_is_rendering(fence[2]) for fence in _CONSOLE.finditer(text))
        yield GeneratedFile(path, partial(_page, path), _missing_shell() or (missing_programs(*RENDERERS) if renders else ""))


def _page(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return text if _missing_shell() else regenerated(text, sandbox())


def _missing_shell() -> str:
    return "the commands are for bash on a POSIX system" if os.name == "nt" or shutil.which("bash") is None else ""


@cache
def sandbox() -> Path:
    """Create a folder with the examples and an ``afflint`` program for ``run_in``; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "bin").mkdir()
    (folder / "bin" / "afflint").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m afflint "$@"\n', encoding="utf-8")
    (folder / "bin" / "afflint").chmod(0o755)
    make_change(folder / "change")
    return folder


def make_change(root: Path) -> None:
    """Create a repository with the manifests of an application, and an edit that is not committed."""
    history = History(root)
    files = {path.name: path.read_bytes() for path in sorted((ROOT / "examples" / "customapp").glob("*.yaml"))}
    history.commit(files)
    history.write(
        {"database.yaml": files["database.yaml"].replace(b"{key: performance, operator: In, values: [high]}", DATABASE_IN_ONE_ZONE)}
    )


DATABASE_IN_ONE_ZONE = b"{key: topology.kubernetes.io/zone, operator: In, values: [scu]}"


def commands_in(text: str) -> list[str]:
    """Return the commands of a page whose output is shown."""
    fences = [fence[2] for fence in _CONSOLE.finditer(text)]
    return [line[2:] for fence in fences for line in fence.splitlines() if line.startswith("$ ") and not fence[2:].startswith(NOT_RUN)]


def run_in(folder: Path, command: str) -> str:
    """Return the output of a command, including errors. Raises RuntimeError unless it exits with 0 or 1."""
    renderers = [os.path.dirname(path) for path in map(found_tool, RENDERERS) if path is not None]
    path = os.pathsep.join([str(folder / "bin"), *renderers, os.environ["PATH"]])
    environment = clean_environment(PATH=path, COLUMNS="100", LC_ALL="C.UTF-8")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"`{command}` ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def regenerated(text: str, folder: Path) -> str:
    """Return the text of a page with its fences generated again; without its programs, a fence that renders stays as it is."""
    text = _FILE.sub(lambda fence: fence[1] + (ROOT / fence[2]).read_text(encoding="utf-8"), text)

    def shown(fence: re.Match[str]) -> str:
        if fence[2][2:].startswith(NOT_RUN) or (_is_rendering(fence[2]) and missing_programs(*RENDERERS)):
            return fence[0]
        return fence[1] + "".join(f"$ {command}\n{run_in(folder, command)}" for command in commands_in(f"{fence[0]}```\n"))

    return _CONSOLE.sub(shown, text)


def _is_rendering(commands: str) -> bool:
    return "--render" in commands
