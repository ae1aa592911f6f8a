"""What the kustomizations of a repository make of a manifest: completed by one, or a patch for others that are named elsewhere.

Nothing may be said then about what the manifest lacks; and where a patch has a target, its apiVersion, kind and name are placeholders.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from afflint.reading.documents import read
from afflint.reading.files import read_regular

_LARGEST = 1 << 20
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MOST_FOLDERS = 20_000
"""So many folders of a repository are searched for kustomizations, the higher ones first."""


class Use(NamedTuple):
    """What kustomizations do with a file. ``kinds`` are those of the targets that it patches, where such are named."""

    targeted: bool = False
    kinds: frozenset[str] = frozenset()


class Kustomizations:
    """The kustomizations of the repositories that a run looks at. Made for one run, in which each is read once, and only if asked for.

    ``skipped`` are the names of folders in which none is looked for.
    """

    def __init__(self, skipped: frozenset[str] = frozenset()) -> None:
        self._skipped = skipped
        self._tops: dict[str, str] = {}
        self._texts: dict[str, list[_Text]] = {}
        self._used: dict[str, dict[str, Use]] = {}

    def use_of(self, path: str) -> Use | None:
        """What the kustomizations of its repository do with a file; None where none of them lists it."""
        folder, name = os.path.split(os.path.realpath(os.path.abspath(path)) if os.path.islink(path) else os.path.abspath(path))
        path = os.path.join(folder, name)
        top = self._top(folder)
        if top not in self._texts:
            self._texts[top] = _kustomizations(top, self._skipped)
        found: Use | None = None
        mention = os.fsencode(name)
        for text in self._texts[top]:
            if mention not in text.data:
                continue
            if text.folder not in self._used:
                self._used[text.folder] = _files_used(text)
            use = self._used[text.folder].get(path)
            if use is not None:
                found = use if found is None else Use(found.targeted or use.targeted, found.kinds | use.kinds)
        return found

    def _top(self, folder: str) -> str:
        """The top of the repository that a folder lies in; without one the highest folder on the way up that has a kustomization."""
        if folder not in self._tops:
            top, here = folder, folder
            while True:
                if os.path.lexists(os.path.join(here, ".git")):
                    top = here
                    break
                if any(os.path.isfile(os.path.join(here, name)) for name in _NAMES):
                    top = here
                above = os.path.dirname(here)
                if above == here:
                    break
                here = above
            self._tops[folder] = top
        return self._tops[folder]


class _Text(NamedTuple):
    """A kustomization that has not been parsed yet."""

    folder: str
    data: bytes


def _kustomizations(top: str, skipped: frozenset[str]) -> list[_Text]:
    """The kustomizations in a folder and below it, without following links."""
    found: list[_Text] = []
    level, count = [top], 0
    while level and count < _MOST_FOLDERS:
        below: list[str] = []
        for folder in level[: _MOST_FOLDERS - count]:
            names: set[str] = set()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name in _NAMES:
                            names.add(entry.name)
                        elif entry.name not in skipped and entry.is_dir(follow_symlinks=False):
                            below.append(entry.path)
            except OSError:
                continue
            found += _read_first(folder, names)
        count += len(level)
        level = below
    return found


def _read_first(folder: str, names: set[str]) -> list[_Text]:
    for name in _NAMES:
        if name in names:
            try:
                return [_Text(folder, read_regular(os.path.join(folder, name), _LARGEST))]
            except OSError:
                continue
    return []


def _files_used(text: _Text) -> dict[str, Use]:
    """The files that a kustomization lists, by their paths."""
    data = read(text.data, 0, 0).data
    if type(data) is not dict:
        return {}
    uses = [
        (each, Use())
        for field in ("resources", "bases", "components", "crds", "patchesStrategicMerge", "transformers", "generators")
        for each in _list(data, field)
    ]
    for patch in (*_list(data, "patches"), *_list(data, "patchesJson6902")):
        target = patch.get("target") if type(patch) is dict else None
        kind = target.get("kind") if type(target) is dict else None
        # A pattern may mean any kind.
        kinds = frozenset((kind,)) if type(kind) is str and kind.isalpha() else frozenset()
        uses.append((patch.get("path") if type(patch) is dict else patch, Use(type(target) is dict, kinds)))
    uses += [(each.get("path"), Use()) for each in _list(data, "replacements") if type(each) is dict]
    found: dict[str, Use] = {}
    for name, use in uses:
        if type(name) is str and name:
            path = os.path.normpath(os.path.join(text.folder, name))
            before = found.get(path)
            found[path] = use if before is None else Use(before.targeted or use.targeted, before.kinds | use.kinds)
    return found


def _list(data: dict[str, Any], field: str) -> list[Any]:
    value = data.get(field)
    return value if type(value) is list else []
