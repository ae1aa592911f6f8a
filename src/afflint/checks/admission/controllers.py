"""The fields around the constraints: selectors of controllers, replicas, API versions, node names, gates, strategies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.match import Match, Target
from afflint.checks.wording import nearest, quoted
from afflint.findings import field_of
from afflint.kube.constraints import items
from afflint.kube.label_syntax import is_key, is_subdomain, key_fault
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder

_POD_REFUSED = " (the object is stored, but every pod made from it is refused)"
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_EVICTION = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
_PREEMPTION = ("PreemptLowerPriority", "Never")


def selector_missing(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Controllers without a selector, or with one that selects everything."""
    if not isinstance(manifest, Workload) or manifest.partial or not manifest.identity.served:
        return
    style = manifest.kind.selector
    selector = manifest.spec.get("selector")
    path = (*manifest.base, "spec", "selector")
    if style == "core" and not manifest.template_labels:
        return  # A base whose labels and selector are filled in elsewhere.
    labels = field_of((*manifest.template_path[len(manifest.base) :], "metadata", "labels"))
    if style in ("core", "kubevirt") and selector is None:
        # For a DaemonSet the API server complains only that the labels of the template do not match the nil selector.
        field = (*manifest.template_path, "metadata", "labels") if manifest.kind.name == "DaemonSet" else None
        remedy = f"Add `selector: {{matchLabels: …}}` with labels out of {labels}."
        yield Match(path, f"a {manifest.kind.name} without a selector", remedy, field=field)
    elif style == "core" and type(selector) is dict and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Match(path, "an empty selector", f"Name labels out of {labels}.")
    elif manifest.kind.name == "Job" and manifest.spec.get("manualSelector") and selector is None:
        yield Match(path, "a Job with manualSelector and without a selector", "Add the selector, or remove manualSelector.")


