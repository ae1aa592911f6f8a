"""Custom resources as workloads: what their operators make pods of, seen through the places that hold placement constraints.

What is known of a kind comes from the catalogue (``kube.catalogue``) or from a CustomResourceDefinition of the run (``kube.crds``); in
kinds nobody knows, and where no schema says what stands there, the shape of the values decides (``kube.shapes``).
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from afflint.findings import Path
from afflint.kube.catalogue import CustomKind, Field, Place, custom_kind_of
from afflint.kube.constraints import REQUIRED, Constraints, constraints_of_parts
from afflint.kube.kinds import Identity, Kind, Template, part_types
from afflint.kube.manifests import Labels, Learnt, Workload, labels_at, templates
from afflint.kube.shapes import Holder, Part, holders_in, is_pod_spec
from afflint.kube.types import Type
from afflint.reading.documents import Document

Known = Literal["schema", "opened", "shape"]
"""How it is known that a value is a constraint.

- ``schema``: the schema of the kind says so, and the API server holds the resource to it;
- ``opened``: the kind is known, and no schema describes what stands there: only the operator reads it;
- ``shape``: nothing but the shape of the value says so.
"""


class CustomWorkload(Workload):
    """Some pods that an operator makes for a custom resource. ``parts`` are their constraints, each where it stands.

    ``pod_path`` is that of the map which holds them; ``pod`` is a pod spec with the same constraints under their usual names.
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
        place: Place | None = None,
        template: tuple[dict[str, Any], Path] | None = None,
    ) -> None:
        replicas = place.replicas if place is not None else None
        labels = custom.labels if custom is not None and place is not None and place.labelled else ()
        declared = Template(place.path if place is not None else holder.path[len(base) :], replicas, labels)
        around, path = template or (_NOTHING, holder.path)
        super().__init__(document, data, base, Identity(kind, True), kind, declared, around, path)
        self.custom = custom
        self.place = place
        self.known: Known = known
        self.parts = holder.parts
        self.pod_path = holder.path
        self.pod = _pod_spec(holder.parts)

    @property
    def constraints(self) -> Constraints:
        if self._constraints is None:
            self._constraints = constraints_of_parts(self.parts)
        return self._constraints

    @property
    def template_labels(self) -> Labels:
        """The labels that the resource gives its pods itself, where it has a template for them that keeps any."""
        if self._template_labels is None:
            self._template_labels = {} if self.place is not None and self.place.pruned else labels_at(self.template)
        return self._template_labels

    @property
    def has_own_template(self) -> bool:
        return True

    @property
    def partial(self) -> bool:
        """Always: the operator makes the pods whole."""
        return True

    @property
    def operated(self) -> bool:
        return True

    @property
    def makes_pods(self) -> bool:
        """Shape alone does not say so, and some places choose nodes for something else."""
        return self.place is not None and self.place.pods

    @property
    def requires(self) -> bool:
        """Operators may fill in what no schema asks for."""
        return self.known == "schema"

    @property
    def is_usual(self) -> bool:
        """Whether all of its fields have the names and the level that they have in a pod spec."""
        return all(path == (*self.pod_path, shape) for shape, path, _ in self.parts)

    def is_opened(self, path: Path) -> bool:
        """Whether no schema describes what stands at a path."""
        if self.known != "schema" or self.place is None:
            return True
        depth = len(self.pod_path)
        if path[:depth] != self.pod_path or len(path) == depth:
            return False
        return any(field.opened and field.name == path[depth] for field in self.place.fields)

    def refuses_unknown(self, path: Path) -> bool:
        return not self.is_opened(path)

    def covers(self, path: Path) -> bool:
        """Its constraints, and the labels of its template."""
        labels = (*self.template_path, "metadata", "labels")
        return path[: len(labels)] == labels or any(path[: len(part.path)] == part.path for part in self.parts)

    def typed_values(self) -> Iterator[tuple[Path, Any, Type]]:
        """None where only the shape speaks: what a chart or a template makes of it may be another type."""
        if self.known != "shape":
            types = part_types()
            for shape, path, value in self.parts:
                yield path, value, types[shape]

    def webhook(self, path: Path) -> str:
        """Who looks at the field that a path leads into before the resource is stored; empty for nobody."""
        depth = len(self.pod_path)
        looked_at = dict(self.custom.webhooks) if self.custom is not None else {}
        return looked_at.get(str(path[depth]), "") if path[:depth] == self.pod_path and len(path) > depth else ""


def value_at(workload: Workload, path: Path) -> Any:
    """What stands at a path of the document of a workload; None where nothing does."""
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


def _pod_spec(parts: Iterable[Part]) -> dict[str, Any]:
    """A pod spec with these constraints."""
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
    document: Document, data: dict[str, Any], base: Path, learnt: Learnt, inside: list[tuple[dict[str, Any], Path]]
) -> Iterator[CustomWorkload]:
    """The pods that an operator makes for an object of none of the kinds afflint reads anyway: all that holds constraints in it.

    Whole objects that stand in it (policies and templates hold such) are added to ``inside``, each with its path.
    """
    api_version, name = data.get("apiVersion"), data.get("kind")
    if type(api_version) is not str or type(name) is not str:
        return
    group, _, version = api_version.rpartition("/")
    if not _is_custom(group):
        return
    kind = Kind(name, group, (), (), None)
    custom = custom_kind_of(group, name) or learnt.get((group, name))
    looked: set[Path] = set()
    if custom is not None:
        for workload in _in_places(document, data, base, kind, custom, version):
            looked |= {part.path for part in workload.parts}
            yield workload
    for holder in holders_in(data, base, frozenset(looked), inside):
        yield CustomWorkload(document, data, base, kind, holder, "shape", custom)


def _is_custom(group: str) -> bool:
    """Whether a group is somebody's own, and none of Kubernetes itself."""
    return "." in group and group not in _OF_KUBERNETES


_OF_KUBERNETES = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates", "coordination",
        "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "metrics", "networking", "node", "rbac.authorization",
        "resource", "scheduling", "storage", "storagemigration",
    )
)  # fmt: skip


def _in_places(
    document: Document, data: dict[str, Any], base: Path, kind: Kind, custom: CustomKind, version: str
) -> Iterator[CustomWorkload]:
    for place in custom.places_in(version):
        for value, path in templates(data, base, place.path):
            if place.form == "opaque":
                for holder in holders_in(value, path):
                    yield CustomWorkload(document, data, base, kind, holder, "opened", custom, place)
                continue
            pod, at, template = value, path, None
            if place.form == "template":
                spec = value.get("spec")
                pod, at, template = spec if type(spec) is dict else _NOTHING, (*path, "spec"), (value, path)
            parts = tuple(_parts(pod, at, place.fields))
            if parts or (template is not None and template[0]):
                yield CustomWorkload(document, data, base, kind, Holder(at, parts, is_pod_spec(pod)), "schema", custom, place, template)


def _parts(holder: dict[str, Any], at: Path, fields: Iterable[Field]) -> Iterator[Part]:
    for field in fields:
        value = holder.get(field.name)
        if value is not None:
            yield Part(field.shape, (*at, field.name), value)
