"""The sources of workloads that a run without rendering has not seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from afflint.findings.coverage import NOT_RENDERED, Coverage, WorkloadSource
from afflint.manifests.workload_sources import COMPONENT, LIBRARY
from afflint.pipeline.map_step import FileResult
from afflint.source.kustomizations import NAMES
from afflint.source.sources import CHART


def coverage_of(results: Iterable[tuple[str, FileResult]]) -> Coverage:
    """Return the coverage of a run that renders nothing, from the name and the result of each file."""
    results = list(results)
    charts = {os.path.dirname(name) for name, _ in results if os.path.basename(name) == CHART}
    return Coverage(not_seen=tuple([each for name, result in results for each in _sources_of(name, result, charts)]))


def _sources_of(name: str, result: FileResult, charts: set[str]) -> Iterator[WorkloadSource]:
    folder, base = os.path.split(name)
    holder = os.path.dirname(folder)
    marks = {each.kind for each in result.sources}
    if base in NAMES and COMPONENT not in marks:
        yield WorkloadSource("kustomization", folder or os.curdir, name, NOT_RENDERED)
    elif base == CHART and LIBRARY not in marks and not (os.path.basename(holder) == "charts" and os.path.dirname(holder) in charts):
        yield WorkloadSource("chart", folder or os.curdir, name, NOT_RENDERED)
    for kind, object_name in result.sources:
        if kind not in (COMPONENT, LIBRARY):
            yield WorkloadSource(kind, object_name, name, NOT_RENDERED)
