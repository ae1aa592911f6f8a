"""Classes of equal nodes; an autoscaler may create the nodes of a class when they are needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from afflint.constraints.nodes import required_nodes
from afflint.findings.errors import UserError
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.kube.node_labels import DEPRECATED, HOSTNAME, MASTER, REGION, ZONE
from afflint.kube.selector_algebra import sample_values
from afflint.kube.selectors import Requirement, Selector, is_met
from afflint.kube.taints import Taint, first_untolerated
from afflint.pools.matching import PoolLabels, declared_keys
from afflint.pools.pool import Pool
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import NodeRules

SOMEWHERE = "?"
"""The zone or region of nodes whose zone or region is unknown: no label can have this value."""


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Equal nodes: at most ``count``, None for no maximum. A Node object is a class of one.

    A pool that scales starts with ``least`` nodes.

    ``varied`` are labels that every node of the class has, each with a different unknown value.
    ``known`` are the labels that the manifest of a pool declares; it replaces ``labels`` and ``varied``.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] | None = None
    count: int | None = 1
    varied: frozenset[str] = field(default_factory=lambda: frozenset((HOSTNAME,)))
    least: int = 0
    known: PoolLabels | None = None

    @property
    def title(self) -> str:
        """The name in messages: ``NodePool gpu``."""
        return self.known.pool.title if self.known is not None else self.name

    def nodes(self) -> list[Node]:
        """Return the nodes of a class with a maximum, with its name as the value of varied labels; none for a class without a maximum."""
        names = [self.name] if self.count == 1 else [f"{self.name}-{number}" for number in range(self.count or 0)]
        return [Node(name, {**dict.fromkeys(self.varied, name), **self.labels}, self.taints, False, self.allocatable) for name in names]

    def may_take(self, rules: NodeRules) -> bool:
        """Return whether a node of the class can meet the node requirements of a pod; NodeFit decides the same for existing nodes."""
        if rules.node_name or first_untolerated(self.taints, rules.tolerations) is not None:
            return False
        return any(self._may_match(selector) for selector in required_nodes(rules.node_selector, rules.terms).selectors)

    def _may_match(self, selector: Selector) -> bool:
        if self.known is not None:
            return not self.known.unmet(selector.requirements)
        return all(self._may_hold(requirement) for requirement in selector.requirements)

    def _may_hold(self, requirement: Requirement) -> bool:
        if requirement.field:
            return True  # The name of a node that is still to be created is unknown.
        if requirement.key in self.varied and requirement.key not in self.labels:
            return requirement.operator != "DoesNotExist"
        return is_met(requirement, self.labels.get(requirement.key))

    def variety(self, key: str) -> int:
        """Return how many values of a label the nodes are known to have; 1 if that is unknown."""
        return max(len(self.known.values(key)), 1) if self.known is not None else 1

    def node(self, name: str, number: int, rules: NodeRules | None, keys_asked: Collection[str]) -> Node:
        """Return a new node, the one with this number; ``rules`` are the node requirements of the pod that it is created for, if any.

        A label that may have several values gets one that the pod requires; otherwise nodes take the values in turn, as zones do. A
        label that may have any value and that no pod requires is left out, except for a zone or region in ``keys_asked``: the topology
        keys of constraints, and the deprecated labels by which pods select nodes.
        """
        alternatives = required_nodes(rules.node_selector, rules.terms).selectors if rules is not None else ()
        asked = next((each for each in alternatives if self._may_match(each)), Selector())
        wanted: dict[str, list[Requirement]] = {}
        for requirement in asked.requirements:
            if not requirement.field:
                key = self._key_of(requirement.key)
                wanted.setdefault(key, []).append(requirement._replace(key=key))
        labels = {**self.labels, **dict.fromkeys(self.varied, name), HOSTNAME: name}
        keys = {*self.known.pool.keys, *wanted, *map(self._key_of, keys_asked)} if self.known is not None else ()
        for key in sorted({*keys} - {HOSTNAME}):
            assert self.known is not None
            value = _chosen(self.known.about(key), wanted.get(key, ()), number)
            if value is None and key in keys_asked and key in (ZONE, REGION):
                value = SOMEWHERE
            if value is not None:
                labels[key] = value
        # Kubelets and clouds set both.
        old = {key: labels[new] for key in keys_asked if (new := self._key_of(key)) != key and new in labels}
        return Node(name, {**labels, **old}, self.taints, False, self.allocatable)

    def _key_of(self, key: str) -> str:
        """Return the label key itself, or its replacement if it is deprecated and the pool does not declare it."""
        if self.known is None or key not in DEPRECATED or key == MASTER or key in self.known.pool.keys:
            return key
        return DEPRECATED[key]


def _chosen(known: Sequence[Requirement], wanted: Sequence[Requirement], number: int) -> str | None:
    """Return the value of a label with these known and required conditions; None if it may be absent or have any value."""
    if not (known or wanted):
        return None
    values = sample_values([*known, *wanted])
    asked_for = any(each.operator not in ("NotIn", "DoesNotExist") for each in wanted)
    listed_by_pool = any(each.operator == "In" for each in known)
    if not values or (None in values and not asked_for) or not (listed_by_pool or asked_for):
        return None
    listed = [value for each in (*known, *wanted) if each.operator == "In" for value in each.values if value in values]
    present = list(dict.fromkeys(listed)) or [value for value in values if value is not None]
    return present[number % len(present)] if present else None


class UnknownPoolError(UserError):
    """A number of nodes for a pool that no manifest declares."""


def growing(pools: Sequence[Pool]) -> list[NodeClass]:
    """Return the pools that may create more nodes, as unbounded classes, since the number of existing nodes of a pool is unknown."""
    return [replace(each, count=None) for each in classes_of(pools, {}) if each.count is None or each.least != each.count]


def classes_of(pools: Sequence[Pool], counts: Mapping[str, int]) -> list[NodeClass]:
    """Return a class for each pool, with the number of nodes in ``counts`` or else as declared. Raises UnknownPoolError."""
    names = {pool.name for pool in pools}
    for name in counts:
        if name not in names:
            raise UnknownPoolError(f"--count: no node pool is named {quoted(name)}{did_you_mean(nearest(name, names))}")
    keys = declared_keys(pools)
    classes = []
    for pool in pools:
        each = len(pool.zones) if pool.per_zone else 1
        least, most = (bound if bound is None else bound * each for bound in (pool.least, pool.most))
        if pool.name in counts:
            least = most = counts[pool.name]
        taints = tuple([taint.taint for taint in pool.taints])
        known = PoolLabels(pool, keys)
        classes.append(NodeClass(pool.name, {}, taints, count=most, varied=frozenset(), least=least or 0, known=known))
    return classes
