"""Label keys and values wherever they stand, labels nobody may set, and annotations that must mean something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.match import Match, Target
from afflint.checks.wording import quoted
from afflint.findings import Path
from afflint.kube.constraints import Item, PodTerm, items
from afflint.kube.label_syntax import is_dns_label, is_key, is_value, key_fault, value_fault
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder

_KEY_HELP = "A key is an optional DNS name and `/`, then at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends."
_VALUE_HELP = "A value is empty or at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends."

_RESERVED_BY_KUBEVIRT = frozenset(
    f"kubevirt.io/{name}"
    for name in ("created-by", "migrationJobUID", "nodeName", "migrationTargetNodeName", "schedulable", "install-strategy")
)
_GENERATED_BY_JOB = frozenset(("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"))
_LEGACY_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_ANNOTATIONS_LIMIT = 256 * 1024


def invalid_label_key(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Keys of labels, node selectors, match expressions, tolerations and topology keys that are no label keys."""
    for path, labels, at_pods in _label_maps(manifest):
        for key in labels:
            if not is_key(key) and not is_placeholder(key):
                yield Match((*path, key), _bad("label key", key, key_fault(key), at_pods), _KEY_HELP, key=True, field=path)
    if isinstance(manifest, Workload):
        for path, key, whole_map in _constraint_keys(manifest):
            if not is_key(key) and not is_placeholder(key):
                field = path[:-1] if whole_map else None
                late = manifest.kind.kubevirt and (whole_map or "tolerations" in path)
                yield Match(path, _bad("label key", key, key_fault(key), late), _KEY_HELP, key=whole_map, field=field)


