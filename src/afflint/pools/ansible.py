"""Ansible: an inventory in YAML, and variables with which roles configure the nodes of k3s and RKE2.

The variables are in an inventory, or in files of their own. ``ansible_hosts`` says which file is for which host.

Semantics: the roles ``PyratLabs.k3s`` (templates/config.yaml.j2), ``k3s_server`` and ``k3s_agent`` of k3s-io/k3s-ansible and
techno-tim/k3s-ansible, and ``lablabs.rke2`` (templates/config.yaml.j2).
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.pools.fields import is_known, kubelet_mistakes, label, parse_pairs, taints_in_line
from afflint.pools.kubeadm import Registration
from afflint.pools.pool import Declared, Pool, PoolPart, Reader
from afflint.pools.rancher import node_settings
from afflint.yaml.document import map_at

GROUP, VARIABLE = "Ansible group", "Ansible variable"
"""The kinds of the keys of groups and variables. The namespace of a variable is its group or host; "" if its file says that."""
CONTROL_NODE = "k3s_control_node"
SETTINGS = ("k3s_server", "k3s_agent")
"""The settings of ``PyratLabs.k3s``: maps with the content of a config.yaml."""
ARGUMENTS = ("extra_server_args", "extra_agent_args")
TEXTS = ("server_config_yaml", "agent_config_yaml")
"""The settings of k3s-ansible: texts with flags, and with the content of a config.yaml."""
NODE_TAINTS, NODE_LABELS = ("rke2_server_node_taints", "rke2_agent_node_taints"), "k8s_node_label"
"""The settings of ``lablabs.rke2``: lists of taints and of labels."""
VARIABLES = (CONTROL_NODE, *SETTINGS, *ARGUMENTS, *TEXTS, *NODE_TAINTS, NODE_LABELS)
_OF_CLUSTERS = re.compile(rb"k3s|rke2|kube|k8s")
_MOST_GROUPS, _MOST_HOSTS = 200, 5000
"""Larger inventories are not read: a cluster of Kubernetes has at most 5000 nodes."""


def is_inventory(data: dict[str, Any], raw_bytes: bytes) -> bool:
    """Return whether a document is an inventory with the nodes of a cluster, by the words in it."""
    groups = [each for each in data.values() if type(each) is dict]
    nested = any(type(each.get("children")) is dict for each in groups)
    return nested and all(each is None or type(each) is dict for each in data.values()) and _OF_CLUSTERS.search(raw_bytes) is not None


def has_variables(data: dict[str, Any]) -> bool:
    """Return whether a document has variables for the nodes of a cluster."""
    return any(name in data for name in VARIABLES)


# --- inventories -------------------------------------------------------------------------------------------------------------


def _hosts(declared: Declared) -> Iterator[Pool | PoolPart]:
    """Yield each host with its groups, those with precedence last, and the variables of groups and hosts."""
    parents: dict[str, set[str]] = {"all": set()}
    members: dict[str, tuple[Path, set[str]]] = {}
    for group, above, data, path in _groups(declared):
        parents.setdefault(group, set()).update({above or "all"} - {group})
        yield from _variables(declared, map_at(data, "vars"), (*path, "vars"), f"group {group}")
        for host, own in map_at(data, "hosts").items():
            if is_known(host):
                members.setdefault(host, ((*path, "hosts", host), set()))[1].add(group)
                yield from _variables(declared, own, (*path, "hosts", host), f"host {host}")
    order = _in_order(parents)
    for host, (path, groups) in members.items() if order and len(parents) < _MOST_GROUPS and len(members) <= _MOST_HOSTS else ():
        holding = _with_parents(groups, parents)
        yield declared.pool(host, "node", path, "described")._replace(
            optional=tuple([(GROUP, "", group) for group in order if group in holding]), least=1, most=None if "[" in host else 1
        )


def _groups(declared: Declared) -> Iterator[tuple[str, str, dict[str, Any], Path]]:
    """Yield each group with the one above it; the same group may be written in several places."""
    waiting: list[tuple[str, str, Any, Path]] = [(name, "", data, (*declared.base, name)) for name, data in declared.data.items()]
    for name, above, data, path in waiting:
        if type(name) is not str:
            continue
        if len(waiting) > 2 * _MOST_GROUPS:
            return
        yield name, above, data if type(data) is dict else {}, path
        waiting += [(each, name, inner, (*path, "children", each)) for each, inner in map_at(data, "children").items()]


def _in_order(parents: Mapping[str, set[str]]) -> list[str]:
    """Return groups in the order of their precedence: by depth, then by name (``sort_groups`` of Ansible). None if they form a cycle."""
    sorter, order = graphlib.TopologicalSorter(parents), list[str]()
    try:
        sorter.prepare()
    except graphlib.CycleError:
        return []
    while sorter.is_active():
        level = sorted(sorter.get_ready())
        sorter.done(*level)
        order += level
    return order


def _with_parents(groups: set[str], parents: Mapping[str, set[str]]) -> set[str]:
    found = {"all"}
    waiting = list(groups)
    while waiting:
        group = waiting.pop()
        if group not in found:
            found.add(group)
            waiting += parents.get(group, ())
    return found


# --- variables ---------------------------------------------------------------------------------------------------------------


def _variables(declared: Declared, data: Any, path: Path, holder: str = "") -> Iterator[PoolPart]:
    for name in VARIABLES if type(data) is dict else ():
        if name in data:
            where, value = (*path, name), data[name]
            found = Registration() if name == CONTROL_NODE else _registration(name, value, where)
            yield PoolPart(
                (VARIABLE, holder, name),
                declared.site,
                declared.ref,
                found.labels,
                found.taints,
                least=int(value) if name == CONTROL_NODE and type(value) is bool else None,
                known=found.known,
                faults=found.faults,
            )


def _registration(name: str, value: Any, path: Path) -> Registration:
    """Return the labels and taints in the value of a variable. They are unknown if Ansible has to compute the value."""
    found = None
    if name in SETTINGS and type(value) is dict:
        found = node_settings(value, path)
    elif name in NODE_TAINTS and type(value) is list:
        found = node_settings({"node-taint": value}, path[:-1])
        found = found and _at(found, path, whole=True)
    elif name == NODE_LABELS and type(value) is list:
        found = node_settings({"node-label": value}, path[:-1])
        found = found and _at(found, path, whole=True)
    elif name in TEXTS and is_known(value):
        from afflint.yaml.documents import read

        document = read(value.encode("utf-8", "surrogatepass"), 0, 0)
        found = node_settings(map_at({"": document.data}, ""), path) if document.problem is None else None
        found = found and _at(found, path, whole=False)
    elif name in ARGUMENTS and is_known(value):
        found = _of_flags(value, path)
    if found is None and value is None:
        return Registration()
    return found if found is not None else Registration(known=False)


def _at(found: Registration, path: Path, *, whole: bool) -> Registration:
    """Return settings with their positions below a path; at the path itself, unless the settings are ``whole`` there."""

    def moved(each: Path) -> Path:
        return (*path, *each[len(path) :]) if whole else path

    return Registration(
        tuple([each._replace(path=moved(each.path)) for each in found.labels]),
        tuple([each._replace(path=moved(each.path)) for each in found.taints]),
        tuple([each._replace(path=moved(each.path), key=each.key and whole) for each in found.faults]),
        found.known,
    )


_FLAG = re.compile(r"--(node-label|node-taint)[=\s]+(?:\"([^\"]*)\"|'([^']*)'|(\S+))")


def _of_flags(flags: str, path: Path) -> Registration:
    labels, taints = [], Registration()
    for name, *quoted in _FLAG.findall(flags):
        value = next(filter(None, quoted), "")
        if name == "node-label":
            labels += [label(key, each, path) for key, each in parse_pairs(value).items()]
        else:
            more = taints_in_line(value, path)
            taints = taints._replace(taints=(*taints.taints, *more.taints), faults=(*taints.faults, *more.faults))
    return taints._replace(labels=tuple(labels), faults=(*taints.faults, *kubelet_mistakes(labels)))


def _read(declared: Declared) -> Iterator[Pool | PoolPart]:
    yield from _variables(declared, declared.data, ()) if has_variables(declared.data) else _hosts(declared)


READERS: Mapping[tuple[str, str], Reader] = {("", ""): _read}
