"""Which parts of its inputs an expression reads: converting whole objects for the library takes longer than most expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.admission.cel_ast import CALL, CONSTANT, IDENTIFIER, SELECTION, Checked, SyntaxNode
from afflint.admission.cel_types import field_path

Reads = tuple[tuple[str, ...], ...]
"""Paths of values, each from a variable on: ``("object", "metadata", "labels")``. None is a beginning of another one."""

_OBJECTS = ("object", "oldObject")
_STEPS = frozenset(("_[_]", "_?._", "_[?_]"))


def reads_of(checked: Checked) -> Reads:
    """Return the values that an expression reads, each whole. Names of its own variables, as in macros, may be among them."""
    found: list[tuple[str, ...]] = []
    for path in sorted(set(_paths(checked.root))):
        # In this order, a path follows the one that it continues.
        if not found or path[: len(found[-1])] != found[-1]:
            found.append(path)
    return tuple(found)


def _paths(root: SyntaxNode) -> Iterator[tuple[str, ...]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        path = _path(node)
        if path:
            yield path
        else:
            waiting += node.parts


def _path(node: SyntaxNode) -> tuple[str, ...]:
    """Return the path of a value that an expression names by fields alone; empty for any other expression."""
    steps: list[str] = []
    while node.kind != IDENTIFIER:
        if node.kind == SELECTION:
            steps.append(node.name)
        elif node.kind == CALL and node.name in _STEPS and node.parts[1].kind == CONSTANT and node.parts[1].text is not None:
            steps.append(node.parts[1].text)
        else:
            return ()
        node = node.parts[0]
    return (*field_path(node.name), *reversed(steps))


def reads_only_metadata(reads: Reads, aliases: Mapping[str, str]) -> bool:
    """Return whether an expression reads nothing of the object but its metadata. ``aliases``: other names for values, without prefix."""
    for root, *steps in reads:
        if root == "variables":
            if not steps:
                return False
            root, *steps = aliases.get(steps[0], ""), *steps[1:]
        if root in _OBJECTS and steps[:1] != ["metadata"]:
            return False
    return True
