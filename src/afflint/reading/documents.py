"""From the bytes of a file to its documents: encodings, separators, and what cannot be read, with the place where it cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from afflint.reading.composing import TooDeepError, TooLargeError, compose, nodes_below, too_deep_at
from afflint.reading.conversion import UnreadableError
from afflint.reading.document import Document as Document
from afflint.reading.document import Problem as Problem
from afflint.reading.document import convert
from afflint.reading.nodes import ScalarNode
from afflint.reading.plain_blocks import plain_blocks

_LONG = 1_000_000
"""From here on it matters how much memory a document takes."""


def read(raw_bytes: bytes, index: int, line: int) -> Document:
    """Parse the bytes of one document (UTF-8, without separator lines). Never raises; a fault is the document's problem.

    A document that cannot be read because of lone placeholders, as templates have them, is read with these as text.
    """
    if raw_bytes.startswith(_BOM):
        raw_bytes = raw_bytes[3:]
    if len(raw_bytes) > _LONG:
        from afflint.reading.lists import read_list

        long = read_list(raw_bytes, index, line)
        if long is not None:
            return long
    document = _read(raw_bytes, raw_bytes, index, line)
    if document.problem is not None:
        from afflint.reading.placeholders import masked

        readable = masked(raw_bytes)
        if readable is not None:
            return _read(raw_bytes, readable, index, line)
    return document


def _read(raw_bytes: bytes, composed: bytes, index: int, line: int) -> Document:
    """The document with this text. What is composed has its placeholders masked, if it is not the same."""
    document = Document(raw_bytes, index, line)
    if composed is raw_bytes and (data := plain_blocks(raw_bytes)) is not None:
        document.made_of(data)
        return document
    try:
        document.root, document.rest = compose(composed)
        if composed is not raw_bytes:
            document.filled = True
            _unmask(document.root)
        if document.root is not None:
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
    document.data = document.root = document.rest = None
    return document


def _unmask(root: Any) -> None:
    from afflint.reading.placeholders import unmasked

    for node in nodes_below(root):
        if type(node) is ScalarNode:
            node.value = unmasked(node.value)


def _bound_problem(document: Document, error: TooDeepError | TooLargeError) -> Problem:
    if isinstance(error, TooLargeError) or error.index is None:
        return Problem(str(error), document._start())
    return Problem(str(error), document.character(error.index))


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

    decoder, next_object = JSONDecoder(), re.compile(r"\s*\n(?=\{)")
    text = data.decode("utf-8", "replace")
    start, line = 0, 0
    try:
        while following := next_object.match(text, decoder.raw_decode(text, start)[1]):
            yield text[start : following.end()].encode(), line
            line += text.count("\n", start, following.end())
            start = following.end()
    except (ValueError, RecursionError):
        pass
    yield text[start:].encode() if start else data, line


_BOM = b"\xef\xbb\xbf"


def to_utf8(data: bytes) -> bytes:
    """The same text in UTF-8 without a byte order mark. Raises UnicodeDecodeError when UTF-16 input is broken.

    UTF-16 is recognised by its byte order mark, or by NUL bytes around the first ASCII character as JSON does it.
    """
    mark, encoding = encoding_of(data)
    if encoding == "utf-8":
        return data[len(mark) :] if mark else data
    return data[len(mark) :].decode(encoding).encode("utf-8")


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """The byte order mark of a file, empty without one, and the encoding of what follows."""
    if data.startswith(_BOM):
        return _BOM, "utf-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data[:2], "utf-16-le" if data[:1] == b"\xff" else "utf-16-be"
    if data[:1] == b"\0" and data[1:2] not in (b"", b"\0"):
        return b"", "utf-16-be"
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return b"", "utf-16-le"
    return b"", "utf-8"


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
    "did not find the expected '>'": "a tag that is not closed: expected `>`",
    "found undefined alias": "an alias to an anchor that is not defined in this document",
    "could not find expected ':'": "the indentation is off, or a `:` is missing after the key",
    "did not find expected <document start>": "text that belongs to no document: a line before it ends the document, or is a `%` directive",
    "found invalid Unicode character escape code": "an escape that is no Unicode character",
}


def _syntax_problem(document: Document, error: Exception) -> Problem:
    if isinstance(error, MarkedYAMLError):
        reason = error.problem or "not YAML"
        index = _place(reason, error.problem_mark, error.context_mark, len(document.text().rstrip()))
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
    return Problem(message, document.character(index))


def _place(reason: str, mark: Any, context: Any, end: int) -> int:
    """Where a fault is: where libyaml gave up, or where that began which it never found the end of."""
    if mark is None or context is None:
        mark = mark or context
    elif reason in _NOT_ENDED or mark.index >= end or (reason in _NOT_CLOSED and mark.line > context.line):
        mark = context
    index: int = mark.index if mark is not None else 0
    return index


_NOT_ENDED = ("found unexpected end of stream", "found unexpected document indicator", "could not find expected ':'")
_NOT_CLOSED = ("did not find expected ',' or ']'", "did not find expected ',' or '}'")


def _count_lines(data: bytes, start: int, end: int) -> int:
    """The line breaks in a stretch: LF, CR LF and lone CR."""
    lines = data.count(b"\n", start, end)
    if data.find(b"\r", start, end) >= 0:
        lines += data.count(b"\r", start, end) - data.count(b"\r\n", start, end)
    return lines
