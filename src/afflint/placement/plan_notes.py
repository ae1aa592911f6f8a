"""What a plan assumes or leaves out as a whole, as notes: running pods, resources, and nodes of pools."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from afflint.controllers.observed_workloads import ENDED, pod_state
from afflint.controllers.pod_source import PodSource
from afflint.controllers.running_pods import running_pods_of
from afflint.findings.phrases import join_words, pluralize, summarize_names
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import SOMEWHERE
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import NodeRow, WorkloadPlan
from afflint.placement.schedule import Schedule
from afflint.scheduler.nodes import Node
from afflint.scheduler.requests import REPORTED
from afflint.yaml.document import maps_at, text_at
from afflint.yaml.object_fields import kind_of, name_of

KUBEVIRT_OVERHEAD = "the memory that KubeVirt itself needs for each VM is counted by the formula of KubeVirt 1.9; sidecars are not counted"
FITS_NOTE = "FITS is for the first replica of a workload: one more may not fit next to the replicas that run"
"""About a column of the report on a plan, which an answer about one workload does not have."""
_MOST_NAMES = 3


def inventory_notes(inventory: Inventory, pod_sources: Sequence[PodSource], preempted: int) -> list[str]:
    """Return what happens to the running pods of these workloads. ``preempted`` is how many of them are preempted."""
    running = inventory.running(pod_sources)
    replaced, kept = len(running.replaced), sum(map(len, running.kept.values())) - preempted
    notes = []
    if kept:
        stay = "stays on its node; use --replan to schedule it" if kept == 1 else "stay on their nodes; use --replan to schedule them"
        notes.append(f"{kept} running pod{'s' * (kept > 1)} of these workloads {stay} again")
        if any(each.replicas > 1 and not each.daemon for each in pod_sources if running.kept.get(each.key)):
            notes.append(FITS_NOTE)
    if running.ending:
        one = running.ending == 1
        are = "pod of these workloads is" if one else "pods of these workloads are"
        notes.append(
            f"{running.ending} {are} being deleted and occup{'ies' if one else 'y'} resources until {'it is' if one else 'they are'} gone"
        )
    if running.over:
        notes.append(f"{pluralize(running.over, 'pod')} more than the manifests request {'runs' if running.over == 1 else 'run'}")
    nodes = {node.name if isinstance(node, Node) else name_of(node) for node in inventory.nodes}
    far = {index for index, pod in enumerate(inventory.pods) if pod_state(pod, nodes) == "elsewhere"}
    if far:
        far.difference_update(index for each in running_pods_of(pod_sources, inventory.pods).values() for index in each)
    if far:
        one = len(far) == 1
        notes.append(f"{pluralize(len(far), 'running pod')} {'is' if one else 'are'} left out: the node is not among the nodes of this run")
    if replaced:
        pods = f"{pluralize(replaced, 'running pod')} of these workloads {'is' if replaced == 1 else 'are'}"
        notes.append(f"{pods} ignored: the workloads are scheduled again from the manifests")
    return notes


def drain_notes(inventory: Inventory, drained: Collection[str]) -> list[str]:
    """Return which flag `kubectl drain` needs for the pods of a dump (localStorageFilter of k8s.io/kubectl/pkg/drain)."""
    local = {
        text_at(pod, "spec", "nodeName")
        for pod in (inventory.pods if drained else ())
        if any("emptyDir" in volume for volume in maps_at(pod, "spec", "volumes"))
        and text_at(pod, "status", "phase") not in ENDED
        and not any(kind_of(owner) in ("DaemonSet", "Node") for owner in maps_at(pod, "metadata", "ownerReferences"))
    }
    nodes = local.intersection(drained)
    if not nodes:
        return []
    where = f"{pluralize(len(nodes), 'drained node')} {'has' if len(nodes) == 1 else 'have'} pods with emptyDir volumes"
    return [f"{where}: `kubectl drain` fails there without --delete-emptydir-data, which the simulation assumes"]


def waiting_notes(workloads: Sequence[WorkloadPlan]) -> list[str]:
    """Return which virtual machines have changes that wait for a restart."""
    names = [f"{each.namespace}/{each.name}" for each in workloads if each.waiting_changes]
    if not names:
        return []
    have = "1 VM has changes that wait" if len(names) == 1 else f"{len(names)} VMs have changes that wait"
    return [f"{have} for a restart: {summarize_names(names)}"]


def resource_notes(schedule: Schedule, inventory: Inventory) -> list[str]:
    """Return which resources the simulation does not check."""
    if not schedule.before.resources:
        return []
    notes = []
    nodes = schedule.before.table.nodes
    silent = [node.name for node in nodes if node.allocatable is None]
    if silent:
        notes.append(f"{_nodes(silent)} no status.allocatable: resources are not checked there")
    templates = [placed.template for placed in schedule.workloads if placed.template is not None]
    asked = {resource for template in templates for resource, _ in template.requests}
    for resource in REPORTED:
        if resource not in asked:
            continue
        missing = [node.name for node in nodes if node.allocatable is not None and resource not in node.allocatable]
        if missing:
            notes.append(f"{_nodes(missing)} no {resource} in status.allocatable; the simulation assumes that there is enough")
    machines = [(placed, pod.key) for placed in schedule.workloads if placed.pod_source.kubevirt for pod in placed.pods]
    if any(key not in placed.migrated or (key in inventory.machines and not inventory.machines[key].has_pod) for placed, key in machines):
        notes.append(KUBEVIRT_OVERHEAD)
    return notes


def _nodes(names: Sequence[str]) -> str:
    """``3 nodes (a, b, c) have``."""
    shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    return f"{pluralize(len(names), 'node')} ({shown}) {'have' if len(names) > 1 else 'has'}"


def pool_notes(rows: Sequence[NodeRow], key: str, *, happening: bool) -> Iterator[str]:
    """Yield the assumptions about nodes of pools."""
    made = [row for row in rows if row.pool]
    if any(row.domain == SOMEWHERE for row in made):
        pools = list(dict.fromkeys(row.pool for row in made if row.domain == SOMEWHERE))
        unknown = f"the {domain_noun(key)} of the nodes of {join_words(pools)} is unknown"
        yield f"{unknown}; the simulation assumes that they share one, `{SOMEWHERE}`"
    if made and happening:
        yield "unavailable and removed nodes are not replaced: pools keep the size that they had before the disruption"
