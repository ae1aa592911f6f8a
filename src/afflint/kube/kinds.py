"""The kinds that afflint reads: their group versions, the path of their pod templates, and the types of their fields.

Fields come from the published API of Kubernetes up to 1.37, all versions combined (``versions`` says which version has which field), and of
KubeVirt 1.9.
"""

from functools import cache

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube import added_labels, scheduler_fields
from afflint.kube.added_labels import AddedLabel
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.scheduler_fields import ConfigurationType
from afflint.kube.types import (
    ANYTHING,
    EXACT_FLOAT,
    FLAG,
    INT32,
    INT64,
    PRUNED_TEXTS,
    TEXT,
    TEXTS,
    Guarded,
    LabelKey,
    ListOf,
    MapOf,
    OneOf,
    Struct,
    Type,
)
from afflint.kube.vm_domain import Domain

MIGRATION_POLICY, NODE_MAINTENANCE = "MigrationPolicy", "NodeMaintenance"
EACH = "*"
"""A step of a path that means each item of a list or each value of a map."""


class Template(NamedTuple):
    """One of the pod templates of a kind.

    ``path`` leads from the object to the map with the ``metadata`` and ``spec`` of the pods. ``replicas`` leads from the object to their
    number, through the same list items as ``path`` as long as both share a list; None if no single field has the number. ``labels`` are the
    labels that controllers add.
    """

    path: Path
    replicas: Path | None = None
    labels: tuple[AddedLabel, ...] = ()


class Kind(NamedTuple):
    """A kind of object that afflint reads.

    ``templates`` are its pod templates, empty for kinds without pods. ``root`` is the type of the whole object; None for custom resources,
    whose other fields are not checked.
    """

    name: str
    group: str
    versions: tuple[str, ...]
    templates: tuple[Template, ...]
    root: Type | None
    kubevirt: bool = False
    selector: str | None = None
    removed: tuple[tuple[str, str], ...] = ()
    holds_placement: bool = False
    """Whether the object places pods of an operator, though none of its fields is a pod template."""


def _fields(names: str, type_: Type = ANYTHING) -> dict[str, Type]:
    return dict.fromkeys(names.split(), type_)


# Placement fields, with the type of every field.

_PLACEMENT_NAMES = (
    "affinity nodeAffinity podAffinity podAntiAffinity tolerations nodeSelector topologySpreadConstraints nodeName schedulerName"
    f" {REQUIRED} {PREFERRED} nodeSelectorTerms"
)
PLACEMENT_FIELDS = frozenset(_PLACEMENT_NAMES.split())
"""Field names that always belong to placement, at any level of a workload."""


class _Placement(NamedTuple):
    affinity: Struct
    tolerations: ListOf
    spread: ListOf
    node_selector: MapOf
    label_selector: Struct


