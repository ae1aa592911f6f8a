"""The four plugins for volumes on the nodes of a cluster: VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.kube.node_labels import TOPOLOGY_LABELS
from afflint.scheduler.nodes import NodeTable
from afflint.scheduler.occupancy import Occupancy
from afflint.scheduler.pods import Pod
from afflint.scheduler.storage_state import PROVISION, StorageState
from afflint.scheduler.volume_binding import CAPACITY_SCORING, VOLUME_BINDING, VolumeBinding
from afflint.scheduler.volume_limits import AttachedVolumes, VolumeLimits, missing_driver
from afflint.scheduler.volume_rejection import VolumeRejection
from afflint.scheduler.volume_restrictions import VolumeRestrictions, missing_claim
from afflint.scheduler.volume_zone import VolumeZone
from afflint.storage.objects import ClaimKey, PersistentVolume, StorageObjects, Terms
from afflint.storage.pod_volumes import PodClaim


class ClusterStorage:
    """The storage of a cluster for the filters and scores of a scheduler of some version."""

    def __init__(
        self,
        objects: StorageObjects,
        table: NodeTable,
        occupancy: Occupancy,
        version: tuple[int, int],
        new_volumes: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._start(StorageState(objects, table, occupancy, new_volumes), table, version)

    def _start(self, state: StorageState, table: NodeTable, version: tuple[int, int]) -> None:
        self._state = state
        self._table = table
        self._version = version
        self._attached: AttachedVolumes | None = None
        self._limited = any(limit is not None for csi in state.csi if csi is not None for _, limit in csi.limits)

    def copy(self, occupancy: Occupancy) -> ClusterStorage:
        """Return a copy for a copy of the running pods, which can change independently."""
        other = ClusterStorage.__new__(ClusterStorage)
        other._start(self._state.copy(occupancy), self._table, self._version)
        return other

    def on(self, table: NodeTable, occupancy: Occupancy) -> ClusterStorage:
        """Return the same storage with other nodes or other labels of nodes."""
        other = ClusterStorage.__new__(ClusterStorage)
        other._start(self._state.on(table, occupancy), table, self._version)
        return other

    @property
    def scores_all(self) -> bool:
        """Whether VolumeBinding scores the nodes of every pod, even of one without volumes."""
        return self._version >= CAPACITY_SCORING

    def examine(self, pod: Pod) -> PodStorage:
        """Return how the volumes of a pod restrict its nodes now."""
        if self._attached is None and self._limited:
            self._attached = AttachedVolumes(self._state, self._table)
        return PodStorage(pod, self._state, self._table, self._attached, self._version)

    @property
    def knows_drivers(self) -> bool:
        """Whether it is known which CSI drivers run on which nodes."""
        return bool(self._state.drivers)

    def missing_driver(self, pod: Pod, node: int) -> str:
        """Return a CSI driver that the volumes of a pod need and a node lacks; empty if it has all, or they are not known."""
        return missing_driver(pod, self._state, node)

    def bind(self, pod: Pod, node: int) -> None:
        """Bind the claims of a pod that is about to run on a node, if the node can use their volumes."""
        examined = self.examine(pod)
        if examined.rejection is None and examined.binding.reject(node) is None:
            bindings = examined.binding.choice(node).bindings
            self._state.bind(bindings, node)
            self._rename([claim.key for claim, _ in bindings])
        if self._attached is not None:
            self._attached.add(pod, node)

    def unbind(self, pod: Pod) -> None:
        """Note that a pod no longer runs. Its claims stay bound."""
        if self._attached is not None:
            self._attached.remove(pod)

    def release(self, pod: Pod) -> None:
        """Undo the bindings of the claims of a pod that were not bound at first."""
        self._rename(self._state.release([each.key for each in pod.volumes if isinstance(each, PodClaim)]))

    def _rename(self, claims: Iterable[ClaimKey]) -> None:
        """Note that what running pods attach for these claims has another name from now on."""
        if any(self._state.occupancy.users(PodClaim(*key)) for key in claims):
            self._attached = None


class PodStorage:
    """The decision of the plugins about one pod. ``rejection`` is why no node is possible; ``rejections`` is filled by the filter."""

    __slots__ = ("_before_binding", "_state", "_steps", "_table", "_touched", "_zone", "binding", "rejection", "rejections")

    def __init__(self, pod: Pod, state: StorageState, table: NodeTable, attached: AttachedVolumes | None, version: tuple[int, int]) -> None:
        self._state = state
        self._table = table
        self.rejections: dict[int, VolumeRejection] = {}
        self.rejection = missing_claim(pod, state)
        if self.rejection is not None:
            return
        self.binding = VolumeBinding(pod, state)
        self.rejection = self.binding.rejection
        if self.rejection is not None:
            return
        self._zone = VolumeZone(pod, state, table)
        self.rejection = self._zone.rejection
        restrictions = VolumeRestrictions(pod, state)
        self._touched = restrictions.disk_nodes | (attached.counts.keys() if attached is not None else set())
        limits = VolumeLimits(pod, state, attached, version)
        # In their order; those that cannot reject any node are left out.
        plugins = (restrictions, limits, self.binding, self._zone)
        self._steps = tuple([plugin.reject for plugin in plugins if plugin.applies])
        self._before_binding = tuple([plugin.reject for plugin in plugins[:2] if plugin.applies])

    def filter_nodes(self, nodes: list[int]) -> list[int]:
        """Return the nodes that no plugin rejects; the same list if that is all of them."""
        self.compare(nodes)
        for node in nodes:
            for reject in self._steps:
                rejection = reject(node)
                if rejection is not None:
                    self.rejections[node] = rejection
                    break
        return [node for node in nodes if node not in self.rejections] if self.rejections else nodes

    def compare(self, nodes: Sequence[int]) -> None:
        """Prepare ``reject`` for many nodes."""
        if self.rejection is None and len(nodes) > 1:
            self.binding.compare(nodes)

    def error(self, nodes: Sequence[int]) -> str | None:
        """Return the extension point and plugin that fails on one of the nodes; None if none does."""
        if self.binding.error and any(all(reject(node) is None for reject in self._before_binding) for node in nodes):
            return f"Filter {VOLUME_BINDING}"
        return None

    @property
    def bound(self) -> Sequence[PersistentVolume]:
        """The volumes to which the claims of the pod are bound."""
        return self.binding.bound if self.rejection is None else ()

    def reject(self, node: int) -> VolumeRejection | None:
        """Return why the volumes of the pod cannot be used from a node; None if they can."""
        return self.rejection or next((found for step in self._steps if (found := step(node)) is not None), None)

    def bindings(self, node: int) -> dict[str, str]:
        """Return what the pod binds on a node: the volume by claim, or that a new volume is created."""
        return {claim.name: PROVISION if volume is None else volume.name for claim, volume in self.binding.choice(node).bindings}

    # --- grouping of nodes ---------------------------------------------------------------------------------------------

    @property
    def touched(self) -> set[int]:
        """The nodes that differ from others that are equal in the columns."""
        few = [terms for terms in self._terms() if self._state.reach.few(terms)]
        selected = {claim.selected_node for claim in self.binding.to_provision}
        named = {self._table.numbers[name] for name in selected if name in self._table.numbers}
        taken = [self._state.free_volumes(name).taken_on for name in self._by_size]
        return self._touched.union(named, *taken, *[self._state.reach.nodes(terms) for terms in few])

    @property
    def _by_size(self) -> list[str]:
        """The storage class of the claim of a pod for which only the size of local volumes matters; empty if more matters.

        The volumes of equal size that several claims take may be of different kinds.
        """
        unbound = (*self.binding.to_match, *self.binding.to_provision)
        return [claim.storage_class for claim in unbound if len(unbound) == 1 and claim.selector is None]

    def columns(self) -> dict[object, Sequence[object]]:
        """Return what distinguishes nodes for the pod, one value for each node, by a key that is equal for equal columns."""
        state = self._state
        found: dict[object, Sequence[object]] = {"csi": state.csi_rows}
        by_size = self._by_size
        for claim in (*self.binding.to_match, *self.binding.to_provision):
            profile = state.profile(claim.storage_class)
            found["class", claim.storage_class, bool(by_size)] = profile.row_by_size if by_size else profile.row
        for key in TOPOLOGY_LABELS if self._zone.topologies else ():
            found["label", key] = self._table.column(key)
        for terms in self._terms():
            if terms is not None and not state.reach.few(terms):
                found["terms", terms] = state.reach.column(terms)
        return found

    def _terms(self) -> Iterator[Terms]:
        """Yield the node affinities of the volumes that the pod uses, and of those that are reserved for its claims."""
        volumes: list[PersistentVolume] = [*self.binding.bound]
        for claim in self.binding.to_match:
            volumes += self._state.reserved(claim)
        for volume in volumes:
            yield volume.terms
            yield self._state.translated(volume)
