"""A configuration file as plain data that remembers where each key and value stands."""

from __future__ import annotations

import errno
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from afflint.config import quoted
from afflint.findings import Path, Span
from afflint.reading.files import read_regular

MOST_BYTES = 1 << 20
MOST_VALUES = 10_000
DEEPEST = 32
"""Bounds on a configuration, far above any real one: the file may come from a stranger's pull request."""

Extent = tuple[int, int]
"""Where a text stands: offsets of its first character and of the one past its last."""


class ReadError(Exception):
    """The file cannot be read as a configuration at all."""

    def __init__(self, message: str, extent: Extent = (0, 0)) -> None:
        super().__init__(message)
        self.message = message
        self.extent = extent


class Fault(NamedTuple):
    """A mistake at a place of one file."""

    extent: Extent
    message: str


class Lines:
    """The lines of a text: what turns offsets into spans and back."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def span(self, extent: Extent) -> Span:
        """The lines and columns of an extent, counted from 1."""
        return Span(*self._position(extent[0]), *self._position(extent[1]))

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column counted from 1, at most the length of the text."""
        return min(self.starts[min(line, len(self.starts)) - 1] + column - 1, self.length)

    def number(self, offset: int) -> int:
        """The line of an offset, counted from 1."""
        return self._position(offset)[0]

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


class Located(NamedTuple):
    """What a file says (``data``), and the extents of its values and of the keys in its maps, by path."""

    text: str
    lines: Lines
    data: Mapping[str, object]
    values: Mapping[Path, Extent]
    keys: Mapping[Path, Extent]
    faults: tuple[Fault, ...] = ()

    def value(self, path: Path) -> Extent:
        """The extent of a value, or of the nearest value around it."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, (0, 0))

    def key(self, path: Path) -> Extent:
        """The extent of the key that leads to a value."""
        return self.keys.get(path) or self.value(path)

    def source(self, path: Path) -> str:
        """A value as the file writes it."""
        start, end = self.value(path)
        return self.text[start:end]


def stands_twice(key: str, first: int) -> str:
    """What to say about a key that already stood on line ``first``."""
    return f"the key {quoted(key)} stands twice; first on line {first}"


def read_bytes(path: str) -> bytes:
    """The content of a file; ReadError when it cannot be read or is no size for a configuration."""
    try:
        return read_regular(path, MOST_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise ReadError(f"is larger than {MOST_BYTES >> 20} MiB, too large for a configuration") from error
        raise ReadError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise ReadError(f"cannot be read: {error}") from error


def decode(raw: bytes) -> str:
    """The text of a file in UTF-8, with or without a byte order mark; ReadError at the first byte that is not."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = len(error.object[: error.start].decode("utf-8-sig"))
        raise ReadError(f"not UTF-8: byte 0x{error.object[error.start]:02x}", (before, before + 1)) from error
