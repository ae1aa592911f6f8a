"""Label keys and values, reserved labels, and annotations with a defined format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.admission.keys import KEY_HELP, VALUE_HELP, invalid_key_message, invalid_value_message, lowercase_first
from afflint.checks.admission.refusal_time import with_rejection_note
from afflint.checks.admission.selectors import label_key_carriers, workload_selectors
from afflint.checks.admission.spelling import EXPRESSION, is_in_match_labels, is_missing
from afflint.checks.match import Match, Target
from afflint.findings.finding import NO_FILE, Site
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.kube.added_labels import JOB, RESERVED_BY_KUBEVIRT
from afflint.kube.constraints import ConstraintItem, PodTerm
from afflint.kube.label_syntax import is_dns_label, is_key, is_value
from afflint.manifests.label_places import EXCLUSIVE, annotated_topology_keys
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder

_GENERATED_BY_JOB = frozenset(label.key for label in JOB)
LEGACY_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_ANNOTATIONS_LIMIT = 256 * 1024


def invalid_label_key(manifest: Manifest) -> Iterator[Match]:
    """Report invalid keys of labels, node selectors, match expressions, tolerations and topology keys."""
    for path, labels, rejected in _maps(manifest, "labels"):
        yield from _bad_keys(labels, path, rejected)
    if isinstance(manifest, Workload):
        yield from _invalid_constraint_keys(manifest)
        for place in annotated_topology_keys(manifest):
            if not is_key(place.key) and not is_placeholder(place.key):
                match = Match(place.path, invalid_key_message("label key", place.key), KEY_HELP)
                yield with_rejection_note(match, place.what == EXCLUSIVE)


def _invalid_constraint_keys(workload: Workload) -> Iterator[Match]:
    constraints, kubevirt, found = workload.constraints, workload.kind.kubevirt, workload_selectors(workload)
    if constraints.node_selector:
        yield from _bad_keys(constraints.node_selector.data, constraints.node_selector.path, "pod" if kubevirt else None)
    for selector in found.selectors:
        yield from _bad_keys(map_at(selector.data, "matchLabels"), (*selector.path, "matchLabels"))
    for expression in found.expressions:
        yield from _bad_key_in(expression, "key", False)
        if expression.data.get("key") is None and is_missing(workload, expression, "key", EXPRESSION):
            yield Match((*expression.path, "key"), "this match expression has no key", "Add `key:` with the name of a label.")
    for toleration in constraints.tolerations:
        if toleration.data.get("key"):
            yield from _bad_key_in(toleration, "key", kubevirt)
    # The API server accepts any string as the topologyKey of a spread constraint; KubeVirt does not.
    for item in label_key_carriers(workload) if kubevirt else constraints.pod_terms:
        if item.data.get("topologyKey"):
            yield from _bad_key_in(item, "topologyKey", False)
    for item in label_key_carriers(workload):
        if "matchLabelKeys" in item.data or "mismatchLabelKeys" in item.data:
            yield from _bad_label_keys(workload, item)


def _bad_keys(data: dict[str, Any], path: Path, rejected: str | None = None) -> Iterator[Match]:
    for key in data:
        if not is_key(key) and not is_placeholder(key):
            yield _with_note(Match((*path, key), invalid_key_message("label key", key), KEY_HELP, key=True, field=path), rejected)


def _bad_key_in(item: ConstraintItem | PodTerm, field: str, stored: bool) -> Iterator[Match]:
    key = item.data.get(field)
    if type(key) is str and not is_key(key) and not is_placeholder(key):
        yield with_rejection_note(Match((*item.path, field), invalid_key_message("label key", key), KEY_HELP), stored)


def _bad_label_keys(workload: Workload, item: ConstraintItem | PodTerm) -> Iterator[Match]:
    """Yield invalid keys in matchLabelKeys and mismatchLabelKeys, which KubeVirt does not validate."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        for step, key in _texts_in(workload, item, field):
            if not is_key(key) and not is_placeholder(key):
                yield with_rejection_note(
                    Match((*item.path, *step), invalid_key_message("label key", key), KEY_HELP), workload.kind.kubevirt
                )


def invalid_label_value(manifest: Manifest) -> Iterator[Match]:
    """Report invalid values of labels, node selectors, label selectors and required node selector terms."""
    for path, labels, rejected in _maps(manifest, "labels"):
        yield from _bad_values(labels, path, rejected)
    if isinstance(manifest, Workload):
        yield from _invalid_constraint_values(manifest)


