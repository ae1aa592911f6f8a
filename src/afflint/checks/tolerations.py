"""Tolerations that are out of date, redundant, or missing although the node constraints require them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint.checks.admission.labels import LEGACY_TOLERATIONS
from afflint.checks.admission.tolerations import invalid_toleration, operators
from afflint.checks.match import CrossManifestMatch, Match, Target, inserting, removing
from afflint.constraints.nodes import node_constraints
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import join_words, quoted, summarize_names
from afflint.kube.constraints import ConstraintItem, constraints_of
from afflint.kube.label_syntax import is_key
from afflint.kube.node_labels import CONTROL_PLANE, MASTER, ROLES
from afflint.kube.selectors import Requirement
from afflint.kube.taints import (
    BLOCKING_EFFECTS,
    Taint,
    Toleration,
    format_taint,
    implies,
    is_misspelt,
    near_miss,
    tolerated,
    unused,
    written,
)
from afflint.manifests.manifest import Workload, is_for_openshift
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder

if TYPE_CHECKING:
    from afflint.checks.cluster_view import ClusterView


def _parsed(workload: Workload) -> list[tuple[ConstraintItem, Toleration]]:
    return _well_formed(workload.constraints.tolerations)


def _well_formed(items: Iterable[ConstraintItem]) -> list[tuple[ConstraintItem, Toleration]]:
    """Return the well-formed tolerations without placeholders; the admission rules report malformed ones."""
    found: list[tuple[ConstraintItem, Toleration]] = []
    for item in items:
        written = [item.data.get(field) for field in ("key", "operator", "value", "effect")]
        parts: list[Any] = ["" if part is None else part for part in written]
        if all(type(part) is str and not is_placeholder(part) for part in parts):
            found.append((item, Toleration(*parts)))
    return found


def _tolerates_unknown(workload: Workload) -> bool:
    """Return whether the tolerations contain a placeholder, which may be any toleration."""
    written = workload.pod.get("tolerations")
    items = written if type(written) is list else (written,)
    parts = [part for item in items for part in (item.values() if type(item) is dict else (item,))]
    return any(type(part) is str and is_placeholder(part) for part in parts)


def legacy_control_plane_toleration(manifest: Workload) -> Iterator[Match]:
    """Report tolerations of the old master taint without the one for control-plane, and those of either only with a value."""
    if not manifest.constraints.tolerations or is_for_openshift(manifest):
        return
    parsed = _parsed(manifest)
    if _tolerates_unknown(manifest):
        return
    if any(toleration.key.startswith(f"{ROLES}control") for _, toleration in parsed):
        yield from _only_with_value(parsed)
        return
    for item, toleration in parsed:
        taint = Taint(CONTROL_PLANE, "", toleration.effect or "NoSchedule")
        if toleration.key == MASTER and not tolerated(taint, (other for _, other in parsed)):
            newer = f"since Kubernetes 1.24 kubeadm sets {quoted(CONTROL_PLANE)} instead"
            message = f"this toleration matches only the taint {quoted(MASTER)}; {newer}"
            asked = _selected_control_plane(manifest)
            is_required = asked is not None and asked[1] == CONTROL_PLANE
            if is_required:
                message += f", and the pods require nodes with the label {quoted(CONTROL_PLANE)}, so they stay Pending"
            edits = inserting(item.path[:-1], int(item.path[-1]) + 1, _control_plane_toleration(item.data))
            yield Match((*item.path, "key"), message, severity="warning" if is_required else None, edits=edits)


def _only_with_value(parsed: list[tuple[ConstraintItem, Toleration]]) -> Iterator[Match]:
    """Yield one toleration of a control-plane taint with a value, if none matches the taint that kubeadm sets, which has no value."""
    tolerations = [toleration for _, toleration in parsed]
    for item, toleration in sorted(parsed, key=lambda each: each[1].key != CONTROL_PLANE):
        is_equal = toleration.operator in ("", "Equal") and toleration.value
        if toleration.key not in (CONTROL_PLANE, MASTER) or not is_equal:
            continue
        effect = toleration.effect or "NoSchedule"
        if not any(tolerated(Taint(key, "", effect), tolerations) for key in (CONTROL_PLANE, MASTER)):
            taint, value = quoted(toleration.key), quoted(toleration.value)
            message = f"this toleration matches the taint {taint} only with the value {value}; kubeadm sets it without a value"
            yield Match((*item.path, "value"), message, "Write `operator: Exists` without a value, which matches the taint with any value.")
            return


def _control_plane_toleration(legacy: dict[str, Any]) -> dict[str, Any]:
    """Return the toleration of the control-plane taint, which has no value, that belongs next to one of the old taint."""
    new = {field: value for field, value in legacy.items() if field != "value" or not value}
    if legacy.get("value"):
        new["operator"] = "Exists"
    return {**new, "key": CONTROL_PLANE}


def untolerated_control_plane(manifest: Workload, target: Target) -> Iterator[Match]:
    """Report node constraints that select control-plane nodes, without a toleration for their taint."""
    if CONTROL_PLANE in target.known_labels:
        return  # The files of the run show control planes without the taint.
    replaced = manifest.operated and (manifest.kind.group, manifest.kind.name, *manifest.declared.path) in _REPLACED
    if (manifest.partial and not replaced) or type(manifest.pod.get("nodeName")) is str or _tolerates_unknown(manifest):
        return
    asked = _selected_control_plane(manifest)
    if asked is None:
        return
    path, key, is_key = asked
    tolerations = [toleration for _, toleration in _parsed(manifest)]
    if any(tolerated(Taint(role, "", "NoSchedule"), tolerations) for role in (MASTER, CONTROL_PLANE)):
        return
    these = f"these usually have a {quoted('NoSchedule')} taint that the pods do not tolerate, so they stay Pending"
    message = f"the pods require nodes with {quoted(key)}; {these}"
    if replaced:
        message += "; a nodePlacement replaces the defaults of KubeVirt, including its tolerations"
    yield Match(path, message, key=is_key)


# A placement in these kinds replaces the defaults (kubevirt pkg/virt-operator/resource/apply placement.go InjectPlacementMetadata); the
# HyperConverged operator passes its own on.
_REPLACED = frozenset(
    (
        ("kubevirt.io", "KubeVirt", "spec", "infra", "nodePlacement"),
        ("hco.kubevirt.io", "HyperConverged", "spec", "infra", "nodePlacement"),
        ("hco.kubevirt.io", "HyperConverged", "spec", "deployment", "nodePlacements", "infra"),
    )
)


def _selected_control_plane(workload: Workload) -> tuple[Path, str, bool] | None:
    """Return where, and by which label, the pods are restricted to control-plane nodes; None if other nodes qualify too.

    The value "true" is the label that k3s and RKE set on their servers, which accept any pod.
    """
    selector = workload.constraints.node_selector
    for key in (CONTROL_PLANE, MASTER):
        if selector and key in selector.data and selector.data[key] in ("", None):
            return (*selector.path, key), key, True
    found: tuple[Path, str, bool] | None = None
    for term in node_constraints(workload).terms or ():
        asking = next(((path, each.key) for each, path in term.requirements if path is not None and _is_control_plane(each)), None)
        if asking is None:
            return None
        found = found or ((*asking[0], "key"), asking[1], False)
    return found


def _is_control_plane(requirement: Requirement) -> bool:
    asks = requirement.operator == "Exists" or (requirement.operator == "In" and requirement.values == ("",))
    return asks and requirement.key in (CONTROL_PLANE, MASTER)


def tolerates_everything(manifest: Workload) -> Iterator[Match]:
    """Report tolerations of every taint, on pods that are not meant to run on every node."""
    if manifest.kind.name not in ("DaemonSet", "Pod") and not _prepares_nodes(manifest):
        for item, toleration in _parsed(manifest):
            if toleration == Toleration(operator="Exists") and not _is_explained(manifest, item.path):
                message = "this toleration matches every taint, including those of cordoned nodes, control planes and failing nodes"
                yield Match((*item.path, "operator"), message)


def _prepares_nodes(workload: Workload) -> bool:
    """Return whether the pods may have to run before a node is ready, as those that set up its network: on the network of the node."""
    return workload.pod.get("hostNetwork") is True or workload.pod.get("priorityClassName") == "system-node-critical"


def _is_explained(workload: Workload, item: Path) -> bool:
    """Return whether a comment right above a toleration, or above the list, is about it."""
    document = workload.document
    lines = document.text().split("\n")
    for path in (item, item[:-1]):
        number = document.locate(path, key=path != item).line - document.line - 2
        if 0 <= number < len(lines) and re.search(_EXPLAINED, lines[number]) is not None:
            return True
    return False


_EXPLAINED = r"(?i)^\s*#(?!\s*-?\s*\w+:(?:\s|$)).*\b(?:tolerat|taint|every|all\b|any\b|purpose|intention|deliberate|always\b|must\b)"
"""A comment in words, not a line of YAML, about tolerations or about where the pods run."""


def shadowed_toleration(manifest: Workload, target: Target) -> Iterator[Match]:
    """Report tolerations without effect, because another toleration of the pod covers them. Invalid tolerations are not compared."""
    if len(manifest.constraints.tolerations) < 2 or manifest.from_cluster:
        return  # Controllers in a cluster add tolerations without checking for existing ones.
    parsed = _valid(manifest, target)
    for index, (item, toleration) in enumerate(parsed[:_MOST]):
        for other_index, (other_item, other) in enumerate(parsed[:_MOST]):
            if index == other_index or item.data.get("tolerationSeconds") != other_item.data.get("tolerationSeconds"):
                continue
            if implies(other, toleration) and (other_index < index or not implies(toleration, other)):
                number = int(other_item.path[-1]) + 1
                message = f"this toleration has no effect: toleration {number} already matches the same taints"
                yield Match(item.path, message, "Remove the toleration.", edits=removing(item.path))
                break


def _valid(workload: Workload, target: Target) -> list[tuple[ConstraintItem, Toleration]]:
    """Return the tolerations that the API server and the webhooks of KubeVirt accept."""
    known = operators(target, workload.kind)
    rejected = {match.path[:-1] for match in invalid_toleration(workload, target)}
    return [
        (item, toleration)
        for item, toleration in _parsed(workload)
        if item.path not in rejected
        and (toleration.operator in known or (not toleration.operator and not (workload.kind.kubevirt and "operator" in item.data)))
        and (not toleration.key or is_key(toleration.key))
        and not item.data.keys() - _FIELDS
    ]


_FIELDS = {*Toleration._fields, "tolerationSeconds"}
# More than any real pod has. Each is compared with each, which must stay cheap for a hostile list.
_MOST = 100


def toleration_without_attraction(manifest: Workload) -> Iterator[Match]:
    """Report tolerations of dedicated nodes on pods that nothing sends there. Off by default: a toleration does not select nodes."""
    if manifest.kind.name == "DaemonSet":
        return
    constraints = manifest.constraints
    if constraints.node_selector or constraints.node_terms:
        return
    for item, toleration in _parsed(manifest):
        if toleration.key and not toleration.key.startswith(("node.kubernetes.io/", ROLES, "node.cloudprovider.")):
            taint = f"the taint {quoted(toleration.key)}"
            yield Match((*item.path, "key"), f"the pods tolerate {taint}, but no nodeSelector or affinity selects nodes that have it")


def ignored_annotation(workload: Workload, target: Target) -> Iterator[Match]:
    """Report pod annotations that fields have replaced and that no component reads any more, unless the fields have the same effect."""
    annotations = map_at(workload.template, "metadata", "annotations")
    if not any(key.startswith(_ALPHA) for key in annotations if type(key) is str):
        return
    home = field_of(workload.pod_path[len(workload.base) :])
    path = (*workload.template_path, "metadata", "annotations")
    lost = _lost_tolerations(workload, annotations.get(LEGACY_TOLERATIONS), target)
    if lost:
        message = f"this annotation has had no effect since Kubernetes 1.6: {lost}"
        yield Match((*path, LEGACY_TOLERATIONS), message, f"Write the tolerations under {home}.tolerations instead.", key=True)
    if annotations.get(_AFFINITY) and not workload.pod.get("affinity"):
        message = "this annotation has had no effect since Kubernetes 1.6: the pods have no affinity"
        yield Match((*path, _AFFINITY), message, f"Write the affinity under {home}.affinity instead.", key=True)
    has_priority = workload.pod.get("priorityClassName") or workload.pod.get("priority")
    if _CRITICAL in annotations and not has_priority and target.version >= (1, 16):
        message = "this annotation has had no effect since Kubernetes 1.16: the pods have no priority over others"
        classes = "`system-cluster-critical` or `system-node-critical`"
        yield Match((*path, _CRITICAL), message, f"Write {classes} as {home}.priorityClassName instead.", key=True)


_ALPHA = "scheduler.alpha.kubernetes.io/"
_AFFINITY, _CRITICAL = f"{_ALPHA}affinity", f"{_ALPHA}critical-pod"


def _lost_tolerations(workload: Workload, text: object, target: Target) -> str:
    """Describe the effect of the annotation's tolerations that the pods lack; empty if their fields tolerate as much.

    invalid-annotation reports a text that the API server rejects.
    """
    if type(text) is not str or not text or is_placeholder(text):
        return ""
    from afflint.checks.admission.legacy_annotations import tolerations_faults, tolerations_in

    read = tolerations_in(text)
    if isinstance(read, str) or any(tolerations_faults(text, (), target)):
        return ""
    fields = [toleration for _, toleration in _parsed(workload)]
    asked = [Toleration(*[each.get(part, "") for part in Toleration._fields]) for each in read]
    lost = [each for each in asked if not any(implies(field, each) for field in fields)]
    words = dict.fromkeys(f"the taint {quoted(each.key)}" if each.key else "every taint" for each in lost)
    return f"the pods do not tolerate {join_words(words)}" if words else ""


def unmatched_toleration(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report tolerations that match no taint of any known node, although a node that the pods may use has nearly the taint."""
    table, tainted = view.survey.table, dict[Taint, list[int]]()
    for number, node in enumerate(table.nodes):
        for taint in node.taints:
            tainted.setdefault(taint, []).append(number)
    known = {*tainted, *[taint for each in view.classes for taint in each.taints]}
    for pods, compiled in zip(map(view.pods_of, view.survey.pod_sources), view.survey.compiled, strict=True):
        if compiled.template is None or pods.spec is None or not pods.spec.get("tolerations"):
            continue
        items = _well_formed(constraints_of(pods.spec, (*pods.template_path, "spec")).tolerations)
        idle = [(item, toleration) for item, toleration in items if toleration.key and unused((toleration,), known)]
        fit = view.survey.fit(compiled.template)
        if not idle or not fit.candidates:
            continue
        blocking = [
            (taint, [table.names[number] for number in numbers if fit.in_affinity[number] and not fit.tolerated[number]])
            for taint, numbers in tainted.items()
            if taint.effect in BLOCKING_EFFECTS and not tolerated(taint, compiled.template.rules.tolerations)
        ]
        for item, toleration in idle:
            match = _nearly(item, toleration, blocking)
            if match is not None:
                yield CrossManifestMatch(pods.site, pods.ref, match)


def _nearly(item: ConstraintItem, toleration: Toleration, blocking: Sequence[tuple[Taint, Sequence[str]]]) -> Match | None:
    """Return the match for an unused toleration and the first of the ``blocking`` taints, with the nodes of each, that is nearly its."""
    near = next(((taint, nodes) for taint, nodes in blocking if nodes and near_miss(taint, (toleration,), (toleration,))), None)
    if near is None:
        return None
    (taint, nodes), misspelt = near, is_misspelt(toleration, near[0])
    differs = next(field for field in ("key", "value", "effect") if getattr(toleration, field) != getattr(taint, field))
    at = (*item.path, differs) if differs in item.data else item.path
    what = f"this toleration of {quoted(written(toleration, taint))} matches no taint of the known nodes"
    has = "has" if len(nodes) == 1 else "have"
    message = f"{what}: {summarize_names(nodes)} {has} {quoted(format_taint(taint))}, so the pods do not run there"
    remedy = f"Write `{getattr(taint, differs)}`." if misspelt else f"If the pods should run there, tolerate `{format_taint(taint)}`."
    return Match(at, message, remedy, severity="warning" if misspelt else "info")
