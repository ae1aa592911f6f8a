"""What the manifests alone say about the placement of a workload, and how two versions of it differ.

The order of terms, of requirements and of values makes no difference, nor does a nodeSelector that is written as node affinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from afflint.constraints.nodes import nodes_of, parse_node_constraints
from afflint.constraints.pods import PodAffinityTerm, parse_pod_constraints
from afflint.controllers.evictions import Eviction, eviction_of
from afflint.controllers.pod_source import PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.index.facts import Pods, namespaces_of
from afflint.index.spreading import OwnPods, SpreadingConstraint, spreading_constraints
from afflint.kube.constraints import constraints_of
from afflint.kube.node_labels import domain_noun
from afflint.kube.selector_algebra import implies
from afflint.kube.selectors import AnyOf, Malformed, Parsed, Selector, describe_briefly
from afflint.kube.taints import Toleration, parse_tolerations
from afflint.kube.taints import implies as covers
from afflint.manifests.label_places import SPREAD
from afflint.report.changes.model import Direction, PlacementEffect
from afflint.yaml.document import text_at


class Separation(NamedTuple):
    """What keeps the replicas in different domains of a key: ``most`` in one domain, or more than in another by at most ``skew``.

    Both are None if it is only preferred.
    """

    most: int | None = None
    skew: int | None = None

    @property
    def is_required(self) -> bool:
        """Whether a pod stays Pending rather than violate it."""
        return self.most is not None or self.skew is not None


class Requirements(NamedTuple):
    """The placement constraints of a workload, without their order and their places in the manifest."""

    replicas: int
    nodes: AnyOf | None
    """The nodes that its pods may use; None if its constraints are malformed."""
    tolerations: frozenset[Toleration]
    separation: Mapping[str, Separation]
    """By topology key, what separates the replicas."""
    others: frozenset[str]
    """The required affinity to pods, and the required anti-affinity to pods of other workloads, in words."""
    preferences: frozenset[tuple[str, int]]
    """The preferred nodes, each with its weight."""
    node_name: str
    scheduler: str
    daemon: bool
    eviction: Eviction | None
    """What an eviction does to its VMs; None for other workloads."""
    not_started_by: str
    """The field that keeps its VMs from starting; "" if they start."""


def requirements_of(pod_source: PodSource, pods: Pods | None) -> Requirements:
    """Return what the manifest of a workload requires. ``pods`` has the labels that controllers add; None if they are unknown."""
    constraints = constraints_of(dict(pod_source.pod), ())
    nodes = parse_node_constraints(constraints)
    alternatives = nodes.alternatives
    tolerations = parse_tolerations(pod_source.pod.get("tolerations") or [])
    terms = [each for each in parse_pod_constraints(constraints).terms if each.required]
    separating: list[SpreadingConstraint] = []
    if pods is not None:
        own_pods = OwnPods(pods.pod_labels, pods.labels_known and not pods.operated, pods.namespace)
        separating = list(spreading_constraints(constraints, own_pods, lambda _selector, _namespace: None))
    own = {each.path for each in separating if each.works}
    return Requirements(
        pod_source.replicas,
        nodes_of(alternatives) if alternatives or nodes.terms is not None else None,
        frozenset() if isinstance(tolerations, Malformed) else frozenset(tolerations),
        _separation(separating),
        frozenset(_words(each, pod_source) for each in terms if not (each.anti and each.path in own)),
        frozenset(
            (" and ".join(sorted(describe_briefly(item.requirement) for item in each.requirements)), each.weight or 0)
            for each in nodes.preferences
            if each.requirements
        ),
        pod_source.node_name,
        text_at(pod_source.pod, "schedulerName") or "default-scheduler",
        pod_source.daemon,
        eviction_of(pod_source) if pod_source.kubevirt else None,
        pod_source.not_started_by,
    )


def _separation(constraints: list[SpreadingConstraint]) -> dict[str, Separation]:
    """Return the strictest separation for each key."""
    found: dict[str, Separation] = {}
    for each in constraints:
        if not each.works or each.undecidable:
            continue
        known = found.get(each.key, Separation())
        if each.hard and each.name == SPREAD:
            known = known._replace(skew=min(filter(None, (known.skew, each.most)), default=None))
        elif each.hard:
            known = known._replace(most=1)
        found[each.key] = known
    return found


def _words(term: PodAffinityTerm, pod_source: PodSource) -> str:
    names, others = namespaces_of(term)
    listed = sorted({*names} - {pod_source.namespace})
    where = f" in {', '.join(listed)}" if listed else " in other namespaces" if others is not None else ""
    verb = "must not share" if term.anti else "must share"
    return f"{verb} a {domain_noun(term.topology_key)} with pods {_selected(term.selector(pod_source.labels))}{where}"


def _selected(selector: Parsed) -> str:
    if not isinstance(selector, Selector):
        return "that its selector does not match"
    return " and ".join(sorted(map(describe_briefly, selector.requirements))) or "of any labels"


# --- differences -------------------------------------------------------------------------------------------------------


def manifest_effects(before: Requirements, after: Requirements, domains: Mapping[str, int] | None) -> Iterator[PlacementEffect]:
    """Yield what differs in effect between two versions of a workload.

    ``domains`` has, by topology key, in how many domains its pods can run; None without nodes. With nodes, what a constraint on nodes does
    is known and compared by the caller; here it is left out.
    """
    if before.replicas != after.replicas and not after.daemon:
        yield PlacementEffect(f"replicas: {before.replicas} → {after.replicas}", "neutral" if after.replicas else "worse")
    if bool(before.not_started_by) != bool(after.not_started_by):
        text = f"{after.not_started_by}: it no longer starts by itself" if after.not_started_by else "it starts by itself"
        yield PlacementEffect(text, "worse" if after.not_started_by else "neutral")
    if domains is None:
        yield from _node_effects(before, after)
    for key in sorted(before.separation.keys() | after.separation.keys()):
        if (domains is None or domains.get(key, 0) > 1) and max(before.replicas, after.replicas) > 1:
            yield from _separation_effects(domain_noun(key), before.separation.get(key), after.separation.get(key))
    for each in sorted(before.others - after.others):
        text = each.replace("must not share", "has to avoid sharing", 1).replace("must share", "has to share", 1)
        yield PlacementEffect(f"no longer {text}", "neutral")
    yield from (PlacementEffect(f"now {each}", "neutral") for each in sorted(after.others - before.others))
    if before.node_name != after.node_name:
        pinned = f"assigned to the node {after.node_name}, without the scheduler" if after.node_name else "no longer assigned to one node"
        yield PlacementEffect(pinned, "worse" if after.node_name else "better")
    if before.scheduler != after.scheduler:
        yield PlacementEffect(f"scheduled by {after.scheduler}, before by {before.scheduler}", "neutral")
    if before.eviction is not None and after.eviction is not None and before.eviction.what != after.eviction.what:
        yield _eviction_effect(before.eviction, after.eviction)


def _node_effects(before: Requirements, after: Requirements) -> Iterator[PlacementEffect]:
    if before.nodes is not None and after.nodes is not None:
        fewer, more = implies(after.nodes, before.nodes), implies(before.nodes, after.nodes)
        if not (fewer and more):
            verb = "can use fewer nodes" if fewer else "can use more nodes" if more else "can use other nodes"
            yield PlacementEffect(f"{verb}: {node_words(after.nodes)} (before: {node_words(before.nodes)})", "neutral")
    lost = _uncovered(before.tolerations, after.tolerations)
    gained = _uncovered(after.tolerations, before.tolerations)
    yield from (PlacementEffect(f"no longer tolerates {each}", "neutral") for each in lost)
    yield from (PlacementEffect(f"now tolerates {each}", "neutral") for each in gained)
    yield from (
        PlacementEffect(f"no longer prefers nodes with {asks} (weight {weight})", "neutral")
        for asks, weight in sorted(before.preferences - after.preferences)
    )
    yield from (
        PlacementEffect(f"now prefers nodes with {asks} (weight {weight})", "neutral")
        for asks, weight in sorted(after.preferences - before.preferences)
    )


def _uncovered(some: frozenset[Toleration], others: frozenset[Toleration]) -> list[str]:
    return sorted({toleration_words(each) for each in some if not any(covers(other, each) for other in others)})


def node_words(nodes: AnyOf) -> str:
    """Return what a pod requires of its nodes: ``requires disk=ssd``, ``any node``."""
    alternatives = sorted({" and ".join(sorted(map(describe_briefly, each.requirements))) for each in nodes.selectors})
    if not alternatives:
        return "no node matches"
    return "any node" if "" in alternatives else f"requires {' or '.join(alternatives)}"


def toleration_words(toleration: Toleration) -> str:
    """Return a toleration as kubectl writes taints: ``dedicated=gpu:NoSchedule``, ``every taint``."""
    key = toleration.key or "every taint"
    value = f"={toleration.value}" if toleration.value else ""
    return f"{key}{value}" + (f":{toleration.effect}" if toleration.effect else "")


def _separation_effects(noun: str, before: Separation | None, after: Separation | None) -> Iterator[PlacementEffect]:
    if before == after:
        return
    was, now = before is not None and before.is_required, after is not None and after.is_required
    if was and not now:
        rest = "they only prefer it" if after is not None else "all of them may be in one"
        yield PlacementEffect(f"its replicas are no longer required to be in different {noun}s: {rest}", "worse")
    elif now and after is not None:
        text = _required(noun, after)
        yield PlacementEffect(
            f"{text}, before: {_required(noun, before)}" if was and before is not None else text, _stricter(before, after)
        )
    elif before is not None:
        yield PlacementEffect(f"its replicas no longer prefer different {noun}s", "worse")
    else:
        yield PlacementEffect(f"its replicas now prefer different {noun}s", "better")


def _required(noun: str, separation: Separation) -> str:
    if separation.most is not None:
        return f"at most {separation.most} replica may be in one {noun}"
    return f"one {noun} may have at most {pluralize(separation.skew or 0, 'replica')} more than another"


def _stricter(before: Separation | None, after: Separation) -> Direction:
    if before is None or not before.is_required:
        return "better"
    if (before.most is None) != (after.most is None):
        return "worse" if after.most is None else "better"
    return "worse" if (after.skew or 0) > (before.skew or 0) else "better"


def _eviction_effect(before: Eviction, after: Eviction) -> PlacementEffect:
    words = {
        "migrates": "a drain migrates its VMs",
        "allowed": "a drain shuts its VMs down",
        "held": "a drain never evicts its VMs",
        "external": "a drain waits until another controller has moved its VMs",
    }
    order = ("held", "external", "allowed", "migrates")
    direction: Direction = "worse" if order.index(after.what) < order.index(before.what) else "better"
    why = f": {after.why}" if after.why else ""
    was = words[before.what].removeprefix("a drain ").replace("its VMs", "them")
    return PlacementEffect(f"{words[after.what]}{why} (before: it {was})", direction)
