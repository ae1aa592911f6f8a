"""Node and pod affinity: weights, topology keys, operators and their values, terms, matchLabelKeys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from afflint.checks.match import Match, Target
from afflint.checks.wording import nearest, quoted
from afflint.kube.constraints import Item, PodTerm, items
from afflint.kube.label_syntax import is_subdomain
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder

_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_POD_REFUSED = " (the object is stored, but every pod made from it is refused)"

# Labels that controllers add to their pods before the API server merges matchLabelKeys into selectors.
_ADDED_LABELS = {
    "Deployment": ("pod-template-hash",),
    "StatefulSet": ("controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
    "DaemonSet": ("controller-revision-hash", "pod-template-generation"),
    "Job": ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"),
    "CronJob": ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"),
}


def weight_out_of_range(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Preferred terms whose weight is missing or not 1 to 100."""
    if not isinstance(manifest, Workload):
        return
    for weighted in (*manifest.constraints.node_preferred, *manifest.constraints.pod_preferred):
        weight = weighted.data.get("weight")
        path = (*weighted.path, "weight")
        if weight is None:
            yield Match(path, "a preferred term without a weight", "Add `weight:` with a number from 1 to 100.")
        elif type(weight) in (int, float) and not 1 <= weight <= 100:
            nearer = 100 if weight > 100 else 1
            yield Match(path, f"the weight {quoted(weight)} is out of range", f"Write a number from 1 to 100, such as {nearer}.")