def _placement_types(*, kubevirt: bool, seconds: Type = INT64) -> _Placement:
    """Return the types of the placement fields. KubeVirt's schemas reject null list elements and leave wide integers to the webhook."""
    nulls = not kubevirt
    texts = PRUNED_TEXTS if kubevirt else TEXTS
    integer = INT32
    requirement = Struct("match expression", {**_fields("key operator", TEXT), "values": ListOf(TEXT, nulls=nulls)})
    expressions = ListOf(requirement, nulls=nulls)
    label_selector = Struct("label selector", {"matchLabels": texts, "matchExpressions": expressions})
    node_term = Struct("node selector term", {"matchExpressions": expressions, "matchFields": expressions})
    node_required = Struct("node selector", {"nodeSelectorTerms": ListOf(node_term, nulls=nulls)})
    node_preferred = Struct("preferred scheduling term", {"weight": integer, "preference": node_term})
    names = ListOf(TEXT, nulls=nulls)
    pod_term = Struct(
        "pod affinity term",
        {
            "labelSelector": label_selector,
            "namespaceSelector": label_selector,
            "namespaces": names,
            "topologyKey": TEXT,
            "matchLabelKeys": names,
            "mismatchLabelKeys": names,
        },
    )
    weighted_term = Struct("weighted pod affinity term", {"weight": integer, "podAffinityTerm": pod_term})
    pod_fields = {REQUIRED: ListOf(pod_term, nulls=nulls), PREFERRED: ListOf(weighted_term, nulls=nulls)}
    affinity = Struct(
        "affinity",
        {
            "nodeAffinity": Struct("node affinity", {REQUIRED: node_required, PREFERRED: ListOf(node_preferred, nulls=nulls)}),
            "podAffinity": Struct("pod affinity", pod_fields),
            "podAntiAffinity": Struct("pod anti-affinity", pod_fields),
        },
    )
    toleration = Struct("toleration", {**_fields("key operator value effect", TEXT), "tolerationSeconds": seconds})
    spread = Struct(
        "topology spread constraint",
        {
            **_fields("maxSkew minDomains", integer),
            **_fields("topologyKey whenUnsatisfiable nodeAffinityPolicy nodeTaintsPolicy", TEXT),
            "labelSelector": label_selector,
            "matchLabelKeys": names,
        },
    )
    return _Placement(affinity, ListOf(toleration, nulls=nulls), ListOf(spread, nulls=nulls), texts, label_selector)


_CORE = _placement_types(kubevirt=False)
# KubeVirt's webhook finds no schema for a pool and only decodes it; in the other kinds it first reads numbers as floats.
_KUBEVIRT = _placement_types(kubevirt=True, seconds=EXACT_FLOAT)
_POOL = _placement_types(kubevirt=True)
CUSTOM_PLACEMENT: dict[str, Type] = {
    "affinity": _CORE.affinity,
    "tolerations": _CORE.tolerations,
    "topologySpreadConstraints": _CORE.spread,
    "nodeSelector": TEXTS,
}
"""The placement fields of a pod template inside a custom resource."""


def part_types() -> dict[str, Type]:
    """Return the types of placement fields and of the fields inside them, by shape (``kube.shapes.ShapedValue``)."""
    affinity = _CORE.affinity.fields
    node_affinity = affinity["nodeAffinity"]
    assert isinstance(node_affinity, Struct)
    terms = node_affinity.fields[REQUIRED]
    return {**CUSTOM_PLACEMENT, **affinity, "nodeSelectorTerms": terms, "labelSelector": _CORE.label_selector, **_CLUSTER_TYPES}


_EFFECTS = OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")
_CLUSTER_TYPES: dict[str, Type] = {
    "clusterSelector": _CORE.label_selector,
    "labelKey": LabelKey(),
    "taints": ListOf(Struct("taint", {"key": LabelKey(), "value": TEXT, "effect": _EFFECTS, "timeAdded": ANYTHING})),
    # Open Cluster Management has words of its own (cluster/v1beta1/types_placement.go).
    "clusterTolerations": ListOf(
        Struct(
            "toleration",
            {
                "key": TEXT,
                "operator": OneOf("Exists", "Equal"),
                "value": TEXT,
                "effect": OneOf("NoSelect", "PreferNoSelect", "NoSelectIfNew"),
                "tolerationSeconds": INT64,
            },
        )
    ),
    "clusterSpreadConstraints": ListOf(
        Struct(
            "spread constraint",
            {
                "topologyKey": LabelKey(),
                "topologyKeyType": OneOf("Label", "Claim"),
                "maxSkew": INT32,
                "whenUnsatisfiable": OneOf("DoNotSchedule", "ScheduleAnyway"),
            },
        )
    ),
    # Karmada: pkg/apis/policy/v1alpha1/propagation_types.go, pkg/util/validation ValidatePolicyFieldSelector.
    "clusterGroups": ListOf(
        Struct(
            "spread constraint",
            {
                "spreadByField": OneOf("cluster", "region", "zone", "provider"),
                "spreadByLabel": TEXT,
                **_fields("maxGroups minGroups", INT64),
            },
        )
    ),
    "clusterFields": Struct(
        "field selector",
        {
            "matchExpressions": ListOf(
                Struct(
                    "match expression",
                    {"key": OneOf("provider", "region", "zone"), "operator": OneOf("In", "NotIn"), "values": ListOf(TEXT)},
                )
            )
        },
    ),
}
"""Fields that select clusters or describe nodes, by shape: the catalogue names the kinds that have them."""


