"""Templates of Go with plain functions, filled from known data: `if`, `with`, `range`, variables and pipelines.

After text/template of Go, Sprig, and docs/templating_funcs.md of github.com/helmfile/helmfile. What depends on data or functions that are
not known here stays unknown. Known and unknown values are never mixed up: a function of an unknown value is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.go_functions import LONGEST_VALUE, TEXT_FUNCTIONS, as_text
from afflint.yaml.go_syntax import Block, Expression, GoSyntaxError, Piece, Statement, Text, parsed

_LARGEST, _DEEPEST, _LONGEST = 1 << 20, 50, 80
_MOST_STEPS, _MOST_COMPUTED = 100_000, 1 << 22
"""The limits for all templates of a budget: the actions and iterations, and the characters and items that functions take and return."""


class _UnknownValue:
    """A value that is not known. ``is_unset``: it is empty until it is set, as an environment variable is."""

    def __init__(self, *, is_unset: bool = False) -> None:
        self.is_unset = is_unset


UNKNOWN, UNSET = _UnknownValue(), _UnknownValue(is_unset=True)


class TemplateError(GoSyntaxError):
    """A template that cannot be filled: ``action`` is the one that is responsible, ``is_known`` whether it is understood.

    ``is_too_large``: it is understood, but it takes too many steps, or its value is too long.
    """

    def __init__(self, action: str, *, is_known: bool = False, is_too_large: bool = False) -> None:
        super().__init__(action)
        self.is_known = is_known
        self.is_too_large = is_too_large


class ValueTooLargeError(Exception):
    """A value exceeds a limit."""


class TemplateBudget:
    """What several templates together may take: actions and iterations, and the sizes of what their functions take and return."""

    def __init__(self) -> None:
        self._steps, self._computed = _MOST_STEPS, _MOST_COMPUTED

    def step(self) -> None:
        """Count an action or an iteration. Raises ValueTooLargeError."""
        self._steps -= 1
        if self._steps < 0:
            raise ValueTooLargeError

    def take(self, value: Any) -> None:
        """Count a value that a function takes or returns. Raises ValueTooLargeError if it is too large, or exceeds what remains."""
        self._computed -= _size(value)
        if self._computed < 0:
            raise ValueTooLargeError


def _size(value: Any) -> int:
    """Return the number of characters and items of a value, shared items as often as they occur. Raises ValueTooLargeError."""
    size, pending = 0, [(value, 0)]
    while pending:
        each, depth = pending.pop()
        size += len(each) + 1 if type(each) in (str, list, dict) else 1
        if size > LONGEST_VALUE or depth > _DEEPEST:
            raise ValueTooLargeError
        if type(each) is list:
            pending += [(item, depth + 1) for item in each]
        elif type(each) is dict:
            pending += [(item, depth + 1) for pair in each.items() for item in pair]
    return size


class Filled(NamedTuple):
    """The text of a filled template. ``is_aligned``: what is literal in it is on the same lines as in the template."""

    text: str
    is_aligned: bool


def fill(
    text: str, data: Mapping[str, Any], *, is_complete: bool, unknown: str | None = None, budget: TemplateBudget | None = None
) -> Filled:
    """Return a template filled with data. ``is_complete``: keys that the maps in the data do not have are known to be absent.

    An unknown value, or branches of one line with an unknown condition, become ``unknown``. Raises TemplateError if that is None, if lines
    depend on what is unknown, for actions that are not supported, and for those that exceed the ``budget``.
    """
    if "{{" not in text:
        return Filled(text, is_aligned=True)
    filler = _Filler(data=data, is_complete=is_complete, unknown=unknown, budget=budget or TemplateBudget())
    filler.run(_pieces_of(text), data, {})
    return Filled("".join(filler.pieces), filler.is_aligned)


def _pieces_of(text: str) -> list[Piece]:
    """Return the pieces of a template. Raises TemplateError, also for actions that are not supported."""
    try:
        pieces = parsed(text)
    except GoSyntaxError as error:
        raise TemplateError(error.action) from None
    _reject_unsupported(pieces)
    return pieces


def _reject_unsupported(pieces: Sequence[Piece]) -> None:
    """Raise TemplateError for named templates, and for what ends a loop."""
    for each in pieces:
        if isinstance(each, Block):
            for action, body in each.branches:
                _reject_unsupported((action, *body))
        elif isinstance(each, Statement) and (each.word in _UNSUPPORTED or _includes(each.expression)):
            raise TemplateError(each.text)


_UNSUPPORTED = ("define", "block", "template", "break", "continue")


def _includes(expression: Expression | None) -> bool:
    return expression is not None and (expression[0] == "method" or expression[:2] == ("call", "include"))


# Filling.

Variables = Mapping[str, list[Any]]
"""Each variable in scope, as a list with its value, so that an inner block can change it."""


@dataclass(kw_only=True)
class Evaluator:
    """Evaluates expressions with data. ``is_complete``: keys that the maps in the data do not have are known to be absent."""

    data: Mapping[str, Any]
    is_complete: bool
    budget: TemplateBudget = field(default_factory=TemplateBudget)

    def value(self, expression: Any, dot: Any, variables: Variables) -> Any:
        """Return the value of an expression. Raises ValueTooLargeError."""
        kind, first, *others = expression
        if kind == "value":
            return first
        if kind == "path":
            return self.at_path(first, others[0], dot, variables)
        if kind == "method":
            return UNKNOWN
        return self.called(first, others[0] or (), dot, variables)

    def at_path(self, root: Any, names: Sequence[str], dot: Any, variables: Variables) -> Any:
        """Return the value at a path below `.`, a variable or the value of an expression."""
        if type(root) is tuple:
            found = self.value(root, dot, variables)
        else:
            found = self.data if root == "$" else dot if root == "." else variables.get(root, [UNKNOWN])[0]
        for name in names:
            # A template of helmfile fails if a key is absent, so that nothing is known then either.
            found = found.get(name, UNKNOWN) if type(found) is dict else UNKNOWN
        return found

    def called(self, name: str, expressions: Sequence[Any], dot: Any, variables: Variables) -> Any:
        """Return what a function returns for the values of some expressions."""
        arguments = [self.value(each, dot, variables) for each in expressions]
        if name in ("and", "or"):
            return _combined(name, arguments)
        if name in ("env", "requiredEnv"):
            return UNSET if name == "env" else UNKNOWN
        if name == "default" and len(arguments) == 2 and arguments[1] is UNSET:
            return arguments[0]
        if any(isinstance(each, _UnknownValue) for each in arguments):
            return UNKNOWN
        if name in ("hasKey", "get", "getOrNil"):
            return self._looked_up(name, arguments)
        for each in arguments if name not in _CHOOSING else ():
            self.budget.take(each)
        try:
            found = _FUNCTIONS[name](*arguments)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            return UNKNOWN
        if name not in _CHOOSING:
            self.budget.take(found)
        return found

    def _looked_up(self, name: str, arguments: Sequence[Any]) -> Any:
        """Return what a function says about a key: `hasKey MAP KEY`, `get PATH [DEFAULT] MAP` or `getOrNil PATH MAP`."""
        if len(arguments) < 2:
            return UNKNOWN
        found, path = (arguments[-1], arguments[0]) if name != "hasKey" else (arguments[0], arguments[-1])
        if type(path) is not str:
            return UNKNOWN
        for key in [path] if name == "hasKey" else path.split("."):
            if type(found) is not dict or key not in found:
                if not self.is_complete:
                    return UNKNOWN
                return False if name == "hasKey" else None if name == "getOrNil" else arguments[1] if len(arguments) == 3 else UNKNOWN
            found = found[key]
        return True if name == "hasKey" else found


@dataclass(kw_only=True)
class _Filler(Evaluator):
    unknown: str | None
    pieces: list[str] = field(default_factory=list)
    is_aligned: bool = True
    _line: int = 1
    _size: int = 0

    def run(self, body: Sequence[Any], dot: Any, variables: Variables) -> None:
        """Add the text of a body. Raises TemplateError."""
        scope = dict(variables)
        try:
            for each in body:
                self._run(each, dot, scope)
        except ValueTooLargeError:
            raise TemplateError(_shown(each), is_too_large=True) from None

    def _run(self, piece: Text | Statement | Block, dot: Any, scope: dict[str, list[Any]]) -> None:
        """Add the text of a piece, or set a variable. Raises TemplateError and ValueTooLargeError."""
        if isinstance(piece, Text):
            self._literal(piece)
        elif isinstance(piece, Block):
            self._block(piece, dot, scope)
        elif not piece.names:
            self._add(as_text(self._evaluated(piece, dot, scope)), piece.text)
        else:
            value = self._evaluated(piece, dot, scope)
            if piece.is_declared:
                scope[piece.names[0]] = [value]
            elif piece.names[0] in scope:
                scope[piece.names[0]][0] = value
        if self._size > _LARGEST:
            raise ValueTooLargeError

    def _literal(self, piece: Text) -> None:
        """Add a text of the template; blank lines replace those that were left out before it."""
        for number, line in enumerate(piece.text.split("\n")):
            if number:
                missing = piece.line + number - self._line
                self.is_aligned = self.is_aligned and missing > 0
                self._add("\n" * max(missing, 1))
            self._add(line)

    def _add(self, text: str | None, action: str = "") -> None:
        """Add a text, or what replaces an unknown one. Raises TemplateError."""
        text = self.unknown if text is None else text
        if text is None:
            raise TemplateError(action, is_known=True)
        self.pieces.append(text)
        self._line += text.count("\n")
        self._size += len(text)

    def _block(self, block: Block, dot: Any, variables: Variables) -> None:
        for action, body in block.branches:
            value = True if action.expression is None else self._evaluated(action, dot, variables)
            is_true = _truth(value)
            if is_true is None:
                if any(_spans_lines(each) for _, each in block.branches):
                    raise TemplateError(action.text, is_known=True)
                self._add(None, action.text)
                return
            if is_true:
                self._branch(action, body, value, dot, variables)
                return

    def _branch(self, action: Statement, body: Sequence[Any], value: Any, dot: Any, variables: Variables) -> None:
        if action.word == "range":
            for key, each in _items(value, action):
                self.budget.step()
                names = dict(zip(action.names, [[key], [each]] if len(action.names) > 1 else [[each]], strict=False))
                self.run(body, each, {**variables, **names})
        else:
            named = {name: [value] for name in action.names[:1]}
            self.run(body, value if action.word.endswith("with") else dot, {**variables, **named})

    def _evaluated(self, action: Statement, dot: Any, variables: Variables) -> Any:
        """Return the value of an action. Raises ValueTooLargeError."""
        self.budget.step()
        return self.value(action.expression, dot, variables)


def _spans_lines(body: Sequence[Any]) -> bool:
    """Return whether a body has several lines, or changes variables."""
    return any(
        "\n" in each.text
        if isinstance(each, Text)
        else any(_spans_lines(inner) for _, inner in each.branches)
        if isinstance(each, Block)
        else bool(each.names)
        for each in body
    )


def _items(value: Any, action: Statement) -> Iterator[tuple[Any, Any]]:
    if type(value) is dict and all(type(key) is str for key in value):
        yield from sorted(value.items(), key=lambda pair: str(pair[0]))
    elif type(value) is list:
        yield from enumerate(value)
    else:
        raise TemplateError(action.text)


def _shown(piece: Text | Statement | Block) -> str:
    """Return the text of a piece of a template, in one line."""
    action = piece.branches[0][0] if isinstance(piece, Block) else piece
    return action.text.strip()[:_LONGEST].partition("\n")[0]


def _truth(value: Any) -> bool | None:
    """Return whether a value is true for `if`; None if that is unknown."""
    return None if isinstance(value, _UnknownValue) else bool(value)


def _combined(name: str, arguments: Sequence[Any]) -> Any:
    """Return the argument that decides an `and` or `or`, or the last one."""
    value: Any = UNKNOWN
    for value in arguments:
        is_true = _truth(value)
        if is_true is None or is_true == (name == "or"):
            return value
    return value


def _is_equal(first: Any, *others: Any) -> bool:
    if any(type(each) is not type(first) for each in others):
        raise TypeError
    return first in others


def _indented(width: int, text: str) -> Any:
    return "\n".join(" " * width + line for line in text.split("\n")) if 0 <= width < 100 else UNKNOWN


def _joined(separator: str, values: Any) -> Any:
    """Join a list of strings. Raises ValueTooLargeError."""
    if sum(map(len, values)) + len(separator) * len(values) > LONGEST_VALUE:
        raise ValueTooLargeError
    return separator.join(values)


def _integer(value: Any) -> int:
    """Convert a number, or the text of one, as Go does. Raises ValueError for one that does not fit into 64 bits."""
    number = int(value if type(value) is not str or len(value) < 20 else "")
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _indexed(data: Any, *keys: Any) -> Any:
    for key in keys:
        data = data[key]
    return data


def _of_texts(function: Callable[..., str]) -> Callable[..., str]:
    """Return a function of values whose texts are known for one of texts. It raises TypeError for other values."""

    def called(*values: Any) -> str:
        texts = [as_text(each) for each in values]
        if None in texts:
            raise TypeError
        return function(*texts)

    return called


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "eq": _is_equal,
    "ne": lambda first, second: not _is_equal(first, second),
    "not": lambda value: not value,
    "default": lambda other, value: value or other,
    "empty": lambda value: not value,
    "coalesce": lambda *values: next((each for each in values if each), None),
    "ternary": lambda yes, no, value: yes if value else no,
    "has": lambda value, values: value in values,
    "list": lambda *values: list(values),
    "dict": lambda *pairs: dict(zip(pairs[::2], pairs[1::2], strict=True)),
    "keys": sorted,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "len": len,
    "index": _indexed,
    "join": _joined,
    "splitList": lambda separator, text: text.split(separator),
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda part, text: text.startswith(part),
    "hasSuffix": lambda part, text: text.endswith(part),
    "int": _integer,
    "indent": _indented,
    "nindent": lambda width, text: "\n" + _indented(width, text),
    "toYaml": lambda value: json.dumps(value),
    "toJson": lambda value: json.dumps(value),
    **{name: _of_texts(function) for name, function in TEXT_FUNCTIONS.items()},
}
"""Plain functions; their arguments are known. JSON is YAML on one line."""
_CHOOSING = frozenset(("not", "default", "empty", "coalesce", "ternary", "first", "last", "len", "index"))
"""Those that return a part of their arguments or look at their outermost level, which takes no time that depends on their size."""
