"""What admission sees of an object: fields that the API server fills in."""

from typing import Any

import pytest

from afflint.admission.defaults import UID, with_defaults

CONTAINER = {"name": "web", "image": "web:1"}


def deployment(container: dict[str, Any], **pod: Any) -> dict[str, Any]:
    spec = {"containers": [{**CONTAINER, **container}], **pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"spec": spec}}}


def pod_of(data: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = with_defaults(data)["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    "given, filled",
    [
        ({"ports": [{"containerPort": 80}]}, {"ports": [{"containerPort": 80, "protocol": "TCP"}]}),
        (
            {"livenessProbe": {"httpGet": {"port": 80}}},
            {
                "livenessProbe": {
                    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                }
            },
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}}]},
        ),
        ({"imagePullPolicy": None}, {"imagePullPolicy": "IfNotPresent"}),
    ],
)
def test_containers(given: dict[str, Any], filled: dict[str, Any]) -> None:
    container = pod_of(deployment(given))["containers"][0]
    assert {key: container[key] for key in filled} == filled


def test_volumes() -> None:
    volumes = pod_of(deployment({}, volumes=[{"name": "a"}, {"name": "b", "configMap": {"name": "c"}}]))["volumes"]
    assert volumes == [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "c", "defaultMode": 420}}]


def test_a_strategy_without_rolling_updates_gets_no_settings_for_them() -> None:
    data = deployment({})
    assert with_defaults(data)["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}
    data["spec"]["strategy"] = {"type": "Recreate"}
    assert with_defaults(data)["spec"]["strategy"] == {"type": "Recreate"}


def test_what_the_server_sets_on_creation() -> None:
    filled = with_defaults({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [CONTAINER]}})
    assert filled["metadata"] == {"name": "web", "uid": UID, "creationTimestamp": filled["metadata"]["creationTimestamp"], "generation": 1}
    assert filled["status"] == {"phase": "Pending"}
    assert filled["spec"]["enableServiceLinks"] is True


def test_a_job_selects_its_pods_by_its_uid() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": {"containers": [CONTAINER]}}}}
    spec = with_defaults(job)["spec"]
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert spec["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"
    assert spec["podReplacementPolicy"] == "TerminatingOrFailed"


def test_an_object_of_another_kind_stays_as_it_is_but_for_its_metadata() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
    assert {key: value for key, value in with_defaults(config).items() if key != "metadata"} == {
        key: value for key, value in config.items() if key != "metadata"
    }
