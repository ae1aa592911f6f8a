"""YAML documents: bytes become plain data as the API server would read them, and a path into that data becomes a span.

The fast pass composes nodes with libyaml and turns them into plain data; spans are computed only for paths that are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from _ruamel_yaml import CParser
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.tag import Tag

from afflint.findings import Path, Span
from afflint.reading.scalars import Scalar, key_text, resolve_plain, resolve_tagged

MAX_DEPTH = 500
"""Deepest nesting that is composed. The composer recurses on the C stack and would end the process far beyond it."""
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
# What can be composed without counting its depth first: a level takes a column or an opening bracket.
_SAFE_LINE, _SAFE_BRACKETS = 1000, 2000

_PLAIN, _QUOTED, _COLLECTION = Tag(suffix="plain"), Tag(suffix="quoted"), Tag(suffix="collection")


class Problem(NamedTuple):
    """Why a document (or a part of it) cannot be read, and where."""

    message: str
    span: Span


class Duplicate(NamedTuple):
    """A key that occurs again in the same mapping. ``first`` and ``span`` are the places of the two keys."""

    path: Path
    span: Span
    first: Span


class _PlainValues(dict[str, Scalar]):
    """Remembers what plain scalars resolve to: manifests say the same few words again and again."""

    def __missing__(self, text: str) -> Scalar:
        value = resolve_plain(text)
        if len(self) < 20_000 and len(text) < 100:
            self[text] = value
        return value


class _PlainKeys(dict[str, Any]):
    """The same for mapping keys, which always become strings; None stands for the null key."""

    def __missing__(self, text: str) -> str | None:
        key = key_text(resolve_plain(text))
        if len(self) < 20_000 and len(text) < 100:
            self[text] = key
        return key


_PLAIN_VALUES = _PlainValues()
_PLAIN_KEYS = _PlainKeys()
_TAGS = {
    (True, False): _PLAIN,
    (False, True): _QUOTED,
    (True, True): _PLAIN,
    (False, False): _QUOTED,
    True: _COLLECTION,
    False: _COLLECTION,
}


class _Composer(CParser):  # type: ignore[misc]
    """libyaml's composer without tag resolution: it only notes whether a scalar was plain, because we resolve as Go does."""

    @staticmethod
    def resolve(_kind: type, _value: str, implicit: Any) -> Tag:
        return _TAGS[implicit]

    @staticmethod
    def descend_resolver(_node: object, _index: object) -> None:
        """Nothing to do: path resolvers are a feature that manifests do not use."""

    @staticmethod
    def ascend_resolver() -> None:
        """See descend_resolver."""


class _UnreadableError(ValueError):
    """Raised while converting nodes; carries the node at fault."""

    def __init__(self, message: str, node: Any) -> None:
        super().__init__(message)
        self.message = message
        self.node = node


