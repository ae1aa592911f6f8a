"""Policies about the node constraints of pods: the labels that select nodes, the taints that pods tolerate, nodes by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.checks.match import Match, inserting
from afflint.checks.policies.node_requirements import name_path
from afflint.checks.policies.subject import PolicySubject
from afflint.constraints.nodes import NodeRequirement
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted, summarize_names
from afflint.kube.node_labels import HOSTNAME
from afflint.kube.selectors import NODE_NAME, Requirement, is_met
from afflint.kube.taints import EFFECTS, Toleration, implies
from afflint.policies.check_params import (
    AllowedToleration,
    AllowedTolerations,
    ForbiddenNodeLabels,
    ForbiddenTolerations,
    NoPinning,
    RequiredTolerations,
)
from afflint.policies.params import ANY
from afflint.source.globs import name_matcher
from afflint.yaml.placeholders import is_placeholder

_ASKING = ("In", "Exists", "Gt", "Lt")


def forbidden_node_labels(case: PolicySubject, params: ForbiddenNodeLabels) -> Iterator[Match]:
    """Report node constraints that select a forbidden label, or allow a forbidden value of it."""
    if case.node_keys.isdisjoint(params.labels) and ANY not in params.labels:
        return
    reported: set[Path] = set()
    for asked, required in case.node_choices:
        if not required and not params.preferred:
            continue
        for key, values in _forbidden_keys(asked, params):
            found = _forbidden(asked, key, values)
            if found is not None and found[0] not in reported:
                reported.add(found[0])
                path, value = found
                what = f"`{key}={value}`" if value is not None else f"the label {quoted(key)}"
                prefers = "requires" if required else "prefers"
                yield Match(path, f"{case.title} {prefers} nodes with {what}, which the policy forbids in node constraints")


def _forbidden_keys(asked: Sequence[NodeRequirement], params: ForbiddenNodeLabels) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the forbidden labels with their values; for ``*``, all labels that are asked for."""
    for key, values in params.labels.items():
        if key == ANY:
            excepted = name_matcher(params.except_)
            keys = dict.fromkeys(each.requirement.key for each in asked if not each.requirement.field)
            yield from ((own, values) for own in keys if excepted is None or not excepted(own))
        else:
            yield key, values


def _forbidden(asked: Sequence[NodeRequirement], key: str, values: Sequence[str]) -> tuple[Path, str | None] | None:
    """Return the path of the requirement that selects a label, and the forbidden value that it allows; None if nothing is forbidden."""
    about = [each for each in asked if each.requirement.key == key and not each.requirement.field]
    asking = next((each for each in about if each.requirement.operator in _ASKING), None)
    if asking is None or asking.path is None or any(is_placeholder(value) for each in about for value in each.requirement.values):
        return None
    if not values:
        return _place(asking, None), asking.requirement.values[0] if asking.requirement.operator == "In" else None
    possible = next((value for value in values if all(is_met(each.requirement, value) for each in about)), None)
    return None if possible is None else (_place(asking, possible), possible)


def _place(asked: NodeRequirement, value: str | None) -> Path:
    """Return the path of a value in a requirement, or of its key."""
    assert asked.path is not None
    if asked.path[-1] == asked.requirement.key:  # An entry of the nodeSelector.
        return asked.path
    if value in asked.requirement.values:
        return (*asked.path, "values", asked.requirement.values.index(value or ""))
    return (*asked.path, "key")


def allowed_tolerations(case: PolicySubject, params: AllowedTolerations) -> Iterator[Match]:
    """Report tolerations of taints that the policy does not allow."""
    for path, own in _tolerations_of(case):
        # Another entry may allow each of the effects.
        parts = () if own.effect else [own._replace(effect=effect) for effect in EFFECTS]
        if not (_is_allowed(own, params) or (parts and all(_is_allowed(part, params) for part in parts))):
            yield Match(path, f"{case.title} tolerates {_describe_toleration(own)}, which the policy does not allow")


def _tolerations_of(case: PolicySubject) -> Iterator[tuple[Path, Toleration]]:
    """Yield the tolerations of the pods with their paths, without placeholders and those that a cluster has added."""
    for item in case.constraints.tolerations:
        fields = [item.data.get(field) for field in Toleration._fields]
        if not all(type(each) is str or each is None for each in fields) or any(each and is_placeholder(str(each)) for each in fields):
            continue
        own = Toleration(*[str(each or "") for each in fields])
        if not (case.from_cluster and own.key.startswith("node.kubernetes.io/")):  # Admission and controllers add these to pods.
            yield item.path, own


