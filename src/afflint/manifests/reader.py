"""Reads the objects of a document as manifests: those in lists, in custom resources and in policies one by one."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from afflint.findings.paths import Path
from afflint.kube.kinds import HOLDER_NAMES, HOLDERS, Kind, TypeMeta, identify, possible_kinds
from afflint.kube.types import prune_nulls
from afflint.manifests.manifest import LABELLED, Configured, DefinedKinds, Manifest, Workload, labels_at, maps_at_steps
from afflint.yaml.document import map_at
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import api_version_of, group_of, items_of, kind_of, name_of

if TYPE_CHECKING:
    from afflint.manifests.resource_fields import UnreadKey

_NO_DEFINITIONS: DefinedKinds = {}
# API projects keep round-trip test data in which every string is its field's name and "Value".
_GENERATED_NAME = "nameValue"


def manifests_in(document: Document, custom: Configured | None = None, defined: DefinedKinds = _NO_DEFINITIONS) -> Iterator[Manifest]:
    """Yield the objects of a document that afflint reads, those in Lists, typed lists and other containers one by one."""
    for data, base in objects_in(document):
        yield from _manifests_of(document, data, base, custom, defined)


def objects_in(document: Document) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield all objects of a document with their paths, those in Lists and other containers one by one."""
    if type(document.data) is dict:
        yield from _objects_below(document.data, ())


def _objects_below(data: dict[str, Any], base: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    held = _contained_objects(data)
    if held is None:
        yield data, base
        return
    items, path, element = held
    for index, item in enumerate(items):
        if type(item) is dict:
            # A list from the API server leaves apiVersion and kind out of its items.
            whole = item if "kind" in item or not element else {"apiVersion": data.get("apiVersion"), "kind": element, **item}
            yield from _objects_below(whole, (*base, *path, index))


def _contained_objects(data: dict[str, Any]) -> tuple[list[Any], Path, str] | None:
    """Return the objects that a container holds, their path and their default kind; None if the object is not a container."""
    name = kind_of(data)
    if name.endswith("List") and type(data.get("items")) is list:
        return items_of(data), ("items",), name.removesuffix("List")
    if name not in HOLDER_NAMES:
        return None
    path = HOLDERS.get((group_of(data), name))
    items: Any = data
    for step in path or ():
        items = items.get(step) if type(items) is dict else None
    return (items, path, "") if path and type(items) is list else None


def _manifests_of(
    document: Document, data: dict[str, Any], base: Path, custom: Configured | None, defined: DefinedKinds
) -> Iterator[Manifest]:
    identity = identify(data.get("apiVersion"), data.get("kind"), custom)
    kind = identity.kind
    if kind is None:
        if kind_of(data) and api_version_of(data):
            yield from _custom_manifests(document, data, base, custom, defined)
        else:
            yield from _workload_without_type(document, data, base)
        return
    if name_of(data) == _GENERATED_NAME:
        return
    if kind.kubevirt and kind.root is not None:
        prune_nulls(kind.root, data)
    if not kind.templates:
        yield Manifest(document, data, base, identity, kind)
        if kind.holds_placement:
            yield from _custom_manifests(document, data, base, custom, defined)
        return
    found = False
    for declared in kind.templates:
        for template, path in maps_at_steps(data, base, declared.path):
            found = True
            yield Workload(document, data, base, identity, kind, declared, template, path)
    if not found:
        declared = kind.templates[0]
        yield Workload(document, data, base, identity, kind, declared, {}, (*base, *declared.path))


def _custom_manifests(
    document: Document, data: dict[str, Any], base: Path, custom: Configured | None, defined: DefinedKinds
) -> Iterator[Manifest]:
    """Yield the pods that operators create from a custom resource or a ConfigMap, and the complete objects that it contains."""
    if kind_of(data) == "ConfigMap" and not group_of(data):
        from afflint.manifests.openshift_monitoring import monitoring_workloads

        yield from monitoring_workloads(document, data, base)
        return
    from afflint.manifests.custom_resources import CustomResource, absent_selector, custom_workloads

    inside: list[tuple[dict[str, Any], Path]] = []
    unread: list[UnreadKey] = []
    yield from custom_workloads(document, data, base, defined, inside, unread)
    absent = absent_selector(data, base)
    if unread or absent is not None:
        yield CustomResource(document, data, base, unread, absent)
    for held, path in inside:
        for each, where in _objects_below(held, path):
            yield from _manifests_of(document, each, where, custom, defined)


def _workload_without_type(document: Document, data: dict[str, Any], base: Path) -> Iterator[Manifest]:
    """Yield a complete workload without apiVersion or kind, as the possible kind with the fewest mismatches."""
    found: list[tuple[int, Workload]] = []
    for kind in possible_kinds(data.get("apiVersion"), data.get("kind")):
        declared, identity = kind.templates[0], TypeMeta(kind, False)
        if data.get("apiVersion") is None and data.get("kind") is None and not _is_certainly(data, kind):
            continue
        for template, path in maps_at_steps(data, base, declared.path):
            workload = Workload(document, data, base, identity, kind, declared, template, path)
            if not workload.partial:
                found.append((_mismatches(kind, data), workload))
                break
    if found:
        yield min(found, key=lambda each: each[0])[1]


def _mismatches(kind: Kind, data: dict[str, Any]) -> int:
    return sum(1 for _ in islice(kind.root.mismatches(data, ()), _MOST_COUNTED)) if kind.root is not None else 0


_MOST_COUNTED = 20


def _is_certainly(data: dict[str, Any], kind: Kind) -> bool:
    """Return whether an object without apiVersion and kind certainly is a controller: it has no other fields, and fields unique to one."""
    spec = map_at(data, "spec")
    if data.keys() - {"metadata", "spec", "status"} or kind.templates[0].path[:1] != ("spec",):
        return False
    if kind.selector is None:
        return "running" in spec or "runStrategy" in spec
    return kind.name in LABELLED and "matchLabels" in map_at(spec, "selector") and bool(labels_at(map_at(spec, "template")))
