"""Label keys and values wherever they stand, labels nobody may set, and annotations that must mean something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.admission.late import late, of_workloads
from afflint.checks.admission.selectors import label_key_carriers, map_at, selecting
from afflint.checks.admission.spelling import EXPRESSION, lacks, stands_in_match_labels
from afflint.checks.match import Match, Target
from afflint.findings import Path
from afflint.kube.added_labels import JOB, RESERVED_BY_KUBEVIRT
from afflint.kube.constraints import Item, PodTerm, items
from afflint.kube.label_syntax import is_dns_label, is_key, is_value, key_fault, value_fault
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder
from afflint.wording import escaped, quoted

_KEY_HELP = "A key is an optional DNS name and `/`, then at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends."
_VALUE_HELP = "A value is empty or at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends."
_LONGEST_PREFIX = 253

_GENERATED_BY_JOB = frozenset(label.key for label in JOB)
_LEGACY_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_ANNOTATIONS_LIMIT = 256 * 1024


def invalid_label_key(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Keys of labels, node selectors, match expressions, tolerations and topology keys that are no label keys."""
    for path, labels, stored in _maps(manifest, "labels"):
        yield from _bad_keys(labels, path, stored)
    yield from _invalid_constraint_keys(manifest, target)


@of_workloads
def _invalid_constraint_keys(workload: Workload, _target: Target) -> Iterator[Match]:
    constraints, kubevirt, found = workload.constraints, workload.kind.kubevirt, selecting(workload)
    if constraints.node_selector:
        yield from _bad_keys(constraints.node_selector.data, constraints.node_selector.path, kubevirt)
    for selector in found.selectors:
        yield from _bad_keys(map_at(selector.data, "matchLabels"), (*selector.path, "matchLabels"), False)
    for expression in found.expressions:
        yield from _bad_key_in(expression, "key", False)
        if expression.data.get("key") is None and lacks(workload, expression, "key", EXPRESSION):
            yield Match((*expression.path, "key"), "a match expression without a key", "Add `key:` with the label that it is about.")
    for toleration in constraints.tolerations:
        if toleration.data.get("key"):
            yield from _bad_key_in(toleration, "key", kubevirt)
    # The API server itself takes any text as the topologyKey of a spread constraint; KubeVirt does not.
    for item in label_key_carriers(workload) if kubevirt else constraints.pod_terms:
        if item.data.get("topologyKey"):
            yield from _bad_key_in(item, "topologyKey", False)
    for item in label_key_carriers(workload):
        if "matchLabelKeys" in item.data or "mismatchLabelKeys" in item.data:
            yield from _bad_label_keys(workload, item)


def _bad_keys(data: dict[str, Any], path: Path, stored: bool) -> Iterator[Match]:
    for key in data:
        if not is_key(key) and not is_placeholder(key):
            yield late(Match((*path, key), _bad_key("label key", key), _KEY_HELP, key=True, field=path), stored)


def _bad_key_in(item: Item | PodTerm, field: str, stored: bool) -> Iterator[Match]:
    key = item.data.get(field)
    if type(key) is str and not is_key(key) and not is_placeholder(key):
        yield late(Match((*item.path, field), _bad_key("label key", key), _KEY_HELP), stored)


def _bad_label_keys(workload: Workload, item: Item | PodTerm) -> Iterator[Match]:
    """Bad keys in matchLabelKeys and mismatchLabelKeys, at which KubeVirt never looks."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        for step, key in _texts_in(workload, item, field):
            if not is_key(key) and not is_placeholder(key):
                yield late(Match((*item.path, *step), _bad_key("label key", key), _KEY_HELP), workload.kind.kubevirt)


def invalid_label_value(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Values of labels, node selectors, selectors and required node terms that are no label values."""
    for path, labels, stored in _maps(manifest, "labels"):
        yield from _bad_values(labels, path, stored)
    yield from _invalid_constraint_values(manifest, target)


