"""The other linters that are on PATH: how each is asked for the same work as afflint, and whether it can do it here."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

from bench.processes import BenchError, Command, run
from bench.workloads import SHAPES

_PATIENCE = 60


class _Peer(NamedTuple):
    """The arguments before the path to lint, and the exit codes of a run over one healthy Deployment."""

    options: tuple[str, ...]
    sound: tuple[int, ...]


class Peers(NamedTuple):
    """The commands that can be timed, by name, and a line for each that cannot."""

    commands: dict[str, Command]
    skipped: tuple[str, ...]


def peers(path: str, sample: str, cache: str) -> Peers:
    """The peers as they lint ``path``. Each is first tried on ``sample``, one healthy file; ``cache`` is a folder for what they fetch."""
    os.makedirs(cache, exist_ok=True)
    commands: dict[str, Command] = {}
    skipped: list[str] = []
    for name, peer in _known(cache).items():
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
        commands[name] = Command((program, *peer.options, path), (0, 1))
    return Peers(commands, tuple(skipped))


def _known(cache: str) -> dict[str, _Peer]:
    # Schemas are fetched once. For custom resources there are none, and to ask for them again each time would time the network.
    unknown = ",".join(f"{shape.api_version}/{shape.kind}" for shape in SHAPES if "." in shape.api_version)
    options = ("-n", "1", "-summary", "-ignore-missing-schemas", "-cache", cache, "-skip", unknown)
    # kube-linter asks for resource limits and the like, which a healthy manifest may lack.
    return {"kubeconform": _Peer(options, (0,)), "kube-linter": _Peer(("lint",), (0, 1))}
