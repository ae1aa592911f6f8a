"""Findings as diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from afflint.config import ConfigProblem
from afflint.findings import Finding
from afflint.lsp.opened import Texts
from afflint.lsp.project import State
from afflint.lsp.text import Text
from afflint.lsp.uris import of_path

SOURCE = "afflint"
_SEVERITIES = {"error": 1, "warning": 2, "info": 3}
_UNNECESSARY = 1


def diagnostics(findings: Iterable[Finding], text: Text, texts: Texts, state: State | None) -> list[dict[str, Any]]:
    """The findings in one text, in its order."""
    ordered = sorted(findings, key=lambda each: (each.span, each.rule, each.message))
    return [_diagnostic(each, text, texts, state) for each in ordered]


def _diagnostic(finding: Finding, text: Text, texts: Texts, state: State | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "range": text.of_span(finding.span),
        "severity": _SEVERITIES[finding.severity],
        "code": finding.rule,
        "codeDescription": {"href": page_uri(finding.rule)},
        "source": SOURCE,
        "message": finding.message,
    }
    if finding.rule == "unused-suppression":
        found["tags"] = [_UNNECESSARY]
    if finding.related and state is not None:
        places = [(state.path(each.source), each) for each in finding.related]
        found["relatedInformation"] = [
            {"location": {"uri": texts.uri(path), "range": texts.of(path).of_span(each.span)}, "message": each.message}
            for path, each in places
        ]
    return found


def of_configuration(problems: Iterable[ConfigProblem], text: Text) -> list[dict[str, Any]]:
    """The mistakes in a configuration that is open."""
    return [
        {"range": text.of_span(each.span), "severity": 1, "code": "configuration", "source": SOURCE, "message": each.message}
        for each in problems
    ]


def page_uri(rule: str) -> str:
    """The page of a rule, which comes with afflint."""
    from afflint.rules import rules

    return of_path(rules()[rule].path)