# The fields around them: known by name, and by type where a wrong type is a common mistake.

_METADATA_FIELDS: dict[str, Type] = {
    **_fields("name generateName namespace uid resourceVersion selfLink", TEXT),
    **_fields("creationTimestamp deletionTimestamp managedFields"),
    **_fields("generation deletionGracePeriodSeconds", INT64),
    **_fields("labels annotations", TEXTS),
    "finalizers": ListOf(TEXT),
    "ownerReferences": ListOf(MapOf(ANYTHING)),
}
METADATA = Struct("metadata", _METADATA_FIELDS)
_HEAD: dict[str, Type] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}

_PORT = Struct("container port", {**_fields("name protocol hostIP", TEXT), **_fields("containerPort hostPort", INT32)})
_CONTAINER = ListOf(Guarded("container", PLACEMENT_FIELDS, {"ports": ListOf(_PORT)}))
_GATE = Struct("scheduling gate", {"name": TEXT})
_SCHEDULING_GROUP = Struct("scheduling group", {"podGroupName": TEXT})
_EVICTION_RESPONDER = Struct("eviction responder", {"name": TEXT, "priority": INT32})

POD_SPEC = Struct(
    "pod spec",
    {
        **_fields(
            "dnsConfig ephemeralContainers hostAliases imagePullSecrets os overhead readinessGates"
            " resourceClaims resources securityContext volumes workloadRef"
        ),
        **_fields(
            "dnsPolicy hostname hostnameOverride nodeName preemptionPolicy priorityClassName restartPolicy runtimeClassName"
            " schedulerName serviceAccount serviceAccountName subdomain",
            TEXT,
        ),
        **_fields(
            "automountServiceAccountToken enableServiceLinks hostIPC hostNetwork hostPID hostUsers setHostnameAsFQDN shareProcessNamespace",
            FLAG,
        ),
        **_fields("activeDeadlineSeconds terminationGracePeriodSeconds", INT64),
        "priority": INT32,
        "containers": _CONTAINER,
        "initContainers": _CONTAINER,
        "affinity": _CORE.affinity,
        "tolerations": _CORE.tolerations,
        "topologySpreadConstraints": _CORE.spread,
        "nodeSelector": TEXTS,
        "schedulingGates": ListOf(_GATE),
        "schedulingGroup": _SCHEDULING_GROUP,
        "evictionResponders": ListOf(_EVICTION_RESPONDER),
    },
)
POD_TEMPLATE = Struct("pod template", {"metadata": METADATA, "spec": POD_SPEC})

_JOB_FIELDS: dict[str, Type] = {
    **_fields("podFailurePolicy scheduling successPolicy"),
    **_fields("completionMode managedBy podReplacementPolicy", TEXT),
    **_fields("backoffLimit backoffLimitPerIndex completions maxFailedIndexes parallelism ttlSecondsAfterFinished", INT32),
    "activeDeadlineSeconds": INT64,
    **_fields("manualSelector suspend", FLAG),
    "selector": _CORE.label_selector,
    "template": POD_TEMPLATE,
}
_JOB_SPEC = Struct("Job spec", _JOB_FIELDS)
_CONTROLLER_FIELDS: dict[str, Type] = {"template": POD_TEMPLATE, "selector": _CORE.label_selector}


def _object(name: str, spec: Type, *, extra: str = "status") -> Struct:
    return Struct(name, {**_HEAD, "spec": spec, **_fields(extra)})


