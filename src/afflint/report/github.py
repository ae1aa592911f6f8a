"""Workflow commands, which GitHub Actions turns into annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.findings.finding import Severity, Span
from afflint.findings.phrases import visible
from afflint.report.model import Report
from afflint.report.paths import slashed

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> Iterator[str]:
    """Yield a command per finding: its message, then its help on a line of its own."""
    for finding in report.findings:
        properties = f"file={_property(slashed(finding.file))},{_region(finding.span)},title={_property(finding.rule)}"
        message = "\n".join(visible(text) for text in (finding.message, finding.help) if text)
        yield f"::{_COMMANDS[finding.severity]} {properties}::{_data(message)}\n"


def _region(span: Span) -> str:
    # The runner drops both columns, with a complaint in its log, when a span has several lines.
    if span.end_line != span.line:
        return f"line={span.line},endLine={span.end_line}"
    return f"line={span.line},col={span.column},endLine={span.end_line},endColumn={span.end_column}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
