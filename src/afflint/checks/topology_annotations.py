"""Node labels in annotations from which webhooks make constraints of the pods: those of JobSet, LeaderWorkerSet and Kueue."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.affinity import deprecated_at, unknown_at
from afflint.checks.match import Match, Target
from afflint.manifests.label_places import annotated_topology_keys
from afflint.manifests.manifest import Workload


def deprecated_node_label(workload: Workload, target: Target) -> Iterator[Match]:
    """Report deprecated node labels in annotations."""
    return deprecated_at(tuple(annotated_topology_keys(workload)), workload, target)


def unknown_node_label(workload: Workload, target: Target) -> Iterator[Match]:
    """Report keys in reserved domains that no component sets, in annotations."""
    return unknown_at(tuple(annotated_topology_keys(workload)), target)
