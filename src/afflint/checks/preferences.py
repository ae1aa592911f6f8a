"""Node preferences compared with the nodes: those that no node satisfies are accepted, but have no effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from afflint.checks.cluster_view import ClusterView
from afflint.checks.constraint_selectors import has_placeholder
from afflint.checks.match import CrossManifestMatch, Match
from afflint.checks.nodes import none_of
from afflint.constraints.nodes import NodeRequirement, nodes_of, parse_node_constraints
from afflint.findings.finding import Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, quoted, summarize_names
from afflint.findings.similarity import is_likely_typo
from afflint.index.facts import Pods
from afflint.inventory.node_files import KUBELET_LABELS
from afflint.kube.constraints import constraints_of
from afflint.kube.node_labels import deprecated, is_set_on_any_node, is_well_known, suggested_label
from afflint.kube.selector_algebra import conflict
from afflint.kube.selectors import NODE_NAME, AnyOf, Requirement, Selector, describe, intersection


class _PreferredTerm(NamedTuple):
    """A preferred term that nodes can satisfy: its path, its selector, and the selector's requirements with their paths."""

    path: Path
    selector: Selector
    requirements: tuple[NodeRequirement, ...]


class _UnmetReason(NamedTuple):
    """The reason why no node satisfies a preference. ``near``: the intended key or value is known."""

    path: Path
    why: str
    remedy: str
    near: bool = False
    severity: Severity | None = None


