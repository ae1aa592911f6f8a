"""The trees that kustomize builds from: only what afflint has read of the kustomizations, written once for all builds of a run.

Kustomizations and configurations of plugins are written from their parsed data, so kustomize finds in them what afflint has found. A file
that none of them lists, as far as afflint can tell, is not there. What only the network has is left out: one remote resource must not hide
the objects that an overlay has in the repository.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any
from weakref import finalize

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.rendering import kustomize_charts
from afflint.rendering.kustomize_inputs import KustomizeInputs
from afflint.rendering.programs import RenderError
from afflint.rendering.references import BASES, PLUGINS, Loads, is_remote, written
from afflint.rendering.roots import Kustomization
from afflint.rendering.source_documents import documents_of
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, LARGEST
from afflint.source.temporary_folders import TemporaryFolder
from afflint.source.trees import TreeError, TreeLimits, TreeWriter
from afflint.yaml.document import list_at, map_at, maps_at, text_at
from afflint.yaml.json_text import json_text

_LARGEST = 1 << 20
_MOST_BYTES = 1 << 30
_REMOVABLE = (*BASES, "crds")
"""Fields whose entries can be left out, so that the other objects are still built."""
_STRATEGIC = "patchesStrategicMerge"

CopyChart = Callable[[TreeWriter, str, str, str], object]
"""Copies a chart to a tree: the tree, its top, the folder there and the folder of the chart. Raises OSError and RenderError."""


class RenderTrees:
    """The trees of a run, one for each repository. Threads may share them; they exist as long as this object.

    ``by_default``: the charts that were fetched get no values.
    """

    def __init__(self, copy_chart: CopyChart, *, by_default: bool = False) -> None:
        self._copy_chart = copy_chart
        self._by_default = by_default
        self._lock = Lock()
        self._trees: dict[str, _RepositoryTree] = {}
        self.folder = ""
        """The folder of all trees, links resolved; "" before the first."""

    def add(self, inputs: KustomizeInputs) -> BuildTree:
        """Write what a build reads, unless another build has the same. Raises RenderError."""
        with self._lock:
            tops = dict.fromkeys((inputs.top, *(each.top for each in inputs.bases.values())))
            for top in tops:
                if top not in self._trees:
                    self._trees[top] = self._new_tree(top)
            built = BuildTree({top: self._trees[top].folder for top in tops})
            try:
                for each in inputs.reads.loads:
                    self._write(self._trees[built.top(each.kustomization.folder)], built, inputs, each)
                for folder, chart in inputs.charts.items():
                    self._trees[built.top(folder)].add_chart(folder, chart, self._copy_chart)
                for top in tops:
                    self._trees[top].create_links()
            except OSError as error:
                raise RenderError(f"the kustomization cannot be copied: {error.strerror or error}") from None
            return built

    def _new_tree(self, top: str) -> _RepositoryTree:
        if not self.folder:
            temporary = TemporaryFolder()
            self.folder = temporary.path
            finalize(self, temporary.remove)
        folder = os.path.join(self.folder, str(len(self._trees)))
        os.mkdir(folder, 0o700)
        writer = TreeWriter(folder, TreeLimits("what the kustomizations read", size=_MOST_BYTES))
        finalize(self, writer.close)
        return _RepositoryTree(top, folder, writer)

    def _write(self, tree: _RepositoryTree, built: BuildTree, inputs: KustomizeInputs, loads: Loads) -> None:
        here = loads.kustomization
        bases = {text: each.folder for text, each in inputs.bases.items()}

        def path_of(text: str, here: Kustomization) -> str | None:
            """Return the path by which a kustomization names a base; None for one that was not fetched."""
            if not is_remote(text, here.folder):
                return text
            base = bases.get(text)
            return None if base is None else os.path.relpath(built.of(base), built.of(here.folder)).replace(os.sep, "/")

        is_incomplete = bool(inputs.reads.remote) or here.is_component  # The objects of a component are those of others.
        data = _without_remote(here, inputs.charts, path_of, is_incomplete=is_incomplete)
        data = _without_values(data, here.folder, inputs.charts) if self._by_default else data
        name = NAMES[0] if here.is_generated else os.path.basename(here.file)
        tree.add(os.path.join(here.folder, name), written(_renamed(data, loads.inline)))
        for file in loads.files:
            tree.add(file, loads.plugins.get(file))
        for folder in loads.folders:
            tree.link(folder)
        for chart in filter(os.path.isdir, loads.charts):
            tree.add_chart(chart, os.path.realpath(chart), self._copy_chart)


class BuildTree(NamedTuple):
    """Where a build finds its repositories: the folders of their trees, by their tops with links resolved."""

    trees: Mapping[str, str]

    def top(self, path: str) -> str:
        """Return the top of the repository of this build that a path is in."""
        return max((each for each in self.trees if is_inside(path, each)), key=len)

    def of(self, path: str) -> str:
        """Return the place of a file or folder, links resolved, in its tree."""
        top = self.top(path)
        return os.path.normpath(os.path.join(self.trees[top], os.path.relpath(path, top)))

    def original(self, path: str) -> str:
        """Return the original of a path of a tree; other paths are returned as they are."""
        for top, folder in self.trees.items():
            if is_inside(path, folder):
                return os.path.normpath(os.path.join(top, os.path.relpath(path, folder)))
        return path

    def shown(self, text: str) -> str:
        """Return a message with the original paths."""
        for top, folder in self.trees.items():
            text = text.replace(folder, top)
        return text


class _RepositoryTree:
    """The tree of the repository with the top ``top``, links resolved, in ``folder``."""

    def __init__(self, top: str, folder: str, writer: TreeWriter) -> None:
        self.top, self.folder, self._writer = top, folder, writer
        self._known: set[str] = set()

    def add(self, path: str, data: bytes | None = None) -> None:
        """Write a file at its place: with this content, or that of the original. The links that lead to it become links of the tree."""
        if path in self._known:
            return
        self._known.add(path)
        real = self._resolved(path)
        if real is None or (real != path and real in self._known):
            return
        self._known.add(real)
        name = self._name(real)
        if not self._writer.write(name, read_regular(real, LARGEST) if data is None else data) and name not in self._writer:
            raise TreeError(f"{quoted(name)}: {self._writer.left_out[name]}")

    def link(self, path: str) -> None:
        """Let a path of a folder lead where it leads in the original."""
        if path not in self._known:
            self._known.add(path)
            self._resolved(path)

    def add_chart(self, path: str, chart: str, copy_chart: CopyChart) -> None:
        """Copy the chart in the folder ``chart`` to a place."""
        if path not in self._known:
            self._known.add(path)
            name = self._name(path)
            copy_chart(self._writer, self.folder, name, chart)
            if f"{name}/{CHART}" not in self._writer:  # kustomize would download it.
                raise RenderError(f"the chart {quoted(name)} has no {CHART} that can be read")

    def create_links(self) -> None:
        """Create the links that were added."""
        self._writer.create_links()

    def _resolved(self, path: str) -> str | None:
        """Return a path with its links resolved, and add each link; None if it leads out of the repository."""
        here = self.top
        for part in os.path.relpath(path, self.top).split(os.sep):
            step = os.path.join(here, part)
            real = os.path.realpath(step)
            if not is_inside(real, self.top):
                return None
            if real != step:
                self._writer.link(self._name(step), os.path.relpath(real, here).replace(os.sep, "/"))
            here = real
        return here

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.top).replace(os.sep, "/")


def _renamed(data: Mapping[str, Any], inline: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the data of a kustomization with the present name of a field that kustomize only renames in YAML.

    ``inline`` are the configurations of plugins in its text, as afflint has parsed them.
    """
    plugins = {field: [inline.get(each, each) if type(each) is str else each for each in list_at(data, field)] for field in PLUGINS}
    known = {**data, **{field: entries for field, entries in plugins.items() if entries}}
    return {("images" if key == "imageTags" else key): value for key, value in known.items()}


def _without_remote(
    here: Kustomization, downloaded: Mapping[str, str], path_of: Callable[[str, Kustomization], str | None], *, is_incomplete: bool
) -> Mapping[str, Any]:
    """Return the data of a kustomization without what it would download.

    ``path_of`` returns the path of a base, and None for one that is left out. If the objects are incomplete because of that, patches of
    those that are missing no longer fail.
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
    if not is_incomplete:
        return data
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
    documents = documents_of(text).values()
    for document in documents:
        data = map_at(document.data)
        if document.problem is not None or not text_at(data, "metadata", "name"):
            return unchanged
        group, _, version = text_at(data, "apiVersion").rpartition("/")
        target = {"group": group, "version": version, "kind": text_at(data, "kind"), "name": text_at(data, "metadata", "name")}
        content = (
            (entry if type(entry) is dict else {"patch" if "\n" in patch else "path": patch})
            if len(documents) == 1
            else {"patch": json_text(data)}
        )
        found.append({**content, "target": {key: re.escape(value) for key, value in target.items() if value}})
    return found or unchanged
