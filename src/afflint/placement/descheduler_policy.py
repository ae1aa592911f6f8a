"""The settings of a descheduler: a DeschedulerPolicy, also inside a ConfigMap, or the profiles of OpenShift's KubeDescheduler.

Semantics: pkg/api of sigs.k8s.io/descheduler (v1alpha2, and strategies of v1alpha1), and pkg/operator/target_config_reconciler.go of
openshift/cluster-kube-descheduler-operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import Parsed, matches, parse_label_selector
from afflint.yaml import documents
from afflint.yaml.document import list_at, map_at, text_at, texts_at
from afflint.yaml.object_fields import kind_of

NODE_AFFINITY = "RemovePodsViolatingNodeAffinity"
NODE_TAINTS = "RemovePodsViolatingNodeTaints"
ANTI_AFFINITY = "RemovePodsViolatingInterPodAntiAffinity"
SPREAD = "RemovePodsViolatingTopologySpreadConstraint"
DUPLICATES = "RemoveDuplicates"
LOW_UTILIZATION = "LowNodeUtilization"
DESCHEDULE, BALANCE = (NODE_AFFINITY, NODE_TAINTS, ANTI_AFFINITY), (SPREAD, DUPLICATES, LOW_UTILIZATION)
SIMULATED = (*DESCHEDULE, *BALANCE)
KINDS = ("DeschedulerPolicy", "KubeDescheduler", "ConfigMap")
"""The kinds of objects that may have a policy."""

_EVICTOR = "DefaultEvictor"
_CRITICAL = 2_000_000_000
"""Pods with this priority or a higher one are critical for the system (SystemCriticalPriority)."""
_OPENSHIFT_PROFILES: Mapping[str, tuple[tuple[str, Mapping[str, Any]], ...]] = {
    "AffinityAndTaints": (
        (ANTI_AFFINITY, {}),
        (NODE_TAINTS, {}),
        (NODE_AFFINITY, {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}),
    ),
    "TopologyAndDuplicates": ((SPREAD, {}), (DUPLICATES, {})),
    "SoftTopologyAndDuplicates": ((SPREAD, {"constraints": ["DoNotSchedule", "ScheduleAnyway"]}), (DUPLICATES, {})),
    "LifecycleAndUtilization": ((LOW_UTILIZATION, {}), ("PodLifeTime", {}), ("RemovePodsHavingTooManyRestarts", {})),
    "LongLifecycle": ((LOW_UTILIZATION, {}), ("RemovePodsHavingTooManyRestarts", {})),
    "DevPreviewLongLifecycle": ((LOW_UTILIZATION, {}), ("RemovePodsHavingTooManyRestarts", {})),
    "CompactAndScale": (("HighNodeUtilization", {}),),
    "KubeVirtRelieveAndMigrate": ((LOW_UTILIZATION, {"metricsUtilization": {"source": "Prometheus"}}),),
    "DevKubeVirtRelieveAndMigrate": ((LOW_UTILIZATION, {"metricsUtilization": {"source": "Prometheus"}}),),
}
_OPENSHIFT_THRESHOLDS = {"Low": (10, 30), "Medium": (20, 50), "High": (40, 70)}
_OPENSHIFT_NAMESPACES = ("kube-system", "hypershift", "openshift", "openshift-*")


class EvictionRules(NamedTuple):
    """Which pods the evictor of a profile spares (DefaultEvictor)."""

    node_fit: bool = False
    local_storage: bool = False
    """Whether pods with an emptyDir or hostPath volume may be evicted, as the pods of virtual machines have."""
    claims: bool = True
    """Whether pods with a PersistentVolumeClaim may be evicted."""
    critical: bool = False
    daemon_sets: bool = False
    bare: bool = False
    without_budget: bool = True
    priority: int | None = None
    """Pods with this priority or a higher one are not evicted."""
    priority_class: str = ""
    min_replicas: int = 0
    selector: Parsed | None = None


class Plugin(NamedTuple):
    """A plugin of a profile with its arguments."""

    name: str
    args: Mapping[str, Any]

    def covers(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the plugin considers a pod, by its namespace and its labels."""
        included, excluded = (texts_at(self.args, "namespaces", each) for each in ("include", "exclude"))
        if included and not any(fnmatchcase(namespace, each) for each in included):
            return False
        if any(fnmatchcase(namespace, each) for each in excluded):
            return False
        selector = parse_label_selector(self.args.get("labelSelector"))
        return selector is None or matches(selector, labels)


class DeschedulerProfile(NamedTuple):
    """A profile: its plugins in order, and the rules for evictions."""

    name: str
    plugins: tuple[Plugin, ...]
    rules: EvictionRules


class DeschedulerPolicy(NamedTuple):
    """A policy: ``name`` is how messages call it, ``notes`` what the simulation does not consider."""

    name: str
    profiles: tuple[DeschedulerProfile, ...]
    node_selector: Parsed | None = None
    notes: tuple[str, ...] = ()
    machine_note: str = ""
    """What is wrong with it for virtual machines."""


