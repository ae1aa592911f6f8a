"""The node selector that OpenShift gives to all pods of a namespace, by an annotation of the Namespace.

After the admission plugin scheduling.openshift.io/OriginPodNodeEnvironment (openshift/kubernetes, openshift-kube-apiserver/admission/
scheduler/nodeenv/admission.go): merged into ``spec.nodeSelector`` of every pod as it is made, a DaemonSet's and a virtual machine's too; a
pod that asks for another value of the same key is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from afflint.controllers.pod_maker import PodMaker
from afflint.kube.node_labels import PROJECT_SELECTOR


def in_project(maker: PodMaker, selectors: Mapping[str, str]) -> PodMaker:
    """A workload with what its namespace asks of the nodes; ``selectors`` are the annotations by the names of namespaces."""
    asked = selectors.get(maker.namespace, "")
    own = maker.pod.get("nodeSelector")
    if not asked.strip() or not (own is None or isinstance(own, dict)):
        return maker
    where = f"{PROJECT_SELECTOR} of namespace {maker.namespace}"
    added: dict[str, str] = {}
    for part in asked.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            return replace(maker, refused=f"OpenShift would refuse its pods: {where} is {asked}, which is no list of key=value")
        added[key.strip()] = value.strip()
    own = own or {}
    other = next((key for key, value in added.items() if own.get(key, value) != value), None)
    if other is not None:
        says = f"{where} says {other}={added[other]}, and its nodeSelector {other}={own[other]}"
        return replace(maker, refused=f"OpenShift would refuse its pods: {says}")
    note = f"{where} adds {', '.join(f'{key}={value}' for key, value in added.items())} to its nodeSelector"
    notes = maker.notes if added.items() <= own.items() else (*maker.notes, note)
    return replace(maker, pod={**maker.pod, "nodeSelector": {**own, **added}}, notes=notes)
