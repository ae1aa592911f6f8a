"""The pods that run already, from dumps: `kubectl get pods -A -o yaml` or `-o json`, and those of `kubectl get vmi -A`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.launcher_pod import launcher_pod
from afflint.controllers.observed_workloads import ENDED, MACHINE, owner_of
from afflint.controllers.pod_replacement import AT_ONCE, pod_replacement_of_owner
from afflint.controllers.pod_source import NOWHERE, PodSource, read_pod_source
from afflint.controllers.running_machines import RequestedMigration, RunningMachine
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.inventory.node_files import NodeFileError, ParsedFiles, refuse_object
from afflint.kube.added_labels import MIGRATION_UID
from afflint.kube.decoding import InventoryError
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in, objects_in
from afflint.scheduler.pods import PodKey, read_pod
from afflint.source.sources import Source
from afflint.yaml.document import Document, map_at, maps_at, text_at
from afflint.yaml.object_fields import kind_of, metadata_of, name_of, namespace_of

_NODE_NAME = "kubevirt.io/nodeName"
_ATTACHES_DISK = "hotplug-disk"
_MIGRATION, _MIGRATION_NAME = f"{MACHINE}Migration", "kubevirt.io/migrationJobName"
_NO_SOURCES: Mapping[FileId, Source] = {}
RUNNING_KINDS = ("Pod", MACHINE)
_LISTS = ("List", "PodList", f"{MACHINE}List")


class RunningPods(NamedTuple):
    """Pods as parsed, and the machines that run in some of them, by namespace and name of the pod."""

    pods: list[dict[str, Any]]
    machines: dict[PodKey, RunningMachine]
    sites: set[tuple[FileId, int, Path]]
    """Where the pods and machines are: file, document and path."""


def running_pods(
    sources: Mapping[FileId, Source],
    *,
    resources: bool = False,
    dumps: Mapping[FileId, Source] = _NO_SOURCES,
    parsed: ParsedFiles | None = None,
) -> RunningPods:
    """Return the pods in files, as parsed, and a pod for each running virtual machine whose pod is not in any of them.

    ``sources`` contain running pods only; in ``dumps`` those are running that come from a cluster, see ``is_stored``. ``parsed`` has the
    files that are read already. Raises NodeFileError for one of ``sources`` without pods and virtual machines, and for a malformed object.
    """
    parsed = parsed or ParsedFiles()
    machines: list[tuple[Workload, dict[str, Any]]] = []
    migrations: list[Mapping[str, Any]] = []
    found = RunningPods([], {}, set())
    pods, known = found.pods, set[tuple[str, str, str | None]]()
    for file, source in {**dumps, **sources}.items():
        documents = parsed.documents(source)
        migrations += [data for document in documents for data, _ in objects_in(document) if kind_of(data) == _MIGRATION]
        for manifest, pod in _in_file(source, documents, named=file in sources, resources=resources):
            found.sites.add((file, manifest.document.index, manifest.base))
            identity = manifest.kind.name, manifest.namespace, manifest.ref.name
            if pod is None or identity in known:
                continue  # Several dumps may contain the same pod.
            known.add(identity)
            if manifest.data is pod:
                pods.append(pod)
            else:
                machines.append((manifest, pod))
    pods[:] = _with_attachments(pods)
    launchers: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for pod in pods:
        owner = _machine_of(pod)
        if owner and text_at(pod, "status", "phase") not in ENDED:
            launchers.setdefault((namespace_of(pod) or "default", owner["name"]), []).append(pod)
    requested = _requested(migrations, launchers)
    for machine, made in machines:
        metadata = made["metadata"]
        own_key = metadata["namespace"], metadata["ownerReferences"][0]["name"]
        running = [each for each in launchers.get(own_key, ()) if not _is_waiting_target(each)]
        # While a machine migrates, it has two pods.
        own = next((each for each in running if _node_of(each) == _node_of(made)), running[0] if running else made)
        if own is made:
            pods.append(own)
        else:
            # Whose the machine is, its pod does not say.
            own["metadata"]["ownerReferences"] = [*own["metadata"]["ownerReferences"], *metadata["ownerReferences"][1:]]
        name = metadata["namespace"], text_at(own["metadata"], "name")
        pod_source = _workload_of(machine, resources=resources)
        found.machines[name] = RunningMachine(machine.data, pod_source, own is not made, requested.get(own_key))
    return found


def _requested(
    migrations: Sequence[Mapping[str, Any]], launchers: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]
) -> dict[tuple[str, str], RequestedMigration]:
    """Return the migrations whose target pods are not scheduled yet, by namespace and name of the virtual machine.

    ``launchers`` are the virt-launcher pods of the machines. A target pod has the UID of its migration as a label (``createTargetPod`` of
    pkg/virt-controller/watch/migration); targets of other clusters (``sendTo``, ``receive``) are left out.
    """
    found = dict[tuple[str, str], RequestedMigration]()
    ended = {text_at(data, "metadata", "uid") for data in migrations if _is_deleted(data) or text_at(data, "status", "phase") in ENDED}
    scheduled = {text_at(pod, "metadata", "labels", MIGRATION_UID) for pods in launchers.values() for pod in pods if _node_of(pod)}
    for data in migrations:
        spec, uid = map_at(data, "spec"), text_at(data, "metadata", "uid")
        if text_at(data, "status", "phase") not in _UNSCHEDULED or _is_deleted(data) or spec.get("sendTo") or spec.get("receive"):
            continue
        selector = {key: value for key, value in map_at(spec, "addedNodeSelector").items() if type(value) is str}
        if not uid or uid not in scheduled:
            identity = namespace_of(data) or "default", text_at(spec, "vmiName")
            found.setdefault(identity, RequestedMigration(name_of(data), selector, None))
    for identity, pods in launchers.items():
        for pod in pods:
            uid = text_at(pod, "metadata", "labels", MIGRATION_UID)
            if _is_waiting_target(pod) and not _is_deleted(pod) and uid not in ended:
                name = text_at(pod, "metadata", "annotations", _MIGRATION_NAME) or uid
                found[identity] = RequestedMigration(name, {}, pod)
    return found


_UNSCHEDULED = ("", "Pending", "Scheduling")
"""The phases of a migration before its target pod is scheduled."""


def _is_waiting_target(pod: Mapping[str, Any]) -> bool:
    return not _node_of(pod) and bool(text_at(pod, "metadata", "labels", MIGRATION_UID))


def _is_deleted(data: Mapping[str, Any]) -> bool:
    return metadata_of(data).get("deletionTimestamp") is not None


def _with_attachments(pods: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pods without those that attach a hotplugged disk to a virtual machine, whose containers the pod of the machine gets.

    Such a pod belongs to the virt-launcher pod, is not evicted while the machine runs, and ends with it; a migration makes another. After
    ``RenderHotplugAttachmentPodTemplate`` and ``PodEvictionAdmitter`` of github.com/kubevirt/kubevirt.
    """
    found, attaching = list[dict[str, Any]](), list[dict[str, Any]]()
    for pod in pods:
        is_attaching = text_at(pod, "metadata", "labels", "kubevirt.io") == _ATTACHES_DISK
        (attaching if is_attaching else found).append(pod)
    by_name = {(namespace_of(pod) or "default", name_of(pod)): pod for pod in found}
    for pod in attaching:
        owners = [text_at(each, "name") for each in maps_at(pod, "metadata", "ownerReferences") if kind_of(each) == "Pod"]
        launcher = by_name.get((namespace_of(pod) or "default", owners[0])) if owners else None
        if launcher is None:
            found.append(pod)
        else:
            spec = launcher.setdefault("spec", {})
            spec["containers"] = [*maps_at(spec, "containers"), *maps_at(pod, "spec", "containers")]
    return found


