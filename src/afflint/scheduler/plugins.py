"""The plugins of kube-scheduler, and the extension points at which the default configuration runs those that place pods.

Source: pkg/scheduler/framework/plugins (names, registry.go) and pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from __future__ import annotations

from afflint.findings.namedtuples import NamedTuple


class SchedulerPlugin(NamedTuple):
    """A plugin of kube-scheduler: the extension points that it implements, among those that place pods, and its default weight."""

    points: frozenset[str]
    weight: int = 0


def _plugin(points: str, weight: int = 0) -> SchedulerPlugin:
    return SchedulerPlugin(frozenset(points.split()), weight)


PLUGINS: dict[str, SchedulerPlugin] = {
    "SchedulingGates": _plugin(""),
    "PrioritySort": _plugin(""),
    "NodeUnschedulable": _plugin("filter"),
    "NodeName": _plugin("filter"),
    "TaintToleration": _plugin("filter preScore score", 3),
    "NodeAffinity": _plugin("preFilter filter preScore score", 2),
    "NodePorts": _plugin("preFilter filter"),
    "NodeResourcesFit": _plugin("preFilter filter preScore score", 1),
    "VolumeRestrictions": _plugin("preFilter filter"),
    "NodeVolumeLimits": _plugin("preFilter filter"),
    "VolumeBinding": _plugin("preFilter filter preScore score", 1),
    "VolumeZone": _plugin("preFilter filter"),
    "PodTopologySpread": _plugin("preFilter filter preScore score", 2),
    "InterPodAffinity": _plugin("preFilter filter preScore score", 2),
    "DynamicResources": _plugin("preFilter filter"),
    "NodeDeclaredFeatures": _plugin("preFilter filter"),
    "DefaultPreemption": _plugin("postFilter"),
    "NodeResourcesBalancedAllocation": _plugin("preScore score", 1),
    "ImageLocality": _plugin("score", 1),
    "DefaultBinder": _plugin(""),
}
"""The plugins of the default configuration, by name. Those without such an extension point do not affect where a pod runs."""
OPTIONAL = ("GangScheduling", "PlacementBinPacking")
"""Further plugins of kube-scheduler, which depend on feature gates."""
REMOVED = (
    "AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits", "NodeLabel", "NodePreferAvoidPods", "NodeResourcesLeastAllocated",
    "NodeResourcesMostAllocated", "RequestedToCapacityRatio", "SelectorSpread", "ServiceAffinity",
)  # fmt: skip
"""Plugins of earlier versions, which do not exist any more."""
VOLUME_FILTERS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
NEEDING_STATE = frozenset(
    ("NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "VolumeRestrictions", "VolumeBinding", "VolumeZone")
)
"""The filters that fail with an error if their preFilter is disabled."""
EXTENSION_POINTS = (
    "multiPoint", "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind",
    "bind", "postBind", "placementGenerate", "placementScore", "placementFeasible", "podGroupPostFilter",
)  # fmt: skip
