"""A change as text: the workloads whose placement differs, then the findings that are new, and those that are fixed or moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import SEVERITIES, Finding
from afflint.findings.phrases import pluralize, visible
from afflint.report.changes.model import ChangeReport, Direction
from afflint.report.phrases import painter

_MARKS: dict[Direction, str] = {"worse": "-", "better": "+", "neutral": "~"}


def render(report: ChangeReport, *, color: bool = False) -> Iterator[str]:
    """Yield the report in lines. A minus marks what got worse, a plus what got better, a tilde any other change."""
    paint = painter(color)
    yield f"{visible(report.base)} → {visible(report.head)}\n\n"
    placement = report.placement
    yield paint("strong", f"{placement_title(report)}\n")
    for workload in placement.workloads:
        yield f"\n{paint('strong', visible(workload.workload))}\n"
        for effect in workload.effects:
            yield f"  {paint(effect.direction, _MARKS[effect.direction])} {visible(effect.text)}\n"
    for title, found in (("New findings", report.new), ("Fixed findings", report.fixed), ("Suppressed findings", report.silenced)):
        if found:
            yield "\n" + paint("strong", f"{title}: {count_words(found)}\n\n")
            yield from (f"  {_line(each, paint(each.severity, each.severity))}\n" for each in found)
    if report.moved:
        yield "\n" + paint("strong", f"Moved findings: {count_words([after for _, after in report.moved])}\n\n")
        yield from (f"  {visible(before.file)} → {_line(after, after.severity)}\n" for before, after in report.moved)
    if not (report.new or report.fixed or report.silenced or report.moved):
        yield "\nNo new findings, and none is fixed.\n"
    elif not report.new:
        yield "\nNo new findings.\n"
    notes = (*placement.notes, *report.notes)
    if notes:
        yield "\n"
        yield from (f"note: {visible(note)}\n" for note in notes)


def placement_title(report: ChangeReport) -> str:
    """Return ``The placement of 2 workloads changes (6 nodes)``, or ``Placement unchanged (6 nodes)``."""
    placement = report.placement
    if not placement.basis:
        return "Placement not compared"
    basis = f" ({placement.basis})"
    if report.not_rendered:
        basis += f"; {not_rendered_words(report)}"
    if not placement.workloads:
        return f"Placement unchanged{basis}"
    return f"The placement of {pluralize(len(placement.workloads), 'workload')} changes{basis}"


def not_rendered_words(report: ChangeReport) -> str:
    """Return how many kustomizations and charts are not compared, in words."""
    return f"{report.not_rendered} of the kustomizations and charts not compared"


def count_words(findings: Sequence[Finding]) -> str:
    """Return ``1 error, 2 warnings``."""
    counts = [(sum(each.severity == severity for each in findings), severity) for severity in SEVERITIES]
    return ", ".join(pluralize(number, severity) for number, severity in counts if number) or "none"


def _line(finding: Finding, severity: str) -> str:
    where = f"{visible(finding.file)}:{finding.span.line}:{finding.span.column}"
    return f"{where}: {severity}[{visible(finding.rule)}]: {visible(finding.message)}"
