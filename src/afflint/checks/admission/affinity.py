"""Node and pod affinity: weights, topology keys, operators and their values, terms, matchLabelKeys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from afflint.checks.admission import tolerations
from afflint.checks.admission.refusal_time import with_rejection_note
from afflint.checks.admission.selectors import label_key_carriers, workload_selectors
from afflint.checks.admission.spelling import (
    EXPRESSION,
    NODE_SELECTOR,
    POD_TERM,
    SPREAD,
    WEIGHTED_NODE_TERM,
    WEIGHTED_POD_TERM,
    has_unknown,
    is_missing,
    misspelt_value,
)
from afflint.checks.admission.spread import fills_in
from afflint.checks.match import Match, Target
from afflint.controllers.pod_labels import added_labels
from afflint.findings.phrases import join_words, quoted
from afflint.kube.constraints import ConstraintItem, PodTerm, items
from afflint.kube.label_syntax import is_subdomain
from afflint.kube.taints import COMPARISON_GATE, COMPARISONS
from afflint.kube.types import INT32
from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at, texts_at
from afflint.yaml.placeholders import is_placeholder, is_unfinished_name

_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_OTHER_OPERATORS = {
    "=": ("In", "Equal"),
    "==": ("In", "Equal"),
    "Equal": ("In",),
    "Equals": ("In", "Equal"),
    "!=": ("NotIn",),
    "NotExists": ("DoesNotExist",),
}


def weight_out_of_range(workload: Workload) -> Iterator[Match]:
    """Report preferred terms whose weight is missing or not from 1 to 100."""
    constraints = workload.constraints
    for terms, struct in ((constraints.node_preferred, WEIGHTED_NODE_TERM), (constraints.pod_preferred, WEIGHTED_POD_TERM)):
        for weighted in terms:
            weight, path = weighted.data.get("weight"), (*weighted.path, "weight")
            if weight is None:
                if is_missing(workload, weighted, "weight", struct):
                    yield Match(path, "this preferred term has no weight", "Add `weight:` with a number from 1 to 100.")
            elif INT32.fits(weight) and not 1 <= weight <= 100:
                nearer = 100 if weight > 100 else 1
                yield Match(
                    path, f"the weight {quoted(weight)} is outside the range 1 to 100", f"Write a number from 1 to 100, such as {nearer}."
                )


def empty_topology_key(workload: Workload) -> Iterator[Match]:
    """Report pod affinity terms and spread constraints without a topologyKey."""
    for term in workload.constraints.pod_terms:
        # `missing-term-wrapper` reports a required term with podAffinityTerm in it.
        if not term.data.get("topologyKey") and "podAffinityTerm" not in term.data:
            yield from _no_topology_key(workload, term, f"{term.name} term")
    for spread in workload.constraints.spreads:
        if not spread.data.get("topologyKey") and not fills_in(workload, spread, "topologyKey"):
            yield from _no_topology_key(workload, spread, "topology spread constraint")


def _no_topology_key(workload: Workload, item: ConstraintItem | PodTerm, name: str) -> Iterator[Match]:
    key, path = item.data.get("topologyKey"), (*item.path, "topologyKey")
    struct = POD_TERM if isinstance(item, PodTerm) else SPREAD
    if key == "":
        yield Match(path, f"this {name} has an empty topologyKey, but the field is required and has no default")
    elif key is None and "topologyKey" in map_at(item.data, "labelSelector", "matchLabels"):
        inside = (*item.path, "labelSelector", "matchLabels", "topologyKey")
        message = "topologyKey is in matchLabels, where it is read as a label"
        yield Match(inside, message, "Align topologyKey with labelSelector.", key=True, field=path)
    elif key is None and is_missing(workload, item, "topologyKey", struct):
        yield Match(path, f"this {name} has no topologyKey, but the field is required and has no default")


def unknown_operator(workload: Workload, target: Target) -> Iterator[Match]:
    """Report operators that match expressions and tolerations do not support."""
    for expression in workload_selectors(workload).node_expressions:
        yield from _operator_faults(workload, expression, _NODE_OPERATORS, "a node selector term")
    for expression in workload_selectors(workload).selector_expressions:
        yield from _operator_faults(workload, expression, _SELECTOR_OPERATORS, "a label selector")
    for toleration in workload.constraints.tolerations:
        yield from _toleration_operator_faults(workload, toleration, target)


def _operator_faults(workload: Workload, expression: ConstraintItem, known: tuple[str, ...], where: str) -> Iterator[Match]:
    operator, path = expression.data.get("operator"), (*expression.path, "operator")
    if operator in known:
        return
    if operator is None:
        if is_missing(workload, expression, "operator", EXPRESSION):
            yield Match(path, "this match expression has no operator", f"Write {join_words(known, 'or')}.")
    elif operator in COMPARISONS:
        yield Match(
            path, f"{where} does not support the operator {operator}; only node selector terms do", f"Write {join_words(known, 'or')}."
        )
    elif type(operator) is str and not is_placeholder(operator):
        yield _unknown_operator(expression, operator, known, where)


def _toleration_operator_faults(workload: Workload, toleration: ConstraintItem, target: Target) -> Iterator[Match]:
    operator, path = toleration.data.get("operator"), (*toleration.path, "operator")
    # KubeVirt's webhook has its own schema, and no schema for pools.
    is_pool = workload.kind.name == "VirtualMachinePool"
    webhook = workload.kind.kubevirt and not is_pool
    known = tolerations.operators(target, workload.kind)
    if operator in known or type(operator) is not str or is_placeholder(operator):
        return
    if not operator:
        if webhook:
            yield Match(path, "the operator is empty, which KubeVirt rejects", "Write Equal or Exists, or remove operator.")
    elif operator not in COMPARISONS:
        yield with_rejection_note(_unknown_operator(toleration, operator, known, "a toleration"), is_pool)
    else:
        yield with_rejection_note(
            Match(path, f"a toleration does not support the operator {operator} {_unless(webhook, target)}", "Write Equal or Exists."),
            is_pool,
        )


def _unless(webhook: bool, target: Target) -> str:
    """Return the condition under which a toleration does not support comparisons."""
    if webhook:
        return "in KubeVirt"
    return "before Kubernetes 1.35" if target.version < (1, 35) else f"unless the feature gate {COMPARISON_GATE} is enabled"


def _unknown_operator(item: ConstraintItem, operator: str, known: tuple[str, ...], where: str) -> Match:
    close = next((each for each in _OTHER_OPERATORS.get(operator, ()) if each in known), None)
    return misspelt_value((*item.path, "operator"), f"{where} does not support the operator {quoted(operator)}", operator, known, close)


def operator_values_mismatch(workload: Workload) -> Iterator[Match]:
    """Report In and NotIn without values, Exists and DoesNotExist with values, and Gt and Lt without exactly one value."""
    for expression in workload_selectors(workload).node_expressions:
        yield from _values_faults(workload, expression, comparing=True)
    for expression in workload_selectors(workload).selector_expressions:
        yield from _values_faults(workload, expression, comparing=False)


def _values_faults(workload: Workload, expression: ConstraintItem, *, comparing: bool) -> Iterator[Match]:
    operator, values = expression.data.get("operator"), expression.data.get("values")
    if values is not None and type(values) is not list:
        return
    path, count = (*expression.path, "values"), len(values) if values else 0
    if operator in ("Exists", "DoesNotExist"):
        if count:
            other = "In" if operator == "Exists" else "NotIn"
            yield Match(path, f"the operator {operator} takes no values", f"Remove values, or write {other} if these values are meant.")
    elif values is None and not is_missing(workload, expression, "values", EXPRESSION):
        return
    elif operator in ("In", "NotIn") and count == 0:
        yield Match(path, f"the operator {operator} requires at least one value", "Add values, or use Exists or DoesNotExist.")
    elif comparing and operator in COMPARISONS and count != 1:
        message = f"the operator {operator} takes exactly one value, not {count}"
        yield Match(path, message, "Write one integer in quotes.")


def empty_node_selector_terms(workload: Workload) -> Iterator[Match]:
    """Report required node affinities without terms."""
    required = workload.constraints.node_required
    if required and required.data.get("nodeSelectorTerms") in (None, []) and not has_unknown(required, NODE_SELECTOR):
        yield Match((*required.path, "nodeSelectorTerms"), "the required node affinity has no nodeSelectorTerms; at least one is required")


def missing_preference(workload: Workload) -> Iterator[Match]:
    """Report preferred node terms without a preference: KubeVirt rejects them; for the API server they match no node."""
    if workload.kind.kubevirt:
        for weighted in workload.constraints.node_preferred:
            if not has_unknown(weighted, WEIGHTED_NODE_TERM) and is_missing(workload, weighted, "preference", WEIGHTED_NODE_TERM):
                yield Match((*weighted.path, "preference"), "this preferred node term has no preference, which KubeVirt requires")


def invalid_match_field(workload: Workload) -> Iterator[Match]:
    """Report matchFields requirements other than ``metadata.name`` In or NotIn one node name."""
    for term in workload.constraints.node_terms:
        if "matchFields" in term.data:
            for requirement in items(term.data, "matchFields", term.path):
                yield from _match_field_faults(workload, requirement)


def _match_field_faults(workload: Workload, requirement: ConstraintItem) -> Iterator[Match]:
    key, operator = requirement.data.get("key"), requirement.data.get("operator")
    if type(key) is str and key != "metadata.name" and not is_placeholder(key):
        remedy = "Write `metadata.name`; put requirements for labels in matchExpressions."
        yield Match((*requirement.path, "key"), f"matchFields supports only metadata.name, not {quoted(key)}", remedy)
    elif key is None and is_missing(workload, requirement, "key", EXPRESSION):
        yield Match((*requirement.path, "key"), "this matchFields requirement has no key", "Add `key: metadata.name`.")
    if type(operator) is str and operator not in ("In", "NotIn") and not is_placeholder(operator):
        yield Match(
            (*requirement.path, "operator"),
            f"matchFields supports only the operators In and NotIn, not {quoted(operator)}",
            "Write In or NotIn.",
        )
    elif operator is None and is_missing(workload, requirement, "operator", EXPRESSION):
        yield Match((*requirement.path, "operator"), "this matchFields requirement has no operator", "Write In or NotIn.")
    yield from _node_name_faults(workload, requirement, operator)


def _node_name_faults(workload: Workload, requirement: ConstraintItem, operator: object) -> Iterator[Match]:
    values, path = requirement.data.get("values"), (*requirement.path, "values")
    if not values and (type(values) is list or is_missing(workload, requirement, "values", EXPRESSION)):
        yield Match(path, "matchFields takes exactly one node name, not 0", "Name one node.")
    if type(values) is not list or not values:
        return
    if len(values) > 1:
        each = "NotIn requirement" if operator == "NotIn" else "term"
        yield Match(path, f"matchFields takes exactly one node name, not {len(values)}", f"Write one {each} for each node.")
        return
    name = values[0]
    if name is None and not workload.kind.kubevirt:
        name = ""
    if type(name) is str and not is_subdomain(name) and not is_unfinished_name(name):
        remedy = "Use at most 253 lower-case letters, digits, `-` and `.`."
        yield Match((*path, 0), f"{quoted(name)} is not a valid node name", remedy)


def label_keys_conflict(workload: Workload, target: Target) -> Iterator[Match]:
    """Report matchLabelKeys and mismatchLabelKeys that conflict with each other or with the labelSelector."""
    for item in label_key_carriers(workload):
        if "matchLabelKeys" in item.data or "mismatchLabelKeys" in item.data:
            for match in (*_two_lists(workload, item), *_repeated_keys(workload, item, target)):
                yield with_rejection_note(match, workload.kind.kubevirt)


def _two_lists(workload: Workload, item: ConstraintItem | PodTerm) -> Iterator[Match]:
    struct = POD_TERM if isinstance(item, PodTerm) else SPREAD
    lists = {field: texts_at(item.data, field) for field in ("matchLabelKeys", "mismatchLabelKeys") if field in struct.fields}
    for field, keys in lists.items():
        if keys and is_missing(workload, item, "labelSelector", struct):
            message = f"{field} must not be set without a labelSelector"
            yield Match((*item.path, field), message, "Add a labelSelector; `{}` selects all pods.")
    mismatch = frozenset(lists.get("mismatchLabelKeys", ()))
    for index, key in enumerate(lists["matchLabelKeys"]):
        if key in mismatch:
            message = f"{quoted(key)} is in both matchLabelKeys and mismatchLabelKeys"
            yield Match((*item.path, "matchLabelKeys", index), message, "Remove it from one of the two lists.")


def _repeated_keys(workload: Workload, item: ConstraintItem | PodTerm, target: Target) -> Iterator[Match]:
    """Yield keys that are selected twice: the API server adds ``key In [value]`` for each label of the pod, then rejects duplicates."""
    selector, keys = item.data.get("labelSelector"), texts_at(item.data, "matchLabelKeys")
    selected = list(_selected_keys(selector)) if type(selector) is dict else []
    if type(selector) is not dict or (len(set(keys)) == len(keys) and set(keys).isdisjoint(selected)):
        return
    # Before 1.34 matchLabelKeys of spread constraints were not merged into the selector, and no key could be in both.
    merged = isinstance(item, PodTerm) or target.version >= (1, 34)
    # Controllers add their labels before the API server merges.
    pod_labels = {*workload.template_labels, *(label.key for label in added_labels(workload))} if merged else set()
    in_selector, in_keys = Counter(selected), Counter(keys)
    first = {key: index for index, key in reversed([*enumerate(keys)])}
    for key, index in first.items():
        times, added = in_selector[key], in_keys[key] if key in pod_labels else 0
        if times + added > (1 if merged else 0):
            found = Match((*item.path, "matchLabelKeys", index), *_repetition(key, times))
            yield with_rejection_note(found, merged and times < 2 and workload.kind.name != "Pod")


def _selected_keys(selector: dict[str, Any]) -> Iterator[str]:
    yield from map_at(selector, "matchLabels")
    for expression in items(selector, "matchExpressions", ()):
        key = expression.data.get("key")
        if type(key) is str:
            yield key


def _repetition(key: str, times: int) -> tuple[str, str]:
    if not times:
        return f"{quoted(key)} is in matchLabelKeys more than once", "List the key once."
    where = "in matchLabelKeys, and twice in the labelSelector" if times > 1 else "in both matchLabelKeys and the labelSelector"
    return f"{quoted(key)} is {where}", "Use the key once, either in the labelSelector or in matchLabelKeys."
