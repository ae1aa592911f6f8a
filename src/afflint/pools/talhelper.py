"""talhelper: a ``talconfig.yaml``, from which talhelper generates the Talos configuration of every machine of a cluster.

Semantics: pkg/config/config.go, nodeconfigs.go and pkg/talos/nodeconfig.go of talhelper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.node_labels import ARCH, HOSTNAME
from afflint.pools.fields import is_known, is_open, label, labels_of, parse_pairs, taints_in_map, text
from afflint.pools.kubeadm import CONTROL_PLANE_LABELS, CONTROL_PLANE_TAINT
from afflint.pools.pool import Declared, Label, Pool, PoolMistake, PoolTaint, Reader
from afflint.pools.talos import may_schedule_on_control_planes, rejected_labels
from afflint.yaml.document import all_texts, list_at, map_at
from afflint.yaml.object_fields import kind_of
from afflint.yaml.placeholders import is_placeholder


class _Patches(NamedTuple):
    """What the patches of a machine add to its node.

    ``known`` is False if a patch may add any label. ``schedulable`` is None if a patch in another file may set it.
    """

    labels: tuple[Label, ...] = ()
    taints: tuple[PoolTaint, ...] = ()
    faults: tuple[PoolMistake, ...] = ()
    known: bool = True
    schedulable: bool | None = False


def _talconfig(declared: Declared) -> Iterator[Pool]:
    """Yield each node; fields of a node replace those that ``controlPlane`` or ``worker`` sets for all nodes of its role."""
    data = declared.data
    cluster = text(data, "clusterName")
    schedulable = may_schedule_on_control_planes({"cluster": data})
    written = "\n".join(all_texts(data))
    restricted = not any(word in written for word in _LIFTING)
    for index, node in enumerate(list_at(data, "nodes")):
        if type(node) is not dict:
            continue
        path, control_plane = (*declared.base, "nodes", index), node.get("controlPlane") is True
        role = "controlPlane" if control_plane else "worker"
        patches = _patches_of(declared, node, path, role)
        labels, labels_path = _own(declared, node, path, role, "nodeLabels")
        taints, taints_path = _own(declared, node, path, role, "nodeTaints")
        own, given = labels_of(labels, labels_path), taints_in_map(taints, taints_path)
        own = [*[each for each in own if each.key not in {other.key for other in patches.labels}], *patches.labels]
        open_to_all = schedulable or patches.schedulable is not False
        yield declared.pool(_host(node) or text(node, "ipAddress") or f"{index + 1}", "Talos node", path, "described", cluster)._replace(
            labels=(*own, *_automatic(declared, node, path, role, written), *(CONTROL_PLANE_LABELS if control_plane else ())),
            taints=(*given.taints, *patches.taints, *([CONTROL_PLANE_TAINT] if control_plane and not open_to_all else [])),
            closed=not is_open(labels) and patches.known,
            least=1,
            most=1,
            listed=True,
            faults=(*(rejected_labels(own) if restricted and not control_plane else ()), *given.faults, *patches.faults),
        )


_LIFTING = ("NodeRestriction", "disable-admission-plugins", "admissionControl")
"""Words in settings of the API server that may lift the restriction of the labels that a worker sets."""


def _own(declared: Declared, node: dict[str, Any], path: Path, role: str, field: str) -> tuple[Any, Path]:
    """Return a field of a node, or that of its role, with its path."""
    if node.get(field) is not None:
        return node[field], (*path, field)
    return map_at(declared.data, role).get(field), (*declared.base, role, field)


def _automatic(declared: Declared, node: dict[str, Any], path: Path, role: str, written: str) -> Iterator[Label]:
    """Yield the labels that the kubelet sets: Talos registers a node with the first part of its host name."""
    arch, arch_path = _own(declared, node, path, role, "machineSpec")
    if text(arch, "arch"):
        yield label(ARCH, text(arch, "arch"), (*arch_path, "arch"))
    host = _host(node)
    renamed = node.get("ignoreHostname") is True or "registerWithFQDN" in written or "HostnameConfig" in written
    yield label(HOSTNAME, None, ()) if renamed or not host else label(HOSTNAME, host, (*path, "hostname"))


def _host(node: dict[str, Any]) -> str:
    """Return the first part of the host name of a node; "" if it is a placeholder."""
    name = node.get("hostname")
    host = name.partition(".")[0].lower() if type(name) is str else ""
    return "" if is_placeholder(host) or not {"$", "{"}.isdisjoint(host) else host


# --- patches -----------------------------------------------------------------------------------------------------------------


def _patches_of(declared: Declared, node: dict[str, Any], path: Path, role: str) -> _Patches:
    """Return what the patches of all nodes, of the role and of the node add, in this order.

    A patch is a text with a part of the machine configuration, or ``@`` and the name of a file. ``inlinePatch`` is its older form.
    """
    data, result = declared.data, _Patches()
    places: list[tuple[Any, Path]] = [(data, declared.base)]
    if node.get("overridePatches") is not True:
        places.append((data.get(role), (*declared.base, role)))
    for holder, where in [*places, (node, path)]:
        for index, patch in enumerate(list_at(holder, "patches")):
            result = result if type(patch) is not str else _patched(result, patch, (*where, "patches", index))
        inline, older = map_at(holder, "inlinePatch"), list_at(holder, "configPatches")
        if inline:
            result = _merged(result, inline, (*where, "inlinePatch"), whole=True)
        if older:
            result = _json_patched(result, older)
    return result


def _patched(result: _Patches, patch: str, path: Path) -> _Patches:
    if patch.startswith("@"):
        # The content is in another file, which declares its labels itself if it is among the files of the run.
        return result._replace(known=result.known and not any(word in patch.lower() for word in _ON_NODES), schedulable=None)
    if not is_placeholder(patch) and not any(word in patch for word in _OF_NODES):
        return result
    from afflint.yaml.documents import read, split

    for piece, _, _ in split(patch.encode("utf-8", "surrogatepass")):
        document = read(piece, 0, 0)
        data = document.data
        if type(data) is list:
            result = _json_patched(result, data)
        elif type(data) is dict:
            result = _merged(result, data, path, whole=False)
        elif data is not None or document.problem is not None:
            result = result._replace(known=False, schedulable=None)
    return result


_ON_NODES = ("label", "node", "taint")
_OF_NODES = ("nodeLabels", "nodeTaints", "node-labels", "KubeNodeConfig", "allowScheduling", "register")
"""Words in the patches that can change labels or taints of a node."""


def _merged(result: _Patches, data: dict[str, Any], path: Path, *, whole: bool) -> _Patches:
    """Return the patches with a strategic merge patch. Findings are at its fields if it is ``whole``, else at its text."""
    machine, where = map_at(data, "machine"), (*path, "machine") if whole else path
    own = machine.get("nodeLabels")
    if kind_of(data) == "KubeNodeConfig":
        machine, own = {"nodeTaints": data.get("taints")}, data.get("labels")
    labels = labels_of(own, (*where, "nodeLabels"))
    taints = taints_in_map(machine.get("nodeTaints"), (*where, "nodeTaints"))
    extra = map_at(machine, "kubelet", "extraArgs").get("node-labels")
    labels += [label(key, value, (*where, "kubelet", "extraArgs", "node-labels")) for key, value in parse_pairs(_line(extra)).items()]
    known = (
        not is_open(data, data.get("machine"), own)
        and not any(type(value) is not str for value in map_at(own).values())
        and (extra is None or is_known(extra))
    )
    if not whole:
        labels = [each._replace(path=path) for each in labels]
        taints = taints._replace(
            taints=tuple([each._replace(path=path) for each in taints.taints]),
            faults=tuple([each._replace(path=path, key=False) for each in taints.faults]),
        )
    return _Patches(
        (*result.labels, *labels),
        (*result.taints, *taints.taints),
        (*result.faults, *taints.faults),
        result.known and known,
        True if may_schedule_on_control_planes(data) else None if is_open(data, data.get("cluster")) else result.schedulable,
    )


def _line(value: Any) -> str:
    return value if is_known(value) else ""


def _json_patched(result: _Patches, operations: list[Any]) -> _Patches:
    """Return the patches with a JSON patch. Only its paths and words are read."""
    paths = [text(each, "path") for each in operations]
    values = "\n".join(all_texts(operations))
    known = not any("/nodeLabels" in path or "/kubelet" in path for path in paths) or not any(word in values for word in _OF_NODES)
    return result._replace(known=result.known and known, schedulable=None if "allowScheduling" in values else result.schedulable)


READERS: Mapping[tuple[str, str], Reader] = {("", ""): _talconfig}
