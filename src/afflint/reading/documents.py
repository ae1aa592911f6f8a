"""YAML documents: bytes become plain data as the API server would read them, and a path into that data becomes a span.

The fast pass builds plain data; spans are computed only for paths that are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from afflint.findings import Path, Span
from afflint.reading.composing import PLAIN, TooDeepError, TooLargeError, compose, nodes_below, too_deep_at
from afflint.reading.conversion import CarefulConversion, Pairs, RepeatedKeyError, UnreadableError, pairs_of, plain_data


class Problem(NamedTuple):
    """Why a document (or a part of it) cannot be read, and where."""

    message: str
    span: Span


class Duplicate(NamedTuple):
    """A key that occurs again in the same mapping. ``first`` and ``span`` are the places of the two keys."""

    path: Path
    span: Span
    first: Span


class Document:
    """One YAML document: ``data`` (None when it has a problem or is empty), ``problem``, ``duplicates``, and where it lies.

    ``index`` counts the documents of a file from 0, empty ones left out; ``line`` is the 0-based line of its first byte.
    """

    __slots__ = ("_breaks", "_column", "_merged", "_pairs", "_root", "_text", "data", "duplicates", "index", "line", "problem", "raw_bytes")

    def __init__(self, raw_bytes: bytes, index: int, line: int) -> None:
        self.raw_bytes = raw_bytes
        self.index = index
        self.line = line
        self.data: Any = None
        self.problem: Problem | None = None
        self.duplicates: tuple[Duplicate, ...] = ()
        self._column = 0
        self._root: Any = None
        self._merged: dict[int, Pairs] = {}
        self._pairs: dict[int, Pairs] = {}
        self._text: str | None = None
        self._breaks: Sequence[int] | None = None

    @property
    def empty(self) -> bool:
        """True for a document without content: blank, only comments, or null."""
        return self.data is None and self.problem is None

    @property
    def has_merge_keys(self) -> bool:
        """True where a map takes over the entries of another by ``<<``."""
        return bool(self._merged)

    def locate(self, path: Path, *, key: bool = False) -> Span:
        """The span of the value at ``path``: the scalar, or for a collection its key (or first scalar as a list item).

        With ``key`` the span of the key itself. A path that does not exist gives the nearest existing parent. A value that
        is an alias, or was merged into its map, lies where it is written.
        """
        node, key_node = self._find(path)
        if node is None:
            return self._start()
        if (key or type(node) is not ScalarNode or node.start_mark.index == node.end_mark.index) and key_node is not None:
            return self._span(key_node)
        return self._span(node)

    def extent(self, path: Path) -> Span:
        """The whole stretch of the value at ``path`` with its key, from its first to its last character."""
        node, key_node = self._find(path)
        if node is None:
            return self._start()
        start = (key_node or node).start_mark.index
        end = self.end_of(node)
        if end < start:  # An alias: its value lies before its key.
            end = self.end_of(key_node)
        return Span(*self.position(start), *self.position(end))

    def raw(self, path: Path) -> str | None:
        """The text of the scalar at ``path`` as it is written, without quotes; None for collections and missing paths."""
        node, _ = self._find(path, exact=True)
        return node.value if type(node) is ScalarNode else None

    def is_plain(self, path: Path) -> bool:
        """True when the value at ``path`` is an unquoted, untagged scalar."""
        node, _ = self._find(path, exact=True)
        return type(node) is ScalarNode and node.ctag is PLAIN

    def node_at(self, path: Path) -> Any:
        """The node of the value at ``path``; None where nothing is. Of an alias it is the one that its anchor names."""
        return self._find(path, exact=True)[0]

    def scalar_spans(self) -> Iterator[Span]:
        """The stretches of quoted and block scalars, where a ``#`` is text and no comment."""
        for node in nodes_below(self._root):
            if type(node) is not ScalarNode:
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
        """For every key and list item: its line, column and the line on which its value ends (from 1, in file lines)."""
        for node in nodes_below(self._root):
            if type(node) is ScalarNode:
                continue
            pairs = node.value if type(node) is MappingNode else [(item, item) for item in node.value]
            for key, value in pairs:
                line, column = self.position(key.start_mark.index)
                yield line, column, max(line, self.position(self.end_of(value))[0])

    def text(self) -> str:
        """The document's text, with anything that is no UTF-8 replaced."""
        if self._text is None:
            self._text = self.raw_bytes.decode("utf-8", "replace")
        return self._text

    # How nodes are found and measured.

    def _find(self, path: Path, *, exact: bool = False) -> tuple[Any, Any]:
        """The node at ``path`` and its key's (of a list item its first scalar's); the nearest parent's unless ``exact``."""
        node, key_node = self._root, None
        for step in path:
            found = self._child(node, step)
            if found is None:
                return (None, None) if exact else (node, key_node)
            key_node, node = found
        return node, key_node

    def _child(self, node: Any, step: str | int) -> tuple[Any, Any] | None:
        if type(step) is int:
            if type(node) is SequenceNode and 0 <= step < len(node.value):
                return _first_scalar(node.value[step]), node.value[step]
            return None
        if type(node) is not MappingNode or type(step) is not str:
            return None
        pairs = self._merged.get(id(node)) or self._pairs.get(id(node))
        if pairs is None:
            pairs = self._pairs[id(node)] = pairs_of(node)
        return pairs.get(step)

    def _start(self) -> Span:
        return Span(self.line + 1, 1, self.line + 1, 1)

    def _span(self, node: Any) -> Span:
        """The span of a node that lies on one line; of one with more lines, the first of them."""
        start, end = self._content(node), self.end_of(node)
        line, column = self.position(start)
        if self.position(end)[0] == line:
            if start == end and self.text()[start - 1 : start] == "-":
                return Span(line, column - 1, line, column)  # A list item that holds nothing: its dash.
            return Span(line, column, line, column + end - start)
        breaks = self.line_starts()
        number = line - self.line
        first = self.text()[start : breaks[number] if number < len(breaks) else None].rstrip()
        return Span(line, column, line, column + max(len(first), 1))

    def _content(self, node: Any) -> int:
        """Where a scalar begins behind its anchor and its tag."""
        start: int = node.start_mark.index
        text = self.text()
        if type(node) is ScalarNode and text[start : start + 1] in ("&", "!"):
            match = _PROPERTIES.match(text, start, node.end_mark.index)
            if match is not None and match.end() < node.end_mark.index:
                return match.end()
        return start

    def end_of(self, node: Any) -> int:
        """Where a node's text ends: libyaml puts the end of what is indented at the start of the next token."""
        last = node
        while type(last) is not ScalarNode and not last.flow_style and last.value:
            below = last.value[-1]
            key, value = below if type(last) is MappingNode else (None, below)
            if value.start_mark.index <= last.start_mark.index:  # An alias, perhaps to what it stands in.
                return self._before_blank(key.end_mark.index if key is not None else last.start_mark.index, last.end_mark.index)
            last = value
        end: int = last.end_mark.index
        if type(last) is ScalarNode and last.style in ("|", ">"):
            start: int = last.start_mark.index
            return start + len(self.text()[start:end].rstrip())
        return end

    def _before_blank(self, start: int, end: int) -> int:
        """The end of the first line with content between two places."""
        match = _TO_LINE_END.match(self.text(), start, end)
        return match.end() if match is not None else start

    def position(self, index: int) -> tuple[int, int]:
        """Line and column, both from 1, of a code point of this document. Only LF, CR LF and CR break lines, as in editors."""
        breaks = self.line_starts()
        from bisect import bisect_right

        line = bisect_right(breaks, index) - 1
        return self.line + line + 1, index - breaks[line] + 1 + (self._column if line == 0 else 0)

    def _character(self, index: int) -> Span:
        """The span of one character; an empty one at the end of a line or of the text."""
        line, column = self.position(index)
        return Span(line, column, line, column + (self.text()[index : index + 1] not in ("", "\n", "\r")))

    def line_starts(self) -> Sequence[int]:
        """Where the lines of the text begin. Only LF, CR LF and CR break lines."""
        if self._breaks is None:
            from array import array

            # Not a list: there may be a million of them.
            self._breaks = array("I", [0])
            self._breaks.extend(match.end() for match in _LINE_BREAK.finditer(self.text()))
        return self._breaks


