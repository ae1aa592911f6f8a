"""What one manifest tells about itself that others may depend on: pods with their labels, and selectors with their reach.

Facts are extracted in the map step, travel between processes, and are all that cross-manifest checks ever see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from afflint.findings import ObjectRef, Path
from afflint.kube.constraints import PodTerm
from afflint.kube.manifests import Labels, Manifest, Workload
from afflint.kube.selectors import Malformed, Selector, merge_label_keys, parse_label_selector

REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY = "required podAntiAffinity", "preferred podAntiAffinity"
REQUIRED_AFFINITY, PREFERRED_AFFINITY = "required podAffinity", "preferred podAffinity"
SPREAD = "topologySpreadConstraint"


class Site(NamedTuple):
    """Where an object stands: file, document, path in the document."""

    file: str
    document: int
    base: Path


class Pods(NamedTuple):
    """An object that makes pods. ``namespace`` is None where the manifest does not say."""

    site: Site
    ref: ObjectRef
    title: str
    kubevirt: bool
    namespace: str | None
    labels: Labels
    template_labels: Labels
    template_path: Path
    has_own_template: bool
    partial: bool
    may_replicate: bool
    spec: dict[str, Any] | None = None
    """The placement fields of the pod spec; only in runs that have nodes."""

    @property
    def merged_labels(self) -> Labels:
        """The labels the pods would have if those of the object stood on the template as well."""
        return {**self.labels, **self.template_labels}


class Reach(NamedTuple):
    """A selector of pods. ``namespaces``: the names it covers, () for the object's own; ``everywhere``: or any others."""

    site: Site
    ref: ObjectRef
    title: str
    what: str
    path: Path
    namespace: str | None
    namespaces: tuple[str, ...]
    everywhere: bool
    selector: Selector
    topology_key: str | None


class Facts(NamedTuple):
    """All facts of one file."""

    pods: tuple[Pods, ...] = ()
    reaches: tuple[Reach, ...] = ()


def facts_of(manifest: Manifest, file: str, *, with_spec: bool = False) -> Iterator[Pods | Reach]:
    """The facts of one object, ``with_spec`` the placement fields of its pods too. Malformed selectors give none: admission rules do."""
    site = Site(file, manifest.document.index, manifest.base)
    if isinstance(manifest, Workload):
        if manifest.pod or manifest.template:
            pods = _pods(manifest, site)
            yield pods._replace(spec={field: manifest.pod[field] for field in _PLACEMENT if field in manifest.pod}) if with_spec else pods
        yield from _workload_reaches(manifest, site)
    elif manifest.kind.name in _EVIDENCE and manifest.kind.template is None:
        yield from _evidence(manifest, site)


_PLACEMENT = (
    "affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "nodeName", "schedulerName", "evictionStrategy",
)  # fmt: skip


def _pods(workload: Workload, site: Site) -> Pods:
    return Pods(
        site,
        workload.ref,
        workload.title(),
        workload.kind.kubevirt,
        workload.ref.namespace,
        workload.labels,
        workload.template_labels,
        workload.template_path,
        workload.has_own_template,
        workload.partial,
        workload.may_replicate,
    )


def _workload_reaches(workload: Workload, site: Site) -> Iterator[Reach]:
    constraints = workload.constraints
    if not constraints.selectors:
        return
    for term in constraints.pod_terms:
        selector = _merged(term.data, workload.template_labels)
        if selector is not None:
            names, everywhere = _namespaces(term)
            path = (*term.path, "labelSelector")
            yield _reach(workload, site, term.name, path, selector, names, everywhere, term.data.get("topologyKey"))
    for spread in constraints.spreads:
        selector = _merged(spread.data, workload.template_labels)
        if selector is not None:
            path = (*spread.path, "labelSelector")
            yield _reach(workload, site, SPREAD, path, selector, (), False, spread.data.get("topologyKey"))


def _reach(
    manifest: Manifest, site: Site, what: str, path: Path, selector: Selector, names: tuple[str, ...], everywhere: bool, key: Any = None
) -> Reach:
    topology_key = key if type(key) is str else None
    return Reach(site, manifest.ref, manifest.title(), what, path, manifest.ref.namespace, names, everywhere, selector, topology_key)


def _merged(data: dict[str, Any], labels: Labels) -> Selector | None:
    parsed = parse_label_selector(data.get("labelSelector"))
    match, mismatch = ([key for key in data.get(field) or () if type(key) is str] for field in ("matchLabelKeys", "mismatchLabelKeys"))
    if match or mismatch:
        parsed = merge_label_keys(parsed, labels, match, mismatch)
    return parsed if isinstance(parsed, Selector) else None


def _namespaces(term: PodTerm) -> tuple[tuple[str, ...], bool]:
    """The names a term lists, and whether a namespaceSelector may add others: which, only the cluster knows."""
    names = term.data.get("namespaces")
    listed = tuple(name for name in names if type(name) is str) if type(names) is list else ()
    return listed, term.data.get("namespaceSelector") is not None


_EVIDENCE = {
    "Service": "Service selector",
    "PodDisruptionBudget": "PodDisruptionBudget selector",
    "NetworkPolicy": "NetworkPolicy podSelector",
}


def _evidence(manifest: Manifest, site: Site) -> Iterator[Reach]:
    """What people mean to select. A Service without selector and a policy for all pods say nothing about labels."""
    spec = manifest.data.get("spec")
    if type(spec) is not dict:
        return
    if manifest.kind.name == "Service":
        field, data = "selector", {"matchLabels": spec.get("selector")} if spec.get("selector") else None
    elif manifest.kind.name == "NetworkPolicy":
        field, data = "podSelector", spec.get("podSelector")
    else:
        field, data = "selector", spec.get("selector")
    parsed = parse_label_selector(data)
    if isinstance(parsed, Selector) and parsed.requirements and not isinstance(parsed, Malformed):
        yield _reach(manifest, site, _EVIDENCE[manifest.kind.name], (*manifest.base, "spec", field), parsed, (), False)