_DEPLOYMENT = Struct(
    "Deployment spec",
    {
        **_CONTROLLER_FIELDS,
        **_fields("minReadySeconds progressDeadlineSeconds replicas revisionHistoryLimit", INT32),
        "paused": FLAG,
        "strategy": ANYTHING,
    },
)
_CLAIM_TEMPLATE = Guarded("volume claim template", PLACEMENT_FIELDS, {"spec": Guarded("volume claim", PLACEMENT_FIELDS)})
_STATEFUL_SET = Struct(
    "StatefulSet spec",
    {
        **_CONTROLLER_FIELDS,
        **_fields("minReadySeconds replicas revisionHistoryLimit", INT32),
        **_fields("podManagementPolicy serviceName", TEXT),
        **_fields("ordinals persistentVolumeClaimRetentionPolicy updateStrategy"),
        "volumeClaimTemplates": ListOf(_CLAIM_TEMPLATE),
    },
)
_DAEMON_SET = Struct(
    "DaemonSet spec", {**_CONTROLLER_FIELDS, **_fields("minReadySeconds revisionHistoryLimit", INT32), "updateStrategy": ANYTHING}
)
_REPLICA_SET = Struct("ReplicaSet spec", {**_CONTROLLER_FIELDS, **_fields("minReadySeconds replicas", INT32)})
_REPLICATION_CONTROLLER = Struct(
    "ReplicationController spec", {"template": POD_TEMPLATE, "selector": TEXTS, **_fields("minReadySeconds replicas", INT32)}
)
_CRON_JOB = Struct(
    "CronJob spec",
    {
        **_fields("concurrencyPolicy schedule timeZone", TEXT),
        **_fields("failedJobsHistoryLimit successfulJobsHistoryLimit", INT32),
        "startingDeadlineSeconds": INT64,
        "suspend": FLAG,
        "jobTemplate": Struct("job template", {"metadata": METADATA, "spec": _JOB_SPEC}),
    },
)

# KubeVirt. Its CRDs keep unknown fields in the metadata of a VM's template; only some webhooks validate them, and reject nulls.

_TEMPLATE_TEXTS = MapOf(TEXT, nulls=False)
_VM_TEMPLATE_METADATA = Struct("template metadata", {**_METADATA_FIELDS, **_fields("labels annotations", _TEMPLATE_TEXTS)}, nulls=False)
_POOL_TEMPLATE_METADATA = Struct("template metadata", _METADATA_FIELDS, lenient=True)


def _vmi_spec(placement: _Placement, seconds: Type) -> Struct:
    fields = {
        **_fields("accessCredentials dnsConfig livenessProbe networks readinessProbe resourceClaims utilityVolumes volumes"),
        **_fields("architecture dnsPolicy evictionStrategy hostname priorityClassName schedulerName", TEXT),
        **_fields("serviceAccountName startStrategy subdomain", TEXT),
        "terminationGracePeriodSeconds": seconds,
        "domain": Domain(),
        "affinity": placement.affinity,
        "tolerations": placement.tolerations,
        "topologySpreadConstraints": placement.spread,
        "nodeSelector": placement.node_selector,
    }
    return Struct("VirtualMachineInstance spec", fields)


VMI_SPEC = _vmi_spec(_KUBEVIRT, EXACT_FLOAT)


def _vm_spec(metadata: Struct, vmi_spec: Struct) -> Struct:
    template = Struct("VirtualMachineInstance template", {"metadata": metadata, "spec": vmi_spec})
    fields = {"running": FLAG, "runStrategy": TEXT, "updateVolumesStrategy": TEXT, "template": template}
    return Struct("VirtualMachine spec", {**_fields("dataVolumeTemplates instancetype preference"), **fields})


