"""Files that installers of clusters read: eksctl, kops, kind, k3d and k0sctl."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.node_labels import CONTROL_PLANE, INSTANCE_TYPE, MASTER, ROLES
from afflint.kube.taints import Taint
from afflint.pools.fields import (
    Taints,
    is_known,
    is_malformed_number,
    is_open,
    kubelet_mistakes,
    label,
    labels_of,
    number,
    one_of,
    parse_pairs,
    region,
    taints_in_line,
    taints_in_map,
    taints_in_texts,
    taints_of,
    text,
    texts,
    unreachable_labels,
    zone,
)
from afflint.pools.kubeadm import CONTROL_PLANE_LABELS, CONTROL_PLANE_TAINT, Registration, registration
from afflint.pools.pool import Declared, Label, Pool, PoolMistake, PoolPart, PoolTaint, Reader
from afflint.pools.upgrades import eks_update, kops_update
from afflint.yaml.document import list_at, map_at
from afflint.yaml.object_fields import kind_of

_TAG = "is a tag of cloud resources"


# --- eksctl ----------------------------------------------------------------------------------------------------------------


def _eksctl(declared: Declared) -> Iterator[Pool]:
    """Yield the node groups of both lists (pkg/apis/eksctl.io/v1alpha5 types.go, defaults.go); one has the managed groups of EKS."""
    where = text(declared.data, "metadata", "region")
    beside = any(declared.data.get(field) for field in ("fargateProfiles", "autoModeConfig", "karpenter"))
    for kind in ("nodeGroups", "managedNodeGroups"):
        for index, group in enumerate(list_at(declared.data, kind)):
            if type(group) is dict:
                path = (*declared.base, kind, index)
                yield _eksctl_group(declared, group, path, where, managed=kind == "managedNodeGroups")._replace(has_other_nodes=beside)


def _eksctl_group(declared: Declared, group: dict[str, Any], path: Path, where: str, *, managed: bool) -> Pool:
    name, own, given = text(group, "name"), group.get("labels"), group.get("taints")
    taints = taints_in_map(given, (*path, "taints")) if type(given) is dict else taints_of(given, (*path, "taints"))
    labels = labels_of(own, (*path, "labels"))
    automatic = [label("alpha.eksctl.io/cluster-name", declared.name), label("alpha.eksctl.io/nodegroup-name", name)]
    if managed:
        spot = group.get("spot") is True
        automatic += [label("eks.amazonaws.com/nodegroup", name), label("eks.amazonaws.com/capacityType", "SPOT" if spot else "ON_DEMAND")]
    # The zones of the cluster do not apply to a group that sets its own location, even if only by subnets.
    own_zones = texts(group, "availabilityZones")
    placed = any(field in group for field in ("availabilityZones", "localZones", "zoneIDs", "subnets"))
    zones = own_zones or texts(group, "localZones") if placed else texts(declared.data, "availabilityZones")
    types = texts(group, "instanceTypes") or texts(group, "instancesDistribution", "instanceTypes") or (text(group, "instanceType"),)
    if any(types):
        automatic.append(one_of(INSTANCE_TYPE, types))
    count = number(group, "desiredCapacity")
    least, most = number(group, "minSize"), number(group, "maxSize")
    if not any(is_malformed_number(group, field) for field in ("desiredCapacity", "minSize", "maxSize")):
        count = 2 if count is None and least is None and most is None else count
        least = least if least is not None else count
        most = most if most is not None else max(count or 0, least or 0)
    return declared.pool(name, "node group", path, "described", declared.name)._replace(
        labels=(
            *labels,
            *automatic,
            *zone(zones, (*path, "availabilityZones") if own_zones else ()),
            *region(where),
        ),
        taints=taints.taints,
        closed=not is_open(own),
        least=least,
        most=most,
        zones=zones,
        upgrade=eks_update(group) if managed else None,
        faults=(*kubelet_mistakes(labels), *taints.faults),
        unreachable=unreachable_labels(group.get("tags"), (*path, "tags"), own, _TAG, "Write it below `labels`."),
    )


# --- kops ------------------------------------------------------------------------------------------------------------------

_KOPS_CLUSTER = "kops.k8s.io/cluster"


def _instance_group(declared: Declared) -> Iterator[Pool]:
    """Yield an instance group (pkg/nodelabels/builder.go). A controller sets the labels, so that any domain is allowed."""
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    role = text(spec, "role") or "Node"
    if role.lower() == "bastion":
        return
    control_plane = role.lower() in ("master", "controlplane", "control-plane", "apiserver")
    cluster = text(declared.data, "metadata", "labels", _KOPS_CLUSTER)
    kubelet = map_at(spec, "kubelet")
    taints = taints_in_texts(spec.get("taints"), (*base, "taints"))
    kubelet_taints = taints_in_texts(kubelet.get("taints"), (*base, "kubelet", "taints"))
    own = spec.get("nodeLabels")
    labels = [*labels_of(own, (*base, "nodeLabels")), *labels_of(kubelet.get("nodeLabels"), (*base, "kubelet", "nodeLabels"))]
    labels += CONTROL_PLANE_LABELS if control_plane else [label(f"{ROLES}node", "")]
    zones = texts(spec, "zones")
    subnets = texts(spec, "subnets")
    all_taints = list(taints.taints + kubelet_taints.taints) + ([CONTROL_PLANE_TAINT] if control_plane else [])
    least, most = number(spec, "minSize"), number(spec, "maxSize")
    if control_plane:
        least, most = (1 if spec.get("minSize") is None else least), (1 if spec.get("maxSize") is None else most)
    if text(spec, "manager") == "Karpenter":
        least, most = 0, None
    kind = text(spec, "machineType")
    yield declared.pool(declared.name, "InstanceGroup", declared.base, "described", cluster)._replace(
        upgrade=kops_update(spec, control_plane=control_plane),
        labels=(*labels, *zone(zones, (*base, "zones")), *([label(INSTANCE_TYPE, kind, (*base, "machineType"))] if kind else [])),
        taints=tuple(all_taints),
        closed=not is_open(own, kubelet.get("nodeLabels")),
        least=least,
        most=most,
        zones=zones,
        optional=(("kops cluster", "", cluster), *([("kops subnet", cluster, subnets[0])] if len(subnets) == 1 and not zones else [])),
        faults=(*taints.faults, *kubelet_taints.faults),
        unreachable=unreachable_labels(spec.get("cloudLabels"), (*base, "cloudLabels"), own, _TAG, "Write it below `spec.nodeLabels`."),
    )


def _kops_cluster(declared: Declared) -> Iterator[PoolPart]:
    """Yield the settings of all instance groups of a cluster, and the zones of its subnets."""
    spec, base = map_at(declared.data, "spec"), (*declared.base, "spec")
    kubelet = map_at(spec, "kubelet")
    taints = taints_in_texts(kubelet.get("taints"), (*base, "kubelet", "taints"))
    labels = labels_of(kubelet.get("nodeLabels"), (*base, "kubelet", "nodeLabels"))
    yield PoolPart(("kops cluster", "", declared.name), declared.site, declared.ref, tuple(labels), taints.taints, faults=taints.faults)
    networking = list_at(spec, "subnets") or list_at(spec, "networking", "subnets")
    for subnet in networking:
        if text(subnet, "name") and text(subnet, "zone"):
            key = ("kops subnet", declared.name, subnet["name"])
            yield PoolPart(key, declared.site, declared.ref, tuple(zone((subnet["zone"],))))


# --- machines that are listed one by one -----------------------------------------------------------------------------------


class _Machine(NamedTuple):
    """A node that a file lists."""

    name: str
    path: Path
    labels: tuple[Label, ...]
    taints: tuple[PoolTaint, ...] = ()
    faults: tuple[PoolMistake, ...] = ()
    known: bool = True


def _machines(declared: Declared, machines: Iterable[_Machine], word: str, whose: Any) -> Iterator[Pool]:
    """Yield equal machines as one pool, named after the first."""
    groups: dict[object, list[_Machine]] = {}
    for each in machines:
        key = (frozenset(label.requirement for label in each.labels), frozenset(taint.taint for taint in each.taints), each.known)
        groups.setdefault(key, []).append(each)
    for equal in groups.values():
        first = equal[0]
        faults = tuple([fault for each in equal for fault in each.faults])
        yield declared.pool(first.name, word, first.path, whose, declared.name)._replace(
            labels=first.labels,
            taints=first.taints,
            closed=first.known,
            least=len(equal),
            most=len(equal),
            faults=faults,
        )


def _kind(declared: Declared) -> Iterator[Pool]:
    """Yield the nodes of kind (pkg/cluster/internal/create/actions). Without a list of nodes there is one control plane."""
    nodes = [each if type(each) is dict else {} for each in list_at(declared.data, "nodes")] or [{}]
    yield from _machines(declared, _kind_nodes(declared, nodes), "kind node", "other")


def _kind_nodes(declared: Declared, nodes: list[dict[str, Any]]) -> Iterator[_Machine]:
    counts: dict[str, int] = {}
    for index, node in enumerate(nodes):
        role = text(node, "role") or "control-plane"
        counts[role] = counts.get(role, 0) + 1
        path = (*declared.base, "nodes", index) if list_at(declared.data, "nodes") else declared.base
        own = labels_of(node.get("labels"), (*path, "labels"))
        control_plane = role == "control-plane"
        patched = _kind_patches(list_at(node, "kubeadmConfigPatches"), (*path, "kubeadmConfigPatches"), control_plane=control_plane)
        # kind removes the taint of a control plane that is the only node.
        taints = tuple([each for each in patched.taints if len(nodes) > 1 or each != CONTROL_PLANE_TAINT])
        name = role if counts[role] == 1 else f"{role}{counts[role]}"
        yield _Machine(name, path, (*own, *patched.labels), taints, (*kubelet_mistakes(own), *patched.faults), patched.known)


def _kind_patches(patches: list[Any], path: Path, *, control_plane: bool) -> Registration:
    """Return the node registration in the patches for kubeadm, which are texts in YAML or JSON.

    Mistakes are reported at the position of the text.
    """
    result = registration(None, path, control_plane=control_plane)
    for index, patch in enumerate(patches):
        if type(patch) is not str or "nodeRegistration" not in patch:
            continue
        from afflint.yaml.documents import read

        data = read(patch.encode("utf-8", "surrogatepass"), 0, 0).data
        if kind_of(data) not in ("InitConfiguration", "JoinConfiguration"):
            continue
        where = (*path, index)
        changed = registration(map_at(data).get("nodeRegistration"), where, control_plane=control_plane)
        result = Registration(
            tuple([each._replace(path=where) for each in changed.labels]),
            tuple([each._replace(path=where) for each in changed.taints])
            if "taints" in map_at(data, "nodeRegistration")
            else result.taints,
            (*result.faults, *[each._replace(path=where, key=False) for each in changed.faults]),
            result.known and changed.known,
        )
    return result


def _k3d(declared: Declared) -> Iterator[Pool]:
    """Yield the nodes of k3d (pkg/config/transform.go).

    Servers have no taint; filters select nodes as ``agent:0,1``, ``server:*`` or ``all``.
    """
    counts = {"server": number(declared.data, "servers"), "agent": number(declared.data, "agents")}
    names = [(role, index) for role, most in (("server", 1), ("agent", 0)) for index in range(min(_count(counts[role], most), _MOST))]
    options, base = map_at(declared.data, "options", "k3s"), (*declared.base, "options", "k3s")
    machines = []
    for role, index in names:
        labels: list[Label] = [label(each, "true") for each in _SERVER_ROLES] if role == "server" else []
        taints, faults = Taints(), list[PoolMistake]()
        for number_of, entry in enumerate(list_at(options, "nodeLabels")):
            if _is_selected(list_at(entry, "nodeFilters"), role, index, len(names)):
                path = (*base, "nodeLabels", number_of, "label")
                own = [label(key, value, path) for key, value in parse_pairs(text(entry, "label")).items()]
                labels, faults = [*labels, *own], [*faults, *kubelet_mistakes(own)]
        for number_of, entry in enumerate(list_at(options, "extraArgs")):
            match = re.fullmatch(r"--node-taint[= ](.+)", text(entry, "arg"))
            if match and _is_selected(list_at(entry, "nodeFilters"), role, index, len(names)):
                more = taints_in_line(match[1].strip("'\""), (*base, "extraArgs", number_of, "arg"))
                taints = Taints((*taints.taints, *more.taints), (*taints.faults, *more.faults))
        machines.append(_Machine(f"{role}-{index}", declared.base, tuple(labels), taints.taints, (*faults, *taints.faults)))
    yield from _machines(declared, machines, "k3d node", "other")


_SERVER_ROLES = (CONTROL_PLANE, MASTER)
_MOST = 1000


def _count(given: int | None, usual: int) -> int:
    return usual if given is None else max(given, 0)


def _is_selected(filters: list[Any], role: str, index: int, number_of_nodes: int) -> bool:
    """Return whether filters select a node; without filters, whether it is the only node."""
    if not filters:
        return number_of_nodes == 1
    for each in filters:
        group, _, chosen = str(each).partition(":")
        group = group.rstrip("s")
        if group == "all" or (group == role and (chosen in ("", "*") or str(index) in chosen.split(","))):
            return True
    return False


def _k0sctl(declared: Declared) -> Iterator[Pool]:
    yield from _machines(declared, _k0s_hosts(declared), "host", "described")


def _k0s_hosts(declared: Declared) -> Iterator[_Machine]:
    """Yield the hosts that are nodes: a controller is a node only if it is a worker, too."""
    for index, host in enumerate(list_at(declared.data, "spec", "hosts")):
        role = text(host, "role")
        if role not in ("worker", "controller+worker", "single"):
            continue
        path = (*declared.base, "spec", "hosts", index)
        labels: list[Label] = []
        taints: list[PoolTaint] = []
        faults: list[PoolMistake] = []
        if role != "worker":
            labels += [label("node.k0sproject.io/role", "control-plane"), label(CONTROL_PLANE, "true")]
        if role == "controller+worker" and map_at(host).get("noTaints") is not True:
            taints.append(PoolTaint(Taint(MASTER, "", "NoSchedule")))
        for flag, value, where in _flags(list_at(host, "installFlags"), (*path, "installFlags")):
            if flag == "--labels":
                own = [label(key, each, where) for key, each in parse_pairs(value).items()]
                labels, faults = [*labels, *own], [*faults, *kubelet_mistakes(own)]
            elif flag == "--taints":
                more = taints_in_line(value, where)
                taints, faults = [*taints, *more.taints], [*faults, *more.faults]
        name = text(host, "hostname") or text(host, "ssh", "address") or f"{role}-{index}"
        yield _Machine(name, path, tuple(labels), tuple(taints), tuple(faults))


def _flags(flags: list[Any], path: Path) -> Iterator[tuple[str, str, Path]]:
    for index, flag in enumerate(flags):
        if is_known(flag):
            name, _, value = re.sub(r"[ =]", "\0", flag.strip(), count=1).partition("\0")
            yield name, value.strip().strip("'\""), (*path, index)


READERS: Mapping[tuple[str, str], Reader] = {
    ("eksctl.io", "ClusterConfig"): _eksctl,
    ("kops.k8s.io", "InstanceGroup"): _instance_group,
    ("kops.k8s.io", "Cluster"): _kops_cluster,
    ("kind.x-k8s.io", "Cluster"): _kind,
    ("k3d.io", "Simple"): _k3d,
    ("k0sctl.k0sproject.io", "Cluster"): _k0sctl,
    ("k0sctl.k0sproject.io", "cluster"): _k0sctl,
}