_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|#.*)*)*")
_TO_LINE_END = re.compile(r"[^\r\n]*[^\s]")


def _first_scalar(node: Any) -> Any:
    """The node to show for a list item: the first key of a mapping, else the item itself."""
    while type(node) is not ScalarNode and node.value:
        node = node.value[0][0] if type(node) is MappingNode else node.value[0]
    return node


_LONG = 1_000_000
"""From here on it matters how much memory a document takes."""


def read(raw_bytes: bytes, index: int, line: int) -> Document:
    """Parse the bytes of one document (UTF-8, without separator lines). Never raises; a fault is the document's problem."""
    if raw_bytes.startswith(_BOM):
        raw_bytes = raw_bytes[3:]
    if len(raw_bytes) > _LONG:
        from afflint.reading.lists import read_list

        long = read_list(raw_bytes, index, line)
        if long is not None:
            return long
    document = Document(raw_bytes, index, line)
    try:
        document._root = compose(raw_bytes)
        if document._root is not None:
            convert(document)
        return document
    except UnreadableError as error:
        document.problem = Problem(error.message, document._span(error.node))
    except YAMLError as error:
        document.problem = _syntax_problem(document, error)
    except (TooDeepError, TooLargeError) as error:
        document.problem = _bound_problem(document, error)
    except RecursionError:
        document.problem = _bound_problem(document, TooDeepError(too_deep_at(raw_bytes)))
    except MemoryError:
        document.problem = Problem("reading it takes more memory than there is", document._start())
    document.data = document._root = None
    return document


