"""Documents in the plainest style of YAML, read without making nodes: most manifests are nothing else.

Block maps and lists, a key or an item a line, of scalars and flat flow collections on one line and of literal texts (``|``), with comments
and blank lines between them: no anchors, tags, folded texts, escapes, tabs, nor anything beyond ASCII. What is not surely of this style is
left to libyaml, and so is whatever is wrong with a document: nothing is decided here. Scalars mean what they mean everywhere
(``scalars``). Nodes, the making of which takes a third of a run, are then made for those documents only in which something has to be
pointed at.
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
# It begins with what begins nothing else; a colon with a blank behind it ends a key, and a number sign behind a blank begins a comment.
# Nothing in it can be matched in two ways: a line that is of another style is given up at once.
_PLAIN = r"(?:[A-Za-z0-9_./$(+~]|-(?=[!-~]))[!-9;-~]*(?:(?::(?=[!-~])| +(?=[!-\"$-~]))[!-9;-~]*)*"
_KEY = r"[A-Za-z0-9_./][A-Za-z0-9_./-]{0,200}|\"[ !#-\[\]-~]{0,200}\"|'[ -&(-~]{0,200}'"
_BRACKETS = r"\{[ -~]*\}|\[[ -~]*\]"
_VALUE = rf"{_PLAIN}|{_QUOTED}|{_BRACKETS}|\|-?"
_LINE = re.compile(rf"(- +)?(?:({_KEY}):(?= |$) *)?({_VALUE})?(?: *| +#[ -~]*)")
# What brackets may hold, where fewer characters are harmless. Compiled when it is needed.
_ITEM = rf"[A-Za-z0-9_./+~][A-Za-z0-9_./+~-]*|{_QUOTED}"
_ITEMS = rf"(?: *(?:{_ITEM})(?:, *(?:{_ITEM}))*)? *"
_PAIR = rf"(?:{_KEY}): +(?:{_ITEM})"
_PAIRS = rf"(?: *{_PAIR}(?:, *{_PAIR})*)? *"
_BLANKS = " " * 100
_REMEMBERED, _SHORT = 20_000, 100

_NOTHING, _TEXT, _STRIPPED_TEXT = object(), object(), object()
"""What stands for no value, and for a text on the lines below, with or without its last line break."""

_Line = tuple[int, str | None, Any]
"""The width of a line's dash, 0 without one; its key, None for an item that is no map; and its value."""


class _LineCache(dict[str, _Line | None]):
    """What lines say without their indentation: manifests say the same again and again. None for a comment or a blank line.

    Raises ValueError for what is not of this style.
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
    # Long runs of blanks could belong to several parts of the pattern, which would try them all.
    match = None if _BLANKS in text else _LINE.fullmatch(text)
    if match is None:
        raise ValueError
    dash, key, value = match.groups()
    # Other than a key, an item has to say something, and what is neither belongs to the line before.
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
    made = {}
    for key_text, item in re.findall(rf"({_KEY}): +({_ITEM})", text):
        key = _key(key_text)
        if key in made:
            raise ValueError
        made[key] = _scalar(item)
    return made


def _scalar(text: str) -> Any:
    return text[1:-1] if text[0] in "\"'" else PLAIN_VALUES[text]


def _key(text: str) -> str:
    key = text[1:-1] if text[0] in "\"'" else PLAIN_KEYS[text]
    if key is None:
        raise ValueError
    return key


class _LiteralText:
    """A literal text, and where it belongs: an entry of a map or a list that lies in this column."""

    def __init__(self, holder: Any, key: str | int, column: int) -> None:
        self._holder, self._key, self._column = holder, key, column
        self._lines: list[str] = []
        self._indent = ""

    def takes(self, line: str) -> bool:
        """Whether a line is of the text. Raises ValueError for blanks that may or may not be."""
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
        """Put the text where it belongs. Raises ValueError where there is none."""
        if not self._indent:
            raise ValueError
        text = "\n".join(self._lines).rstrip("\n")
        self._holder[self._key] = text if self._holder[self._key] is _STRIPPED_TEXT else text + "\n"


_LINES = _LineCache()


def plain_blocks(raw_bytes: bytes) -> Any:
    """The data of a document in this style: a map or a list. None for any other."""
    if len(raw_bytes) > _LONG or not raw_bytes.isascii() or b": >" in raw_bytes:
        return None
    try:
        return _read(raw_bytes.decode("ascii").split("\n"))
    except ValueError:
        return None


def _read(lines: list[str]) -> Any:
    """Follows the lines with a stack of the maps and lists that are not ended, each with its column. Raises ValueError."""
    columns: list[int] = [-1]
    holders: list[Any] = [None]
    root: Any = None
    # The key of the topmost map whose value may come on the lines below.
    waiting: str | None = None
    below: _LiteralText | None = None
    for text in lines:
        if below is not None:
            if below.takes(text):
                continue
            below.end()
            below = None
        body = text.lstrip(" ")
        line = _LINES[body]
        if line is None:
            continue
        dash, key, value = line
        column = len(text) - len(body)
        # The list or map that the line belongs to: a new one below the key that waits for it, or one that is not ended.
        if waiting is not None and (column > columns[-1] or (dash and column == columns[-1])):
            if len(columns) > _DEEP:
                return None
            holder: Any = [] if dash else {}
            holders[-1][waiting] = holder
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
        waiting = None
        if type(value) is dict or type(value) is list:
            value = value.copy()  # Lines are remembered; what they say belongs to one document.
        if key is None:
            holder.append(value)
            if value is _TEXT or value is _STRIPPED_TEXT:
                below = _LiteralText(holder, len(holder) - 1, column)
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
            value, waiting = None, key
        elif value is _TEXT or value is _STRIPPED_TEXT:
            below = _LiteralText(holder, key, column)
        holder[key] = value
    if below is not None:
        if lines[-1]:  # Without a line break at its end, a text has none either.
            return None
        below.end()
    return root
