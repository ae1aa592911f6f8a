"""A pod as the scheduler sees it: its constraints compiled once, with the defaults of the API server applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from afflint.constraints.pods import HARD, SOFT, PodAffinityTerm, TopologySpreadConstraint, parse_pod_term, parse_spread_constraint
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.decoding import InventoryError, error_in, fail, integer, mapping, sequence, string, string_map, strings
from afflint.kube.selectors import (
    NODE_NAME,
    Malformed,
    Parsed,
    Requirement,
    Selector,
    from_labels,
    parse_node_term,
)
from afflint.kube.taints import UNREACHABLE, Toleration, parse_tolerations, supported, toleration_seconds_of
from afflint.scheduler.declared_features import NODE_DECLARED_FEATURES, read_features
from afflint.scheduler.host_ports import HostPort, read_ports
from afflint.scheduler.image_locality import read_images
from afflint.scheduler.profile import DEFAULT_PROFILE, Profile, profile_of
from afflint.scheduler.requests import Rated, Requests, read_demands
from afflint.yaml.document import maps_at

if TYPE_CHECKING:
    from afflint.storage.pod_volumes import PodVolume

T = TypeVar("T")


class Subject(NamedTuple):
    """Everything about a pod that selectors can read: pods with equal subjects match the same selectors."""

    namespace: str
    labels: frozenset[tuple[str, str]]
    terminating: bool


class NodeRules(NamedTuple):
    """What a pod requires of a node, whatever else runs there. ``terms`` is None without required node affinity."""

    node_name: str
    tolerations: tuple[Toleration, ...]
    node_selector: Selector
    terms: tuple[Parsed, ...] | None
    named: frozenset[str] | None
    """The nodes that ``matchFields`` of the required terms name, if every term names some; PreFilter leaves out all others."""
    profile: Profile = DEFAULT_PROFILE
    """The profile of the scheduler that places the pod."""


class Preference(NamedTuple):
    """A preferred node affinity term."""

    weight: int
    term: Selector


class _TermFields(NamedTuple):
    key: str
    selector: Selector | None
    namespaces: frozenset[str]
    namespace_selector: Selector | None


class Term(_TermFields):
    """A pod affinity or anti-affinity term. It covers the listed namespaces and those that the namespace selector matches.

    ``path`` is its position in the pod spec, which does not take part in comparisons: equal terms of other pods are counted as one.
    """

    path: Path = ()


class WeightedTerm(NamedTuple):
    """A term that attracts pods (weight above zero) or repels them (below)."""

    weight: int
    term: Term


class _SpreadConstraintFields(NamedTuple):
    key: str
    max_skew: int
    min_domains: int
    selector: Parsed
    honor_affinity: bool = True
    honor_taints: bool = False


class SpreadConstraint(_SpreadConstraintFields):
    """A topology spread constraint. ``path`` is its position in the pod spec, which does not take part in comparisons."""

    path: Path = ()


PodKey = tuple[str, str]
"""Namespace and name of a pod."""


class Pod(NamedTuple):
    """A compiled pod. Lists of terms that Kubernetes cannot parse are Malformed."""

    namespace: str
    name: str
    labels: dict[str, str]
    subject: Subject
    finished: bool
    controller: tuple[str, str, str] | None
    """API version, kind and name of the owner that is the controller."""
    rules: NodeRules
    preferences: tuple[Preference, ...] | Malformed | None
    """None if the field is absent, which differs from an empty list."""
    has_spread: bool
    """Whether the pod has spread constraints of its own, hard or soft."""
    hard_spread: tuple[SpreadConstraint, ...]
    soft_spread: tuple[SpreadConstraint, ...]
    affinity: tuple[Term, ...] | Malformed
    anti_affinity: tuple[Term, ...] | Malformed
    preferred_affinity: tuple[WeightedTerm, ...] | Malformed
    preferred_anti_affinity: tuple[WeightedTerm, ...] | Malformed
    ports: tuple[HostPort, ...] = ()
    """The host ports that it requests."""
    requests: Requests = ()
    """Empty if resources do not count."""
    rated: Rated = (0, 0)
    """CPU and memory for the scores of other pods while it runs; 0 if resources do not count."""
    scored: Rated = (0, 0)
    """CPU and memory for its own scores while it is scheduled."""
    images: tuple[str, ...] = ()
    """The images of its containers, with their tags; empty if resources do not count."""
    features: frozenset[str] = frozenset()
    """The features that its node must declare."""
    priority: int = 0
    """Its priority, as the admission plugin has set it."""
    nominated: str = ""
    """The node that it has preempted others on, while it is Pending (``status.nominatedNodeName``)."""
    preempted: bool = False
    """Whether it is being deleted because the scheduler has preempted it."""
    added: frozenset[str] = frozenset()
    """The node labels that its controller requires in addition to its manifest."""
    toleration_seconds: int | None = 0
    """For how many seconds it tolerates an unreachable node; None for ever, so that it is never evicted from there."""
    volumes: tuple[PodVolume, ...] = ()
    """Its claims and inline disks; empty if volumes do not count."""

    @property
    def key(self) -> PodKey:
        """What distinguishes the pod from others of the cluster."""
        return self.namespace, self.name

    @property
    def malformed_terms(self) -> bool:
        """Whether a list of pod affinity or anti-affinity terms cannot be parsed: no node is feasible for such a pod."""
        lists = (self.affinity, self.anti_affinity, self.preferred_affinity, self.preferred_anti_affinity)
        return any(isinstance(listed, Malformed) for listed in lists)


def parsed_terms(terms: tuple[T, ...] | Malformed) -> tuple[T, ...]:
    """Return the terms of a list; none if the list cannot be parsed, since it is ignored as a whole."""
    return () if isinstance(terms, Malformed) else terms


def scheduling_key(pod: Pod) -> tuple[object, ...]:
    """Return everything about a pod that filters and scores read: equal results mean equal decisions."""
    return (pod.subject, pod.controller, pod.rules, pod.preferences, pod.has_spread, *pod[9:])


def only_on(pod: Pod, node: str) -> Pod:
    """Return the pod of a DaemonSet with the node affinity to one node that its controller adds."""
    term = Selector((Requirement(NODE_NAME, "In", (node,), True),))
    return pod._replace(rules=pod.rules._replace(terms=(term,), named=frozenset((node,))))


def as_filtered(pod: Pod) -> Pod:
    """Return a pod as the enabled filters of its profile see it: without what only disabled filters or ignored resources concern."""
    profile = pod.rules.profile
    if not profile.lacks_filters:
        return pod
    disabled = profile.disabled
    requests = () if "NodeResourcesFit" in disabled else tuple([each for each in pod.requests if not profile.ignores(each[0])])
    return pod._replace(
        ports=() if "NodePorts" in disabled else pod.ports,
        requests=requests,
        hard_spread=() if "PodTopologySpread" in disabled else pod.hard_spread,
        features=frozenset() if NODE_DECLARED_FEATURES in disabled else pod.features,
    )


def read_pod(data: object, *, resources: bool = False, comparisons: bool = False, volumes: bool = False) -> Pod:
    """Read a Pod object as parsed from YAML or JSON, with its requests if resources count, and its volumes if volumes do.

    Without ``comparisons`` tolerations with ``Gt`` and ``Lt`` are left out: the cluster ignores them. Raises InventoryError for a
    malformed pod.
    """
    whole = mapping(data, "a Pod")
    meta = mapping(whole.get("metadata"), "metadata of a Pod")
    name = string(meta.get("name"), "name of a Pod")
    namespace = string(meta.get("namespace"), "namespace of a Pod") or "default"
    try:
        spec, status = mapping(whole.get("spec"), "spec"), mapping(whole.get("status"), "status")
        pod = _read(namespace, name, meta, spec, status, comparisons=comparisons)
        if volumes and spec.get("volumes"):
            from afflint.storage.pod_volumes import read_volumes

            pod = pod._replace(volumes=read_volumes(namespace, name, string(meta.get("uid"), "metadata.uid"), spec))
        if not resources:
            return pod
        demands = read_demands(spec, status)
        return pod._replace(requests=demands.requests, rated=demands.rated, scored=demands.scored, images=read_images(spec))
    except InventoryError as error:
        raise error_in("Pod", f"{namespace}/{name}", error) from None


def _read(namespace: str, name: str, meta: dict[str, Any], spec: dict[str, Any], status: dict[str, Any], *, comparisons: bool) -> Pod:
    labels = string_map(meta.get("labels"), "metadata.labels")
    affinity = mapping(spec.get("affinity"), "spec.affinity")
    node_affinity = mapping(affinity.get("nodeAffinity"), "spec.affinity.nodeAffinity")
    constraints = sequence(spec.get("topologySpreadConstraints"), "spec.topologySpreadConstraints")
    reader = _TermReader(namespace, labels)
    hard, soft = reader.spread(constraints) if constraints else ((), ())
    affinity_terms, preferred_affinity = reader.pod_terms(affinity, "podAffinity", 1)
    anti_affinity_terms, preferred_anti_affinity = reader.pod_terms(affinity, "podAntiAffinity", -1)
    return Pod(
        namespace=namespace,
        name=name,
        labels=labels,
        subject=Subject(namespace, frozenset(labels.items()), meta.get("deletionTimestamp") is not None),
        finished=status.get("phase") in ("Succeeded", "Failed"),
        controller=_controller(meta.get("ownerReferences"), "metadata.ownerReferences"),
        rules=_node_rules(meta, spec, node_affinity, comparisons=comparisons),
        preferences=read_preferences(node_affinity.get(PREFERRED), f"spec.affinity.nodeAffinity.{PREFERRED}"),
        has_spread=bool(constraints),
        hard_spread=hard,
        soft_spread=soft,
        affinity=affinity_terms,
        anti_affinity=anti_affinity_terms,
        preferred_affinity=preferred_affinity,
        preferred_anti_affinity=preferred_anti_affinity,
        ports=read_ports(spec) if spec.get("containers") or spec.get("initContainers") else (),
        features=read_features(spec),
        priority=integer(spec.get("priority"), "spec.priority", 0),
        nominated="" if spec.get("nodeName") else string(status.get("nominatedNodeName"), "status.nominatedNodeName"),
        preempted=is_preempted(meta, status),
        toleration_seconds=toleration_seconds_of(spec.get("tolerations") or (), UNREACHABLE),
    )


def is_preempted(meta: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Return whether a pod is being deleted because the scheduler has preempted it (``podTerminatingByPreemption``)."""
    if meta.get("deletionTimestamp") is None:
        return False
    targets = [each for each in maps_at(status, "conditions") if each.get("type") == "DisruptionTarget"]
    return any(each.get("status") == "True" and each.get("reason") == "PreemptionByScheduler" for each in targets)


