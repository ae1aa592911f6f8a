"""Short forms of the objects that clusters are made of, for the tests of scheduler, controllers and plans."""

from typing import Any

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Object = dict[str, Any]


def node(name: str, labels: dict[str, str] | None = None, *, taints: list[str] | None = None, cordoned: bool = False) -> Object:
    """A Node; taints as kubectl writes them (``key=value:Effect`` or ``key:Effect``)."""
    spec: Object = {}
    if taints:
        spec["taints"] = [taint(text) for text in taints]
    if cordoned:
        spec["unschedulable"] = True
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def taint(text: str) -> Object:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


def zoned(**zones: str) -> list[Object]:
    """Nodes that carry their host name and a zone: ``zoned(n1="a", n2="b")``; an empty zone is left out."""
    return [node(name, {HOST: name, **({ZONE: zone} if zone else {})}) for name, zone in zones.items()]


def pod(name: str = "pod", labels: dict[str, str] | None = None, *, on: str = "", namespace: str = "", **spec: Any) -> Object:
    """A Pod; ``on`` puts it on a node, everything else goes into its spec."""
    meta: Object = {"name": name, "labels": labels or {}}
    if namespace:
        meta["namespace"] = namespace
    if on:
        spec["nodeName"] = on
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def budget(name: str = "web", **amount: Any) -> Object:
    """A PodDisruptionBudget for the pods with ``app: web``; ``amount`` is what it allows or requires."""
    spec = {"selector": {"matchLabels": {"app": "web"}}, **amount}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def app(name: str, **more: Any) -> Object:
    """A label selector: ``app("web")`` selects ``app: web``."""
    return {"matchLabels": {"app": name, **more}}


def term(key: str, selector: Object | None, **more: Any) -> Object:
    """A pod affinity term; no selector at all when it is None."""
    return {"topologyKey": key, **({} if selector is None else {"labelSelector": selector}), **more}


def together(*terms: Any) -> Object:
    """Required pod affinity."""
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Object) -> Object:
    """Required pod anti-affinity."""
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def rather(kind: str, *weighted: tuple[int, Object]) -> Object:
    """Preferred terms of ``podAffinity`` or ``podAntiAffinity``."""
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": listed} for weight, listed in weighted]}}


def spread(key: str, selector: Object | None, skew: Any = 1, when: str = "DoNotSchedule", **more: Any) -> Object:
    """A topology spread constraint; no selector at all when it is None."""
    chosen = {} if selector is None else {"labelSelector": selector}
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": when, **chosen, **more}


def expression(text: str) -> Object:
    """``expression("disk In ssd,hdd")``."""
    key, operator, *values = text.split(" ")
    return {"key": key, "operator": operator, **({"values": values[0].split(",")} if values else {})}


def node_terms(*terms: str) -> Object:
    """Required node affinity; expressions of one term are separated by ``;``, fields start with ``@``."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [node_term(text) for text in terms]}}}


def node_preferences(*weighted: tuple[int, str]) -> Object:
    """Preferred node affinity."""
    return {"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": node_term(text)} for weight, text in weighted]}}


def node_term(text: str) -> Object:
    listed: Object = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name = "matchFields" if part.startswith("@") else "matchExpressions"
        listed.setdefault(name, []).append(expression(part.lstrip("@")))
    return listed


def namespace(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
