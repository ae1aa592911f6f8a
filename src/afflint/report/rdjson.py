"""The Reviewdog Diagnostic Format, which reviewdog turns into comments on a pull request.

Described by https://github.com/reviewdog/reviewdog/tree/master/proto/rdf. Columns count bytes of UTF-8 from 1, and the end is exclusive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.findings.finding import Finding, Severity, Span
from afflint.findings.phrases import visible
from afflint.report.json_stream import document
from afflint.report.model import Report
from afflint.report.paths import slashed
from afflint.report.snippet import Sources

_SEVERITIES: dict[Severity, str] = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(report: Report) -> Iterator[str]:
    """Yield a JSON object with one diagnostic per finding."""
    sources = Sources(report.source)
    frame = {"source": {"name": "afflint"}, "diagnostics": []}
    diagnostics = (_diagnostic(finding, sources) for finding in report.findings)
    return document(frame, "diagnostics", diagnostics, indent=2)


def _diagnostic(finding: Finding, sources: Sources) -> dict[str, object]:
    lines = sources.lines(finding.source)
    message = "\n".join([visible(sentence) for sentence in (finding.message, finding.help) if sentence])
    diagnostic: dict[str, object] = {
        "message": message,
        "location": _location(finding.file, finding.span, lines),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.rule},
    }
    if finding.related:
        diagnostic["related_locations"] = [
            {"message": visible(each.message), "location": _location(each.file, each.span, sources.lines(each.source))}
            for each in finding.related
        ]
    fix = finding.fix
    # Each suggestion is a change that a reviewer can apply alone, so a fix of several edits is not one.
    if fix is not None and fix.safe and len(fix.edits) == 1:
        (edit,) = fix.edits
        text = edit.text.encode("utf-8", "backslashreplace").decode("utf-8")
        diagnostic["suggestions"] = [{"range": _range(edit.span, lines), "text": text}]
    return diagnostic


def _location(file: str, span: Span, lines: Sequence[str]) -> dict[str, object]:
    return {"path": slashed(file).encode("utf-8", "backslashreplace").decode("utf-8"), "range": _range(span, lines)}


def _range(span: Span, lines: Sequence[str]) -> dict[str, object]:
    return {"start": _position(span.line, span.column, lines), "end": _position(span.end_line, span.end_column, lines)}


def _position(line: int, column: int, lines: Sequence[str]) -> dict[str, int]:
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return {"line": line, "column": column + len(before.encode("utf-8", "surrogatepass")) - len(before)}