def invalid_label_value(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Values of labels, node selectors, selectors and required node terms that are no label values."""
    for path, labels, at_pods in _label_maps(manifest):
        for key, value in labels.items():
            if type(value) is str and not is_value(value) and not is_placeholder(value):
                yield Match((*path, key), _bad("label value", value, value_fault(value), at_pods), _VALUE_HELP, field=path)
    if isinstance(manifest, Workload):
        for path, value, field, late in _constraint_values(manifest):
            if not is_value(value) and not is_placeholder(value):
                yield Match(path, _bad("label value", value, value_fault(value), late), _VALUE_HELP, field=field)


def invalid_namespace_name(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Names in the ``namespaces`` of a pod term that can be no namespaces."""
    if isinstance(manifest, Workload):
        for term in manifest.constraints.pod_terms:
            names = term.data.get("namespaces")
            for index, name in enumerate(names if type(names) is list else ()):
                if type(name) in (str, type(None)) and not is_dns_label(name or "") and not is_placeholder(name or ""):
                    path = (*term.path, "namespaces", index)
                    help_ = "For all namespaces write `namespaceSelector: {}` instead of a list." if name in ("*", "", None) else ""
                    yield Match(path, f"{quoted(name or '')} can be no namespace", help_, field=(*term.path, "namespace"))


def forbidden_label(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Labels that only a controller may set: KubeVirt refuses its own ones on VMs, the API server those of Jobs."""
    kind = manifest.kind.name
    if manifest.from_cluster:
        return
    if kind in ("VirtualMachineInstance", "VirtualMachine", "VirtualMachinePool") and isinstance(manifest, Workload):
        path = (*manifest.template_path, "metadata", "labels")
        for key in manifest.template_labels:
            if key in _RESERVED_BY_KUBEVIRT:
                message = f"the label {quoted(key)} is reserved: KubeVirt sets it, and refuses it from anybody else"
                yield Match((*path, key), message, "Remove the label; to reach one VM use a label of your own.", key=True, field=path)
    elif kind == "Job" and isinstance(manifest, Workload) and not manifest.spec.get("manualSelector"):
        path = (*manifest.template_path, "metadata", "labels")
        for key, value in manifest.template_labels.items():
            if key in _GENERATED_BY_JOB and not (key.endswith("job-name") and value == manifest.ref.name):
                yield Match(
                    (*path, key), f"the label {quoted(key)} is generated for every Job and may not be set", "Remove the label.", key=True
                )


def invalid_annotation(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Annotation keys that are none, annotations whose value the scheduler reads and cannot, and too many of them."""
    for path, values, at_pods in _annotation_maps(manifest):
        size = 0
        for key, value in values.items():
            size += len(key) + (len(value) if type(value) is str else 0)
            if not is_key(key.lower()) and not is_placeholder(key):
                yield Match((*path, key), _bad("annotation key", key, key_fault(key.lower()), at_pods), _KEY_HELP, key=True, field=path)
        if size > _ANNOTATIONS_LIMIT:
            yield Match(
                path, f"annotations of {size} bytes; all together may have at most {_ANNOTATIONS_LIMIT}", "Move the data to a ConfigMap."
            )
    if isinstance(manifest, Workload):
        yield from _meaningful_annotations(manifest)


def _meaningful_annotations(workload: Workload) -> Iterator[Match]:
    path = (*workload.template_path, "metadata", "annotations")
    values = _map_at(workload.template, "metadata", "annotations")
    cost = values.get(_DELETION_COST)
    if type(cost) is str and not _is_int32(cost):
        yield Match((*path, _DELETION_COST), f"the deletion cost {quoted(cost)} is no whole number of 32 bits", "Write a number in quotes.")
    legacy = values.get(_LEGACY_TOLERATIONS)
    if type(legacy) is str and legacy:
        yield from _legacy_tolerations(legacy, (*path, _LEGACY_TOLERATIONS))


def _legacy_tolerations(text: str, path: Path) -> Iterator[Match]:
    import json

    from afflint.checks.admission.tolerations import toleration_faults

    remedy = "Use spec.tolerations; this annotation has had no effect since Kubernetes 1.6, but it is still checked."
    try:
        value = json.loads(text)
    except ValueError:
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
        yield Match((*toleration.path, "key"), f"{quoted(key)} is no label key: {key_fault(key)}")


def _is_int32(text: str) -> bool:
    digits = text[1:] if text[:1] == "-" else text
    # The API server wants the canonical spelling: no plus sign, no leading zero.
    canonical = digits.isascii() and digits.isdigit() and (digits == "0" or not digits.startswith("0"))
    return canonical and len(digits) < 12 and -(2**31) <= int(text) < 2**31


def _label_maps(manifest: Manifest) -> Iterator[tuple[Path, dict[str, Any], bool]]:
    """The labels of the object and of its pods with their paths; whether only the pods are refused for them."""
    yield (*manifest.base, "metadata", "labels"), _map_at(manifest.data, "metadata", "labels"), False
    if isinstance(manifest, Workload) and manifest.has_own_template:
        path = (*manifest.template_path, "metadata", "labels")
        yield path, _map_at(manifest.template, "metadata", "labels"), manifest.kind.kubevirt


def _annotation_maps(manifest: Manifest) -> Iterator[tuple[Path, dict[str, Any], bool]]:
    yield (*manifest.base, "metadata", "annotations"), _map_at(manifest.data, "metadata", "annotations"), False
    if isinstance(manifest, Workload) and manifest.has_own_template:
        path = (*manifest.template_path, "metadata", "annotations")
        yield path, _map_at(manifest.template, "metadata", "annotations"), manifest.kind.kubevirt


def _map_at(data: dict[str, Any], *steps: str) -> dict[str, Any]:
    value: Any = data
    for step in steps:
        value = value.get(step) if type(value) is dict else None
    return value if type(value) is dict else {}


def _constraint_keys(workload: Workload) -> Iterator[tuple[Path, str, bool]]:
    """Every label key in the constraints: its path, its text, and whether it is a key of a map (then the map is at fault)."""
    constraints = workload.constraints
    if constraints.node_selector:
        for key in constraints.node_selector.data:
            yield (*constraints.node_selector.path, key), key, True
    for term in constraints.node_terms:
        for expression in items(term.data, "matchExpressions", term.path):
            yield from _text(expression, "key", missing=True)
    for selector in (*constraints.selectors, *_own_selectors(workload)):
        yield from _selector_keys(selector)
    for term_ in constraints.pod_terms:
        if term_.data.get("topologyKey"):
            yield from _text(Item(term_.path, term_.data), "topologyKey")
    for spread in constraints.spreads:
        # The API server itself takes any text here; KubeVirt does not.
        if workload.kind.kubevirt and spread.data.get("topologyKey"):
            yield from _text(spread, "topologyKey")
    for toleration in constraints.tolerations:
        if toleration.data.get("key"):
            yield from _text(toleration, "key")
    carriers: tuple[Item | PodTerm, ...] = (*constraints.pod_terms, *constraints.spreads)
    for item in carriers:
        for field in ("matchLabelKeys", "mismatchLabelKeys"):
            keys = item.data.get(field)
            for index, key in enumerate(keys if type(keys) is list else ()):
                if type(key) in (str, type(None)):
                    yield (*item.path, field, index), key or "", False


def _selector_keys(selector: Item) -> Iterator[tuple[Path, str, bool]]:
    labels = selector.data.get("matchLabels")
    for key in labels if type(labels) is dict else ():
        yield (*selector.path, "matchLabels", key), key, True
    for expression in items(selector.data, "matchExpressions", selector.path):
        yield from _text(expression, "key", missing=True)


def _text(item: Item, field: str, *, missing: bool = False) -> Iterator[tuple[Path, str, bool]]:
    value = item.data.get(field)
    if type(value) is str or (missing and value is None):
        yield (*item.path, field), value or "", False


def _own_selectors(workload: Workload) -> Iterator[Item]:
    """The controller's selector of pods, where it is a label selector that the API server reads."""
    if workload.kind.selector in ("core", "kubevirt") or (workload.kind.name == "Job"):
        selector = workload.spec.get("selector")
        if type(selector) is dict:
            yield Item((*workload.base, "spec", "selector"), selector)


def _constraint_values(workload: Workload) -> Iterator[tuple[Path, str, Path | None, bool]]:
    """Every label value in the constraints: its path, its text, the field that is named for it, and whether only pods are refused."""
    constraints, kubevirt = workload.constraints, workload.kind.kubevirt
    if constraints.node_selector:
        path = constraints.node_selector.path
        for key, value in constraints.node_selector.data.items():
            if type(value) is str:
                yield (*path, key), value, path, kubevirt
    for term in constraints.node_terms:
        if term.required:  # The values of preferences are never checked.
            for expression in items(term.data, "matchExpressions", term.path):
                for path, value in _values(expression):
                    yield path, value, None, kubevirt
    for selector in (*constraints.selectors, *_own_selectors(workload)):
        labels = selector.data.get("matchLabels")
        for key, value in labels.items() if type(labels) is dict else ():
            if type(value) is str:
                at = (*selector.path, "matchLabels")
                yield (*at, key), value, at, False
        for expression in items(selector.data, "matchExpressions", selector.path):
            for path, value in _values(expression):
                yield path, value, None, False


def _values(expression: Item) -> Iterator[tuple[Path, str]]:
    values = expression.data.get("values")
    for index, value in enumerate(values if type(values) is list else ()):
        if type(value) is str:
            yield (*expression.path, "values", index), value


def _bad(what: str, text: str, why: str, late: bool) -> str:
    message = f"{quoted(text)} is no {what}: {why}"
    return f"{message} (the object is stored, but every pod made from it is refused)" if late else message
