"""Probes of a chart: renderings in which placement values that are empty by default are set to valid values.

With its default values a chart does not show what happens when a user sets `nodeSelector`. A probe sets it to a value with a unique name,
which shows where the value appears in the output.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

from afflint.charts.chart_files import merged_values
from afflint.charts.chart_table import ChartTable
from afflint.charts.symbols import holds, paths_of
from afflint.findings.paths import Path, field_of
from afflint.findings.phrases import join_words, quoted
from afflint.kube.kinds import EACH
from afflint.rendering.chart_trials import POD_KINDS, ChartTrials, TrialOutput, entries, may_create_pods, parts_of, set_value
from afflint.rendering.helm_origins import ChartSourceMap, line_place, template_files
from afflint.rendering.kustomize_origins import identity_of
from afflint.rendering.line_marks import templates_of
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace, SourceText, documents_of, leaves, value_at
from afflint.rendering.template_conditions import WORD, Setting, nested, settings_for, words_for
from afflint.source.sources import VALUES
from afflint.yaml.document import Document, map_at, value_at_path
from afflint.yaml.emitter import Style, block

_MARKER = "afflint-probe-"
_MARKERS = re.compile(rf"{_MARKER}(\d{{4}})")
_MOST_PROBES = 400
_MOST_GROUPS = 2
_SWITCH = "enabled"
_STRAY = re.compile(r"[\]\[(){}<>,;:'\"`]+")
_CHAINS = re.compile(r"[\w-]+(?:\.[\w-]+)*")
REJECTED = "execution error at ("
"""The beginning of what `fail` and `required` report."""
_REFUSAL = re.compile(
    rf"{re.escape(REJECTED)}|values don't meet the specifications"
    # If the first name is the missing one, the dot is not the root.
    r"|<\$?\.Values\.(\w+)\.[\w.]+>: nil pointer evaluating interface \{\}\.(?!\1\b)"
)
TEXT_EXPECTED = re.compile(r"wrong type for value; expected string; got (?:map|\[\])")
_BLAMED = re.compile(r"(?:error on|template:) [^/\s]+/([^\s:]+)(?::(\d+))?")


def _labels(marker: str) -> Any:
    # Two entries, because the first one may be indented right by chance. Without quotes, the API server reads other types.
    return {marker: "true", f"{marker}-b": "1"}


def _affinity(marker: str) -> Any:
    term = {"matchExpressions": [{"key": marker, "operator": "In", "values": ["true", "1"]}]}
    pods = {"weight": 1, "podAffinityTerm": {"labelSelector": {"matchLabels": {marker: "true"}}, "topologyKey": marker}}
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [pods]},
    }


def _tolerations(marker: str) -> Any:
    return [{"key": marker, "operator": "Equal", "value": "true", "effect": "NoSchedule"}, {"key": f"{marker}-b", "operator": "Exists"}]


def _spread_constraints(marker: str) -> Any:
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"} for key in (marker, f"{marker}-b")]


PROBE_VALUES: Mapping[str, Callable[[str], Any]] = {
    "nodeSelector": _labels,
    "affinity": _affinity,
    "tolerations": _tolerations,
    "topologySpreadConstraints": _spread_constraints,
    "priorityClassName": lambda marker: marker,
    "runtimeClassName": lambda marker: marker,
    "schedulerName": lambda marker: marker,
}
"""Valid values for the names of placement values, each with a marker in it."""
_BUDGETS = ("podDisruptionBudget", "pdb")
"""The names of values with the spec of a PodDisruptionBudget, if their default is an empty map."""
_BUDGET = {"maxUnavailable": "50%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}
_OF_PODS: Mapping[str, str] = {"podLabels": "labels", "podAnnotations": "annotations"}
_OF_COMPONENTS: Mapping[str, str] = {each: each.removeprefix("common").lower() for each in ("labels", "annotations", "commonLabels")}
_NEXT_TO_LABELS = frozenset((*PROBE_VALUES, "image", "resources"))
"""Names beside which `labels` and `annotations` are probably those of pods."""
_IN_NO_VALUE = PROBE_VALUES.keys() | _OF_PODS.keys() | _OF_COMPONENTS.keys()
"""Names of maps whose content is not a value of the chart."""
_STRINGS = frozenset(name for name, value in PROBE_VALUES.items() if type(value("")) is str)


def field_of_pods(name: str) -> str | None:
    """Return the field of pods that a value such as `podLabels` or `webPodLabels` is for; None for any other name."""
    return next((field for end, field in _OF_PODS.items() if name.lower().endswith(end.lower())), None)


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list of the default values: the path of the list, its items, and the path of a value in the list."""

    path: tuple[str, ...]
    items: list[Any]
    inside: Path

    def fill(self, values: dict[str, Any], value: Any) -> None:
        """Set the value in the list, which has its default items otherwise: Helm replaces whole lists."""
        above: Any = values
        for step in self.path[:-1]:
            above = above.setdefault(step, {}) if type(above) is dict else {}
        if type(above) is not dict:
            return
        target = above.setdefault(self.path[-1], deepcopy(self.items))
        with suppress(LookupError, TypeError):
            *above_value, name = self.inside
            value_at(target, tuple(above_value))[name] = value


