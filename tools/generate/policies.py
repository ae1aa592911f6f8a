"""Policy checks, from their registry: the tables in docs/policies.md, and ``policies`` in schemas/config.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tools.generate import ROOT, GeneratedFile, with_parts

from afflint.policies.matching import Matching
from afflint.policies.params import class_at, fields_of
from afflint.policies.registry import CHECKS

PAGE = ROOT / "docs" / "policies.md"
SCHEMA = ROOT / "schemas" / "config.schema.json"
NAMED = [name for name, check in CHECKS.items() if check.subject != "admission"]
"""The checks that a configuration may name."""


def files() -> Iterator[GeneratedFile]:
    """Yield the page and the schema."""
    yield GeneratedFile(PAGE, _page)
    yield GeneratedFile(SCHEMA, _schema)


def _page() -> str:
    parts = {"conditions": "".join(_conditions()), "checks": "".join(_checks()).rstrip("\n") + "\n"}
    return with_parts(PAGE.read_text(encoding="utf-8"), {name: f"\n{part}\n" for name, part in parts.items()})


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _table(dataclass: Any) -> Iterator[str]:
    yield "| key | takes | |\n|---|---|---|\n"
    for key, takes, about, required in fields_of(dataclass):
        yield f"| `{key}`{'' if required else ' (optional)'} | {_cell(takes.schema['title'])} | {_cell(about)} |\n"


def _conditions() -> Iterator[str]:
    yield "| key | takes | |\n|---|---|---|\n"
    for key, takes, about, _ in fields_of(Matching):
        yield f"| `{key}` | {_cell(takes.schema['title'])} | {_cell(about)} |\n"


def _checks() -> Iterator[str]:
    for name, check in sorted(CHECKS.items()):
        if check.subject == "admission":  # No configuration names it.
            continue
        notes = ["Only with nodes."] if check.subject == "outcome" else []
        notes += ["It has a fix for `--unsafe-fixes`."] if check.fix != "none" else []
        yield f"### {name}\n\n{' '.join([check.requirement, *notes])}\n\n"
        if [*fields_of(class_at(check.params))]:
            yield f"{''.join(_table(class_at(check.params)))}\n"


def _schema() -> str:
    return _written(_with_policies(json.loads(SCHEMA.read_text(encoding="utf-8")))) + "\n"


def _policies() -> dict[str, Any]:
    """Return the schema of ``policies``."""
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


def _schema_of(params: Any, title: str) -> dict[str, Any]:
    """Return the JSON schema of a map with the parameters of a dataclass."""
    described = {key: {"description": about, **takes.schema} for key, takes, about, _ in fields_of(params)}
    required = [key for key, _, _, is_required in fields_of(params) if is_required]
    return {
        "title": title,
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": described,
    }


def _of_check(name: str) -> dict[str, Any]:
    params = _schema_of(class_at(CHECKS[name].params), "a map of parameters")
    required = {"required": ["params"]} if "required" in params else {}
    return {"if": {"properties": {"check": {"const": name}}, "required": ["check"]}, "then": {**required, "properties": {"params": params}}}


def _with_policies(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a configuration with the checks of the registry."""
    matching = _schema_of(Matching, "a map of conditions")
    definitions = {key: value for key, value in schema["$defs"].items() if key != "matching"}
    return {**schema, "properties": {**schema["properties"], "policies": _policies()}, "$defs": {**definitions, "matching": matching}}


def _written(value: Any, indent: int = 0) -> str:
    """Return the schema as JSON, with short values on one line."""
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
