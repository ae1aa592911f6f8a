"""Strategic merge patches, as kustomize's library applies them for Kyverno, and apply configurations, as the API server applies them.

Semantics: sigs.k8s.io/kustomize/kyaml/yaml/merge2 with MergeOptionsListPrepend: the items of keyed lists are merged, new items come first,
and all other lists are replaced. For apply configurations ApplyStructuredMergeDiff in
k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go: they may not contain lists and maps that are atomic.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from afflint.mutation.undecided import InapplicableError, UndecidedError

_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "schedulingGates": ("name",),
    "resourceClaims": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "ownerReferences": ("uid",),
}
"""The keys that identify the items of a list in pods, by its field (x-kubernetes-list-map-keys, x-kubernetes-patch-merge-key)."""
_ATOMIC = frozenset(
    ("add", "args", "command", "drop", "envFrom", "labelSelector", "matchExpressions", "matchLabelKeys", "mismatchLabelKeys",
     "namespaceSelector", "nodeSelector", "nodeSelectorTerms", "preferredDuringSchedulingIgnoredDuringExecution", "readinessGates",
     "requiredDuringSchedulingIgnoredDuringExecution", "selector", "supplementalGroups", "sysctls", "tolerations")
)  # fmt: skip
"""Fields of workloads with a list or a map that is atomic (x-kubernetes-list-type, x-kubernetes-map-type)."""
_SETS = frozenset(("finalizers",))
_DIRECTIVE = "$patch"


def applied(data: Any, configuration: Any) -> Any:
    """Return ``data`` with an apply configuration; neither is changed.

    Raises InapplicableError if the API server rejects the configuration, and UndecidedError for a list whose kind of merge is unknown.
    """
    for path, field in _lists_and_atomics(configuration, ""):
        if field in _ATOMIC:
            raise InapplicableError(f"an apply configuration may not change `{path}`, which is atomic")
        raise UndecidedError(f"afflint does not know how the API server merges the list `{path}`")
    return merged(data, configuration)


def _lists_and_atomics(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the paths and names of the fields below a value that are atomic, and of the lists that are neither keyed nor sets."""
    if isinstance(value, list):
        for each in value:
            yield from _lists_and_atomics(each, path)
    elif isinstance(value, dict):
        for field, each in value.items():
            below = f"{path}.{field}".removeprefix(".")
            if isinstance(each, dict | list) and (
                field in _ATOMIC or (isinstance(each, list) and field not in _KEYS and field not in _SETS)
            ):
                yield below, field
            elif field not in _MAPS_OF_TEXTS:
                yield from _lists_and_atomics(each, below)


_MAPS_OF_TEXTS = frozenset(("labels", "annotations"))


def merged(data: Any, patch: Any, field: str = "") -> Any:
    """Return ``data`` with a patch; neither is changed. ``field`` is the name of the field with this value."""
    if isinstance(patch, dict):
        return _merged_map(data, patch)
    if isinstance(patch, list) and isinstance(data, list) and field in _KEYS:
        return _merged_list(data, patch, _KEYS[field])
    if isinstance(patch, list) and isinstance(data, list) and field in _SETS:
        return [*data, *(each for each in patch if each not in data)]
    return deepcopy(patch)


def _merged_map(data: Any, patch: dict[str, Any]) -> Any:
    directive = patch.get(_DIRECTIVE)
    own = {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return None
    if directive == "replace" or not isinstance(data, dict):
        return deepcopy(own)
    result = dict(data)
    for key, value in own.items():
        below = None if value is None else merged(data.get(key), value, key)
        if below is None:
            result.pop(key, None)
        else:
            result[key] = below
    return result


def _merged_list(data: list[Any], patch: list[Any], keys: tuple[str, ...]) -> list[Any]:
    """Return a list with the items of a patch. An item is the one with the same values of those keys that both have."""
    result, new = list(data), []
    for item in patch:
        number = next((number for number, each in enumerate(result) if _is_same(each, item, keys)), None)
        if number is not None:
            below = merged(result[number], item)
            result[number : number + 1] = [] if below is None else [below]
        elif not (isinstance(item, dict) and item.get(_DIRECTIVE) == "delete"):
            new.append(deepcopy(item))
    return [*new, *result]


def _is_same(one: Any, other: Any, keys: tuple[str, ...]) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)) or keys[0] not in one:
        return False
    return all(one.get(key) == other.get(key) for key in keys if key == keys[0] or (key in one and key in other))
