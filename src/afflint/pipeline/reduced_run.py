"""What the files of a run contain, before suppressions, and its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from afflint.findings.namedtuples import NamedTuple
from afflint.report import Summary

if TYPE_CHECKING:
    from afflint.checks.policies.evaluation import UnevaluatedPolicy
    from afflint.findings.finding import FileId, Finding, Found
    from afflint.index.manifest_index import ManifestIndex
    from afflint.index.mutating_policies import MutatingPolicy
    from afflint.inventory.node_files import NodeFact
    from afflint.pipeline.files import Files
    from afflint.pipeline.map_step import FileResult, MapSettings
    from afflint.pipeline.suppression_filter import SuppressionFilter
    from afflint.pools.references import Pools


class ReducedRun(NamedTuple):
    """What the files of a run contain, each alone and all together, before suppressions.

    ``results`` are those of the checked files, ``all_results`` also those of the context. ``manifest_index`` is None if no rule needs it.
    """

    files: Files
    results: dict[FileId, FileResult]
    all_results: dict[FileId, FileResult]
    manifest_index: ManifestIndex | None
    nodes: list[NodeFact]
    across: dict[FileId, list[Found]]
    """The findings across manifests, by file."""
    suppression_filter: SuppressionFilter
    settings: MapSettings
    """The settings of the map step, with the definitions of the files."""
    unused_nodes: str | None
    pools: Pools | None = None
    undecided: tuple[str, ...] = ()
    """The policies that need nodes, if the run has none."""
    unevaluated: tuple[UnevaluatedPolicy, ...] = ()
    mutating: tuple[MutatingPolicy, ...] = ()
    """The mutating policies among the files."""
    faults: tuple[Finding, ...] = ()
    """Findings in the manifests of policies, which need not be files of the run."""
    clusters: tuple[tuple[str, int], ...] = ()
    """The folders of several clusters, each with the number of its nodes."""


def summary_of(results: Collection[FileResult], findings: Sequence[Finding], suppressed: int) -> Summary:
    """Return the numbers of a run."""
    severities = [finding.severity for finding in findings]
    return Summary(
        files=len(results),
        documents=sum(result.documents for result in results),
        errors=severities.count("error"),
        warnings=severities.count("warning"),
        info=severities.count("info"),
        suppressed=suppressed,
        templated=sum(result.templated and not result.literal for result in results),
        unread=sum(result.unread for result in results),
        filled=sum(result.filled for result in results),
        passed=_counts(kind for result in results for kind in result.passed),
        literal=sum(result.literal for result in results),
        skipped_files=_counts(result.skipped for result in results if result.skipped),
        custom=_counts(f"{kind} by {way}" for result in results for kind, way in result.custom),
    )


def is_empty(result: FileResult) -> bool:
    """Return whether a file contains neither a document nor nodes."""
    return not (result.documents or result.passed or result.templated or result.unread or result.skipped or result.facts.holds_nodes)


def _counts(kinds: Iterable[str]) -> tuple[tuple[str, int], ...]:
    counts = Counter(kinds)
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))) if counts else ()
