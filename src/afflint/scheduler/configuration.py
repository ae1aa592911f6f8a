"""Reads the profiles of a KubeSchedulerConfiguration, and applies the profile of a pod to it.

Semantics: pkg/scheduler/apis/config/v1 (defaults.go, default_plugins.go) and pkg/scheduler/framework/runtime/framework.go
(expandMultiPointPlugins, getScoreWeights).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from afflint.constraints.pods import HARD, SOFT, TopologySpreadConstraint, parse_spread_constraint
from afflint.findings.phrases import join_words
from afflint.kube.constraints import PREFERRED, REQUIRED
from afflint.kube.decoding import InventoryError, fail, integer, mapping, sequence, string, strings
from afflint.kube.selectors import EVERYTHING, Malformed, Parsed, parse_node_term
from afflint.scheduler.namespaces import Directory
from afflint.scheduler.plugins import EXTENSION_POINTS, NEEDING_STATE, OPTIONAL, PLUGINS, VOLUME_FILTERS
from afflint.scheduler.pods import Pod, Preference, SpreadConstraint, read_preferences
from afflint.scheduler.profile import DEFAULT_SCHEDULER, Profile, ResourceScoring, unknown_profile
from afflint.scheduler.requests import CPU, MEMORY
from afflint.scheduler.scoring_strategy import CAPACITY_RATIO, LEAST_ALLOCATED, STRATEGIES


def profile_names(data: Mapping[str, Any]) -> list[str]:
    """Return the ``schedulerName`` of each profile of a configuration; a single profile has a default."""
    return [name for name, _ in _named(data)]


def raw_profile(data: Mapping[str, Any], name: str) -> list[object]:
    """Return everything in a configuration that decides about the pods of one profile, to compare configurations."""
    return [dict(_named(data)).get(name), data.get("extenders") or []]


def read_profiles(data: Mapping[str, Any]) -> dict[str, Profile]:
    """Return the profiles of a configuration by name.

    One invalid profile makes all of them unknown: kube-scheduler does not start (ValidateKubeSchedulerConfiguration of
    pkg/scheduler/apis/config/validation).
    """
    named = dict(_named(data))
    found: dict[str, Profile] = {}
    name = next(iter(named), "")
    try:
        extenders = _extenders(data)
        for name, each in named.items():
            found[name] = _profile(name, mapping(each, "the profile"), extenders)
    except InventoryError as error:
        return dict.fromkeys(named, Profile(name, unknown=f"the configuration of the scheduler {name} is invalid: {error}"))
    return found


def _named(data: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    listed = data.get("profiles")
    profiles = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    for each in profiles or [{}]:
        name = each.get("schedulerName")
        if type(name) is str and name:
            yield name, each
        elif name is None and len(profiles) < 2:
            yield DEFAULT_SCHEDULER, each


class _Extenders:
    """The extenders of a configuration: whether one sees all pods, the resources that they manage, and those that the filter ignores."""

    def __init__(self, address: str, managed: frozenset[str], ignored: frozenset[str]) -> None:
        self.address, self.managed, self.ignored = address, managed, ignored


def _extenders(data: Mapping[str, Any]) -> _Extenders:
    address, managed, ignored = "", set[str](), set[str]()
    for index, each in enumerate(sequence(data.get("extenders"), "extenders")):
        extender = mapping(each, f"extenders[{index}]")
        resources = [mapping(item, "managedResources") for item in sequence(extender.get("managedResources"), "managedResources")]
        names = {string(item.get("name"), "managedResources.name") for item in resources}
        ignored |= {string(item.get("name"), "name") for item in resources if item.get("ignoredByScheduler") is True}
        if not any(extender.get(verb) for verb in ("filterVerb", "prioritizeVerb", "bindVerb")):
            continue
        managed |= names
        if not names:
            address = string(extender.get("urlPrefix"), "urlPrefix") or "without an address"
    return _Extenders(address, frozenset(managed), frozenset(ignored))


def _profile(name: str, data: Mapping[str, Any], extenders: _Extenders) -> Profile:
    plugins = _Plugins(mapping(data.get("plugins"), "plugins"))
    arguments = {
        string(each.get("name"), "name"): mapping(each.get("args"), "args")
        for each in (mapping(item, "pluginConfig") for item in sequence(data.get("pluginConfig"), "pluginConfig"))
    }
    filters = plugins.ordered("filter")
    disabled = frozenset([plugin for plugin, each in PLUGINS.items() if "filter" in each.points and plugin not in filters])
    affinity = mapping(arguments.get("NodeAffinity", {}).get("addedAffinity"), "addedAffinity")
    interpod = arguments.get("InterPodAffinity", {})
    fit = arguments.get("NodeResourcesFit", {})
    required = interpod.get("hardPodAffinityWeight")
    return Profile(
        name,
        unknown=_unknown(name, plugins, disabled, extenders),
        weights=plugins.weights(),
        prescored=frozenset(plugins.ordered("preScore")),
        order=filters if filters != tuple([name for name in PLUGINS if name in filters]) else (),
        disabled=disabled - {"DynamicResources", *VOLUME_FILTERS},
        preempts="DefaultPreemption" in plugins.ordered("postFilter"),
        added_terms=_added_terms(affinity),
        added_preferences=_added_preferences(affinity),
        default_constraints=_default_constraints(arguments.get("PodTopologySpread", {})),
        required_weight=1 if required is None else integer(required, "hardPodAffinityWeight", 1),
        ignores_preferences=interpod.get("ignorePreferredTermsOfExistingPods") is True,
        ignored_resources=frozenset(strings(fit.get("ignoredResources"), "ignoredResources")) | extenders.ignored,
        ignored_groups=frozenset(strings(fit.get("ignoredResourceGroups"), "ignoredResourceGroups")),
        scoring=_scoring(fit, arguments.get("NodeResourcesBalancedAllocation", {})),
        managed=extenders.managed,
    )


def _unknown(name: str, plugins: _Plugins, disabled: frozenset[str], extenders: _Extenders) -> str:
    """Return why the decisions of a profile cannot be simulated."""
    others = plugins.others()
    if others:
        return f"profile {name} enables the plugin{'s' if len(others) > 1 else ''} {join_words(others)}"
    if extenders.address:
        return f"profile {name} calls the extender {extenders.address}"
    left_out = [plugin for plugin in VOLUME_FILTERS if plugin in disabled]
    if left_out:
        return f"profile {name} disables the plugin{'s' if len(left_out) > 1 else ''} {join_words(left_out)}"
    for before, point in (("preFilter", "filter"), ("preScore", "score")):
        needing = NEEDING_STATE if point == "filter" else frozenset(("PodTopologySpread", "InterPodAffinity", "TaintToleration"))
        failing = sorted(plugin for plugin in needing.intersection(plugins.ordered(point)) if plugin not in plugins.ordered(before))
        if failing:
            return f"profile {name} disables {failing[0]} in {before}, but not in {point}"
    return ""


class _Plugins:
    """The plugins of a profile by extension point, as the defaults and ``multiPoint`` complete them."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._enabled: dict[str, dict[str, int]] = {}
        self._disabled: dict[str, set[str]] = {}
        for point in EXTENSION_POINTS:
            where = mapping(data.get(point), f"plugins.{point}")
            listed = [mapping(each, f"plugins.{point}.enabled") for each in sequence(where.get("enabled"), f"plugins.{point}.enabled")]
            self._enabled[point] = {string(each.get("name"), "name"): integer(each.get("weight"), "weight", 0) for each in listed}
            off = [mapping(each, f"plugins.{point}.disabled") for each in sequence(where.get("disabled"), f"plugins.{point}.disabled")]
            self._disabled[point] = {string(each.get("name"), "name") for each in off}
        own, off_everywhere = self._enabled["multiPoint"], self._disabled["multiPoint"]
        kept = {} if "*" in off_everywhere else {name: each.weight for name, each in PLUGINS.items() if name not in off_everywhere}
        self._everywhere = {**kept, **own}

    def ordered(self, point: str) -> tuple[str, ...]:
        """Return the plugins of kube-scheduler that run at an extension point, in their order.

        First come those that the point lists again, then those that only ``multiPoint`` enables, last those that only the point enables.
        """
        own, off = self._enabled[point], self._disabled[point]
        everywhere = [name for name in self._everywhere if name in PLUGINS and point in PLUGINS[name].points and name not in off]
        if "*" in off:
            everywhere = []
        return tuple(dict.fromkeys([*[name for name in own if name in everywhere], *everywhere, *own]))

    def weights(self) -> dict[str, int]:
        """Return the weight of each plugin that scores. That of the extension point comes first; 0 counts as 1."""
        given = {**self._everywhere, **self._enabled["score"]}
        scoring = self.ordered("score")
        return {name: given[name] or 1 for name in PLUGINS if name in scoring}

    def others(self) -> list[str]:
        """Return the enabled plugins that the default configuration does not have."""
        names = dict.fromkeys(name for each in self._enabled.values() for name in each)
        return [name for name in names if name not in PLUGINS and name not in OPTIONAL]