_VMIRS = Struct(
    "VirtualMachineInstanceReplicaSet spec",
    {
        "paused": FLAG,
        "replicas": INT32,
        "selector": _KUBEVIRT.label_selector,
        "template": Struct("VirtualMachineInstance template", {"metadata": _VM_TEMPLATE_METADATA, "spec": VMI_SPEC}),
    },
)
_VM_POOL = Struct(
    "VirtualMachinePool spec",
    {
        **_fields("autohealing maxUnavailable nameGeneration scaleInStrategy updateStrategy"),
        "paused": FLAG,
        "replicas": INT32,
        "selector": _KUBEVIRT.label_selector,
        "virtualMachineTemplate": Struct(
            "VirtualMachine template",
            {"metadata": _POOL_TEMPLATE_METADATA, "spec": _vm_spec(_POOL_TEMPLATE_METADATA, _vmi_spec(_POOL, INT64))},
        ),
    },
)
_VMI_PRESET = Struct("VirtualMachineInstancePreset spec", {"domain": ANYTHING, "selector": _KUBEVIRT.label_selector})

# The schemas of these two check the types of all fields, and drop unknown ones.

_LABEL_MAP = MapOf(TEXT, nulls=False)
_MIGRATION_POLICY = Struct(
    "MigrationPolicy spec",
    {
        **_fields("allowAutoConverge allowPostCopy allowWorkloadDisruption", FLAG),
        **_fields("completionTimeoutPerGiB maxDowntimeMs", INT64),
        **_fields("bandwidthPerMigration experimentalMigrationOptions"),
        "selectors": Struct("MigrationPolicy selectors", _fields("namespaceSelector virtualMachineInstanceSelector", _LABEL_MAP)),
    },
)
_NODE_MAINTENANCE = Struct("NodeMaintenance spec", _fields("evictionTimeout nodeName reason", TEXT))

_SPEC_TEMPLATE: Path = ("spec", "template")
REPLICAS: Path = ("spec", "replicas")
"""The field in which most kinds keep the number of their pods."""


def _template(labels: tuple[AddedLabel, ...] = (), path: Path = _SPEC_TEMPLATE, replicas: Path | None = REPLICAS) -> tuple[Template, ...]:
    return (Template(path, replicas, labels),)


def _workload(
    name: str,
    spec: Type,
    templates: tuple[Template, ...],
    *,
    group: str = "apps",
    selector: str | None = "core",
    removed: tuple[tuple[str, str], ...] = (),
) -> Kind:
    return Kind(name, group, ("v1",), templates, _object(name, spec), selector=selector, removed=removed)


def _machine(
    name: str,
    spec: Type,
    templates: tuple[Template, ...],
    *,
    group: str = "kubevirt.io",
    versions: tuple[str, ...] = ("v1", "v1alpha3"),
    selector: str | None = None,
) -> Kind:
    return Kind(name, group, versions, templates, _object(name, spec), kubevirt=True, selector=selector)


_BEFORE_1_16 = (("extensions/v1beta1", "1.16"), ("apps/v1beta1", "1.16"), ("apps/v1beta2", "1.16"))

_OLD_CONFIGURATIONS = tuple(
    [(f"{scheduler_fields.GROUP}/{version}", since) for version, since in (("v1beta1", "1.23"), ("v1beta2", "1.28"), ("v1beta3", "1.29"))]
)

