"""The parameters of the checks that look at what a manifest says, constraint by constraint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.taints import EFFECTS, Toleration
from afflint.policies.params import GLOBS, LABELS, YES_NO, Labels, ParameterMistake, Takes, number, param, some_of

CONSTRAINTS = (
    "required-anti-affinity", "preferred-anti-affinity", "required-affinity", "preferred-affinity", "hard-spread", "soft-spread",
)  # fmt: skip
"""What has a topology key."""
STRATEGIES = ("LiveMigrate", "LiveMigrateIfPossible", "External", "None")
"""The eviction strategies of KubeVirt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenNodeLabels:
    """Labels of nodes that pods must not ask for."""

    labels: Labels = param(LABELS, 'Labels with the values that must not be asked for, or "*" for any.')
    preferred: bool = param(YES_NO, "Whether preferences count as well.", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTopologyKeys:
    """Topology keys over which pods may be held together or apart."""

    keys: tuple[str, ...] = param(GLOBS, "The topology keys that are allowed, or globs of them.")
    constraints: tuple[str, ...] = param(some_of(*CONSTRAINTS), "The constraints that are looked at; without it all.", CONSTRAINTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredTemplateLabels:
    """Labels that pods must have."""

    labels: Labels = param(LABELS, 'Labels with the values that are allowed, or "*" for any.')


class AllowedToleration(NamedTuple):
    """A toleration that is allowed: all but its key, which may be a glob."""

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
                "description": 'The key of the taint, or a glob; "*" for every taint.',
                "title": "a taint key or a glob",
                "type": "string",
                "minLength": 1,
            },
            "operator": {
                "description": "As in a manifest. Without it, any value where none is said.",
                "title": "Equal or Exists",
                "enum": ["Equal", "Exists"],
            },
            "value": {"description": "The value of the taint; without it any.", "title": "text", "type": "string"},
            "effect": {
                "description": "The effect of the taint; without it any.",
                "title": f"{', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}",
                "enum": list(EFFECTS),
            },
        },
    },
}


def _tolerations(value: list[dict[str, str]]) -> tuple[AllowedToleration, ...]:
    return tuple([AllowedToleration(each["key"], _toleration(each)) for each in value])


def _toleration(said: dict[str, str]) -> Toleration:
    operator = said.get("operator") or ("Equal" if "value" in said else "Exists")
    return Toleration("", operator, said.get("value", ""), said.get("effect", ""))


def _toleration_faults(value: list[dict[str, str]]) -> Iterator[ParameterMistake]:
    for index, each in enumerate(value):
        for fault in GLOBS.faults(each["key"]):
            yield ParameterMistake((index, "key"), fault.message)
        if each.get("operator") == "Exists" and each.get("value"):
            yield ParameterMistake((index, "value"), "a toleration with the operator Exists has no value")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTolerations:
    """Taints that pods may tolerate."""

    tolerations: tuple[AllowedToleration, ...] = param(
        Takes(_TOLERATIONS, _tolerations, _toleration_faults),
        "What may be tolerated, or less: a `key`, which may be a glob, and `value`, `effect`, `operator`, each any where it is left out.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumWeight:
    """How much a preference may weigh."""

    weight: int = param(number(1, 100), "The greatest weight that is allowed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHardAntiAffinity:
    """Where anti-affinity may be required all the same."""

    except_: tuple[str, ...] = param(GLOBS, "Topology keys over which it may be required, or globs of them.", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPinning:
    """What ties pods to nodes by name."""

    several: bool = param(YES_NO, "Whether a choice among several nodes by name is one, too.", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredMigratability:
    """What a virtual machine has to allow."""

    eviction_strategies: tuple[str, ...] = param(
        some_of(*STRATEGIES), "The eviction strategies that a machine may have, that of the cluster included; without it any.", ()
    )
