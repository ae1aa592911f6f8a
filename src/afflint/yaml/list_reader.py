"""Reads long Lists, as `kubectl get -o yaml` or `-o json` writes them, item by item to limit memory.

The nodes of a document need about thirty times the memory of its bytes. Here only the nodes of one item exist at a time: while it
is read, and again when a position in it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, SequenceNode

from afflint.findings.finding import Span
from afflint.findings.paths import Path
from afflint.yaml.composer import COLLECTION, MAX_DEPTH, MAX_NODES, TooLargeError, compose, most_nodes
from afflint.yaml.document import Document
from afflint.yaml.fast_parser import plain_blocks
from afflint.yaml.parser import convert
from afflint.yaml.scalars import resolve_plain

_REMEMBERED = 16
"""How many items stay composed, because the next position is usually close."""

_MOST_KEPT = 4 * MAX_NODES
"""A List whose data would contain more keys and values than this is rejected, too: each needs about 100 bytes."""
_MOST_NODES = 32 * MAX_NODES
"""The same for JSON before it is read, because the size of its largest item is not known yet."""

Item = tuple[int, int, int, int]
"""The start and the end of an item's text (in bytes), and the line and column (from 0) of its start."""


class ListDocument(Document):
    """A document that is a List. ``_frame`` is everything except its items; each item is composed as a list of one."""

    __slots__ = ("_composed", "_frame", "_items")

    def __init__(self, raw_bytes: bytes, index: int, line: int, frame: Document, items: list[Item]) -> None:
        super().__init__(raw_bytes, index, line)
        self._frame = frame
        self._items = items
        self._composed: dict[int, Document] = {}

    @property
    def has_merge_keys(self) -> bool:
        return b"<<" in self.raw_bytes  # An approximation: the text may contain it elsewhere.

    def locate(self, path: Path, *, key: bool = False) -> Span:
        part, rest = self._part(path)
        return part.locate(rest, key=key)

    def line_of(self, path: Path) -> int:
        if len(path) == 4 and path[0] == "items" and type(path[1]) is int and path[1] < len(self._items):
            start, end, line, _ = self._items[path[1]]
            below = _lines_above(self.raw_bytes[start:end], str(path[2]), str(path[3]))
            if below is not None:
                return self.line + line + below + 1
        return super().line_of(path)

    def extent(self, path: Path) -> Span:
        part, rest = self._part(path)
        return part.extent(rest)

    def raw(self, path: Path) -> str | None:
        part, rest = self._part(path)
        return part.raw(rest)

    def is_plain(self, path: Path) -> bool:
        part, rest = self._part(path)
        return part.is_plain(rest)

    def node_at(self, path: Path) -> Any:
        part, rest = self._part(path)
        return part.node_at(rest)

    def scalar_spans(self) -> Iterator[Span]:
        yield from self._frame.scalar_spans()
        for number in range(len(self._items)):
            yield from self._item(number).scalar_spans()

    def node_lines(self) -> Iterator[tuple[int, int, int]]:
        last = self._item(len(self._items) - 1).extent((0,)).end_line
        items = self._frame.locate(("items",), key=True)
        for line, column, end in self._frame.node_lines():
            yield line, column, last if (line, column) == (items.line, items.column) else end
        for number in range(len(self._items)):
            yield from self._item(number).node_lines()

    def _part(self, path: Path) -> tuple[Document, Path]:
        if len(path) > 1 and path[0] == "items" and type(path[1]) is int and 0 <= path[1] < len(self._items):
            return self._item(path[1]), (0, *path[2:])
        return self._frame, path

    def _item(self, number: int) -> Document:
        document = self._composed.pop(number, None)
        if document is None:
            document = _item_document(self, self._items[number])
            try:
                _compose_item(document)
            except (YAMLError, ValueError):
                document.root = None  # JSON that is not YAML: its findings are reported at the start of the item.
        self._composed[number] = document
        if len(self._composed) > _REMEMBERED:
            del self._composed[next(iter(self._composed))]
        return document


