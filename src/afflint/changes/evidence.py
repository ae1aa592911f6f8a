"""What of a change was compared: for each file that it touches, whether the run has read it, and if not, what its fields show.

A report says ``unchanged`` only if every file that the change touches was read, was rendered, or is known to be irrelevant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable

from afflint.changes.changed_files import PACKED, PROGRAMS, ChangedFile, is_document
from afflint.changes.placement_values import ObjectDifference, object_differences
from afflint.changes.sides import Side
from afflint.controllers.operators import operator_pods
from afflint.controllers.pod_source import NOWHERE
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted, summarize_names
from afflint.kube.kinds import identify, is_custom
from afflint.manifests.catalogue import custom_kind_of
from afflint.manifests.manifest import Workload
from afflint.manifests.podless_kinds import is_podless
from afflint.manifests.reader import manifests_in
from afflint.manifests.workload_sources import is_workload_source
from afflint.report.changes.model import NotCompared, ValueChange
from afflint.source.kustomizations import NAMES
from afflint.source.skipped_files import reason_to_skip
from afflint.source.sources import CHART, SCHEMA, SUFFIXES
from afflint.yaml import documents
from afflint.yaml.document import list_at, map_at, text_at
from afflint.yaml.object_fields import api_version_of, group_of, kind_of, name_of
from afflint.yaml.prefilter import holds_values, is_values_file

_WORDS = re.compile(rb"(?i)replicas|node_?selector|node_?name|tolerations?|taints?|affinity|topology_?spread|scheduler_?name")
_OF_WORKLOADS = re.compile(rb"\bkind[\"']?: *[\"']?(?:Deployment|StatefulSet|DaemonSet|ReplicaSet|Job|CronJob|Pod|VirtualMachine\w*)\b")
_TYPES = re.compile(rb"(?m)^(?:- )?(---|(?:apiVersion|kind)(?=:))(?:: *[\"']?([^\s\"']+))?")
_COMMENT = re.compile(rb"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.DOTALL)
_INSERTED = re.compile(rb"(?m)^\s*\{\{-?\s*(?:include|template|tpl)\b|\bset +\.Values|\bdefine\b")
"""What a template inserts where an object may begin, and what changes other templates."""
_INFRASTRUCTURE = re.compile(rb"helm_release|kubernetes_|kubectl_|node|taint|instance_type|machine_type|vm_size")
"""Words in files of Terraform about nodes and about what runs on them."""
_KUSTOMIZE = "kustomize.config.k8s.io"
_SOURCES = "source.toolkit.fluxcd.io"
_IRRELEVANT_IN_CHARTS = ("ci", "tests", "crds")
"""The folders of a chart whose files create no workloads when it is installed."""
_LOCKS = ("Chart.lock", "requirements.lock")
_OF_TOOLS = ("artifacthub-repo.yml", "artifacthub-repo.yaml", "ct.yaml", ".yamllint", ".yamllint.yaml", SCHEMA)
_FLEET = "fleet.yaml"
_FILLED_SECRETS = ("ConfigMap", "Secret", "SealedSecret", "ExternalSecret")
"""The kinds of objects from which releases take values, and of those that create them."""
_RENDER = "`--render` renders it"
_NO_LANGUAGE = "afflint does not read this language"


class Evidence(NamedTuple):
    """The placement values that differ in files whose workloads are not compared, and what was not compared, with the reasons."""

    values: tuple[ValueChange, ...] = ()
    not_compared: tuple[NotCompared, ...] = ()


_COMPARED = Evidence()


def evidence_of(changed: Iterable[ChangedFile], base: Side, head: Side) -> Evidence:
    """Return what is known of the files that a change touches."""
    judge = _Judge(base, head)
    found = []
    for file in _without_moves(changed):
        each = judge.judge(file)
        is_named = base.has_failed(file.path) or head.has_failed(file.path)  # What reads the file is then named.
        found.append(each._replace(not_compared=()) if is_named else each)
    return _together([*found, _of_outputs(base, head, judge.differing)])


def _of_outputs(base: Side, head: Side, known: Collection[str]) -> Evidence:
    """Return what is not known of the objects in rendered output that differ, except for the known ones: releases and custom resources."""
    if base.renders is None or head.renders is None:
        return _COMPARED
    before, after = base.renders.touched_outputs(), head.renders.touched_outputs()
    found = []
    for name in sorted(before.keys() & after.keys()):
        differences = object_differences(name, before[name], after[name]) if before[name] != after[name] else None
        for each in differences or ():
            group, kind = group_of(each.data), kind_of(each.data)
            is_seen = base.has_rendered_object(each.title) and head.has_rendered_object(each.title)
            if each.title in known:
                continue
            if is_workload_source(group, kind) and not is_seen:
                found.append(NotCompared(name, f"{each.title}, which it creates, is not rendered"))
            elif is_custom(group) and identify(api_version_of(each.data), kind).kind is None:
                custom = _of_custom(each, name)
                found += custom.not_compared or ([_of_operator(each, name)] if custom.values else [])
    return Evidence((), tuple(found))


def _without_moves(changed: Iterable[ChangedFile]) -> list[ChangedFile]:
    """Return the files; one that only moved is compared with itself, under its new name."""
    files = list(changed)
    gone = {each.before: each.path for each in files if each.after is None and each.before and _has_only_values(each)}
    moved = {each.path: gone.pop(each.after) for each in files if each.before is None and each.after in gone and _has_only_values(each)}
    old = {*moved.values()}
    kept = [each for each in files if each.path not in old]
    return [each._replace(before=each.after, moved_from=moved[each.path]) if each.path in moved else each for each in kept]


def _has_only_values(file: ChangedFile) -> bool:
    name = os.path.basename(file.path)
    return is_values_file(file.path) or (
        name not in (*NAMES, CHART) and "templates" not in file.path.split("/") and holds_values(_both(file))
    )


def _together(parts: Iterable[Evidence]) -> Evidence:
    parts = list(parts)
    not_compared = dict.fromkeys(each for part in parts for each in part.not_compared)
    return Evidence(tuple(value for part in parts for value in part.values), tuple(not_compared))


class _Judge:
    def __init__(self, base: Side, head: Side) -> None:
        self._base, self._head = base, head
        self.differing: set[str] = set()
        """The kinds and names of the objects that differ in the files."""

    def judge(self, file: ChangedFile) -> Evidence:
        """Return what is known of one file; nothing if it was compared, or creates no workloads."""
        versions = ((self._base, None if file.moved_from else file.before), (self._head, file.after))
        there = [side for side, data in versions if data is not None]
        shown = self._head.shown(file.path)
        chart = next((found for side in there if (found := side.readers.chart_around(file.path)) is not None), None)
        reader = next((found for side in there if (found := side.readers.kustomization_of(file.path)) is not None), None)
        if not file.is_compared and reader is None:
            return _COMPARED
        if file.problem:
            return Evidence((), (NotCompared(shown, file.problem),))
        if all(side.has_rendered(file.path) for side in there):
            if chart is not None and "templates" in file.path.split("/") and _makes_workloads(file) and not self._changes_output(file.path):
                return Evidence((), (NotCompared(shown, "a template that changes nothing with the values that were rendered"),))
            return self._of_releases(file, shown, there)
        if chart is not None and reader is None:
            of_chart = self._in_chart(file, shown, os.path.relpath(file.path, chart or os.curdir).split(os.sep))
            if of_chart is not None:
                return of_chart
        return self._by_name(file, shown, there, "" if reader is None else f"{quoted(self._head.shown(reader))} reads it; {_RENDER}")

    def _by_name(self, file: ChangedFile, shown: str, there: list[Side], why_read: str) -> Evidence:
        """Return what is known of a file that is not rendered, by its name and its readers; ``why_read``: a kustomization reads it."""
        name = os.path.basename(file.path).lower()
        if name.endswith(PROGRAMS):
            is_certain = not name.endswith((".tf", ".j2")) or (name.endswith(".tf") and _INFRASTRUCTURE.search(_both(file)))
            return Evidence((), (NotCompared(shown, _NO_LANGUAGE),)) if is_certain else _unless_irrelevant(file, shown, _NO_LANGUAGE)
        if name.endswith(PACKED):
            return Evidence((), (NotCompared(shown, f"a packed chart; {_RENDER}"),))
        if name == _FLEET or name.startswith(".argocd-source"):
            return Evidence((), (NotCompared(shown, "what a tool adds to the manifests beside it"),))
        if not name.endswith(SUFFIXES) and self._is_named(file.path):
            return Evidence((), (NotCompared(shown, f"an object of Argo CD or Flux may read it; {_RENDER}"),))
        is_loaded = any(side.readers.is_loaded(file.path) for side in there)
        if not (is_loaded or name.endswith(SUFFIXES) or os.path.basename(file.path) in NAMES):
            uses_it = any(side.readers.uses_objects or side.readers.takes_objects for side in there)
            return Evidence((), (NotCompared(shown, why_read),)) if why_read and uses_it and not is_document(name) else _COMPARED
        if os.path.basename(file.path) == CHART and not _has_other_dependencies(file):
            return _COMPARED
        return self._by_fields(file, shown, there, why_read)

    def _in_chart(self, file: ChangedFile, shown: str, inside: list[str]) -> Evidence | None:
        """Return what is known of a file of a chart by its path there; None if its fields may say more."""
        name = inside[-1]
        if inside[0] in _IRRELEVANT_IN_CHARTS and not self._is_named(file.path):
            return _COMPARED
        if inside[0] == "templates" and not is_document(name):
            is_relevant = _makes_workloads(file) and b"helm.sh/hook: test" not in _both(file)
            return Evidence((), (NotCompared(shown, f"a template of a chart; {_RENDER}"),)) if is_relevant else _COMPARED
        if name in _OF_TOOLS:
            return _COMPARED
        if name in _LOCKS:
            return Evidence((), (NotCompared(shown, f"the versions of dependencies of a chart; {_RENDER}"),))
        if name == ".helmignore":
            return Evidence((), (NotCompared(shown, f"which files a chart has; {_RENDER}"),))
        if name.lower().endswith((*PACKED, *PROGRAMS)) or (name.lower().endswith(SUFFIXES) and not name.endswith((".json", ".md.gotmpl"))):
            return None
        chart = "/".join(file.path.split("/")[: -len(inside)])
        is_read = any(side.readers.reads_files(chart) for side in (self._base, self._head))
        return Evidence((), (NotCompared(shown, f"templates of the chart read files; {_RENDER}"),)) if is_read else _COMPARED

    def _by_fields(self, file: ChangedFile, shown: str, there: list[Side], why_read: str) -> Evidence:
        """Return what the fields of a YAML file show."""
        name = os.path.basename(file.path)
        is_release = self._is_named(file.path) or any(side.readers.chart_around(file.path) is not None for side in there)
        if reason_to_skip(name, file.after or file.before or b"").startswith("encrypted"):
            return Evidence((), (NotCompared(shown, "encrypted values"),)) if is_release or why_read else _COMPARED
        differences = self._differences(file, shown)
        has_objects = differences is None or any(kind_of(each.data) and api_version_of(each.data) for each in differences)
        if file.is_compared and has_objects and not all(side.readers.is_checked(file.path) for side in there):
            return Evidence((), (NotCompared(shown, why_read or "it is not among the files that are read"),))
        if differences is None:
            reason = "it cannot be read as YAML" if name.lower().endswith(SUFFIXES) and b"{{" not in _both(file) else "a template"
            is_certain = is_release or why_read or name in (*NAMES, CHART)
            if _without_comments(file.before or b"") == _without_comments(file.after or b""):
                return _COMPARED
            return Evidence((), (NotCompared(shown, reason),)) if is_certain else _unless_irrelevant(file, shown, reason)
        is_values = is_release or holds_values(_both(file))
        if file.moved_from and is_values:
            return Evidence((), (NotCompared(shown, f"values that were in {quoted(self._head.shown(file.moved_from))}"),))
        if name in NAMES or name == CHART:
            reason = f"a kustomization; {_RENDER}" if name in NAMES else f"the dependencies of a chart; {_RENDER}"
            is_other = any(each.others or (name == CHART and each.images) for each in differences)
            values = tuple(value for each in differences for value in each.values)
            return Evidence(values, (NotCompared(shown, reason),) if is_other else ())
        why = _reason(file, there)
        is_loaded = any(side.readers.is_loaded(file.path) for side in there)
        parts = []
        for each in differences:
            if is_loaded and not (kind_of(each.data) and api_version_of(each.data)):
                parts.append(Evidence(each.values, (NotCompared(shown, why_read),) if each.others else ()))
            else:
                parts.append(_of_object(each, shown, why, is_values=is_values or self._is_source(each)))
        if not file.is_compared and differences:
            parts.append(Evidence((), (NotCompared(shown, why_read),)))
        return _together(parts)

    def _differences(self, file: ChangedFile, shown: str) -> list[ObjectDifference] | None:
        differences = object_differences(shown, file.before, file.after)
        self.differing.update(each.title for each in differences or ())
        return differences

    def _of_releases(self, file: ChangedFile, shown: str, there: list[Side]) -> Evidence:
        """Return what is known of a file that is part of what was rendered: the releases in it need not be rendered themselves."""
        found = []
        missing = [each for side in there for each in side.left_out_of(file.path)]
        declares = os.path.basename(file.path) in (*NAMES, CHART, *_LOCKS)
        if missing and declares:
            found.append(Evidence((), (NotCompared(shown, f"it is rendered without {summarize_names(list(dict.fromkeys(missing)))}"),)))
        lacks_some = any(side.renders is not None and side.renders.lacks_some for side in there)
        has_values = any(side.readers.has_values(file.path) for side in there)
        for each in self._differences(file, shown) or ():
            is_release = is_workload_source(group_of(each.data), kind_of(each.data))
            is_source = group_of(each.data).startswith(_SOURCES) and lacks_some
            if is_custom(group_of(each.data)) and not (is_release or is_source):
                found.append(_of_custom(each, shown))
            elif is_source or (is_release and not all(side.has_rendered_object(each.title) for side in there)):
                found.append(_of_object(each, shown, _reason(file, there) or "its chart or folder is in another place", is_values=False))
            elif not (kind_of(each.data) or declares) and (missing or (lacks_some and has_values)):
                found.append(_of_object(each, shown, "", is_values=True))
        return _together(found)

    def _changes_output(self, path: str) -> bool:
        """Return whether the output of a root that reads a file differs between the sides."""
        before, after = self._base.outputs_of(path), self._head.outputs_of(path)
        return before != after

    def _is_source(self, difference: ObjectDifference) -> bool:
        """Return whether a release or a Kustomization of Flux may take values or variables from an object."""
        name = name_of(difference.data)
        return kind_of(difference.data) in _FILLED_SECRETS and any(side.readers.names_object(name) for side in (self._base, self._head))

    def _is_named(self, path: str) -> bool:
        """Return whether a file has values by its name, or an object of Argo CD or Flux, a kustomization or a helmfile names it as one."""
        readers = (self._base.readers, self._head.readers)
        return is_values_file(path) or any(each.names_values(path) or each.has_values(path) for each in readers)


def _reason(file: ChangedFile, there: Iterable[Side]) -> str:
    """Return why the objects in a file were not rendered; "" if that is not known."""
    return next((reason for side in there if (reason := side.reason_for(file.path))), "")


def _of_object(difference: ObjectDifference, file: str, why: str, *, is_values: bool) -> Evidence:
    """Return what is known of an object that differs; ``why`` it was not rendered, if that is known."""
    data, values, kind, group = difference.data, difference.values, kind_of(difference.data), group_of(difference.data)

    def unknown(reason: str) -> Evidence:
        return Evidence(values, (NotCompared(file, reason),) if difference.others else ())

    if not (kind and api_version_of(data)):
        if _is_helmfile(data):
            return unknown("the releases of a helmfile, which are not rendered")
        if is_values:
            return unknown("values of a chart that is not rendered")
        return Evidence(values if any(not _is_count(each) for each in values) else ())
    if is_values and kind in _FILLED_SECRETS:
        return unknown(f"{difference.title} has values or variables of something that is not rendered")
    if kind in ("ConfigMap", "Secret"):
        if any(type(each) is str and _OF_WORKLOADS.search(each.encode("utf-8", "replace")) for each in map_at(data, "data").values()):
            return unknown(f"{difference.title} has manifests, and something may apply them")
        return Evidence(values)
    if is_podless(group, kind):
        return _COMPARED
    if group == _KUSTOMIZE:
        return unknown(f"a kustomization; {_RENDER}")
    if api_version_of(data) == "builtin":
        return unknown(f"the configuration of a plugin of kustomize; {_RENDER}")
    if group.startswith(_SOURCES):
        return Evidence((), (NotCompared(file, f"{difference.title} is the source of something that is not rendered"),))
    if is_workload_source(group, kind):
        return unknown(f"{difference.title} is not rendered: {why}" if why else f"{difference.title}; {_RENDER}")
    if kind == "MutatingAdmissionPolicy":
        return unknown(f"{difference.title} may change pods")
    identity = identify(api_version_of(data), kind)
    if identity.kind is None or not identity.kind.templates:
        return _of_custom(difference, file) if is_custom(group) and identity.kind is None else Evidence(values)
    is_patch = next((each.partial for each in manifests_in(difference.document) if isinstance(each, Workload) and each.data is data), True)
    return unknown(f"a patch; {_RENDER}") if is_patch else _COMPARED


def _of_custom(difference: ObjectDifference, file: str) -> Evidence:
    """Return what is known of a custom resource that differs: where its pods run is compared if afflint knows its kind."""
    group, kind = group_of(difference.data), kind_of(difference.data)
    workloads = [each for each in manifests_in(difference.document) if isinstance(each, Workload) and each.data is difference.data]
    if any(operator_pods(each, NOWHERE) is not None for each in workloads):
        return _COMPARED  # As a workload.
    is_known = custom_kind_of(group, kind) is not None and not difference.is_whole
    return Evidence(difference.values, (_of_operator(difference, file),) if difference.others and not is_known else ())


def _of_operator(difference: ObjectDifference, file: str) -> NotCompared:
    return NotCompared(file, f"{difference.title}: afflint does not know which pods its operator makes")


def _has_other_dependencies(file: ChangedFile) -> bool:
    """Return whether a Chart.yaml names other charts than before; its version and its descriptions create no workloads."""
    before, after = [documents.read(each or b"", 0, 0) for each in (file.before, file.after)]
    fields = [(list_at(each.data, "dependencies"), text_at(each.data, "type")) for each in (before, after)]
    return fields[0] != fields[1]


def _makes_workloads(file: ChangedFile) -> bool:
    """Return whether a template that differs may make workloads, by the types of the objects in it."""
    before, after = [_without_comments(each or b"") for each in (file.before, file.after)]
    if before == after:
        return False
    text = b"\n".join((*before, b"---", *after))
    group, has_kind = None, False
    for found in _TYPES.finditer(text):
        word, value = found[1], (found[2] or b"").decode("utf-8", "replace")
        if word == b"---":
            group = None
        elif word == b"apiVersion":
            group = None if "{" in value else value.rpartition("/")[0]
        else:
            has_kind = True
            if not is_podless(group or "", value):
                return True
    return not has_kind or _INSERTED.search(text) is not None


def _without_comments(text: bytes) -> list[bytes]:
    """Return the lines of a template without those that are empty, and without comments in which nothing is filled in."""
    lines = (line.strip() for line in _COMMENT.sub(b"", text).splitlines())
    return [line for line in lines if line and not (line.startswith(b"#") and b"{{" not in line)]


def _is_count(value: ValueChange) -> bool:
    """Return whether a placement value is a number of replicas, which other files than values have as well."""
    return value.field.lower().endswith(("replicas", "replicacount"))


def _is_helmfile(data: dict[str, object]) -> bool:
    releases = data.get("releases")
    return type(releases) is list and any(type(each) is dict and "chart" in each for each in releases)


def _both(file: ChangedFile) -> bytes:
    return (file.before or b"") + (file.after or b"")


def _unless_irrelevant(file: ChangedFile, shown: str, reason: str) -> Evidence:
    """Return that a file was not compared, unless neither version has a word about placement, or makes workloads."""
    if not (_WORDS.search(_both(file)) or _OF_WORKLOADS.search(_both(file))):
        return _COMPARED
    return Evidence((), (NotCompared(shown, reason),))
