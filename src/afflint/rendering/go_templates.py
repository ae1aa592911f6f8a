"""Templates of Go with plain functions, filled from known data: `if`, `with`, `range`, variables and pipelines.

After text/template of Go, Sprig, and docs/templating_funcs.md of github.com/helmfile/helmfile. What depends on data or functions that are
not known here stays unknown. Known and unknown values are never mixed up: a function of an unknown value is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.set_templates import LONGEST_VALUE, TEXT_FUNCTIONS

_LARGEST, _DEEPEST, _LONGEST = 1 << 20, 50, 80
_MOST_STEPS, _MOST_COMPUTED = 100_000, 1 << 22
"""The limits for all templates of a budget: the actions and iterations, and the characters and items that functions take and return."""
_ACTION = re.compile(r"\{\{(-?)((?:\"(?:[^\"\\]|\\.){0,1000}\"|`[^`]{0,1000}`|[^{}\"`]){0,600}?)(-?)\}\}")
_COMMENT, _END_OF_COMMENT = re.compile(r"\{\{(-?)\s*/\*"), re.compile(r"\*/\s*(-?)\}\}")
_TOKEN = re.compile(
    r"(?P<text>\"(?:[^\"\\]|\\.)*\"|`[^`]*`)|(?P<number>-?\d+)(?![\w.])|(?P<path>\$\w*(?:\.\w+)*|(?:\.\w+)+|\.)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign>:=|=|[|(),])|(?P<blank>\s+)"
)
_BLOCKS = ("if", "with", "range")
_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "nil": None}


class _UnknownValue:
    """A value that is not known. ``is_unset``: it is empty until it is set, as an environment variable is."""

    def __init__(self, *, is_unset: bool = False) -> None:
        self.is_unset = is_unset


UNKNOWN, _UNSET = _UnknownValue(), _UnknownValue(is_unset=True)


class TemplateError(Exception):
    """A template that cannot be filled: ``action`` is the one that is responsible, ``is_known`` whether it is understood.

    ``is_too_large``: it is understood, but it takes too many steps, or its value is too long.
    """

    def __init__(self, action: str, *, is_known: bool = False, is_too_large: bool = False) -> None:
        super().__init__(action)
        self.action = action
        self.is_known = is_known
        self.is_too_large = is_too_large


class _ValueTooLargeError(Exception):
    """A value exceeds a limit."""


class TemplateBudget:
    """What several templates together may take: actions and iterations, and the sizes of what their functions take and return."""

    def __init__(self) -> None:
        self._steps, self._computed = _MOST_STEPS, _MOST_COMPUTED

    def step(self) -> None:
        """Count an action or an iteration. Raises _ValueTooLargeError."""
        self._steps -= 1
        if self._steps < 0:
            raise _ValueTooLargeError

    def take(self, value: Any) -> None:
        """Count a value that a function takes or returns. Raises _ValueTooLargeError if it is too large, or exceeds what remains."""
        self._computed -= _size(value)
        if self._computed < 0:
            raise _ValueTooLargeError


def _size(value: Any) -> int:
    """Return the number of characters and items of a value, shared items as often as they occur. Raises _ValueTooLargeError."""
    size, pending = 0, [(value, 0)]
    while pending:
        each, depth = pending.pop()
        size += len(each) + 1 if type(each) in (str, list, dict) else 1
        if size > LONGEST_VALUE or depth > _DEEPEST:
            raise _ValueTooLargeError
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
    body = _Parser(text).parsed()
    filler = _Filler(data, is_complete=is_complete, unknown=unknown, budget=budget or TemplateBudget())
    filler.run(body, data, {})
    return Filled("".join(filler.pieces), filler.is_aligned)


# Parsing.


class _Text(NamedTuple):
    text: str
    line: int


_Expression = tuple[Any, ...]
"""``("value", value)``, ``("path", root, names)`` or ``("call", name, arguments)``. The root is `.`, a variable or an expression."""


class _TemplateAction(NamedTuple):
    """An action with its text; ``names`` are the variables that it sets. ``word`` is "" if it has none."""

    word: str
    names: tuple[str, ...]
    expression: _Expression | None
    text: str
    is_declared: bool = True


class _Block(NamedTuple):
    """Branches of an `if`, `with` or `range`, the first that applies is taken; the action of `else` has no expression."""

    branches: list[tuple[_TemplateAction, list[Any]]]


@dataclass(slots=True)
class _Parser:
    text: str
    _open: list[_Block] = field(default_factory=list)

    def parsed(self) -> list[Any]:
        """Return the texts, actions and blocks of the template. Raises TemplateError."""
        top: list[Any] = []
        body = top
        for each in self._pieces():
            if isinstance(each, _Text):
                body.append(each)
            elif each.word in _BLOCKS:
                block = _Block([(each, [])])
                body.append(block)
                self._open.append(block)
                if len(self._open) > _DEEPEST:
                    raise TemplateError(each.text)
                body = block.branches[-1][1]
            elif each.word in ("else", "end"):
                body = self._next(each, top)
            else:
                body.append(each)
        if self._open:
            raise TemplateError(self._open[-1].branches[0][0].text)
        return top

    def _next(self, action: _TemplateAction, top: list[Any]) -> list[Any]:
        """Return the body after an `else` or `end`."""
        if not self._open:
            raise TemplateError(action.text)
        if action.word == "else":
            self._open[-1].branches.append((action, []))
        else:
            self._open.pop()
        return self._open[-1].branches[-1][1] if self._open else top

    def _pieces(self) -> Iterator[_Text | _TemplateAction]:
        position, line, trims = 0, 1, False
        while (start := self.text.find("{{", position)) >= 0:
            comment = _COMMENT.match(self.text, start)
            # Go ends a comment at the first `*/`.
            last = self.text.find("*/", comment.end()) if comment else start
            match = (_END_OF_COMMENT if comment else _ACTION).match(self.text, last) if last >= 0 else None
            if match is None:
                raise TemplateError(self.text[start : start + _LONGEST].partition("\n")[0])
            before = self.text[position:start]
            yield from _text(before, line, start=trims, end=bool((comment or match)[1]))
            line += before.count("\n") + self.text.count("\n", start, match.end())
            position, trims = match.end(), bool(match[match.lastindex or 0])
            if not comment:
                yield _action(match[2].strip(), match[0])
        yield from _text(self.text[position:], line, start=trims, end=False)


def _text(text: str, line: int, *, start: bool, end: bool) -> Iterator[_Text]:
    """Yield a text without the blanks that the actions around it trim."""
    if start:
        stripped = text.lstrip()
        line += text[: len(text) - len(stripped)].count("\n")
        text = stripped
    text = text.rstrip() if end else text
    if text:
        yield _Text(text, line)


def _action(inside: str, text: str) -> _TemplateAction:
    tokens = list(_tokens(inside, text))
    word = tokens[0][1] if tokens and tokens[0][0] == "word" else ""
    if word == "else" and len(tokens) > 1 and tokens[1][1] == "if":
        return _TemplateAction("else", (), _expression(tokens[2:], text), text)
    if word in ("else", "end"):
        if len(tokens) > 1:
            raise TemplateError(text)
        return _TemplateAction(word, (), None, text)
    word = word if word in (*_BLOCKS, "define", "block", "template", "break", "continue", "include") else ""
    if word not in ("", *_BLOCKS):
        raise TemplateError(text)
    rest = tokens[1:] if word else tokens
    sign = next((number for number, each in enumerate(rest) if each[0] == "sign" and each[1] in (":=", "=")), None)
    if sign is None:
        return _TemplateAction(word, (), _expression(rest, text), text)
    names = tuple([each for kind, each in rest[:sign] if kind == "path"])
    return _TemplateAction(word, names, _expression(rest[sign + 1 :], text), text, rest[sign][1] == ":=")


def _tokens(inside: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of an action with their kinds; a path directly after a parenthesis has the kind `field`."""
    position, before = 0, ""
    while position < len(inside):
        match = _TOKEN.match(inside, position)
        if match is None:
            raise TemplateError(text)
        position = match.end()
        kind = match.lastgroup or ""
        if kind != "blank":
            yield "field" if kind == "path" and before == ")" else kind, match[0]
        before = match[0]


