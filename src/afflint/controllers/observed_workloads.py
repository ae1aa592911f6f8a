"""Workloads of running pods without a manifest: one for each controller, with the constraints that its pods have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from afflint.controllers.pod_replacement import GUARD, NEVER, PodReplacement, knows_owner, pod_replacement_of_owner
from afflint.controllers.pod_source import PLACEMENT_FIELDS, PRIORITY_FIELDS, PodSource, has_local_storage
from afflint.controllers.running_pods import running_pods_of
from afflint.controllers.virtual_machine import claim_name
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.added_labels import POD_TEMPLATE_HASH, ROLLOUT_HASH
from afflint.yaml.document import map_at, maps_at, text_at
from afflint.yaml.object_fields import api_version_of, kind_of, metadata_of, name_of

MACHINE = "VirtualMachineInstance"
ENDED = ("Succeeded", "Failed")
_ORDINAL = re.compile("-[0-9]{1,9}")

PodState = Literal["running", "pending", "ending", "finished", "elsewhere"]
"""Where a pod of a dump is: on a known node, on no node yet, in deletion on a known node, at its end, or on an unknown node."""

_NO_MACHINES: Mapping[tuple[str, str], PodSource] = {}


class Owner(NamedTuple):
    """The object that recreates a pod: of a pod of a Deployment the Deployment; of a pod without a controller the pod itself."""

    kind: str
    group: str
    name: str


def observed_workloads(
    pod_sources: Iterable[PodSource],
    pods: Sequence[Mapping[str, Any]],
    nodes: Collection[str],
    machines: Mapping[tuple[str, str], PodSource] = _NO_MACHINES,
) -> list[PodSource]:
    """Return a workload for each controller whose pods belong to none of the workloads in ``pod_sources``.

    ``pods`` are the running pods as parsed, ``nodes`` the names of the nodes, and ``machines`` the workloads of the virtual machines in
    some of the pods, by namespace and name of the pod. Static pods, and pods of virtual machines that ``machines`` lacks, have no
    workload.
    """
    pod_sources = list(pod_sources)
    # The pods of a rejected manifest keep running, but a second workload cannot have its name.
    known = {pod_source.key for pod_source in pod_sources}
    taken = {index for each in running_pods_of(pod_sources, pods).values() for index in each}
    members: dict[tuple[str, Owner], list[int]] = {}
    found: list[PodSource] = []
    for index, pod in enumerate(pods):
        if index in taken or pod_state(pod, nodes) in ("finished", "elsewhere"):
            continue
        metadata = metadata_of(pod)
        namespace = text_at(metadata, "namespace") or "default"
        machine = machines.get((namespace, text_at(metadata, "name")))
        guarded = guard_of(pod)
        owner = (
            Owner("Pod", "", guarded)
            if guarded
            else owner_of(metadata)
            if machine is None
            else Owner(machine.kind, machine.group, machine.name)
        )
        if machine is not None or owner.kind not in ("Node", MACHINE):
            members.setdefault((namespace, owner), []).append(index)
    for (namespace, owner), indexes in members.items():
        first = map_at(pods[indexes[0]], "metadata")
        machine = machines.get((namespace, text_at(first, "name")))
        workload = _of_pods(namespace, owner, indexes, pods, nodes) if machine is None else _of_machines(machine, indexes)
        if workload.replicas and workload.key not in known:
            known.add(workload.key)
            found.append(workload)
    return found


def guard_of(pod: object) -> str:
    """Return the name that the guard pods of an operator of OpenShift share, such as ``etcd-guard``; empty for another pod.

    They keep a budget for the static pods of a control plane and have no owner. The operator creates them again with ``spec.nodeName``,
    except on cordoned nodes (GuardController of github.com/openshift/library-go).
    """
    node, name = text_at(pod, "spec", "nodeName"), name_of(pod)
    marked = text_at(pod, "metadata", "labels", "app") == "guard" and text_at(pod, "metadata", "namespace").startswith("openshift-")
    return name.removesuffix(f"-{node}") if marked and node and name.endswith(f"-guard-{node}") else ""


def pod_state(pod: object, nodes: Collection[str]) -> PodState:
    """Return where a pod of a dump is, see ``PodState``."""
    if text_at(pod, "status", "phase") in ENDED:
        return "finished"
    node = text_at(pod, "spec", "nodeName")
    if node and node not in nodes:
        return "elsewhere"
    if metadata_of(pod).get("deletionTimestamp") is not None:
        return "ending" if node else "finished"
    return "running" if node else "pending"


def owner_of(metadata: Mapping[str, Any]) -> Owner:
    """Return the object that recreates a pod, from its controller and the label with the revision of a Deployment or Rollout."""
    controller = _controller(metadata)
    if controller is None:
        return Owner("Pod", "", text_at(metadata, "name"))
    kind, name = kind_of(controller), text_at(controller, "name")
    group = api_version_of(controller).rpartition("/")[0]
    if kind == "ReplicaSet":
        for label, above, group_above in ((ROLLOUT_HASH, "Rollout", "argoproj.io"), (POD_TEMPLATE_HASH, "Deployment", "apps")):
            revision = text_at(metadata, "labels", label)
            if revision and name.endswith(f"-{revision}"):
                return Owner(above, group_above, name[: -len(revision) - 1])
    return Owner(kind, group, name)


def spreading_owners(namespace: str, indexes: Iterable[int], pods: Sequence[object]) -> list[dict[str, Any]]:
    """Return the ReplicaSets, StatefulSets and ReplicationControllers of some running pods of a namespace, which are in ``pods``.

    The scheduler spreads pods by the selectors of these. They are not known: the labels that all pods of a controller share select at
    least these pods.
    """
    shared: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for index in indexes:
        metadata = metadata_of(pods[index])
        controller = _controller(metadata)
        if controller is not None and kind_of(controller) in _SPREADING and text_at(controller, "name"):
            labels = {(key, value) for key, value in map_at(metadata, "labels").items() if type(value) is str}
            shared.setdefault((kind_of(controller), text_at(controller, "name")), labels).intersection_update(labels)
    return [
        {
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": dict(labels) if kind == "ReplicationController" else {"matchLabels": dict(labels)}},
        }
        for (kind, name), labels in shared.items()
        if labels
    ]


_SPREADING = ("ReplicaSet", "StatefulSet", "ReplicationController")


def _controller(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    return next((each for each in maps_at(metadata, "ownerReferences") if each.get("controller") is True), None)


def _of_pods(namespace: str, owner: Owner, indexes: Sequence[int], pods: Sequence[Mapping[str, Any]], nodes: Collection[str]) -> PodSource:
    """Return the workload of some pods. Each pod has its own constraints; those of the first are shown."""
    pod_replacement, notes = _replacement(owner, [name_of(pods[index]) for index in indexes])
    held = pod_replacement.replaced == "gone"
    kept = [index for index in indexes if held or pod_state(pods[index], nodes) != "ending"]
    if pod_replacement.ordinals:
        # Ordinals count: db-2 is before db-10.
        kept.sort(key=lambda index: (len(name := name_of(pods[index])), name))
    first = pods[(kept or indexes)[0]]
    spec, metadata = map_at(first, "spec"), metadata_of(first)
    claims = [claim_name(volume) for index in kept for volume in maps_at(pods[index], "spec", "volumes")]
    return PodSource(
        owner.kind,
        owner.group,
        namespace,
        owner.name,
        len(kept),
        labels={key: value for key, value in map_at(metadata, "labels").items() if type(value) is str},
        annotations=map_at(metadata, "annotations"),
        # The scheduler sets spec.nodeName: it is not a constraint.
        pod={field: spec[field] for field in (*PLACEMENT_FIELDS, *PRIORITY_FIELDS) if field in spec and field != "nodeName"},
        pod_replacement=pod_replacement,
        volumes=tuple(dict.fromkeys(filter(None, claims))),
        has_local_storage=has_local_storage(spec),
        notes=notes,
        observed=tuple(kept),
    )


def _of_machines(machine: PodSource, indexes: Sequence[int]) -> PodSource:
    return replace(machine, replicas=len(indexes), observed=tuple(indexes))


def _replacement(owner: Owner, names: Sequence[str]) -> tuple[PodReplacement, tuple[str, ...]]:
    """Return how the controller replaces its pods, and what is assumed about a controller that is not one of Kubernetes."""
    if owner.kind == "Pod":
        return NEVER if names == [owner.name] else GUARD, ()
    if knows_owner(owner.kind, owner.group):
        return pod_replacement_of_owner(owner.kind), ()
    stable = all(name.startswith(owner.name) and _ORDINAL.fullmatch(name[name.rfind("-") :]) for name in names)
    when = "with the same name, once the old one is gone" if stable else "as a ReplicaSet does"
    note = f"afflint does not know how a {owner.kind} replaces its pods; the simulation assumes that it creates a new pod {when}"
    return (PodReplacement("gone", ordinals=True) if stable else PodReplacement()), (note,)
