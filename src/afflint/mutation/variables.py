"""Variables in Kyverno's policies: ``{{ expression }}``, for the expressions that a manifest answers.

These are paths below ``request.object``, alternatives with ``||`` and literals. Everything else is undecided: functions, filters, and what
only a cluster knows. Semantics: pkg/engine/variables/vars.go and JMESPath.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from afflint.mutation.undecided import UndecidedError

_VARIABLE = re.compile(r"\{\{((?:[^{}]|\{[^{}]*\})*)\}\}")
_TOKEN = re.compile(
    r"\s*(?:(?P<or>\|\|)|(?P<literal>`[^`]*`)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<quoted>\"(?:[^\"\\]|\\.)*\")|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<items>\[\*?\])|(?P<index>\[-?[0-9]{1,6}\])|(?P<dot>\.))"
)
_SHOWN = 60


def substituted(value: Any, known: Mapping[str, Any]) -> Any:
    """Return a value of a policy with its variables replaced; ``known`` are the roots of their paths.

    Raises UndecidedError for a variable without a value.
    """
    if isinstance(value, dict):
        return {substituted(key, known): substituted(each, known) for key, each in value.items()}
    if isinstance(value, list):
        return [substituted(each, known) for each in value]
    if not isinstance(value, str) or not ("{{" in value or "$(" in value):
        return value
    if "$(" in value or "\\{{" in value:
        raise UndecidedError("it has a reference that only Kyverno resolves")
    whole = _VARIABLE.fullmatch(value.strip())
    if whole is not None:
        return _value_of(whole[1], known)
    text = _VARIABLE.sub(lambda found: _text(_value_of(found[1], known)), value)
    if "{{" in text:
        raise UndecidedError(f"it has a variable that afflint does not read: `{value[:_SHOWN]}`")
    return text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _value_of(expression: str, known: Mapping[str, Any]) -> Any:
    value = _VariableExpression(expression, known).value()
    if value is None:
        raise UndecidedError(f"its variable `{expression.strip()[:_SHOWN]}` has no value in the manifest")
    return value


class _VariableExpression:
    """An expression of a variable: alternatives of paths and literals."""

    def __init__(self, text: str, known: Mapping[str, Any]) -> None:
        self._text, self._known = text.strip(), known
        self._tokens = list(self._split())

    def _split(self) -> list[tuple[str, str]]:
        tokens, position = [], 0
        while position < len(self._text):
            found = _TOKEN.match(self._text, position)
            if found is None or found.lastgroup is None:
                raise self._unread()
            tokens.append((found.lastgroup, found[found.lastgroup]))
            position = found.end()
        return tokens

    def _unread(self) -> UndecidedError:
        return UndecidedError(f"afflint does not evaluate its variable `{self._text[:_SHOWN]}`")

    def value(self) -> Any:
        """Return the value of the first alternative that is not empty; of the last one, if all are."""
        alternatives: list[list[tuple[str, str]]] = [[]]
        for token in self._tokens:
            if token[0] == "or":
                alternatives.append([])
            else:
                alternatives[-1].append(token)
        value = None
        for each in alternatives:
            value = self._single(each)
            if not (value is None or value is False or value in ("", [], {})):
                return value
        return value

    def _single(self, tokens: list[tuple[str, str]]) -> Any:
        if not tokens:
            raise self._unread()
        kind, text = tokens[0]
        if kind in ("literal", "text"):
            if len(tokens) > 1:
                raise self._unread()
            return self._literal(text) if kind == "literal" else re.sub(r"\\'", "'", text[1:-1])
        if kind != "name" or text not in self._known:
            raise self._unread()
        return self._below(self._known[text], tokens[1:])

    def _literal(self, text: str) -> Any:
        try:
            return json.loads(text[1:-1])
        except ValueError:
            return text[1:-1]

    def _below(self, value: Any, tokens: list[tuple[str, str]]) -> Any:
        """Return the value at the end of a path; None without one."""
        if not tokens:
            return value
        kind, text = tokens[0]
        if kind == "items":
            if not isinstance(value, list):
                return None
            flat = [each for item in value for each in (item if text == "[]" and isinstance(item, list) else [item])]
            return [each for item in flat if (each := self._below(item, tokens[1:])) is not None]
        if kind == "index":
            number = int(text[1:-1])
            return self._below(value[number], tokens[1:]) if isinstance(value, list) and -len(value) <= number < len(value) else None
        if kind != "dot" or len(tokens) < 2 or tokens[1][0] not in ("name", "quoted"):
            raise self._unread()
        step = tokens[1][1] if tokens[1][0] == "name" else json.loads(tokens[1][1])
        if isinstance(value, _Known) and step not in value:
            raise self._unread()
        return self._below(value.get(step) if isinstance(value, dict) else None, tokens[2:])


class _Known(dict[str, Any]):
    """A map that may have more fields than are known."""


def request_of(data: dict[str, Any], namespace: str | None) -> dict[str, Any]:
    """Return the roots of variables when an object is created: what is known of the request."""
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    request = _Known(operation="CREATE", object=data, **({"namespace": namespace} if namespace is not None else {}))
    if isinstance(name, str):
        request["name"] = name
    return {"request": request}
