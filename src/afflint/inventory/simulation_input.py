"""The stage on which workloads are placed, for `check` and `place` alike: nodes, namespaces, services, budgets, running pods, workloads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import Eviction, eviction_of_machine
from afflint.controllers.pod_source import PodSource
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Pods
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.admission import after_admission
from afflint.inventory.node_files import KUBELET_LABELS, NodeFact, texts, with_kubelet_labels
from afflint.inventory.undecidable import undecidable_workloads
from afflint.inventory.virtual_machines import with_virtualization
from afflint.placement.node_classes import NodeClass
from afflint.placement.schedule import Inventory
from afflint.scheduler.namespaces import Namespace, named_only
from afflint.scheduler.node_fit import SCHEDULER

_NONE: Mapping[tuple[str, str], Any] = {}


class SimulationInput(NamedTuple):
    """``makers`` are the workloads, each once, in the order in which they are placed, and ``sources`` the pods that each was read from.

    ``unsettled`` are the keys of those whose place depends on something that the manifests do not tell: see ``unsettled``.
    """

    nodes: tuple[NodeFact, ...]
    makers: tuple[PodSource, ...]
    sources: tuple[Pods, ...]
    inventory: Inventory
    unsettled: frozenset[str]
    budgets: tuple[Budget, ...] = ()
    evictions: Mapping[tuple[str, str], Eviction] = _NONE
    """By namespace and name of a running pod what its eviction comes to, where that of the machine in it tells."""


def build_simulation_input(
    nodes: Sequence[NodeFact],
    fleet: ManifestIndex,
    workloads: Iterable[Pods],
    running: Sequence[Mapping[str, object]] = (),
    *,
    resources: bool = False,
    version: tuple[int, int] = SCHEDULER,
    feature_gates: Collection[str] = (),
    name_of: Callable[[FileId], str] = str,
    only_running: bool = False,
    replan: bool = False,
    at_least: bool = False,
    machines: Mapping[tuple[str, str], Mapping[str, Any]] = _NONE,
    classes: Sequence[NodeClass] = (),
) -> SimulationInput:
    """The stage for some workloads of a fleet, with what else its manifests tell of the cluster.

    ``classes`` are nodes that may be made besides. ``machines`` are those that run in some of the ``running`` pods, by namespace and name.
    ``running`` are pods as parsed, ``version`` and ``feature_gates`` are those of the cluster, and ``name_of`` tells the names of files.
    With ``replan`` running pods of the workloads are placed anew, with ``at_least`` there are no more replicas than an autoscaler surely
    keeps, and with ``only_running`` virtual machines that wait for somebody to start them have no pods.

    Of objects that a cluster would take for one and the same only the first counts, for overlays repeat what they change.
    """
    makers: dict[str, PodSource] = {}
    sources: dict[str, Pods] = {}
    asked: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    again: dict[str, list[PodSource]] = {}
    unknown = undecidable_workloads(fleet)
    for pods in workloads:
        maker = pods.maker
        if maker is None:
            continue
        if maker.generated:
            counts[maker.key] = count = counts.get(maker.key, 0) + 1
            maker = replace(maker, name=f"{maker.name}{count}") if count > 1 else maker
        if at_least and maker.scale.least is not None:
            maker = replace(maker, replicas=max(maker.scale.least, min(maker.replicas, 1)))
        maker = after_admission(maker, fleet.admission(maker.namespace))
        first = makers.setdefault(maker.key, maker)
        if first is maker:
            sources[maker.key] = pods
            asked[maker.key] = KUBELET_LABELS.keys() & {*texts(pods.spec), *texts(maker.pod.get("nodeSelector"))}
        else:
            again.setdefault(maker.key, []).append(maker)
    labelled = with_kubelet_labels(nodes, {key for keys in asked.values() for key in keys})
    assumed = labelled[0].labels.keys() - nodes[0].labels.keys() if nodes else frozenset()
    noted = [
        _with_notes(
            with_virtualization(maker, fleet, only_running=only_running),
            *_repeated(again.get(key, ()), name_of),
            *[f"no node carries {each}, so all are taken to have {each}={KUBELET_LABELS[each]}" for each in sorted(assumed & asked[key])],
            *[reason for reason in (unknown.get(sources[key].key),) if reason],
        )
        for key, maker in makers.items()
    ]
    inventory = Inventory(
        [fact.node for fact in labelled],
        running,
        _namespaces(fleet, noted, running),
        fleet.services,
        resources=resources,
        classes=classes,
        version=version,
        feature_gates=feature_gates,
        replan=replan,
    )
    # Of those of one name only the first counts, as of workloads.
    budgets = tuple({(budget.namespace, budget.name): budget for budget in reversed(fleet.budgets)}.values())[::-1]
    left_open = frozenset(key for key, pods in sources.items() if pods.key in unknown)
    evictions = {identity: eviction_of_machine(machine, fleet.kubevirt_resource) for identity, machine in machines.items()}
    return SimulationInput(tuple(labelled), tuple(noted), tuple(sources.values()), inventory, left_open, budgets, evictions)


def _namespaces(fleet: ManifestIndex, makers: Iterable[PodSource], running: Iterable[Mapping[str, object]]) -> list[Namespace]:
    """The namespaces of a run. A cluster has those as well of which the manifests give no object: their names are labels, too."""
    used = dict.fromkeys(maker.namespace for maker in makers)
    for pod in running:
        metadata = pod.get("metadata")
        name = metadata.get("namespace") if isinstance(metadata, dict) else None
        used[name if isinstance(name, str) and name else "default"] = None
    known = [named_only(name) if name in fleet.ambiguous else each for name, each in fleet.namespaces.items()]
    return [*known, *[named_only(name) for name in used if name not in fleet.namespaces]]


def _repeated(makers: Sequence[PodSource], name_of: Callable[[FileId], str]) -> list[str]:
    """That an object is there again, for some of the places where it is."""
    notes = [f"it is there again in {name_of(maker.site.file)}:{maker.line}, which is left out here" for maker in makers[:_MOST_REPEATED]]
    more = len(makers) - _MOST_REPEATED
    return [*notes, f"and {more} times more"] if more > 0 else notes


_MOST_REPEATED = 3


def _with_notes(maker: PodSource, *notes: str) -> PodSource:
    return replace(maker, notes=(*maker.notes, *notes)) if notes else maker
