"""Which chart gets some values: releases of Flux, Argo CD, Kustomize, k3s, RKE2 and helmfile, and values whose keys identify the chart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from afflint.charts.catalogue import KnownChart, VersionRange, chart_of
from afflint.charts.sources import ChartSource, last_part, major_of
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.manifests.custom_resources import CustomWorkload
from afflint.manifests.manifest import Workload
from afflint.yaml import documents
from afflint.yaml.document import list_at, map_at, value_at_path
from afflint.yaml.object_fields import group_of, kind_of, name_of
from afflint.yaml.placeholders import is_placeholder

_K8S_AT_HOME = "k8s-at-home"
# Publishers with charts of their own under common names, as their addresses contain them.
_OTHER_PUBLISHERS = (
    "bitnami",
    "truecharts",
    _K8S_AT_HOME,
    "cowboysysop",
    "gabe565",
    "geek-cookbook",
    "charts.helm.sh/stable",
    "kubernetes-charts",
)
_LONGEST_RELEASE = 53
_FLUX, _ARGO, _K3S = ("helm.toolkit.fluxcd.io", "helm.fluxcd.io"), "argoproj.io", "helm.cattle.io"
_KUSTOMIZE = "kustomize.config.k8s.io"


class ChartRelease(NamedTuple):
    """The values of a chart at ``path`` in a document, for a release with a name; ``name`` is None if it is unknown.

    ``versions`` are the possible versions of the chart. ``complete``: no other values, and no changes of the output, are known of, so that
    the labels of the pods are those of the chart and of these values.
    """

    chart: KnownChart
    versions: VersionRange
    name: str | None
    values: dict[str, Any]
    path: Path
    complete: bool = True

    @property
    def adds_nothing(self) -> bool:
        """Whether the chart writes every constraint as it is, and no other one: bjw-s' common library."""
        return self.chart.name == "app-template"

    def is_verified(self, path: Path) -> bool:
        """Return whether the chart certainly writes the field at a path of the values into pods: a rendered chart showed it.

        A field that the chart makes of text is not certain. A chart whose history is known reads other places in the versions before it.
        """
        known = self.chart.labels_of
        if known.before is None and not known.overlaps(self.versions):
            return False
        place = self.chart.place_of(path)
        return place is not None and place.verified and not place.text


class _ChartReference(NamedTuple):
    """How a release refers to its chart: a name, the address or the name of the repository, and a version."""

    chart: str
    repository: str = ""
    version: object = None
    release: str | None = None
    complete: bool = True


def release_of(workload: CustomWorkload, sources: Iterable[ChartSource]) -> ChartRelease | None:
    """Return the release whose values contain the constraints of a workload; None if the chart is not certain or not in the catalogue."""
    found = _values_of(workload)
    if found is None:
        return None
    values, path, owner = found
    reference = _reference(workload, owner, path, {(each.kind, each.name): each for each in sources})
    chart = _known_chart(reference) if reference is not None else None
    if chart is not None and reference is not None:
        major = reference.version if type(reference.version) is int else major_of(reference.version)
        versions = VersionRange(major, major + 1) if major is not None else _versions_by_values(chart, values)
        release = ChartRelease(chart.in_versions(versions), versions, _release_name(reference.release), values, path, reference.complete)
        return _of_dependency(release, workload.pod_path)
    if reference is not None and chart_of(last_part(reference.chart)) is not None:
        return None  # A chart of another publisher with the name of a known one.
    return release_by_keys(values, path, workload.pod_path, reference)


def releases_in(data: bytes, names: Collection[str], sources: Iterable[ChartSource]) -> Iterator[ChartSource]:
    """Yield the releases of Flux in the text of a file that have one of some names, with what determines the labels of their pods."""
    from afflint.manifests.reader import objects_in

    by_name = {(each.kind, each.name): each for each in sources}
    for piece, line, problem in documents.split(data):
        if problem is None and _RELEASE in piece and any(name.decode() in names for name in re.findall(_NAME, piece)):
            document = documents.read(piece, 0, line)
            for each, _ in objects_in(document) if document.problem is None else ():
                if kind_of(each) == "HelmRelease" and group_of(each) in _FLUX and name_of(each) in names:
                    yield _neighbour(each, by_name)


_RELEASE = b"HelmRelease"
_NAME = rb"(?m)(?:^ {1,8}|\{ ?|, )name:[ \t]+(?:&\S+[ \t]+)?[\"']?([a-z0-9][-a-z0-9.]*)"


