"""Parses a document with libyaml: its nodes, its data, and the problem if it cannot be read, with its position."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode

from afflint.yaml.composer import TooDeepError, TooLargeError, compose, nodes_below, too_deep_at
from afflint.yaml.conversion import CarefulConversion, RepeatedKeyError, UnreadableError, is_merge, plain_data
from afflint.yaml.document import Document, Duplicate, Problem


def parse_document(raw_bytes: bytes, composed: bytes, index: int, line: int) -> Document:
    """Parse a document; ``composed`` is its text with masked placeholders, or the same text."""
    document = Document(raw_bytes, index, line)
    try:
        document.root, document.rest = compose(composed)
        if composed is not raw_bytes:
            document.filled = True
            _unmask(document.root)
        if document.root is not None:
            _refuse_slash_escapes(document)
            convert(document)
        return document
    except UnreadableError as error:
        document.problem = Problem(error.message, document._span(error.node))
    except _SlashEscapeError as error:
        document.problem = Problem("unknown escape `\\/`, which only JSON supports", document.character(error.index))
    except YAMLError as error:
        document.problem = _syntax_problem(document, error)
    except (TooDeepError, TooLargeError) as error:
        document.problem = _bound_problem(document, error)
    except RecursionError:
        document.problem = _bound_problem(document, TooDeepError(too_deep_at(raw_bytes)))
    except MemoryError:
        document.problem = Problem("the document needs more memory than is available", document._start())
    document.data = document.root = document.rest = None
    return document


class _SlashEscapeError(Exception):
    """An escaped slash. ``index`` is its position in characters."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


def _refuse_slash_escapes(document: Document) -> None:
    r"""Reject ``\/`` in double quotes, which libyaml accepts and Go's YAML parser does not. JSON files are read by a JSON parser."""
    if b"\\/" not in document.raw_bytes or document.raw_bytes.lstrip()[:1] == b"{":
        return
    text = document.text()
    for node in nodes_below(document.root):
        if type(node) is ScalarNode and node.style == '"':
            for escape in re.finditer(r"(?s)\\.", text[node.start_mark.index : node.end_mark.index]):
                if escape[0] == "\\/":
                    raise _SlashEscapeError(node.start_mark.index + escape.start())


def _unmask(root: Any) -> None:
    from afflint.yaml.placeholders import unmasked

    for node in nodes_below(root):
        if type(node) is ScalarNode:
            node.value = unmasked(node.value)


def _bound_problem(document: Document, error: TooDeepError | TooLargeError) -> Problem:
    if isinstance(error, TooLargeError) or error.index is None:
        return Problem(str(error), document._start())
    return Problem(str(error), document.character(error.index))


def convert(document: Document) -> None:
    """Set the data of a composed document, and its repeated keys. Raises UnreadableError."""
    # Anchors need "&" (an alias without one is a syntax error) and merge keys need "<<".
    if b"&" not in document.raw_bytes and b"<<" not in document.raw_bytes:
        try:
            document.data = plain_data(document.root)
            return
        except (RepeatedKeyError, ValueError):
            pass  # The careful conversion finds out where.
    careful = CarefulConversion()
    document.data = careful.document(document.root)
    document._merged = careful.merged
    document.duplicates = tuple(
        Duplicate(path, document._span(place), document._span(first), overrides, is_merge(place))
        for path, place, first, overrides in careful.duplicates
    )


_NO_UTF_8 = "bytes that are not valid UTF-8"
_FRIENDLIER = {
    "invalid leading UTF-8 octet": _NO_UTF_8,
    "invalid trailing UTF-8 octet": _NO_UTF_8,
    "incomplete UTF-8 octet sequence": _NO_UTF_8,
    "invalid length of a UTF-8 sequence": _NO_UTF_8,
    "invalid Unicode character": _NO_UTF_8,
    "found character that cannot start any token": "a character that cannot start a value here",
    "mapping values are not allowed in this context": (
        "`: ` is not allowed here: the previous line is incomplete or the indentation is wrong"
    ),
    "did not find expected key": "the indentation is wrong: expected a key",
    "did not find expected '-' indicator": "the indentation is wrong: expected a list item `- `",
    "did not find expected ',' or ']'": "this `[` is not closed: expected `,` or `]`",
    "did not find expected ',' or '}'": "this `{` is not closed: expected `,` or `}`",
    "did not find expected node content": "a value is missing or cut off here",
    "found unexpected end of stream": "a quote that is not closed",
    "found unexpected document indicator": "a quote that is not closed",
    "control characters are not allowed": "a control character, which YAML does not allow",
    "did not find the expected '>'": "a tag that is not closed: expected `>`",
    "found undefined alias": "an alias to an anchor that is not defined in this document",
    "could not find expected ':'": "the indentation is wrong, or a `:` is missing after the key",
    "did not find expected <document start>": "text outside of any document: a line before it ends the document, or is a `%` directive",
    "found invalid Unicode character escape code": "an escape that is not a Unicode character",
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
        message = "an unquoted value with a `?` inside `[ ]` or `{ }`; quote the value"
    elif reason == "did not find expected key" and text[:index].endswith(("}", "]")):
        message = "text after a closing bracket: a value that begins with `{` or `[` must be quoted as a whole"
    elif text[index : index + 1] == "\t":
        message = "a tab, which YAML does not allow as indentation; use spaces"
    return Problem(message, document.character(index))


def _place(reason: str, mark: Any, context: Any, end: int) -> int:
    """Return the position of a mistake: where libyaml stopped, or the start of what is never closed."""
    if mark is None or context is None:
        mark = mark or context
    elif reason in _NOT_ENDED or mark.index >= end or (reason in _NOT_CLOSED and mark.line > context.line):
        mark = context
    index: int = mark.index if mark is not None else 0
    return index


_NOT_ENDED = ("found unexpected end of stream", "found unexpected document indicator", "could not find expected ':'")
_NOT_CLOSED = ("did not find expected ',' or ']'", "did not find expected ',' or '}'")
