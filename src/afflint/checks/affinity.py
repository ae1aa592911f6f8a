"""Node affinity and topology keys that are accepted and cannot do what they are meant to do."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.constraint_selectors import (
    NodeSelection,
    has_placeholder,
    node_label_places,
    node_selections,
    node_selector,
    says,
    topology_keys,
)
from afflint.checks.match import Match, Target
from afflint.checks.wording import listing, quoted
from afflint.kube import node_labels
from afflint.kube.constraints import NodeTerm, items
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.selectors import Malformed, Requirement, Selector, both, conflict, implies, parse_int64, requirement_paths


def contradictory_requirements(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Required terms that no node can satisfy, alone or together with the nodeSelector."""
    if not isinstance(manifest, Workload):
        return
    required = [each for each in node_selections(manifest) if each.term.required]
    base = node_selector(manifest)
    faults: list[tuple[NodeSelection, tuple[Requirement, ...]]] = []
    for each in required:
        if isinstance(each.parsed, Selector) and not has_placeholder(each.parsed):
            whole = both(base, each.parsed).requirements
            clash = conflict(whole)
            if clash:
                faults.append((each, tuple(whole[index] for index in clash)))
    every = len(faults) == sum(isinstance(each.parsed, Selector) for each in required)
    for each, clash_ in faults:
        alone = "no node can satisfy" if every else "this one of the ORed terms can never match: no node can satisfy"
        message = f"{alone} {listing((quoted(says(one)) for one in clash_), 'and also')}"
        remedy = "Terms of nodeSelectorTerms are ORed, expressions inside one term and the nodeSelector are ANDed: split or drop one."
        yield Match(_clash_path(each, clash_), message, remedy, severity=None if every else "warning")


def _clash_path(selection: NodeSelection, clash: tuple[Requirement, ...]) -> tuple[str | int, ...]:
    """The last of the conflicting requirements that stands in the term."""
    assert isinstance(selection.parsed, Selector)
    paths = requirement_paths(selection.term.data)
    positions = [index for index, each in enumerate(selection.parsed.requirements) if each in clash and index < len(paths)]
    if not positions:
        return selection.term.path
    path = (*selection.term.path, *paths[positions[-1]])
    return (*path, "values") if selection.parsed.requirements[positions[-1]].values else (*path, "operator")