def _controller(data: object, what: str) -> tuple[str, str, str] | None:
    for index, item in enumerate(sequence(data, what)):
        owner = mapping(item, f"{what}[{index}]")
        if owner.get("controller") is True:
            api_version, kind, name = (string(owner.get(field), f"{what}[{index}].{field}") for field in ("apiVersion", "kind", "name"))
            return api_version, kind, name
    return None


def _decoded(parsed: T | Malformed, what: str) -> T | Malformed:
    """Raise InventoryError for data of the wrong type; other malformed data is left to the rules of the scheduler."""
    if isinstance(parsed, Malformed) and parsed.mistyped:
        fail(what + "".join(f"[{step!r}]" for step in parsed.path), parsed.problem)
    return parsed


def _fail_at(where: str, mistyped: Malformed) -> NoReturn:
    """Raise InventoryError for a value of a wrong type in the map at ``where``."""
    field, rest = mistyped.path[:1], mistyped.path[1:]
    fail(where + "".join([f".{step}" for step in field] + [f"[{step!r}]" for step in rest]), mistyped.problem)


def _node_rules(meta: dict[str, Any], spec: dict[str, Any], node_affinity: dict[str, Any], *, comparisons: bool) -> NodeRules:
    node_name = string(spec.get("nodeName"), "spec.nodeName")
    node_selector = _decoded(from_labels(spec.get("nodeSelector")), "spec.nodeSelector")
    tolerations = _decoded(parse_tolerations(spec.get("tolerations")), "spec.tolerations")
    # Maps and lists of strings of the right type are never malformed.
    assert not isinstance(node_selector, Malformed)
    assert not isinstance(tolerations, Malformed)
    tolerations = supported(tolerations, comparisons=comparisons)
    scheduler = string(spec.get("schedulerName"), "spec.schedulerName")
    profile = profile_of(scheduler, spec, meta)
    required = node_affinity.get(REQUIRED)
    if required is None:
        return NodeRules(node_name, tolerations, node_selector, None, None, profile)
    where = f"spec.affinity.nodeAffinity.{REQUIRED}"
    data = mapping(required, where).get("nodeSelectorTerms")
    terms = sequence(data, f"{where}.nodeSelectorTerms")
    parsed = tuple([_decoded(parse_node_term(term), f"{where}.nodeSelectorTerms[{index}]") for index, term in enumerate(terms)])
    return NodeRules(node_name, tolerations, node_selector, parsed, _named_nodes(terms, f"{where}.nodeSelectorTerms"), profile)


