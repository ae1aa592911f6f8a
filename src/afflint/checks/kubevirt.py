"""What only KubeVirt does: API versions, the descheduler's annotations, labels it overwrites, live migration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.affinity import pinned_host
from afflint.checks.match import Match, Target
from afflint.checks.wording import quoted
from afflint.findings import Path, field_of
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.node_labels import HOSTNAME

_DESCHEDULER = ("descheduler.alpha.kubernetes.io/evict", "descheduler.alpha.kubernetes.io/prefer-no-eviction")
_OVERWRITTEN = {
    "kubevirt.io": "virt-launcher",
    "kubevirt.io/created-by": "the UID of the instance",
    "vm.kubevirt.io/name": "the name of the VM",
    "vmi.kubevirt.io/id": "the name of the instance",
}


def deprecated_kubevirt_api(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """KubeVirt objects in a group version that is served, but deprecated."""
    if manifest.kind.kubevirt and manifest.ref.api_version == "kubevirt.io/v1alpha3":
        message = f"{manifest.kind.name} in kubevirt.io/v1alpha3 is deprecated"
        yield Match((*manifest.base, "apiVersion"), message, replacement="kubevirt.io/v1")


def misplaced_descheduler_annotation(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """The descheduler's annotations on the VM instead of its template, or with a value that is taken to matter."""
    if not isinstance(manifest, Workload) or not manifest.kind.kubevirt:
        return
    home = (*manifest.template_path, "metadata", "annotations")
    if manifest.has_own_template:
        path: Path = (*manifest.base, "metadata", "annotations")
        on_template = _annotations(manifest.template)
        for name in _DESCHEDULER:
            if name in _annotations(manifest.data) and name not in on_template:
                message = (
                    f"{quoted(name)} stands on the {manifest.kind.name}, and the pod, where the descheduler looks, gets only the template's"
                )
                yield Match((*path, name), message, f"Move it to {field_of(home[len(manifest.base) :])}.", key=True)
    for name in _DESCHEDULER:
        value = _annotations(manifest.template).get(name)
        if type(value) is str and value.lower() in ("false", "no", "off", "0"):
            message = f"{quoted(value)} does not switch {quoted(name)} off: the descheduler looks only whether the annotation is there"
            yield Match((*home, name), message, "Remove the annotation to switch it off.")


def reserved_label(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Template labels that virt-controller overwrites on the pod."""
    if not isinstance(manifest, Workload) or not manifest.kind.kubevirt or manifest.from_cluster:
        return
    path = (*manifest.template_path, "metadata", "labels")
    for key, value in manifest.template_labels.items():
        if key in _OVERWRITTEN and value != _OVERWRITTEN[key] and not (key.startswith("vm") and value == manifest.ref.name):
            message = f"virt-controller overwrites the label {quoted(key)} on the pod with {_OVERWRITTEN[key]}"
            yield Match((*path, key), message, key=True)


def migration_impossible(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """VMs that must be live-migrated when a node is drained, and cannot leave their host."""
    if not isinstance(manifest, Workload) or manifest.pod.get("evictionStrategy") != "LiveMigrate" or not manifest.kind.kubevirt:
        return
    strategy = "evictionStrategy LiveMigrate asks for live migration, and "
    pin = pinned_host(manifest)
    if pin is not None:
        path, host = pin
        yield Match(path, f"{strategy}the VM is required to run on {quoted(host)}: draining that node blocks for good")
    for term in manifest.constraints.pod_terms:
        if not term.anti and term.required and term.data.get("topologyKey") == HOSTNAME:
            message = f"{strategy}required podAffinity over the hostname ties the VM to the host of pods that do not move along"
            yield Match((*term.path, "topologyKey"), message)


def _annotations(data: dict[str, Any]) -> dict[str, Any]:
    metadata = data.get("metadata")
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    return annotations if type(annotations) is dict else {}