@of_workloads
def _invalid_constraint_values(workload: Workload, _target: Target) -> Iterator[Match]:
    kubevirt, found = workload.kind.kubevirt, selecting(workload)
    node_selector = workload.constraints.node_selector
    if node_selector:
        yield from _bad_values(node_selector.data, node_selector.path, kubevirt)
    for expression in found.required_expressions:  # The values of preferences are never checked.
        yield from _bad_values_in(expression, kubevirt)
    for selector in found.selectors:
        labels = map_at(selector.data, "matchLabels")
        if "topologyKey" in labels and stands_in_match_labels(workload, selector):
            labels = {key: value for key, value in labels.items() if key != "topologyKey"}
        yield from _bad_values(labels, (*selector.path, "matchLabels"), False)
    for expression in found.selector_expressions:
        yield from _bad_values_in(expression, False)


def _bad_values(data: dict[str, Any], path: Path, stored: bool) -> Iterator[Match]:
    for key, value in data.items():
        if type(value) is str and not is_value(value) and not is_placeholder(value):
            yield late(Match((*path, key), _bad_value(value), _VALUE_HELP, field=path), stored)


def _bad_values_in(expression: Item, stored: bool) -> Iterator[Match]:
    values = expression.data.get("values")
    # Exists and DoesNotExist may have no values at all, and that is said of them.
    if type(values) is list and expression.data.get("operator") not in ("Exists", "DoesNotExist"):
        for index, value in enumerate(values):
            if type(value) is str and not is_value(value) and not is_placeholder(value):
                yield late(Match((*expression.path, "values", index), _bad_value(value), _VALUE_HELP), stored)


@of_workloads
def invalid_namespace_name(workload: Workload, _target: Target) -> Iterator[Match]:
    """Names in the ``namespaces`` of a pod term that can be no namespaces."""
    for term in workload.constraints.pod_terms:
        for step, name in _texts_in(workload, term, "namespaces"):
            if not is_dns_label(name) and not is_placeholder(name):
                help_ = "For all namespaces write `namespaceSelector: {}` instead of a list." if name in ("*", "") else ""
                yield Match((*term.path, *step), f"{quoted(name)} can be no namespace", help_, field=(*term.path, "namespace"))


