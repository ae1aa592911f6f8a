"""The other linters that are on PATH: how each is asked for the same work as afflint, and whether it can do it here."""

from __future__ import annotations

import os
import re
import shutil
from typing import NamedTuple

from bench.processes import BenchError, Command, output_of, run
from bench.workloads import SHAPES

_PATIENCE = 60


class _Peer(NamedTuple):
    """The arguments before the path to lint, the exit codes of a run over one healthy Deployment, and what makes it tell its version.

    ``files``: it takes files, and no folder.
    """

    options: tuple[str, ...]
    sound: tuple[int, ...]
    version: tuple[str, ...]
    files: bool = False


class Peers(NamedTuple):
    """The commands that can be timed, by name, a line for each that cannot, and what those that can say of their version."""

    commands: dict[str, Command]
    skipped: tuple[str, ...]
    versions: dict[str, str]


NAMES = ("kubeconform", "kube-linter", "kube-score")


def peers(path: str, sample: str, cache: str, *, workers: int = 1, schemas: str | None = None) -> Peers:
    """The peers as they lint ``path``. Each is first tried on ``sample``, one healthy file; ``cache`` is a folder for what they fetch.

    ``schemas`` is where kubeconform finds its schemas, as its own option has it; without it, it fetches them.
    """
    os.makedirs(cache, exist_ok=True)
    commands: dict[str, Command] = {}
    skipped: list[str] = []
    versions: dict[str, str] = {}
    for name, peer in _known(cache, workers, schemas).items():
        program = shutil.which(name)
        if program is None:
            skipped.append(f"{name}: skipped, not on PATH")
            continue
        try:
            run(Command((program, *peer.options, sample), peer.sound, _PATIENCE))
        except BenchError:
            skipped.append(f"{name}: skipped, cannot lint one healthy file here")
            continue
        # What these look for is not what afflint looks for: that they find something is no failure.
        commands[name] = Command((program, *peer.options, *(_files(path) if peer.files else [path])), (0, 1))
        told = "".join(output_of(Command((program, *peer.version)))).split()
        versions[name] = next((word.strip(",") for word in told if word[:1].isdigit() or re.match(r"v\d", word)), "of unknown version")
    return Peers(commands, tuple(skipped), versions)


def _files(path: str) -> list[str]:
    """The files below a folder; a file itself."""
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


def _known(cache: str, workers: int, schemas: str | None) -> dict[str, _Peer]:
    # Schemas are fetched once. For custom resources there are none, and to ask for them again each time would time the network.
    unknown = ",".join(f"{shape.api_version}/{shape.kind}" for shape in SHAPES if "." in shape.api_version)
    located = ("-schema-location", schemas) if schemas else ("-cache", cache)
    options = ("-n", str(workers), "-summary", "-ignore-missing-schemas", *located, "-skip", unknown)
    # kube-linter asks for resource limits and the like, which a healthy manifest may lack; so does kube-score.
    known = (_Peer(options, (0,), ("-v",)), _Peer(("lint",), (0, 1), ("version",)), _Peer(("score",), (0, 1), ("version",), files=True))
    return dict(zip(NAMES, known, strict=True))
