"""The files of a chart and its dependencies, from its folder or its archive, as far as they matter for what its templates read.

After pkg/chart/loader and pkg/chartutil of helm.sh/helm. Nothing outside the repository of the chart is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from afflint.charts.symbols import TRUE, UNKNOWN, Condition, both_of, negated
from afflint.charts.template_reader import ChartPart
from afflint.findings.paths import Path
from afflint.source.archives import ArchiveBudget, ArchiveError, files_in
from afflint.source.files import read_regular
from afflint.source.repositories import extent_of, is_inside
from afflint.source.sources import CHART, VALUES
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.documents import read

_LARGEST, _LARGEST_ARCHIVE = 1 << 20, 16 << 20
_MOST_FILES, _MOST_SIZE, _DEEPEST = 4000, 24 << 20, 4
_MOST_PARTS = 200
_CHARTS, _TEMPLATES = "charts", "templates"
_REQUIREMENTS = "requirements.yaml"


@dataclass(slots=True)
class ChartFiles:
    """The texts of the files of a chart by their names, and its dependencies by the names of their folders or archives.

    ``more`` returns the text of a file that is in none of these. ``is_whole``: all templates have been read.
    """

    texts: dict[str, str] = field(default_factory=dict)
    charts: dict[str, ChartFiles] = field(default_factory=dict)
    more: Callable[[str], str | None] = lambda _: None
    is_whole: bool = True
    _data: dict[str, dict[str, Any]] = field(default_factory=dict)

    def data(self, name: str) -> dict[str, Any]:
        """Return the data of a YAML file of the chart; an empty map without one."""
        if name not in self._data:
            text = self.texts.get(name)
            document = read(text.encode(), 0, 0) if text is not None else None
            self._data[name] = map_at(document.data) if document is not None and document.problem is None else {}
        return self._data[name]

    def dependencies(self) -> list[dict[str, Any]]:
        """Return the dependencies that the chart declares."""
        return [*maps_at(self.data(CHART), "dependencies"), *maps_at(self.data(_REQUIREMENTS), "dependencies")]


Locate = Callable[[str, Mapping[str, Any]], "str | None"]
"""Returns the folder of a dependency of the chart in a folder, if it is in the same repository."""


Kept = dict[tuple[str, int], ChartFiles]
"""The files of charts that have been read, by their folders and their depths below the chart that depends on them."""


def files_of_chart(folder: str, locate: Locate = lambda *_: None, depth: int = 0, kept: Kept | None = None) -> ChartFiles:
    """Return the files of the chart in a folder. What cannot be read is left out. ``kept`` gets the files of its dependencies."""
    real = os.path.realpath(folder)
    known = kept if kept is not None else {}
    if (real, depth) in known:
        return known[real, depth]
    top = extent_of(real)
    found = ChartFiles()

    def text_of(name: str) -> str | None:
        path = os.path.realpath(os.path.join(real, name))
        with suppress(OSError, UnicodeDecodeError, ValueError):
            return read_regular(path, _LARGEST).decode(errors="replace") if is_inside(path, top) else None
        return None

    found.more = text_of
    budget = _ReadLimit()
    for name in (CHART, VALUES, _REQUIREMENTS, *_names_below(real, _TEMPLATES, top, budget)):
        text = text_of(name) if budget.left > 0 else None
        if text is not None:
            budget.left -= len(text)
            found.texts[name] = text
        elif name.startswith(_TEMPLATES):
            found.is_whole = False
    found.is_whole = found.is_whole and budget.files >= 0
    _add_dependencies(found, real, top, locate, depth, known)
    if depth:
        known[real, depth] = found
    return found


@dataclass(slots=True)
class _ReadLimit:
    """The most characters and files that are read of a chart."""

    left: int = _MOST_SIZE
    files: int = _MOST_FILES


def _names_below(folder: str, name: str, top: str, budget: _ReadLimit) -> Iterator[str]:
    """Yield the names of the files in a folder of a chart. Links are followed, but not out of ``top``."""
    seen: set[str] = set()
    for here, folders, names in os.walk(os.path.join(folder, name), followlinks=True):
        real = os.path.realpath(here)
        if real in seen or not is_inside(real, top):
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for each in sorted(names):
            budget.files -= 1
            if budget.files < 0:
                return
            yield os.path.relpath(os.path.join(here, each), folder).replace(os.sep, "/")


def _add_dependencies(found: ChartFiles, folder: str, top: str, locate: Locate, depth: int, kept: Kept) -> None:
    if depth >= _DEEPEST:
        return
    below = os.path.join(folder, _CHARTS)
    for name in sorted(os.listdir(below))[:_MOST_FILES] if os.path.isdir(below) else ():
        path = os.path.realpath(os.path.join(below, name))
        if not is_inside(path, top):
            continue
        if os.path.isdir(path):
            found.charts[name] = files_of_chart(path, locate, depth + 1, kept)
        elif name.endswith(".tgz"):
            with suppress(OSError, ArchiveError):
                found.charts[name] = files_of_archive(read_regular(path, _LARGEST_ARCHIVE))
    own = {text_at(each.data(CHART), "name") for each in found.charts.values()}
    for each in found.dependencies():
        name = text_at(each, "name")
        inner = locate(folder, each) if name and name not in own else None
        if inner is not None and is_inside(os.path.realpath(inner), top):
            found.charts[name] = files_of_chart(inner, locate, depth + 1, kept)


def files_of_archive(data: bytes) -> ChartFiles:
    """Return the files of a packed chart. Raises ArchiveError."""
    return _from_entries(_entries_of(data, ArchiveBudget(_MOST_SIZE * 2)), ArchiveBudget(_MOST_SIZE * 2), 0)


def _entries_of(data: bytes, budget: ArchiveBudget) -> dict[str, bytes]:
    return {each.name.partition("/")[2]: each.data for each in files_in(data, budget) if len(each.data) <= _LARGEST_ARCHIVE}


def _from_entries(entries: Mapping[str, bytes], budget: ArchiveBudget, depth: int) -> ChartFiles:
    found = ChartFiles()
    inner: dict[str, dict[str, bytes]] = {}
    for name, data in entries.items():
        folder, _, rest = name.partition("/")
        if folder == _CHARTS and "/" in rest:
            first, _, below = rest.partition("/")
            inner.setdefault(first, {})[below] = data
        elif folder == _CHARTS and rest.endswith(".tgz") and depth < _DEEPEST:
            with suppress(ArchiveError):
                inner[rest] = _entries_of(data, budget)
        elif len(data) <= _LARGEST:
            with suppress(UnicodeDecodeError):
                found.texts[name] = data.decode()
    found.more = found.texts.get
    if depth < _DEEPEST:
        found.charts = {name: _from_entries(each, budget, depth + 1) for name, each in sorted(inner.items()) if CHART in each}
    return found


# The parts of a chart.


@dataclass(slots=True)
class ChartParts:
    """A chart with its dependencies.

    ``defaults`` are its values with theirs, ``missing`` the paths of the values of the dependencies that are not known, and ``conditions``
    the values that switch dependencies on and off.
    """

    name: str
    parts: list[ChartPart] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)
    missing: list[Path] = field(default_factory=list)
    conditions: list[Path] = field(default_factory=list)
    is_library: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the chart has neither templates nor dependencies."""
        return not self.missing and not any(part.files for part in self.parts)


