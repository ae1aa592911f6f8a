"""A typed view of the objects in a document: identity, pod template, labels, constraints, and whether the object is only a part."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from afflint.findings.finding import ObjectRef
from afflint.findings.paths import Path, Step
from afflint.kube.added_labels import FormerLabel
from afflint.kube.constraints import Constraints, constraints_of
from afflint.kube.kinds import CUSTOM_PLACEMENT, EACH, Kind, Template, TypeMeta
from afflint.kube.types import Mismatch, Type
from afflint.yaml.document import map_at
from afflint.yaml.documents import Document
from afflint.yaml.object_fields import api_version_of, kind_of, metadata_of

if TYPE_CHECKING:
    from afflint.manifests.catalogue import CustomKind

Labels = dict[str, str]
Configured = dict[tuple[str, str], Kind]
"""Kinds of custom resources from the configuration, by group and name."""
DefinedKinds = Mapping[tuple[str, str], "CustomKind"]
"""Kinds from the CustomResourceDefinitions of the run, by group and name."""


def reference(data: dict[str, Any], kind: str | None = None) -> ObjectRef:
    """Return the reference to an object; ``kind`` is the default for an object without one."""
    metadata = metadata_of(data)
    name, namespace = _text(metadata.get("name")), _text(metadata.get("namespace"))
    return ObjectRef(api_version_of(data) or None, kind_of(data) or kind, namespace, name)


class Manifest:
    """One object of a document. ``base`` is its path in the document: (), ("items", 3) in a List, a longer one in nested lists."""

    __slots__ = ("base", "data", "document", "identity", "kind", "mismatches", "ref")

    def __init__(self, document: Document, data: dict[str, Any], base: Path, identity: TypeMeta, kind: Kind) -> None:
        self.document = document
        self.mismatches: tuple[Mismatch, ...] | None = None
        self.data = data
        self.base = base
        self.identity = identity
        self.kind = kind
        self.ref = reference(data, kind.name)

    @property
    def labels(self) -> Labels:
        """The object's own metadata.labels with string values."""
        return labels_at(self.data)

    @property
    def namespace(self) -> str:
        """The namespace of the object; ``default`` if the manifest does not set one."""
        return self.ref.namespace or "default"

    @property
    def from_cluster(self) -> bool:
        """Whether the object was exported from a cluster, with the fields that controllers add."""
        metadata = metadata_of(self.data)
        return bool("uid" in metadata or "resourceVersion" in metadata or self.data.get("status"))

    def covers(self, _path: Path) -> bool:
        """Return whether the value at a path of the document is checked; most objects are checked completely."""
        return True

    @property
    def operated(self) -> bool:
        """Whether an operator creates pods for it, from fields that its own kind defines."""
        return False

    @property
    def placement_source(self) -> str:
        """The source from which afflint knows where the kind places pods."""
        return "afflint"

    def title(self) -> str:
        """Return the name of the object in messages, such as ``Deployment web``."""
        name = self.ref.name or _text(metadata_of(self.data).get("generateName"))
        return f"{self.kind.name} {name}" if name else self.kind.name


# Controllers that find their pods by labels: without any the manifest is completed elsewhere.
LABELLED = frozenset(
    (
        "ReplicationController", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "VirtualMachineInstanceReplicaSet", "Rollout",
        "CloneSet",
    )
)  # fmt: skip


