"""What of a change was compared: for each file that it touches, whether the run has read it, and if not, what its fields show.

A report says ``unchanged`` only if every file that the change touches was read, was rendered, or is known to be irrelevant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from afflint.changes.changed_files import PROGRAMS, ChangedFile
from afflint.changes.placement_values import ObjectDifference, object_differences
from afflint.changes.sides import Side
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import summarize_names
from afflint.kube.kinds import identify
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.manifests.workload_sources import is_workload_source
from afflint.report.changes.model import NotCompared, ValueChange
from afflint.source.kustomizations import NAMES
from afflint.source.sources import CHART, SUFFIXES
from afflint.yaml import documents
from afflint.yaml.document import list_at
from afflint.yaml.object_fields import api_version_of, group_of, kind_of, name_of
from afflint.yaml.prefilter import holds_values, is_values_file

_WORDS = re.compile(rb"(?i)replicas|node_?selector|node_?name|tolerations?|taints?|affinity|topology_?spread|scheduler_?name")
_OF_TEMPLATES = re.compile(rb"kind: *(Deployment|StatefulSet|DaemonSet|ReplicaSet|Job|CronJob|Pod|VirtualMachine\w*)\b|\bdefine\b")
_KUSTOMIZE = "kustomize.config.k8s.io"
_SOURCES = "source.toolkit.fluxcd.io"
_DEFINITION = "CustomResourceDefinition"
_IRRELEVANT_IN_CHARTS = ("ci", "tests", "crds")
"""The folders of a chart whose files create no workloads when it is installed."""
_RENDER = "`--render` renders it"


class Evidence(NamedTuple):
    """The placement values that differ in files whose workloads are not compared, and what was not compared, with the reasons."""

    values: tuple[ValueChange, ...] = ()
    not_compared: tuple[NotCompared, ...] = ()


def evidence_of(changed: Iterable[ChangedFile], base: Side, head: Side) -> Evidence:
    """Return what is known of the files that a change touches."""
    judge = _Judge(base, head)
    found = []
    for file in changed:
        if file.is_compared:
            each = judge.judge(file)
            is_named = base.has_failed(file.path) or head.has_failed(file.path)  # What reads the file is then named.
            found.append(each._replace(not_compared=()) if is_named else each)
    return _together(found)


def _together(parts: Iterable[Evidence]) -> Evidence:
    parts = list(parts)
    not_compared = dict.fromkeys(each for part in parts for each in part.not_compared)
    return Evidence(tuple(value for part in parts for value in part.values), tuple(not_compared))


_COMPARED = Evidence()


class _Judge:
    def __init__(self, base: Side, head: Side) -> None:
        self._base, self._head = base, head

    def judge(self, file: ChangedFile) -> Evidence:
        """Return what is known of one file; nothing if it was compared, or creates no workloads."""
        there = [side for side, data in ((self._base, file.before), (self._head, file.after)) if data is not None]
        shown = self._head.shown(file.path)
        if all(side.has_rendered(file.path) for side in there):
            return self._of_releases(file, shown, there)
        name = os.path.basename(file.path)
        chart = next((found for side in there if (found := side.chart_around(file.path)) is not None), None)
        if name.lower().endswith(PROGRAMS):
            return _unless_irrelevant(file, shown, "afflint does not read this language")
        if chart is not None:
            inside = os.path.relpath(file.path, chart).split(os.sep)
            if inside[0] in _IRRELEVANT_IN_CHARTS:
                return _COMPARED
            if inside[0] == "templates":
                is_relevant = _WORDS.search(_both(file)) or _OF_TEMPLATES.search(_both(file))
                return Evidence((), (NotCompared(shown, f"a template of a chart; {_RENDER}"),)) if is_relevant else _COMPARED
        if name == CHART and not _has_other_dependencies(file):
            return _COMPARED
        differences = object_differences(shown, file.before, file.after)
        if differences is None:
            reason = "it cannot be read as YAML" if name.lower().endswith(SUFFIXES) and b"{{" not in _both(file) else "a template"
            return _unless_irrelevant(file, shown, reason)
        is_release = chart is not None or is_values_file(file.path) or self._is_named(name)
        why = _reason(file, there)
        if name in NAMES or name == CHART:
            reason = f"a kustomization; {_RENDER}" if name in NAMES else f"the dependencies of a chart; {_RENDER}"
            is_other = any(each.others or (name == CHART and each.images) for each in differences)
            values = tuple(value for each in differences for value in each.values)
            return Evidence(values, (NotCompared(shown, reason),) if is_other else ())
        is_values = is_release or holds_values(_both(file))
        parts = [_of_object(each, shown, why, is_values=is_values or self._is_source(each)) for each in differences]
        return _together(parts)

    def _of_releases(self, file: ChangedFile, shown: str, there: list[Side]) -> Evidence:
        """Return what is known of a file that is part of what was rendered: the releases in it need not be rendered themselves."""
        found = []
        missing = [each for side in there for each in side.left_out_of(file.path)]
        if missing and os.path.basename(file.path) in (*NAMES, CHART):
            found.append(Evidence((), (NotCompared(shown, f"it is rendered without {summarize_names(list(dict.fromkeys(missing)))}"),)))
        for each in object_differences(shown, file.before, file.after) or ():
            is_release = is_workload_source(group_of(each.data), kind_of(each.data))
            is_source = group_of(each.data).startswith(_SOURCES) and any(side.renders and side.renders.lacks_some for side in there)
            if is_source or (is_release and not all(side.has_rendered_object(each.title) for side in there)):
                found.append(_of_object(each, shown, _reason(file, there) or "its chart or folder is in another place", is_values=False))
        return _together(found)

    def _is_source(self, difference: ObjectDifference) -> bool:
        """Return whether a release or a Kustomization of Flux may take values or variables from an object."""
        return kind_of(difference.data) in ("ConfigMap", "Secret") and self._is_named(name_of(difference.data))

    def _is_named(self, name: str) -> bool:
        """Return whether an object of Argo CD or Flux, a kustomization or a helmfile names a file as one with values."""
        return any(name in side.names_of_values for side in (self._base, self._head))


def _reason(file: ChangedFile, there: Iterable[Side]) -> str:
    """Return why the objects in a file were not rendered; "" if that is not known."""
    return next((reason for side in there if (reason := side.reason_for(file.path))), "")


def _of_object(difference: ObjectDifference, file: str, why: str, *, is_values: bool) -> Evidence:
    """Return what is known of an object that differs; ``why`` it was not rendered, if that is known."""
    data, values, kind = difference.data, difference.values, kind_of(difference.data)

    def unknown(reason: str) -> Evidence:
        return Evidence(values, (NotCompared(file, reason),) if difference.others else ())

    if not (kind and api_version_of(data)):
        if _is_helmfile(data):
            return unknown("the releases of a helmfile, which are not rendered")
        if is_values:
            return unknown("values of a chart that is not rendered")
        return Evidence(values if any(not _is_count(each) for each in values) else ())
    if kind == _DEFINITION:
        return _COMPARED
    if is_values and kind in ("ConfigMap", "Secret"):
        return unknown(f"{difference.title} has values or variables of something that is not rendered")
    if group_of(data) == _KUSTOMIZE:
        return unknown(f"a kustomization; {_RENDER}")
    if group_of(data).startswith(_SOURCES):
        return Evidence((), (NotCompared(file, f"{difference.title} is the source of something that is not rendered"),))
    if is_workload_source(group_of(data), kind):
        return unknown(f"{difference.title} is not rendered: {why}" if why else f"{difference.title}; {_RENDER}")
    identity = identify(api_version_of(data), kind)
    if identity.kind is None or not identity.kind.templates:
        return Evidence(values)
    is_patch = next((each.partial for each in manifests_in(difference.document) if isinstance(each, Workload) and each.data is data), True)
    return unknown(f"a patch; {_RENDER}") if is_patch else _COMPARED


def _has_other_dependencies(file: ChangedFile) -> bool:
    """Return whether a Chart.yaml names other charts than before; its version and its descriptions create no workloads."""
    before, after = [documents.read(each or b"", 0, 0) for each in (file.before, file.after)]
    return list_at(before.data, "dependencies") != list_at(after.data, "dependencies")


def _is_count(value: ValueChange) -> bool:
    """Return whether a placement value is a number of replicas, which other files than values have as well."""
    return value.field.lower().endswith(("replicas", "replicacount"))


def _is_helmfile(data: dict[str, object]) -> bool:
    releases = data.get("releases")
    return type(releases) is list and any(type(each) is dict and "chart" in each for each in releases)


def _both(file: ChangedFile) -> bytes:
    return (file.before or b"") + (file.after or b"")


def _unless_irrelevant(file: ChangedFile, shown: str, reason: str) -> Evidence:
    """Return that a file was not compared, unless neither version has a word about placement."""
    if not _WORDS.search(_both(file)):
        return _COMPARED
    return Evidence((), (NotCompared(shown, reason),))
