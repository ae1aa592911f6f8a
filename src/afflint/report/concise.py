"""One line per finding and nothing else, in a format that editors and problem matchers parse."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.findings.phrases import visible
from afflint.report.model import Report


def render(report: Report) -> Iterator[str]:
    """Yield ``file:line:column: severity message [rule]`` for each finding."""
    for finding in report.findings:
        place = f"{visible(finding.file)}:{finding.span.line}:{finding.span.column}"
        yield f"{place}: {finding.severity} {visible(finding.message)} [{visible(finding.rule)}]\n"
