"""The fields of a KubeSchedulerConfiguration; kube-scheduler rejects others.

Source: k8s.io/kube-scheduler/config/v1 (types.go, types_pluginargs.go) and k8s.io/component-base/config/v1alpha1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from afflint.findings.paths import Path
from afflint.kube.constraints import Constraints, ShapedValue, constraints_of_parts, items
from afflint.kube.types import ANYTHING, FLAG, INT32, INT64, TEXT, ListOf, Mismatch, Struct, Type
from afflint.yaml.object_fields import api_version_of

NAME = "KubeSchedulerConfiguration"
GROUP = "kubescheduler.config.k8s.io"
CURRENT = f"{GROUP}/v1"


class ConfigurationType(Type):
    """The type of a configuration in the current version; the fields of other versions are not checked.

    ``node_affinity`` and ``spread`` are the types of ``addedAffinity`` and ``defaultConstraints``. The others are created on first use.
    """

    expected = "an object"

    def __init__(self, node_affinity: Type, spread: Type) -> None:
        self._node_affinity = node_affinity
        self._spread = spread
        self._root: Struct | None = None

    def fits(self, value: Any) -> bool:
        return next(self.mismatches(value, ()), None) is None

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        if type(value) is dict and api_version_of(value) == CURRENT:
            if self._root is None:
                self._root = _configuration(self._node_affinity, self._spread)
            yield from self._root.mismatches(value, path)


class _PluginConfig(Struct):
    """The arguments of a plugin, whose fields depend on its name; those of other plugins are not checked."""

    def __init__(self, arguments: dict[str, Type]) -> None:
        super().__init__("plugin configuration", {"name": TEXT, "args": ANYTHING})
        self._arguments = arguments

    def fits(self, value: Any) -> bool:
        return next(self.mismatches(value, ()), None) is None

    def mismatches(self, value: Any, path: Path) -> Iterator[Mismatch]:
        yield from super().mismatches(value, path)
        name = value.get("name") if type(value) is dict else None
        if type(name) is str and name in self._arguments and value.get("args") is not None:
            yield from self._arguments[name].mismatches(value["args"], (*path, "args"))


def _fields(names: str, type_: Type) -> dict[str, Type]:
    return dict.fromkeys(names.split(), type_)


def _configuration(node_affinity: Type, spread: Type) -> Struct:
    plugin = Struct("plugin", {"name": TEXT, "weight": INT32})
    plugins = Struct("plugin set", _fields("enabled disabled", ListOf(plugin)))
    points = (
        "multiPoint preEnqueue queueSort preFilter filter postFilter preScore score reserve permit preBind bind postBind"
        " placementGenerate placementScore placementFeasible podGroupPostFilter"
    )
    profile = Struct(
        "scheduler profile",
        {
            "schedulerName": TEXT,
            **_fields("percentageOfNodesToScore percentageOfPlacementsToScore", INT32),
            "plugins": Struct("plugins", _fields(points, plugins)),
            "pluginConfig": ListOf(_PluginConfig(_arguments(node_affinity, spread))),
        },
    )
    leader_election = _fields("leaseDuration renewDeadline retryPeriod", ANYTHING) | {
        "leaderElect": FLAG,
        **_fields("resourceLock resourceName resourceNamespace", TEXT),
    }
    managed = Struct("managed resource", {"name": TEXT, "ignoredByScheduler": FLAG})
    tls = _fields("serverName certFile keyFile caFile certData keyData caData", TEXT) | {"insecure": FLAG}
    extender = Struct(
        "extender",
        {
            **_fields("urlPrefix filterVerb preemptVerb prioritizeVerb bindVerb", TEXT),
            **_fields("enableHTTPS nodeCacheCapable ignorable", FLAG),
            "weight": INT64,
            "tlsConfig": Struct("TLS configuration", tls),
            "httpTimeout": ANYTHING,
            "managedResources": ListOf(managed),
        },
    )
    return Struct(
        NAME,
        {
            **_fields("apiVersion kind", TEXT),
            **_fields("parallelism percentageOfNodesToScore percentageOfPlacementsToScore", INT32),
            **_fields("podInitialBackoffSeconds podMaxBackoffSeconds", INT64),
            **_fields("enableProfiling enableContentionProfiling delayCacheUntilActive", FLAG),
            "leaderElection": Struct("leader election", leader_election),
            "clientConnection": Struct(
                "client connection", {**_fields("kubeconfig acceptContentTypes contentType", TEXT), "qps": ANYTHING, "burst": INT32}
            ),
            "profiles": ListOf(profile),
            "extenders": ListOf(extender),
        },
    )


def _arguments(node_affinity: Type, spread: Type) -> dict[str, Type]:
    resources = ListOf(Struct("scored resource", {"name": TEXT, "weight": INT64}))
    shape = ListOf(Struct("shape point", _fields("utilization score", INT32)))
    strategy = Struct(
        "scoring strategy",
        {"type": TEXT, "resources": resources, "requestedToCapacityRatio": Struct("capacity ratio", {"shape": shape})},
    )
    arguments: dict[str, dict[str, Type]] = {
        "DefaultPreemption": _fields("minCandidateNodesPercentage minCandidateNodesAbsolute", INT32),
        "DynamicResources": _fields("filterTimeout bindingTimeout", ANYTHING),
        "InterPodAffinity": {"hardPodAffinityWeight": INT32, "ignorePreferredTermsOfExistingPods": FLAG},
        "NodeAffinity": {"addedAffinity": node_affinity},
        "NodeResourcesBalancedAllocation": {"resources": resources},
        "NodeResourcesFit": {**_fields("ignoredResources ignoredResourceGroups", ListOf(TEXT)), "scoringStrategy": strategy},
        "PlacementBinPacking": {"scoringStrategy": strategy},
        "PodTopologySpread": {"defaultConstraints": spread, "defaultingType": TEXT},
        "VolumeBinding": {"bindTimeoutSeconds": INT64, "shape": shape},
    }
    return {name: Struct(f"{name}Args", {**_fields("apiVersion kind", TEXT), **fields}) for name, fields in arguments.items()}


_ADDED = {"NodeAffinity": ("addedAffinity", "nodeAffinity"), "PodTopologySpread": ("defaultConstraints", "topologySpreadConstraints")}


def added_constraints(data: dict[str, Any], base: Path) -> Iterator[Constraints]:
    """Yield the constraints that the arguments of plugins add to pods: ``addedAffinity`` and ``defaultConstraints`` of each profile.

    ``base`` is the path of the configuration ``data``.
    """
    for profile in items(data, "profiles", base):
        for plugin in items(profile.data, "pluginConfig", profile.path):
            name, arguments = plugin.data.get("name"), plugin.data.get("args")
            if type(name) is str and name in _ADDED and type(arguments) is dict:
                field, shape = _ADDED[name]
                if arguments.get(field) is not None:
                    yield constraints_of_parts([ShapedValue(shape, (*plugin.path, "args", field), arguments[field])])
