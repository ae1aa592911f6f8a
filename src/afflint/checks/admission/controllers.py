"""Fields other than placement constraints: selectors of controllers, replicas, API versions, node names, scheduling gates."""

from collections.abc import Iterable, Iterator
from typing import Any

from afflint.checks.admission.decoding import is_metadata_malformed
from afflint.checks.admission.refusal_time import with_rejection_note
from afflint.checks.admission.spelling import GATE, LABEL_SELECTOR, has_unknown, is_missing, misspelt_value
from afflint.checks.match import Match, Target, inserting, replacing
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted, visible
from afflint.kube.added_labels import JOB, POD_TEMPLATE_HASH
from afflint.kube.constraints import ConstraintItem, items
from afflint.kube.kinds import Kind
from afflint.kube.label_syntax import is_key, is_subdomain, is_value, key_fault
from afflint.kube.scheduler_fields import NAME as SCHEDULER_CONFIGURATION
from afflint.kube.selectors import Requirement, first_unmet, parse_expression
from afflint.kube.types import INT32, Struct
from afflint.manifests.manifest import Labels, Manifest, Workload, labels_at
from afflint.yaml.document import map_at
from afflint.yaml.object_fields import kind_of
from afflint.yaml.placeholders import is_placeholder, is_unfinished_name

_EVICTION = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
_PREEMPTION = ("PreemptLowerPriority", "Never")
# Represents a value that a controller generates: an invalid label value, so that no selector matches it.
_GENERATED = "?"


def selector_missing(workload: Workload) -> Iterator[Match]:
    """Report controllers without a selector, or with an empty one."""
    style, kind, selector = workload.kind.selector, workload.kind.name, workload.spec.get("selector")
    if style == "map":
        yield from _neither_selector_nor_labels(workload)
        return
    empty = (
        ConstraintItem((*workload.base, "spec", "selector"), selector) if type(selector) is dict and not any(selector.values()) else None
    )
    if style is None or (selector is not None and empty is None) or (style == "core" and not workload.template_labels):
        return  # Without labels it is a kustomize base: labels and selector are set elsewhere.
    path = (*workload.base, "spec", "selector")
    if selector is None and style in ("core", "kubevirt"):
        if _lacks_selector(workload):
            # For a DaemonSet the API server reports only that the labels of the template do not match the nil selector.
            field = (*workload.template_path, "metadata", "labels") if kind == "DaemonSet" else None
            remedy = f"Add `selector: {{matchLabels: …}}` with labels from {_labels_field(workload)}."
            yield Match(path, f"this {kind} has no selector", remedy, field=field)
    elif empty and style == "core":
        if not has_unknown(empty, LABEL_SELECTOR) and _is_whole(workload):
            yield Match(path, "the selector is empty and would match every pod", f"Select labels from {_labels_field(workload)}.")
    elif kind == "Job" and selector is None and workload.spec.get("manualSelector") and _lacks_selector(workload):
        yield Match(path, "this Job has manualSelector, but no selector", "Add the selector, or remove manualSelector.")


def _neither_selector_nor_labels(workload: Workload) -> Iterator[Match]:
    """Yield ReplicationControllers without selector and labels: the API server defaults the selector to the labels of the template."""
    if workload.spec.get("selector") or workload.template_labels or not _is_whole(workload):
        return
    message = f"this {workload.kind.name} has no selector, and its template has no labels to derive one from"
    yield Match((*workload.base, "spec", "selector"), message, f"Add {_labels_field(workload)}.")


def _lacks_selector(workload: Workload) -> bool:
    spec = workload.kind.root.fields["spec"] if isinstance(workload.kind.root, Struct) else None
    item = ConstraintItem((*workload.base, "spec"), workload.spec)
    return _is_whole(workload) and isinstance(spec, Struct) and is_missing(workload, item, "selector", spec)


def _is_whole(workload: Workload) -> bool:
    return workload.identity.served and not workload.partial


def selector_template_mismatch(workload: Workload, target: Target) -> Iterator[Match]:
    """Report controllers whose selector does not match the labels of their own template."""
    style, kind, selector = workload.kind.selector, workload.kind.name, workload.spec.get("selector")
    if type(selector) is not dict or style is None or kind == "CronJob" or (kind == "Job" and not workload.spec.get("manualSelector")):
        return
    path, labels = _labelled_template(workload)
    if (not labels and workload.partial) or is_metadata_malformed(workload, path[:-2], target):
        return  # Labels and selector may be set elsewhere, or another rule reports the labels.
    parts = _labels_asked(selector) if style == "map" else _parts(selector)
    at = (*workload.base, "spec", "selector")
    clash = _clash(parts, labels)
    if clash is not None:
        where, asked, found = clash
        template = "the template of its virtual machines" if kind == "VirtualMachinePool" else "the pod template"
        yield Match(
            (*at, *where),
            f"the selector does not match {template}: it requires {asked}, but {found}",
            f"Make the selector and {_labels_field(workload)} agree; a controller finds its pods by these labels.",
            # KubeVirt names the selector, the API server the labels of the template.
            field=at if style == "kubevirt" else path,
        )
    elif kind == "Deployment":
        yield from _hash_excluded(selector, labels, at, path)