def convert(document: Document) -> None:
    """Set the data of a composed document, and its repeated keys. Raises UnreadableError."""
    # Anchors need "&" (an alias without one is a syntax error) and merge keys need "<<".
    if b"&" not in document.raw_bytes and b"<<" not in document.raw_bytes:
        try:
            document.data = plain_data(document._root)
            return
        except (RepeatedKeyError, ValueError):
            pass  # The careful conversion finds out where.
    careful = CarefulConversion()
    document.data = careful.document(document._root)
    document._merged = careful.merged
    document.duplicates = tuple(Duplicate(path, document._span(place), document._span(first)) for path, place, first in careful.duplicates)


def _bound_problem(document: Document, error: TooDeepError | TooLargeError) -> Problem:
    if isinstance(error, TooLargeError) or error.index is None:
        return Problem(str(error), document._start())
    return Problem(str(error), document._character(error.index))


_TEXT_AFTER = "text after the document separator `---`; only a comment may follow it"


def split(data: bytes) -> Iterator[tuple[bytes, int, str | None]]:
    """Cut a stream into documents by its ``---`` lines, as the API server does: ``(bytes, 0-based line, problem)``.

    The problem is text after a separator, which is refused; the bytes then start after that line. Only LF ends lines here.
    JSON objects one after another are a document each, if each begins on a line of its own.
    """
    for piece, line, problem in _between_separators(data):
        if piece.startswith(b"{") and b"\n{" in piece:
            for number, (each, below) in enumerate(_json_objects(piece)):
                yield each, line + below, None if number else problem
        else:
            yield piece, line, problem


def _between_separators(data: bytes) -> Iterator[tuple[bytes, int, str | None]]:
    start, line, problem = 0, 0, None
    separator = 0 if data.startswith(b"---") else data.find(b"\n---") + 1
    while separator or data.startswith(b"---", separator):
        if separator > start or problem:
            yield data[start:separator], line, problem
        end = data.find(b"\n", separator) + 1 or len(data)
        line += _count_lines(data, start, end)
        rest = data[separator + 3 : end].strip()
        problem = None if not rest or rest.startswith(b"#") else _TEXT_AFTER
        start = end
        separator = data.find(b"\n---", end - 1) + 1
        if not separator:
            break
    yield data[start:], line, problem


