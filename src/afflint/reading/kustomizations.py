"""Whether a kustomization beside or above a manifest makes it whole: then nothing may be said about what the manifest lacks."""

from __future__ import annotations

import os
from typing import Any

from afflint.reading.documents import read
from afflint.reading.files import read_regular

_LARGEST = 1 << 20
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class Kustomizations:
    """What kustomizations make of the files beside and below them. Made for one run, in which each is read once."""

    def __init__(self) -> None:
        self._listed: dict[str, frozenset[str]] = {}

    def made_whole(self, path: str) -> bool:
        """True for a file that a kustomization patches with, or adds labels and selectors to.

        It lies in the folder of the file or in one above, up to the top of the repository.
        """
        folder, name = os.path.split(os.path.abspath(path))
        while True:
            if folder not in self._listed:
                self._listed[folder] = _completed(folder)
            if name in self._listed[folder]:
                return True
            above, here = os.path.split(folder)
            if above == folder or os.path.lexists(os.path.join(folder, ".git")):
                return False
            folder, name = above, os.path.join(here, name)


def _completed(folder: str) -> frozenset[str]:
    data = _kustomization(folder)
    if data is None:
        return frozenset()
    listed: set[str] = set()
    for field in ("resources", "bases", "components", "patchesStrategicMerge"):
        listed.update(each for each in _list(data, field) if type(each) is str)
    for patch in _list(data, "patches"):
        listed.add(str(patch.get("path", "")) if type(patch) is dict else str(patch))
    return frozenset(os.path.normpath(each) for each in listed)


def _kustomization(folder: str) -> dict[str, Any] | None:
    for name in _NAMES:
        try:
            data = read(read_regular(os.path.join(folder, name), _LARGEST), 0, 0).data
        except OSError:
            continue
        return data if type(data) is dict else None
    return None


def _list(data: dict[str, Any], field: str) -> list[Any]:
    value = data.get(field)
    return value if type(value) is list else []
