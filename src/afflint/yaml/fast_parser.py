"""Reads documents in the plainest style of YAML without creating nodes: most manifests have this style.

The style consists of block maps and lists, with one key or item per line, of scalars and flat flow collections on one line and of
literal texts (``|``), with comments and blank lines between them. It excludes anchors, tags, folded texts, escapes, tabs and all
characters beyond ASCII. Any other document, and any document with a mistake, is left to libyaml. Scalars are resolved as everywhere
(``scalars``). Creating nodes takes a third of a run, so they are created only for documents with positions to report.
"""

from __future__ import annotations

import re
from typing import Any

from afflint.yaml.scalars import PLAIN_KEYS, PLAIN_VALUES

_LONG = 1_000_000
"""Of longer documents, the number of nodes may matter."""
_DEEP = 100
"""Of deeper ones, the depth may."""

_QUOTED = r"\"[ !#-\[\]-~]*\"|'[ -&(-~]*'"
# It begins with a character that begins nothing else; a colon before a space ends a key, and a number sign after a space begins a comment.
# Nothing in it can be matched in two ways: a line in another style fails at once.
_PLAIN = r"(?:[A-Za-z0-9_./$(+~]|-(?=[!-~]))[!-9;-~]*(?:(?::(?=[!-~])| +(?=[!-\"$-~]))[!-9;-~]*)*"
_KEY = r"[A-Za-z0-9_./][A-Za-z0-9_./-]{0,200}|\"[ !#-\[\]-~]{0,200}\"|'[ -&(-~]{0,200}'"
_BRACKETS = r"\{[ -~]*\}|\[[ -~]*\]"
_VALUE = rf"{_PLAIN}|{_QUOTED}|{_BRACKETS}|\|-?"
_LINE = re.compile(rf"(- +)?(?:({_KEY}):(?= |$) *)?({_VALUE})?(?: *| +#[ -~]*)")
# The content of brackets, where fewer characters are harmless. Compiled on demand.
_ITEM = rf"[A-Za-z0-9_./+~][A-Za-z0-9_./+~-]*|{_QUOTED}"
_ITEMS = rf"(?: *(?:{_ITEM})(?:, *(?:{_ITEM}))*)? *"
_PAIR = rf"(?:{_KEY}): +(?:{_ITEM})"
_PAIRS = rf"(?: *{_PAIR}(?:, *{_PAIR})*)? *"
_BLANKS = " " * 100
_REMEMBERED, _SHORT = 20_000, 100

_NOTHING, _TEXT, _STRIPPED_TEXT = object(), object(), object()
"""Markers for a missing value, and for a text on the lines below, with or without its last line break."""

_Line = tuple[int, str | None, Any]
"""The width of a line's dash, 0 without one; its key, None for an item that is not a map; and its value."""


class _LineCache(dict[str, _Line | None]):
    """Parses lines without their indentation and caches them, because they repeat in manifests. None for a comment or a blank line.

    Raises ValueError for a line in another style.
    """

    def __missing__(self, text: str) -> _Line | None:
        line = _line(text)
        if len(self) < _REMEMBERED and len(text) < _SHORT:
            self[text] = line
        return line


def _line(text: str) -> _Line | None:
    if not text or text[0] == "#":
        if not text.isprintable():
            raise ValueError
        return None
    # Long runs of spaces could belong to several parts of the pattern, which would try them all.
    match = None if _BLANKS in text else _LINE.fullmatch(text)
    if match is None:
        raise ValueError
    dash, key, value = match.groups()
    # Unlike a key, an item must have a value, and a line that is neither belongs to the line before.
    if key is None and (dash is None or value is None):
        raise ValueError
    return len(dash or ""), None if key is None else _key(key), _NOTHING if value is None else _value(value)


def _value(text: str) -> Any:
    first = text[0]
    if first == "{":
        return _flow_map(text[1:-1])
    if first == "[":
        return _flow_list(text[1:-1])
    if first == "|":
        return _TEXT if text == "|" else _STRIPPED_TEXT
    return _scalar(text)


def _flow_list(text: str) -> list[Any]:
    if re.fullmatch(_ITEMS, text) is None:
        raise ValueError
    return [_scalar(item) for item in re.findall(_ITEM, text)]