class Document:
    """One YAML document: ``data`` (None when it has a problem or is empty), ``problem``, ``duplicates``, and where it lies.

    ``index`` counts the documents of a file from 0, empty ones left out; ``line`` is the 0-based line of its first byte.
    """

    __slots__ = ("_breaks", "_root", "_text", "data", "duplicates", "index", "line", "problem", "raw_bytes")

    def __init__(self, raw_bytes: bytes, index: int, line: int) -> None:
        self.raw_bytes = raw_bytes
        self.index = index
        self.line = line
        self.data: Any = None
        self.problem: Problem | None = None
        self.duplicates: tuple[Duplicate, ...] = ()
        self._root: Any = None
        self._text: str | None = None
        self._breaks: list[int] | None = None

    @property
    def empty(self) -> bool:
        """True for a document without content: blank, only comments, or null."""
        return self.data is None and self.problem is None

    def locate(self, path: Path, *, key: bool = False) -> Span:
        """The span of the value at ``path``: the scalar, or for a collection its key (or first line as a list item).

        With ``key`` the span of the key itself. A path that does not exist gives the nearest existing parent.
        """
        node, key_node = self._find(path)
        if node is None:
            return Span(self.line + 1, 1, self.line + 1, 1)
        if (key or not isinstance(node, ScalarNode) or node.start_mark.index == node.end_mark.index) and key_node is not None:
            return self._span(key_node)
        return self._span(node)

    def extent(self, path: Path) -> Span:
        """The whole stretch of the value at ``path`` with its key, from its first to its last character."""
        node, key_node = self._find(path)
        if node is None:
            return Span(self.line + 1, 1, self.line + 1, 1)
        start = self._position((key_node or node).start_mark.index)
        end = self._position(self._trimmed_end(node))
        return Span(*start, *end)

    def raw(self, path: Path) -> str | None:
        """The text of the scalar at ``path`` as it is written, without quotes; None for collections and missing paths."""
        node, _ = self._find(path, exact=True)
        return node.value if isinstance(node, ScalarNode) else None

    def is_plain(self, path: Path) -> bool:
        """True when the value at ``path`` is an unquoted, untagged scalar."""
        node, _ = self._find(path, exact=True)
        return isinstance(node, ScalarNode) and node.ctag is _PLAIN

    def scalar_spans(self) -> Iterator[Span]:
        """The spans of all scalars of more than one line or in quotes, where a ``#`` is text and no comment."""
        stack, seen = [self._root], set()
        while stack:
            node = stack.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, ScalarNode):
                if node.ctag is not _PLAIN:
                    yield self._span(node, whole=True)
            elif isinstance(node, MappingNode):
                for pair in node.value:
                    stack.extend(pair)
            else:
                stack.extend(node.value)

    def node_lines(self) -> Iterator[tuple[int, int, int]]:
        """For every key and list item: its line, column and the line on which its value ends (from 1, in file lines)."""
        stack, seen = [self._root], set()
        while stack:
            node = stack.pop()
            if node is None or id(node) in seen or isinstance(node, ScalarNode):
                continue
            seen.add(id(node))
            pairs = node.value if isinstance(node, MappingNode) else [(item, item) for item in node.value]
            for key, value in pairs:
                line, column = self._position(key.start_mark.index)
                yield line, column, self._position(self._trimmed_end(value))[0]
                stack.append(value)

    def text(self) -> str:
        """The document's text, with anything that is no UTF-8 replaced."""
        if self._text is None:
            self._text = self.raw_bytes.decode("utf-8", "replace")
        return self._text

    # How nodes are found and measured.

    def _find(self, path: Path, *, exact: bool = False) -> tuple[Any, Any]:
        node, key_node = self._root, None
        for step in path:
            found = _child(node, step)
            if found is None:
                return (None, None) if exact else (node, key_node)
            key_node, node = found
        return node, key_node

    def _span(self, node: Any, *, whole: bool = False) -> Span:
        line, column = self._position(node.start_mark.index)
        if isinstance(node, ScalarNode) and (whole or node.start_mark.line == node.end_mark.line):
            return Span(line, column, *self._position(self._trimmed_end(node)))
        # Collections and block scalars are shown by their first line only.
        text = self.text()
        first = text[node.start_mark.index :].splitlines()[:1]
        width = len(first[0].rstrip()) if first else 0
        return Span(line, column, line, column + max(width, 1))

    def _trimmed_end(self, node: Any) -> int:
        """Where a node's text ends: libyaml puts the end of block collections at the start of the next token."""
        end: int = node.end_mark.index
        if node.start_mark.line == node.end_mark.line:
            return end
        text = self.text()
        start: int = node.start_mark.index
        stretch = text[start:end]
        while True:
            trimmed = stretch.rstrip()
            last_line = trimmed.rfind("\n") + 1
            if last_line and trimmed[last_line:].lstrip().startswith("#") and not isinstance(node, ScalarNode):
                stretch = trimmed[:last_line]
                continue
            return start + len(trimmed)

    def _position(self, index: int) -> tuple[int, int]:
        """Line and column, both from 1, of a code point of this document. Only LF, CR LF and CR break lines, as in editors."""
        if self._breaks is None:
            text = self.text()
            self._breaks = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
        import bisect

        line = bisect.bisect_right(self._breaks, index) - 1
        return self.line + line + 1, index - self._breaks[line] + 1


