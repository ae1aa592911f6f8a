"""Which diagnostics the client shows: published when they change, or pulled by the client."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from afflint.findings.finding import Finding
from afflint.lsp import settings as client_settings
from afflint.lsp.capabilities import UNOPENED
from afflint.lsp.client_connection import WARNING, ClientConnection
from afflint.lsp.diagnostics import TOO_LARGE, configuration_diagnostics, diagnostics, too_large_diagnostic, unopened_diagnostics
from afflint.lsp.document import ServerDocument
from afflint.lsp.editor_state import EditorState
from afflint.lsp.uris import to_path

_QUICK, _LONGEST_WAIT = 0.04, 0.3
"""A document that takes longer to check, in seconds, is only checked after a pause of twice that time, at most the second value."""


class Publication:
    """The diagnostics in the editor. ``due`` has the documents to be checked, by URI, with the time of the check."""

    def __init__(self, client: ClientConnection, editor: EditorState) -> None:
        self._client = client
        self._editor = editor
        self._shown: dict[str, Any] = {}
        """The diagnostics that were last published, by URI."""
        self.due: dict[str, float] = {}

    @property
    def handlers(self) -> dict[str, Callable[[Any], Any]]:
        """The handler of each request, by method."""
        return {"textDocument/diagnostic": self._pull, "workspace/diagnostic": self._pull_all}

    # When.

    def show_all(self) -> None:
        """Show the current findings wherever they may have changed."""
        editor = self._editor
        if editor.client.pulls:
            self._client.request("workspace/diagnostic/refresh", None)
            return
        for document in editor.all_opened():
            self.show_soon(document)
        results = dict(self._unopened()) if editor.settings.diagnostics == "workspace" else {}
        for uri, items in results.items():
            self._publish(uri, items, None)
        for uri in [uri for uri in self._shown if uri not in results and editor.opened(uri) is None and uri not in editor.too_large]:
            self._publish(uri, [], None)

    def show_soon(self, document: ServerDocument) -> None:
        """Show the current findings of a document as soon as no message is waiting."""
        if self._editor.client.pulls:
            self._client.request("workspace/diagnostic/refresh", None)
        else:
            self.due.setdefault(document.uri, time.monotonic())

    def show_after_change(self, document: ServerDocument) -> None:
        """Show the findings of a document that has changed: at once, or after a pause if it takes long to check."""
        wait = min(2 * document.cost, _LONGEST_WAIT) if document.cost > _QUICK else 0.0
        self.due[document.uri] = time.monotonic() + wait

    def show_due(self, is_interrupted: Callable[[], bool]) -> bool:
        """Show the documents that are due. Returns False if a message interrupts that."""
        now = time.monotonic()
        for uri in [uri for uri, when in self.due.items() if when <= now]:
            del self.due[uri]
            document = self._editor.opened(uri)
            if document is not None and not self._editor.client.pulls:
                started = time.monotonic()
                items = self._diagnostics_of(document)
                document.cost = time.monotonic() - started
                self._publish(document.uri, items, document.version)
            if is_interrupted():
                return False
        return True

    def leave_unchecked(self, uri: str) -> None:
        """Treat an open document as a file that is not open, with a note at its first line."""
        self._editor.too_large.add(uri)
        self._client.log([f"{uri}: {TOO_LARGE}"], WARNING)
        if not self._editor.client.pulls:
            self._publish(uri, [too_large_diagnostic()], None)

    def clear(self, uri: str) -> None:
        """Remove the diagnostics of a document that has been closed, unless those of all files are shown."""
        if not self._editor.client.pulls and self._editor.settings.diagnostics == "open":
            self._publish(uri, [], None)
            self._shown.pop(uri, None)

    def _publish(self, uri: str, items: list[dict[str, Any]], version: int | None) -> None:
        shown = (items, version)
        if self._shown.get(uri, ([], None) if version is None else None) != shown:
            self._shown[uri] = shown
            params = {"uri": uri, "diagnostics": items} | ({} if version is None else {"version": version})
            self._client.notify("textDocument/publishDiagnostics", params)

    # What.

    def findings_of(self, document: ServerDocument) -> list[Finding]:
        """Return the findings in the text of a document, without those that another language server reports."""
        return self._without_left_out(document.findings())

    def _diagnostics_of(self, document: ServerDocument) -> list[dict[str, Any]]:
        problems = [each for each in document.project.setup.problems if os.path.abspath(each.file) == document.path]
        own = [] if document.uri in self._editor.templates else document.findings()
        findings = self._without_left_out([*own, *document.rendered.findings])
        shown = diagnostics(findings, document.text, self._editor.texts, document.path_of)
        return configuration_diagnostics(problems, document.text) + shown

    def _without_left_out(self, findings: list[Finding]) -> list[Finding]:
        left_out = client_settings.left_out(self._editor.settings)
        return [each for each in findings if each.rule not in left_out] if left_out else findings

    def _unopened(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the diagnostics of the files that are not open."""
        opened = {document.path for document in self._editor.all_opened()}
        for project in self._editor.projects.values():
            shown = unopened_diagnostics(project.unopened, project.rendered, self._editor.texts, self._without_left_out)
            yield from ((uri, items) for uri, items in shown if to_path(uri) not in opened)

    # Pulled by the client.

    def _pull(self, params: Any) -> Any:
        uri = params["textDocument"]["uri"]
        items: list[dict[str, Any]] = []
        if params.get("identifier") != UNOPENED:
            document = self._editor.opened(uri)
            if document is not None:
                items = self._diagnostics_of(document)
            elif uri in self._editor.too_large:
                items = [too_large_diagnostic()]
        return _report(items, params.get("previousResultId"))

    def _pull_all(self, params: Any) -> Any:
        before = {each["uri"]: each["value"] for each in params.get("previousResultIds") or ()}
        reports = []
        results: dict[str, tuple[list[dict[str, Any]], int | None]] = {}
        if params.get("identifier") != UNOPENED:
            results = {each.uri: (self._diagnostics_of(each), each.version) for each in self._editor.all_opened()}
            results |= {uri: ([too_large_diagnostic()], None) for uri in self._editor.too_large}
        if self._editor.settings.diagnostics == "workspace":
            results |= {uri: (items, None) for uri, items in self._unopened()}
        for uri in dict.fromkeys((*results, *before)):
            items, version = results.get(uri, ([], None))
            if items or uri in before or version is not None:
                reports.append({"uri": uri, "version": version, **_report(items, before.get(uri))})
        return {"items": reports}


def _report(items: list[dict[str, Any]], before: Any) -> dict[str, Any]:
    """Return a report of the pull model: "unchanged" if the items are those of the previous report."""
    from zlib import crc32

    number = f"{crc32(json.dumps(items, sort_keys=True).encode()):08x}"
    return {"kind": "unchanged", "resultId": number} if number == before else {"kind": "full", "resultId": number, "items": items}