def selector_template_mismatch(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Controllers whose selector does not match the labels of their own template."""
    if not isinstance(manifest, Workload):
        return
    style, selector = manifest.kind.selector, manifest.spec.get("selector")
    if manifest.kind.name == "Job" and not manifest.spec.get("manualSelector"):
        return
    if style not in ("core", "kubevirt", "job") or manifest.kind.name == "CronJob" or type(selector) is not dict:
        return
    path, labels = _labelled_template(manifest)
    if not labels and manifest.partial:
        return  # Labels and selector may both be filled in elsewhere.
    for where, message in _unmatched(selector, labels):
        # KubeVirt names the selector, the API server the labels of the template.
        at = (*manifest.base, "spec", "selector")
        yield Match(
            (*at, *where),
            f"the selector does not match the pod template: {message}",
            f"Make the selector and {field_of(path[len(manifest.base) :])} agree; controllers find their pods by them.",
            field=at if style == "kubevirt" else path,
        )
        return


def _labelled_template(workload: Workload) -> tuple[tuple[str | int, ...], dict[str, str]]:
    """The labels a controller's selector is held against. A pool selects VirtualMachines, not their pods."""
    if workload.kind.name != "VirtualMachinePool":
        return (*workload.template_path, "metadata", "labels"), workload.template_labels
    from afflint.kube.manifests import labels_at

    template = workload.spec.get("virtualMachineTemplate")
    path = (*workload.base, "spec", "virtualMachineTemplate", "metadata", "labels")
    return path, labels_at(template) if type(template) is dict else {}


def _unmatched(selector: dict[str, Any], labels: dict[str, str]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    wanted = selector.get("matchLabels")
    for key, value in wanted.items() if type(wanted) is dict else ():
        text = value or "" if type(value) in (str, type(None)) else None
        if text is None or is_placeholder(text) or any(is_placeholder(each) for each in labels.values()):
            return
        if labels.get(key) != text:
            has = f"there it is {quoted(labels[key])}" if key in labels else "the template has no such label"
            yield ("matchLabels", key), f"it asks for {quoted(f'{key}: {text}')}, and {has}"
    for expression in items(selector, "matchExpressions", ()):
        key, operator, values = (expression.data.get(name) for name in ("key", "operator", "values"))
        if type(key) is str and operator in _SELECTOR_OPERATORS and not _expression_holds(key, operator, values, labels):
            yield expression.path, f"{quoted(key)} {operator} does not hold for its labels"


def _expression_holds(key: str, operator: object, values: object, labels: dict[str, str]) -> bool:
    listed = [each or "" for each in values] if type(values) is list else []
    if operator == "In":
        return labels.get(key) in listed
    if operator == "NotIn":
        return key not in labels or labels[key] not in listed
    return (key in labels) == (operator == "Exists")


def job_selector(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Selectors that people wrote for Jobs, which generate their own."""
    if not isinstance(manifest, Workload) or manifest.kind.selector != "job":
        return
    base = manifest.base
    if manifest.kind.name == "CronJob":
        spec = _map(_map(manifest.spec, "jobTemplate"), "spec")
        path = (*base, "spec", "jobTemplate", "spec")
        if spec.get("selector") is not None:
            yield Match((*path, "selector"), "the Jobs of a CronJob generate their selector, none may be given", "Remove the selector.")
        if spec.get("manualSelector") is True:
            yield Match((*path, "manualSelector"), "a CronJob cannot use manualSelector", "Remove manualSelector.")
        return
    selector = manifest.spec.get("selector")
    if type(selector) is not dict or manifest.spec.get("manualSelector"):
        return
    # The server generates the selector and compares: what is given must match the generated labels alone, and the template's with them.
    name = manifest.ref.name or "?"
    generated = dict.fromkeys(("batch.kubernetes.io/controller-uid", "controller-uid"), "?")
    generated |= dict.fromkeys(("batch.kubernetes.io/job-name", "job-name"), name)
    for labels in (generated, {**manifest.template_labels, **generated}):
        for where, message in _unmatched(selector, labels):
            yield Match(
                (*base, "spec", "selector", *where),
                f"a Job generates its selector, and this one does not match the generated labels: {message}",
                "Remove the selector, or set `manualSelector: true` if you know that you need your own.",
                field=(*base, "spec", "selector") if labels is generated else (*manifest.template_path, "metadata", "labels"),
            )
            return


def _map(data: dict[str, Any], field: str) -> dict[str, Any]:
    value = data.get(field)
    return value if type(value) is dict else {}


def invalid_replicas(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Negative replicas."""
    if isinstance(manifest, Workload) and manifest.kind.replicas and manifest.kind.name != "VirtualMachineInstanceReplicaSet":
        field = manifest.kind.replicas
        if manifest.kind.root is not None and manifest.replicas < 0:
            yield Match((*manifest.base, "spec", field), f"{field} cannot be negative", "Write 0 or more.")


def unserved_api_version(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Group versions that the target cluster does not serve under this kind."""
    identity = manifest.identity
    if identity.served:
        return
    if identity.removed_in and target.version < tuple(int(part) for part in identity.removed_in.split(".")):
        return
    kind = manifest.kind
    current = f"{kind.group}/{kind.versions[0]}" if kind.group else kind.versions[0]
    gone = f"; it is gone since Kubernetes {identity.removed_in}" if identity.removed_in else ""
    yield Match(
        (*manifest.base, "apiVersion"),
        f"{kind.name} is not served in {quoted(manifest.ref.api_version or '')}{gone}",
        f"Write `apiVersion: {current}` and check the fields that changed.",
        field=(*manifest.base, "kind"),
    )


def invalid_scheduling_field(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """nodeName, priorityClassName, schedulingGates, preemptionPolicy and evictionStrategy outside what they may be."""
    if not isinstance(manifest, Workload):
        return
    kubevirt, path = manifest.kind.kubevirt, manifest.pod_path
    for field in ("priorityClassName",) if kubevirt else ("nodeName", "priorityClassName"):
        name = manifest.pod.get(field)
        if type(name) is str and name and not is_subdomain(name) and not is_placeholder(name):
            late = _POD_REFUSED if kubevirt else ""
            message = f"{field} {quoted(name)} is no DNS name: lower-case letters, digits, `-` and `.`, at most 253 of them{late}"
            yield Match((*path, field), message, f"Write the name of an existing {'node' if field == 'nodeName' else 'PriorityClass'}.")
    if kubevirt:
        yield from _word(manifest, "evictionStrategy", _EVICTION)
        return
    yield from _word(manifest, "preemptionPolicy", _PREEMPTION)
    yield from _gates(manifest)


def _word(workload: Workload, field: str, known: tuple[str, ...]) -> Iterator[Match]:
    word = workload.pod.get(field)
    if type(word) is str and word not in known and not is_placeholder(word):
        close = nearest(word, known)
        hint = f"; did you mean {quoted(close)}?" if close else ""
        yield Match(
            (*workload.pod_path, field), f"{field} cannot be {quoted(word)}{hint}", f"Write one of {', '.join(known)}.", replacement=close
        )


def _gates(workload: Workload) -> Iterator[Match]:
    seen: set[str] = set()
    for gate in items(workload.pod, "schedulingGates", workload.pod_path):
        name = gate.data.get("name") or ""
        if type(name) is not str:
            continue
        if not is_key(name):
            yield Match(
                (*gate.path, "name"),
                f"{quoted(name)} is no name of a scheduling gate: {key_fault(name)}",
                "Name gates like labels: `example.com/gate`.",
                field=gate.path,
            )
        elif name in seen:
            yield Match((*gate.path, "name"), f"a second scheduling gate {quoted(name)}", "Remove one of them.", field=gate.path)
        seen.add(name)
    if seen and workload.pod.get("nodeName"):
        late = "" if workload.kind.name == "Pod" else _POD_REFUSED
        yield Match((*workload.pod_path, "nodeName"), f"nodeName together with schedulingGates{late}", "Remove one of the two.")
