"""The nodes themselves: labels that are missing, contradict each other or differ by a slip, and hosts that nodes share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from afflint.checks.cluster_view import ClusterView
from afflint.checks.match import FleetMatch, Match, Place, Target
from afflint.checks.wording import listing, nearest, quoted
from afflint.facts import Pods
from afflint.findings import ObjectRef, Path, Severity
from afflint.fleet import Fleet, is_slip
from afflint.kube.constraints import constraints_of, items
from afflint.kube.node_labels import DEPRECATED, HOSTNAME, REGION, ZONE, meant
from afflint.node_files import NodeFact

_MOST_NAMED = 4


def inconsistent_node_labels(fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Topology keys in use that some of the nodes, where the pods may run, do not carry."""
    missing: dict[str, dict[str, list[tuple[Pods, Place, str]]]] = defaultdict(lambda: defaultdict(list))
    for reach in fleet.reaches:
        pods = fleet.owner(reach)
        key = reach.topology_key
        if pods is None or not key or pods.spec is None:
            continue
        lacking = [node for node in view.usable(pods) if key not in node.labels]
        if not lacking or len(lacking) == len(view.usable(pods)):
            continue  # A key that no node carries is unknown-node-label's affair.
        place = Place(reach.site.file, reach.site.document, (*reach.path[:-1], "topologyKey"), False, f"{reach.what} of {reach.title}")
        for node in lacking:
            missing[key][node.name].append((pods, place, reach.what))
    by_name = {node.name: node for node in view.nodes}
    for key, nodes in missing.items():
        for name, users in nodes.items():
            yield _lacks(by_name[name], key, users)


def _lacks(node: NodeFact, key: str, users: list[tuple[Pods, Place, str]]) -> FleetMatch:
    titles = list(dict.fromkeys(pods.title for pods, _, _ in users))
    shown = listing([*titles[:_MOST_NAMED], *([f"{len(titles) - _MOST_NAMED} more"] if len(titles) > _MOST_NAMED else [])])
    effects = {_EFFECT[what] for _, _, what in users if what in _EFFECT}
    verb = "is" if len(titles) == 1 else "are"
    message = f"node {node.name} lacks the label {quoted(key)}, by which {shown} {verb} placed: {'; '.join(sorted(effects))}"
    remedy = f"Label the node as the others are: `kubectl label node {node.name} {key}=…`; or keep the pods off it."
    related = tuple(place for _, place, _ in users[:_MOST_NAMED])
    match = Match(node.labels_path, message, remedy, key=True, related=related)
    return FleetMatch(node.site, ObjectRef("v1", "Node", None, node.name), match)


_EFFECT = {
    "required podAntiAffinity": "on this node it keeps nothing apart",
    "preferred podAntiAffinity": "on this node the preference is ignored",
    "required podAffinity": "on this node the pods never start",
    "preferred podAffinity": "on this node the preference is ignored",
    "topologySpreadConstraint": "a required spread never uses this node, and its pods are not counted",
}


