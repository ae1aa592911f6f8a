"""A change as text: the workloads whose placement differs, then the findings that are new, and those that are fixed or moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import SEVERITIES, Finding
from afflint.findings.grouping import grouped
from afflint.findings.phrases import pluralize, summarize_names, visible
from afflint.report.changes.model import ChangeReport, Direction, PlacementChanges, ValueChange
from afflint.report.phrases import painter

_MOST, _MOST_VALUES = 5, 20
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
    if placement.values:
        yield "\n" + paint("strong", "Placement values\n\n")
        shown = value_lines(placement)
        for value, line in shown[:_MOST_VALUES]:
            yield f"  {paint('worse', '-') if value.is_loss else paint('neutral', '~')} {visible(line)}\n"
        if len(shown) > _MOST_VALUES:
            yield f"  {len(shown) - _MOST_VALUES} more (`--format json` lists them)\n"
    if placement.not_compared:
        yield "\n" + paint("strong", "Not compared\n\n")
        yield from (f"  {visible(line)}\n" for line in not_compared_lines(placement))
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
    """Return ``The placement of 2 workloads changes (6 nodes)``, ``Placement unchanged (6 nodes)``, or what is not known."""
    placement, files = report.placement, list(dict.fromkeys(each.name for each in report.placement.not_compared))
    if placement.verdict == "not compared":
        return "Placement not compared"
    if placement.verdict == "not known":
        return f"Not known: {_first(files)} {'is' if len(files) == 1 else 'are'} not compared"
    basis = f" ({placement.basis})"
    if placement.verdict == "unchanged":
        return f"Placement unchanged{basis}"
    counts = [f"The placement of {pluralize(len(placement.workloads), 'workload')}"] if placement.workloads else []
    counts += [pluralize(len(placement.values), "placement value")] if placement.values else []
    is_one = len(counts) == 1 and (placement.workloads or len(placement.values) == 1)
    unknown = f"; not known: {_first(files)}" if files else ""
    return f"{' and '.join(counts)} {'changes' if is_one else 'change'}{basis}{unknown}"


def _first(names: Sequence[str]) -> str:
    """Return ```a.yaml` and 3 more``."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"`{names[0]}`{more}"


def not_compared_lines(placement: PlacementChanges) -> Iterator[str]:
    """Yield what is not compared, by reason: at most five names for each of at most five reasons, and how many more there are."""
    by_reason = grouped((each.reason, f"`{each.name}`") for each in placement.not_compared)
    for reason, names in [*by_reason.items()][:_MOST]:
        yield f"{summarize_names(names, most=_MOST)}: {reason}"
    if len(by_reason) > _MOST:
        rest = sum(map(len, [*by_reason.values()][_MOST:]))
        yield f"{rest} more, for other reasons (`--format json` lists them)"


def value_lines(placement: PlacementChanges) -> list[tuple[ValueChange, str]]:
    """Return the placement values that differ, each with its line of the report."""
    return [(each, f"{each.file}:{each.line}: {each.words}") for each in placement.values]


def count_words(findings: Sequence[Finding]) -> str:
    """Return ``1 error, 2 warnings``."""
    counts = [(sum(each.severity == severity for each in findings), severity) for severity in SEVERITIES]
    return ", ".join(pluralize(number, severity) for number, severity in counts if number) or "none"


def _line(finding: Finding, severity: str) -> str:
    where = f"{visible(finding.file)}:{finding.span.line}:{finding.span.column}"
    return f"{where}: {severity}[{visible(finding.rule)}]: {visible(finding.message)}"
