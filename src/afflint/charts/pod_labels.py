"""The labels of the pods of a chart, as far as its name, its release and its values determine them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from afflint.charts.catalogue import ChartPods, VersionRange, chart_of, matches_path
from afflint.charts.releases import ChartRelease
from afflint.charts.sources import ChartSource
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.similarity import is_joined, is_likely_typo
from afflint.kube.added_labels import OF_ANY_POD, is_one_of
from afflint.kube.kinds import EACH
from afflint.kube.selectors import Requirement, Selector, is_met
from afflint.manifests.catalogue import custom_kind_of
from afflint.yaml.document import map_at, value_at_path
from afflint.yaml.placeholders import is_placeholder

_OVERRIDES = ("nameOverride", "fullnameOverride")
_NAMES = frozenset(("app", "app.kubernetes.io/name", "app.kubernetes.io/part-of"))


class OwnLabels(NamedTuple):
    """The labels of some pods of a chart; the value "" is unknown.

    ``closed``: they have no others. ``names`` are further names by which a selector may mean these pods. ``operated``: an operator sets
    the labels.
    """

    labels: dict[str, str]
    closed: bool
    names: frozenset[str]
    operated: bool = False

    def missed(self, selector: Selector) -> Requirement | None:
        """Return the first requirement that the pods certainly do not meet; None if they may meet all."""
        for each in selector.requirements:
            if any(map(is_placeholder, (each.key, *each.values))) or is_one_of(each.key, OF_ANY_POD):
                continue
            value = self.labels.get(each.key)
            if value != "" and (value is not None or self.closed) and not is_met(each, value):
                return each
        return None

    def resembles(self, missed: Requirement) -> bool:
        """Return whether a requirement asks for a value that the pods have for one or two names of theirs, or has a typo."""
        known = self.names | {value for value in self.labels.values() if value}
        own = self.labels.get(missed.key)
        return any(value in known or is_joined(value, known) or (own is not None and is_likely_typo(value, own)) for value in missed.values)


def labels_at_place(release: ChartRelease, path: Path, further: frozenset[str] = frozenset()) -> list[OwnLabels]:
    """Return the labels of the pods that a placement field of the values reaches, one for each kind of pods; none if they are unknown.

    ``further`` are keys of labels that the values set, see ``user_labels``.
    """
    chart = release.chart
    place = chart.place_of(path)
    if place is None or not place.pods or place.text:
        return []
    above = list(_values_above(release.values, path))
    named = {*_OVERRIDES, *(name for pods in chart.pods for _, by in pods.overridden for name in by)}
    overrides = {name for values in above for name in named if values.get(name)}
    known = _holds(chart.labels_of, release.versions)
    reached = set(place.pods)
    others = {number for each in chart.places for number in each.pods}
    # Pods that no place reaches by default take the place of others in some modes of the chart.
    numbers = [number for number in range(len(chart.pods)) if number in reached or number not in others]
    found = []
    for pods in [chart.pods[number] for number in numbers if chart.pods[number].versions.overlaps(release.versions)]:
        varies = any("{controllerKey}" in value for _, value in pods.labels)
        for key in _controller_keys(release.values, path) if varies else ("",):
            labels = _filled(pods, release.name, key)
            changed = {name for name, by in pods.overridden if not overrides.isdisjoint(by)}
            if "nameOverride" in overrides:
                changed |= _NAMES & labels.keys()
            changed |= {key for key in labels if any(_may_rename(values, key) for values in above)}
            labels.update(dict.fromkeys(changed | further, ""))
            names = {chart.name, release.name or chart.name, key or chart.name}
            # An operator takes further labels only from the map that contains the constraints.
            closed = known and (release.complete or bool(pods.group))
            found.append(OwnLabels(labels, closed, frozenset(names), bool(pods.group)))
    return found


def _may_rename(values: dict[str, Any], label: str) -> bool:
    """Return whether values contain a text whose name says that it replaces a label, such as `k8sAppLabelOverride` for `k8s-app`."""
    words = re.sub(r"[^a-z0-9]", "", label.rpartition("/")[2].lower())
    return any(
        type(name) is str and name not in _OVERRIDES and re.search(_RENAMING, name) and words in name.lower().replace("_", "")
        for name, value in values.items()
        if value and type(value) is str
    )


_RENAMING = r"(?:Override|Label|LabelValue)$"


def labels_of_release(release: ChartRelease, further: frozenset[str] = frozenset()) -> list[OwnLabels]:
    """Return the labels of all pods of a release of bjw-s' common library; none for other charts, whose components may be switched off."""
    controllers = release.values.get("controllers")
    if release.chart.name != "app-template" or type(controllers) is not dict:
        return []
    return [each for key in controllers for each in labels_at_place(release, ("controllers", key, "pod", "affinity"), further)]


