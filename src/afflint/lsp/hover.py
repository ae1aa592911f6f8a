"""What is shown of the place that is pointed at: what a constraint means there, and the findings with the pages of their rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from afflint.findings.finding import Finding
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.text import EditorText, Place


def hover(text: EditorText, place: Place, findings: Iterable[Finding], meant: str | None, *, markdown: bool) -> Any:
    """The contents for a place of a document; None where there is nothing to say. ``meant`` is what stands there, in words."""
    at = text.outside(place)
    parts, span = [meant] if meant else [], None
    for finding in findings:
        start, end = (finding.span.line, finding.span.column), (finding.span.end_line, finding.span.end_column)
        if start <= at <= end:
            span = span or finding.span
            parts.append(_of_finding(finding))
    if not parts:
        return None
    shown = "\n\n---\n\n".join(parts)
    contents = {"kind": "markdown", "value": shown} if markdown else {"kind": "plaintext", "value": _plain(shown)}
    return {"contents": contents} | ({"range": text.of_span(span)} if span is not None else {})


def _of_finding(finding: Finding) -> str:
    from afflint.checks.registry import rules

    if finding.category == "policy":
        return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n(policy {finding.rule})"
    page = rules()[finding.rule].page().split("\n", 1)[1].partition("\n## Examples")[0].strip()
    # Headings as large as those of a document overwhelm the little window.
    page = re.sub(r"(?m)^#+ (.*)$", r"**\1**", page)
    return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n[{finding.rule}]({page_uri(finding.rule)}): {page}"


def _plain(text: str) -> str:
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"\1", text)
