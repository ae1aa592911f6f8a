"""Reads YAML in a literal block of another document as a document of its own, with positions in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ruamel.yaml.nodes import ScalarNode

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.yaml.document import Document
from afflint.yaml.documents import read
from afflint.yaml.placeholders import holds_control

if TYPE_CHECKING:
    from afflint.yaml.template_text import TemplateText


class EmbeddedDocument(NamedTuple):
    """YAML in the text of another document; of a ``template``, its literal part."""

    document: Document
    template: TemplateText | None = None


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


def document_in_text(document: Document, path: Path) -> Document | None:
    """Read the YAML or JSON of a literal block, or of a quoted text on one line without escapes; None for any other text."""
    node = document.node_at(path)
    found = text_of_block(document, path)
    if found is None and type(node) is ScalarNode and node.style in ("'", '"'):
        start, end = node.start_mark.index + 1, node.end_mark.index - 1
        line, column = document.position(start)
        if document.text()[start:end] == node.value and "\n" not in node.value:
            found = (" " * (column - 1) + node.value).encode("utf-8", "replace"), line - 1
    inner = _read(*found, document) if found is not None else None
    return inner if inner is not None and inner.problem is None else None


def document_in_block(document: Document, path: Path) -> Document | None:
    """Read the YAML of a literal block; None for text that is written otherwise, is not YAML, or is a template.

    The document is not fixed automatically: an edit would have to be checked within its block.
    """
    found = text_of_block(document, path)
    inner = _read(*found, document) if found is not None else None
    return inner if inner is not None and inner.problem is None else None


def documents_in_block(document: Document, path: Path) -> Iterator[EmbeddedDocument]:
    """Read the documents in a literal block, which lines with ``---`` separate; those that are not YAML are left out."""
    text, line = text_of_block(document, path) or (b"", 0)
    indentation = re.search(rb"(?m)^( *)[^ \r\n]", text)
    if indentation is None:
        return
    separator = re.compile(rb"(?m)^ {0,%d}---[ \t]*(?:#.*)?\r?$" % len(indentation[1]))
    start = 0
    for end in (*(match.end() for match in separator.finditer(text)), len(text)):
        piece = separator.sub(b"", text[start:end])
        yield from _embedded(piece, line + text.count(b"\n", 0, start), document)
        start = end


def entry_with_text(document: Document, path: Path) -> EmbeddedDocument | None:
    """Read the map entry at a path as if the text of its literal block were YAML in the place of the text.

    None if the text is written otherwise, or is not YAML.
    """
    text, line = text_of_block(document, path) or (b"", 0)
    key = document.locate(path, key=True)
    if not text or key.line != line:
        return None
    start = document.line_starts()[key.line - 1 - document.line]
    name = document.text()[start + key.column - 1 : start + key.end_column - 1]
    written = " " * (key.column - 1) + name + ":\n"
    return next(_embedded(written.encode("utf-8", "replace") + text, line - 1, document), None)


def _embedded(text: bytes, line: int, document: Document) -> Iterator[EmbeddedDocument]:
    """Yield the documents in a text, which begins on a 0-based line of the file; a template may have several."""
    if holds_control(text):
        from afflint.yaml.template_text import template_text

        template = template_text(text, line)
        for each in template.documents(lambda _: True) if template is not None else ():
            each.index = document.index
            yield EmbeddedDocument(each, template)
        return
    inner = _read(text, line, document)
    if inner.problem is None and not inner.empty:
        yield EmbeddedDocument(inner)


def _read(text: bytes, line: int, document: Document) -> Document:
    inner = read(text, document.index, line)
    inner.filled = True
    return inner
