"""The storage of a simulated cluster, the claims of each workload, and where volumes are, in words."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from afflint.findings.phrases import summarize_names
from afflint.kube.node_labels import HOSTNAME, TOPOLOGY_LABELS, domain_word, name_of_key
from afflint.kube.selectors import Selector
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod, PodKey
from afflint.storage.objects import ClaimKey, PersistentVolume
from afflint.storage.pod_volumes import PodClaim

_MOST_VOLUMES = 3
_WORDS_OF_NODES = ("hostname", "host", "node", "nodename")


def attachment_waits(pods: Iterable[tuple[Pod, str]], exclusive: Container[ClaimKey]) -> dict[PodKey, str]:
    """Return the pods that wait for a volume which is attached to another node, with the reason.

    ``pods`` are pods with their nodes: the first that uses a volume has it (the attach/detach controller of Kubernetes,
    pkg/controller/volume/attachdetach). Pods on one node share it.
    """
    holders: dict[ClaimKey, tuple[Pod, str]] = {}
    waits: dict[PodKey, str] = {}
    for pod, node in pods:
        keys = [each.key for each in pod.volumes if isinstance(each, PodClaim) and each.key in exclusive]
        taken = next((key for key in keys if key in holders and holders[key][1] != node), None)
        if taken is not None:
            holder, on = holders[taken]
            waits[pod.key] = f"it gets node {node} and waits for the volume of {taken[1]}, which is attached to {on} for {holder.name}"
            continue
        holders.update({key: (pod, node) for key in keys if key not in holders})
    return waits


def volume_waits(
    pods: Sequence[tuple[Pod, str]], exclusive: Container[ClaimKey], cluster: Cluster, mounted: Container[PodKey]
) -> dict[PodKey, str]:
    """Return the pods that do not start on their nodes because of their volumes, with the reason: see ``attachment_waits``.

    Those that are not ``mounted`` yet also need the CSI drivers of their volumes on the node.
    """
    waits, storage, numbers = attachment_waits(pods, exclusive), cluster.storage, cluster.table.numbers
    if storage is None or not storage.knows_drivers:
        return waits
    for pod, node in pods:
        driver = storage.missing_driver(pod, numbers[node]) if pod.volumes and pod.key not in mounted else ""
        if driver:
            waits[pod.key] = f"its volume needs the CSI driver {driver}, which does not run on node {node}"
    return waits


def waits_for_volumes(exclusive: Container[ClaimKey], cluster: Cluster) -> bool:
    """Return whether pods may wait for volumes on their nodes."""
    return bool(exclusive) or (cluster.storage is not None and cluster.storage.knows_drivers)


def place_of(volumes: Sequence[PersistentVolume]) -> str:
    """Return where volumes can be used: ``its volume is in zone a``, ``its volume exists on node n1 only``.

    Empty if their node affinity has another form, or if they can be used everywhere.
    """
    places = {volume.name: place for volume in volumes if (place := _place(volume))}
    distinct = list(dict.fromkeys(places.values()))
    if not distinct:
        return ""
    alone = " only" if all(place.startswith("node ") for place in distinct) else ""
    exists = ("exists on" if alone else "is in") if len(places) == 1 else ("exist on" if alone else "are in")
    return f"its volume{'s' * (len(places) > 1)} {exists} {summarize_names(distinct, most=_MOST_VOLUMES)}{alone}"


def nodes_of(volumes: Sequence[PersistentVolume]) -> frozenset[str]:
    """Return the host names of the volumes that exist on one node."""
    return frozenset([place.removeprefix("node ") for volume in volumes if (place := _place(volume)).startswith("node ")])


def _place(volume: PersistentVolume) -> str:
    """Return ``zone a`` or ``node n1`` for a volume with one requirement for a label that names a domain."""
    if volume.terms is not None and len(volume.terms) == 1:
        term = volume.terms[0]
        asked = term.requirements if isinstance(term, Selector) else ()
        named = [each for each in asked if each.operator == "In" and len(each.values) == 1]
        if len(named) == len(asked) and named:
            narrowest = min(named, key=lambda each: 0 if _is_node(each.key) else 1 if "zone" in each.key else 2)
            return f"{_word(narrowest.key)} {narrowest.values[0]}"
    for key in TOPOLOGY_LABELS:
        if volume.labels.get(key):
            return f"{_word(key)} {' or '.join(volume.labels[key].split('__'))}"
    return ""


def _is_node(key: str) -> bool:
    return key == HOSTNAME or name_of_key(key) in _WORDS_OF_NODES


def _word(key: str) -> str:
    return "node" if _is_node(key) else domain_word(key) or name_of_key(key)
