"""Which of the running pods, as a cluster gives them out, are those that some workloads have made."""

from __future__ import annotations

import re
from collections.abc import Iterable

from afflint.controllers.pod_source import PodSource
from afflint.kube.added_labels import POD_TEMPLATE_HASH
from afflint.yaml.document import map_at


def running_pods_of(pod_sources: Iterable[PodSource], pods: Iterable[object]) -> dict[str, list[int]]:
    """By the key of a workload the running pods (as a cluster gives them out) that it has made, by their index; each has one workload.

    Their owners say so, and where those are made in turn, what is known of these: the name where nothing else is.
    """
    known = _Owners(pods)
    found: dict[str, list[int]] = {}
    taken: set[int] = set()
    # Who is named as the owner comes before those whose name merely fits.
    for ask in (known.named, known.fitting):
        for pod_source in pod_sources:
            mine = [index for index in ask(pod_source) if index not in taken]
            if mine:
                found.setdefault(pod_source.key, []).extend(mine)
                taken.update(mine)
    return found


class _Owners:
    """Running pods by the objects that own them, or own their owners."""

    def __init__(self, pods: Iterable[object]) -> None:
        self._alone: dict[tuple[str, str], list[int]] = {}
        self._owned: dict[tuple[str, str], dict[str, list[int]]] = {}
        self._said: set[int] = set()
        """Pods that tell of their owner's owner: by a label, or as a machine's do."""
        for index, data in enumerate(pods):
            metadata = map_at(data, "metadata")
            namespace = str(metadata.get("namespace") or "default")
            references = metadata.get("ownerReferences")
            owners = [entry for entry in references if isinstance(entry, dict)] if isinstance(references, list) else []
            if not owners:
                self._alone.setdefault((namespace, str(metadata.get("name"))), []).append(index)
            labels = metadata.get("labels")
            revision = labels.get(POD_TEMPLATE_HASH) if isinstance(labels, dict) else None
            for entry in owners:
                kind, name = str(entry.get("kind")), str(entry.get("name"))
                self._add(namespace, kind, name, index)
                if kind in _OWNERS_OF_MACHINES:
                    self._said.add(index)
                elif kind == "ReplicaSet" and revision and name.endswith(f"-{revision}"):
                    self._add(namespace, _REVISED, name[: -len(revision) - 1], index)
                    self._said.add(index)

    def _add(self, namespace: str, kind: str, name: str, index: int) -> None:
        self._owned.setdefault((namespace, kind), {}).setdefault(name, []).append(index)

    def named(self, pod_source: PodSource) -> list[int]:
        """Pods of which a workload is the owner, or that of a revision of it."""
        if pod_source.kind == "Pod":
            return self._alone.get((pod_source.namespace, pod_source.name), [])
        name = pod_source.full_name if pod_source.kind == "JobSet" else pod_source.name
        kind = _REVISED if pod_source.kind in ("Deployment", "Rollout") else pod_source.kind
        return self._owned.get((pod_source.namespace, kind), {}).get(name, [])

    def fitting(self, pod_source: PodSource) -> list[int]:
        """Pods of owners whose names are made of that of a workload, as far as nothing else is known of them."""
        if pod_source.kind not in _MADE_THROUGH:
            return []
        kind, ending = _MADE_THROUGH[pod_source.kind]
        pattern = re.compile(re.escape(pod_source.full_name if pod_source.kind == "JobSet" else pod_source.name) + ending)
        owned = self._owned.get((pod_source.namespace, kind), {})
        return [index for name, each in owned.items() if pattern.fullmatch(name) for index in each if index not in self._said]


_REVISED = "ReplicaSet of a revision"
_OWNERS_OF_MACHINES = ("VirtualMachine", "VirtualMachineInstanceReplicaSet", "VirtualMachinePool")

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
