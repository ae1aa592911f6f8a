"""Values of charts that reach no pod, and selectors in values that miss the pods of the chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from afflint.charts.catalogue import matches_path
from afflint.charts.pod_labels import OwnLabels, default_of_pod, labels_at_place, labels_of_neighbour, labels_of_release
from afflint.charts.releases import ChartRelease, is_in_values, release_of, user_labels
from afflint.checks.admission.wrong_types import wrong_type_message
from afflint.checks.affinity import contradictory_requirements as contradictions
from afflint.checks.match import Match, Target, moving, renaming
from afflint.constraints.pods import PodAffinityTerm, TopologySpreadConstraint, pod_constraints
from afflint.findings.edits import SymbolicEdit
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step, field_of
from afflint.findings.phrases import join_words, quoted
from afflint.findings.similarity import is_likely_typo
from afflint.kube.constraints import PREFERRED, REQUIRED, ShapedValue
from afflint.kube.kinds import EACH, part_types
from afflint.kube.selectors import Requirement, Selector, describe, has_placeholder
from afflint.kube.shapes import AFFINITY_FIELDS, POD_FIELDS, Holder, dedented_field, misshapen_fields
from afflint.manifests.custom_resources import KINDS_WITH_VALUES, CustomWorkload, value_at
from afflint.manifests.manifest import Workload
from afflint.yaml.document import value_at_path
from afflint.yaml.placeholders import is_placeholder

_MOST_NAMED = 3


def ignored_chart_value(workload: Workload, target: Target) -> Iterator[Match]:
    """Report placement constraints in the values of a chart at places that the chart does not read, so that they reach no pod."""
    assert isinstance(workload, CustomWorkload)
    yield from _unused_presets(workload)
    release = release_of(workload, target.chart_sources)
    if release is None:
        return
    holder = value_at(workload, workload.pod_path)
    dedented = dedented_field(holder) if isinstance(holder, dict) else None
    for part in workload.parts:
        path = part.path[len(release.path) :]
        place = release.chart.place_of(path)
        if (place is not None and place.verified) or (dedented is not None and path[-1] in dedented[1]):
            continue  # `misplaced-constraint` reports a field that is not indented.
        match = _ignored(release, path)
        if match is None and place is None:
            match = _outside_affinity(release, path) or _misspelt(release, path) or _in_closed_map(release, path)
        if match is not None:
            yield match
    yield from _misspelt_fields(workload, release)


def misshapen_chart_value(workload: Workload, target: Target) -> Iterator[Match]:
    """Report text, a list or a map in place of a constraint where the chart certainly writes it into pods.

    The shape of such a value alone does not show what it is. A chart may parse text that could be a map.
    """
    assert isinstance(workload, CustomWorkload)
    holder, judged = value_at(workload, workload.pod_path), {part.path[-1] for part in workload.parts}
    if workload.known != "shape" or not isinstance(holder, dict) or not judged.issubset(POD_FIELDS):
        return  # Constraints with other names are of other pods.
    names = [name for name in misshapen_fields(holder) if name not in judged]
    release = release_of(workload, target.chart_sources) if names else None
    for name in names if release is not None else ():
        path, value = (*workload.pod_path, name), holder[name]
        if release is not None and release.is_verified(path[len(release.path) :]) and not _may_be_parsed(release, name, value):
            yield from (wrong_type_message(mismatch, workload) for mismatch in part_types()[name].mismatches(value, path))


def _may_be_parsed(release: ChartRelease, name: str, value: Any) -> bool:
    """Return whether a value is text that the chart may turn into a constraint: a word alone is never a nodeSelector."""
    if type(value) is not str:
        return False
    return is_placeholder(value) or not (release.adds_nothing or (name == "nodeSelector" and ":" not in value))


def _misspelt_fields(workload: CustomWorkload, release: ChartRelease) -> Iterator[Match]:
    """Report misspelt placement fields next to others whose values do not show what they are, such as ``nodeSelectors: {disk: ssd}``."""
    holder, known = value_at(workload, workload.pod_path), {part.path[-1] for part in workload.parts}
    for name, value in holder.items() if isinstance(holder, dict) else ():
        path = (*workload.pod_path[len(release.path) :], name)
        if value and name not in known and isinstance(value, (dict, list)) and release.chart.place_of(path) is None:
            match = _misspelt(release, path)
            if match is not None and match.path[-1] == name:
                yield match


def _ignored(release: ChartRelease, path: Path) -> Match | None:
    """Return the match for a field that the chart certainly does not read; None for any other."""
    chart, field = release.chart, path[-1]
    for place in chart.ignored:
        if not matches_path(place.path, path[:-1]) or field not in place.fields or not place.versions.covers(release.versions):
            continue
        if place.only_kubernetes and not _is_kubernetes_affinity(value_at_path(release.values, *path)):
            return None
        reading = place.use or tuple([each.path for each in chart.places if each.verified and _has_field(each.fields, field)])
        form = " as an affinity of Kubernetes" if place.only_kubernetes else ""
        return _match(release, path, f"{chart.name} does not read {quoted(field_of(path))}{form}: it reaches no pod", reading)
    return None


def _in_closed_map(release: ChartRelease, path: Path) -> Match | None:
    """Return the match for a field in a map in which the chart reads only known places; None for any other."""
    chart = release.chart
    for closed, use in chart.closed if chart.labels_of.covers(release.versions) else ():
        if matches_path(closed, path[: len(closed)]):
            return _match(release, path, f"{chart.name} does not read {quoted(field_of(path))}: it reaches no pod", use)
    return None


def _outside_affinity(release: ChartRelease, path: Path) -> Match | None:
    """Return the match for ``nodeAffinity`` and the like beside the ``affinity`` that the chart reads or ignores, instead of in it."""
    chart, affinity = release.chart, (*path[:-1], "affinity")
    if path[-1] not in AFFINITY_FIELDS or any(
        matches_path(each.path, path[:-1]) and _has_field(each.fields, path[-1]) for each in chart.places
    ):
        return None
    message = f"{chart.name} does not read {quoted(field_of(path))}: it reaches no pod"
    if chart.place_of(affinity) is None:
        match = _ignored(release, affinity)
        return match._replace(path=(*release.path, *path), message=message, edits=()) if match is not None else None
    if not chart.labels_of.covers(release.versions):
        return None
    remedy = f"Set {quoted(field_of((*affinity, path[-1])))} instead."
    edits = () if value_at_path(release.values, *affinity, path[-1]) else moving((*release.path, *path), (*release.path, *affinity))
    return Match((*release.path, *path), message, remedy, key=True, edits=edits)


def _has_field(fields: tuple[Any, ...], name: object) -> bool:
    return any(each.name == name for each in fields)


def _match(release: ChartRelease, path: Path, message: str, reading: tuple[Path, ...]) -> Match:
    """Return the match at a path of the values, with the places that the chart reads; a single one is the target of the fix."""
    places = list(dict.fromkeys((*_filled(place, path), path[-1]) for place in reading))
    known = [place for place in places if place != path and release.chart.place_of(place) is not None]
    names = [quoted(field_of(tuple(["<name>" if step == EACH else step for step in place]))) for place in known]
    others = [f"{len(names) - _MOST_NAMED} more places"] if len(names) > _MOST_NAMED else []
    remedy = f"Set {join_words([*names[:_MOST_NAMED], *others], 'or')} instead." if names else ""
    edits: tuple[SymbolicEdit, ...] = ()
    if len(known) == 1 and EACH not in known[0] and value_at_path(release.values, *known[0]) is None:
        edits = moving((*release.path, *path), (*release.path, *known[0][:-1]), prune=True)
    return Match((*release.path, *path), message, remedy, key=True, edits=edits)


def _filled(pattern: Path, path: Path) -> Path:
    """Return a pattern with the steps of a path for its EACH, as far as the path has the same steps."""
    filled: list[Step] = []
    for index, step in enumerate(pattern):
        same = tuple(filled) == path[:index] and index < len(path) - 1
        filled.append(path[index] if step == EACH and same else step)
    return tuple(filled)


def _is_kubernetes_affinity(value: object) -> bool:
    """Return whether a value has rules of Kubernetes; the own words of charts are ``soft``, ``hard`` and a ``type``."""
    if not isinstance(value, dict):
        return False
    return any(isinstance(each, dict) and (REQUIRED in each or PREFERRED in each) for each in value.values())


def _misspelt(release: ChartRelease, path: Path) -> Match | None:
    """Return the match for a path with one misspelt key, if the chart reads the path with another key; None for any other."""
    chart = release.chart
    if not chart.labels_of.overlaps(release.versions):
        return None
    known = dict.fromkeys((*place.path, field.name) for place in chart.places for field in place.fields)
    for place in known:
        if len(place) != len(path):
            continue
        different = [index for index, (one, own) in enumerate(zip(place, path, strict=True)) if one not in (EACH, own)]
        if len(different) != 1 or type(path[different[0]]) is not str:
            continue
        index = different[0]
        if any(matches_path(other[: index + 1], path[: index + 1]) for other in known) or not is_likely_typo(
            str(path[index]), str(place[index])
        ):
            continue
        meant = (*path[:index], place[index])
        wrong, right = quoted(field_of(path[: index + 1])), quoted(str(place[index]))
        what = "it" if index == len(path) - 1 else quoted(str(path[-1]))
        message = f"{chart.name} does not read {wrong}: {what} reaches no pod; did you mean {right}?"
        wholly = (*release.path, *path[: index + 1])
        free = value_at_path(release.values, *meant) is None
        edits = renaming(wholly, str(place[index])) if free else ()
        return Match(wholly, message, f"Rename it to {quoted(field_of(meant))}.", key=True, edits=edits)
    return None


def _unused_presets(workload: CustomWorkload) -> Iterator[Match]:
    """Report presets for affinity in Bitnami's charts beside an affinity, which replaces all of them."""
    if workload.kind.name not in KINDS_WITH_VALUES or not any(part.path[-1] == "affinity" for part in workload.parts):
        return
    holder = value_at(workload, workload.pod_path)
    if isinstance(holder, dict):
        for name in _PRESETS:
            if holder.get(name) == "hard":
                message = f"{quoted(name)} has no effect, because `affinity` is set: the chart uses one or the other"
                yield Match(
                    (*workload.pod_path, name), message, "Write the rule of the preset into `affinity`, or remove one of them.", key=True
                )