KINDS: tuple[Kind, ...] = (
    _workload("Pod", POD_SPEC, _template((), (), None), group="", selector=None),
    Kind("PodTemplate", "", ("v1",), _template((), ("template",), None), Struct("PodTemplate", {**_HEAD, "template": POD_TEMPLATE})),
    _workload("ReplicationController", _REPLICATION_CONTROLLER, _template(), group="", selector="map"),
    _workload("Deployment", _DEPLOYMENT, _template(added_labels.DEPLOYMENT), removed=_BEFORE_1_16),
    _workload("StatefulSet", _STATEFUL_SET, _template(added_labels.STATEFUL_SET), removed=_BEFORE_1_16),
    _workload("DaemonSet", _DAEMON_SET, _template(added_labels.DAEMON_SET, replicas=None), removed=_BEFORE_1_16),
    _workload("ReplicaSet", _REPLICA_SET, _template(), removed=_BEFORE_1_16),
    _workload("Job", _JOB_SPEC, _template(added_labels.JOB, replicas=("spec", "parallelism")), group="batch", selector="job"),
    _workload(
        "CronJob",
        _CRON_JOB,
        _template(added_labels.CRON_JOB, ("spec", "jobTemplate", "spec", "template"), ("spec", "jobTemplate", "spec", "parallelism")),
        group="batch",
        selector="job",
        removed=(("batch/v1beta1", "1.25"), ("batch/v2alpha1", "1.21")),
    ),
    _machine("VirtualMachine", _vm_spec(_VM_TEMPLATE_METADATA, VMI_SPEC), _template(added_labels.VIRT_LAUNCHER, replicas=None)),
    _machine("VirtualMachineInstance", VMI_SPEC, _template(added_labels.VIRT_LAUNCHER, (), None)),
    _machine("VirtualMachineInstanceReplicaSet", _VMIRS, _template(added_labels.VIRT_LAUNCHER), selector="kubevirt"),
    _machine(
        "VirtualMachinePool",
        _VM_POOL,
        _template(added_labels.MACHINE_POOL, ("spec", "virtualMachineTemplate", "spec", "template")),
        group="pool.kubevirt.io",
        versions=("v1beta1", "v1alpha1"),
        selector="kubevirt",
    ),
    _machine("VirtualMachineInstancePreset", _VMI_PRESET, ()),
    # Not workloads, but evidence for the labels that exist and the nodes that pods may use.
    Kind("Node", "", ("v1",), (), None),
    Kind("Namespace", "", ("v1",), (), None),
    Kind("Service", "", ("v1",), (), None),
    Kind("PodDisruptionBudget", "policy", ("v1", "v1beta1"), (), None),
    Kind("NetworkPolicy", "networking.k8s.io", ("v1",), (), None),
    # OpenShift's default node selector, for namespaces that do not set one.
    Kind("Scheduler", "config.openshift.io", (), (), None),
    # How kube-scheduler places pods: a file, or text in a ConfigMap.
    Kind(
        scheduler_fields.NAME,
        scheduler_fields.GROUP,
        ("v1",),
        (),
        ConfigurationType(_CORE.affinity.fields["nodeAffinity"], _CORE.spread),
        removed=_OLD_CONFIGURATIONS,
    ),
    # These set the number of replicas.
    Kind("HorizontalPodAutoscaler", "autoscaling", (), (), None),
    Kind("ScaledObject", "keda.sh", (), (), None),
    # Not workloads either: they affect the pods of virtual machines.
    Kind("KubeVirt", "kubevirt.io", (), (), None, holds_placement=True),
    Kind("HyperConverged", "hco.kubevirt.io", (), (), None, holds_placement=True),
    Kind("VirtualMachineInstancetype", "instancetype.kubevirt.io", (), (), None),
    Kind("VirtualMachineClusterInstancetype", "instancetype.kubevirt.io", (), (), None),
    Kind("VirtualMachinePreference", "instancetype.kubevirt.io", (), (), None),
    Kind("VirtualMachineClusterPreference", "instancetype.kubevirt.io", (), (), None),
    Kind("NetworkAttachmentDefinition", "k8s.cni.cncf.io", (), (), None),
    # Volumes and the claims on them.
    Kind("PersistentVolume", "", ("v1",), (), None),
    Kind("StorageClass", "storage.k8s.io", ("v1", "v1beta1"), (), None),
    Kind("PersistentVolumeClaim", "", ("v1",), (), None),
    Kind("DataVolume", "cdi.kubevirt.io", (), (), None),
    Kind("StorageProfile", "cdi.kubevirt.io", (), (), None),
    # Which pods a descheduler evicts.
    Kind("KubeDescheduler", "operator.openshift.io", (), (), None),
    Kind("DeschedulerPolicy", "descheduler", (), (), None),
    # How virtual machines migrate, and which nodes are drained for maintenance.
    Kind(MIGRATION_POLICY, "migrations.kubevirt.io", ("v1alpha1",), (), _object(MIGRATION_POLICY, _MIGRATION_POLICY)),
    Kind(NODE_MAINTENANCE, "nodemaintenance.medik8s.io", ("v1beta1",), (), _object(NODE_MAINTENANCE, _NODE_MAINTENANCE)),
    Kind(NODE_MAINTENANCE, "nodemaintenance.kubevirt.io", ("v1beta1",), (), _object(NODE_MAINTENANCE, _NODE_MAINTENANCE)),
    # Custom resources that embed a pod template.
    Kind("Rollout", "argoproj.io", (), _template(added_labels.ROLLOUT), None),
    Kind("DeploymentConfig", "apps.openshift.io", (), _template(added_labels.DEPLOYMENT_CONFIG), None),
    Kind("CloneSet", "apps.kruise.io", (), _template(added_labels.CLONE_SET), None),
    Kind("StatefulSet", "apps.kruise.io", (), _template(added_labels.STATEFUL_SET), None),
    Kind("DaemonSet", "apps.kruise.io", (), _template(added_labels.DAEMON_SET, replicas=None), None),
    Kind("Service", "serving.knative.dev", (), _template(added_labels.KNATIVE_SERVICE, replicas=None), None),
    Kind(
        "LeaderWorkerSet",
        "leaderworkerset.x-k8s.io",
        (),
        (
            Template(("spec", "leaderWorkerTemplate", "workerTemplate"), None, added_labels.WORKERS),
            Template(("spec", "leaderWorkerTemplate", "leaderTemplate"), None, added_labels.LEADERS),
        ),
        None,
    ),
    Kind(
        "JobSet",
        "jobset.x-k8s.io",
        (),
        _template(added_labels.JOB_SET, ("spec", "replicatedJobs", EACH, "template", "spec", "template"), None),
        None,
    ),
)

