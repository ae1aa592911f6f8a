"""Checks of volumes, claims and StorageClasses against the workloads that use them, from manifests alone.

The scheduler does not enforce ReadWriteOnce: a second pod gets a node and waits there until the volume is detached from the first
(`IsMultiAttachAllowed`, pkg/volume/util, and the attach/detach controller).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.constraints.nodes import NodeRequirement, nodes_of
from afflint.controllers.claims import SHARED
from afflint.controllers.rollouts import rolling_update
from afflint.findings.finding import Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted, summarize_names
from afflint.index.facts import REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, Pods, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.index.storage import Claim, ClaimUse, Storage, StorageObject, VolumeUser
from afflint.kube.node_labels import HOSTNAME, REGION, ZONE, at_least_as_wide
from afflint.kube.node_requirements import equivalent_keys
from afflint.kube.selector_algebra import conflict, implies
from afflint.kube.selectors import AnyOf, Requirement, Selector, describe
from afflint.storage.topology import NO_PROVISIONER, VolumeTopology, is_for_one_node, topology_of
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.placeholders import is_placeholder

WAIT, IMMEDIATE = "WaitForFirstConsumer", "Immediate"
ONCE, ONE_POD, READ_ONLY = "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany"
_REPLICATED = ("Deployment", "ReplicaSet", "ReplicationController", "Rollout", "DeploymentConfig", "CloneSet")
"""The kinds whose pods share the claims of their template. The claims of a StatefulSet's template are not shared."""
_MOST_CLAIMS = 100


class VolumeUse(NamedTuple):
    """A claim that the pods of a workload use, with the objects of the run that are behind it; None for those that are not known."""

    user: VolumeUser
    pods: Pods
    use: ClaimUse
    claim: Claim | None
    storage_class: StorageObject | None
    volumes: tuple[StorageObject, ...]
    topology: VolumeTopology | None
    """The topology of a volume that the class provisions; None if the class is not known."""

    @property
    def is_unbound(self) -> bool:
        """Whether the claim is defined and no volume is reserved for it, as far as the manifests show."""
        return self.claim is not None and not self.volumes and not self.claim.volume and not self.claim.bound

    @property
    def title(self) -> str:
        """The claim in messages."""
        return f"{'claim template' if self.use.per_pod else self.use.kind} {quoted(self.use.name)}"

    def match(
        self, path: Path, message: str, remedy: str = "", severity: Severity | None = None, *also: RelatedPlace
    ) -> CrossManifestMatch:
        """Return a match in the workload, with where the claim is defined as a related place."""
        related = (*also, *self.definition())
        return CrossManifestMatch(self.user.site, self.user.ref, Match(path, message, remedy, related=related, severity=severity))

    def definition(self) -> Iterator[RelatedPlace]:
        """Yield the place where the claim is defined, if that is another object."""
        at = self.claim.at if self.claim is not None else None
        if at is not None:
            yield named(at, f"{at.title} is defined here")


def named(each: StorageObject, message: str) -> RelatedPlace:
    """Return the place of the name of an object."""
    return RelatedPlace(each.site.file, each.site.document, (*each.site.base, "metadata", "name"), False, message)


def volume_uses(manifest_index: ManifestIndex, target: Target) -> Iterator[VolumeUse]:
    """Yield each claim that a complete workload of the run uses."""
    configured = dict(target.volume_topologies)
    storage = manifest_index.storage
    for user in storage.users:
        pods = manifest_index.pods_at((user.site, user.template_path))
        if pods is None or pods.partial:
            continue
        for use in user.claims:
            claim = storage.claim(user, use)
            names = storage.claim_names(user, use, min(pods.scale.least or 1, _MOST_CLAIMS))
            volumes = tuple([volume for name in names for volume in (storage.volume_of(user.namespace, name),) if volume is not None])
            wanted = None if claim is None else claim.storage_class or target.default_storage_class or None
            storage_class = None if claim is None else storage.storage_class(wanted)
            topology = None
            if storage_class is not None or wanted in configured:
                data = {"metadata": {"name": wanted}} if storage_class is None else storage_class.data
                topology = topology_of(data, configured=configured)
            yield VolumeUse(user, pods, use, claim, storage_class, volumes, topology)


def binding_mode(storage_class: StorageObject) -> str:
    """Return the volume binding mode of a StorageClass: Immediate by default, "" for a placeholder."""
    mode = text_at(storage_class.data, "volumeBindingMode") or IMMEDIATE
    return mode if mode in (WAIT, IMMEDIATE) else ""


# Binding.


