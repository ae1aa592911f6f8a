"""Profiles of the OpenShift descheduler, and plugins of a DeschedulerPolicy: names that do not exist, and profiles that exclude each other.

The sources are pkg/apis/descheduler/v1 of openshift/cluster-kube-descheduler-operator (the validation in the CustomResourceDefinition) and
pkg/framework/plugins of kubernetes-sigs/descheduler.
"""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import Match, removing, renaming, replacing
from afflint.findings.paths import Path
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.manifests.manifest import Manifest
from afflint.yaml.document import list_at, map_at

_TOPOLOGY, _SOFT_TOPOLOGY = "TopologyAndDuplicates", "SoftTopologyAndDuplicates"
_LIFECYCLES = ("LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle")
_MIGRATING = ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate")
_COMPACT = "CompactAndScale"
_PROFILES = (
    "AffinityAndTaints", _TOPOLOGY, _SOFT_TOPOLOGY, *_LIFECYCLES, *_MIGRATING, _COMPACT, "EvictPodsWithLocalStorage", "EvictPodsWithPVC",
)  # fmt: skip
_EXCLUSIVE = frozenset(
    frozenset(pair)
    for pair in (
        *[(_LIFECYCLES[0], each) for each in (*_LIFECYCLES[1:], *_MIGRATING)],
        *[(lifecycle, each) for lifecycle in _LIFECYCLES[1:] for each in _MIGRATING],
        _MIGRATING,
        (_TOPOLOGY, _SOFT_TOPOLOGY),
        *[(_COMPACT, each) for each in (*_LIFECYCLES, *_MIGRATING, _TOPOLOGY)],
    )
)
"""Pairs of profiles that the API server rejects together. LongLifecycle and DevPreviewLongLifecycle are accepted together."""

_PLUGINS = (
    "DefaultEvictor", "HighNodeUtilization", "LowNodeUtilization", "PodLifeTime", "RemoveDuplicates", "RemoveFailedPods",
    "RemovePodsHavingTooManyRestarts", "RemovePodsViolatingInterPodAntiAffinity", "RemovePodsViolatingNodeAffinity",
    "RemovePodsViolatingNodeTaints", "RemovePodsViolatingTopologySpreadConstraint",
)  # fmt: skip


def invalid_operator_setting(manifest: Manifest) -> Iterator[Match]:
    """Report profiles and plugins of a descheduler that do not exist or exclude each other. Names without a similar one may be newer."""
    kind = manifest.kind
    if kind.name == "KubeDescheduler":
        yield from _profiles(manifest)
    elif kind.name == "DeschedulerPolicy":
        for path, name in _plugin_names(manifest):
            meant = _meant(name, _PLUGINS)
            if meant is not None:
                message = f"the descheduler has no plugin {quoted(name)}{did_you_mean(meant)}"
                is_key = path[-1] == name  # A strategy of v1alpha1.
                yield Match(path, message, key=is_key, edits=renaming(path, meant) if is_key else replacing(path, meant))


def _profiles(manifest: Manifest) -> Iterator[Match]:
    seen: list[str] = []
    for index, name in enumerate(list_at(manifest.data, "spec", "profiles")):
        path: Path = (*manifest.base, "spec", "profiles", index)
        meant = _meant(name, _PROFILES)
        if type(name) is not str:
            continue
        other = next((each for each in seen if frozenset((each, name)) in _EXCLUSIVE), None)
        if meant is not None:
            yield Match(path, f"the API server rejects the profile {quoted(name)}{did_you_mean(meant)}", edits=replacing(path, meant))
        elif name in seen:
            message = f"the API server rejects the duplicate profile {quoted(name)}"
            yield Match(path, message, "Remove the duplicate.", edits=removing(path))
        elif other is not None:
            message = f"the API server rejects the profile {quoted(name)} together with {quoted(other)}"
            yield Match(path, message, "Keep one of the two profiles.")
        seen.append(name)


def _plugin_names(manifest: Manifest) -> Iterator[tuple[Path, object]]:
    """Yield the names of plugins in a policy (v1alpha2), and of strategies in an old one (v1alpha1), with their paths."""
    for name in map_at(manifest.data, "strategies"):
        yield (*manifest.base, "strategies", name), name
    for number, profile in enumerate(list_at(manifest.data, "profiles")):
        for index, each in enumerate(list_at(profile, "pluginConfig")):
            yield (*manifest.base, "profiles", number, "pluginConfig", index, "name"), map_at(each).get("name")
        for point in map_at(profile, "plugins"):
            for field in ("enabled", "disabled"):
                for index, name in enumerate(list_at(profile, "plugins", point, field)):
                    yield (*manifest.base, "profiles", number, "plugins", point, field, index), name


def _meant(name: object, known: tuple[str, ...]) -> str | None:
    return nearest(name, known) if type(name) is str and name not in known else None
