"""Reads ``[tool.afflint]`` of a pyproject.toml. The parser gives no positions, so a mistake is reported by its key."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from afflint.config.positions import MOST_BYTES, START, ConfigMistake, LineIndex, ReadError, check_bounds
from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted, visible

_TABLE = ("tool", "afflint")
_MOST_PAIRS_OF_DOTS = 10_000_000
"""The parser takes memory for each pair of parts of a dotted key, which is in one line."""

_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*tool[ \t]*\.[ \t]*afflint\b", re.MULTILINE)
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def has_table(raw: bytes) -> bool:
    """Whether a pyproject.toml configures afflint; an invalid file does if a header says so, so that its mistake is reported."""
    text = raw.decode("utf-8-sig", "replace")
    if len(raw) <= MOST_BYTES:
        try:
            tool = _parse(text).get("tool")
        except ReadError:
            pass
        else:
            return isinstance(tool, dict) and "afflint" in tool
    return _HEADER.search(text) is not None


class Table(NamedTuple):
    """The content of ``[tool.afflint]``."""

    data: Mapping[str, Any]
    faults: tuple[ConfigMistake, ...] = ()  # the parser rejects invalid text

    def span(self, _path: Path, *, key: bool = False) -> Span:  # noqa: ARG002 - no position is known
        """Return the start of the file."""
        return START

    def mistake(self, path: Path, message: str, *, key: bool = False) -> ConfigMistake:
        """Return a mistake whose message names the value at ``path``."""
        return ConfigMistake(self.span(path, key=key), f"{quoted(field_of((*_TABLE, *path)))}: {message}")

    def source(self, path: Path) -> str:
        """Return a value as text, a number as it is written in the file."""
        value: Any = self.data
        for step in path:
            value = value[step]
        return value.text if isinstance(value, _WrittenNumber) else str(value).lower() if isinstance(value, bool) else str(value)


class _WrittenNumber(float):
    """A number that keeps its text: `kubernetes-version = 1.30` is the number 1.3."""

    text: str

    def __new__(cls, text: str) -> _WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


def read_toml(text: str) -> Table:
    """Read the ``[tool.afflint]`` table of a TOML text. Raises ReadError."""
    tool = _parse(text).get("tool")
    if not isinstance(tool, dict) or "afflint" not in tool:
        raise ReadError("the file does not have a table [tool.afflint]")
    if not isinstance(tool["afflint"], dict):
        raise ReadError("[tool.afflint] must be a table")
    table = Table(tool["afflint"])
    check_bounds(table)
    return table


def _parse(text: str) -> dict[str, Any]:
    """Parse a TOML text. Raises ReadError."""
    if sum(line.count(".") ** 2 for line in text.split("\n")) > _MOST_PAIRS_OF_DOTS:
        raise ReadError("a key has too many parts for a configuration")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text, parse_float=_WrittenNumber)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, str(error)) from error
    except RecursionError:
        raise ReadError("nested too deeply for a configuration") from None
    except ValueError as error:  # an integer with thousands of digits, a date that no calendar has
        raise ReadError(f"not valid TOML: {error}") from error


def _syntax_error(text: str, message: str) -> ReadError:
    """Convert an error of the parser, which ends with a position."""
    match = _PLACE.fullmatch(message)
    if match is None:
        return ReadError(f"not valid TOML: {visible(message)}")
    what, line, column = match.groups()
    span = Span(int(line), int(column), int(line), int(column)) if line else LineIndex(text).span((len(text), len(text)))
    return ReadError(f"not valid TOML: {visible(what[:1].lower() + what[1:])}", span)
