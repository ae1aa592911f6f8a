"""The ConfigMaps of a repository, for the objects of Flux that take variables or values from them.

A ConfigMap is a manifest, rendered output, or an entry of ``configMapGenerator``. Several clusters may have ConfigMaps of one name: the
nearest to the object that refers to it counts, and neither if two are equally near.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.rendering.boundary import Boundary
from afflint.rendering.source_documents import SourceText, files_with, source_texts
from afflint.source.files import read_regular
from afflint.source.kustomizations import NAMES as NAMES_OF_KUSTOMIZATIONS
from afflint.source.repositories import is_inside
from afflint.yaml.document import list_at, map_at, text_at, texts_at
from afflint.yaml.object_fields import kind_of, metadata_of

_LARGEST = 1 << 20
_KIND, _GENERATORS = "ConfigMap", "configMapGenerator"


class Entry(NamedTuple):
    """A value of a ConfigMap. ``text`` and ``path`` are where it is written; ``file`` is the file that contains exactly this value."""

    value: str
    text: SourceText | None
    path: Path
    file: str = ""

    def documents(self) -> list[SourceText]:
        """Return the YAML documents in the value, with their positions in the file that has them."""
        if self.file:
            try:
                return source_texts(self.file, read_regular(self.file, _LARGEST))
            except OSError:
                return []
        return [] if self.text is None else self.text.inside(self.path)


class ConfigMap(NamedTuple):
    """A ConfigMap: its namespace ("" if it is not written), the folder that it belongs to, and its values."""

    name: str
    namespace: str
    folder: str
    entries: Mapping[str, Entry]


class ConfigMaps:
    """The ConfigMaps in some files, which are read when the first one is asked for."""

    def __init__(self, paths: Sequence[str], boundary: Boundary) -> None:
        self._paths = paths
        self._boundary = boundary
        self._outputs: list[tuple[str, bytes]] = []
        self._rendered: list[ConfigMap] | None = []
        self._parsed: dict[str, list[ConfigMap]] = {}
        self._covered: frozenset[str] = frozenset()

    def set_rendered(self, outputs: Iterable[tuple[str, bytes]], covered: frozenset[str]) -> None:
        """Take the ConfigMaps of rendered output, given with its path, instead of those in the files that it was rendered from."""
        self._covered = covered
        self._outputs = [(path, output) for path, output in outputs if _KIND.encode() in output]
        self._rendered = None

    def find(self, name: str, namespace: str, starts: Iterable[str]) -> ConfigMap | None:
        """Return the ConfigMap of a name that is nearest to the first folder of ``starts`` for which a single one is nearest."""
        if self._rendered is None:
            self._rendered = [each for path, output in self._outputs for each in self._in_output(path, output)]
        current = [*self._rendered, *(each for file, each in self._read[0] if file not in self._covered)]
        generated = [each for _, each in self._read[1]]
        folders = list(starts)
        for known in (current, generated):
            named = [each for each in known if each.name == name and (not namespace or each.namespace in ("", namespace))]
            for start in folders:
                nearest = _nearest(named, start)
                if nearest is not None:
                    return nearest
        return None

    @cached_property
    def _read(self) -> tuple[list[tuple[str, ConfigMap]], list[tuple[str, ConfigMap]]]:
        """The ConfigMaps in files, and those of generators in kustomizations, each with its file."""
        written, generated = [], []
        for file, data in files_with(self._paths, _KIND.encode(), _GENERATORS.encode()):
            if _KIND.encode() in data:
                written += [(file, each) for each in _in_text(file, data)]
            if _GENERATORS.encode() in data and os.path.basename(file) in NAMES_OF_KUSTOMIZATIONS:
                generated += [(file, each) for each in self._of_generators(file, data)]
        return written, generated

    def _in_output(self, path: str, output: bytes) -> Iterator[ConfigMap]:
        """Yield the ConfigMaps of rendered output. Values that a generator took from a file are in this file."""
        files: dict[str, list[Entry]] = {}
        for file, each in self._read[1]:
            for key, entry in each.entries.items() if file in self._covered else ():
                files.setdefault(key, []).append(entry)
        if path not in self._parsed:  # The path is that of one build.
            self._parsed[path] = list(_in_text(path, output))
        for each in self._parsed[path]:
            entries = {
                key: next((known for known in files.get(key, ()) if known.value.strip() == entry.value.strip()), entry)
                for key, entry in each.entries.items()
            }
            yield each._replace(entries=entries)

    def _of_generators(self, file: str, data: bytes) -> Iterator[ConfigMap]:
        folder = os.path.dirname(file)
        for text in source_texts(file, data):
            for number, generator in enumerate(list_at(text.data, _GENERATORS)):
                namespace = text_at(generator, "namespace") or text_at(text.data, "namespace")
                base: Path = (_GENERATORS, number)
                entries = {**self._of_files(generator, folder), **_of_literals(text, generator, base)}
                yield ConfigMap(text_at(generator, "name"), namespace, folder, entries)

    def _of_files(self, generator: Mapping[str, Any], folder: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for each in texts_at(generator, "files"):
            key, separator, name = each.partition("=")
            text = self._text_of(folder, name if separator else each)
            if text is not None:
                found[key if separator else os.path.basename(each)] = Entry(text[1], None, (), text[0])
        for name in [*texts_at(generator, "envs"), text_at(generator, "env")]:
            text = self._text_of(folder, name) if name else None
            for line in text[1].splitlines() if text is not None else ():
                key, separator, value = line.strip().partition("=")
                if separator and not key.startswith("#"):
                    found[key] = Entry(value, None, ())
        return found

    def _text_of(self, folder: str, name: str) -> tuple[str, str] | None:
        """Return the real path and the text of a file of the repository; None without one."""
        if not name or "\0" in name or "://" in name:
            return None
        path = os.path.realpath(os.path.join(folder, name))
        if not is_inside(path, self._boundary.top(folder)):
            return None
        try:
            return path, read_regular(path, _LARGEST).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None


def _in_text(file: str, data: bytes) -> Iterator[ConfigMap]:
    for text in source_texts(file, data):
        if kind_of(text.data) == _KIND:
            values, metadata = map_at(text.data, "data"), metadata_of(text.data)
            entries = {key: Entry(value, text, ("data", key)) for key, value in values.items() if type(value) is str}
            yield ConfigMap(text_at(metadata, "name"), text_at(metadata, "namespace"), os.path.dirname(file), entries)


def _of_literals(text: SourceText, generator: Mapping[str, Any], base: Path) -> dict[str, Entry]:
    found = {}
    for number, each in enumerate(list_at(generator, "literals")):
        key, separator, value = each.partition("=") if type(each) is str else ("", "", "")
        if separator:
            found[key] = Entry(value.strip("'\""), text, (*base, "literals", number))
    return found


def _nearest(found: Sequence[ConfigMap], start: str) -> ConfigMap | None:
    """Return the ConfigMap nearest to a folder; None without one, or if two with other values are equally near."""
    ranked = sorted(((_distance(each.folder, start), number) for number, each in enumerate(found)))
    if not ranked:
        return None
    nearest = [found[number] for distance, number in ranked if distance == ranked[0][0]]
    values = [{key: entry.value for key, entry in each.entries.items()} for each in nearest]
    return nearest[0] if all(each == values[0] for each in values) else None


def _distance(folder: str, start: str) -> tuple[int, int]:
    """Return how many folders one goes up from ``start``, and then down to a folder."""
    ours, theirs = start.split(os.sep), folder.split(os.sep)
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False))))
    return len(ours) - shared, len(theirs) - shared