def _expression(tokens: Sequence[tuple[str, str]], text: str) -> _Expression:
    """Return a pipeline: commands that are joined with `|`, each the last argument of the next. Raises TemplateError."""
    rest = list(reversed(tokens))
    found = _pipeline(rest, text, 0)
    if rest:
        raise TemplateError(text)
    return found


def _pipeline(rest: list[tuple[str, str]], text: str, depth: int) -> _Expression:
    result: _Expression | None = None
    while True:
        operands: list[_Expression] = []
        while rest and rest[-1] not in (("sign", "|"), ("sign", ")")):
            operands.append(_operand(rest, text, depth))
        if not operands:
            raise TemplateError(text)
        first, arguments = operands[0], operands[1:]
        if first[0] == "call" and first[2] is None:
            result = ("call", first[1], [*arguments, *([result] if result is not None else [])])
        elif arguments or result is not None:
            raise TemplateError(text)
        else:
            result = first
        if not rest or rest[-1] != ("sign", "|"):
            return result
        rest.pop()


def _operand(rest: list[tuple[str, str]], text: str, depth: int) -> _Expression:
    kind, token = rest.pop()
    if token == "(" and kind == "sign" and depth < _DEEPEST:
        found = _pipeline(rest, text, depth + 1)
        if not rest or rest.pop() != ("sign", ")"):
            raise TemplateError(text)
        return ("path", found, tuple(rest.pop()[1][1:].split("."))) if rest and rest[-1][0] == "field" else found
    if kind == "text":
        return ("value", _unquoted(token, text))
    if kind == "number" and len(token) < 18:
        return ("value", int(token))
    if kind == "path":
        root, _, names = token.partition(".")
        return ("path", root or ".", tuple(names.split(".")) if names else ())
    if kind == "word":
        return ("value", _CONSTANTS[token]) if token in _CONSTANTS else ("call", token, None)
    raise TemplateError(text)