def empty_topology_key(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Pod terms and spread constraints without a topology key."""
    if not isinstance(manifest, Workload):
        return
    carriers: list[tuple[str, Item | PodTerm]] = [(f"{term.name} term", term) for term in manifest.constraints.pod_terms]
    carriers += [("topology spread constraint", spread) for spread in manifest.constraints.spreads]
    for name, item in carriers:
        key = item.data.get("topologyKey")
        if key == "" or (key is None and not _is_wrapped(item)):
            state = "an empty topologyKey" if key == "" else "no topologyKey"
            yield Match((*item.path, "topologyKey"), f"this {name} has {state}; there is no default and no meaning of all topologies")


def _is_wrapped(item: Item | PodTerm) -> bool:
    """A required term with podAffinityTerm in it is another mistake, and reported as that one."""
    return "podAffinityTerm" in item.data


def unknown_operator(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Operators of match expressions and tolerations that do not exist, or not there."""
    if not isinstance(manifest, Workload):
        return
    for term in manifest.constraints.node_terms:
        for expression in items(term.data, "matchExpressions", term.path):
            yield from _operator_fault(expression, _NODE_OPERATORS)
    for selector in _label_selectors(manifest):
        for expression in items(selector.data, "matchExpressions", selector.path):
            yield from _operator_fault(expression, _SELECTOR_OPERATORS)
    comparing = target.version >= (1, 35) and "TaintTolerationComparisonOperators" in target.feature_gates
    for toleration in manifest.constraints.tolerations:
        operator = toleration.data.get("operator")
        known = ("Equal", "Exists", "Gt", "Lt") if comparing else ("Equal", "Exists")
        if operator == "" and manifest.kind.kubevirt and manifest.kind.name != "VirtualMachinePool":
            yield Match(
                (*toleration.path, "operator"), "an empty operator, which KubeVirt refuses", "Write `Equal` or `Exists`, or leave it out."
            )
        elif type(operator) is str and operator and operator not in known:
            yield _unknown_operator(toleration, operator, known, "a toleration")


def _operator_fault(expression: Item, known: tuple[str, ...]) -> Iterator[Match]:
    operator = expression.data.get("operator")
    if operator is None:
        yield Match((*expression.path, "operator"), "a match expression without an operator", f"Write one of {', '.join(known)}.")
    elif type(operator) is str and operator not in known:
        yield _unknown_operator(expression, operator, known, "a label selector" if known is _SELECTOR_OPERATORS else "a node selector term")


def _unknown_operator(item: Item, operator: str, known: tuple[str, ...], where: str) -> Match:
    path = (*item.path, "operator")
    if operator in ("Gt", "Lt"):
        message = f"{where} has no operator {operator}; it compares node labels only"
        return Match(path, message, f"Write one of {', '.join(known)}.")
    close = {"=": "In", "==": "In", "!=": "NotIn", "Equals": known[0], "Equal": "In", "NotExists": "DoesNotExist"}.get(operator)
    close = close if close in known else nearest(operator, known)
    hint = f"; did you mean {quoted(close)}?" if close else ""
    return Match(path, f"{where} has no operator {quoted(operator)}{hint}", f"Write one of {', '.join(known)}.", replacement=close)


def operator_values_mismatch(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """In and NotIn without values, Exists and DoesNotExist with some, Gt and Lt with other than one."""
    if not isinstance(manifest, Workload):
        return
    for term in manifest.constraints.node_terms:
        for expression in items(term.data, "matchExpressions", term.path):
            yield from _values_fault(expression, comparing=True)
    for selector in _label_selectors(manifest):
        for expression in items(selector.data, "matchExpressions", selector.path):
            yield from _values_fault(expression, comparing=False)


def _values_fault(expression: Item, *, comparing: bool) -> Iterator[Match]:
    operator, values = expression.data.get("operator"), expression.data.get("values")
    if values is not None and type(values) is not list:
        return
    path, count = (*expression.path, "values"), len(values or ())
    if operator in ("In", "NotIn") and count == 0:
        yield Match(path, f"the operator {operator} needs values, and there are none", "Add values, or ask with Exists or DoesNotExist.")
    elif operator in ("Exists", "DoesNotExist") and count:
        other = "In" if operator == "Exists" else "NotIn"
        yield Match(path, f"the operator {operator} takes no values", f"Remove values, or use {other} if these values are meant.")
    elif comparing and operator in ("Gt", "Lt") and count != 1:
        yield Match(
            path, f"the operator {operator} takes exactly one value, and there are {count or 'none'}", "Give one whole number in quotes."
        )


def empty_node_selector_terms(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """A required node affinity without terms."""
    if isinstance(manifest, Workload) and manifest.constraints.node_required:
        required = manifest.constraints.node_required
        terms = required.data.get("nodeSelectorTerms")
        wrongly_filled = required.data.keys() & {"matchExpressions", "matchFields"}
        if (terms is None and not wrongly_filled) or terms == []:
            yield Match((*required.path, "nodeSelectorTerms"), "a required node affinity without nodeSelectorTerms")


def missing_preference(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Preferred node terms without a preference: KubeVirt refuses them, the API server reads them as matching nothing."""
    if isinstance(manifest, Workload) and manifest.kind.kubevirt:
        for weighted in manifest.constraints.node_preferred:
            if weighted.data.get("preference") is None and not weighted.data.keys() & {"matchExpressions", "matchFields"}:
                yield Match((*weighted.path, "preference"), "a preferred node term without a preference")


def invalid_match_field(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """matchFields other than ``metadata.name`` In or NotIn one node name."""
    if not isinstance(manifest, Workload):
        return
    for term in manifest.constraints.node_terms:
        for expression in items(term.data, "matchFields", term.path):
            yield from _match_field_faults(expression)


def _match_field_faults(expression: Item) -> Iterator[Match]:
    key, operator, values = (expression.data.get(name) for name in ("key", "operator", "values"))
    if type(key) in (str, type(None)) and key != "metadata.name":
        yield Match(
            (*expression.path, "key"),
            f"matchFields knows only metadata.name, not {quoted(key or '')}",
            "Move the requirement to matchExpressions if it is about a label.",
        )
    if type(operator) in (str, type(None)) and operator not in ("In", "NotIn"):
        yield Match(
            (*expression.path, "operator"), f"matchFields takes only In and NotIn, not {quoted(operator or '')}", "Write In or NotIn."
        )
    if values is not None and type(values) is not list:
        return
    path = (*expression.path, "values")
    if len(values or ()) != 1:
        yield Match(
            path, f"matchFields takes exactly one node name, and there are {len(values or ()) or 'none'}", "Write one term for each node."
        )
        return
    name = values[0] or "" if values else ""
    if type(name) is str and not is_subdomain(name) and not is_placeholder(name):
        yield Match((*path, 0), f"{quoted(name)} can be no node name", "Node names have lower-case letters, digits, `-` and `.` only.")


def label_keys_conflict(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """matchLabelKeys and mismatchLabelKeys that the selector beside them makes impossible or ambiguous."""
    if not isinstance(manifest, Workload):
        return
    late = _POD_REFUSED if manifest.kind.kubevirt else ""
    carriers: tuple[Item | PodTerm, ...] = (*manifest.constraints.pod_terms, *manifest.constraints.spreads)
    for item in carriers:
        if "matchLabelKeys" not in item.data and "mismatchLabelKeys" not in item.data:
            continue
        match, mismatch = _texts(item, "matchLabelKeys"), _texts(item, "mismatchLabelKeys")
        for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
            if keys and item.data.get("labelSelector") is None:
                message = f"{field} narrows the labelSelector, and there is none{late}"
                yield Match((*item.path, field), message, "Add a labelSelector; `{}` selects all pods.")
        for index, key in enumerate(match):
            if key in mismatch:
                yield Match((*item.path, "matchLabelKeys", index), f"{quoted(key)} stands in matchLabelKeys and in mismatchLabelKeys{late}")
        yield from _repeated_keys(item, match, manifest)


def _repeated_keys(item: Item | PodTerm, match: list[str], workload: Workload) -> Iterator[Match]:
    """The server adds ``key In [own value]`` for each key that the pod has, and then refuses keys that stand twice."""
    selector = item.data.get("labelSelector")
    if type(selector) is not dict:
        return
    standing = Counter(expression.data.get("key") for expression in items(selector, "matchExpressions", ()))
    labels = selector.get("matchLabels")
    standing.update(list(labels) if type(labels) is dict else [])
    pod_labels = {*workload.template_labels, *_ADDED_LABELS.get(workload.kind.name, ())}
    for index, key in enumerate(match):
        merged = match.count(key) if key in pod_labels else 0
        if standing[key] + merged > 1 and match.index(key) == index:
            late = "" if workload.kind.name == "Pod" else _POD_REFUSED
            message = f"{quoted(key)} stands in matchLabelKeys and is asked for by the labelSelector as well{late}"
            if not standing[key]:
                message = f"{quoted(key)} stands in matchLabelKeys more than once{late}"
            yield Match((*item.path, "matchLabelKeys", index), message, "Name the key once: in the selector or in matchLabelKeys.")


def _texts(item: Item | PodTerm, field: str) -> list[str]:
    values = item.data.get(field)
    return [value for value in values if type(value) is str] if type(values) is list else []


def _label_selectors(workload: Workload) -> Iterator[Item]:
    """The label selectors of the constraints, and the controller's own where its expressions are read."""
    yield from workload.constraints.selectors
    if workload.kind.selector in ("core", "kubevirt") or workload.kind.name == "Job":
        selector = workload.spec.get("selector")
        if type(selector) is dict:
            yield Item((*workload.base, "spec", "selector"), selector)