def _hash_excluded(selector: dict[str, Any], labels: Labels, at: Path, field: Path) -> Iterator[Match]:
    """Yield selectors with a pod-template-hash: the Deployment controller overwrites it in the selector and template of each ReplicaSet."""
    parts = [part for part in _parts(selector) if part.path != ("matchLabels", POD_TEMPLATE_HASH)]
    clash = _clash(parts, {**labels, POD_TEMPLATE_HASH: _GENERATED})
    if clash is not None:
        message = f"the selector requires {clash.asked}, but every ReplicaSet of a Deployment has its own {POD_TEMPLATE_HASH}"
        yield with_rejection_note(
            Match((*at, *clash.path), message, f"Do not select by {POD_TEMPLATE_HASH}.", field=field), made="ReplicaSet"
        )


def _labelled_template(workload: Workload) -> tuple[Path, Labels]:
    """Return the path and the labels that a controller's selector must match. A pool selects VirtualMachines, not their pods."""
    if workload.kind.name != "VirtualMachinePool":
        return (*workload.template_path, "metadata", "labels"), workload.template_labels
    path = (*workload.base, "spec", "virtualMachineTemplate", "metadata", "labels")
    return path, labels_at(map_at(workload.spec, "virtualMachineTemplate"))


def _labels_field(workload: Workload) -> str:
    return field_of(_labelled_template(workload)[0][len(workload.base) :])


class _SelectorPart(NamedTuple):
    """A requirement of a selector and its path in it."""

    path: Path
    requirement: Requirement


class _Clash(NamedTuple):
    """A requirement of a selector that labels do not match: its path, the requirement, and the label found, in words."""

    path: Path
    asked: str
    found: str


def _parts(selector: dict[str, Any]) -> Iterator[_SelectorPart]:
    """Yield the requirements of a label selector, without malformed ones, which other rules report."""
    for part in _labels_asked(map_at(selector, "matchLabels")):
        if is_key(part.requirement.key) and (is_value(part.requirement.values[0]) or is_placeholder(part.requirement.values[0])):
            yield _SelectorPart(("matchLabels", *part.path), part.requirement)
    for expression in items(selector, "matchExpressions", ()):
        requirement = parse_expression(expression.data)
        if isinstance(requirement, Requirement):
            yield _SelectorPart(expression.path, requirement)


def _labels_asked(labels: dict[str, Any]) -> Iterator[_SelectorPart]:
    """Yield the requirements of a plain map of labels; null is the empty value. The API server does not validate the syntax."""
    for key, value in labels.items():
        if value is None or type(value) is str:
            yield _SelectorPart((key,), Requirement(key, "In", (value or "",)))


def _clash(parts: Iterable[_SelectorPart], labels: Labels) -> _Clash | None:
    """Return the first requirement that labels do not match; None also if placeholders may still match."""
    listed = list(parts)
    unmet = first_unmet([each.requirement for each in listed], labels)
    if unmet is None:
        return None
    path, requirement = listed[unmet]
    if any(map(is_placeholder, (*requirement.values, *labels, *labels.values()))):
        return None
    found = labels.get(requirement.key)
    return _Clash(path, quoted(_question(path, requirement)), "the label is missing" if found is None else f"the value is {quoted(found)}")


def _question(path: Path, requirement: Requirement) -> str:
    key, operator, values, _ = requirement
    if type(path[-1]) is not int:
        return f"{key}: {values[0]}" if values[0] else f'{key}: ""'
    listed = f" [{', '.join(values)}]" if values else ""
    return f"{key} {operator}{listed}"


def job_selector(workload: Workload) -> Iterator[Match]:
    """Report selectors that are set on Jobs, whose selector is generated."""
    if workload.kind.name == "CronJob":
        path, spec = workload.template_path[:-1], workload.above(1)
        if spec.get("selector") is not None:
            yield Match(
                (*path, "selector"), "selector must not be set: the selector of every Job of a CronJob is generated", "Remove the selector."
            )
        if spec.get("manualSelector") is True:
            yield Match((*path, "manualSelector"), "a CronJob cannot use manualSelector", "Remove manualSelector.")
    elif workload.kind.name == "Job" and not workload.spec.get("manualSelector"):
        selector = workload.spec.get("selector")
        if type(selector) is dict:
            yield from _job_selector_mismatch(workload, selector)


