"""A change as one self-contained HTML page: what is different, and the schedules of both sides next to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from afflint.findings.finding import Finding
from afflint.placement.plan import Plan
from afflint.report.changes.markdown import headline
from afflint.report.changes.model import ChangeReport, Direction, WorkloadChange
from afflint.report.changes.text import count_words, not_compared_lines, placement_title, value_lines
from afflint.report.html_page import asset, bullets, column_heads, notes, page, shown, state, table
from afflint.report.paths import slashed
from afflint.report.phrases import html_words
from afflint.report.place.picture import still
from afflint.report.place.scene import Scene, badges

_FACTS = {
    "replicas": "replicas",
    "scheduled": "scheduled",
    "nodes": "nodes that it can use",
    "zones": "zones",
    "zone_failure": "failure of a zone",
    "node_failure": "failure of a node",
    "blocks_drains": "blocks drains of",
}
"""What the table of a workload shows of each side."""


_OUTCOMES = {"dead": "down", "degraded": "fewer replicas"}
"""Plain words for the outcomes of failures, where those of the simulation are not."""
_DIRECTIONS: Mapping[Direction, str] = {"worse": "worse", "better": "better", "neutral": "changed"}


def render(report: ChangeReport) -> str:
    """Return the page. The same report gives the same bytes, and they can always be encoded as UTF-8."""
    plans = report.placement.plans() if report.placement.plans is not None and report.placement.workloads else None
    title = headline(report)
    parts = {
        "title": shown(title[0].upper() + title[1:]),
        "lead": f"<code>{shown(report.base)}</code> → <code>{shown(report.head)}</code>",
        "notes": notes(map(shown, (*report.placement.notes, *report.notes))),
        "placement_title": shown(placement_title(report)),
        "workloads": "".join((*map(_workload, report.placement.workloads), *_values(report), *_not_compared(report))),
        "pictures": "".join(_pictures(report, *plans)) if plans is not None else "",
        "findings": "".join(_findings(report)) or "<p>No new findings, and none is fixed.</p>",
    }
    return page("diff_page", f"Change: {shown(title)}", report.made, parts, asset("place_page.css") if plans is not None else "")


def _values(report: ChangeReport) -> Iterator[str]:
    """Yield the placement values that differ in files whose workloads are not compared."""
    lines = [
        f'<span><b class="state {"worse" if each.is_loss else "neutral"}">{_DIRECTIONS["worse" if each.is_loss else "neutral"]}</b></span>'
        f"<span>{html_words(line)}</span>"
        for each, line in value_lines(report.placement)
    ]
    if lines:
        yield f"<article>\n<h3>Placement values</h3>\n{bullets(lines)}</article>\n"


def _not_compared(report: ChangeReport) -> Iterator[str]:
    if report.placement.not_compared:
        lines = map(html_words, not_compared_lines(report.placement))
        yield f"<article>\n<h3>Not compared</h3>\n{bullets(f'<span>{line}</span>' for line in lines)}</article>\n"


def _workload(change: WorkloadChange) -> str:
    effects = bullets(
        f'<span><b class="state {each.direction}">{_DIRECTIONS[each.direction]}</b></span><span>{html_words(each.text)}</span>'
        for each in change.effects
    )
    facts = _facts(change.before, change.after) if change.before is not None and change.after is not None else ""
    title = f"<h3><code>{shown(change.workload)}</code></h3>"
    return f'<article class="change {change.direction}">\n{title}\n{effects}{facts}</article>\n'


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return a table with what is different on both sides."""
    values = [(title, _value(before, key), _value(after, key)) for key, title in _FACTS.items()]
    rows = [
        f'<tr><th scope="row">{title}</th><td>{shown(was)}</td><td>{shown(now)}</td></tr>\n' for title, was, now in values if was != now
    ]
    return table("facts", column_heads(["", "Before", "After"]), rows) + "\n" if rows else ""


def _value(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "" if value is None else _OUTCOMES.get(str(value), str(value))


def _pictures(report: ChangeReport, before: Plan, after: Plan) -> Iterator[str]:
    """Yield the nodes with the replicas of both sides. A workload has the same badge in both."""
    known = {each.key: each for each in (*before.workloads, *after.workloads)}
    marks = badges([known[key] for key in sorted(known)])
    yield '<section aria-labelledby="pictures">\n<h2 id="pictures">Before and after</h2>\n<div class="sides">\n'
    scenes = [Scene(plan, marks) for plan in (before, after)]
    for title, name, scene in (("Before", report.base, scenes[0]), ("After", report.head, scenes[1])):
        yield f"<section>\n<h3>{title}: <code>{shown(name)}</code></h3>\n"
        yield from still(scene)
        yield "</section>\n"
    yield "</div>\n</section>\n"


def _findings(report: ChangeReport) -> Iterator[str]:
    for title, found in (("New", report.new), ("Fixed", report.fixed), ("Suppressed", report.silenced)):
        if found:
            yield _list(f"{title}: {count_words(found)}", [_finding(each) for each in found])
    if report.moved:
        yield _list(f"Moved: {len(report.moved)}", [_finding(after, f"{slashed(before.file)} → ") for before, after in report.moved])


def _list(title: str, items: Sequence[str]) -> str:
    return f'<h3 class="kind">{title}</h3>\n{bullets(items, "list")}'


def _finding(finding: Finding, origin: str = "") -> str:
    where = shown(f"{origin}{slashed(finding.file)}:{finding.span.line}")
    return f"{state(finding.severity)} <code>{where}</code> {html_words(finding.message)} <small>{shown(finding.rule)}</small>"
