"""Custom resources as workloads: the pods that their operators create, as far as their placement constraints show them.

What is known about a kind comes from the catalogue (``catalogue``) or from a CustomResourceDefinition of the run
(``kube.custom_definitions``). For unknown kinds, and for fields without a schema, the shape of the values decides (``kube.shapes``).
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from afflint.findings.paths import Path
from afflint.kube.added_labels import AddedLabel, FormerLabel
from afflint.kube.constraints import REQUIRED, Constraints, ShapedValue, constraints_of_parts
from afflint.kube.kinds import EACH, POD_TEMPLATE, RUNTIME_CLASS, Kind, Template, TypeMeta, is_custom, part_types
from afflint.kube.shapes import Holder, holders_in, is_compared, is_pattern, is_pod_spec, shape_of
from afflint.kube.types import Type
from afflint.manifests.catalogue import CatalogueField, ConstraintPlace, CustomKind, SchemaMap, custom_kind_of
from afflint.manifests.manifest import DefinedKinds, Labels, Manifest, Workload, labels_at, maps_at_steps
from afflint.manifests.resource_fields import UnreadKey, unread_keys, unread_metadata_keys
from afflint.yaml.document import map_at, value_at_path
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import api_version_of, group_of, kind_of, metadata_of
from afflint.yaml.placeholders import is_placeholder

Known = Literal["schema", "opened", "shape"]
"""How afflint knows that a value is a constraint.

