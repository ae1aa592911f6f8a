"""A configuration file for validation: plain data, and the position and the text of each key and value in it."""

from __future__ import annotations

import errno
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Protocol

from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.source.files import read_regular

MOST_BYTES = 1 << 20
MOST_VALUES = 10_000
DEEPEST = 32
"""Bounds on a configuration, far above any real one: the file may come from a stranger's pull request."""

Extent = tuple[int, int]
"""The position of a text: offsets of its first character and of the one past its last."""

START = Span(1, 1, 1, 1)
"""The position if there is no better one."""


class ReadError(Exception):
    """The file cannot be read as a configuration at all."""

    def __init__(self, message: str, span: Span = START) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


class ConfigMistake(NamedTuple):
    """A mistake at a position in one file."""

    span: Span
    message: str


class LineIndex:
    """The lines of a text, to convert offsets to spans."""

    def __init__(self, text: str) -> None:
        self.starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def span(self, extent: Extent) -> Span:
        """Return the lines and columns of an extent, counted from 1."""
        return Span(*self._position(extent[0]), *self._position(extent[1]))

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


class Located(Protocol):
    """A configuration file that has been read, in any format."""

    @property
    def data(self) -> Mapping[str, object]:
        """The content of the file."""

    @property
    def faults(self) -> Sequence[ConfigMistake]:
        """What is wrong with the file as text, apart from the meaning of its keys and values."""

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value at ``path``, or of its nearest parent; with ``key`` that of its key."""

    def mistake(self, path: Path, message: str, *, key: bool = False) -> ConfigMistake:
        """Return a mistake in the value at ``path``, or in its key."""

    def source(self, path: Path) -> str:
        """Return the scalar at ``path`` as it is written in the file."""


def check_bounds(located: Located) -> None:
    """Reject what no configuration contains, aliases counted, before it is measured or printed. Raises ReadError."""
    pending: list[tuple[Path, object]] = [((), located.data)]
    for path, value in pending:
        if len(path) > DEEPEST or len(pending) > MOST_VALUES:
            raise _refusal(located.mistake(path[:1], "too large or too deeply nested for a configuration"))
        if isinstance(value, int) and abs(value) >> 63:
            raise _refusal(located.mistake(path, "the number does not fit in 64 bits"))
        if isinstance(value, dict):
            pending += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            pending += [((*path, index), item) for index, item in enumerate(value)]


def _refusal(mistake: ConfigMistake) -> ReadError:
    return ReadError(mistake.message, mistake.span)


def read_bytes(path: str) -> bytes:
    """Read a file. Raises ReadError if it cannot be read or is too large for a configuration."""
    try:
        return read_regular(path, MOST_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise ReadError(f"is larger than {MOST_BYTES >> 20} MiB, too large for a configuration") from error
        raise ReadError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in the name
        raise ReadError(f"cannot be read: {error}") from error


def decode(raw: bytes) -> str:
    """Decode UTF-8 with or without a byte order mark. Raises ReadError at the first invalid byte."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8-sig")
        span = LineIndex(before + "?").span((len(before), len(before) + 1))
        raise ReadError(f"not UTF-8: byte 0x{error.object[error.start]:02x}", span) from error
