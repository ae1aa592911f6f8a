"""The storage of a simulation: the claims that workloads use, as the cluster will have them when pods are scheduled.

Claims that do not exist yet are created from their templates. Where a driver will create a volume follows from the StorageClass, see
``storage.topology``; a claim about which this is not known is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.claims import CLAIM, SHARED, VOLUME, access_modes
from afflint.controllers.observed_workloads import ENDED
from afflint.controllers.pod_source import PodSource
from afflint.controllers.replicas import MAX_REPLICAS, pod_name
from afflint.controllers.virtual_machine import claim_name
from afflint.findings.namedtuples import NamedTuple
from afflint.index.storage import DEFAULT_CLASS, PERSISTENT_VOLUME, STORAGE_CLASS, ClaimUse, Storage, StorageObject, VolumeUser
from afflint.inventory.inventory import InventoryStorage, WorkloadVolumes
from afflint.inventory.simulation_input import SimulationInput
from afflint.kube.decoding import InventoryError
from afflint.storage import BIND_COMPLETED, CLASS_ANNOTATION
from afflint.storage.objects import ClaimKey, read_storage
from afflint.storage.profiles import DEFAULT_VIRT_CLASS, STORAGE_PROFILE, default_access_modes
from afflint.storage.topology import NO_PROVISIONER, VolumeTopology, is_for_one_node, topology_of, topology_of_word
from afflint.yaml.document import map_at, maps_at, text_at, texts_at
from afflint.yaml.object_fields import kind_of, metadata_of, name_of, namespace_of

Object = Mapping[str, Any]
DUMPED_KINDS = {
    "CSINode": "csi_nodes",
    "CSIDriver": "csi_drivers",
    "CSIStorageCapacity": "csi_storage_capacities",
    "VolumeAttachment": "volume_attachments",
}
"""The kinds that only a dump of a cluster has, with the parameters of ``Cluster`` for them."""
_ASSUMPTION = "the simulation assumes that its pods can use them"


class StorageOptions(NamedTuple):
    """What the configuration says about storage: the topologies of volumes by StorageClass or provisioner, and the default class."""

    topologies: Mapping[str, str] = {}
    default_class: str = ""


def with_storage(
    simulation_input: SimulationInput, storage: Storage, dumped: Mapping[str, Sequence[Object]], options: StorageOptions
) -> SimulationInput:
    """Return the input with the claims of its workloads and the storage objects that these depend on.

    ``storage`` has the storage objects of the manifests and dumps, ``dumped`` those of the kinds in ``DUMPED_KINDS``.
    """
    return _StorageReader(simulation_input, storage, dumped, options).read()


class _UnknownVolumeError(Exception):
    """It is not known where the volume of a claim is or will be."""


class _Class(NamedTuple):
    """A StorageClass as parsed, and from which nodes its new volumes can be used."""

    data: Object
    topology: VolumeTopology

    @property
    def immediate(self) -> bool:
        return text_at(self.data, "volumeBindingMode") in ("", "Immediate")


class _StorageReader:
    """Finds the claims of all workloads of one simulation."""

    def __init__(
        self, simulation_input: SimulationInput, storage: Storage, dumped: Mapping[str, Sequence[Object]], options: StorageOptions
    ) -> None:
        self.given = simulation_input
        self.options = options
        self.dumped = dumped
        self.objects = _best(storage.objects)
        self.users = {(user.site, user.template_path): user for user in storage.users}
        self.labels = [node.labels for node in simulation_input.nodes]
        self.running = _running_claims(simulation_input.inventory.pods, {node.name: node.labels for node in simulation_input.nodes})
        self.claims: dict[ClaimKey, Object] = {}
        self.classes: dict[str, Object] = {}
        self.new_volumes: dict[str, tuple[str, ...]] = {}
        self.notes: dict[ClaimKey, tuple[str, ...]] = {}
        self._volumes = {name: each for (kind, _, name), each in self.objects.items() if kind == PERSISTENT_VOLUME and _is_readable(each)}
        self._by_claim: dict[ClaimKey, list[Object]] = {}
        for volume in self._volumes.values():
            reference = map_at(volume, "spec", "claimRef")
            if reference:
                self._by_claim.setdefault((text_at(reference, "namespace") or "default", text_at(reference, "name")), []).append(volume)

    def read(self) -> SimulationInput:
        given = self.given
        workloads: dict[str, WorkloadVolumes] = {}
        for number, pod_source in enumerate(given.pod_sources):
            pods = given.sources[number] if number < len(given.sources) else None
            user = self.users.get((pods.site, pods.template_path)) if pods is not None else None
            found = self._of_pods(pod_source) if pod_source.has_own_pods else self._of_workload(pod_source, user)
            if found is not None:
                workloads[pod_source.key] = found
        pods_with_claims = [self._running_pod(pod) for pod in given.inventory.pods]
        storage = InventoryStorage(self._parameters(), workloads, frozenset(self.claims), self._exclusive())
        pod_sources = tuple([self._with_modes(pod_source, workloads.get(pod_source.key)) for pod_source in given.pod_sources])
        return given._replace(pod_sources=pod_sources, inventory=given.inventory._replace(pods=pods_with_claims, storage=storage))

    # --- workloads -----------------------------------------------------------------------------------------------------

    def _of_workload(self, pod_source: PodSource, user: VolumeUser | None) -> WorkloadVolumes | None:
        """Return the claims of a workload with a manifest, or of a running virtual machine."""
        uses = list(user.claims) if user is not None else []
        plugged: list[str] = []
        if pod_source.kubevirt:
            templates = {use.name: use for use in uses}
            disks = maps_at(pod_source.pod, "volumes")
            names = [claim_name(each) for each in disks if not _is_hotplugged(each)]
            plugged = [claim for each in disks if _is_hotplugged(each) and (claim := claim_name(each))]
            uses = [templates.get(name) or ClaimUse((), name) for name in dict.fromkeys(filter(None, names))]
        if not (uses or plugged):
            return None
        count = min(pod_source.replicas, MAX_REPLICAS)
        shared: list[str] = []
        per_pod: list[str] = []
        unknown: dict[str, None] = {}
        notes = {f"the hotplugged disk {each} does not keep the VM from a node that cannot use it": None for each in plugged}
        for use in uses:
            own = use.per_pod and use.kind == CLAIM
            names = [f"{use.name}-{pod_name(pod_source, number)}" for number in range(count)] if own else [use.name]
            problems = [self._unknown((pod_source.namespace, name), use) for name in names]
            unknown.update(dict.fromkeys(filter(None, problems)))
            if not all(problems):
                (per_pod if own else shared).append(use.name)
            notes.update(dict.fromkeys(note for name in names for note in self.notes.get((pod_source.namespace, name), ())))
        return WorkloadVolumes(tuple(shared), tuple(per_pod), tuple(unknown), tuple(notes))

    def _with_modes(self, pod_source: PodSource, volumes: WorkloadVolumes | None) -> PodSource:
        """Return a workload of virtual machines with the access modes of its claims, which decide whether it can migrate."""
        if not pod_source.kubevirt or volumes is None:
            return pod_source
        claims = {name: self.claims.get((pod_source.namespace, name)) for name in volumes.shared}
        modes = {name: access_modes(CLAIM, claim) for name, claim in claims.items() if claim is not None}
        return replace(pod_source, claims={**pod_source.claims, **{name: found for name, found in modes.items() if found}})

    def _of_pods(self, pod_source: PodSource) -> WorkloadVolumes | None:
        """Return the claims of a workload that is known from its pods only. The pods have their claims themselves."""
        claims = [claim for index in pod_source.observed for claim in _claims_of(self.given.inventory.pods[index])]
        unknown = dict.fromkeys(filter(None, map(self._unknown, claims)))
        return WorkloadVolumes(unknown=tuple(unknown)) if claims else None

    def _running_pod(self, pod: object) -> object:
        """Return a running pod without the claims that are left out. An ephemeral volume does not outlive its pod."""
        volumes = maps_at(pod, "spec", "volumes")
        if not isinstance(pod, dict) or not volumes:
            return pod
        namespace = namespace_of(pod) or "default"
        claims = [text_at(each, *_CLAIM_NAME) for each in volumes]
        kept = [
            volume
            for volume, claim in zip(volumes, claims, strict=True)
            if "ephemeral" not in volume and not (claim and self._unknown((namespace, claim)))
        ]
        return pod if len(kept) == len(volumes) else {**pod, "spec": {**pod["spec"], "volumes": kept}}

    # --- claims --------------------------------------------------------------------------------------------------------

    def _unknown(self, key: ClaimKey, use: ClaimUse | None = None) -> str:
        """Add a claim as it is when its pod is scheduled, or return why it is left out; empty if it is not."""
        if key in self.claims:
            return ""
        try:
            self._add(key, self._resolved(key, self._claim(key, use)))
        except _UnknownVolumeError as error:
            return str(error)
        return ""

    def _resolved(self, key: ClaimKey, claim: Object) -> Object:
        """Return a claim as bound to its volume, or as waiting for its first pod. Raises _UnknownVolumeError."""
        spec, metadata = map_at(claim, "spec"), metadata_of(claim)
        annotations, named = map_at(metadata, "annotations"), text_at(spec, "volumeName")
        volume = self._volumes.get(named) if named else self._reserved(key, text_at(metadata, "uid"))
        if volume is not None:
            return _bound(claim, name_of(volume))
        found = self._class_of(key[1], claim)
        running = key in self.running
        if text_at(found.data, "provisioner") != NO_PROVISIONER and (running or (named and found.topology.scope == "any")):
            return _bound(claim, self._volume_of_running(key, claim, found, named))
        if named or running:
            raise _UnknownVolumeError(f"the PersistentVolume of the claim {key[1]} is not known")
        name = name_of(found.data)
        self.classes[name] = {**found.data, "volumeBindingMode": "WaitForFirstConsumer"}
        if text_at(found.data, "provisioner") != NO_PROVISIONER:
            self.new_volumes[name] = self._keys(found)
        if found.immediate and found.topology.limited:
            self.notes[key] = (f"the StorageClass {name} provisions volumes before pods are scheduled; {_ASSUMPTION}",)
        metadata = {**metadata, "annotations": {each: text for each, text in annotations.items() if each not in _OBSOLETE}}
        return {**claim, "metadata": metadata, "spec": {**spec, "volumeName": "", "storageClassName": name}}

    def _volume_of_running(self, key: ClaimKey, claim: Object, of_class: _Class, named: str) -> str:
        """Add the volume of a claim that a running pod uses, as its driver has created it for the node of the pod; return its name."""
        name = named or f"pvc-{key[0]}-{key[1]}"
        labels = self.running.get(key, {})
        asked = [{"key": each, "operator": "In", "values": [labels.get(each, "")]} for each in self._keys(of_class)]
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": asked}]}} if asked else None
        self._volumes[name] = {
            "kind": PERSISTENT_VOLUME,
            "metadata": {"name": name},
            "spec": {
                "accessModes": texts_at(claim, "spec", "accessModes"),
                "storageClassName": name_of(of_class.data),
                "claimRef": {"namespace": key[0], "name": key[1]},
                "csi": {"driver": text_at(of_class.data, "provisioner"), "volumeHandle": name},
                "nodeAffinity": affinity,
            },
        }
        return name

    def _add(self, key: ClaimKey, claim: Object) -> None:
        if not _is_readable(claim):
            raise _UnknownVolumeError(f"the claim {key[1]} is malformed")
        self.claims[key] = claim

    def _claim(self, key: ClaimKey, use: ClaimUse | None) -> Object:
        """Return a claim as parsed: one that exists, or the one that a DataVolume or a template creates."""
        found = self.objects.get((CLAIM, *key))
        if found is not None:
            return found
        kind, data = VOLUME, self.objects.get((VOLUME, *key))
        if data is None and use is not None and use.template is not None:
            kind, data = use.kind, use.template
        if data is None:
            raise _UnknownVolumeError(f"the claim {key[1]} is not defined")
        spec = map_at(data, "spec")
        if kind == VOLUME:
            spec = map_at(spec, "pvc") or self._importer_spec(map_at(spec, "storage"))
        requested = map_at(spec, "resources", "requests")
        fields = ("storageClassName", "volumeName", "volumeMode", "selector", "volumeAttributesClassName")
        return {
            "kind": CLAIM,
            "metadata": {"namespace": key[0], "name": key[1], "annotations": map_at(data, "metadata", "annotations")},
            "spec": {
                **{field: spec[field] for field in fields if field in spec},
                "accessModes": list(access_modes(CLAIM, {"spec": spec})),
                "resources": {"requests": {"storage": requested.get("storage")}},
            },
        }

    def _reserved(self, key: ClaimKey, uid: str) -> Object | None:
        """Return the volume that is bound to a claim or reserved for it."""
        for volume in self._by_claim.get(key, ()):
            if not uid or text_at(volume, "spec", "claimRef", "uid") in ("", uid):
                return volume
        return None

    # --- classes -------------------------------------------------------------------------------------------------------

    def _class_of(self, claim_name: str, claim: Object) -> _Class:
        """Return the StorageClass of an unbound claim. Raises _UnknownVolumeError if its volumes may be anywhere."""
        name = text_at(claim, "metadata", "annotations", CLASS_ANNOTATION)
        if not name:
            written = map_at(claim, "spec").get("storageClassName")
            name = written if isinstance(written, str) else self._default_class()
        if not name:
            raise _UnknownVolumeError(f"the StorageClass of the claim {claim_name} is not known")
        data = self.objects.get((STORAGE_CLASS, "", name))
        if data is None and name not in self.options.topologies:
            raise _UnknownVolumeError(f"the StorageClass {name} is not known")
        if data is None:
            data = {"metadata": {"name": name}, "provisioner": "unknown", "volumeBindingMode": "WaitForFirstConsumer"}
            found = _Class(data, topology_of_word(self.options.topologies[name]))
        else:
            found = _Class(data, topology_of(data, self.dumped.get("CSINode", ()), self.options.topologies))
        if not _is_readable(data):
            raise _UnknownVolumeError(f"the StorageClass {name} is malformed")
        if text_at(data, "provisioner") == NO_PROVISIONER:
            if not any(text_at(volume, "spec", "storageClassName") == name for volume in self._volumes.values()):
                raise _UnknownVolumeError(f"no PersistentVolume of the StorageClass {name} is known")
        elif found.topology.scope in ("unknown", "zones") or not self._has_labels(found):
            raise _UnknownVolumeError(f"it is not known from which nodes the volumes of the StorageClass {name} can be used")
        return found

    def _default_class(self, keys: Sequence[str] = DEFAULT_CLASS) -> str:
        """Return the name of the class with one of these annotations; empty if it is not exactly one."""
        if self.options.default_class and keys is DEFAULT_CLASS:
            return self.options.default_class
        classes = [each for (kind, _, _), each in self.objects.items() if kind == STORAGE_CLASS]
        defaults = [each for each in classes if any(text_at(each, "metadata", "annotations", key) == "true" for key in keys)]
        return name_of(defaults[0]) if len(defaults) == 1 else ""

    def _importer_spec(self, spec: Object) -> dict[str, Any]:
        """Return the ``storage`` of a DataVolume with the class and the access modes that the Containerized Data Importer adds."""
        name = spec.get("storageClassName") or self._default_class((DEFAULT_VIRT_CLASS,)) or self._default_class()
        data = self.objects.get((STORAGE_CLASS, "", str(name)))
        if texts_at(spec, "accessModes") or data is None:
            return {**spec, **({"storageClassName": name} if name else {})}
        profile = next((each for each in self.dumped.get(STORAGE_PROFILE, ()) if name_of(each) == name), None)
        modes = default_access_modes(data, profile, text_at(spec, "volumeMode"))
        return {**spec, "storageClassName": name, "accessModes": list(modes)}

    def _keys(self, of_class: _Class) -> tuple[str, ...]:
        return of_class.topology.keys_on({key: "" for labels in self.labels for key in labels})

    def _has_labels(self, of_class: _Class) -> bool:
        """Return whether all nodes have the labels that new volumes name."""
        keys = self._keys(of_class)
        return all(key in labels for labels in self.labels for key in keys)

    def _exclusive(self) -> frozenset[ClaimKey]:
        """Return the claims whose volumes are attached to one node at a time (IsMultiAttachAllowed, pkg/volume/util)."""
        return frozenset([key for key, claim in self.claims.items() if self._is_exclusive(claim)])

    def _is_exclusive(self, claim: Object) -> bool:
        """Return whether a volume is attached to one node at a time, as far as it is known.

        `attachRequired` of a CSIDriver is true by default, and a driver without that object attaches too (`skipAttach`, pkg/volume/csi).
        Only a dump that has the CSIDrivers of the cluster shows that an unknown driver has none.
        """
        volume = map_at(self._volumes.get(text_at(claim, "spec", "volumeName")), "spec")
        modes = texts_at(volume or claim, *(() if volume else ("spec",)), "accessModes")
        if "ReadWriteOnce" not in modes or not {SHARED, "ReadOnlyMany"}.isdisjoint(modes):
            return False
        driver = text_at(volume, "csi", "driver") or text_at(self.classes.get(text_at(claim, "spec", "storageClassName")), "provisioner")
        declared = next((each for each in self.dumped.get("CSIDriver", ()) if name_of(each) == driver), None)
        if declared is not None and map_at(declared, "spec").get("attachRequired") is False:
            return False
        known = is_for_one_node(driver)
        if known is not None:
            return known
        return declared is not None or bool(self.dumped.get("CSIDriver") and text_at(volume, "csi", "driver"))

    # --- the cluster ---------------------------------------------------------------------------------------------------

    def _parameters(self) -> Mapping[str, Any]:
        """Return the storage objects by the parameters of ``Cluster``."""
        # A volume that a running pod uses is detached when the pod moves.
        in_use = {text_at(self.claims[key], "spec", "volumeName") for key in self.running if key in self.claims}
        dumped: dict[str, list[Object]] = {parameter: [] for parameter in DUMPED_KINDS.values()}
        for kind, parameter in DUMPED_KINDS.items():
            named = {(namespace_of(each), name_of(each)): each for each in self.dumped.get(kind, ())}
            dumped[parameter] = [each for each in named.values() if _is_readable(each)]
        attachments = dumped["volume_attachments"]
        dumped["volume_attachments"] = [
            each for each in attachments if text_at(each, "spec", "source", "persistentVolumeName") not in in_use
        ]
        return {
            "persistent_volumes": list(self._volumes.values()),
            "persistent_volume_claims": list(self.claims.values()),
            "storage_classes": list(self.classes.values()),
            "new_volumes": self.new_volumes,
            **dumped,
        }


_OBSOLETE = (BIND_COMPLETED, CLASS_ANNOTATION)
_CLAIM_NAME = ("persistentVolumeClaim", "claimName")


def _bound(claim: Object, volume: str) -> Object:
    """Return a claim as bound to a volume."""
    metadata = metadata_of(claim)
    annotations = {**map_at(metadata, "annotations"), BIND_COMPLETED: "yes"}
    return {**claim, "metadata": {**metadata, "annotations": annotations}, "spec": {**map_at(claim, "spec"), "volumeName": volume}}


def _is_hotplugged(volume: Object) -> bool:
    """Return whether a volume of a VM is attached by a pod of its own, and not by the pod of the VM."""
    return any(map_at(volume, field).get("hotpluggable") is True for field in ("persistentVolumeClaim", "dataVolume"))


def _claims_of(pod: object) -> list[ClaimKey]:
    namespace = namespace_of(pod) or "default"
    names = [text_at(each, *_CLAIM_NAME) for each in maps_at(pod, "spec", "volumes")]
    return [(namespace, name) for name in names if name]


def _running_claims(pods: Iterable[object], nodes: Mapping[str, Mapping[str, str]]) -> dict[ClaimKey, Mapping[str, str]]:
    """Return the claims that pods on known nodes use, with the labels of the node of the first pod."""
    found: dict[ClaimKey, Mapping[str, str]] = {}
    for pod in pods:
        labels = nodes.get(text_at(pod, "spec", "nodeName"))
        if labels is not None and text_at(pod, "status", "phase") not in ENDED:
            for claim in _claims_of(pod):
                found.setdefault(claim, labels)
    return found


def _best(objects: Iterable[StorageObject]) -> dict[tuple[str, str, str], Object]:
    """Return the storage objects by kind, namespace and name. Of several with one name, that of a cluster counts, which has a UID."""
    found: dict[tuple[str, str, str], Object | None] = {}
    for each in objects:
        namespace = each.ref.namespace or "default" if each.kind in (CLAIM, VOLUME) else ""
        key, uid = (each.kind, namespace, each.name), text_at(each.data, "metadata", "uid")
        known = found.get(key)
        if key not in found or (uid and not text_at(known, "metadata", "uid")):
            found[key] = each.data
        elif known != each.data and not text_at(known, "metadata", "uid"):
            found[key] = None
    return {key: data for key, data in found.items() if data is not None}


_PARAMETERS = {
    PERSISTENT_VOLUME: "volumes",
    CLAIM: "claims",
    STORAGE_CLASS: "classes",
    "CSINode": "nodes",
    "CSIDriver": "drivers",
    "CSIStorageCapacity": "capacities",
    "VolumeAttachment": "attachments",
}


def _is_readable(data: Object) -> bool:
    """Return whether the scheduler can read a storage object; a StorageClass may lack its kind."""
    try:
        read_storage(**{_PARAMETERS.get(kind_of(data), "classes"): [data]})
    except InventoryError:
        return False
    return True