- ``schema``: the schema of the kind says so, and the API server validates the resource against it;
- ``opened``: the kind is known, but no schema describes the value: only the operator reads it;
- ``shape``: only the shape of the value says so.
"""


KINDS_WITH_VALUES = frozenset(("HelmRelease", "Application", "ApplicationSet", "Kustomization", "values"))
"""The kinds of resources that contain values of charts; those of a values file itself are the kind ``values``."""


class CustomWorkload(Workload):
    """Pods that an operator creates for a custom resource. ``parts`` are their constraints, each with its own path.

    ``pod_path`` is the path of the map that contains them; ``pod`` is a pod spec with the same constraints under their usual names.
    """

    __slots__ = ("custom", "known", "parts", "place")

    def __init__(
        self,
        document: Document,
        data: dict[str, Any],
        base: Path,
        kind: Kind,
        holder: Holder,
        known: Known,
        custom: CustomKind | None = None,
        place: ConstraintPlace | None = None,
        template: tuple[dict[str, Any], Path] | None = None,
    ) -> None:
        replicas = place.replicas if place is not None else None
        labels = custom.labels_at(place) if custom is not None and place is not None else ()
        declared = Template(place.path if place is not None else holder.path[len(base) :], replicas, labels)
        template_map, path = template or (_NOTHING, holder.path)
        super().__init__(document, data, base, TypeMeta(kind, True), kind, declared, template_map, path)
        self.custom = custom
        self.place = place
        self.known: Known = known
        self.parts = holder.parts
        self.pod_path = holder.path
        self.pod = _pod_spec(holder.parts)
        if place is not None and (place.label_maps or place.inherited):
            given = {label.key: label for each in place.label_maps for label in _given_labels(self.at(each))}
            changed = given.keys() | {label.key for each in place.inherited for label in _given_labels(self.at(each))}
            own = [label._replace(value="{unknown}") if label.key in changed else label for label in labels]
            self.declared = declared._replace(labels=(*given.values(), *own))

    def joined(self, other: "CustomWorkload") -> "CustomWorkload | None":
        """Return these pods with the constraints of another place for the same pods; None unless they are certainly the same."""
        one, two = self.place, other.place
        if one is None or two is None or not (one.labelled and two.labelled) or one.replicas is None or one.replicas != two.replicas:
            return None
        depth, shapes = len(self.template_path), {part.shape for part in self.parts}
        if other.template_path[:depth] != self.template_path or EACH in two.path[len(one.path) :]:
            return None
        if other.base != self.base or any(part.shape in shapes for part in other.parts) or self.template:
            return None
        template = (other.template, other.template_path) if other.template else None
        place = two._replace(fields=(*one.fields, *two.fields)) if template else one._replace(fields=(*one.fields, *two.fields))
        holder = Holder(self.pod_path if not template else other.pod_path, (*self.parts, *other.parts))
        return CustomWorkload(self.document, self.data, self.base, self.kind, holder, "schema", self.custom, place, template)

    @property
    def constraints(self) -> Constraints:
        if self._constraints is None:
            self._constraints = constraints_of_parts(self.parts)
        return self._constraints

    @property
    def template_labels(self) -> Labels:
        """The labels that the resource itself sets on its pods; empty without a template, or if the API server drops them."""
        if self._template_labels is None:
            self._template_labels = {} if self.place is not None and self.place.pruned else labels_at(self.template)
        return self._template_labels

    @property
    def other_labels(self) -> tuple[str, ...] | None:
        if self.place is None or self.place.other_labels is None or self.known == "shape":
            return None
        given = [self.at(each) for each in (*self.place.label_maps, *self.place.inherited)]
        maps = [each for each in (*given, metadata_of(self.template).get("labels")) if each is not None]
        if any("/labels" in str(each) for each in map_at(self.data, "metadata", "annotations").values()):
            return None  # Some operators apply a JSON patch in an annotation to their pods.
        if not all(type(each) is dict and not any(is_placeholder(str(key)) for key in each) for each in maps):
            return None
        return (*self.place.other_labels, *[str(key) for each in maps for key in each])

    @property
    def former_labels(self) -> tuple[FormerLabel, ...]:
        return self.place.former_labels if self.place is not None else ()

    @property
    def has_own_template(self) -> bool:
        return True

    @property
    def partial(self) -> bool:
        """Always True: the operator completes the pods."""
        return True

    @property
    def operated(self) -> bool:
        return True

    @property
    def placement_source(self) -> str:
        """The source from which afflint knows where the kind places pods."""
        if self.known == "shape":
            return "its shape"
        return f"the {self.custom.known_by}" if self.custom is not None else "afflint"

    @property
    def creates_pods(self) -> bool:
        """Whether an operator certainly creates pods: shape alone does not prove it, and some places choose nodes for something else."""
        return self.place is not None and self.place.pods and self.custom is not None

    @property
    def converts_scalars(self) -> bool:
        """Whether a chart or a template may quote numbers: nothing is known about the pods but the shape of the constraints."""
        return self.known == "shape"

    @property
    def requires_fields(self) -> bool:
        """Whether required fields must be set: the pattern of a policy names only the fields that it compares."""
        return self.known != "shape" or not is_pattern(self.kind.group)

    @property
    def filled_spread_fields(self) -> tuple[str, ...]:
        return self.custom.fills if self.custom is not None else ()

    @property
    def lenient(self) -> bool:
        """Whether the schema has no required fields, so that the API server accepts the resource without them."""
        return self.custom is None or self.custom.lenient

    def is_opened(self, path: Path) -> bool:
        """Return whether no schema describes the value at a path."""
        if self.known != "schema" or self.place is None or self._is_kept(path):
            return True
        part = self.part_around(path)
        name = None if part is None else part.path[-1]
        return any(field.opened and name in (field.name, None) for field in self.place.fields)

    def _is_kept(self, path: Path) -> bool:
        """Return whether the definition of the kind keeps the value at a path without describing it."""
        below = path[len(self.base) :]
        around = [(self._map_at(below[:length]), below[length]) for length in range(len(below))]
        return any(each is not None and each.keeps and name not in each.names for each, name in around)

    def _map_at(self, path: Path) -> SchemaMap | None:
        version = api_version_of(self.data).rpartition("/")[2]
        return self.custom.map_at(version, path) if self.custom is not None and self.custom.maps else None

    def has_field(self, path: Path) -> bool:
        """Return whether the definition of the kind has the field at a path, though Kubernetes does not."""
        around = self._map_at(path[len(self.base) : -1])
        return around is not None and path[-1] in around.names

    def covers(self, path: Path) -> bool:
        """Return whether a path is in one of the constraints or in the labels of the template."""
        labels = (*self.template_path, "metadata", "labels")
        return path[: len(labels)] == labels or any(path[: len(part.path)] == part.path for part in self.parts)

    def typed_values(self) -> Iterator[tuple[Path, Any, Type]]:
        """Yield the constraints with their types; nothing for the patterns of policies, whose keys may be expressions."""
        if self.known == "shape" and is_pattern(self.kind.group):
            return
        if self.copies_template:
            yield self.template_path, self.template, POD_TEMPLATE
            return
        types = part_types()
        for shape, path, value in self.parts:
            yield path, value, types[shape]

    @property
    def copies_template(self) -> bool:
        """Whether the operator reads the whole template as one of Kubernetes, and no schema describes it."""
        return bool(self.template) and self.place is not None and all(field.opened for field in self.place.fields)

    def follows_pod_api(self, path: Path) -> bool:
        if self.copies_template:
            return True
        part = self.part_around(path)
        return part is not None and part.path == (*self.pod_path, "affinity")

    def part_around(self, path: Path) -> ShapedValue | None:
        """Return the constraint that contains the value at a path."""
        return next((part for part in self.parts if path[: len(part.path)] == part.path), None)

    def webhook(self, path: Path) -> str:
        """Return what validates the field at a path before the resource is stored; empty if nothing does."""
        part = self.part_around(path)
        return dict(self.custom.webhooks).get(str(part.path[-1]), "") if self.custom is not None and part is not None else ""


class CustomResource(Manifest):
    """A custom resource with keys that its kind does not have (``unread``), or without a selector that selects no node if it is absent.

    ``absent`` is the path of such a selector.
    """

    __slots__ = ("absent", "unread")

    def __init__(self, document: Document, data: dict[str, Any], base: Path, unread: list[UnreadKey], absent: Path | None) -> None:
        kind = Kind(kind_of(data), group_of(data), (), (), None)
        super().__init__(document, data, base, TypeMeta(kind, True), kind)
        self.unread = unread
        self.absent = absent

    @property
    def operated(self) -> bool:
        return True

    @property
    def placement_source(self) -> str:
        return "its shape"  # The places with constraints have better sources.


def value_at(workload: Workload, path: Path) -> Any:
    """Return the value at a path of the document of a workload; None if absent."""
    value: Any = workload.document.data
    for step in path:
        if type(value) is dict:
            value = value.get(step)
        elif type(value) is list and type(step) is int and step < len(value):
            value = value[step]
        else:
            return None
    return value


_NOTHING: dict[str, Any] = {}


def _given_labels(labels: Any) -> Iterator[AddedLabel]:
    """Yield the entries of a map in a resource that its operator sets as labels of the pods."""
    for key, value in labels.items() if type(labels) is dict else ():
        if type(key) is str and (type(value) is str or value is None):
            yield AddedLabel(key, "{unknown}" if value and "{" in value else value or "")


def _pod_spec(parts: Iterable[ShapedValue]) -> dict[str, Any]:
    """Return a pod spec with these constraints."""
    pod: dict[str, Any] = {}
    affinity: dict[str, Any] = {}
    for shape, _, value in parts:
        if shape == "nodeSelectorTerms":
            affinity["nodeAffinity"] = {REQUIRED: value}
        elif shape in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
            affinity[shape] = value
        else:
            pod[shape] = value
    return {**pod, "affinity": affinity} if affinity and "affinity" not in pod else pod


def custom_workloads(
    document: Document,
    data: dict[str, Any],
    base: Path,
    defined: DefinedKinds,
    inside: list[tuple[dict[str, Any], Path]],
    unread: list[UnreadKey],
) -> Iterator[CustomWorkload]:
    """Yield the pods that an operator creates for a custom resource that is not one of ``KINDS``: every place with constraints in it.

    Complete objects in it (policies and templates contain some) are added to ``inside``, each with its path. Keys that look like
    constraints and that the kind does not have are added to ``unread``.
    """
    name = kind_of(data)
    group, _, version = api_version_of(data).rpartition("/")
    if not is_custom(group) and (group, name) != RUNTIME_CLASS:
        return
    kind = Kind(name, group, (), (), None)
    custom = defined.get((group, name)) or custom_kind_of(group, name)
    looked: set[Path] = set()
    if custom is not None:
        found = _joined(_workloads_in_places(document, data, base, kind, custom, version))
        for workload in found:
            looked |= {workload.template_path} if workload.copies_template else {part.path for part in workload.parts}
            yield workload
        labelled = next((place for place in custom.places_in(version) if place.labelled), None)
        if labelled is not None and not any(each.place is not None and each.place.labelled for each in found):
            # The pods exist even without placement constraints.
            path = tuple(itertools.takewhile(EACH.__ne__, labelled.path))
            place = labelled._replace(path=path, replicas=labelled.replicas if path == labelled.path else None)
            yield CustomWorkload(document, data, base, kind, Holder((*base, *path), ()), "schema", custom, place)
        unread += unread_keys(data, base, custom, version)
        looked |= {each.path for each in unread}
    unread += unread_metadata_keys(data, base, known_kind=custom is not None)
    found_by_shape = holders_in(data, base, frozenset(looked), inside, in_values=name in KINDS_WITH_VALUES)
    for holder in (*found_by_shape, *_in_metadata(data, base)):
        if not is_compared(kind.group, holder.path):
            yield CustomWorkload(document, data, base, kind, holder, "shape", custom)


def absent_selector(data: dict[str, Any], base: Path) -> Path | None:
    """Return the path of the label selector that a custom resource lacks, and that selects no node if it is absent; None: no such one."""
    group = group_of(data)
    custom = custom_kind_of(group, kind_of(data)) if is_custom(group) else None
    if custom is None or custom.node_selector is None:
        return None
    path, required = custom.node_selector
    return (*base, *path) if value_at_path(data, *required) and value_at_path(data, *path) is None else None


def _in_metadata(data: dict[str, Any], base: Path) -> Iterator[Holder]:
    """Yield the constraints that are directly in the metadata of an object, where nothing reads them."""
    metadata = metadata_of(data)
    parts = [ShapedValue(name, (*base, "metadata", name), metadata[name]) for name in metadata if shape_of(name, metadata[name]) == name]
    if parts:
        yield Holder((*base, "metadata"), tuple(parts))


def unknown_kinds(objects: Iterable[Any], manifests: Iterable[Manifest], defined: DefinedKinds) -> list[tuple[str, str]]:
    """Return the kinds of some objects and manifests, by group and name, that neither the catalogue nor a definition describes."""
    names = dict.fromkeys((each.kind.group, each.kind.name) for each in manifests if isinstance(each, CustomWorkload))
    for data in objects:
        if kind_of(data) and api_version_of(data):
            names[group_of(data), kind_of(data)] = None
    return [each for each in names if is_custom(each[0]) and each not in defined and custom_kind_of(*each) is None]


def _joined(workloads: Iterable[CustomWorkload]) -> list[CustomWorkload]:
    """Return the workloads, those for the same pods joined into one where that is certain."""
    found: list[CustomWorkload] = []
    for workload in workloads:
        for index, earlier in enumerate(found):
            joined = earlier.joined(workload)
            if joined is not None:
                found[index] = joined
                break
        else:
            found.append(workload)
    return found


def _workloads_in_places(
    document: Document, data: dict[str, Any], base: Path, kind: Kind, custom: CustomKind, version: str
) -> Iterator[CustomWorkload]:
    for place in custom.places_in(version):
        for value, path in maps_at_steps(data, base, place.path):
            if place.form == "opaque":
                for holder in holders_in(value, path):
                    yield CustomWorkload(document, data, base, kind, holder, "opened", custom, place)
                continue
            pod, at, template = value, path, None
            if place.form == "template":
                pod, at, template = map_at(value, "spec"), (*path, "spec"), (value, path)
            parts = tuple(_parts(pod, at, place.fields))
            if parts or (template is not None and template[0]):
                yield CustomWorkload(document, data, base, kind, Holder(at, parts, is_pod_spec(pod)), "schema", custom, place, template)


def _parts(holder: dict[str, Any], at: Path, fields: Iterable[CatalogueField]) -> Iterator[ShapedValue]:
    for field in fields:
        value = holder.get(field.name)
        if value is not None:
            yield ShapedValue(field.shape, (*at, field.name), value)
