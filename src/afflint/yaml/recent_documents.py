"""Documents that a run reads twice: once alone, and once together with all others."""

from __future__ import annotations

from afflint.yaml.document import Document
from afflint.yaml.documents import read

_MOST = 4 << 20
"""Bytes of the documents that are kept; parsed, they take about eight times as much memory."""


class RecentDocuments:
    """Keeps documents from their first reading to the second: parsing takes a third of the time that policies of the cluster take."""

    def __init__(self, most: int = _MOST) -> None:
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
