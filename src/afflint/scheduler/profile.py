"""A profile of kube-scheduler: the plugins that filter and score nodes for its pods, with their weights and arguments.

Pods select a profile by their ``schedulerName``. ``configuration.py`` reads profiles; most clusters have only the default one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from afflint.findings.namedtuples import NamedTuple
from afflint.scheduler.plugins import PLUGINS

if TYPE_CHECKING:
    from afflint.constraints.pods import TopologySpreadConstraint
    from afflint.kube.selectors import Parsed, Selector

DEFAULT_SCHEDULER = "default-scheduler"
"""The profile of pods without a ``schedulerName``."""
UNKNOWN_PROFILE = "UnknownProfile"
"""The reason for which each node rejects a pod whose profile is not known: it is never scheduled in a simulation."""


class ResourceScoring(NamedTuple):
    """The arguments of NodeResourcesFit and NodeResourcesBalancedAllocation that scores depend on.

    ``resources`` are those of the strategy with their weights, ``balanced`` those of NodeResourcesBalancedAllocation. ``shape`` has the
    points of RequestedToCapacityRatio: the utilization in percent, and the score from 0 to 100.
    """

    strategy: str
    resources: tuple[tuple[str, int], ...]
    balanced: tuple[str, ...]
    shape: tuple[tuple[int, int], ...] = ()


class _ProfileFields(NamedTuple):
    name: str = DEFAULT_SCHEDULER
    unknown: str = ""
    """Why the decisions of this scheduler cannot be simulated, as a clause; empty if they can."""
    weights: Mapping[str, int] | None = None
    """The weight of each plugin that scores nodes; None for those of the default configuration."""
    prescored: frozenset[str] | None = None
    """The plugins that run before scores, and may fail there, whether or not they score; None for all."""
    disabled: frozenset[str] = frozenset()
    """The plugins that do not filter nodes."""
    order: tuple[str, ...] = ()
    """The plugins that filter nodes, in their order; empty for the order of the default configuration."""
    preempts: bool = True
    """Whether its pods may preempt others (DefaultPreemption)."""
    added_terms: tuple[Parsed, ...] | None = None
    """The required terms of ``addedAffinity``: a node must match one of them; None without any."""
    added_preferences: tuple[tuple[int, Selector], ...] = ()
    """The preferred terms of ``addedAffinity``, each with its weight."""
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    """The spread constraints of pods without any; None for the system defaults."""
    required_weight: int = 1
    """The weight of the required pod affinity terms of running pods in scores (``hardPodAffinityWeight``)."""
    ignores_preferences: bool = False
    """Whether preferred terms of running pods score only for pods that have some too (``ignorePreferredTermsOfExistingPods``)."""
    ignored_resources: frozenset[str] = frozenset()
    """The resources that the filter ignores."""
    ignored_groups: frozenset[str] = frozenset()
    """The parts before the ``/`` of resources that the filter ignores."""
    scoring: ResourceScoring | None = None
    """How nodes are scored by resources; None for the default strategies."""
    managed: frozenset[str] = frozenset()
    """The resources that extenders manage: a pod that requests one is placed by an extender."""


class Profile(_ProfileFields):
    """One profile. Profiles are compared by identity, so that comparing the rules of pods stays fast."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def proves(self) -> bool:
        """Whether the rules that hold for every order of scheduling apply: not if a filter is disabled, which they assume."""
        return not (self.unknown or self.lacks_filters)

    @property
    def lacks_filters(self) -> bool:
        """Whether a filter is disabled, or ignores a resource."""
        return bool(self.disabled or self.ignored_resources or self.ignored_groups)

    def ignores(self, resource: str) -> bool:
        """Return whether the filter ignores a resource: only extended resources can be ignored (``fitsRequest`` of noderesources)."""
        group, slash, _ = resource.partition("/")
        return bool(slash) and "kubernetes.io/" not in resource and (resource in self.ignored_resources or group in self.ignored_groups)


DEFAULT_PROFILE = Profile()
"""The only profile of a cluster whose scheduler has no configuration."""


_TOGETHER = "the simulation does not schedule the pods of its {} together"
_TOPOLOGY = "the simulation does not assign the topology domains that Kueue chooses"
_NOT_SIMULATED = (
    ("spec", "resourceClaims", "the simulation does not allocate the devices of its resourceClaims"),
    ("spec", "schedulingGroup", _TOGETHER.format("schedulingGroup")),
    ("spec", "schedulingGates", "it is unknown when its schedulingGates are removed"),
    # The coscheduling plugin (kubernetes-sigs/scheduler-plugins) and Volcano, with their older keys.
    ("labels", "scheduling.x-k8s.io/pod-group", _TOGETHER.format("PodGroup")),
    ("labels", "pod-group.scheduling.sigs.k8s.io", _TOGETHER.format("PodGroup")),
    ("labels", "pod-group.scheduling.sigs.k8s.io/name", _TOGETHER.format("PodGroup")),
    ("annotations", "scheduling.k8s.io/group-name", _TOGETHER.format("PodGroup")),
    ("annotations", "scheduling.volcano.sh/group-name", _TOGETHER.format("PodGroup")),
    # apis/kueue: the topology request of a PodSet.
    ("annotations", "kueue.x-k8s.io/podset-required-topology", _TOPOLOGY),
    ("annotations", "kueue.x-k8s.io/podset-preferred-topology", _TOPOLOGY),
    ("annotations", "kueue.x-k8s.io/podset-unconstrained-topology", _TOPOLOGY),
    ("annotations", "kueue.x-k8s.io/podset-slice-required-topology", _TOPOLOGY),
    ("annotations", "kueue.x-k8s.io/podset-slice-required-topology-constraints", _TOPOLOGY),
)
"""What of a pod the simulation does not follow, and the reason in words: its part, and the field, label or annotation."""


def profile_of(scheduler: str, spec: Mapping[str, Any], metadata: Mapping[str, Any]) -> Profile:
    """Return the profile that places a pod, as long as no configuration of the scheduler is known.

    That of pods with devices, gangs or topology requests is unknown. ``metadata`` has the labels and annotations of the pod.
    """
    parts = {"spec": spec, **{name: each for name in ("labels", "annotations") if isinstance(each := metadata.get(name), Mapping)}}
    why = next((why for part, key, why in _NOT_SIMULATED if parts.get(part, {}).get(key) not in _UNSET), "")
    if why:
        return unknown_profile("", why)  # A configuration of its scheduler does not change that.
    return DEFAULT_PROFILE if scheduler in ("", DEFAULT_SCHEDULER) else unknown_profile(scheduler)


_UNSET: tuple[object, ...] = (None, [], {}, "", "false")


@cache
def only_filter(profile: Profile, plugin: str) -> Profile:
    """Return a profile in which one plugin filters nodes; those for volumes are never disabled."""
    return profile._replace(order=(), disabled=frozenset(name for name, each in PLUGINS.items() if "filter" in each.points) - {plugin})


@cache
def unknown_profile(name: str, why: str = "") -> Profile:
    """Return a profile that cannot be simulated; without a reason, the configuration of the scheduler is not known."""
    return Profile(name, unknown=why or f"the configuration of the scheduler {name} is not known")
