"""Symbolic edits become edits of the text: those that leave everything else as it was written, or none at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from afflint.edits import Rename, Replace, SymbolicEdit, find
from afflint.findings import Edit, Path, Span
from afflint.reading.documents import Document
from afflint.reading.emitting import key, scalar

# An anchor or a tag stands directly before its node; names longer than this are nobody's.
_NEAR = 200
_ANCHOR_OR_TAG = re.compile(r"(?:^|[\s\[{,?:-])[&!][^\s,\[\]{}]*\s+$")


def resolve(document: Document, edits: Sequence[SymbolicEdit]) -> tuple[Edit, ...] | None:
    """The edits of the file's text that do to the document's data what these say, and nothing else; None where that cannot be done."""
    if len(edits) != 1:
        return None
    return _of_one_word(document, edits[0])


# One word for another: the edit that most fixes are. What else the document says does not matter to it.


def _of_one_word(document: Document, edit: SymbolicEdit) -> tuple[Edit, ...] | None:
    """The edit that puts a word in the place of a scalar or a key that is one, in the quotes that it has; None for all others."""
    if not isinstance(edit, (Replace, Rename)) or not edit.path:
        return None
    is_key = isinstance(edit, Rename)
    if not _stands_alone(document, edit.path, key=is_key):
        return None
    span = document.locate(edit.path, key=is_key)
    quote = _around(document, span)[1][:1]
    quote, flow = quote if quote in ("'", '"') else "", document.is_flow(edit.path[:-1])
    if isinstance(edit, Rename):
        siblings = find(document.data, edit.path[:-1])
        text = None if edit.key in siblings else key(edit.key, quote, flow=flow)
    else:
        text = None if isinstance(edit.value, (dict, list)) else scalar(edit.value, quote, flow=flow)
    return None if text is None else (Edit(span, text),)


def _stands_alone(document: Document, path: Path, *, key: bool = False) -> bool:
    """True when the scalar (or with ``key`` the key) at ``path`` is one word, without anchor, alias and tag, and in one place only."""
    value = str(path[-1]) if key else document.raw(path)
    before, written = _around(document, document.locate(path, key=key))
    if key:
        before = before.rpartition("\n")[2]  # What stands above a key is the anchor or tag of its map.
    # Anything else is escaped, folded or a block.
    is_word = written in (value, f"'{value}'", f'"{value}"')
    return is_word and not _ANCHOR_OR_TAG.search(before) and not _is_shared(document, path)


def _around(document: Document, span: Span) -> tuple[str, str]:
    """What stands closely before a span, from the last line that is not blank, and in it, quotes included."""
    lines, row = _lines(document), span.line - document.line - 1
    if row >= len(lines):
        return "", ""
    start = span.column - 1
    before, written = lines[row][max(start - _NEAR, 0) : start], lines[row][start : span.end_column - 1]
    while not before.strip() and row > 0:
        row -= 1
        before = f"{lines[row][-_NEAR:]}\n"
    return before, written


@lru_cache(maxsize=1)
def _lines(document: Document) -> list[str]:
    return re.split(r"\r\n|\n|\r", document.text())


def _is_shared(document: Document, path: Path) -> bool:
    """True when the node at ``path`` stands below an alias, or below what an alias repeats elsewhere."""
    shared = _shared_collections(document)
    if not shared:
        return shared is None
    value = document.data
    for step in path:
        if id(value) in shared:
            return True
        value = value[step]
    return False


@lru_cache(maxsize=1)
def _shared_collections(document: Document) -> frozenset[int] | None:
    """The maps and lists that stand in several places of a document, where an alias and its anchor are one object in its data.

    None where merge keys copy values out of their maps, so that nobody can tell.
    """
    if b"&" not in document.raw_bytes:
        return frozenset()
    if b"<<" in document.raw_bytes:
        return None
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
