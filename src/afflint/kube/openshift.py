"""Which objects are for OpenShift, whose control planes still have the label and the taint of masters."""

from __future__ import annotations

from afflint.kube.manifests import Manifest
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import metadata_of

_SUGGESTED_NAMESPACE = "operatorframework.io/suggested-namespace"
_GROUPS = ("operators.coreos.com", "nmstate.io")
"""API groups without ``openshift`` in their name that hardly exist outside OpenShift."""


def is_for_openshift(manifest: Manifest) -> bool:
    """Return whether an object is for OpenShift, by its API group, its name or its namespace."""
    metadata = metadata_of(manifest.data)
    names = (metadata.get("name"), metadata.get("namespace"), map_at(metadata, "annotations").get(_SUGGESTED_NAMESPACE))
    group = manifest.kind.group
    return group.endswith(".openshift.io") or group in _GROUPS or any(type(name) is str and "openshift" in name for name in names)
