"""The parameters of the checks that evaluate a workload as a whole, or together with its budget, its autoscaler or the known nodes."""

from __future__ import annotations

from dataclasses import dataclass

from afflint.policies.params import GLOBS, LABEL_KEY, YES_NO, number, param


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Survives:
    """The number of replicas that must run after a failure of nodes."""

    loss: str = param(
        LABEL_KEY, "The nodes that fail together: `node`, `zone`, `region`, or a node label. Each value is a failure of its own."
    )
    keeps: int = param(
        number(1), "How many replicas must run after the failure (default: 1). Replicas that start again on other nodes count.", 1
    )
    at_all_times: int = param(number(0), "How many replicas must keep running during the failure (default: 1).", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """No parameters: every replica must be scheduled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migratable:
    """No parameters: every virtual machine needs another node for its live migration."""
