"""The text report: each finding with its source, its object and its help, then a summary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.findings.finding import Finding, Fix, Span
from afflint.findings.grouping import grouped
from afflint.findings.phrases import pluralize, visible
from afflint.report.model import Report, Summary
from afflint.report.phrases import MOST_ROOTS, Paint, object_words, painter, roots

if TYPE_CHECKING:
    from afflint.report.snippet import Row, Sources


def render(report: Report, *, color: bool) -> Iterator[str]:
    """Yield a chunk per finding, then the summary unless the report is quiet.

    Unless the report is verbose, frequent hints are counted, and so are errors and warnings with one message in many places of a folder.
    """
    paint = painter(color)
    gap = ""
    if report.findings:
        from afflint.report.snippet import Sources

        sources = Sources(report.source)
        frequent = {} if report.verbose else _frequent_hints(report.findings)
        repeated = {} if report.verbose else _repeated(report.findings)
        for finding in report.findings:
            alike = repeated.get(_cause(finding), [finding])
            if finding is alike[0] and not (finding.severity == "info" and finding.rule in frequent):
                mark = "[*] " if report.fixable(finding) else ""
                yield gap + "".join(f"{line}\n" for line in _finding(finding, sources, paint, report.verbose, mark, alike[1:]))
                gap = "\n"
        for rule, alike in frequent.items():
            yield f"{gap}{_counted(rule, alike, paint)}\n"
            gap = "\n"
    if not report.quiet:
        yield gap + "".join(f"{line}\n" for line in summary_lines(report, paint))


_PLAIN = painter(color=False)
_MAX_NAMES = 3
"""Up to this many names are listed."""
_MAX_HINTS = 3
"""Up to this many hints of one rule are shown one by one; more share one line."""


def _frequent_hints(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of severity info by rule, for rules with many of them."""
    by_rule = grouped((finding.rule, finding) for finding in findings if finding.severity == "info")
    return {rule: alike for rule, alike in by_rule.items() if len(alike) > _MAX_HINTS}


_MAX_ALIKE = 10
"""Up to this many errors or warnings of one cause are shown one by one; of more, only the first one is shown, with their number."""


def _cause(finding: Finding) -> tuple[str, str, str]:
    """Return what findings of one cause have in common: the rule, the message and the folder."""
    return finding.rule, finding.message, os.path.dirname(finding.file)


def _repeated(findings: Sequence[Finding]) -> dict[tuple[str, str, str], list[Finding]]:
    """Return the errors and warnings by cause, for causes with many of them."""
    if len(findings) <= _MAX_ALIKE:
        return {}
    by_cause = grouped((_cause(finding), finding) for finding in findings if finding.severity != "info")
    return {cause: alike for cause, alike in by_cause.items() if len(alike) > _MAX_ALIKE}


def _counted(rule: str, alike: list[Finding], paint: Paint) -> str:
    first, files = alike[0], len({finding.file for finding in alike})
    where = f"{visible(first.file)}:{first.span.line}:{first.span.column}"
    count = f"{len(alike)} times in {pluralize(files, 'file')}"
    return paint("info", f"info[{visible(rule)}]") + paint("strong", f": {visible(first.message)}") + f" ({where}; {count}, `-v` shows all)"


