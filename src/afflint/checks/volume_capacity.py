"""Checks of the volumes that the replicas of a StatefulSet and virtual machines need: enough zones, enough volumes, and room to migrate."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import CrossManifestMatch, RelatedPlace, Target
from afflint.checks.volumes import VolumeUse, allowed_topologies, asked_place, named, separation, volume_uses
from afflint.controllers.claims import SHARED, VOLUME
from afflint.controllers.kubevirt_cluster import LIVE_MIGRATE, describe_strategy, eviction_strategy
from afflint.findings.phrases import pluralize, quoted
from afflint.index.manifest_index import ManifestIndex
from afflint.index.storage import StorageObject
from afflint.kube.node_labels import HOSTNAME, ZONE
from afflint.kube.node_requirements import equivalent_keys
from afflint.kube.selectors import describe
from afflint.storage.topology import NO_PROVISIONER
from afflint.yaml.document import text_at
from afflint.yaml.placeholders import is_placeholder

IMMEDIATE_BINDING = "cdi.kubevirt.io/storage.bind.immediate.requested"


def too_few_volume_zones(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report StatefulSets whose replicas must be in more zones than the StorageClass may provision volumes in."""
    for each in volume_uses(manifest_index, target):
        storage_class, replicas = each.storage_class, each.pods.scale.least or 0
        if storage_class is None or not each.use.per_pod or each.volumes or replicas < 2:
            continue
        zones = allowed_zones(storage_class)
        apart = separation(manifest_index, each.pods, ZONE)
        if zones is None or apart is None or len(zones) >= replicas:
            continue
        message = f"{replicas} replicas must be in different zones, but {pending_words(storage_class, len(zones), replicas - len(zones))}"
        yield each.match((*apart.path[:-1], "topologyKey"), message, "", None, allowed_place(storage_class))


def pending_words(storage_class: StorageObject, zones: int, pending: int) -> str:
    """Return ``StorageClass fast provisions volumes only in 2 zones: 1 replica stays Pending``."""
    stay = "stays" if pending == 1 else "stay"
    return f"{storage_class.title} provisions volumes only in {pluralize(zones, 'zone')}: {pluralize(pending, 'replica')} {stay} Pending"


def allowed_zones(storage_class: StorageObject) -> set[str] | None:
    """Return the zones in which a StorageClass may provision volumes; None if it does not restrict them."""
    allowed = allowed_topologies(storage_class)
    keys = equivalent_keys(ZONE)
    zones: set[str] = set()
    for term in allowed.selectors if allowed is not None else ():
        found = next((each for each in term.requirements if each.key in keys or each.key.endswith("/zone")), None)
        if found is None:
            return None
        zones.update(found.values)
    return zones or None


def allowed_place(storage_class: StorageObject) -> RelatedPlace:
    """Return the place of the allowed topologies of a StorageClass."""
    path = (*storage_class.site.base, "allowedTopologies")
    return RelatedPlace(storage_class.site.file, storage_class.site.document, path, False, "the allowed topologies")


def too_few_volumes(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report StatefulSets with more replicas than there are volumes of a StorageClass that provisions none."""
    for each in volume_uses(manifest_index, target):
        storage_class, replicas = each.storage_class, each.pods.scale.least or 0
        if storage_class is None or not each.use.per_pod or text_at(storage_class.data, "provisioner") != NO_PROVISIONER:
            continue
        volumes = [one for one in manifest_index.storage.of_kind("PersistentVolume") if _is_free_for(one, each, storage_class.name)]
        if not volumes:
            continue
        apart = separation(manifest_index, each.pods, HOSTNAME) is not None
        places = len({one.usable_nodes for one in volumes}) if apart and all(one.usable_nodes for one in volumes) else len(volumes)
        if places < replicas:
            have = f"its {pluralize(len(volumes), 'volume')} {'are' if len(volumes) > 1 else 'is'} on {pluralize(places, 'node')}"
            known = have if places < len(volumes) else f"the manifests have only {pluralize(len(volumes), 'volume')} of it"
            message = f"{storage_class.title} provisions no volumes, and {known}: {replicas} replicas need one each"
            yield each.match(each.use.path, message, "", None, named(volumes[0], "the first of these volumes"))


def _is_free_for(volume: StorageObject, each: VolumeUse, name: str) -> bool:
    """Return whether a volume has, or may have, the class and is not reserved for the claim of another workload."""
    reserved, of_class = text_at(volume.spec, "claimRef", "name"), text_at(volume.spec, "storageClassName")
    return (of_class == name or is_placeholder(of_class)) and (
        not reserved or is_placeholder(reserved) or reserved.startswith(f"{each.use.name}-{each.user.ref.name}-")
    )


def migration_bound_to_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report virtual machines that are live-migrated on a drain, although their ReadWriteMany volume exists on one node only."""
    for each in volume_uses(manifest_index, target):
        migration = each.pods.migration
        if migration is None or eviction_strategy(migration.strategy, manifest_index.kubevirt_resource) != LIVE_MIGRATE:
            continue
        shared = each.claim is not None and SHARED in each.claim.modes
        topology = each.topology
        if shared and topology is not None and topology.scope == "node" and each.storage_class is not None:
            required = describe_strategy(migration.strategy, manifest_index.kubevirt_resource)
            message = f"{required}, but a volume of {each.storage_class.title} exists on one node only: the migration finds no other node"
            yield each.match(each.use.path, message)


def importer_binds_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report DataVolumes that are bound where the importer runs, for a virtual machine that requires a certain zone or node."""
    for each in volume_uses(manifest_index, target):
        topology = each.topology
        if topology is None or not topology.limited or not each.is_unbound or not _binds_at_once(each):
            continue
        asked = asked_place(each.user, topology)
        if asked is not None:
            place = "node" if topology.scope == "node" else "zone"
            message = (
                f"the volume of DataVolume {quoted(each.use.name)} is provisioned in the {place} of the importer pod, not of the VM, "
                f"which requires {quoted(describe(asked.requirement))} and may never run"
            )
            yield each.match(asked.path or (), message)


def _binds_at_once(each: VolumeUse) -> bool:
    data = each.use.template if each.use.kind == VOLUME else each.claim.at.data if each.claim is not None and each.claim.at else None
    return data is not None and text_at(data, "metadata", "annotations", IMMEDIATE_BINDING) not in ("", "false")