@dataclass(frozen=True, slots=True)
class Probe:
    """A placement value of a chart that is empty by default, by its path in the values. ``number`` identifies it in the output."""

    number: int
    path: tuple[str, ...]
    declared: tuple[SourceText, Path] | None
    """The values file of the chart that declares it, and its path there; None if only templates name it."""
    in_list: ListItem | None = None
    """The list of the default values that contains it, if it is in an item of a list."""
    is_text: bool = False
    """Whether the chart documents it as YAML in a string."""

    @property
    def name(self) -> str:
        """The name of the value, such as `nodeSelector`."""
        return self.path[-1]

    @property
    def rendered_as(self) -> str:
        """The name of the field that the value becomes."""
        return field_of_pods(self.name) or _OF_COMPONENTS.get(self.name, self.name)

    @property
    def is_of_labels(self) -> bool:
        """Whether it has labels or annotations."""
        return self.rendered_as in _OF_PODS.values()

    @property
    def declared_at(self) -> SourcePlace | None:
        """The place of its key in the values file that declares it."""
        return None if self.declared is None else self.declared[0].place(self.declared[1], "value", key=True, exact=True)

    def is_twice_in(self, text: str) -> bool:
        """Return whether a text contains the value more than once."""
        return text.count(self._marker) > str(self.value).count(self._marker)

    @property
    def field(self) -> str:
        """The path of the value in the values, such as ``deployments[0].nodeSelector``."""
        return field_of((*self.in_list.path, *self.in_list.inside) if self.in_list is not None else self.path)

    @property
    def value(self) -> Any:
        """A valid value, with the marker if possible."""
        if self.name in _BUDGETS:
            return dict(_BUDGET)  # Any marker would be rejected. It only shows whether the chart can be rendered.
        return _labels(self._marker) if self.is_of_labels else PROBE_VALUES[self.name](self._marker)

    @property
    def given(self) -> Any:
        """What the value is set to: itself, or YAML with it."""
        return "\n".join((*block(self.value, Style()), "")) if self.is_text else self.value

    @property
    def _marker(self) -> str:
        return f"{_MARKER}{self.number:04}"


def probes_in(text: str) -> frozenset[int]:
    """Return the numbers of the probes whose markers are in a text."""
    return frozenset(int(each) for each in _MARKERS.findall(text)) if _MARKER in text else frozenset()


Switches = Mapping[int, Mapping[str, Sequence[Setting]]]
"""The settings that probes need, by their numbers and the templates of the objects that the values are written in."""


