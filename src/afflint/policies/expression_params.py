"""The parameters of the check that is an expression in CEL: a validation of a ValidatingAdmissionPolicy, and what it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.policies.params import TEXT, ParameterMistake, Takes, param

_STEP = re.compile(r"(?:^|\.)([^.\[\]]+)|\[([^\[\]]+)\]")


def _expression_faults(text: str) -> Iterator[ParameterMistake]:
    from afflint.admission import cel

    try:
        cel.compiled(text)
    except (cel.ExpressionError, cel.OfflineError) as error:
        yield ParameterMistake((), str(error))


EXPRESSION = Takes({"title": "an expression in CEL", "type": "string", "minLength": 1}, faults=_expression_faults)


class Variable(NamedTuple):
    """A named part of expressions, as `variables` of a ValidatingAdmissionPolicy."""

    name: str
    expression: str


def _variables(value: list[Mapping[str, str]]) -> tuple[Variable, ...]:
    return tuple([Variable(each["name"], each["expression"]) for each in value])


def _variable_faults(value: list[Mapping[str, str]]) -> Iterator[ParameterMistake]:
    from afflint.admission import cel

    known: set[str] = set()
    for index, each in enumerate(value):
        try:
            missing = {*(cel.compiled(each["expression"]).needs or ())} - known
        except (cel.ExpressionError, cel.OfflineError) as error:
            yield ParameterMistake((index, "expression"), str(error))
        else:
            if missing:
                yield ParameterMistake((index, "expression"), f"there is no `variables.{min(missing)}` before it")
        known.add(each["name"])


_VARIABLES: dict[str, Any] = {
    "title": "a list of variables",
    "type": "array",
    "items": {
        "title": "a map with name and expression",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "expression"],
        "properties": {
            "name": {
                "description": "How other expressions call it, behind `variables.`.",
                "title": "a name",
                "type": "string",
                "pattern": r"^[A-Za-z_][A-Za-z0-9_]*(?!\n)$",
            },
            "expression": {
                "description": "What it stands for.",
                "title": "an expression in CEL",
                "type": "string",
                "minLength": 1,
            },
        },
    },
}


def _path(text: str) -> Path:
    """``spec.containers[0].image`` or ``metadata.labels[app.kubernetes.io/name]`` as a path."""
    return tuple([int(step[2]) if (step[2] or "").isdigit() else step[1] or step[2] for step in _STEP.finditer(text)])


def _path_faults(text: str) -> Iterator[ParameterMistake]:
    if "".join(found[0] for found in _STEP.finditer(text)) != text:
        yield ParameterMistake((), "a path reads like `spec.template.spec.nodeSelector` or `metadata.labels[app.kubernetes.io/name]`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A condition that objects have to meet, spelled as in `validations` of a ValidatingAdmissionPolicy."""

    expression: str = param(EXPRESSION, "What has to hold: CEL over `object`, `params`, `request`, `namespaceObject` and `variables`.")
    message: str | None = param(TEXT, "What is said where it does not hold.", None)
    messageExpression: str | None = param(EXPRESSION, "What makes such a message; it comes before `message`.", None)  # noqa: N815
    variables: tuple[Variable, ...] = param(
        Takes(_VARIABLES, _variables, _variable_faults), "Named expressions, each of which may use those before it.", ()
    )
    params: Any = param(Takes({"title": "a map", "type": "object"}), "What the expression finds in `params`.", None)
    at: Path = param(
        Takes({"title": "a path such as spec.replicas", "type": "string", "minLength": 1}, _path, _path_faults),
        "The field that the finding points at; without it the one that the expression names.",
        (),
    )
