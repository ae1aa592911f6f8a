"""The small changes of a pod spec that may let its pods run: which constraints it has, and how each can be relaxed or corrected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.constraints.nodes import parse_node_constraints
from afflint.constraints.pods import SOFT, TopologySpreadConstraint, parse_pod_constraints
from afflint.findings.edits import Insert, Remove, Rename, Replace
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.findings.similarity import is_likely_typo
from afflint.kube.constraints import PREFERRED, ConstraintItem, Constraints, constraints_of
from afflint.kube.node_labels import CONTROL_PLANE, MASTER, domain_noun, suggested_label
from afflint.kube.quantities import Quantity, parse_quantity
from afflint.kube.selectors import Malformed, Requirement, Selector, describe_briefly, first_unmet
from afflint.kube.taints import BLOCKING_EFFECTS, Taint, Toleration, condition_end, format_taint, parse_tolerations, tolerated, tolerates
from afflint.placement.changes import CORRECTION, PREFERENCE, REMOVAL, REQUEST, SETTING, TOLERATION, SmallChange
from afflint.scheduler.interpod_affinity import INTER_POD_AFFINITY
from afflint.scheduler.node_fit import NODE_AFFINITY, TAINT_TOLERATION
from afflint.scheduler.node_resources import NODE_RESOURCES_FIT
from afflint.scheduler.nodes import Node
from afflint.scheduler.requests import CPU, MEMORY
from afflint.scheduler.topology_spread import POD_TOPOLOGY_SPREAD
from afflint.yaml.document import list_at, map_at, text_at

_WEIGHT = 100
_MOST_VALUES = 3
"""How many other values of one number are tried."""


def manifest_changes(spec: Mapping[str, Any], nodes: Sequence[Node]) -> Iterator[SmallChange]:
    """Yield the changes of a pod spec that may help on these nodes, in the order of the constraints."""
    constraints = constraints_of(dict(spec), ())
    yield from _node_changes(constraints, spec, nodes)
    yield from _toleration_changes(spec, nodes)
    yield from _pod_changes(constraints, spec, nodes)
    node_name = text_at(spec, "nodeName")
    if node_name:
        yield SmallChange(f"remove {quoted(f'nodeName: {node_name}')}", REMOVAL, "", (Remove(("nodeName",)),))


# --- nodes -------------------------------------------------------------------------------------------------------------


def _node_changes(constraints: Constraints, spec: Mapping[str, Any], nodes: Sequence[Node]) -> Iterator[SmallChange]:
    parsed = parse_node_constraints(constraints)
    if isinstance(parsed.selector, Selector) and parsed.selector_path is not None:
        for requirement in _unmet(parsed.selector.requirements, nodes):
            yield from _selector_changes(requirement, (*parsed.selector_path, requirement.key), nodes)
    for term in parsed.terms or ():
        places = {item.requirement: item.path for item in term.requirements}
        for requirement in _unmet(places, nodes):
            path = places[requirement]
            if path is not None:
                yield from _expression_changes(requirement, path, nodes)
    required = constraints.node_required
    if required is not None and parsed.terms:
        terms = [term.data for term in constraints.node_terms if term.required]
        at = (*required.path[:-1], PREFERRED)
        first = len(list_at(spec, *at))
        inserts = [Insert(at, first + number, {"weight": _WEIGHT, "preference": data}) for number, data in enumerate(terms)]
        yield SmallChange("make the required node affinity preferred", PREFERENCE, NODE_AFFINITY, (*inserts, Remove(required.path)))


def _unmet(requirements: Iterable[Requirement], nodes: Sequence[Node]) -> list[Requirement]:
    """Return the requirements that some node does not meet."""
    return [each for each in requirements if any(first_unmet((each,), node.labels, node.name) is not None for node in nodes)]


def _selector_changes(requirement: Requirement, path: Path, nodes: Sequence[Node]) -> Iterator[SmallChange]:
    key, value = requirement.key, requirement.values[0] if requirement.values else ""
    for other in _similar_values(key, value, nodes):
        text = f"change {quoted(f'{key}: {value}')} to {quoted(f'{key}: {other}')} in nodeSelector"
        yield SmallChange(text, CORRECTION, NODE_AFFINITY, (Replace(path, other),))
    for other in _similar_keys(requirement, nodes):
        text = f"change the key {quoted(key)} to {quoted(other)} in nodeSelector"
        yield SmallChange(text, CORRECTION, NODE_AFFINITY, (Rename(path, other),))
    yield SmallChange(f"remove {quoted(f'{key}: {value}')} from nodeSelector", REMOVAL, NODE_AFFINITY, (Remove(path, prune=True),))


def _expression_changes(requirement: Requirement, path: Path, nodes: Sequence[Node]) -> Iterator[SmallChange]:
    words = "the required node affinity"
    if requirement.operator == "In" and not requirement.field:
        for index, value in enumerate(requirement.values):
            for other in _similar_values(requirement.key, value, nodes):
                text = f"change the value {quoted(value)} of {quoted(requirement.key)} to {quoted(other)} in {words}"
                yield SmallChange(text, CORRECTION, NODE_AFFINITY, (Replace((*path, "values", index), other),))
    if not requirement.field:
        for other in _similar_keys(requirement, nodes):
            text = f"change the key {quoted(requirement.key)} to {quoted(other)} in {words}"
            yield SmallChange(text, CORRECTION, NODE_AFFINITY, (Replace((*path, "key"), other),))
    yield SmallChange(f"remove {quoted(describe_briefly(requirement))} from {words}", REMOVAL, NODE_AFFINITY, (Remove(path, prune=True),))


def _similar_values(key: str, value: str, nodes: Sequence[Node]) -> list[str]:
    """Return the values that nodes have for a label, and that this value probably means; none if some node has the value itself."""
    values = sorted({node.labels[key] for node in nodes if key in node.labels})
    return [] if value in values else [each for each in values if is_likely_typo(value, each)]


def _similar_keys(requirement: Requirement, nodes: Sequence[Node]) -> list[str]:
    """Return the labels of nodes that a label which no node has probably means, and that have the required value."""
    similar = _meant_keys(requirement.key, nodes)
    return [key for key in similar if any(first_unmet((requirement._replace(key=key),), node.labels, node.name) is None for node in nodes)]


def _meant_keys(key: str, nodes: Sequence[Node]) -> list[str]:
    """Return the labels of nodes that a label which no node has probably means; none if some node has it."""
    keys = {label for node in nodes for label in node.labels}
    if key in keys:
        return []
    return [each for each in sorted(keys) if each == suggested_label(key) or is_likely_typo(key, each)]


# --- taints ------------------------------------------------------------------------------------------------------------


def _toleration_changes(spec: Mapping[str, Any], nodes: Sequence[Node]) -> Iterator[SmallChange]:
    tolerations = parse_tolerations(spec.get("tolerations"))
    if isinstance(tolerations, Malformed):
        return
    taints = dict.fromkeys(taint for node in nodes for taint in node.taints if taint.effect in BLOCKING_EFFECTS)
    for taint in taints:
        if taint.key in (CONTROL_PLANE, MASTER) or condition_end(taint.key) or tolerated(taint, tolerations):
            continue
        shown = format_taint(taint)
        yield from _corrected_tolerations(taint, shown, tolerations)
        value = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
        added = {"key": taint.key, **value, "effect": taint.effect}
        edit = Insert(("tolerations",), len(tolerations), added)
        yield SmallChange(f"tolerate the taint {quoted(shown)}", TOLERATION, TAINT_TOLERATION, (edit,))


def _corrected_tolerations(taint: Taint, shown: str, tolerations: Sequence[Toleration]) -> Iterator[SmallChange]:
    """Yield the corrections of one field of a toleration that make it match the taint."""
    for index, each in enumerate(tolerations):
        for field, is_value in (("key", taint.key), ("value", taint.value), ("effect", taint.effect)):
            was = getattr(each, field)
            typo = is_likely_typo(was, is_value) if field != "effect" else bool(was) and was in BLOCKING_EFFECTS
            if typo and tolerates(each._replace(**{field: is_value}), taint):
                text = f"change the {field} {quoted(was)} of the toleration to {quoted(is_value)}, for the taint {quoted(shown)}"
                yield SmallChange(text, CORRECTION, TAINT_TOLERATION, (Replace(("tolerations", index, field), is_value),))


# --- other pods --------------------------------------------------------------------------------------------------------


def _topology_key_changes(constraints: Constraints, nodes: Sequence[Node]) -> Iterator[SmallChange]:
    found: list[tuple[str, Path, dict[str, Any]]] = [
        (INTER_POD_AFFINITY, each.path, each.data) for each in constraints.pod_terms if each.required
    ]
    found += [(POD_TOPOLOGY_SPREAD, each.path, each.data) for each in constraints.spreads]
    for plugin, path, data in found:
        key = text_at(data, "topologyKey")
        for other in _meant_keys(key, nodes) if key else ():
            text = f"change the topologyKey {quoted(key)} to {quoted(other)}"
            yield SmallChange(text, CORRECTION, plugin, (Replace((*path, "topologyKey"), other),))


def _pod_changes(constraints: Constraints, spec: Mapping[str, Any], nodes: Sequence[Node]) -> Iterator[SmallChange]:
    parsed = parse_pod_constraints(constraints)
    yield from _topology_key_changes(constraints, nodes)
    for item, spread in zip(constraints.spreads, parsed.spreads, strict=True):
        if not spread.hard:
            continue
        over = f"the spread constraint over {_domains(spread.topology_key)}"
        if spread.node_taints_policy != "Honor":
            policy = "nodeTaintsPolicy"
            edit = Replace((*item.path, policy), "Honor") if policy in item.data else Insert(item.path, policy, "Honor")
            yield SmallChange(f"add `nodeTaintsPolicy: Honor` to {over}", SETTING, POD_TOPOLOGY_SPREAD, (edit,))
        yield from _looser_spreads(item, spread, over, nodes)
        # The API server rejects minDomains in such a constraint.
        rest = (Remove((*item.path, "minDomains")),) if "minDomains" in item.data else ()
        edits = (Replace((*item.path, "whenUnsatisfiable"), SOFT), *rest)
        yield SmallChange(f"set `whenUnsatisfiable: ScheduleAnyway` in {over}", PREFERENCE, POD_TOPOLOGY_SPREAD, edits)
    for found, term in zip(constraints.pod_terms, parsed.terms, strict=True):
        if term.required:
            at = (*found.path[:-2], PREFERRED)
            preferred = Insert(at, len(list_at(spec, *at)), {"weight": _WEIGHT, "podAffinityTerm": found.data})
            text = f"make the {term.name} over {_domains(term.topology_key)} preferred"
            yield SmallChange(text, PREFERENCE, INTER_POD_AFFINITY, (preferred, Remove(found.path, prune=True)))


def _looser_spreads(item: ConstraintItem, spread: TopologySpreadConstraint, over: str, nodes: Sequence[Node]) -> Iterator[SmallChange]:
    """Yield smaller values of minDomains and larger ones of maxSkew, those next to the present one first."""
    least, skew = item.data.get("minDomains"), item.data.get("maxSkew")
    domains = len({node.labels[spread.topology_key] for node in nodes if spread.topology_key in node.labels})
    if type(least) is int:
        for value in range(min(least - 1, domains), 0, -1)[:_MOST_VALUES]:
            edit = Replace((*item.path, "minDomains"), value)
            text = f"lower `minDomains` from {least} to {value} in {over}"
            yield SmallChange(text, SETTING, POD_TOPOLOGY_SPREAD, (edit,), field=f"minDomains {item.path}")
    if type(skew) is int:
        for value in range(skew + 1, skew + 1 + _MOST_VALUES):
            text = f"raise `maxSkew` from {skew} to {value} in {over}"
            edit = Replace((*item.path, "maxSkew"), value)
            yield SmallChange(text, SETTING, POD_TOPOLOGY_SPREAD, (edit,), field=f"maxSkew {item.path}")


def _domains(key: str) -> str:
    return f"{domain_noun(key)}s"


# --- resources ---------------------------------------------------------------------------------------------------------


class LowerRequest(NamedTuple):
    """The request of a container for a resource that can be lowered. Amounts are thousandths of a CPU, MiB of memory."""

    container: int
    name: str
    resource: str
    amount: int
    has_request: bool
    """Whether the container sets it; otherwise its limit is its request."""

    def at(self, amount: int) -> SmallChange:
        """Return the change to a lower amount."""
        after, before = _quantity(self.resource, amount), _quantity(self.resource, self.amount)
        path = ("containers", self.container, "resources", "requests")
        edit = Replace((*path, self.resource), after) if self.has_request else Insert(path, self.resource, after)
        noun = "CPU" if self.resource == CPU else self.resource
        text = f"lower the {noun} request of the container {quoted(self.name)} from {before} to {after}"
        return SmallChange(text, REQUEST, NODE_RESOURCES_FIT, (edit,))


def lower_request(spec: Mapping[str, Any], resource: str) -> LowerRequest | None:
    """Return the largest request of the containers for CPU or memory; None if no container requests any."""
    found = []
    for index, container in enumerate(list_at(spec, "containers")):
        requests, limits = map_at(container, "resources", "requests"), map_at(container, "resources", "limits")
        quantity = parse_quantity(requests.get(resource, limits.get(resource)))
        if quantity is not None and resource in (CPU, MEMORY):
            amount = quantity.milli if resource == CPU else quantity.value >> 20
            name = text_at(container, "name") or str(index)
            found.append(LowerRequest(index, name, resource, amount, resource in requests))
    return max(found, key=lambda each: each.amount, default=None)


def _quantity(resource: str, amount: int) -> str:
    return str(Quantity(amount * 10**6) if resource == CPU else Quantity((amount << 20) * 10**9, binary=True))
