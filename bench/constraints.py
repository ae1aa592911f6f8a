"""Placement constraints of healthy manifests: every placement field, valid, satisfiable and without redundancy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Data = dict[str, Any]

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_POOLS = ("general", "memory", "compute", "storage", "edge")
_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_MACHINES = ("m6i.large", "m6i.xlarge", "c7g.large", "r6i.2xlarge")


class Pods(NamedTuple):
    """The pods that a constraint applies to.

    ``own`` are the labels that select them, ``neighbour`` those of the application's front. ``number`` chooses among alternatives.
    ``revision_label``: the label by which the controller distinguishes the pods of one revision from others, if it has one.
    """

    number: int
    own: dict[str, str]
    neighbour: dict[str, str]
    revision_label: str = ""


Constraint = Callable[[Pods], Data]


def _selector(labels: dict[str, str]) -> Data:
    return {"matchLabels": dict(labels)}


def _expression(key: str, operator: str, *values: str) -> Data:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def node_selector(pods: Pods) -> Data:
    """Return a nodeSelector for a node pool."""
    return {"nodeSelector": {"kubernetes.io/os": "linux", "node.example.com/pool": _POOLS[pods.number % len(_POOLS)]}}


def required_nodes(pods: Pods) -> Data:
    """Return required node affinity: one term of several expressions, or two terms."""
    terms = [
        {
            "matchExpressions": [
                _expression("kubernetes.io/arch", "In", "amd64", "arm64"),
                _expression("node.example.com/retired", "DoesNotExist"),
            ]
        }
    ]
    if pods.number % 2:
        terms[0]["matchExpressions"].append(_expression("node.example.com/cores", "Gt", "7"))
    if pods.number % 3 == 0:
        terms.append({"matchExpressions": [_expression("node.kubernetes.io/instance-type", "In", *_MACHINES[: 1 + pods.number % 4])]})
    return {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}}


def preferred_nodes(pods: Pods) -> Data:
    """Return preferred node affinity."""
    zone = _expression(ZONE, "In", _ZONES[pods.number % len(_ZONES)])
    spot = _expression("node.example.com/lifecycle", "NotIn", "spot")
    weighted = [{"weight": 80, "preference": {"matchExpressions": [zone]}}, {"weight": 20, "preference": {"matchExpressions": [spot]}}]
    return {"affinity": {"nodeAffinity": {_PREFERRED: weighted[: 1 + pods.number % 2]}}}


def required_neighbours(pods: Pods) -> Data:
    """Return required pod affinity to the zone of the application's front."""
    return {"affinity": {"podAffinity": {_REQUIRED: [{"labelSelector": _selector(pods.neighbour), "topologyKey": ZONE}]}}}


def preferred_neighbours(pods: Pods) -> Data:
    """Return preferred pod affinity to the caches in the namespace, or to the front."""
    caches = {"matchExpressions": [_expression("tier", "In", "cache", "data"), _expression("app.kubernetes.io/name", "Exists")]}
    term = {"labelSelector": caches if pods.number % 2 else _selector(pods.neighbour), "topologyKey": HOSTNAME}
    return {"affinity": {"podAffinity": {_PREFERRED: [{"weight": 50, "podAffinityTerm": term}]}}}


def required_apart(pods: Pods) -> Data:
    """Return required pod anti-affinity: one pod per node."""
    return {"affinity": {"podAntiAffinity": {_REQUIRED: [{"labelSelector": _selector(pods.own), "topologyKey": HOSTNAME}]}}}


def preferred_apart(pods: Pods) -> Data:
    """Return preferred pod anti-affinity: over zones first, then over nodes."""
    terms = [
        {"weight": weight, "podAffinityTerm": {"labelSelector": _selector(pods.own), "topologyKey": key}}
        for weight, key in ((100, ZONE), (50, HOSTNAME))
    ]
    return {"affinity": {"podAntiAffinity": {_PREFERRED: terms}}}


def spread(pods: Pods) -> Data:
    """Return topology spread constraints: DoNotSchedule over zones, ScheduleAnyway over nodes."""
    zones: Data = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _selector(pods.own)}
    nodes: Data = {"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": _selector(pods.own)}
    if pods.revision_label:
        zones["matchLabelKeys"] = [pods.revision_label]
    if pods.number % 3 == 0:
        zones["minDomains"] = 2
        nodes["nodeTaintsPolicy"] = "Honor"
    return {"topologySpreadConstraints": [zones, nodes][: 1 + pods.number % 2]}


def tolerations(pods: Pods) -> Data:
    """Return tolerations for dedicated nodes, and for unavailable nodes with a time."""
    dedicated = {"key": "dedicated", "operator": "Equal", "value": _POOLS[pods.number % len(_POOLS)], "effect": "NoSchedule"}
    gone = [
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60 + pods.number % 240}
        for state in ("not-ready", "unreachable")
    ]
    return {"tolerations": [dedicated, *gone] if pods.number % 2 else gone}


def _merged(parts: list[Data]) -> Data:
    """Merge constraints into the fields of one pod spec, with the parts of ``affinity`` combined."""
    whole: Data = {}
    for part in parts:
        for field, value in part.items():
            if field != "affinity":
                whole[field] = value
                continue
            for kind, terms in value.items():
                whole.setdefault("affinity", {}).setdefault(kind, {}).update(terms)
    return whole


_ANYWHERE: tuple[tuple[Constraint, ...], ...] = (
    (node_selector,),
    (required_nodes, tolerations),
    (preferred_nodes,),
    (node_selector, preferred_nodes, tolerations),
    (required_nodes, preferred_nodes),
)
_NEAR: tuple[tuple[Constraint, ...], ...] = (
    (required_neighbours,),
    (preferred_neighbours, required_nodes),
    (preferred_neighbours, node_selector, tolerations),
)
_APART: tuple[tuple[Constraint, ...], ...] = (
    (required_apart,),
    (required_apart, tolerations),
    (preferred_apart, required_nodes),
    (preferred_apart, node_selector),
    (spread,),
    (spread, required_nodes, preferred_nodes),
    (spread, node_selector, tolerations),
)
_NEAR_AND_APART: tuple[tuple[Constraint, ...], ...] = (
    (required_apart, required_neighbours),
    (required_apart, preferred_neighbours, tolerations),
    (spread, preferred_neighbours),
)


def constraints(pods: Pods, *, near: bool, apart: bool) -> Data:
    """Return the placement fields of a pod spec. ``near``: there are pods to be near to; ``apart``: there are replicas to separate."""
    choices = _ANYWHERE + (_NEAR if near else ()) + (_APART if apart else ()) + (_NEAR_AND_APART if near and apart else ())
    return _merged([constraint(pods) for constraint in choices[pods.number % len(choices)]])
