"""Mistakes in the nodes: labels that are missing, contradict each other or look like typos, and hosts that several nodes share."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from afflint.checks.cluster_view import ClusterView, is_open, keeps_apart
from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace
from afflint.findings.finding import ObjectRef, Severity
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import MOST_NAMED, nearest, pluralize, quoted, summarize_names
from afflint.findings.similarity import Slips
from afflint.index.facts import REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, SPREAD, Pods, SelectorRef
from afflint.inventory.node_files import NodeFact
from afflint.kube.constraints import constraints_of
from afflint.kube.node_labels import (
    CONTROL_PLANE,
    DEPRECATED,
    ETCD,
    HOSTNAME,
    MASTER,
    REGION,
    ZONE,
    is_set_on_any_node,
    is_well_known,
    suggested_label,
)
from afflint.manifests.label_places import PREFERRED_NODE_AFFINITY, REQUIRED_NODE_AFFINITY, LabelPlace, label_places
from afflint.yaml.placeholders import is_placeholder


def inconsistent_node_labels(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report topology keys in use that some of the allowed nodes lack, and well-known ones that most nodes have."""
    missing: dict[str, dict[str, list[_User]]] = defaultdict(lambda: defaultdict(list))
    for ref in view.manifest_index.selector_refs:
        pods, key = view.manifest_index.owner(ref), ref.topology_key
        if pods is None or not key:
            continue
        lacking = view.lacking(pods, key)
        if not lacking or len(lacking) == len(view.usable(pods)):
            continue  # unknown-node-label reports a key that no node has.
        place = RelatedPlace(ref.site.file, ref.site.document, (*ref.path[:-1], "topologyKey"), False, f"{ref.what} of {ref.title}")
        for node in lacking:
            missing[key][node.name].append(_User(pods.title, place, *_effect(ref)))
    for key, users_of in missing.items():
        lacks = [(node, users_of[node.name]) for node in view.nodes if node.name in users_of]
        if len(lacks) > _MOST_APART:
            yield _lacks(lacks[0][0], key, list(dict.fromkeys(user for _, users in lacks for user in users)), len(lacks))
        else:
            for node, users in lacks:
                yield _lacks(node, key, users)
    yield from _unlabelled(view, set(missing))


class _User(NamedTuple):
    """A constraint over a topology key, and its effect on a node without that key."""

    title: str
    place: RelatedPlace
    effect: str
    severity: Severity


# The most nodes that are reported one by one; beyond that, the first represents all of them.
_MOST_APART = 8


def _lacks(node: NodeFact, key: str, users: list[_User], nodes: int = 1) -> CrossManifestMatch:
    titles = list(dict.fromkeys(user.title for user in users))
    effects = "; ".join(dict.fromkeys(user.effect for user in users))
    who = f"node {node.name} lacks" if nodes == 1 else f"{nodes} nodes, such as {node.name}, lack"
    message = f"{who} the label {quoted(key)}, a topology key of {summarize_names(titles)}: {effects}"
    remedy = f"Label it like the others: `kubectl label node {node.name} {key}=…`, or keep these pods off it."
    severity: Severity = "error" if any(user.severity == "error" for user in users) else "warning"
    related = tuple(user.place for user in users[:MOST_NAMED])
    return _at_labels(node, Match(node.labels_path, message, remedy, key=True, related=related, severity=severity))


def _effect(ref: SelectorRef) -> tuple[str, Severity]:
    """Return the effect of a constraint on a node without its topology key, and the severity."""
    if ref.what == REQUIRED_ANTI_AFFINITY:
        return "the required podAntiAffinity separates no pods there", "error"
    if ref.what == REQUIRED_AFFINITY:
        return "the required podAffinity never allows pods there", "error"
    if ref.what == SPREAD and ref.max_skew is not None:
        return "the required spread constraint never uses such a node and does not count its pods", "error"
    return "preferences ignore such a node", "warning"


