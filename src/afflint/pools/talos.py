"""Talos: a machine configuration, a patch of one, or the document KubeNodeConfig."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.finding import FileId
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.node_labels import CONTROL_PLANE
from afflint.pools.fields import UNREACHABLE_LABEL, is_open, kubelet_rejects, labels_of, taints_in_map, text
from afflint.pools.kubeadm import CONTROL_PLANE_LABELS, CONTROL_PLANE_TAINT
from afflint.pools.pool import Declared, Label, Pool, PoolMistake, PoolPart, Reader
from afflint.yaml.document import map_at, value_at_path


def _machine(declared: Declared) -> Iterator[Pool | PoolPart]:
    """Yield the node of ``machine.nodeLabels`` and ``machine.nodeTaints``. A patch without a machine type may be for any type.

    A configuration without them may still show that control planes have no taint.
    """
    machine = map_at(declared.data, "machine")
    if not (machine.get("nodeLabels") or machine.get("nodeTaints")):
        if may_schedule_on_control_planes(declared.data):
            yield PoolPart(("Talos cluster", "", ""), declared.site, declared.ref, CONTROL_PLANE_LABELS)
        return
    kind = text(machine, "type")
    schedulable = may_schedule_on_control_planes(declared.data)
    name = text(machine, "network", "hostname") or kind or "machine"
    yield _pool(declared, name, machine.get("nodeLabels"), machine.get("nodeTaints"), ("machine",), "node", kind, schedulable=schedulable)


def may_schedule_on_control_planes(data: Any) -> bool:
    """Return whether a machine configuration, or a patch of one, leaves control planes without a taint, or may do so by a placeholder."""
    fields = ("allowSchedulingOnControlPlanes", "allowSchedulingOnMasters")
    return any(value is True or type(value) is str for value in (value_at_path(data, "cluster", field) for field in fields))


def _node_config(declared: Declared) -> Iterator[Pool]:
    data = declared.data
    yield _pool(declared, declared.name or "machine", data.get("labels"), data.get("taints"), declared.base, "", "", schedulable=False)


def _pool(declared: Declared, name: str, own: Any, given: Any, base: Path, prefix: str, kind: str, *, schedulable: bool) -> Pool:
    fields = (f"{prefix}Labels", f"{prefix}Taints") if prefix else ("labels", "taints")
    labels = labels_of(own, (*base, fields[0]))
    taints = taints_in_map(given, (*base, fields[1]))
    control_plane = kind in ("controlplane", "init")
    all_taints = [*taints.taints, *([CONTROL_PLANE_TAINT] if control_plane and not schedulable else [])]
    refused = rejected_labels(labels) if kind == "worker" else ()
    return declared.pool(name, _WORD, base, "described", text(declared.data, "cluster", "clusterName"))._replace(
        labels=(*labels, *(CONTROL_PLANE_LABELS if control_plane else ())),
        taints=tuple(all_taints),
        closed=bool(kind) and not is_open(own),
        least=1,
        faults=(*refused, *taints.faults),
    )


def with_workers(pools: Iterable[Pool], name_of: Callable[[FileId], str]) -> list[Pool]:
    """Return the pools, with the labels that the API server rejects in patches without a machine type whose names say ``worker``.

    ``name_of`` returns the name of a file: such patches are in ``worker/host.yaml`` or ``patches/worker.yaml``.
    """
    return [_as_worker(pool) if _is_for_worker(pool, name_of(pool.site.file)) else pool for pool in pools]


def _is_for_worker(pool: Pool, name: str) -> bool:
    if pool.word != _WORD or CONTROL_PLANE in pool.keys or any(fault.rule == UNREACHABLE_LABEL for fault in pool.faults):
        return False
    *folders, file = name.replace("\\", "/").split("/")
    return not {file.partition(".")[0], *folders[-1:]}.isdisjoint(("worker", "workers"))


def _as_worker(pool: Pool) -> Pool:
    rejected = [fault._replace(severity="warning") for fault in rejected_labels(pool.labels)]
    return pool._replace(faults=(*pool.faults, *rejected))


def rejected_labels(labels: Iterable[Label]) -> Iterator[PoolMistake]:
    """Yield a mistake for each label that the API server rejects from a worker, which sets its own labels like a kubelet."""
    for each in labels:
        if kubelet_rejects(each.key):
            message = f"a worker sets its own labels, and the API server rejects {quoted(each.key)}: the label never reaches the node"
            yield PoolMistake(UNREACHABLE_LABEL, each.path, message, "Use your own domain or `node.kubernetes.io/`.", key=True)


_WORD = "Talos machine"
READERS: Mapping[tuple[str, str], Reader] = {("", ""): _machine, ("", "KubeNodeConfig"): _node_config}
