"""What a chart renders behind its presets: the findings that its defaults do not have."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from afflint.findings.finding import Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import quoted
from afflint.rendering.chart_presets import ChartPresets, Preset, Setting
from afflint.rendering.programs import RenderError
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.rendering.builds import Build
    from afflint.rendering.chart_trials import ChartTrials, TrialOutput

CheckAlone = Callable[[Source], list[Finding]]
"""Checks a file as if it were the only one of the run."""


class PresetFinding(NamedTuple):
    """A finding in the output of a chart with a preset, which is the build."""

    finding: Finding
    source: Source
    build: Build


def findings_in(build: Build, check: CheckAlone) -> list[PresetFinding]:
    """Return the findings that a chart has only with one of its presets, or with the values of its own tests."""
    if build.trials is None:
        return []
    search = _PresetSearch(build, build.trials(), check)
    return [*search.found(), *search.found_by_tests()]


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
            yield from self._with_condition(new, f"if {presets[0]}", output)

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
                    yield from self._with_condition(new, f"with the values of {quoted(name)}", output)

    def _with_condition(self, found: Sequence[Finding], condition: str, output: TrialOutput) -> Iterator[PresetFinding]:
        build = replace(self._build, output=output.data, source_map=output.source_map)
        for finding in found:
            yield PresetFinding(finding._replace(message=f"{condition}, {finding.message}"), self._source(output.data), build)

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
