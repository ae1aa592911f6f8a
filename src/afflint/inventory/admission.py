"""Workloads after admission: with the node selector and tolerations that their namespace adds, or rejected."""

from __future__ import annotations

from dataclasses import replace

from afflint.admission.pod_admission import PodAdmission, given_labels, given_tolerations, rejections
from afflint.controllers.pod_source import PodSource
from afflint.findings.phrases import pluralize


def after_admission(pod_source: PodSource, admission: PodAdmission | None) -> PodSource:
    """Return a workload after the admission rules of its namespace."""
    own = pod_source.pod.get("nodeSelector")
    if admission is None or not (own is None or isinstance(own, dict)):
        return pod_source
    pod, notes = dict(pod_source.pod), list(pod_source.notes)
    for rejection in rejections(admission, pod_source.pod):
        if not admission.uncertainty:
            return replace(pod_source, refused=f"{_capital(rejection.rule.enforcer)} would reject its pods: {rejection.message}")
        notes.append(f"{rejection.rule.enforcer} would reject its pods: {rejection.message}")
    labels, selector = given_labels(admission), admission.selector
    added = {key: value for key, value in labels.items() if key not in (own or {})}
    if added and selector is not None:
        pod["nodeSelector"] = {**added, **(own or {})}
        notes.append(f"{selector.title} adds {', '.join(f'{key}={value}' for key, value in labels.items())} to its nodeSelector")
    tolerations, source = given_tolerations(admission), admission.default_tolerations
    present = pod.get("tolerations") or []
    missing = [each for each in tolerations if isinstance(present, list) and each not in present]
    if missing and source is not None:
        pod["tolerations"] = [*present, *missing]
        notes.append(f"{source.title} adds {pluralize(len(missing), 'toleration')}")
    return replace(pod_source, pod=pod, notes=tuple(notes)) if len(notes) > len(pod_source.notes) else pod_source


def affects(pod_source: PodSource, admission: PodAdmission | None) -> bool:
    """Return whether admission changes or rejects the pods of a workload."""
    return after_admission(pod_source, admission) is not pod_source


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