@dataclass(eq=False)
class ChartBaseline:
    """The output of a chart without probes, rendered when it is first needed.

    ``values`` are values that create further components, and ``condition`` describes them in messages.
    """

    values: Mapping[str, Any]
    condition: str
    render: Callable[[Mapping[str, Any]], TrialOutput | None]
    needs: Switches = field(default_factory=dict)
    """Those of the values that probes need."""

    def condition_for(self, probe: Probe, template: str) -> str:
        """Return the condition for what happens to a probe in a template of the chart, or in one that is not known."""
        needed = self.needs.get(probe.number, {})
        settings = needed.get(template) or [each for found in needed.values() for each in found]
        return words_for(settings) if settings else self.condition

    @cached_property
    def documents(self) -> Mapping[int, Document] | None:
        """The documents of the output; None if the chart cannot be rendered with these components."""
        try:
            output = self.render(self.values)
        except RenderError:
            return None
        return None if output is None else documents_of(output.data)


@dataclass(frozen=True, slots=True)
class ProbedOutput:
    """The output of a chart with some probes."""

    baseline: ChartBaseline
    data: bytes
    documents: Mapping[int, Document]
    probes: Mapping[int, Probe]
    source_map: Callable[[], ChartSourceMap]
    """Create the source map. This renders the chart again. Raises RenderError and OSError."""

    @property
    def shown(self) -> frozenset[int]:
        """The numbers of the probes that are somewhere in the output."""
        return probes_in(self.data.decode("utf-8", "replace"))

    def template_of(self, document: int) -> str:
        """Return the path in the chart of the template of a document, "" if it is not known."""
        return template_files(self.data).get(document, "").partition("/")[2]

    @staticmethod
    def hidden_in(document: Document) -> frozenset[int]:
        """Return the numbers of the probes that a second key of the same name hides in a document."""
        return probes_in(document.text()) - probes_in(str(document.data)) if document.duplicates else frozenset()


@dataclass(frozen=True, slots=True)
class BrokenProbe:
    """A probe with which the chart cannot be rendered, and the error of Helm."""

    probe: Probe
    reason: str
    baseline: ChartBaseline

    @property
    def template(self) -> str:
        """The path in the chart of the first template that the error names, which may include others; "" if it names none."""
        return next((name for name, _ in _BLAMED.findall(self.reason)), "")


@dataclass(frozen=True, slots=True)
class StrayText:
    """A probe that adds punctuation to the end of another value, such as a bracket after an action."""

    probe: Probe
    output: ProbedOutput
    document: int
    path: Path
    added: str


