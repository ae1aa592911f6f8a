"""Tanzu Kubernetes Grid: the node pools of a TanzuKubernetesCluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.pools.fields import is_open, labels_of, number, taints_of, text, zone
from afflint.pools.pool import Declared, Pool, Reader
from afflint.yaml.document import list_at, map_at


def _cluster(declared: Declared) -> Iterator[Pool]:
    """Yield the node pools of v1alpha2 and later with labels and taints; v1alpha1 has one pool of workers without any."""
    topology, base = map_at(declared.data, "spec", "topology"), (*declared.base, "spec", "topology")
    entries = [(each, (*base, "nodePools", index)) for index, each in enumerate(list_at(topology, "nodePools"))]
    if not entries and map_at(topology, "workers"):
        workers = map_at(topology, "workers")
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