def _job_selector_mismatch(workload: Workload, selector: dict[str, Any]) -> Iterator[Match]:
    """Yield the first mismatch: the selector of a Job must match the generated labels, and those together with the template's labels."""
    name = workload.ref.name or _GENERATED
    generated = {label.key: name if label.value == "{name}" else _GENERATED for label in JOB}
    path = (*workload.base, "spec", "selector")
    for whose, labels, field in (
        ("its generated labels", generated, path),
        ("the labels of its pods", {**workload.template_labels, **generated}, (*workload.template_path, "metadata", "labels")),
    ):
        clash = _clash(_parts(selector), labels)
        if clash is not None:
            message = f"the selector of a Job is generated, and {whose} do not match {clash.asked}"
            remedy = "Remove the selector, or set `manualSelector: true` if you need your own selector."
            yield Match((*path, *clash.path), message, remedy, field=field)
            return


def invalid_replicas(workload: Workload) -> Iterator[Match]:
    """Report negative replicas, and negative or missing completions and parallelism of Jobs and CronJobs (`validateJobSpec`)."""
    if workload.kind.root is None or workload.kind.name == "VirtualMachineInstanceReplicaSet":
        return  # KubeVirt accepts negative replicas of a VirtualMachineInstanceReplicaSet.
    for field in _counts(workload):
        count = workload.at(field)
        if count is not None and INT32.fits(count) and count < 0:
            yield Match((*workload.base, *field), f"{field[-1]} cannot be negative", "Write 0 or more.")
    yield from _indexed_without_completions(workload)


def _indexed_without_completions(workload: Workload) -> Iterator[Match]:
    """Yield Indexed Jobs without completions. The API server defaults completions only in a Job without parallelism, not in a CronJob."""
    parallelism = workload.declared.replicas
    if workload.kind.selector != "job" or parallelism is None or workload.partial:
        return
    job = parallelism[:-1]
    is_filled_in = workload.kind.name == "Job" and workload.at(parallelism) is None
    if workload.at((*job, "completionMode")) == "Indexed" and workload.at((*job, "completions")) is None and not is_filled_in:
        path = (*workload.base, *job, "completionMode")
        message = "`completionMode: Indexed` requires completions, which is not set"
        yield Match(path, message, "Set completions to the number of indexes.", field=(*path[:-1], "completions"))


def _counts(workload: Workload) -> tuple[Path, ...]:
    field = workload.declared.replicas
    if field is None:
        return ()
    return (field, (*field[:-1], "completions")) if workload.kind.selector == "job" else (field,)


def missing_api_version(manifest: Manifest) -> Iterator[Match]:
    """Report complete workloads without an apiVersion or a kind."""
    if manifest.identity.served or _is_encoded(manifest):
        return
    if _lacks_kind(manifest) and manifest.ref.api_version is None:
        message = f"this looks like a {manifest.kind.name}, but it has neither apiVersion nor kind"
        help_ = f"Add `apiVersion: {_current(manifest.kind)}` and `kind: {manifest.kind.name}`, or those of another kind."
        yield Match((*manifest.base, "metadata"), message, help_, key=True, field=manifest.base)
    elif _lacks_kind(manifest):
        message = f"this object has the apiVersion {quoted(manifest.ref.api_version)} but no kind, so the API server rejects it"
        help_ = f"Add `kind: {manifest.kind.name}`, or the kind that is meant."
        yield Match((*manifest.base, "apiVersion"), message, help_, key=True)
    elif manifest.ref.api_version is None:
        current = _current(manifest.kind)
        edits = inserting(manifest.base, "apiVersion", current, before="kind")
        message = f"this {manifest.kind.name} has no apiVersion, so the API server rejects it"
        yield Match((*manifest.base, "kind"), message, f"Add `apiVersion: {current}`.", key=True, edits=edits)


def _is_encoded(manifest: Manifest) -> bool:
    """Return whether a Go program wrote the object: its encoders write `status: {}`, but no type for an object without TypeMeta."""
    return _lacks_kind(manifest) and manifest.ref.api_version is None and "status" in manifest.data


def _lacks_kind(manifest: Manifest) -> bool:
    return not kind_of(manifest.data)


def _current(kind: Kind) -> str:
    return f"{kind.group}/{kind.versions[0]}" if kind.group else kind.versions[0]


