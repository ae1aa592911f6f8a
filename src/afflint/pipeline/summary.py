"""The numbers of a run."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from afflint.findings.finding import Finding
from afflint.pipeline.map_step import FileResult
from afflint.report import Summary


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
        custom=_counts(f"{kind} by {way}" for result in results for kind, way in result.custom),
    )


def is_empty(result: FileResult) -> bool:
    """Return whether a file contains neither a document nor nodes."""
    return not (result.documents or result.passed or result.templated or result.unread or result.facts.holds_nodes)


def _counts(kinds: Iterable[str]) -> tuple[tuple[str, int], ...]:
    counts = Counter(kinds)
    return tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))) if counts else ()
