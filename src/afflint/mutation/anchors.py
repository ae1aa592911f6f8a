"""Kyverno's anchors in strategic merge patches: keys in parentheses that are conditions, or that set a field only if it is absent.

``(key)`` is a condition on the map around it, ``<(key)`` one on the whole rule, ``+(key)`` sets the field if the object lacks it.
Semantics: PreProcessPattern (pkg/engine/mutate/patch/strategicPreprocessing.go) and MatchPattern (pkg/engine/validate/validate.go).
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from afflint.kube.quantities import parse_quantity
from afflint.mutation.undecided import InapplicableError, UndecidedError
from afflint.mutation.wildcards import is_match

_ANCHOR = re.compile(r"\s*([+<=X^]?)\((.+)\)\s*")
_ABSENT = object()
_MOST_STEPS = 10**10
"""The limit of what anchors in nested lists may take: each item of the object is compared with each of the pattern, and copied."""
_LONGEST_DURATION = 50
_COMPARISON = re.compile(r"(>=|<=|>|<|!)?\s*(.*)", re.DOTALL)
_RANGE_OR_DURATION = re.compile(r"[^-]+!?-[^-]+|[0-9.]+(ns|us|µs|ms|s|h|[0-9hms.]+)")


class _UnmetError(Exception):
    """A condition on a map is not met."""


class _UnmetGloballyError(Exception):
    """A condition on the whole rule is not met."""


def name_of(key: str) -> str:
    """Return the name of the field that a key of a patch is about."""
    found = _ANCHOR.fullmatch(key)
    return found[2] if found else key


def resolved(pattern: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the patch for an object: ``pattern`` without anchors. Raises InapplicableError if a condition fails, and UndecidedError."""
    if _size(pattern) * _size(data) ** 2 > _MOST_STEPS:
        raise UndecidedError("its patch, or the object, is too large")
    patch = deepcopy(pattern)
    try:
        _resolve(patch, data)
    except (_UnmetError, _UnmetGloballyError):
        raise InapplicableError from None
    for key in list(patch):
        if _without_conditions(patch[key], scalar=_is_condition(key)):
            del patch[key]
    return patch


def _resolve(pattern: Any, data: Any) -> None:
    if isinstance(pattern, dict):
        _add_absent(pattern, data)
        _check(pattern, data, "<", _UnmetGloballyError)
        _check(pattern, data, "", _UnmetError)
        for key, value in pattern.items():
            if _kind_of(key) not in ("", "<"):
                _resolve(value, _field(data, key))
    elif isinstance(pattern, list) and pattern and isinstance(pattern[0], dict):
        _resolve_list(pattern, data)


def _resolve_list(pattern: list[Any], data: Any) -> None:
    """Add an item to the pattern for each item of the object that meets the conditions of an item of the pattern."""
    items = data if isinstance(data, list) else []
    for element in list(pattern):
        if not _has_anchors(element, ("", "<", "+")):
            continue
        is_global = _has_anchors(element, ("<",))
        passed, failed, own = False, False, deepcopy(element)
        for item in items if data is not _ABSENT else [_ABSENT]:
            try:
                _resolve(own, item)
            except _UnmetError:
                continue
            except _UnmetGloballyError:
                failed = True
                continue
            if is_global:
                passed = True
            elif item is not _ABSENT:
                _add_named(pattern, own, item)
        if failed and not passed:
            raise _UnmetGloballyError


def _add_named(pattern: list[Any], element: Any, item: Any) -> None:
    name = _field(item, "name")
    if name is _ABSENT or not name:
        return
    new = deepcopy(element)
    if not _without_conditions(new, scalar=True):
        new["name"] = deepcopy(name)
        pattern.append(new)


def _add_absent(pattern: Any, data: Any) -> int:
    """Resolve the keys ``+(key)`` of a map; return how many there are."""
    if not isinstance(pattern, dict):
        return 0
    keys = [key for key in pattern if _kind_of(key) == "+"]
    for key in keys:
        value = pattern.pop(key)
        if _field(data, name_of(key)) is _ABSENT:
            pattern[name_of(key)] = value
    return len(keys)


