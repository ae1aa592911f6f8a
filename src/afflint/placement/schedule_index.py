"""The state that all disruptions start from, and what they share: which pods are recreated, where, and how many replicas remain."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property

from afflint.controllers.pod_replacement import BY_NODE, NEVER, PodReplacement, pod_replacement_of_owner
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words
from afflint.kube.node_labels import HOSTNAME
from afflint.kube.taints import UNREACHABLE
from afflint.placement.plan import Fate
from afflint.placement.rejections import Rejections, RunningPodIndex
from afflint.placement.schedule import Attempt, PlacedWorkload, Schedule, schedule_pods
from afflint.placement.volumes import nodes_of, volume_waits, waits_for_volumes
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, PodKey, scheduling_key
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD

HELD = "the pod stays on its node until the node recovers, is fenced (taint node.kubernetes.io/out-of-service) or is removed"
"""Of a pod that is replaced only once it is gone. Of a fenced node, pods are deleted by gcTerminating (pkg/controller/podgc)."""
NOT_RECREATED = "the pod is not recreated: it has no controller"
JOB_FAILS = "the Job fails: its backoffLimit is 0"
STAYS_OFF = "it stays stopped until a user starts it: its run strategy does not restart it"

_NONE: Mapping[PodKey, str] = {}


class ReplicaEnd(NamedTuple):
    """A replica that is not replaced, and why."""

    fate: Fate
    why: str


class ScheduleIndex:
    """The pods of one schedule, indexed once for all disruptions of it."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.owners = {identity: placed for identity, placed in schedule.owners.items() if placed.pod_source.daemon or not placed.unjudged}
        """The workload of each pod whose scheduler is known."""
        self._has_priorities = any(placed.pod_source.priority for placed in schedule.workloads)
        self.ranks = {identity: number for number, identity in enumerate(self.owners)}
        self.where = schedule.cluster.pods
        self.by_key = {placed.pod_source.key: placed for placed in schedule.workloads}
        self.daemons = {
            key: frozenset(placed.nodes.values()) for key, placed in self.by_key.items() if placed.pod_source.daemon and placed.nodes
        }
        self.titles = {identity: placed.pod_source.key for identity, placed in self.owners.items()}
        self.waiting = [
            pod
            for placed in schedule.workloads
            if not (placed.pod_source.daemon or placed.pod_source.node_name)
            for pod in placed.pods
            if pod.key in placed.pending
        ]
        self.held = [(placed, pod) for placed in schedule.workloads if placed.held for pod in placed.pods if pod.key in placed.held]
        before = schedule.before
        unjudged = [pod for placed in schedule.workloads if placed.unjudged for pod in placed.pods if pod.key in placed.nodes]
        self.unjudged = frozenset([pod.key for pod in unjudged])
        """The running pods whose schedulers make decisions that are unknown."""
        self._unowned = [
            (pod.key, self.where[pod.key])
            for pod in (*before.evicted(before.nodes), *unjudged)
            if pod.key not in self.owners and not self.pod_replacement(pod).by_node
        ]
        # Of pods that differ only in name, no other can be scheduled if the first one cannot.
        self.first_waiting = list({scheduling_key(pod): pod for pod in reversed(self.waiting)}.values())[::-1]

    def pod_replacement(self, pod: Pod) -> PodReplacement:
        """Return how the controller of a running pod replaces it."""
        placed = self.owners.get(pod.key)
        if placed is None:
            return pod_replacement_of_owner(None if pod.controller is None else pod.controller[1])
        return NEVER if placed.pod_source.bare else BY_NODE if placed.pod_source.daemon else placed.pod_source.pod_replacement

    def is_tied(self, pod: Pod) -> bool:
        """Return whether a pod belongs to its node: that of a DaemonSet, or a static pod."""
        return self.pod_replacement(pod).by_node

    def guards(self, pod: Pod) -> bool:
        """Return whether a pod is a guard pod of OpenShift, which an operator creates again on its node."""
        placed = self.owners.get(pod.key)
        return placed is not None and placed.pod_source.guards

    def goes_with_node(self, pod: Pod) -> bool:
        """Return whether a pod is not replaced elsewhere when its node is gone, and another is created when the node is back."""
        return self.is_tied(pod) or self.guards(pod)

    def end_of(self, pod: Pod, *, is_shut_down: bool = False, remains: bool = False) -> ReplicaEnd | None:
        """Return why no other pod is created for one that is gone or being deleted; None if its controller creates one.

        ``is_shut_down``: the kubelet ends its containers. ``remains``: its object exists until its node recovers or is removed.
        """
        pod_replacement, pinned = self.pod_replacement(pod), self.pinned(pod)
        if pod_replacement.by_node:
            return None
        if pod_replacement.replaced == "never" or (is_shut_down and not pod_replacement.after_shutdown):
            return self._never_again(pod)
        if remains and pod_replacement.replaced == "gone":
            return ReplicaEnd("held", HELD)
        return ReplicaEnd("waits", f"its spec.nodeName is {pinned}") if pinned else None

    def sort_displaced(self, pods: Iterable[Pod], *, remain: bool = False) -> tuple[dict[PodKey, Pod], dict[PodKey, ReplicaEnd]]:
        """Return the pods that are recreated once they are gone, and those that are not, without those that come and go with their nodes.

        ``remain``: their objects exist until their nodes recover or are removed.
        """
        recreated: dict[PodKey, Pod] = {}
        ended: dict[PodKey, ReplicaEnd] = {}
        for pod in pods:
            if not self.goes_with_node(pod):
                end = self.end_of(pod, remains=remain)
                if end is None:
                    recreated[pod.key] = self.instead_of(pod)
                else:
                    ended[pod.key] = end
        return recreated, ended

    def instead_of(self, pod: Pod) -> Pod:
        """Return the pod that the controller of a pod creates in its place: from the template of the workload, if this is known."""
        placed = self.owners.get(pod.key)
        return pod if placed is None else placed.recreated.get(pod.key, pod)

    def _never_again(self, pod: Pod) -> ReplicaEnd:
        """Return why a pod is not recreated."""
        placed = self.owners.get(pod.key)
        if placed is None or placed.pod_source.bare:
            return ReplicaEnd("gone", NOT_RECREATED)
        return ReplicaEnd("off", STAYS_OFF) if placed.pod_source.kubevirt else ReplicaEnd("gone", JOB_FAILS)

    def pinned(self, pod: Pod) -> str:
        """Return the node in the pod's own `spec.nodeName`; empty if it has none."""
        placed = self.owners.get(pod.key)
        return placed.pod_source.node_name if placed is not None else ""

    def released(self, nodes: Container[str]) -> dict[PodKey, Pod]:
        """Return the pods that can be created once the pods being deleted on `nodes` are gone, and the pods that wait for these."""
        found: dict[PodKey, Pod] = {}
        free = {placed.pod_source.key for placed, pod in self.held if placed.held[pod.key].node in nodes}
        for placed, pod in self.held:
            node = placed.held[pod.key].node
            if node in nodes or (not node and placed.pod_source.key in free):
                found[pod.key] = pod
        return found

    def unevaluated(self, nodes: Container[str]) -> list[PodKey]:
        """Return the running pods on `nodes` that belong to no workload or are unjudged, except for DaemonSet and static pods."""
        return [identity for identity, node in self._unowned if node in nodes]

    # --- coming up again -----------------------------------------------------------------------------------------------

    def again(
        self,
        cluster: Cluster,
        recreated: Mapping[PodKey, Pod],
        behind: dict[PodKey, str],
        settled: Container[PodKey] = (),
        *,
        here: bool = False,
        explain: bool = True,
    ) -> Attempt:
        """Schedule the recreated pods, then the pods that were Pending before and are not `settled`.

        A pod of an ordered StatefulSet is not created while an earlier one is Pending: it is added to `behind` with the name of the
        earlier one. With `here`, the cluster gets the pods, unless they may preempt others or have volumes; otherwise it does not change.
        """
        while True:
            made = [pod for identity, pod in recreated.items() if identity not in behind]
            attempt = self._scheduled(cluster, made, settled, behind, here=here, explain=explain)
            # Victims of preemption are recreated, too.
            victims = {victim.pod.key: victim.pod for victim in attempt.victims if victim.pod.key in self.owners}
            stuck = self._waiting_in_order({**recreated, **victims} if victims else recreated, attempt.nodes, behind)
            if not stuck:
                return attempt
            self._undo(cluster, made, attempt)
            behind.update(stuck)

    def _scheduled(
        self, cluster: Cluster, made: Sequence[Pod], settled: Container[PodKey], behind: Container[PodKey], *, here: bool, explain: bool
    ) -> Attempt:
        if not made:
            return Attempt({}, {}, {})
        recreated = {pod.key for pod in made}

        def scheduled(waiting: Iterable[Pod]) -> Attempt:
            pods = self._queue([*made, *[pod for pod in waiting if pod.key not in settled]])
            if here and self.schedule.priorities is None and not any(pod.volumes for pod in pods):
                return schedule_pods(cluster, pods, in_place=True, explain=explain)
            return schedule_pods(cluster, pods, self.schedule.preemption(recreated, behind), explain=explain)

        attempt = scheduled(self.first_waiting)
        if all(pod.key not in attempt.nodes for pod in self.first_waiting):
            return attempt
        self._undo(cluster, made, attempt)
        return scheduled(self.waiting)

    def _undo(self, cluster: Cluster, made: Sequence[Pod], attempt: Attempt) -> None:
        """Remove the pods again that an attempt has bound in the cluster itself."""
        if self.schedule.priorities is None:
            for pod in (*made, *self.waiting):
                if pod.key in attempt.nodes and cluster.node_of(pod.key) is not None:
                    cluster.unbind(pod)

    def _queue(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Return the pods with those of higher priority first (PrioritySort)."""
        if not self._has_priorities:
            return pods
        ranks = {pod.key: (placed.pod_source.priority or 0) if (placed := self.owners.get(pod.key)) else 0 for pod in pods}
        return sorted(pods, key=lambda pod: -ranks[pod.key])

    def _waiting_in_order(
        self, recreated: Mapping[PodKey, Pod], nodes: Mapping[PodKey, str], not_created: Mapping[PodKey, str]
    ) -> dict[PodKey, str]:
        """Return the pods of ordered StatefulSets that cannot be created yet, each with the name of the pod that it waits for."""
        stuck: dict[PodKey, str] = {}
        ordered = {
            placed.pod_source.key: placed
            for identity in recreated
            if (placed := self.owners.get(identity)) and placed.pod_source.pod_replacement.ordered
        }
        for placed in ordered.values():
            first = next((each for pod in placed.pods if not self._runs(each := pod.key, placed, recreated, nodes)), None)
            if first is not None:
                behind = {pod.key for pod in placed.pods if self.ranks[pod.key] > self.ranks[first]}
                stuck.update(dict.fromkeys(behind & recreated.keys() - not_created.keys(), first[1]))
        return stuck

    @staticmethod
    def _runs(identity: PodKey, placed: PlacedWorkload, recreated: Container[PodKey], nodes: Container[PodKey]) -> bool:
        return identity in nodes if identity in recreated else identity in placed.nodes or identity in nodes

    def running_again(self, cluster: Cluster, nodes: Mapping[PodKey, str]) -> Container[PodKey]:
        """Return the pods that run although they did not before, or not there, once the pods in ``nodes`` have been scheduled."""
        if not self._waits_for_volumes:
            return nodes
        waits, there = self.waits(cluster, nodes), cluster.pods
        waited = {identity for placed in self.schedule.workloads for identity in placed.waits}
        return (nodes.keys() | (waited & there.keys())) - waits.keys()

    def waits(self, cluster: Cluster, nodes: Mapping[PodKey, str]) -> Mapping[PodKey, str]:
        """Return the pods that wait for a volume after the pods in ``nodes`` have been scheduled, with the reason."""
        if not self._waits_for_volumes:
            return _NONE
        there = cluster.pods
        pods = [(pod, there[pod.key]) for pod in cluster.evicted(cluster.nodes) if pod.volumes]
        waited = {identity for placed in self.schedule.workloads for identity in placed.waits}
        pods.sort(key=lambda each: 2 if each[0].key in nodes else 1 if each[0].key in waited else 0)
        return volume_waits(pods, self.schedule.exclusive, cluster, self._mounted - nodes.keys())

    @cached_property
    def _waits_for_volumes(self) -> bool:
        return waits_for_volumes(self.schedule.exclusive, self.schedule.cluster)

    @cached_property
    def _mounted(self) -> frozenset[PodKey]:
        """The pods that run from the start: their volumes are mounted."""
        return frozenset([identity for placed in self.schedule.workloads for identity in placed.stays])

    # --- explanations -------------------------------------------------------------------------------------------------

    def why(
        self,
        cluster: Cluster,
        pod: Pod,
        key: str,
        reasons: Mapping[str, str],
        running_pods: RunningPodIndex | None = None,
        failed: Container[str] = (),
    ) -> str:
        """Return why no node takes a pod, without the `failed` nodes."""
        available = {node: plugin for node, plugin in reasons.items() if node not in failed}
        rejections = Rejections(cluster, pod, self.titles, key, running_pods)
        text = rejections.summary(available) + self._data_words(cluster, pod)
        if (
            len(available) < len(reasons)
            and POD_TOPOLOGY_SPREAD in available.values()
            and any(not each.honor_taints for each in pod.hard_spread)
        ):
            names = [node for node in reasons if node not in available]
            text += (
                f"; {names[0]} still counts as a topology domain"
                if len(names) == 1
                else f"; the {len(names)} nodes still count as topology domains"
            )
        return text

    @staticmethod
    def _data_words(cluster: Cluster, pod: Pod) -> str:
        """Return which failed or removed nodes have the data of a pod, as a part of a sentence; empty if none has."""
        storage = cluster.examine_volumes(pod)
        if storage is None:
            return ""
        hosts = {node.labels.get(HOSTNAME, node.name): node for node in cluster.table.nodes}
        names = sorted(nodes_of(storage.bound))
        gone = [name for name in names if name not in hosts or UNREACHABLE in hosts[name].taints]
        are = "is" if len(gone) == 1 else "are"
        return f"; its data is unreachable until {join_words(gone)} {are} back" if gone else ""


def terminating(pod: Pod) -> Pod:
    """Return the pod in deletion, renamed so that its replacement can have its name."""
    return pod._replace(name=f"{pod.name} (deleted)", subject=pod.subject._replace(terminating=True))
