"""JSON documents with one long array, written item by item, so that a large report is never in memory as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping


def array(items: Iterable[object], indent: int = 0) -> Iterator[str]:
    """Yield ``items`` as an array in the layout of ``json.dumps(..., indent=2)`` at ``indent`` spaces, in ASCII."""
    margin = "\n" + " " * indent
    opening = "["
    for item in items:
        yield opening + margin + "  " + json.dumps(item, indent=2).replace("\n", margin + "  ")
        opening = ","
    yield "[]" if opening == "[" else margin + "]"


def document(frame: Mapping[str, object], key: str, items: Iterable[object], indent: int) -> Iterator[str]:
    """Yield ``frame`` with ``items`` in place of the empty array at ``key``, which is indented by ``indent`` spaces."""
    # The array may be inside other objects, as in SARIF. `json` writes the text around it, which is cut at the empty array; no string
    # can contain this mark, because quotes in strings are escaped.
    mark = f'"{key}": []'
    head, _, tail = json.dumps(frame, indent=2).partition(mark)
    yield head + mark[:-2]
    yield from array(items, indent)
    yield tail + "\n"