def _named_nodes(terms: list[Any], what: str) -> frozenset[str] | None:
    """Return the union of the node names that the terms require; None if any term requires no name.

    PreFilter reads the names before it parses the terms, so terms that cannot be parsed take part too.
    """
    union: frozenset[str] = frozenset()
    for index, term in enumerate(terms):
        where = f"{what}[{index}].matchFields"
        asked = [mapping(field, where) for field in sequence(mapping(term, what).get("matchFields"), where)]
        lists = [strings(field.get("values"), where) for field in asked if (field.get("key"), field.get("operator")) == (NODE_NAME, "In")]
        if not lists:
            return None
        union |= frozenset(lists[0]).intersection(*lists[1:])
    return union if terms else None


def read_preferences(data: object, what: str) -> tuple[Preference, ...] | Malformed | None:
    """Read preferred node affinity terms; None if the field is absent. Raises InventoryError."""
    if data is None:
        return None
    preferences = []
    for index, item in enumerate(sequence(data, what)):
        entry = mapping(item, f"{what}[{index}]")
        weight = integer(entry.get("weight"), f"{what}[{index}].weight", 0)
        term = _decoded(parse_node_term(entry.get("preference")), f"{what}[{index}].preference")
        if weight == 0 or term is None:
            continue
        if isinstance(term, Malformed):
            return term
        preferences.append(Preference(weight, term))
    return tuple(preferences)