def _unlabelled(view: ClusterView, reported: set[str]) -> Iterator[CrossManifestMatch]:
    """Report nodes open to all pods that lack a well-known topology label most others have: default spreading uses these labels."""
    nodes = [node for node in view.nodes if is_open(node)]
    for key in (HOSTNAME, ZONE, REGION, view.host_key):
        lacking = [node for node in nodes if key not in node.labels]
        if key not in reported and lacking and 2 * len(lacking) < len(nodes):
            have = f"which {len(nodes) - len(lacking)} of the {len(nodes)} nodes that are open to all pods have"
            for node in lacking:
                message = f"node {node.name} lacks the label {quoted(key)}, {have}"
                remedy = f"Label it like the others: `kubectl label node {node.name} {key}=…`."
                yield _at_labels(node, Match(node.labels_path, message, remedy, key=True, severity="warning"))


def inconsistent_topology(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report a zone in two regions, a hostname on two nodes, and old and new labels that disagree."""
    yield from _zones_in_two_regions(view.nodes)
    first: dict[str, NodeFact] = {}
    for node in view.nodes:
        host = node.labels.get(HOSTNAME)
        if host and first.setdefault(host, node) is not node:
            other = first[host]
            same = f"nodes {other.name} and {node.name} have the same {HOSTNAME} {quoted(host)}"
            message = f"{same}: constraints over hostnames treat them as one node"
            yield _at_label(node, HOSTNAME, message, "Give every node its own hostname label.", _place(other, HOSTNAME))
        for old, new in DEPRECATED.items():
            before, now = node.labels.get(old), node.labels.get(new)
            if before and now and before != now:
                message = f"node {node.name} has the conflicting labels {quoted(f'{old}: {before}')} and {quoted(f'{new}: {now}')}"
                yield _at_label(node, old, message, "Make the two agree, or remove the deprecated one.", _place(node, new))


def _zones_in_two_regions(nodes: Iterable[NodeFact]) -> Iterator[CrossManifestMatch]:
    found: dict[str, dict[str, list[NodeFact]]] = defaultdict(lambda: defaultdict(list))
    for node in nodes:
        if ZONE in node.labels and REGION in node.labels:
            found[node.labels[ZONE]][node.labels[REGION]].append(node)
    for zone, regions in found.items():
        usual = min(regions, key=lambda name: (-len(regions[name]), name))
        for region, inside in regions.items():
            for node in inside if region != usual else ():
                others = f"{_are(regions[usual])} in zone {quoted(zone)} of region {quoted(usual)}"
                message = f"node {node.name} is in zone {quoted(zone)} of region {quoted(region)}, but {others}"
                remedy = "A zone belongs to one region: correct the region, or give the zone its own name."
                yield _at_label(node, REGION, message, remedy, _place(regions[usual][0], REGION))


def _are(nodes: list[NodeFact]) -> str:
    return f"{_count(nodes)} {'is' if len(nodes) == 1 else 'are'}"


def near_duplicate_label(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report keys, or values of a key, that differ by case, a dash, a plural or a letter."""
    carriers: dict[str, list[NodeFact]] = defaultdict(list)
    values: dict[str, dict[str, list[NodeFact]]] = defaultdict(lambda: defaultdict(list))
    for node in view.nodes:
        for key, value in node.labels.items():
            carriers[key].append(node)
            values[key][value].append(node)
    own = {key: nodes for key, nodes in carriers.items() if not is_well_known(key)}
    for rare, usual in likely_typos(own):
        # Keys on the same node are different on purpose.
        if {node.name for node in own[rare]}.isdisjoint(node.name for node in own[usual]):
            message = f"the label key {quoted(rare)} on {_count(own[rare])} is nearly the same as {quoted(usual)} on {_count(own[usual])}"
            remedy = f"If they are meant to be one key, use `{usual}` everywhere."
            yield _at_label(own[rare][0], rare, message, remedy, _place(own[usual][0], usual), key=True)
    for key in (*own, ZONE, REGION):
        # If nearly every node has a value of its own, as with serial numbers, only values that differ by case are the same.
        if key in values:
            for rare, usual in (
                likely_typos(values[key]) if len(values[key]) <= max(len(view.nodes) // 2, 3) else _case_variants(values[key])
            ):
                rare_nodes, others = values[key][rare], values[key][usual]
                one, other = quoted(f"{key}: {rare}"), quoted(f"{key}: {usual}")
                message = f"{one} on {_count(rare_nodes)} is nearly the same as {other} on {_count(others)}"
                remedy = f"If they are meant to be one value, use `{usual}` everywhere."
                yield _at_label(rare_nodes[0], key, message, remedy, _place(others[0], key))


_CODE = re.compile(r"\d[A-Za-z]")


def likely_typos(words: Mapping[str, Sequence[object]]) -> Iterator[tuple[str, str]]:
    """Yield words that are a typo of another, the rarer one first; ``words`` has the objects with each word."""
    near = Slips(words)
    for word, nodes in words.items():
        alike = [*near.of(word), *(each for each in (f"{word}s", word.removesuffix("s")) if each != word and each in words)]
        for other in dict.fromkeys(alike):
            # Each pair occurs twice. In a code, such as a hash or a machine type, every letter counts.
            if (len(nodes), word) < (len(words[other]), other) and not (_CODE.search(word) and word.lower() != other.lower()):
                yield word, other


def _case_variants(words: dict[str, list[NodeFact]]) -> Iterator[tuple[str, str]]:
    """Yield words that differ only by case, each with the most frequent spelling last."""
    spellings = grouped((word.lower(), word) for word in words)
    for alike in spellings.values():
        usual = max(alike, key=lambda word: (len(words[word]), word))
        yield from ((word, usual) for word in alike if word != usual)


def _count(nodes: list[NodeFact]) -> str:
    return f"node {nodes[0].name}" if len(nodes) == 1 else f"{len(nodes)} nodes"


def shared_host(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report replicas on different nodes of one physical host, more replicas than hosts, and control planes on one host."""
    hosts = grouped((node.labels[view.host_key], node) for node in view.nodes if view.host_key in node.labels)
    if not hosts:
        return
    yield from _control_planes(view, hosts)
    are_shared = any(len(nodes) > 1 for nodes in hosts.values())
    for ref in view.manifest_index.selector_refs:
        pods = view.manifest_index.owner(ref)
        if pods is None or not pods.scale.may_replicate or not keeps_apart(ref, pods):
            continue
        match = None
        if ref.topology_key == HOSTNAME and are_shared:
            match = _shared_host_match(view, ref, pods, hosts)
        elif ref.topology_key == view.host_key:
            match = _too_few_hosts_match(view, ref, pods)
        if match is not None:
            yield CrossManifestMatch(ref.site, ref.ref, match)


def _control_planes(view: ClusterView, hosts: dict[str, list[NodeFact]]) -> Iterator[CrossManifestMatch]:
    """Report hosts whose failure costs etcd its majority; etcd runs on the control-plane nodes or on nodes with its label."""
    members = [node for node in view.nodes if ETCD in node.labels]
    members = members or [node for node in view.nodes if CONTROL_PLANE in node.labels or MASTER in node.labels]
    names = {node.name for node in members}
    majority = len(members) // 2 + 1
    for host, nodes in hosts.items():
        together = [node for node in nodes if node.name in names]
        left = len(members) - len(together)
        if len(together) > 1 and left < majority:
            which = f"{summarize_names([node.name for node in together])} {'both' if len(together) == 2 else 'all'} run"
            rest = f"{left} of {len(members)} {'is' if left == 1 else 'are'} left" if left else "none is left"
            message = f"the control-plane nodes {which} on {quoted(host)}: if it fails, {rest}, but etcd needs {majority}"
            related = [_place(node, view.host_key) for node in together[:-1]]
            yield _at_label(together[-1], view.host_key, message, _APART, *related[:MOST_NAMED])


_APART = "Run them on different hosts, with an anti-affinity rule of the hypervisor or with failure domains."


def _shared_host_match(view: ClusterView, ref: SelectorRef, pods: Pods, hosts: dict[str, list[NodeFact]]) -> Match | None:
    """Return the match for replicas that are separated only over nodes, if some of those nodes share a host."""
    apart = {each.topology_key for each in view.manifest_index.selector_refs_of(pods) if keeps_apart(each, pods)}
    if not apart.isdisjoint((view.host_key, ZONE, REGION)):
        return None  # A failure of a zone affects more replicas than a failure of a host.
    usable = {node.name for node in view.usable(pods)}
    inside = {host: sorted(usable.intersection(node.name for node in nodes)) for host, nodes in hosts.items()}
    shared = {host: names for host, names in inside.items() if len(names) > 1}
    if not shared:
        return None
    host, names = min(shared.items())
    message = f"replicas on different nodes can still share a physical host: {summarize_names(names)} run on {quoted(host)}"
    if len(shared) > 1:
        message += f", and {len(shared) - 1} more {'hosts run' if len(shared) > 2 else 'host runs'} several nodes"
    return Match((*ref.path[:-1], "topologyKey"), message, f"Spread over `{view.host_key}` as well.")


def _too_few_hosts_match(view: ClusterView, ref: SelectorRef, pods: Pods) -> Match | None:
    """Return the match for replicas spread over fewer hosts than replicas, which may share even a node."""
    apart = {each.topology_key for each in view.manifest_index.selector_refs_of(pods) if keeps_apart(each, pods)}
    replicas = pods.scale.least
    if replicas is None or HOSTNAME in apart or ref.what == REQUIRED_ANTI_AFFINITY:
        return None  # With a required anti-affinity the other replicas stay Pending, which too-few-domains reports.
    hosts = {node.labels[view.host_key] for node in view.usable(pods) if view.host_key in node.labels}
    if not 0 < len(hosts) < replicas:
        return None
    shared = -(-replicas // len(hosts))
    where = f"{replicas} replicas for {pluralize(len(hosts), 'physical host')}"
    message = f"{where}: at least {shared} share a host, and may share a node as well"
    help_ = f"Run no more replicas than hosts, or spread over `{HOSTNAME}` as well."
    return Match((*ref.path[:-1], "topologyKey"), message, help_, severity="info")


def _place(node: NodeFact, key: str) -> RelatedPlace:
    return RelatedPlace(
        node.site.file, node.site.document, (*node.labels_path, key), True, f"{quoted(f'{key}: {node.labels[key]}')} of node {node.name}"
    )


def _at_label(node: NodeFact, label: str, message: str, remedy: str, *related: RelatedPlace, key: bool = False) -> CrossManifestMatch:
    return _at_labels(node, Match((*node.labels_path, label), message, remedy, key=key, related=related))


def _at_labels(node: NodeFact, match: Match) -> CrossManifestMatch:
    return CrossManifestMatch(node.site, ObjectRef("v1", "Node", None, node.name), match)


def unknown_to_inventory(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report node labels in constraints that no node of the inventory has."""
    known = view.label_keys
    for pods in view.manifest_index.pods:
        if pods.spec is None:
            continue
        for place, required, effect in _label_uses(pods):
            key = place.key
            if key not in known and suggested_label(key) is None and not is_set_on_any_node(key) and not is_placeholder(key):
                close = nearest(key, known)
                hint = f"; did you mean {quoted(close)}?" if close else ""
                message = f"{none_of(len(view.nodes))} has the label {quoted(key)}, so {effect}{hint}"
                remedy = f"Write `{close}`." if close else "Label the nodes, or use a label that they have."
                severity: Severity = "error" if required else "warning"
                yield CrossManifestMatch(pods.site, pods.ref, Match(place.path, message, remedy, key=place.key_of_map, severity=severity))


def none_of(nodes: int) -> str:
    """Return the subject of a message about nodes, such as ``none of the 3 known nodes``."""
    return f"none of the {nodes} known nodes" if nodes > 1 else "no known node"


def _label_uses(pods: Pods) -> Iterator[tuple[LabelPlace, bool, str]]:
    """Yield each node label that the constraints select: its place, whether it is required, and the effect of its absence."""
    constraints = constraints_of(pods.spec or {}, (*pods.template_path, "spec"))
    only = sum(term.required for term in constraints.node_terms) == 1
    for place in label_places(constraints):
        if place.what == REQUIRED_NODE_AFFINITY:
            if place.is_selection:
                yield place, only, _NOWHERE if only else "this ORed term matches no node"
        elif place.what == REQUIRED_ANTI_AFFINITY:
            yield place, True, "no pods are separated"
        elif place.what != PREFERRED_NODE_AFFINITY:
            yield place, place.required, _NOWHERE if place.required else "the preference is ignored"


_NOWHERE = "the pods stay Pending"
