"""The parameters of the check `expression`, which are those of a validation of a ValidatingAdmissionPolicy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.policies.params import TEXT, ParameterMistake, Takes, param

_STEP = re.compile(r"(?:^|\.)([^.\[\]]+)|\[([^\[\]]+)\]")


def _expression_faults(text: str) -> Iterator[ParameterMistake]:
    from afflint.admission import cel

    try:
        cel.compiled(text)
    except (cel.ExpressionError, cel.OfflineError) as error:
        yield ParameterMistake((), str(error))


EXPRESSION = Takes({"title": "a CEL expression", "type": "string", "minLength": 1}, faults=_expression_faults)


class Variable(NamedTuple):
    """A named expression, as in `variables` of a ValidatingAdmissionPolicy."""

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
                yield ParameterMistake((index, "expression"), f"`variables.{min(missing)}` is not defined before this variable")
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
                "description": "The name. Other expressions refer to it as `variables.NAME`.",
                "title": "a name",
                "type": "string",
                "pattern": r"^[A-Za-z_][A-Za-z0-9_]*(?!\n)$",
            },
            "expression": {
                "description": "The value.",
                "title": "a CEL expression",
                "type": "string",
                "minLength": 1,
            },
        },
    },
}


def _path(text: str) -> Path:
    """Parse a path such as ``spec.containers[0].image`` or ``metadata.labels[app.kubernetes.io/name]``."""
    return tuple([int(step[2]) if (step[2] or "").isdigit() else step[1] or step[2] for step in _STEP.finditer(text)])


def _path_faults(text: str) -> Iterator[ParameterMistake]:
    if "".join(found[0] for found in _STEP.finditer(text)) != text:
        yield ParameterMistake(
            (), "not a valid path: write it like `spec.template.spec.nodeSelector` or `metadata.labels[app.kubernetes.io/name]`"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A condition on objects, with the field names of `validations` in a ValidatingAdmissionPolicy."""

    expression: str = param(
        EXPRESSION, "The expression that must be true. It can use `object`, `params`, `request`, `namespaceObject` and `variables`."
    )
    message: str | None = param(TEXT, "The message if the expression is false.", None)
    messageExpression: str | None = param(EXPRESSION, "An expression that returns the message. It overrides `message`.", None)  # noqa: N815
    variables: tuple[Variable, ...] = param(
        Takes(_VARIABLES, _variables, _variable_faults), "Named expressions. Each can use the variables before it.", ()
    )
    params: Any = param(Takes({"title": "a map", "type": "object"}), "The value of `params` in expressions.", None)
    at: Path = param(
        Takes({"title": "a path such as spec.replicas", "type": "string", "minLength": 1}, _path, _path_faults),
        "The field at which findings are reported. Default: the field that the expression reads.",
        (),
    )