def _check(pattern: dict[str, Any], data: Any, kind: str, error: type[Exception]) -> None:
    for key, expected in pattern.items():
        if _kind_of(key) != kind:
            continue
        value = _field(data, name_of(key))
        if value is _ABSENT:
            raise error
        if not _add_absent(expected, value) and not _meets(value, expected):
            raise error


def _meets(value: Any, expected: Any) -> bool:
    """Return whether a value meets the pattern of a condition. Raises UndecidedError for patterns that are seldom used."""
    if isinstance(expected, dict):
        if any(_kind_of(key) is not None for key in expected):
            raise UndecidedError("a condition in its patch contains another one")
        return isinstance(value, dict) and all(_meets(value.get(key), each) for key, each in expected.items())
    if isinstance(expected, list):
        raise UndecidedError("a condition in its patch is about a list")
    if isinstance(value, list):
        return all(_meets(each, expected) for each in value)
    if isinstance(value, dict) or value is None:
        return expected == "*" and value is not None
    text, pattern = _text(value), _text(expected)
    return text == pattern or any(all(_compares(text, each.strip(" ")) for each in choice.split("&")) for choice in pattern.split("|"))


def _compares(text: str, pattern: str) -> bool:
    """Return whether a text meets one comparison, such as ``!a*`` or ``>=3``. Semantics: pkg/engine/pattern/pattern.go."""
    if all(len(each) <= _LONGEST_DURATION and _RANGE_OR_DURATION.fullmatch(each) for each in (pattern, text)):
        raise UndecidedError("a condition in its patch compares durations or ranges")
    found = _COMPARISON.fullmatch(pattern)
    assert found is not None
    operator, operand = found[1] or "", found[2].strip()
    one, other = parse_quantity(text), parse_quantity(operand)
    if one is not None and other is not None:
        sign = (one.nanos > other.nanos) - (one.nanos < other.nanos)
        return sign in {"": (0,), "!": (-1, 1), ">": (1,), "<": (-1,), ">=": (0, 1), "<=": (-1, 0)}[operator]
    if operator in ("", "!"):
        return is_match(operand, text) == (not operator)
    return False


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else "" if value is None else str(value)


def _without_conditions(node: Any, *, scalar: bool) -> bool:
    """Remove the conditions from a patch; return whether nothing else was there, so that the node is to be removed."""
    if isinstance(node, dict):
        return _map_without_conditions(node)
    if isinstance(node, list):
        was_empty = not node
        node[:] = [each for each in node if not (_has_anchors(each, ("", "<", "+")) or _without_conditions(each, scalar=False))]
        return not node and not was_empty
    return scalar


def _map_without_conditions(node: dict[str, Any]) -> bool:
    rest = False
    for key in [key for key in node if _is_condition(key)]:
        if _without_conditions(node[key], scalar=True):
            del node[key]
        else:
            rest = True
    if rest:
        for key in [key for key in node if _is_condition(key)]:
            node[name_of(key)] = node.pop(key)
    for key in list(node):
        if _without_conditions(node[key], scalar=False):
            del node[key]
    return not node


def _has_anchors(node: Any, kinds: tuple[str, ...]) -> bool:
    if isinstance(node, dict):
        return any(_kind_of(key) in kinds or _has_anchors(value, kinds) for key, value in node.items())
    if isinstance(node, list):
        return any(_has_anchors(each, kinds) for each in node)
    return isinstance(node, str) and _kind_of(node) in ("", "<")


def _is_condition(key: str) -> bool:
    return _kind_of(key) in ("", "<")


def _kind_of(key: object) -> str | None:
    """Return the modifier of an anchor; None for a key that is none."""
    found = _ANCHOR.fullmatch(key) if isinstance(key, str) else None
    return found[1] if found else None


def _size(data: Any) -> int:
    """Return the number of values in plain data."""
    waiting, count = [data], 0
    while waiting:
        value = waiting.pop()
        count += 1
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return count


def _field(data: Any, key: str) -> Any:
    return data.get(key, _ABSENT) if isinstance(data, dict) else _ABSENT
