"""What parameters of policies take: the schema that editors and mistakes speak from, and the typed value that a check gets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.kube.label_syntax import is_key, is_value
from afflint.kube.selectors import Malformed, Requirement, Selector, parse_label_selector
from afflint.source.globs import name_matcher

Schema = Mapping[str, Any]
Labels = Mapping[str, tuple[str, ...]]
"""Labels by key, each with the values in question; none of them stands for any value."""
Params = TypeVar("Params")

_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?(?!\n)$"


class ParameterMistake(NamedTuple):
    """What is wrong in a value whose shape is right: where in it, and why."""

    path: Path
    message: str


def _same(value: Any) -> Any:
    return value


def _nothing_wrong(_value: Any) -> Iterator[ParameterMistake]:
    return iter(())


class Takes(NamedTuple):
    """What a parameter takes. ``schema`` has a title that completes the sentence "`key` must be …"."""

    schema: Schema
    read: Callable[[Any], Any] = _same
    """The typed value of one that is right."""
    faults: Callable[[Any], Iterator[ParameterMistake]] = _nothing_wrong
    """What is wrong with one that the schema lets pass."""


def param(takes: Takes, about: str, default: Any = dataclasses.MISSING) -> Any:
    """A field of a dataclass of parameters: what it takes, and a sentence about it that ends with a full stop."""
    return dataclasses.field(default=default, metadata={"takes": takes, "about": about})


# What there is to take.


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _list_of(item: Schema, title: str) -> Schema:
    """One text, or a list of them."""
    constraints = {key: item[key] for key in ("pattern", "minLength", "maxLength") if key in item}
    return {"title": title, "type": ["string", "array"], **constraints, "items": item}


_TEXT: Schema = {"title": "text", "type": "string", "minLength": 1}
_LABEL_KEY: Schema = {"title": "a label key such as topology.kubernetes.io/zone", "type": "string", "maxLength": 317, "pattern": _KEY}

TEXT = Takes(_TEXT)
TEXTS = Takes(_list_of(_TEXT, "text or a list of texts"), _texts)
YES_NO = Takes({"title": "true or false", "type": "boolean"})
LABEL_KEY = Takes(_LABEL_KEY)


def number(low: int, high: int | None = None) -> Takes:
    """A whole number in a range."""
    title = f"a number from {low} up" if high is None else f"a number from {low} to {high}"
    return Takes({"title": title, "type": "integer", "minimum": low, **({} if high is None else {"maximum": high})})


def one_of(*words: str) -> Takes:
    """One of some words."""
    return Takes({"title": _or(words), "enum": list(words)})


def some_of(*words: str) -> Takes:
    """A list of some words, read as a tuple."""
    return Takes({"title": f"a list of {_or(words)}", "type": "array", "items": {"title": _or(words), "enum": list(words)}}, tuple)


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _glob_faults(value: Any) -> Iterator[ParameterMistake]:
    for index, glob in enumerate(_texts(value)):
        if glob and name_matcher((glob,)) is None:
            yield ParameterMistake(() if isinstance(value, str) else (index,), f"{quoted(glob)} is a glob that matches nothing")


GLOBS = Takes(
    _list_of({"title": "a name or a glob", "type": "string", "minLength": 1}, "a name, a glob or a list of them"), _texts, _glob_faults
)
"""Names in which ``*``, ``?`` and ``[a-z]`` stand for what they do in a shell: see ``source.globs``."""


def _labels(value: Mapping[str, Any]) -> Labels:
    return {key: () if values == "*" else _texts(values) for key, values in value.items()}


def _label_faults(value: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    if not value:
        yield ParameterMistake((), "this names no label")
    for key, values in value.items():
        if not is_key(key):
            yield ParameterMistake((key,), f"{quoted(key)} is no label key")
        listed = [((key,), values)] if isinstance(values, str) else [((key, index), each) for index, each in enumerate(values)]
        for path, each in listed:
            if each != "*" and not is_value(each):
                yield ParameterMistake(path, f"{quoted(each)} is no label value")
            elif each == "*" and not isinstance(values, str):
                yield ParameterMistake(path, 'any value is written `"*"`, without a list')


_VALUES: Schema = {
    "title": 'a label value, a list of them, or "*" for any',
    "type": ["string", "array"],
    "items": {"title": "a label value in quotes", "type": "string"},
}
LABELS = Takes({"title": "a map from label keys to values", "type": "object", "additionalProperties": _VALUES}, _labels, _label_faults)
"""Labels with the values in question: ``{performance: [high, medium], gpu: "*"}``. Read as Labels."""

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
                yield ParameterMistake((key,), f"a label is compared with texts: put quotes around the value of {quoted(key)}")
                return
        yield from _label_faults(value)
        return
    for key in value.keys() - {*_SELECTOR_FIELDS}:
        yield ParameterMistake((key,), f"{quoted(key)} goes below `matchLabels` where the selector has `matchLabels` or `matchExpressions`")
        return
    parsed = parse_label_selector(value)
    if isinstance(parsed, Malformed):
        yield ParameterMistake(parsed.path, f"this {parsed.problem}")


SELECTOR = Takes(
    {"title": "a map of labels, or a label selector with matchLabels and matchExpressions", "type": "object"},
    _selector,
    _selector_faults,
)
"""``{tier: db}``, ``{tier: [db, queue], team: "*"}``, or a LabelSelector as in a manifest. Read as ``kube.selectors.Selector``."""


# Dataclasses of parameters.


def key_of(field: str) -> str:
    """How the configuration writes the name of a field."""
    return field.rstrip("_").replace("_", "-")


def class_at(place: str) -> Any:
    """What stands at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def fields_of(params: Any) -> Iterator[tuple[str, Takes, str, bool]]:
    """The parameters of a dataclass: the key of each, what it takes, the sentence about it, and whether it has to be there."""
    for field in dataclasses.fields(params):
        yield key_of(field.name), field.metadata["takes"], field.metadata["about"], field.default is dataclasses.MISSING


def schema_of(params: Any, title: str) -> dict[str, Any]:
    """The schema of a map with these parameters."""
    described = {key: {"description": about, **takes.schema} for key, takes, about, _ in fields_of(params)}
    required = [key for key, _, _, is_required in fields_of(params) if is_required]
    return {
        "title": title,
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": described,
    }


def read(params: type[Params], said: Mapping[str, Any]) -> Params:
    """The typed parameters of a map that is right."""
    takes = {key: each for key, each, _, _ in fields_of(params)}
    return params(**{field.name: takes[key].read(said[key]) for field in dataclasses.fields(params) if (key := key_of(field.name)) in said})  # type: ignore[arg-type]


def faults(params: Any, said: Mapping[str, Any]) -> Iterator[ParameterMistake]:
    """What is wrong with a map whose shape is right."""
    for key, takes, _, _ in fields_of(params):
        if key in said:
            for each in takes.faults(said[key]):
                yield ParameterMistake((key, *each.path), each.message)


def words_of(values: Iterable[str]) -> str:
    """Values in words: ``high or medium``."""
    return _or([quoted(each) for each in values])
