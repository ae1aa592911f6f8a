"""Pods as controllers create them from templates, before admission adds anything."""

from __future__ import annotations

from typing import Any

from afflint.findings.finding import ObjectRef
from afflint.kube.manifests import labels_at
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import metadata_of


def created_pod(owner: ObjectRef, template: dict[str, Any]) -> dict[str, Any]:
    """Return the pod that a controller creates for ``owner`` from a template."""
    own = metadata_of(template)
    metadata: dict[str, Any] = {"annotations": own["annotations"]} if isinstance(own.get("annotations"), dict) else {}
    labels = labels_at(template)
    if labels:
        metadata["labels"] = labels
    if owner.namespace is not None:
        metadata["namespace"] = owner.namespace
    metadata["generateName"] = f"{owner.name or ''}-"
    metadata["ownerReferences"] = [{"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": map_at(template, "spec")}