def _workload_of(machine: Workload, *, resources: bool) -> PodSource | None:
    """Return the workload of a running virtual machine: the object that owns it, or the machine itself if it has no owner.

    Without a name or a domain it has none.
    """
    pod_source = read_pod_source(machine, NOWHERE, resources=resources)
    if pod_source is None:
        return None
    # The node name is set when it runs, and then the version of its machine type is known.
    labels = {key: value for key, value in pod_source.labels.items() if key != _NODE_NAME}
    started, domain = map_at(machine.data, "status", "machine"), map_at(pod_source.pod, "domain")
    if text_at(started, "type") and domain:
        pod_source = replace(pod_source, pod={**pod_source.pod, "domain": {**domain, "machine": {**map_at(domain, "machine"), **started}}})
    owner = owner_of(metadata_of(machine.data))
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
    references = metadata_of(pod).get("ownerReferences")
    found = [each for each in references if isinstance(each, dict)] if isinstance(references, list) else []
    return next((each for each in found if kind_of(each) == MACHINE and each.get("name")), None)


def _node_of(pod: Mapping[str, Any]) -> str:
    return text_at(pod, "spec", "nodeName")


def _in_file(
    source: Source, documents: Sequence[Document], *, named: bool, resources: bool
) -> Iterator[tuple[Workload, dict[str, Any] | None]]:
    """Yield each pod or virtual machine with its pod, None if the machine does not run; a pod is paired with itself."""
    found = False
    for document in documents:
        # A list of objects may well be empty.
        found = found or kind_of(document.data) in _LISTS
        for manifest in manifests_in(document):
            if isinstance(manifest, Workload) and manifest.kind.name == _MIGRATION:
                yield manifest, None
            elif isinstance(manifest, Workload) and manifest.kind.name in RUNNING_KINDS and (named or is_stored(manifest.data)):
                found = True
                try:
                    pod = manifest.data if manifest.kind.name == "Pod" else _pod_of(manifest.data, resources=resources)
                    if pod is not None:
                        read_pod(pod, resources=resources)
                    yield manifest, pod
                except InventoryError as error:
                    refuse_object(source.name, document, manifest.base, error)
    if named and not found:
        raise NodeFileError(f"{source.name}:1:1: no pods in this file: expected the output of `kubectl get pods -A -o yaml`")


