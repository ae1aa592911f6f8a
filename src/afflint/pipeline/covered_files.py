"""Applies rules to files of a rendered run that are otherwise checked only as part of the output: values and kustomizations."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from afflint.checks.registry import BoundRule
from afflint.findings.finding import Finding, Found
from afflint.pipeline.files import Files
from afflint.rendered.chart_findings import PlacedFinding
from afflint.rendering.helm import Chart
from afflint.rendering.source_documents import SourcePlace
from afflint.source.kustomizations import NAMES
from afflint.source.sources import Source


def found_beside_output(
    rules: Collection[BoundRule], checked: Sequence[Source], covered: Sequence[Source], charts: Sequence[Chart]
) -> Iterator[PlacedFinding]:
    """Yield what rules find in the values of charts, and in ``covered`` kustomizations.

    ``checked`` are the other files of the run, and ``charts`` those that were rendered, with the values that they get.
    """
    named = {(each.subject, each.name): each for each in rules}
    for path, found in _in_values(rules, [*covered, *(each for each in checked if each.data is None)], charts):
        yield _placed(named["chart values", found.rule], path, found)
    for path, found in _in_kustomizations(rules, covered, checked):
        yield _placed(named["kustomization", found.rule], path, found)


def _in_values(rules: Collection[BoundRule], sources: Sequence[Source], charts: Sequence[Chart]) -> Iterator[tuple[str, Found]]:
    from afflint.pipeline.chart_values import found_in_values

    known = {os.path.realpath(each.path) for each in sources}
    chosen = [each for each in rules if each.subject == "chart values"]
    for path, found in found_in_values(chosen, sources, [each.path for each in sources], charts) if chosen else ():
        if os.path.realpath(path) in known:
            yield path, found


def _in_kustomizations(rules: Collection[BoundRule], covered: Sequence[Source], checked: Sequence[Source]) -> Iterator[tuple[str, Found]]:
    from afflint.pipeline.kustomization_checks import found_in_kustomizations

    names = {each.name for each in covered}
    files = Files([*covered, *(each for each in checked if each.data is None)], (), ())
    kustomizations = [file for file in files.checked if files.sources[file].name in names and files.sources[file].path.endswith(NAMES)]
    chosen = [each for each in rules if each.subject == "kustomization"]
    for file, found in found_in_kustomizations(chosen, files, kustomizations, None):
        yield files.sources[file].path, found


def _placed(rule: BoundRule, path: str, found: Found) -> PlacedFinding:
    severity, remedy = rule.severity_for(found.severity), found.help or rule.remedy
    place = SourcePlace(path, found.document, found.span, "value", exact=True)
    finding = Finding(rule.name, rule.category, severity, found.message, remedy, "", found.document, found.span, found.object, found.field)
    return PlacedFinding(finding, place)