def _invalid_constraint_values(workload: Workload) -> Iterator[Match]:
    kubevirt, found = workload.kind.kubevirt, workload_selectors(workload)
    node_selector = workload.constraints.node_selector
    if node_selector:
        yield from _bad_values(node_selector.data, node_selector.path, "pod" if kubevirt else None)
    for expression in found.required_expressions:  # The values of preferences are never checked.
        yield from _bad_values_in(expression, kubevirt)
    for selector in found.selectors:
        labels = map_at(selector.data, "matchLabels")
        if "topologyKey" in labels and is_in_match_labels(workload, selector):
            labels = {key: value for key, value in labels.items() if key != "topologyKey"}
        yield from _bad_values(labels, (*selector.path, "matchLabels"))
    for expression in found.selector_expressions:
        yield from _bad_values_in(expression, False)


def _bad_values(data: dict[str, Any], path: Path, rejected: str | None = None) -> Iterator[Match]:
    for key, value in data.items():
        if type(value) is str and not is_value(value) and not is_placeholder(value):
            yield _with_note(Match((*path, key), invalid_value_message(value), VALUE_HELP, field=path), rejected)


def _bad_values_in(expression: ConstraintItem, stored: bool) -> Iterator[Match]:
    values = expression.data.get("values")
    # Exists and DoesNotExist must not have values, which `operator-values-mismatch` reports.
    if type(values) is list and expression.data.get("operator") not in ("Exists", "DoesNotExist"):
        for index, value in enumerate(values):
            if type(value) is str and not is_value(value) and not is_placeholder(value):
                yield with_rejection_note(Match((*expression.path, "values", index), invalid_value_message(value), VALUE_HELP), stored)


def invalid_namespace_name(workload: Workload) -> Iterator[Match]:
    """Report invalid names in the ``namespaces`` of a pod affinity term."""
    for term in workload.constraints.pod_terms:
        for step, name in _texts_in(workload, term, "namespaces"):
            if not is_dns_label(name) and not is_placeholder(name):
                help_ = "To select all namespaces, write `namespaceSelector: {}` instead of a list." if name in ("*", "") else ""
                yield Match((*term.path, *step), f"{quoted(name)} is not a valid namespace name", help_, field=(*term.path, "namespace"))


def forbidden_label(workload: Workload) -> Iterator[Match]:
    """Report labels that only a controller may set: KubeVirt rejects its own on VMs, the API server those of Jobs."""
    kind = workload.kind.name
    if workload.from_cluster:
        return
    path = (*workload.template_path, "metadata", "labels")
    if kind in ("VirtualMachineInstance", "VirtualMachine", "VirtualMachinePool"):
        for key in workload.template_labels:
            if key in RESERVED_BY_KUBEVIRT:
                message = f"the label {quoted(key)} is reserved for KubeVirt, which rejects objects that set it"
                yield Match((*path, key), message, "Remove the label; to select one VM, use a label of your own.", key=True, field=path)
    elif kind == "Job" and not workload.spec.get("manualSelector"):
        for key, value in workload.template_labels.items():
            if key in _GENERATED_BY_JOB and not (key.endswith("job-name") and value == workload.ref.name):
                yield _label_of_jobs(workload, key)


def jobs_refused(workload: Workload) -> Iterator[Match]:
    """Report CronJobs whose template sets generated labels of Jobs: the CronJob is accepted, but every Job of it is rejected.

    Its Jobs are named after the CronJob and the time, so even a ``job-name`` label cannot be right.
    """
    if workload.kind.name == "CronJob" and not workload.from_cluster:
        for key in workload.template_labels:
            if key in _GENERATED_BY_JOB:
                yield with_rejection_note(_label_of_jobs(workload, key), made="Job")


def _label_of_jobs(workload: Workload, key: str) -> Match:
    path = (*workload.template_path, "metadata", "labels", key)
    return Match(path, f"the label {quoted(key)} is generated for every Job and must not be set", "Remove the label.", key=True)


