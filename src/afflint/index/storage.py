"""Volumes, claims and StorageClasses in the manifests of a run, and the workloads whose pods use claims.

Semantics: pkg/scheduler/framework/plugins/volumebinding, pkg/controller/volume/persistentvolume, and for virtual machines rendervolumes.go
of KubeVirt (pkg/virt-controller/services) and the DataVolumes of the Containerized Data Importer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from afflint.constraints.nodes import Alternative, node_constraints
from afflint.controllers.claims import CLAIM, VOLUME, access_modes
from afflint.findings.finding import ObjectRef, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.selectors import AnyOf, matches, parse_label_selector
from afflint.manifests.manifest import Manifest, Workload
from afflint.storage import BIND_COMPLETED, CLASS_ANNOTATION
from afflint.storage.existing_volumes import usable_nodes
from afflint.storage.profiles import DEFAULT_VIRT_CLASS, STORAGE_PROFILE, default_access_modes
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import name_of
from afflint.yaml.placeholders import is_placeholder

_MOST_VOLUMES = 100
"""How many volumes of a class are compared with the selector of a claim."""
PERSISTENT_VOLUME, STORAGE_CLASS = "PersistentVolume", "StorageClass"
DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class StorageObject(NamedTuple):
    """A PersistentVolume, PersistentVolumeClaim, DataVolume, StorageClass or StorageProfile as parsed; ``title`` is its display name."""

    kind: str
    site: Site
    ref: ObjectRef
    title: str
    data: dict[str, Any]

    @property
    def name(self) -> str:
        return self.ref.name or ""

    @property
    def spec(self) -> dict[str, Any]:
        return map_at(self.data, "spec")

    def annotation(self, key: str) -> str:
        """Return the value of an annotation, "" without it."""
        return text_at(self.data, "metadata", "annotations", key)

    @property
    def usable_nodes(self) -> AnyOf | None:
        """The nodes from which this PersistentVolume can be used: see ``existing_volumes.usable_nodes``."""
        return usable_nodes(self.data)


class ClaimUse(NamedTuple):
    """A claim that the pods of a workload use. ``path`` leads to the name of the claim in the volume, or in the claim template.

    ``name`` is the name of the claim. ``template`` is the claim that is created for the workload, as parsed: for each pod of a StatefulSet,
    with ``per_pod``, or once for a virtual machine. Then ``kind`` is the kind of the template.
    """

    path: Path
    name: str
    template: dict[str, Any] | None = None
    per_pod: bool = False
    kind: str = CLAIM


class VolumeUser(NamedTuple):
    """The pods of one template that use claims. ``alternatives`` are their requirements on nodes, see ``constraints.nodes``.

    ``strategy`` is the update strategy of a Deployment or StatefulSet as parsed; ``node_name`` whether the pods have ``spec.nodeName``.
    """

    site: Site
    ref: ObjectRef
    title: str
    template_path: Path
    pod_path: Path
    claims: tuple[ClaimUse, ...]
    alternatives: tuple[Alternative, ...]
    strategy: dict[str, Any]
    node_name: bool

    @property
    def namespace(self) -> str:
        return self.ref.namespace or "default"


def storage_object(manifest: Manifest, site: Site) -> StorageObject:
    """Return a PersistentVolume, claim, DataVolume, StorageClass or StorageProfile of a manifest."""
    return StorageObject(manifest.kind.name, site, manifest.ref, manifest.title(), manifest.data)


def volume_user(workload: Workload, site: Site) -> VolumeUser | None:
    """Return the pods of a workload that use claims, None if they use none."""
    claims = tuple(_claims_of(workload))
    if not claims or workload.operated:
        return None
    strategy = map_at(workload.spec, "strategy" if workload.kind.name == "Deployment" else "updateStrategy")
    return VolumeUser(
        site,
        workload.ref,
        workload.title(),
        workload.template_path,
        workload.pod_path,
        claims,
        node_constraints(workload).alternatives,
        strategy,
        bool(workload.pod.get("nodeName")),
    )


def _claims_of(workload: Workload) -> Iterator[ClaimUse]:
    per_pod = dict(_templates(workload, "volumeClaimTemplates", CLAIM)) if workload.kind.name == "StatefulSet" else {}
    yield from per_pod.values()
    own = {}
    if workload.kind.kubevirt and workload.has_own_template:
        own = dict(_templates(workload, "dataVolumeTemplates", VOLUME))
    for index, volume in enumerate(maps_at(workload.pod, "volumes")):
        field = ("persistentVolumeClaim", "claimName") if "persistentVolumeClaim" in volume else ("dataVolume", "name")
        name = text_at(volume, *field)
        # The volume of a claim template takes the place of a volume with its name.
        if name and not is_placeholder(name) and text_at(volume, "name") not in per_pod:
            template = own.get(name)
            path = (*workload.pod_path, "volumes", index, *field)
            yield ClaimUse(path, name) if template is None else template._replace(per_pod=False)


def _templates(workload: Workload, field: str, kind: str) -> Iterator[tuple[str, ClaimUse]]:
    above = workload.spec if kind == CLAIM else workload.above(1)
    base = (*workload.base, "spec") if kind == CLAIM else workload.template_path[:-1]
    for index, template in enumerate(maps_at(above, field)):
        name = name_of(template)
        if name:
            yield name, ClaimUse((*base, field, index, "metadata", "name"), name, template, per_pod=True, kind=kind)


class Claim(NamedTuple):
    """A claim with what the manifests show of it: its access modes, and its StorageClass by name (None for the default class).

    ``volume`` is the name of the PersistentVolume that it names, ``data`` the spec of the claim. ``at`` is where it is defined.
    """

    namespace: str
    name: str
    modes: tuple[str, ...]
    storage_class: str | None
    volume: str
    bound: bool
    data: Mapping[str, Any]
    at: StorageObject | None = None


class ImporterModes(NamedTuple):
    """The access modes that the importer requests for a DataVolume, and the name of its StorageClass; both empty if they are not known."""

    modes: tuple[str, ...] = ()
    storage_class: str = ""


_NO_MODES = ImporterModes()


class Storage:
    """The storage objects of a run by their names. An object that is defined in several ways is not known."""

    def __init__(self, objects: Iterable[StorageObject], users: Iterable[VolumeUser]) -> None:
        self.users = sorted(users, key=lambda user: (user.site, user.template_path))
        self.objects = sorted(objects, key=lambda each: each.site)
        self._known: dict[tuple[str, str, str], StorageObject | None] = {}
        for each in self.objects:
            namespace = each.ref.namespace or "default" if each.kind in (CLAIM, VOLUME) else ""
            key = (each.kind, namespace, each.name)
            self._known[key] = each if key not in self._known or _is_equal(self._known[key], each) else None

    def of_kind(self, kind: str) -> list[StorageObject]:
        """Return the objects of a kind that are defined in one way, each once, in the order of their files."""
        return [each for (of, _, _), each in self._known.items() if of == kind and each is not None]

    def volume(self, name: str) -> StorageObject | None:
        """Return a PersistentVolume."""
        return self._known.get((PERSISTENT_VOLUME, "", name))

    def storage_class(self, name: str | None) -> StorageObject | None:
        """Return a StorageClass, for None the default class; None if it is not known."""
        return self._default_class if name is None else self._known.get((STORAGE_CLASS, "", name))

    @cached_property
    def _default_class(self) -> StorageObject | None:
        return self._annotated(DEFAULT_CLASS)

    @cached_property
    def _default_virt_class(self) -> StorageObject | None:
        return self._annotated((DEFAULT_VIRT_CLASS,))

    def _annotated(self, keys: Iterable[str]) -> StorageObject | None:
        """Return the only StorageClass with one of these annotations."""
        found = [each for each in self.of_kind(STORAGE_CLASS) if any(each.annotation(key) == "true" for key in keys)]
        return found[0] if len(found) == 1 else None

    @cached_property
    def _volumes_by_claim(self) -> dict[tuple[str, str], StorageObject]:
        found: dict[tuple[str, str], StorageObject] = {}
        for each in self.of_kind(PERSISTENT_VOLUME):
            reference = map_at(each.spec, "claimRef")
            name = text_at(reference, "name")
            if name:
                found.setdefault((text_at(reference, "namespace") or "default", name), each)
        return found

    def volumes_for(self, claim: Claim) -> list[StorageObject]:
        """Return the PersistentVolumes of the class of a claim that its selector matches, from the first ones of the class."""
        of_class = self._volumes_by_class.get(claim.storage_class or "", []) if claim.storage_class is not None else []
        selector = parse_label_selector(claim.data.get("selector") or {})
        return [each for each in of_class[:_MOST_VOLUMES] if matches(selector, map_at(each.data, "metadata", "labels"))]

    @cached_property
    def _volumes_by_class(self) -> dict[str, list[StorageObject]]:
        found: dict[str, list[StorageObject]] = {}
        for each in self.of_kind(PERSISTENT_VOLUME):
            found.setdefault(each.annotation(CLASS_ANNOTATION) or text_at(each.spec, "storageClassName"), []).append(each)
        return found

    def access_modes(self, namespace: str) -> Mapping[str, tuple[str, ...]]:
        """Return the known access modes of the claims of a namespace, by the names of the claims."""
        return self._modes.get(namespace, {})

    def importer_modes(self, kind: str, data: Mapping[str, Any]) -> ImporterModes:
        """Return the access modes that the importer requests for a DataVolume with `storage` that names none.

        They come from the StorageProfile of its StorageClass; without one among the manifests, from the provisioner.
        """
        spec = map_at(data, "spec", "storage")
        if kind != VOLUME or not spec or "accessModes" in spec or map_at(data, "spec", "pvc"):
            return _NO_MODES
        named = spec.get("storageClassName")
        storage_class = self.storage_class(named) if named else self._default_virt_class or self._default_class
        if storage_class is None:
            return _NO_MODES
        profile = self._known.get((STORAGE_PROFILE, "", storage_class.name))
        if profile is None and (STORAGE_PROFILE, "", storage_class.name) in self._known:
            return _NO_MODES  # There are several.
        modes = default_access_modes(storage_class.data, profile.data if profile is not None else None, text_at(spec, "volumeMode"))
        return ImporterModes(modes, storage_class.name)

    def template_modes(self, site: Site) -> Mapping[str, ImporterModes]:
        """Return the access modes that the importer requests for the dataVolumeTemplates of a virtual machine, by claim."""
        return self._template_modes.get(site, {})

    @cached_property
    def _template_modes(self) -> dict[Site, dict[str, ImporterModes]]:
        found: dict[Site, dict[str, ImporterModes]] = {}
        for user in self.users:
            modes = {use.name: self.importer_modes(use.kind, use.template) for use in user.claims if use.template is not None}
            found[user.site] = {name: each for name, each in modes.items() if each.modes}
        return found

    @cached_property
    def _modes(self) -> dict[str, dict[str, tuple[str, ...]]]:
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        # A claim has the name of the DataVolume that creates it; the claim takes precedence.
        for kind in (VOLUME, CLAIM):
            for each in self.objects:
                if each.kind == kind:
                    modes = access_modes(kind, each.data) or self.importer_modes(kind, each.data).modes
                    if modes:
                        found.setdefault(each.ref.namespace or "default", {})[each.name] = modes
        return found

    def claim(self, user: VolumeUser, use: ClaimUse) -> Claim | None:
        """Return the claim that a workload uses; None if no manifest defines it."""
        if use.template is not None:
            return self._claim(user.namespace, use.name, use.kind, use.template)
        for kind in (CLAIM, VOLUME):
            found = self._known.get((kind, user.namespace, use.name))
            if found is not None:
                return self._claim(user.namespace, use.name, kind, found.data)._replace(at=found)
        return None

    def _claim(self, namespace: str, name: str, kind: str, data: Mapping[str, Any]) -> Claim:
        found = _claim(namespace, name, kind, data)
        return found if found.modes else found._replace(modes=self.importer_modes(kind, data).modes)

    def claim_names(self, user: VolumeUser, use: ClaimUse, replicas: int) -> list[str]:
        """Return the names of the claims of one use: one for each replica if a StatefulSet creates them."""
        if not use.per_pod or use.kind != CLAIM:
            return [use.name]
        return [f"{use.name}-{user.ref.name}-{ordinal}" for ordinal in range(replicas)]

    def volume_of(self, namespace: str, name: str) -> StorageObject | None:
        """Return the PersistentVolume that a claim is bound to, or that the claim or the volume reserves for the other."""
        claim = self._known.get((CLAIM, namespace, name))
        named = text_at(claim.spec, "volumeName") if claim is not None else ""
        return self.volume(named) if named else self._volumes_by_claim.get((namespace, name))


def _is_equal(one: StorageObject | None, other: StorageObject) -> bool:
    return one is not None and one.data == other.data


def _claim(namespace: str, name: str, kind: str, data: Mapping[str, Any]) -> Claim:
    spec = map_at(data, "spec")
    spec = map_at(spec, "pvc") or map_at(spec, "storage") if kind == VOLUME else spec
    beta = text_at(data, "metadata", "annotations", CLASS_ANNOTATION)
    written = spec.get("storageClassName")
    storage_class = beta or (written if isinstance(written, str) else None)
    bound = bool(text_at(spec, "volumeName")) and BIND_COMPLETED in map_at(data, "metadata", "annotations")
    return Claim(namespace, name, access_modes(kind, data), storage_class, text_at(spec, "volumeName"), bound, spec)
