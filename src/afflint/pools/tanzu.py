"""Tanzu Kubernetes Grid: the node pools of a TanzuKubernetesCluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.pools.data import is_open, labels_of, listed, mapping, number, taints_of, text, zone
from afflint.pools.model import Pool
from afflint.pools.reading import Declared, Reader


def _cluster(declared: Declared) -> Iterator[Pool]:
    """Labels and taints of v1alpha2 and later; v1alpha1 has one pool of workers without any."""
    topology, base = mapping(declared.data, "spec", "topology"), (*declared.base, "spec", "topology")
    entries = [(each, (*base, "nodePools", index)) for index, each in enumerate(listed(topology, "nodePools"))]
    if not entries and mapping(topology, "workers"):
        workers = mapping(topology, "workers")
        entries = [({"name": "workers", "replicas": workers.get("count")}, (*base, "workers"))]
    for entry, path in entries:
        if type(entry) is not dict:
            continue
        taints = taints_of(entry.get("taints"), (*path, "taints"))
        count, domain = number(entry, "replicas"), text(entry, "failureDomain")
        yield declared.pool(text(entry, "name"), "node pool", path, "other", declared.name)._replace(
            labels=(*labels_of(entry.get("labels"), (*path, "labels")), *zone((domain,), (*path, "failureDomain"))),
            taints=taints.taints,
            closed=not is_open(entry.get("labels")),
            least=count,
            most=count,
            zones=(domain,) if domain else (),
            faults=taints.faults,
        )


READERS: Mapping[tuple[str, str], Reader] = {("run.tanzu.vmware.com", "TanzuKubernetesCluster"): _cluster}
