"""Whether and when a controller creates another pod for one that is deleted or evicted.

Semantics: `IsPodActive` (pkg/controller/controller_utils.go) for ReplicaSets, `processReplica` (pkg/controller/statefulset), the
podReplacementPolicy of Jobs (pkg/apis/batch/v1/defaults.go), and `syncRunStrategy` (KubeVirt, pkg/virt-controller/watch/vm).
"""

from collections.abc import Mapping
from typing import Any, Literal

from afflint.findings.namedtuples import NamedTuple
from afflint.manifests.manifest import Workload

Replaced = Literal["deleted", "gone", "never"]
"""When the replacement is created: once the old pod is being deleted, once its object is gone, or never."""


class PodReplacement(NamedTuple):
    """How a controller replaces the pods of a workload.

    ``ordered``: pods are created in the order of their ordinals, each after the one before it is ready. ``after_shutdown``: a pod is
    replaced after an eviction too, which is an orderly shutdown for a VM. ``scaled``: the controller has a scale, from which a
    PodDisruptionBudget can read the expected number of pods. ``by_node``: each pod belongs to a node, and is created and deleted with it.
    ``ordinals``: pods keep stable names.
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
"""For DaemonSets and static pods: one pod per node."""

GUARD = PodReplacement("gone", scaled=False, ordinals=True)
"""For the guard pods of OpenShift: an operator creates each again under its name, on its node."""

_JOB = PodReplacement(scaled=False)
_FAILED_JOB = PodReplacement("never", after_shutdown=False, scaled=False)
_MACHINE = PodReplacement("gone", scaled=False)

_BY_OWNER: Mapping[str, PodReplacement] = {
    "StatefulSet": PodReplacement("gone", ordered=True, ordinals=True),
    "DaemonSet": BY_NODE,
    "Node": BY_NODE,
    "Job": _JOB,
    "VirtualMachineInstance": _MACHINE,
}


_KUBERNETES_OWNERS = {
    "Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch", "ReplicationController": "",
    "Rollout": "argoproj.io",
}  # fmt: skip


def knows_owner(kind: str, group: str) -> bool:
    """Return whether it is known how the controller of this kind and API group replaces its pods."""
    return _KUBERNETES_OWNERS.get(kind) == group


def pod_replacement_of_owner(kind: str | None) -> PodReplacement:
    """Return how a running pod is replaced, by the kind of its controller; None means a pod without a controller."""
    return NEVER if kind is None else _BY_OWNER.get(kind, AT_ONCE)


def pod_replacement_of(workload: Workload) -> PodReplacement:
    """Return how the pods of a workload are replaced."""
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
    """Return the policy of a Job, whose default is ``Failed`` only if the Job has a podFailurePolicy.

    A deleted pod counts as a failure: with a backoffLimit of 0 the Job fails, unless a podFailurePolicy ignores the failure.
    """
    if job.get("backoffLimit") == 0 and not job.get("podFailurePolicy"):
        return _FAILED_JOB
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
