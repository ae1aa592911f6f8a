"""Joins autoscalers with their workloads: the minimum, maximum and initial number of pods. Imported only if there are autoscalers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from afflint.controllers.pod_source import PodSource
from afflint.controllers.replica_counts import ONE_ASSUMED, ReplicaRange
from afflint.findings.finding import folder_distance
from afflint.index.cluster_objects import Scaler
from afflint.index.facts import Pods

# An autoscaler does not set the number of pods of these kinds, or it sets the number of groups of pods.
_NOT_COUNTED = frozenset(("Pod", "Job", "CronJob", "DaemonSet", "VirtualMachine", "VirtualMachineInstance", "JobSet", "LeaderWorkerSet"))
# The API groups that Deployments have been in.
_SAME_GROUP = ("apps", "extensions", "")


def apply_autoscalers(all_pods: Sequence[Pods], scalers: Iterable[Scaler]) -> list[Pods]:
    """Return the same pods, with the replica range of their autoscalers."""
    by_target: dict[tuple[str, str], list[Scaler]] = {}
    parts: dict[str, list[Scaler]] = {}
    for scaler in scalers:
        if scaler.kind:
            by_target.setdefault((scaler.kind, scaler.name), []).append(scaler)
        else:
            parts.setdefault(scaler.title, []).append(scaler)
    templates = Counter(pods.site for pods in all_pods)
    return [
        _with(pods, nearest, parts)
        if pods.ref.kind not in _NOT_COUNTED
        and templates[pods.site] == 1
        and (nearest := _nearest(pods, by_target.get((pods.ref.kind or "", pods.ref.name or ""), ())))
        else pods
        for pods in all_pods
    ]


def _nearest(pods: Pods, scalers: Iterable[Scaler]) -> list[Scaler]:
    """Return the nearest autoscalers that scale these pods: by namespace, or in the same folder if no namespace is set."""
    by_distance: dict[tuple[int, int], list[Scaler]] = {}
    group = (pods.ref.api_version or "").rpartition("/")[0]
    for scaler in scalers:
        if scaler.group != group and not (scaler.group in _SAME_GROUP and group in _SAME_GROUP):
            continue
        distance = folder_distance(scaler.site, pods.site)
        if scaler.namespace is not None and pods.namespace is not None:
            belongs = scaler.namespace == pods.namespace
        else:
            belongs = distance[0] == 0 and distance[1] <= _CLOSE
        if belongs:
            by_distance.setdefault(distance, []).append(scaler)
    return by_distance[min(by_distance)] if by_distance else []


# A folder counts as the same as those up to two levels below it.
_CLOSE = 2


def _with(pods: Pods, scalers: Sequence[Scaler], parts: dict[str, list[Scaler]]) -> Pods:
    """Return the pods with the range of their autoscalers; each overlay may have one for the same object, or patch one."""
    declared, first = pods.scale.current, scalers[0]
    if declared == 0 and not first.wakes:
        return pods  # Autoscaling is disabled at 0 replicas.
    changes = [part for scaler in scalers for part in parts.get(scaler.title, ()) if _may_change(part, scaler)]
    low = [scaler.least for scaler in scalers] + [part.least for part in changes if part.least is not None]
    high = [scaler.most for scaler in scalers] + [part.most for part in changes if part.most is not None]
    least = None if None in low else min(each for each in low if each is not None)
    most = None if None in high else max(each for each in high if each is not None)
    if least is None or most is None or least > most:
        return pods._replace(
            scale=ReplicaRange(open_ended=True, scaler=first.title), pod_source=_planned(pods, ReplicaRange(scaler=first.title))
        )
    current = min(max(declared or 1, least, 1), most)
    scale = ReplicaRange(current, least, most, scaler=first.title)
    ranges = tuple(
        [(name, start, most if name == "ordinal" and number is not None else number) for name, start, number in pods.added.ranges]
    )
    return pods._replace(scale=scale, added=pods.added._replace(ranges=ranges), pod_source=_planned(pods, scale))


def _may_change(part: Scaler, scaler: Scaler) -> bool:
    return part.namespace is None or scaler.namespace is None or part.namespace == scaler.namespace


def _planned(pods: Pods, scale: ReplicaRange) -> PodSource | None:
    """Return the workload with its initial number of replicas."""
    pod_source = pods.pod_source
    if pod_source is None:
        return None
    notes = [note for note in pod_source.notes if ONE_ASSUMED not in note]
    if scale.current is None:
        return replace(pod_source, notes=(*notes, f"{scale.scaler} sets the number of replicas: {pod_source.replicas} assumed"))
    return replace(pod_source, scale=scale, replicas=scale.current, notes=(*notes, f"{scale.scaler} keeps {scale.range} replicas"))
