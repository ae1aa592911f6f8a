"""Applies rules to the files that a run checks otherwise only as part of what is rendered from them: values and kustomizations."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.findings.finding import Finding, Found
from afflint.pipeline.files import Files
from afflint.rendered.chart_findings import PlacedFinding
from afflint.rendering.source_documents import SourcePlace
from afflint.source.kustomizations import NAMES
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.checks.registry import BoundRule


def found_in_covered(rules: Collection[BoundRule], checked: Sequence[Source], covered: Sequence[Source]) -> Iterator[PlacedFinding]:
    """Yield what rules about values and kustomizations find in ``covered`` files. ``checked`` are the other files of the run."""
    named = {each.name: each for each in rules if each.subject in ("chart values", "kustomization")}
    sources = [*covered, *(each for each in checked if each.data is None)]
    if named and covered:
        covered_paths = {os.path.realpath(each.path) for each in covered}
        for path, found in (*_in_values(named.values(), sources), *_in_kustomizations(named.values(), sources)):
            if os.path.realpath(path) in covered_paths:
                yield _placed(named[found.rule], path, found)


def _in_values(rules: Collection[BoundRule], sources: Sequence[Source]) -> Iterator[tuple[str, Found]]:
    from afflint.pipeline.chart_values import found_in_values

    yield from found_in_values([each for each in rules if each.subject == "chart values"], sources, [each.path for each in sources])


def _in_kustomizations(rules: Collection[BoundRule], sources: Sequence[Source]) -> Iterator[tuple[str, Found]]:
    from afflint.pipeline.kustomization_checks import found_in_kustomizations

    files = Files(sources, (), ())
    kustomizations = [file for file in files.checked if files.sources[file].path.endswith(NAMES)]
    chosen = [each for each in rules if each.subject == "kustomization"]
    for file, found in found_in_kustomizations(chosen, files, kustomizations, None):
        yield files.sources[file].path, found


def _placed(rule: BoundRule, path: str, found: Found) -> PlacedFinding:
    severity, remedy = rule.severity_for(found.severity), found.help or rule.remedy
    place = SourcePlace(path, found.document, found.span, "value", exact=True)
    finding = Finding(rule.name, rule.category, severity, found.message, remedy, "", found.document, found.span, found.object, found.field)
    return PlacedFinding(finding, place)
