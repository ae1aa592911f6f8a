"""The other linters on PATH, with the commands for the same work as afflint."""

from __future__ import annotations

import os
import re
import shutil
from typing import NamedTuple

from bench.processes import BenchError, Command, output_of, run
from bench.workloads import SHAPES

_PATIENCE = 60


class _Peer(NamedTuple):
    """A linter: the arguments before the path, its exit codes for a healthy Deployment, and the arguments that print its version.

    ``files``: it accepts files only, not folders.
    """

    options: tuple[str, ...]
    sound: tuple[int, ...]
    version: tuple[str, ...]
    files: bool = False


class Peers(NamedTuple):
    """The commands that can be timed by name, a line for each linter that cannot, and the versions."""

    commands: dict[str, Command]
    skipped: tuple[str, ...]
    versions: dict[str, str]


NAMES = ("kubeconform", "kube-linter", "kube-score")


def peers(path: str, sample: str, cache: str, *, workers: int = 1, schemas: str | None = None) -> Peers:
    """Return the linters for ``path``. Each is first tried on ``sample``, a healthy file; ``cache`` is a folder for their downloads.

    ``schemas`` is where kubeconform finds its schemas, in the form of its option; without it, kubeconform downloads them.
    """
    os.makedirs(cache, exist_ok=True)
    commands: dict[str, Command] = {}
    skipped: list[str] = []
    versions: dict[str, str] = {}
    for name, peer in _linters(cache, workers, schemas).items():
        program = shutil.which(name)
        if program is None:
            skipped.append(f"{name}: skipped, not on PATH")
            continue
        try:
            run(Command((program, *peer.options, sample), peer.sound, _PATIENCE))
        except BenchError:
            skipped.append(f"{name}: skipped, cannot lint one healthy file here")
            continue
        # They check for other mistakes than afflint, so a finding is not a failure.
        commands[name] = Command((program, *peer.options, *(_files(path) if peer.files else [path])), (0, 1))
        words = "".join(output_of(Command((program, *peer.version)))).split()
        versions[name] = next((word.strip(",") for word in words if word[:1].isdigit() or re.match(r"v\d", word)), "of unknown version")
    return Peers(commands, tuple(skipped), versions)


def _files(path: str) -> list[str]:
    """Return the files below a folder, or a file itself."""
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


def _linters(cache: str, workers: int, schemas: str | None) -> dict[str, _Peer]:
    # Schemas are downloaded once. Custom resources have none, and requests for them would measure the network.
    unknown = ",".join(f"{shape.api_version}/{shape.kind}" for shape in SHAPES if "." in shape.api_version)
    located = ("-schema-location", schemas) if schemas else ("-cache", cache)
    options = ("-n", str(workers), "-summary", "-ignore-missing-schemas", *located, "-skip", unknown)
    # kube-linter and kube-score require resource limits and the like, which a healthy manifest may omit.
    known = (_Peer(options, (0,), ("-v",)), _Peer(("lint",), (0, 1), ("version",)), _Peer(("score",), (0, 1), ("version",), files=True))
    return dict(zip(NAMES, known, strict=True))