def labels_of_neighbour(name: str, namespace: str | None, sources: Iterable[ChartSource]) -> tuple[ChartRelease | None, list[OwnLabels]]:
    """Return a release with a name, and the labels of all pods of the releases with this name; none if some pods or labels are unknown.

    ``namespace`` is that of the pods that select them: a release that is surely in another one may have a namesake.
    """
    found: list[OwnLabels] = []
    release = None
    for each in [source for source in sources if source.kind == "HelmRelease" and source.name == name]:
        chart = chart_of(each.chart) if each.controllers and (each.url or namespace) in (namespace, None) else None
        if chart is None:
            return None, []
        versions = VersionRange(each.major, each.major + 1) if each.major is not None else VersionRange(2)
        values: dict[str, Any] = {"controllers": {key: {} for key in each.controllers}}
        release = ChartRelease(chart.in_versions(versions), versions, name, values, ())
        found += labels_of_release(release, frozenset(each.labels))
    return release, found


def _holds(known: VersionRange, versions: VersionRange) -> bool:
    """Return whether the labels of a range of versions are those of a release; without a version, it is as recent as the catalogue."""
    return known.covers(versions) or (known.before is None and known.since != 0 and versions.since is None)


def _controller_keys(values: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Return the keys of the controllers that a field of bjw-s' common library reaches: one, or those that do not replace the default.

    With ``defaultPodOptionsStrategy: merge`` a controller may take a part of the default.
    """
    controllers = values.get("controllers")
    if path[0] == "controllers":
        return (str(path[1]),)
    if type(controllers) is not dict:
        return ("",)
    merged = "defaultPodOptionsStrategy" in values
    return tuple([str(key) for key, each in controllers.items() if merged or not value_at_path(each, "pod", path[-1])])


def default_of_pod(release: ChartRelease, pod: Path, field: str) -> Any:
    """Return the default that a controller of bjw-s' common library takes for a field of its pods; None if it sets the field.

    ``pod`` is the path in the values with the options of its pods. None also for other places, and for fields without a default.
    """
    if not release.adds_nothing or not matches_path(_OPTIONS, pod) or field in map_at(release.values, *pod):
        return None
    return map_at(release.values, _DEFAULTS).get(field)


_DEFAULTS = "defaultPodOptions"
_OPTIONS = ("controllers", EACH, "pod")


def _filled(pods: ChartPods, release: str | None, controller: str) -> dict[str, str]:
    """Return the labels of pods for a release and a controller."""
    labels = {}
    if pods.group:
        kind = custom_kind_of(pods.group, pods.kind)
        # The name of the resource depends on several values.
        known = {each.key: each.value for each in kind.labels if "{" not in each.value} if kind is not None else {}
        return {**dict(pods.labels), **known}
    for key, value in pods.labels:
        unknown = ("{release}" in value and release is None) or ("{controllerKey}" in value and not controller)
        labels[key] = "" if unknown else value.replace("{release}", release or "").replace("{controllerKey}", controller)
    return labels


def _values_above(values: dict[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the maps of the values on the way to a path, and the global values."""
    here: Any = values
    for step in (*path, None):
        if type(here) is not dict:
            return
        yield here
        common = here.get("global")
        if type(common) is dict:
            yield common
        here = here.get(step)
