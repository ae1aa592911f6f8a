"""A change as Markdown, for one comment on a pull or merge request that each run replaces.

The first line is hidden: the next run finds the comment by it. The heading says what the change does; lists are short, and what is long is
collapsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import SEVERITIES, Finding
from afflint.report.changes.model import ChangeReport, Direction
from afflint.report.changes.text import count_words, not_compared_lines, placement_title, value_lines
from afflint.report.markdown import MOST_BYTES, code, prose
from afflint.report.paths import slashed

MARKER = "<!-- afflint diff -->"
_ICONS: dict[Direction, str] = {"worse": ":x:", "better": ":white_check_mark:", "neutral": ":small_blue_diamond:"}
_SHOWN = 12
"""Up to this many workloads and findings are not collapsed."""


def render(report: ChangeReport) -> Iterator[str]:
    """Yield the comment, which has at most 65,000 bytes."""
    yield _cut("".join(_chunks(report)))


def _cut(text: str) -> str:
    data = text.encode()
    if len(data) <= MOST_BYTES:
        return text
    kept = data[:MOST_BYTES].decode(errors="ignore").rpartition("\n")[0]
    open_details = "\n</details>" * (kept.count("<details>") - kept.count("</details>"))
    return f"{kept}\n{open_details}\n\n**The report is longer than a comment can be; `afflint diff` shows all of it.**\n"


def _chunks(report: ChangeReport) -> Iterator[str]:
    yield f"{MARKER}\n### afflint: {headline(report)}\n\n"
    placement = report.placement
    if placement.basis:
        yield f"**{prose(placement_title(report))}**\n\n"
    workloads = [
        "".join([f"- {code(each.workload)}\n", *[f"  - {_ICONS[one.direction]} {prose(one.text)}\n" for one in each.effects]])
        for each in placement.workloads
    ]
    yield from _collapsed(workloads, "more workloads")
    values = [f"- {_ICONS['worse' if each.is_loss else 'neutral']} {prose(line)}\n" for each, line in value_lines(placement)]
    yield from _collapsed(values, "more placement values")
    if placement.not_compared:
        yield "**Not compared**\n\n" + "".join(f"- {prose(line)}\n" for line in not_compared_lines(placement)) + "\n"
    for title, found in (("New findings", report.new), ("Fixed findings", report.fixed), ("Suppressed findings", report.silenced)):
        if found:
            ordered = sorted(found, key=lambda each: SEVERITIES.index(each.severity))
            items = [_item(each) for each in ordered]
            if found is report.new:
                yield f"**{title}: {count_words(found)}**\n\n"
                yield from _collapsed(items, "more findings")
            else:
                yield from _details(f"{title}: {count_words(found)}", items)
    if report.moved:
        yield from _details(
            f"Moved findings: {len(report.moved)}",
            [f"- {code(slashed(before.file))} → {_item(after)[2:]}" for before, after in report.moved],
        )
    for note in (*placement.notes, *report.notes):
        yield f"<sub>{prose(note)}</sub>\n\n"
    yield f"<sub>Compared {code(report.base)} with {code(report.head)}.</sub>\n"


def headline(report: ChangeReport) -> str:
    """Return what a change does, in a few words: ``placement gets worse for 2 workloads; 1 new finding (1 error); 3 fixed``."""
    workloads = report.placement.workloads
    worse = sum(each.direction == "worse" for each in workloads)
    found = []
    if worse:
        found.append(f"placement gets worse for {worse} workload{'s' * (worse > 1)}")
    elif workloads:
        found.append(f"placement of {len(workloads)} workload{'s' * (len(workloads) > 1)} changes")
    elif report.placement.values:
        found.append(f"{len(report.placement.values)} placement value{'s' * (len(report.placement.values) > 1)} change")
    elif report.placement.verdict == "unchanged":
        found.append("placement unchanged")
    if report.placement.not_compared:
        found.append("not all of it is compared" if found else "placement not known")
    number = f"{len(report.new)} new finding{'s' * (len(report.new) > 1)}"
    found.append(f"{number} ({count_words(report.new)})" if report.new else "no new findings")
    if report.fixed:
        found.append(f"{len(report.fixed)} fixed")
    return "; ".join(found)


def _item(finding: Finding) -> str:
    severity = f"**{finding.severity}**" if finding.severity == "error" else finding.severity
    return f"- {severity} {code(f'{slashed(finding.file)}:{finding.span.line}')} {prose(finding.message)} ({code(finding.rule)})\n"


def _collapsed(items: Sequence[str], more: str) -> Iterator[str]:
    """Yield a list; what is beyond its first items is collapsed."""
    if not items:
        return
    yield "".join(items[:_SHOWN]) + "\n"
    if len(items) > _SHOWN:
        yield from _details(f"{len(items) - _SHOWN} {more}", items[_SHOWN:])


def _details(title: str, items: Sequence[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>\n\n{''.join(items)}\n</details>\n\n"
