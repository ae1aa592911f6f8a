"""Which scalars a fix may replace: those that stand alone, so that no anchor, tag or other place goes with them."""

from __future__ import annotations

import re
from functools import lru_cache

from afflint.findings import Path
from afflint.reading.documents import Document


def in_place_of(document: Document, path: Path, text: str, *, key: bool = False) -> str | None:
    """``text`` in the quotes of the scalar (or with ``key`` the key) at ``path``; None where replacing it would change more than it."""
    if not replaceable(document, path, key=key):
        return None
    quote = _written(document, path, key)[:1]
    return f"{quote}{text}{quote}" if quote in ("'", '"') else text


def replaceable(document: Document, path: Path, *, key: bool = False) -> bool:
    """True when the scalar (or with ``key`` the key) at ``path`` is on one line, without anchor, alias and tag, and in one place only."""
    written = _written(document, path, key)
    return bool(written) and written[0] not in "&*!|>" and _is_on_one_line(document, path, key) and not _is_shared(document, path)


def _written(document: Document, path: Path, key: bool) -> str:
    """What stands in the file where the finding points, quotes included."""
    span = document.locate(path, key=key)
    lines = _lines(document)
    row = span.line - document.line - 1
    return lines[row][span.column - 1 : span.end_column - 1] if row < len(lines) else ""


@lru_cache(maxsize=1)
def _lines(document: Document) -> list[str]:
    return re.split(r"\r\n|\n|\r", document.text())


def _is_on_one_line(document: Document, path: Path, key: bool) -> bool:
    return key or document.locate(path).line == document.extent(path).end_line


def _is_shared(document: Document, path: Path) -> bool:
    """True when the node at ``path`` stands below an alias or a merge key, or below what one of those repeats elsewhere."""
    if b"&" not in document.raw_bytes:
        return False
    if b"<<" in document.raw_bytes:
        return True
    shared = _shared_collections(document)
    value = document.data
    for step in path:
        if id(value) in shared:
            return True
        value = value[step]
    return False


@lru_cache(maxsize=1)
def _shared_collections(document: Document) -> frozenset[int]:
    """The maps and lists that stand in several places of a document: an alias and its anchor are one object in its data."""
    seen: set[int] = set()
    again: set[int] = set()
    stack = [document.data]
    while stack:
        value = stack.pop()
        if not isinstance(value, (dict, list)):
            continue
        if id(value) in seen:
            again.add(id(value))
            continue
        seen.add(id(value))
        stack += value.values() if isinstance(value, dict) else value
    return frozenset(again)
