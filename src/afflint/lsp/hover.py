"""What is shown of the place that is pointed at: the findings there with the pages of their rules, and what a constraint means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from afflint.findings import Finding
from afflint.fleet.facts import Pods
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.meaning import Around, meaning, selectors_of
from afflint.lsp.opened import Opened, Texts
from afflint.lsp.pointing import at, pods_at, reaches_of, selects
from afflint.lsp.text import Place
from afflint.wording import visible


def hover(document: Opened, place: Place, findings: Iterable[Finding], texts: Texts, *, markdown: bool) -> Any:
    """The contents for a place of a document; None where there is nothing to say."""
    line, column = document.text.outside(place)
    parts, span = [], None
    for finding in findings:
        start, end = (finding.span.line, finding.span.column), (finding.span.end_line, finding.span.end_column)
        if start <= (line, column) <= end:
            span = span or finding.span
            parts.append(_of_finding(finding))
    said = _of_constraint(document, line, column, texts)
    if said is not None:
        parts.insert(0, said)
    if not parts:
        return None
    text = "\n\n---\n\n".join(parts)
    contents = {"kind": "markdown", "value": text} if markdown else {"kind": "plaintext", "value": _plain(text)}
    return {"contents": contents} | ({"range": document.text.of_span(span)} if span is not None else {})


def _of_finding(finding: Finding) -> str:
    from afflint.rules import rules

    page = rules()[finding.rule].page().split("\n", 1)[1].partition("\n## Examples")[0].strip()
    # Headings as large as those of a document overwhelm the little window.
    page = re.sub(r"(?m)^#+ (.*)$", r"**\1**", page)
    return f"{finding.severity}: {finding.message}\n\n{finding.help}\n\n[{finding.rule}]({page_uri(finding.rule)}): {page}"


def _of_constraint(document: Opened, line: int, column: int, texts: Texts) -> str | None:
    found = at(document, line, column)
    if found is None:
        return None
    manifest, path = found
    state = document.project.state
    fleet = None if state is None else state.gathered.fleet

    def place(pods: Pods) -> str:
        title = visible(pods.title)
        if state is None:
            return title
        name = state.path(pods.site.file)
        return f"[{title}]({texts.uri(name)})"

    nodes = [] if state is None else state.gathered.nodes
    said = meaning(manifest, path, reaches_of(document, manifest), Around(fleet, nodes, place))
    if said is not None:
        return f"{visible(manifest.title())} {said[1]}"
    pods = pods_at(document, manifest, path)
    if not pods or fleet is None:
        return None
    return selectors_of([each for each in fleet.reaches if selects(each, pods[0])], pods[0])


def _plain(text: str) -> str:
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"\1", text)
