"""Reads YAML in a literal block of another document as a document of its own, with positions in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ruamel.yaml.nodes import ScalarNode

from afflint.findings.paths import Path
from afflint.yaml.document import Document
from afflint.yaml.documents import read


def text_of_block(document: Document, path: Path) -> tuple[bytes, int] | None:
    """Return the indented lines of the literal block at a path, and the 0-based line of the first; None for other text."""
    node = document.node_at(path)
    if type(node) is not ScalarNode or node.style != "|":
        return None
    # The text begins on the line below the indicator.
    line = document.position(node.start_mark.index)[0]
    starts = document.line_starts()
    if line - document.line >= len(starts):
        return b"", line
    return document.text()[starts[line - document.line] : document.end_of(node)].encode("utf-8", "replace"), line


def document_in_block(document: Document, path: Path) -> Document | None:
    """Read the YAML of a literal block; None for text that is written otherwise or is not YAML.

    The document is not fixed automatically: an edit would have to be checked within its block.
    """
    found = text_of_block(document, path)
    if found is None:
        return None
    inner = read(found[0], document.index, found[1])
    inner.filled = True
    return inner if inner.problem is None else None


def documents_in_block(document: Document, path: Path) -> Iterator[Document]:
    """Read the documents in a literal block, which lines with ``---`` separate; those that are not YAML are left out."""
    text, line = text_of_block(document, path) or (b"", 0)
    indentation = re.search(rb"(?m)^( *)[^ \r\n]", text)
    if indentation is None:
        return
    separator = re.compile(rb"(?m)^ {0,%d}---[ \t]*(?:#.*)?\r?$" % len(indentation[1]))
    start = 0
    for end in (*(match.end() for match in separator.finditer(text)), len(text)):
        piece = separator.sub(b"", text[start:end])
        inner = read(piece, document.index, line + text.count(b"\n", 0, start))
        inner.filled = True
        if inner.problem is None and not inner.empty:
            yield inner
        start = end
