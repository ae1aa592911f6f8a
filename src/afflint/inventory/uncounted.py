"""What a simulation does not count for a workload, as notes at the workload, and nodes in maintenance, as notes for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from afflint.controllers.launcher_resources import compute_resources
from afflint.controllers.pod_source import PodSource
from afflint.findings.phrases import join_words
from afflint.index.cluster_objects import MaintenanceObject
from afflint.kube.decoding import InventoryError
from afflint.kube.kinds import NODE_MAINTENANCE
from afflint.scheduler.nodes import Node
from afflint.scheduler.requests import CPU, MEMORY, PODS, read_demands
from afflint.yaml.document import text_at


def maintenance_notes(maintenance: Iterable[MaintenanceObject], nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a note for each NodeMaintenance of a node: the operator cordons and drains it, which the simulation does not do."""
    by_name = {node.name: node for node in nodes}
    for each in maintenance:
        node = by_name.get(text_at(each.spec, "nodeName"))
        if each.ref.kind != NODE_MAINTENANCE or node is None:
            continue
        title = f"NodeMaintenance {each.ref.name}"
        if node.unschedulable:
            yield f"{title}: {node.name} is cordoned, and pods on it are evicted only with --drain {node.name}"
        else:
            yield f"{title} will cordon and drain {node.name}, which is not cordoned yet: --drain {node.name} shows the effect"


def with_uncounted_requests(pod_sources: Sequence[PodSource]) -> tuple[PodSource, ...]:
    """Return the workloads, with a note at each one that requests resources: no node lists what it can allocate."""
    return tuple([_with_note(pod_source) for pod_source in pod_sources])


def _with_note(pod_source: PodSource) -> PodSource:
    asked = _requested(pod_source)
    if not asked:
        return pod_source
    note = f"its requests for {join_words(asked)} are not counted, because no node has status.allocatable"
    return replace(pod_source, notes=(*pod_source.notes, note))


def _requested(pod_source: PodSource) -> list[str]:
    """Return the resources that a pod of the workload requests; none if the requests are malformed."""
    try:
        if not pod_source.kubevirt:
            return [resource for resource, _ in read_demands(pod_source.pod, {}).requests if resource != PODS]
        if not pod_source.has_known_size:
            return [CPU, MEMORY]
        return sorted({CPU, MEMORY, *compute_resources(pod_source.pod.get("domain"))["requests"]})
    except InventoryError:
        return []
