"""Node affinity and topology keys that the API server accepts, but that do not have the intended effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.checks.constraint_selectors import expression_place, has_placeholder, node_label_places, node_selector
from afflint.checks.match import Match, Target, removing, renaming, replacing
from afflint.constraints.nodes import NodeAffinityTerm, node_constraints
from afflint.constraints.pods import pod_constraints
from afflint.controllers.replica_counts import pod_count
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted, summarize_names
from afflint.kube import node_labels
from afflint.kube.constraints import NodeTerm, items
from afflint.kube.label_syntax import is_key, is_value
from afflint.kube.node_labels import ROLES
from afflint.kube.selector_algebra import conflict, implies
from afflint.kube.selectors import Requirement, Selector, describe, intersection, parse_int64
from afflint.kube.single_host import pinned_host
from afflint.manifests.label_places import PREFERRED_NODE_AFFINITY, QUEUED, REQUIRED_NODE_AFFINITY, SPREAD, LabelPlace, topology_keys
from afflint.manifests.manifest import Workload, is_for_openshift
from afflint.yaml.placeholders import is_placeholder, is_unfinished_name

if TYPE_CHECKING:
    from afflint.findings.edits import SymbolicEdit
    from afflint.findings.finding import Severity


def contradictory_requirements(manifest: Workload) -> Iterator[Match]:
    """Report required terms that no node can satisfy, alone or together with the nodeSelector."""
    # A term that contains placeholders, or that the cluster rejects, may be the one that matches.
    required = [term for term in node_constraints(manifest).terms or () if term.selector is not None]
    if not required:
        return
    base = node_selector(manifest)
    faults: list[tuple[NodeAffinityTerm, tuple[Requirement, ...]]] = []
    for term in required:
        if isinstance(term.selector, Selector):
            whole = intersection(base, term.selector).requirements
            clash = conflict(whole)
            if clash and not has_placeholder(Selector(tuple(whole[index] for index in clash))):
                faults.append((term, tuple(whole[index] for index in clash)))
    every = len(faults) == len(required)
    for term, requirements in faults:
        fault = "no node can satisfy" if every else "this ORed term never matches: no node can satisfy"
        described = [quoted(describe(each)) for each in requirements]
        message = f"{fault} {summarize_names(described, 'and also', _MOST_DESCRIBED)}"
        yield Match(_clash_path(term, requirements), message, severity=None if every else "warning")


_MOST_DESCRIBED = 8


def _clash_path(term: NodeAffinityTerm, clash: tuple[Requirement, ...]) -> Path:
    """Return the path of the last of the conflicting requirements in the term."""
    clashing = frozenset(clash)
    places = [expression_place(path, each) for each, path in term.requirements if path is not None and each in clashing]
    return places[-1] if places else term.path


def never_matching_comparison(manifest: Workload) -> Iterator[Match]:
    """Report Gt and Lt with an operand that is not an integer: the term is accepted, but matches no node."""
    for term in manifest.constraints.node_terms:
        for expression in items(term.data, "matchExpressions", term.path):
            operator, values = expression.data.get("operator"), expression.data.get("values")
            if operator not in _COMPARING or type(values) is not list or len(values) != 1:
                continue
            operand = values[0]
            if type(operand) is not str or is_placeholder(operand):
                continue
            # A label value cannot begin with a sign: such an operand is rejected in a required term, but accepted in a preference, which
            # the scheduler then cannot parse.
            if parse_int64(operand) is None or (not term.required and not is_value(operand)):
                message = f"{operator} needs a non-negative integer, but its value is {quoted(operand)}: {_result(term)}"
                yield Match((*expression.path, "values", 0), message)


_COMPARING = ("Gt", "Lt")


def _result(term: NodeTerm) -> str:
    return "the term matches no node" if term.required else "the scheduler cannot parse the preference, so the pods stay Pending"


def unparsable_preference(manifest: Workload) -> Iterator[Match]:
    """Report values in a preferred node term that are not label values: they are never validated, and the scheduler fails on the pod."""
    for term in manifest.constraints.node_terms:
        if term.required:
            continue
        for expression in items(term.data, "matchExpressions", term.path):
            values = expression.data.get("values")
            if expression.data.get("operator") not in ("In", "NotIn") or type(values) is not list:
                continue
            for index, value in enumerate(values):
                if type(value) is str and not is_value(value) and not is_placeholder(value):
                    yield Match((*expression.path, "values", index), f"{quoted(value)} is not a valid label value: {_result(term)}")


def empty_term(manifest: Workload) -> Iterator[Match]:
    """Report node selector terms without requirements, which match no node."""
    nodes = node_constraints(manifest)
    unmatched = all(each.selector is None for each in nodes.terms or ())
    empty = {each.path for each in (*(nodes.terms or ()), *nodes.preferences) if each.selector is None}
    for term in manifest.constraints.node_terms if empty else ():
        if term.path not in empty or term.data.keys() - {"matchExpressions", "matchFields"}:
            continue
        if not term.required:
            message = _EMPTY_PREFERENCE
        elif unmatched:
            message = "an empty term matches no node, and no other term can match: the pods stay Pending"
        else:
            message = "an empty term matches no node; only the other terms take effect"
        yield Match(term.path, message)
    # KubeVirt rejects preferred terms without a preference: see missing-preference.
    for weighted in () if manifest.kind.kubevirt else manifest.constraints.node_preferred:
        if "weight" in weighted.data and weighted.data.get("preference") is None and not weighted.data.keys() - {"weight", "preference"}:
            yield Match(weighted.path, _EMPTY_PREFERENCE)


_EMPTY_PREFERENCE = "an empty preference matches no node, so its weight is never added"


def redundant_term(manifest: Workload) -> Iterator[Match]:
    """Report terms that another term makes redundant, and preferences for what is required or impossible anyway."""
    if manifest.from_cluster:
        return
    # contradictory-requirements reports terms that no node satisfies.
    nodes = node_constraints(manifest)
    required = _comparable(nodes.terms or ())
    for index, (term, parsed) in enumerate(required if len(required) > 1 else ()):
        for other_index, (_, other) in enumerate(required):
            wider = index != other_index and implies(parsed, other)
            if wider and (index > other_index or not implies(other, parsed)):
                message = f"this term has no effect: term {other_index + 1} already matches every node that it matches"
                yield Match(term.path, message, "Remove the term, or narrow the other term.", edits=removing(term.path))
                break
    yield from _platform_in_two_terms(required) if len(nodes.terms or ()) == 2 else ()
    preferred = _comparable(nodes.preferences)
    if preferred and all(isinstance(term.selector, Selector) for term in nodes.terms or ()):
        yield from _preferences(node_selector(manifest), preferred, [parsed for _, parsed in required])
    yield from _repeated_pod_terms(manifest)


def _platform_in_two_terms(required: list[tuple[NodeAffinityTerm, Selector]]) -> Iterator[Match]:
    """Report the operating system and the architecture as two alternatives: every node has both labels, so both are meant."""
    asked = [each for _, parsed in required for each in parsed.requirements]
    if len(required) == len(asked) == 2 and all(each.operator == "In" for each in asked) and {each.key for each in asked} == _PLATFORM:
        first, second = (quoted(describe(each)) for each in asked)
        message = f"a node needs only one of the two terms: {first}, or {second}"
        yield Match(required[1][0].path, message, "Put both requirements into one term if a node needs both.")


_PLATFORM = frozenset((node_labels.OS, node_labels.ARCH))


def _comparable(terms: Sequence[NodeAffinityTerm]) -> list[tuple[NodeAffinityTerm, Selector]]:
    """Return the first terms that some node can satisfy, with their selectors, without very large ones."""
    readable = [(term, term.selector) for term in terms if isinstance(term.selector, Selector)]
    small = [(term, parsed) for term, parsed in readable if sum(len(each.values) for each in parsed.requirements) <= _LARGEST_COMPARED]
    return [(term, parsed) for term, parsed in small if not conflict(parsed.requirements)][:_MOST_COMPARED]


# More than any real manifest has. Each is compared with each, which must stay cheap for a hostile list.
_MOST_COMPARED, _LARGEST_COMPARED = 50, 500


def _preferences(base: Selector, preferred: list[tuple[NodeAffinityTerm, Selector]], required: list[Selector]) -> Iterator[Match]:
    demanded = [intersection(base, each) for each in required] or ([base] if base.requirements else [])
    demanded = [each for each in demanded if not conflict(each.requirements)]
    keys = {requirement.key for each in demanded for requirement in each.requirements}
    for term, parsed in preferred:
        if not any(requirement.key in keys for requirement in parsed.requirements):
            continue  # The required terms do not mention these labels.
        if all(implies(each, parsed) for each in demanded):
            message = "this preference has no effect: every node that the pods may use satisfies it"
            yield Match(term.path, message, "Remove the preference.", edits=removing(term.path[:-1], prune=True))
        elif all(conflict(intersection(each, parsed).requirements) for each in demanded):
            yield Match(
                term.path,
                "this preference has no effect: no node that the pods may use satisfies it",
                "Remove the preference, or relax the required terms.",
                severity="warning",
            )


def _repeated_pod_terms(workload: Workload) -> Iterator[Match]:
    if len(workload.constraints.pod_terms) < 2:
        return
    seen: dict[str, int] = {}
    for term in workload.constraints.pod_terms:
        if term.required:
            position = int(term.path[-1]) + 1
            first = seen.setdefault(f"{term.anti} {sorted(term.data.items(), key=str)}", position)
            if first != position:
                message = f"this term is identical to term {first}"
                yield Match(term.path, message, "Remove or correct the term.", edits=removing(term.path))


def deprecated_node_label(manifest: Workload, target: Target) -> Iterator[Match]:
    """Report deprecated node labels in any constraint."""
    return deprecated_at(node_label_places(manifest), manifest, target)


def deprecated_at(places: tuple[LabelPlace, ...], manifest: Workload, target: Target) -> Iterator[Match]:
    """Report deprecated node labels at some places of a workload."""
    for place in places:
        found = node_labels.deprecated(place.key)
        if found is None or (place.key == node_labels.MASTER and is_for_openshift(manifest)):
            continue
        new, since = found
        if place.key in target.known_labels and new not in target.known_labels:
            continue  # The pools of the run set only the old label.
        if any((each.key == new or _may_become(each.key, new)) and _is_alternative(place, each) for each in places):
            continue  # Both labels are there on purpose, for clusters of any version.
        message = f"the node label {quoted(place.key)} in this {place.what} is deprecated since {since}"
        # Which control planes have the old or the new role label depends on the installer, and a key must not be in a map twice.
        fixable = place.key != node_labels.MASTER and place.key in node_labels.DEPRECATED and not _has_sibling(place, new, places)
        edits = _relabelled(place, new) if fixable else ()
        severity: Severity | None = "info" if place.key in node_labels.SET_BY_EVERY_KUBELET else None
        yield Match(place.path, message, f"Write `{new}`.", key=place.key_of_map, edits=edits, severity=severity)


def _relabelled(place: LabelPlace, key: str) -> tuple[SymbolicEdit, ...]:
    return renaming(place.path, key) if place.key_of_map else replacing(place.path, key)


def _may_become(key: str, new: str) -> bool:
    """Return whether a tool may replace a key by a label, as `${ROLE:=node-role.kubernetes.io/control-plane}`."""
    return new in key and is_placeholder(key)


def _is_alternative(place: LabelPlace, other: LabelPlace) -> bool:
    """Return whether one label may replace the other: in terms that are alternatives or only preferred. The role labels always do."""
    if place.key == node_labels.MASTER:
        return True
    return place.what == other.what and place.group != other.group and place.what in _ALTERNATIVES


_ALTERNATIVES = (
    REQUIRED_NODE_AFFINITY, PREFERRED_NODE_AFFINITY, "required podAntiAffinity", "preferred podAntiAffinity", "preferred podAffinity",
)  # fmt: skip


def _has_sibling(place: LabelPlace, key: str, places: tuple[LabelPlace, ...]) -> bool:
    return any(each.group == place.group and each.key == key for each in places)


def unknown_node_label(manifest: Workload, target: Target) -> Iterator[Match]:
    """Report keys in reserved domains that no component sets."""
    return unknown_at(node_label_places(manifest), target)


def unknown_at(places: tuple[LabelPlace, ...], target: Target) -> Iterator[Match]:
    """Report keys in reserved domains that no component sets, at some places of a workload."""
    for place in places:
        meant = node_labels.suggested_label(place.key)
        if meant is not None and place.key not in target.known_labels:
            message = f"no component sets the node label {quoted(place.key)}, so {_effect(place)}; did you mean {quoted(meant)}?"
            fixable = not (place.key_of_map and _has_sibling(place, meant, places))
            edits = _relabelled(place, meant) if fixable else ()
            yield Match(place.path, message, f"Write `{meant}`.", key=place.key_of_map, edits=edits)


def _effect(place: LabelPlace) -> str:
    if place.excludes:
        return "this excludes no node"
    if not place.required:
        return "this preference is ignored"
    if place.what == QUEUED:
        return "Kueue does not start the pods"
    if place.what == "required podAntiAffinity":
        return "this required podAntiAffinity has no effect"
    return "this term matches no node" if place.what == REQUIRED_NODE_AFFINITY else "the pods stay Pending"


def unlikely_topology_key(manifest: Workload) -> Iterator[Match]:
    """Report topology keys whose values do not distinguish failure domains."""
    for place in topology_keys(manifest.constraints):
        if place.key.startswith(ROLES) and place.required and place.what in _HOLDS_TO_KEY:
            continue  # It restricts the pods to nodes that have the label at all, as OpenShift does with its own.
        why = node_labels.unlikely_domain(place.key)
        if place.what == SPREAD and not is_key(place.key) and not is_placeholder(place.key) and not manifest.kind.kubevirt:
            why = "it is not a valid label key, so no node can have it"  # In pod terms, and by KubeVirt, it is rejected.
        if node_labels.is_usual_on_pods(place.key) and place.key in _keys_asked(manifest, place):
            why = node_labels.LABEL_OF_PODS
        if why is not None:
            yield Match(place.path, f"{quoted(place.key)} in this {place.what} does not define failure domains: {why}")


def negated_pod_affinity(manifest: Workload) -> Iterator[Match]:
    """Report pod affinity that selects pods only by labels that they lack: nearly any pod meets it, so it keeps nothing away."""
    for term in pod_constraints(manifest).terms:
        selector = term.label_selector
        if term.anti or term.match_label_keys or not isinstance(selector, Selector) or not selector.requirements:
            continue
        if all(each.operator in ("NotIn", "DoesNotExist") for each in selector.requirements) and not has_placeholder(selector):
            described = quoted(", ".join(map(describe, selector.requirements)))
            message = (
                f"this {term.name} does not keep the pods away from others: one pod that meets {described} in the same domain is enough"
            )
            yield Match((*term.path, "labelSelector"), message, key=True)


_HOLDS_TO_KEY = ("required podAffinity", SPREAD)


def _keys_asked(workload: Workload, place: LabelPlace) -> set[str]:
    """Return the labels by which the term or constraint of a topology key selects pods."""
    pods = pod_constraints(workload)
    selectors = {**{each.path: each.label_selector for each in pods.terms}, **{each.path: each.label_selector for each in pods.spreads}}
    parsed = selectors.get(place.group)
    return {requirement.key for requirement in parsed.requirements} if isinstance(parsed, Selector) else set()


def pinned_node(manifest: Workload) -> Iterator[Match]:
    """Report templates with a nodeName, which bypasses the scheduler, and replicas that must all run on one host."""
    if manifest.from_cluster:
        return
    name = manifest.pod.get("nodeName")
    may_name_node = manifest.kind.name in _MAY_NAME_NODES or manifest.kind.kubevirt
    if type(name) is str and name and not is_unfinished_name(name) and not may_name_node:
        assigned = f"nodeName assigns every pod of this {manifest.kind.name} to {quoted(name)}"
        message = f"{assigned} and bypasses the scheduler, which checks taints and free resources"
        yield Match((*manifest.pod_path, "nodeName"), message)
    pin = pinned_host(manifest.constraints)
    if pin is not None:
        number = pod_count(manifest).number or 0
        if number > 1:
            path, host = pin
            remedy = "Keep the replicas on one host only if they need its disk or device; otherwise select a label that several nodes have."
            yield Match(path, f"all {number} replicas must run on the single host {quoted(host)}", remedy)


_MAY_NAME_NODES = ("Pod", "PodTemplate")


def hard_anti_affinity_topology(manifest: Workload) -> Iterator[Match]:
    """Report required anti-affinity over anything but the hostname, where the admission plugin of that name forbids it."""
    for term in pod_constraints(manifest).terms:
        key = term.topology_key
        if term.anti and term.required and key and key != node_labels.HOSTNAME:
            message = f"the admission plugin LimitPodHardAntiAffinityTopology rejects pods with required podAntiAffinity over {quoted(key)}"
            yield Match((*term.path, "topologyKey"), message)
