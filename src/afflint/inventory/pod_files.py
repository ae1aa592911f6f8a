"""The pods that run already, from dumps: `kubectl get pods -A -o yaml` or `-o json`, and those of `kubectl get vmi -A`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from afflint.controllers.launcher_pod import launcher_pod
from afflint.controllers.observed_workloads import MACHINE, owner_of
from afflint.controllers.pod_replacement import AT_ONCE, pod_replacement_of_owner
from afflint.controllers.pod_source import NOWHERE, PodSource, read_pod_source
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.node_files import NodeFileError, bytes_of, documents_of, refuse_object
from afflint.kube.manifest_reader import manifests_in
from afflint.kube.manifests import Workload
from afflint.scheduler.decoding import InventoryError
from afflint.scheduler.pods import read_pod
from afflint.source.sources import Source
from afflint.yaml.document import map_at, text_at

_NODE_NAME = "kubevirt.io/nodeName"
_LISTS = ("List", "PodList", f"{MACHINE}List")


class RunningPods(NamedTuple):
    """Pods as parsed, and the machines that run in some of them, by namespace and name of the pod."""

    pods: list[dict[str, Any]]
    machines: dict[tuple[str, str], dict[str, Any]]
    machine_workloads: dict[tuple[str, str], PodSource]
    """The workloads of the machines, which are the objects that own them."""


def running_pods(sources: Iterable[Source], *, resources: bool = False) -> RunningPods:
    """Return the pods in dumps, as parsed, and a pod for each running virtual machine whose pod is not in any dump.

    Raises NodeFileError for a file without pods and virtual machines, or with a malformed one.
    """
    pods: list[dict[str, Any]] = []
    machines: list[tuple[Workload, dict[str, Any]]] = []
    for source in sources:
        for manifest, pod in _in_file(source, resources=resources):
            if manifest.data is pod:
                pods.append(pod)
            else:
                machines.append((manifest, pod))
    known = {(text_at(pod, "metadata", "namespace") or "default", owner["name"]): pod for pod in pods if (owner := _machine_of(pod))}
    found = RunningPods(pods, {}, {})
    for machine, made in machines:
        metadata = made["metadata"]
        own = known.get((metadata["namespace"], metadata["ownerReferences"][0]["name"]))
        if own is None:
            pods.append(own := made)
        else:
            # Whose the machine is, its pod does not say.
            own["metadata"]["ownerReferences"] = [*own["metadata"]["ownerReferences"], *metadata["ownerReferences"][1:]]
        name = metadata["namespace"], text_at(own["metadata"], "name")
        found.machines[name] = machine.data
        found.machine_workloads[name] = _workload_of(machine, resources=resources)
    return found


def _workload_of(machine: Workload, *, resources: bool) -> PodSource:
    """Return the workload of a running virtual machine: the object that owns it, or the machine itself if it has no owner."""
    pod_source = read_pod_source(machine, NOWHERE, resources=resources)
    assert pod_source is not None, "an object with a name and a domain"
    # The node name is set when it runs.
    labels = {key: value for key, value in pod_source.labels.items() if key != _NODE_NAME}
    owner = owner_of(map_at(machine.data, "metadata"))
    if owner.kind == "Pod":
        return replace(pod_source, labels=labels)
    pod_replacement, notes = pod_replacement_of_owner(MACHINE), pod_source.notes
    if owner.kind == "VirtualMachineInstanceReplicaSet":
        pod_replacement = AT_ONCE._replace(scaled=False)
    else:
        assumed = "the simulation assumes that it restarts the VM (runStrategy Always)"
        notes = (*notes, f"its {owner.kind} is not among the manifests; {assumed}")
    return replace(pod_source, kind=owner.kind, name=owner.name, labels=labels, pod_replacement=pod_replacement, notes=notes)


def _machine_of(pod: dict[str, Any]) -> dict[str, Any] | None:
    references = map_at(pod, "metadata").get("ownerReferences")
    found = [each for each in references if isinstance(each, dict)] if isinstance(references, list) else []
    return next((each for each in found if each.get("kind") == MACHINE and each.get("name")), None)


def _in_file(source: Source, *, resources: bool) -> Iterator[tuple[Workload, dict[str, Any]]]:
    """Yield each running pod or virtual machine with its pod; a pod is paired with itself."""
    found = False
    for document in documents_of(source.name, bytes_of(source)):
        # A list of objects may well be empty.
        found = found or (type(document.data) is dict and document.data.get("kind") in _LISTS)
        for manifest in manifests_in(document):
            if isinstance(manifest, Workload) and manifest.kind.name in ("Pod", MACHINE):
                found = True
                try:
                    pod = manifest.data if manifest.kind.name == "Pod" else _pod_of(manifest.data, resources=resources)
                    if pod is not None:
                        read_pod(pod, resources=resources)
                        yield manifest, pod
                except InventoryError as error:
                    refuse_object(source.name, document, manifest.base, error)
    if not found:
        raise NodeFileError(f"{source.name}:1:1: no pods in this file: expected the output of `kubectl get pods -A -o yaml`")


def _pod_of(machine: dict[str, Any], *, resources: bool) -> dict[str, Any] | None:
    """Return the pod of a virtual machine on the node in its status, with its owners; None if it does not run."""
    status, metadata = map_at(machine, "status"), map_at(machine, "metadata")
    node = text_at(status, "nodeName")
    if not node or text_at(status, "phase") in ("Succeeded", "Failed") or metadata.get("deletionTimestamp") is not None:
        return None
    pod = launcher_pod(machine, None, resources=resources)
    owners = metadata.get("ownerReferences")
    above = [{**each, "controller": False} for each in owners if isinstance(each, dict)] if isinstance(owners, list) else []
    own = {"apiVersion": "kubevirt.io/v1", "kind": MACHINE, "name": text_at(metadata, "name"), "controller": True}
    named = {**pod["metadata"], "ownerReferences": [own, *above], "namespace": pod["metadata"].get("namespace") or "default"}
    return {**pod, "metadata": named, "spec": {**pod["spec"], "nodeName": node}}
