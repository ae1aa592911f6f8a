"""Preconditions of Kyverno's rules: comparisons of values. Semantics: pkg/engine/variables/operator and evaluate.go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from afflint.kube.quantities import parse_quantity
from afflint.mutation.undecided import UndecidedError, holds_all, holds_any
from afflint.mutation.variables import substituted
from afflint.mutation.wildcards import is_match

_EQUAL, _NOT_EQUAL = ("equals", "equal"), ("notequals", "notequal")
_RANGE = re.compile(r"[^-]+!?-[^-]+")


def are_met(conditions: Any, known: Mapping[str, Any]) -> bool:
    """Return whether preconditions hold: ``any`` and ``all`` of them; in a list, all must. Raises UndecidedError."""
    if not conditions:
        return True
    if isinstance(conditions, list):
        return holds_all([partial(_is_met, each, known) for each in conditions])
    if not isinstance(conditions, dict) or not all(isinstance(conditions.get(field) or [], list) for field in ("any", "all")):
        raise UndecidedError("its preconditions are not valid")
    groups = []
    if conditions.get("any"):
        groups.append(partial(holds_any, [partial(_is_met, each, known) for each in conditions["any"]]))
    if conditions.get("all"):
        groups.append(partial(holds_all, [partial(_is_met, each, known) for each in conditions["all"]]))
    return holds_all(groups)


def _is_met(condition: Any, known: Mapping[str, Any]) -> bool:
    if not isinstance(condition, dict):
        raise UndecidedError("its preconditions are not valid")
    operator = str(condition.get("operator", "")).lower()
    key, value = substituted(condition.get("key"), known), substituted(condition.get("value"), known)
    if operator in _EQUAL or operator in _NOT_EQUAL:
        return _equals(key, value) == (operator in _EQUAL)
    if operator in ("in", "anyin", "allin", "notin", "anynotin", "allnotin"):
        return _is_in(operator, key, value)
    raise UndecidedError(f"its preconditions use the operator `{condition.get('operator')}`, which afflint does not evaluate")


def _equals(key: Any, value: Any) -> bool:
    if isinstance(key, str) and isinstance(value, str):
        one, other = parse_quantity(key), parse_quantity(value)
        if one is not None and other is not None:
            return one.nanos == other.nanos
        return is_match(value, key)
    if isinstance(key, dict | list) or isinstance(value, dict | list):
        return bool(key == value)
    if key is None or value is None:
        raise UndecidedError("its preconditions compare with null")
    return _text(key) == _text(value)


def _is_in(operator: str, key: Any, value: Any) -> bool:
    values = _values(value)
    keys = [_text(each) for each in key] if isinstance(key, list) else [_text(key)]
    if isinstance(key, dict) or key is None:
        raise UndecidedError("its preconditions look for what is not a text")
    are_in = [any(is_match(each, own) or is_match(own, each) for each in values) for own in keys]
    if operator in ("in", "allin"):
        return all(are_in)
    if operator == "anyin":
        return any(are_in)
    if operator == "anynotin":
        return not all(are_in)
    return not any(are_in)


def _values(value: Any) -> list[str]:
    if isinstance(value, list):
        return [_text(each) for each in value]
    if not isinstance(value, str) or _RANGE.fullmatch(value):
        raise UndecidedError("its preconditions look for a value in a range")
    try:
        parsed = json.loads(value)
    except ValueError:
        return [value]
    return [_text(each) for each in parsed] if isinstance(parsed, list) else [value]


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
