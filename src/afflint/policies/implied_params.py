"""The parameters of the checks that evaluate what all placement constraints of a pod imply together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from afflint.kube.selectors import Requirement
from afflint.policies.params import LABEL_KEY, LABELS, Labels, number, one_of, param

HARD, SOFT = "hard", "soft"


def _requirements(value: Mapping[str, Any]) -> tuple[Requirement, ...]:
    labels: Labels = LABELS.read(value)
    return tuple([Requirement(key, "In", values) if values else Requirement(key, "Exists") for key, values in labels.items()])


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredNodeLabels:
    """Labels that every node must have on which the pods can be scheduled."""

    labels: tuple[Requirement, ...] = param(LABELS._replace(read=_requirements), 'Labels with their allowed values, or "*" for any value.')


@dataclass(frozen=True, slots=True, kw_only=True)
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
