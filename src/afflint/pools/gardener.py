"""Gardener: the workers of a Shoot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.kube.node_labels import ARCH, INSTANCE_TYPE
from afflint.pools.fields import is_open, label, labels_of, number, region, taints_of, text, texts, zone
from afflint.pools.pool import Declared, Pool, Reader
from afflint.pools.upgrades import rolling_update
from afflint.yaml.document import list_at, map_at


def _shoot(declared: Declared) -> Iterator[Pool]:
    """Yield the workers of a Shoot (pkg/utils/gardener/shoot.go). The numbers are totals, which are divided among the zones."""
    spec = map_at(declared.data, "spec")
    where = text(spec, "region")
    for index, worker in enumerate(list_at(spec, "provider", "workers")):
        if type(worker) is not dict:
            continue
        path = (*declared.base, "spec", "provider", "workers", index)
        name, own, zones = text(worker, "name"), worker.get("labels"), texts(worker, "zones")
        taints = taints_of(worker.get("taints"), (*path, "taints"))
        kind = text(worker, "machine", "type")
        automatic = [
            label("worker.gardener.cloud/pool", name),
            label("worker.garden.sapcloud.io/group", name),
            label("node.kubernetes.io/role", "node"),
            label(ARCH, text(worker, "machine", "architecture") or "amd64"),
            *([label(INSTANCE_TYPE, kind, (*path, "machine", "type"))] if kind else []),
        ]
        yield declared.pool(name, "worker pool", path, "other", declared.name)._replace(
            labels=(*labels_of(own, (*path, "labels")), *automatic, *zone(zones, (*path, "zones")), *region(where)),
            taints=taints.taints,
            closed=not is_open(own),
            least=number(worker, "minimum"),
            most=number(worker, "maximum"),
            zones=zones,
            faults=taints.faults,
            upgrade=rolling_update(worker),
        )


READERS: Mapping[tuple[str, str], Reader] = {("core.gardener.cloud", "Shoot"): _shoot}
