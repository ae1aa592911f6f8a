"""Splits the bytes of a file into documents and reads them: encodings, separators, and the positions of what cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.yaml.document import Document as Document
from afflint.yaml.document import Problem as Problem
from afflint.yaml.fast_parser import plain_blocks

_LONG = 1_000_000
"""From this size on, the memory of a document matters."""


def read(raw_bytes: bytes, index: int, line: int) -> Document:
    """Parse the bytes of one document (UTF-8, without separator lines). Never raises; a mistake is the document's problem.

    A document that is unreadable because of lone placeholders, as in templates, is read with the placeholders as text.
    """
    if raw_bytes.startswith(_BOM):
        raw_bytes = raw_bytes[3:]
    if len(raw_bytes) > _LONG:
        from afflint.yaml.list_reader import read_list

        long = read_list(raw_bytes, index, line)
        if long is not None:
            return long
    data = plain_blocks(raw_bytes)
    if data is not None:
        document = Document(raw_bytes, index, line)
        document.made_of(data)
        return document
    from afflint.yaml.parser import parse_document

    document = parse_document(raw_bytes, raw_bytes, index, line)
    if document.problem is not None:
        from afflint.yaml.placeholders import masked

        readable = masked(raw_bytes)
        if readable is not None:
            return parse_document(raw_bytes, readable, index, line)
    return document


_TEXT_AFTER = "text after the document separator `---`; only a comment may follow it"


def split(data: bytes) -> Iterator[tuple[bytes, int, str | None]]:
    """Cut a stream into documents at its ``---`` lines, as the API server does: ``(bytes, 0-based line, problem)``.

    The problem is text after a separator, which is rejected; the bytes then start after that line. Only LF ends lines here.
    JSON objects in sequence are a document each, if each begins on a line of its own.
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
    """Yield each object with its 0-based line; what is not JSON stays in one piece, and the YAML parser reports it."""
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
    """Convert the text to UTF-8 without a byte order mark. Raises UnicodeDecodeError if UTF-16 input is invalid.

    UTF-16 is recognised by its byte order mark, or by NUL bytes around the first ASCII character as in JSON.
    """
    mark, encoding = encoding_of(data)
    if encoding == "utf-8":
        return data[len(mark) :] if mark else data
    return data[len(mark) :].decode(encoding).encode("utf-8")


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file, empty without one, and the encoding of the rest."""
    if data.startswith(_BOM):
        return _BOM, "utf-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data[:2], "utf-16-le" if data[:1] == b"\xff" else "utf-16-be"
    if data[:1] == b"\0" and data[1:2] not in (b"", b"\0"):
        return b"", "utf-16-be"
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return b"", "utf-16-le"
    return b"", "utf-8"


def _count_lines(data: bytes, start: int, end: int) -> int:
    """Count the line breaks in a range: LF, CR LF and lone CR."""
    lines = data.count(b"\n", start, end)
    if data.find(b"\r", start, end) >= 0:
        lines += data.count(b"\r", start, end) - data.count(b"\r\n", start, end)
    return lines