def _neighbour(data: dict[str, Any], sources: dict[tuple[str, str], ChartSource]) -> ChartSource:
    """Return a release; without controllers if it is not one of bjw-s' app-template, or if not all of its values and patches are known."""
    spec, values = map_at(data, "spec"), map_at(data, "spec", "values")
    reference = _of_flux(spec, name_of(data), sources)
    chart = _known_chart(reference) if reference is not None else None
    namespace = spec.get("targetNamespace") or map_at(data, "metadata").get("namespace")
    name = reference.release if reference is not None and reference.release is not None else str(name_of(data))
    found = ChartSource("HelmRelease", name, namespace if type(namespace) is str else "")
    is_known = reference is not None and reference.complete and chart is not None and chart.name == "app-template"
    if reference is None or not is_known or "global" in values or not _has_controllers(values):
        return found
    major = reference.version if type(reference.version) is int else major_of(reference.version)
    controllers, labels = tuple(map(str, values["controllers"])), tuple(sorted(user_labels(values)))
    return found._replace(chart="app-template", major=major, controllers=controllers, labels=labels)


def user_labels(values: Any) -> frozenset[str]:
    """Return the keys in all maps of the values that set labels: ``podLabels``, ``commonLabels``, ``labels``."""
    found: set[str] = set()
    waiting = [values]
    while waiting:
        here = waiting.pop()
        if type(here) is list:
            waiting += here
        elif type(here) is dict:
            for key, each in here.items():
                if type(key) is str and key.lower().endswith("labels") and key != "matchLabels" and type(each) is dict:
                    found.update(name for name in each if type(name) is str)
                elif type(each) in (dict, list) and key != "labelSelector":
                    waiting.append(each)
    return frozenset(found)


def names_and_replicas(workload: Workload) -> tuple[tuple[str, ...], bool]:
    """Return the names that the pods of a HelmRelease may have, and whether values next to or above its constraints ask for several."""
    spec, path = map_at(workload.data, "spec"), workload.pod_path[len(workload.base) :]
    chart = map_at(spec, "chart")
    names = [name_of(workload.data), spec.get("releaseName"), map_at(spec, "chartRef").get("name"), chart.get("name")]
    names.append(map_at(chart, "spec").get("chart"))
    here, several = spec.get("values"), False
    for step in (*path[2:], None):
        if type(here) is not dict:
            break
        names += [each for key, each in (*here.items(), *map_at(here, "global").items()) if str(key).endswith("Override")]
        several = several or any(type(here.get(field)) is int and here[field] > 1 for field in ("replicas", "replicaCount"))
        here = here.get(step)
    return tuple([last_part(each) for each in names if type(each) is str]), several


def is_in_values(workload: CustomWorkload) -> bool:
    """Return whether the constraints of a workload are in the values of a chart."""
    return _values_of(workload) is not None


def _values_of(workload: CustomWorkload) -> tuple[dict[str, Any], Path, dict[str, Any]] | None:
    """Return the values that contain the constraints, their path, and the object that contains them; None for other constraints."""
    if workload.kind.name == "values" and not workload.kind.group:
        data, inline = workload.document.data, workload.pod_path[:4]
        if inline[:1] == ("releases",) and inline[2:3] == ("values",) and type(value_at_path(data, *inline)) is dict:
            return value_at_path(data, *inline), inline, data
        return (data, (), workload.data) if type(data) is dict else None
    path = _path_of_values(workload)
    value: Any = workload.data
    for step in path or ():
        value = value[step] if type(value) in (dict, list) else None
    return (value, (*workload.base, *path), workload.data) if path and type(value) is dict else None


def _path_of_values(workload: CustomWorkload) -> Path | None:
    own, kind, group = workload.pod_path[len(workload.base) :], workload.kind.name, workload.kind.group
    if kind == "HelmRelease" and group in _FLUX:
        return own[:2] if own[:2] == ("spec", "values") else None
    if kind in ("Application", "ApplicationSet") and group == _ARGO:
        return own[: own.index("valuesObject") + 1] if "helm" in own and "valuesObject" in own else None
    if kind == "Kustomization" and group == _KUSTOMIZE:
        return own[:3] if own[:1] == ("helmCharts",) and own[2:3] == ("valuesInline",) else None
    return None


