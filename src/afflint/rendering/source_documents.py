"""The parsed files that something was rendered from, and the counterparts of rendered paths in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ruamel.yaml.nodes import ScalarNode

from afflint.findings.finding import Span
from afflint.findings.paths import Path, Step
from afflint.findings.patterns import PatternError, matches_all
from afflint.source.files import read_regular
from afflint.source.sources import is_template
from afflint.yaml.document import Document
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.object_fields import kind_of

_LARGEST, _LARGEST_MANIFEST = 16 << 20, 1 << 20
# Fields that identify the items of a list when items are merged, or move because others are added.
_ITEM_KEYS = ("name", "key", "topologyKey", "mountPath", "containerPort", "port", "ip", "devicePath")
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """The source of a rendered value: a span in a file, its document, and the kind of source, such as "patch" or "template".

    ``exact``: the span has this very scalar. Otherwise it is the innermost known value that contains it, or the input that produced it.
    """

    file: str
    document: int
    span: Span
    kind: str
    exact: bool = False


ONLY_A_VARIABLE, WITH_A_VARIABLE = "only a variable", "with a variable"
"""The kinds of places that contain a variable or parameter. The second place is then where it is set."""


def only_or_with(place: SourcePlace, *, is_only: bool) -> SourcePlace:
    """Return the place of a value as that of one that contains a variable, or that is nothing else (``is_only``)."""
    return replace(place, kind=ONLY_A_VARIABLE if is_only else WITH_A_VARIABLE)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A document of a file, or YAML in a scalar of one; then ``lines`` and ``columns`` are the offsets of its positions in the file."""

    file: str
    document: Document
    index: int
    lines: int = 0
    columns: int = 0
    whole: Span | None = None
    """The span of the scalar if positions in it are unknown because it is quoted or folded."""

    @property
    def data(self) -> Any:
        """The data of the document."""
        return self.document.data

    def place(self, path: Path, kind: str, *, key: bool = False, exact: bool = False) -> SourcePlace:
        """Return the place of a path in the document."""
        span = self.whole
        if span is None:
            line, column, end_line, end_column = self.document.locate(path, key=key)
            span = Span(line + self.lines, column + self.columns, end_line + self.lines, end_column + self.columns)
        return SourcePlace(self.file, self.index, span, kind, exact and self.whole is None)

    def inside(self, path: Path, filled: str | None = None) -> list[SourceText]:
        """Return the documents in a scalar, such as an inline patch. ``filled`` is its text if it is a template, with as many lines."""
        node = self.document.node_at(path)
        if type(node) is not ScalarNode:
            return []
        text = str(node.value)
        start = self.document.position(node.start_mark.index)[0]
        shift: tuple[int, int] | None = None
        if node.style == "|":
            shift = start + self.lines, self._indentation(start, text)
        found = []
        for piece, line, _ in split((text if filled is None else filled).encode("utf-8", "surrogatepass")):
            document = read(piece, 0, line)
            if document.problem is None and document.data is not None:
                whole = None if shift else self.document.locate(path)
                found.append(SourceText(self.file, document, self.index, *(shift or (0, 0)), whole))
        return found

    def _indentation(self, line: int, text: str) -> int:
        """Return the indentation of the lines of a block scalar; ``line`` is the line of its indicator, from 1 in the file."""
        starts = self.document.line_starts()
        whole = self.document.text()
        for number, content in enumerate(text.split("\n")):
            row = line - self.document.line + number
            if content.strip() and row < len(starts):
                written = whole[starts[row] :]
                return (len(written) - len(written.lstrip(" "))) - (len(content) - len(content.lstrip(" ")))
        return 0


class WrittenText(str):
    """A text with the document and the path that it is written at."""

    __slots__ = ("path", "text")

    text: SourceText
    path: Path

    def __new__(cls, value: str, text: SourceText, path: Path) -> WrittenText:
        """Create the text."""
        self = super().__new__(cls, value)
        self.text = text
        self.path = path
        return self


class SourceTexts:
    """The files that were rendered, each read once."""

    def __init__(self) -> None:
        self._known: dict[str, list[SourceText]] = {}

    def of(self, file: str) -> list[SourceText]:
        """Return the documents of a file that can be parsed, with the same indexes as in the rest of the run."""
        file = os.path.realpath(file)
        if file not in self._known:
            self._known[file] = list(_documents(file))
        return self._known[file]

    def objects(self, file: str) -> Iterator[tuple[SourceText, Path, Mapping[str, Any]]]:
        """Yield the objects of a file: the document, the path in it, and the data. A List yields each of its items."""
        for text in self.of(file):
            data = text.data
            if type(data) is not dict:
                continue
            items = data.get("items")
            if type(items) is list and kind_of(data).endswith("List"):
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


def source_texts(file: str, data: bytes) -> list[SourceText]:
    """Return the documents in the content of a file that can be parsed."""
    return [SourceText(file, each, each.index) for each in documents_of(data).values() if each.problem is None]


def files_with(paths: Iterable[str], *words: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the real paths and the contents of the files that have one of some words, without templates and very large files."""
    for path in paths:
        file = os.path.realpath(path)
        with suppress(OSError):
            data = b"" if is_template(path) else read_regular(file, _LARGEST_MANIFEST)
            if any(word in data for word in words):
                yield file, data


def documents_of(output: bytes) -> dict[int, Document]:
    """Return the documents that a program printed, with the same indexes as in the rest of the run; empty documents are left out."""
    found: dict[int, Document] = {}
    for piece, line, _ in split(output):
        document = read(piece, len(found), line)
        if not document.empty:
            found[document.index] = document
    return found


def is_leaf(value: Any) -> bool:
    """Return whether a value is a scalar, or an empty map or list."""
    return isinstance(value, _SCALARS) or not value


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and values of the scalars in a value, and of its empty maps and lists."""
    if is_leaf(value):
        yield path, value
    else:
        entries = value.items() if type(value) is dict else enumerate(value)
        for step, below in entries:
            yield from leaves(below, (*path, step))


def value_at(data: Any, path: Path) -> Any:
    """Return the value at a path. Raises LookupError or TypeError."""
    for step in path:
        data = data[step]
    return data


def counterpart(source: Any, rendered: Any, path: Path) -> Path | None:
    """Return the path in the source for a path in the data that was rendered from it; None if the source has no counterpart.

    Items of lists are matched by equality, else by the field that identifies them, else by their index.
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
    """Return whether a scalar has the value that was rendered from it: numbers and booleans may have become strings."""
    if not isinstance(written, _SCALARS) or not isinstance(rendered, _SCALARS):
        return bool(written == rendered)
    return _text(written) == _text(rendered)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def matches_whole(pattern: Any, text: str | None) -> bool:
    """Return whether a pattern of a patch target matches a whole text, as in kustomize."""
    if pattern is None or pattern == "":
        return True
    try:
        return text is not None and matches_all(str(pattern), text)
    except PatternError:
        return str(pattern) == text
