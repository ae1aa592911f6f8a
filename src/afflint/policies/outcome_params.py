"""The parameters of the checks that evaluate the result of a simulation on the known nodes."""

from __future__ import annotations

from dataclasses import dataclass

from afflint.policies.params import LABEL_KEY, number, param


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
