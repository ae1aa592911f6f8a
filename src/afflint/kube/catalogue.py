"""The catalogue of custom resources that hold placement constraints: where in each kind, with what shape, and what is sure of its pods.

The data is schemas/custom-resources.jsonl, one line a kind, made by tools/custom_resources.py. It is read by the first run that meets a
kind which is not one of Kubernetes' or KubeVirt's own, and only the lines of the kinds that are met are parsed.
"""

import json
import os
import re
from functools import cache, lru_cache
from typing import Any

from afflint.findings.finding import Path
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import AddedLabel
from afflint.kube.kinds import EACH


class CatalogueField(NamedTuple):
    """A field of a place: its name, and the shape that its value has (``kube.shapes.Part``); ``opened`` where no schema says so."""

    name: str
    shape: str
    opened: bool = False


POD_FIELDS = tuple(CatalogueField(name, name) for name in ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints"))
"""Those of a pod spec."""


class ConstraintPlace(NamedTuple):
    """Where a kind holds the constraints of some of its pods.

    ``path`` leads to what holds them. ``form`` is ``template`` for a pod template, ``spec`` for a pod spec, ``fields`` for a map that has
    some of its fields, and ``opaque`` for one that no schema describes, where shapes decide. ``pruned``: the API server drops the
    metadata of that template. ``pods`` is False for what chooses nodes for something else. ``versions`` are those that have it.
    """

    path: Path
    form: str
    fields: tuple[CatalogueField, ...] = ()
    replicas: Path | None = None
    pruned: bool = False
    pods: bool = True
    labelled: bool = False
    """Whether the certain labels of the kind are on these pods."""
    versions: tuple[str, ...] = ()


class CustomKind(NamedTuple):
    """What is known of a kind of custom resource. ``known_by`` says how: the catalogue, or a CustomResourceDefinition of the run.

    ``labels`` are those that the operator surely sets, ``a|b`` one of these values by the component. ``lenient``: the schema requires
    nothing. ``fills_selectors``: the operator puts labels into selectors that are left out. ``webhooks``: who looks at a field before
    the resource is stored.
    """

    name: str
    group: str
    places: tuple[ConstraintPlace, ...]
    labels: tuple[AddedLabel, ...] = ()
    lenient: bool = False
    fills_selectors: bool = False
    webhooks: tuple[tuple[str, str], ...] = ()
    known_by: str = "catalogue"

    def labels_at(self, place: ConstraintPlace) -> tuple[AddedLabel, ...]:
        """Return the labels of the pods at one place; if a label has several values, the field that contains the component selects one."""
        return _labels_at(self.labels, place.path) if place.labelled else ()

    def places_in(self, version: str) -> tuple[ConstraintPlace, ...]:
        """Those that a version has."""
        return tuple([place for place in self.places if not place.versions or version in place.versions])


@lru_cache(maxsize=256)
def _labels_at(labels: tuple[AddedLabel, ...], path: Path) -> tuple[AddedLabel, ...]:
    found = []
    for label in labels:
        values = label.value.split("|")
        component = next((value for value in values if value in path), "{unknown}")
        found.append(label if len(values) == 1 else label._replace(value=component))
    return tuple(found)


@lru_cache(maxsize=256)
def custom_kind_of(group: str, name: str) -> CustomKind | None:
    """What the catalogue knows of a kind; None where it is not in it."""
    data = _data()
    start = data.find(f'\n{{"kind":{json.dumps(name)},"group":{json.dumps(group)},'.encode()) + 1
    return _kind(json.loads(data[start : data.index(b"\n", start)])) if start else None


@lru_cache(maxsize=256)
def is_labelled(name: bytes) -> bool:
    """Whether the labels of the pods of a kind with this name are known, so that it matters even where it says nothing of placement."""
    data, head = _data(), b'\n{"kind":"' + name + b'","group":"'
    at = data.find(head)
    while at >= 0:
        end = data.index(b"\n", at + 1)
        if data.find(b'"labels":', at, end) >= 0:
            return True
        at = data.find(head, end)
    return False


@cache
def _data() -> bytes:
    """The whole catalogue, behind a line break."""
    from afflint.resources import directory

    with open(os.path.join(directory("schemas"), "custom-resources.jsonl"), "rb") as file:
        return b"\n" + file.read()


def _kind(entry: dict[str, Any]) -> CustomKind:
    return CustomKind(
        entry["kind"],
        entry["group"],
        tuple([_place(each) for each in entry["places"]]),
        tuple([AddedLabel(key, value) for key, value in entry.get("labels", {}).items()]),
        entry.get("lenient", False),
        entry.get("fills_selectors", False),
        tuple(entry.get("webhooks", {}).items()),
    )


def _place(entry: dict[str, Any]) -> ConstraintPlace:
    shape, form, fields = entry["shape"], "fields", POD_FIELDS
    if shape.startswith("template"):
        form = "template"
    elif shape in ("spec", "opaque"):
        form = shape
    else:
        fields = tuple([_field(each) for each in shape.split(" ")])
    if "opened" in entry:
        fields = tuple([field._replace(opened=True) for field in fields])
    replicas = entry.get("replicas")
    return ConstraintPlace(
        path_of(entry["path"]),
        form,
        fields,
        path_of(replicas) if replicas else None,
        shape.endswith(" pruned"),
        "not_pods" not in entry,
        "labelled" in entry,
        tuple(entry.get("only", ())),
    )


def _field(text: str) -> CatalogueField:
    name, _, shape = text.partition("=")
    return CatalogueField(name, shape.removeprefix("?") or name, shape.startswith("?"))


def path_of(text: str) -> Path:
    """A path as the catalogue writes it: ``spec.pools[*].pod``, ``spec.groups.{}``; each of a list or map is EACH."""
    return tuple([EACH if step in ("[*]", "{}") else step for step in re.findall(r"\[\*\]|\{\}|[^.\[\]]+", text)])
