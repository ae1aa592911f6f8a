"""Strategic merge patches, as kustomize's library applies them for Kyverno.

Semantics: sigs.k8s.io/kustomize/kyaml/yaml/merge2 with MergeOptionsListPrepend: the items of keyed lists are merged, new items come first,
and all other lists are replaced.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

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
_DIRECTIVE = "$patch"


def merged(data: Any, patch: Any, field: str = "") -> Any:
    """Return ``data`` with a patch; neither is changed. ``field`` is the name of the field with this value."""
    if isinstance(patch, dict):
        return _merged_map(data, patch)
    if isinstance(patch, list) and isinstance(data, list) and field in _KEYS:
        return _merged_list(data, patch, _KEYS[field])
    if isinstance(patch, list) and isinstance(data, list) and field == "finalizers":
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
