"""Values of Helm charts: constraints that a chart copies into its pods, known by their shape and judged where they stand.

A file of values is one by its name. Values stand in custom resources, too: as data (Flux, Argo CD's ``valuesObject``), where they are found
like any other constraint of a custom resource, or as text in a block scalar (Argo CD's ``values``, ``valuesContent`` of k3s and RKE2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.findings import Path
from afflint.kube.custom import CustomWorkload
from afflint.kube.kinds import Kind
from afflint.kube.shapes import holders_in, mentions_placement
from afflint.reading import documents
from afflint.reading.document import Document
from afflint.reading.nodes import ScalarNode
from afflint.reading.placeholders import holds_control

_VALUES = Kind("values", "", (), (), None)
_FIELDS = frozenset(("values", "valuesContent", "valuesTemplate"))


def constraints_in_values(document: Document, data: dict[str, Any]) -> Iterator[CustomWorkload]:
    """What holds constraints in the values that a document is; ``data`` is the object that they belong to, if there is one."""
    if type(document.data) is dict:
        for holder in holders_in(document.data, ()):
            yield CustomWorkload(document, data, (), _VALUES, holder, "shape")


def embedded_values(document: Document) -> Iterator[tuple[Path, Document]]:
    """The values that stand as text in a document, each with its path: a document of its own, whose lines are those of the file.

    Only literal block scalars count, whose text stands line by line as it is. What is a template, or no YAML, is left out.
    """
    for path in _texts(document.data):
        node = document.node_at(path)
        if type(node) is not ScalarNode or node.style != "|":
            continue
        line = document.position(node.start_mark.index)[0]
        # The text begins on the line below the indicator.
        start = document.line_starts()[line - document.line] if line - document.line < len(document.line_starts()) else None
        text = document.text()[start : document.end_of(node)].encode() if start is not None else b""
        if mentions_placement(text) and not holds_control(text):
            inner = documents.read(text, document.index, line)
            if inner.problem is None:
                yield path, inner


def _texts(data: Any) -> Iterator[Path]:
    """The paths of all strings under the names by which values are kept."""
    waiting: list[tuple[Any, Path]] = [(data, ())]
    while waiting:
        here, at = waiting.pop()
        items = here.items() if type(here) is dict else enumerate(here) if type(here) is list else ()
        for key, each in items:
            if type(each) is str:
                if key in _FIELDS:
                    yield (*at, key)
            elif each:
                waiting.append((each, (*at, key)))
