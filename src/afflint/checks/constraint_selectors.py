"""The parsed selectors of a workload's constraints, shared by several groups of checks."""

from functools import lru_cache

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.kube.constraints import NodeTerm
from afflint.kube.label_places import LabelPlace, label_places
from afflint.kube.manifests import Workload
from afflint.kube.selectors import (
    Malformed,
    Parsed,
    Selector,
    from_labels,
    parse_node_term,
    requirement_paths,
)
from afflint.yaml.placeholders import is_placeholder


class NodeSelection(NamedTuple):
    """A node selector term with its parsed form; None for an empty one."""

    term: NodeTerm
    parsed: Parsed


# Several checks need the same answer for one manifest before the next manifest is read, so the last answer is cached.


@lru_cache(maxsize=1)
def node_selections(manifest: Workload) -> tuple[NodeSelection, ...]:
    """Return the node selector terms of a workload, required and preferred."""
    return tuple(NodeSelection(term, parse_node_term(term.data)) for term in manifest.constraints.node_terms)


def node_selector(workload: Workload) -> Selector:
    """Return the nodeSelector as requirements, without placeholders; empty if it has the wrong type."""
    item = workload.constraints.node_selector
    parsed = from_labels(item.data) if item else Selector()
    if isinstance(parsed, Malformed):
        return Selector()
    return Selector(tuple(each for each in parsed.requirements if not has_placeholder(Selector((each,)))))


def requirement_places(data: object, parsed: Selector) -> list[Path]:
    """Return for each requirement of a parsed selector or node term the path in ``data`` of its value or operator."""
    places: list[Path] = []
    for path, requirement in zip(requirement_paths(data), parsed.requirements, strict=False):
        if path[0] == "matchLabels":
            places.append(path)
        elif len(requirement.values) == 1:
            places.append((*path, "values", 0))
        else:
            places.append((*path, "values" if requirement.values else "operator"))
    return places


def has_placeholder(selector: Selector) -> bool:
    """Return whether a selector contains placeholders, so that nothing can be concluded from it."""
    return any(is_placeholder(text) for requirement in selector.requirements for text in (requirement.key, *requirement.values))


@lru_cache(maxsize=1)
def node_label_places(manifest: Workload) -> tuple[LabelPlace, ...]:
    """Return all places in the constraints of a workload that contain a node label."""
    return tuple(label_places(manifest.constraints))
