"""Fields that the API does not have: misspelt fields, fields of other kinds, and fields that never existed."""

from __future__ import annotations

from typing import Any

from afflint.checks.admission.spelling import suggested_name
from afflint.checks.match import Match, Target, renaming
from afflint.findings.phrases import did_you_mean, join_words, quoted
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.kinds import VMI_SPEC
from afflint.kube.types import Mismatch, Struct
from afflint.kube.versions import Version, lifespan
from afflint.kube.vm_domain import NAME as DOMAIN
from afflint.manifests.manifest import Manifest
from afflint.yaml.document import map_at

_NEVER_EXISTED = {
    "nodeAntiAffinity": (
        "Kubernetes has no nodeAntiAffinity",
        "Use nodeAffinity with the operator NotIn or DoesNotExist.",
    ),
    "requiredDuringSchedulingRequiredDuringExecution": (
        "requiredDuringSchedulingRequiredDuringExecution was planned but never implemented",
        f"Use {REQUIRED}; running pods are not moved when labels change.",
    ),
    "preferredDuringSchedulingRequiredDuringExecution": (
        "preferredDuringSchedulingRequiredDuringExecution never existed",
        f"Use {PREFERRED}.",
    ),
}

# Help for fields that exist elsewhere, by the struct that contains them.
_INSTEAD: dict[str, dict[str, str]] = {
    "VirtualMachineInstance spec": {
        "nodeName": "KubeVirt has no nodeName; use nodeSelector or nodeAffinity.",
        "schedulingGates": "KubeVirt has no scheduling gates; remove them.",
        "priority": "Name a PriorityClass in `priorityClassName`; KubeVirt does not support a number.",
        "preemptionPolicy": "KubeVirt takes it from the PriorityClass that `priorityClassName` names.",
        "replicas": "A VirtualMachineInstance is one machine; for several, use a VirtualMachinePool.",
        "selector": "Only controllers have a selector; remove it.",
    },
    "VirtualMachine spec": {
        "replicas": "A VirtualMachine is one machine; for several, use a VirtualMachinePool.",
        "selector": "Only controllers have a selector; remove it.",
    },
    "pod spec": {
        "evictionStrategy": "Only virtual machines have an evictionStrategy; protect pods with a PodDisruptionBudget.",
        "replicas": "A Pod is one pod; for several, use a Deployment.",
        "selector": "Only controllers have a selector; remove it.",
    },
    "DaemonSet spec": {"replicas": "A DaemonSet runs one pod on each node; remove replicas."},
    "Job spec": {"replicas": "Set `parallelism` and `completions` instead; a Job has no replicas."},
    "topology spread constraint": {
        "mismatchLabelKeys": "Only pod affinity terms have mismatchLabelKeys; use matchLabelKeys to count only pods of the same revision.",
        "namespaces": "A spread constraint counts the pods of its own namespace only; remove it.",
        "namespaceSelector": "A spread constraint counts the pods of its own namespace only; remove it.",
        "weight": "A spread constraint has no weight; `whenUnsatisfiable: ScheduleAnyway` makes it a preference.",
    },
    "label selector": {
        "matchFields": "Only node selector terms have matchFields; pods and namespaces are selected by their labels.",
        "matchNames": "List namespaces by name in `namespaces`, next to namespaceSelector.",
    },
}


# The field that replaced a removed one.
_SUCCESSORS = {("pod spec", "workloadRef"): "schedulingGroup"}


def of_another_version(mismatch: Mismatch, target: Target) -> Match | None:
    """Return the match for a field that exists in other versions of Kubernetes, but not in the target."""
    name, struct = str(mismatch.path[-1]), mismatch.struct
    span = lifespan(struct, name) if struct else None
    if struct is None or span is None:
        return None
    since, runs = _version(span.since), f"the target is {_version(target.version)}"
    if target.version < span.since:
        message = f"{quoted(name)} exists since Kubernetes {since}; {runs}"
        remedy = f'Remove it, or set `kubernetes-version: "{since}"` if the cluster runs that version.'
        return Match(mismatch.path, message, remedy, key=True)
    last = _version((span.until[0], span.until[1] - 1)) if span.until else since
    known = f"only in Kubernetes {since}" if last == since else f"only from Kubernetes {since} to {last}"
    successor = _SUCCESSORS.get((struct.name, name))
    remedy = f"Write {quoted(successor)}, which replaced it." if successor else "Remove it."
    return Match(mismatch.path, f"{quoted(name)} exists {known}; {runs}", remedy, key=True)


def _version(version: Version) -> str:
    return ".".join(map(str, version))


def unknown_field_message(mismatch: Mismatch, manifest: Manifest) -> Match:
    """Return the match for a field that its struct does not have."""
    name, struct, path = str(mismatch.path[-1]), mismatch.struct, mismatch.path
    assert struct is not None
    if name in _NEVER_EXISTED:
        message, remedy = _NEVER_EXISTED[name]
        return Match(path, message, remedy, key=True)
    message = f"unknown field {quoted(name)} in this {struct.name}"
    instead = _INSTEAD.get(struct.name, {}).get(name)
    if instead is not None:
        return Match(path, message, instead, key=True)
    if struct.name == DOMAIN and name in VMI_SPEC.fields:
        return Match(path, message, f"Move {quoted(name)} one level up, next to {quoted(DOMAIN)}.", key=True)
    if struct.name == "label selector" and not isinstance(mismatch.value, (dict, list)) and not suggested_name(name, struct):
        return Match(path, f"{message}; labels belong under matchLabels", f"Put {quoted(name)} under `matchLabels:`.", key=True)
    return _misspelt(mismatch, manifest, name, struct, message)


def _misspelt(mismatch: Mismatch, manifest: Manifest, name: str, struct: Struct, message: str) -> Match:
    path, close = mismatch.path, suggested_name(name, struct)
    if close is None:
        is_short = 0 < len(struct.fields) <= 12
        remedy = (
            f"Use one of the fields {join_words(sorted(struct.fields))}."
            if is_short
            else "Remove it, or move it to the object that it belongs to."
        )
        return Match(path, message, remedy, key=True)
    message += did_you_mean(close)
    if close in map_around(mismatch, manifest):
        return Match(path, message, f"Merge it with {quoted(close)}, which is set already, or remove one of the two.", key=True)
    field = struct.fields[close]
    if not field.fits(mismatch.value):
        return Match(path, message, f"Write {quoted(close)}, whose value must be {field.expected}.", key=True)
    return Match(path, message, f"Write {quoted(close)}.", key=True, edits=renaming(path, close))


def map_around(mismatch: Mismatch, manifest: Manifest) -> dict[str, Any]:
    """Return the map that contains the field of a mismatch."""
    value = manifest.document.data
    for step in mismatch.path[:-1]:
        value = value[step]
    return map_at(value)
