"""The priorities of workloads, from PriorityClasses.

Semantics: the admission plugin plugin/pkg/admission/priority. Priorities decide the order of the queue of the scheduler (PrioritySort).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.budgets import Budget
from afflint.controllers.pod_source import PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.placement.preemption import Priorities
from afflint.scheduler.pods import PodKey
from afflint.scheduler.preemption import Rank
from afflint.yaml.document import map_at, maps_at, text_at

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


def read_priority_classes(objects: Iterable[Mapping[str, Any]]) -> dict[str, PriorityClass]:
    """Return the PriorityClasses among some objects by name, with those that every cluster has. Malformed ones are left out."""
    found = {each.name: each for each in _SYSTEM}
    for data in objects:
        name, value = text_at(map_at(data, "metadata"), "name"), data.get("value")
        if data.get("kind") == PRIORITY_CLASS and text_at(data, "apiVersion").startswith(_GROUP) and name and type(value) is int:
            found.setdefault(name, PriorityClass(name, value, data.get("preemptionPolicy") != "Never", data.get("globalDefault") is True))
    return found


def with_priorities(pod_sources: Sequence[PodSource], classes: Mapping[str, PriorityClass]) -> tuple[PodSource, ...]:
    """Return the workloads with their priorities, None if the PriorityClass of a workload is not among ``classes``."""
    # The admission plugin takes the smallest of several defaults.
    default = min((each for each in classes.values() if each.is_default), key=lambda each: each.value, default=_NO_CLASS)
    return tuple([_with_priority(pod_source, classes, default) for pod_source in pod_sources])


def _with_priority(pod_source: PodSource, classes: Mapping[str, PriorityClass], default: PriorityClass) -> PodSource:
    pod = pod_source.pod
    name, stored = text_at(pod, "priorityClassName"), pod.get("priority")
    known = classes.get(name) if name else default
    # The admission plugin has set the priority of pods that run.
    value = stored if pod_source.has_own_pods and type(stored) is int else None if known is None else known.value
    preempts = pod.get("preemptionPolicy", None if known is None or known.preempts else "Never") != "Never"
    return pod_source if (value, preempts) == (0, True) else replace(pod_source, priority=value, preempts=preempts)


def priorities_of(pod_sources: Iterable[PodSource], pods: Sequence[object], budgets: Sequence[Budget]) -> Priorities | None:
    """Return what preemption needs beyond the workloads; None if all pods have the same priority, as far as it is known.

    ``pods`` are the running pods as parsed, with the priorities that the admission plugin has set.
    """
    running = {key: Rank(priority, text_at(pod, "status", "startTime")) for pod in pods for key, priority in _stored(pod)}
    known = {each.priority for each in pod_sources if each.priority is not None}.union(each.priority for each in running.values())
    return Priorities(running, budgets) if len(known) > 1 else None


def _stored(pod: object) -> Iterator[tuple[PodKey, int]]:
    """Yield the name and the priority of a running pod. Static pods run whatever the scheduler deletes."""
    metadata, spec = map_at(pod, "metadata"), map_at(pod, "spec")
    priority = spec.get("priority", None if "priorityClassName" in spec else 0)
    if type(priority) is int and not any(owner.get("kind") == "Node" for owner in maps_at(metadata, "ownerReferences")):
        yield (text_at(metadata, "namespace") or "default", text_at(metadata, "name")), priority
