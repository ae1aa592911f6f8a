"""Checks for KubeVirt only: API versions, descheduler annotations, overwritten labels and node selectors, settings of migrations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.checks.match import Match, Target, moving, removing, replacing
from afflint.controllers.pod_labels import added_labels, pod_labels
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted
from afflint.kube.kinds import MIGRATION_POLICY
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.document import map_at
from afflint.yaml.placeholders import is_placeholder

_DESCHEDULER = ("descheduler.alpha.kubernetes.io/evict", "descheduler.alpha.kubernetes.io/prefer-no-eviction")
# The values that virt-controller writes, as messages describe them.
_VALUE_WORDS = {
    "{uid}": "the UID of the instance",
    "{hostname}": "the name of the VM",
    "{machine}": "the name of the instance",
    "{name}-{hash}": "the name of its revision",
}


def deprecated_kubevirt_api(manifest: Manifest) -> Iterator[Match]:
    """Report KubeVirt objects in a group version that is served, but deprecated."""
    if manifest.kind.kubevirt and manifest.ref.api_version == "kubevirt.io/v1alpha3":
        message = f"`kubevirt.io/v1alpha3` is deprecated for {manifest.kind.name} and may be removed in a future KubeVirt release"
        path: Path = (*manifest.base, "apiVersion")
        if manifest.document.raw(path) is None:
            # A list from the API server has one apiVersion for all of its items.
            if manifest.base[-1:] != (0,):
                return
            path = ("apiVersion",)
        yield Match(path, message, edits=replacing(path, "kubevirt.io/v1"))


def misplaced_descheduler_annotation(manifest: Workload) -> Iterator[Match]:
    """Report descheduler annotations on the object instead of its template, or with a value that is meant to disable them."""
    home = (*manifest.template_path, "metadata", "annotations")
    on_template = map_at(manifest.template, "metadata", "annotations")
    for path, above in _annotations_above(manifest):
        for name in _DESCHEDULER:
            if name in above and name not in on_template:
                message = f"{quoted(name)} is set on the {manifest.kind.name}, but the descheduler reads it only from the pod"
                edits = moving((*path, name), home, prune=True, before="spec")
                yield Match((*path, name), message, f"Move it to {field_of(home[len(manifest.base) :])}.", key=True, edits=edits)
    for name in _DESCHEDULER:
        value = on_template.get(name)
        if type(value) is str and value.lower() in ("false", "no", "off", "0"):
            message = f"{quoted(value)} does not disable {quoted(name)}: the descheduler checks only that the annotation exists"
            yield Match((*home, name), message, "Remove the annotation to disable it.", edits=removing((*home, name), prune=True))


def _annotations_above(workload: Workload) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the annotations of the object, and for a pool those of the VM in its template: neither reaches the pod."""
    if workload.has_own_template:
        yield (*workload.base, "metadata", "annotations"), map_at(workload.data, "metadata", "annotations")
    if workload.kind.kubevirt:
        path = ("spec", "virtualMachineTemplate", "metadata", "annotations")
        yield (*workload.base, *path), map_at(workload.data, *path)


def reserved_label(manifest: Workload) -> Iterator[Match]:
    """Report template labels that virt-controller overwrites on the pod."""
    if not manifest.kind.kubevirt or manifest.from_cluster:
        return
    path = (*manifest.template_path, "metadata", "labels")
    own = manifest.template_labels
    labels = {label.key: label.value for label in added_labels(manifest) if label.key in own}
    added = pod_labels(manifest).added if labels else {}
    for key in filter(labels.__contains__, own):
        if not (is_placeholder(own[key]) or added[key].certainly_include(own[key])):
            instead = _VALUE_WORDS.get(labels[key], labels[key])
            message = f"virt-controller overwrites the label {quoted(key)} on the pod with {instead}"
            yield Match((*path, key), message, key=True)


_OF_NODES = ("cpumanager", "cpu-", "hyperv.", "machine-type.", "scheduling.", "kubevirt.io/")


def overwritten_node_selector(manifest: Workload, target: Target) -> Iterator[Match]:
    """Report labels of a nodeSelector that virt-controller sets to ``"true"`` because the VM requires them."""
    selector = manifest.pod.get("nodeSelector")
    if not manifest.kind.kubevirt or type(selector) is not dict or manifest.partial:
        return
    others = {key: value for key, value in selector.items() if type(key) is str and key.startswith(_OF_NODES) and value != "true"}
    if not others:
        return
    from afflint.controllers.launcher_pod import required_labels

    needed = required_labels(manifest.pod, target.kubevirt_version)
    for key, value in others.items():
        if key in needed and type(value) is str and not is_placeholder(value):
            message = f"virt-controller sets {quoted(key)} to `true`, because this VM requires it: {quoted(value)} has no effect"
            yield Match((*manifest.pod_path, "nodeSelector", key), message)


def invalid_migration_policy(manifest: Manifest) -> Iterator[Match]:
    """Report values of a MigrationPolicy that KubeVirt's webhook (migrationpolicy-admitter.go) rejects."""
    if manifest.kind.name != MIGRATION_POLICY:
        return
    from afflint.kube.quantities import parse_quantity

    spec = map_at(manifest.data, "spec")
    timeout, bandwidth = spec.get("completionTimeoutPerGiB"), parse_quantity(spec.get("bandwidthPerMigration"))
    for field, is_negative in (
        ("completionTimeoutPerGiB", type(timeout) is int and timeout < 0),
        ("bandwidthPerMigration", bandwidth is not None and bandwidth.nanos < 0),
    ):
        if is_negative:
            message = f"KubeVirt's webhook rejects the negative {field}"
            yield Match((*manifest.base, "spec", field), message, "Use zero, which means no limit, or a positive number.")
