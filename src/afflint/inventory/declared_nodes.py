"""Nodes that are only declared beside a node dump: a list, or a pool. They may get what kubelets and virt-handler add to nodes.

A node of a dump has all of its labels. What a declared node will get is unknown, so the simulation assumes the labels that virtual
machines require and that nodes of the dump have, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.constraints.nodes import parse_node_constraints
from afflint.controllers.kubevirt_cluster import SCHEDULABLE
from afflint.controllers.launcher_pod import ARCH, DEVICES, HOST_MODEL_CPU, MIGRATION_MODEL, label_family, target_labels
from afflint.controllers.launcher_selectors import launcher_of
from afflint.controllers.pod_source import PodSource
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, summarize_names
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import NodeClass
from afflint.inventory.node_files import KUBELET_LABELS, NodeFact
from afflint.kube.constraints import constraints_of
from afflint.kube.decoding import InventoryError
from afflint.kube.selectors import Requirement, Selector, matches
from afflint.scheduler.nodes import Node
from afflint.yaml.document import map_at, maps_at


class ExpectedLabels(NamedTuple):
    """The labels and the amounts of devices that nodes get from kubelets and virt-handler, as nodes of a dump have them."""

    labels: Mapping[str, str]
    devices: Mapping[str, int]
    cpu_models: tuple[str, ...] = ()
    """The CPU models of the nodes of a dump, the assumed one first."""


NOTHING = ExpectedLabels({}, {})


def expected_labels(nodes: Sequence[NodeFact], pod_sources: Iterable[PodSource], asked: Collection[str]) -> ExpectedLabels:
    """Return what virt-controller requires for the workloads on nodes of a dump, and the labels of kubelets among ``asked``."""
    observed = [each.node for each in nodes if not each.declared]
    if not observed:
        return NOTHING
    machines = [each for each in pod_sources if each.kubevirt]
    cluster = Inventory(observed, resources=any(node.allocatable for node in observed)).cluster()
    labels: dict[str, str] = {}
    requested: set[str] = set()
    for machine in machines:
        try:
            launcher = launcher_of(machine, cluster)
        except InventoryError:
            continue  # KubeVirt creates no pod.
        selector = map_at(launcher.spec, "nodeSelector")
        labels.update({key: selector[key] for key in sorted(launcher.added & selector.keys()) if key != ARCH})
        requested.update(*[map_at(container, "resources", "requests") for container in maps_at(launcher.spec, "containers")])
    if machines:
        labels.update(dict.fromkeys(_usual_cpu(observed), "true"))
    for key in sorted(KUBELET_LABELS.keys() & {*asked, *([ARCH] if machines else ())}):
        values = Counter(node.labels[key] for node in observed if key in node.labels)
        if values:
            labels[key] = values.most_common(1)[0][0]
    devices = {
        name: max((node.allocatable or {}).get(name, 0) for node in observed) for name in sorted(requested) if name.startswith(DEVICES)
    }
    models = [key.removeprefix(HOST_MODEL_CPU) for node in observed for key in node.labels if key.startswith(HOST_MODEL_CPU)]
    models.sort(key=lambda model: f"{MIGRATION_MODEL}{model}" not in labels)
    return ExpectedLabels(labels, {name: amount for name, amount in devices.items() if amount}, tuple(dict.fromkeys(models)))


def _usual_cpu(observed: Iterable[Node]) -> tuple[str, ...]:
    """Return the labels that the target of a live migration requires because of the CPU that most nodes have."""
    return Counter(tuple(target_labels((), (), node.labels, host_model=True)) for node in observed).most_common(1)[0][0]


def with_virt_handlers(nodes: Sequence[NodeFact], kubevirt: Mapping[str, Any]) -> Sequence[NodeFact]:
    """Return the nodes, with the label of virt-handler where ``workloads.nodePlacement`` of the KubeVirt resource lets it run.

    Nodes of a dump show the label once virt-handler runs in the cluster. If no node meets the placement, the labels of the nodes are
    incomplete, and all nodes stay as they are. Semantics: InjectPlacementMetadata of pkg/virt-operator/resource/placement; only required
    rules about nodes decide.
    """
    placement = map_at(kubevirt, "spec", "workloads", "nodePlacement")
    alternatives = parse_node_constraints(constraints_of(placement, ())).alternatives if placement else ()
    selectors = [Selector(tuple([each.requirement for each in alternative])) for alternative in alternatives]
    found = [any(matches(each, fact.node.labels, fact.node.name) for each in selectors) for fact in nodes]
    if not any(found):
        return nodes
    shown = any(SCHEDULABLE in fact.node.labels for fact in nodes if not fact.declared)
    completed = []
    for fact, runs in zip(nodes, found, strict=True):
        labels = fact.node.labels
        if SCHEDULABLE not in labels and (fact.declared if shown else runs):
            # A declared node would otherwise get the labels that nodes of the dump have.
            fact = fact._replace(node=fact.node._replace(labels={**labels, SCHEDULABLE: "true" if runs else "false"}))
        completed.append(fact)
    return completed


def with_expected_labels(nodes: Sequence[NodeFact], expected: ExpectedLabels) -> tuple[NodeFact, ...]:
    """Return the nodes, with these labels and devices on declared ones that do not set them."""
    return tuple([_completed(each, expected) if each.declared else each for each in nodes])


def _completed(fact: NodeFact, expected: ExpectedLabels) -> NodeFact:
    node = fact.node
    allocatable = node.allocatable if node.allocatable is None else {**expected.devices, **node.allocatable}
    return fact._replace(node=node._replace(labels={**expected.labels, **node.labels}, allocatable=allocatable))


def pools_with_expected_labels(classes: Iterable[NodeClass], expected: ExpectedLabels) -> tuple[NodeClass, ...]:
    """Return the node pools, with these labels for their nodes unless the pool declares others."""
    return tuple([replace(each, labels={**each.labels, **_possible(each, expected.labels)}) for each in classes])


def _possible(pool: NodeClass, labels: Mapping[str, str]) -> dict[str, str]:
    if pool.known is None:
        return {}
    return {key: value for key, value in labels.items() if not pool.known.unmet([Requirement(key, "In", (value,))])}


def assumption_note(names: Sequence[str], expected: ExpectedLabels) -> str:
    """Return a note on what is assumed of declared nodes and pools; empty if nothing is."""
    added = list(dict.fromkeys([*map(label_family, expected.labels), *expected.devices]))
    if not names or not added:
        return ""
    are, they = ("is", "it gets") if len(names) == 1 else ("are", "they get")
    assumed = f"the simulation assumes that {they} {join_words(added)} as the nodes of the dump have"
    model, *others = expected.cpu_models or ("",)
    if others and f"{MIGRATION_MODEL}{model}" in expected.labels:
        assumed += f", and the CPU model {model}; other nodes have {summarize_names(others, most=_MOST_NAMED)}"
    return f"{summarize_names(names, most=_MOST_NAMED)} {are} declared, not in the node dump; {assumed}"


_MOST_NAMED = 3