def never_matching_comparison(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Gt and Lt with an operand that is no whole number: accepted, and then no node matches."""
    if not isinstance(manifest, Workload):
        return
    for term in manifest.constraints.node_terms:
        for expression in items(term.data, "matchExpressions", term.path):
            operator, values = expression.data.get("operator"), expression.data.get("values")
            if operator not in ("Gt", "Lt") or type(values) is not list or len(values) != 1:
                continue
            operand = values[0]
            if type(operand) is str and (parse_int64(operand) is None or (not term.required and not operand[:1].isdigit())):
                result = (
                    "the term matches no node"
                    if term.required
                    else "the scheduler cannot read the preference and does not place the pod at all"
                )
                message = f"{operator} compares whole numbers, and {quoted(operand)} is none the scheduler reads: {result}"
                yield Match((*expression.path, "values", 0), message)


def unparsable_preference(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Values in a preferred node term that are no label values: never checked, and the scheduler fails on the pod."""
    for selection in node_selections(manifest):
        if selection.term.required or not isinstance(selection.parsed, Malformed) or selection.parsed.mistyped:
            continue
        path = selection.parsed.path
        if selection.parsed.problem == "is no label value" and len(path) > 2 and path[-2] == "values":
            value = _at(selection.term, path)
            if type(value) is str and not _compares(selection.term, path):
                message = f"{quoted(value)} is no label value: the scheduler cannot read the preference and does not place the pod at all"
                yield Match((*selection.term.path, *path), message)


def _at(term: NodeTerm, path: tuple[str | int, ...]) -> object:
    value: object = term.data
    for step in path:
        value = value[step]  # type: ignore[index]
    return value


def _compares(term: NodeTerm, path: tuple[str | int, ...]) -> bool:
    expression = _at(term, path[:-2])
    return isinstance(expression, dict) and expression.get("operator") in ("Gt", "Lt")


def empty_term(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Node selector terms without requirements, which match no node."""
    selections = node_selections(manifest)
    required = [each for each in selections if each.term.required]
    for each in selections:
        if each.parsed is not None or each.term.data.keys() - {"matchExpressions", "matchFields"}:
            continue
        if not each.term.required:
            message = "an empty preference matches no node, so its weight is never given"
        elif all(other.parsed is None for other in required):
            message = "an empty term matches no node, and there is no other: the pod can go nowhere"
        else:
            message = "an empty term matches no node; only the other terms count"
        yield Match(each.term.path, message)


def redundant_term(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Terms that another makes superfluous, and preferences for what is required, or impossible, anyway."""
    if not isinstance(manifest, Workload):
        return
    selections = [(each.term, each.parsed) for each in node_selections(manifest) if isinstance(each.parsed, Selector)]
    required = [(term, parsed) for term, parsed in selections if term.required and isinstance(parsed, Selector)]
    for index, (term, parsed) in enumerate(required):
        for other_index, (_, other) in enumerate(required):
            wider = index != other_index and implies(parsed, other)
            if wider and (index > other_index or not implies(other, parsed)):
                message = f"this term adds nothing: term {other_index + 1} of the ORed terms already lets in every node that it lets in"
                yield Match(term.path, message, "Remove the term, or narrow the other one.")
                break
    yield from _preferences(manifest, selections, [parsed for _, parsed in required])


def _preferences(workload: Workload, selections: list[tuple[NodeTerm, Selector]], required: list[Selector]) -> Iterator[Match]:
    base = node_selector(workload)
    demanded = [both(base, each) for each in required] or ([base] if base.requirements else [])
    if not demanded:
        return
    for term, parsed in selections:
        if term.required or has_placeholder(parsed):
            continue
        if all(implies(each, parsed) for each in demanded):
            yield Match(term.path, "this preference is required anyway: every node that the pod may use has it", "Remove the preference.")
        elif all(conflict(both(each, parsed).requirements) for each in demanded):
            yield Match(
                term.path,
                "this preference can never count: no node that the pod may use has it",
                "Remove the preference, or loosen what is required.",
                severity="warning",
            )


def deprecated_node_label(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Deprecated node labels wherever a node label may stand."""
    places = list(node_label_places(manifest))
    if not places:
        return
    named = {key for _, key, _, _ in places}
    for path, key, what, is_key in places:
        new = node_labels.DEPRECATED.get(key)
        if new is None:
            continue
        if key == node_labels.MASTER and node_labels.CONTROL_PLANE in named:
            continue  # Both are named on purpose, for clusters of any age.
        message = f"the node label {quoted(key)} in this {what} is deprecated since Kubernetes {node_labels.DEPRECATED_SINCE[key]}"
        # Which control planes carry the old or the new role label depends on who installed them.
        replacement = None if key == node_labels.MASTER else new
        yield Match(path, message, f"Write `{new}`.", key=is_key, replacement=replacement)


def unknown_node_label(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Keys in reserved domains that nobody sets."""
    for path, key, what, is_key in node_label_places(manifest):
        meant = node_labels.meant(key)
        if meant is not None:
            effect = _EFFECTS.get(what, "no node matches")
            message = f"no node carries the label {quoted(key)}, so {effect}; did you mean {quoted(meant)}?"
            yield Match(path, message, f"Write `{meant}`.", key=is_key, replacement=meant)


_EFFECTS = {
    "required podAntiAffinity": "this required podAntiAffinity keeps nothing apart",
    "required podAffinity": "the pods can go nowhere",
    "preferred podAffinity": "this preference is ignored",
    "preferred podAntiAffinity": "this preference is ignored",
    "topology spread constraint": "a required spread goes nowhere and a preferred one is ignored",
}


def unlikely_topology_key(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Topology keys whose values do not tell failure domains apart."""
    if isinstance(manifest, Workload):
        for path, key, what, _ in topology_keys(manifest):
            why = node_labels.unlikely_domain(key)
            if why is not None:
                yield Match(path, f"{quoted(key)} in this {what} makes no failure domains: {why}")


def pinned_node(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Templates that name their node, past the scheduler, and replicas that are all required to run on one host."""
    if not isinstance(manifest, Workload) or manifest.from_cluster:
        return
    name = manifest.pod.get("nodeName")
    if type(name) is str and name and manifest.kind.name != "Pod" and not manifest.kind.kubevirt and manifest.kind.name != "PodTemplate":
        message = (
            f"nodeName puts every pod of this {manifest.kind.name} on {quoted(name)}, past the scheduler, its taints and its resources"
        )
        yield Match((*manifest.pod_path, "nodeName"), message)
    if manifest.replicas > 1:
        pin = pinned_host(manifest)
        if pin is not None:
            path, host = pin
            yield Match(path, f"all {manifest.replicas} replicas are required to run on the one host {quoted(host)}")


def pinned_host(workload: Workload) -> tuple[tuple[str | int, ...], str] | None:
    """The one host that a nodeSelector or the required node affinity leaves, with the path of its name."""
    selector = workload.constraints.node_selector
    host = selector.data.get(node_labels.HOSTNAME) if selector else None
    if selector and type(host) is str and host:
        return (*selector.path, node_labels.HOSTNAME), host
    required = [term for term in workload.constraints.node_terms if term.required]
    if len(required) != 1:
        return None
    for field, key in (("matchExpressions", node_labels.HOSTNAME), ("matchFields", "metadata.name")):
        for expression in items(required[0].data, field, required[0].path):
            values = expression.data.get("values")
            if expression.data.get("key") == key and expression.data.get("operator") == "In" and type(values) is list and len(values) == 1:
                return (*expression.path, "values", 0), str(values[0])
    return None


def hard_anti_affinity_topology(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Required anti-affinity over anything but the hostname, where the admission plugin of that name forbids it."""
    if isinstance(manifest, Workload):
        for term in manifest.constraints.pod_terms:
            key = term.data.get("topologyKey")
            if term.anti and term.required and type(key) is str and key and key != node_labels.HOSTNAME:
                message = f"LimitPodHardAntiAffinityTopology refuses pods with required podAntiAffinity over {quoted(key)}"
                yield Match((*term.path, "topologyKey"), message)
