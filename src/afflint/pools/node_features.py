"""Node feature discovery: the labels and taints that it adds to nodes of any pool while the cluster runs.

Semantics: pkg/nfd-master of the project (addNsToMapKeys, filterFeatureLabel) and pkg/apis/nfd/validate (Label, Taint).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.pools.fields import INVALID_TAINT, label, labels_of, taints_of
from afflint.pools.pool import Declared, Label, PoolMistake, PoolPart, PoolTaint, Reader
from afflint.yaml.document import map_at, maps_at

ADDED = ("labels of any node", "", "")
"""The key of parts that complete no pool: their labels may be on the nodes of each."""
_DOMAIN = "feature.node.kubernetes.io"
_OF_ELEMENT = "@"
"""The beginning of a value that is the value of a feature of the node."""


def discovered_keys(parts: Iterable[PoolPart]) -> frozenset[str]:
    """Return the keys of the labels that node feature discovery may add to any node."""
    return frozenset(label.key for part in parts if part.key == ADDED for label in part.labels)


def _rule(declared: Declared) -> Iterator[PoolPart]:
    """Yield the labels and taints of all rules."""
    labels: list[Label] = []
    taints: list[PoolTaint] = []
    faults: list[PoolMistake] = []
    for index, rule in enumerate(maps_at(declared.data, "spec", "rules")):
        path = (*declared.base, "spec", "rules", index)
        labels += [*_labels(map_at(rule, "labels"), (*path, "labels")), *_of_template(rule.get("labelsTemplate"))]
        given = taints_of(rule.get("taints"), (*path, "taints"))
        taints += given.taints
        faults += [*given.faults, *[fault for each in given.taints if (fault := _refused(each)) is not None]]
    if labels or taints or faults:
        yield PoolPart(ADDED, declared.site, declared.ref, tuple(labels), tuple(taints), faults=tuple(faults))


def _feature(declared: Declared) -> Iterator[PoolPart]:
    """Yield the labels of a NodeFeature, for its node."""
    labels = _labels(map_at(declared.data, "spec", "labels"), (*declared.base, "spec", "labels"))
    if labels:
        yield PoolPart(ADDED, declared.site, declared.ref, tuple(labels))


def _labels(data: dict[str, Any], path: Path) -> list[Label]:
    """Return the labels of a map. A key without a prefix gets that of node feature discovery."""
    dynamic = {key for key, value in data.items() if type(value) is str and value.startswith(_OF_ELEMENT)}
    return [label(_full(each.key), None, each.path) if each.key in dynamic else _prefixed(each) for each in labels_of(data, path)]


def _prefixed(each: Label) -> Label:
    return each._replace(requirement=each.requirement._replace(key=_full(each.key)))


def _full(key: str) -> str:
    return key if "/" in key else f"{_DOMAIN}/{key}"


def _of_template(template: object) -> list[Label]:
    """Return the labels of a template with a line for each, whose keys it does not compute."""
    keys = [line.partition("=")[0].strip() for line in (template.splitlines() if type(template) is str else ())]
    return [label(_full(key), None) for key in keys if re.fullmatch(r"[A-Za-z0-9._/-]+", key)]


def _refused(each: PoolTaint) -> PoolMistake | None:
    """Return the mistake of a taint that node feature discovery does not set because of the prefix of its key."""
    prefix = each.taint.key.rpartition("/")[0]
    reserved = f".{prefix}".endswith(".kubernetes.io") and not f".{prefix}".endswith(f".{_DOMAIN}")
    if prefix and not reserved:
        return None
    why = f"has the reserved prefix {quoted(prefix)}" if prefix else "has no prefix"
    message = f"node feature discovery does not set this taint: its key {quoted(each.taint.key)} {why}"
    return PoolMistake(INVALID_TAINT, (*each.path, "key"), message, f"Use a domain of your own as the prefix, or `{_DOMAIN}/`.")


READERS: Mapping[tuple[str, str], Reader] = {
    ("nfd.k8s-sigs.io", "NodeFeatureRule"): _rule,
    ("nfd.openshift.io", "NodeFeatureRule"): _rule,
    ("nfd.k8s-sigs.io", "NodeFeature"): _feature,
    ("nfd.openshift.io", "NodeFeature"): _feature,
}