def read_policies(objects: Iterable[Mapping[str, Any]]) -> list[DeschedulerPolicy]:
    """Return the policies of the descheduler among some objects."""
    found = []
    for data in objects:
        name = f"{data.get('kind')} {text_at(data, 'metadata', 'name')}".rstrip()
        if kind_of(data) == "DeschedulerPolicy":
            found.append(_policy(name, data))
        elif kind_of(data) == "KubeDescheduler":
            found.append(_openshift(name, data))
        elif kind_of(data) == "ConfigMap":
            texts = [value for value in map_at(data, "data").values() if type(value) is str and "DeschedulerPolicy" in value]
            found += [_policy(name, inner) for value in texts for inner in _documents(value)]
    return found


def _documents(text: str) -> Iterator[Mapping[str, Any]]:
    for raw, line, _ in documents.split(text.encode("utf-8", "replace")):
        data = documents.read(raw, 0, line).data
        if type(data) is dict and kind_of(data) == "DeschedulerPolicy":
            yield data


def _policy(name: str, data: Mapping[str, Any]) -> DeschedulerPolicy:
    given = data.get("nodeSelector")
    profiles = tuple([_profile(each) for each in list_at(data, "profiles") if type(each) is dict]) or _strategies(data)
    return _with_notes(DeschedulerPolicy(name, profiles, _labels(given) if type(given) is str else None))


def _labels(text: str) -> Parsed | None:
    """Return the selector that a text such as ``disk=ssd,!gpu`` writes; those with sets of values are rare and select all nodes here."""
    if "(" in text:
        return None
    return parse_label_selector({"matchExpressions": [_expression(each.strip()) for each in text.split(",") if each.strip()]})


def _expression(text: str) -> Mapping[str, Any]:
    key, equals, value = text.partition("=")
    if equals:
        operator = "NotIn" if key.endswith("!") else "In"
        return {"key": key.rstrip("!").strip(), "operator": operator, "values": [value.removeprefix("=").strip()]}
    return {"key": text.removeprefix("!").strip(), "operator": "DoesNotExist" if text.startswith("!") else "Exists"}


def _profile(profile: Mapping[str, Any]) -> DeschedulerProfile:
    args = {text_at(each, "name"): map_at(each, "args") for each in list_at(profile, "pluginConfig") if type(each) is dict}
    enabled = [name for point in ("deschedule", "balance") for name in texts_at(profile, "plugins", point, "enabled")]
    plugins = tuple([Plugin(name, args.get(name, {})) for name in enabled])
    return DeschedulerProfile(text_at(profile, "name"), plugins, _rules(args.get(_EVICTOR, {})))


def _rules(args: Mapping[str, Any]) -> EvictionRules:
    """Return the rules of DefaultEvictor: the list of protections, or the older flags."""
    protections = map_at(args, "podProtections")
    selector = parse_label_selector(args.get("labelSelector"))
    threshold = map_at(args, "priorityThreshold")
    value, replicas = threshold.get("value"), args.get("minReplicas")
    rules = EvictionRules(
        node_fit=args.get("nodeFit") is True,
        priority=value if type(value) is int else None,
        priority_class=text_at(threshold, "name"),
        min_replicas=replicas if type(replicas) is int else 0,
        selector=selector,
    )
    off, extra = texts_at(protections, "defaultDisabled"), texts_at(protections, "extraEnabled")
    if off or extra:
        return rules._replace(
            local_storage="PodsWithLocalStorage" in off,
            daemon_sets="DaemonSetPods" in off,
            critical="SystemCriticalPods" in off,
            claims="PodsWithPVC" not in extra,
            without_budget="PodsWithoutPDB" not in extra,
        )
    return rules._replace(
        local_storage=args.get("evictLocalStoragePods") is True,
        daemon_sets=args.get("evictDaemonSetPods") is True,
        critical=args.get("evictSystemCriticalPods") is True,
        claims=args.get("ignorePvcPods") is not True,
        without_budget=args.get("ignorePodsWithoutPDB") is not True,
    )


def _strategies(data: Mapping[str, Any]) -> tuple[DeschedulerProfile, ...]:
    """Return the profile of a policy of v1alpha1, whose strategies run in the order of the newer extension points."""
    strategies = {name: map_at(each) for name, each in map_at(data, "strategies").items() if map_at(each).get("enabled") is True}
    plugins = []
    for name in sorted(strategies, key=lambda name: (name in BALANCE, name)):
        params = map_at(strategies[name], "params")
        args = {**params, **map_at(params, "nodeResourceUtilizationThresholds")}
        if params.get("includeSoftConstraints") is True:
            args["constraints"] = ["DoNotSchedule", "ScheduleAnyway"]
        plugins.append(Plugin(name, args))
    fits = any(map_at(each, "params").get("nodeFit") is True for each in strategies.values())
    rules = _rules({**data, "nodeFit": fits})
    return (DeschedulerProfile("strategies", tuple(plugins), rules),) if plugins else ()


