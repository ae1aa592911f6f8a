"""Objects other than workloads in the manifests of a run: namespaces, services, PodDisruptionBudgets, autoscalers, KubeVirt objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from afflint.admission.pod_admission import NamespaceRule, namespace_rules
from afflint.controllers.budgets import Budget, read_budget
from afflint.controllers.replica_counts import parse_count
from afflint.findings.finding import ObjectRef, Site, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.decoding import InventoryError
from afflint.manifests.manifest import Manifest
from afflint.scheduler.namespaces import Namespace, Service, read_namespace, read_service
from afflint.scheduler.pods import read_pod
from afflint.yaml.document import map_at, text_at
from afflint.yaml.object_fields import annotations_of, api_version_of, kind_of

if TYPE_CHECKING:
    from afflint.controllers.pod_source import PodSource


class Unusable(NamedTuple):
    """A malformed object that cannot be read: its position and the error message."""

    document: int
    span: Span
    message: str


class KubeVirtObject(NamedTuple):
    """A KubeVirt or HyperConverged resource, an instance type, a preference or a network, which virtual machines depend on.

    ``data`` has the spec and the status; of a NetworkAttachmentDefinition the ``resource`` that its annotation names.
    """

    kind: str
    namespace: str | None
    name: str
    data: dict[str, Any]


class MaintenanceObject(NamedTuple):
    """A MigrationPolicy of KubeVirt or a NodeMaintenance: its position and its spec, as parsed."""

    site: Site
    ref: ObjectRef
    spec: dict[str, Any]
    from_cluster: bool


def maintenance_object(manifest: Manifest, site: Site) -> MaintenanceObject:
    """Return the MigrationPolicy or NodeMaintenance of a manifest."""
    return MaintenanceObject(site, manifest.ref, map_at(manifest.data, "spec"), manifest.from_cluster)


class NamespaceAnnotations(NamedTuple):
    """The annotations of a Namespace about its pods. ``namespace`` is None for the defaults in OpenShift's Scheduler."""

    namespace: str | None
    rules: tuple[NamespaceRule, ...]

    def with_sites(self, moved: Callable[[Site], Site]) -> NamespaceAnnotations:
        """Return the same annotations at other sites."""
        return self._replace(rules=tuple([each._replace(site=moved(each.site)) for each in self.rules]))


def namespace_annotations(manifest: Manifest, site: Site) -> Iterator[NamespaceAnnotations]:
    """Yield the annotations of a Namespace about its pods, or the defaults in OpenShift's Scheduler, if there are any."""
    rules = tuple(namespace_rules(manifest, site))
    if rules:
        yield NamespaceAnnotations(manifest.ref.name if manifest.kind.name == "Namespace" else None, rules)


class Scaler(NamedTuple):
    """An autoscaler with its target and its range of replicas; None for a bound that is missing or a placeholder.

    A patch without a target has an empty ``kind``. ``wakes``: it also starts a workload with 0 replicas.
    """

    site: Site
    title: str
    namespace: str | None
    group: str
    kind: str
    name: str
    least: int | None
    most: int | None
    wakes: bool


def scalers(manifest: Manifest, site: Site) -> Iterator[Scaler]:
    """Yield a HorizontalPodAutoscaler (pkg/controller/podautoscaler) or a ScaledObject of KEDA (apis/keda/v1alpha1)."""
    spec = manifest.data.get("spec")
    target = spec.get("scaleTargetRef") if type(spec) is dict else None
    if type(spec) is not dict:
        return
    of_keda = manifest.kind.name == "ScaledObject"
    fields = ("minReplicaCount", "maxReplicaCount") if of_keda else ("minReplicas", "maxReplicas")
    defaults = ((0, 100) if of_keda else (1, None)) if type(target) is dict else (None, None)
    least, most = (parse_count(spec[field]) if field in spec else default for field, default in zip(fields, defaults, strict=True))
    if of_keda and "idleReplicaCount" in spec:
        idle = parse_count(spec["idleReplicaCount"])
        least = None if idle is None or least is None else min(idle, least)
    paused = annotations_of(manifest.data).get(_PAUSED) if of_keda else None
    if paused is not None:
        least = most = int(paused) if paused.isascii() and paused.isdigit() else None
    group, kind, name = _target(target, of_keda=of_keda)
    yield Scaler(site, manifest.title(), manifest.ref.namespace, group, kind, name, least, most, of_keda)


_PAUSED = "autoscaling.keda.sh/paused-replicas"


def _target(target: object, *, of_keda: bool) -> tuple[str, str, str]:
    """Return group, kind and name of the target of an autoscaler; KEDA defaults to a Deployment."""
    if type(target) is not dict or type(target.get("name")) is not str:
        return "", "", ""
    version, kind = api_version_of(target), kind_of(target)
    if of_keda:
        version, kind = version or "apps/v1", kind or "Deployment"
    return version.rpartition("/")[0], kind, target["name"]


def kubevirt_object(manifest: Manifest) -> KubeVirtObject:
    """Return the KubeVirt object, instance type, preference or network of a manifest."""
    if manifest.kind.name == "NetworkAttachmentDefinition":
        resource = text_at(manifest.data, "metadata", "annotations", _NETWORK_RESOURCE)
        return KubeVirtObject(manifest.kind.name, manifest.ref.namespace, manifest.ref.name or "", {"resource": resource})
    data: dict[str, Any] = {field: manifest.data[field] for field in ("spec", "status") if field in manifest.data}
    return KubeVirtObject(manifest.kind.name, manifest.ref.namespace, manifest.ref.name or "", data)


_NETWORK_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"


_READERS: dict[str, Callable[[object], Namespace | Service | Budget]] = {
    "Namespace": read_namespace,
    "Service": read_service,
    "PodDisruptionBudget": read_budget,
}


def object_of(manifest: Manifest) -> Namespace | Service | Budget | Unusable:
    """Return the Namespace, Service or PodDisruptionBudget of a manifest, or Unusable if it is malformed."""
    try:
        return _READERS[manifest.kind.name](manifest.data)
    except InventoryError as error:
        return _unusable(manifest, manifest.base, error)


def unusable_pods(manifest: Manifest, pod_source: PodSource) -> Iterator[Unusable]:
    """Yield an Unusable if the pods of a workload are malformed, so that the scheduler cannot decode them."""
    metadata = {"name": pod_source.name, "namespace": pod_source.namespace, "labels": pod_source.labels}
    try:
        read_pod({"metadata": metadata, "spec": dict(pod_source.pod)})
    except InventoryError as error:
        yield _unusable(manifest, pod_source.pod_path, error)


def _unusable(manifest: Manifest, path: Path, error: InventoryError) -> Unusable:
    return Unusable(manifest.document.index, manifest.document.locate(path), str(error))