def claim_never_bound(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report pods that bypass the scheduler with `spec.nodeName`, although only the scheduler chooses the node of their volume."""
    for each in volume_uses(manifest_index, target):
        storage_class = each.storage_class
        waits = each.user.node_name and storage_class is not None and binding_mode(storage_class) == WAIT
        if waits and storage_class is not None and each.is_unbound and each.user.ref.kind != "DaemonSet":
            message = (
                f"the {each.title} is never bound: {storage_class.title} waits until the scheduler chooses a node (WaitForFirstConsumer), "
                "and `nodeName` bypasses the scheduler"
            )
            yield each.match((*each.user.pod_path, "nodeName"), message)


def volume_out_of_reach(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report required placement that excludes all nodes of the volume, or of the volumes that the StorageClass may provision."""
    for each in volume_uses(manifest_index, target):
        for volume in each.volumes:
            nodes = volume.usable_nodes
            clash = None if nodes is None else _clash(each.user, nodes)
            if nodes is not None and clash is not None:
                message = f"{volume.title} of the {each.title} can be used only on nodes with {_described(nodes)}, but the pods require"
                also = affinity_place(volume, "the nodes of the volume")
                yield each.match(_path(clash), f"{message} {quoted(describe(clash.requirement))}: they stay Pending", "", None, also)
                break
        else:
            yield from _outside_allowed_topologies(each)


def _outside_allowed_topologies(each: VolumeUse) -> Iterator[CrossManifestMatch]:
    storage_class = each.storage_class
    if storage_class is None or not each.is_unbound:
        return
    allowed = allowed_topologies(storage_class)
    clash = None if allowed is None else _clash(each.user, allowed)
    if allowed is not None and clash is not None:
        message = f"{storage_class.title} provisions volumes only for nodes with {_described(allowed)}, but the pods require"
        place = RelatedPlace(
            storage_class.site.file,
            storage_class.site.document,
            (*storage_class.site.base, "allowedTopologies"),
            False,
            "allowed topologies",
        )
        yield each.match(_path(clash), f"{message} {quoted(describe(clash.requirement))}: they stay Pending", "", None, place)


def allowed_topologies(storage_class: StorageObject) -> AnyOf | None:
    """Return the nodes for which a StorageClass provisions volumes; None for all nodes.

    Terms are ORed, the expressions of a term ANDed (MatchTopologySelectorTerms, pkg/apis/core/v1/helper).
    """
    terms = maps_at(storage_class.data, "allowedTopologies")
    if not terms:
        return None
    selectors = []
    for term in terms:
        expressions = [
            Requirement(text_at(each, "key"), "In", tuple([value for value in each["values"] if isinstance(value, str)]))
            for each in maps_at(term, "matchLabelExpressions")
            if isinstance(each.get("values"), list)
        ]
        selectors.append(Selector(tuple(expressions)))
    return AnyOf(tuple(selectors)) if all(each.requirements for each in selectors) else None


def _clash(user: VolumeUser, nodes: AnyOf) -> NodeRequirement | None:
    """Return the first requirement of pods that excludes all ``nodes``, if each of their alternatives excludes them."""
    found: NodeRequirement | None = None
    for alternative in user.alternatives:
        if any(is_placeholder(each.requirement.key) or any(map(is_placeholder, each.requirement.values)) for each in alternative):
            return None
        wanted = [each.requirement for each in alternative]
        if conflict(wanted) or any(not conflict([*wanted, *term.requirements]) for term in nodes.selectors):
            return None
        found = found or next((each for each in alternative if not _fits(each.requirement, nodes)), None)
    return found


def _fits(requirement: Requirement, nodes: AnyOf) -> bool:
    return any(not conflict([requirement, *term.requirements]) for term in nodes.selectors)


def _path(requirement: NodeRequirement) -> Path:
    return requirement.path or ()


def _described(nodes: AnyOf) -> str:
    """Return the requirements of alternatives as text: ``zone In [a]``."""
    terms = [" and ".join(map(describe, each.requirements)) for each in nodes.selectors]
    return summarize_names([quoted(each) for each in terms])


def affinity_place(volume: StorageObject, message: str) -> RelatedPlace:
    """Return the place of the node affinity of a volume, or of its labels."""
    path = (*volume.site.base, "spec", "nodeAffinity") if map_at(volume.spec, "nodeAffinity") else (*volume.site.base, "metadata", "labels")
    return RelatedPlace(volume.site.file, volume.site.document, path, False, message)


def immediate_binding(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report classes that provision a volume in any zone before the scheduler places a pod that needs a certain zone."""
    for each in volume_uses(manifest_index, target):
        storage_class, topology = each.storage_class, each.topology
        if storage_class is None or topology is None or not topology.limited or not each.is_unbound:
            continue
        if binding_mode(storage_class) != IMMEDIATE or text_at(storage_class.data, "provisioner") == NO_PROVISIONER:
            continue
        asked = asked_place(each.user, topology)
        allowed = allowed_topologies(storage_class)
        if asked is None or (allowed is not None and _is_within(allowed, each.user)):
            continue
        where = "node" if topology.scope == "node" else "zone"
        message = (
            f"{storage_class.title} provisions the volume as soon as the {each.title} exists (volumeBindingMode Immediate), in any "
            f"{where}, but the pods require {quoted(describe(asked.requirement))}: they may never run"
        )
        yield each.match(_path(asked), message, "", None, named(storage_class, f"{storage_class.title} is defined here"))


def asked_place(user: VolumeUser, topology: VolumeTopology) -> NodeRequirement | None:
    """Return a requirement on zone, region or host that each alternative of the pods has; None without any."""
    keys = {key for place in (ZONE, REGION, HOSTNAME) for key in equivalent_keys(place)}.union(topology.keys)
    found = [next((each for each in alternative if each.requirement.key in keys), None) for alternative in user.alternatives]
    return found[0] if found and None not in found else None


def _is_within(allowed: AnyOf, user: VolumeUser) -> bool:
    """Return whether the pods may use all nodes of the allowed topologies."""
    return implies(allowed, nodes_of(user.alternatives))


def is_on_one_host(user: VolumeUser) -> bool:
    """Return whether each alternative of the pods requires one host."""
    return user.node_name or (
        bool(user.alternatives)
        and all(
            any(
                each.requirement.operator == "In"
                and len(each.requirement.values) == 1
                and (each.requirement.field or each.requirement.key == HOSTNAME)
                for each in alternative
            )
            for alternative in user.alternatives
        )
    )


# One volume for several pods.


class _SharedVolume(NamedTuple):
    """A ReadWriteOnce claim that all replicas of a workload share. ``certain``: its volume is known to be for one node at a time."""

    each: VolumeUse
    certain: bool

    @property
    def replicas(self) -> int:
        """The number of pods that run at any time."""
        return self.each.pods.scale.least or 0


def _shared_volumes(manifest_index: ManifestIndex, target: Target) -> Iterator[_SharedVolume]:
    for each in volume_uses(manifest_index, target):
        modes = each.claim.modes if each.claim is not None else ()
        if each.use.per_pod or each.user.ref.kind not in _REPLICATED or not modes or not {SHARED, READ_ONLY}.isdisjoint(modes):
            continue
        for_one_node = _is_for_one_node(each, manifest_index.storage)
        if ONCE in modes and for_one_node is not False:
            yield _SharedVolume(each, for_one_node is True)


def _is_for_one_node(each: VolumeUse, storage: Storage) -> bool | None:
    """Return whether only one node at a time can use a volume, by its source or the provisioner of its class; None if unknown.

    A class that is not among the manifests is known by its volumes, if all that fit the claim are shared, or by its name.
    """
    if each.volumes:
        return _is_volume_for_one_node(each.volumes[0])
    if each.storage_class is not None:
        return is_for_one_node(text_at(each.storage_class.data, "provisioner"))
    if each.claim is None or each.claim.storage_class is None:
        return None
    sources = {_is_volume_for_one_node(volume) for volume in storage.volumes_for(each.claim)}
    return False if sources == {False} or _SHARED_FILES.search(each.claim.storage_class) is not None else None


_SHARED_FILES = re.compile(r"\b(?:nfs|cephfs|efs|smb|cifs)\b")
"""Words in the names of classes whose driver attaches nothing."""


def _is_volume_for_one_node(volume: StorageObject) -> bool | None:
    is_folder = "hostPath" in volume.spec and volume.usable_nodes is None
    if is_folder or any(field in volume.spec for field in ("nfs", "cephfs", "glusterfs", "azureFile")):
        return False
    if "local" in volume.spec:
        return True
    return is_for_one_node(text_at(volume.spec, "csi", "driver")) if "csi" in volume.spec else None


def separation(manifest_index: ManifestIndex, pods: Pods, key: str) -> SelectorRef | None:
    """Return a required anti-affinity term that keeps the pods of a workload in different domains of a topology key, None without one."""
    for ref in manifest_index.selector_refs_of(pods):
        separates = ref.what == REQUIRED_ANTI_AFFINITY and at_least_as_wide(ref.topology_key or "", key)
        own = ref.scope is None or pods.namespace is None or pods.namespace in ref.scope
        if separates and own and not ref.everywhere and pods.pod_labels.all(ref.selector):
            return ref
    return None


def unshareable_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report replicas that must be on different nodes, but share a volume that only one node can use."""
    for shared in _shared_volumes(manifest_index, target):
        each = shared.each
        apart = separation(manifest_index, each.pods, HOSTNAME) if shared.replicas > 1 else None
        if apart is not None:
            message = (
                f"only one of {shared.replicas} replicas can start: required podAntiAffinity keeps them on different nodes, and the "
                f"{each.title} is {ONCE}, which one node can use at a time"
            )
            yield each.match(each.use.path, message, "", "error" if shared.certain else "warning", _term(apart))


def shared_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report replicas that work only if all of them happen to be on one node, because they share a ReadWriteOnce volume."""
    for shared in _shared_volumes(manifest_index, target):
        each = shared.each
        topology = each.topology
        follows = topology is not None and topology.scope == "node"
        if shared.replicas < 2 or follows or is_on_one_host(each.user) or separation(manifest_index, each.pods, HOSTNAME) is not None:
            continue
        if any(ref.what == REQUIRED_AFFINITY and ref.topology_key == HOSTNAME for ref in manifest_index.selector_refs_of(each.pods)):
            continue
        if any(volume.usable_nodes is not None and "local" in volume.spec for volume in each.volumes):
            continue
        message = (
            f"{shared.replicas} replicas share the {each.title}, which is {ONCE}: those on another node than the first wait for the volume "
            "and never start"
        )
        yield each.match(each.use.path, message, "")


def single_pod_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report workloads that run several pods at a time with a claim that only one pod may use."""
    for each in volume_uses(manifest_index, target):
        if each.claim is None or ONE_POD not in each.claim.modes or each.use.per_pod or each.user.ref.kind not in _REPLICATED:
            continue
        replicas = each.pods.scale.least or 0
        if replicas > 1:
            message = f"only one of {replicas} replicas can be scheduled: the {each.title} is {ONE_POD}"
            yield each.match(each.use.path, message, "", "error")
        elif replicas == 1 and _adds_before_removing(each.user, replicas):
            message = f"a rolling update never completes: it adds a pod before it removes the old one, and the {each.title} is {ONE_POD}"
            yield each.match(each.use.path, message, _RECREATE, "warning")


_RECREATE = "Use the update strategy `Recreate`, or `rollingUpdate` with `maxSurge: 0` and `maxUnavailable: 1`."


def rollout_blocked_by_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report rolling updates whose new pod must be on another node than the old one, which holds the volume."""
    for shared in _shared_volumes(manifest_index, target):
        each = shared.each
        apart = separation(manifest_index, each.pods, HOSTNAME) if shared.replicas == 1 and _adds_before_removing(each.user, 1) else None
        if apart is not None:
            message = (
                "a rolling update never completes: the new pod must be on another node than the old one because of required "
                f"podAntiAffinity, and the {each.title} is {ONCE}, which one node can use at a time"
            )
            yield each.match(each.use.path, message, _RECREATE, "error" if shared.certain else "warning", _term(apart))


def rollout_shares_volume(manifest_index: ManifestIndex, target: Target) -> Iterator[CrossManifestMatch]:
    """Report rolling updates that work only if the new pod is scheduled on the node of the old one."""
    for shared in _shared_volumes(manifest_index, target):
        each = shared.each
        topology = each.topology
        if shared.replicas != 1 or not _adds_before_removing(each.user, 1) or separation(manifest_index, each.pods, HOSTNAME) is not None:
            continue
        if is_on_one_host(each.user) or (topology is not None and topology.scope == "node"):
            continue
        message = (
            f"a rolling update adds a pod before it removes the old one, and the {each.title} is {ONCE}: on another node the new pod waits "
            "for the volume, and the update does not continue"
        )
        yield each.match(each.use.path, message, _RECREATE)


def _adds_before_removing(user: VolumeUser, replicas: int) -> bool:
    """Return whether a rolling update adds a pod before it removes one: maxUnavailable is 0 after rounding."""
    if user.ref.kind != "Deployment":
        return False
    rolling = rolling_update("Deployment", user.strategy, replicas)
    return rolling is not None and rolling.surge > 0 and rolling.unavailable == 0


def _term(ref: SelectorRef) -> RelatedPlace:
    return RelatedPlace(ref.site.file, ref.site.document, ref.path[:-1], False, "keeps the replicas on different nodes")
