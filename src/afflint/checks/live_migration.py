"""Whether VMs that must be live-migrated can leave their hosts, as all manifests together say."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from afflint.checks.match import CrossManifestMatch, Match
from afflint.checks.selector_places import placed
from afflint.findings.phrases import quoted
from afflint.index.facts import REQUIRED_AFFINITY, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.kube.node_labels import HOSTNAME

if TYPE_CHECKING:
    from afflint.controllers.migratability import Obstacle


def migration_impossible(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report VMs that must be live-migrated when a node is drained, but cannot leave their host."""
    for pods in manifest_index.pods:
        if pods.migration is None:
            continue
        from afflint.controllers.kubevirt_cluster import LIVE_MIGRATE, KubeVirtCluster, describe_strategy, eviction_strategy

        if eviction_strategy(pods.migration.strategy, manifest_index.kubevirt_resource) != LIVE_MIGRATE:
            continue
        if not pods.migration.strategy and KubeVirtCluster(manifest_index.kubevirt_resource).is_assumed:
            continue  # No manifest requests the migration.
        required = f"{describe_strategy(pods.migration.strategy, manifest_index.kubevirt_resource)}, but"
        if pods.migration.pin is not None:
            path, host = pods.migration.pin
            message = f"{required} the VM must run on {quoted(host)}: a drain of that node never completes"
            yield CrossManifestMatch(pods.site, pods.ref, Match(path, message))
        found = obstacle(manifest_index, pods)
        if found is not None:
            remedy = _OTHER_BINDING if found.reason.startswith("Interface") else _IF_POSSIBLE
            message = f"{required} {found.words}: a drain of its node waits until the VM is stopped"
            yield CrossManifestMatch(pods.site, pods.ref, Match(found.path, message, remedy))
        for ref in manifest_index.selector_refs_of(pods):
            if ref.what == REQUIRED_AFFINITY and ref.topology_key == HOSTNAME:
                target = _only_target(manifest_index, ref, pods)
                if target is not None:
                    message = f"{required} this binds the VM to the host of {target.title}, which does not migrate with it"
                    path = (*ref.path[:-1], "topologyKey")
                    yield CrossManifestMatch(pods.site, pods.ref, Match(path, message, related=(placed(target, target.title),)))


_IF_POSSIBLE = "Use `evictionStrategy: LiveMigrateIfPossible` to shut the VM down when its node is drained."
_OTHER_BINDING = "Give the VM an interface with `masquerade: {}`, or use `evictionStrategy: LiveMigrateIfPossible`."


def obstacle(manifest_index: ManifestIndex, pods: Pods) -> "Obstacle | None":
    """Return the first obstacle to a VM's migration; a missing interface does not matter if the VM is bound to one host."""
    if pods.migration is None:
        return None
    for each in pods.migration.obstacles:
        if each.by_default:
            known = not (pods.migration.pin or _has_other_default(manifest_index))
        else:
            default = manifest_index.template_modes(pods.site).get(each.claim)
            if default is not None and "ReadWriteMany" not in default.modes:
                words = f"the disk {each.claim} gets the access mode {default.modes[0]} of StorageClass {default.storage_class}"
                return each._replace(words=words)
            modes = manifest_index.access_modes(pods.namespace).get(each.claim, ())
            known = each.certain or (bool(modes) and "ReadWriteMany" not in modes)
        if known:
            return each
    return _instancetype_obstacle(manifest_index, pods, *pods.migration.instancetype) if pods.migration.instancetype else None


def _instancetype_obstacle(manifest_index: ManifestIndex, pods: Pods, kind: str, name: str) -> "Obstacle | None":
    """Return the obstacle to migration that the instance type of a VM adds: devices, or protection of its memory."""
    from afflint.controllers.kubevirt_cluster import KubeVirtCluster
    from afflint.controllers.migratability import HOST_DEVICE, SEV, TDX, obstacles
    from afflint.controllers.pod_source import Reference
    from afflint.controllers.virtual_machine import apply_specs
    from afflint.inventory.virtual_machines import instancetype_of

    instancetype = instancetype_of(manifest_index, pods.namespace or "default", Reference(kind, name))
    for each in obstacles({"spec": apply_specs({}, instancetype, None)}, manifest_index.kubevirt_resource) if instancetype else ():
        if each.reason in (HOST_DEVICE, SEV, TDX) and (each.certain or KubeVirtCluster(manifest_index.kubevirt_resource).is_known):
            words = f"{each.words} (from its instancetype {quoted(name)})"
            return each._replace(path=(*pods.template_path[:-1], "instancetype"), words=words)
    return None


def _has_other_default(manifest_index: ManifestIndex) -> bool:
    """Return whether the KubeVirt resource of the run gives VMs without an interface one that allows migration."""
    from afflint.controllers.kubevirt_cluster import KubeVirtCluster

    return KubeVirtCluster(manifest_index.kubevirt_resource).default_interface != "bridge"


def _only_target(manifest_index: ManifestIndex, ref: SelectorRef, pods: Pods) -> Pods | None:
    """Return the only other pods next to which the VM may run; None if there are several, or on several hosts, or none is known."""
    found = [target for target in islice(manifest_index.selected(ref), 2) if target.key != pods.key]
    if len(found) != 1 or pods.pod_labels.some(ref.selector):
        return None
    return found[0] if found[0].scale.most == 1 and manifest_index.related(ref, found[0]) else None
