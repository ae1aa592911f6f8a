"""From which nodes a volume that exists can be used: its node affinity, and its labels for zones and regions.

Semantics: CheckNodeAffinity in k8s.io/component-helpers (storage/volume/helpers.go), and pkg/scheduler/framework/plugins/volumezone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afflint.kube.node_labels import TOPOLOGY_LABELS
from afflint.kube.selectors import AnyOf, Parsed, Requirement, Selector, parse_node_term
from afflint.yaml.document import map_at, maps_at


def zone_requirements(labels: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Return what the zone and region labels of a volume require of nodes. A list with an empty value is ignored (LabelZonesToSet)."""
    values = ((key, str(labels.get(key) or "").split("__")) for key in TOPOLOGY_LABELS)
    return tuple([Requirement(key, "In", tuple(each)) for key, each in values if all(each)])


def without_fields(term: Parsed) -> Parsed:
    """Return a node selector term of a volume without ``matchFields``, which the scheduler ignores there."""
    return Selector(tuple([each for each in term.requirements if not each.field])) if isinstance(term, Selector) else term


def usable_nodes(volume: Mapping[str, Any]) -> AnyOf | None:
    """Return the nodes from which a PersistentVolume can be used; None for all nodes, or if its node affinity is malformed.

    ``volume`` is the object as parsed.
    """
    zones = zone_requirements(map_at(volume, "metadata", "labels"))
    terms: list[Selector] = []
    for term in maps_at(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms"):
        parsed = without_fields(parse_node_term(term))
        if parsed is None:
            continue  # An empty term matches no node.
        if not isinstance(parsed, Selector):
            return None
        terms.append(Selector((*parsed.requirements, *zones)))
    if not terms:
        return AnyOf((Selector(zones),)) if zones else None
    return AnyOf(tuple(terms)) if all(term.requirements for term in terms) else None
