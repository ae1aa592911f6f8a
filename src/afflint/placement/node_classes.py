"""Classes of nodes that are alike, some of which may be made as they are needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from afflint.kube.node_labels import DEPRECATED, HOSTNAME, MASTER, REGION, ZONE
from afflint.kube.selectors import Requirement, Selector, is_met, sample_values
from afflint.kube.taints import Taint, first_untolerated
from afflint.pools.matching import PoolLabels
from afflint.scheduler.nodes import Node
from afflint.scheduler.pods import NodeRules

SOMEWHERE = "?"
"""The zone or region of nodes whose zone or region is unknown: no label can have this value."""


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that are alike: ``count`` of them, None for as many as are needed. A Node is a class of one.

    Of a pool that grows ``least`` are there from the start, and ``count`` is the most.

    ``varied`` are labels that every node of the class has, each with a new unknown value.
    ``known`` is what a manifest declares of the labels of a pool, in place of ``labels`` and ``varied``.
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
        """``NodePool gpu``: what messages call it."""
        return self.known.pool.title if self.known is not None else self.name

    def nodes(self) -> list[Node]:
        """The nodes of a class that is bounded, each with its name for what varies; none of one that is not."""
        names = [self.name] if self.count == 1 else [f"{self.name}-{number}" for number in range(self.count or 0)]
        return [Node(name, {**dict.fromkeys(self.varied, name), **self.labels}, self.taints, False, self.allocatable) for name in names]

    def may_take(self, rules: NodeRules) -> bool:
        """Whether a node of the class can meet the demands of a pod on its node, as NodeFit decides it of one that is there."""
        if rules.node_name or first_untolerated(self.taints, rules.tolerations) is not None:
            return False
        return any(self._may_match(selector) for selector in _alternatives(rules))

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
        """How many values of a label the nodes are known to have between them; one where that is not known."""
        return max(len(self.known.values(key)), 1) if self.known is not None else 1

    def node(self, name: str, number: int, rules: NodeRules | None, keys_asked: Collection[str]) -> Node:
        """One more node, the one with this number, for a pod with these demands, if it is made for one.

        Where a label may have several values, it has one that the pod asks for; else they take turns, as zones do. A label that
        may have any value and that no pod requires is left out, but for the zone where it matters. ``keys_asked`` are the labels over
        which pods are spread, and the deprecated ones by which they choose nodes.
        """
        asked = next((each for each in _alternatives(rules) if self._may_match(each)), Selector()) if rules is not None else Selector()
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
        """The label that decides about this one: of a deprecated one that the pool does not declare the one in its place."""
        if self.known is None or key not in DEPRECATED or key == MASTER or key in self.known.pool.keys:
            return key
        return DEPRECATED[key]


def _alternatives(rules: NodeRules) -> Iterator[Selector]:
    """What a node must match: the node selector, with one of the terms that can be read where there are any."""
    if rules.terms is None:
        yield rules.node_selector
    for term in rules.terms or ():
        if isinstance(term, Selector):
            yield Selector((*rules.node_selector.requirements, *term.requirements))


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