def _json_objects(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Each object with its 0-based line; what is no JSON stays in one piece, and the parser of YAML says what it is."""
    from json import JSONDecoder

    decoder = JSONDecoder()
    text = data.decode("utf-8", "replace")
    start, line = 0, 0
    try:
        while following := _NEXT_OBJECT.match(text, decoder.raw_decode(text, start)[1]):
            yield text[start : following.end()].encode(), line
            line += text.count("\n", start, following.end())
            start = following.end()
    except (ValueError, RecursionError):
        pass
    yield text[start:].encode() if start else data, line


_NEXT_OBJECT = re.compile(r"\s*\n(?=\{)")
_BOM = b"\xef\xbb\xbf"


def to_utf8(data: bytes) -> bytes:
    """The same text in UTF-8 without a byte order mark. Raises UnicodeDecodeError when UTF-16 input is broken.

    UTF-16 is recognised by its byte order mark, or by NUL bytes around the first ASCII character as JSON does it.
    """
    if data.startswith(_BOM):
        return data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16").encode("utf-8")
    if data[:1] == b"\0" and data[1:2] not in (b"", b"\0"):
        return data.decode("utf-16-be").encode("utf-8")
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return data.decode("utf-16-le").encode("utf-8")
    return data


_NO_UTF_8 = "bytes that are no UTF-8"
_FRIENDLIER = {
    "invalid leading UTF-8 octet": _NO_UTF_8,
    "invalid trailing UTF-8 octet": _NO_UTF_8,
    "incomplete UTF-8 octet sequence": _NO_UTF_8,
    "invalid length of a UTF-8 sequence": _NO_UTF_8,
    "invalid Unicode character": _NO_UTF_8,
    "found character that cannot start any token": "a character that cannot start a value here",
    "mapping values are not allowed in this context": "`: ` is not allowed here: the line before is unfinished, or the indentation is off",
    "did not find expected key": "the indentation is off: expected a key",
    "did not find expected '-' indicator": "the indentation is off: expected a list item `- `",
    "did not find expected ',' or ']'": "a `[` that is not closed: expected `,` or `]`",
    "did not find expected ',' or '}'": "a `{` that is not closed: expected `,` or `}`",
    "did not find expected node content": "a value is missing or cut off here",
    "found unexpected end of stream": "a quote that is not closed",
    "found unexpected document indicator": "a quote that is not closed",
    "control characters are not allowed": "a control character, which YAML does not allow",
    "found undefined alias": "an alias to an anchor that is not defined in this document",
    "could not find expected ':'": "the indentation is off, or a `:` is missing after the key",
    "did not find expected <document start>": "text that belongs to no document: a line before it ends the document, or is a `%` directive",
    "found invalid Unicode character escape code": "an escape that is no Unicode character",
}


def _syntax_problem(document: Document, error: Exception) -> Problem:
    if isinstance(error, MarkedYAMLError):
        reason, mark = error.problem or "not YAML", error.problem_mark or error.context_mark
        if _FRIENDLIER.get(reason) == "a quote that is not closed" and error.context_mark is not None:
            mark = error.context_mark  # Where it was opened.
        index = mark.index if mark is not None else 0
    else:
        # A ReaderError counts bytes, and only the characters before the fault are known to be good.
        reason = str(getattr(error, "reason", "") or "not YAML")
        offset = getattr(error, "position", 0) or 0
        index = len(document.raw_bytes[: max(offset, 0)].decode("utf-8", "replace"))
    text = document.text()
    index = min(index, len(text))
    message = _FRIENDLIER.get(reason, reason)
    if text[index : index + 1] == "?" and reason.startswith("did not find expected ','"):
        message = "an unquoted value with a `?` inside `[ ]` or `{ }`; put it in quotes"
    elif text[index : index + 1] == "\t":
        message = "a tab, which YAML does not allow as indentation; use spaces"
    return Problem(message, document._character(index))


def _count_lines(data: bytes, start: int, end: int) -> int:
    """The line breaks in a stretch: LF, CR LF and lone CR."""
    lines = data.count(b"\n", start, end)
    if data.find(b"\r", start, end) >= 0:
        lines += data.count(b"\r", start, end) - data.count(b"\r\n", start, end)
    return lines
