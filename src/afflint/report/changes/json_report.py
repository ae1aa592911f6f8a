"""A change as JSON, described by schemas/diff.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from afflint.findings.finding import SEVERITIES, Finding
from afflint.report.changes.model import ChangeReport, ValueChange, WorkloadChange
from afflint.report.json_report import plain_finding


def render(report: ChangeReport) -> Iterator[str]:
    """Yield the report as one JSON object in ASCII; strings are exact."""
    placement = report.placement
    data = {
        "version": 1,
        "base": report.base,
        "head": report.head,
        "new": [plain_finding(each) for each in report.new],
        "fixed": [plain_finding(each) for each in report.fixed],
        "moved": [{"from": before.file, "finding": plain_finding(after)} for before, after in report.moved],
        "suppressed": [plain_finding(each) for each in report.silenced],
        "placement": [_workload(each) for each in placement.workloads],
        "values": [_value(each) for each in placement.values],
        "not_compared": [each._asdict() for each in placement.not_compared],
        "summary": {
            "verdict": placement.verdict,
            "new": _counts(report.new),
            "fixed": _counts(report.fixed),
            "moved": len(report.moved),
            "suppressed": len(report.silenced),
            "workloads": placement.compared,
            "placement_changed": len(placement.workloads),
            "placement_worse": sum(each.direction == "worse" for each in placement.workloads),
            "placement_basis": placement.basis,
            "notes": [*placement.notes, *report.notes],
        },
    }
    yield json.dumps(data, indent=2) + "\n"


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    names = {"error": "errors", "warning": "warnings", "info": "info"}
    return {names[severity]: sum(each.severity == severity for each in findings) for severity in SEVERITIES}


def _value(change: ValueChange) -> dict[str, object]:
    return {
        "file": change.file,
        "line": change.line,
        "object": change.object,
        "field": change.field,
        "change": change.text,
        "others": change.others,
        "direction": "worse" if change.is_loss else "neutral",
    }


def _workload(change: WorkloadChange) -> dict[str, object]:
    return {
        "workload": change.workload,
        "before": change.before,
        "after": change.after,
        "changes": [each.text for each in change.effects],
        "direction": change.direction,
    }
