"""The parameters of the checks that evaluate a workload as a whole, or together with its budget or autoscaler."""

from __future__ import annotations

from dataclasses import dataclass

from afflint.policies.params import GLOBS, YES_NO, number, param


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumReplicas:
    """The minimum number of replicas."""

    replicas: int = param(number(1), "The minimum number of replicas (default: 2). The minimum of an autoscaler counts.", 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredBudget:
    """Which workloads need a budget."""

    min_replicas: int = param(
        number(1), "Workloads with fewer replicas are not checked (default: 2). The maximum of an autoscaler counts.", 2
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredAutoscaler:
    """An autoscaler without further conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredService:
    """Which workloads need a Service."""

    exempt_without_ports: bool = param(YES_NO, "Whether workloads without a container port are exempt (default: true).", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredPriorityClass:
    """Priority classes that pods may have."""

    classes: tuple[str, ...] = param(GLOBS, "The allowed priority classes, or globs. Default: any.", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredNodeConstraint:
    """A node constraint of any kind."""
