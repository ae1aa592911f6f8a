"""What schemas/config.schema.json says about policies is generated from the registry of checks and their parameters.

``python tests/policies/test_schema.py`` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from afflint.policies.matching import Matching
from afflint.policies.params import class_at, fields_of, schema_of
from afflint.policies.registry import CHECKS

NAMED = [name for name, check in CHECKS.items() if check.subject != "admission"]
"""The checks that a configuration may name."""
FILE = Path(__file__).parents[2] / "schemas" / "config.schema.json"


def _policies() -> dict[str, Any]:
    """The schema of ``policies``."""
    return {
        "title": "a list of policies",
        "description": "Policies: each names a check, its parameters and the workloads that it applies to. An item can also be the path "
        "of a file with policies, or of a file or folder of manifests with policies in CEL. "
        "A later policy replaces an earlier one of the same name.",
        "type": "array",
        "items": {
            "title": "a map with name and check, or the path of a file with policies",
            "type": ["object", "string"],
            "minLength": 1,
            "additionalProperties": False,
            "required": ["name", "check"],
            "properties": {
                "name": {
                    "title": "a name of lower-case letters, digits and dashes",
                    "description": "The name of the rule in findings, `select` and `ignore`.",
                    "type": "string",
                    "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*(?!\\n)$",
                },
                "check": {"title": "the name of a check", "description": "The check that the policy applies.", "enum": [*NAMED]},
                "params": {"title": "a map of parameters", "description": "The parameters of the check.", "type": "object"},
                "match": {"description": "The workloads that the policy applies to. Default: all workloads.", "$ref": "#/$defs/matching"},
                "exclude": {"description": "The workloads that are exempt from the policy.", "$ref": "#/$defs/matching"},
                "severity": {"description": "The severity of the findings. Default: warning.", "$ref": "#/$defs/severity"},
                "message": {
                    "title": "a string",
                    "description": "The message of the findings instead of that of the check. It can contain fields such as `{object}`.",
                    "type": "string",
                    "minLength": 1,
                },
                "mandatory": {
                    "title": "true or false",
                    "description": "Whether suppressions in a manifest have no effect on the findings.",
                    "type": "boolean",
                },
            },
            "allOf": [_of_check(name) for name in NAMED],
        },
    }


def _of_check(name: str) -> dict[str, Any]:
    params = schema_of(class_at(CHECKS[name].params), "a map of parameters")
    required = {"required": ["params"]} if "required" in params else {}
    return {"if": {"properties": {"check": {"const": name}}, "required": ["check"]}, "then": {**required, "properties": {"params": params}}}


def with_policies(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a configuration with the checks of the registry."""
    matching = schema_of(Matching, "a map of conditions")
    definitions = {key: value for key, value in schema["$defs"].items() if key != "matching"}
    return {**schema, "properties": {**schema["properties"], "policies": _policies()}, "$defs": {**definitions, "matching": matching}}


def _written(value: Any, indent: int = 0) -> str:
    """The schema as JSON, with short values on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(flat) + indent < 120:
        return flat if not isinstance(value, dict) or not value else "{ " + flat[1:-1] + " }" if not _nested(value) else flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {_written(each, indent + 2)}" for key, each in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(inner + _written(each, indent + 2) for each in value) + "\n" + " " * indent + "]"


def _nested(value: dict[str, Any]) -> bool:
    return any(isinstance(each, dict) for each in value.values())


def test_the_schema_matches_the_registry() -> None:
    schema = json.loads(FILE.read_text("utf-8"))
    assert schema == with_policies(schema), "python tests/policies/test_schema.py rewrites it"


def test_every_check_and_parameter_is_described() -> None:
    for name, check in CHECKS.items():
        assert check.requirement.endswith("."), name
        assert check.remedy.endswith("."), name
        assert class_at(check.params).__doc__.endswith("."), name
        for key, takes, about, _ in fields_of(class_at(check.params)):
            assert about.endswith("."), (name, key)
            assert "title" in takes.schema, (name, key)


def test_the_function_of_every_check_can_be_imported() -> None:
    for check in CHECKS.values():
        assert callable(class_at(check.function))


if __name__ == "__main__":
    FILE.write_text(_written(with_policies(json.loads(FILE.read_text("utf-8")))) + "\n", encoding="utf-8")
