"""Validates a configuration against the schema, with messages of afflint and positions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jsonschema import Draft7Validator

from afflint import resources
from afflint.config.positions import ConfigMistake, Located
from afflint.findings.finding import SEVERITIES
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import did_you_mean, nearest, quoted, visible

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def schema() -> dict[str, Any]:
    """Load schemas/config.schema.json; its titles complete the sentence "`key` must be ..."."""
    with open(os.path.join(resources.directory("schemas"), "config.schema.json"), encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def shape_faults(located: Located) -> Iterator[ConfigMistake]:
    """Yield unknown and missing keys, and values of the wrong type or form."""
    for error in Draft7Validator(schema()).iter_errors(located.data):
        path: Path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            yield from _unknown_keys(error, path, located)
        elif error.validator == "required":
            yield from _missing_keys(error, path, located)
        else:
            yield located.mistake(path, _wrong_value(error, path, located))


def name_of(path: Path) -> str:
    """Quote a path for a message."""
    return quoted(field_of(path))


def _unknown_keys(error: ValidationError, path: Path, located: Located) -> Iterator[ConfigMistake]:
    known = _schema_of(error)["properties"]
    inside = f" in {name_of(path)}" if path else ""
    for key in _instance(error):
        if key not in known:
            hint = did_you_mean(nearest(key, known))
            if not hint and path:
                hint = f"; valid keys are {', '.join(f'`{word}`' for word in known)}"
            yield located.mistake((*path, key), f"unknown key {quoted(key)}{inside}{hint}", key=True)


def _missing_keys(error: ValidationError, path: Path, located: Located) -> Iterator[ConfigMistake]:
    """Yield missing keys, except for one that is only misspelt: it is reported as an unknown key with a hint."""
    schema, instance = _schema_of(error), _instance(error)
    meant = {nearest(key, schema["properties"]) for key in instance if key not in schema["properties"]}
    for key in schema["required"]:
        if key not in instance and key not in meant:
            yield located.mistake(path, f"missing key `{key}` in {name_of(path)}")


def _schema_of(error: ValidationError) -> Mapping[str, Any]:
    """Return the part of the schema that a value violates."""
    assert isinstance(error.schema, Mapping)
    return error.schema


def _instance(error: ValidationError) -> Mapping[str, Any]:
    """Return the map with a missing or unknown key."""
    assert isinstance(error.instance, Mapping)
    return error.instance


def _wrong_value(error: ValidationError, path: Path, located: Located) -> str:
    value = error.instance
    words = _schema_of(error).get("enum")
    if error.validator == "enum" and isinstance(value, str) and isinstance(words, list):
        hint = did_you_mean(nearest(value, words)) or f"; expected one of {', '.join(f'`{word}`' for word in words)}"
        what = "severity" if words == [*SEVERITIES] else "value" if path[-1:] != ("check",) else "check"
        return f"unknown {what} {quoted(value)}{hint}"
    if path in (("kubernetes-version",), ("kubevirt-version",)) and isinstance(value, float):
        number = located.source(path)
        why = f", because the number {visible(number)} is {value:g}" if f"{value:g}" != number else ""
        return f'`{path[0]}` must be quoted: write "{visible(number)}"{why}'
    return f"{name_of(path)} must be {_schema_of(error)['title']}, not {_kind(value, located.source(path))}"


def _kind(value: object, source: str) -> str:
    """Describe the type and the text of a value in the terms of YAML and TOML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        word = "true" if value else "false"
        return word if source.lower() == word else f"{quoted(source)}, which is {word} in YAML"
    if isinstance(value, str):
        return f"the string {quoted(value)}" if value else "an empty string"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return f"{'the number' if isinstance(value, (int, float)) else 'the date'} {quoted(source)}"
