"""The input of a simulation, for `check` and `place`: nodes, namespaces, services, budgets, running pods and workloads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from afflint.controllers.budgets import Budget
from afflint.controllers.evictions import Eviction, eviction_of_machine
from afflint.controllers.observed_workloads import observed_workloads
from afflint.controllers.pod_source import PodSource
from afflint.controllers.running_machines import RunningMachines
from afflint.controllers.running_pods import is_controlled_by, with_running_revisions
from afflint.findings.finding import FileId
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.index.facts import REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, SPREAD, Pods, PodsKey, SelectorRef
from afflint.index.manifest_index import ManifestIndex, Scope
from afflint.inventory.admission import affects, after_admission
from afflint.inventory.declared_nodes import NOTHING, ExpectedLabels, expected_labels, with_expected_labels, with_virt_handlers
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import NodeClass
from afflint.inventory.node_files import KUBELET_LABELS, NodeFact, with_kubelet_labels
from afflint.inventory.scheduler_profiles import NO_PROFILES, Profiles, profiles_of
from afflint.inventory.virtual_machines import with_virtualization
from afflint.kube.selectors import EVERYTHING, Selector
from afflint.scheduler.namespaces import Namespace, namespace_by_name
from afflint.scheduler.node_fit import SCHEDULER
from afflint.yaml.document import all_texts
from afflint.yaml.object_fields import namespace_of
from afflint.yaml.placeholders import is_placeholder

_NONE: Mapping[tuple[str, str], Any] = {}


class SimulationInput(NamedTuple):
    """``pod_sources`` are the workloads in the order in which they are placed, and ``sources`` the pods that each was read from.

    ``undecidable`` are the keys of those whose place depends on something that the manifests do not show: see ``undecidable``.
    """

    nodes: tuple[NodeFact, ...]
    pod_sources: tuple[PodSource, ...]
    sources: tuple[Pods, ...]
    inventory: Inventory
    undecidable: frozenset[str]
    budgets: tuple[Budget, ...] = ()
    evictions: Mapping[tuple[str, str], Eviction] = _NONE
    """The result of evicting a running pod by namespace and name, where its VirtualMachineInstance shows it."""
    expected: ExpectedLabels = NOTHING
    """What the simulation assumes of nodes that are only declared."""
    repeated: tuple[tuple[PodSource, Pods], ...] = ()
    """Further definitions of the workloads, which are not placed: those of overlays for other clusters, say."""


class SimulationOptions(NamedTuple):
    """What a simulation takes into account. ``version`` and ``feature_gates`` are those of the cluster."""

    version: tuple[int, int] = SCHEDULER
    feature_gates: Collection[str] = ()
    resources: bool = False
    """Whether the requests of pods and the allocatable resources of nodes are compared."""
    only_running: bool = False
    """Whether virtual machines that a user has to start have no pods."""
    replan: bool = False
    """Whether running pods of the workloads are scheduled again."""
    at_least: bool = False
    """Whether an autoscaled workload has only the replicas that its autoscaler surely keeps."""
    has_pools: bool = False
    """Whether node pools add nodes to the simulation."""


def without_controlled(workloads: Sequence[Pods], *, with_pods: bool = False) -> list[Pods]:
    """Return the workloads without those that repeat another: an object and its controller are one workload.

    A custom resource gives way to the objects that its operator has created. ``with_pods``: a running Pod repeats its controller, too.
    """
    by_name: dict[tuple[str | None, str, str | None], list[Pods]] = {}
    for pods in workloads:
        if pods.pod_source is not None:
            by_name.setdefault((pods.ref.kind, pods.namespace or "default", pods.ref.name), []).append(pods)
    dropped: set[int] = set()
    for pods in workloads:
        pod_source = pods.pod_source
        if pod_source is None or pod_source.controller is None:
            continue
        owners = by_name.get((pod_source.controller.kind, pods.namespace or "default", pod_source.controller.name), ())
        repeats = (with_pods and pod_source.kind == "Pod") or is_controlled_by(pod_source, pod_source.controller.kind)
        if not pod_source.replicas or (owners and repeats):
            dropped.add(id(pods))
        else:
            dropped.update(map(id, owners))
    return [pods for pods in workloads if id(pods) not in dropped] if dropped else list(workloads)


def build_simulation_input(
    nodes: Sequence[NodeFact],
    manifest_index: ManifestIndex,
    workloads: Iterable[Pods],
    options: SimulationOptions,
    running: Sequence[Mapping[str, object]] = (),
    *,
    name_of: Callable[[FileId], str] = str,
    machines: RunningMachines = _NONE,
    classes: Sequence[NodeClass] = (),
) -> SimulationInput:
    """Return the input for simulating some workloads of a run, with the other objects of its manifests.

    ``running`` are pods as parsed, ``machines`` the virtual machines in some of them, and ``classes`` the nodes that pools may create in
    addition. Running pods that belong to no workload are planned as replicas
    of their controllers. ``name_of`` returns the name of a file. Of several objects with one name, only the first counts:
    overlays repeat what they change.
    """
    chosen = _choose(workloads, manifest_index, at_least=options.at_least)
    asked = {key: _kubelet_labels(pod_source, chosen.sources[key]) for key, pod_source in chosen.pod_sources.items()}
    asked_labels = {key for keys in asked.values() for key in keys}
    labelled = with_virt_handlers(with_kubelet_labels(nodes, asked_labels), manifest_index.kubevirt_resource)
    assumed = labelled[0].labels.keys() - nodes[0].labels.keys() if nodes else frozenset()
    profiles = profiles_of(manifest_index.facts.schedulers) if manifest_index.facts.schedulers else NO_PROFILES
    undecidable = undecidable_workloads(manifest_index, profiles)
    noted = tuple(
        [
            _with_notes(
                with_virtualization(pod_source, manifest_index, only_running=options.only_running),
                *_repeated([each for each, _ in chosen.repeated.get(key, ())], name_of),
                *[_assumption(label) for label in sorted(assumed & asked[key])],
                *[reason for reason in (undecidable.get(chosen.sources[key].key),) if reason],
            )
            for key, pod_source in chosen.pod_sources.items()
        ]
    )
    if running:
        noted = tuple(with_running_revisions(noted, running))
    machines = {
        key: each._replace(pod_source=each.pod_source and with_virtualization(each.pod_source, manifest_index))
        for key, each in machines.items()
    }
    noted += _observed(noted, manifest_index, running, {node.name for node in nodes}, machines)
    expected = NOTHING
    if options.has_pools or any(each.declared for each in labelled):
        expected = expected_labels(labelled, noted, asked_labels)
    completed = with_expected_labels(labelled, expected)
    inventory = Inventory(
        [fact.node for fact in completed],
        running,
        _namespaces(manifest_index, noted, running),
        manifest_index.facts.services,
        resources=options.resources,
        classes=classes,
        version=options.version,
        feature_gates=options.feature_gates,
        replan=options.replan,
        profiles=profiles.by_name,
        machines=machines,
    )
    budgets = tuple({(budget.namespace, budget.name): budget for budget in reversed(manifest_index.facts.budgets)}.values())[::-1]
    left_open = frozenset(key for key, pods in chosen.sources.items() if pods.key in undecidable)
    # An instance type may name another scheduler.
    left_open |= {each.key for each in noted if each.kubevirt and not profiles.of(each).proves}
    of_machines = {key: eviction_of_machine(each.data, manifest_index.kubevirt_resource, each.pod_source) for key, each in machines.items()}
    evictions = {key: eviction for key, eviction in of_machines.items() if eviction is not None}
    repeated = [(with_virtualization(each, manifest_index), pods) for found in chosen.repeated.values() for each, pods in found]
    sources = tuple(chosen.sources.values())
    return SimulationInput(completed, noted, sources, inventory, left_open, budgets, evictions, expected, tuple(repeated))


def _observed(
    workloads: Sequence[PodSource],
    manifest_index: ManifestIndex,
    running: Sequence[Mapping[str, object]],
    nodes: Collection[str],
    machines: RunningMachines,
) -> tuple[PodSource, ...]:
    """Return the workloads of the running pods that belong to no other workload."""
    owned = {key: each.pod_source for key, each in machines.items() if each.pod_source is not None}
    found = observed_workloads(workloads, running, nodes, owned) if running else ()
    return tuple([after_admission(each, manifest_index.admission(each.namespace)) if each.kubevirt else each for each in found])


class _Chosen(NamedTuple):
    """The workloads of a simulation by their keys: as they are placed, as they were read, and their further definitions."""

    pod_sources: dict[str, PodSource]
    sources: dict[str, Pods]
    repeated: dict[str, list[tuple[PodSource, Pods]]]


def _choose(workloads: Iterable[Pods], manifest_index: ManifestIndex, *, at_least: bool) -> _Chosen:
    """Choose the first definition of each workload, as its namespace and its autoscaler change it."""
    chosen = _Chosen({}, {}, {})
    counts: dict[str, int] = {}
    for pods in workloads:
        pod_source = pods.pod_source
        if pod_source is None:
            continue
        if pod_source.generated:
            counts[pod_source.key] = count = counts.get(pod_source.key, 0) + 1
            pod_source = replace(pod_source, name=f"{pod_source.name}{count}") if count > 1 else pod_source
        if at_least and pod_source.scale.least is not None:
            pod_source = replace(pod_source, replicas=max(pod_source.scale.least, min(pod_source.replicas, 1)))
        pod_source = after_admission(pod_source, manifest_index.admission(pod_source.namespace))
        if pod_source.key in chosen.pod_sources:
            chosen.repeated.setdefault(pod_source.key, []).append((pod_source, pods))
        else:
            chosen.pod_sources[pod_source.key] = pod_source
            chosen.sources[pod_source.key] = pods
    return chosen


def _kubelet_labels(pod_source: PodSource, pods: Pods) -> Set[str]:
    """Return the labels of kubelets that a workload may use."""
    return KUBELET_LABELS.keys() & {*all_texts(pods.spec), *all_texts(pod_source.pod.get("nodeSelector"))}


def _assumption(label: str) -> str:
    return f"no node has the label {label}; the simulation assumes that all nodes have {label}={KUBELET_LABELS[label]}"


def _namespaces(
    manifest_index: ManifestIndex, pod_sources: Iterable[PodSource], running: Iterable[Mapping[str, object]]
) -> list[Namespace]:
    """Return the namespaces of a run, including those that workloads use and no manifest defines: their names are labels, too."""
    used = dict.fromkeys(pod_source.namespace for pod_source in pod_sources)
    for pod in running:
        used[namespace_of(pod) or "default"] = None
    known = [namespace_by_name(name) if name in manifest_index.ambiguous else each for name, each in manifest_index.namespaces.items()]
    return [*known, *[namespace_by_name(name) for name in used if name not in manifest_index.namespaces]]


def _repeated(pod_sources: Sequence[PodSource], name_of: Callable[[FileId], str]) -> list[str]:
    """Return notes on further definitions of an object."""
    notes = [
        f"it is defined again in {name_of(pod_source.site.file)}:{pod_source.line}; the simulation ignores that definition"
        for pod_source in pod_sources[:_MOST_REPEATED]
    ]
    more = len(pod_sources) - _MOST_REPEATED
    return [*notes, f"and {more} more times"] if more > 0 else notes


_MOST_REPEATED = 3


def _with_notes(pod_source: PodSource, *notes: str) -> PodSource:
    return replace(pod_source, notes=(*pod_source.notes, *notes)) if notes else pod_source


# Workloads whose nodes are undecidable.
# A value is a placeholder, the labels of a namespace are unknown, or it is unknown whether the annotations of the namespace are enforced.
# Another scheduler places the pods, or one whose configuration disables a filter. Workloads with affinity to such pods are undecidable,
# too. Nothing is proved about any of them.


def undecidable_workloads(manifest_index: ManifestIndex, profiles: Profiles = NO_PROFILES) -> dict[PodsKey, str]:
    """Return the undecidable pods with the reason, which is empty for those of other schedulers and those that only depend on others."""
    found: dict[PodsKey, str] = {}
    for pods in manifest_index.pods:
        if pods.pod_source is not None and not pods.pod_source.node_name and not profiles.of(pods.pod_source).proves:
            found[pods.key] = ""
        text = next(filter(is_placeholder, all_texts(pods.spec)), None)
        if text is not None:
            found[pods.key] = f"{quoted(text)} is a placeholder; the simulation uses it literally"
        admission = manifest_index.admission(pods.pod_source.namespace) if pods.pod_source is not None else None
        if admission is not None and admission.uncertainty and pods.pod_source is not None and affects(pods.pod_source, admission):
            found.setdefault(pods.key, admission.uncertainty)
    for owner, name in _of_unknown_namespaces(manifest_index):
        if name is None:
            where = "a namespace that no manifest names"
        else:
            definers = "several manifests define" if name in manifest_index.ambiguous else "no manifest defines"
            where = f"namespace {quoted(name)}, which {definers}"
        assumed = "the simulation assumes that it has only the label with its name"
        found.setdefault(owner, f"a namespaceSelector requires labels of {where}; {assumed}")
    for owner in _drawn_elsewhere(manifest_index) if manifest_index.whole is not None else ():
        found.setdefault(owner, "its podAffinity requires pods that seem to belong to another cluster")
    if found:
        for owner in _dependants(manifest_index, found):
            found.setdefault(owner, "")
    return found


def _of_unknown_namespaces(manifest_index: ManifestIndex) -> Iterator[tuple[PodsKey, str | None]]:
    """Yield pods with a required term whose namespaceSelector may or may not match the namespaces of pods that it selects."""
    decided: dict[tuple[Selector, Selector], str | bool | None] = {}
    for ref in manifest_index.selector_refs:
        others = ref.namespace_selector
        if others is None or others == EVERYTHING or ref.template_path is None or ref.what not in _TERMS:
            continue
        asked = (ref.selector, others)
        if asked not in decided:
            unclear = (
                pods.namespace
                for pods in manifest_index.selected_anywhere(ref)
                if manifest_index.matches_namespace(others, pods.namespace) is None
            )
            decided[asked] = next(unclear, False)
        name = decided[asked]
        if not isinstance(name, bool):
            yield (ref.site, ref.template_path), name


def _drawn_elsewhere(manifest_index: ManifestIndex) -> Iterator[PodsKey]:
    """Yield pods with required affinity to pods that only another cluster seems to have: clusters are only guessed."""
    drawn = (ref for ref in manifest_index.selector_refs if ref.what == REQUIRED_AFFINITY and not manifest_index.is_selected(ref))
    for ref in drawn:
        if ref.template_path is not None and manifest_index.whole is not None and manifest_index.whole.is_selected(ref):
            yield ref.site, ref.template_path


_TERMS = (REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY)


def _dependants(manifest_index: ManifestIndex, start: dict[PodsKey, str]) -> Iterator[PodsKey]:
    """Yield the pods whose affinity or spread constraints select undecidable pods."""
    owners: dict[tuple[Selector, Scope], list[PodsKey]] = {}
    asking: dict[PodsKey, list[tuple[Selector, Scope]]] = {}
    for ref in manifest_index.selector_refs:
        if ref.template_path is not None and _draws(ref):
            asked = (ref.selector, ref.scope)
            if asked not in owners:
                owners[asked] = []
                for pods in manifest_index.selected(ref):
                    asking.setdefault(pods.key, []).append(asked)
            owners[asked].append((ref.site, ref.template_path))
    waiting, seen = list(start), set(start)
    while waiting:
        for asked in asking.get(waiting.pop(), ()):
            for owner in owners.pop(asked, ()):
                if owner not in seen:
                    seen.add(owner)
                    waiting.append(owner)
                    yield owner


def _draws(ref: SelectorRef) -> bool:
    return ref.what == REQUIRED_AFFINITY or (ref.what == SPREAD and ref.max_skew is not None)
