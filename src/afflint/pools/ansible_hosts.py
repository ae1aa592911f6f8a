"""The nodes of an inventory of Ansible, with the variables that apply to each.

A file in ``group_vars`` or ``host_vars`` is for the group or the host that it, or its folder, is named after, in the inventory beside
that folder. Semantics: "How variables are merged" and "Variable precedence" in the documentation of Ansible.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from afflint.findings.finding import FileId, Folder
from afflint.findings.namedtuples import NamedTuple
from afflint.pools.ansible import ARGUMENTS, CONTROL_NODE, GROUP, NODE_LABELS, NODE_TAINTS, SETTINGS, TEXTS, VARIABLE
from afflint.pools.pool import Label, Pool, PoolPart, PoolTaint
from afflint.pools.rancher import SERVER_LABELS

_SERVERS = frozenset(("server", "servers", "master", "masters", "control", "controllers", "control_plane", "controlplane"))
_AGENTS = frozenset(("agent", "agents", "node", "nodes", "worker", "workers"))
"""The names of groups that roles without a variable for it use: the samples of k3s-ansible and ``lablabs.rke2``."""
_OF_PYRAT = (CONTROL_NODE, *SETTINGS)
"""The variables of ``PyratLabs.k3s``."""
_INLINE_GROUP, _FILE_OF_ALL, _FILE_OF_GROUP, _INLINE_HOST, _FILE_OF_HOST = range(5)
"""What takes precedence over what, the strongest last."""


class _HostVariable(NamedTuple):
    """A variable, the folder of the inventory that it is for, and its group or host there. A higher ``stage`` takes precedence."""

    part: PoolPart
    folder: Folder
    holder: str
    stage: int
    file: str


def with_hosts(pools: Iterable[Pool], parts: Sequence[PoolPart], name_of: Callable[[FileId], str]) -> list[Pool]:
    """Return the pools; in place of the hosts of inventories, the nodes that their variables describe. Other hosts are left out.

    Variables of an inventory that cannot be read are pools themselves. ``name_of`` returns the name of a file.
    """
    pools = list(pools)
    given = [each for part in parts if part.key[0] == VARIABLE for each in _located(part, name_of(part.site.file))]
    hosts = [pool for pool in pools if _is_host(pool)]
    found = [pool for pool in pools if not _is_host(pool)]
    used: set[int] = set()
    by_folder: dict[Folder, list[_HostVariable]] = defaultdict(list)
    for each in given:
        by_folder[each.folder].append(each)
    inventories: dict[Folder, dict[str, Pool]] = defaultdict(dict)
    for pool in hosts:
        inventories[pool.site.folder].setdefault(pool.name, pool)
    for folder, members in inventories.items():
        if folder in by_folder:
            found += _nodes(members, by_folder[folder], used)
    return [*found, *[pool for each in given if id(each.part) not in used for pool in _unplaced(each)]]


def _is_host(pool: Pool) -> bool:
    return bool(pool.optional) and pool.optional[0][0] == GROUP


def _located(part: PoolPart, name: str) -> Iterable[_HostVariable]:
    """Yield a variable with its place; without a holder if its file is in neither ``group_vars`` nor ``host_vars``."""
    folder, holder, file = part.site.folder, part.key[1], os.path.basename(name)
    if holder:
        yield _HostVariable(part, folder, holder, _INLINE_HOST if holder.startswith("host ") else _INLINE_GROUP, file)
        return
    for index in range(len(folder) - 1, -1, -1):
        if folder[index] in ("group_vars", "host_vars"):
            of_host = folder[index] == "host_vars"
            own = folder[index + 1] if index + 1 < len(folder) else os.path.splitext(file)[0]
            stage = _FILE_OF_HOST if of_host else _FILE_OF_ALL if own == "all" else _FILE_OF_GROUP
            yield _HostVariable(part, folder[:index], f"{'host' if of_host else 'group'} {own}", stage, file)
            return
    yield _HostVariable(part, folder, "", _FILE_OF_ALL, file)


def _nodes(hosts: Mapping[str, Pool], variables: Sequence[_HostVariable], used: set[int]) -> list[Pool]:
    """Return the nodes among the hosts of an inventory, and add the variables that apply to some of them to ``used``."""
    by_holder: dict[str, list[_HostVariable]] = defaultdict(list)
    for each in variables:
        by_holder[each.holder].append(each)
    values = {name: _values(pool, by_holder, used) for name, pool in hosts.items()}
    chosen = any(own[CONTROL_NODE].least == 1 for own in values.values() if CONTROL_NODE in own)
    nodes = [_node(pool, values[name], chosen=chosen) for name, pool in hosts.items() if values[name]]
    reported: set[object] = set()
    result = []
    for pool in nodes:
        # Several nodes have the taints of one variable, which one finding is enough for.
        taints = tuple([each._replace(path=()) if (pool.site, each.path) in reported else each for each in pool.taints])
        reported |= {(pool.site, each.path) for each in pool.taints}
        result.append(pool._replace(taints=taints))
    return result


def _values(pool: Pool, by_holder: Mapping[str, Sequence[_HostVariable]], used: set[int]) -> dict[str, PoolPart]:
    """Return the variables of a host by their names."""
    holders = [*[f"group {group}" for _, _, group in pool.optional], f"host {pool.name}"]
    ranked = [(each.stage, place, each.file, each.part) for place, holder in enumerate(holders) for each in by_holder.get(holder, ())]
    used |= {id(part) for *_, part in ranked}
    return {part.key[2]: part for *_, part in sorted(ranked, key=lambda each: each[:3])}


def _node(pool: Pool, values: Mapping[str, PoolPart], *, chosen: bool) -> Pool:
    """Return the node of a host. ``chosen``: whether variables say which hosts are control planes."""
    groups = {name.replace("-", "_") for _, _, name in pool.optional}
    is_server: bool | None
    if not values.keys().isdisjoint(_OF_PYRAT):
        control = values.get(CONTROL_NODE)
        is_server = None if not chosen or (control is not None and control.least is None) else control is not None and control.least == 1
    else:
        is_server = True if groups & _SERVERS and not groups & _AGENTS else False if groups & _AGENTS and not groups & _SERVERS else None
    own = [values[name] for name in _names(is_server) if name in values]
    return _with_settings(pool, own, is_server=is_server, rke2=any(name in values for name in (*NODE_TAINTS, NODE_LABELS)))


def _names(is_server: bool | None) -> list[str]:
    """Return the variables with the settings of servers or of agents, or of both if that is unknown."""
    kinds = (0, 1) if is_server is None else (0,) if is_server else (1,)
    return [names[kind] for names in (SETTINGS, ARGUMENTS, TEXTS, NODE_TAINTS) for kind in kinds] + [NODE_LABELS]


def _with_settings(pool: Pool, parts: Sequence[PoolPart], *, is_server: bool | None, rke2: bool) -> Pool:
    labels: list[Label] = []
    taints: list[PoolTaint] = []
    first = next((part for part in parts if part.labels or part.taints), None)
    for part in parts:
        own = part is first
        labels += part.labels if own else [each._replace(path=()) for each in part.labels]
        taints += part.taints if own else [each._replace(path=()) for each in part.taints]
    return pool._replace(
        word="RKE2 node" if rke2 else "k3s node",
        site=pool.site if first is None else first.site,
        path=pool.path if first is None else (),
        labels=(*labels, *(SERVER_LABELS if is_server else ())) if is_server is not None else (),
        taints=tuple(taints) if is_server is not None else (),
        closed=is_server is not None and all(part.known for part in parts),
        listed=True,
        labelled_by_hand=True,
        optional=(),
    )


def _unplaced(variable: _HostVariable) -> Iterable[Pool]:
    """Yield the nodes with the settings of a variable whose hosts are unknown."""
    part, name = variable.part, variable.part.key[2]
    if name == CONTROL_NODE or (name not in SETTINGS and part.known and not (part.labels or part.taints)):
        return
    is_server = "server" in name
    pool = Pool("server" if is_server else "agent", "", part.site, part.ref, (), "described", least=1)
    node = _with_settings(pool, [part], is_server=is_server, rke2=name in (*NODE_TAINTS, NODE_LABELS))
    yield node._replace(listed=False, closed=part.known and name != NODE_LABELS)
