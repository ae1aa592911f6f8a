"""The nodes of a run with the workloads of its manifests: what the rules about nodes and placement ask of them again and again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from afflint.facts import Pods
from afflint.fleet import Fleet
from afflint.kube.node_labels import REGION, ZONE
from afflint.node_files import NodeFact
from afflint.placement import Cluster
from afflint.placement.arrangement import Arrangement, Inventory, arrange
from afflint.placement.failures import Failure
from afflint.placement.inventory import InventoryError
from afflint.placement.replicas import PodMaker
from afflint.placement.survey import Survey


class ClusterView:
    """Computed as it is asked for: a run without placement rules never schedules anything."""

    def __init__(self, nodes: Sequence[NodeFact], fleet: Fleet, host_key: str) -> None:
        self.nodes = list(nodes)
        self.host_key = host_key
        self._fleet = fleet
        self._usable: dict[int, list[NodeFact]] = {}

    @cached_property
    def makers(self) -> list[PodMaker]:
        """The workloads in the order of the manifests."""
        return [pods.maker for pods in self._fleet.pods if pods.maker is not None]

    @cached_property
    def _pods_by_maker(self) -> dict[tuple[object, ...], Pods]:
        return {_place_of(pods.maker): pods for pods in self._fleet.pods if pods.maker is not None}

    def pods_of(self, maker: PodMaker) -> Pods:
        """The manifest that a workload was read from."""
        return self._pods_by_maker[_place_of(maker)]

    @cached_property
    def survey(self) -> Survey:
        """What is true of every order of scheduling."""
        return Survey(self._inventory.cluster(self.makers), self.makers)

    @cached_property
    def arrangement(self) -> Arrangement:
        """The placement that the order of the manifests gives."""
        return arrange(self._inventory, self.makers)

    @cached_property
    def _inventory(self) -> Inventory:
        return Inventory([node.data for node in self.nodes])

    @cached_property
    def failures(self) -> list[Failure]:
        """Every single node, zone and physical host, as far as the nodes are labelled with more than one."""
        found = [Failure(f"node {node.name}", (node.name,)) for node in sorted(self.nodes, key=lambda node: node.name)]
        for key, word in ((ZONE, "zone"), (REGION, "region"), (self.host_key, "physical host")):
            nodes_of: dict[str, list[str]] = {}
            for node in self.nodes:
                if key in node.labels:
                    nodes_of.setdefault(node.labels[key], []).append(node.name)
            if len(nodes_of) > 1:
                found += [Failure(f"{word} {value}", tuple(names)) for value, names in sorted(nodes_of.items())]
        return found

    def usable(self, pods: Pods) -> list[NodeFact]:
        """The nodes that the node constraints and tolerations of some pods leave them, cordons aside."""
        if id(pods) not in self._usable:
            spec = pods.spec or {}
            affinity = spec.get("affinity")
            node_affinity = affinity.get("nodeAffinity") if type(affinity) is dict else None
            bare = {
                "nodeSelector": spec.get("nodeSelector"),
                "tolerations": spec.get("tolerations"),
                "affinity": {"nodeAffinity": node_affinity},
            }
            try:
                names = set(self._uncordoned.feasible_nodes({"metadata": {"name": "any"}, "spec": bare}))
            except InventoryError:
                names = set()  # Malformed constraints are reported as such.
            self._usable[id(pods)] = [node for node in self.nodes if node.name in names]
        return self._usable[id(pods)]

    @cached_property
    def _uncordoned(self) -> Cluster:
        # A cordon is for a while; what the labels of a node are worth does not depend on it.
        return Cluster([_uncordoned(node.data) for node in self.nodes])


def _uncordoned(node: dict[str, Any]) -> dict[str, Any]:
    return {**node, "spec": {**node.get("spec", {}), "unschedulable": False}}


def _place_of(maker: PodMaker | None) -> tuple[object, ...]:
    assert maker is not None
    return maker.file, maker.document, maker.pod_path