class Workload(Manifest):
    """An object that creates pods, with one of its pod templates.

    ``template`` is the map with the ``metadata`` and ``spec`` of the pods, ``template_path`` its path; ``pod`` is that spec, and
    ``declared`` the template of the kind. An object with several templates is several workloads.
    """

    __slots__ = ("_constraints", "_template_labels", "declared", "pod", "pod_path", "template", "template_path")

    def __init__(
        self,
        document: Document,
        data: dict[str, Any],
        base: Path,
        identity: TypeMeta,
        kind: Kind,
        declared: Template,
        template: dict[str, Any],
        template_path: Path,
    ) -> None:
        super().__init__(document, data, base, identity, kind)
        self.declared = declared
        self.template = template
        self.template_path = template_path
        self.pod_path = (*template_path, "spec")
        self.pod = map_at(template, "spec")
        self._constraints: Constraints | None = None
        self._template_labels: Labels | None = None

    @property
    def constraints(self) -> Constraints:
        if self._constraints is None:
            self._constraints = constraints_of(self.pod, self.pod_path)
        return self._constraints

    @property
    def template_labels(self) -> Labels:
        """The labels that the pods get from the template. A Pod and a VirtualMachineInstance have their own."""
        if self._template_labels is None:
            self._template_labels = labels_at(self.template)
        return self._template_labels

    @property
    def has_own_template(self) -> bool:
        """Whether the labels of the pods are in a template. False for a Pod and a VirtualMachineInstance: they have their own."""
        return self.template is not self.data

    @property
    def spec(self) -> dict[str, Any]:
        return map_at(self.data, "spec")

    # Custom resources override these: see ``custom_resources``.

    @property
    def other_labels(self) -> tuple[str, ...] | None:
        """The keys of the labels that the pods of an operator may have besides the known ones; None if they may have any."""
        return None

    @property
    def former_labels(self) -> tuple[FormerLabel, ...]:
        """The labels that only older versions of the operator set on the pods."""
        return ()

    @property
    def creates_pods(self) -> bool:
        """Whether the object certainly creates pods."""
        return True

    @property
    def converts_scalars(self) -> bool:
        """Whether something converts scalars before the API server reads them, so that their type in the manifest does not matter."""
        return False

    @property
    def requires_fields(self) -> bool:
        """Whether fields that the API requires must be set."""
        return True

    @property
    def filled_spread_fields(self) -> tuple[str, ...]:
        """The fields of spread constraints that an operator sets if they are empty."""
        return ()

    def follows_pod_api(self, _path: Path) -> bool:
        """Return whether the fields around a path are those of a pod template, so that each has one place in it."""
        return True

    def typed_values(self) -> Iterator[tuple[Path, Any, Type]]:
        """Yield the placement fields of a custom resource, each with its type."""
        for name, type_ in CUSTOM_PLACEMENT.items():
            if name in self.pod:
                yield (*self.pod_path, name), self.pod[name], type_

    @property
    def partial(self) -> bool:
        """Whether the manifest is a kustomize patch, a base or a fragment that is completed elsewhere.

        The fields of such a manifest are checked, but never what it lacks.
        """
        pod = self.pod
        if not pod or (self.ref.name is None and "generateName" not in metadata_of(self.data)):
            return True
        if self.kind.name in LABELLED and "selector" not in self.spec and "labels" not in metadata_of(self.template):
            return True
        if self.kind.kubevirt:
            return "domain" not in pod
        containers = pod.get("containers")
        if type(containers) is not list or not containers:
            return True
        return any(type(each) is dict and not each.get("image") for each in containers) or self.document.has_directives

    def at(self, path: Path | None) -> Any:
        """Return the value at a path of the kind, bound to the items that contain this template; None if absent."""
        value: Any = self.data
        own, bound = self.template_path[len(self.base) :], True
        for index, step in enumerate(path or ()):
            bound = bound and index < len(own) and self.declared.path[index] == step
            if step == EACH and not bound:
                return None
            if step == EACH:
                value = _item(value, own[index])
            else:
                value = value.get(step) if type(value) is dict else None
        return None if path is None else value

    def above(self, levels: int) -> dict[str, Any]:
        """Return the map `levels` levels above the template; an empty one if it does not exist."""
        value: Any = self.data
        for step in self.template_path[len(self.base) : -levels]:
            value = _item(value, step)
        return map_at(value)


def maps_at_steps(value: Any, path: Path, steps: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield the maps at the end of some steps from a value at ``path``, each with its own path; EACH is every item of a list or map."""
    if not steps:
        if type(value) is dict:
            yield value, path
        return
    step, rest = steps[0], steps[1:]
    if step == EACH:
        items = enumerate(value) if type(value) is list else value.items() if type(value) is dict else ()
        for key, item in items:
            yield from maps_at_steps(item, (*path, key), rest)
    elif type(value) is dict and step in value:
        yield from maps_at_steps(value[step], (*path, step), rest)


def labels_at(data: dict[str, Any]) -> Labels:
    """Return the labels under ``data["metadata"]`` that are strings; null is the empty string, as in the API server."""
    labels = metadata_of(data).get("labels")
    if type(labels) is not dict:
        return {}
    return {key: value or "" for key, value in labels.items() if type(value) is str or value is None}


def _item(value: Any, step: Step) -> Any:
    if type(value) is list:
        return value[step] if type(step) is int and step < len(value) else None
    return value.get(step) if type(value) is dict else None


def _text(value: Any) -> str | None:
    return value if type(value) is str else None


_SUGGESTED_NAMESPACE = "operatorframework.io/suggested-namespace"
_GROUPS = ("operators.coreos.com", "nmstate.io")
"""API groups without ``openshift`` in their name that hardly exist outside OpenShift."""


def is_for_openshift(manifest: Manifest) -> bool:
    """Return whether an object is for OpenShift, by its API group, its name or its namespace."""
    metadata = metadata_of(manifest.data)
    names = (metadata.get("name"), metadata.get("namespace"), map_at(metadata, "annotations").get(_SUGGESTED_NAMESPACE))
    group = manifest.kind.group
    return group.endswith(".openshift.io") or group in _GROUPS or any(type(name) is str and "openshift" in name for name in names)
