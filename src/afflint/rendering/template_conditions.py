"""The conditions around actions in the templates of a chart, and the values with which they apply: `if .Values.a.b`, `not`, `and`, `eq`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.charts.chart_files import merged_values
from afflint.charts.symbols import FALSE, TRUE, UNKNOWN, Condition, any_of, holds, negated
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted, summarize_names
from afflint.rendering.chart_trials import set_value
from afflint.yaml.document import value_at_path
from afflint.yaml.go_syntax import Block, Expression, GoSyntaxError, Piece, Statement, Text, parsed
from afflint.yaml.json_text import json_text

WORD = "afflint-value"
"""What a value is set to that only has to be set."""
_LONGEST_CHAIN, _MOST_ALTERNATIVES = 20, 20
_SAME = frozenset(("toString", "lower", "trim", "len", "default", "required"))
"""Functions whose result is empty if their last argument is, as far as conditions are concerned."""

Setting = tuple[tuple[str, ...], Any]
"""The path of a value and what it is set to."""
_ROOT: tuple[str, ...] = ()
_NOT_KNOWN = ("?",)
_ZERO = ("value", 0)
_Names = tuple[str, ...]


class GuardedPiece(NamedTuple):
    """A text or an action of a template, with the conditions around it, the innermost last."""

    piece: Text | Statement
    guards: tuple[Condition, ...]


def guarded_pieces(text: str) -> list[GuardedPiece]:
    """Return the texts and actions of a template with the conditions around them; none if it cannot be parsed.

    In their expressions, the paths of values begin with `Values`, also in a `with` and behind variables. A named template is assumed to
    get the root of the chart.
    """
    try:
        return [*_guarded(parsed(text), (), {}, _ROOT)]
    except GoSyntaxError:
        return []


def _guarded(pieces: Sequence[Piece], guards: tuple[Condition, ...], variables: dict[str, _Names], dot: _Names) -> Iterator[GuardedPiece]:
    for each in pieces:
        if isinstance(each, Block):
            before: tuple[Condition, ...] = ()
            for action, body in each.branches:
                action = action._replace(expression=_resolved(action.expression, variables, dot))
                condition = None if action.word in ("define", "block") else action.expression
                here = () if condition is None else (condition_of(condition),)
                yield GuardedPiece(action, (*guards, *before))
                inside = dot
                if action.word in ("with", "else with", "range"):
                    inside = _chain(action.expression) if action.word != "range" else _NOT_KNOWN
                    for name in action.names:
                        variables[name] = inside
                yield from _guarded(body, (*guards, *before, *here), variables, inside)
                before = (*before, *map(negated, here))[-_MOST_ALTERNATIVES:]
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
    above = _chain(_resolved(root, variables, dot)) if type(root) is tuple else dot if root == "." else variables.get(root, _NOT_KNOWN)
    above = _ROOT if root == "$" else above
    return ("path", ".", (*above, *names)[:_LONGEST_CHAIN])


def _chain(expression: Expression | None) -> _Names:
    """Return the names of a resolved path, also behind a function such as `default`; `?` for another expression."""
    while expression is not None and expression[0] == "call" and expression[1] in _SAME and expression[2]:
        expression = expression[2][-1]
    return expression[2] if expression is not None and expression[0] == "path" else _NOT_KNOWN


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


def condition_of(expression: Expression) -> Condition:
    """Return the condition that a resolved expression is true."""
    if expression[0] == "value":
        return TRUE if expression[1] else FALSE
    kind, name, rest = expression
    path = _value_path(expression)
    if path is not None:
        return ("set", path)
    if kind != "call":
        return UNKNOWN
    if name in ("not", "empty") and len(rest) == 1:
        return negated(condition_of(rest[0]))
    if name in ("and", "or"):
        return (name, *map(condition_of, rest))
    paths = [path for each in rest if (path := _value_path(each)) is not None]
    words = [each[1] for each in rest if each[0] == "value"]
    if name not in ("eq", "ne") or len(paths) != 1 or not words or len(words) != len(rest) - 1:
        return UNKNOWN
    is_one = any_of(("eq", paths[0], word) for word in words)
    return is_one if name == "eq" else negated(is_one)


def _value_path(expression: Expression) -> _Names | None:
    """Return the path of the value that decides alone about a resolved expression: itself, or a function of it."""
    names = _chain(expression)
    return names[1:] if len(names) > 1 and names[0] == "Values" else None


def settings_for(condition: Condition, values: Mapping[str, Any], *, wanted: bool = True) -> list[Setting] | None:
    """Return what to set so that a condition is ``wanted``, besides ``values``; None if that is not known."""
    if holds(condition, values) == wanted:
        return []
    kind = condition[0]
    if kind == "not":
        return settings_for(condition[1], values, wanted=not wanted)
    if kind in ("and", "or"):
        each = [settings_for(inner, values, wanted=wanted) for inner in condition[1:][:_MOST_ALTERNATIVES]]
        known = [found for found in each if found is not None]
        if (kind == "and") == wanted:
            known = [[setting for found in known for setting in found]]
        # Alternatives may contradict themselves.
        possible = [found for found in known if holds(condition, merged_values(values, nested(found))) is not (not wanted)]
        return min(possible, key=len, default=None) or None
    if kind not in ("set", "key", "eq") or "*" in condition[1] or (kind == "eq" and not wanted):
        return None
    path = condition[1]
    return [(path, condition[2] if kind == "eq" else filled(path, values) if wanted else emptied(path, values))]


def nested(settings: Iterable[Setting]) -> dict[str, Any]:
    """Return settings as the values of a chart."""
    values: dict[str, Any] = {}
    for path, value in settings:
        set_value(values, path, value)
    return values


def words_for(settings: Iterable[Setting]) -> str:
    """Return what is set, in words."""
    words = [
        f"{quoted('.'.join(path))} is {quoted(json_text(value).strip() if type(value) is not str else value)}" for path, value in settings
    ]
    return summarize_names([*dict.fromkeys(words)])


def filled(path: Sequence[str], values: Mapping[str, Any]) -> Any:
    """Return something for a value to be set to, of the type of its default."""
    default, around = value_at_path(values, *path), value_at_path(values, *path[:-1])
    if type(default) is list:
        return [WORD]
    if type(default) is dict:
        return {"name": WORD}
    is_switch = default is None and type(around) is dict and any(type(each) is bool for each in around.values())
    return True if type(default) is bool or is_switch else 1 if type(default) is int else WORD


def emptied(path: Sequence[str], values: Mapping[str, Any]) -> Any:
    """Return an empty value of the type of a default."""
    default = value_at_path(values, *path)
    return type(default)() if type(default) in (bool, str, int, list) else None
