"""One YAML document: its plain data as the API server reads it, and the position of each path in the text."""

import re
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path

if TYPE_CHECKING:
    from afflint.yaml.conversion import Pairs


class Problem(NamedTuple):
    """Why a document (or a part of it) cannot be read, and where."""

    message: str
    span: Span


class Duplicate(NamedTuple):
    """A key that occurs again in the same mapping. ``first`` and ``span`` are the positions of the two keys.

    ``overrides``: the first one comes from a merge key, and YAML allows overriding it; strict decoding does not.
    ``is_merged``: the second one comes from a merge key. go-yaml v2 then replaces the first value; YAML and go-yaml v3 keep it.
    """

    path: Path
    span: Span
    first: Span
    overrides: bool = False
    is_merged: bool = False


class Document:
    """One YAML document: ``data`` (None if it has a problem or is empty), ``problem``, ``duplicates``, and its position.

    ``rest`` is the index (in characters) of text after its end, which the API server ignores; None without any.
    ``filled``: the document contains placeholders that YAML cannot read; they were read as text.
    ``index`` counts the documents of a file from 0, without empty ones; ``line`` is the 0-based line of its first byte.
    """

    __slots__ = (
        "_aliased",
        "_breaks",
        "_column",
        "_directed",
        "_merged",
        "_node",
        "_pairs",
        "_text",
        "_unmade",
        "data",
        "duplicates",
        "filled",
        "index",
        "line",
        "problem",
        "raw_bytes",
        "rest",
    )

    def __init__(self, raw_bytes: bytes, index: int, line: int) -> None:
        self.raw_bytes = raw_bytes
        self.index = index
        self.line = line
        self.data: Any = None
        self.problem: Problem | None = None
        self.duplicates: tuple[Duplicate, ...] = ()
        self.rest: int | None = None
        self.filled = False
        self._column = 0
        self._node: Any = None
        self._unmade = False
        self._merged: dict[Any, Pairs] = {}
        self._pairs: dict[Any, Pairs] = {}
        self._text: str | None = None
        self._breaks: Sequence[int] | None = None
        self._aliased: bool | None = None
        self._directed: bool | None = None

    @property
    def root(self) -> Any:
        """The node of the whole document, None without one. For a document that was read without nodes, they are created on demand."""
        if self._unmade:
            from afflint.yaml.composer import compose

            self.root = compose(self.raw_bytes).root
        return self._node

    @root.setter
    def root(self, node: Any) -> None:
        self._node, self._unmade = node, False

    def made_of(self, data: Any) -> None:
        """Set the data of a document that was read without nodes."""
        self.data, self._unmade = data, True

    @property
    def empty(self) -> bool:
        """True for a document without content: blank, only comments, or null."""
        return self.data is None and self.problem is None

    @property
    def has_merge_keys(self) -> bool:
        """True if a map includes the entries of another by ``<<``."""
        return bool(self._merged)

    @property
    def has_directives(self) -> bool:
        """True if the document may contain directives of a strategic merge patch."""
        if self._directed is None:
            self._directed = b"$" in self.raw_bytes
            if self._directed:
                from afflint.yaml.patch_directives import holds_directives

                self._directed = holds_directives(self.raw_bytes)
        return self._directed

    def line_of(self, path: Path) -> int:
        """Return the line of the value at ``path``, from 1."""
        return self.locate(path).line

    def locate(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value at ``path``: the scalar, or for a collection its key (or first scalar as a list item).

        With ``key`` the span of the key itself. A path that does not exist gives the nearest existing parent. A value that
        is an alias, or was merged into its map, is located where it is written.
        """
        node, key_node = self._find(path)
        if node is None:
            return self._start()
        if (key or _kind(node) != _SCALAR or node.start_mark.index == node.end_mark.index) and key_node is not None:
            return self._span(key_node)
        return self._span(node)

    def extent(self, path: Path) -> Span:
        """Return the full range of the value at ``path`` with its key, from its first to its last character."""
        node, key_node = self._find(path)
        if node is None:
            return self._start()
        start = (key_node or node).start_mark.index
        end = self.end_of(node)
        if end < start:  # An alias: its value is before its key.
            end = self.end_of(key_node)
        return Span(*self.position(start), *self.position(end))

    def raw(self, path: Path) -> str | None:
        """Return the text of the scalar at ``path`` as it is written, without quotes; None for collections and missing paths."""
        node, _ = self._find(path, exact=True)
        return node.value if _kind(node) == _SCALAR else None

    def is_plain(self, path: Path) -> bool:
        """Whether the value at ``path`` is an unquoted, untagged scalar."""
        from afflint.yaml.composer import PLAIN

        node, _ = self._find(path, exact=True)
        return _kind(node) == _SCALAR and node.ctag is PLAIN

    def plain_key(self, path: Path) -> str | None:
        """Return the key of the value at ``path`` as it is written, if it is an unquoted, untagged scalar; otherwise None."""
        from afflint.yaml.composer import PLAIN

        _, key_node = self._find(path, exact=True)
        return key_node.value if key_node is not None and key_node.ctag is PLAIN else None

    def node_at(self, path: Path) -> Any:
        """Return the node of the value at ``path``, of an alias that of its anchor; None if it does not exist."""
        return self._find(path, exact=True)[0]

    def plain_scalars(self, words: Container[str]) -> Iterator[tuple[Span, str]]:
        """Yield the ranges and texts of the unquoted, untagged scalars, keys and values, that are one of some words."""
        from afflint.yaml.composer import PLAIN, nodes_below

        for node in nodes_below(self.root):
            if _kind(node) == _SCALAR and node.ctag is PLAIN and node.value in words:
                yield self._span(node), node.value

    def scalar_spans(self) -> Iterator[Span]:
        """Yield the ranges of quoted and block scalars, in which a ``#`` does not begin a comment."""
        from afflint.yaml.composer import nodes_below

        for node in nodes_below(self.root):
            if _kind(node) != _SCALAR:
                continue
            if node.style in ("'", '"'):
                yield Span(*self.position(node.start_mark.index), *self.position(node.end_mark.index))
            elif node.style in ("|", ">"):
                # The line with the indicator may end in a comment; the text begins on the next one.
                line, _ = self.position(node.start_mark.index)
                end_line, end_column = self.position(self.end_of(node))
                if end_line > line:
                    yield Span(line + 1, 1, end_line, end_column)

    def node_lines(self) -> Iterator[tuple[int, int, int]]:
        """Yield for every key and list item its line, its column and the line on which its value ends (from 1, in file lines)."""
        from afflint.yaml.composer import nodes_below

        for node in nodes_below(self.root):
            if _kind(node) == _SCALAR:
                continue
            pairs = node.value if _kind(node) == _MAPPING else [(item, item) for item in node.value]
            for key, value in pairs:
                line, column = self.position(key.start_mark.index)
                yield line, column, max(line, self.position(self.end_of(value))[0])

    def text(self) -> str:
        """Return the document's text, with invalid UTF-8 replaced."""
        if self._text is None:
            self._text = self.raw_bytes.decode("utf-8", "replace")
        return self._text

    # Finding and measuring nodes.

    def _find(self, path: Path, *, exact: bool = False) -> tuple[Any, Any]:
        """Return the node at ``path`` and its key's (of a list item its first scalar's); the nearest parent's unless ``exact``."""
        node, key_node = self.root, None
        for step in path:
            found = self._child(node, step)
            if found is None:
                return (None, None) if exact else (node, key_node)
            key_node, node = found
        return node, key_node

    def _child(self, node: Any, step: str | int) -> tuple[Any, Any] | None:
        if type(step) is int:
            if _kind(node) == _SEQUENCE and 0 <= step < len(node.value):
                return _first_scalar(node.value[step]), node.value[step]
            return None
        if _kind(node) != _MAPPING or type(step) is not str:
            return None
        pairs = self._merged.get(node) or self._pairs.get(node)
        if pairs is None:
            from afflint.yaml.conversion import pairs_of

            pairs = self._pairs[node] = pairs_of(node)
        return pairs.get(step)

    def _start(self) -> Span:
        return Span(self.line + 1, 1, self.line + 1, 1)

    def _span(self, node: Any) -> Span:
        """Return the span of a node on one line; of one with more lines, the first of them."""
        start, end = self._content(node), self.end_of(node)
        line, column = self.position(start)
        if self.position(end)[0] == line:
            if start == end and self.text()[start - 1 : start] == "-":
                return Span(line, column - 1, line, column)  # An empty list item: its dash.
            return Span(line, column, line, column + end - start)
        breaks = self.line_starts()
        number = line - self.line
        first = self.text()[start : breaks[number] if number < len(breaks) else None].rstrip()
        return Span(line, column, line, column + max(len(first), 1))

    def _content(self, node: Any) -> int:
        """Return where a scalar begins after its anchor and its tag."""
        start: int = node.start_mark.index
        text = self.text()
        if _kind(node) == _SCALAR and text[start : start + 1] in ("&", "!"):
            match = _PROPERTIES.match(text, start, node.end_mark.index)
            if match is not None and match.end() < node.end_mark.index:
                return match.end()
        return start

    def end_of(self, node: Any) -> int:
        """Return where a node's text ends; libyaml ends an indented collection only at the next token."""
        last = node
        while _kind(last) != _SCALAR and not last.flow_style and last.value:
            alias = self._alias_at_end(last)
            if alias is not None:
                return alias
            last = last.value[-1][1] if _kind(last) == _MAPPING else last.value[-1]
        end: int = last.end_mark.index
        if _kind(last) == _SCALAR and last.style in ("|", ">"):
            start: int = last.start_mark.index
            return start + len(self.text()[start:end].rstrip())
        return end

    def _alias_at_end(self, node: Any) -> int | None:
        """Return the end of the alias at the end of a list or map in block style; None if its last value is written there.

        An alias is the node of its anchor, and its own position is not recorded: but the anchor is before the previous value.
        """
        if self._aliased is None:
            self._aliased = "&" in self.text()
        if not self._aliased:
            return None
        *before, value = [each for pair in node.value for each in pair] if _kind(node) == _MAPPING else node.value
        written = max((each.end_mark.index for each in before), default=0)
        if value.start_mark.index > node.start_mark.index and value.start_mark.index >= written:
            return None
        # Only comments, indicators and aliases follow after the last written value.
        written = max(written, node.start_mark.index)
        ends = [match.end(1) for match in _ALIAS_OR_COMMENT.finditer(self.text(), written, node.end_mark.index) if match[1]]
        return ends[-1] if ends else written

    def position(self, index: int) -> tuple[int, int]:
        """Return line and column, both from 1, of a code point of this document. Only LF, CR LF and CR break lines, as in editors."""
        breaks = self.line_starts()
        from bisect import bisect_right

        line = bisect_right(breaks, index) - 1
        return self.line + line + 1, index - breaks[line] + 1 + (self._column if line == 0 else 0)

    def character(self, index: int) -> Span:
        """Return the span of one character; an empty one at the end of a line or of the text."""
        line, column = self.position(index)
        return Span(line, column, line, column + (self.text()[index : index + 1] not in ("", "\n", "\r")))

    def line_starts(self) -> Sequence[int]:
        """Return the indexes at which the lines of the text begin. Only LF, CR LF and CR break lines."""
        if self._breaks is None:
            from array import array

            # Not a list: there may be a million of them.
            self._breaks = array("I", [0])
            self._breaks.extend(match.end() for match in _LINE_BREAK.finditer(self.text()))
        return self._breaks


_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|#.*)*)*")
_ALIAS_OR_COMMENT = re.compile(r"(\*[^\s,\[\]{}]+)|#[^\r\n]*")


# The `id` of ruamel.yaml's nodes: importing their classes takes longer than reading most files.
_SCALAR, _SEQUENCE, _MAPPING = "scalar", "sequence", "mapping"


def _kind(node: Any) -> str:
    """Return the type of a node; empty for None."""
    kind: str = "" if node is None else node.id
    return kind


def _first_scalar(node: Any) -> Any:
    """Return the node to show for a list item: the first key of a mapping, else the item itself."""
    while _kind(node) != _SCALAR and node.value:
        node = node.value[0][0] if _kind(node) == _MAPPING else node.value[0]
    return node


# Access to plain data of any shape, such as manifests: a value of another type than requested counts as absent.


def value_at_path(data: object, *steps: object) -> Any:
    """Return the value some fields, or indexes of lists, below ``data``; None if it does not exist."""
    for step in steps:
        if type(data) is dict:
            data = data.get(step)
        elif type(data) is list and type(step) is int and 0 <= step < len(data):
            data = data[step]
        else:
            return None
    return data


def map_at(data: object, *steps: object) -> dict[str, Any]:
    """Return the map at these steps; an empty one if it is absent."""
    found = value_at_path(data, *steps)
    return found if type(found) is dict else {}


def list_at(data: object, *steps: object) -> list[Any]:
    """Return the list at these steps; an empty one if it is absent."""
    found = value_at_path(data, *steps)
    return found if type(found) is list else []


def maps_at(data: object, *steps: object) -> list[dict[str, Any]]:
    """Return the items of the list at these steps that are maps."""
    return [each for each in list_at(data, *steps) if type(each) is dict]


def text_at(data: object, *steps: object) -> str:
    """Return the string at these steps; an empty one if it is absent."""
    found = value_at_path(data, *steps)
    return found if type(found) is str else ""


def texts_at(data: object, *steps: object) -> list[str]:
    """Return the items of the list at these steps that are strings."""
    return [each for each in list_at(data, *steps) if type(each) is str]


def all_texts(data: Any) -> Iterator[str]:
    """Yield every string in some data, keys included, in the order of the data."""
    pending = [data]
    while pending:
        each = pending.pop()
        if type(each) is str:
            yield each
        elif type(each) is dict:
            for key, value in reversed(each.items()):
                pending += (value, key)
        elif type(each) is list:
            pending += reversed(each)
