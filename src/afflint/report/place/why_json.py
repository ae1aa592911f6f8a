"""The answer of `afflint why` as JSON, described by schemas/why.schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from afflint.placement.explanation import FailureEffect
from afflint.placement.remedies import Remedy
from afflint.placement.why import Explanation


def render(explanation: Explanation) -> Iterator[str]:
    """Yield one JSON object, ASCII only."""
    yield json.dumps(plain(explanation), indent=2) + "\n"


def plain(explanation: Explanation) -> dict[str, Any]:
    """Return the answer as plain data."""
    workload, remedies = explanation.workload, explanation.remedies
    return {
        "version": 1,
        "workload": {name: getattr(workload, name) for name in ("key", "kind", "namespace", "name", "file", "line")},
        "pod": explanation.pod or None,
        "node": explanation.node or None,
        "replicas": explanation.replicas,
        "running": explanation.running,
        "runs": explanation.runs,
        "survives": explanation.survives,
        "pending": explanation.pending,
        "why": explanation.why or None,
        "reasons": [
            {"text": each.text, "nodes": each.nodes, "controlPlanes": each.control_planes, "example": each.example or None}
            for each in explanation.reasons
        ],
        "needs": explanation.needs,
        "failures": [_failure(each) for each in explanation.failures.effects],
        "remedies": [_remedy(each) for each in remedies.found],
        "search": {"tried": remedies.tried, "possible": remedies.possible},
        "notes": (*explanation.failures.notes, *explanation.notes),
        "coverage": explanation.coverage.plain(),
    }


def _failure(effect: FailureEffect) -> dict[str, Any]:
    return {**effect._asdict(), "why": effect.why or None}


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "changes": [{"text": each.text, "changes": "manifest" if each.edits or each.replicas else "nodes"} for each in remedy.changes],
        "solves": remedy.solves,
        "running": remedy.running,
        "replicas": remedy.replicas,
        "notSurvived": [each.what for each in remedy.lost],
        "untilRecovery": remedy.passing,
        "makesPending": [{"workload": key, "pods": number} for key, number in remedy.makes_pending],
    }
