"""kubeadm: InitConfiguration and JoinConfiguration, and the ``nodeRegistration`` that Cluster API, kind and others pass to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.node_labels import CONTROL_PLANE
from afflint.kube.taints import Taint
from afflint.pools.fields import kubelet_mistakes, label, parse_pairs, taints_in_line, taints_of, text
from afflint.pools.pool import Declared, Label, Pool, PoolMistake, PoolPart, PoolTaint, Reader
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder

CONTROL_PLANE_TAINT = PoolTaint(Taint(CONTROL_PLANE, "", "NoSchedule"))
CONTROL_PLANE_LABELS = (label(CONTROL_PLANE, ""), label("node.kubernetes.io/exclude-from-external-load-balancers", ""))


class Registration(NamedTuple):
    """The labels and taints that a node registers with. ``known`` is False if they have placeholders."""

    labels: tuple[Label, ...] = ()
    taints: tuple[PoolTaint, ...] = ()
    faults: tuple[PoolMistake, ...] = ()
    known: bool = True


def registration(data: Any, path: Path, *, control_plane: bool = False) -> Registration:
    """Return the labels and taints of a ``nodeRegistration``.

    Without taints a control plane gets its default taint and a worker none; an explicit list replaces the default.
    """
    given = map_at(data)
    taints = taints_of(given.get("taints"), (*path, "taints"))
    registered = list(taints.taints)
    if control_plane:
        registered += [] if type(given.get("taints")) is list else [CONTROL_PLANE_TAINT]
    labels: list[Label] = list(CONTROL_PLANE_LABELS) if control_plane else []
    faults, known = list(taints.faults), True
    for flag, value, where in _extra_args(given.get("kubeletExtraArgs"), (*path, "kubeletExtraArgs")):
        if flag == "register-with-taints":
            more = taints_in_line(value, where) if not is_placeholder(value) else None
            known = known and more is not None
            registered += more.taints if more else ()
            faults += more.faults if more else ()
        elif flag == "node-labels":
            own = [label(key, each, where) for key, each in parse_pairs(value).items() if not is_placeholder(key)]
            known = known and len(own) == len(parse_pairs(value))
            faults += kubelet_mistakes(own)
            labels += own
    return Registration(tuple(labels), tuple(registered), tuple(faults), known)


def _extra_args(data: Any, path: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield the flags of the kubelet: a map up to v1beta3, and up to v1beta1 in Cluster API; since then a list of names and values."""
    for key, value in data.items() if type(data) is dict else ():
        if type(value) is str:
            yield key, value, (*path, key)
    for index, entry in enumerate(data if type(data) is list else ()):
        if type(entry) is dict and type(entry.get("value")) is str:
            yield text(entry, "name"), entry["value"], (*path, index, "value")


def _configuration(declared: Declared) -> Iterator[Pool | PoolPart]:
    """Yield a pool of one node, or of all nodes that join with the same file."""
    control_plane = declared.ref.kind == "InitConfiguration" or bool(map_at(declared.data, "controlPlane"))
    path = (*declared.base, "nodeRegistration")
    registered = registration(declared.data.get("nodeRegistration"), path, control_plane=control_plane)
    name = text(declared.data, "nodeRegistration", "name") or ("control-plane" if control_plane else "worker")
    yield declared.pool(name, declared.ref.kind or "", declared.base, "described", text(declared.data, "clusterName"))._replace(
        labels=registered.labels,
        taints=registered.taints,
        closed=registered.known,
        least=1,
        most=1 if declared.ref.kind == "InitConfiguration" else None,
        faults=registered.faults,
    )


READERS: Mapping[tuple[str, str], Reader] = {
    ("kubeadm.k8s.io", "InitConfiguration"): _configuration,
    ("kubeadm.k8s.io", "JoinConfiguration"): _configuration,
}
