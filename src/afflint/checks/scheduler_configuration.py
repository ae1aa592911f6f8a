"""A KubeSchedulerConfiguration with which kube-scheduler does not start, or in which a setting has no effect.

Semantics: pkg/scheduler/apis/config/validation, and NewFramework of pkg/scheduler/framework/runtime. Checks of pods apply to
``addedAffinity`` and ``defaultConstraints``, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.checks.match import Match, replacing
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, join_words, nearest, quoted
from afflint.findings.similarity import is_likely_typo
from afflint.kube.constraints import ConstraintItem, Constraints, items
from afflint.kube.kinds import Template
from afflint.kube.label_syntax import is_key
from afflint.kube.scheduler_fields import CURRENT, added_constraints
from afflint.kube.selectors import Malformed, parse_node_term
from afflint.manifests.manifest import Manifest, Workload
from afflint.scheduler.plugins import EXTENSION_POINTS, OPTIONAL, PLUGINS, REMOVED
from afflint.scheduler.profile import DEFAULT_SCHEDULER
from afflint.scheduler.scoring_strategy import CAPACITY_RATIO, STRATEGIES
from afflint.yaml.document import list_at, map_at
from afflint.yaml.object_fields import kind_of
from afflint.yaml.placeholders import is_placeholder

_NO_TEMPLATE = Template(())
_DEFAULTING = ("System", "List")


class ProfileConstraints(Workload):
    """The constraints that one profile adds to pods, as those of a workload: ``addedAffinity`` and ``defaultConstraints``."""

    __slots__ = ()

    def __init__(self, manifest: Manifest, constraints: Constraints) -> None:
        super().__init__(manifest.document, manifest.data, manifest.base, manifest.identity, manifest.kind, _NO_TEMPLATE, {}, manifest.base)
        self._constraints = constraints

    @property
    def partial(self) -> bool:
        return False


def profile_constraints(manifest: Manifest) -> Iterator[ProfileConstraints]:
    """Yield the constraints that each profile of a configuration adds to pods."""
    return (ProfileConstraints(manifest, each) for each in added_constraints(manifest.data, manifest.base))


def invalid_scheduler_configuration(manifest: Manifest) -> Iterator[Match]:
    """Report settings of a KubeSchedulerConfiguration that kube-scheduler rejects, and plugins that do not exist."""
    if manifest.ref.api_version != CURRENT:
        return
    data, base = manifest.data, manifest.base
    profiles = list(items(data, "profiles", base))
    yield from _percentage(ConstraintItem(base, data))
    for field in ("parallelism", "podInitialBackoffSeconds"):
        yield from _at_least(ConstraintItem(base, data), field, 1)
    yield from _names(profiles)
    for constraints in added_constraints(data, base):
        yield from _added_affinity(constraints)
    for profile in profiles:
        yield from _percentage(profile)
        yield from _plugins(profile)
        yield from _plugin_config(profile)
    yield from _queue_sort(profiles)
    yield from _extenders(list(items(data, "extenders", base)))


def _added_affinity(constraints: Constraints) -> Iterator[Match]:
    required = constraints.node_required
    if required is not None and not list_at(required.data, "nodeSelectorTerms"):
        message = "addedAffinity has no nodeSelectorTerms: no node matches it, and all pods of the profile stay Pending"
        yield Match((*required.path, "nodeSelectorTerms"), message, "Add a term, or remove addedAffinity.")
    for term in constraints.node_terms:
        parsed = parse_node_term(term.data)
        # Rules about pods report the other mistakes: unknown operators, and values that do not fit the operator.
        if isinstance(parsed, Malformed) and not parsed.mistyped and (parsed.path[-1] == "key" or type(parsed.path[-1]) is int):
            value: Any = term.data
            for step in parsed.path:
                value = value[step]
            if not is_placeholder(value):
                yield _rejected(
                    (*term.path, *parsed.path), f"{quoted(value)} in addedAffinity, which {parsed.problem}", "Correct the value."
                )


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _percentage(item: ConstraintItem) -> Iterator[Match]:
    yield from _in_range(item, "percentageOfNodesToScore", 0, 100)


def _in_range(item: ConstraintItem, field: str, least: int, most: int) -> Iterator[Match]:
    number = _number(item.data.get(field))
    if number is not None and not least <= number <= most:
        yield _rejected((*item.path, field), f"the {field} {number}, which is not from {least} to {most}", f"Write {least} to {most}.")


def _at_least(item: ConstraintItem, field: str, least: int) -> Iterator[Match]:
    number = _number(item.data.get(field))
    if number is not None and number < least:
        yield _rejected((*item.path, field), f"the {field} {number}, which is less than {least}", f"Write {least} or more.")


def _rejected(path: Path, what: str, remedy: str = "", **more: Any) -> Match:
    return Match(path, f"kube-scheduler rejects {what}", remedy, **more)


def _names(profiles: list[ConstraintItem]) -> Iterator[Match]:
    first: dict[str, int] = {}
    for number, profile in enumerate(profiles):
        name, path = profile.data.get("schedulerName"), (*profile.path, "schedulerName")
        if name is None and len(profiles) == 1:
            name = DEFAULT_SCHEDULER
        if name is None or name == "":
            yield _rejected(path, "this profile: it has no schedulerName", "Give each profile a schedulerName of its own.")
        elif type(name) is str and name in first:
            message = f"the schedulerName {quoted(name)}: another profile has it, too (profiles[{first[name]}])"
            yield _rejected(path, message, "Give each profile a schedulerName of its own, or merge the two profiles.")
        elif type(name) is str:
            first[name] = number


# --- plugins -------------------------------------------------------------------------------------------------------------


def _plugins(profile: ConstraintItem) -> Iterator[Match]:
    plugins, at = map_at(profile.data, "plugins"), (*profile.path, "plugins")
    for point in EXTENSION_POINTS:
        where = map_at(plugins, point)
        seen: set[str] = set()
        for plugin in items(where, "enabled", (*at, point)):
            name, path = plugin.data.get("name"), (*plugin.path, "name")
            if type(name) is not str:
                continue
            if name in seen:
                yield _rejected(path, f"the plugin {quoted(name)}: it is enabled twice in {point}", "Remove the duplicate.")
            seen.add(name)
            yield from _unknown(name, path, "the plugin")
        for plugin in items(where, "disabled", (*at, point)):
            name = plugin.data.get("name")
            if type(name) is str and name != "*":
                yield from _misspelt(name, (*plugin.path, "name"))


def _unknown(name: str, path: Path, what: str) -> Iterator[Match]:
    """Yield the name of a plugin that has been removed or is misspelt. ``what`` says what the name is for."""
    if name in REMOVED:
        yield _rejected(path, f"{what} {quoted(name)}, which does not exist any more", "Remove it.")
    else:
        yield from _misspelt(name, path)


def _misspelt(name: str, path: Path) -> Iterator[Match]:
    """Yield the name of a plugin that is nearly that of one of kube-scheduler. Other names may be plugins of other schedulers."""
    known = (*PLUGINS, *OPTIONAL)
    meant = next((each for each in known if is_likely_typo(name, each)), None) if name not in known else None
    if meant is not None:
        message = f"kube-scheduler has no plugin {quoted(name)}{did_you_mean(meant)}"
        yield Match(
            path, message, "Write the name of the plugin as in the kube-scheduler configuration reference.", edits=replacing(path, meant)
        )


def _queue_sort(profiles: list[ConstraintItem]) -> Iterator[Match]:
    found = [map_at(profile.data, "plugins").get("queueSort") or {} for profile in profiles]
    for profile, sort in zip(profiles, found, strict=True):
        if sort != found[0]:
            message = "this profile: its queueSort is not that of the first profile"
            yield _rejected((*profile.path, "plugins", "queueSort"), message, "Use the same queueSort in all profiles.")


def _plugin_config(profile: ConstraintItem) -> Iterator[Match]:
    seen: set[str] = set()
    for plugin in items(profile.data, "pluginConfig", profile.path):
        name, path = plugin.data.get("name"), (*plugin.path, "name")
        if type(name) is not str:
            continue
        if name in seen:
            yield _rejected(path, f"the second configuration of the plugin {quoted(name)}", "Merge the two.")
        seen.add(name)
        yield from _unknown(name, path, "the configuration of")
        arguments = ConstraintItem((*plugin.path, "args"), map_at(plugin.data, "args"))
        kind = kind_of(arguments.data)
        if name in PLUGINS and kind and kind != f"{name}Args":
            yield _rejected(
                (*arguments.path, "kind"), f"arguments of the kind {quoted(kind)} for {name}", f"Write {name}Args, or remove kind."
            )
        elif name in _ARGUMENTS:
            yield from _ARGUMENTS[name](arguments)


def _preemption(arguments: ConstraintItem) -> Iterator[Match]:
    yield from _in_range(arguments, "minCandidateNodesPercentage", 0, 100)
    yield from _at_least(arguments, "minCandidateNodesAbsolute", 0)


def _spread(arguments: ConstraintItem) -> Iterator[Match]:
    word, path = arguments.data.get("defaultingType") or "System", (*arguments.path, "defaultingType")
    constraints = list(items(arguments.data, "defaultConstraints", arguments.path))
    if type(word) is str and word not in _DEFAULTING and not is_placeholder(word):
        meant = nearest(word, _DEFAULTING)
        yield _rejected(path, f"the defaultingType {quoted(word)}{did_you_mean(meant)}", "Write System or List.")
    elif word == "System" and constraints:
        where = path if "defaultingType" in arguments.data else (*arguments.path, "defaultConstraints")
        message = "defaultConstraints with the defaultingType System" + (
            "" if "defaultingType" in arguments.data else ", which is the default"
        )
        yield _rejected(where, message, "Write `defaultingType: List`.")
    for each in constraints:
        if each.data.get("labelSelector") is not None:
            message = "a labelSelector in defaultConstraints: it uses the selectors of Services and controllers"
            yield _rejected((*each.path, "labelSelector"), message, "Remove labelSelector.", key=True)
        key = each.data.get("topologyKey")
        if type(key) is str and key and not is_key(key) and not is_placeholder(key):
            yield _rejected(
                (*each.path, "topologyKey"), f"the topologyKey {quoted(key)}, which is not a label key", "Write the key of a label."
            )


def _fit(arguments: ConstraintItem) -> Iterator[Match]:
    for field, forbidden in (("ignoredResources", ""), ("ignoredResourceGroups", "/")):
        for index, name in enumerate(list_at(arguments.data, field)):
            if type(name) is str and not is_placeholder(name) and ((forbidden and forbidden in name) or not is_key(name)):
                what = "the name of a resource" if field == "ignoredResources" else "the part of a name before the `/`"
                yield _rejected((*arguments.path, field, index), f"{quoted(name)} in {field}, which is not {what}", "Correct the name.")
    if "scoringStrategy" in arguments.data:
        yield from _strategy(ConstraintItem((*arguments.path, "scoringStrategy"), map_at(arguments.data, "scoringStrategy")))


def _strategy(strategy: ConstraintItem) -> Iterator[Match]:
    word = strategy.data.get("type")
    if type(word) is str and word not in STRATEGIES and not is_placeholder(word):
        meant = nearest(word, STRATEGIES)
        edits = replacing((*strategy.path, "type"), meant) if meant else ()
        yield _rejected(
            (*strategy.path, "type"),
            f"the scoringStrategy {quoted(word)}{did_you_mean(meant)}",
            f"Write {join_words(STRATEGIES, 'or')}.",
            edits=edits,
        )
    for resource in items(strategy.data, "resources", strategy.path):
        yield from _in_range(resource, "weight", 0, 100)
    ratio, at = strategy.data.get("requestedToCapacityRatio"), (*strategy.path, "requestedToCapacityRatio")
    if word == CAPACITY_RATIO and ratio is None:
        yield _rejected(at, f"a {CAPACITY_RATIO} without requestedToCapacityRatio", "Add requestedToCapacityRatio with a shape.")
    elif word in STRATEGIES and word != CAPACITY_RATIO and ratio is not None:
        yield _rejected(
            at, f"requestedToCapacityRatio together with the type {word}", f"Write `type: {CAPACITY_RATIO}`, or remove it.", key=True
        )
    elif type(ratio) is dict:
        yield from _shape(ConstraintItem(at, ratio))


def _shape(ratio: ConstraintItem) -> Iterator[Match]:
    points = list(items(ratio.data, "shape", ratio.path))
    if not points:
        yield _rejected((*ratio.path, "shape"), "a shape without points", "Add at least one point with utilization and score.")
    before: int | None = None
    for point in points:
        yield from _in_range(point, "utilization", 0, 100)
        yield from _in_range(point, "score", 0, 10)
        number = _number(point.data.get("utilization"))
        if before is not None and number is not None and number <= before:
            message = f"the utilization {number} after {before}: the points must be in increasing order"
            yield _rejected((*point.path, "utilization"), message, "Sort the points by utilization.")
        before = number if number is not None else before


def _balanced(arguments: ConstraintItem) -> Iterator[Match]:
    seen: set[object] = set()
    for resource in items(arguments.data, "resources", arguments.path):
        weight, name = _number(resource.data.get("weight")), resource.data.get("name")
        if weight not in (None, 0, 1):
            yield _rejected(
                (*resource.path, "weight"), f"the weight {weight}: NodeResourcesBalancedAllocation takes only 1", "Remove weight."
            )
        if type(name) is str and name in seen:
            yield _rejected((*resource.path, "name"), f"the resource {quoted(name)}, which is listed twice", "Remove the duplicate.")
        seen.add(name if type(name) is str else None)


_ARGUMENTS: Mapping[str, Any] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": lambda arguments: _in_range(arguments, "hardPodAffinityWeight", 0, 100),
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": lambda arguments: _at_least(arguments, "bindTimeoutSeconds", 0),
}


def _extenders(extenders: list[ConstraintItem]) -> Iterator[Match]:
    binding = [each for each in extenders if each.data.get("bindVerb")]
    for extender in binding[1:]:
        yield _rejected((*extender.path, "bindVerb"), "a second extender with a bindVerb", "Keep one extender that binds pods.")
    for extender in extenders:
        if extender.data.get("prioritizeVerb") and (_number(extender.data.get("weight", 0)) or 0) <= 0:
            yield _rejected(
                (*extender.path, "weight"), "an extender with a prioritizeVerb and without a positive weight", "Add a weight of 1 or more."
            )
