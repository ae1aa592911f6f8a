"""The defaults that the API server sets before admission, in apps/v1, batch/v1, core/v1 and autoscaling/v2.

After SetDefaults in k8s.io/kubernetes/pkg/apis/{apps,batch,core,autoscaling} and PrepareForCreate in pkg/registry, limited to the fields
that policies commonly read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import api_version_of, kind_of, metadata_of

Object = dict[str, Any]

UID = "00000000-0000-4000-8000-000000000000"
"""A fixed UID in place of the one that the API server generates."""
_CREATED = "2000-01-01T00:00:00Z"


class _Shape(NamedTuple):
    """The defaults of a map: fields with values, shapes of the values of fields, and defaults that depend on other fields."""

    fields: Mapping[str, Any] = {}
    below: Mapping[str, _Shape] = {}
    """The shapes of fields; for a list, of its items."""
    more: Callable[[Object], Object] | None = None
    """Return further fields for a map with all other defaults."""

    def filled(self, data: Any) -> Any:
        """Return a copy of the data with all defaults."""
        if isinstance(data, list):
            return [self.filled(each) for each in data]
        if not isinstance(data, dict):
            return data
        result = {**self.fields, **({key: each for key, each in data.items() if each is not None} if None in data.values() else data)}
        if self.more is not None:
            result.update(self.more(result))
        for field, shape in self.below.items():
            if field in result:
                result[field] = shape.filled(result[field])
        return result


def _choice(field: str, value: str, fields: Mapping[str, Any]) -> Callable[[Object], Object]:
    """Return the defaults of a strategy: its type and, only for that type, the fields of the map named after it."""
    inner = value[0].lower() + value[1:]

    def more(data: Object) -> Object:
        chosen = {"type": value, **map_at(data, field)}
        if chosen["type"] == value:
            chosen[inner] = {**fields, **map_at(chosen, inner)}
        return {field: chosen}

    return more


# Pods.


def _image_policy(container: Object) -> Object:
    image = container.get("image")
    name = image.rpartition("/")[2] if isinstance(image, str) else ""
    tagged = "@" in name or (":" in name and not name.endswith(":latest"))
    return {} if "imagePullPolicy" in container else {"imagePullPolicy": "IfNotPresent" if tagged else "Always"}


_HTTP = _Shape({"path": "/", "scheme": "HTTP"})
_HANDLER = _Shape(below={"httpGet": _HTTP})
_PROBE = _Shape(
    {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    {"httpGet": _HTTP, "grpc": _Shape({"service": ""})},
)
_FIELD_REF = _Shape(below={"fieldRef": _Shape({"apiVersion": "v1"})})
_CONTAINER = _Shape(
    {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {}},
    {
        "ports": _Shape({"protocol": "TCP"}),
        **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
        "lifecycle": _Shape(below={"postStart": _HANDLER, "preStop": _HANDLER}),
        "env": _Shape(below={"valueFrom": _FIELD_REF}),
    },
    _image_policy,
)
_MODE = {"defaultMode": 0o644}
_CLAIM = _Shape(below={"spec": _Shape({"volumeMode": "Filesystem"})})
_DOWNWARD = {"items": _FIELD_REF}
_VOLUME = _Shape(
    below={
        **dict.fromkeys(("secret", "configMap"), _Shape(_MODE)),
        "downwardAPI": _Shape(_MODE, _DOWNWARD),
        "projected": _Shape(
            _MODE,
            {"sources": _Shape(below={"serviceAccountToken": _Shape({"expirationSeconds": 3600}), "downwardAPI": _Shape(below=_DOWNWARD)})},
        ),
        "hostPath": _Shape({"type": ""}),
        "iscsi": _Shape({"iscsiInterface": "default"}),
        "rbd": _Shape({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
        "azureDisk": _Shape({"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False}),
        "scaleIO": _Shape({"storageMode": "ThinProvisioned", "fsType": "xfs"}),
        "ephemeral": _Shape(below={"volumeClaimTemplate": _CLAIM}),
    },
    more=lambda volume: {"emptyDir": {}} if volume.keys() <= {"name"} else {},
)
_POD_FIELDS = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}
_CONTAINERS = dict.fromkeys(("containers", "initContainers"), _CONTAINER)
_POD = _Shape(_POD_FIELDS, {**_CONTAINERS, "volumes": _VOLUME})
_TEMPLATE = _Shape({"metadata": {}}, {"spec": _POD})


def _requests(container: Object) -> Object:
    """Default the requests of a container to its limits; the API server does this for pods, not for templates."""
    resources = map_at(container, "resources")
    limits = resources.get("limits")
    if not isinstance(limits, dict) or not limits:
        return {}
    return {"resources": {**resources, "requests": {**limits, **map_at(resources, "requests")}}}


def _only_pods(spec: Object) -> Object:
    """Return the defaults that only pods get. The admission plugin ServiceAccount sets the service account."""
    return {
        **{field: _Shape(more=_requests).filled(spec[field]) for field in _CONTAINERS if field in spec},
        **{key: value for key, value in (("enableServiceLinks", True), ("serviceAccountName", "default")) if key not in spec},
    }


# Objects, by group and kind.


def _job(spec: Object) -> Object:
    more: Object = {}
    if "parallelism" not in spec:
        more = {"parallelism": 1, **({} if "completions" in spec else {"completions": 1})}
    if "backoffLimit" not in spec:
        more["backoffLimit"] = 2**31 - 1 if "backoffLimitPerIndex" in spec else 6
    if "podReplacementPolicy" not in spec:
        more["podReplacementPolicy"] = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    return more


def _whole_job(job: Object) -> Object:
    """Add the selector and labels that the API server generates from the UID of a Job, and the labels of its template if it has none."""
    spec, metadata = map_at(job, "spec"), metadata_of(job)
    template = map_at(spec, "template")
    own = metadata_of(template)
    given = map_at(own, "labels")
    labelled = metadata if metadata.get("labels") or not given else {**metadata, "labels": given}
    if spec.get("manualSelector") is True:
        return {"metadata": labelled}
    names = {"controller-uid": UID, "job-name": metadata.get("name", "")}
    labels = {**given, **names, **{f"batch.kubernetes.io/{key}": value for key, value in names.items()}}
    key = "batch.kubernetes.io/controller-uid"
    selector = {**map_at(spec, "selector"), "matchLabels": {**map_at(spec, "selector", "matchLabels"), key: UID}}
    template = {**template, "metadata": {**own, "labels": labels}}
    return {"metadata": labelled, "spec": {**spec, "selector": selector, "template": template}}


def _whole_controller(controller: Object) -> Object:
    spec = map_at(controller, "spec")
    labels = map_at(spec, "template", "metadata").get("labels")
    metadata = metadata_of(controller)
    return {
        "metadata": metadata if metadata.get("labels") or not labels else {**metadata, "labels": labels},
        "spec": spec if spec.get("selector") or not labels else {**spec, "selector": labels},
    }


def _service(spec: Object) -> Object:
    outside = spec.get("type") in ("NodePort", "LoadBalancer")
    more: Object = {} if not outside or "externalTrafficPolicy" in spec else {"externalTrafficPolicy": "Cluster"}
    if spec.get("type") == "LoadBalancer" and "allocateLoadBalancerNodePorts" not in spec:
        more["allocateLoadBalancerNodePorts"] = True
    return more


_REPLICAS = _Shape({"replicas": 1}, {"template": _TEMPLATE})
_SPECS: Mapping[tuple[str, str], _Shape] = {
    ("", "Pod"): _Shape(_POD_FIELDS, _POD.below, _only_pods),
    ("apps", "Deployment"): _Shape(
        {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
        {"template": _TEMPLATE},
        _choice("strategy", "RollingUpdate", {"maxUnavailable": "25%", "maxSurge": "25%"}),
    ),
    ("apps", "StatefulSet"): _Shape(
        {"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10, "persistentVolumeClaimRetentionPolicy": {}},
        {
            "template": _TEMPLATE,
            "volumeClaimTemplates": _CLAIM,
            "persistentVolumeClaimRetentionPolicy": _Shape({"whenDeleted": "Retain", "whenScaled": "Retain"}),
        },
        _choice("updateStrategy", "RollingUpdate", {"partition": 0}),
    ),
    ("apps", "DaemonSet"): _Shape(
        {"revisionHistoryLimit": 10},
        {"template": _TEMPLATE},
        _choice("updateStrategy", "RollingUpdate", {"maxUnavailable": 1, "maxSurge": 0}),
    ),
    ("apps", "ReplicaSet"): _REPLICAS,
    ("", "ReplicationController"): _REPLICAS,
    ("batch", "Job"): _Shape({"completionMode": "NonIndexed", "suspend": False, "manualSelector": False}, {"template": _TEMPLATE}, _job),
    ("batch", "CronJob"): _Shape(
        {"concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
        {"jobTemplate": _Shape({"metadata": {}}, {"spec": _Shape(below={"template": _TEMPLATE})})},
    ),
    ("", "Service"): _Shape(
        {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"},
        {
            "ports": _Shape(
                {"protocol": "TCP"}, more=lambda port: {"targetPort": port["port"]} if "targetPort" not in port and "port" in port else {}
            )
        },
        _service,
    ),
    ("", "PersistentVolumeClaim"): _Shape({"volumeMode": "Filesystem"}),
    ("autoscaling", "HorizontalPodAutoscaler"): _Shape({"minReplicas": 1}),
}
_STATUS: Mapping[tuple[str, str], Object] = {
    ("", "Pod"): {"phase": "Pending"},
    ("apps", "StatefulSet"): {"replicas": 0, "availableReplicas": 0},
    ("apps", "ReplicaSet"): {"replicas": 0},
    ("", "ReplicationController"): {"replicas": 0},
    ("apps", "DaemonSet"): dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0),
    ("", "Service"): {"loadBalancer": {}},
    ("networking.k8s.io", "Ingress"): {"loadBalancer": {}},
    ("", "PersistentVolumeClaim"): {"phase": "Pending"},
    **{(group, kind): {} for group, kind in (("apps", "Deployment"), ("batch", "Job"), ("batch", "CronJob"))},
}
_NUMBERED = frozenset(_STATUS) - {("", "Service"), ("", "PersistentVolumeClaim")}
"""The kinds whose objects have ``metadata.generation``."""
_WHOLE: Mapping[tuple[str, str], _Shape] = {
    ("batch", "Job"): _Shape(more=_whole_job),
    ("", "ReplicationController"): _Shape(more=_whole_controller),
    ("", "PodTemplate"): _Shape(below={"template": _TEMPLATE}),
    ("", "Secret"): _Shape({"type": "Opaque"}),
    # The API server writes these rules also if there are none.
    **{("rbac.authorization.k8s.io", kind): _Shape({"rules": None}) for kind in ("Role", "ClusterRole")},
}


def are_known(data: Object) -> bool:
    """Return whether all defaults of a kind are known, so that a field that is missing here is missing in the cluster, too."""
    group, kind = _group_and_kind(data)
    return (group, kind) in _COMPLETE or ((group, kind) in _STATUS and (group, kind) not in _INCOMPLETE)


_COMPLETE = frozenset((("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "ClusterRole")))
_INCOMPLETE = frozenset((("", "Service"), ("", "PersistentVolumeClaim")))


def with_defaults(data: Object, *, spec: bool = True) -> Object:
    """Return a copy of an object with the defaults that it has during admission; ``spec``: also those in its spec."""
    named = _group_and_kind(data)
    filled = {**data}
    if spec and named in _SPECS:
        filled["spec"] = _SPECS[named].filled(map_at(data, "spec"))
    if named in _WHOLE:
        filled = _WHOLE[named].filled(filled)
    if named in _STATUS:
        filled["status"] = _STATUS[named]
    numbered = {"generation": 1} if named in _NUMBERED else {}
    filled["metadata"] = {**metadata_of(filled), "uid": UID, "creationTimestamp": _CREATED, **numbered}
    return filled


def _group_and_kind(data: Object) -> tuple[str, str]:
    version, kind = api_version_of(data), kind_of(data)
    group = version.rpartition("/")[0] if type(version) is str else ""
    return group, kind if type(kind) is str else ""
