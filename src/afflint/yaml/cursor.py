"""Finds the path in the data of a document at a position in its text."""

from __future__ import annotations

from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step
from afflint.yaml.document import Document


class Cursor(NamedTuple):
    """The innermost value around a position. ``on_key``: the position is on its key."""

    path: Path
    on_key: bool = False


def cursor_at(document: Document, line: int, column: int) -> Cursor:
    """Find the innermost value at a line and column (from 1), or the map or list around it if it is between two."""
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
    """Return the key and the value of the map entry at a position, and whether the position is on the key."""
    for key, value in node.value:
        if type(key) is not ScalarNode or index < key.start_mark.index:
            continue
        if index <= key.end_mark.index:
            return str(key.value), value, True
        # The node of an alias is that of its anchor.
        end = max(document.end_of(value), key.end_mark.index) if value.start_mark.index >= key.start_mark.index else key.end_mark.index
        if index <= end:
            return str(key.value), value, False
    return None
