"""The requests that need only one document to answer: hover, links and code actions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from afflint.findings.finding import Finding, Span
from afflint.lsp.diagnostics import page_uri
from afflint.lsp.document import ServerDocument
from afflint.lsp.editor_state import EditorState
from afflint.lsp.text import EditorText

_SUPPRESSION = re.compile(r"#[ \t]*afflint:[ \t]*ignore[a-z-]*[ \t]*\[([^\]]*)\]")
_WORD = re.compile(r"[^\s,]+")


class DocumentRequests:
    """Answers requests about open documents. ``shown`` returns the findings that are shown in a document."""

    def __init__(self, editor: EditorState, shown: Callable[[ServerDocument], list[Finding]]) -> None:
        self._editor = editor
        self._shown = shown

    @property
    def handlers(self) -> dict[str, Callable[[Any], Any]]:
        """The handler of each request, by method."""
        return {
            "textDocument/documentLink": self._links,
            "textDocument/codeAction": self._actions,
            "codeAction/resolve": self._resolve_action,
        }

    def document(self, params: Any) -> ServerDocument | None:
        """Return the document of a request; None if it is not open or not checked."""
        document = self._editor.documents.get(params["textDocument"]["uri"])
        return document if document is not None and document.is_checked else None

    def hover(self, document: ServerDocument, params: Any, explanation: str | None) -> Any:
        """Return a hover with the findings at its position; None without any. ``explanation`` is that of the constraint there."""
        at = document.text.position_of(document.text.from_lsp(params["position"]))
        parts, span = [explanation] if explanation else [], None
        for finding in (*self._shown(document), *document.rendered.findings):
            start, end = (finding.span.line, finding.span.column), (finding.span.end_line, finding.span.end_column)
            if start <= at <= end:
                span = span or finding.span
                parts.append(_finding_text(finding))
        if not parts:
            return None
        text = "\n\n---\n\n".join(parts)
        markdown = self._editor.client.markdown
        contents = {"kind": "markdown", "value": text} if markdown else {"kind": "plaintext", "value": _plain(text)}
        return {"contents": contents} | ({"range": document.text.range_of(span)} if span is not None else {})

    def _links(self, params: Any) -> Any:
        from afflint.checks.registry import rules

        document = self.document(params)
        if document is None:
            return []
        return [
            {"range": document.text.range_of(span), "target": page_uri(rule), "tooltip": rules()[rule].summary()}
            for span, rule in _links_in(document.text, rules())
        ]

    def _actions(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        document = self.document(params)
        if document is None:
            return []
        start, end = document.text.from_lsp(params["range"]["start"]), document.text.from_lsp(params["range"]["end"])
        only = (params.get("context") or {}).get("only") or ()
        return Actions(document, self._shown(document), self._editor.client).at(start, end, only)

    def _resolve_action(self, params: Any) -> Any:
        from afflint.lsp.actions import Actions

        data = params.get("data")
        document = self._editor.documents.get(data["uri"]) if data and "edit" not in params else None
        return params if document is None else Actions(document, self._shown(document), self._editor.client).resolve(params)


def _links_in(text: EditorText, known: Iterable[str]) -> Iterator[tuple[Span, str]]:
    """Yield the positions of known rule names in suppressions, which link to the pages of the rules, with the names."""
    names = frozenset(known)
    for number in range(text.line_count):
        line = text.line(number)
        if "afflint:" not in line:
            continue
        for match in _SUPPRESSION.finditer(line):
            for word in _WORD.finditer(match[1]):
                if word[0] in names:
                    start, end = match.start(1) + word.start(), match.start(1) + word.end()
                    yield Span(*text.position_of((number, start)), *text.position_of((number, end))), word[0]


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
