"""How controllers replace the pods of a workload after its template has changed.

Semantics: `ResolveFenceposts` (pkg/controller/deployment/util) for Deployments, whose rounding DeploymentConfigs of OpenShift and
Rollouts of Argo share (utils/replicaset of argo-rollouts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import CONTROLLER_REVISION_HASH, POD_TEMPLATE_HASH, ROLLOUT_HASH
from afflint.yaml.document import map_at

REVISION_LABELS: Mapping[str, str] = {"Deployment": POD_TEMPLATE_HASH, "Rollout": ROLLOUT_HASH, "DeploymentConfig": "deployment"}
"""By kind, the label that distinguishes the pods of two revisions. A rollout of these kinds may run pods of both at the same time."""

_ROLLING_TYPE = {"Deployment": "RollingUpdate", "DeploymentConfig": "Rolling"}
"""The default of `spec.strategy.type`. The other types remove all pods first, or do not say what they do."""


class RollingUpdate(NamedTuple):
    """How many pods a rolling update may add to the requested number, and how many of these may be missing."""

    surge: int
    unavailable: int


def rolling_update(kind: str, strategy: Mapping[str, Any], replicas: int) -> RollingUpdate | None:
    """Return the limits of the rolling updates of a kind in REVISION_LABELS.

    ``strategy`` is the `spec.strategy` of the object. None for other kinds and strategies, and for limits that are not numbers of pods.
    """
    if kind not in REVISION_LABELS or strategy.get("type", _ROLLING_TYPE.get(kind)) != _ROLLING_TYPE.get(kind):
        return None
    if kind == "Rollout":
        if "blueGreen" in strategy:
            # All pods of the new revision run before any of the old one is removed.
            return RollingUpdate(replicas, 0)
        limits = map_at(strategy, "canary")
    else:
        limits = map_at(strategy, "rollingUpdate" if kind == "Deployment" else "rollingParams")
    return rolling_limits(replicas, limits.get("maxSurge"), limits.get("maxUnavailable"))


def coexisting_revision_label(kind: str, strategy: Mapping[str, Any]) -> str:
    """Return the label that distinguishes the pods of two revisions; empty if pods of both never run at the same time.

    For a Deployment and similar kinds that is so with the strategy `Recreate`. A StatefulSet replaces one pod after another.
    """
    if kind == "StatefulSet":
        return CONTROLLER_REVISION_HASH
    return REVISION_LABELS.get(kind, "") if strategy.get("type") != "Recreate" else ""


def most_at_once(kind: str, strategy: Mapping[str, Any], replicas: int) -> int:
    """Return how many pods of a workload can run at the same time, at most, while a rollout replaces them.

    A Deployment counts the pods that its ReplicaSets should have: pods of the new revision may run before the old ones are removed.
    """
    if kind not in REVISION_LABELS or not coexisting_revision_label(kind, strategy):
        return replicas
    rolling = rolling_update(kind, strategy, replicas)
    return 2 * replicas + (rolling.surge if rolling is not None else replicas)


def revision_label(kind: str, strategy: Mapping[str, Any]) -> str:
    """Return the label that distinguishes the pods of two revisions; empty if a rollout never adds pods before it removes others."""
    rolling = rolling_update(kind, strategy, 2)
    return REVISION_LABELS[kind] if rolling is not None and rolling.surge else ""


def rolling_limits(replicas: int, max_surge: object, max_unavailable: object) -> RollingUpdate | None:
    """Return both limits as numbers of pods: percentages of the replicas, surge rounded up and unavailable down, 25 % by default.

    If both are 0, one pod may be unavailable: otherwise no update could proceed. None if they are not numbers.
    """
    surge, unavailable = pod_limit(max_surge, replicas, up=True), pod_limit(max_unavailable, replicas, up=False)
    if surge is None or unavailable is None:
        return None
    return RollingUpdate(surge, unavailable) if surge or unavailable else RollingUpdate(0, 1)


def pod_limit(value: object, whole: int, *, up: bool, default: int | str = "25%") -> int | None:
    """Return a number or a percentage of ``whole`` pods as a number of pods; None if the value is neither."""
    if value is None:
        value = default
    if isinstance(value, str) and value.endswith("%") and value[:-1].isascii() and value[:-1].isdigit() and len(value) < 8:
        scaled = int(value[:-1]) * whole
        return -(-scaled // 100) if up else scaled // 100
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
