"""The compliance report as JSON, described by schemas/policies.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from afflint.findings.finding import SEVERITIES, Finding
from afflint.report.compliance import Compliance, ComplianceVerdict, PolicyCompliance, WorkloadGroup, grouped
from afflint.report.json_report import plain_finding
from afflint.report.trends.model import Trend, TrendPoint

VERSION = 1


def render(compliance: Compliance) -> Iterator[str]:
    """Yield the report as one JSON object; the same compliance gives the same bytes."""
    data = {
        "version": VERSION,
        "policies": [_policy(each) for each in compliance.policies],
        "namespaces": [_group(each) for each in grouped(compliance, "namespace")],
        "owners": [_group(each) for each in grouped(compliance, "owner")] if compliance.owner_key else [],
        "owner_key": compliance.owner_key or None,
        "summary": {"workloads": compliance.workloads, "outside": compliance.outside},
        **({"trends": [_trend(each) for each in compliance.trends]} if compliance.trends else {}),
    }
    yield json.dumps(data, indent=2) + "\n"


def _policy(policy: PolicyCompliance) -> dict[str, Any]:
    return {
        "name": policy.name,
        "severity": policy.severity,
        "demand": policy.demand,
        "message": policy.message,
        "mandatory": policy.mandatory,
        "unasked": policy.unasked or None,
        "met": None if policy.only_unmet else policy.number("met"),
        "unmet": policy.number("unmet"),
        "excepted": policy.number("excepted"),
        "undecided": policy.number("undecided"),
        "workloads": [_verdict(each) for each in policy.verdicts],
    }


def _verdict(verdict: ComplianceVerdict) -> dict[str, Any]:
    ref = verdict.workload.object
    return {
        "object": {"apiVersion": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name},
        "file": verdict.workload.file,
        "owner": verdict.workload.owner or None,
        "state": verdict.state,
        "known": verdict.since is not None,
        "since": verdict.since or None,
        "reason": verdict.reason or None,
        "breaches": [{"message": each.message, "file": each.file, "line": each.line} for each in verdict.breaches],
    }


def _group(group: WorkloadGroup) -> dict[str, Any]:
    return {
        "name": group.name or None,
        "workloads": group.workloads,
        "content": group.content,
        "unmet": group.unmet,
        "since": group.since or None,
        "policies": list(group.policies),
    }


def _trend(trend: Trend) -> dict[str, Any]:
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
