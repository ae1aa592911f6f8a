"""Constraints on nodes: the nodeSelector, and the terms of required and preferred node affinity."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import Constraints
from afflint.kube.selectors import EVERYTHING, AnyOf, Malformed, Parsed, Requirement, Selector, from_labels, intersection, parse_node_term
from afflint.manifests.manifest import Workload


class NodeRequirement(NamedTuple):
    """A requirement on nodes and its path in the manifest; None if it does not come from the manifest."""

    requirement: Requirement
    path: Path | None


class NodeAffinityTerm(NamedTuple):
    """A term of required node affinity, or the preference of a weighted one; ``weight`` is None for a required term.

    ``selector`` is None for a term without requirements, which matches no node.
    """

    path: Path
    weight: int | None
    selector: Parsed

    @property
    def requirements(self) -> tuple[NodeRequirement, ...]:
        """The requirements with their paths; none if the term is malformed."""
        return tuple(_requirements(self.selector, self.path)) if isinstance(self.selector, Selector) else ()


Alternative = tuple[NodeRequirement, ...]
"""Requirements that a node must meet together: those of the nodeSelector and of one required term."""


class NodeConstraints(NamedTuple):
    """The nodes that a pod may use, and those that it prefers. ``terms`` is None without required node affinity.

    ``selector_path`` is the path of the nodeSelector; without one, ``selector`` matches every node.
    """

    selector: Selector | Malformed
    selector_path: Path | None
    terms: tuple[NodeAffinityTerm, ...] | None
    preferences: tuple[NodeAffinityTerm, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the pod requires nothing of its nodes."""
        return self.terms is None and self.selector == EVERYTHING

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The alternatives: a node must meet one of them. The result is a single empty alternative if the pod may use every node.

        Empty if the nodeSelector or a required term is malformed. Terms that match no node are left out, as in the scheduler.
        """
        terms = self.terms
        if isinstance(self.selector, Malformed) or any(isinstance(each.selector, Malformed) for each in terms or ()):
            return ()
        path = self.selector_path
        own = tuple([NodeRequirement(each, (*path, each.key)) for each in self.selector.requirements]) if path is not None else ()
        return (own,) if terms is None else tuple([(*own, *each.requirements) for each in terms if each.selector is not None])


def parse_node_constraints(constraints: Constraints) -> NodeConstraints:
    """Parse the nodeSelector and the node affinity of a pod."""
    own = constraints.node_selector
    parsed = [NodeAffinityTerm(term.path, term.weight, parse_node_term(term.data)) for term in constraints.node_terms]
    return NodeConstraints(
        EVERYTHING if own is None else from_labels(own.data),
        None if own is None else own.path,
        None if constraints.node_required is None else tuple([each for each in parsed if each.weight is None]),
        tuple([each for each in parsed if each.weight is not None]),
    )


@lru_cache(maxsize=1)
def node_constraints(workload: Workload) -> NodeConstraints:
    """Return the parsed nodeSelector and node affinity of a workload, cached for the checks that run on the same workload."""
    return parse_node_constraints(workload.constraints)


def required_nodes(node_selector: Selector, terms: Sequence[Parsed] | None) -> AnyOf:
    """Return the nodes that a pod may use: its nodeSelector ANDed with its required terms; ``terms`` is None without node affinity.

    Terms that match no node (empty or malformed) are left out, as in the scheduler.
    """
    if terms is None:
        return AnyOf((node_selector,))
    return AnyOf(tuple(intersection(node_selector, term) for term in terms if isinstance(term, Selector)))


def nodes_of(alternatives: Iterable[Alternative]) -> AnyOf:
    """Return the nodes that meet all requirements of one of the alternatives."""
    return AnyOf(tuple([Selector(tuple([each.requirement for each in alternative])) for alternative in alternatives]))


def _requirements(selector: Selector, path: Path) -> Iterator[NodeRequirement]:
    """Yield the requirements of a term with their paths: the match expressions come first, then the match fields."""
    fields = 0
    for index, each in enumerate(selector.requirements):
        if each.field:
            yield NodeRequirement(each, (*path, "matchFields", fields))
            fields += 1
        else:
            yield NodeRequirement(each, (*path, "matchExpressions", index))
