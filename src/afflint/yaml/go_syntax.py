"""The syntax of Go's templates: texts, actions and blocks, and the expressions in them. After text/template/parse of Go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.template_actions import actions_in, inside_of, tokens_of, word_of

_DEEPEST, _LONGEST = 50, 80
_BLOCKS = ("if", "with", "range", "define", "block")
_CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "nil": None}


class GoSyntaxError(Exception):
    """A template that cannot be parsed: ``action`` is the one that is responsible."""

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


class Text(NamedTuple):
    """Literal text that begins on a line, from 1."""

    text: str
    line: int


Expression = tuple[Any, ...]
"""``("value", value)``, ``("path", root, names)``, ``("call", name, arguments)`` or ``("method", path, arguments)``.

The root of a path is `.`, a variable or an expression.
"""


class Statement(NamedTuple):
    """An action with its text and its line, from 1; ``names`` are the variables that it sets. ``word`` is "" if it has none."""

    word: str
    names: tuple[str, ...]
    expression: Expression | None
    text: str
    is_declared: bool = True
    line: int = 1


class Block(NamedTuple):
    """Branches of an `if`, `with` or `range`, the first that applies is taken; the action of `else` has no expression.

    A `define` and a `block` are a single branch.
    """

    branches: list[tuple[Statement, list[Any]]]


Piece = Text | Statement | Block


def parsed(text: str) -> list[Piece]:
    """Return the texts, actions and blocks of a template. Raises GoSyntaxError."""
    top: list[Any] = []
    body, open_blocks = top, list[Block]()
    for each in _pieces(text):
        if isinstance(each, Text) or each.word not in (*_BLOCKS, "else", "else with", "end"):
            body.append(each)
            continue
        if each.word in _BLOCKS:
            block = Block([(each, [])])
            body.append(block)
            open_blocks.append(block)
        elif open_blocks and each.word != "end":
            open_blocks[-1].branches.append((each, []))
        elif open_blocks:
            open_blocks.pop()
        else:
            raise GoSyntaxError(each.text)
        if len(open_blocks) > _DEEPEST:
            raise GoSyntaxError(each.text)
        body = open_blocks[-1].branches[-1][1] if open_blocks else top
    if open_blocks:
        raise GoSyntaxError(open_blocks[-1].branches[0][0].text)
    return top


def _pieces(text: str) -> Iterator[Text | Statement]:
    """Yield the texts and actions of a template, without comments and trimmed spaces. Raises GoSyntaxError."""
    actions, unclosed = actions_in(text)
    position, line, trims = 0, 1, False
    for start, end, action in (*actions, (len(text), len(text), "")):
        if not action and unclosed >= 0:
            raise GoSyntaxError(text[unclosed:][:_LONGEST].partition("\n")[0])
        before = text[position:start]
        literal = before.lstrip() if trims else before
        skipped = before[: len(before) - len(literal)].count("\n")
        if literal := literal.rstrip() if action[2:3] == "-" else literal:
            yield Text(literal, line + skipped)
        line += before.count("\n")
        if action and word_of(action) != "/*":
            yield _action(inside_of(action), action)._replace(line=line)
        line += action.count("\n")
        position, trims = end, action[-3:-2] == "-"


def _action(inside: str, text: str) -> Statement:
    tokens = [*tokens_of(inside)]
    word = tokens[0][1] if tokens and tokens[0][0] == "word" else ""
    if word == "else" and len(tokens) > 1 and tokens[1][1] in ("if", "with"):
        rest = tokens[2:]
        word = "else with" if tokens[1][1] == "with" else word
    elif word in ("else", "end", "break", "continue"):
        if len(tokens) > 1:
            raise GoSyntaxError(text)
        return Statement(word, (), None, text)
    elif word == "define":
        name = tokens[1] if len(tokens) == 2 else ("", "")
        if name[0] != "text":
            raise GoSyntaxError(text)
        return Statement(word, (), ("value", _unquoted(name[1], text)), text)
    else:
        is_word = word in (*_BLOCKS, "template")
        # `template NAME VALUE` and `block NAME VALUE` are like calls.
        rest = tokens[1:] if is_word and word not in ("template", "block") else tokens
        word = word if is_word else ""
    sign = next((number for number, each in enumerate(rest) if each[0] == "sign" and each[1] in (":=", "=")), None)
    if sign is None:
        return Statement(word, (), parse_pipeline(rest, text), text)
    names = tuple([each for kind, each in rest[:sign] if kind == "path"])
    return Statement(word, names, parse_pipeline(rest[sign + 1 :], text), text, rest[sign][1] == ":=")


_BAR = ("sign", "|")


def parse_pipeline(tokens: Iterable[tuple[str, str]], text: str) -> Expression:
    """Return the commands of an action with this text that are joined with `|`, each the last argument of the next.

    Raises GoSyntaxError.
    """
    rest = [*tokens][::-1]
    if rest.count(_BAR) > _DEEPEST:
        raise GoSyntaxError(text)
    found = _pipeline(rest, text, 0)
    if rest:
        raise GoSyntaxError(text)
    return found


def _pipeline(rest: list[tuple[str, str]], text: str, depth: int) -> Expression:
    result: Expression | None = None
    while True:
        operands: list[Expression] = []
        while rest and rest[-1] not in (_BAR, ("sign", ")")):
            operands.append(_operand(rest, text, depth))
        if not operands:
            raise GoSyntaxError(text)
        first, arguments = operands[0], [*operands[1:], *([result] if result is not None else [])]
        if first[0] == "call" and first[2] is None:
            result = ("call", first[1], arguments)
        elif not arguments:
            result = first
        elif first[0] == "path" and first[2]:
            result = ("method", first, arguments)
        else:
            raise GoSyntaxError(text)
        if not rest or rest[-1] != _BAR:
            return result
        rest.pop()


def _operand(rest: list[tuple[str, str]], text: str, depth: int) -> Expression:
    kind, token = rest.pop()
    if token == "(" and kind == "sign" and depth < _DEEPEST:
        found = _pipeline(rest, text, depth + 1)
        if not rest or rest.pop() != ("sign", ")"):
            raise GoSyntaxError(text)
        return ("path", found, tuple(rest.pop()[1][1:].split("."))) if rest and rest[-1][0] == "field" else found
    if kind == "text":
        return ("value", _unquoted(token, text))
    if kind == "number" and len(token) < 18:
        return ("value", int(token))
    if kind == "float":
        return ("value", float(token))
    if kind == "path":
        root, _, names = token.partition(".")
        return ("path", root or ".", tuple(names.split(".")) if names else ())
    if kind == "word":
        return ("value", _CONSTANTS[token]) if token in _CONSTANTS else ("call", token, None)
    raise GoSyntaxError(text)


def _unquoted(token: str, text: str) -> str:
    if token[0] == "`":
        return token[1:-1]
    try:
        unquoted = str(json.loads(token))
        unquoted.encode()  # A surrogate is not a character of Go.
    except ValueError:
        raise GoSyntaxError(text) from None
    return unquoted


def defines_in(pieces: Iterable[Piece]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the names and bodies of the named templates that are defined at the top of a template, with `define` and `block`."""
    for each in pieces:
        if isinstance(each, Block) and each.branches[0][0].word in ("define", "block"):
            action, body = each.branches[0]
            named = action.expression
            if named is not None and named[0] == "call":
                named = (named[2] or [("", "")])[0]
            if named is not None and named[0] == "value":
                yield str(named[1]), body
            yield from defines_in(body)
