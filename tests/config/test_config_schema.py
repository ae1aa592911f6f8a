"""schemas/config.schema.json is a schema, describes exactly what Config holds, and can be put into words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from configured import EVERYTHING, Load
from jsonschema import Draft202012Validator

from afflint.config import KEYS, Config, is_version
from afflint.config import load as load_file
from afflint.config.mistakes import schema


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Every subschema."""
    yield node
    for key in ("properties", "$defs"):
        for part in node.get(key, {}).values():
            yield from _parts(part)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _parts(node[key])


def test_it_is_a_schema_of_2020_12() -> None:
    assert schema()["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema())


def test_its_keys_are_the_fields_of_config() -> None:
    assert tuple(schema()["properties"]) == KEYS
    assert tuple(field.replace("_", "-") for field in Config._fields[2:]) == KEYS


def test_its_defaults_are_those_of_config() -> None:
    defaults = {key.replace("-", "_"): part["default"] for key, part in schema()["properties"].items() if "default" in part}
    assert defaults.keys() == {"complete", "kubernetes_version", "physical_host_key", "fail_on"}
    assert {field: Config._field_defaults[field] for field in defaults} == defaults


def test_each_key_is_described() -> None:
    for key, part in schema()["properties"].items():
        assert part["description"].endswith("."), key


def test_every_part_that_a_value_can_fail_says_what_it_must_be() -> None:
    asserting = {"type", "enum", "pattern", "minLength", "maxLength", "minimum"}
    known = asserting | {
        "$schema",
        "$ref",
        "$defs",
        "title",
        "description",
        "default",
        "items",
        "properties",
        "required",
        "additionalProperties",
    }
    for part in _parts(schema()):
        assert part.keys() <= known, part
        assert not part.keys() & asserting or "title" in part, part


def test_it_accepts_what_is_loaded(load: Load) -> None:
    from ruamel.yaml import YAML

    load(EVERYTHING)
    Draft202012Validator(schema()).validate(YAML(typ="safe", pure=True).load(EVERYTHING))


@pytest.mark.parametrize("text", ["1.0", "1.9", "1.34", "1.99", "", "1", "1.", "1.034", "1.100", "2.0", "v1.34", "1.34.1", "1.34\n", "1.٣"])
def test_versions_are_those_of_the_command_line(text: str) -> None:
    assert Draft202012Validator(schema()).is_valid({"kubernetes-version": text}) is is_version(text)


def test_the_file_is_where_the_loader_looks(load: Load) -> None:
    assert load("complete: true\n") == load_file(".afflint.yaml", rule_names=(), categories=())
