"""LimitRanges: the requests and limits that containers of a namespace get if they have none.

Semantics: SetDefaults_LimitRangeItem (pkg/apis/core/v1/defaults.go) and mergePodResourceRequirements
(plugin/pkg/admission/limitranger/admission.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import list_at, map_at

LIMIT_RANGE = "LimitRange"


class ContainerDefaults(NamedTuple):
    """What a LimitRange sets in the containers of its namespace. ``policy`` is its name."""

    policy: str
    namespace: str | None
    requests: dict[str, Any]
    limits: dict[str, Any]
    only_first: bool = False
    reinvoked: bool = True

    def kinds(self) -> frozenset[str]:
        """Return the kinds of the objects that it changes."""
        return frozenset(("Pod",))

    def changed(self, data: dict[str, Any], _namespace_labels: Mapping[str, str] | None, namespace: str | None) -> dict[str, Any]:
        """Return a pod with the requests and limits that its containers get. Pods with resources of their own stay as they are."""
        spec = map_at(data, "spec")
        if namespace != self.namespace or spec.get("resources"):
            return data
        lists = {field: [self._with_defaults(each) for each in spec[field]] for field in _CONTAINERS if list_at(spec, field)}
        return {**data, "spec": {**spec, **lists}}

    def _with_defaults(self, container: Any) -> Any:
        if not isinstance(container, dict):
            return container
        own = map_at(container, "resources")
        limits, requests = map_at(own, "limits"), map_at(own, "requests")
        # The API server has set absent requests to the limits before.
        missing = {name: amount for name, amount in self.requests.items() if name not in limits}
        resources = {**own, "requests": {**missing, **requests}, "limits": {**self.limits, **limits}}
        return {**container, "resources": {field: value for field, value in resources.items() if value}}


_CONTAINERS = ("containers", "initContainers")


def container_defaults(data: dict[str, Any]) -> Iterator[ContainerDefaults]:
    """Yield what a LimitRange sets in containers."""
    metadata = map_at(data, "metadata")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if data.get("apiVersion") != "v1" or data.get("kind") != LIMIT_RANGE or not isinstance(name, str):
        return
    for item in list_at(map_at(data, "spec"), "limits"):
        if isinstance(item, dict) and item.get("type") == "Container":
            limits = {**map_at(item, "max"), **map_at(item, "default")}
            requests = {**map_at(item, "min"), **limits, **map_at(item, "defaultRequest")}
            yield ContainerDefaults(name, namespace if isinstance(namespace, str) else None, requests, limits)
