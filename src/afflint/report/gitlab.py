"""GitLab's Code Quality report: only the keys that GitLab reads."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.findings.finding import Finding, Severity
from afflint.findings.phrases import visible
from afflint.report.fingerprints import fingerprints
from afflint.report.json_stream import array
from afflint.report.model import Report
from afflint.report.paths import slashed

# The higher severities of GitLab, critical and blocker, are for running systems; a manifest does not run yet.
_SEVERITIES: dict[Severity, str] = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> Iterator[str]:
    """Yield a JSON array with one object per finding."""
    yield from array(map(_issue, report.findings, fingerprints(report.findings)))
    yield "\n"


def _issue(finding: Finding, fingerprint: str) -> dict[str, object]:
    span = finding.span
    # GitLab has no field for a fix.
    fix = "" if finding.fix is None else f" (`afflint check --fix{'' if finding.fix.safe else ' --unsafe-fixes'}` fixes it)"
    return {
        "description": visible(finding.message) + fix,
        "check_name": finding.rule,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            # Exact, or GitLab does not find the file; but its parser rejects a report with a lone surrogate.
            "path": slashed(finding.file).encode("utf-8", "backslashreplace").decode("utf-8"),
            "lines": {"begin": span.line, "end": span.end_line},
            "positions": {"begin": {"line": span.line, "column": span.column}, "end": {"line": span.end_line, "column": span.end_column}},
        },
    }
