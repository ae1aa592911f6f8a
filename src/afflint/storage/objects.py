"""The storage objects that the scheduler reads: volumes, claims, classes, and what drivers and nodes declare.

Objects are given as parsed from YAML or JSON. Fields that the scheduler does not read are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.decoding import (
    InventoryError,
    error_in,
    fail,
    flag,
    integer,
    mapping,
    metadata,
    sequence,
    string,
    string_map,
    strings,
)
from afflint.kube.quantities import Quantity, parse_quantity
from afflint.kube.selectors import Malformed, Parsed, parse_label_selector, parse_node_term
from afflint.storage import BIND_COMPLETED, CLASS_ANNOTATION, SELECTED_NODE
from afflint.storage.existing_volumes import without_fields
from afflint.storage.topology import NO_PROVISIONER

T = TypeVar("T")

ClaimKey = tuple[str, str]
"""Namespace and name of a claim."""

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
_ON_FIRST_USE = "WaitForFirstConsumer"
_ZERO = Quantity(0)

Terms = tuple[Parsed, ...] | None
"""Node selector terms of a volume without their ``matchFields``, which the scheduler ignores there. None: the volume has no affinity."""


class ClaimRef(NamedTuple):
    """The claim that a volume is bound to or reserved for; ``uid`` is empty if any claim of that name may take it."""

    namespace: str
    name: str
    uid: str


class PersistentVolume(NamedTuple):
    """A PersistentVolume."""

    name: str
    labels: Mapping[str, str]
    terms: Terms
    storage_class: str
    capacity: Quantity
    access_modes: tuple[str, ...]
    mode: str
    attributes_class: str
    claim: ClaimRef | None
    available: bool
    """Whether its phase is Available. A manifest has no phase: then it is available as soon as it exists."""
    deleting: bool
    source: str
    """The field that names the storage, such as ``csi``; empty if none does that the scheduler reads."""
    driver: str
    handle: str


class PersistentVolumeClaim(NamedTuple):
    """A PersistentVolumeClaim."""

    namespace: str
    name: str
    uid: str
    storage_class: str
    volume: str
    bound: bool
    """Whether the binding to ``volume`` is complete."""
    selected_node: str | None
    access_modes: tuple[str, ...]
    request: Quantity | None
    selector: Parsed
    mode: str
    attributes_class: str
    lost: bool
    deleting: bool
    owner: tuple[str, str, str]
    """Kind, name and UID of the owner that is the controller; empty without one."""

    @property
    def key(self) -> ClaimKey:
        return self.namespace, self.name

    @property
    def size(self) -> Quantity:
        """The requested storage; 0 without a request."""
        return self.request or _ZERO


class StorageClass(NamedTuple):
    """A StorageClass. ``topologies`` are its allowedTopologies: alternatives of label keys with values; none allows every node."""

    name: str
    provisioner: str
    on_first_use: bool
    """Whether claims are bound when a pod that uses them is scheduled."""
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]

    @property
    def provisions(self) -> bool:
        """Whether new volumes can be created."""
        return self.provisioner not in ("", NO_PROVISIONER)

    def allows(self, labels: Mapping[str, str]) -> bool:
        """Return whether new volumes may be created for a node with these labels (MatchTopologySelectorTerms)."""
        return not self.topologies or any(term and all(labels.get(key) in values for key, values in term) for term in self.topologies)


class CSINode(NamedTuple):
    """What the drivers on a node declare: how many volumes each can attach (None: any number), and which in-tree plugins they replace."""

    name: str
    limits: tuple[tuple[str, int | None], ...]
    migrated: frozenset[str]


class CSIDriver(NamedTuple):
    """A CSIDriver: whether it publishes capacities, and whether pods need a node on which it is installed."""

    name: str
    storage_capacity: bool
    required_on_node: bool


class StorageCapacity(NamedTuple):
    """A CSIStorageCapacity; ``nodes`` selects nodes by label, None selects none."""

    key: tuple[str, str]
    storage_class: str
    nodes: Parsed
    capacity: Quantity | None
    largest: Quantity | None
    """The largest possible volume."""

    def fits(self, size: Quantity) -> bool:
        """Return whether a volume of this size can be created (capacitySufficient)."""
        limit = self.capacity if self.largest is None else self.largest
        return limit is not None and limit.value >= size.value


class VolumeAttachment(NamedTuple):
    """A volume that a driver has attached to a node."""

    driver: str
    node: str
    volume: str


class StorageObjects(NamedTuple):
    """All storage objects of a cluster, compiled, by name."""

    volumes: dict[str, PersistentVolume]
    claims: dict[ClaimKey, PersistentVolumeClaim]
    classes: dict[str, StorageClass]
    nodes: dict[str, CSINode]
    drivers: dict[str, CSIDriver]
    capacities: dict[str, list[StorageCapacity]]
    """By storage class."""
    attachments: tuple[VolumeAttachment, ...]


def read_storage(
    volumes: Iterable[object] = (),
    claims: Iterable[object] = (),
    classes: Iterable[object] = (),
    nodes: Iterable[object] = (),
    drivers: Iterable[object] = (),
    capacities: Iterable[object] = (),
    attachments: Iterable[object] = (),
) -> StorageObjects:
    """Read the storage objects of a cluster. Raises InventoryError for malformed objects and for a name that appears twice."""
    by_class: dict[str, list[StorageCapacity]] = {}
    for capacity in sorted([_read("CSIStorageCapacity", _capacity, each) for each in capacities], key=lambda each: each.key):
        by_class.setdefault(capacity.storage_class, []).append(capacity)
    return StorageObjects(
        _by_name("PersistentVolume", [_read("PersistentVolume", _volume, each) for each in volumes]),
        _claims_by_key([_read("PersistentVolumeClaim", _claim, each) for each in claims]),
        _by_name("StorageClass", [_read("StorageClass", _storage_class, each) for each in classes]),
        _by_name("CSINode", [_read("CSINode", _csi_node, each) for each in nodes]),
        _by_name("CSIDriver", [_read("CSIDriver", _driver, each) for each in drivers]),
        by_class,
        tuple([_read("VolumeAttachment", _attachment, each) for each in attachments]),
    )


def _by_name(kind: str, objects: list[Any]) -> dict[str, Any]:
    named = {each.name: each for each in objects}
    if len(named) < len(objects):
        names = [each.name for each in objects]
        fail(f"{kind} {next(name for name in names if names.count(name) > 1)!r}", "appears twice")
    return named


def _claims_by_key(claims: list[PersistentVolumeClaim]) -> dict[ClaimKey, PersistentVolumeClaim]:
    found: dict[ClaimKey, PersistentVolumeClaim] = {}
    for claim in claims:
        if found.setdefault(claim.key, claim) is not claim:
            fail(f"PersistentVolumeClaim {'/'.join(claim.key)!r}", "appears twice")
    return found


def _read(kind: str, read: Callable[[str, dict[str, Any], dict[str, Any]], T], data: object) -> T:
    name, meta, whole = metadata(data, kind)
    try:
        return read(name, meta, whole)
    except InventoryError as error:
        raise error_in(kind, name, error) from None


def _volume(name: str, meta: dict[str, Any], whole: dict[str, Any]) -> PersistentVolume:
    spec, status = mapping(whole.get("spec"), "spec"), mapping(whole.get("status"), "status")
    source, driver, handle = _source(spec)
    return PersistentVolume(
        name,
        string_map(meta.get("labels"), "metadata.labels"),
        _terms(spec.get("nodeAffinity")),
        _class_of(meta, spec),
        _quantity(mapping(spec.get("capacity"), "spec.capacity").get("storage"), "spec.capacity.storage") or _ZERO,
        strings(spec.get("accessModes"), "spec.accessModes"),
        _mode(spec),
        string(spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"),
        _claim_ref(spec.get("claimRef")),
        string(status.get("phase"), "status.phase") in ("", "Available"),
        meta.get("deletionTimestamp") is not None,
        source,
        driver,
        handle,
    )


_SOURCES = {
    "csi": "volumeHandle",
    "awsElasticBlockStore": "volumeID",
    "gcePersistentDisk": "pdName",
    "azureDisk": "diskURI",
    "cinder": "volumeID",
    "portworxVolume": "volumeID",
}
"""The fields of a PersistentVolume that name its storage, with the field below that identifies it; others are never counted."""


def _source(spec: Mapping[str, Any]) -> tuple[str, str, str]:
    for field, handle in _SOURCES.items():
        if spec.get(field) is not None:
            where = f"spec.{field}"
            entry = mapping(spec[field], where)
            return field, string(entry.get("driver"), f"{where}.driver"), string(entry.get(handle), f"{where}.{handle}")
    return "", "", ""


def _terms(data: object) -> Terms:
    """Return the required terms of the node affinity of a volume; a term that cannot be parsed matches nothing."""
    required = mapping(data, "spec.nodeAffinity").get("required")
    if required is None:
        return None
    where = "spec.nodeAffinity.required"
    terms = sequence(mapping(required, where).get("nodeSelectorTerms"), f"{where}.nodeSelectorTerms")
    return tuple([without_fields(parse_node_term(term)) for term in terms])


def _claim_ref(data: object) -> ClaimRef | None:
    if data is None:
        return None
    entry = mapping(data, "spec.claimRef")
    namespace, name, uid = (string(entry.get(field), f"spec.claimRef.{field}") for field in ("namespace", "name", "uid"))
    return ClaimRef(namespace, name, uid)


def _claim(name: str, meta: dict[str, Any], whole: dict[str, Any]) -> PersistentVolumeClaim:
    spec, status = mapping(whole.get("spec"), "spec"), mapping(whole.get("status"), "status")
    annotations = mapping(meta.get("annotations"), "metadata.annotations")
    requests = mapping(mapping(spec.get("resources"), "spec.resources").get("requests"), "spec.resources.requests")
    volume = string(spec.get("volumeName"), "spec.volumeName")
    selector = parse_label_selector(spec.get("selector"))
    if isinstance(selector, Malformed) and selector.mistyped:
        fail("spec.selector" + "".join(f"[{step!r}]" for step in selector.path), selector.problem)
    return PersistentVolumeClaim(
        string(meta.get("namespace"), "metadata.namespace") or "default",
        name,
        string(meta.get("uid"), "metadata.uid"),
        _class_of(meta, spec),
        volume,
        bool(volume) and BIND_COMPLETED in annotations,
        string(annotations[SELECTED_NODE], f"metadata.annotations[{SELECTED_NODE!r}]") if SELECTED_NODE in annotations else None,
        strings(spec.get("accessModes"), "spec.accessModes"),
        _quantity(requests.get("storage"), "spec.resources.requests.storage"),
        selector,
        _mode(spec),
        string(spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"),
        string(status.get("phase"), "status.phase") == "Lost",
        meta.get("deletionTimestamp") is not None,
        _owner(meta),
    )


def _owner(meta: Mapping[str, Any]) -> tuple[str, str, str]:
    for index, item in enumerate(sequence(meta.get("ownerReferences"), "metadata.ownerReferences")):
        where = f"metadata.ownerReferences[{index}]"
        entry = mapping(item, where)
        if entry.get("controller") is True:
            kind, name, uid = (string(entry.get(field), f"{where}.{field}") for field in ("kind", "name", "uid"))
            return kind, name, uid
    return "", "", ""


def _class_of(meta: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """Return the storage class of a volume or a claim: the old annotation comes before the field (GetPersistentVolumeClaimClass)."""
    annotations = mapping(meta.get("annotations"), "metadata.annotations")
    if CLASS_ANNOTATION in annotations:
        return string(annotations[CLASS_ANNOTATION], f"metadata.annotations[{CLASS_ANNOTATION!r}]")
    return string(spec.get("storageClassName"), "spec.storageClassName")


def _mode(spec: Mapping[str, Any]) -> str:
    return string(spec.get("volumeMode"), "spec.volumeMode") or "Filesystem"


def _storage_class(name: str, _meta: dict[str, Any], whole: dict[str, Any]) -> StorageClass:
    topologies = []
    for index, item in enumerate(sequence(whole.get("allowedTopologies"), "allowedTopologies")):
        where = f"allowedTopologies[{index}].matchLabelExpressions"
        listed = sequence(mapping(item, f"allowedTopologies[{index}]").get("matchLabelExpressions"), where)
        entries = [mapping(each, where) for each in listed]
        topologies.append(tuple([(string(each.get("key"), where), strings(each.get("values"), where)) for each in entries]))
    mode = string(whole.get("volumeBindingMode"), "volumeBindingMode")
    return StorageClass(name, string(whole.get("provisioner"), "provisioner"), mode == _ON_FIRST_USE, tuple(topologies))


def _csi_node(name: str, meta: dict[str, Any], whole: dict[str, Any]) -> CSINode:
    annotations = mapping(meta.get("annotations"), "metadata.annotations")
    migrated = string(annotations.get(MIGRATED_PLUGINS), f"metadata.annotations[{MIGRATED_PLUGINS!r}]")
    limits: dict[str, int | None] = {}
    for index, item in enumerate(sequence(mapping(whole.get("spec"), "spec").get("drivers"), "spec.drivers")):
        where = f"spec.drivers[{index}]"
        entry = mapping(item, where)
        count = mapping(entry.get("allocatable"), f"{where}.allocatable").get("count")
        limits[string(entry.get("name"), f"{where}.name")] = None if count is None else integer(count, f"{where}.allocatable.count", 0)
    return CSINode(name, tuple(sorted(limits.items())), frozenset(filter(None, migrated.split(","))))


def _driver(name: str, _meta: dict[str, Any], whole: dict[str, Any]) -> CSIDriver:
    spec = mapping(whole.get("spec"), "spec")
    required = flag(spec.get("preventPodSchedulingIfMissing"), "spec.preventPodSchedulingIfMissing")
    return CSIDriver(name, flag(spec.get("storageCapacity"), "spec.storageCapacity"), required)


def _capacity(name: str, meta: dict[str, Any], whole: dict[str, Any]) -> StorageCapacity:
    return StorageCapacity(
        (string(meta.get("namespace"), "metadata.namespace"), name),
        string(whole.get("storageClassName"), "storageClassName"),
        parse_label_selector(whole.get("nodeTopology")),
        _quantity(whole.get("capacity"), "capacity"),
        _quantity(whole.get("maximumVolumeSize"), "maximumVolumeSize"),
    )


def _attachment(_name: str, _meta: dict[str, Any], whole: dict[str, Any]) -> VolumeAttachment:
    spec = mapping(whole.get("spec"), "spec")
    volume = mapping(spec.get("source"), "spec.source").get("persistentVolumeName")
    driver, node = (string(spec.get(field), f"spec.{field}") for field in ("attacher", "nodeName"))
    return VolumeAttachment(driver, node, string(volume, "spec.source.persistentVolumeName"))


def _quantity(data: object, where: str) -> Quantity | None:
    if data is None:
        return None
    quantity = parse_quantity(data)
    if quantity is None:
        fail(where, "is not a quantity")
    return quantity
