"""Placement constraints recognised by their shape in data without a known schema: custom resources, chart values.

A value counts only if its own form identifies it: field names alone mean other things elsewhere (session affinity, label selectors of
nodes, Percona's and CloudNativePG's own ``affinity``). Values with another shape are ignored.
"""

from collections.abc import Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import PREFERRED, REQUIRED, ShapedValue

AFFINITY_FIELDS = frozenset(("nodeAffinity", "podAffinity", "podAntiAffinity"))
"""The fields of an affinity."""


class Holder(NamedTuple):
    """A map at ``path`` with some placement fields of the same pods. ``is_pod_spec``: it has containers, too."""

    path: Path
    parts: tuple[ShapedValue, ...]
    is_pod_spec: bool = False


def mentions_placement(text: bytes) -> bool:
    """Return whether a text may contain a constraint: a fast search for words that every constraint contains."""
    return any(map(text.__contains__, _WORDS))


_WORDS = (b"ffinity", b"oleration", b"oleRation", b"odeSelector", b"SpreadConstraints", b"topologyKey")


def holders_in(
    value: Any, path: Path, passing: frozenset[Path] = frozenset(), manifests: list[tuple[dict[str, Any], Path]] | None = None
) -> Iterator[Holder]:
    """Yield the maps in ``value`` with placement constraints, recognised by the shape of their values.

    ``path`` is the path of ``value``. Values at and below the paths of ``passing`` are known already and skipped, and so are ``status`` and
    ``metadata``. Complete objects are not searched; those in a field in which policies and templates contain objects are added to
    ``manifests``.
    """
    # A map that contains a recognised constraint is not a constraint itself.
    above = frozenset(each[:length] for each in passing for length in range(len(path), len(each)))
    waiting: list[tuple[Any, Path]] = [(value, path)]
    while waiting:
        here, at = waiting.pop()
        if type(here) is list:
            waiting += [(each, (*at, index)) for index, each in reversed([*enumerate(here)]) if type(each) is dict or type(each) is list]
            continue
        if type(here) is not dict or at in passing:
            continue
        if at != path and _is_manifest(here):
            if manifests is not None and next((step for step in reversed(at) if type(step) is str), "") in _FIELDS_WITH_MANIFESTS:
                manifests.append((here, at))
            continue
        parts: list[ShapedValue] = []
        below: list[tuple[Any, Path]] = []
        for key, each in here.items():
            if type(each) is not dict and type(each) is not list:
                continue
            to = (*at, key)
            if to in passing or key in ("status", "metadata"):
                continue
            shape = shape_of(key, each) if to not in above else None
            if shape is None:
                below.append((each, to))
            else:
                parts.append(ShapedValue(shape, to, each))
        if parts:
            yield from _group_by_pods(at, parts, is_pod_spec=is_pod_spec(here))
        waiting += reversed(below)


_FIELDS_WITH_MANIFESTS = frozenset(("objectDefinition", "objects", "manifest", "manifests", "resources", "resourceTemplates", "template"))


def _is_manifest(value: dict[str, Any]) -> bool:
    return (
        type(value.get("apiVersion")) is str
        and type(value.get("kind")) is str
        and (type(value.get("metadata")) is dict or type(value.get("spec")) is dict)
    )


def is_pod_spec(value: dict[str, Any]) -> bool:
    """Return whether a map is a pod spec: it lists containers."""
    containers = value.get("containers")
    return (
        type(containers) is list
        and bool(containers)
        and all(type(each) is dict and ("name" in each or "image" in each) for each in containers)
    )


def shape_of(key: object, value: Any) -> str | None:
    """Return the shape of the value of a field with this name, or None if it is not a placement field or means something else."""
    if type(key) is not str or not value:
        return None
    if type(value) is dict:
        if key == "nodeSelector" or key.endswith("NodeSelector"):
            return "nodeSelector" if all(type(each) in _SCALARS for each in value.values()) else None
        if AFFINITY_FIELDS.issuperset(value):
            return "affinity" if key != "spec" and any(type(each) is dict for each in value.values()) else None
        return _one_affinity(key, value)
    if type(value) is list and all(type(each) is dict for each in value):
        if (key.lower().endswith("tolerations") or key == "toleration") and all(each and each.keys() <= _OF_TOLERATIONS for each in value):
            return "tolerations"
        if all("topologyKey" in each and "whenUnsatisfiable" in each for each in value):
            return "topologySpreadConstraints"
        if key.endswith("opologySpreadConstraints") and all(not _OF_SPREADS.isdisjoint(each) for each in value):
            return "topologySpreadConstraints"
    return None


_SCALARS = (str, int, float, bool, type(None))
_OF_TOLERATIONS = frozenset(("key", "operator", "value", "effect", "tolerationSeconds"))
_OF_SPREADS = frozenset(("maxSkew", "topologyKey", "whenUnsatisfiable"))
_OF_POD_TERMS = frozenset(("topologyKey", "labelSelector", "namespaces", "namespaceSelector", "podAffinityTerm"))


def _one_affinity(key: str, value: dict[str, Any]) -> str | None:
    """Distinguish node and pod affinity by the required and preferred terms."""
    if not value.keys() <= {REQUIRED, PREFERRED}:
        return None
    required, preferred = value.get(REQUIRED), value.get(PREFERRED)
    weighted = [each for each in preferred if type(each) is dict] if type(preferred) is list else []
    if type(required) is dict and "nodeSelectorTerms" in required:
        return "nodeAffinity"
    if any("preference" in each for each in weighted):
        return "nodeAffinity"
    listed = type(required) is list and bool(required)
    if (listed and all(type(each) is dict and not _OF_POD_TERMS.isdisjoint(each) for each in required or ())) or any(
        "podAffinityTerm" in each for each in weighted
    ):
        return "podAntiAffinity" if "anti" in key.lower() else "podAffinity"
    return None


def _group_by_pods(at: Path, parts: list[ShapedValue], *, is_pod_spec: bool) -> Iterator[Holder]:
    """Group the parts of one map by the pods they apply to: ``redisTolerations`` do not belong to ``memcachedTolerations``."""
    groups: dict[str, list[ShapedValue]] = {}
    for part in parts:
        name = str(part.path[-1])
        stem = name[: -len(part.shape)] if name.lower().endswith(part.shape.lower()) else name if name not in _STEMLESS else ""
        groups.setdefault(stem, []).append(part)
    for group in groups.values():
        seen: dict[str, ShapedValue] = {}
        for part in group:
            if part.shape in seen:
                yield Holder(at, (part,))
            else:
                seen[part.shape] = part
        yield Holder(at, tuple(seen.values()), is_pod_spec)


_STEMLESS = ("toleration",)