def _added_terms(affinity: Mapping[str, Any]) -> tuple[Parsed, ...] | None:
    if affinity.get(REQUIRED) is None:
        return None
    where = f"addedAffinity.{REQUIRED}.nodeSelectorTerms"
    parsed = tuple([parse_node_term(each) for each in sequence(mapping(affinity[REQUIRED], where).get("nodeSelectorTerms"), where)])
    for index, term in enumerate(parsed):
        if isinstance(term, Malformed):
            fail(f"{where}[{index}]" + "".join(f"[{step!r}]" for step in term.path), term.problem)
    return parsed


def _added_preferences(affinity: Mapping[str, Any]) -> tuple[Preference, ...]:
    where = f"addedAffinity.{PREFERRED}"
    found = read_preferences(affinity.get(PREFERRED), where)
    if isinstance(found, Malformed):
        fail(where + "".join(f"[{step!r}]" for step in found.path), found.problem)
    return found or ()


def _default_constraints(arguments: Mapping[str, Any]) -> tuple[TopologySpreadConstraint, ...] | None:
    listed = sequence(arguments.get("defaultConstraints"), "defaultConstraints")
    defaulting = string(arguments.get("defaultingType"), "defaultingType") or "System"
    if defaulting == "System":
        if listed:
            fail("defaultConstraints", "need the defaultingType List")
        return None
    found = tuple([parse_spread_constraint(each, ("defaultConstraints", index)) for index, each in enumerate(listed)])
    for index, each in enumerate(found):
        if each.mistyped is not None or each.when_unsatisfiable not in (HARD, SOFT) or not each.topology_key or (each.max_skew or 0) < 1:
            fail(f"defaultConstraints[{index}]", "is not a valid spread constraint")
    return found


