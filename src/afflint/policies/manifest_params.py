"""The parameters of the checks that evaluate each placement constraint of a manifest on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.kube.label_syntax import is_key
from afflint.kube.taints import EFFECTS, Toleration
from afflint.policies.params import GLOBS, LABELS, LABELS_OR_ANY, YES_NO, Labels, ParameterMistake, Takes, number, param, some_of

CONSTRAINTS = (
    "required-anti-affinity", "preferred-anti-affinity", "required-affinity", "preferred-affinity", "hard-spread", "soft-spread",
)  # fmt: skip
"""The kinds of constraints that have a topology key."""
STRATEGIES = ("LiveMigrate", "LiveMigrateIfPossible", "External", "None")
"""The eviction strategies of KubeVirt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenNodeLabels:
    """Node labels that pods must not select."""

    labels: Labels = param(LABELS_OR_ANY, 'Labels with their forbidden values, or "*" for any value. The key "*" means every label.')
    preferred: bool = param(YES_NO, "Whether preferences are forbidden, too (default: true).", True)
    except_: tuple[str, ...] = param(GLOBS, 'Labels, or globs, that `"*"` does not include.', ())


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTopologyKeys:
    """Topology keys that spread constraints and pod affinity terms may use."""

    keys: tuple[str, ...] = param(GLOBS, "The allowed topology keys, or globs.")
    constraints: tuple[str, ...] = param(some_of(*CONSTRAINTS), "The kinds of constraints to check. Default: all.", CONSTRAINTS)


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTolerations:
    """Taints that pods are allowed to tolerate."""

    tolerations: tuple[AllowedToleration, ...] = param(
        Takes(_TOLERATIONS, _tolerations, _toleration_faults),
        "The allowed tolerations: `key` (or a glob), `operator`, `value` and `effect`. A toleration of the pods may be narrower.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenTolerations:
    """Taints that pods must not tolerate."""

    tolerations: tuple[AllowedToleration, ...] = param(
        Takes(_TOLERATIONS, _tolerations, _toleration_faults),
        "The forbidden tolerations: `key` (or a glob), `operator`, `value` and `effect`. A toleration of all taints is forbidden, too.",
    )


def _exact_tolerations(value: list[dict[str, str]]) -> tuple[Toleration, ...]:
    return tuple([_toleration(each)._replace(key=each["key"]) for each in value])


def _exact_faults(value: list[dict[str, str]]) -> Iterator[ParameterMistake]:
    for index, each in enumerate(value):
        if not is_key(each["key"]):
            yield ParameterMistake((index, "key"), f"{quoted(each['key'])} is not a valid key of a taint")
    yield from _toleration_faults(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredTolerations:
    """Taints that pods must tolerate."""

    tolerations: tuple[Toleration, ...] = param(
        Takes(_TOLERATIONS, _exact_tolerations, _exact_faults),
        "The required tolerations: `key`, `operator`, `value` and `effect`. A toleration of the pods may be wider.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumWeight:
    """The maximum weight of preferences."""

    weight: int = param(number(1, 100), "The maximum weight.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHardAntiAffinity:
    """Topology keys for which required anti-affinity is allowed."""

    except_: tuple[str, ...] = param(GLOBS, "Topology keys for which required anti-affinity is allowed, or globs.", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPinning:
    """What counts as selecting nodes by name."""

    several: bool = param(YES_NO, "Whether a constraint that names more than one node is a violation, too (default: true).", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredMigratability:
    """Conditions for the live migration of virtual machines."""

    eviction_strategies: tuple[str, ...] = param(
        some_of(*STRATEGIES), "The allowed eviction strategies. The default of the cluster counts, too. Default: any strategy.", ()
    )