def _unquoted(token: str, text: str) -> str:
    if token[0] == "`":
        return token[1:-1]
    try:
        unquoted = str(json.loads(token))
        unquoted.encode()  # A surrogate is not a character of Go.
    except ValueError:
        raise TemplateError(text) from None
    return unquoted


# Filling.

_Variables = Mapping[str, list[Any]]
"""Each variable in scope, as a list with its value, so that an inner block can change it."""


@dataclass(slots=True)
class _Filler:
    data: Mapping[str, Any]
    is_complete: bool
    unknown: str | None
    budget: TemplateBudget
    pieces: list[str] = field(default_factory=list)
    is_aligned: bool = True
    _line: int = 1
    _size: int = 0

    def run(self, body: Sequence[Any], dot: Any, variables: _Variables) -> None:
        """Add the text of a body. Raises TemplateError."""
        scope = dict(variables)
        for each in body:
            if isinstance(each, _Text):
                self._literal(each)
            elif isinstance(each, _Block):
                self._block(each, dot, scope)
            elif each.names:
                value = self._evaluated(each, dot, scope)
                if each.is_declared:
                    scope[each.names[0]] = [value]
                elif each.names[0] in scope:
                    scope[each.names[0]][0] = value
            else:
                self._written(self._evaluated(each, dot, scope), each)
            if self._size > _LARGEST:
                raise TemplateError(_shown(each), is_too_large=True)

    def _literal(self, piece: _Text) -> None:
        """Add a text of the template; blank lines replace those that were left out before it."""
        for number, line in enumerate(piece.text.split("\n")):
            if number:
                missing = piece.line + number - self._line
                self.is_aligned = self.is_aligned and missing > 0
                self._add("\n" * max(missing, 1))
            self._add(line)

    def _add(self, text: str) -> None:
        self.pieces.append(text)
        self._line += text.count("\n")
        self._size += len(text)

    def _written(self, value: Any, action: _TemplateAction) -> None:
        text = _as_text(value)
        if text is None:
            self._add_unknown(action)
        else:
            self._add(text)

    def _add_unknown(self, action: _TemplateAction) -> None:
        if self.unknown is None:
            raise TemplateError(action.text, is_known=True)
        self._add(self.unknown)

    def _block(self, block: _Block, dot: Any, variables: _Variables) -> None:
        for action, body in block.branches:
            value = True if action.expression is None else self._evaluated(action, dot, variables)
            is_true = _truth(value)
            if is_true is None:
                if any(_spans_lines(each) for _, each in block.branches):
                    raise TemplateError(action.text, is_known=True)
                self._add_unknown(action)
                return
            if is_true:
                self._branch(action, body, value, dot, variables)
                return

    def _branch(self, action: _TemplateAction, body: Sequence[Any], value: Any, dot: Any, variables: _Variables) -> None:
        if action.word == "range":
            for key, each in _items(value, action):
                self._count(action)
                names = dict(zip(action.names, [[key], [each]] if len(action.names) > 1 else [[each]], strict=False))
                self.run(body, each, {**variables, **names})
        else:
            named = {name: [value] for name in action.names[:1]}
            self.run(body, value if action.word == "with" else dot, {**variables, **named})

    def _count(self, action: _TemplateAction) -> None:
        try:
            self.budget.step()
        except _ValueTooLargeError:
            raise TemplateError(action.text, is_too_large=True) from None

    # Expressions.

    def _evaluated(self, action: _TemplateAction, dot: Any, variables: _Variables) -> Any:
        """Return the value of an action. Raises TemplateError."""
        self._count(action)
        try:
            return self._value(action.expression, dot, variables)
        except _ValueTooLargeError:
            raise TemplateError(action.text, is_too_large=True) from None

    def _value(self, expression: Any, dot: Any, variables: _Variables) -> Any:
        kind, first, *others = expression
        if kind == "value":
            return first
        if kind == "path":
            if type(first) is tuple:
                found = self._value(first, dot, variables)
            elif first == "$":
                found = self.data
            else:
                found = dot if first == "." else variables.get(first, [UNKNOWN])[0]
            for name in others[0]:
                found = self._at(found, name)
            return found
        return self._called(first, [self._value(each, dot, variables) for each in others[0] or ()])

    def _at(self, data: Any, name: str) -> Any:
        # A template of helmfile fails if a key is absent, so that nothing is known then either.
        return data.get(name, UNKNOWN) if type(data) is dict else UNKNOWN

    def _called(self, name: str, arguments: Sequence[Any]) -> Any:
        if name in ("and", "or"):
            return _combined(name, arguments)
        if name in ("env", "requiredEnv"):
            return _UNSET if name == "env" else UNKNOWN
        if name == "default" and len(arguments) == 2 and arguments[1] is _UNSET:
            return arguments[0]
        if any(isinstance(each, _UnknownValue) for each in arguments):
            return UNKNOWN
        if name in ("hasKey", "get", "getOrNil"):
            return self._looked_up(name, arguments)
        for each in arguments if name not in _CHOOSING else ():
            self.budget.take(each)
        try:
            found = _FUNCTIONS[name](*arguments) if name in _FUNCTIONS else _of_texts(name, arguments)
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