def _item_document(document: Document, item: Item) -> Document:
    start, end, line, column = item
    part = Document(document.raw_bytes[start:end], document.index, document.line + line)
    part._column = column
    return part


def _lines_above(item: bytes, outer: str, inner: str) -> int | None:
    """Return how many lines of an item, as kubectl writes it, are above the key in one of its maps; None for another style."""
    first = _FIRST_KEY.match(item)
    if first is None:
        return None if b"\n" in item else 0
    width = len(first[1] or first[2])
    start = re.compile(rb'(?:^(?: *- +)?|\n {%d})"?%s"?: *\{?\r?\n( +)(?=\S)' % (width, re.escape(outer).encode())).search(item)
    if start is None or len(start[1]) <= width:
        return None
    key = re.compile(rb'\n {%d}"?%s"?:' % (len(start[1]), re.escape(inner).encode())).search(item, start.start(1) - 1)
    after = re.compile(rb"\n {0,%d}[^ \r\n]" % (len(start[1]) - 1)).search(item, start.end())
    if key is None or (after is not None and after.start() < key.start()):
        return None
    return item.count(b"\n", 0, key.start() + 1)


_FIRST_KEY = re.compile(rb"( *- +)|\{\r?\n( +)")


def _compose_item(part: Document) -> None:
    """Set the root of an item's document to a list of that item, as it already is in block style."""
    root = compose(part.raw_bytes).root
    if type(root) is MappingNode:
        root = SequenceNode(COLLECTION, [root], root.start_mark, root.end_mark, flow_style=True)
    part.root = root
    convert(part)


def item_of(document: Document, number: int) -> Document | None:
    """Return an item of a List as a document of its own, a list of this item; None if it depends on the rest."""
    if isinstance(document, ListDocument):
        return document._item(number) if number < len(document._items) else None
    items = document.node_at(("items",))
    if type(items) is not SequenceNode or number >= len(items.value) or b"&" in document.raw_bytes:
        return None
    start, end = items.value[number].start_mark.index, document.end_of(items.value[number])
    row, column = document.position(start)
    if not items.flow_style:
        # From the beginning of the line with its dash to the end of its last line.
        start, column = start - column + 1, 1
        line = _TO_NEXT_LINE.match(document.text(), end)
        end = line.end() if line else end
    part = item_from(document.text()[start:end], document.index, row - 1, column - 1)
    return part if part is not None and part.data == [document.data["items"][number]] else None


def item_from(text: str, index: int, line: int, column: int) -> Document | None:
    """Return the document of an item with this text; None if the text is not exactly one item."""
    part = Document(text.encode(), index, line)
    part._column = column
    try:
        _compose_item(part)
    except (YAMLError, ValueError, RecursionError):
        return None
    return part if type(part.data) is list and len(part.data) == 1 else None


_TO_NEXT_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")


def read_list(raw_bytes: bytes, index: int, line: int) -> Document | None:
    """Return the document in ``raw_bytes`` if it is a List without mistakes that can be cut into its items, else None."""
    try:
        if raw_bytes[:100].lstrip().startswith(b"{"):
            return _read_json(raw_bytes, index, line)
        return _read_yaml(raw_bytes, index, line)
    except (YAMLError, ValueError, RecursionError):
        return None


_YAML_ITEMS = re.compile(rb"^items:[ \t]*(?:#[^\n]*)?\r?\n(?=( *)- )", re.MULTILINE)
_NEXT_KEY = re.compile(rb"^[^\s#-]", re.MULTILINE)


