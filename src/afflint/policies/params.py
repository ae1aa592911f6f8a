"""The types of policy parameters: their JSON schema, from which messages and editor completion are generated, and their conversion."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.label_syntax import is_key, is_value
from afflint.kube.selectors import Malformed, Requirement, Selector, parse_label_selector
from afflint.source.globs import name_matcher

Schema = Mapping[str, Any]
Labels = Mapping[str, tuple[str, ...]]
"""Label values by key. An empty tuple means any value."""
Params = TypeVar("Params")

_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?(?!\n)$"


class ParameterMistake(NamedTuple):
    """A mistake in a value that is valid against the schema: its path in the value, and a message."""

    path: Path
    message: str


class Takes(NamedTuple):
    """The type of a parameter. The title of ``schema`` completes the sentence "`key` must be …"."""

    schema: Schema
    read: Callable[[Any], Any] = lambda value: value
    """Convert a valid value."""
    faults: Callable[[Any], Iterator[ParameterMistake]] = lambda _: iter(())
    """Find mistakes in a value that is valid against the schema."""


def param(takes: Takes, about: str, default: Any = dataclasses.MISSING) -> Any:
    """Return a dataclass field for a parameter; ``about`` describes it in sentences with full stops."""
    return dataclasses.field(default=default, metadata={"takes": takes, "about": about})


# Types of parameters.


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _list_of(item: Schema, title: str) -> Schema:
    """Return the schema of one text or a list of texts."""
    constraints = {key: item[key] for key in ("pattern", "minLength", "maxLength") if key in item}
    return {"title": title, "type": ["string", "array"], **constraints, "items": item}


_TEXT: Schema = {"title": "text", "type": "string", "minLength": 1}
_LABEL_KEY: Schema = {"title": "a label key such as topology.kubernetes.io/zone", "type": "string", "maxLength": 317, "pattern": _KEY}

TEXT = Takes(_TEXT)
TEXTS = Takes(_list_of(_TEXT, "text or a list of texts"), _texts)
YES_NO = Takes({"title": "true or false", "type": "boolean"})
LABEL_KEY = Takes(_LABEL_KEY)


def number(low: int, high: int | None = None) -> Takes:
    """Return the type of an integer in a range."""
    title = f"a number from {low} up" if high is None else f"a number from {low} to {high}"
    return Takes({"title": title, "type": "integer", "minimum": low, **({} if high is None else {"maximum": high})})


def one_of(*words: str) -> Takes:
    """Return the type of a choice of one word."""
    return Takes({"title": _or(words), "enum": list(words)})


def some_of(*words: str) -> Takes:
    """Return the type of a list of words, converted to a tuple."""
    return Takes({"title": f"a list of {_or(words)}", "type": "array", "items": {"title": _or(words), "enum": list(words)}}, tuple)


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _glob_faults(value: Any) -> Iterator[ParameterMistake]:
    for index, glob in enumerate(_texts(value)):
        if glob and name_matcher((glob,)) is None:
            yield ParameterMistake(() if isinstance(value, str) else (index,), f"the glob {quoted(glob)} cannot match anything")


GLOBS = Takes(
    _list_of({"title": "a name or a glob", "type": "string", "minLength": 1}, "a name, a glob or a list of them"), _texts, _glob_faults
)
"""Names or globs with ``*``, ``?`` and ``[a-z]`` as in a shell: see ``source.globs``."""


def _labels(value: Mapping[str, Any]) -> Labels:
    return {key: () if values == "*" else _texts(values) for key, values in value.items()}


def _label_faults(value: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    if not value:
        yield ParameterMistake((), "at least one label is required")
    for key, values in value.items():
        if not is_key(key):
            yield ParameterMistake((key,), f"{quoted(key)} is not a valid label key")
        listed = [((key,), values)] if isinstance(values, str) else [((key, index), each) for index, each in enumerate(values)]
        for path, each in listed:
            if each != "*" and not is_value(each):
                yield ParameterMistake(path, f"{quoted(each)} is not a valid label value")
            elif each == "*" and not isinstance(values, str):
                yield ParameterMistake(path, 'to allow any value, write `"*"` instead of a list')


ANY = "*"
_VALUES: Schema = {
    "title": 'a label value, a list of them, or "*" for any',
    "type": ["string", "array"],
    "items": {"title": "a label value in quotes", "type": "string"},
}
LABELS = Takes({"title": "a map from label keys to values", "type": "object", "additionalProperties": _VALUES}, _labels, _label_faults)
"""Labels with values, such as ``{performance: [high, medium], gpu: "*"}``. Converted to Labels."""


def _label_or_any_faults(value: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    if value.keys() != {ANY}:
        yield from _label_faults({key: values for key, values in value.items() if key != ANY})


LABELS_OR_ANY = LABELS._replace(faults=_label_or_any_faults)
"""The same, with the key ``*`` for every label."""

_SELECTOR_FIELDS = ("matchLabels", "matchExpressions")


def _selector(value: Mapping[str, Any]) -> Selector:
    if any(field in value for field in _SELECTOR_FIELDS):
        parsed = parse_label_selector(value)
        assert isinstance(parsed, Selector)
        return parsed
    return Selector(
        tuple([Requirement(key, "In", values) if values else Requirement(key, "Exists") for key, values in _labels(value).items()])
    )


def _selector_faults(value: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    if not any(field in value for field in _SELECTOR_FIELDS):
        for key, values in value.items():
            if not isinstance(values, (str, list)) or (isinstance(values, list) and not all(isinstance(each, str) for each in values)):
                yield ParameterMistake((key,), f"label values must be strings: put quotes around the value of {quoted(key)}")
                return
        yield from _label_faults(value)
        return
    for key in value.keys() - {*_SELECTOR_FIELDS}:
        yield ParameterMistake(
            (key,), f"{quoted(key)} must be below `matchLabels` in a selector that has `matchLabels` or `matchExpressions`"
        )
        return
    parsed = parse_label_selector(value)
    if isinstance(parsed, Malformed):
        yield ParameterMistake(parsed.path, f"this {parsed.problem}")


SELECTOR = Takes(
    {"title": "a map of labels, or a label selector with matchLabels and matchExpressions", "type": "object"}, _selector, _selector_faults
)
"""``{tier: db}``, ``{tier: [db, queue], team: "*"}``, or a LabelSelector as in a manifest. Converted to ``kube.selectors.Selector``."""


# Dataclasses of parameters.


def key_of(field: str) -> str:
    """Return the configuration key of a field name."""
    return field.rstrip("_").replace("_", "-")


def class_at(location: str) -> Any:
    """Import the class or function at ``module:name``."""
    module, _, name = location.partition(":")
    return getattr(import_module(module), name)


def fields_of(params: Any) -> Iterator[tuple[str, Takes, str, bool]]:
    """Yield the parameters of a dataclass: key, type, description, and whether the parameter is required."""
    for field in dataclasses.fields(params):
        yield key_of(field.name), field.metadata["takes"], field.metadata["about"], field.default is dataclasses.MISSING


def read(params: type[Params], data: Mapping[str, Any]) -> Params:
    """Convert a valid map to a dataclass of parameters."""
    takes = {key: each for key, each, _, _ in fields_of(params)}
    return params(**{field.name: takes[key].read(data[key]) for field in dataclasses.fields(params) if (key := key_of(field.name)) in data})  # type: ignore[arg-type]


def faults(params: Any, data: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    """Yield the mistakes in a map that is valid against the schema."""
    for key, takes, _, _ in fields_of(params):
        if key in data:
            for each in takes.faults(data[key]):
                yield ParameterMistake((key, *each.path), each.message)


def words_of(values: Iterable[str]) -> str:
    """Join the values with commas and "or", each in backticks."""
    return _or([quoted(each) for each in values])
