"""Rancher: the machine pools of a Cluster, and the settings of a node of RKE2 or k3s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.node_labels import CONTROL_PLANE, ETCD, MASTER, WORKER
from afflint.kube.taints import Taint
from afflint.pools.fields import (
    is_known,
    is_open,
    kubelet_mistakes,
    label,
    labels_of,
    number,
    parse_pairs,
    taints_in_texts,
    taints_of,
    text,
    unreachable_labels,
)
from afflint.pools.kubeadm import Registration
from afflint.pools.pool import Declared, Label, Pool, PoolTaint, Reader
from afflint.pools.upgrades import rolling_update
from afflint.yaml.document import list_at, map_at


def _cluster(declared: Declared) -> Iterator[Pool]:
    """Yield the machine pools of a Cluster, whose labels the kubelet sets (pkg/capr/planner of rancher).

    Each becomes a MachineDeployment of Cluster API, with its `rollingUpdate` and the defaults of that (RKEMachinePool of rke.cattle.io).
    """
    config, base = map_at(declared.data, "spec", "rkeConfig"), (*declared.base, "spec", "rkeConfig", "machinePools")
    for index, pool in enumerate(list_at(config, "machinePools")):
        if type(pool) is not dict:
            continue
        path, own = (*base, index), pool.get("labels")
        taints = taints_of(pool.get("taints"), (*path, "taints"))
        labels = labels_of(own, (*path, "labels"))
        roles = [role for field, role in _ROLES if pool.get(field) is True]
        all_taints = list(taints.taints)
        if WORKER not in roles:
            all_taints += [PoolTaint(Taint(ETCD, "true", "NoExecute"))] if ETCD in roles else []
            all_taints += [PoolTaint(Taint(CONTROL_PLANE, "true", "NoSchedule"))] if CONTROL_PLANE in roles else []
        count = number(pool, "quantity")
        least, most = number(pool, "autoscalingMinSize"), number(pool, "autoscalingMaxSize")
        scaled = pool.get("autoscalingMinSize") is not None and pool.get("autoscalingMaxSize") is not None
        field, why = "machineDeploymentLabels", "of the MachineDeployment stays there"
        yield declared.pool(text(pool, "name"), "machine pool", path, "other", declared.name)._replace(
            labels=(*labels, *[label(role, "true") for role in roles]),
            taints=tuple(all_taints),
            closed=not is_open(own),
            least=least if scaled else count,
            most=most if scaled else count,
            faults=(*kubelet_mistakes(labels), *taints.faults),
            unreachable=unreachable_labels(pool.get(field), (*path, field), own, why, "Write it below `labels`."),
            upgrade=rolling_update(pool, "rollingUpdate"),
        )


_ROLES = (("controlPlaneRole", CONTROL_PLANE), ("etcdRole", ETCD), ("workerRole", WORKER))


_SERVER_LABELS = tuple([label(role, "true") for role in (CONTROL_PLANE, MASTER, ETCD)])
"""The labels of every server."""


def _node_settings(data: dict[str, Any]) -> Registration | None:
    """Return the labels and taints in the settings of a node, the content of a config.yaml of RKE2 or k3s; None if they are malformed."""
    given = {field: [data[field]] if type(data.get(field)) is str else data.get(field) for field in ("node-label", "node-taint")}
    if any(value is not None and type(value) is not list for value in given.values()):
        return None
    labels: list[Label] = []
    for index, entry in enumerate(given["node-label"] or ()):
        where: Path = ("node-label", index) if type(data["node-label"]) is list else ("node-label",)
        labels += [label(key, value, where) for key, value in parse_pairs(entry).items()] if is_known(entry) else []
    taints = taints_in_texts(given["node-taint"], ("node-taint",))
    # A flag of the kubelet may set further labels.
    flags = [data["kubelet-arg"]] if type(data.get("kubelet-arg")) is str else list_at(data, "kubelet-arg")
    known = all(map(is_known, given["node-label"] or ())) and not any("node-labels" in str(flag) for flag in flags)
    return Registration(tuple(labels), taints.taints, (*kubelet_mistakes(labels), *taints.faults), known)


def _settings(declared: Declared) -> Iterator[Pool]:
    """Yield the node of a config.yaml of RKE2 or k3s, which is a server if the file does not name a server to join.

    A file with only labels and taints may be one of `config.yaml.d`, which completes the file of a server or of an agent.
    """
    data = declared.data
    settings, whole = _node_settings(data), not {*data} <= {"node-label", "node-taint", "kubelet-arg"}
    server = whole and "server" not in data
    if settings is None:
        return
    yield declared.pool(
        text(data, "node-name") or ("server" if server else "agent" if whole else ""), "RKE2 or k3s node", (), "described"
    )._replace(
        labels=(*settings.labels, *(_SERVER_LABELS if server else ())),
        taints=settings.taints,
        closed=settings.known and whole,
        least=1,
        most=None,
        faults=settings.faults,
    )


READERS: Mapping[tuple[str, str], Reader] = {("provisioning.cattle.io", "Cluster"): _cluster, ("", ""): _settings}
