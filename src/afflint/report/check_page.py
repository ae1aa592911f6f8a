"""The findings as one self-contained HTML page: by rule, by folder and file, each with its source and with its fix as a diff.

The page is complete without scripts. Its one small script adds a search and filters, and keeps them in the address.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from afflint.findings.coverage import WorkloadSource
from afflint.findings.finding import SEVERITIES, Finding, Fix, Severity, Span
from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import pluralize
from afflint.report.fix_lines import changes
from afflint.report.html_page import bullets, details, fragment, options, page, shown, state
from afflint.report.model import Report, RuleInfo
from afflint.report.paths import folder_of, slashed
from afflint.report.phrases import html_words, object_words, roots
from afflint.report.snippet import Sources, ending
from afflint.report.text import summary_lines

_MOST = 1_000
"""Up to this many findings are shown with their source, errors first; the others have a line each."""
_MOST_LINES = 5_000
"""Up to this many findings have at least a line."""
_OPEN = 60
"""Up to this many findings are unfolded."""
_AROUND = 2
"""Lines of source that are shown before and after a finding."""
_TALLEST = 12
"""Longer spans and changes are cut after this many lines."""
_WIDEST = 180
"""Wider lines are cut around the finding."""
_RELATED = 4
_TAB = " " * 4


class _PageFinding(NamedTuple):
    """A finding with its number on the page, and whether it is shown with its source or as a line only."""

    number: int
    finding: Finding
    full: bool


def render(report: Report) -> Iterator[str]:
    """Yield the page. The same report gives the same bytes, and they can always be encoded as UTF-8."""
    entries = _entries(report.findings)
    title = report.summary.found
    severities = [each for each in SEVERITIES if any(entry.finding.severity == each for entry in entries)]
    parts = {
        "title": title,
        "lead": "<br>\n".join(html_words(line.removeprefix("[*] ")) for line in summary_lines(report)),
        "notes": _not_seen(report.summary.coverage.not_seen) + _left_out(entries, len(report.findings)),
        "find": fragment("check_find", severities=options(severities), rules=options(sorted({entry.finding.rule for entry in entries}))),
        "rules": "".join(_rules(entries, report.rules() if entries else ())),
        "folders": "".join(_folders(report.findings, {folder_of(entry.finding.file) for entry in entries})),
        "findings": "".join(_findings(entries, report)),
        "empty": "" if entries else '<p class="lead">No findings.</p>\n',
        "hidden": "" if entries else " hidden",
    }
    yield page("check_page", f"afflint: {title}", report.made, parts)


def _entries(findings: Sequence[Finding]) -> list[_PageFinding]:
    """Return the findings that the page shows, in the order of the report."""
    ranked = sorted(range(len(findings)), key=lambda each: SEVERITIES.index(findings[each].severity))
    full, listed = set(ranked[:_MOST]), sorted(ranked[:_MOST_LINES])
    return [_PageFinding(number, findings[each], each in full) for number, each in enumerate(listed, 1)]


def _not_seen(sources: Sequence[WorkloadSource]) -> str:
    """Return a list that opens, of the sources of workloads that were not seen."""
    if not sources:
        return ""
    items = [f"<code>{shown(slashed(each.file))}</code>: {html_words(each.message)}" for each in sources[:_MOST_LINES]]
    return details("fold", f"Not checked: {len(sources)}", bullets(items, left_out=len(sources) - _MOST_LINES))


def _left_out(entries: Sequence[_PageFinding], total: int) -> str:
    full = sum(entry.full for entry in entries)
    if full == total:
        return ""
    rest = f"{len(entries) - full} as a line{', the others are left out' * (len(entries) < total)}"
    return f'<p class="notes">{full} of {total} findings are shown with their source, {rest}; <code>--format json</code> has all.</p>\n'


def _rules(entries: Sequence[_PageFinding], infos: Iterable[RuleInfo]) -> Iterator[str]:
    """Yield an entry per rule with findings, the most severe and most frequent first, with its summary and its findings."""
    known = {info.name: info for info in infos}
    found = grouped(((entry.finding.severity, entry.finding.rule), entry) for entry in entries)
    order = sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][0]), -len(item[1]), item[0][1]))
    for (severity, name), alike in order:
        info = known.get(name)
        summary = f'<span class="number">{len(alike)}</span><span class="soft">{html_words(info.summary) if info else ""}</span>'
        help_ = f"<p>{html_words(info.help)}</p>\n" if info and info.help else ""
        places = bullets(
            f'<a href="#n{each.number}"><code>{shown(f"{each.finding.file}:{each.finding.span.line}")}</code></a>'
            f" {shown(object_words(each.finding.object))}"
            for each in alike
        )
        yield details(
            "rule",
            f"{state(severity)}<h3><code>{shown(name)}</code></h3>{summary}",
            f'<div class="body">\n{help_}<p class="soft"><code>afflint rule {shown(name)}</code></p>\n{places}</div>\n',
            more=f' data-rule="{shown(name)}" data-severity="{severity}"',
        )


def _folders(findings: Sequence[Finding], listed: Collection[str]) -> Iterator[str]:
    """Yield a row per folder with the number of findings of each severity, named without their common prefix."""
    counts: dict[str, Counter[Severity]] = {}
    for finding in findings:
        counts.setdefault(folder_of(finding.file), Counter())[finding.severity] += 1
    above = posixpath.commonpath(counts) if len(counts) > 1 and len({folder.startswith("/") for folder in counts}) == 1 else ""
    for folder in sorted(counts):
        cells = "".join(f"<td>{counts[folder][severity] or ''}</td>" for severity in SEVERITIES)
        name = (folder[len(above) :].lstrip("/") if above else folder) or folder or "."
        link = f'<a href="#{_anchor(folder)}">' if folder in listed else "<a>"
        yield f'<tr><th scope="row">{link}<code>{shown(name)}</code></a></th>{cells}</tr>\n'


def _anchor(folder: str) -> str:
    from zlib import crc32

    return f"d{crc32(folder.encode('utf-8', 'surrogatepass')):08x}"


def _findings(entries: Sequence[_PageFinding], report: Report) -> Iterator[str]:
    """Yield the findings by folder and file: folders in the order of their table, findings in the order of the report."""
    sources, opened = Sources(report.source), len(entries) <= _OPEN
    ordered = sorted(entries, key=lambda entry: folder_of(entry.finding.file))
    for folder, inside in groupby(ordered, key=lambda entry: folder_of(entry.finding.file)):
        yield f'<section class="folder" id="{_anchor(folder)}">\n<h3><code>{shown(folder or ".")}</code></h3>\n'
        for file, those in groupby(inside, key=lambda entry: entry.finding.file):
            group = list(those)
            yield f'<div class="file">\n<h4><code>{shown(slashed(file).rpartition("/")[2] or file)}</code></h4>\n'
            for entry in group:
                yield from _finding(entry, sources, opened)
            yield "</div>\n"
        yield "</section>\n"


def _finding(entry: _PageFinding, sources: Sources, opened: bool) -> Iterator[str]:
    finding = entry.finding
    fixable = f' data-fix="{"safe" if finding.fix.safe else "unsafe"}"' if finding.fix else ""
    marks = f'id="n{entry.number}" data-rule="{shown(finding.rule)}" data-severity="{finding.severity}"{fixable}'
    head = f'{state(finding.severity)}<span class="message">{html_words(finding.message)}</span>'
    line = f'<span class="soft">line {finding.span.line}</span>'
    if not entry.full:
        yield f'<div class="finding" {marks}>\n<p class="head">{head}{line}</p>\n</div>\n'
        return
    yield f'<details class="finding" {marks}{" open" * opened}>\n<summary class="head">{head}{line}</summary>\n<div class="body">\n'
    about = [shown(object_words(finding.object)), f"<code>{shown(finding.field)}</code>" * bool(finding.field)]
    about.append(f"<code>{shown(finding.rule)}</code>")
    yield f'<p class="soft">{" · ".join(part for part in about if part)}</p>\n'
    yield from _source(sources.lines(finding.source), finding.span)
    if finding.help:
        yield f'<p class="help">{html_words(finding.help)}</p>\n'
    if finding.rendered:
        yield f'<p class="soft">Rendered {shown(roots(finding.rendered, None))}</p>\n'
    if finding.fix is not None:
        yield from _fix(sources.lines(finding.source), finding.fix)
    for related in finding.related[:_RELATED]:
        yield f'<p class="note">{html_words(related.message)}: <code>{shown(related.file)}:{related.span.line}</code></p>\n'
        yield from _source(sources.lines(related.source), related.span)
    if len(finding.related) > _RELATED:
        yield f'<p class="soft">and {len(finding.related) - _RELATED} more places</p>\n'
    yield "</div>\n</details>\n"


def _source(lines: Sequence[str], span: Span) -> Iterator[str]:
    """Yield the lines around a span with the span marked; nothing if the file does not have that line any more."""
    if span.line > len(lines):
        return
    last, end = ending(lines, span)
    yield '<pre class="source">'
    shown_last = min(last, span.line + _TALLEST - 1)
    for number in range(max(1, span.line - _AROUND), min(len(lines), shown_last + (_AROUND if last == shown_last else 0)) + 1):
        text = lines[number - 1]
        inside = span.line <= number <= last
        begin = (span.column if number == span.line else len(text) - len(text.lstrip()) + 1) - 1 if inside else len(text)
        stop = (end if number == last else len(text) + 1) - 1 if inside else len(text)
        yield _row(number, *_parts(text, begin, max(begin, stop)), classes="in" if inside else "")
    if last > shown_last:
        yield f'<span class="line"><i></i>and {pluralize(last - shown_last, "more line")}</span>'
    yield "</pre>\n"


def _parts(text: str, begin: int, stop: int) -> tuple[str, str, str]:
    """Split a line into the parts before, between and after two indexes; cut a wide line around them."""
    if len(text) <= _WIDEST:
        return text[:begin], text[begin:stop], text[stop:]
    first = max(0, min(begin, len(text) - _WIDEST) - _WIDEST // 4)
    last = first + _WIDEST
    before, inside, after = text[first:begin], text[max(first, begin) : min(stop, last)], text[max(first, stop) : last]
    return ("…" if first else "") + before[:_WIDEST], inside, after + ("…" if last < len(text) else "")


def _row(number: int | None, before: str, inside: str = "", after: str = "", *, classes: str = "", lead: str = "") -> str:
    marked = f"<mark>{_cells(inside)}</mark>" if inside else ""
    named = f'<span class="line {classes}">' if classes else '<span class="line">'
    return f"{named}<i>{number or ''}</i>{lead}{_cells(before)}{marked}{_cells(after)}</span>"


def _cells(text: str) -> str:
    return shown(text.replace("\t", _TAB))


def _fix(lines: Sequence[str], fix: Fix) -> Iterator[str]:
    option = "--fix" if fix.safe else "--fix --unsafe-fixes"
    warning = "" if fix.safe else " and may change the meaning of the manifest"
    yield f'<p class="fix"><code>{option}</code> fixes it{warning}:</p>\n'
    for change in changes(lines, fix):
        yield '<pre class="source diff">'
        at = _first_difference([line.text for line in change if line.kind == "-"], [line.text for line in change if line.kind == "+"])
        rows = change[: 4 * _TALLEST]
        for line in rows:
            before, inside, after = _parts(line.text, at, at)
            yield _row(line.number, before, inside, after, classes={"-": "gone", "+": "come", " ": ""}[line.kind], lead=f"{line.kind} ")
        if len(rows) < len(change):
            yield f'<span class="line"><i></i>and {pluralize(len(change) - len(rows), "more line")}</span>'
        yield "</pre>\n"


def _first_difference(gone: Sequence[str], come: Sequence[str]) -> int:
    """Return the column at which a changed line starts to differ; 0 if whole lines are added or removed."""
    if len(gone) != 1 or len(come) != 1:
        return 0
    # A binary search: a line can be a whole file of JSON.
    least, most = 0, min(len(gone[0]), len(come[0]))
    while least < most:
        middle = (least + most + 1) // 2
        if gone[0][:middle] == come[0][:middle]:
            least = middle
        else:
            most = middle - 1
    return least