_BY_GROUP: dict[tuple[str, str], Kind] = {(kind.group, kind.name): kind for kind in KINDS}
_OURS = {kind.name: kind for kind in reversed(KINDS) if kind.root is not None}
NAMES: frozenset[str] = frozenset(kind.name for kind in KINDS)

WITHOUT_PODS: frozenset[bytes] = frozenset(
    name.encode()
    for name in (
        "APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "ControllerRevision", "CSIDriver",
        "CSINode", "CustomResourceDefinition", "Endpoints", "EndpointSlice", "Event", "FlowSchema", "HorizontalPodAutoscaler", "Ingress",
        "IngressClass", "Kustomization", "Lease", "LimitRange", "MutatingWebhookConfiguration", "PodSecurityPolicy",
        "PriorityClass", "ResourceQuota", "Role", "RoleBinding", "Secret", "ServiceAccount",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
        "ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate", "Issuer", "ClusterIssuer", "ImageStream", "Route",
        "VirtualService", "DestinationRule", "Gateway", "HTTPRoute",
    )
)  # fmt: skip
"""Common kinds that create no pods, whatever words they contain, so that their content is not searched."""

HOLDERS: dict[tuple[str, str], Path] = {
    ("", "List"): ("items",),
    ("", "Template"): ("objects",),
    ("template.openshift.io", "Template"): ("objects",),
    ("hive.openshift.io", "SyncSet"): ("spec", "resources"),
    ("hive.openshift.io", "SelectorSyncSet"): ("spec", "resources"),
    ("work.open-cluster-management.io", "ManifestWork"): ("spec", "workload", "manifests"),
    ("work.open-cluster-management.io", "ManifestWorkReplicaSet"): ("spec", "manifestWorkTemplate", "workload", "manifests"),
}
"""Kinds whose objects contain complete other objects, with the path of their list (OpenShift, Hive, Open Cluster Management)."""
HOLDER_NAMES: frozenset[str] = frozenset(name for _, name in HOLDERS)
_OUR_GROUPS = frozenset(kind.group for kind in KINDS if kind.root is not None)


RUNTIME_CLASS = ("node.k8s.io", "RuntimeClass")
"""The only kind of Kubernetes itself in the catalogue: its ``scheduling`` is merged into the pods that name the class."""


