"""The conditions around actions in the templates of a chart, and the values with which they apply: `if .Values.a.b`, `not`, `and`, `eq`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import value_at_path
from afflint.yaml.go_syntax import Block, Expression, GoSyntaxError, Piece, Statement, Text, parsed

WORD = "afflint-value"
"""What a value is set to that only has to be set."""
_LONGEST_CHAIN, _MOST_ALTERNATIVES = 20, 20
_SAME = frozenset(("toString", "lower", "trim", "len", "default", "required"))
"""Functions whose result is empty if their last argument is, as far as conditions are concerned."""

Setting = tuple[tuple[str, ...], Any]
"""The path of a value and what it is set to."""
_ROOT: tuple[str, ...] = ()
_UNKNOWN = ("?",)
_ZERO = ("value", 0)
_OPPOSITES = ("not", "empty")
_Names = tuple[str, ...]


class Guard(NamedTuple):
    """A condition around a part of a template, and whether it has to be true."""

    condition: Expression
    wanted: bool


class GuardedPiece(NamedTuple):
    """A text or an action of a template, with the conditions around it, the innermost last."""

    piece: Text | Statement
    guards: tuple[Guard, ...]


def guarded_pieces(text: str) -> list[GuardedPiece]:
    """Return the texts and actions of a template with the conditions around them; none if it cannot be parsed.

    In their expressions, the paths of values begin with `Values`, also in a `with` and behind variables. A named template is assumed to
    get the root of the chart.
    """
    try:
        return [*_guarded(parsed(text), (), {}, _ROOT)]
    except GoSyntaxError:
        return []


def _guarded(pieces: Sequence[Piece], guards: tuple[Guard, ...], variables: dict[str, _Names], dot: _Names) -> Iterator[GuardedPiece]:
    for each in pieces:
        if isinstance(each, Block):
            before: tuple[Guard, ...] = ()
            for action, body in each.branches:
                action = action._replace(expression=_resolved(action.expression, variables, dot))
                condition = None if action.word in ("define", "block") else action.expression
                here = () if condition is None else (Guard(condition, wanted=True),)
                yield GuardedPiece(action, (*guards, *before))
                inside = dot
                if action.word in ("with", "else with", "range"):
                    inside = _chain(action.expression) if action.word != "range" else _UNKNOWN
                    for name in action.names:
                        variables[name] = inside
                yield from _guarded(body, (*guards, *before, *here), variables, inside)
                before = (*before, *(Guard(one.condition, wanted=False) for one in here))[-_MOST_ALTERNATIVES:]
        elif isinstance(each, Statement):
            each = each._replace(expression=_resolved(each.expression, variables, dot))
            yield GuardedPiece(each, guards)
            for name in each.names:
                variables[name] = _chain(each.expression)
        else:
            yield GuardedPiece(each, guards)


def _resolved(expression: Expression | None, variables: Mapping[str, _Names], dot: _Names) -> Any:
    """Return an expression whose paths begin at the root of the chart, or at `?`."""
    if expression is None or expression[0] == "value":
        return expression
    if expression[0] != "path":
        arguments = [_resolved(each, variables, dot) for each in expression[2] or ()]
        name = expression[1] if expression[0] == "call" else ""
        if name in ("eq", "ne", "gt") and arguments[1:] == [_ZERO] and arguments[0][:2] == ("call", "len"):
            return ("call", "not", arguments[0][2]) if name == "eq" else arguments[0]
        return (expression[0], name, arguments)
    _, root, names = expression
    above = _chain(_resolved(root, variables, dot)) if type(root) is tuple else dot if root == "." else variables.get(root, _UNKNOWN)
    above = _ROOT if root == "$" else above
    return ("path", ".", (*above, *names)[:_LONGEST_CHAIN])


def _chain(expression: Expression | None) -> _Names:
    """Return the names of a resolved path, also behind a function such as `default`; `?` for another expression."""
    while expression is not None and expression[0] == "call" and expression[1] in _SAME and expression[2]:
        expression = expression[2][-1]
    return expression[2] if expression is not None and expression[0] == "path" else _UNKNOWN


def expressions_in(expression: Expression | None) -> Iterator[Expression]:
    """Yield a resolved expression and those in it."""
    if expression is not None:
        yield expression
        for each in expression[2] if expression[0] in ("call", "method") else ():
            yield from expressions_in(each)


def values_in(expression: Expression | None) -> Iterator[_Names]:
    """Yield the paths of the values that a resolved expression reads."""
    for each in expressions_in(expression):
        if each[0] == "path" and each[2][:1] == ("Values",) and len(each[2]) > 1:
            yield each[2][1:]


def is_true(condition: Expression, data: Mapping[str, Any]) -> bool | None:
    """Return whether a resolved condition applies with some values; None if that is not known."""
    kind, name, rest = condition
    path = _value_path(condition)
    if kind == "value" or path is not None:
        return bool(name if path is None else value_at_path(data, *path))
    if kind != "call":
        return None
    if name in _OPPOSITES and len(rest) == 1:
        inner = is_true(rest[0], data)
        return None if inner is None else not inner
    if name in ("and", "or"):
        known = [is_true(each, data) for each in rest]
        decisive = name == "or"
        return decisive if decisive in known else None if None in known else not decisive
    compared = _comparison(condition)
    return None if compared is None else (value_at_path(data, *compared[0]) in compared[1]) == (name == "eq")


def settings_for(condition: Expression, data: Mapping[str, Any], *, wanted: bool) -> list[Setting] | None:
    """Return what to set so that a resolved condition applies, or does not if it is not ``wanted``; None if that is not known."""
    if is_true(condition, data) == wanted:
        return []
    kind, name, rest = condition
    path = _value_path(condition)
    if path is not None:
        return [(path, filled(path, data) if wanted else emptied(path, data))]
    if kind != "call":
        return None
    if name in _OPPOSITES and len(rest) == 1:
        return settings_for(rest[0], data, wanted=not wanted)
    if name in ("and", "or"):
        known = [found for each in rest if (found := settings_for(each, data, wanted=wanted)) is not None]
        if (name == "and") == wanted:
            return [setting for each in known for setting in each] or None
        return min(known, key=len, default=None)
    compared = _comparison(condition)
    return [(compared[0], compared[1][0])] if compared is not None and (name == "eq") == wanted else None


def _value_path(condition: Expression) -> _Names | None:
    """Return the path of the value that decides alone about a resolved condition: itself, or a function of it."""
    names = _chain(condition)
    return names[1:] if len(names) > 1 and names[0] == "Values" else None


def _comparison(condition: Expression) -> tuple[_Names, list[Any]] | None:
    """Return the value that `eq` or `ne` compares with constants, and these; None for another condition."""
    kind, name, rest = condition
    if kind != "call" or name not in ("eq", "ne"):
        return None
    paths = [path for each in rest if (path := _value_path(each)) is not None]
    words = [each[1] for each in rest if each[0] == "value"]
    return (paths[0], words) if len(paths) == 1 and words and len(words) == len(rest) - 1 else None


def filled(path: Sequence[str], data: Mapping[str, Any]) -> Any:
    """Return something for a value to be set to, of the type of its default."""
    default, around = value_at_path(data, *path), value_at_path(data, *path[:-1])
    if type(default) is list:
        return [WORD]
    if type(default) is dict:
        return {"name": WORD}
    is_switch = default is None and type(around) is dict and any(type(each) is bool for each in around.values())
    return True if type(default) is bool or is_switch else 1 if type(default) is int else WORD


def emptied(path: Sequence[str], data: Mapping[str, Any]) -> Any:
    """Return an empty value of the type of a default."""
    default = value_at_path(data, *path)
    return type(default)() if type(default) in (bool, str, int, list) else None