def _read_yaml(raw_bytes: bytes, index: int, line: int) -> Document | None:
    """Read a List in block style, cut before each dash of its items.

    If a cut is wrong, the parts do not compose, or to more than one item: then the result is None.
    """
    header = _YAML_ITEMS.search(raw_bytes)
    if header is None or raw_bytes.count(b"\r") != raw_bytes.count(b"\r\n"):
        return None
    following = _NEXT_KEY.search(raw_bytes, header.end())
    end = following.start() if following else len(raw_bytes)
    dash = re.compile(rb"^" + header[1] + rb"-(?=[ \r\n])", re.MULTILINE)
    starts = [match.start() for match in dash.finditer(raw_bytes, header.end(), end)]
    frame = _frame(raw_bytes, header.end(), end, index, line)
    if type(frame.data) is not dict or frame.data.get("items", "") is not None:
        return None
    items: list[Item] = []
    managed = _managed_fields(len(header[1]))
    at, position = raw_bytes.count(b"\n", 0, header.end()), header.end()
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        at += raw_bytes.count(b"\n", position, start)
        position = start
        items.append((start, stop, at, 0))
    document = ListDocument(raw_bytes, index, line, frame, items)
    data, duplicates = [], list(frame.duplicates)
    keeper = _Keeper(raw_bytes)
    for number, item in enumerate(items):
        part = _item_document(document, item)
        part.data = plain_blocks(managed.sub(rb"\1", part.raw_bytes, 1))
        if part.data is None:
            _compose_item(part)
        if type(part.data) is not list or len(part.data) != 1:
            return None
        data.append(keeper.keep(part.data[0]))
        duplicates += [each._replace(path=("items", number, *each.path[1:])) for each in part.duplicates]
    frame.data["items"] = data
    document.data, document.duplicates = frame.data, tuple(duplicates)
    return document


def _managed_fields(column: int) -> re.Pattern[bytes]:
    """Return a pattern for the `managedFields` of an item whose dash is in a column, behind what it keeps of the metadata.

    They are the larger part of a dump that has them, the line reader cannot read their keys, and nothing depends on them.
    """
    line, inside = rb" {%d}" % (column + 2), rb" {%d}" % (column + 4)
    head = rb"(^%smetadata:\n(?:%s[^\n]*\n)*?)" % (line, inside)
    return re.compile(head + rb"%smanagedFields:\n(?:%s[- ][^\n]*\n)+" % (inside, inside), re.MULTILINE)


class _Keeper:
    """Stores the data of items, and equal values only once, so that memory depends on the number of different values.

    With anchors nothing is shared, because there one object in two places means an alias.
    """

    def __init__(self, raw_bytes: bytes) -> None:
        self._shares = b"&" not in raw_bytes
        self._known: dict[tuple[Any, ...], Any] = {}
        self._kept = 0

    def keep(self, value: Any) -> Any:
        """Store a value, and return an equal one that was stored before. Raises TooLargeError if too much is stored."""
        kind = type(value)
        if kind is dict:
            for key, nested in value.items():
                if type(nested) in _COLLECTIONS:
                    value[key] = self.keep(nested)
            marks = (kind, *value, *map(_identity_mark, value.values())) if len(value) <= _MOST_ALIKE else ()
        elif kind is list:
            for index, nested in enumerate(value):
                if type(nested) in _COLLECTIONS:
                    value[index] = self.keep(nested)
            marks = (kind, *map(_identity_mark, value)) if len(value) <= _MOST_ALIKE else ()
        else:
            return value
        if marks and self._shares:
            if marks in self._known:
                return self._known[marks]
            if len(self._known) < _MOST_KNOWN:
                self._known[marks] = value
        self._kept += 1 + len(value) * (2 if kind is dict else 1)
        if self._kept > _MOST_KEPT:
            raise TooLargeError
        return value


_COLLECTIONS = (dict, list)
_MOST_ALIKE, _MOST_KNOWN = 32, 20_000


def _identity_mark(value: Any) -> Any:
    """Return what distinguishes a value in a collection: 1 is not true, and collections are compared by their stored object."""
    kind = type(value)
    return value if kind is str else (kind, id(value)) if kind in _COLLECTIONS else (kind, value)