def _scoring(fit: Mapping[str, Any], balanced: Mapping[str, Any]) -> ResourceScoring | None:
    """Return how a profile scores by resources; None for the default strategies."""
    strategy = mapping(fit.get("scoringStrategy"), "scoringStrategy")
    word = string(strategy.get("type"), "scoringStrategy.type")
    if word not in STRATEGIES and strategy:
        fail("scoringStrategy.type", f"is none of {', '.join(STRATEGIES)}")
    resources = _resources(strategy.get("resources"), "scoringStrategy.resources")
    even = tuple([name for name, _ in _resources(balanced.get("resources"), "resources")])
    ratio = mapping(strategy.get("requestedToCapacityRatio"), "requestedToCapacityRatio")
    points = [mapping(each, "shape") for each in sequence(ratio.get("shape"), "shape")]
    if word == CAPACITY_RATIO and not points:
        fail("requestedToCapacityRatio.shape", "is empty")
    shape = tuple([(integer(each.get("utilization"), "utilization", 0), 10 * integer(each.get("score"), "score", 0)) for each in points])
    if any(after[0] <= before[0] for before, after in pairwise(shape)):
        fail("requestedToCapacityRatio.shape", "is not in the order of the utilization")
    found = ResourceScoring(word or LEAST_ALLOCATED, resources, even, shape)
    return None if found == _DEFAULT_SCORING else found


def _resources(data: object, what: str) -> tuple[tuple[str, int], ...]:
    listed = [mapping(each, what) for each in sequence(data, what)]
    return tuple([(string(each.get("name"), "name"), integer(each.get("weight"), "weight", 0) or 1) for each in listed]) or _BOTH


_BOTH = ((CPU, 1), (MEMORY, 1))
_DEFAULT_SCORING = ResourceScoring(LEAST_ALLOCATED, _BOTH, (CPU, MEMORY))


def with_profile(pod: Pod, directory: Directory) -> Pod:
    """Return a pod with the configured profile of its scheduler, and with what that adds to its constraints.

    A pod whose profile is not configured is returned unchanged.
    """
    profile = directory.profiles.get(pod.rules.profile.name)
    if profile is None:
        return pod
    managed = next((name for name, _ in pod.requests if name in profile.managed), None)
    if managed is not None:
        profile = unknown_profile(profile.name, f"an extender of profile {profile.name} places the pods that request {managed}")
    named = None if "NodeAffinity" in profile.disabled else pod.rules.named
    pod = pod._replace(rules=pod.rules._replace(profile=profile, named=named))
    if profile.added_preferences and not isinstance(pod.preferences, Malformed):
        pod = pod._replace(preferences=(*(pod.preferences or ()), *[Preference(*each) for each in profile.added_preferences]))
    if profile.default_constraints is not None and not pod.has_spread:
        selector = directory.default_selector(pod)
        hard, soft = (
            tuple([_constraint(each, selector) for each in profile.default_constraints if each.when_unsatisfiable == action])
            if selector != EVERYTHING
            else ()
            for action in (HARD, SOFT)
        )
        pod = pod._replace(has_spread=True, hard_spread=hard, soft_spread=soft)
    return pod


def _constraint(default: TopologySpreadConstraint, selector: Parsed) -> SpreadConstraint:
    return SpreadConstraint(
        default.topology_key,
        default.max_skew or 0,
        1 if default.min_domains is None else default.min_domains,
        selector,
        default.node_affinity_policy in ("", "Honor"),
        default.node_taints_policy == "Honor",
    )
