"""The files that something was rendered from, parsed; and where in them the counterpart of a rendered path is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from afflint.findings.finding import Path, Span, Step
from afflint.source.files import read_regular
from afflint.yaml.document import Document
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.nodes import ScalarNode

_LARGEST = 16 << 20
# What tells items of a list apart that are merged one by one, or that change their place as others are added.
_ITEM_KEYS = ("name", "key", "topologyKey", "mountPath", "containerPort", "port", "ip", "devicePath")
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Where something is written that was rendered: a stretch of a file, the document in it, and which way it came from there.

    ``exact``: that very scalar stands there; otherwise it is the nearest that is known to hold it, or to have been told to make it.
    """

    file: str
    document: int
    span: Span
    way: str
    exact: bool = False


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document of a file, or YAML in a scalar of one: then ``lines`` and ``columns`` are what its positions are off by."""

    file: str
    document: Document
    index: int
    lines: int = 0
    columns: int = 0
    whole: Span | None = None
    """Where positions in it are not known, for it was quoted or folded: the scalar that it is."""

    @property
    def data(self) -> Any:
        """What it says."""
        return self.document.data

    def place(self, path: Path, way: str, *, key: bool = False, exact: bool = False) -> SourcePlace:
        """Where a path of it stands."""
        span = self.whole
        if span is None:
            line, column, end_line, end_column = self.document.locate(path, key=key)
            span = Span(line + self.lines, column + self.columns, end_line + self.lines, end_column + self.columns)
        return SourcePlace(self.file, self.index, span, way, exact and self.whole is None)

    def inside(self, path: Path) -> list[SourceText]:
        """The documents that a scalar holds, as an inline patch does."""
        node = self.document.node_at(path)
        if type(node) is not ScalarNode:
            return []
        text = str(node.value)
        start = self.document.position(node.start_mark.index)[0]
        shift: tuple[int, int] | None = None
        if node.style == "|":
            shift = start + self.lines, self._indentation(start, text)
        found = []
        for piece, line, _ in split(text.encode("utf-8", "surrogatepass")):
            document = read(piece, 0, line)
            if document.problem is None and document.data is not None:
                whole = None if shift else self.document.locate(path)
                found.append(SourceText(self.file, document, self.index, *(shift or (0, 0)), whole))
        return found

    def _indentation(self, line: int, text: str) -> int:
        """How far the lines of a block scalar are indented; ``line`` is the one with its indicator, from 1 in the file."""
        starts = self.document.line_starts()
        whole = self.document.text()
        for number, content in enumerate(text.split("\n")):
            row = line - self.document.line + number
            if content.strip() and row < len(starts):
                written = whole[starts[row] :]
                return (len(written) - len(written.lstrip(" "))) - (len(content) - len(content.lstrip(" ")))
        return 0


class SourceTexts:
    """The files that were rendered, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, list[SourceText]] = {}

    def of(self, file: str) -> list[SourceText]:
        """The documents of a file that can be read, in their order, numbered as the rest of a run numbers them."""
        file = os.path.realpath(file)
        if file not in self._known:
            self._known[file] = list(_documents(file))
        return self._known[file]

    def objects(self, file: str) -> Iterator[tuple[SourceText, Path, Mapping[str, Any]]]:
        """The objects of a file: the text, where in it they are, and what they say; those of a List one by one."""
        for text in self.of(file):
            data = text.data
            if type(data) is not dict:
                continue
            items = data.get("items")
            if type(items) is list and str(data.get("kind", "")).endswith("List"):
                yield from ((text, ("items", number), item) for number, item in enumerate(items) if type(item) is dict)
            else:
                yield text, (), data


def _documents(file: str) -> Iterator[SourceText]:
    try:
        data = to_utf8(read_regular(file, _LARGEST))
    except (OSError, UnicodeDecodeError):
        return
    index = 0
    for piece, line, problem in split(data):
        if problem is not None:
            continue
        document = read(piece, index, line)
        if not document.empty:
            index += 1
            if document.problem is None:
                yield SourceText(file, document, document.index)


def documents_of(output: bytes) -> dict[int, Document]:
    """The documents that a program printed, numbered as the rest of a run numbers them; empty ones left out."""
    found: dict[int, Document] = {}
    for piece, line, _ in split(output):
        document = read(piece, len(found), line)
        if not document.empty:
            found[document.index] = document
    return found


def is_leaf(value: Any) -> bool:
    """Whether a value has nothing below it."""
    return isinstance(value, _SCALARS) or not value


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The scalars in a value, and its empty maps and lists, with the paths to them."""
    if is_leaf(value):
        yield path, value
    else:
        entries = value.items() if type(value) is dict else enumerate(value)
        for step, below in entries:
            yield from leaves(below, (*path, step))


def value_at(data: Any, path: Path) -> Any:
    """What stands at a path. Raises LookupError or TypeError."""
    for step in path:
        data = data[step]
    return data


def counterpart(source: Any, rendered: Any, path: Path) -> Path | None:
    """The path in the source of what stands at a path of what was rendered from it; None where it has none.

    Items of lists are recognised by what names them, by being the same, or by their number, in this order.
    """
    found: list[Any] = []
    other: Step | None
    for step in path:
        if type(step) is int:
            if type(source) is not list or type(rendered) is not list or step >= len(rendered):
                return None
            other = _same_item(source, rendered[step], step)
            if other is None:
                return None
        elif type(source) is dict and step in source and type(rendered) is dict:
            other = step
        else:
            return None
        found.append(other)
        source = source[other]
        rendered = rendered[step]
    return tuple(found)


def _same_item(source: Sequence[Any], item: Any, number: int) -> int | None:
    alike = [each for each, other in enumerate(source) if other == item]
    if not alike and type(item) is dict:
        for key in _ITEM_KEYS:
            if key in item:
                alike = [each for each, other in enumerate(source) if type(other) is dict and other.get(key) == item[key]]
                break
    if alike:
        return min(alike, key=lambda each: abs(each - number))
    return number if number < len(source) else None


def same(written: Any, rendered: Any) -> bool:
    """Whether a scalar is what was rendered of it: numbers and booleans may have become strings on the way."""
    if not isinstance(written, _SCALARS) or not isinstance(rendered, _SCALARS):
        return bool(written == rendered)
    return _text(written) == _text(rendered)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def matches_whole(pattern: Any, text: str | None) -> bool:
    """Whether a pattern of a kustomization's target matches a text from its beginning to its end, as kustomize asks for it."""
    if pattern is None or pattern == "":
        return True
    try:
        return text is not None and re.fullmatch(str(pattern), text) is not None
    except re.error:
        return str(pattern) == text