def forbidden_tolerations(case: PolicySubject, params: ForbiddenTolerations) -> Iterator[Match]:
    """Report tolerations of taints that the policy forbids."""
    for path, own in _tolerations_of(case):
        if any(_may_tolerate(own, each) for each in params.tolerations):
            yield Match(path, f"{case.title} tolerates {_describe_toleration(own)}, which the policy forbids")


def _may_tolerate(own: Toleration, forbidden: AllowedToleration) -> bool:
    """Return whether a toleration tolerates one of the taints that an entry describes."""
    entry = forbidden.toleration
    if own.effect and entry.effect and own.effect != entry.effect:
        return False
    named = name_matcher((forbidden.key,))
    if own.key and not (forbidden.key == ANY or (named is not None and named(own.key))):
        return False
    return own.operator not in ("", "Equal") or entry.operator == "Exists" or own.value == entry.value


def required_tolerations(case: PolicySubject, params: RequiredTolerations) -> Iterator[Match]:
    """Report pods that do not tolerate a taint."""
    known = case.operator
    if known is None:
        return
    every = [Toleration(*[str(item.data.get(field) or "") for field in Toleration._fields]) for item in known.tolerations]
    every += [Toleration(*[str(each.get(field) or "") for field in Toleration._fields]) for each in case.given_tolerations]
    if any(is_placeholder(value) for each in every for value in each):
        return
    for wanted in params.tolerations:
        if not any(implies(own, wanted) for own in every):
            entry = {field: value for field, value in wanted._asdict().items() if value}
            edits = () if case.pods.operated else inserting((*case.pod_path, "tolerations"), len(case.constraints.tolerations), entry)
            message = f"{case.title} does not tolerate {_describe_toleration(wanted)}, which the policy requires"
            yield Match(name_path(case), message, edits=edits)


def _is_allowed(own: Toleration, params: AllowedTolerations) -> bool:
    return any(_allows(each, own) for each in params.tolerations)


def _allows(allowed: AllowedToleration, own: Toleration) -> bool:
    """Return whether an entry allows everything that a toleration tolerates."""
    if allowed.key == "*":
        return implies(allowed.toleration, own)
    named = name_matcher((allowed.key,))
    return bool(own.key) and named is not None and bool(named(own.key)) and implies(allowed.toleration._replace(key=own.key), own)


def _describe_toleration(toleration: Toleration) -> str:
    """Describe a toleration, such as ``the taint `dedicated=db:NoSchedule```, without its empty fields."""
    if not toleration.key:
        return f"every taint with the effect {toleration.effect}" if toleration.effect else "every taint"
    value = f"={toleration.value}" if toleration.operator in ("", "Equal") and toleration.value else ""
    return f"the taint {quoted(f'{toleration.key}{value}' + (f':{toleration.effect}' if toleration.effect else ''))}"


def no_pinning(case: PolicySubject, params: NoPinning) -> Iterator[Match]:
    """Report pods that are assigned to nodes by name: by nodeName, or by a requirement on the host name."""
    name = case.pod.get("nodeName")
    # In an object exported from a cluster the scheduler has set it.
    if type(name) is str and name and not is_placeholder(name) and not case.from_cluster:
        yield Match((*case.pod_path, "nodeName"), f"{case.title} is assigned to the node {quoted(name)} by name")
    if case.node_keys.isdisjoint((HOSTNAME, NODE_NAME)):
        return
    reported: set[Path] = set()
    for asked, required in case.node_choices:
        for each in asked if required else ():
            hosts = _hosts(each.requirement)
            if hosts and each.path is not None and each.path not in reported and (params.several or len(hosts) == 1):
                reported.add(each.path)
                path = each.path if each.path[-1] == HOSTNAME else (*each.path, "values", 0)
                names = summarize_names([quoted(host) for host in hosts], "or")
                yield Match(path, f"{case.title} is restricted to the node{'s' if len(hosts) > 1 else ''} {names} by name")


def _hosts(requirement: Requirement) -> tuple[str, ...]:
    """Return the nodes that a requirement names; none if it names other things, or contains a placeholder."""
    by_name = requirement.key == (NODE_NAME if requirement.field else HOSTNAME) and requirement.operator == "In"
    return requirement.values if by_name and not any(map(is_placeholder, requirement.values)) else ()
