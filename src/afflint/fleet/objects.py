"""What a cluster has besides workloads, as the manifests of a run tell it: namespaces, services, budgets, and what can be none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from afflint.controllers.budgets import Budget, read_budget
from afflint.findings import Path, Span
from afflint.kube.manifests import Manifest
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
