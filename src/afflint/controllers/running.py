"""Which of the running pods, as a cluster gives them out, are those that some workloads have made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from afflint.controllers.pod_maker import PodMaker


def running_pods_of(makers: Iterable[PodMaker], pods: Iterable[object]) -> set[int]:
    """Which of the running pods (as a cluster gives them out) these workloads have made, by their index."""
    by_name: dict[tuple[str, str], int] = {}
    by_owner: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for index, data in enumerate(pods):
        metadata = _metadata(data)
        namespace = str(metadata.get("namespace") or "default")
        by_name[namespace, str(metadata.get("name"))] = index
        references = metadata.get("ownerReferences")
        for entry in references if isinstance(references, list) else ():
            if isinstance(entry, dict):
                by_owner.setdefault((namespace, str(entry.get("kind"))), []).append((str(entry.get("name")), index))
    found: set[int] = set()
    for maker in makers:
        if maker.kind == "Pod":
            found.update({by_name[maker.namespace, maker.name]} if (maker.namespace, maker.name) in by_name else ())
            continue
        kind, ending = _MADE_THROUGH.get(maker.kind, (maker.kind, ""))
        pattern = re.compile(re.escape(maker.full_name if maker.kind == "JobSet" else maker.name) + ending)
        found.update(index for name, index in by_owner.get((maker.namespace, kind), ()) if pattern.fullmatch(name))
    return found


# The object between a controller and its pods, and what its name adds to the controller's.
_MADE_THROUGH = {
    "Deployment": ("ReplicaSet", "-[a-z0-9]+"),
    "Rollout": ("ReplicaSet", "-[a-z0-9]+"),
    "CronJob": ("Job", "-[0-9]+"),
    "DeploymentConfig": ("ReplicationController", "-[0-9]+"),
    "JobSet": ("Job", "-[0-9]+"),
    "LeaderWorkerSet": ("StatefulSet", "(-[0-9]+)?"),
    "Service": ("ReplicaSet", "-[0-9]+-deployment-[a-z0-9]+"),
    "VirtualMachine": ("VirtualMachineInstance", ""),
    "VirtualMachineInstanceReplicaSet": ("VirtualMachineInstance", "[a-z0-9]{5}"),
    "VirtualMachinePool": ("VirtualMachineInstance", "-[0-9]+"),
}


def _metadata(data: object) -> dict[str, Any]:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    return metadata if type(metadata) is dict else {}
