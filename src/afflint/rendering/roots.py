"""The render roots: kustomizations that no other kustomization includes, and charts that are not part of another chart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES, UnparsedKustomization, files_used, first_document, kustomization_in
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART
from afflint.yaml.document import map_at
from afflint.yaml.documents import read

_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization: its folder with links resolved, its file, its data, and the files and folders that it names.

    ``is_generated``: the folder has none, and Flux generates it; the file is that of the object of Flux. ``problem``: why kustomize rejects
    it, although afflint can read it; empty if it does not.
    """

    folder: str
    file: str
    data: Mapping[str, Any]
    named: frozenset[str]
    is_generated: bool = False
    problem: str = ""

    @property
    def is_component(self) -> bool:
        """Whether it is a Component, which cannot be built alone."""
        return self.data.get("kind") == "Component"


@dataclass(slots=True)
class RootKustomizations:
    """The kustomizations of a run by folder, links resolved; each is read once.

    ``top_of`` returns the top of the repository of a folder: kustomizations outside it are not read.
    """

    top_of: Callable[[str], str]
    _by_folder: dict[str, Kustomization | None] = field(default_factory=dict)
    _below: dict[str, list[Kustomization]] = field(default_factory=dict)

    def at(self, folder: str) -> Kustomization | None:
        """Return the kustomization in a folder; None without one that can be parsed."""
        if folder not in self._by_folder:
            text = kustomization_in(folder)
            self._by_folder[folder] = None if text is None else _parsed(text)
        return self._by_folder[folder]

    def generate(self, folder: str, file: str) -> Kustomization | None:
        """Return the kustomization that Flux generates for a folder without one: all its manifests, and the kustomizations below it.

        ``file`` is the file of the object of Flux. None if the folder holds no manifest or too many. After ``scanManifests`` of
        github.com/fluxcd/pkg/kustomize.
        """
        if folder not in self._by_folder or self._by_folder[folder] is None:
            resources = sorted(islice(_manifests_below(folder), _MOST_RESOURCES + 1))
            if not 0 < len(resources) <= _MOST_RESOURCES:
                return None
            named = frozenset(os.path.join(folder, each) for each in resources)
            self._by_folder[folder] = Kustomization(folder, file, {"resources": resources}, named, is_generated=True)
        return self._by_folder[folder]

    def roots(self, folders: Iterable[str]) -> list[Kustomization]:
        """Return the kustomizations in some folders that none of the others includes."""
        found = [each for folder in dict.fromkeys(map(os.path.realpath, folders)) if (each := self.at(folder)) is not None]
        named = {name for each in found for name in each.named if name != each.folder}
        return [each for each in found if not each.is_component and each.folder not in named and each.file not in named]

    def cycles(self, folders: Iterable[str], roots: Iterable[Kustomization]) -> list[list[Kustomization]]:
        """Return the cycles of kustomizations in some folders that include each other, each once, without those that a root includes."""
        seen: set[str] = set()
        for root in roots:
            self._walk(root, seen)
        cycles = []
        for folder in dict.fromkeys(map(os.path.realpath, folders)):
            start = self.at(folder)
            if start is not None and not start.is_component and folder not in seen:
                cycle = self._walk(start, seen)
                cycles += [cycle] if cycle else []
        return cycles

    def _walk(self, start: Kustomization, seen: set[str]) -> list[Kustomization]:
        """Add the folders of all kustomizations that ``start`` includes to ``seen``, and return the first cycle."""
        path, places = [start], {start.folder: 0}
        waiting = [self._included(start)]
        cycle: list[Kustomization] = []
        seen.add(start.folder)
        while path:
            below = next(waiting[-1], None)
            if below is None:
                waiting.pop()
                del places[path.pop().folder]
            elif below.folder in places:
                cycle = cycle or path[places[below.folder] :]
            elif below.folder not in seen:
                seen.add(below.folder)
                places[below.folder] = len(path)
                path.append(below)
                waiting.append(self._included(below))
        return cycle

    def _included(self, kustomization: Kustomization) -> Iterator[Kustomization]:
        folder = kustomization.folder
        if folder not in self._below:
            top = self.top_of(folder)
            real = (os.path.realpath(name) for name in sorted(kustomization.named))
            found = (self.at(each) for each in real if is_inside(each, top) and os.path.isdir(each))
            self._below[folder] = [each for each in found if each is not None]
        return iter(self._below[folder])

    def covered(self, root: Kustomization) -> set[str]:
        """Return the files that the build of a root reads, as far as kustomizations name them, with the kustomizations that are files."""
        files: set[str] = set()
        for here in self.reached(root):
            if not here.is_generated:
                files.add(here.file)
            top = self.top_of(here.folder)
            files.update(real for name in here.named if is_inside(real := os.path.realpath(name), top) and not os.path.isdir(real))
        return files

    def reached(self, root: Kustomization) -> Iterator[Kustomization]:
        """Yield a root, and the kustomizations that it includes, each once."""
        waiting, seen = [root], {root.folder}
        while waiting:
            here = waiting.pop()
            yield here
            for below in self._included(here):
                if below.folder not in seen:
                    seen.add(below.folder)
                    waiting.append(below)


_MOST_RESOURCES = 1000
"""The most manifests and folders of a generated kustomization."""


def _manifests_below(folder: str) -> Iterator[str]:
    """Yield the manifests in a folder and below, and the folders below that have a kustomization, relative to the folder."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        with suppress(OSError), os.scandir(here) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = os.path.relpath(entry.path, folder).replace(os.sep, "/")
                if entry.is_dir(follow_symlinks=False):
                    if kustomization_in(entry.path) is not None:
                        yield path
                    elif not entry.name.startswith("."):
                        waiting.append(entry.path)
                elif entry.name.endswith((".yaml", ".yml")):
                    yield path


def _parsed(text: UnparsedKustomization) -> Kustomization | None:
    document = read(first_document(text.data), 0, 0)
    if document.problem is not None or type(document.data) is not dict:
        return None  # A template, or not a map.
    folder = os.path.realpath(text.folder)
    names = [each for each in NAMES if os.path.lexists(os.path.join(folder, each))]
    problem = "has a field twice" if document.duplicates else "has several files" if len(names) > 1 else ""
    return Kustomization(folder, os.path.join(folder, text.name), document.data, frozenset(files_used(text)), problem=problem)


def kustomization_folders(paths: Iterable[str]) -> list[str]:
    """Return the folders of some files that contain a kustomization. A kustomization that is named alone counts for its folder."""
    folders = dict.fromkeys(os.path.dirname(path) or os.curdir for path in paths)
    return [each for each in folders if any(os.path.isfile(os.path.join(each, name)) for name in NAMES)]


def chart_folders(paths: Iterable[str]) -> list[str]:
    """Return the folders of the charts among some files that can be rendered alone, links resolved: no library charts and no subcharts."""
    found = [os.path.realpath(os.path.dirname(path) or os.curdir) for path in paths if os.path.basename(path) == CHART]
    known = {*found}
    return [each for each in found if not _is_part(each, known) and chart_data(each).get("type") != "library"]


def _is_part(chart: str, known: set[str]) -> bool:
    holder = os.path.dirname(chart)
    return os.path.basename(holder) == "charts" and os.path.dirname(holder) in known


def chart_data(folder: str, name: str = CHART) -> Mapping[str, Any]:
    """Return the data of the Chart.yaml of a folder, or of another file there; an empty map if it cannot be read."""
    try:
        data = read(first_document(read_regular(os.path.join(folder, name), _LARGEST)), 0, 0).data
    except OSError:
        return {}
    return map_at(data)
