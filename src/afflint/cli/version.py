"""``afflint --version -v``: the versions that a bug report needs."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator, Sequence
from importlib import metadata

from afflint import __version__
from afflint.findings.phrases import visible

_LIBRARIES = ("ruamel.yaml", "ruamel.yaml.clib", "click", "jsonschema", "platformdirs")
"""The libraries that are always installed, the YAML parser first."""
_EXTRAS = ("watchfiles", "distributed", "cel-expr-python", "mcp", "python-hcl2")
_TIMEOUT = 5.0
"""Seconds for a program to print its version."""
_NO_VERSION = "found, but does not print its version"


def details() -> str:
    """Return a line each for the versions of afflint, Python, platform, libraries and the programs of ``--render``.

    They contain no paths and no names of users or hosts.
    """
    return "".join(f"{name:<12} {text}\n" for name, text in _lines())


def _lines() -> Iterator[tuple[str, str]]:
    from afflint.rendering.programs import helm_command, kustomize_command

    yield "afflint", __version__
    yield "python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "platform", f"{platform.system()} {platform.release()} {platform.machine()}"
    yield "libraries", _installed(_LIBRARIES)
    yield "extras", _installed(_EXTRAS)
    kustomize, helm = kustomize_command(), helm_command()
    # `kustomize` may be kubectl, which prints the versions of its client and of its kustomize.
    standalone = kustomize is not None and kustomize[1] == "build"
    yield "kustomize", _output(kustomize and [kustomize[0], "version"] + ([] if standalone else ["--client"]))
    yield "helm", _output(helm and [helm[0], "version", "--short"])


def _installed(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_version(name)}" for name in names)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _output(command: list[str] | None) -> str:
    """Return the version that a program prints, on one line. It runs in its own folder: the current one may hold files for it."""
    if command is None:
        return "not found"
    folder = os.path.dirname(command[0])
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return _NO_VERSION
    lines = done.stdout.decode(errors="replace").split("\n")
    text = ", ".join(line.strip() for line in lines if line.strip())
    return visible(text) if text and done.returncode == 0 else _NO_VERSION
