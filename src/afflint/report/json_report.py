"""The JSON report, described by schemas/report.schema.json."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.findings.finding import Finding, Span
from afflint.report.json_stream import document
from afflint.report.model import RenderSummary, Report


def render(report: Report) -> Iterator[str]:
    """Yield the report as one JSON object in ASCII; strings are exact."""
    summary = report.summary
    frame = {
        "version": 1,
        "findings": [],
        "summary": {
            "files": summary.files,
            "documents": summary.documents,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "info": summary.info,
            "suppressed": summary.suppressed,
            "templated": summary.templated,
            "templates_in_part": summary.literal,
            "placeholders": summary.filled,
            "unread": summary.unread,
            "passed_over": summary.skipped,
            "passed_over_kinds": dict(summary.passed),
            "skipped_files": dict(summary.skipped_files),
            "overlooked": list(summary.overlooked),
            "clusters": dict(summary.clusters),
            "fixed": summary.fixed,
            "uncovered": list(summary.uncovered),
            **({} if summary.renders is None else {"rendered": _renders(summary.renders)}),
        },
        "coverage": summary.coverage.plain(),
    }
    return document(frame, "findings", map(plain_finding, report.findings), indent=2)


def plain_finding(finding: Finding) -> dict[str, object]:
    """Return a finding as every JSON report has it."""
    ref = finding.object
    edits = [{**_span(edit.span), "text": edit.text} for edit in finding.fix.edits] if finding.fix is not None else []
    return {
        "rule": finding.rule,
        "category": finding.category,
        "severity": finding.severity,
        "message": finding.message,
        "help": finding.help,
        "file": finding.file,
        "document": finding.document,
        **_span(finding.span),
        "object": {"apiVersion": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name},
        "field": finding.field,
        **({"item": finding.item} if finding.item else {}),
        "related": [
            {"file": related.file, "line": related.span.line, "column": related.span.column, "message": related.message}
            for related in finding.related
        ],
        "fix": None if finding.fix is None else {"safe": finding.fix.safe, "edits": edits},
        **({"rendered_in": list(finding.rendered)} if finding.rendered else {}),
    }


def _renders(renders: RenderSummary) -> dict[str, object]:
    failed = [{"tool": tool, "root": name, "reason": reason} for tool, name, reason in renders.failed]
    without = [{"root": name, "chart": chart} for name, chart in renders.without]
    rendered = {"kustomizations": renders.kustomizations, "charts": renders.charts, "failed": failed, "without": without}
    unread = [{"object": name, "reason": reason} for name, reason in renders.unread]
    return {**rendered, "unread": unread} if unread else rendered


def _span(span: Span) -> dict[str, int]:
    return {"line": span.line, "column": span.column, "end_line": span.end_line, "end_column": span.end_column}
