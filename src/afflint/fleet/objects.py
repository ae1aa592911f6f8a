"""What a cluster consists of besides workloads, as the manifests of a run tell it: namespaces, services, and what can be neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

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


def object_of(manifest: Manifest) -> Namespace | Service | Unusable:
    """The Namespace or Service that a manifest is."""
    try:
        return read_namespace(manifest.data) if manifest.kind.name == "Namespace" else read_service(manifest.data)
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