def _spans_lines(body: Sequence[Any]) -> bool:
    """Return whether a body has several lines, or changes variables."""
    return any(
        "\n" in each.text
        if isinstance(each, _Text)
        else any(_spans_lines(inner) for _, inner in each.branches)
        if isinstance(each, _Block)
        else bool(each.names)
        for each in body
    )


def _items(value: Any, action: _TemplateAction) -> Iterator[tuple[Any, Any]]:
    if type(value) is dict and all(type(key) is str for key in value):
        yield from sorted(value.items(), key=lambda pair: str(pair[0]))
    elif type(value) is list:
        yield from enumerate(value)
    else:
        raise TemplateError(action.text)


def _shown(piece: _Text | _TemplateAction | _Block) -> str:
    """Return the text of a piece of a template, in one line."""
    action = piece.branches[0][0] if isinstance(piece, _Block) else piece
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


def _as_text(value: Any) -> str | None:
    """Return the text that Go writes for a value; None if that is unknown."""
    if type(value) is bool:
        return "true" if value else "false"
    return str(value) if type(value) in (str, int) else None


def _of_texts(name: str, arguments: Sequence[Any]) -> Any:
    texts = [_as_text(each) for each in arguments]
    known = [each for each in texts if each is not None]
    count, function = TEXT_FUNCTIONS.get(name, (0, None))
    if function is None or len(known) != len(texts) or not known or count not in (len(known), -1):
        return UNKNOWN
    found = function([re.sub("%[dv]", "%s", known[0]), *known[1:]] if name == "printf" else known)
    return UNKNOWN if found is None else found


def _is_equal(first: Any, *others: Any) -> bool:
    if any(type(each) is not type(first) for each in others):
        raise TypeError
    return first in others


def _indented(width: int, text: str) -> Any:
    return "\n".join(" " * width + line for line in text.split("\n")) if 0 <= width < 100 else UNKNOWN


def _joined(separator: str, values: Any) -> Any:
    """Join a list of strings. Raises _ValueTooLargeError."""
    if sum(map(len, values)) + len(separator) * len(values) > LONGEST_VALUE:
        raise _ValueTooLargeError
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
}
"""Plain functions; their arguments are known. JSON is YAML on one line."""
_CHOOSING = frozenset(("not", "default", "empty", "coalesce", "ternary", "first", "last", "len", "index"))
"""Those that return a part of their arguments or look at their outermost level, which takes no time that depends on their size."""