def _reference(
    workload: CustomWorkload, owner: dict[str, Any], path: Path, sources: dict[tuple[str, str], ChartSource]
) -> _ChartReference | None:
    """Return how the owner of some values refers to the chart; None if it does not."""
    kind, group = kind_of(owner), group_of(owner)
    spec, name = map_at(owner, "spec"), name_of(owner)
    if path[:1] == ("releases",):
        return _of_helmfile(owner, value_at_path(owner, *path[:2]))
    if kind == "HelmRelease" and group in _FLUX:
        return _of_flux(spec, name, sources)
    if kind in ("Application", "ApplicationSet") and group == _ARGO:
        inner = path[len(workload.base) :]
        template = map_at(spec, "template")
        spec = map_at(template, "spec") if kind == "ApplicationSet" else spec
        name = name_of(template) if kind == "ApplicationSet" else name
        source = _source_of_argo(spec, inner)
        helm, chart, version = map_at(source, "helm"), source.get("chart"), source.get("targetRevision")
        if chart is None:
            chart, version = _chart_in_git(source.get("path"), source.get("repoURL"), version)
        return _reference_to(chart, source.get("repoURL"), version, helm.get("releaseName", name), not helm.get("valueFiles"))
    if kind == "Kustomization" and group == _KUSTOMIZE:
        _, index, _ = path[len(workload.base) :]
        used = owner["helmCharts"][index]
        complete = not (used.get("valuesFile") or owner.get("patches") or owner.get("labels") or owner.get("commonLabels"))
        return _reference_to(used.get("name"), used.get("repo"), used.get("version"), used.get("releaseName"), complete)
    if kind == "HelmChart" and group == _K3S:
        return _reference_to(spec.get("chart"), spec.get("repo"), spec.get("version"), name)
    return None


def _of_helmfile(helmfile: dict[str, Any], release: dict[str, Any]) -> _ChartReference | None:
    """Return how a release of a helmfile refers to its chart; the chart begins with the name of a repository, or is an address."""
    chart = str(release.get("chart"))
    listed = [each for each in list_at(helmfile, "repositories") if type(each) is dict and each.get("name") == chart.partition("/")[0]]
    repository = next((each.get("url") for each in listed), None) or chart.rpartition("/")[0]
    complete = len(list_at(release, "values")) == 1 and not _CHANGING.intersection(release)
    name = release.get("name") if complete else None  # Other values may replace the name in labels.
    return _reference_to(release.get("chart"), repository, release.get("version"), name, complete)


_CHANGING = frozenset(("set", "setTemplate", "inherit", "strategicMergePatches", "jsonPatches", "transformers"))
"""Fields of a release with other values, or with changes of the output."""


def _of_flux(spec: dict[str, Any], name: object, sources: dict[tuple[str, str], ChartSource]) -> _ChartReference | None:
    target = spec.get("targetNamespace")
    release = spec.get("releaseName", f"{target}-{name}" if target else name)
    # A Secret holds passwords. Other values, and patches of the output, may change labels.
    others = [each for each in list_at(spec, "valuesFrom") if type(each) is dict and kind_of(each) != "Secret"]
    complete = not others and not spec.get("postRenderers")
    chart = map_at(spec, "chart")
    if "repository" in chart:  # helm.fluxcd.io/v1.
        return _reference_to(chart.get("name"), chart.get("repository"), chart.get("version"), release, complete)
    chart = map_at(chart, "spec")
    if chart:
        ref = map_at(chart, "sourceRef")
        source = sources.get(("HelmRepository", str(ref.get("name"))))
        repository = source.url if source is not None and source.url else ref.get("name")
        return _reference_to(chart.get("chart"), repository, chart.get("version"), release, complete)
    ref = map_at(spec, "chartRef")
    source = sources.get((kind_of(ref), str(ref.get("name"))))
    if source is not None:
        return _reference_to(source.chart, source.url, source.major, release, complete)
    return _reference_to(ref.get("name"), "", None, release, complete)


def _reference_to(chart: object, repository: object, version: object, release: object, complete: bool = True) -> _ChartReference | None:
    if type(chart) is not str:
        return None
    name = release if type(release) is str else None
    return _ChartReference(chart, repository if type(repository) is str else "", version, name, complete)


def _chart_in_git(path: object, repository: object, revision: object) -> tuple[str | None, object]:
    """Return name and version of a chart in the Git repository of its publisher; a folder elsewhere may contain another chart around it."""
    if not isinstance(path, str) or not isinstance(repository, str):
        return None, None
    chart = chart_of(last_part(path))
    if chart is None or not any(each in repository.lower() for each in chart.publishers):
        return None, None
    return chart.name, str(revision).removeprefix(f"{chart.name}-")


