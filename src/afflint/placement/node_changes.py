"""The small changes of the nodes that may let a workload run: a node that is uncordoned, gets a label, or is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from afflint.constraints.nodes import Alternative, parse_node_constraints
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, quoted
from afflint.kube.constraints import constraints_of
from afflint.kube.node_labels import CONTROL_PLANE, HOSTNAME, MASTER, ZONE, is_machine_made, is_set_by_components
from afflint.kube.selectors import Malformed, Requirement, is_met
from afflint.kube.taints import BLOCKING_EFFECTS, Toleration, condition_end, parse_tolerations, tolerated
from afflint.placement.changes import CORRECTION, LABEL, NEW_NODE, SmallChange
from afflint.scheduler.node_fit import NODE_AFFINITY, NODE_UNSCHEDULABLE
from afflint.scheduler.nodes import Node

_ROLES = frozenset((CONTROL_PLANE, MASTER))
_MOST_NODES = 6
"""At most this many nodes are uncordoned, labelled or added, one at a time."""


def is_control_plane(node: Node) -> bool:
    """Return whether labels or taints make it a control plane node."""
    return not _ROLES.isdisjoint(node.labels) or any(taint.key in _ROLES for taint in node.taints)


def node_changes(spec: Mapping[str, Any], nodes: Sequence[Node]) -> Iterator[SmallChange]:
    """Yield the changes of nodes that may help the pods with this spec. Control planes are left alone."""
    workers = [node for node in nodes if not is_control_plane(node)]
    for node in _one_of_each([node for node in workers if node.unschedulable]):
        # A cordon is a taint as well: the node controller adds it.
        taints = tuple([taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable"])
        text = f"uncordon the node {quoted(node.name)}"
        yield SmallChange(text, CORRECTION, NODE_UNSCHEDULABLE, nodes=(node._replace(unschedulable=False, taints=taints),))
    alternatives = parse_node_constraints(constraints_of(dict(spec), ())).alternatives or ((),)
    labelled = [(node, labels) for node in workers if (labels := _labels_to_add(node, alternatives))]
    chosen = {node.name for node in _one_of_each([node for node, _ in labelled])}
    for node, labels in labelled:
        if node.name in chosen:
            text = f"label the node {quoted(node.name)} with {_listed(labels)}"
            yield SmallChange(text, LABEL, NODE_AFFINITY, nodes=(node._replace(labels={**node.labels, **labels}),))
    tolerations = parse_tolerations(spec.get("tolerations"))
    if workers and not isinstance(tolerations, Malformed):
        for kind in _new_nodes(workers, alternatives, tolerations):
            yield kind.change({node.name for node in nodes})


def _one_of_each(nodes: Sequence[Node]) -> list[Node]:
    """Return a few of the nodes, one for each zone and set of taints, in their order."""
    found: dict[tuple[object, ...], Node] = {}
    for node in nodes:
        found.setdefault((node.labels.get(ZONE), node.taints, node.unschedulable), node)
    return list(found.values())[:_MOST_NODES]


def _labels_to_add(node: Node, alternatives: Sequence[Alternative]) -> dict[str, str]:
    """Return the labels with which a node meets an alternative, if an administrator sets such labels and no other has to change."""
    for alternative in alternatives:
        added: dict[str, str] = {}
        for item in alternative:
            requirement = item.requirement
            if requirement.field or (not is_met(requirement, node.labels.get(requirement.key)) and requirement.key in node.labels):
                break
            if requirement.key not in node.labels and not is_met(requirement, None):
                value = _value(requirement)
                if value is None or not _is_set_by_users(requirement.key):
                    break
                added[requirement.key] = value
        else:
            if added:
                return added
    return {}


def _is_set_by_users(key: str) -> bool:
    return not (is_machine_made(key) or is_set_by_components(key) or key.startswith("karpenter.sh/"))


def _value(requirement: Requirement) -> str | None:
    """Return a value of a label that meets a requirement, None if it is not evident."""
    if requirement.operator == "In" and requirement.values:
        return requirement.values[0]
    return "true" if requirement.operator == "Exists" else None


class _NewNode(NamedTuple):
    """A node that could be added: like another node, in a zone, and with labels that this one lacks."""

    base: Node
    zone: str
    added: Mapping[str, str]
    untainted: bool

    def change(self, names: set[str]) -> SmallChange:
        name = next(name for number in range(len(names) + 1) if (name := f"new-node{number or ''}") not in names)
        labels = {**self.base.labels, HOSTNAME: name, **({ZONE: self.zone} if self.zone else {}), **self.added}
        taints = tuple([each for each in self.base.taints if each.effect not in BLOCKING_EFFECTS]) if self.untainted else self.base.taints
        node = self.base._replace(name=name, labels=labels, taints=taints, unschedulable=False)
        where = f" in zone {quoted(self.zone)}" if self.zone else ""
        extra = f" with {_listed(self.added)}" if self.added else ""
        without = ", without its taints" if self.untainted else ""
        return SmallChange(f"add a node like {quoted(self.base.name)}{where}{extra}{without}", NEW_NODE, "", nodes=(node,))


def _new_nodes(workers: Sequence[Node], alternatives: Sequence[Alternative], tolerations: Sequence[Toleration]) -> list[_NewNode]:
    """Return a node for each zone that has nodes, and for each zone that the pods require."""
    required = [item.requirement for alternative in alternatives for item in alternative if item.requirement.key == ZONE]
    zones = {node.labels.get(ZONE, "") for node in workers}
    zones.update(value for each in required if each.operator == "In" for value in each.values)
    found = []
    for zone in sorted(zones if zones == {""} else zones - {""}):
        options = [each for base in workers for each in _like(base, zone, alternatives, tolerations)]
        if options:
            found.append(min(options, key=lambda each: (each.untainted, len(each.added), each.base.labels.get(ZONE, "") != zone)))
    return found[:_MOST_NODES]


def _like(base: Node, zone: str, alternatives: Sequence[Alternative], tolerations: Sequence[Toleration]) -> Iterator[_NewNode]:
    """Yield the nodes like another in a zone that the pods may use."""
    # A new node has nothing wrong with it.
    base = base._replace(taints=tuple([taint for taint in base.taints if not condition_end(taint.key)]))
    untainted = any(taint.effect in BLOCKING_EFFECTS and not tolerated(taint, tolerations) for taint in base.taints)
    placed = base._replace(labels={**base.labels, **({ZONE: zone} if zone else {})})
    for alternative in alternatives:
        added: dict[str, str] = {}
        for item in alternative:
            requirement = item.requirement
            if not requirement.field and is_met(requirement, placed.labels.get(requirement.key)):
                continue
            value = _value(requirement)
            if requirement.field or requirement.key == ZONE or value is None:
                break
            added[requirement.key] = value
        else:
            yield _NewNode(base, zone, added, untainted)


def _listed(labels: Mapping[str, str]) -> str:
    return join_words([quoted(f"{key}={value}") for key, value in labels.items()])
