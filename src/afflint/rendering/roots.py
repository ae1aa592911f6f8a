"""What there is to render: kustomizations that no other one names, and charts that are no part of another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES, UnparsedKustomization, files_used, first_document, kustomization_in
from afflint.source.sources import CHART
from afflint.yaml.documents import read

_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization: its folder, links resolved, its file, what it says, and the files and folders that it names."""

    folder: str
    file: str
    data: Mapping[str, Any]
    named: frozenset[str]

    @property
    def is_component(self) -> bool:
        """Whether it is only a part, which cannot be built alone."""
        return self.data.get("kind") == "Component"


@dataclass(slots=True)
class RootKustomizations:
    """Those of a run by their folders, links resolved; each is read once."""

    _known: dict[str, Kustomization | None] = field(default_factory=dict)

    def at(self, folder: str) -> Kustomization | None:
        """The kustomization of a folder; None where there is none that can be read."""
        if folder not in self._known:
            text = kustomization_in(folder)
            self._known[folder] = None if text is None else _parsed(text)
        return self._known[folder]

    def roots(self, folders: Iterable[str]) -> list[Kustomization]:
        """Those of the kustomizations in some folders that none of the others names."""
        found = [each for folder in dict.fromkeys(map(os.path.realpath, folders)) if (each := self.at(folder)) is not None]
        named = {name for each in found for name in each.named if name != each.folder}
        return [each for each in found if not each.is_component and each.folder not in named and each.file not in named]

    def cycles(self, folders: Iterable[str], roots: Iterable[Kustomization]) -> list[list[Kustomization]]:
        """The kustomizations in some folders that include each other in a cycle, each cycle once; not those that a root includes."""
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
        """Add the folders of all that a kustomization includes to those that were seen; the first cycle on the way."""
        way, places = [start], {start.folder: 0}
        waiting = [self._included(start)]
        cycle: list[Kustomization] = []
        seen.add(start.folder)
        while way:
            below = next(waiting[-1], None)
            if below is None:
                waiting.pop()
                del places[way.pop().folder]
            elif below.folder in places:
                cycle = cycle or way[places[below.folder] :]
            elif below.folder not in seen:
                seen.add(below.folder)
                places[below.folder] = len(way)
                way.append(below)
                waiting.append(self._included(below))
        return cycle

    def _included(self, kustomization: Kustomization) -> Iterator[Kustomization]:
        for name in sorted(kustomization.named):
            below = self.at(os.path.realpath(name)) if os.path.isdir(name) else None
            if below is not None:
                yield below

    def covered(self, root: Kustomization) -> set[str]:
        """The files that the build of a root reads, as far as kustomizations name them; they themselves included."""
        files: set[str] = set()
        waiting, seen = [root], {root.folder}
        while waiting:
            here = waiting.pop()
            files.add(here.file)
            for name in here.named:
                if os.path.isdir(name):
                    real = os.path.realpath(name)
                    below = None if real in seen else self.at(real)
                    seen.add(real)
                    if below is not None:
                        waiting.append(below)
                else:
                    files.add(os.path.realpath(name))
        return files


def _parsed(text: UnparsedKustomization) -> Kustomization | None:
    document = read(first_document(text.data), 0, 0)
    if document.problem is not None or type(document.data) is not dict:
        return None  # A template of one, or none at all.
    folder = os.path.realpath(text.folder)
    return Kustomization(folder, os.path.join(folder, text.name), document.data, frozenset(files_used(text)))


def kustomization_folders(paths: Iterable[str]) -> list[str]:
    """The folders of files that have a kustomization, whatever its file is called; one named alone stands for its folder."""
    folders = dict.fromkeys(os.path.dirname(path) or os.curdir for path in paths)
    return [each for each in folders if any(os.path.isfile(os.path.join(each, name)) for name in NAMES)]


def chart_folders(paths: Iterable[str]) -> list[str]:
    """The folders, links resolved, of those files that describe a chart which can be rendered alone: no library, and no part of another."""
    found = [os.path.realpath(os.path.dirname(path) or os.curdir) for path in paths if os.path.basename(path) == CHART]
    known = {*found}
    return [each for each in found if not _is_part(each, known) and chart_data(each).get("type") != "library"]


def _is_part(chart: str, known: set[str]) -> bool:
    holder = os.path.dirname(chart)
    return os.path.basename(holder) == "charts" and os.path.dirname(holder) in known


def chart_data(folder: str, name: str = CHART) -> Mapping[str, Any]:
    """What the Chart.yaml of a folder says, or another file there; nothing where it cannot be read."""
    try:
        data = read(first_document(read_regular(os.path.join(folder, name), _LARGEST)), 0, 0).data
    except OSError:
        return {}
    return data if type(data) is dict else {}