def unmet_preference(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report preferred node affinity that no node of the inventory satisfies, or none that the pods may use."""
    nodes = _Nodes(view)
    for pods in view.manifest_index.pods:
        if pods.spec is not None and not pods.spec.get("nodeName"):
            preferences, demanded = _terms(pods)
            for preference in preferences:
                if view.classes and view.may_be_made(preference.selector):
                    continue
                fault = _unmet_reason(preference, preferences, nodes) or _unreachable_reason(preference, demanded, pods, nodes)
                if fault is not None:
                    message = f"this preference has no effect: {fault.why}"
                    yield CrossManifestMatch(pods.site, pods.ref, Match(fault.path, message, fault.remedy, severity=fault.severity))


def _terms(pods: Pods) -> tuple[list[_PreferredTerm], list[Selector]]:
    """Return the preferences of some pods that can be satisfied at all, and the alternatives of their required nodes."""
    nodes = parse_node_constraints(constraints_of(pods.spec or {}, (*pods.template_path, "spec")))
    preferences = []
    for term in nodes.preferences:
        parsed = term.selector
        if isinstance(parsed, Selector) and not has_placeholder(parsed) and not conflict(parsed.requirements):
            preferences.append(_PreferredTerm(term.path, parsed, term.requirements))
    return preferences, list(nodes_of(nodes.alternatives).selectors) if preferences else []


class _Nodes:
    """Answers about the nodes of a view; each preference is evaluated once, however many workloads share it."""

    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self.count = len(view.nodes)
        self._met: dict[Selector, frozenset[str]] = {}
        self._values: dict[str, Counter[str]] = {}
        self._near: dict[tuple[str | None, str], str | None] = {}
        self.keys = Counter(key for node in view.nodes for key in node.labels)
        self.names = Counter(node.name for node in view.nodes)

    def meeting(self, selector: Selector) -> frozenset[str]:
        """Return the names of the nodes that a selector matches."""
        if selector not in self._met:
            table = self.view.survey.table
            matched = table.matching(AnyOf((selector,)))
            self._met[selector] = frozenset(name for name, is_met in zip(table.names, matched, strict=True) if is_met)
        return self._met[selector]

    def values(self, key: str) -> Counter[str]:
        """Return the values of a label, each with the number of nodes that have it."""
        if key not in self._values:
            self._values[key] = Counter(node.labels[key] for node in self.view.nodes if key in node.labels)
        return self._values[key]

    def near(self, word: str, key: str | None = None) -> str | None:
        """Return the key, or the value of ``key``, that a word which no node has probably means, or None."""
        if (key, word) not in self._near:
            known = self.keys if key is None else self.names if key == NODE_NAME else self.values(key)
            alike = [each for each in known if is_likely_typo(word, each) or _is_truncated(word, each)]
            self._near[key, word] = max(alike, key=lambda each: (known[each], each), default=None)
        return self._near[key, word]


def _is_truncated(one: str, other: str) -> bool:
    """Return whether one of two words is the other without its end: ``larg``, ``disk`` for ``disktype``."""
    short, long = sorted((one.lower(), other.lower()), key=len)
    return len(short) >= _SHORTEST_CUT and long.startswith(short)


_SHORTEST_CUT = 4


def _unmet_reason(preference: _PreferredTerm, all_of_them: Sequence[_PreferredTerm], nodes: _Nodes) -> _UnmetReason | None:
    """Return why no node at all satisfies a preference, or None if one does or the reason proves nothing."""
    requirements = preference.selector.requirements
    if nodes.meeting(preference.selector) or any(_is_reported_elsewhere(each, nodes) for each in requirements):
        return None
    for requirement, place in preference.requirements:
        if place is not None and not nodes.meeting(Selector((requirement,))):
            fault = _reason_for(requirement, place, nodes)
            return None if not fault.near and _is_fallback(requirement, preference, all_of_them, nodes) else fault
    words = summarize_names([quoted(describe(each)) for each in requirements])
    return _UnmetReason(
        preference.path, f"{none_of(nodes.count)} has {words} together", "Split the preference into several, or label the nodes."
    )


def _is_reported_elsewhere(requirement: Requirement, nodes: _Nodes) -> bool:
    """Return whether other rules report that no node has the key, or whether handwritten node lists usually lack it.

    Missing labels for the operating system and architecture are assumed.
    """
    key = requirement.key
    if requirement.field or (key in nodes.keys and key not in KUBELET_LABELS):
        return False
    return is_set_on_any_node(key) or suggested_label(key) is not None or deprecated(key) is not None


def _is_fallback(requirement: Requirement, preference: _PreferredTerm, all_of_them: Sequence[_PreferredTerm], nodes: _Nodes) -> bool:
    """Return whether another preference for the same label is satisfied: then this one is a step of a ladder for other nodes."""
    return any(
        other is not preference
        and any(each.key == requirement.key for each in other.selector.requirements)
        and nodes.meeting(other.selector)
        for other in all_of_them
    )


def _reason_for(requirement: Requirement, place: Path, nodes: _Nodes) -> _UnmetReason:
    """Return the reason for a requirement that no node meets."""
    key, operator = requirement.key, requirement.operator
    if operator == "In" and (requirement.field or key in nodes.keys):
        return _wrong_value(requirement, place, nodes)
    if requirement.field or (operator in ("Gt", "Lt") and key in nodes.keys):
        return _UnmetReason(place, f"{none_of(nodes.count)} has {quoted(describe(requirement))}", _LABEL)
    if operator in ("NotIn", "DoesNotExist"):
        why = f"every node has the label {quoted(key)}" + (f" with the value {_values(requirement)}" if requirement.values else "")
        return _UnmetReason((*place, "key"), why, "Remove the preference, or remove the label from some nodes.")
    near = nodes.near(key)
    why = f"{none_of(nodes.count)} has the label {quoted(key)}{did_you_mean(near)}"
    if near:
        return _UnmetReason((*place, "key"), why, f"Write `{near}`, which {_carry(nodes.keys[near])}.", near=True)
    severity: Severity | None = "info" if is_well_known(key) else None
    return _UnmetReason((*place, "key"), why, "Use a label that nodes have, or label the nodes.", severity=severity)


def _wrong_value(requirement: Requirement, place: Path, nodes: _Nodes) -> _UnmetReason:
    """Return the reason for values that no node has: the values of the nodes, and the one that was meant."""
    known = nodes.names if requirement.field else nodes.values(requirement.key)
    meanings = ((index, nodes.near(value, requirement.key)) for index, value in enumerate(requirement.values))
    index, near = next(((index, near) for index, near in meanings if near), (0, None))
    path = (*place, "values", index)
    what = (
        f"no node {'is named' if requirement.field else f'has the label {quoted(requirement.key)} with the value'} {_values(requirement)}"
    )
    if near is not None:
        remedy = f"Write `{near}`." if requirement.field else f"Write `{near}`, which {_carry(known[near])}."
        return _UnmetReason(path, f"{what}{did_you_mean(near)}", remedy, near=True)
    if requirement.field:
        return _UnmetReason(path, what, "Name an existing node, or remove the preference.")
    known_values = summarize_names([quoted(value) for value in sorted(known)])
    values = f"the values that nodes have are {known_values}" if len(known) > 1 else f"the only value that nodes have is {known_values}"
    return _UnmetReason(path, f"{what}; {values}", _LABEL)


_LABEL = "Use a value that nodes have, or label the nodes."


def _values(requirement: Requirement) -> str:
    return summarize_names([quoted(value) for value in requirement.values], "or")


def _carry(nodes: int) -> str:
    return "1 node has" if nodes == 1 else f"{nodes} nodes have"


def _unreachable_reason(preference: _PreferredTerm, demanded: Sequence[Selector], pods: Pods, nodes: _Nodes) -> _UnmetReason | None:
    """Return the reason if only nodes that the pods may not use satisfy a preference, and the manifest does not contradict itself."""
    meeting = nodes.meeting(preference.selector)
    usable = {node.name for node in nodes.view.usable(pods)} if meeting and demanded else set()
    if not usable or not usable.isdisjoint(meeting):
        return None
    if all(conflict(intersection(each, preference.selector).requirements) for each in demanded):
        return None  # redundant-term reports that.
    if len(meeting) == 1:
        why = f"only node {min(meeting)} satisfies it, but the pods cannot be scheduled there"
    else:
        why = f"the pods cannot be scheduled on any of the {len(meeting)} nodes that satisfy it, such as {min(meeting)}"
    remedy = "Allow the pods there with a toleration or with fewer requirements, or remove the preference."
    return _UnmetReason(preference.path, why, remedy)
