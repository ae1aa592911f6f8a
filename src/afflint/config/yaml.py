"""Reads a configuration in YAML with the reader of manifests: what is ``true`` in one is ``true`` in the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from afflint.config.positions import ConfigMistake, ReadError, check_bounds
from afflint.findings.finding import Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.yaml.composer import COLLECTION, PLAIN, QUOTED, nodes_below
from afflint.yaml.documents import Document, read

_TEXT_TAG = "tag:yaml.org,2002:str"
_NOTHING = re.compile(r"(?:\s+|#[^\r\n]*|^\.\.\.(?=\s|\Z))*", re.MULTILINE)


class YamlConfig(NamedTuple):
    """The only document of a configuration file."""

    document: Document
    data: Mapping[str, object]
    faults: tuple[ConfigMistake, ...] = ()

    def span(self, path: Path, *, key: bool = False) -> Span:
        """Return the span of the value or of its key; an aliased value is at its anchor."""
        if key and path:
            return self.document.locate(path, key=True)
        while path and self.document.node_at(path) is None:
            path = path[:-1]
        return _span(self.document, self.document.node_at(path))

    def mistake(self, path: Path, message: str, *, key: bool = False) -> ConfigMistake:
        """Return a mistake in the value at ``path``, or in its key."""
        return ConfigMistake(self.span(path, key=key), message)

    def source(self, path: Path) -> str:
        """Return the scalar as it is written in the file, without quotes."""
        return self.document.raw(path) or ""


def read_yaml(text: str) -> YamlConfig:
    """Read the only document of a YAML text; an empty text is an empty map. Raises ReadError."""
    document = read(text.encode(), 0, 0)
    if document.problem:
        raise ReadError(f"cannot be read: {document.problem.message}", document.problem.span)
    root = document.node_at(())
    if root is None:
        return YamlConfig(document, {})
    _refuse_more(document, root.end_mark.index)  # of what is indented, the start of what follows
    data = {} if document.data is None else document.data
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        raise ReadError(f"the configuration must be a map of keys, not {kind}", _span(document, root))
    settings = YamlConfig(document, data, tuple(_faults(document)))
    check_bounds(settings)
    return settings


def _refuse_more(document: Document, end: int) -> None:
    """Reject text other than comments after the first document, because the reader ignores it and settings would be lost."""
    text = document.text()
    match = _NOTHING.match(text, end)
    if match is not None and match.end() < len(text):
        line, column = document.position(match.end())
        raise ReadError("the configuration must be one YAML document; a second one begins here", Span(line, column, line, column))


def _faults(document: Document) -> Iterator[ConfigMistake]:
    for each in document.duplicates:
        yield ConfigMistake(each.span, f"duplicate key {quoted(str(each.path[-1]))}; first set on line {each.first.line}")
    for node in nodes_below(document.node_at(())):
        if node.ctag not in (PLAIN, QUOTED, COLLECTION) and node.tag != _TEXT_TAG:
            yield ConfigMistake(_span(document, node), "tags are not supported in a configuration")


def _span(document: Document, node: Any) -> Span:
    """Return the full span of a node, including its anchor and its tag."""
    start = node.start_mark.index
    return Span(*document.position(start), *document.position(max(start, document.end_of(node))))
