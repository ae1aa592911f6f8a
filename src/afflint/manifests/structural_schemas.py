"""The maps of a custom resource that a CustomResourceDefinition describes, as far as they contain placement constraints or lead to them.

Source: the API server's pruning (apiextensions-apiserver, pkg/apiserver/schema/pruning/algorithm.go). A field that a map does not specify
is dropped, and strict validation rejects it. ``x-kubernetes-preserve-unknown-fields`` keeps the fields that the same map does not specify;
the properties that it specifies are pruned by their own schemas. On a list, it applies to the items. An embedded resource keeps its
``apiVersion``, ``kind`` and ``metadata``.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from afflint.findings.grouping import grouped
from afflint.findings.paths import Path
from afflint.kube.kinds import EACH, part_types
from afflint.kube.shapes import mentions_placement
from afflint.kube.types import ListOf, Struct, Type
from afflint.manifests.catalogue import ConstraintPlace, CustomKind, SchemaMap
from afflint.yaml.document import map_at

PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_META = ("apiVersion", "kind", "metadata")
UNREAD_FIELDS = (
    "env", "envFrom", "valueFrom", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext", "volumeMounts",
    "volumes", "initContainers", "ephemeralContainers", "resources", "projectedVolumeTemplate", "pvcTemplate", "dataSourceRef", "status",
)  # fmt: skip
"""Large fields without placement constraints that are left out when a schema is read, so that it is unknown which maps have them."""


def described_maps(schema: dict[str, Any], places: Iterable[ConstraintPlace], version: str) -> tuple[SchemaMap, ...]:
    """Return the maps of a schema that lead to some places, and the maps in their constraints that differ from those of a pod."""
    found: dict[Path, SchemaMap] = {}
    types = part_types()
    _described(schema, (), ("spec",), version, found)
    for place in places:
        here, kept = _described(schema, (), place.path, version, found)
        path = place.path
        if place.form == "template":
            here, kept = _described(here, path, ("spec",), version, found, kept)
            path = (*path, "spec")
        for field in place.fields:
            value = _properties(here).get(field.name)
            if type(value) is dict:
                for each in _differences(value, types[field.shape], (*path, field.name), version):
                    found[each.path] = each
        for name, value in _properties(here).items():
            if type(value) is dict and value.get(PRESERVES) is True and mentions_placement(name.encode()):
                found.setdefault((*path, name), _map(value, (*path, name), version))
    return tuple(found.values())


def _described(schema: Any, base: Path, steps: Path, version: str, found: dict[Path, SchemaMap], kept: bool = False) -> tuple[Any, bool]:
    """Add the maps from ``base`` along some steps to ``found``; return the last schema, and whether a list around it keeps fields."""
    here, path = schema, base
    for step in (*steps, None):
        if type(here) is not dict:
            return {}, False
        if step == EACH:
            is_list = type(here.get("items")) is dict
            kept = is_list and (kept or here.get(PRESERVES) is True)
            here = here["items"] if is_list else here.get("additionalProperties")
        else:
            if _properties(here) or type(here.get("additionalProperties")) is not dict:
                found.setdefault(path, _map(here, path, version, kept=kept))
            if step is None:
                break
            here, kept = _properties(here).get(str(step)), False
        path = (*path, step)
    return here, kept


def _map(schema: dict[str, Any], path: Path, version: str, *, kept: bool = False) -> SchemaMap:
    names = (*_properties(schema), *(_META if schema.get(_EMBEDDED) is True or not path else ()))
    return SchemaMap(version, path, tuple(sorted({*names}.difference(UNREAD_FIELDS))), kept or schema.get(PRESERVES) is True)


def _differences(schema: dict[str, Any], type_: Type, path: Path, version: str, *, kept: bool = False) -> Iterator[SchemaMap]:
    """Yield the maps at and below a constraint whose fields are not exactly those of the API of Kubernetes."""
    if isinstance(type_, ListOf):
        items = schema.get("items")
        if type(items) is dict:
            yield from _differences(items, type_.item, (*path, EACH), version, kept=kept or schema.get(PRESERVES) is True)
    elif isinstance(type_, Struct):
        properties, own = _properties(schema), _map(schema, path, version, kept=kept)
        if own.keeps or set(properties) != type_.fields.keys():
            yield own
        for name, field in type_.fields.items():
            if type(properties.get(name)) is dict:
                yield from _differences(properties[name], field, (*path, name), version)


def with_definition(known: CustomKind, defined: CustomKind) -> CustomKind:
    """Return a kind of the catalogue with the maps of its definition, and with the places that only the definition has."""
    by_path = grouped((place.path, place) for place in known.places)
    selects_pods = all(place.pods for place in known.places)
    added = []
    for place in defined.places:
        around = [each for length in range(len(place.path) + 1) for each in by_path.get(place.path[:length], ())]
        if any(each.form != "fields" for each in around) or (*place.path, "spec") in by_path or place.form == "opaque":
            continue
        same = by_path.get(place.path, [])
        names = {field.name for each in same for field in each.fields}
        fields = tuple([field for field in place.fields if field.name not in names])
        if fields and not (same and place.form == "template"):
            first = same[0] if same else place._replace(pods=selects_pods)
            added.append(first._replace(form=place.form, fields=fields, versions=place.versions))
    return known._replace(places=(*known.places, *added), lenient=defined.lenient, maps=defined.maps)


def merged_maps(copies: Iterable[tuple[SchemaMap, ...]]) -> tuple[SchemaMap, ...]:
    """Return the maps that all copies of a definition describe: each with the fields of all copies, because one copy may be old.

    A map that only some copies describe counts only if the others certainly drop it.
    """
    merged: dict[tuple[str, Path], SchemaMap] = {}
    for copy in copies:
        other = {(each.version, each.path): each for each in copy}
        versions = {each.version for each in copy}.intersection(version for version, _ in merged)
        joined = {
            key: _joined(merged.get(key), other.get(key))
            for key in (*merged, *(key for key in other if key not in merged))
            if key[0] not in versions or (_may_merge(key, merged) and _may_merge(key, other))
        }
        merged = joined
    return tuple(merged.values())


def _may_merge(key: tuple[str, Path], copy: dict[tuple[str, Path], SchemaMap]) -> bool:
    """Return whether a copy describes a map, or drops it."""
    version, path = key
    for length in range(len(path), -1, -1):
        around = copy.get((version, path[:length]))
        if around is not None:
            return length == len(path) or not (around.keeps or path[length] in around.names)
    return False


def _joined(one: SchemaMap | None, other: SchemaMap | None) -> SchemaMap:
    if one is None or other is None:
        known = one or other
        assert known is not None
        return known
    return one._replace(names=tuple(sorted({*one.names, *other.names})), keeps=one.keeps or other.keeps)


def _properties(schema: Any) -> dict[str, Any]:
    return map_at(schema, "properties")
