"""The parameters of the checks that ask what the constraints of pods imply."""

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
    """Labels that every node has which the pods may go to."""

    labels: tuple[Requirement, ...] = param(LABELS._replace(read=_requirements), 'Labels with the values that are allowed, or "*" for any.')


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredSpread:
    """Domains over which pods keep apart."""

    topology_key: str = param(LABEL_KEY, "The label of nodes over whose values the pods must be spread.")
    mode: str = param(one_of(HARD, SOFT), "Whether this must be required, or whether a preference will do.", HARD)
    min_replicas: int = param(number(2), "From how many replicas on it is asked for; those of an autoscaler count.", 2)
    max_skew: int | None = param(
        number(1), "How far the fullest domain may be from the emptiest; without it, so far that both are used.", None
    )
