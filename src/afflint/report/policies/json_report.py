"""The compliance report as JSON, described by schemas/policies.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from afflint.report.compliance import Compliance, ComplianceVerdict, PolicyCompliance, WorkloadGroup, grouped
from afflint.report.trends.json_report import plain_trend

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
        **({"trends": [plain_trend(each) for each in compliance.trends]} if compliance.trends else {}),
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