class _TermReader:
    """Reads the constraints of one pod that select other pods: they use its namespace and merge its label values."""

    def __init__(self, namespace: str, labels: dict[str, str]) -> None:
        self.namespace = namespace
        self.labels = labels

    def spread(self, data: list[Any]) -> tuple[tuple[SpreadConstraint, ...], tuple[SpreadConstraint, ...]]:
        """Return the hard and the soft topology spread constraints."""
        by_action: dict[str, list[SpreadConstraint]] = {HARD: [], SOFT: []}
        for index, item in enumerate(data):
            parsed = parse_spread_constraint(item, ("topologySpreadConstraints", index))
            if parsed.mistyped is not None:
                _fail_at(f"spec.topologySpreadConstraints[{index}]", parsed.mistyped)
            by_action.setdefault(parsed.when_unsatisfiable, []).append(self._spread_constraint(parsed))
        return tuple(by_action[HARD]), tuple(by_action[SOFT])

    def _spread_constraint(self, parsed: TopologySpreadConstraint) -> SpreadConstraint:
        constraint = SpreadConstraint(
            parsed.topology_key,
            parsed.max_skew or 0,
            1 if parsed.min_domains is None else parsed.min_domains,
            parsed.selector(self.labels),
            parsed.node_affinity_policy in ("", "Honor"),
            parsed.node_taints_policy == "Honor",
        )
        constraint.path = parsed.path
        return constraint

    def pod_terms(
        self, affinity: dict[str, Any], kind: str, sign: int
    ) -> tuple[tuple[Term, ...] | Malformed, tuple[WeightedTerm, ...] | Malformed]:
        """Return the required and the preferred terms of podAffinity or podAntiAffinity; ``sign`` is that of the weights."""
        where = f"spec.affinity.{kind}"
        data = mapping(affinity.get(kind), where)
        if not data:
            return (), ()

        def required(item: object, index: int) -> Term | Malformed:
            parsed = parse_pod_term(item, ("affinity", kind, REQUIRED, index), anti=sign < 0)
            return self._term(parsed, f"{where}.{REQUIRED}[{index}]")

        def weighted(item: object, index: int) -> WeightedTerm | Malformed:
            what = f"{where}.{PREFERRED}[{index}]"
            entry = mapping(item, what)
            weight = integer(entry.get("weight"), f"{what}.weight", 0)
            path = ("affinity", kind, PREFERRED, index, "podAffinityTerm")
            parsed = parse_pod_term(entry.get("podAffinityTerm"), path, anti=sign < 0, weight=weight)
            term = self._term(parsed, f"{what}.podAffinityTerm")
            return term if isinstance(term, Malformed) else WeightedTerm(sign * weight, term)

        return (
            _until_malformed(required, data.get(REQUIRED), f"{where}.{REQUIRED}"),
            _until_malformed(weighted, data.get(PREFERRED), f"{where}.{PREFERRED}"),
        )

    def _term(self, parsed: PodAffinityTerm, where: str) -> Term | Malformed:
        if parsed.mistyped is not None:
            _fail_at(where, parsed.mistyped)
        selector, namespace_selector, namespaces = parsed.selector(self.labels), parsed.namespace_selector, frozenset(parsed.namespaces)
        if isinstance(selector, Malformed):
            return selector
        if isinstance(namespace_selector, Malformed):
            return namespace_selector
        if not namespaces and namespace_selector is None:
            namespaces = frozenset((self.namespace,))
        term = Term(parsed.topology_key, selector, namespaces, namespace_selector)
        term.path = parsed.path
        return term


def _until_malformed(read: Callable[[object, int], T | Malformed], data: object, where: str) -> tuple[T, ...] | Malformed:
    """Return all entries of a list as read, or the first that cannot be parsed, which invalidates the list."""
    entries = []
    for index, item in enumerate(sequence(data, where)):
        entry = read(item, index)
        if isinstance(entry, Malformed):
            return entry
        entries.append(entry)
    return tuple(entries)