def invalid_annotation(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Report invalid annotation keys, values that Kubernetes cannot parse, and annotations above the size limit."""
    for path, values, rejected in _maps(manifest, "annotations"):
        size = 0
        for key, value in values.items():
            size += _bytes(key) + (_bytes(value) if type(value) is str else 0)
            if not is_key(lowercase_first(key)) and not is_placeholder(key):
                yield _with_note(Match((*path, key), invalid_key_message("annotation key", key), KEY_HELP, key=True, field=path), rejected)
        if size > _ANNOTATIONS_LIMIT:
            message = f"the annotations have {size} bytes in total, but at most {_ANNOTATIONS_LIMIT} are allowed"
            yield _with_note(Match(path, message, "Move the data to a ConfigMap."), rejected)
    if manifest.kind.name == "Namespace":
        yield from _annotations_about_pods(manifest)
    if isinstance(manifest, Workload):
        for match in _meaningful_annotations(manifest, target):
            yield with_rejection_note(match, manifest.kind.kubevirt)


def _annotations_about_pods(namespace: Manifest) -> Iterator[Match]:
    """Yield the annotations with a node selector or tolerations for the pods of a namespace that cannot be parsed."""
    from afflint.admission.pod_admission import namespace_rules

    for rule in namespace_rules(namespace, Site(NO_FILE, 0, namespace.base)):
        if rule.fault:
            message = f"{quoted(rule.text)} is {rule.fault.removeprefix('which is ')}: {rule.enforcer} rejects every pod of the namespace"
            remedy = "Write `key=value,key=value`; a label without a value is `key=`." if rule.of_labels else _TOLERATION_LIST
            yield Match(rule.path, message, remedy, severity="warning" if rule.plugin else None)


_TOLERATION_LIST = 'Write a JSON list in quotes, such as `[{"key": "dedicated", "operator": "Exists"}]`.'


def _bytes(text: str) -> int:
    """Return the size of a text in UTF-8, in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _meaningful_annotations(workload: Workload, target: Target) -> Iterator[Match]:
    values = map_at(workload.template, "metadata", "annotations")
    path = (*workload.template_path, "metadata", "annotations")
    cost = values.get(_DELETION_COST)
    if cost is None and _DELETION_COST in values and workload.kind.name not in _STRICT_ANNOTATIONS:
        cost = ""
    if type(cost) is str and not is_placeholder(cost):
        yield from _deletion_cost(cost, (*path, _DELETION_COST))
    legacy = values.get(LEGACY_TOLERATIONS)
    if type(legacy) is str and legacy:
        from afflint.checks.admission.legacy_annotations import tolerations_faults

        yield from tolerations_faults(legacy, (*path, LEGACY_TOLERATIONS), target)


# The API server reads a null annotation as the empty string; for templates of these kinds KubeVirt rejects the type.
_STRICT_ANNOTATIONS = ("VirtualMachine", "VirtualMachineInstanceReplicaSet")


def _deletion_cost(cost: str, path: Path) -> Iterator[Match]:
    from afflint.checks.admission.integers import deletion_cost_fault

    fault = deletion_cost_fault(cost)
    if fault:
        yield Match(path, f"the pod-deletion-cost {quoted(cost)} {fault}", 'Write an integer in quotes, such as "100".')


def label_maps(manifest: Manifest) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the maps whose keys are labels, with their paths: labels, the node selector, and matchLabels."""
    for path, labels, _ in _maps(manifest, "labels"):
        yield path, labels
    if isinstance(manifest, Workload):
        if manifest.constraints.node_selector:
            yield manifest.constraints.node_selector.path, manifest.constraints.node_selector.data
        for selector in workload_selectors(manifest).selectors:
            yield (*selector.path, "matchLabels"), map_at(selector.data, "matchLabels")


def _maps(manifest: Manifest, field: str) -> Iterator[tuple[Path, dict[str, Any], str | None]]:
    """Yield the labels or annotations of an object and of its templates, each with what is rejected: None means the object itself."""
    own = map_at(manifest.data, "metadata", field)
    if own and not (isinstance(manifest, Workload) and manifest.operated):
        yield (*manifest.base, "metadata", field), own, None
    if isinstance(manifest, Workload) and manifest.has_own_template:
        given = map_at(manifest.template, "metadata", field)
        if given:
            yield (*manifest.template_path, "metadata", field), given, "pod" if manifest.kind.kubevirt else None
        if manifest.kind.name == "CronJob":
            job = ("spec", "jobTemplate", "metadata", field)
            yield (*manifest.base, *job), map_at(manifest.data, *job), "Job"


def _with_note(match: Match, made: str | None) -> Match:
    """Add to a match what is rejected, unless it is the object itself."""
    return with_rejection_note(match, made=made) if made else match


def _texts_in(workload: Workload, item: ConstraintItem | PodTerm, field: str) -> Iterator[tuple[Path, str]]:
    """Yield the strings of a list with their paths; the API server reads null as the empty string, KubeVirt rejects it."""
    values = item.data.get(field)
    for index, value in enumerate(values if type(values) is list else ()):
        if type(value) is str:
            yield (field, index), value
        elif value is None and not workload.kind.kubevirt:
            yield (field, index), ""
