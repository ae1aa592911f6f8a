"""What the API server fills into objects before admission looks at them: the defaults of apps/v1, batch/v1 and core/v1.

After SetDefaults in k8s.io/kubernetes/pkg/apis/{apps,batch,core}/v1/defaults.go; for what policies ask about, not all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.kube.kinds import identify

Object = dict[str, Any]

_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
_SPECS: Mapping[tuple[str, str], Object] = {
    ("apps", "Deployment"): {"replicas": 1, "strategy": _ROLLING, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    ("apps", "StatefulSet"): {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
    },
    ("apps", "DaemonSet"): {
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": 10,
    },
    ("apps", "ReplicaSet"): {"replicas": 1},
    ("", "ReplicationController"): {"replicas": 1},
    ("batch", "Job"): {"backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False},
    ("batch", "CronJob"): {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    ("", "Service"): {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"},
}
_POD: Object = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}
_CONTAINER: Object = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {}}


def with_defaults(data: Object) -> Object:
    """An object as admission sees it: the same with what it leaves out. The object itself stays as it is."""
    version, kind = data.get("apiVersion"), data.get("kind")
    group = version.rpartition("/")[0] if type(version) is str else ""
    known = identify(version, kind).kind
    if known is None or known.kubevirt or known.root is None:
        return data
    filled = data
    spec = _SPECS.get((group, kind)) if type(kind) is str else None
    if spec is not None:
        filled = {**data, "spec": {**spec, **_map(data.get("spec"))}}
        if kind == "Job" and "parallelism" not in filled["spec"]:
            filled["spec"].update({"parallelism": 1, **({} if "completions" in filled["spec"] else {"completions": 1})})
    for template in known.templates:
        filled = _at(filled, template.path)
    if kind == "Pod" and isinstance(filled.get("spec"), dict):
        # The admission plugin ServiceAccount; of the templates of controllers it sees nothing.
        filled = {**filled, "spec": {"serviceAccountName": "default", **filled["spec"]}}
    return filled


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    """The same with the defaults of the pod at a path, if there is one."""
    if not isinstance(value, dict):
        return value
    if not path:
        return {**value, "spec": _pod(value["spec"])} if isinstance(value.get("spec"), dict) else value
    step = path[0]
    return {**value, step: _at(value[step], path[1:])} if step in value else value


def _pod(spec: Object) -> Object:
    filled = {**_POD, **spec}
    for field in ("containers", "initContainers"):
        if isinstance(spec.get(field), list):
            filled[field] = [_container(each) for each in spec[field]]
    return filled


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    image = container.get("image")
    name = image.rpartition("/")[2] if isinstance(image, str) else ""
    tagged = "@" in name or (":" in name and not name.endswith(":latest"))
    return {**_CONTAINER, "imagePullPolicy": "IfNotPresent" if tagged else "Always", **container}


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