def forbidden_label(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Labels that only a controller may set: KubeVirt refuses its own ones on VMs, the API server those of Jobs."""
    kind = manifest.kind.name
    if not isinstance(manifest, Workload) or manifest.from_cluster:
        return
    path = (*manifest.template_path, "metadata", "labels")
    if kind in ("VirtualMachineInstance", "VirtualMachine", "VirtualMachinePool"):
        for key in manifest.template_labels:
            if key in RESERVED_BY_KUBEVIRT:
                message = f"the label {quoted(key)} is reserved: KubeVirt sets it, and refuses it from anybody else"
                yield Match((*path, key), message, "Remove the label; to reach one VM use a label of your own.", key=True, field=path)
    elif kind == "Job" and not manifest.spec.get("manualSelector"):
        for key, value in manifest.template_labels.items():
            if key in _GENERATED_BY_JOB and not (key.endswith("job-name") and value == manifest.ref.name):
                message = f"the label {quoted(key)} is generated for every Job and may not be set"
                yield Match((*path, key), message, "Remove the label.", key=True)


def invalid_annotation(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Annotation keys that are none, annotations whose value the scheduler reads and cannot, and too many of them."""
    for path, values, stored in _maps(manifest, "annotations"):
        size = 0
        for key, value in values.items():
            size += len(key) + (len(value) if type(value) is str else 0)
            if not is_key(key.lower()) and not is_placeholder(key):
                yield late(Match((*path, key), _bad_key("annotation key", key), _KEY_HELP, key=True, field=path), stored)
        if size > _ANNOTATIONS_LIMIT:
            message = f"annotations of {size} bytes; all together may have at most {_ANNOTATIONS_LIMIT}"
            yield late(Match(path, message, "Move the data to a ConfigMap."), stored)
    if isinstance(manifest, Workload):
        for match in _meaningful_annotations(manifest):
            yield late(match, manifest.kind.kubevirt)


def _meaningful_annotations(workload: Workload) -> Iterator[Match]:
    values = map_at(workload.template, "metadata", "annotations")
    path = (*workload.template_path, "metadata", "annotations")
    cost = values.get(_DELETION_COST)
    if cost is None and _DELETION_COST in values and not workload.kind.kubevirt:
        cost = ""  # As the API server reads null.
    if type(cost) is str and not is_placeholder(cost):
        yield from _deletion_cost(cost, (*path, _DELETION_COST))
    legacy = values.get(_LEGACY_TOLERATIONS)
    if type(legacy) is str and legacy:
        yield from _legacy_tolerations(legacy, (*path, _LEGACY_TOLERATIONS))


def _deletion_cost(cost: str, path: Path) -> Iterator[Match]:
    from afflint.checks.admission.numerals import deletion_cost_fault

    fault = deletion_cost_fault(cost)
    if fault:
        yield Match(path, f"the deletion cost {quoted(cost)} {fault}", 'Write a whole number in quotes, such as "100".')


def _legacy_tolerations(text: str, path: Path) -> Iterator[Match]:
    import json

    from afflint.checks.admission.tolerations import toleration_faults

    remedy = "Use spec.tolerations; this annotation has had no effect since Kubernetes 1.6, but it is still checked."
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        yield Match(path, "the annotation must hold a JSON list of tolerations, and this is no JSON", remedy, field=path[:-1])
        return
    if type(value) is not list and value is not None:
        yield Match(path, "the annotation must hold a JSON list of tolerations", remedy, field=path[:-1])
        return
    for item in items({"tolerations": value}, "tolerations", ()):
        for fault in (*toleration_faults(item), *_legacy_words(item)):
            field = (*path[:-1], path[-1], *item.path[1:], *fault.path[len(item.path) :])
            yield Match(path, f"in this list of tolerations: {fault.message}", remedy, field=field)


def _legacy_words(toleration: Item) -> Iterator[Match]:
    operator, key = toleration.data.get("operator"), toleration.data.get("key")
    if type(operator) is str and operator not in ("", "Equal", "Exists"):
        yield Match((*toleration.path, "operator"), f"a toleration has no operator {quoted(operator)}")
    if type(key) is str and key and not is_key(key):
        yield Match((*toleration.path, "key"), _bad_key("label key", key))


def _maps(manifest: Manifest, field: str) -> Iterator[tuple[Path, dict[str, Any], bool]]:
    """The labels or annotations of an object and of its template, and whether they are checked only on the pods made with them."""
    own = map_at(manifest.data, "metadata", field)
    if own:
        yield (*manifest.base, "metadata", field), own, False
    if isinstance(manifest, Workload) and manifest.has_own_template:
        given = map_at(manifest.template, "metadata", field)
        if given:
            yield (*manifest.template_path, "metadata", field), given, manifest.kind.kubevirt


def _texts_in(workload: Workload, item: Item | PodTerm, field: str) -> Iterator[tuple[Path, str]]:
    """The strings of a list with their steps; null is the empty string for the API server, and refused for its type by KubeVirt."""
    values = item.data.get(field)
    for index, value in enumerate(values if type(values) is list else ()):
        if type(value) is str:
            yield (field, index), value
        elif value is None and not workload.kind.kubevirt:
            yield (field, index), ""


def _bad_key(what: str, key: str) -> str:
    if not key:
        return f"an empty {what}"
    prefix = key.rpartition("/")[0]
    if len(prefix) > _LONGEST_PREFIX:
        why = f"the part before the `/` has {len(prefix)} characters, at most {_LONGEST_PREFIX} are allowed"
    else:
        why = escaped(key_fault(key.lower() if what == "annotation key" else key))
    return f"{quoted(key)} is no {what}: {why}"


def _bad_value(value: str) -> str:
    return f"{quoted(value)} is no label value: {escaped(value_fault(value))}"