def unserved_api_version(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Report API versions that the target cluster does not serve for this kind."""
    identity = manifest.identity
    if identity.served or manifest.ref.api_version is None or is_placeholder(manifest.ref.api_version) or _lacks_kind(manifest):
        return
    if identity.removed_in and target.version < tuple(int(part) for part in identity.removed_in.split(".")):
        return
    if manifest.kind.name == SCHEDULER_CONFIGURATION and _is_of_second_scheduler(manifest):
        return
    kind = manifest.kind
    removed = f"; it was removed in Kubernetes {identity.removed_in}" if identity.removed_in else ""
    yield Match(
        (*manifest.base, "apiVersion"),
        f"{kind.name} is not served in {quoted(manifest.ref.api_version or '')}{removed}",
        f"Write `apiVersion: {_current(kind)}` and check the fields that changed.",
        field=(*manifest.base, "kind"),
        edits=replacing((*manifest.base, "apiVersion"), _current(kind)) if _is_drop_in(manifest) else (),
    )


def _is_of_second_scheduler(manifest: Manifest) -> bool:
    """Return whether a KubeSchedulerConfiguration is not for the default scheduler: another one may be older than the cluster."""
    from afflint.scheduler.configuration import profile_names
    from afflint.scheduler.profile import DEFAULT_SCHEDULER

    return DEFAULT_SCHEDULER not in profile_names(manifest.data)


def _is_drop_in(manifest: Manifest) -> bool:
    """Return whether the current version accepts the object unchanged; only the default of the selector was removed."""
    if manifest.ref.api_version == "batch/v1beta1":
        return manifest.kind.name == "CronJob"
    return manifest.ref.api_version == "apps/v1beta2" and bool(map_at(manifest.data, "spec", "selector"))


def invalid_scheduling_field(workload: Workload) -> Iterator[Match]:
    """Report invalid values of nodeName, priorityClassName, schedulingGates, preemptionPolicy and evictionStrategy."""
    kubevirt = workload.kind.kubevirt
    for match in _name(workload, "priorityClassName", "PriorityClass"):
        yield with_rejection_note(match, kubevirt)
    if kubevirt:
        yield from _word(workload, "evictionStrategy", _EVICTION)
    else:
        yield from _name(workload, "nodeName", "node")
        yield from _word(workload, "preemptionPolicy", _PREEMPTION)
        yield from _gates(workload)


def _contains_placeholder(name: str, workload: Workload) -> bool:
    """Return whether a name is a placeholder for ``sed``: in capitals, and part of the object's own name, where capitals are invalid."""
    return name.isupper() and name in (workload.ref.name or "")


def _name(workload: Workload, field: str, what: str) -> Iterator[Match]:
    name = workload.pod.get(field)
    if name and type(name) is str and not is_subdomain(name) and not is_unfinished_name(name) and not _contains_placeholder(name, workload):
        message = f"{field} {quoted(name)} is not a DNS name: lower-case letters, digits, `-` and `.`, at most 253 characters"
        yield Match((*workload.pod_path, field), message, f"Write the name of an existing {what}.")


def _word(workload: Workload, field: str, known: tuple[str, ...]) -> Iterator[Match]:
    word = workload.pod.get(field)
    if type(word) is str and word not in known and not is_placeholder(word):
        yield misspelt_value((*workload.pod_path, field), f"{quoted(word)} is not a valid value of {field}", word, known)


def _gates(workload: Workload) -> Iterator[Match]:
    if not workload.pod.get("schedulingGates"):
        return
    seen: set[str] = set()
    for gate in items(workload.pod, "schedulingGates", workload.pod_path):
        name, path = gate.data.get("name"), (*gate.path, "name")
        if name is not None and type(name) is not str:
            continue
        if not name:
            if "name" in gate.data or is_missing(workload, gate, "name", GATE):
                yield Match(path, "this scheduling gate has no name", "Name gates like labels: `example.com/gate`.", field=gate.path)
        elif not is_key(name) and not is_placeholder(name):
            message = f"{quoted(name)} is not a valid scheduling gate name: {visible(key_fault(name))}"
            yield Match(path, message, "Name gates like labels: `example.com/gate`.", field=gate.path)
        elif name in seen:
            yield Match(path, f"the scheduling gate {quoted(name)} is listed twice", "Remove one of them.", field=gate.path)
        seen.add(name or "")
    if seen and workload.pod.get("nodeName"):
        match = Match((*workload.pod_path, "nodeName"), "nodeName must not be set together with schedulingGates", "Remove one of the two.")
        yield with_rejection_note(match, workload.kind.name != "Pod")
