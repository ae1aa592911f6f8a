"""Recorded runs of a living control plane, and what `afflint place` says from the state that each of them began with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from afflint import config
from afflint.pipeline.session import Session
from afflint.simulation.inputs import PlaceInputs, PlaceRequest, inputs_of
from afflint.source.sources import Source
from shared_material import SHARED, recorded

Object = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
HASHES = {"r0": "5bd4c8f7c9", "r1": "6f954c79f4", "r2": "7c9f8d6b5d", "r3": "84f7b6c5d4"}


@cache
def recorded_runs() -> tuple[Object, ...]:
    """The recorded cases; none if they are not beside the checkout."""
    path = SHARED / "conformance" / "living_cases.jsonl.gz"
    return tuple(recorded(path)) if path.exists() else ()


def zones_of(nodes: Iterable[Object]) -> dict[str, str]:
    """The zone of each node, or its name where no node has a zone, as the sums of the recording have it."""
    listed = list(nodes)
    labels = {each["metadata"]["name"]: each["metadata"].get("labels", {}).get(ZONE) for each in listed}
    return {name: zone or name for name, zone in labels.items()}


def workload_of(manifests: Iterable[Object], key: str) -> Object:
    """The manifest of ``Deployment/web``."""
    kind, _, name = key.partition("/")
    return next(each for each in manifests if each["kind"] == kind and each["metadata"]["name"] == name)


def pod_object(pod: Mapping[str, Any], manifests: Sequence[Object]) -> Object:
    """A running pod as the API server stores it, from the recorded line of a snapshot."""
    kind, _, name = pod["workload"].partition("/") if pod.get("workload") else ("Pod", "", pod["pod"])
    owner = workload_of(manifests, f"{kind}/{name}") if kind != "Pod" else workload_of(manifests, f"Pod/{pod['pod']}")
    template = owner if kind == "Pod" else owner["spec"]["template"]
    metadata: Object = {"name": pod["pod"], "namespace": "shop", "labels": dict(template["metadata"].get("labels", {}))}
    spec = json.loads(json.dumps(template["spec"]))
    hashed = pod["pod"].rsplit("-", 2)[-2] if kind == "Deployment" else HASHES.get(pod.get("rev", "r0"), "5bd4c8f7c9")
    references: Object = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True, "uid": f"uid-{name}"}
    if kind == "Deployment":
        metadata["labels"]["pod-template-hash"] = hashed
        references = {**references, "kind": "ReplicaSet", "name": f"{name}-{hashed}"}
    elif kind == "Job":
        references["apiVersion"] = "batch/v1"
        metadata["labels"].update({"job-name": name, "batch.kubernetes.io/job-name": name})
    if kind != "Pod":
        metadata["ownerReferences"] = [references]
    if pod.get("terminating"):
        metadata["deletionTimestamp"] = "2026-11-22T00:00:00Z"
    for constraint in spec.get("topologySpreadConstraints", []):
        _merge_label_keys(constraint, metadata["labels"])
    for terms in [each for part in ("podAffinity", "podAntiAffinity") for each in [spec.get("affinity", {}).get(part)] if each]:
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution", []):
            _merge_label_keys(term, metadata["labels"])
    if pod.get("node"):
        spec["nodeName"] = pod["node"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Running" if pod.get("node") else "Pending"},
    }


def _merge_label_keys(constraint: Object, labels: Mapping[str, str]) -> None:
    """What the API server does with matchLabelKeys of a pod."""
    merged = [{"key": key, "operator": "In", "values": [labels[key]]} for key in constraint.get("matchLabelKeys", []) if key in labels]
    if merged:
        selector = constraint.setdefault("labelSelector", {})
        selector["matchExpressions"] = [*selector.get("matchExpressions", []), *merged]


def patched(manifests: Iterable[Object], key: str, patch: Object) -> list[Object]:
    """The manifests with a merge patch of one workload."""

    def merged(value: Any, change: Any) -> Any:
        if not (isinstance(value, dict) and isinstance(change, dict)):
            return change
        return {**value, **{field: merged(value.get(field, {}), part) for field, part in change.items()}}

    return [merged(each, patch) if f"{each['kind']}/{each['metadata']['name']}" == key else each for each in manifests]


def inputs(
    nodes: Sequence[Object],
    manifests: Sequence[Object],
    pods: Iterable[Mapping[str, Any]],
    *,
    resources: bool = True,
    before: Sequence[Object] | None = None,
) -> PlaceInputs:
    """The input of `afflint place` for nodes and manifests with these recorded pods running.

    ``before`` are the manifests that the pods were created from, if these are others.
    """
    running = [pod_object(each, manifests if before is None else before) for each in pods if each.get("node")]
    with TemporaryDirectory() as folder:
        file = Path(folder, "cluster.json")
        objects = [*nodes, *[each for each in manifests if each["kind"] != "Pod"], *running]
        bare = [
            each
            for each in manifests
            if each["kind"] == "Pod" and not any(each["metadata"]["name"] == pod["metadata"]["name"] for pod in running)
        ]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, *bare]}))
        session = Session(config.default())
        return inputs_of(session, [Source(str(file), str(file))], [str(file)], PlaceRequest(resources=resources))
