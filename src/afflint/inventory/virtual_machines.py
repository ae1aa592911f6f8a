"""Virtual machines with the KubeVirt resource, instance types and preferences from the manifests of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from afflint.controllers.pod_source import PodSource, Reference, Virtualization
from afflint.index.manifest_index import ManifestIndex
from afflint.kube.common_instancetypes import instancetype, preference
from afflint.yaml.document import map_at, maps_at, text_at

# How instance types and preferences are referred to; kubectl's plurals do as well: kubevirt pkg/instancetype/find, preference/find.
_INSTANCETYPE, _PREFERENCE = "Instancetype", "Preference"


def with_virtualization(pod_source: PodSource, manifest_index: ManifestIndex, *, only_running: bool = False) -> PodSource:
    """Return a workload of virtual machines with their instance types, preferences and claims, and notes on missing ones.

    With ``only_running``, virtual machines that a user has to start have no pods.
    """
    if not pod_source.kubevirt:
        return pod_source
    notes = list(pod_source.notes)
    specs: dict[str, Mapping[str, Any] | None] = {}
    missing: list[str] = []
    common: list[str] = []
    for what, reference in ((_INSTANCETYPE, pod_source.instancetype), (_PREFERENCE, pod_source.preference)):
        if reference is not None:
            specs[what] = _spec(manifest_index, pod_source.namespace, what, reference)
            if specs[what] is None:
                specs[what] = _common_spec(what, reference)
                (missing if specs[what] is None else common).append(f"its {what.lower()}{reference.name and ' '}{reference.name}")
    if common:
        are, those = ("is", "that") if len(common) == 1 else ("are", "those")
        used = f"the simulation uses {those} of KubeVirt's common instance types"
        notes.append(f"{' and '.join(common)} {are} not defined in the manifests; {used}")
    if missing:
        are, their = ("is", "its") if len(missing) == 1 else ("are", "their")
        notes.append(f"{' and '.join(missing)} {are} not defined in the manifests; the simulation ignores {their} requirements")
    replicas = pod_source.replicas
    if pod_source.not_started_by and only_running and replicas:
        replicas = 0
        notes.append(f"{pod_source.not_started_by}: it does not start automatically, so it has no pod")
    elif pod_source.not_started_by and replicas:
        notes.append(f"{pod_source.not_started_by}: it does not start automatically, but is simulated as if it were running")
    of_templates = {name: each.modes for name, each in manifest_index.template_modes(pod_source.site).items()}
    claims = {**manifest_index.access_modes(pod_source.namespace), **of_templates}
    networks = tuple(_network_resources(pod_source, manifest_index))
    found = Virtualization(manifest_index.kubevirt_resource, specs.get(_INSTANCETYPE), specs.get(_PREFERENCE), claims, networks)
    return replace(pod_source, notes=tuple(notes), replicas=replicas, virtualization=found)


def _network_resources(pod_source: PodSource, manifest_index: ManifestIndex) -> Iterator[str]:
    """Yield the resource of each Multus network (NetworkToResource, pkg/network/multus/nad.go of KubeVirt)."""
    names = [text_at(each, "multus", "networkName") for each in maps_at(pod_source.pod, "networks")]
    for name in filter(None, names):
        namespace, _, own = name.partition("/") if "/" in name else (pod_source.namespace, "", name)
        if resource := manifest_index.network_resources.get((namespace, own)):
            yield resource


def instancetype_of(manifest_index: ManifestIndex, namespace: str, reference: Reference) -> Mapping[str, Any] | None:
    """Return the spec of the instance type that a virtual machine refers to; None if it is not among the manifests."""
    return _spec(manifest_index, namespace, _INSTANCETYPE, reference)


def _spec(manifest_index: ManifestIndex, namespace: str, what: str, reference: Reference) -> Mapping[str, Any] | None:
    """Return the spec of the referenced object, which is cluster-scoped unless the kind says otherwise."""
    own = _is_namespaced(what, reference)
    return next((spec for spec in _specs(manifest_index, what, namespace if own else None) if spec[0] == reference.name), ("", None))[1]


def _common_spec(what: str, reference: Reference) -> Mapping[str, Any] | None:
    """Return the spec of a common instance type or preference, which are cluster-scoped; None for others."""
    if _is_namespaced(what, reference):
        return None
    return instancetype(reference.name) if what == _INSTANCETYPE else preference(reference.name)


def _is_namespaced(what: str, reference: Reference) -> bool:
    return reference.kind.lower().removesuffix("s") == f"virtualmachine{what.lower()}"


def _specs(manifest_index: ManifestIndex, what: str, namespace: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    kind = f"VirtualMachine{'Cluster' if namespace is None else ''}{what}"
    for each in manifest_index.facts.kubevirt:
        if each.kind == kind and (namespace is None or (each.namespace or "default") == namespace):
            yield each.name, map_at(each.data, "spec")
