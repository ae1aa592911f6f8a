"""Workloads after admission: with the node selector and tolerations that their namespace adds, or rejected."""

from __future__ import annotations

from dataclasses import replace

from afflint.admission.pod_admission import PodAdmission, given_labels, given_tolerations, refusals
from afflint.controllers.pod_source import PodSource
from afflint.findings.phrases import pluralize


def after_admission(pod_source: PodSource, admission: PodAdmission | None) -> PodSource:
    """Return a workload after the admission rules of its namespace."""
    own = pod_source.pod.get("nodeSelector")
    if admission is None or not (own is None or isinstance(own, dict)):
        return pod_source
    pod, notes = dict(pod_source.pod), list(pod_source.notes)
    for refusal in refusals(admission, pod_source.pod):
        if not admission.unsure:
            return replace(pod_source, refused=f"{_capital(refusal.said.who)} would reject its pods: {refusal.words}")
        notes.append(f"{refusal.said.who} would reject its pods: {refusal.words}")
    labels, selector = given_labels(admission), admission.selector
    added = {key: value for key, value in labels.items() if key not in (own or {})}
    if added and selector is not None:
        pod["nodeSelector"] = {**added, **(own or {})}
        notes.append(f"{selector.where} adds {', '.join(f'{key}={value}' for key, value in labels.items())} to its nodeSelector")
    tolerations, source = given_tolerations(admission), admission.default_tolerations
    present = pod.get("tolerations") or []
    missing = [each for each in tolerations if isinstance(present, list) and each not in present]
    if missing and source is not None:
        pod["tolerations"] = [*present, *missing]
        notes.append(f"{source.where} adds {pluralize(len(missing), 'toleration')}")
    return replace(pod_source, pod=pod, notes=tuple(notes)) if len(notes) > len(pod_source.notes) else pod_source


def affects(pod_source: PodSource, admission: PodAdmission | None) -> bool:
    """Return whether admission changes or rejects the pods of a workload."""
    return after_admission(pod_source, admission) is not pod_source


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