def is_custom(group: str) -> bool:
    """Return whether an API group is custom, not one of Kubernetes itself."""
    return "." in group and group not in _OF_KUBERNETES


_OF_KUBERNETES = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates", "coordination",
        "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "metrics", "networking", "node", "rbac.authorization",
        "resource", "scheduling", "storage", "storagemigration",
    )
)  # fmt: skip


def custom_kind(api_version: str, name: str, template: Path) -> Kind:
    """Return the kind for a custom resource of the configuration that embeds pod templates at a path, in which ``*`` is each item.

    Only the group of its version matters. The number of pods is the field ``replicas`` next to each template, or in the spec if no ``*`` is
    in the path.
    """
    each = max((index for index, step in enumerate(template) if step == EACH), default=None)
    replicas = REPLICAS if each is None else (*template[: each + 1], "replicas")
    return Kind(name, api_version.rpartition("/")[0], (), (Template(template, replicas),), None)


class TypeMeta(NamedTuple):
    """The kind that apiVersion and kind name; None for a kind that is not one of ``KINDS``.

    ``served`` is False for a group version in which the kind does not exist, ``removed_in`` the Kubernetes version that removed it.
    """

    kind: Kind | None
    served: bool
    removed_in: str | None = None


_NOT_OURS = TypeMeta(None, True)


def is_listed(kind: Kind) -> bool:
    """Return whether a kind is one of ``KINDS`` that is not read as a custom resource, too."""
    return _BY_GROUP.get((kind.group, kind.name)) is kind and not kind.holds_placement


def identify(api_version: object, name: object, custom: dict[tuple[str, str], Kind] | None = None) -> TypeMeta:
    """Identify the kind of an object. The same kind name in another API group or without an apiVersion is another kind.

    ``custom`` adds kinds of custom resources from the configuration, by (group, kind name).
    """
    if type(api_version) is not str or type(name) is not str or (name not in NAMES and not custom):
        return _NOT_OURS
    group, _, version = api_version.rpartition("/")
    kind = _BY_GROUP.get((group, name)) or (custom or {}).get((group, name))
    if kind is not None:
        if not kind.versions or version in kind.versions:
            return TypeMeta(kind, True)
        for old, since in kind.removed:
            if old == api_version:
                return TypeMeta(kind, False, since)
        return TypeMeta(kind, False)
    ours = _OURS.get(name)
    if ours is None:
        return _NOT_OURS
    for old, since in ours.removed:
        if old == api_version:
            return TypeMeta(ours, False, since)
    # "Pod" in apps/v1 is a mistake; "Deployment" in a custom group is a custom kind.
    return TypeMeta(ours, False) if group in _OUR_GROUPS or group == "extensions" else _NOT_OURS


def possible_kinds(api_version: object, name: object) -> tuple[Kind, ...]:
    """Return the workload kinds that an object without apiVersion or kind, or without both, may be; none if it has both."""
    if api_version is None and type(name) is str:
        ours = _OURS.get(name)
        return (ours,) if ours is not None and ours.templates else ()
    if name is None and type(api_version) is str:
        group, _, version = api_version.rpartition("/")
        return tuple(kind for kind in KINDS if kind.root and kind.templates and kind.group == group and version in kind.versions)
    if name is None and api_version is None:
        return tuple(kind for kind in KINDS if kind.root and kind.group in ("apps", "kubevirt.io") and kind.templates)
    return ()


def is_single_machine(kind: str) -> bool:
    """Return whether a workload of a kind is one VM, which no failure of its node spares."""
    return kind in ("VirtualMachine", "VirtualMachineInstance")


def is_scalable(name: str | None, group: str) -> bool:
    """Return whether a kind has a number of replicas, which an autoscaler may set."""
    return (name, group) in _scalable()


@cache
def _scalable() -> frozenset[tuple[str, str]]:
    return frozenset((kind.name, kind.group) for kind in KINDS if any(each.replicas == REPLICAS for each in kind.templates))