_PRESETS = ("podAntiAffinityPreset", "podAffinityPreset")


# The default options of bjw-s' common library.


def contradictory_requirements(workload: Workload, target: Target) -> Iterator[Match]:
    """Report a nodeSelector or an affinity of a controller that no node can satisfy together with the default of the other one."""
    assert isinstance(workload, CustomWorkload)
    own = {part.shape: part for part in workload.parts if part.path[-1] in _OF_NODES}
    release = release_of(workload, target.chart_sources) if workload.known == "shape" and len(own) == 1 else None
    if release is None:
        return
    (part,) = own.values()
    other = "affinity" if part.shape == "nodeSelector" else "nodeSelector"
    default = default_of_pod(release, part.path[len(release.path) : -1], other)
    if not isinstance(default, dict):
        return
    inherited = ShapedValue(other, (*release.path, "defaultPodOptions", other), default)
    alone = {match.path for each in (part, inherited) for match in contradictions(_with_parts(workload, each))}
    for match in contradictions(_with_parts(workload, part, inherited)):
        if match.path not in alone:
            message = f"{match.message}; the {other} is that of `defaultPodOptions`"
            yield Match(part.path, message, f"Set {quoted(other)} for this controller, too.", key=True, severity=match.severity)
            return


_OF_NODES = ("nodeSelector", "affinity")