def _flow_map(text: str) -> dict[str, Any]:
    if re.fullmatch(_PAIRS, text) is None:
        raise ValueError
    result = {}
    for key_text, item in re.findall(rf"({_KEY}): +({_ITEM})", text):
        key = _key(key_text)
        if key in result:
            raise ValueError
        result[key] = _scalar(item)
    return result


def _scalar(text: str) -> Any:
    return text[1:-1] if text[0] in "\"'" else PLAIN_VALUES[text]


def _key(text: str) -> str:
    key = text[1:-1] if text[0] in "\"'" else PLAIN_KEYS[text]
    if key is None:
        raise ValueError
    return key


class _LiteralText:
    """A literal text, and its destination: an entry of a map or a list in this column."""

    def __init__(self, holder: Any, key: str | int, column: int) -> None:
        self._holder, self._key, self._column = holder, key, column
        self._lines: list[str] = []
        self._indent = ""

    def takes(self, line: str) -> bool:
        """Whether a line belongs to the text. Raises ValueError for a line of spaces, for which it is unclear."""
        if not line:
            self._lines.append(line)
            return True
        if line.isspace():
            raise ValueError
        if not self._indent:
            self._indent = " " * (len(line) - len(line.lstrip(" ")))
            if len(self._indent) <= self._column:
                raise ValueError
        if not line.startswith(self._indent):
            return False
        if not line.isprintable():
            raise ValueError
        self._lines.append(line[len(self._indent) :])
        return True

    def end(self) -> None:
        """Store the text at its destination. Raises ValueError if it is empty."""
        if not self._indent:
            raise ValueError
        text = "\n".join(self._lines).rstrip("\n")
        self._holder[self._key] = text if self._holder[self._key] is _STRIPPED_TEXT else text + "\n"


_LINES = _LineCache()


def plain_blocks(raw_bytes: bytes) -> Any:
    """Read a document in this style to a map or a list. None for any other document."""
    if len(raw_bytes) > _LONG or not raw_bytes.isascii() or b": >" in raw_bytes:
        return None
    try:
        return _read(raw_bytes.decode("ascii").split("\n"))
    except ValueError:
        return None


def _read(lines: list[str]) -> Any:
    """Read the lines with a stack of the open maps and lists, each with its column. Raises ValueError."""
    columns: list[int] = [-1]
    holders: list[Any] = [None]
    root: Any = None
    # The key of the topmost map whose value may be on the lines below.
    pending_key: str | None = None
    literal: _LiteralText | None = None
    for text in lines:
        if literal is not None:
            if literal.takes(text):
                continue
            literal.end()
            literal = None
        body = text.lstrip(" ")
        line = _LINES[body]
        if line is None:
            continue
        dash, key, value = line
        column = len(text) - len(body)
        # The list or map that the line belongs to: a new one below the key that waits for it, or one that is not ended.
        if pending_key is not None and (column > columns[-1] or (dash and column == columns[-1])):
            if len(columns) > _DEEP:
                return None
            holder: Any = [] if dash else {}
            holders[-1][pending_key] = holder
            columns.append(column)
            holders.append(holder)
        elif root is None:
            root = holder = [] if dash else {}
            columns.append(column)
            holders.append(holder)
        else:
            while columns[-1] > column or (not dash and columns[-1] == column and type(holders[-1]) is list):
                columns.pop()
                holders.pop()
            holder = holders[-1]
            if columns[-1] != column or type(holder) is not (list if dash else dict):
                return None
        pending_key = None
        if type(value) is dict or type(value) is list:
            value = value.copy()  # Lines are cached; their values belong to one document.
        if key is None:
            holder.append(value)
            if value is _TEXT or value is _STRIPPED_TEXT:
                literal = _LiteralText(holder, len(holder) - 1, column)
            continue
        if dash:
            column += dash
            holder.append({})
            holder = holder[-1]
            columns.append(column)
            holders.append(holder)
        elif key in holder:
            return None
        if value is _NOTHING:
            value, pending_key = None, key
        elif value is _TEXT or value is _STRIPPED_TEXT:
            literal = _LiteralText(holder, key, column)
        holder[key] = value
    if literal is not None:
        if lines[-1]:  # Without a line break at the end of the document, the text does not end with one either.
            return None
        literal.end()
    return root
