"""What is wrong with the text of a document that can be read all the same: the words for it, and what would mend it."""

from __future__ import annotations

import re
from typing import NamedTuple

from afflint.findings import Span
from afflint.reading.document import Document


class Fault(NamedTuple):
    """Something wrong with a document: what, what to do, and where."""

    message: str
    help: str
    span: Span


def text_behind(document: Document, title: str) -> Fault | None:
    """What stands behind the end of a document, if anything does. ``title`` names the object that ends there; "" if it is none.

    The API server decodes one YAML document between two separators (yaml.Unmarshal of go-yaml v2) and looks at nothing behind it.
    """
    if document.rest is None:
        return None
    text = document.text()
    lost = f"the API server takes {title} without it" if title else "what stands above is no object, and the API server looks no further"
    if re.search(r"(?m)^\.\.\.(?=\s)(?:\s+|#.*)*\Z", text[: document.rest]):
        message = "text behind the line `...`, which ends the document"
        remedy = "Delete the line `...`, or begin another document with a line `---`."
    elif _column(text, document.rest) < _column(text, _first(text)):
        key = re.compile(r"[\w./-]+(?=[\"']?[ \t]*:)").match(text, document.rest)
        subject = f"`{key[0]}` stands" if key else "this line stands"
        message = f"{subject} further left than the first line of the document, which ends it here"
        remedy = "Indent all keys of the object alike, or begin another document with a line `---`."
    else:
        message = "text behind the end of the document"
        dashes = re.match(r"-{1,2}(?=\s)", text[_first(text) :])
        remedy = f"Write the separator as `---`: `{dashes[0]}` is text." if dashes else "Separate documents by a line `---`."
    return Fault(f"{message}: {lost}", remedy, document.character(document.rest))


def _first(text: str) -> int:
    """Where the text begins behind blank lines and comments."""
    begin = re.match(r"(?:\s*#.*)*\s*", text)
    return begin.end() if begin else 0


def _column(text: str, index: int) -> int:
    return index - max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) - 1
