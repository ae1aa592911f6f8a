"""What a cluster has besides workloads, as the manifests of a run tell it: namespaces, services, budgets, and what can be none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from afflint.controllers.budgets import Budget, read_budget
from afflint.findings import Path, Site, Span
from afflint.kube.manifests import Manifest
from afflint.kube.pod_admission import Said, sayings_of
from afflint.records import NamedTuple
from afflint.scheduler.decoding import InventoryError
from afflint.scheduler.namespaces import Namespace, Service, read_namespace, read_service
from afflint.scheduler.pods import read_pod

if TYPE_CHECKING:
    from afflint.controllers.pod_maker import PodMaker


class Unusable(NamedTuple):
    """An object that cannot be what it stands for, so that nothing is known of it: where it says so, and what is wrong."""

    document: int
    span: Span
    message: str


class KubeVirtObject(NamedTuple):
    """The KubeVirt resource, an instance type, a preference or a claim: what decides on virtual machines besides these."""

    kind: str
    namespace: str | None
    name: str
    data: dict[str, Any]


class AboutPods(NamedTuple):
    """What a Namespace says about the pods that are made in it. ``namespace`` is None for what OpenShift's Scheduler says of the others."""

    namespace: str | None
    sayings: tuple[Said, ...]


def about_pods(manifest: Manifest, site: Site) -> Iterator[AboutPods]:
    """What a Namespace says about its pods, or OpenShift's Scheduler about those of all namespaces; nothing if that is nothing."""
    sayings = tuple(sayings_of(manifest, site))
    if sayings:
        yield AboutPods(manifest.ref.name if manifest.kind.name == "Namespace" else None, sayings)


def kubevirt_object(manifest: Manifest) -> KubeVirtObject:
    """Such an object, as a manifest says it."""
    kept: dict[str, Any] = {field: manifest.data[field] for field in ("spec", "status") if field in manifest.data}
    return KubeVirtObject(manifest.kind.name, manifest.ref.namespace, manifest.ref.name or "", kept)


_READERS: dict[str, Callable[[object], Namespace | Service | Budget]] = {
    "Namespace": read_namespace,
    "Service": read_service,
    "PodDisruptionBudget": read_budget,
}


def object_of(manifest: Manifest) -> Namespace | Service | Budget | Unusable:
    """The Namespace, Service or PodDisruptionBudget that a manifest is."""
    try:
        return _READERS[manifest.kind.name](manifest.data)
    except InventoryError as error:
        return _unusable(manifest, manifest.base, error)


def unusable_pods(manifest: Manifest, maker: PodMaker) -> Iterator[Unusable]:
    """That a workload's pods can be no pods, if so: the scheduler could not even decode them."""
    metadata = {"name": maker.name, "namespace": maker.namespace, "labels": maker.labels}
    try:
        read_pod({"metadata": metadata, "spec": dict(maker.pod)})
    except InventoryError as error:
        yield _unusable(manifest, maker.pod_path, error)


def _unusable(manifest: Manifest, path: Path, error: InventoryError) -> Unusable:
    return Unusable(manifest.document.index, manifest.document.locate(path), str(error))