def _with_parts(workload: CustomWorkload, *parts: ShapedValue) -> CustomWorkload:
    """Return a workload with the same pods and only these constraints."""
    return CustomWorkload(workload.document, workload.data, workload.base, workload.kind, Holder(workload.pod_path, parts), workload.known)


# Selectors.


class PodsOfChart(NamedTuple):
    """The pods of a chart. ``labels`` returns those of the pods that the constraint at a path of the document reaches, for a selector."""

    chart: str
    labels: Callable[[Path, Selector], list[OwnLabels]]


def spread_misses_itself(workload: Workload, target: Target) -> Iterator[Match]:
    """Report spread constraints in the values of a chart that do not select the pods that they go into."""
    if workload.constraints.spreads:
        yield from spreads_without_own_pods(workload, _own_pods(workload, target))


def anti_affinity_misses_itself(workload: Workload, target: Target) -> Iterator[Match]:
    """Report anti-affinity in the values of a chart that nearly selects the pods that it goes into, but does not."""
    if workload.constraints.pod_terms:
        yield from anti_affinity_without_own_pods(workload, _own_pods(workload, target))


def _own_pods(workload: Workload, target: Target) -> PodsOfChart | None:
    """Return the pods of the chart in whose values the constraints of a workload are; None if the chart is not known."""
    assert isinstance(workload, CustomWorkload)
    release = release_of(workload, target.chart_sources)
    if release is None:
        return None
    depth, chart = len(release.path), release

    def labels(path: Path, selector: Selector) -> list[OwnLabels]:
        own = labels_at_place(chart, path[depth:])
        if _missed_by_all(own, selector) is not None:  # The values are searched for labels only if these matter.
            own = labels_at_place(chart, path[depth:], user_labels(chart.values))
        return own

    return PodsOfChart(release.chart.name, labels)


