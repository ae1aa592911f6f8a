"""The findings of the rules for charts: the probes of a chart, its checks, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from afflint.findings.finding import Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import field_of
from afflint.rendering.chart_probes import ChartProbes, probes_in
from afflint.rendering.programs import RenderError
from afflint.rendering.source_documents import SourcePlace

if TYPE_CHECKING:
    from afflint.checks.chart_values import ChartMatch
    from afflint.checks.match import Target
    from afflint.checks.registry import BoundRule
    from afflint.rendering.builds import Build
    from afflint.rendering.chart_probes import ProbedOutput
    from afflint.rendering.helm_origins import ChartSourceMap


class PlacedFinding(NamedTuple):
    """A finding whose file has no number yet, with its place and related places."""

    finding: Finding
    place: SourcePlace
    related: tuple[tuple[SourcePlace, str], ...] = ()


def findings_in(build: Build, rules: Iterable[BoundRule], target: Target) -> list[PlacedFinding]:
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
    return PlacedFinding(
        Finding(
            rule.name,
            rule.category,
            rule.severity_for(None),
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
        tuple(_declarations(match, place)),
    )


def _declarations(match: ChartMatch, place: SourcePlace) -> Iterator[tuple[SourcePlace, str]]:
    if match.probe.declared is not None:
        text, path = match.probe.declared
        declared = text.place(path, "value", key=True, exact=True)
        if declared != place:
            yield declared, "the value is declared here"
