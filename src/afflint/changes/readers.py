"""What reads a file of a repository without a name that shows it: a chart, a kustomization, or an object of Argo CD or Flux."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cached_property

from afflint.changes.changed_files import is_document
from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.roots import RootKustomizations, kustomization_folders
from afflint.source.files import read_regular
from afflint.source.kustomizations import kustomization_in
from afflint.source.repositories import is_inside
from afflint.source.sources import CHART, LARGEST
from afflint.yaml.prefilter import is_values_file

_NAMING_OBJECTS = (b"valuesFrom", b"substituteFrom")
_USES_OBJECTS = (b"replacements:", b"vars:")
"""The fields with which a kustomization writes what a ConfigMap contains into other objects."""
_OF_HELMFILES = (b"releases:", b"environments:", b"helmfiles:")
_NAMING_VALUES = (b"valueFiles", b"valuesFile", b"ApplicationSet", b"fileParameters", *_OF_HELMFILES, *_NAMING_OBJECTS)
"""The fields that name files, ConfigMaps and Secrets with values."""
_OBJECT_NAME = re.compile(rb"\bname[\"']?: *[\"']?([\w.-]+)")
_FILE_NAME = re.compile(rb"(?<![\w./*?$+{}-])(?:[\w./*?$+-]|\{+[^{}\n]*\}+)+\.(?:ya?ml|json|gotmpl)\b")
"""The name of a file, perhaps with variables. It begins at a place where no name continues, so that a long text is searched once."""
_VARIABLE = re.compile(r"\$?\{+[^{}]*\}+|\*+")
_PARAMETER_FILE = re.compile(rb"\bpath: *[\"']?([^\s\"',}]+)")
_ANYTHING = "[^/]*"
_MOST_VARIABLES = 3
_MOST_PATTERNS = 300
_LONGEST_NAME = 500
_READS_FILES = re.compile(rb"\.Files\b")


class _Reading(NamedTuple):
    """How a kustomization reads a file: see the methods of ``Readers``."""

    kustomization: str
    is_loaded: bool
    has_values: bool


class Readers:
    """The charts, kustomizations and other objects of a side that read files.

    ``root`` is the root of the repository, links resolved; ``paths`` returns the files of the side that are compared.
    """

    def __init__(self, root: str, paths: Callable[[], Iterable[str]]) -> None:
        self._root, self._paths = root, paths
        self._charts: dict[str, str | None] = {}
        self._reading: dict[str, bool] = {}

    def is_checked(self, path: str) -> bool:
        """Return whether the file at a path is one of the compared files, so that its manifests are read."""
        full = os.path.join(self._root, path)
        return full in self._checked and os.path.isfile(full)

    @cached_property
    def _checked(self) -> frozenset[str]:
        folders: dict[str, str] = {}
        found = []
        for path in self._paths():
            folder, name = os.path.split(path)
            if folder not in folders:
                folders[folder] = os.path.realpath(folder)
            found.append(os.path.join(folders[folder], name))
        return frozenset(found)

    def is_read(self, path: str) -> bool:
        """Return whether a chart or a kustomization may read the file at a path below the root, whatever its name is."""
        chart = self.chart_around(path)
        if chart is not None and (not is_document(path) or self.reads_files(chart)):
            return True
        return self.kustomization_of(path) is not None or self.names_values(path)

    def chart_around(self, path: str) -> str | None:
        """Return the folder below the root of the innermost chart that has the file at a path; None outside of charts."""
        return self._chart_of(os.path.dirname(path))

    def _chart_of(self, folder: str) -> str | None:
        above = [folder]
        while above[-1] and above[-1] not in self._charts:
            above.append(os.path.dirname(above[-1]))
        found: str | None = None
        for each in reversed(above):
            if each not in self._charts:
                self._charts[each] = each if os.path.isfile(os.path.join(self._root, each, CHART)) else found
            found = self._charts[each]
        return found

    def reads_files(self, chart: str) -> bool:
        """Return whether a template of a chart reads other files than values."""
        if chart not in self._reading:
            from afflint.rendering.line_marks import templates_of

            self._reading[chart] = any(_READS_FILES.search(_content(each)) for each in templates_of(os.path.join(self._root, chart)))
        return self._reading[chart]

    def kustomization_of(self, path: str) -> str | None:
        """Return the kustomization below the root that is built with the file at a path; None for no such file."""
        found = self._of_kustomizations.get(path)
        return None if found is None else found.kustomization

    def is_loaded(self, path: str) -> bool:
        """Return whether a kustomization reads a file, other than as the content of a ConfigMap or Secret."""
        found = self._of_kustomizations.get(path)
        return found is not None and found.is_loaded

    def has_values(self, path: str) -> bool:
        """Return whether a kustomization puts a file into a ConfigMap or Secret under the name of a values file."""
        found = self._of_kustomizations.get(path)
        return found is not None and found.has_values

    @cached_property
    def _of_kustomizations(self) -> dict[str, _Reading]:
        """The files that kustomizations among the compared files name, or those that they include, by their paths below the root."""
        from afflint.rendering.references import NamedFiles

        known = RootKustomizations(lambda _: self._root)
        every, found, seen = NamedFiles(known), dict[str, _Reading](), set[str]()
        start = len(os.path.join(self._root, ""))
        for folder in kustomization_folders(self._paths()):
            top = known.at(os.path.realpath(folder))
            if top is None or top.folder in seen:
                continue
            for here in known.reached(top):
                own = {here.file: None, **every.files_of(here)}
                for path, key in own.items() if here.folder not in seen else ():
                    if is_inside(path, self._root):
                        below = path[start:].replace(os.sep, "/")
                        found.setdefault(below, _Reading(top.file[start:], key is None, is_values_file(key or "")))
                seen.add(here.folder)
        return found

    @cached_property
    def uses_objects(self) -> bool:
        """Whether a kustomization writes what a ConfigMap contains into other objects."""
        folders = {os.path.join(self._root, os.path.dirname(each)) for each in self._of_kustomizations}
        texts = [text.data for folder in folders if (text := kustomization_in(folder)) is not None]
        return any(word in text for text in texts for word in _USES_OBJECTS)

    @property
    def takes_objects(self) -> bool:
        """Whether an object of Flux takes values or variables from ConfigMaps or Secrets."""
        return self._names[2]

    def names_values(self, path: str) -> bool:
        """Return whether an object of Argo CD or Flux, or a helmfile, may name the file at a path as one with values."""
        names, patterns, _ = self._names
        return os.path.basename(path) in names or (patterns is not None and patterns.search(f"/{path}") is not None)

    def names_object(self, name: str) -> bool:
        """Return whether an object of Argo CD or Flux may take values or variables from the object with a name."""
        return name in self._names[0]

    @cached_property
    def _names(self) -> tuple[frozenset[str], re.Pattern[str] | None, bool]:
        """The names of files and objects with values, a pattern for names of files with variables, and whether objects are named."""
        names: set[str] = set()
        patterns: dict[str, None] = {}
        takes_objects = False
        for path in self._paths():
            data = _content(path)
            own = os.path.relpath(os.path.dirname(path), self._root).replace(os.sep, "/")
            takes_objects = takes_objects or any(word in data for word in _NAMING_OBJECTS)
            if any(word in data for word in (*_NAMING_VALUES, *_USES_OBJECTS)):
                names.update(each.decode("utf-8", "replace") for each in _OBJECT_NAME.findall(data))
            if any(word in data for word in _NAMING_VALUES):
                named = _PARAMETER_FILE.findall(data) if b"fileParameters" in data else []
                for found in (*_FILE_NAME.findall(data), *named):
                    parts = _parts(found.decode("utf-8", "replace")) if len(found) < _LONGEST_NAME else []
                    if any(map(_VARIABLE.search, parts)):
                        is_any = len(parts) == 1 and not _VARIABLE.sub("", parts[0]).rpartition(".")[0]
                        start = f"^/{re.escape(own)}" if is_any and own != os.curdir else "^" if is_any else ""
                        patterns[f"{start}{'/'.join(['', *map(_pattern, parts)])}$"] = None
                    elif parts:
                        names.add(parts[-1])
        if len(patterns) > _MOST_PATTERNS:
            patterns = {r"\.(?:ya?ml|json|gotmpl)$": None}  # Each file would be compared with each of them.
        return frozenset(names), re.compile("|".join(patterns)) if patterns else None, takes_objects


def _parts(name: str) -> list[str]:
    """Return the parts of the name of a file that identify it: without the reference of Argo CD, and what `**` matches."""
    parts = [part for part in name.split("/") if part not in ("", os.curdir, os.pardir) and re.fullmatch(r"\$\w+", part) is None]
    return parts[max((number for number, part in enumerate(parts, 1) if part == "**"), default=0) :]


def _pattern(part: str) -> str:
    """Return a pattern for the names that a part with variables or wildcards may mean."""
    literals = _VARIABLE.split(part)
    if len(literals) > _MOST_VARIABLES:
        return _ANYTHING  # A search for many takes long, and they say little.
    return _ANYTHING.join(map(re.escape, literals))


def _content(path: str) -> bytes:
    try:
        return read_regular(path, LARGEST)
    except OSError:
        return b""
