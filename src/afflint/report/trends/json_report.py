"""Trends as data: each report with its numbers by group, and what the last one added and fixed."""

from __future__ import annotations

from typing import Any

from afflint.findings.finding import SEVERITIES, Finding
from afflint.report.json_report import plain_finding
from afflint.report.trends.model import Trend, TrendPoint


def plain_trend(trend: Trend) -> dict[str, Any]:
    """Return a trend as the JSON report has it."""
    return {
        "subject": trend.subject,
        "points": [_point(each) for each in trend.points],
        "new": [_finding(each) for each in trend.new],
        "fixed": [_finding(each) for each in trend.fixed],
    }


def _point(point: TrendPoint) -> dict[str, Any]:
    return {
        "date": point.date,
        "file": point.file,
        "total": point.total,
        "severities": {each: point.severities.get(each, 0) for each in SEVERITIES},
        "by": {dimension: {name: counts[name] for name in sorted(counts)} for dimension, counts in point.counts.items()},
        "scope": point.scope,
        "unknown": point.unknown,
        "new": point.new,
        "fixed": point.fixed,
    }


def _finding(finding: Finding) -> dict[str, object]:
    """Return what identifies a finding, as every JSON report has it."""
    plain = plain_finding(finding)
    return {key: plain[key] for key in ("rule", "category", "severity", "message", "file", "line", "object", "field")}
