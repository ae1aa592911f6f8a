"""Which nodes an upgrade of a node pool restarts or replaces, and how many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, join_words, nearest, pluralize, quoted, summarize_names
from afflint.kube.node_labels import CONTROL_PLANE, MASTER, ROLES, WORKER, ZONE
from afflint.kube.selectors import Malformed, is_met, matches, parse_label_selector
from afflint.kube.taints import NOT_READY, UNREACHABLE
from afflint.placement.disruption_budgets import is_silent
from afflint.pools.pool import Pool
from afflint.pools.upgrade_strategy import Amount, UpgradeStrategy
from afflint.pools.upgrades import amount_of
from afflint.scheduler.cluster import Cluster
from afflint.scheduler.nodes import Node
from afflint.yaml.document import map_at, maps_at
from afflint.yaml.object_fields import name_of

CONFIG_POOL = "MachineConfigPool"
_POOL_KEYS = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "worker.gardener.cloud/pool",
    "kops.k8s.io/instancegroup",
    "hypershift.openshift.io/nodePool",
)
"""Labels whose values are the names of node pools."""


class UpgradeRequest(NamedTuple):
    """The pools to upgrade: ``names`` as the user gives them, with all pools that manifests declare.

    ``config_pools`` are MachineConfigPool objects. ``unavailable`` and ``surge`` replace what a pool declares.
    """

    names: Sequence[str] = ()
    pools: Sequence[Pool] = ()
    config_pools: Sequence[Mapping[str, Any]] = ()
    unavailable: Amount | None = None
    surge: Amount | None = None


class UpgradePool(NamedTuple):
    """A pool to upgrade: its nodes in the order in which they are upgraded. ``name`` is what users call it."""

    name: str
    title: str
    nodes: tuple[str, ...]
    strategy: UpgradeStrategy


def pools_to_upgrade(cluster: Cluster, request: UpgradeRequest, made: Mapping[str, str]) -> list[tuple[str, list[UpgradePool]]]:
    """Return for each name the pools that it means, in the order in which they are upgraded.

    ``made`` has the title of the pool of each node that is created for a pool. ``each`` means all pools. Raises UserError for a name
    that no pool, role or label has, and for a pool without nodes.
    """
    known = _known_pools(cluster, request, made)
    return [(name, [_with_options(pool, request) for pool in _named(cluster, known, name)]) for name in request.names]


def _with_options(pool: UpgradePool, request: UpgradeRequest) -> UpgradePool:
    """Return the pool with the numbers that the user requests."""
    if request.unavailable is None and request.surge is None:
        return pool
    strategy = pool.strategy
    surge = strategy.surge if request.surge is None and request.unavailable is None else request.surge or 0
    unavailable: Amount = 0 if request.unavailable is None else request.unavailable
    given = [("--max-unavailable", request.unavailable), ("--surge", request.surge)]
    words = " ".join(f"{option} {amount}" for option, amount in given if amount is not None)
    replaces = strategy.replaces or bool(request.surge)
    return pool._replace(
        strategy=strategy._replace(unavailable=unavailable, surge=surge, replaces=replaces, declared=words, rounding="down", held="")
    )


def _named(cluster: Cluster, known: Sequence[UpgradePool], name: str) -> list[UpgradePool]:
    if name == "each":
        return [pool for pool in known if pool.nodes] or [
            UpgradePool("all", "all nodes", _ordered(cluster, lambda _: True), UpgradeStrategy())
        ]
    key, equals, value = name.partition("=")
    if equals:
        nodes = _ordered(cluster, lambda node: node.labels.get(key) == value)
        if not nodes:
            raise UserError(f"--upgrade: no node has the label {key}={value}")
        same = next((pool for pool in known if set(pool.nodes) == set(nodes)), None)
        return [same._replace(title=name) if same is not None else UpgradePool(name, name, nodes, UpgradeStrategy())]
    found = [pool for pool in known if name in (pool.title, pool.name)]
    if not found:
        role = _ordered(cluster, lambda node: f"{ROLES}{name}" in node.labels)
        found = [UpgradePool(name, f"role {name}", role, UpgradeStrategy())] if role else []
    if not found:
        roles = {key.removeprefix(ROLES) for node in cluster.table.nodes for key in node.labels if key.startswith(ROLES)}
        names = list(dict.fromkeys([*[pool.name for pool in known], *sorted(roles)]))
        raise UserError(f"--upgrade: no node pool or role is named {quoted(name)}{did_you_mean(nearest(name, names)) or _choices(names)}")
    if not found[0].nodes:
        raise UserError(f"--upgrade: no node is known to be of {found[0].title}; name its nodes by a label, as in --upgrade KEY=VALUE")
    return found[:1]


def _choices(names: Sequence[str]) -> str:
    return f"; there are {', '.join(names[:_MOST_NAMES])}" if names else ""


_MOST_NAMES = 8


def _known_pools(cluster: Cluster, request: UpgradeRequest, made: Mapping[str, str]) -> list[UpgradePool]:
    """Return the pools: MachineConfigPools, else declared pools, else the pools that labels of nodes name, else the roles of nodes.

    Pools without nodes come last.
    """
    empty: list[UpgradePool] = []
    for pools in (
        _config_pools(cluster, request.config_pools),
        [_declared_pool(cluster, pool, made) for pool in request.pools],
        _labelled_pools(cluster),
        _roles(cluster),
    ):
        listed = list(pools)
        empty += [pool for pool in listed if not pool.nodes]
        found = [pool for pool in listed if pool.nodes]
        if found:
            return [*found, *empty]
    return empty


def _declared_pool(cluster: Cluster, pool: Pool, made: Mapping[str, str]) -> UpgradePool:
    strategy = pool.upgrade or UpgradeStrategy()
    declared = f"{strategy.declared} of {pool.title}" if strategy.declared else ""
    strategy = strategy._replace(declared=declared)
    if pool.title in made.values():
        return UpgradePool(pool.name, pool.title, _ordered(cluster, lambda node: made.get(node.name) == pool.title), strategy)
    own = [label.requirement for label in pool.labels if label.requirement.operator == "In"]
    requirements = [each for each in own if each.key in _POOL_KEYS] or [each for each in own if _is_of_user(each.key)]
    nodes = _ordered(cluster, lambda node: all(is_met(each, node.labels.get(each.key)) for each in requirements)) if requirements else ()
    return UpgradePool(pool.name, pool.title, nodes, strategy)


def _is_of_user(key: str) -> bool:
    """Return whether users chose a label: one that no kubelet and no cloud sets."""
    domain = key.partition("/")[0] if "/" in key else ""
    return not domain.endswith(("kubernetes.io", "k8s.io", "karpenter.sh", "amazonaws.com", "google.com", "azure.com"))


def _config_pools(cluster: Cluster, objects: Iterable[Mapping[str, Any]]) -> Iterator[UpgradePool]:
    """Yield the MachineConfigPools with their nodes (pkg/helpers of machine-config-operator).

    A node of a custom pool is not one of the pool ``worker``, and a node of the control plane is in no custom pool.
    """
    selectors = {}
    for data in objects:
        selector = parse_label_selector(map_at(data, "spec").get("nodeSelector"))
        if selector is not None and not isinstance(selector, Malformed):
            selectors[name_of(data)] = data, selector
    taken: set[str] = set()
    for name in sorted(selectors, key=lambda name: (name != "master", name == "worker")):
        data, selector = selectors[name]
        nodes = [node for node in cluster.table.nodes if matches(selector, node.labels) and node.name not in taken]
        taken.update(node.name for node in nodes)
        spec, title = map_at(data, "spec"), f"{CONFIG_POOL} {name}"
        amount = amount_of(spec.get("maxUnavailable"))
        yield UpgradePool(
            name,
            title,
            _ordered(cluster, {node.name for node in nodes}.__contains__, by_name=True),
            UpgradeStrategy(
                1 if amount is None else amount,
                declared=f"maxUnavailable {amount} of {title}" if amount is not None else "",
                counts_cordoned=True,
                held="it is paused" if spec.get("paused") is True else "",
            ),
        )


def _labelled_pools(cluster: Cluster) -> Iterator[UpgradePool]:
    """Yield the pools that labels of nodes name."""
    for key in _POOL_KEYS:
        for value in sorted(set(cluster.label(key).values())):
            yield UpgradePool(value, f"pool {value}", _ordered(cluster, _has(key, value)), UpgradeStrategy())


def _roles(cluster: Cluster) -> Iterator[UpgradePool]:
    """Yield the roles of nodes as pools, the control plane first. A node with several roles is in the most specific one."""
    roles: dict[str, list[str]] = {}
    for node in cluster.table.nodes:
        own = [key for key in node.labels if key.startswith(ROLES)]
        if own:
            first = min(own, key=lambda key: (key not in (CONTROL_PLANE, MASTER), key == WORKER, key))
            roles.setdefault(CONTROL_PLANE if first == MASTER else first, []).append(node.name)
    if not roles:
        return
    rest = {node.name for node in cluster.table.nodes}.difference(*roles.values())
    for role in sorted(roles, key=lambda key: (key != CONTROL_PLANE, key)):
        word = role.removeprefix(ROLES)
        yield UpgradePool(word, f"role {word}", _ordered(cluster, set(roles[role]).__contains__, by_name=True), UpgradeStrategy())
    if rest:
        yield UpgradePool("others", "nodes without a role", _ordered(cluster, rest.__contains__, by_name=True), UpgradeStrategy())


def _has(key: str, value: str) -> Callable[[Node], bool]:
    return lambda node: node.labels.get(key) == value


def _ordered(cluster: Cluster, chosen: Callable[[Any], bool], *, by_name: bool = False) -> tuple[str, ...]:
    """Return the names of the chosen nodes by zone and then by name, as the Machine Config Operator orders nodes of equal age."""
    nodes = [node for node in cluster.table.nodes if chosen(node.name if by_name else node)]
    return tuple([node.name for node in sorted(nodes, key=lambda node: node.labels.get(ZONE, ""))])


def unavailable_nodes(nodes: Iterable[object]) -> dict[str, str]:
    """Return the nodes that count as unavailable before the upgrade of a MachineConfigPool, and why.

    Semantics: getUnavailableMachines and LayeredNodeState.IsUnavailableForUpdate of machine-config-operator. A node without the annotations
    of the operator is judged by its state only.
    """
    found = {}
    for data in nodes:
        if isinstance(data, Node):
            name, why = data.name, "cordoned" if data.unschedulable else "not ready" if is_silent(data) else ""
        else:
            name, why = name_of(data), _unavailable_words(data) if isinstance(data, Mapping) else ""
        if why:
            found[name] = why
    return found


_CONDITIONS = {
    "Ready": ("True", "not ready"),
    "DiskPressure": ("False", "under disk pressure"),
    "NetworkUnavailable": ("False", "without network"),
}
"""The status that each condition of an available node has, and what the node is otherwise."""
_CONFIG = "machineconfiguration.openshift.io/"


def _unavailable_words(node: Mapping[str, Any]) -> str:
    for condition in maps_at(node, "status", "conditions"):
        status, words = _CONDITIONS.get(str(condition.get("type")), ("", ""))
        if words and condition.get("status") != status:
            return words
    if any(taint.get("key") in (UNREACHABLE.key, NOT_READY) for taint in maps_at(node, "spec", "taints")):
        return "not ready"
    if map_at(node, "spec").get("unschedulable") is True:
        return "cordoned"
    annotations = map_at(node, "metadata", "annotations")
    current, desired, state = (annotations.get(f"{_CONFIG}{key}") for key in ("currentConfig", "desiredConfig", "state"))
    if not (current and desired and state):
        return ""
    is_done = current == desired and state == "Done"
    is_failing = current != desired and state in ("Degraded", "Unreconcilable")
    return "" if is_done or is_failing else "being updated"


def _counted(nodes: Mapping[str, str]) -> str:
    reasons = join_words(dict.fromkeys(nodes.values()), "or")
    return f"{pluralize(len(nodes), 'node')} {'is' if len(nodes) == 1 else 'are'} {reasons}"


def capacity_words(nodes: Mapping[str, str], at_once: int) -> str:
    """Return why no node may be upgraded: as many as may be unavailable are so already."""
    return f"{_counted(nodes)} already, and only {at_once} may be unavailable: {summarize_names(list(nodes), most=_MOST_NAMES)}"


def skipped_words(nodes: Mapping[str, str]) -> str:
    """Return which nodes are not upgraded, because they are unavailable when the upgrade starts (getAllCandidateMachines)."""
    names = summarize_names(list(nodes), most=_MOST_NAMES)
    return f"{_counted(nodes)}, and {'is' if len(nodes) == 1 else 'are'} upgraded only after that: {names}"
