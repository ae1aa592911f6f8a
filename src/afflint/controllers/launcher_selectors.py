"""The launcher pods of the workloads of a run: what virt-controller adds to them, as far as the nodes show."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from afflint.controllers.kubevirt_cluster import CPU_MANAGER, OLD_CPU_MANAGER, KubeVirtCluster
from afflint.controllers.launcher_pod import ARCH, DEVICES, RESERVATION, is_reported_by_nodes, label_family, launcher_pod
from afflint.controllers.pod_source import PLACEMENT_FIELDS, PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words
from afflint.kube.constraints import REQUIRED
from afflint.kube.decoding import InventoryError
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.pods import Pod
from afflint.yaml.document import map_at, maps_at, text_at

Object = dict[str, Any]

# Fields that virt-controller changes, so that they come from the launcher pod and not from the VMI.
_LAUNCHER_FIELDS = ("nodeSelector", "affinity", "containers", "resourceClaims")


class Launcher(NamedTuple):
    """What all launcher pods of a workload have in common.

    ``labels`` are the labels of this workload's launcher pods beside those that every launcher pod has. ``added`` are the keys of the node
    labels that virt-controller requires, ``left_out`` those that no node of the inventory shows.
    """

    spec: Object
    labels: Mapping[str, str]
    added: frozenset[str]
    left_out: tuple[str, ...]


def launcher_of(pod_source: PodSource, cluster: Cluster) -> Launcher:
    """Return what the pods of a VM have in common on these nodes. Raises InventoryError if KubeVirt creates no pod."""
    given, own = pod_source.virtualization, dict(pod_source.pod)
    if _assumes_architecture(pod_source):
        own["architecture"] = _assumed_architecture(_architectures(cluster))
    vmi = {"metadata": {"name": pod_source.name, "namespace": pod_source.namespace}, "spec": own}
    resources = cluster.resources and pod_source.has_known_size and "domain" in own
    labels = (node.labels for node in cluster.table.nodes)
    kubevirt = _of_nodes(given.kubevirt, cluster.table.keys)
    networks = [each for each in given.networks if each in cluster.table.resources]
    pod = launcher_pod(vmi, kubevirt, given.instancetype, given.preference, nodes=labels, networks=networks, resources=resources)
    spec = {field: own[field] for field in PLACEMENT_FIELDS if own.get(field) is not None}
    spec.update({field: pod["spec"][field] for field in _LAUNCHER_FIELDS if field in pod["spec"]})
    if resources:
        spec["containers"] = [_with_known_devices(container, cluster) for container in spec["containers"]]
    added = _node_keys(spec.get("affinity")) - _node_keys(own.get("affinity"))
    left_out: tuple[str, ...] = ()
    if type(spec["nodeSelector"]) is dict:
        stated = map_at(own, "nodeSelector")
        asked = {key for key, value in spec["nodeSelector"].items() if stated.get(key) != value}
        # A selector that is set in a manifest applies whatever labels the nodes have.
        written = stated.keys() | KubeVirtCluster(given.kubevirt).node_selectors.keys() | map_at(given.instancetype, "nodeSelector").keys()
        left_out = tuple(sorted(key for key in asked - written if not is_reported_by_nodes(key, cluster.table.keys)))
        spec["nodeSelector"] = {key: value for key, value in spec["nodeSelector"].items() if key not in left_out}
        added |= asked
    reserved = {key: value for key, value in pod["metadata"]["labels"].items() if key.startswith(RESERVATION)}
    return Launcher(spec, reserved, frozenset(added), left_out)


def read_launcher(data: Mapping[str, Any], own: Mapping[str, Any], cluster: Cluster) -> Pod:
    """Return a launcher pod of a dump, with the node labels that virt-controller has added to those in the ``own`` spec of its VM.

    Raises InventoryError for a malformed pod.
    """
    spec = map_at(data, "spec")
    containers = [_with_known_devices(each, cluster) for each in maps_at(spec, "containers")] if cluster.resources else []
    pod = cluster.read({**data, "spec": {**spec, **({"containers": containers} if containers else {})}})
    keys = {key for key in map_at(spec, "nodeSelector") if key not in map_at(own, "nodeSelector")}
    keys |= _node_keys(spec.get("affinity")) - _node_keys(own.get("affinity"))
    added = frozenset(key for key in keys if "kubevirt.io/" in key or key in (ARCH, OLD_CPU_MANAGER))
    return pod._replace(rules=pod.rules._replace(node_name=""), added=added)


def _of_nodes(kubevirt: Mapping[str, Any], keys: Container[str]) -> Mapping[str, Any]:
    """Return the KubeVirt resource with a version that the labels of the nodes show: since 1.8, virt-handler sets both labels."""
    is_old = OLD_CPU_MANAGER in keys and CPU_MANAGER not in keys and KubeVirtCluster(kubevirt).version is None
    return {**kubevirt, "version": _LAST_OLD} if is_old else kubevirt


_LAST_OLD = (1, 7)
"""The last version of KubeVirt with the label ``cpumanager`` only (nodeselectorrenderer.go, virt-handler's heartbeat.go)."""


def _node_keys(affinity: object) -> set[str]:
    """Return the keys of the node labels that the required terms of an affinity read."""
    terms = maps_at(affinity, "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    return {text_at(expression, "key") for term in terms for expression in maps_at(term, "matchExpressions")}


def _with_known_devices(container: Object, cluster: Cluster) -> Object:
    """Return the container without the virtualization devices that no node has in its allocatable resources."""
    kept = {**map_at(container, "resources")}
    for kind in ("requests", "limits"):
        amounts = map_at(kept, kind)
        known = {each: amount for each, amount in amounts.items() if not each.startswith(DEVICES) or each in cluster.table.resources}
        if known != amounts:
            kept[kind] = known
    return {**container, "resources": kept} if kept else dict(container)


def _architectures(cluster: Cluster) -> list[str]:
    return sorted(set(cluster.label(ARCH).values()))


def _assumes_architecture(pod_source: PodSource) -> bool:
    """Return whether no manifest sets the architecture of the VM, so that it depends on the nodes."""
    given = pod_source.virtualization
    stated = pod_source.pod.get("architecture") or map_at(given.preference).get("preferredArchitecture")
    return not stated and not map_at(given.kubevirt, "status").get("defaultArchitecture")


def _assumed_architecture(architectures: list[str]) -> str:
    return "amd64" if "amd64" in architectures or not architectures else architectures[0]


def launcher_notes(pod_source: PodSource, cluster: Cluster) -> Iterator[str]:
    """Yield what was assumed or ignored for the launcher pods of a workload."""
    try:
        left_out = launcher_of(pod_source, cluster).left_out
    except InventoryError:
        return
    missing = list(dict.fromkeys(label_family(key) for key in left_out if key != ARCH))
    if missing:
        labels, what = ("label", "it") if len(missing) == 1 else ("labels", "them")
        ignored = f"the simulation ignores the nodeSelector that virt-controller adds for {what}"
        yield f"no node has the {labels} {join_words(missing, 'or')}, so {ignored}"
    unknown = [each for each in dict.fromkeys(pod_source.virtualization.networks) if each not in cluster.table.resources]
    if cluster.resources and unknown:
        yield f"no node has {join_words(unknown, 'or')} in status.allocatable, so the simulation ignores what its networks request"
    architectures = _architectures(cluster)
    if len(architectures) > 1 and _assumes_architecture(pod_source):
        assumed = f"the simulation assumes that the VM is {_assumed_architecture(architectures)}"
        yield f"nodes have the architectures {', '.join(architectures)}; {assumed}"
