"""Checks of compiled expressions before they are evaluated.

The library aborts the process if it passes an optional value to a function in Python. So an expression is evaluated only if it passes
optional values to nothing but the operations for them. The library also does not limit the size of the strings and lists that an
expression creates: `growth` estimates it. `reads_of` returns which parts of its inputs an expression reads: converting whole objects for
the library takes longer than most expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.admission.cel_ast import CALL, CONSTANT, IDENTIFIER, LIST, LOOP, MAP, SELECTION, Checked, SyntaxNode
from afflint.admission.cel_types import field_path
from afflint.findings.namedtuples import NamedTuple

_UNWRAPS = frozenset(("orValue", "hasValue", "value", "_==_", "_!=_", "type"))
_PASSES_ON = frozenset(("_?._", "_[?_]", "_[_]", "or", "optional.of", "_?_:_"))
"""Operations on optional values that return an optional value again, if the type of the expression is known to be one."""


def misused_optional(checked: Checked) -> str | None:
    """Return the function, list or map that receives an optional value and does not support it; None if there is no such case."""
    return next((misuse for node in checked.root.walk() for misuse in _misuses(node, checked)), None)


def _misuses(node: SyntaxNode, checked: Checked) -> Iterator[str]:
    if node.kind in (LIST, MAP):
        if any(_is_optional(each, checked) for index, each in enumerate(node.parts) if index not in node.optional):
            yield "a list" if node.kind == LIST else "a map"
    elif node.kind == CALL:
        allowed = node.name in _UNWRAPS or (node.name in _PASSES_ON and _is_optional(node, checked))
        taken = node.parts[1:] if node.name == "orValue" else () if allowed else node.parts
        if any(_is_optional(each, checked) for each in taken):
            yield node.name


def _is_optional(node: SyntaxNode, checked: Checked) -> bool:
    return checked.type_of(node).startswith("optional_type")


_OPTIONAL_OPERATIONS = frozenset(("_?._", "_[?_]", "or", "optional.of", "optional.none", "optional.ofNonZeroValue"))
_STEPS_BELOW = frozenset(("_[_]", "_?_:_"))


def may_be_optional(node: SyntaxNode, checked: Checked) -> bool:
    """Return whether an expression may evaluate to an optional value, also if the library does not know its type."""
    if _is_optional(node, checked) or (node.kind == CALL and node.name in _OPTIONAL_OPERATIONS):
        return True
    inside = node.kind == SELECTION or (node.kind == CALL and node.name in _STEPS_BELOW)
    return inside and any(may_be_optional(each, checked) for each in node.parts)


class Growth(NamedTuple):
    """The growth of the longest string or list of the input: a factor, and the number of nested loops."""

    factor: float
    loops: int


def growth(checked: Checked) -> Growth:
    """Return an upper bound for how much an expression enlarges strings and lists in each iteration."""
    return _growth_of(checked.root, {})


def _growth_of(node: SyntaxNode, known: Mapping[str, float]) -> Growth:
    """Return the growth of a node. ``known``: the variables of its loops with their growth. Operands of a number count as well."""
    if node.kind == IDENTIFIER:
        return Growth(known.get(node.name, 1), 0)
    if node.kind == LOOP:
        return _loop_growth(node, known)
    below = [_growth_of(each, known) for each in node.parts]
    adds = node.kind in (LIST, MAP) or (node.kind == CALL and node.name == "_+_")
    factors = [each.factor for each in below]
    return Growth(max(1, sum(factors) if adds else max(factors, default=1)), max((each.loops for each in below), default=0))


def _loop_growth(node: SyntaxNode, known: Mapping[str, float]) -> Growth:
    """Return the growth of a comprehension, counted for one iteration, because the number of iterations is limited."""
    range_ = _growth_of(node.parts[0], known)
    inside = {**known, **dict.fromkeys(node.items[:-1], range_.factor), node.items[-1]: 0.0}
    below = [_growth_of(each, inside) for each in node.parts[1:4]]
    return Growth(
        max(1, range_.factor, *(each.factor for each in below)), max(range_.loops, 1 + max((each.loops for each in below), default=0))
    )


# What an expression reads.

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
