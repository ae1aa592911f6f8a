"""Findings as diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from afflint.config import ConfigProblem
from afflint.findings.finding import FileId, Finding
from afflint.lsp.capabilities import SOURCE
from afflint.lsp.document import DocumentTexts
from afflint.lsp.text import EditorText
from afflint.lsp.uris import of_path

_SEVERITIES = {"error": 1, "warning": 2, "info": 3}
_UNNECESSARY = 1


def diagnostics(findings: Iterable[Finding], text: EditorText, texts: DocumentTexts, path: Callable[[FileId], str]) -> list[dict[str, Any]]:
    """The findings in one text, in its order; ``path`` tells where a file lies that they point to."""
    ordered = sorted(findings, key=lambda each: (each.span, each.rule, each.message))
    return [_diagnostic(each, text, texts, path) for each in ordered]


def _diagnostic(finding: Finding, text: EditorText, texts: DocumentTexts, path: Callable[[FileId], str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "range": text.of_span(finding.span),
        "severity": _SEVERITIES[finding.severity],
        "code": finding.rule,
        "source": SOURCE,
        "message": finding.message,
    }
    if finding.category != "policy":
        found["codeDescription"] = {"href": page_uri(finding.rule)}
    if finding.rule == "unused-suppression":
        found["tags"] = [_UNNECESSARY]
    if finding.related:
        places = [(path(each.source), each) for each in finding.related]
        found["relatedInformation"] = [
            {"location": {"uri": texts.uri(where), "range": texts.of(where).of_span(each.span)}, "message": each.message}
            for where, each in places
        ]
    return found


def of_configuration(problems: Iterable[ConfigProblem], text: EditorText) -> list[dict[str, Any]]:
    """The mistakes in a configuration that is open."""
    return [
        {"range": text.of_span(each.span), "severity": 1, "code": "configuration", "source": SOURCE, "message": each.message}
        for each in problems
    ]


TOO_LARGE = "larger than 1 MB, so it is not checked while it is open; run `afflint check` on it"


def too_large() -> dict[str, Any]:
    """What an open document shows that is too large to be checked."""
    start = {"line": 0, "character": 0}
    return {
        "range": {"start": start, "end": start},
        "severity": _SEVERITIES["info"],
        "code": "too-large",
        "source": SOURCE,
        "message": TOO_LARGE,
    }


def page_uri(rule: str) -> str:
    """The page of a rule, which comes with afflint. Policies have none."""
    from afflint.checks.registry import rules

    return of_path(rules()[rule].path)
