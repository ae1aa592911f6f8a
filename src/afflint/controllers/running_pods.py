"""Which running pods of a cluster dump belong to which workload."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from afflint.controllers.pod_source import PodSource
from afflint.kube.added_labels import POD_TEMPLATE_HASH, ROLLOUT_HASH
from afflint.scheduler.pods import PodKey
from afflint.yaml.document import text_at
from afflint.yaml.object_fields import condition_of, kind_of, metadata_of, name_of, namespace_of


def running_pods_of(pod_sources: Sequence[PodSource], pods: Iterable[object]) -> dict[str, list[int]]:
    """Return the indexes of the running pods of each workload, by its key. Each pod belongs to one workload.

    A pod belongs to a workload by its owner references, or by those of its owner; if these are not known, by the owner's name.
    """
    indexes = {pod_source.key: list(pod_source.observed) for pod_source in pod_sources if pod_source.observed}
    taken = {index for each in indexes.values() for index in each}
    pod_sources = [pod_source for pod_source in pod_sources if not pod_source.observed]
    if not pod_sources:
        return indexes
    known = _Owners(pods)
    # Owner references take precedence over names that only fit.
    for select in (known.named, known.fitting):
        for pod_source in pod_sources:
            owned = [index for index in select(pod_source) if index not in taken]
            if owned:
                indexes.setdefault(pod_source.key, []).extend(owned)
                taken.update(owned)
    return indexes


def with_running_revisions(pod_sources: Iterable[PodSource], pods: Sequence[object]) -> list[PodSource]:
    """Return the workloads, those with revisions with the one that most of their running pods have.

    New replicas are of this revision: spread constraints with `matchLabelKeys`, and those that the scheduler adds by default, count them
    together with the running ones.
    """
    pod_sources = list(pod_sources)
    rolled = [each for each in pod_sources if each.kind in _HASHED and not each.observed and not each.refused]
    if not (rolled and pods):
        return pod_sources
    made = running_pods_of(rolled, pods)
    found: dict[str, str] = {}
    for each in rolled:
        hashes = [text_at(pods[index], "metadata", "labels", _HASHED[each.kind]) for index in made.get(each.key, ())]
        known = [value for value in hashes if value]
        if known:
            found[each.key] = max(known, key=known.count)
    return [replace(each, revision=found[each.key]) if each.key in found else each for each in pod_sources]


_HASHED = {"Deployment": POD_TEMPLATE_HASH, "Rollout": ROLLOUT_HASH}
"""By kind, the label with the hash of a revision, which is also the end of the name of its ReplicaSet."""


class _Owners:
    """Running pods by the objects that own them, or that own their owners."""

    def __init__(self, pods: Iterable[object]) -> None:
        self._alone: dict[tuple[str, str], list[int]] = {}
        self._owned: dict[tuple[str, str], dict[str, list[int]]] = {}
        self._with_known_owner: set[int] = set()
        """The indexes of pods whose owner's owner is known, from a label or because they are pods of VMs."""
        for index, data in enumerate(pods):
            metadata = metadata_of(data)
            namespace = str(metadata.get("namespace") or "default")
            references = metadata.get("ownerReferences")
            owners = [entry for entry in references if isinstance(entry, dict)] if isinstance(references, list) else []
            if not owners:
                self._alone.setdefault((namespace, str(metadata.get("name"))), []).append(index)
            labels = metadata.get("labels")
            revision = labels.get(POD_TEMPLATE_HASH) if isinstance(labels, dict) else None
            for entry in owners:
                kind, name = kind_of(entry), str(entry.get("name"))
                self._add(namespace, kind, name, index)
                if kind in _VM_OWNERS:
                    self._with_known_owner.add(index)
                elif kind == "ReplicaSet" and revision and name.endswith(f"-{revision}"):
                    self._add(namespace, _REVISION, name[: -len(revision) - 1], index)
                    self._with_known_owner.add(index)

    def _add(self, namespace: str, kind: str, name: str, index: int) -> None:
        self._owned.setdefault((namespace, kind), {}).setdefault(name, []).append(index)

    def named(self, pod_source: PodSource) -> list[int]:
        """Return the pods that a workload, or a revision of it, owns."""
        if pod_source.kind == "Pod":
            return self._alone.get((pod_source.namespace, pod_source.name), [])
        name = pod_source.full_name if pod_source.kind == "JobSet" else pod_source.name
        kind = _REVISION if pod_source.kind in ("Deployment", "Rollout") else pod_source.kind
        return self._owned.get((pod_source.namespace, kind), {}).get(name, [])

    def fitting(self, pod_source: PodSource) -> list[int]:
        """Return the pods of owners whose names derive from that of the workload, if nothing else is known about the owner."""
        if pod_source.kind not in _INTERMEDIATE_OWNERS:
            return []
        kind, ending = _INTERMEDIATE_OWNERS[pod_source.kind]
        pattern = re.compile(re.escape(pod_source.full_name if pod_source.kind == "JobSet" else pod_source.name) + ending)
        owned = self._owned.get((pod_source.namespace, kind), {})
        return [index for name, each in owned.items() if pattern.fullmatch(name) for index in each if index not in self._with_known_owner]


_REVISION = "ReplicaSet of a revision"
_VM_OWNERS = ("VirtualMachine", "VirtualMachineInstanceReplicaSet", "VirtualMachinePool")


def is_controlled_by(pod_source: PodSource, kind: str) -> bool:
    """Return whether the pods of a workload are recognised as those of its controller, an object of this kind."""
    kinds = _INTERMEDIATE_OWNERS.get(kind, ("",))
    return pod_source.kind in (*kinds[:1], *(("VirtualMachine",) if kind == "VirtualMachinePool" else ()))


# The kind of the object between a controller and its pods, and the pattern that its name adds to the controller's name.
_INTERMEDIATE_OWNERS = {
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


def unready_pods(pods: Iterable[object]) -> dict[PodKey, str]:
    """Return the pods whose condition `Ready` is not true, with their phases. ``pods`` are pods as parsed; others may not tell."""
    found = {}
    for pod in pods:
        ready = condition_of(pod, "Ready")
        if ready is not None and ready.get("status") != "True":
            found[pod_key(pod)] = text_at(pod, "status", "phase")
    return found


def pod_key(pod: object) -> PodKey:
    """Return the namespace and name of a pod as parsed."""
    return namespace_of(pod) or "default", name_of(pod)
