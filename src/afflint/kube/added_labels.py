"""The labels that controllers add to the pods they create.

A value is text with fields in braces. ``{name}`` is the name of the object, ``{part}`` the name of one of its templates, ``{machine}`` the
name of the virtual machine instance and ``{hostname}`` the host name of its guest; ``{ordinal}``, ``{job}``, ``{group}`` and ``{worker}``
are indexes. The values of other fields cannot be known from a manifest.
"""

from afflint.findings.namedtuples import NamedTuple


class AddedLabel(NamedTuple):
    """A label that a controller adds to those of the pod template; ``overwrites``: it replaces a label with the same key."""

    key: str
    value: str
    overwrites: bool = True


class FormerLabel(NamedTuple):
    """A label that an operator set with one of these values before a version, and no longer does; ``{name}`` as above."""

    key: str
    before: str
    values: tuple[str, ...]


POD_TEMPLATE_HASH, ROLLOUT_HASH = "pod-template-hash", "rollouts-pod-template-hash"
CONTROLLER_REVISION_HASH = "controller-revision-hash"
POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
CREATED_BY, MIGRATION_UID = "kubevirt.io/created-by", "kubevirt.io/migrationJobUID"
MACHINE_HOSTNAME = "vm.kubevirt.io/name"

# pkg/controller/deployment/sync.go getNewReplicaSet.
DEPLOYMENT = (AddedLabel(POD_TEMPLATE_HASH, "{hash}"),)
ROLLOUT = (AddedLabel(ROLLOUT_HASH, "{hash}"),)
# pkg/controller/statefulset/stateful_set_utils.go newVersionedStatefulSetPod, updateIdentity.
STATEFUL_SET = (
    AddedLabel(CONTROLLER_REVISION_HASH, "{name}-{hash}"),
    AddedLabel(POD_NAME, "{name}-{ordinal}"),
    AddedLabel(POD_INDEX, "{ordinal}"),
)
# pkg/controller/daemon/util/daemonset_util.go CreatePodTemplate.
DAEMON_SET = (AddedLabel(CONTROLLER_REVISION_HASH, "{hash}"), AddedLabel("pod-template-generation", "{generation}"))


def _of_job(name: str) -> tuple[AddedLabel, ...]:
    """Return the labels that a Job adds to its pods: pkg/registry/batch/job/strategy.go generateSelector.

    Labels that the template already has are kept; validation rejects wrong ones.
    """
    return (
        AddedLabel("batch.kubernetes.io/controller-uid", "{uid}", overwrites=False),
        AddedLabel("controller-uid", "{uid}", overwrites=False),
        AddedLabel("job-name", name, overwrites=False),
        AddedLabel("batch.kubernetes.io/job-name", name, overwrites=False),
    )


JOB = _of_job("{name}")
# pkg/controller/cronjob/utils.go getJobName: the minute for which the run is scheduled.
CRON_JOB = _of_job("{name}-{minute}")
# pkg/controller/job/job_controller.go addCompletionIndexLabel, for Jobs with completionMode Indexed.
INDEXED = (AddedLabel(COMPLETION_INDEX, "{ordinal}"),)
# jobset pkg/controllers/jobset_controller.go labelAndAnnotateObject, constructJob: on the template of each Job.
JOB_SET = (
    *_of_job("{name}-{part}-{job}"),
    AddedLabel("jobset.sigs.k8s.io/jobset-name", "{name}"),
    AddedLabel("jobset.sigs.k8s.io/jobset-uid", "{uid}"),
    AddedLabel("jobset.sigs.k8s.io/replicatedjob-name", "{part}"),
    AddedLabel("jobset.sigs.k8s.io/replicatedjob-replicas", "{number}"),
    AddedLabel("jobset.sigs.k8s.io/global-replicas", "{number}"),
    AddedLabel("jobset.sigs.k8s.io/job-index", "{job}"),
    AddedLabel("jobset.sigs.k8s.io/job-global-index", "{number}"),
    AddedLabel("jobset.sigs.k8s.io/job-key", "{hash}"),
    AddedLabel("jobset.sigs.k8s.io/restart-attempt", "{number}"),
)


