"""Placement values of charts that do not reach the pods, or only in an invalid form, when a user sets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from afflint.checks.admission.decoding import mismatches_of
from afflint.checks.constraint_places import unreachable_constraint
from afflint.checks.match import Target
from afflint.findings.finding import NO_OBJECT, ObjectRef, Severity
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import quoted
from afflint.kube.types import Mismatch
from afflint.manifests.manifest import Manifest, Workload
from afflint.manifests.reader import manifests_in, objects_in
from afflint.rendering.chart_probes import (
    PROBE_VALUES,
    REJECTED,
    TEXT_EXPECTED,
    BrokenProbe,
    ChartBaseline,
    ChartProbes,
    Probe,
    ProbedOutput,
    field_of_pods,
    probes_in,
)
from afflint.rendering.kustomize_origins import identity_of
from afflint.rendering.line_marks import read_template
from afflint.rendering.source_documents import SourcePlace, leaves, value_at
from afflint.yaml.document import Document, map_at
from afflint.yaml.object_fields import kind_of

_ROOTS = "Values|Chart|Release|Template|Capabilities|Files"
_FAULTS = re.compile(
    r"YAML parse error|no template \"|wrong number of args"
    # The dot is not the root, as in a range.
    rf"|can't evaluate field (?:{_ROOTS}) in type|<\.(?:{_ROOTS})\.(\w+)[^>]*>: nil pointer evaluating interface \{{\}}\.\1\b"
)
"""Errors of Helm that are mistakes of the chart. Others may be reported by the chart on purpose, or be about the shape of a value."""
_OF_DEPENDENCY = re.compile(r"template: [^/\s]+/charts/")
_STRINGS = tuple(name for name, value in PROBE_VALUES.items() if type(value("")) is str)


class ChartMatch(NamedTuple):
    """A placement value that a chart renders wrongly. It is in ``output`` at a path of a document, or in the values or templates."""

    probe: Probe
    message: str
    output: ProbedOutput | None = None
    document: int = 0
    path: Path = ()
    ref: ObjectRef = NO_OBJECT
    reason: str = ""
    """The error of Helm, which names the template."""
    severity: Severity | None = None


def misrendered_chart_value(chart: ChartProbes, target: Target) -> Iterator[ChartMatch]:
    """Report placement values with which the chart cannot be rendered, or renders objects that the API server rejects."""
    for output in chart.outputs:
        for document in output.documents.values():
            if probes_in(document.text()):
                yield from _misplaced(output, document, target)
    for broken in chart.broken:
        if not broken.probe.is_of_labels or chart.is_about_pods(broken.reason):
            yield from _broken(chart, broken)
    yield from _beside_pods(chart)
    for stray in chart.stray:
        words = f"{quoted(stray.added)} is added to {quoted(field_of(stray.path))}"
        message = _message(stray.probe, stray.output.baseline, words, stray.output.template_of(stray.document))
        yield ChartMatch(stray.probe, message, path=stray.path)


def _misplaced(output: ProbedOutput, document: Document, target: Target) -> Iterator[ChartMatch]:
    """Yield the values that are in the wrong place of a document, each once."""
    reported: set[int] = set()
    lost, twice = [*_unread(output, document)], [*_twice(output, document)]
    found = (*_rejected(output, document, target), *_elsewhere(output, document), *lost, *twice, *_printed(output, document))
    # Another version of the custom resource may have the field, and the second field may have the same value.
    harmless = [*lost, *(each for each in twice if not each[0].is_of_labels)]
    for probe, ref, path, words in found:
        if probe.number not in reported:
            reported.add(probe.number)
            severity: Severity | None = "warning" if (probe, ref, path, words) in harmless else None
            state = "has several entries" if _leaves_first(probe, document, path) else "is set"
            message = _message(probe, output.baseline, words, output.template_of(document.index), state)
            yield ChartMatch(probe, message, output, document.index, path, ref, severity=severity)


def _leaves_first(probe: Probe, document: Document, path: Path) -> bool:
    """Return whether the first entry of a map is in its field although another one is elsewhere, at a path."""
    first, *others = probe.value if type(probe.value) is dict else [""]
    is_moved = path[-1] in others and first not in map_at(value_at(document.data, path[:-1]))
    return is_moved and any(at[-2:] == (probe.rendered_as, first) for at, _ in leaves(document.data))


_Misplacement = tuple[Probe, ObjectRef, Path, str]
"""A probe, its object, the path of the mistake there, and what happens."""


def _rejected(output: ProbedOutput, document: Document, target: Target) -> Iterator[_Misplacement]:
    """Yield the values that the API server cannot decode, unless it cannot decode them without the probes."""
    known: set[tuple[ObjectRef, Path]] | None = None
    for manifest, path, mismatch in _mismatches(document, target):
        if known is None:
            plain = (output.baseline.documents or {}).values()
            known = {(each.ref, path) for document in plain for each, path, _ in _mismatches(document, target)}
        probe = _cause(output, manifest, mismatch) if (manifest.ref, path) not in known else None
        is_of_pods = probe is not None and (not probe.is_of_labels or isinstance(manifest, Workload))
        if probe is not None and is_of_pods and not _holds_fields(probe, manifest, path):
            yield probe, manifest.ref, path, _words(mismatch, manifest)


def _holds_fields(probe: Probe, manifest: Manifest, path: Path) -> bool:
    """Return whether the content of a value is next to the other fields of the pod spec, and its own name is not a field there.

    The chart may expect a map of such fields, as in `affinity: {nodeSelector: {...}}`.
    """
    if not isinstance(manifest, Workload) or type(probe.value) is not dict or path[:-1] != manifest.pod_path:
        return False
    pod = value_at(manifest.data, manifest.pod_path[len(manifest.base) :])
    return type(pod) is dict and probe.name not in pod and all(pod.get(key) == each for key, each in probe.value.items())


def _cause(output: ProbedOutput, manifest: Manifest, mismatch: Mismatch) -> Probe | None:
    """Return the probe that a mismatch contains, whose content is next to it, or that a field of its name replaces."""
    path = mismatch.path
    inside = probes_in(f"{path[-1]} {mismatch.value}")
    if inside:
        return next((output.probes[number] for number in sorted(inside) if number in output.probes), None)
    beside = probes_in(str(value_at(manifest.data, path[len(manifest.base) : -1])))
    found = next((each for number in sorted(beside) if (each := output.probes[number]).rendered_as in path), None)
    if found is not None:
        return found
    # Nothing of the value is left, as if `fromJson` is given a list.
    lost = [each for each in output.probes.values() if each.rendered_as == path[-1] and each.number not in output.shown]
    return min(lost, key=lambda each: len(each.path), default=None)


def _elsewhere(output: ProbedOutput, document: Document) -> Iterator[_Misplacement]:
    """Yield the values that are whole, but in another map than the pod spec, or in another field of it."""
    for manifest in manifests_in(document):
        if not isinstance(manifest, Workload) or manifest.kind.root is None:
            continue
        for number in sorted(probes_in(str(manifest.data)) & output.probes.keys()):
            probe = output.probes[number]
            # Labels and annotations are also those of the workload and of selectors.
            for path in () if probe.is_of_labels else _paths_of(probe.value, manifest.data, manifest.base):
                if path == (*manifest.pod_path, probe.name):
                    continue
                if path[-1] == probe.name and "metadata" not in path:
                    yield probe, manifest.ref, path, f"{quoted(probe.name)} becomes an unknown field of {quoted(field_of(path[:-1]))}"
                elif path[:-1] == manifest.pod_path and path[-1] in _STRINGS:
                    yield probe, manifest.ref, path, f"it becomes {quoted(path[-1])} of this {manifest.kind.name}"


def _printed(output: ProbedOutput, document: Document) -> Iterator[_Misplacement]:
    """Yield the values that the chart prints as Go does. Annotations are left out: they may only show that a value has changed."""
    if b"map[" not in output.data:
        return
    for data, base in objects_in(document):
        for path, text in leaves(data, base):
            for number in sorted(probes_in(text)) if type(text) is str and "map[" in text and "annotations" not in path else ():
                probe = output.probes.get(number)
                if probe is not None and _as_go_prints(probe.value) in text:
                    ref = ObjectRef(*(each or None for each in identity_of(data)))
                    yield probe, ref, path, f"it is printed as {quoted('map[…]')} in {quoted(field_of(path))}"


def _as_go_prints(value: Any) -> str:
    """Return what `{{ . }}` prints for a value. From printValue of the package fmt of Go."""
    if type(value) is dict:
        return f"map[{' '.join(f'{key}:{_as_go_prints(value[key])}' for key in sorted(value))}]"
    return f"[{' '.join(map(_as_go_prints, value))}]" if type(value) is list else str(value)


def _unread(output: ProbedOutput, document: Document) -> Iterator[_Misplacement]:
    """Yield the values that become constraints of a custom resource where it has none."""
    for manifest in manifests_in(document):
        for match in unreachable_constraint(manifest) if isinstance(manifest, Workload) else ():
            inside = probes_in(str(value_at(document.data, match.path))) & output.probes.keys()
            for number in sorted(inside):
                yield output.probes[number], manifest.ref, match.path, match.message


def _twice(output: ProbedOutput, document: Document) -> Iterator[_Misplacement]:
    """Yield the values whose field the chart renders twice in an object, unless it does so without the probes."""
    if not document.duplicates:
        return
    plain = (output.baseline.documents or {}).values()
    known = {(identity_of(each.data), repeated.path) for each in plain for repeated in each.duplicates}
    for manifest in manifests_in(document):
        for repeated in document.duplicates:
            if repeated.path[: len(manifest.base)] != manifest.base or (identity_of(document.data), repeated.path) in known:
                continue
            # A second key of the same name hides labels that were rendered.
            inside = probes_in(str(value_at(document.data, repeated.path))) or output.hidden_in(document)
            known_inside = (output.probes[number] for number in sorted(inside & output.probes.keys()))
            probe = next((each for each in known_inside if each.rendered_as == repeated.path[-1]), None)
            # Otherwise another value is rendered as this field, which is a mistake of its own.
            if probe is not None and (probe.is_of_labels or probe.is_twice_in(document.text())):
                words = f"this {manifest.kind.name} has {quoted(probe.rendered_as)} twice: kustomize rejects it, "
                words += "kubectl and Helm use the last one"
                yield probe, manifest.ref, repeated.path, words


def _beside_pods(chart: ChartProbes) -> Iterator[ChartMatch]:
    """Yield the labels and annotations of pods that only the metadata of workloads has."""
    found: dict[int, list[tuple[ProbedOutput, Document, Path]]] = {}
    for output in chart.outputs:
        for document in output.documents.values():
            is_object = type(document.data) is dict and probes_in(document.text())
            for path, value in leaves(document.data) if is_object else ():
                for number in probes_in(f"{path[-1]} {value}"):
                    found.setdefault(number, []).append((output, document, path))
    for probe in chart.probes:
        places, field = found.get(probe.number, ()), field_of_pods(probe.name)
        if field is None or any(path[:-1] != ("metadata", field) or kind_of(document.data) == "Pod" for _, document, path in places):
            continue
        for output, document, path in [each for each in places if _is_workload(each[1])][:1]:
            if chart.is_written_only_in(probe, path[:-1]):
                ref = ObjectRef(*(each or None for each in identity_of(document.data)))
                words = f"the {ref.kind} gets these {field}, but its pods do not"
                message = _message(probe, output.baseline, words, output.template_of(document.index))
                yield ChartMatch(probe, message, output, document.index, path, ref, severity="warning")


def _is_workload(document: Document) -> bool:
    return any(isinstance(each, Workload) and each.kind.root is not None for each in manifests_in(document))


def _paths_of(value: Any, data: Any, path: Path) -> Iterator[Path]:
    """Yield the paths of the keys in some data that have a value."""
    if type(data) is dict:
        for key, each in data.items():
            if each == value:
                yield (*path, key)
            else:
                yield from _paths_of(value, each, (*path, key))
    elif type(data) is list:
        for number, each in enumerate(data):
            yield from _paths_of(value, each, (*path, number))


def _mismatches(document: Document, target: Target) -> Iterator[tuple[Manifest, Path, Mismatch]]:
    """Yield what the API server cannot decode in the objects of a document, each once; custom resources are left out."""
    seen = set()
    for manifest in manifests_in(document):
        if manifest.kind.root is not None:
            for each in mismatches_of(manifest, target):
                if (manifest.base, each.path) not in seen:
                    seen.add((manifest.base, each.path))
                    yield manifest, each.path, each


def _message(probe: Probe, baseline: ChartBaseline, words: str, template: str, state: str = "is set") -> str:
    condition = baseline.condition_for(probe, template)
    condition = f" and {condition}" if condition else ""
    return f"if {quoted(probe.field)} {state}{condition}, {words}"


def _words(mismatch: Mismatch, manifest: Manifest) -> str:
    """Return what happens to a value, without the content of the probe."""
    steps = [each for each in mismatch.path if type(each) is str and not probes_in(each)]
    name = quoted(steps[-1] if steps else "")
    if mismatch.struct is None and type(mismatch.value) in (bool, int) and probes_in(str(mismatch.path[-1])):
        return f"the API server rejects this {manifest.kind.name}: a value of {name} has no quotes, so {quoted('true')} is not a string"
    if mismatch.struct is None:
        return f"the API server rejects this {manifest.kind.name}: {name} must be {mismatch.expected}"
    if probes_in(str(mismatch.path[-1])):
        return f"its content becomes an unknown field of the {mismatch.struct.name}"
    return f"{name} becomes an unknown field of the {mismatch.struct.name}"


def _broken(chart: ChartProbes, broken: BrokenProbe) -> Iterator[ChartMatch]:
    """Yield a probe that breaks the chart by a mistake of the chart."""
    text, path = broken.probe.declared or (None, ())
    # A default that is a map or a list says that the value is one.
    is_own = text is not None and value_at(text.data, path) is not None and _OF_DEPENDENCY.search(broken.reason) is None
    if REJECTED in broken.reason:
        return
    if (is_own and TEXT_EXPECTED.search(broken.reason)) or _FAULTS.search(broken.reason):
        is_map = broken.probe.rendered_as in _MAPS and "YAML parse error" in broken.reason
        state = "has several entries" if is_map and not _breaks_first(chart.place_of(broken.probe, broken.reason)) else "is set"
        words = f"Helm cannot render the chart: {_error(broken.reason)}"
        message = _message(broken.probe, broken.baseline, words, broken.template, state)
        yield ChartMatch(broken.probe, message, reason=broken.reason)


_MAPS = ("affinity", "nodeSelector", "podDisruptionBudget", "pdb", "labels", "annotations")
_WHOLE_LINE = re.compile(r"([ \t]*)([^\s{}][^{}]*:[ \t]*)?\{\{(-?)([^{}]*[^{}-])(-?)\}\}[ \t]*")


def _breaks_first(place: SourcePlace) -> bool:
    """Return whether a line of a template prints a map so that its first entry is already invalid, as far as the line shows.

    Spaces before an action move only the first line of what it prints, where a single entry is valid directly below a key.
    """
    lines, number = (read_template(place.file) or "").splitlines(), place.span.line
    line = _WHOLE_LINE.fullmatch(lines[number - 1]) if number <= len(lines) else None
    if line is None or "toYaml" not in line[4]:
        return False
    spaces, key, left, _, right = line.groups()
    above = next((each.rstrip() for each in reversed(lines[: number - 1]) if not each.lstrip().startswith("{{")), "")
    is_glued = right and not "".join(lines[number : number + 1]).lstrip().startswith("{{")
    return bool(key or left or is_glued) or not spaces or not above.endswith(":")


def _error(reason: str) -> str:
    """Return an error of Helm without its positions, which the finding has."""
    reason = reason.removesuffix(" Use --debug flag to render out invalid YAML")
    invalid = re.search(r"YAML parse error on \S+: error converting YAML to JSON: yaml: (?:line \d+: )?(.+)", reason)
    return f"it is invalid YAML ({invalid[1]})" if invalid is not None else reason[reason.rfind(" at <") + 1 :].removeprefix("at ")
