"""Reads ``[tool.afflint]`` of a pyproject.toml; the parser returns data without positions, so a scanner of valid TOML finds those."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from afflint.config.positions import MOST_BYTES, ConfigMistake, Extent, LineIndex, ReadError, check_bounds, duplicate_key_message
from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import visible

_TABLE = ("tool", "afflint")
_MOST_PARTS = 100

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_SCALAR = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r"|\"(?:[^\"\\\n]|\\.)*\""
    r"|'[^'\n]*'"
    r"|\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*"
    r"|[^\s,\]}#\[{\"'=]+",
    re.DOTALL,
)
_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*tool[ \t]*\.[ \t]*afflint\b", re.MULTILINE)


def has_table(raw: bytes) -> bool:
    """Whether a pyproject.toml configures afflint; an invalid file does if a header says so, so that its mistake is reported."""
    text = raw.decode("utf-8-sig", "replace")
    if len(raw) <= MOST_BYTES:
        try:
            tool, _ = _parse(text)
        except ReadError:
            pass
        else:
            return isinstance(tool, dict) and "afflint" in tool
    return _HEADER.search(text) is not None


class Table(NamedTuple):
    """The content of ``[tool.afflint]``, and the extents of its values and keys by path."""

    text: str
    lines: LineIndex
    data: Mapping[str, object]
    values: Mapping[Path, Extent]
    keys: Mapping[Path, Extent]
    faults: tuple[ConfigMistake, ...] = ()  # the parser rejects invalid text

    def value(self, path: Path) -> Extent:
        """Return the extent of a value, or of its nearest parent."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, (0, 0))

    def key(self, path: Path) -> Extent:
        """Return the extent of the key of a value."""
        return self.keys.get(path) or self.value(path)

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value or of the key."""
        return self.lines.span(self.key(path) if key else self.value(path))

    def source(self, path: Path) -> str:
        """Return a value as it is written in the file."""
        return self.text[slice(*self.value(path))]


def read_toml(text: str) -> Table:
    """Read the ``[tool.afflint]`` table of a TOML text, with positions. Raises ReadError."""
    tool, scanner = _parse(text)
    if not isinstance(tool, dict) or "afflint" not in tool:
        raise ReadError("the file does not have a table [tool.afflint]")
    values, keys = _relative_to_table(scanner.values), _relative_to_table(scanner.keys)
    data = tool["afflint"]
    if not isinstance(data, dict):
        raise _error_at(text, "[tool.afflint] must be a table", values.get((), (0, 0)))
    table = Table(text, LineIndex(text), data, values, keys)
    check_bounds(table)
    return table


def _error_at(text: str, message: str, extent: Extent) -> ReadError:
    return ReadError(message, LineIndex(text).span(extent))


def _parse(text: str) -> tuple[object, _Scanner]:
    """Parse a TOML text to the data of ``tool`` and the positions of all keys and values. Raises ReadError.

    The scanner goes first: the parser's memory grows with the square of a dotted key's parts.
    """
    scanner = _Scanner(text)
    scanner.scan()
    return _loads(text).get("tool"), scanner


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, str(error)) from error
    except RecursionError:  # the scanner got through, with a little more room
        raise ReadError("nested too deeply for a configuration") from None
    except ValueError as error:  # an integer with thousands of digits, a date that no calendar has
        raise ReadError(f"not valid TOML: {error}") from error


def _syntax_error(text: str, message: str) -> ReadError:
    """Convert an error of the parser; one about a duplicate key is reported at the key instead of after its value."""
    lines = LineIndex(text)
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return ReadError(f"not valid TOML: {visible(message)}")
    what, line, column = match.groups()
    at = lines.offset(int(line), int(column)) if line else len(text)
    if what.startswith(("Cannot", "Can not", "Duplicate")):
        scanner = _Scanner(text[:at])
        scanner.scan()
        for first, again in reversed(scanner.parts):
            if first != again:
                return _error_at(text, duplicate_key_message(text[slice(*again)], lines.number(first[0])), again)
    return _error_at(text, f"not valid TOML: {visible(what[:1].lower() + what[1:])}", (at, at))


def _relative_to_table(extents: dict[Path, Extent]) -> dict[Path, Extent]:
    return {path[2:]: extent for path, extent in extents.items() if path[:2] == _TABLE}


class _LostError(Exception):
    """Raised where the text is not valid TOML."""


class _Scanner:
    """Scans valid TOML and records the positions of keys and values; it stops where the text is incomplete."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.values: dict[Path, Extent] = {}
        self.keys: dict[Path, Extent] = {}
        self.parts: list[tuple[Extent, Extent]] = []  # of the last key: the first position of each part, and its current position
        self.tables: dict[Path, int] = {}  # arrays of tables: the index of the current one

    def scan(self) -> None:
        """Scan to the end, or to where the text is incomplete. Raises ReadError for what would overload the parser."""
        table: Path = ()
        try:
            while self._skip() < len(self.text):
                if self.text[self.at] == "[":
                    table = self._header()
                else:
                    self._pair(table)
        except _LostError:
            return
        except RecursionError:
            raise _error_at(self.text, "nested too deeply for a configuration", (self.at, self.at)) from None

    def _skip(self) -> int:
        self.at = self._take(_SPACE)[1]
        return self.at

    def _take(self, pattern: re.Pattern[str]) -> Extent:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _LostError
        self.at = match.end()
        return match.span()

    def _next_is(self, char: str) -> bool:
        return self.text.startswith(char, self._skip())

    def _header(self) -> Path:
        """Scan ``[a.b]`` or ``[[a.b]]``, the table that the following pairs belong to."""
        start = self.at
        repeated = self.text.startswith("[[", self.at)
        self.at += 1 + repeated
        self._skip()
        path = self._key((), repeated)
        self._skip()
        self.at += 1 + repeated
        if repeated:
            self.tables[path] = self.tables.get(path, -1) + 1
            path = (*path, self.tables[path])
        self.values[path] = (start, self.at)
        return path

    def _pair(self, table: Path) -> None:
        self._skip()
        path = self._key(table)
        self._skip()
        self.at += 1  # =
        self._skip()
        self._value(path)

    def _key(self, table: Path, repeated: bool = False) -> Path:
        """Scan a dotted key below ``table``; in a header, its leading parts lead into the current table of an array."""
        path = table
        self.parts = []
        while True:
            extent = self._take(_KEY)
            if len(self.parts) > _MOST_PARTS:
                raise _error_at(self.text, f"a key of more than {_MOST_PARTS} parts", extent)
            path = (*path, _unquoted(self.text[slice(*extent)]))
            self.parts.append((self.keys.setdefault(path, extent), extent))
            more = _DOT.match(self.text, self.at)
            if path in self.tables and (more or not repeated):
                path = (*path, self.tables[path])
            if more is None:
                return path
            self.values.setdefault(path, extent)
            self.at = more.end()

    def _value(self, path: Path) -> None:
        start = self.at
        if self._next_is("["):
            self._items(path)
        elif self._next_is("{"):
            self._pairs(path)
        else:
            self._take(_SCALAR)
        self.values[path] = (start, self.at)

    def _items(self, path: Path) -> None:
        self.at += 1
        index = 0
        while not self._next_is("]"):
            self._value((*path, index))
            index += 1
            self._comma("]")
        self.at += 1

    def _pairs(self, path: Path) -> None:
        self.at += 1
        while not self._next_is("}"):
            self._pair(path)
            self._comma("}")
        self.at += 1

    def _comma(self, closing: str) -> None:
        if self._next_is(","):
            self.at += 1
        elif not self._next_is(closing):
            raise _LostError


def _unquoted(key: str) -> str:
    if key[0] not in "\"'":
        return key
    if "\\" not in key:
        return key[1:-1]
    try:
        return str(_loads(f"key = {key}")["key"])
    except ReadError:
        raise _LostError from None
