"""Node feature discovery: the labels that a NodeFeatureRule adds to nodes of any pool while the cluster runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.pools.fields import labels_of
from afflint.pools.pool import Declared, PoolPart, Reader
from afflint.yaml.document import map_at, maps_at

ADDED = ("labels of any node", "", "")
"""The key of parts that complete no pool: their labels may be on the nodes of each."""
_DOMAIN = "feature.node.kubernetes.io/"


def _rule(declared: Declared) -> Iterator[PoolPart]:
    """Yield the labels of all rules. A key without a prefix gets that of node feature discovery (pkg/nfd-master of the project)."""
    labels = [
        each._replace(requirement=each.requirement._replace(key=each.key if "/" in each.key else _DOMAIN + each.key))
        for index, rule in enumerate(maps_at(declared.data, "spec", "rules"))
        for each in labels_of(map_at(rule, "labels"), (*declared.base, "spec", "rules", index, "labels"))
    ]
    if labels:
        yield PoolPart(ADDED, declared.site, declared.ref, tuple(labels))


READERS: Mapping[tuple[str, str], Reader] = {
    ("nfd.k8s-sigs.io", "NodeFeatureRule"): _rule,
    ("nfd.openshift.io", "NodeFeatureRule"): _rule,
}
