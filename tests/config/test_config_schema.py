"""schemas/config.schema.json is a schema, describes exactly what Config holds, and can be put into words."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from configured import EVERYTHING, Load
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from afflint.config import KEYS, Config, is_version
from afflint.config import load as load_file
from afflint.config.validation import schema
from afflint.findings.phrases import join_words
from afflint.report import FORMATS
from checkout import ROOT, run


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Every subschema."""
    yield node
    for key in ("properties", "$defs"):
        for part in node.get(key, {}).values():
            yield from _parts(part)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _parts(node[key])
    for case in node.get("allOf", ()):
        assert case["if"].keys() == {"properties", "required"}, "it names the check, and nothing that a value can fail"
        for part in case["then"]["properties"].values():
            yield from _parts(part)


def test_it_is_a_schema_of_draft_7() -> None:
    assert schema()["$schema"] == Draft7Validator.META_SCHEMA["$schema"]
    Draft7Validator.check_schema(schema())


def test_its_keys_are_the_fields_of_config() -> None:
    assert tuple(schema()["properties"]) == KEYS
    assert tuple(field.replace("_", "-") for field in Config._fields if field not in ("root", "origins", "repository")) == KEYS


def test_its_defaults_are_those_of_config() -> None:
    defaults = {key.replace("-", "_"): part["default"] for key, part in schema()["properties"].items() if "default" in part}
    assert defaults.keys() == {"complete", "complete_nodes", "kubernetes_version", "physical_host_key", "fail_on"}
    assert {field: Config._field_defaults[field] for field in defaults} == defaults


def test_it_accepts_every_report_format_and_no_other() -> None:
    """If it fails: write the formats into `title` and `pattern` of `format`, each of them twice."""
    part, names = schema()["properties"]["format"], join_words(FORMATS, "or")
    assert (part["title"], part["items"]["title"]) == (f"{names}, or a list of them", names)
    assert part["pattern"] == part["items"]["pattern"] == rf"^({'|'.join(FORMATS)})(?!\n)$"


def test_each_key_is_described_at_every_level() -> None:
    for node in _parts(schema()):
        for key, part in node.get("properties", {}).items():
            assert part["description"].endswith("."), key


@pytest.mark.parametrize("name", ["config", "report", "place"])
def test_each_schema_has_a_name_of_its_own(name: str) -> None:
    """By which others may refer to it; nothing has to be fetched for it."""
    document = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    assert document["$id"] == f"urn:afflint:{name}:1"
    assert "http" not in json.dumps({**document, "$schema": ""})


def _examples() -> Iterator[str]:
    """The configurations that the README and the manual show."""
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            if re.match(r"# \.afflint\.ya?ml|# yaml-language-server: .*afflint", block):
                yield block


def test_it_accepts_the_configurations_that_are_shown() -> None:
    examples = [YAML(typ="safe", pure=True).load(text) or {} for text in _examples()]
    assert len(examples) >= 2
    for example in examples:
        Draft7Validator(schema()).validate(example)


def test_the_command_writes_it_down() -> None:
    """Also where the configuration itself is wrong."""
    written = run((sys.executable, "-m", "afflint", "config", "--schema", "--no-config"), ROOT)
    assert written == (ROOT / "schemas" / "config.schema.json").read_text("utf-8")


def test_every_part_with_a_constraint_has_a_title() -> None:
    asserting = {"type", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"}
    known = asserting | {
        "$schema",
        "$ref",
        "$defs",
        "$id",
        "title",
        "description",
        "default",
        "items",
        "properties",
        "required",
        "additionalProperties",
        "allOf",
    }
    for part in _parts(schema()):
        assert part.keys() <= known, part
        assert not part.keys() & asserting or "title" in part, part


def test_it_accepts_what_is_loaded(load: Load) -> None:
    load(EVERYTHING)
    Draft7Validator(schema()).validate(YAML(typ="safe", pure=True).load(EVERYTHING))


@pytest.mark.parametrize("text", ["1.0", "1.9", "1.34", "1.99", "", "1", "1.", "1.034", "1.100", "2.0", "v1.34", "1.34.1", "1.34\n", "1.٣"])
def test_versions_are_those_of_the_command_line(text: str) -> None:
    for key in ("kubernetes-version", "kubevirt-version"):
        assert Draft7Validator(schema()).is_valid({key: text}) is is_version(text)


def test_the_file_is_where_the_loader_looks(load: Load) -> None:
    assert load("complete: true\n") == load_file(".afflint.yaml", rule_names=(), categories=())
