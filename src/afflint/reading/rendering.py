"""What kustomize and helm make of a folder, by the user's own programs: no shell, no network of ours, a time limit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from shutil import which

from afflint.errors import UserError
from afflint.reading.sources import Source

TIME_LIMIT = 120.0
_LONGEST_REASON = 300


class RenderError(UserError):
    """A folder that could not be rendered; the message is for the user."""


def kustomize(folder: str, time_limit: float = TIME_LIMIT) -> Source:
    """The output of ``kustomize build``, or of ``kubectl kustomize`` where only that is installed. Raises RenderError."""
    if not os.path.isdir(folder):
        raise RenderError(f"--kustomize takes a folder with a kustomization, and {folder!r} is none")
    if program := which("kustomize"):
        command = [program, "build", _as_path(folder)]
    elif program := which("kubectl"):
        command = [program, "kustomize", _as_path(folder)]
    else:
        raise RenderError("--kustomize needs `kustomize` or `kubectl` on PATH; or pipe in what it makes elsewhere: `afflint check -`")
    return _rendered(f"<kustomize {os.path.normpath(folder)}>", command, time_limit)


def helm(chart: str, values: Sequence[str] = (), time_limit: float = TIME_LIMIT) -> Source:
    """The output of ``helm template`` for a chart in a folder or archive. Raises RenderError."""
    if not os.path.exists(chart):
        raise RenderError(f"--helm takes a chart, and there is none at {chart!r}")
    program = which("helm")
    if program is None:
        raise RenderError("--helm needs `helm` on PATH; or pipe in what it makes elsewhere: `afflint check -`")
    options = [option for file in values for option in ("--values", _as_path(file) if os.path.lexists(file) else file)]
    return _rendered(f"<helm {os.path.normpath(chart)}>", [program, "template", "release", _as_path(chart), *options], time_limit)


def _as_path(path: str) -> str:
    """The path so that no program takes it for an option."""
    return path if os.path.isabs(path) else os.path.join(os.curdir, path)


def _rendered(name: str, command: list[str], time_limit: float) -> Source:
    tool = os.path.basename(command[0])
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=time_limit, check=False)
    except subprocess.TimeoutExpired:
        raise RenderError(f"{tool} did not finish within {time_limit:.0f} seconds: {name}") from None
    except OSError as error:
        raise RenderError(f"{tool} could not be started: {error.strerror}") from None
    if done.returncode != 0:
        raise RenderError(f"{tool} failed with exit code {done.returncode} for {name}: {_reason(done.stderr) or 'it did not say why'}")
    return Source(name, name, done.stdout)


def _reason(said: bytes) -> str:
    """Why a program failed, by its own words, from where it says so, without what its log puts around it."""
    text = said.decode("utf-8", "replace")
    logged = re.search(r"\berr=\"((?:[^\"\\]|\\.)*)", text)
    if logged:
        text = re.sub(r"\\(.)", r"\1", logged[1])
    else:
        start = re.search(r"(?m)^Error\b", text)
        text = text[start.start() :] if start else text
    reason = " ".join(text.split())
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
