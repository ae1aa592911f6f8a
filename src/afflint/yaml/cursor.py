"""Where in the data of a document a place of its text is: the way back from a position to a path."""

from __future__ import annotations

from typing import Any

from afflint.findings.finding import Path, Step
from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import Document
from afflint.yaml.nodes import MappingNode, ScalarNode, SequenceNode


class Cursor(NamedTuple):
    """The innermost value around a place. ``on_key``: the place is on its key."""

    path: Path
    on_key: bool = False


def cursor_at(document: Document, line: int, column: int) -> Cursor:
    """What a place, its line and column from 1, lies in: the innermost value, or the map or list around it where it lies between two."""
    starts = document.line_starts()
    row = line - document.line - 1
    if not 0 <= row < len(starts):
        return Cursor(())
    index = starts[row] + column - 1
    node = document.node_at(())
    path: list[Step] = []
    while node is not None and type(node) is not ScalarNode:
        if type(node) is MappingNode:
            step = _in_map(document, node, index)
            if step is None:
                break
            key, value, on_key = step
            path.append(key)
            if on_key:
                return Cursor(tuple(path), on_key=True)
            node = value
        elif type(node) is SequenceNode:
            for number, item in enumerate(node.value):
                if item.start_mark.index - 2 <= index <= document.end_of(item):
                    path.append(number)
                    node = item
                    break
            else:
                break
    return Cursor(tuple(path))


def _in_map(document: Document, node: MappingNode, index: int) -> tuple[str, Any, bool] | None:
    """The key, the value and whether the place is on the key, of the entry of a map that a place lies in."""
    for key, value in node.value:
        if type(key) is not ScalarNode or index < key.start_mark.index:
            continue
        if index <= key.end_mark.index:
            return str(key.value), value, True
        # An alias lies where its anchor is.
        end = max(document.end_of(value), key.end_mark.index) if value.start_mark.index >= key.start_mark.index else key.end_mark.index
        if index <= end:
            return str(key.value), value, False
    return None
