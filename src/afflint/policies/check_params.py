"""The parameters of the policy checks.

The classes are not frozen: that would add a twentieth to a run over one file with one policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.label_syntax import is_key
from afflint.kube.selectors import Requirement
from afflint.kube.taints import EFFECTS, Toleration
from afflint.policies.params import (
    GLOBS,
    LABEL_KEY,
    LABELS,
    LABELS_OR_ANY,
    TEXT,
    TEXTS,
    YES_NO,
    Labels,
    ParameterMistake,
    Takes,
    number,
    one_of,
    param,
    some_of,
)


@dataclass(kw_only=True)
class NoParameters:
    """The check has no parameters."""


# Policies about what all placement constraints of a pod imply together.

HARD, SOFT = "hard", "soft"


def _requirements(value: Mapping[str, Any]) -> tuple[Requirement, ...]:
    labels: Labels = LABELS.read(value)
    return tuple([Requirement(key, "In", values) if values else Requirement(key, "Exists") for key, values in labels.items()])


@dataclass(kw_only=True)
class RequiredNodeLabels:
    """Labels that every node must have on which the pods can be scheduled."""

    labels: tuple[Requirement, ...] = param(LABELS._replace(read=_requirements), 'Labels with their allowed values, or "*" for any value.')


@dataclass(kw_only=True)
class RequiredSpread:
    """Topology domains over which the replicas must be spread."""

    topology_key: str = param(LABEL_KEY, "The node label over whose values the pods must be spread.")
    mode: str = param(one_of(HARD, SOFT), "`hard` (default): the spreading must be required. `soft`: a preference is enough.", HARD)
    min_replicas: int = param(
        number(2), "Workloads with fewer replicas are not checked (default: 2). The maximum of an autoscaler counts.", 2
    )
    max_skew: int | None = param(
        number(1), "The maximum skew. Default: any skew with which at least two topology domains have replicas.", None
    )


# Policies about workloads as a whole, and about the result of a simulation.


@dataclass(kw_only=True)
class MinimumReplicas:
    """The minimum number of replicas."""

    replicas: int = param(number(1), "The minimum number of replicas (default: 2). The minimum of an autoscaler counts.", 2)


@dataclass(kw_only=True)
class RequiredBudget:
    """Which workloads need a budget."""

    min_replicas: int = param(
        number(1), "Workloads with fewer replicas are not checked (default: 2). The maximum of an autoscaler counts.", 2
    )


@dataclass(kw_only=True)
class RequiredService:
    """Which workloads need a Service."""

    exempt_without_ports: bool = param(YES_NO, "Whether workloads without a container port are exempt (default: true).", True)


@dataclass(kw_only=True)
class RequiredPriorityClass:
    """Priority classes that pods may have."""

    classes: tuple[str, ...] = param(GLOBS, "The allowed priority classes, or globs. Default: any.", ())


@dataclass(kw_only=True)
class Survives:
    """The number of replicas that must run after a failure of nodes."""

    loss: str = param(
        LABEL_KEY, "The nodes that fail together: `node`, `zone`, `region`, or a node label. Each value is a failure of its own."
    )
    keeps: int = param(
        number(1), "How many replicas must run after the failure (default: 1). Replicas that start again on other nodes count.", 1
    )
    at_all_times: int = param(number(0), "How many replicas must keep running during the failure (default: 1).", 1)


# Policies about each placement constraint of a manifest.

CONSTRAINTS = (
    "required-anti-affinity", "preferred-anti-affinity", "required-affinity", "preferred-affinity", "hard-spread", "soft-spread",
)  # fmt: skip
"""The kinds of constraints that have a topology key."""
STRATEGIES = ("LiveMigrate", "LiveMigrateIfPossible", "External", "None")
"""The eviction strategies of KubeVirt."""


@dataclass(kw_only=True)
class ForbiddenNodeLabels:
    """Node labels that pods must not select."""

    labels: Labels = param(LABELS_OR_ANY, 'Labels with their forbidden values, or "*" for any value. The key "*" means every label.')
    preferred: bool = param(YES_NO, "Whether preferences are forbidden, too (default: true).", True)
    except_: tuple[str, ...] = param(GLOBS, 'Labels, or globs, that `"*"` does not include.', ())


@dataclass(kw_only=True)
class AllowedTopologyKeys:
    """Topology keys that spread constraints and pod affinity terms may use."""

    keys: tuple[str, ...] = param(GLOBS, "The allowed topology keys, or globs.")
    constraints: tuple[str, ...] = param(some_of(*CONSTRAINTS), "The kinds of constraints to check. Default: all.", CONSTRAINTS)


@dataclass(kw_only=True)
class RequiredTemplateLabels:
    """Labels that pods must have."""

    labels: Labels = param(LABELS, 'Labels with their allowed values, or "*" for any value.')


class AllowedToleration(NamedTuple):
    """An allowed toleration. ``key`` may be a glob; the key of ``toleration`` is empty."""

    key: str
    toleration: Toleration


_TOLERATIONS: dict[str, Any] = {
    "title": "a list of tolerations",
    "type": "array",
    "items": {
        "title": "a map with key, value and effect",
        "type": "object",
        "additionalProperties": False,
        "required": ["key"],
        "properties": {
            "key": {
                "description": 'The key of the taint, or a glob. "*" matches every taint.',
                "title": "a taint key or a glob",
                "type": "string",
                "minLength": 1,
            },
            "operator": {
                "description": "As in a manifest. Default: `Equal` with a value, `Exists` without one.",
                "title": "Equal or Exists",
                "enum": ["Equal", "Exists"],
            },
            "value": {"description": "The value of the taint. Default: any value.", "title": "text", "type": "string"},
            "effect": {
                "description": "The effect of the taint. Default: any effect.",
                "title": f"{', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}",
                "enum": list(EFFECTS),
            },
        },
    },
}


def _tolerations(value: list[dict[str, str]]) -> tuple[AllowedToleration, ...]:
    return tuple([AllowedToleration(each["key"], _toleration(each)) for each in value])


def _toleration(data: dict[str, str]) -> Toleration:
    operator = data.get("operator") or ("Equal" if "value" in data else "Exists")
    return Toleration("", operator, data.get("value", ""), data.get("effect", ""))


def _toleration_faults(value: list[dict[str, str]]) -> Iterator[ParameterMistake]:
    for index, each in enumerate(value):
        for fault in GLOBS.faults(each["key"]):
            yield ParameterMistake((index, "key"), fault.message)
        if each.get("operator") == "Exists" and each.get("value"):
            yield ParameterMistake((index, "value"), "`value` must be empty if `operator` is `Exists`")


@dataclass(kw_only=True)
class AllowedTolerations:
    """Taints that pods are allowed to tolerate."""

    tolerations: tuple[AllowedToleration, ...] = param(
        Takes(_TOLERATIONS, _tolerations, _toleration_faults),
        "The allowed tolerations: `key` (or a glob), `operator`, `value` and `effect`. A toleration of the pods may be narrower.",
    )


@dataclass(kw_only=True)
class ForbiddenTolerations:
    """Taints that pods must not tolerate."""

    tolerations: tuple[AllowedToleration, ...] = param(
        Takes(_TOLERATIONS, _tolerations, _toleration_faults),
        "The forbidden tolerations: `key` (or a glob), `operator`, `value` and `effect`. A toleration of all taints is forbidden, too.",
    )


def _exact_faults(value: list[dict[str, str]]) -> Iterator[ParameterMistake]:
    for index, each in enumerate(value):
        if not is_key(each["key"]):
            yield ParameterMistake((index, "key"), f"{quoted(each['key'])} is not a valid key of a taint")
    yield from _toleration_faults(value)


@dataclass(kw_only=True)
class RequiredTolerations:
    """Taints that pods must tolerate."""

    tolerations: tuple[Toleration, ...] = param(
        Takes(_TOLERATIONS, lambda value: tuple([_toleration(each)._replace(key=each["key"]) for each in value]), _exact_faults),
        "The required tolerations: `key`, `operator`, `value` and `effect`. A toleration of the pods may be wider.",
    )


@dataclass(kw_only=True)
class MaximumWeight:
    """The maximum weight of preferences."""

    weight: int = param(number(1, 100), "The maximum weight.")


@dataclass(kw_only=True)
class NoHardAntiAffinity:
    """Topology keys for which required anti-affinity is allowed."""

    except_: tuple[str, ...] = param(GLOBS, "Topology keys for which required anti-affinity is allowed, or globs.", ())


@dataclass(kw_only=True)
class NoPinning:
    """What counts as selecting nodes by name."""

    several: bool = param(YES_NO, "Whether a constraint that names more than one node is a violation, too (default: true).", True)


@dataclass(kw_only=True)
class RequiredMigratability:
    """Conditions for the live migration of virtual machines."""

    eviction_strategies: tuple[str, ...] = param(
        some_of(*STRATEGIES), "The allowed eviction strategies. The default of the cluster counts, too. Default: any strategy.", ()
    )


# Policies with an expression in CEL.

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
            "expression": {"description": "The value.", "title": "a CEL expression", "type": "string", "minLength": 1},
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


@dataclass(kw_only=True)
class Validation:
    """A condition on objects, with the field names of `validations` in a ValidatingAdmissionPolicy."""

    expression: str = param(
        EXPRESSION, "The expression that must be true. It can use `object`, `params`, `request`, `namespaceObject` and `variables`."
    )
    message: str | None = param(TEXT, "The message if the expression is false.", None)
    messageExpression: str | None = param(EXPRESSION, "An expression that returns the message. It overrides `message`.", None)  # noqa: N815
    variables: tuple[Variable, ...] = param(
        Takes(_VARIABLES, lambda value: tuple([Variable(**each) for each in value]), _variable_faults),
        "Named expressions. Each can use the variables before it.",
        (),
    )
    params: Any = param(Takes({"title": "a map", "type": "object"}), "The value of `params` in expressions.", None)
    at: Path = param(
        Takes({"title": "a path such as spec.replicas", "type": "string", "minLength": 1}, _path, _path_faults),
        "The field at which findings are reported. Default: the field that the expression reads.",
        (),
    )


@dataclass(kw_only=True)
class AdmissionManifests:
    """The files that contain the policy, its bindings and its parameters."""

    manifests: tuple[str, ...] = param(TEXTS, "Files with the policy, its bindings and its parameters.")
