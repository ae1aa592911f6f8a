"""The findings of the rules for charts: those of probes, which set values of a chart, and those of its presets, with their places."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from afflint.findings.finding import Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import field_of
from afflint.findings.phrases import quoted
from afflint.rendering.chart_presets import ChartPresets, Preset, Setting
from afflint.rendering.chart_probes import ChartProbes, probes_in
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace
from afflint.rendering.template_conditions import WORD
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.checks.chart_values import ChartMatch
    from afflint.checks.match import Target
    from afflint.checks.registry import BoundRule
    from afflint.rendering.builds import Build
    from afflint.rendering.chart_probes import ProbedOutput
    from afflint.rendering.chart_trials import ChartTrials, TrialOutput
    from afflint.rendering.helm_origins import ChartSourceMap


class PlacedFinding(NamedTuple):
    """A finding whose file has no number yet, with its place and related places."""

    finding: Finding
    place: SourcePlace
    related: tuple[tuple[SourcePlace, str], ...] = ()


def probe_findings(build: Build, rules: Iterable[BoundRule], target: Target) -> list[PlacedFinding]:
    """Return the findings in the placement values of a rendered chart."""
    if build.trials is None:
        return []
    probes = ChartProbes(build.trials())
    probes.run()
    if not probes.probes:
        return []
    places = _Places(probes)
    found: list[PlacedFinding] = []
    for rule in rules:
        function, asking = rule.check()
        seen: set[SourcePlace] = set()
        for match in function(probes, target) if asking else function(probes):
            place = places.of(match)
            # Several values that a helper renders share one mistake.
            if place not in seen:
                seen.add(place)
                found.append(_placed(rule, match, place, build.name))
    return found


class _Places:
    """The places of matches in a chart. Each source map is created once."""

    def __init__(self, probes: ChartProbes) -> None:
        self._probes = probes
        self._maps: dict[int, ChartSourceMap | None] = {}

    def of(self, match: ChartMatch) -> SourcePlace:
        """Return the line of the template that renders the value, or the key in the values file."""
        if match.output is None:
            return self._probes.place_of(match.probe, match.reason)
        source_map = self._map(match.output)
        place = None if source_map is None else source_map.template_place(match.document, match.path, key=True)
        return place or self._probes.place_of(match.probe, "")

    def _map(self, output: ProbedOutput) -> ChartSourceMap | None:
        if id(output) not in self._maps:
            self._maps[id(output)] = None
            with suppress(RenderError, OSError):
                self._maps[id(output)] = output.source_map()
        return self._maps[id(output)]


def _placed(rule: BoundRule, match: ChartMatch, place: SourcePlace, root: str) -> PlacedFinding:
    # The names in the content of a probe mean nothing to the user.
    field = tuple([step for step in match.path if not probes_in(str(step))])
    declared = match.probe.declared_at
    return PlacedFinding(
        Finding(
            rule.name,
            rule.category,
            rule.severity_for(match.severity),
            match.message,
            rule.remedy,
            "",
            place.document,
            place.span,
            match.ref,
            field_of(field) if match.path else match.probe.field,
            rendered=(root,),
        ),
        place,
        () if declared in (None, place) else ((declared, "the value is declared here"),),
    )


CheckAlone = Callable[[Source], list[Finding]]
"""Checks a file as if it were the only one of the run."""


class PresetFinding(NamedTuple):
    """A finding in the output of a chart with a preset, which is the build."""

    finding: Finding
    source: Source
    build: Build


def preset_findings(build: Build, check: CheckAlone) -> list[PresetFinding]:
    """Return the findings that a chart has only with further values: a preset, those of its own tests, or those that it requires."""
    if build.trials is None:
        return []
    search = _PresetSearch(build, build.trials(), check)
    return [*search.found(), *search.found_by_tests(), *search.found_in_accepted()]


class _PresetSearch:
    """The search for the presets with findings: a group of presets is divided only if its output has some."""

    def __init__(self, build: Build, trials: ChartTrials, check: CheckAlone) -> None:
        self._build = build
        self._trials = trials
        self._presets = ChartPresets(trials)
        self._plain = trials.output
        self._check = check
        self._known: dict[tuple[Setting, ...], frozenset[object]] = {}

    def found(self) -> Iterator[PresetFinding]:
        for group in self._presets.groups:
            yield from self._of(group)

    def _of(self, presets: Sequence[Preset]) -> Iterator[PresetFinding]:
        """Yield the findings of presets, each with the one preset that it needs."""
        output = self._presets.output([setting for each in presets for setting in each.settings])
        new = [] if output is not None and output.data == self._plain else self._new(presets, output)
        if new is None or (new and len(presets) > 1):
            if len(presets) > 1:
                yield from self._of(presets[: len(presets) // 2])
                yield from self._of(presets[len(presets) // 2 :])
        elif new and output is not None:
            yield from self._with_condition(new, f"if {presets[0]}", self._build_of(output))

    def found_by_tests(self) -> Iterator[PresetFinding]:
        """Yield the findings of a chart that renders some workloads only with the values of its own tests, as for a required key."""
        if not self._trials.lacks_workload(self._plain):
            return
        known = {_identity(each) for each in self._check(self._source(self._plain))}
        for name, values in self._trials.test_values():
            with suppress(RenderError):
                output = self._trials.rendered(values)
                if output is not None:
                    found = self._check(self._source(output.data))
                    new = [each for each in found if _identity(each) not in known]
                    known.update(map(_identity, new))
                    yield from self._with_condition(new, f"with the values of {quoted(name)}", self._build_of(output))

    def found_in_accepted(self) -> Iterator[PresetFinding]:
        """Yield the findings of a chart that refuses its default values, without those about what its values are set to."""
        if self._trials.condition:
            lines = self._plain.decode("utf-8", "replace").split("\n")
            found = [each for each in self._check(self._source(self._plain)) if WORD not in f"{each.message} {lines[each.span.line - 1]}"]
            yield from self._with_condition(found, f"if {self._trials.condition}", self._build)

    def _build_of(self, output: TrialOutput) -> Build:
        return replace(self._build, output=output.data, source_map=output.source_map)

    def _with_condition(self, found: Sequence[Finding], condition: str, build: Build) -> Iterator[PresetFinding]:
        for finding in found:
            yield PresetFinding(finding._replace(message=f"{condition}, {finding.message}"), self._source(build.output), build)

    def _new(self, presets: Sequence[Preset], output: TrialOutput | None) -> list[Finding] | None:
        """Return the findings in an output that the chart does not have without the presets; None without an output."""
        if output is None:
            return None
        found = self._check(self._source(output.data))
        if not found:
            return []
        enabling = tuple(dict.fromkeys(setting for each in presets for setting in each.enabling))
        known = self._known_with(enabling)
        return None if known is None else [each for each in found if _identity(each) not in known]

    def _known_with(self, settings: tuple[Setting, ...]) -> frozenset[object] | None:
        """Return what is found in the chart with only some components enabled; None if it cannot be rendered."""
        if settings not in self._known:
            output = self._presets.output(settings)
            if output is None:
                return None
            self._known[settings] = frozenset(map(_identity, self._check(self._source(output.data))))
        return self._known[settings]

    def _source(self, output: bytes) -> Source:
        # The output counts as a file in the folder of the chart, with a path that does not exist.
        return Source(f"<helm {self._build.name}>", os.path.join(self._build.folder, "<helm>"), output)


def _identity(finding: Finding) -> object:
    return finding.rule, finding.object, finding.field, finding.message
