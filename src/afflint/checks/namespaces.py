"""Node selectors and tolerations of namespaces, compared with those of their pods. Imported only if a namespace sets any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.admission.pod_admission import NamespaceRule, PodAdmission, given_labels, rejections
from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace
from afflint.constraints.nodes import parse_node_constraints
from afflint.findings.finding import Severity
from afflint.findings.paths import Path
from afflint.findings.phrases import quoted
from afflint.index.facts import Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.kube.constraints import constraints_of
from afflint.kube.selector_algebra import conflict
from afflint.kube.selectors import Malformed, Selector, describe, from_labels, intersection
from afflint.yaml.placeholders import is_placeholder


def contradicted_pods(manifest_index: ManifestIndex) -> Iterator[CrossManifestMatch]:
    """Report pods that the admission plugins of their namespace reject, and pods that no node accepts with the labels they are given."""
    for pods in manifest_index.pods:
        # Without a namespace of its own the object may be created in any.
        if pods.spec is None or pods.namespace is None or is_placeholder(pods.namespace):
            continue
        admission = manifest_index.admission(pods.namespace)
        if admission is not None and not admission.is_guess:
            match = _rejection(pods, pods.spec, admission) or _conflict_with_namespace(pods, pods.spec, admission)
            if match is not None:
                yield CrossManifestMatch(pods.site, pods.ref, match)


def _rejection(pods: Pods, spec: dict[str, Any], admission: PodAdmission) -> Match | None:
    """Return the first label or toleration for which the pods are rejected.

    Settings that cannot be parsed are reported in the namespace.
    """
    for refusal in rejections(admission, spec):
        if refusal.path is not None:
            rule, which = refusal.rule, refusal.path[-1]
            who = f"{rule.enforcer}, where it is enabled," if admission.uncertainty else rule.enforcer
            if type(which) is str:
                asked, given = f"{which}={spec['nodeSelector'][which]}", f"{which}={given_labels(admission)[which]}"
                message, remedy = f"they require {quoted(asked)}, but {quoted(rule.field)} of {rule.owner} sets {quoted(given)}", _AGREE
            else:
                key = spec["tolerations"][which].get("key") or "every taint"
                message, remedy = f"{quoted(rule.field)} of {rule.owner} does not allow their toleration of {quoted(key)}", _ALLOW
            path: Path = (*pods.template_path, "spec", *refusal.path)
            severity: Severity | None = "warning" if admission.uncertainty else None
            return Match(path, f"{who} rejects these pods: {message}", remedy, related=(_place(rule),), severity=severity)
    return None


_AGREE = "Remove the label from the nodeSelector, because every pod of the namespace gets it anyway; or make the two agree."
_ALLOW = "Remove the toleration, or add one that covers it to the annotation of the namespace."


def _conflict_with_namespace(pods: Pods, spec: dict[str, Any], admission: PodAdmission) -> Match | None:
    """Return the match for required node affinity that no node satisfies together with the labels of the namespace."""
    rule, given = admission.selector, from_labels(given_labels(admission))
    if rule is None or isinstance(given, Malformed) or given is None:
        return None
    base: Path = (*pods.template_path, "spec")
    required = parse_node_constraints(constraints_of(spec, base)).terms or ()
    clashes: list[tuple[str, str]] = []
    for term in required:
        parsed = term.selector
        if not isinstance(parsed, Selector) or conflict(parsed.requirements):
            return None  # Other rules report conflicts inside the node affinity.
        whole = intersection(given, parsed).requirements
        clashing = conflict(whole)
        if not clashing or any(is_placeholder(text) for index in clashing for text in (whole[index].key, *whole[index].values)):
            return None
        # The labels of the namespace come first.
        first, last = whole[min(clashing)], whole[max(clashing)]
        clashes.append((f"{first.key}={first.values[0]}", describe(last)))
    if not clashes:
        return None
    gives, asks = clashes[0]
    who = f"with the admission plugin {rule.plugin} enabled, " if admission.uncertainty else ""
    restricts = f"{quoted(rule.field)} of {rule.owner} restricts these pods to nodes with {quoted(gives)}"
    message = f"{who}{restricts}, but no such node satisfies {quoted(asks)}"
    remedy = "Require the same labels as the namespace, or only labels that it does not set; until then the pods stay Pending."
    severity: Severity | None = "warning" if admission.uncertainty else None
    return Match(required[0].path, message, remedy, related=(_place(rule),), severity=severity)


def _place(rule: NamespaceRule) -> RelatedPlace:
    return RelatedPlace(rule.site.file, rule.site.document, rule.path, False, rule.title)