def read(raw_bytes: bytes, index: int, line: int) -> Document:
    """Parse the bytes of one document (UTF-8, without separator lines). Never raises; a fault is the document's problem."""
    document = Document(raw_bytes, index, line)
    if _too_deep(raw_bytes):
        document.problem = Problem(_TOO_DEEP, Span(line + 1, 1, line + 1, 2))
        return document
    try:
        # Go reads the first document only; what follows a "..." line is never looked at.
        composer = _Composer(raw_bytes)
        if not composer.check_node():
            return document
        root = composer.get_node()
    except YAMLError as error:
        document.problem = _syntax_problem(document, error)
        return document
    document._root = root
    try:
        _convert(document)
    except _UnreadableError as error:
        document.data = None
        document.problem = Problem(error.message, document._span(error.node))
    except RecursionError:
        document.data = None
        document.problem = Problem(_TOO_DEEP, Span(line + 1, 1, line + 1, 2))
    return document


def _convert(document: Document) -> None:
    # Anchors need "&" (an alias without one is a syntax error) and merge keys need "<<".
    if b"&" not in document.raw_bytes and b"<<" not in document.raw_bytes:
        try:
            document.data = _plain_data(document._root)
            return
        except (_RepeatedKeyError, ValueError):
            pass  # The careful conversion finds out where.
    careful = _CarefulConversion(document)
    document.data = careful.value(document._root, ())
    careful.check_expansion()
    document.duplicates = tuple(careful.duplicates)


_SEPARATOR = re.compile(rb"^---([^\r\n]*)(?:\r\n|\n|\r|$)", re.MULTILINE)


def split(data: bytes) -> Iterator[tuple[bytes, int, str | None]]:
    """Cut a stream into documents by its ``---`` lines, as the API server does: ``(bytes, 0-based line, problem)``.

    The problem is text after a separator, which is refused; the bytes then start after that line.
    """
    if not (data.startswith(b"---") or b"\n---" in data):
        yield data, 0, None
        return
    start, line, problem = 0, 0, None
    for match in _SEPARATOR.finditer(data):
        if match.start() > start or problem:
            yield data[start : match.start()], line, problem
        line += _count_lines(data, start, match.end())
        start = match.end()
        rest = match[1].strip()
        problem = None if not rest or rest.startswith(b"#") else "text after the document separator `---`; only a comment may follow it"
    yield data[start:], line, problem


