"""What the templates of a chart do with each of its values: whether they read it, and the field of an object that it becomes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from afflint.charts.chart_files import ChartParts
from afflint.charts.symbols import Ref, paths_of
from afflint.charts.template_layout import Landing, LayoutTooLargeError, ObjectText, objects_in
from afflint.charts.template_reader import GLOBAL, RELEASE_NAME, TemplateReader, ValueReads, WrittenFile
from afflint.findings.grouping import grouped
from afflint.findings.paths import Path
from afflint.kube.kinds import EACH
from afflint.yaml.template_actions import actions_in, word_of

_CHAIN = re.compile(r"\.Values((?:\.\w+)+)")
_INDIRECT = re.compile(r"\bValues\b")
_OF_FILES = re.compile(r"\.Files\.\w+([^\n]*)")
_PLAIN_FILE = re.compile(r'^\s*"(?!values)[^"]*\.(?!ya?ml")\w+"')
"""The name of a file with another ending than that of YAML."""
_SWITCH = re.compile(r"(?i)\.\w*(?:affinity|tolerations?|node_?selector|spread)\w*(?:\.\w|(?:enabled|type|preset)\b)")


class ChartTable:
    """What the templates of a chart and its dependencies do with values. They are read when this is asked for the first time.

    ``folder`` is where the chart is, "" if that does not matter. ``stops``: reading ends where a template may read any value, so that
    ``is_known`` is false for each.
    """

    def __init__(self, chart: ChartParts, folder: str = "", *, stops: bool = False) -> None:
        self.chart = chart
        self.folder = folder
        self._stops = stops

    @property
    def name(self) -> str:
        """The name of the chart."""
        return self.chart.name

    @cached_property
    def _written(self) -> tuple[list[WrittenFile], ValueReads]:
        reader = TemplateReader(self.chart.parts, is_complete=not self.chart.missing, stops=self._stops)
        return reader.written(), reader.reads

    @property
    def reads(self) -> ValueReads:
        """The values that the templates read."""
        return self._written[1]

    @cached_property
    def objects(self) -> list[ObjectText]:
        """The objects that the templates write; none if they are too large."""
        written, reads = self._written
        try:
            return objects_in(written)
        except LayoutTooLargeError:
            reads.opened = reads.opened or (written[0].file, 1)
            return []

    @cached_property
    def landings(self) -> list[Landing]:
        """The gaps in these objects."""
        return [landing for each in self.objects for landing in each.landings]

    def _owner(self, path: Path) -> Path:
        """Return the path of the values of the dependency, or of the chart, whose values contain a path."""
        return max((part.prefix for part in self.chart.parts if path[: len(part.prefix)] == part.prefix), key=len, default=())

    def names(self, path: Path) -> bool:
        """Return whether a template writes the value at a path, or works with it, by its whole name. This is fast.

        An `if` may ask for a value that nothing writes.
        """
        owner = self._owner(path)
        chain = "." + ".".join(map(str, ("Values", *path[len(owner) :])))
        named = re.compile(rf"{re.escape(chain)}(?![\w.])")
        texts = [text for part in self.chart.parts if part.prefix == owner for text in part.files.values() if chain in text]
        return any(named.search(action) for text in texts for asks, action in _actions_of(text) if not asks)

    @cached_property
    def has_switches(self) -> bool:
        """Whether a template may ask for a value whose name contains that of a constraint. This is fast."""
        texts = [text for part in self.chart.parts for text in part.files.values() if _SWITCH.search(text)]
        return any(_SWITCH.search(action) for text in texts for asks, action in _actions_of(text) if asks)

    @cached_property
    def reads_files(self) -> bool:
        """Whether a template may read other files of the chart, such as the values of other charts."""
        texts = [text for part in self.chart.parts for text in part.files.values() if ".Files." in text]
        return any(_PLAIN_FILE.search(match[1]) is None for text in texts for match in _OF_FILES.finditer(text))

    def prefixes_of(self, name: str) -> list[Path]:
        """Return the paths of the values of the dependencies with a name."""
        return [part.prefix for part in self.chart.parts if part.prefix and part.name == name]

    @cached_property
    def _whole(self) -> _PathTree:
        return _PathTree(self.reads.whole)

    @cached_property
    def _asked(self) -> _PathTree:
        # A value with any name is asked for by its name only in a loop.
        return _PathTree([*(each for each in self.reads.asked if each[:1] != (EACH,)), *self.chart.conditions])

    @cached_property
    def paths(self) -> list[Path]:
        """The paths of the values that the templates read."""
        return [*dict.fromkeys(path for path in self.reads.whole if path and path != RELEASE_NAME)]

    def prints(self, path: Path) -> bool:
        """Return whether a template prints the value at a path as it is, so that the chart expects text."""
        return any(each.value == Ref(path) and each.form in ("text", "quoted") for each in self.landings)

    def line_of(self, path: Path, file: str, *, written: bool = False) -> tuple[str, int] | None:
        """Return a template and the first line that reads the value at a path, in the ``file`` if possible; None if none reads it.

        ``written``: a line that writes it is better than one that only asks for it.
        """
        found = [((each.file, each.line), False) for each in self.landings if each.value == Ref(path)]
        found += [(at, written) for known in (self.reads.asked, self.reads.whole) if (at := known.get(path)) is not None]
        return min(found, key=lambda each: (each[0][0] != file, each[1], each[0]))[0] if found else None

    def is_known(self, path: Path) -> bool:
        """Return whether everything that may read the value at a path is known. A chart that writes nothing may be for other charts."""
        if self.reads.opened is not None or self.chart.is_library or self.chart.is_empty:
            return False
        if any(path[: len(part.prefix) + 1] == (*part.prefix, GLOBAL) for part in self.chart.parts):
            return False  # All charts of a release share these.
        unknown = (*self.chart.missing, *self.reads.replaced)
        return not any(_matches(each[: len(path)], path[: len(each)]) for each in unknown)

    @property
    def changes_values(self) -> bool:
        """Whether a template changes the values that the chart gets, so that conditions and labels may be others."""
        return bool(self.reads.replaced)

    def has_templates_for(self, path: Path) -> bool:
        """Return whether the chart has templates, or the dependency whose values contain a path."""
        owner = self._owner(path)
        return any(part.prefix == owner and part.files for part in self.chart.parts)

    def reads_at(self, path: Path) -> bool:
        """Return whether a template reads the value at a path, a part of it, or a map that contains it."""
        return self._whole.meets(path)

    def asks_at(self, path: Path) -> bool:
        """Return whether a template asks whether the value at a path is set."""
        return path in self.reads.asked

    def asks_below(self, path: Path) -> bool:
        """Return whether a template asks whether a part of the value at a path is set, so that the value is a switch of the chart."""
        return self._asked.goes_on(path)

    def at(self, path: Path) -> Iterator[tuple[Landing, Path]]:
        """Yield the places that the value at a path reaches, each with the path in the object."""
        for each, own in self._near(path):
            if each.field is not None and _matches(own, path[: len(own)]):
                yield each, (*each.field, *path[len(own) :])

    def below(self, path: Path) -> Iterator[Landing]:
        """Yield the gaps for parts of the value at a path."""
        for each, own in self._near(path):
            if len(own) > len(path) and _matches(own[: len(path)], path):
                yield each

    def mixes(self, path: Path) -> bool:
        """Return whether a gap has the value at a path, or a part of it, in a form that is not known."""
        return self._mixed.meets(path)

    @cached_property
    def _mixed(self) -> _PathTree:
        return _PathTree([path for each in self.landings if not isinstance(each.value, Ref) for path in paths_of(each.value)])

    def _near(self, path: Path) -> Iterator[tuple[Landing, Path]]:
        """Yield the gaps for values whose path begins as a path does, with that of the value."""
        for first in dict.fromkeys((*path[:1], EACH, None)) if path[:1] != (EACH,) else self._by_first:
            yield from self._by_first.get(first, ())

    @cached_property
    def _by_first(self) -> dict[Any, list[tuple[Landing, Path]]]:
        """The gaps for values, by the first step of their path; None for all values."""
        return grouped(
            (next(iter(each.value.path), None), (each, each.value.path)) for each in self.landings if isinstance(each.value, Ref)
        )


@lru_cache(maxsize=512)
def _actions_of(text: str) -> list[tuple[bool, str]]:
    """Return the actions of a template without comments, each with whether it asks for values. Many charts may share a template."""
    found = [(word_of(each.text), each.text) for each in actions_in(text).found]
    return [(word in ("if", "else"), action) for word, action in found if word != "/*"]


class _PathTree:
    """Paths, to be found by their beginnings."""

    def __init__(self, paths: Iterator[Path] | Mapping[Path, Any] | list[Path]) -> None:
        self._root: dict[Any, Any] = {}
        for path in paths:
            here = self._root
            for step in path:
                here = here.setdefault(step, {})
            here[_END] = {}

    def meets(self, path: Path) -> bool:
        """Return whether a path is one of them, begins with one of them, or is the beginning of one."""
        here = [self._root]
        for step in path:
            if any(_END in each for each in here):
                return True
            here = _below(here, step)
        return bool(here)

    def goes_on(self, path: Path) -> bool:
        """Return whether a path is the beginning of a longer one of them."""
        here = [self._root]
        for step in path:
            here = _below(here, step)
        return any(key is not _END for each in here for key in each)


def _below(here: list[dict[Any, Any]], step: Any) -> list[dict[Any, Any]]:
    return [each[key] for each in here for key in ((step, EACH) if step != EACH else each) if key in each and key is not _END]


_END = object()


def _matches(pattern: Path, path: Path) -> bool:
    return len(pattern) == len(path) and all(one in (EACH, own) or own == EACH for one, own in zip(pattern, path, strict=True))


def texts_in(values: Any) -> Iterator[str]:
    """Yield the texts in some values."""
    waiting = [values]
    while waiting:
        each = waiting.pop()
        if type(each) is dict:
            waiting += each.values()
        elif type(each) is list:
            waiting += each
        elif type(each) is str:
            yield each


def chains_in(text: str) -> Iterator[Path]:
    """Yield the paths of values that a text names, which a chart may fill as a template."""
    yield from (tuple(match[1].split(".")[1:]) for match in _CHAIN.finditer(text))


def may_name_values(text: str) -> bool:
    """Return whether a text may name further values: it has all values in another form than a path."""
    return _INDIRECT.search(_CHAIN.sub("", text)) is not None
