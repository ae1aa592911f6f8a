"""Small changes of a manifest or of the nodes that may let a workload run, as values that a plan can be made with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.controllers.budgets import Budget
from afflint.controllers.pod_source import PodSource
from afflint.controllers.running_pods import pod_key
from afflint.findings.edits import Single, applied
from afflint.findings.namedtuples import NamedTuple
from afflint.inventory.inventory import Inventory
from afflint.inventory.node_classes import NodeClass
from afflint.inventory.priorities import priorities_of
from afflint.placement.autoscaling import scale_pools
from afflint.placement.schedule import Schedule, build_schedule
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import PodKey
from afflint.yaml.document import map_at

CORRECTION, SETTING, TOLERATION, REMOVAL, PREFERENCE, REQUEST, PRIORITY, LABEL, REPLICAS, NEW_NODE = range(1, 11)
"""How much a change alters, least first: a corrected value or an uncordoned node, a setting of a constraint, a toleration, a removed
requirement, a requirement that becomes a preference, a lower request, a higher priority, a label of a node, fewer replicas, another
node."""


class SmallChange(NamedTuple):
    """One change. ``text`` is an instruction, ``size`` one of the constants above, ``plugin`` the plugin whose rejections it can lift.

    ``edits`` change the pod spec; their paths begin there. ``nodes`` replace nodes of the same names, or are new.
    """

    text: str
    size: int
    plugin: str
    """Empty if it can help against every plugin."""
    edits: tuple[Single, ...] = ()
    replicas: int | None = None
    nodes: tuple[Node, ...] = ()
    priority: int | None = None
    """The priority that the pods get."""
    field: str = ""
    """The setting that this is one value for: the first value that solves the problem is enough."""
    deleted: tuple[PodKey, ...] = ()
    """The Pending pods that are deleted, so that their controller creates them again from its template."""

    @property
    def of_manifest(self) -> bool:
        """Whether it changes the manifest, not the nodes."""
        return bool(self.edits) or self.replicas is not None or self.priority is not None


Rejections = Callable[[Mapping[str, Any], Mapping[str, str]], Collection[object]]
"""What the API server rejects in a pod spec with labels."""


class PlanInput(NamedTuple):
    """The input of a plan, and the key of the workload that is explained. ``classes`` are pools that create nodes for Pending pods."""

    inventory: Inventory
    pod_sources: Sequence[PodSource]
    key: str
    classes: Sequence[NodeClass] = ()
    rejections: Rejections | None = None
    """With it, changes that the API server rejects are left out."""
    budgets: Sequence[Budget] = ()
    """The PodDisruptionBudgets, which preemption considers."""

    @property
    def pod_source(self) -> PodSource:
        """The workload that is explained."""
        return next(each for each in self.pod_sources if each.key == self.key)

    @property
    def spec(self) -> Mapping[str, Any]:
        """The pod spec of the workload; of a workload without a manifest that of its first running pod."""
        pod_source = self.pod_source
        return map_at(self.inventory.pods[pod_source.observed[0]], "spec") if pod_source.has_own_pods else pod_source.pod

    @property
    def work(self) -> int:
        """How many objects a plan handles."""
        return len(self.inventory.nodes) + len(self.inventory.pods) + sum(each.replicas for each in self.pod_sources)

    def schedule(self) -> Schedule:
        """Return the schedule of all workloads."""
        inventory = self.inventory
        if self.classes:
            inventory = scale_pools(inventory, self.pod_sources, self.classes).inventory
        return build_schedule(inventory, self.pod_sources)

    def accepts(self, changed: PlanInput) -> bool:
        """Return whether the API server rejects nothing in the changed pod spec that it does not reject in this one."""
        return self.accepts_spec(changed.spec, self.spec)

    def accepts_spec(self, spec: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
        """Return whether the API server rejects nothing in a pod spec of the workload that it does not reject in the one before."""
        if self.rejections is None or spec == before:
            return True
        labels = self.pod_source.labels
        return set(self.rejections(spec, labels)) <= set(self.rejections(before, labels))

    def other_orders(self) -> list[PlanInput]:
        """Return the same input in a few other orders: the workload last, first and in a reversed list; the last node wins ties in some."""
        own, sources, nodes = self.pod_source, list(self.pod_sources), list(self.inventory.nodes)
        others = [each for each in sources if each is not own]
        last, first = [*others, own], [own, *others]
        orders = [(last, nodes), (last, nodes[::-1]), (first, nodes), (sources[::-1], nodes[::-1]), (sources, nodes[::-1])]
        found: dict[tuple[tuple[str, ...], bool], PlanInput] = {}
        for listed, table in orders:
            identity = tuple([each.key for each in listed]), table == nodes
            found[identity] = self._replace(inventory=self.inventory._replace(nodes=table), pod_sources=listed)
        found.pop((tuple([each.key for each in sources]), True), None)
        return list(found.values())

    def changed(self, change: SmallChange) -> PlanInput:
        """Return the plan_input after a change. Raises EditError for an edit that does not apply."""
        inventory, pod_source = self.inventory, self.pod_source
        if change.nodes:
            by_name = {node.name: node for node in change.nodes}
            kept = [by_name.pop(node.name, node) if isinstance(node, Node) else node for node in inventory.nodes]
            inventory = inventory._replace(nodes=[*kept, *by_name.values()])
        if change.deleted:
            gone = {"status": {"phase": "Failed"}}
            pods = [{**map_at(pod), **gone} if pod_key(pod) in change.deleted else pod for pod in inventory.pods]
            inventory = inventory._replace(pods=pods)
        if change.edits and pod_source.has_own_pods:
            pods = list(inventory.pods)
            for index in pod_source.observed:
                pods[index] = {**map_at(pods[index]), "spec": applied(map_at(pods[index], "spec"), change.edits)}
            inventory = inventory._replace(pods=pods)
        elif change.edits:
            pod_source = replace(pod_source, pod=applied(dict(pod_source.pod), change.edits))
        if change.replicas is not None:
            pod_source = replace(pod_source, replicas=change.replicas)
        if change.priority is not None:
            pod_source = replace(pod_source, priority=change.priority)
        pod_sources = [pod_source if each.key == self.key else each for each in self.pod_sources]
        if change.priority is not None and inventory.priorities is None:
            inventory = inventory._replace(priorities=priorities_of(pod_sources, inventory.pods, self.budgets))
        return self._replace(inventory=inventory, pod_sources=pod_sources)
