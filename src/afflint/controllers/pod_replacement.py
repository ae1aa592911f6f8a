"""What becomes of a workload's pods when one of them goes: whether its controller makes another, and what it waits for before it does.

Semantics: `IsPodActive` (pkg/controller/controller_utils.go) for ReplicaSets, `processReplica` (pkg/controller/statefulset), the
podReplacementPolicy of Jobs (pkg/apis/batch/v1/defaults.go), and `syncRunStrategy` (KubeVirt, pkg/virt-controller/watch/vm).
"""

from collections.abc import Mapping
from typing import Any, Literal

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.manifests import Workload

Replaced = Literal["deleted", "gone", "never"]
"""When another pod is made: as soon as the old one is being deleted, once its object is gone, or never."""


class PodReplacement(NamedTuple):
    """``ordered``: pods are made in the order of their numbers, each once the one before it is ready.

    ``after_shutdown``: whether another is made after an eviction, too, which a virtual machine takes for an orderly shutdown.
    ``scaled``: whether a PodDisruptionBudget can find out how many pods there should be (the controller of the pods has a scale).
    ``by_node``: the pods belong to their nodes, and go and come with these. ``ordinals``: they are told apart by names that stay the same.
    """

    replaced: Replaced = "deleted"
    ordered: bool = False
    after_shutdown: bool = True
    scaled: bool = True
    by_node: bool = False
    ordinals: bool = False


AT_ONCE = PodReplacement()
NEVER = PodReplacement("never", after_shutdown=False)
BY_NODE = PodReplacement("never", scaled=False, by_node=True)
"""Of a DaemonSet, and of what the kubelet itself runs: one pod to each node."""

_JOB = PodReplacement(scaled=False)
_MACHINE = PodReplacement("gone", scaled=False)

_BY_OWNER: Mapping[str, PodReplacement] = {
    "StatefulSet": PodReplacement("gone", ordered=True, ordinals=True),
    "DaemonSet": BY_NODE,
    "Node": BY_NODE,
    "Job": _JOB,
    "VirtualMachineInstance": _MACHINE,
}


def pod_replacement_of_owner(kind: str | None) -> PodReplacement:
    """That of a running pod, by the kind of the object that controls it, of which nothing else is known; None for a pod without one."""
    return NEVER if kind is None else _BY_OWNER.get(kind, AT_ONCE)


def pod_replacement_of(workload: Workload) -> PodReplacement:
    """That of the pods of one template."""
    kind, spec = workload.kind.name, workload.spec
    if kind == "Pod":
        return NEVER
    if kind == "DaemonSet":
        return BY_NODE
    if kind == "StatefulSet":
        return PodReplacement("gone", ordered=spec.get("podManagementPolicy") != "Parallel", ordinals=True)
    if kind == "LeaderWorkerSet":
        return PodReplacement("gone", ordinals=True)
    if kind in ("Job", "CronJob", "JobSet"):
        return _of_job(workload.above(1))
    if workload.kind.kubevirt:
        return _of_machine(workload)
    return AT_ONCE


def _of_job(job: Mapping[str, Any]) -> PodReplacement:
    """A Job waits for failed pods to be gone if it is told to, or has a podFailurePolicy and is told nothing."""
    policy = job.get("podReplacementPolicy") or ("Failed" if job.get("podFailurePolicy") else "TerminatingOrFailed")
    return _JOB._replace(replaced="gone") if policy == "Failed" else _JOB


def _of_machine(workload: Workload) -> PodReplacement:
    kind = workload.kind.name
    if kind == "VirtualMachineInstanceReplicaSet":
        return PodReplacement(scaled=False)
    if kind == "VirtualMachineInstance":
        return NEVER._replace(scaled=False)
    machine = workload.above(1)
    strategy = machine.get("runStrategy") or ("Manual" if machine.get("running") is False else "Always")
    if strategy == "RerunOnFailure":
        return _MACHINE._replace(after_shutdown=False)
    return _MACHINE if strategy == "Always" else NEVER._replace(scaled=False)
