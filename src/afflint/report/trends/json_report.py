"""Trends as data: each report with its numbers by group, and what the last one added and fixed."""

from __future__ import annotations

from typing import Any

from afflint.findings.finding import SEVERITIES, Finding
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


def _finding(finding: Finding) -> dict[str, Any]:
    ref = finding.object
    return {
        "rule": finding.rule,
        "category": finding.category,
        "severity": finding.severity,
        "message": finding.message,
        "file": finding.file,
        "line": finding.span.line,
        "object": {"apiVersion": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name},
        "field": finding.field,
    }
