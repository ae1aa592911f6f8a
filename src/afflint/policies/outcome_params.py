"""The parameters of the checks that ask the planner what comes of the manifests on the nodes at hand."""

from __future__ import annotations

from dataclasses import dataclass

from afflint.policies.params import LABEL_KEY, number, param


@dataclass(frozen=True, slots=True, kw_only=True)
class Survives:
    """How many replicas run when nodes are lost."""

    loss: str = param(LABEL_KEY, "What is lost, each in turn: `node`, `zone`, `region`, or what shares a value of a label of nodes.")
    keeps: int = param(number(1), "So many replicas must run afterwards, those included that have come up elsewhere.", 1)
    at_all_times: int = param(number(0), "So many must run on without a break.", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Whether all replicas have a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migratable:
    """Whether machines have another node to move to."""