def to_utf8(data: bytes) -> bytes:
    """The same text in UTF-8 without a byte order mark. Raises UnicodeDecodeError when UTF-16 input is broken.

    UTF-16 is recognised by its byte order mark, or by NUL bytes around the first ASCII character as JSON does it.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16").encode("utf-8")
    if data[:1] == b"\0" and data[1:2] not in (b"", b"\0"):
        return data.decode("utf-16-be").encode("utf-8")
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return data.decode("utf-16-le").encode("utf-8")
    return data


class _RepeatedKeyError(Exception):
    """The fast conversion met a repeated key; the careful one tells where."""


def _plain_data(node: Any) -> Any:
    """Nodes to plain data, for documents without anchors, aliases and merge keys. This is the hottest loop of afflint."""
    if type(node) is ScalarNode:
        tag = node.ctag
        return _PLAIN_VALUES[node.value] if tag is _PLAIN else node.value if tag is _QUOTED else _tagged(node)
    if type(node) is MappingNode:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.ctag is _PLAIN:
                key = _PLAIN_KEYS[key_node.value]
            elif key_node.ctag is _QUOTED:
                key = key_node.value
            else:
                key = _odd_key(key_node)
            if key is None:
                raise _UnreadableError("a null key: the API server takes only strings, numbers and booleans as keys", key_node)
            if value_node.ctag is _PLAIN:
                result[key] = _PLAIN_VALUES[value_node.value]
            elif value_node.ctag is _QUOTED:
                result[key] = value_node.value
            else:
                result[key] = _plain_data(value_node)
        if len(result) != len(node.value):
            raise _RepeatedKeyError
        return result
    return [_plain_data(item) for item in node.value]


def _tagged(node: Any) -> Scalar:
    try:
        return resolve_tagged(str(node.ctag), node.value)
    except ValueError as error:
        raise _UnreadableError(f"`{node.value[:80]}` {error}", node) from None


def _odd_key(node: Any) -> str | None:
    if not isinstance(node, ScalarNode):
        raise _UnreadableError("a key that is a list or a map: the API server takes only strings, numbers and booleans as keys", node)
    return key_text(_tagged(node))


class _CarefulConversion:
    """Nodes to plain data with anchors, merge keys and repeated keys, in the order in which go-yaml v2 does it.

    A later key silently replaces an earlier one in the data, and every repetition is noted: strict decoding refuses it.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._done: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()
        self._nodes = 0
        self._expanded = 0
        self._aliased = 0
        self.duplicates: list[Duplicate] = []

    def value(self, node: Any, path: Path) -> Any:
        """The plain data of a node; aliased nodes share one value."""
        identity = id(node)
        if identity in self._done:
            self._expanded += self._sizes[identity]
            self._aliased += self._sizes[identity]
            return self._done[identity]
        if identity in self._open:
            raise _UnreadableError("an anchor that contains itself", node)
        self._open.add(identity)
        before = self._expanded
        self._expanded += 1
        self._nodes += 1
        if isinstance(node, ScalarNode):
            result: Any = self._scalar(node)
        elif isinstance(node, MappingNode):
            result = self._mapping(node, path)
        else:
            result = [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        self._open.discard(identity)
        self._done[identity] = result
        self._sizes[identity] = self._expanded - before
        return result

    def check_expansion(self) -> None:
        """Refuse what go-yaml v2 refuses as excessive aliasing: the more a document grows, the fewer aliases it may owe that to."""
        if self._aliased <= 100 or self._expanded <= 1000:
            return
        growth = min(max((self._expanded - 400_000) / 3_600_000, 0.0), 1.0)
        if self._aliased / self._expanded > 0.99 - 0.89 * growth:
            raise _UnreadableError("excessive aliasing: the anchors expand to far more than the document holds", self._document._root)

    def _scalar(self, node: Any) -> Scalar:
        tag = node.ctag
        if tag is _QUOTED:
            text: str = node.value
            return text
        try:
            return _PLAIN_VALUES[node.value] if tag is _PLAIN else _tagged(node)
        except _UnreadableError:
            raise
        except ValueError as error:
            raise _UnreadableError(f"`{node.value}` {error}", node) from None

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        places: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                self._merge(value_node, result, places, key_node, path)
                continue
            key = self._key(key_node)
            value = self.value(value_node, (*path, key))
            self._expanded += 1
            self._set(result, places, key, value, key_node, path)
        return result

    def _key(self, node: Any) -> str:
        if not isinstance(node, ScalarNode):
            raise _UnreadableError("a key that is a list or a map: the API server takes only strings, numbers and booleans as keys", node)
        key = key_text(self._scalar(node))
        if key is None:
            raise _UnreadableError("a null key: the API server takes only strings, numbers and booleans as keys", node)
        return key

    def _set(self, result: dict[str, Any], places: dict[str, Any], key: str, value: Any, key_node: Any, path: Path) -> None:
        if key in result:
            spans = self._document._span(key_node), self._document._span(places[key])
            self.duplicates.append(Duplicate((*path, key), *spans))
        result[key] = value
        places[key] = key_node

    def _merge(self, value_node: Any, result: dict[str, Any], places: dict[str, Any], key_node: Any, path: Path) -> None:
        sources = value_node.value[::-1] if isinstance(value_node, SequenceNode) else [value_node]
        for source in sources:
            if not isinstance(source, MappingNode):
                raise _UnreadableError("a merge key `<<` takes a map or a list of maps", value_node)
            for key, value in self.value(source, path).items():
                self._set(result, places, key, value, key_node, path)


def _is_merge(key_node: Any) -> bool:
    return isinstance(key_node, ScalarNode) and key_node.value == "<<" and key_node.ctag is not _QUOTED


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """The (key node, value node) at one step below a node; a merged mapping is searched through its merge keys."""
    if isinstance(step, int):
        if isinstance(node, SequenceNode) and step < len(node.value):
            return _first_scalar(node.value[step]), node.value[step]
        return None
    if not isinstance(node, MappingNode):
        return None
    merged = None
    for key_node, value_node in reversed(node.value):
        if _is_merge(key_node):
            sources = value_node.value if isinstance(value_node, SequenceNode) else [value_node]
            for source in sources:
                merged = merged or _child(source, step)
        elif isinstance(key_node, ScalarNode) and _written_key(key_node) == step:
            return key_node, value_node
    return merged


def _written_key(node: Any) -> str | None:
    if node.ctag is _PLAIN:
        try:
            key: str | None = _PLAIN_KEYS[node.value]
        except ValueError:
            return None
        return key
    text: str = node.value
    return text


def _first_scalar(node: Any) -> Any:
    """The node to show for a list item: the first key of a mapping, else the item itself."""
    while not isinstance(node, ScalarNode) and node.value:
        node = node.value[0][0] if isinstance(node, MappingNode) else node.value[0]
    return node


def _too_deep(raw_bytes: bytes) -> bool:
    """True when composing would nest deeper than MAX_DEPTH. Counts events, which do not recurse, but only for odd text."""
    brackets = raw_bytes.count(b"[") + raw_bytes.count(b"{")
    if brackets:
        brackets -= raw_bytes.count(b"[]") + raw_bytes.count(b"{}")
    if brackets <= _SAFE_BRACKETS and max(map(len, raw_bytes.splitlines()), default=0) <= _SAFE_LINE:
        return False
    parser = _Composer(raw_bytes)
    depth = 0
    try:
        while parser.check_event():
            name = type(parser.get_event()).__name__
            if name in ("MappingStartEvent", "SequenceStartEvent"):
                depth += 1
                if depth > MAX_DEPTH:
                    return True
            elif name in ("MappingEndEvent", "SequenceEndEvent"):
                depth -= 1
    except YAMLError:
        return False  # The composer stops at the same place and says why.
    return False


_FRIENDLIER = {
    "found character that cannot start any token": "a character that cannot start a value here",
    "mapping values are not allowed in this context": "`: ` is not allowed here: the line before is not finished, or the indentation is off",
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
}


def _syntax_problem(document: Document, error: Exception) -> Problem:
    if isinstance(error, MarkedYAMLError):
        reason, mark = error.problem or "not YAML", error.problem_mark or error.context_mark
        index = mark.index if mark is not None else 0
    else:
        # A ReaderError counts bytes, and only the characters before the fault are known to be good.
        reason = str(getattr(error, "reason", "") or "not YAML")
        offset = getattr(error, "position", 0) or 0
        index = len(document.raw_bytes[: max(offset, 0)].decode("utf-8", "replace"))
    text = document.text()
    index = min(index, len(text))
    line, column = document._position(index)
    message = _FRIENDLIER.get(reason, reason)
    if text[index : index + 1] == "\t":
        message = "a tab, which YAML does not allow as indentation; use spaces"
    return Problem(message, Span(line, column, line, column + 1))


def _count_lines(data: bytes, start: int, end: int) -> int:
    """The line breaks in a stretch: LF, CR LF and lone CR."""
    lines = data.count(b"\n", start, end)
    if data.find(b"\r", start, end) >= 0:
        lines += data.count(b"\r", start, end) - data.count(b"\r\n", start, end)
    return lines