def _frame(raw_bytes: bytes, start: int, end: int, index: int, line: int) -> Document:
    """Return the document without the text between two positions, except for its line breaks."""
    breaks = raw_bytes.count(b"\n", start, end)
    frame = Document(raw_bytes[:start] + b"\n" * breaks + raw_bytes[end:], index, line)
    frame.root, rest = compose(frame.raw_bytes, MAX_NODES + breaks)
    if rest is not None:
        raise ValueError("text after the end of the document")
    convert(frame)
    return frame


_JSON_ITEMS = re.compile(
    r'\s*\{(?:\s*"(?:apiVersion|kind|metadata)"\s*:\s*(?:"[^"\\]*"|\{[^{}]*\})\s*,)*\s*"items"\s*:\s*\[\s*(?=\{)',
)
_AFTER_ITEM = re.compile(r"\s*(?:,\s*|(\]))")


def _read_json(raw_bytes: bytes, index: int, line: int) -> Document | None:
    """Read a List in JSON, cut where Python's JSON decoder finds the end of an item."""
    from json import JSONDecoder

    if most_nodes(raw_bytes) > _MOST_NODES:
        return None
    text = raw_bytes.decode("utf-8")
    header = _JSON_ITEMS.match(text)
    if header is None or "\\ud" in text or "\\uD" in text:
        return None
    decoder = JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_int=_number, parse_constant=_reject_constant)
    data: list[Any] = []
    items: list[Item] = []
    keeper, cursor = _Keeper(raw_bytes), _TextScanner(text)
    begin, closed = header.end(), False
    while not closed:
        value, end = decoder.raw_decode(text, begin)
        if text.count("{", begin, end) + text.count("[", begin, end) > MAX_DEPTH and _depth(value) > MAX_DEPTH - 2:
            return None
        start, row, column = cursor.move(begin)
        items.append((start, cursor.move(end)[0], row, column))
        data.append(keeper.keep(value))
        following = _AFTER_ITEM.match(text, end)
        if following is None:
            return None
        begin, closed = following.end(), following[1] is not None
    frame = _frame(raw_bytes, items[0][0], items[-1][1], index, line)
    if type(frame.data) is not dict or frame.data.get("items") != []:
        return None
    frame.data["items"] = data
    document = ListDocument(raw_bytes, index, line, frame, items)
    document.data, document.duplicates = frame.data, frame.duplicates
    return document


class _TextScanner:
    """A position in a text that only moves forward, so that the text is counted once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._offset = self._line = self._column = 0

    def move(self, to: int) -> tuple[int, int, int]:
        """Move on to a character, and return its offset in bytes, its line and its column, from 0."""
        text, at = self._text, self._at
        breaks = text.count("\n", at, to)
        self._column = to - text.rfind("\n", at, to) - 1 if breaks else self._column + to - at
        self._line += breaks
        self._offset += to - at if text.isascii() else len(text[at:to].encode())
        self._at = to
        return self._offset, self._line, self._column


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The items repeat the same words: sharing them halves the memory.
    share = _SHARED.setdefault if len(_SHARED) < _MOST_SHARED else _SHARED.get
    found = {share(key, key): share(value, value) if type(value) is str and len(value) < _SHORT else value for key, value in pairs}
    if len(found) != len(pairs):
        raise ValueError("a repeated key")
    return found


_SHARED: dict[str, str] = {}
_MOST_SHARED, _SHORT = 20_000, 100


def _number(text: str) -> Any:
    value = resolve_plain(text)
    if type(value) is str:
        raise ValueError("an invalid number")
    return value


def _reject_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _depth(value: Any) -> int:
    """Return how deep data is nested, level by level."""
    level, depth = [value], 0
    while level:
        level = [
            nested
            for each in level
            for nested in (each.values() if type(each) is dict else each if type(each) is list else ())
            if type(nested) in (dict, list)
        ]
        depth += 1
    return depth
