"""The selectors of a workload's constraints, parsed: shared by the groups that ask about their meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from afflint.findings import Path
from afflint.kube.constraints import Item, NodeTerm, PodTerm
from afflint.kube.manifests import Manifest, Workload
from afflint.kube.placeholders import is_placeholder
from afflint.kube.selectors import (
    Malformed,
    Parsed,
    Requirement,
    Selector,
    from_labels,
    merge_label_keys,
    parse_label_selector,
    parse_node_term,
)


class NodeSelection(NamedTuple):
    """A node selector term with its parsed form; None for an empty one."""

    term: NodeTerm
    parsed: Parsed


def node_selections(manifest: Manifest) -> list[NodeSelection]:
    """The node selector terms of a workload, required and preferred."""
    if not isinstance(manifest, Workload):
        return []
    return [NodeSelection(term, parse_node_term(term.data)) for term in manifest.constraints.node_terms]


def node_selector(workload: Workload) -> Selector:
    """The nodeSelector as requirements; an ill-typed one as none."""
    item = workload.constraints.node_selector
    parsed = from_labels(item.data) if item else Selector()
    return Selector() if isinstance(parsed, Malformed) else parsed


def pod_selector(item: Item | PodTerm, workload: Workload) -> Parsed:
    """The label selector of a pod term or spread constraint as the API server stores it for this workload's pods."""
    parsed = parse_label_selector(item.data.get("labelSelector"))
    match, mismatch = _keys(item, "matchLabelKeys"), _keys(item, "mismatchLabelKeys")
    return merge_label_keys(parsed, workload.template_labels, match, mismatch) if match or mismatch else parsed


def _keys(item: Item | PodTerm, field: str) -> list[str]:
    values = item.data.get(field)
    return [value for value in values if type(value) is str] if type(values) is list else []


def says(requirement: Requirement) -> str:
    """A requirement in the words of the manifest: ``zone In [east]``, ``gpu Exists``."""
    if requirement.operator in ("Exists", "DoesNotExist"):
        return f"{requirement.key} {requirement.operator}"
    values = ", ".join(requirement.values[:4]) + (", …" if len(requirement.values) > 4 else "")
    return f"{requirement.key} {requirement.operator} [{values}]"


def has_placeholder(selector: Selector) -> bool:
    """Whether anything in a selector is filled in later, so that nothing can be said about it yet."""
    return any(is_placeholder(text) for requirement in selector.requirements for text in (requirement.key, *requirement.values))


def node_label_places(manifest: Manifest) -> Iterator[tuple[Path, str, str, bool]]:
    """Everywhere a node label stands: its path, its key, what it is there for, and whether its key in a map is meant."""
    if not isinstance(manifest, Workload):
        return
    constraints = manifest.constraints
    if constraints.node_selector:
        for key in constraints.node_selector.data:
            yield (*constraints.node_selector.path, key), key, "nodeSelector", True
    for term in constraints.node_terms:
        expressions = term.data.get("matchExpressions")
        for index, expression in enumerate(expressions if type(expressions) is list else ()):
            label = expression.get("key") if type(expression) is dict else None
            if type(label) is str:
                yield (*term.path, "matchExpressions", index, "key"), label, "node affinity", False
    yield from topology_keys(manifest)


def topology_keys(workload: Workload) -> Iterator[tuple[Path, str, str, bool]]:
    """The topology keys of pod terms and spread constraints, in the same shape."""
    carriers: list[tuple[str, Item | PodTerm]] = [(term.name, term) for term in workload.constraints.pod_terms]
    carriers += [("topology spread constraint", spread) for spread in workload.constraints.spreads]
    for what, item in carriers:
        key = item.data.get("topologyKey")
        if type(key) is str and key:
            yield (*item.path, "topologyKey"), key, what, False