def _finding(finding: Finding, sources: Sources, paint: Paint, verbose: bool, mark: str, alike: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a finding. ``alike`` are the findings of the same cause that are only counted."""
    from afflint.report.snippet import snippet

    shown = [(related, snippet(sources.lines(related.source), related.span)) for related in finding.related]
    rows = snippet(sources.lines(finding.source), finding.span)
    numbers = [row.number or 0 for row in (*rows, *(row for _, others in shown for row in others))]
    gutter = len(str(max(numbers, default=0)))

    title = paint(finding.severity, f"{finding.severity}[{visible(finding.rule)}]")
    yield title + paint("strong", f": {mark}{visible(finding.message)}")
    yield from _place(finding.file, finding.span, rows, gutter, finding.severity, paint)
    notes = [*_notes(finding, verbose), *_number_of(alike)]
    if rows and notes:
        yield " " * gutter + paint("frame", " |")
    for label, text in notes:
        yield " " * gutter + paint("frame", " = ") + paint("strong", label) + text
    for related, others in shown:
        yield paint("good", "note") + paint("strong", f": {visible(related.message)}")
        yield from _place(related.file, related.span, others, gutter, "good", paint)


def _place(file: str, span: Span, rows: Iterable[Row], gutter: int, style: str, paint: Paint) -> Iterator[str]:
    """Yield the position, and the snippet if there is one."""
    yield " " * gutter + paint("frame", "-->") + f" {visible(file)}:{span.line}:{span.column}"
    if rows:
        yield " " * gutter + paint("frame", " |")
    for row in rows:
        number = "" if row.number is None else str(row.number)
        rest = f" {paint(style, row.marks)}{row.text}" if row.marks or row.text else ""
        yield paint("frame", f"{number:>{gutter}} |") + rest


def _notes(finding: Finding, verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield the lines below the snippet: a label, and the text after it."""
    if about := object_words(finding.object):
        yield "object", f": {about}"
    if finding.field:
        yield "field", f": {visible(finding.field)}"
    if finding.help:
        yield "help", f": {visible(finding.help)}"
    if finding.rendered:
        yield "rendered", f": {roots(finding.rendered, None if verbose else MOST_ROOTS)}"
    if finding.fix is not None:
        yield "fix available", " (safe)" if finding.fix.safe else " (unsafe: it may change the meaning of the manifest)"
        if verbose:
            yield from _edits(finding.fix)
    if verbose:
        yield "more", f": afflint rule {visible(finding.rule)}"


def _number_of(alike: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield the line that counts the other findings of a cause, if there are any."""
    if alike:
        places = f"{len(alike)} more times in {pluralize(len({each.file for each in alike}), 'file')}"
        yield "repeated", f": {places} of this folder (`-v` shows all)"


def _edits(fix: Fix) -> Iterator[tuple[str, str]]:
    for span, text in fix.edits:
        from afflint.report.snippet import WIDTH

        replacement = visible(text[:WIDTH]) + ("..." if len(text) > WIDTH else "")
        yield "edit", f': {span.line}:{span.column} to {span.end_line}:{span.end_column} becomes "{replacement}"'


def summary_lines(report: Report, paint: Paint = _PLAIN) -> Iterator[str]:
    """Yield the numbers of findings and files, what was skipped, and how many findings can be fixed."""
    if report.has_rules:
        yield from _summary(report.summary, paint, report.verbose)
    else:
        yield "Nothing was checked, because no rule is selected."
    if report.summary.renders is not None or report.summary.coverage.not_seen:
        from afflint.report.coverage import coverage_lines

        yield from coverage_lines(
            report.summary.renders, report.summary.coverage, report.verbose, missing_tools=report.summary.missing_tools
        )
    yield from _fixes(report)


def _summary(summary: Summary, paint: Paint, verbose: bool) -> Iterator[str]:
    skipped = f", skipped {summary.skipped} of other kinds" if summary.passed else ""
    read = f"{pluralize(summary.documents, 'document')} in {pluralize(summary.files - summary.unread, 'file')}{skipped}"
    suppressed = f" {pluralize(summary.suppressed, 'finding')} suppressed." if summary.suppressed else ""
    found = [paint(noun, pluralize(number, noun)) for number, noun in summary.counts]
    if summary.fixed:
        uncovered = summary.uncovered
        total = pluralize(summary.fixed + summary.errors + summary.warnings + summary.info - len(uncovered), "finding")
        then = f", then found {len(uncovered)} more ({', '.join(dict.fromkeys(uncovered))})" if uncovered else ""
        left = f"fixed {summary.fixed}{then}; remaining: {', '.join(found)}" if found else "fixed" if summary.fixed == 1 else "all fixed"
        yield f"Found {total}: {left}. Read {read}.{suppressed}"
    elif found:
        yield f"Found {', '.join(found)}." + (f" Read {read}." if summary.files > summary.unread else "") + suppressed
    elif summary.documents and (summary.coverage.not_seen or summary.is_partial):
        yield f"{paint('good', 'No findings')} in what was read: {read}.{suppressed}"
    elif summary.documents:
        yield f"{paint('good', 'No findings.')} Read {read}.{suppressed}"
    elif summary.files > summary.unread:
        others = f"; skipped {pluralize(summary.skipped, 'document')} of other kinds" if skipped else ""
        yield f"No manifest found in {pluralize(summary.files - summary.unread, 'file')}{others}."
    elif not summary.files:
        yield "No files were read."
    if verbose and summary.custom:
        yield f"Custom resources: {', '.join(f'{visible(kind)} ({number})' for kind, number in summary.custom)}."
    if verbose and summary.passed:
        yield f"Skipped: {', '.join(f'{visible(kind)} ({number})' for kind, number in summary.passed)}."
    yield from _skipped_files(summary, verbose)
    if summary.clusters:
        listed = ", ".join(f"{visible(name)} ({pluralize(count, 'node')})" for name, count in summary.clusters)
        yield f"{len(summary.clusters)} clusters: {listed}."
    if summary.overlooked:
        shown = summary.overlooked if verbose else summary.overlooked[:_MAX_NAMES]
        more = f" and {len(summary.overlooked) - len(shown)} more" if len(summary.overlooked) > len(shown) else ""
        remedy = "`values` in the name of a file, as in `values-prod.yaml`, shows that they are those of a chart"
        yield f"Not read: placement values in {', '.join(map(visible, shown))}{more}; {remedy}."
    if not (summary.documents or summary.passed):
        pass  # All of them are empty.
    elif len(summary.empty) > _MAX_NAMES:
        yield f"{len(summary.empty)} of the named files contain no manifest."
    else:
        yield from (f"{visible(name)} contains no manifest." for name in summary.empty)
    if summary.filled:
        files = "1 file contains" if summary.filled == 1 else f"{summary.filled} files contain"
        yield f"{files} template placeholders; values that depend on them were not checked."
    if summary.unread:
        yield f"{pluralize(summary.unread, 'file')} could not be read."
    rendering = "; `--render` checks what charts render to, with your `helm`" if summary.renders is None else ""
    if summary.literal:
        files = pluralize(summary.literal, "Go-templated file")
        yield f"In {files}, only constraints without template actions were checked{'' if summary.templated else rendering}."
    if summary.templated:
        yield f"{pluralize(summary.templated, 'Go-templated file')} skipped{rendering}."


def _skipped_files(summary: Summary, verbose: bool) -> Iterator[str]:
    """Yield how many files are encrypted or need an extra, and if ``verbose``, what all files are without manifests or values."""
    yield from (
        f"{pluralize(count, 'file')} skipped: {reason}." for reason, count in summary.skipped_files if verbose or "the extra `" in reason
    )
    if not verbose and summary.encrypted:
        yield f"{pluralize(summary.encrypted, 'encrypted file')} skipped."


def _fixes(report: Report) -> Iterator[str]:
    """Yield how many findings can be fixed, and with which options."""
    safe = sum(finding.fix is not None and finding.fix.safe for finding in report.findings)
    unsafe = sum(finding.fix is not None for finding in report.findings) - safe
    if report.unsafe and unsafe:
        yield f"[*] {safe + unsafe} fixable with --fix --unsafe-fixes."
    elif safe:
        yield f"[*] {safe} fixable with --fix{f' ({unsafe} more with --unsafe-fixes)' if unsafe else ''}."
    elif unsafe:
        yield f"{unsafe} fixable with --fix --unsafe-fixes, which may change the meaning of the manifests."
