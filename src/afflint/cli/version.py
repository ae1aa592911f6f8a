"""``afflint --version -v``: what somebody who gets a report needs to know about where afflint ran."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator, Sequence
from importlib import metadata

from afflint import __version__
from afflint.findings.phrases import visible

_LIBRARIES = ("ruamel.yaml", "ruamel.yaml.clib", "click", "jsonschema", "platformdirs")
"""The parser first. What is only there with an extra is in the next line."""
_EXTRAS = ("watchfiles", "distributed", "cel-expr-python")
_PATIENCE = 5.0


def details() -> str:
    """Version, Python, platform, parser and libraries, and the programs that ``--render`` would start, a line each; no paths, no names."""
    return "".join(f"{name:<12} {text}\n" for name, text in _lines())


def _lines() -> Iterator[tuple[str, str]]:
    from afflint.rendering.programs import helm_command, kustomize_command

    yield "afflint", __version__
    yield "python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "platform", f"{platform.system()} {platform.release()} {platform.machine()}"
    yield "libraries", _installed(_LIBRARIES)
    yield "extras", _installed(_EXTRAS)
    kustomize, helm = kustomize_command(), helm_command()
    # `kustomize` may be kubectl, whose client tells both versions.
    standalone = kustomize is not None and kustomize[1] == "build"
    yield "kustomize", _said(kustomize and [kustomize[0], "version"] + ([] if standalone else ["--client"]))
    yield "helm", _said(helm and [helm[0], "version", "--short"])


def _installed(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_version(name)}" for name in names)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _said(command: list[str] | None) -> str:
    """What a program prints of its version, on one line."""
    if command is None:
        return "not found"
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "found, and does not say its version"
    lines = done.stdout.decode(errors="replace").split("\n")
    told = ", ".join(line.strip() for line in lines if line.strip())
    return visible(told) if told and done.returncode == 0 else "found, and does not say its version"
