"""Copies of kustomizations with the bases and charts that were fetched, and without the others in other places.

One remote resource must not hide the objects that an overlay has in the repository. The copy has the same folders, with links to the files
of the original; only the kustomizations differ. So kustomize never connects.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from afflint.findings.phrases import quoted
from afflint.rendering import kustomize_charts
from afflint.rendering.references import BASES, is_remote, texts_of
from afflint.rendering.roots import Kustomization, RootKustomizations
from afflint.rendering.source_documents import documents_of
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_inside
from afflint.yaml.document import list_at, map_at, maps_at, text_at

_LARGEST = 1 << 20
_REMOVABLE = (*BASES, "crds")
"""Fields whose entries can be left out, so that the other objects are still built."""
_STRATEGIC = "patchesStrategicMerge"
_NOTHING: Mapping[str, str] = {}


class OfflineCopy:
    """A copy of some kustomizations, and of those that they include. Raises OSError.

    ``trees``: the tops of the repositories that they are in, with the folders of the copies; all folders have their links resolved.
    ``bases``: the folders of fetched bases, by the texts that name them. ``charts`` are the folders of charts that are not in the
    repository, by those in which kustomize looks for them. ``by_default``: these get no values. ``linked``: files may be links.
    """

    def __init__(
        self,
        known: RootKustomizations,
        folders: list[str],
        trees: Mapping[str, str],
        bases: Mapping[str, str] = _NOTHING,
        charts: Mapping[str, str] = _NOTHING,
        *,
        by_default: bool = False,
        linked: bool = True,
    ) -> None:
        self._trees = trees
        self._bases, self._charts, self._by_default, self._linked = bases, charts, by_default, linked
        for folder, chart in charts.items():
            if self._top(os.path.normpath(folder)) is not None:
                _link(chart, self.of(os.path.normpath(folder)))
        included = list(_included(known, [*folders, *dict.fromkeys(bases.values())]))
        for here in included:
            for each in kustomize_charts.declarations_in(here.data, here.folder).charts:
                self._link(os.path.normpath(each.folder))
        for here in included:
            self._write(here)
        # Last, because what is written through a link changes the original.
        for here in included:
            self._link_files(here)

    def of(self, path: str) -> str:
        """Return the copy of a file or folder of one of the trees."""
        top = self._top(path)
        assert top is not None
        return os.path.normpath(os.path.join(self._trees[top], os.path.relpath(path, top)))

    def original(self, path: str) -> str:
        """Return the original of a file of the copy; other paths are returned as they are."""
        for top, target in self._trees.items():
            if is_inside(path, target):
                return os.path.normpath(os.path.join(top, os.path.relpath(path, target)))
        return path

    def _top(self, path: str) -> str | None:
        """Return the top of the tree that a path is in; None if it is in none."""
        return max((each for each in self._trees if is_inside(path, each)), key=len, default=None)

    def _write(self, here: Kustomization) -> None:
        folder = self.of(here.folder)
        # The folder of a chart is a link to the original, which must not change.
        if not any(is_inside(os.path.realpath(folder), each) for each in self._trees.values()):
            raise OSError(f"{quoted(os.path.relpath(here.folder, self._top(here.folder)))} is in the folder of a chart")
        os.makedirs(folder, exist_ok=True)
        name = NAMES[0] if here.is_generated else os.path.basename(here.file)
        with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
            data = _without_remote(here, self._charts, self._path_of)
            json.dump(_without_values(data, here.folder, self._charts) if self._by_default else data, file)

    def _path_of(self, text: str, here: Kustomization) -> str | None:
        """Return the path by which the copy of a kustomization names a base; None for one that was not fetched."""
        if not is_remote(text, here.folder):
            return text
        base = self._bases.get(text)
        return None if base is None else os.path.relpath(self.of(base), self.of(here.folder)).replace(os.sep, "/")

    def _link_files(self, here: Kustomization) -> None:
        with os.scandir(here.folder) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
        charts = kustomize_charts.declarations_in(here.data, here.folder).charts
        for path in (*names, *texts_of(here.data), *(path for each in charts for path in each.values)):
            original = os.path.normpath(os.path.join(here.folder, path))
            if os.path.isfile(original):
                self._link(original)

    def _link(self, original: str) -> None:
        """Link to a file or folder if it is in the repository."""
        top = self._top(original)
        if top is not None and os.path.exists(original) and is_inside(os.path.realpath(original), top):
            _link(os.path.realpath(original), self.of(original), linked=self._linked)


def _link(target: str, link: str, *, linked: bool = True) -> None:
    os.makedirs(os.path.dirname(link), exist_ok=True)
    with suppress(FileExistsError):
        if linked or os.path.isdir(target):
            os.symlink(target, link)
        elif os.path.isfile(target) and not os.path.lexists(link):
            shutil.copyfile(target, link)


def _included(known: RootKustomizations, folders: list[str]) -> Iterator[Kustomization]:
    """Yield the kustomizations in some folders, and those that they include."""
    waiting, seen = list(folders), {*folders}
    while waiting:
        here = known.at(waiting.pop())
        if here is None:
            continue
        yield here
        for name in sorted(here.named):
            real = os.path.realpath(name)
            if os.path.isdir(real) and real not in seen:
                seen.add(real)
                waiting.append(real)


def _without_remote(
    here: Kustomization, downloaded: Mapping[str, str], path_of: Callable[[str, Kustomization], str | None]
) -> Mapping[str, Any]:
    """Return the data of a kustomization without what it would download. Patches of objects that are left out no longer fail.

    ``path_of`` returns the path of a base, and None for one that is left out.
    """
    data = dict(here.data)
    for field in _REMOVABLE:
        if field in data:
            paths = [path_of(each, here) if type(each) is str else each for each in list_at(data, field)]
            data[field] = [each for each in paths if each is not None]
    if kustomize_charts.FIELD in data:
        charts = kustomize_charts.declarations_in(data, here.folder).charts
        entries = maps_at(data, kustomize_charts.FIELD)
        data[kustomize_charts.FIELD] = [
            entry for entry, chart in zip(entries, charts, strict=True) if chart.is_here or chart.folder in downloaded
        ]
    patches = [each for patch in list_at(data, _STRATEGIC) for each in _targeted(patch, here.folder)]
    for each in list_at(data, "patches"):
        untargeted = type(each) is dict and "target" not in each
        patches += _targeted(each.get("patch") or each.get("path"), here.folder, each) if untargeted else [each]
    data.pop(_STRATEGIC, None)
    return {**data, "patches": patches} if patches else data


def _without_values(data: Mapping[str, Any], folder: str, downloaded: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the data of a kustomization without values for downloaded charts."""
    charts = kustomize_charts.declarations_in(data, folder).charts
    entries = [
        {key: value for key, value in entry.items() if chart.folder not in downloaded or key not in kustomize_charts.VALUES}
        for entry, chart in zip(maps_at(data, kustomize_charts.FIELD), charts, strict=True)
    ]
    return {**data, kustomize_charts.FIELD: entries} if entries else data


def _targeted(patch: object, folder: str, entry: object = None) -> list[Any]:
    """Return a strategic merge patch, inline or in a file, as patches with a target: kustomize skips these if the target is missing."""
    unchanged = [entry] if entry is not None else [{"path": patch}]
    if type(patch) is not str:
        return unchanged
    if "\n" in patch:
        text = patch.encode("utf-8", "replace")
    else:
        try:
            text = read_regular(os.path.join(folder, patch), _LARGEST)
        except (OSError, ValueError):
            return unchanged
    found = []
    for document in documents_of(text).values():
        data = map_at(document.data)
        if document.problem is not None or not text_at(data, "metadata", "name"):
            return unchanged
        group, _, version = text_at(data, "apiVersion").rpartition("/")
        target = {"group": group, "version": version, "kind": text_at(data, "kind"), "name": text_at(data, "metadata", "name")}
        found.append({"target": {key: re.escape(value) for key, value in target.items() if value}, "patch": json.dumps(data)})
    return found or unchanged
