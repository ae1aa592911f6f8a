"""What is to be known of a compiled expression before it is evaluated.

The library cannot give an optional value to a function that is written in Python: it ends the process. So no expression is evaluated that
might hand one to anything but what is made for optional values. Nor does it count what texts and lists come to that an expression puts
together: `growth` tells beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.admission.cel_ast import CALL, IDENTIFIER, LIST, LOOP, MAP, Checked, SyntaxNode
from afflint.findings.namedtuples import NamedTuple

_ENDING = frozenset(("orValue", "hasValue", "value", "_==_", "_!=_", "type"))
_GOING_ON = frozenset(("_?._", "_[?_]", "_[_]", "or", "optional.of", "_?_:_"))
"""Of these an optional value comes again, which the expression has to know."""


def misused_optional(checked: Checked) -> str | None:
    """What an optional value is handed to in an expression that is no place for one: a function, or a list or map; None for nothing."""
    return next((misuse for node in checked.root.walk() for misuse in _misuses(node, checked)), None)


def _misuses(node: SyntaxNode, checked: Checked) -> Iterator[str]:
    if node.kind in (LIST, MAP):
        if any(_is_optional(each, checked) for index, each in enumerate(node.parts) if index not in node.optional):
            yield "a list" if node.kind == LIST else "a map"
    elif node.kind == CALL:
        allowed = node.name in _ENDING or (node.name in _GOING_ON and _is_optional(node, checked))
        taken = node.parts[1:] if node.name == "orValue" else () if allowed else node.parts
        if any(_is_optional(each, checked) for each in taken):
            yield node.name


def _is_optional(node: SyntaxNode, checked: Checked) -> bool:
    return checked.type_of(node).startswith("optional_type")


class Growth(NamedTuple):
    """How much longer the longest text or list of the input may become: by which factor, and in how many nested loops."""

    factor: float
    loops: int


def growth(checked: Checked) -> Growth:
    """How much longer an expression makes texts and lists at most, each time that it goes through something."""
    return _grown(checked.root, {})


def _grown(node: SyntaxNode, known: Mapping[str, float]) -> Growth:
    """``known`` are the variables of the loops around it, with their growth. What is inside counts even where it comes to a number."""
    if node.kind == IDENTIFIER:
        return Growth(known.get(node.name, 1), 0)
    if node.kind == LOOP:
        return _looped(node, known)
    below = [_grown(each, known) for each in node.parts]
    adds = node.kind in (LIST, MAP) or (node.kind == CALL and node.name == "_+_")
    factors = [each.factor for each in below]
    return Growth(max(1, sum(factors) if adds else max(factors, default=1)), max((each.loops for each in below), default=0))


def _looped(node: SyntaxNode, known: Mapping[str, float]) -> Growth:
    """A comprehension. What its iterations collect counts per iteration, because the number of iterations is limited."""
    range_ = _grown(node.parts[0], known)
    inside = {**known, **dict.fromkeys(node.items[:-1], range_.factor), node.items[-1]: 0.0}
    below = [_grown(each, inside) for each in node.parts[1:4]]
    return Growth(
        max(1, range_.factor, *(each.factor for each in below)),
        max(range_.loops, 1 + max((each.loops for each in below), default=0)),
    )