def inconsistent_topology(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """A zone in two regions, a hostname on two nodes, old and new labels that disagree."""
    yield from _zones_in_two_regions(view.nodes)
    first: dict[str, NodeFact] = {}
    for node in view.nodes:
        host = node.labels.get(HOSTNAME)
        if host and first.setdefault(host, node) is not node:
            other = first[host]
            message = f"nodes {other.name} and {node.name} have the same {HOSTNAME} {quoted(host)}: constraints over hostnames see one node"
            yield _at_label(node, HOSTNAME, message, "Give every node a hostname label of its own.", _place(other, HOSTNAME))
        for old, new in DEPRECATED.items():
            before, now = node.labels.get(old), node.labels.get(new)
            if before and now and before != now:
                message = f"node {node.name} says {quoted(f'{old}: {before}')} and {quoted(f'{new}: {now}')}"
                yield _at_label(node, old, message, "Make the two agree, or remove the deprecated one.", _place(node, new))


def _zones_in_two_regions(nodes: Iterable[NodeFact]) -> Iterator[FleetMatch]:
    regions: dict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        if ZONE in node.labels and REGION in node.labels:
            regions[node.labels[ZONE]][node.labels[REGION]] += 1
    for node in nodes:
        zone, region = node.labels.get(ZONE), node.labels.get(REGION)
        if zone is None or region is None or len(regions[zone]) < 2:
            continue
        usual = min(regions[zone], key=lambda name: (-regions[zone][name], name))
        if region != usual:
            others = f"{regions[zone][usual]} other nodes of it are in {quoted(usual)}"
            message = f"node {node.name} puts zone {quoted(zone)} in region {quoted(region)}; {others}"
            yield _at_label(node, REGION, message, "A zone lies in one region: correct the region, or give the zone a name of its own.")


def near_duplicate_label(_fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Keys, or values of a key, that differ by case, a dash, a plural or a letter."""
    carriers: dict[str, list[NodeFact]] = defaultdict(list)
    values: dict[str, dict[str, list[NodeFact]]] = defaultdict(lambda: defaultdict(list))
    for node in view.nodes:
        for key, value in node.labels.items():
            carriers[key].append(node)
            values[key][value].append(node)
    own = [key for key in carriers if not _is_well_known(key)]
    yield from _slips(own, carriers)
    for key in own:
        if len(values[key]) <= len(view.nodes) // 2 or len(values[key]) <= 3:
            yield from _value_slips(key, values[key])


def _slips(keys: list[str], carriers: dict[str, list[NodeFact]]) -> Iterator[FleetMatch]:
    for index, key in enumerate(keys[:_MOST_COMPARED]):
        for other in keys[index + 1 : _MOST_COMPARED]:
            if not (is_slip(key, other) or _plural(key, other)) or {node.name for node in carriers[key]} & {
                node.name for node in carriers[other]
            }:
                continue
            rare, usual = sorted((key, other), key=lambda name: (len(carriers[name]), name))
            node = carriers[rare][0]
            message = f"the label key {quoted(rare)} on {_count(carriers[rare])} is nearly {quoted(usual)} on {_count(carriers[usual])}"
            yield _at_label(
                node, rare, message, f"If one key is meant, write `{usual}` everywhere.", _place(carriers[usual][0], usual), key=True
            )


def _value_slips(key: str, values: dict[str, list[NodeFact]]) -> Iterator[FleetMatch]:
    names = list(values)[:_MOST_COMPARED]
    for index, value in enumerate(names):
        for other in names[index + 1 :]:
            if not is_slip(value, other):
                continue
            rare, usual = sorted((value, other), key=lambda name: (len(values[name]), name))
            node = values[rare][0]
            message = (
                f"{quoted(f'{key}: {rare}')} on {_count(values[rare])} is nearly {quoted(f'{key}: {usual}')} on {_count(values[usual])}"
            )
            yield _at_label(node, key, message, f"If one value is meant, write `{usual}` everywhere.", _place(values[usual][0], key))


# Labels are compared in pairs: so many are enough for every cluster that people label by hand.
_MOST_COMPARED = 200


def _is_well_known(key: str) -> bool:
    prefix = key.rpartition("/")[0]
    return prefix.endswith(("kubernetes.io", "k8s.io", "kubevirt.io"))


def _plural(one: str, other: str) -> bool:
    return one + "s" == other or other + "s" == one


def _count(nodes: list[NodeFact]) -> str:
    return f"node {nodes[0].name}" if len(nodes) == 1 else f"{len(nodes)} nodes"


def shared_host(fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Replicas kept on different nodes, where nodes share a physical host."""
    key = view.host_key
    hosts: dict[str, list[NodeFact]] = defaultdict(list)
    for node in view.nodes:
        if key in node.labels:
            hosts[node.labels[key]].append(node)
    for reach in fleet.reaches:
        pods = fleet.owner(reach)
        if pods is None or reach.topology_key != HOSTNAME or "podAffinity" in reach.what or not pods.may_replicate or pods.spec is None:
            continue
        if any(each.topology_key in (key, ZONE, REGION) for each in fleet.reaches_of(pods)):
            continue
        usable = {node.name for node in view.usable(pods)}
        shared = {host: [node.name for node in nodes if node.name in usable] for host, nodes in hosts.items()}
        shared = {host: names for host, names in shared.items() if len(names) > 1}
        if shared:
            host, names = min(shared.items())
            message = f"replicas on different nodes can still share a physical host: {listing(names[:_MOST_NAMED])} run on {quoted(host)}"
            if len(shared) > 1:
                message += f", and {len(shared) - 1} more hosts carry several nodes"
            place = Place(reach.site.file, reach.site.document, (*reach.path[:-1], "topologyKey"), False, "")
            yield FleetMatch(reach.site, reach.ref, Match(place.path, message, f"Spread over `{key}` as well."))


def _place(node: NodeFact, key: str) -> Place:
    return Place(
        node.site.file, node.site.document, (*node.labels_path, key), True, f"{quoted(f'{key}: {node.labels[key]}')} of node {node.name}"
    )


def _at_label(node: NodeFact, label: str, message: str, remedy: str, *related: Place, key: bool = False) -> FleetMatch:
    match = Match((*node.labels_path, label), message, remedy, key=key, related=related)
    return FleetMatch(node.site, ObjectRef("v1", "Node", None, node.name), match)


def unknown_to_inventory(fleet: Fleet, view: ClusterView, _target: Target) -> Iterator[FleetMatch]:
    """Node labels in constraints that no node of the inventory carries."""
    known = {key for node in view.nodes for key in node.labels}
    for pods in fleet.pods:
        if pods.spec is None:
            continue
        for path, key, is_key, required, effect in _uses(pods):
            if key not in known and meant(key) is None and not key.startswith(_ADDED_LATER):
                close = nearest(key, known)
                hint = f"; did you mean {quoted(close)}?" if close else ""
                message = f"none of the {len(view.nodes)} nodes carries the label {quoted(key)}, so {effect}{hint}"
                remedy = f"Write `{close}`." if close else "Label the nodes, or ask for a label that they have."
                severity: Severity = "error" if required else "warning"
                yield FleetMatch(pods.site, pods.ref, Match(path, message, remedy, key=is_key, severity=severity))


# A list of nodes written by hand rarely has what kubelet, virt-handler and device plugins add.
_ADDED_LATER = (
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "kubevirt.io/",
    "feature.node.kubernetes.io/",
    "beta.kubernetes.io/",
    "metadata.name",
)


def _uses(pods: Pods) -> Iterator[tuple[Path, str, bool, bool, str]]:
    """Each node label in the constraints: its path, its key, whether it is a key of a map, whether required, what its absence does."""
    constraints = constraints_of(pods.spec or {}, (*pods.template_path, "spec"))
    nowhere = "the pods can go nowhere"
    if constraints.node_selector:
        for label in constraints.node_selector.data:
            yield (*constraints.node_selector.path, label), label, True, True, nowhere
    required = [term for term in constraints.node_terms if term.required]
    for term in required:
        for expression in items(term.data, "matchExpressions", term.path):
            key: Any = expression.data.get("key")
            if type(key) is str and expression.data.get("operator") in ("In", "Exists", "Gt", "Lt"):
                only = len(required) == 1
                yield (*expression.path, "key"), key, False, only, nowhere if only else "this one of the ORed terms matches no node"
    for pod_term in constraints.pod_terms:
        key = pod_term.data.get("topologyKey")
        if type(key) is str and key:
            effect = "the preference is ignored" if not pod_term.required else "nothing is kept apart" if pod_term.anti else nowhere
            yield (*pod_term.path, "topologyKey"), key, False, pod_term.required, effect
    for spread in constraints.spreads:
        key = spread.data.get("topologyKey")
        if type(key) is str and key:
            hard = spread.data.get("whenUnsatisfiable") == "DoNotSchedule"
            yield (*spread.path, "topologyKey"), key, False, hard, nowhere if hard else "the preference is ignored"
