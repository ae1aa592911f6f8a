"""The priorities of workloads, from PriorityClasses.

Semantics: the admission plugin plugin/pkg/admission/priority. Priorities decide the order of the queue of the scheduler (PrioritySort).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.budgets import Budget
from afflint.controllers.pod_source import PodSource
from afflint.controllers.running_pods import unready_pods
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.inventory import Priorities
from afflint.scheduler.pods import PodKey
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import api_version_of, kind_of, metadata_of, name_of

PRIORITY_CLASS = "PriorityClass"
_GROUP = "scheduling.k8s.io/"


class PriorityClass(NamedTuple):
    """A PriorityClass: the priority that its pods have, whether they preempt others, and whether it applies to pods without a class."""

    name: str
    value: int
    preempts: bool = True
    is_default: bool = False


_SYSTEM = (PriorityClass("system-cluster-critical", 2_000_000_000), PriorityClass("system-node-critical", 2_000_001_000))
_NO_CLASS = PriorityClass("", 0)


class PriorityClasses(NamedTuple):
    """PriorityClasses by name. ``complete``: those that every cluster has are among the objects, so that these come from a cluster."""

    by_name: Mapping[str, PriorityClass]
    complete: bool = False


def read_priority_classes(objects: Iterable[Mapping[str, Any]]) -> PriorityClasses:
    """Return the PriorityClasses among some objects, with those that every cluster has. Malformed ones are left out."""
    found = {each.name: each for each in _SYSTEM}
    names = set()
    for data in objects:
        name, value = name_of(data), data.get("value")
        if kind_of(data) == PRIORITY_CLASS and api_version_of(data).startswith(_GROUP) and name and type(value) is int:
            names.add(name)
            found.setdefault(name, PriorityClass(name, value, data.get("preemptionPolicy") != "Never", data.get("globalDefault") is True))
    return PriorityClasses(found, names.issuperset(each.name for each in _SYSTEM))


def with_priorities(pod_sources: Sequence[PodSource], classes: PriorityClasses) -> tuple[PodSource, ...]:
    """Return the workloads with their priorities, None if the PriorityClass of a workload is not among ``classes``.

    If the classes are complete, the admission plugin rejects the pods of such a workload.
    """
    # The admission plugin takes the smallest of several defaults.
    default = min((each for each in classes.by_name.values() if each.is_default), key=lambda each: each.value, default=_NO_CLASS)
    return tuple([_with_priority(pod_source, classes, default) for pod_source in pod_sources])


def _with_priority(pod_source: PodSource, classes: PriorityClasses, default: PriorityClass) -> PodSource:
    pod = pod_source.pod
    name, stored = text_at(pod, "priorityClassName"), pod.get("priority")
    known = classes.by_name.get(name) if name else default
    if known is None and classes.complete and not (pod_source.observed or pod_source.refused):
        return replace(pod_source, refused=f"the API server rejects its pods: PriorityClass {name} does not exist", priority=None)
    # The admission plugin has set the priority of pods that run.
    value = stored if pod_source.has_own_pods and type(stored) is int else None if known is None else known.value
    preempts = pod.get("preemptionPolicy", None if known is None or known.preempts else "Never") != "Never"
    return pod_source if (value, preempts) == (0, True) else replace(pod_source, priority=value, preempts=preempts)


def priorities_of(pod_sources: Iterable[PodSource], pods: Sequence[object], budgets: Sequence[Budget]) -> Priorities | None:
    """Return what preemption needs beyond the workloads; None if all pods have the same priority, as far as it is known.

    ``pods`` are the running pods as parsed, with the priorities that the admission plugin has set.
    """
    stored = {key: (priority, text_at(pod, "status", "startTime")) for pod in pods for key, priority in _stored(pod)}
    known = {each.priority for each in pod_sources if each.priority is not None}.union(priority for priority, _ in stored.values())
    if len(known) < 2:
        return None
    from afflint.scheduler.preemption import Rank

    return Priorities({key: Rank(*each) for key, each in stored.items()}, budgets, unready_pods(pods))


def _stored(pod: object) -> Iterator[tuple[PodKey, int]]:
    """Yield the name and the priority of a running pod. Static pods run whatever the scheduler deletes."""
    metadata, spec = metadata_of(pod), map_at(pod, "spec")
    priority = spec.get("priority", None if "priorityClassName" in spec else 0)
    if type(priority) is int and not any(kind_of(owner) == "Node" for owner in maps_at(metadata, "ownerReferences")):
        yield (text_at(metadata, "namespace") or "default", text_at(metadata, "name")), priority
