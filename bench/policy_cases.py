"""Deployments, and policies for them: one with each built-in check, and the same policy in CEL for afflint, Gatekeeper and Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.workloads import File
from bench.yaml_text import yaml_text

Data = dict[str, Any]

MANIFESTS, GATEKEEPER, ADMISSION = "manifests", "gatekeeper", "admission"
WITHOUT = "without"
"""The configuration without a policy."""

_FILES, _NAMESPACES = 20, 10
_VIOLATING = 3
"""The Deployments of each twenty that violate the policies."""

_LABEL = "team"
_ZONE = "topology.kubernetes.io/zone"
_TAINT = {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
_READS = "'{label}' in {object}.metadata.?labels.orValue({{}})"

BUILT_IN: dict[str, Data] = {
    "allowed-tolerations": {"tolerations": [{"key": "dedicated"}]},
    "allowed-topology-keys": {"keys": [_ZONE]},
    "forbidden-node-labels": {"labels": {"gpu": "*"}},
    "forbidden-tolerations": {"tolerations": [{"key": "other"}]},
    "maximum-weight": {"weight": 60},
    "minimum-replicas": {},
    "no-hard-anti-affinity": {},
    "no-pinning": {},
    "required-autoscaler": {},
    "required-budget": {},
    "required-migratability": {},
    "required-node-constraint": {},
    "required-node-labels": {"labels": {"kubernetes.io/os": ["linux"]}},
    "required-priority-class": {"classes": ["high"]},
    "required-spread": {"topology-key": "kubernetes.io/hostname", "mode": "soft"},
    "required-template-labels": {"labels": {_LABEL: "*"}},
    "required-tolerations": {"tolerations": [_TAINT]},
}
"""The parameters of each check that needs no nodes."""

_EXEMPT = {"required-autoscaler": {"exclude": {"labels": {_LABEL: "*"}}}}
"""The Deployments that meet the other policies, because no Deployment has an autoscaler."""

IN_CEL = ("expression", GATEKEEPER, ADMISSION)
"""The configurations with a policy in CEL, which asks for a label of the object."""


def policy_files(deployments: int) -> Iterator[File]:
    """Yield the Deployments, the policies of Gatekeeper and of the API server, and a configuration for each policy."""
    for number in range(_FILES):
        texts = [yaml_text(_deployment(each)) for each in range(number, deployments, _FILES)]
        yield File(f"{MANIFESTS}/shop-{number:02}.yaml", "---\n".join(texts))
    yield File(f"{MANIFESTS}/budgets.yaml", "---\n".join([yaml_text(_budget(number)) for number in range(_NAMESPACES)]))
    for folder, objects in ((GATEKEEPER, _of_gatekeeper()), (ADMISSION, _of_api_server())):
        yield File(f"{folder}/policy.yaml", "---\n".join(map(yaml_text, objects)))
        yield File(f"{folder}.yaml", yaml_text({"policies": [f"{folder}/*.yaml"]}))
    yield File(f"{WITHOUT}.yaml", "{}\n")
    expression = {"expression": _READS.format(label=_LABEL, object="object")}
    for check, params in (*BUILT_IN.items(), ("expression", expression)):
        policy = {"name": "measured", "check": check, "params": params, **_EXEMPT.get(check, {})}
        yield File(f"{check}.yaml", yaml_text({"policies": [policy]}))


def _deployment(number: int) -> Data:
    violates = number % 20 < _VIOLATING
    own = {"app": f"web-{number:05}"}
    labels = own if violates else {**own, _LABEL: "shop"}
    term = {"labelSelector": {"matchLabels": own}, "topologyKey": _ZONE}
    preferred = {"weight": 100 if violates else 50, "podAffinityTerm": term}
    container = {
        "name": "web",
        "image": "registry.example.com/web:1.4.2",
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
        "resources": {"requests": {"cpu": "250m", "memory": "128Mi"}},
    }
    pod = {
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priorityClassName": "low" if violates else "high",
        "tolerations": [{**_TAINT, "key": "other"} if violates else _TAINT],
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": own["app"], "namespace": f"shop-{number % _NAMESPACES}", "labels": labels},
        "spec": {
            "replicas": 1 if violates else 3,
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _budget(number: int) -> Data:
    """Return a budget for all pods in a namespace that have the label."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "shop", "namespace": f"shop-{number}"},
        "spec": {"maxUnavailable": 1, "selector": {"matchExpressions": [{"key": _LABEL, "operator": "Exists"}]}},
    }


def _of_gatekeeper() -> tuple[Data, ...]:
    source = {"validations": [{"expression": _READS.format(label=_LABEL, object="variables.anyObject"), "message": "no team"}]}
    target = {"target": "admission.k8s.gatekeeper.sh", "code": [{"engine": "K8sNativeValidation", "source": source}]}
    template = {
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": "teamlabel"},
        "spec": {"crd": {"spec": {"names": {"kind": "TeamLabel"}}}, "targets": [target]},
    }
    constraint = {
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": "TeamLabel",
        "metadata": {"name": "team"},
        "spec": {"match": {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]}},
    }
    return template, constraint


def _of_api_server() -> tuple[Data, ...]:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
    validation = {"expression": _READS.format(label=_LABEL, object="object"), "message": "no team"}
    group = "admissionregistration.k8s.io/v1"
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "team-label"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]},
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "team-label"},
        "spec": {"policyName": "team-label", "validationActions": ["Deny"]},
    }
    return policy, binding
