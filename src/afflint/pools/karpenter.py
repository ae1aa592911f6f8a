"""Karpenter: NodePool (karpenter.sh/v1, v1beta1) and Provisioner (v1alpha5), with nodes of the cluster that Karpenter runs in.

The nodes of a pool meet its requirements, and a key that the pool does not name is absent unless Karpenter sets it
(pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go, pkg/scheduling/requirements.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.node_labels import DEPRECATED, HOSTNAME
from afflint.kube.selectors import Requirement, parse_int64
from afflint.pools.fields import is_known, is_open, label, labels_of, number, one_of, taints_of, text, unreachable_labels
from afflint.pools.pool import Declared, Label, Pool, Reader, UnreachableLabel
from afflint.pools.upgrades import karpenter_budgets
from afflint.yaml.document import list_at, map_at
from afflint.yaml.object_fields import metadata_of

CAPACITY, NODEPOOL, PROVISIONER = "karpenter.sh/capacity-type", "karpenter.sh/nodepool", "karpenter.sh/provisioner-name"
AUTO_MODE = "eks.amazonaws.com"
"""The group of node classes in EKS Auto Mode, which has two pools that no manifest declares."""


def _node_pool(declared: Declared) -> Iterator[Pool]:
    template = map_at(declared.data, "spec", "template")
    base = (*declared.base, "spec", "template")
    spec, own = map_at(template, "spec"), metadata_of(template).get("labels")
    reference = map_at(spec, "nodeClassRef")
    limits = map_at(declared.data, "spec", "limits")
    automatic = [label(NODEPOOL, declared.name)] if declared.name else []
    group, kind = text(reference, "group"), text(reference, "kind")
    if group and kind and text(reference, "name"):
        automatic.append(label(f"{group}/{kind.lower()}", reference["name"]))
    path, why = (*declared.base, "metadata", "labels"), "of a NodePool itself stays on the NodePool"
    lost = unreachable_labels(metadata_of(declared.data).get("labels"), path, None, why, _LABELS_OF_NODES)
    yield _pool(declared, "NodePool", own, (*base, "metadata", "labels"), spec, (*base, "spec"), automatic, limits, lost)


_LABELS_OF_NODES = "Write it below `spec.template.metadata.labels`."


def _provisioner(declared: Declared) -> Iterator[Pool]:
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    automatic = [label(PROVISIONER, declared.name)] if declared.name else []
    yield _pool(
        declared, "Provisioner", spec.get("labels"), (*base, "labels"), spec, base, automatic, map_at(spec, "limits", "resources"), ()
    )


def _pool(
    declared: Declared,
    word: str,
    own: Any,
    own_path: Path,
    spec: Mapping[str, Any],
    path: Path,
    automatic: list[Label],
    limits: Mapping[str, Any],
    unreachable: tuple[UnreachableLabel, ...],
) -> Pool:
    requirements = spec.get("requirements")
    taints = taints_of(spec.get("taints"), (*path, "taints"))
    startup = taints_of(spec.get("startupTaints"), (*path, "startupTaints"))
    labels = [each._replace(requirement=each.requirement._replace(key=_current(each.key))) for each in labels_of(own, own_path)]
    asked = [each for index, entry in enumerate(list_at(spec, "requirements")) for each in _required(entry, (*path, "requirements", index))]
    keys = {each.key for each in (*labels, *asked)}
    if CAPACITY not in keys:
        automatic.append(one_of(CAPACITY, ("spot", "on-demand", "reserved")))
    automatic += [label(f"karpenter.sh/{key}", "true") for key in ("registered", "initialized")]
    # A patch of a pool has only the fields that it changes.
    whole = word == "Provisioner" or bool(map_at(spec, "nodeClassRef"))
    never = any(limits.get(key) in (0, "0", "0m") for key in ("cpu", "nodes"))
    return declared.pool(declared.name, word, declared.base, "own")._replace(
        labels=(*labels, *asked, *automatic),
        taints=taints.taints,
        startup_taints=startup.taints,
        closed=whole and type(requirements) in (list, NoneType) and not is_open(own),
        least=0,
        most=0 if never else number(limits, "nodes"),
        upgrade=karpenter_budgets(declared.data),
        has_other_nodes=any(each.key.startswith(f"{AUTO_MODE}/") for each in automatic),
        faults=(*taints.faults, *startup.faults),
        unreachable=unreachable,
    )


def _current(key: str) -> str:
    """Return the key to which Karpenter normalizes a deprecated one."""
    return DEPRECATED.get(key, key)


def _required(entry: Any, path: Path) -> Iterator[Label]:
    """Yield a requirement of a pool as requirements on the labels of its nodes."""
    key, operator = text(entry, "key"), text(entry, "operator")
    values = entry.get("values") if type(entry) is dict else None
    if not key or key == HOSTNAME:
        return
    key = _current(key)
    known = type(values) is list and bool(values) and all(map(is_known, values))
    if operator in ("Exists", "DoesNotExist"):
        yield Label(Requirement(key, operator), path)
    elif operator == "In":
        yield one_of(key, values if known and type(values) is list else (), path)
    elif operator == "NotIn" and known and type(values) is list:
        yield Label(Requirement(key, "NotIn", tuple(values)), path)
    elif operator in _BOUNDS and known and type(values) is list and (bound := parse_int64(values[0])) is not None:
        strict, shift = _BOUNDS[operator]
        yield Label(Requirement(key, strict, (str(bound + shift),)), path)
    else:
        yield Label(Requirement(key, "Exists"), path)


_BOUNDS = {"Gt": ("Gt", 0), "Lt": ("Lt", 0), "Gte": ("Gt", -1), "Lte": ("Lt", 1)}

READERS: Mapping[tuple[str, str], Reader] = {
    ("karpenter.sh", "NodePool"): _node_pool,
    ("karpenter.sh", "Provisioner"): _provisioner,
}