def _of_group(pod_name: str, index: str) -> tuple[AddedLabel, ...]:
    """Return the labels of a leader or worker StatefulSet (lws, pkg/webhooks/pod_webhook.go)."""
    return (
        AddedLabel(CONTROLLER_REVISION_HASH, "{name}-{hash}"),
        AddedLabel(POD_NAME, pod_name),
        AddedLabel(POD_INDEX, index),
        AddedLabel("leaderworkerset.sigs.k8s.io/name", "{name}"),
        AddedLabel("leaderworkerset.sigs.k8s.io/group-index", "{group}"),
        AddedLabel("leaderworkerset.sigs.k8s.io/worker-index", "{worker}"),
        AddedLabel("leaderworkerset.sigs.k8s.io/group-key", "{hash}"),
        AddedLabel("leaderworkerset.sigs.k8s.io/template-revision-hash", "{hash}"),
    )


LEADERS = _of_group("{name}-{group}", "{group}")
WORKERS = _of_group("{name}-{member}", "{index}")

# kubevirt pkg/virt-controller/services/template.go podLabels.
VIRT_LAUNCHER = (
    AddedLabel("kubevirt.io", "virt-launcher"),
    AddedLabel(CREATED_BY, "{uid}"),
    AddedLabel(MACHINE_HOSTNAME, "{hostname}"),
    AddedLabel("vmi.kubevirt.io/id", "{machine}"),
)
# kubevirt pkg/virt-controller/watch/pool/pool.go injectPoolRevisionLabelsIntoVM.
MACHINE_POOL = (*VIRT_LAUNCHER, AddedLabel("kubevirt.io/vm-pool-revision-name", "{name}-{hash}"))

# Controllers beyond Kubernetes and KubeVirt.
# openshift apiserver-library-go appsutil.MakeDeployment.
DEPLOYMENT_CONFIG = (AddedLabel("deployment", "{name}-{number}"), AddedLabel("deploymentconfig", "{name}"))
# kruise pkg/controller/cloneset/utils WriteRevisionHash, newVersionedPods.
CLONE_SET = (
    AddedLabel(CONTROLLER_REVISION_HASH, "{hash}"),
    AddedLabel(POD_TEMPLATE_HASH, "{hash}"),
    AddedLabel("apps.kruise.io/cloneset-instance-id", "{hash}"),
)
# knative serving pkg/reconciler/revision/resources makeLabels, on a Deployment.
KNATIVE_SERVICE = (
    AddedLabel(POD_TEMPLATE_HASH, "{hash}"),
    AddedLabel("serving.knative.dev/service", "{name}"),
    AddedLabel("serving.knative.dev/configuration", "{name}"),
    AddedLabel("serving.knative.dev/configurationGeneration", "{number}"),
    AddedLabel("serving.knative.dev/revision", "{name}-{number}"),
    AddedLabel("serving.knative.dev/revisionUID", "{uid}"),
    AddedLabel("serving.knative.dev/serviceUID", "{uid}"),
    AddedLabel("serving.knative.dev/configurationUID", "{uid}"),
)

# kubevirt pkg/virt-api/webhooks/validating-webhook/admitters restrictedVmiLabels: rejected on the VMI itself unless KubeVirt sets them.
RESERVED_BY_KUBEVIRT = frozenset(
    (
        CREATED_BY,
        MIGRATION_UID,
        "kubevirt.io/nodeName",
        "kubevirt.io/migrationTargetNodeName",
        "kubevirt.io/schedulable",
        "kubevirt.io/install-strategy",
    )
)

OF_ANY_POD = (
    POD_TEMPLATE_HASH, CONTROLLER_REVISION_HASH, POD_NAME, POD_INDEX, "pod-template-generation", "job-name", "controller-uid",
    "batch.kubernetes.io/*", "istio.io/*", "linkerd.io/*", "kueue.x-k8s.io/*",
)  # fmt: skip
"""The keys of labels that Kubernetes' own controllers, service meshes and Kueue add to pods, whatever creates them."""


def is_one_of(key: str, keys: tuple[str, ...]) -> bool:
    """Return whether a key is one of some keys; ``domain/*`` is any key with that domain, or one below it, as its prefix."""
    prefix = f".{key.partition('/')[0]}"
    return any(key == each or (each.endswith("/*") and prefix.endswith(f".{each[:-2]}")) for each in keys)
