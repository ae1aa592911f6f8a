"""Objects that hold whole other objects are taken apart: Lists in Lists, and what OpenShift, Hive and Open Cluster Management wrap up."""

import json
from typing import Any

import pytest

from afflint.pipeline.map_step import Checker, FileResult, default_settings

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"nodeSelector": {"ssd": True}, "containers": []}}
LIST = {"apiVersion": "v1", "kind": "List"}

HOLDERS = [
    {**LIST, "items": [POD]},
    {**LIST, "items": [{"kind": "ConfigMap"}, {**LIST, "items": [{**LIST, "items": [POD]}]}]},
    {**LIST, "items": [{"apiVersion": "v1", "kind": "PodList", "items": [{key: POD[key] for key in ("metadata", "spec")}]}]},
    {"apiVersion": "template.openshift.io/v1", "kind": "Template", "objects": [POD], "parameters": [{"name": "X"}]},
    {"apiVersion": "v1", "kind": "Template", "objects": [POD]},
    {"apiVersion": "hive.openshift.io/v1", "kind": "SelectorSyncSet", "spec": {"resources": [POD], "clusterDeploymentSelector": {}}},
    {"apiVersion": "hive.openshift.io/v1", "kind": "SyncSet", "spec": {"resources": [{**LIST, "items": [POD]}]}},
    {"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "spec": {"workload": {"manifests": [POD]}}},
    {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "spec": {"manifestWorkTemplate": {"workload": {"manifests": [POD]}}},
    },
]


def checked(data: Any) -> FileResult:
    return Checker(default_settings()).check("a.json", json.dumps(data, indent=1).encode())


@pytest.mark.parametrize("data", HOLDERS, ids=[f"{each['kind']}-{number}" for number, each in enumerate(HOLDERS)])
def test_contained_objects_are_checked_in_place(data: dict[str, Any]) -> None:
    (found,) = checked(data).found
    line = json.dumps(data, indent=1).split("\n")[found.span.line - 1]
    assert (found.rule, found.field, found.object.name) == ("wrong-type", "spec.nodeSelector.ssd", "web")
    assert line.strip() == '"ssd": true'


@pytest.mark.parametrize(
    "data",
    [
        {"apiVersion": "example.com/v1", "kind": "Template", "things": [POD]},
        {"apiVersion": "v1", "kind": "Template", "objects": {"a": POD}},
        {"apiVersion": "v1", "kind": "Template", "objects": [None, "Pod", [POD]]},
        {"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "spec": {"workload": [POD]}},
        {"apiVersion": 1, "kind": "SyncSet", "spec": {"resources": [POD]}},
    ],
)
def test_what_is_held_by_nothing_known_is_left_alone(data: dict[str, Any]) -> None:
    assert checked(data).found == ()


def test_parameters_of_a_template_are_placeholders() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "${NAME}"},
        "spec": {
            "replicas": "${{REPLICAS}}",
            "selector": {"matchLabels": {"app": "${NAME}"}},
            "template": {"metadata": {"labels": {"app": "${NAME}"}}, "spec": {"nodeSelector": {"zone": "${ZONE}"}, "containers": [{}]}},
        },
    }
    assert checked({"apiVersion": "template.openshift.io/v1", "kind": "Template", "objects": [deployment]}).found == ()
