"""Where a kind has placement constraints, derived from its CustomResourceDefinition: the schema shows them by their fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

from afflint.findings.grouping import grouped
from afflint.findings.paths import Path
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.kinds import EACH
from afflint.manifests.catalogue import CatalogueField, ConstraintPlace, CustomKind, SchemaMap
from afflint.manifests.structural_schemas import PRESERVES, UNREAD_FIELDS, described_maps, merged_maps
from afflint.yaml import prefilter
from afflint.yaml.document import map_at
from afflint.yaml.documents import read, split
from afflint.yaml.object_fields import api_version_of, items_of, kind_of

_OF_AFFINITY = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_OF_PODS = ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints")
# Fields without a schema may hold constraints if they have one of these names.
_OPEN_NAMES = re.compile(r"template|podSpec|pod|overrides?|affinity|tolerations", re.IGNORECASE)
# The nearest field above the pods with one of these names is the number of replicas.
_REPLICAS = (
    "replicas", "replicaCount", "size", "count", "instances", "numberOfInstances", "members", "nodes", "nodeCount", "servers",
    "clusterSize",
)  # fmt: skip
_DEEPEST = 40
# Text that no placement field is in: most of a generated schema. Without it the rest is read four times as fast.
_DETAILS = re.compile(
    rb"(?m)^( +)(?:"
    rb"(?:description|deprecationWarning|pattern|format|default|minimum|maximum|message|rule|x-kubernetes-(?:list|map)-type): \S"
    rb"|(?:" + "|".join(UNREAD_FIELDS).encode() + rb"|x-kubernetes-validations|additionalPrinterColumns):$)"
    rb".*\n(?:(?:\1[ -].*)?\n)*"
)
# A schema without any of these has no place for constraints.
_PLACEMENT = re.compile(rb"ffinity|olerations|odeSelector|opologySpreadConstraints|x-kubernetes-preserve-unknown-fields")

Schema = dict[str, Any]


def kinds_defined_in(data: bytes, kinds: Iterable[tuple[str, str]]) -> tuple[CustomKind, ...]:
    """Return what the CustomResourceDefinitions in a file say about some kinds, by group and name; nothing if the file cannot be read."""
    wanted = frozenset(kinds)
    names = grouped((group.encode(), name.encode()) for group, name in wanted)
    found: list[CustomKind] = []
    for piece, line, problem in split(data):
        if problem is not None or b"CustomResourceDefinition" not in piece:
            continue
        # The schema has a property named kind, too, but only the names of the definition have the kind as a value.
        groups = [group for group in names if group in piece]
        if groups and not prefilter.kinds_named(piece).isdisjoint((None, *(name for group in groups for name in names[group]))):
            found += _kinds_in(piece, line)
    return merged_kinds(kind for kind in found if (kind.group, kind.name) in wanted)


_read_before: dict[bytes, tuple[CustomKind, ...]] = {}
_MOST_KEPT = 256


def _kinds_in(piece: bytes, line: int) -> tuple[CustomKind, ...]:
    """Return the kinds that a document defines. Repositories have the same definition several times: in a chart, a bundle and a folder."""
    digest = blake2b(piece, digest_size=16).digest()
    if digest not in _read_before:
        if len(_read_before) >= _MOST_KEPT:
            _read_before.clear()
        _read_before[digest] = tuple(kinds_in_definitions(_definitions(piece, line)).values())
    return _read_before[digest]


def _definitions(piece: bytes, line: int) -> list[Any]:
    if not _PLACEMENT.search(piece):
        return []
    document = read(_DETAILS.sub(b"", piece), 0, line)
    data = document.data if document.problem is None else read(piece, 0, line).data
    return [each for each in (items_of(data) or [data]) if type(each) is dict]


def merged_kinds(kinds: Iterable[CustomKind]) -> tuple[CustomKind, ...]:
    """Return each kind once, with the places from all files: a file that lacks a field does not prove that the field does not exist."""
    found: dict[tuple[str, str], CustomKind] = {}
    for kind in kinds:
        known = found.get((kind.group, kind.name))
        if known is not None:
            kind = kind._replace(
                places=_merged_places((*known.places, *kind.places)),
                lenient=kind.lenient or known.lenient,
                maps=merged_maps((known.maps, kind.maps)),
            )
        found[kind.group, kind.name] = kind
    return tuple([found[name] for name in sorted(found)])


def _merged_places(places: Iterable[ConstraintPlace]) -> tuple[ConstraintPlace, ...]:
    """Return each place once, with all versions that have it."""
    merged: dict[tuple[object, ...], ConstraintPlace] = {}
    for place in places:
        known = merged.get(_identity(place))
        versions = place.versions if known is None else tuple(sorted({*known.versions, *place.versions}))
        merged[_identity(place)] = place._replace(versions=versions)
    return tuple(merged.values())


def kinds_in_definitions(definitions: Iterable[Any]) -> dict[tuple[str, str], CustomKind]:
    """Return the kinds that CustomResourceDefinitions describe, by group and name, with their placement constraints.

    A kind that is defined several times has the places of all definitions: one that lacks a field does not prove that it does not exist.
    """
    found: dict[tuple[str, str], dict[tuple[object, ...], ConstraintPlace]] = {}
    lenient: dict[tuple[str, str], bool] = {}
    copies: dict[tuple[str, str], list[tuple[SchemaMap, ...]]] = {}
    for definition in definitions:
        for group, name, version, schema in _schemas(definition):
            places = found.setdefault((group, name), {})
            in_version = tuple(_places(schema))
            for place in in_version:
                known = places.get(_identity(place))
                versions = () if known is None else known.versions
                places[_identity(place)] = place._replace(versions=tuple(sorted({*versions, version})))
            lenient[group, name] = lenient.get((group, name), False) or _requires_nothing(schema)
            open_root = (SchemaMap(version, (), (), True),)
            maps = open_root if _keeps_all(definition) else described_maps(schema, in_version, version)
            copies.setdefault((group, name), []).append(maps)
    return {
        (group, name): CustomKind(
            name,
            group,
            tuple(places.values()),
            lenient=lenient[group, name],
            known_by="CustomResourceDefinition",
            maps=merged_maps(copies[group, name]),
        )
        for (group, name), places in found.items()
        if places
    }


def _keeps_all(definition: Any) -> bool:
    """Return whether the API server drops no field of a kind; the default before ``apiextensions.k8s.io/v1``."""
    keeps = map_at(definition, "spec").get("preserveUnknownFields")
    return keeps is True or (keeps is None and api_version_of(definition) == "apiextensions.k8s.io/v1beta1")


def _identity(place: ConstraintPlace) -> tuple[object, ...]:
    return place._replace(versions=())


def _schemas(definition: Any) -> Iterator[tuple[str, str, str, Schema]]:
    """Yield group, kind, version and schema of each served version."""
    spec = map_at(definition, "spec")
    group, name = spec.get("group"), kind_of(map_at(spec, "names"))
    versions = spec.get("versions")
    if type(group) is not str or not name:
        return
    for each in versions if type(versions) is list else [{"name": spec.get("version"), "served": True}]:
        schema = map_at(each, "schema", "openAPIV3Schema") or map_at(spec, "validation", "openAPIV3Schema")
        version = each.get("name") if type(each) is dict and each.get("served") is not False else None
        if schema and type(version) is str:
            yield group, name, version, schema


def _places(schema: Schema) -> Iterator[ConstraintPlace]:
    for name, below in _properties(schema).items():
        if name not in ("status", "metadata", "apiVersion", "kind"):
            yield from _walk(below, (name,), (_replica_field(_properties(schema), ()),))


def _walk(schema: Any, path: Path, replicas: tuple[Path | None, ...]) -> Iterator[ConstraintPlace]:
    """Yield the places at and below one value. ``replicas`` are the paths of replica counts in the maps above it, the nearest last."""
    if type(schema) is not dict or len(path) > _DEEPEST:
        return
    if type(schema.get("items")) is dict:
        yield from _walk(schema["items"], (*path, EACH), replicas)
        return
    properties = _properties(schema)
    if not properties:
        if type(schema.get("additionalProperties")) is dict:
            yield from _walk(schema["additionalProperties"], (*path, EACH), replicas)
        elif schema.get(PRESERVES) is True and _OPEN_NAMES.search(str(path[-1])):
            yield ConstraintPlace(path, "opaque", replicas=_nearest(replicas))
        return
    replicas = (*replicas, _replica_field(properties, path))
    template = properties.get("spec")
    if template is not None and _is_pod_spec(_properties(template)) and "metadata" in properties:
        metadata = properties["metadata"]
        pruned = type(metadata) is dict and "labels" not in _properties(metadata) and metadata.get(PRESERVES) is not True
        yield ConstraintPlace(path, "template", _fields(_properties(template)), _nearest(replicas), pruned)
        return
    fields = _fields(properties)
    if fields:
        yield ConstraintPlace(path, "fields", fields, _nearest(replicas))
    known = {field.name for field in fields}
    for name, below in properties.items():
        if name not in known:
            yield from _walk(below, (*path, name), replicas)


def _is_pod_spec(properties: Schema) -> bool:
    return "containers" in properties and sum(name in properties for name in _OF_PODS) > 1


def _fields(properties: Schema) -> tuple[CatalogueField, ...]:
    """Return the properties that have the shape of a placement field."""
    found = [(name, _shape(name, each)) for name, each in properties.items() if type(each) is dict]
    return tuple([CatalogueField(name, shape) for name, shape in found if shape is not None])


def _shape(name: str, schema: Schema) -> str | None:
    properties = _properties(schema)
    if properties:
        return _shape_of_map(name, properties)
    items = schema.get("items")
    if type(items) is dict:
        of_items = _properties(items)
        if {"key", "operator", "effect"} <= of_items.keys():
            return "tolerations"
        return "topologySpreadConstraints" if {"maxSkew", "topologyKey", "whenUnsatisfiable"} <= of_items.keys() else None
    if name == "nodeSelector" or name.endswith("NodeSelector"):
        values = schema.get("additionalProperties")
        return "nodeSelector" if values is True or (type(values) is dict and values.get("type") == "string") else None
    return None


def _shape_of_map(name: str, properties: Schema) -> str | None:
    if all(each in properties for each in _OF_AFFINITY):
        is_holder = any(each in properties for each in ("tolerations", "nodeSelector", "topologySpreadConstraints", "containers"))
        parts = [_properties(properties[each]) for each in _OF_AFFINITY]
        return "affinity" if not is_holder and all(not part or {REQUIRED, PREFERRED} & part.keys() for part in parts) else None
    if properties.keys() <= {REQUIRED, PREFERRED}:
        return _one_affinity(name, properties)
    return "nodeSelectorTerms" if "nodeSelectorTerms" in properties else None


def _one_affinity(name: str, properties: Schema) -> str | None:
    required, preferred = map_at(properties, REQUIRED), _of_items(map_at(properties, PREFERRED))
    if "nodeSelectorTerms" in _properties(required) or "preference" in preferred:
        return "nodeAffinity"
    if "topologyKey" in _of_items(required) or "podAffinityTerm" in preferred:
        return "podAntiAffinity" if "anti" in name.lower() else "podAffinity"
    return None


def _of_items(schema: Schema) -> Schema:
    return _properties(map_at(schema, "items"))


def _replica_field(properties: Schema, path: Path) -> Path | None:
    """Return the path of the property with the number of pods, or None if the map does not have one."""
    for name in _REPLICAS:
        if map_at(properties, name).get("type") == "integer":
            return (*path, name)
    return None


def _nearest(replicas: tuple[Path | None, ...]) -> Path | None:
    return next((path for path in reversed(replicas) if path is not None), None)


def _requires_nothing(schema: Schema) -> bool:
    """Return whether the weighted terms in a schema have no required fields: some generators make every field optional."""
    waiting: list[Any] = [schema]
    met = False
    while waiting:
        here = waiting.pop()
        if type(here) is list:
            waiting += here
        elif type(here) is dict:
            properties = _properties(here)
            if "weight" in properties and ("preference" in properties or "podAffinityTerm" in properties):
                if here.get("required"):
                    return False
                met = True
            else:
                waiting += here.values()
    return met


def _properties(schema: Any) -> Schema:
    return map_at(schema, "properties")
