"""The objects of any kind in a file, for policies that apply to whole objects: files are read a second time for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from afflint.findings.paths import Path
from afflint.manifests.reader import objects_in
from afflint.source.sources import Source, read_bytes
from afflint.yaml.document import Document
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.object_fields import kind_of
from afflint.yaml.prefilter import Reading, has_kind, kinds_named


def objects_of(source: Source, wanted: Callable[[str], bool], reading: Reading = read) -> Iterator[tuple[Document, dict[str, Any], Path]]:
    """Yield the objects of a file that have a wanted kind or contain such objects, with their documents, numbered as in the map step.

    Documents that are broken or have placeholders are skipped. ``reading`` replaces ``documents.read``.
    """
    try:
        data = to_utf8(read_bytes(source))
    except (OSError, UnicodeDecodeError):
        return
    if _is_unwanted(data, wanted):
        return
    index = 0
    for piece, line, problem in split(data):
        if problem is not None or (_is_unwanted(piece, wanted) and has_kind(piece)):
            index += problem is None
            continue
        document = reading(piece, index, line)
        index += not document.empty
        if document.problem is None and not document.filled:
            yield from ((document, each, base) for each, base in objects_in(document) if wanted(kind_of(each)))


def _is_unwanted(data: bytes, wanted: Callable[[str], bool]) -> bool:
    """Return whether a text names kinds, and none that is wanted."""
    kinds = kinds_named(data)
    return bool(kinds) and not any(kind is None or wanted(kind.decode()) for kind in kinds)


_MOST_KEPT = 4 << 20
"""Bytes of the documents that are kept; parsed, they take about eight times as much memory."""


class RecentDocuments:
    """Keeps documents from their first reading to the second: parsing takes a third of the time that policies of the cluster take."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        """``most``: the bytes that are kept; later documents are parsed twice."""
        self._left = most
        self._kept: dict[tuple[bytes, int, int], Document] = {}

    def read(self, raw_bytes: bytes, index: int, line: int) -> Document:
        """Return a document like ``documents.read``; the second time, the same one, which is then no longer kept."""
        key = raw_bytes, index, line
        document = self._kept.pop(key, None)
        if document is not None:
            self._left += len(raw_bytes)
            return document
        document = read(raw_bytes, index, line)
        if len(raw_bytes) <= self._left:
            self._left -= len(raw_bytes)
            self._kept[key] = document
        return document