def parts_of_chart(files: ChartFiles) -> ChartParts:
    """Return a chart and its dependencies, each with the path of its values."""
    data = files.data(CHART)
    found = ChartParts(text_at(data, "name"), is_library=data.get("type") == "library")
    _add_parts(found, files, (), "", TRUE)
    return found


def _add_parts(found: ChartParts, files: ChartFiles, prefix: Path, base: str, used: Condition) -> None:
    data = files.data(CHART)
    templates = {f"{base}{name}": text for name, text in files.texts.items() if name.startswith(f"{_TEMPLATES}/")}
    part = ChartPart(text_at(data, "name"), prefix, templates, base, data.get("type") == "library", _lookup(files), used)
    found.parts.append(part)
    is_cut = len(found.parts) > _MOST_PARTS
    if is_cut or not files.is_whole:
        found.missing.append(())  # Anything may be read.
    if is_cut:
        return
    found.defaults = _with_defaults(found.defaults, prefix, files.data(VALUES))
    declared = files.dependencies()
    known = {key: inner for key, inner in files.charts.items() if len(prefix) < _DEEPEST}
    names = {key: text_at(inner.data(CHART), "name") or key for key, inner in known.items()}
    for each in declared:
        name, alias = text_at(each, "name"), text_at(each, "alias") or text_at(each, "name")
        matching = _chosen(each, [key for key, own in names.items() if own == name], known)
        if matching is None or "import-values" in each:  # The chart may read imported values at other paths.
            found.missing.append((*prefix, alias))
        if matching is not None:
            switches: list[Path] = [(*prefix, *path.strip().split(".")) for path in text_at(each, "condition").split(",") if path.strip()]
            found.conditions += switches
            # Helm uses a dependency whose switch is not set.
            switch = negated(("eq", switches[0], False)) if len(switches) == 1 else UNKNOWN if switches or "tags" in each else TRUE
            condition = both_of(used, switch)
            _add_parts(found, known[matching], (*prefix, alias), f"{base}charts/{alias}/", condition)
    for key, inner in known.items():
        if names[key] not in {text_at(each, "name") for each in declared}:
            _add_parts(found, inner, (*prefix, names[key]), f"{base}charts/{names[key]}/", used)


def _chosen(dependency: Mapping[str, Any], keys: list[str], known: Mapping[str, ChartFiles]) -> str | None:
    """Return the key of the chart that a dependency names; None without one, or if it may be one of several versions."""
    if len(keys) > 1:
        keys = [each for each in keys if text_at(known[each].data(CHART), "version") == text_at(dependency, "version")]
    return keys[0] if len(keys) == 1 else None


def _lookup(files: ChartFiles) -> Callable[[str], str | None]:
    return lambda name: files.texts.get(name) if name in files.texts else files.more(name) if _PLAIN_NAME.fullmatch(name) else None


_PLAIN_NAME = re.compile(r"(?!.*\.\.)[\w.-]+(?:/[\w.-]+)*")


def _with_defaults(values: Mapping[str, Any], prefix: Path, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with the defaults of a dependency below a path, where the values have none of their own."""
    nested: Mapping[str, Any] = defaults
    for step in reversed(prefix):
        nested = {str(step): nested}
    return merged_values(nested, values)


def merged_values(base: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a chart with further values: maps are merged, and everything else is replaced."""
    found = dict(base)
    for key, value in further.items():
        known = found.get(key)
        if type(known) is dict and type(value) is dict:
            found[key] = merged_values(known, value)
        elif value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return found
