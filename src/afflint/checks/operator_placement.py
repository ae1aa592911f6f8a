"""Placement that no node meets: that of the pods of KubeVirt itself, and the addedAffinity of a scheduler.

Without virt-handler on a node, no virtual machine runs there. Also the nodes that NodeMaintenances name.

Semantics: KubeVirt's pkg/virt-operator/resource/apply (apps.go, placement.go). The HyperConverged operator passes its own placement on.
The webhook api/v1beta1/nodemaintenance_webhook.go of medik8s/node-maintenance-operator.
"""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.cluster_view import ClusterView
from afflint.checks.match import CrossManifestMatch, Match
from afflint.constraints.nodes import Alternative, parse_node_constraints
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, nearest, pluralize, quoted
from afflint.index.facts import Pods
from afflint.index.scheduler_configurations import SchedulerConfiguration
from afflint.inventory.scheduler_profiles import profiles_of
from afflint.kube.kinds import NODE_MAINTENANCE
from afflint.kube.scheduler_fields import added_constraints
from afflint.kube.selectors import Requirement, Selector, describe_briefly, matches
from afflint.placement.failures import nearest_node
from afflint.yaml.document import text_at
from afflint.yaml.placeholders import is_placeholder

_KINDS = ("KubeVirt", "HyperConverged")
_OF_VIRT_HANDLER = ("workloads", "workload")
"""The keys in KubeVirt and HyperConverged v1beta1, and in HyperConverged v1, of the placement of virt-handler."""


def unmatched_node_placement(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report a nodePlacement of KubeVirt that no node of a node dump meets."""
    if any(node.declared for node in view.nodes):
        return  # Users leave labels out of lists.
    for pods in view.manifest_index.pods:
        if pods.ref.kind not in _KINDS or not pods.operated or not pods.asks or _has_placeholder(pods.asks):
            continue
        handler = any(step in _OF_VIRT_HANDLER for step in pods.template_path)
        effect = "virt-handler runs on no node, and no virtual machine starts" if handler else "the pods of KubeVirt stay Pending"
        yield from _unmatched(view, pods, pods.asks, pods.template_path, effect)


def unmatched_added_affinity(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report the addedAffinity of a scheduler profile that no node of a node dump meets."""
    if any(node.declared for node in view.nodes):
        return  # Users leave labels out of lists.
    configurations = view.manifest_index.facts.schedulers
    unused = {each.site for defining in profiles_of(configurations).ambiguous.values() for each in defining} if configurations else set()
    for configuration in configurations:
        if configuration.site in unused:
            continue
        for constraints in added_constraints(configuration.data, configuration.site.base):
            alternatives = parse_node_constraints(constraints).alternatives
            if constraints.node_required is not None and alternatives and not _has_placeholder(alternatives):
                yield from _unmatched(
                    view, configuration, alternatives, constraints.node_required.path, "all pods of the profile stay Pending"
                )


def unknown_maintenance_node(view: ClusterView) -> Iterator[CrossManifestMatch]:
    """Report NodeMaintenances of nodes that a node dump does not have."""
    if any(node.declared for node in view.nodes) or view.classes:
        return  # Nodes in lists and pools may have other names.
    names = {node.name for node in view.nodes}
    for each in view.manifest_index.facts.maintenance:
        name = text_at(each.spec, "nodeName")
        if each.ref.kind != NODE_MAINTENANCE or each.from_cluster or not name or name in names or is_placeholder(name):
            continue
        meant = nearest_node(name, names)
        path = (*each.site.base, "spec", "nodeName")
        message = f"no node is named {quoted(name)}, so the operator rejects this NodeMaintenance{did_you_mean(meant)}"
        yield CrossManifestMatch(each.site, each.ref, Match(path, message, "Use the name of a node of the cluster."))


def _unmatched(
    view: ClusterView, source: Pods | SchedulerConfiguration, alternatives: tuple[Alternative, ...], path: Path, effect: str
) -> Iterator[CrossManifestMatch]:
    """Yield a match for requirements that no node meets; ``path`` is used if no single requirement is at fault."""
    selectors = [Selector(tuple([each.requirement for each in alternative])) for alternative in alternatives]
    if any(matches(each, node.labels, node.name) for each in selectors for node in view.nodes) or any(map(view.may_be_made, selectors)):
        return
    unmet = next((each for each in alternatives[0] if not _is_met_anywhere(view, each.requirement)), None)
    shown = quoted(describe_briefly(unmet.requirement)) if unmet is not None else "all of these requirements"
    none = "the node does not match" if len(view.nodes) == 1 else f"none of the {pluralize(len(view.nodes), 'node')} matches"
    path = unmet.path if unmet is not None and unmet.path is not None else path
    message = f"{none} {shown}, so {effect}{_suggestion(view, unmet.requirement) if unmet is not None else ''}"
    yield CrossManifestMatch(source.site, source.ref, Match(path, message, "Correct the placement, or add the label to some nodes."))


def _is_met_anywhere(view: ClusterView, requirement: Requirement) -> bool:
    return any(matches(Selector((requirement,)), node.labels, node.name) for node in view.nodes)


def _suggestion(view: ClusterView, requirement: Requirement) -> str:
    values = {node.labels[requirement.key] for node in view.nodes if requirement.key in node.labels}
    wanted = requirement.values[0] if len(requirement.values) == 1 else None
    return did_you_mean(nearest(wanted, values)) if wanted is not None and values else ""


def _has_placeholder(alternatives: tuple[Alternative, ...]) -> bool:
    texts = (text for alternative in alternatives for each in alternative for text in (each.requirement.key, *each.requirement.values))
    return any(map(is_placeholder, texts))