@dataclass(slots=True)
class ChartProbes:
    """The probes of one chart, which ``trials`` renders."""

    trials: ChartTrials
    outputs: list[ProbedOutput] = field(default_factory=list)
    broken: list[BrokenProbe] = field(default_factory=list)
    stray: list[StrayText] = field(default_factory=list)
    probes: tuple[Probe, ...] = ()

    def run(self) -> None:
        """Render the chart with all of its probes, and again with other switches if some are not in a workload.

        If the chart cannot be rendered with some probes, each half of them is rendered by itself.
        """
        self.probes = tuple(_probes_of(self.trials))
        if not self.probes:
            return
        default = ChartBaseline({}, self.trials.condition, self.trials.rendered)
        self._explore(self.probes, default)
        known = {each.probe.number for each in self.broken}
        remaining = [each for each in self.probes if each.number not in known]
        is_lacking = self.trials.lacks_workload(self.trials.output)
        for group in self._in_other_branches(remaining):
            self._explore(group, default)
        switches = self._switches_of(remaining)
        rendered = [self._explore(remaining, each) for each in self._with_switches(switches, is_lacking=is_lacking)]
        if is_lacking and self.trials.lacks_workload(self.trials.output, *(each.data for each in self.outputs)):
            for baseline in self._with_components(is_enabled=next(iter(rendered), None)):
                if self._explore(remaining, baseline) and not self.trials.lacks_workload(*(each.data for each in self.outputs)):
                    break
        for output in [each for each in self.outputs if each.baseline is default]:
            self._find_stray(output, list(output.probes.values()))

    def _switches_of(self, probes: Sequence[Probe]) -> list[Switches]:
        """Return what templates ask for where they read probes and do not by default, such as `{{ if .Values.web.deploy }}`.

        Each group has what goes together. What only has to be set to some text or list is left out.
        """
        groups: list[dict[int, dict[str, list[Setting]]]] = []
        chosen: list[dict[tuple[str, ...], Any]] = []
        set_by_probes = {each.path for each in probes}
        for number, template, _, settings in self._reads_of(probes):
            if not settings or any(path in set_by_probes or WORD in str(value) for path, value in settings):
                continue
            fits = [all(known.get(path, value) == value for path, value in settings) for known in chosen]
            position = fits.index(True) if True in fits else len(groups)
            if position == len(groups):
                groups.append({})
                chosen.append({})
            chosen[position].update(settings)
            groups[position].setdefault(number, {}).setdefault(template, []).extend(settings)
        return [*groups[:_MOST_GROUPS]]

    def _in_other_branches(self, probes: Sequence[Probe]) -> list[list[Probe]]:
        """Return groups of probes: some values have lines of their own that are rendered only if others are not set, as in an `else if`."""
        numbers = {each.path: each.number for each in probes if each.in_list is None}
        reads = [*self._reads_of(probes)]
        seen = {line for _, _, line, settings in reads if settings == []}
        groups: list[tuple[set[int], set[int]]] = []
        for number, _, line, settings in reads:
            if line in seen or not settings or not all(path in numbers and not value for path, value in settings):
                continue
            seen.add(line)
            others = {numbers[path] for path, _ in settings}
            fitting = (each for each in groups if number not in each[1] and others.isdisjoint(each[0]))
            wanted, unwanted = next(fitting, (set[int](), set[int]()))
            if not wanted:
                groups.append((wanted, unwanted))
            wanted.add(number)
            unwanted |= others
        return [[each for each in probes if each.number not in unwanted] for _, unwanted in groups[:_MOST_GROUPS]]

    def _reads_of(self, probes: Sequence[Probe]) -> Iterator[tuple[int, str, tuple[str, int], list[Setting] | None]]:
        """Yield where templates write the values of probes into objects that may create pods.

        Each has the number of the probe, the template of the object, the line that writes the value, and what has to be set besides all
        probes so that it is rendered there; None if that is not known.
        """
        numbers = {each.path: each.number for each in probes if each.in_list is None}
        values = merged_values(self.trials.values, nested((each.path, each.given) for each in probes if each.in_list is None))
        for template, each in ((written.file, landing) for written in self.trials.table.objects for landing in written.landings):
            number = next((known for path in paths_of(each.value) if (known := numbers.get(tuple(map(str, path)))) is not None), None)
            if number is not None and _may_have_pods(each.kinds):
                is_rendered = holds(each.condition, values) is not False
                yield number, template, (each.file, each.line), [] if is_rendered else settings_for(each.condition, values)

    def _with_switches(self, groups: Sequence[Switches], *, is_lacking: bool) -> Iterator[ChartBaseline]:
        """Yield the chart with each group of switches, the first one with all components enabled if some are not created by default."""
        enabled = [(path, True) for path in self._disabled()] if is_lacking else []
        for number, group in enumerate([*groups] or [{}]):
            needed = [setting for each in group.values() for found in each.values() for setting in found]
            settings = [*(enabled if number == 0 else ()), *needed]
            if settings:
                words = "all components are enabled" if enabled and number == 0 else words_for(settings)
                yield ChartBaseline(nested(settings), words, self.trials.rendered, group)

    def _disabled(self) -> list[tuple[str, ...]]:
        """Return the paths of the switches of components that are disabled."""
        declared = [text.data for text in self.trials.texts.of(os.path.join(self.trials.folder, VALUES))]
        return [path for data in declared for path, value in entries(data) if path[-1] == _SWITCH and value is False]

    def _with_components(self, *, is_enabled: bool | None) -> Iterator[ChartBaseline]:
        """Yield the chart with components that it does not create by default.

        ``is_enabled``: whether it can be rendered with all components, None if that was not tried. If not, these are the components that
        have placement values; otherwise all components with an item in each list that is empty; then those of the chart's own tests.
        """
        declared = [text.data for text in self.trials.texts.of(os.path.join(self.trials.folder, VALUES))]
        off = self._disabled()
        near = [path for path in off if any(probe.path[: len(path) - 1] == path[:-1] for probe in self.probes)]
        lists = [
            path for path in map(_texts_of, self.trials.table.reads.looped) if any(value_at_path(data, *path) == [] for data in declared)
        ]
        for paths, items in (
            ((), ()) if is_enabled or near == off else (near, ()),
            (off, lists) if lists and (is_enabled is not False or not off) else ((), ()),
        ):
            values = nested([*((path, True) for path in paths), *((path, [{"name": "name"}]) for path in items)])
            if values:
                names = [quoted(".".join(path)) for path in items]
                item = f"{join_words(names)} {'has' if len(names) == 1 else 'have'} an item" if names else ""
                enabled = "all components are enabled" if paths else ""
                yield ChartBaseline(values, " and ".join(each for each in (enabled, item) if each), self.trials.rendered)
        for name, of_test in self.trials.test_values():
            yield ChartBaseline(of_test, f"the values of {quoted(name)} are used", self.trials.rendered)

    def _explore(self, probes: Sequence[Probe], baseline: ChartBaseline) -> bool:
        """Render the chart with some probes. If that fails, find those that break it. Return whether it can be rendered without them."""
        try:
            rendered = self._rendered(probes, baseline)
        except RenderError as error:
            named = self._named_in(error.reason, probes)
            if named:  # The chart rejects these, so no mistake is in the others as far as this shows.
                self.broken += [BrokenProbe(each, error.reason, baseline) for each in named]
                return self._explore([each for each in probes if each not in named], baseline)
            is_of_switches = bool(baseline.values) and self._is_unrelated(error.reason, probes)
            if is_of_switches or baseline.documents is None:
                return False
            if len(probes) > 1:
                self._explore(probes[: len(probes) // 2], baseline)
                self._explore(probes[len(probes) // 2 :], baseline)
            elif probes and not self.trials.exhausted:
                self.broken.append(BrokenProbe(probes[0], error.reason, baseline))
            return True
        if rendered is not None:
            self.outputs.append(rendered)
            # A second key of the same name hides a value that was rendered.
            hidden = {number for each in rendered.documents.values() if len(probes) > 1 for number in rendered.hidden_in(each)}
            for each in probes:
                if each.number in hidden:
                    self._explore((each,), baseline)
        return True

    @staticmethod
    def _named_in(reason: str, probes: Sequence[Probe]) -> list[Probe]:
        """Return the probes that an error names: of a chart that rejects a value, or that expects a text; none for another error."""
        is_about_value = REJECTED in reason or TEXT_EXPECTED.search(reason) is not None
        words = {each.removeprefix("Values.") for each in _CHAINS.findall(reason)} if is_about_value else set()
        return [each for each in probes if ".".join(each.path) in words]

    @staticmethod
    def _is_unrelated(reason: str, probes: Sequence[Probe]) -> bool:
        """Return whether the chart or its schema rejects values, or lacks one, and none of them is that of a probe."""
        return _REFUSAL.search(reason) is not None and {each.name for each in probes}.isdisjoint(re.findall(r"\w+", reason))

    def _find_stray(self, output: ProbedOutput, probes: Sequence[Probe]) -> None:
        """Find the probes that add text to other values of an output, by rendering each half of them by itself."""
        found = next(_stray_in(output.baseline.documents or {}, output.documents), None)
        if found is None:
            return
        if len(probes) == 1:
            self.stray.append(StrayText(probes[0], output, *found))
            return
        for half in (probes[: len(probes) // 2], probes[len(probes) // 2 :]):
            with suppress(RenderError):
                rendered = self._rendered(half, output.baseline)
                if rendered is not None:
                    self._find_stray(rendered, half)

    def _rendered(self, probes: Sequence[Probe], baseline: ChartBaseline) -> ProbedOutput | None:
        """Return the output with some probes; None if the limit is reached. Raises RenderError."""
        values = deepcopy(dict(baseline.values))
        for probe in probes:
            if probe.in_list is None:
                set_value(values, probe.path, probe.given)
            else:
                probe.in_list.fill(values, probe.given)
        output = self.trials.rendered(values)
        if output is None:
            return None
        return ProbedOutput(baseline, output.data, documents_of(output.data), {each.number: each for each in probes}, output.source_map)

    def is_written_only_in(self, probe: Probe, field: Path) -> bool:
        """Return whether templates write the value of a probe only into one field of objects, as far as they can be followed."""
        landings = [each for each in self.trials.table.landings if probe.in_list is None and probe.path in paths_of(each.value)]
        return landings != [] and all(each.field == field for each in landings)

    def is_about_pods(self, reason: str) -> bool:
        """Return whether an error of Helm names a template that may create pods."""
        file, _ = self._blamed(reason)
        return file in templates_of(self.trials.folder) and may_create_pods(file)

    def _blamed(self, reason: str) -> tuple[str, str]:
        """Return the last file that an error of Helm names, with the line, if any."""
        blamed = _BLAMED.findall(reason)
        name, line = blamed[-1] if blamed else ("", "")
        return os.path.join(self.trials.folder, *name.split("/")), line

    def place_of(self, probe: Probe, reason: str) -> SourcePlace:
        """Return the line of a template that reads the value of a probe, or else its key in the values file.

        ``reason`` is the error of Helm with the probe, which may name the template.
        """
        first, line = self._blamed(reason)
        if line and first in templates_of(self.trials.folder):  # A chart chooses what its errors name.
            return line_place(first, int(line))
        folder = self.trials.folder
        read = self.trials.table.line_of(tuple(probe.path), os.path.relpath(first, folder).replace(os.sep, "/"), written=bool(reason))
        if read is not None and os.path.isfile(file := os.path.join(folder, *read[0].split("/"))):
            return line_place(file, read[1])
        return probe.declared_at or line_place(self.trials.rendering.chart.root_file, 1)


def _stray_in(before: Mapping[int, Document], after: Mapping[int, Document]) -> Iterator[tuple[int, Path, str]]:
    """Yield the values of workloads that are the same as before, except for punctuation at their end: document, path and punctuation."""
    old = {identity_of(each.data): each for each in before.values() if type(each.data) is dict}
    for number, document in after.items():
        plain = old.get(identity_of(document.data)) if type(document.data) is dict and probes_in(document.text()) else None
        if plain is None:
            continue
        known = dict(leaves(plain.data))
        for path, value in leaves(document.data):
            earlier = known.get(path)
            if type(value) is str and type(earlier) is str and earlier and value != earlier and value.startswith(earlier):
                added = value[len(earlier) :]
                if _STRAY.fullmatch(added):
                    yield number, path, added


# The placement values of a chart.


def _probes_of(trials: ChartTrials) -> Iterator[Probe]:
    """Yield the probes of a chart and its unpacked subcharts: empty placement values in values files, and those that templates read."""
    folder, texts = trials.folder, trials.texts
    found: dict[tuple[str, ...], tuple[SourceText, Path] | None] = {}
    for prefix, part in parts_of(folder):
        declared = texts.of(os.path.join(part, VALUES))
        for text in declared if len(declared) == 1 else ():
            for path in _empty_values(text.data):
                found.setdefault((*prefix, *path), (text, path))
    in_lists: list[tuple[ListItem, tuple[SourceText, Path] | None]] = []
    in_lists += [each for text in texts.of(os.path.join(folder, VALUES))[:1] for each in _in_lists(text)]
    for read in _undeclared(trials.table):
        if isinstance(read, ListItem):
            in_lists.append((read, None))
        else:
            found.setdefault(read, None)
    for number, (path, place) in enumerate(list(found.items())[:_MOST_PROBES]):
        # Only a default that is a map or a list shows that the chart does not expect text.
        is_text = place is not None and _is_documented_text(*place)
        may_be_text = path[-1] not in _STRINGS and not is_text and (place is None or value_at(place[0].data, place[1]) is None)
        if may_be_text and trials.table.prints(path):
            continue
        yield Probe(number, path, place, is_text=is_text)
    for number, (item, place) in enumerate(in_lists[: max(_MOST_PROBES - len(found), 0)], len(found)):
        yield Probe(number, tuple(str(step) for step in (*item.path, *item.inside)), place, item)


def _undeclared(table: ChartTable) -> Iterator[tuple[str, ...] | ListItem]:
    """Yield the placement values that templates read and the values files do not declare, those in a loop for its first item."""
    defaults = table.chart.defaults
    for path in table.paths:
        read = tuple(map(str, path))
        is_probed = read[-1] in PROBE_VALUES or field_of_pods(read[-1]) is not None
        if not is_probed or not _IN_NO_VALUE.isdisjoint(read[:-1]) or read.count(EACH) > 1:
            continue
        length = read.index(EACH) if EACH in read else 0
        items, inside = value_at_path(defaults, *read[:length]), read[length + 1 :]
        if not length:
            if _is_absent(defaults, read):
                yield read
        elif type(items) is list and items and type(items[0]) is dict and _is_absent(items[0], inside):
            yield ListItem(read[:length], items, (0, *inside))
        elif type(items) is dict:
            first = next((key for key, each in items.items() if type(each) is dict and _is_absent(each, inside)), None)
            if first is not None:
                yield (*read[:length], str(first), *inside)


def _in_lists(text: SourceText) -> Iterator[tuple[ListItem, tuple[SourceText, Path]]]:
    """Yield the empty placement values in the items of lists, such as ``deployments[0].nodeSelector``."""
    for path, value in entries(text.data):
        if type(value) is list and PROBE_VALUES.keys().isdisjoint(path):
            for number, each in enumerate(value):
                for inside in _empty_values(each):
                    yield ListItem(path, value, (number, *inside)), (text, (*path, number, *inside))


def _empty_values(data: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths of placement values that are empty. An empty string is only empty for a value that is a string."""
    for path, value in entries(data):
        name = path[-1]
        is_empty = value is None or value == {} or (value == [] and name in PROBE_VALUES) or (value == "" and name in _STRINGS)
        is_label = field_of_pods(name) is not None or (name in _OF_COMPONENTS and not _NEXT_TO_LABELS.isdisjoint(map_at(data, *path[:-1])))
        is_budget = name in _BUDGETS and value == {}
        if is_empty and (name in PROBE_VALUES or is_label or is_budget) and _IN_NO_VALUE.isdisjoint(path[:-1]):
            yield path


def _is_documented_text(text: SourceText, path: Path) -> bool:
    """Return whether the comment above a value that is null says that it is YAML in a string."""
    if value_at(text.data, path) is not None:
        return False
    lines = text.document.text().split("\n")[: text.document.locate(path, key=True)[0] - text.document.line - 1]
    comment = list(takewhile(lambda line: line.lstrip().startswith("#"), reversed(lines)))
    return any("multi-line string" in line or re.search(rf"#\s*{re.escape(str(path[-1]))}:\s*\|", line) for line in comment)


def _texts_of(path: Path) -> tuple[str, ...]:
    return tuple(map(str, path))


def _may_have_pods(kinds: Collection[str]) -> bool:
    return not kinds or not POD_KINDS.isdisjoint(kinds)


def _is_absent(data: Any, path: Sequence[str]) -> bool:
    """Return whether values have no value at a path, and only maps above it."""
    for step in path:
        if data is None:
            return True
        if type(data) is not dict:
            return False
        if step not in data:
            return True
        data = data[step]
    return False