def _openshift(name: str, data: Mapping[str, Any]) -> DeschedulerPolicy:
    spec, profiles = map_at(data, "spec"), texts_at(data, "spec", "profiles")
    custom = map_at(spec, "profileCustomizations")
    namespaces = map_at(custom, "namespaces")
    excluded = [*texts_at(namespaces, "excluded"), *_OPENSHIFT_NAMESPACES]
    chosen = {"namespaces": {"include": texts_at(namespaces, "included"), "exclude": excluded}}
    low, high = _OPENSHIFT_THRESHOLDS.get(text_at(custom, "devLowNodeUtilizationThresholds"), (20, 50))
    utilization = {
        "thresholds": dict.fromkeys(("cpu", "memory", "pods"), low),
        "targetThresholds": dict.fromkeys(("cpu", "memory", "pods"), high),
    }
    plugins: dict[str, Plugin] = {}
    for profile in profiles:
        for plugin, args in _OPENSHIFT_PROFILES.get(profile, ()):
            plugins[plugin] = Plugin(plugin, {**(utilization if plugin == LOW_UTILIZATION else {}), **args, **chosen})
    priority = custom.get("thresholdPriority")
    # The operator does not set nodeFit.
    rules = EvictionRules(
        local_storage="EvictPodsWithLocalStorage" in profiles,
        claims="EvictPodsWithPVC" in profiles,
        priority=priority if type(priority) is int else None,
        priority_class=text_at(custom, "thresholdPriorityClassName"),
    )
    listed = sorted(plugins.values(), key=lambda plugin: plugin.name in BALANCE)
    policy = DeschedulerPolicy(name, (DeschedulerProfile(name, tuple(listed), rules),))
    # The mode is Predictive unless another one is set.
    predictive = spec.get("mode", "Predictive") == "Predictive"
    note = "its mode is Predictive: in the cluster it evicts no pod until the mode is Automatic"
    background = custom.get("devEnableEvictionsInBackground") is True
    return _with_notes(policy._replace(notes=(note,) if predictive else (), machine_note=_machine_note(profiles, background=background)))


def _machine_note(profiles: Sequence[str], *, background: bool) -> str:
    """Return what is wrong with profiles for virtual machines (`isDeschedulerMisconfigured` of the HyperConverged operator)."""
    if any("KubeVirtRelieveAndMigrate" in each for each in profiles):
        return ""
    if "LongLifecycle" not in profiles:
        return "HyperConverged counts it as misconfigured for virtual machines: it lacks the profile KubeVirtRelieveAndMigrate"
    asks = "it asks again for migrations that have not ended, without devEnableEvictionsInBackground"
    return "" if background else f"{asks}: use the profile KubeVirtRelieveAndMigrate"


def _with_notes(policy: DeschedulerPolicy) -> DeschedulerPolicy:
    plugins = [plugin for profile in policy.profiles for plugin in profile.plugins]
    others = dict.fromkeys(plugin.name for plugin in plugins if plugin.name not in SIMULATED)
    notes = [*policy.notes]
    if others:
        notes.append(f"not simulated: {', '.join(others)}")
    if any(plugin.name == LOW_UTILIZATION and _is_measured(plugin) for plugin in plugins):
        notes.append(f"not simulated: {LOW_UTILIZATION} by measured utilization or by deviation from the average")
    classes = dict.fromkeys(each.rules.priority_class for each in policy.profiles if each.rules.priority_class)
    notes += [f"the priority of PriorityClass {each}, up to which pods are evicted, is not considered" for each in classes]
    return policy._replace(notes=tuple(notes))


def _is_measured(plugin: Plugin) -> bool:
    return bool(plugin.args.get("metricsUtilization")) or plugin.args.get("useDeviationThresholds") is True


def is_simulated(plugin: Plugin) -> bool:
    """Return whether the simulation can tell what a plugin evicts."""
    return plugin.name in SIMULATED and not (plugin.name == LOW_UTILIZATION and _is_measured(plugin))


def is_critical(priority: int | None) -> bool:
    """Return whether a priority is that of pods that are critical for the system."""
    return priority is not None and priority >= _CRITICAL


def thresholds(plugin: Plugin, resources: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the shares below which a node is underutilized, and above which it is overutilized, in percent; 100 if unset."""
    low, high = ({name: map_at(plugin.args, field).get(name) for name in resources} for field in ("thresholds", "targetThresholds"))
    numbers = ({name: float(value) if isinstance(value, int | float) else 100.0 for name, value in each.items()} for each in (low, high))
    under, over = numbers
    return under, over
