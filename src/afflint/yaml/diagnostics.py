"""Mistakes in the text of a document that can still be read: their messages and their fixes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.findings.finding import Edit, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import Document, Duplicate


class YamlDiagnostic(NamedTuple):
    """A mistake in a document: the message, the help, the position, and the edits that fix it."""

    message: str
    help: str
    span: Span
    edits: tuple[Edit, ...] = ()


def text_behind(document: Document, title: str) -> YamlDiagnostic | None:
    """Report text after the end of a document. ``title`` names the object that ends there; "" if it is not one.

    The API server decodes one YAML document between two separators (yaml.Unmarshal of go-yaml v2) and ignores everything after it.
    """
    if document.rest is None:
        return None
    text = document.text()
    lost = (
        f"the API server ignores it and reads only {title}"
        if title
        else "the API server ignores it, and the text above it is not an object"
    )
    if re.search(r"(?m)^\.\.\.(?=\s)(?:\s+|#.*)*\Z", text[: document.rest]):
        message = "text after the line `...`, which ends the document"
        remedy = "Delete the line `...`, or start another document with a line `---`."
    elif _column(text, document.rest) < _column(text, _first(text)):
        key = re.compile(r"[\w./-]+(?=[\"']?[ \t]*:)").match(text, document.rest)
        subject = f"`{key[0]}` is" if key else "this line is"
        message = f"{subject} indented less than the first line, which ends the document here"
        remedy = "Indent all keys of the object equally, or start another document with a line `---`."
    else:
        message = "text after the end of the document"
        dashes = re.match(r"-{1,2}(?=\s)", text[_first(text) :])
        remedy = f"Write the separator as `---`: `{dashes[0]}` is text." if dashes else "Separate documents with a line `---`."
    return YamlDiagnostic(f"{message}: {lost}", remedy, document.character(document.rest))


def missing_separators(document: Document) -> list[YamlDiagnostic]:
    """Report where another object begins in the same map: at the first of its repeated keys, which include apiVersion and kind."""
    return [
        YamlDiagnostic(
            f"another object begins here without a line `---` before it: of each key that occurs twice, such as `{keys[0].path[-1]}`, "
            "only the last value takes effect",
            "Insert a line `---` above it.",
            keys[0].span,
            (_separator(document, keys[0].span),),
        )
        for keys in _repeated(document)
        if {"apiVersion", "kind"} <= {key.path[0] for key in keys} and _begins_line(document, keys[0].span)
    ]


def _repeated(document: Document) -> Iterator[list[Duplicate]]:
    """Yield the repeated keys of the document's map in order, in one list for each additional object."""
    keys: list[Duplicate] = []
    for duplicate in sorted(document.duplicates, key=lambda each: each.span):
        if len(duplicate.path) > 1 or duplicate.overrides or duplicate.is_merged:
            continue
        if duplicate.path in {each.path for each in keys}:
            yield keys
            keys = []
        keys.append(duplicate)
    if keys:
        yield keys


def _begins_line(document: Document, span: Span) -> bool:
    return not document.text()[_first(document.text()) :].startswith("{") and not _line(document, span.line)[: span.column - 1].strip()


def _separator(document: Document, span: Span) -> Edit:
    """Return the edit that inserts a separator before the line of a key, and before the comments above that belong to it.

    Comments that are indented further belong to the object above.
    """
    line = above = span.line
    while above - document.line > 1 and _line(document, above - 1).lstrip().startswith("#"):
        above -= 1
        if _line(document, above).startswith(" " * (span.column - 1) + "#"):
            line = above
    newline = "\r\n" if "\r\n" in document.text() else "\n"
    return Edit(Span(line, 1, line, 1), f"---{newline}")


def _line(document: Document, line: int) -> str:
    starts, text = document.line_starts(), document.text()
    number = line - document.line
    return text[starts[number - 1] : starts[number] if number < len(starts) else None]


def _first(text: str) -> int:
    """Return where the text begins after blank lines and comments."""
    begin = re.match(r"(?:\s*#.*)*\s*", text)
    return begin.end() if begin else 0


def _column(text: str, index: int) -> int:
    return index - max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) - 1
