"""Hover texts: the explanation of a constraint, and the findings with the pages of their rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from afflint.findings.finding import Finding
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.text import EditorText, Place


def hover(text: EditorText, place: Place, findings: Iterable[Finding], explanation: str | None, *, markdown: bool) -> Any:
    """Return the hover for a place in a document; None if it has no content. ``explanation`` is that of the constraint there."""
    at = text.position_of(place)
    parts, span = [explanation] if explanation else [], None
    for finding in findings:
        start, end = (finding.span.line, finding.span.column), (finding.span.end_line, finding.span.end_column)
        if start <= at <= end:
            span = span or finding.span
            parts.append(_finding_text(finding))
    if not parts:
        return None
    shown = "\n\n---\n\n".join(parts)
    contents = {"kind": "markdown", "value": shown} if markdown else {"kind": "plaintext", "value": _plain(shown)}
    return {"contents": contents} | ({"range": text.range_of(span)} if span is not None else {})


def _finding_text(finding: Finding) -> str:
    from afflint.checks.registry import rules

    if finding.category == "policy":
        return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n(policy {finding.rule})"
    page = rules()[finding.rule].page().split("\n", 1)[1].partition("\n## Examples")[0].strip()
    # Headings are too large for a hover window.
    page = re.sub(r"(?m)^#+ (.*)$", r"**\1**", page)
    return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n[{finding.rule}]({page_uri(finding.rule)}): {page}"


def _plain(text: str) -> str:
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"\1", text)