def spreads_without_own_pods(workload: Workload, pods: PodsOfChart | None) -> Iterator[Match]:
    """Yield the spread constraints of a workload that select none of the pods that they go into."""
    spreads = [(each, "spread constraint does not count its own pods") for each in pod_constraints(workload).spreads]
    yield from _without_own_pods(workload, pods, spreads)


def anti_affinity_without_own_pods(workload: Workload, pods: PodsOfChart | None) -> Iterator[Match]:
    """Yield the anti-affinity of a workload that nearly selects the pods that it goes into, but does not."""
    terms = [(each, f"{each.name} separates no pods") for each in pod_constraints(workload).terms if each.anti]
    yield from _without_own_pods(workload, pods, terms)


def _without_own_pods(
    workload: Workload, pods: PodsOfChart | None, constraints: Sequence[tuple[TopologySpreadConstraint | PodAffinityTerm, str]]
) -> Iterator[Match]:
    """Yield the constraints that do not select the pods that they go into; each is given with the effect that it misses."""
    assert isinstance(workload, CustomWorkload)
    for constraint, effect in constraints if pods is not None else ():
        missed = _missed(workload, pods, constraint) if pods is not None else None
        if missed is not None and not has_placeholder(missed[0]):
            message = f"this {effect}: it selects {quoted(describe(missed[0]))}, but {missed[1]}"
            yield Match((*constraint.path, "labelSelector"), message, _REMEDY, key=True)


def affinity_target_missing(workload: Workload, target: Target) -> Iterator[Match]:
    """Report pod affinity in the values of a chart to pods of a release, its own or another one, that has none with these labels."""
    assert isinstance(workload, CustomWorkload)
    if not workload.constraints.pod_terms or not is_in_values(workload):
        return
    release = release_of(workload, target.chart_sources)
    for term in pod_constraints(workload).terms:
        selector = term.label_selector
        if term.anti or not isinstance(selector, Selector) or term.namespaces or term.namespace_selector is not None:
            continue
        named = [each for each in selector.requirements if each.key in (_INSTANCE, _NAME) and each.operator == "In"]
        for name in dict.fromkeys(each.values[0] for each in named if len(each.values) == 1):
            chosen: ChartRelease | None = release
            every: list[OwnLabels] = []
            if release is None or name != release.name:
                chosen, every = labels_of_neighbour(name, workload.ref.namespace, target.chart_sources)
            elif _missed_by_all(labels_of_release(release), selector) is not None:
                every = labels_of_release(release, user_labels(release.values))
            missed = _missed_by_all(every, selector)
            if chosen is not None and missed is not None and missed not in named and not has_placeholder(missed):
                message = f"no pod of the release {quoted(name)} has {quoted(describe(missed))}, which this {term.name} selects: "
                yield Match((*term.path, "labelSelector"), message + _reason(chosen.chart.name, every[0], missed), _REMEDY, key=True)
                break


_INSTANCE, _NAME = "app.kubernetes.io/instance", "app.kubernetes.io/name"
_REMEDY = "Select the pods by the labels that the chart sets."


def _missed(
    workload: CustomWorkload, pods: PodsOfChart, constraint: TopologySpreadConstraint | PodAffinityTerm
) -> tuple[Requirement, str] | None:
    """Return a requirement that none of the pods of a constraint's place meet, and the reason; None if they may meet the selector.

    An anti-affinity may be meant for other pods. It counts only if it asks for a value that the own pods have under another key.
    """
    part = next((each for each in workload.parts if constraint.path[: len(each.path)] == each.path), None)
    selector = constraint.label_selector
    if part is None or not isinstance(selector, Selector) or not selector.requirements or constraint.has_label_keys:
        return None
    own = pods.labels(part.path, selector)
    first = _missed_by_all(own, selector)
    if first is None:
        return None
    if isinstance(constraint, PodAffinityTerm) and not (
        any(each.resembles(first) for each in own) and not constraint.namespaces and constraint.namespace_selector is None
    ):
        return None
    return first, _reason(pods.chart, own[0], first)


def _missed_by_all(own: list[OwnLabels], selector: Selector) -> Requirement | None:
    """Return the first requirement that the first pods do not meet, if none of the pods meet the selector."""
    missed = [each.missed(selector) for each in own]
    return missed[0] if missed and all(missed) else None


def _reason(chart: str, own: OwnLabels, missed: Requirement) -> str:
    who = "the operator" if own.operated else chart
    value = own.labels.get(missed.key)
    if value:
        return f"{who} sets {quoted(f'{missed.key}: {value}')}"
    same = next((f"; the pods have {quoted(f'{key}: {value}')}" for key, value in own.labels.items() if value in missed.values), "")
    return f"{who} does not set the label {quoted(missed.key)}{same}"