def _source_of_argo(spec: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the source that has the values at a path of an Application; for values in text, the only source with values."""
    sources = spec.get("sources")
    if type(sources) is not list:
        return map_at(spec, "source")
    listed = [each for each in sources if type(each) is dict]
    if path:
        index = next((step for step in path if type(step) is int), None)
        return sources[index] if index is not None and type(sources[index]) is dict else {}
    holders = [each for each in listed if "values" in map_at(each, "helm")]
    return holders[0] if len(holders) == 1 else {}


def _known_chart(reference: _ChartReference) -> KnownChart | None:
    """Return the chart of the catalogue that is referred to; None if it has none, or if another publisher may have made it."""
    name, address = last_part(reference.chart), reference.repository or reference.chart.rpartition("/")[0]
    if _K8S_AT_HOME in address:
        library = chart_of(f"{_K8S_AT_HOME}/common")
        return library._replace(name=name) if library is not None and name in library.members else None
    chart = chart_of(name)
    if chart is None:
        return None
    where = address.removesuffix(f"/{chart.name}").lower()
    if any(each in where for each in chart.publishers):
        return chart
    return chart if chart.unique and not any(each in where for each in _OTHER_PUBLISHERS) else None


def _release_name(name: str | None) -> str | None:
    return None if name is None or is_placeholder(name) or len(name) > _LONGEST_RELEASE else name


# Charts by the keys of their values.


def release_by_keys(values: dict[str, Any], path: Path, pod_path: Path, reference: _ChartReference | None) -> ChartRelease | None:
    """Return the release of a chart that only the keys of the values identify, or of a dependency with values below its name.

    ``path`` is that of the values, and ``pod_path`` that of the constraints in them. None: no known chart.
    """
    name = reference.release if reference is not None else None
    # One of several values files does not show the labels that another may set.
    complete = reference is not None and reference.complete
    if "prometheusSpec" in map_at(values, "prometheus") or "alertmanagerSpec" in map_at(values, "alertmanager"):
        chart = chart_of("kube-prometheus-stack")
    elif _has_controllers(values):
        chart = chart_of("app-template")
    elif all(type(values.get(each)) is dict for each in ("hub", "proxy", "singleuser")):
        chart = chart_of("jupyterhub")
    else:
        chart = None
    below = pod_path[len(path) :][:_MOST_NESTED] if chart is None else ()
    for depth, step in enumerate(below):
        path, values = (*path, step), map_at(values, str(step))
        chart = chart_of(str(step))
        if chart is not None and chart.unique and ((depth == 0 and "-" in chart.name) or _has_maps_of(chart, values)):
            break
        chart = None
    if chart is None:
        return None
    return ChartRelease(chart, _versions_by_values(chart, values), _release_name(name), values, path, complete)


_MOST_NESTED = 3
"""How many levels below the values of a chart those of a dependency of its dependencies are."""


def _has_maps_of(chart: KnownChart, values: dict[str, Any]) -> bool:
    """Return whether values have several of the maps in which a chart reads constraints."""
    return len({str(each.path[0]) for each in chart.places if each.path} & {key for key in values if type(values[key]) is dict}) > 1


def _has_controllers(values: dict[str, Any]) -> bool:
    """Return whether values are those of bjw-s' common library since version 2: controllers with maps of containers."""
    controllers = values.get("controllers")
    every = controllers.values() if type(controllers) is dict else ()
    return any(type(each) is dict and type(each.get("containers")) is dict for each in every)


def _versions_by_values(chart: KnownChart, values: dict[str, Any]) -> VersionRange:
    """Return the versions of a chart that read some keys of the values, and that can be installed.

    JupyterHub 0.11 needs policy/v1beta1, which Kubernetes 1.25 has removed.
    """
    if chart.name == "jupyterhub":
        return VersionRange(1)
    return VersionRange(2) if chart.name == "app-template" and _has_controllers(values) else VersionRange()


# Values of dependencies.


def _of_dependency(release: ChartRelease, pod_path: Path) -> ChartRelease | None:
    """Return the release of the dependency whose values contain a path; None if its version is not certain; else the release itself."""
    below = str(pod_path[len(release.path)]) if len(pod_path) > len(release.path) else ""
    chart = chart_of(below) if any(each.chart == below for each in release.chart.dependencies) else None
    own = [each for each in release.chart.dependencies if each.chart == below and each.member in ("", release.chart.name)]
    uses = [each.uses for each in own if each.versions.overlaps(release.versions)]
    if chart is None:
        return release
    lows, highs = [each.since for each in uses if each.since is not None], [each.before for each in uses if each.before is not None]
    if not lows or not highs:
        return None
    versions = VersionRange(min(lows), max(highs))
    values = map_at(release.values, below)
    return ChartRelease(chart.in_versions(versions), versions, release.name, values, (*release.path, below), release.complete)
