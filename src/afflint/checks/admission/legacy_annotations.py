"""The annotation that set tolerations before Kubernetes 1.6; the API server still validates it as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from afflint.checks.admission.keys import invalid_key_message
from afflint.checks.admission.tolerations import operators, toleration_faults
from afflint.checks.match import Match, Target
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.constraints import ConstraintItem
from afflint.kube.label_syntax import is_key
from afflint.kube.types import INT64

_REMEDY = "Use spec.tolerations; this annotation has had no effect since Kubernetes 1.6, but it is still checked."
_TEXTS = ("key", "operator", "value", "effect")
# Go finds a field by its name in any case, and these two characters fold to letters of names.
_FOLDS = str.maketrans({"\u017f": "s", "\u212a": "k"})
_FIELDS = {name.lower(): name for name in (*_TEXTS, "tolerationSeconds")}


class _Number(str):
    """A number as it is written in JSON, which decides whether it is an integer."""


class _Object(list[tuple[str, Any]]):
    """The fields of a JSON object, in order."""


def tolerations_faults(text: str, path: Path, target: Target) -> Iterator[Match]:
    """Yield the mistakes in the annotation at ``path``, as GetTolerationsFromPodAnnotations and ValidateTolerations find them."""
    read = tolerations_in(text)
    if isinstance(read, str):
        yield Match(path, f"the annotation must be a JSON list of tolerations, but {read}", _REMEDY, field=path[:-1])
        return
    known = operators(target)
    for item in [ConstraintItem((index,), toleration) for index, toleration in enumerate(read)]:
        for fault in (*toleration_faults(item, known), *_words(item, known)):
            field = (*path, *item.path, *fault.path[len(item.path) :])
            yield Match(path, f"in this list of tolerations: {fault.message}", _REMEDY, field=field)


def tolerations_in(text: str) -> list[dict[str, Any]] | str:
    """Return the tolerations of the annotation, or why it cannot be parsed."""
    try:
        value = json.loads(text, object_pairs_hook=_Object, parse_int=_Number, parse_float=_Number, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return "it is not valid JSON"
    if type(value) is not list:
        return [] if value is None else "it is not a list"
    tolerations: list[dict[str, Any]] = []
    for index, each in enumerate(value):
        toleration = _toleration(each)
        if isinstance(toleration, str):
            return f"item {index + 1} {toleration}"
        tolerations.append(toleration)
    return tolerations


def _words(toleration: ConstraintItem, known: tuple[str, ...]) -> Iterator[Match]:
    operator, key = toleration.data.get("operator"), toleration.data.get("key")
    if operator and operator not in known:
        yield Match((*toleration.path, "operator"), f"a toleration does not support the operator {quoted(operator)}")
    if key and not is_key(key):
        yield Match((*toleration.path, "key"), invalid_key_message("label key", key))


def _reject_constant(constant: str) -> Any:
    raise ValueError(constant)  # NaN and Infinity, which Python accepts but JSON does not.


def _toleration(value: Any) -> dict[str, Any] | str:
    """Return a toleration as Go decodes it, or why it cannot: null changes nothing, and the last of two equal fields takes effect."""
    if value is None:
        return {}
    if not isinstance(value, _Object):
        return "is not an object"
    fields: dict[str, Any] = {}
    for key, each in value:
        name = _FIELDS.get(key.translate(_FOLDS).lower())
        if name is None or each is None:
            continue
        if name in _TEXTS:
            if type(each) is not str:
                return f"has a value of {name} that is not a string"
            fields[name] = each
        else:
            seconds = int(each) if isinstance(each, _Number) and _is_integer(each) else None
            if seconds is None or not INT64.fits(seconds):
                return f"has the tolerationSeconds {quoted(str(each))}, which is not a 64-bit integer in plain digits"
            fields[name] = seconds
    return fields


def _is_integer(number: str) -> bool:
    return number.removeprefix("-").isdigit() and len(number) <= 20
