"""LimitRanges: the requests and limits that containers of a namespace get if they have none.

Semantics: SetDefaults_LimitRangeItem (pkg/apis/core/v1/defaults.go) and mergePodResourceRequirements
(plugin/pkg/admission/limitranger/admission.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.yaml.document import list_at, map_at, maps_at
from afflint.yaml.object_fields import api_version_of, kind_of, namespace_of

LIMIT_RANGE = "LimitRange"


class ContainerDefaults(NamedTuple):
    """What a LimitRange sets in the containers of its namespace."""

    namespace: str | None
    requests: dict[str, Any]
    limits: dict[str, Any]


_CONTAINERS = ("containers", "initContainers")


def container_defaults(data: Mapping[str, Any]) -> Iterator[ContainerDefaults]:
    """Yield what a LimitRange sets in containers."""
    if api_version_of(data) != "v1" or kind_of(data) != LIMIT_RANGE:
        return
    for item in maps_at(data, "spec", "limits"):
        if item.get("type") == "Container":
            limits = {**map_at(item, "max"), **map_at(item, "default")}
            requests = {**map_at(item, "min"), **limits, **map_at(item, "defaultRequest")}
            yield ContainerDefaults(namespace_of(data) or None, requests, limits)


def with_defaults(pod: Mapping[str, Any], namespace: str | None, defaults: Iterable[ContainerDefaults]) -> Mapping[str, Any]:
    """Return a pod spec with the requests and limits that its containers get. Pods with resources of their own stay as they are."""
    if pod.get("resources"):
        return pod
    for each in defaults:
        if each.namespace == namespace:
            lists = {field: [_with_defaults(container, each) for container in pod[field]] for field in _CONTAINERS if list_at(pod, field)}
            pod = {**pod, **lists}
    return pod


def _with_defaults(container: Any, defaults: ContainerDefaults) -> Any:
    if not isinstance(container, dict):
        return container
    own = map_at(container, "resources")
    limits, requests = map_at(own, "limits"), map_at(own, "requests")
    # The API server has set absent requests to the limits before.
    missing = {name: amount for name, amount in defaults.requests.items() if name not in limits}
    resources = {**own, "requests": {**missing, **requests}, "limits": {**defaults.limits, **limits}}
    return {**container, "resources": {field: value for field, value in resources.items() if value}}