def may_be_stored(data: bytes) -> bool:
    """Return whether an object in the text of a file may come from a cluster, see ``is_stored``."""
    return any(word in data for word in (b"uid", b"phase", b"ownerReferences"))


def is_stored(data: Mapping[str, Any]) -> bool:
    """Return whether a pod or virtual machine instance comes from a cluster, which gives it a UID, a phase, and mostly an owner."""
    return bool(text_at(data, "metadata", "uid") or text_at(data, "status", "phase") or maps_at(data, "metadata", "ownerReferences"))


def has_other_objects(documents: Iterable[Document]) -> bool:
    """Return whether documents have objects besides nodes, running pods and virtual machine instances, and entries of node lists."""
    for document in documents:
        data = document.data
        if type(data) is not dict:
            continue
        kind = kind_of(data)
        items = maps_at(data, "items") if type(kind) is str and kind.endswith("List") else [data]
        if any(kind_of(each) and not _is_inventory(each) for each in items):
            return True
    return False


def has_workloads(documents: Iterable[Document]) -> bool:
    """Return whether documents have workloads or running pods."""
    return any(isinstance(manifest, Workload) for document in documents for manifest in manifests_in(document))


def _is_inventory(data: Mapping[str, Any]) -> bool:
    return kind_of(data) == "Node" or (kind_of(data) in RUNNING_KINDS and is_stored(data))


def _pod_of(machine: dict[str, Any], *, resources: bool) -> dict[str, Any] | None:
    """Return the pod of a virtual machine on the node in its status, with its owners; None if it does not run."""
    status, metadata = map_at(machine, "status"), metadata_of(machine)
    node = text_at(status, "nodeName")
    if not node or text_at(status, "phase") in ENDED or metadata.get("deletionTimestamp") is not None:
        return None
    pod = launcher_pod(machine, None, resources=resources)
    owners = metadata.get("ownerReferences")
    above = [{**each, "controller": False} for each in owners if isinstance(each, dict)] if isinstance(owners, list) else []
    own = {"apiVersion": "kubevirt.io/v1", "kind": MACHINE, "name": text_at(metadata, "name"), "controller": True}
    named = {**pod["metadata"], "ownerReferences": [own, *above], "namespace": pod["metadata"].get("namespace") or "default"}
    return {**pod, "metadata": named, "spec": {**pod["spec"], "nodeName": node}}
