"""Code actions: fixes of one or many findings, and the comment that suppresses one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from afflint.findings.finding import Finding
from afflint.findings.phrases import quoted
from afflint.fix.rounds import fix_text, is_safe
from afflint.lsp.capabilities import FIX_ALL, Client
from afflint.lsp.document import ServerDocument
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.text import EditorText, Place
from afflint.pipeline.fixing import apply_fixes
from afflint.pipeline.map_step import DocumentCache
from afflint.source.sources import Source

QUICK_FIX = "quickfix"
_MOST = 20
"""At most this many findings of a range get actions: each fix is tried before it is offered."""
_LONGEST_TITLE = 100
_IGNORE = re.compile(r"(#[ \t]*afflint:[ \t]*ignore[ \t]*\[[^\]]*[^\],\s])[ \t]*\]")
_REASON = "TODO: say why"


class Actions:
    """The code actions for the current version of a document. ``findings`` are the shown ones."""

    def __init__(self, document: ServerDocument, findings: Sequence[Finding], client: Client) -> None:
        self._document = document
        self._findings = findings
        self._client = client

    def at(self, start: Place, end: Place, only: Collection[str]) -> list[dict[str, Any]]:
        """Return the actions for a range, of the requested kinds; of all kinds if ``only`` is empty."""
        actions: list[dict[str, Any]] = []
        here = [each for each in self._findings if self._overlaps(each, start, end)][:_MOST]
        if _is_wanted(QUICK_FIX, only):
            for finding in here:
                actions += self._fix(finding)
            for rule in dict.fromkeys(finding.rule for finding in here if finding.fix):
                number = sum(each.rule == rule and each.fix is not None for each in self._findings)
                if number > 1:
                    actions.append(self._document_action(f"Fix all {number} findings of {quoted(rule)} in this file", QUICK_FIX, rule))
            for finding in here:
                actions += self._ignore(finding)
        safe = [each for each in self._findings if is_safe(each)]
        # Without a kind the client shows a menu, which has the action for the whole file only if it changes something.
        if _is_wanted(FIX_ALL, only) and (safe or only):
            actions.append(self._document_action(f"Apply all {len(safe)} safe fixes of afflint", FIX_ALL, None))
        return actions

    def _overlaps(self, finding: Finding, start: Place, end: Place) -> bool:
        text = self._document.text
        span = finding.span
        return text.place_of((span.line, span.column)) <= end and start <= text.place_of((span.end_line, span.end_column))

    # Fixes.

    def _fix(self, finding: Finding) -> Iterator[dict[str, Any]]:
        if finding.fix is None:
            return
        document = self._document
        fixed = apply_fixes(document.source.known_as, document.buffer.data, [finding], document.project.fix_checker)
        if not fixed.made:
            return
        title = finding.help if len(finding.help) <= _LONGEST_TITLE else f"Fix {quoted(finding.rule)}"
        unsafe = "" if finding.fix.safe else "; may change the meaning of the manifest"
        yield {
            **self._action(f"{title.rstrip('.')} ({finding.rule}{unsafe})", QUICK_FIX),
            "diagnostics": [self._diagnostic(finding)],
            "isPreferred": finding.fix.safe,
            "edit": self._edit(edits(document.text, fixed.data)),
        }

    def _document_action(self, title: str, kind: str, rule: str | None) -> dict[str, Any]:
        """Return an action for the whole document, with its edit unless the client resolves that later."""
        # Without null values: some clients drop them when they return the action.
        action = self._action(title, kind) | {"data": {"uri": self._document.uri, "rule": rule or ""}}
        return action if self._client.resolves_edits else self.resolve(action)

    def resolve(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return an action with its edit: all safe fixes of the document, or all fixes of one rule."""
        rule = action["data"].get("rule")
        wanted: Callable[[Finding], bool] = (lambda finding: finding.rule == rule) if rule else is_safe
        return action | {"edit": self._edit(edits(self._document.text, self._apply_in_rounds(wanted)))}

    def _apply_in_rounds(self, wanted: Callable[[Finding], bool]) -> bytes:
        """Apply the wanted fixes in rounds: a later round applies fixes that overlapped, or that became possible."""
        document, project, shown = self._document, self._document.project, self._findings
        cache = DocumentCache()

        def check(source: Source) -> Sequence[Finding]:
            if source.data == document.buffer.data:
                return shown
            buffer = project.checked(EditorBuffer(document.path, document.version, source.data or b""), cache)
            assert buffer.result is not None
            # Findings across manifests appear after the next run.
            return project.unsuppressed(buffer, buffer.result, document.last_findings, ())

        return fix_text(document.source, check, wanted, project.fix_checker)

    # Suppressions.

    def _ignore(self, finding: Finding) -> Iterator[dict[str, Any]]:
        """Yield the action that adds a suppression comment, if a comment is possible and suppresses the finding."""
        document = self._document
        if finding.rule in document.project.setup.session.options().mandatory:
            return
        if str(document.text).lstrip("\ufeff \t\r\n").startswith(("{", "[")):
            return  # JSON has no comments.
        for line, start, end, text, below in _comments(document.text, finding):
            changed = EditorText(str(document.text), self._client.encoding)
            changed.replace((line, start), (line, end), text)
            buffer = document.project.checked(EditorBuffer(document.path, document.version, changed.bytes))
            result, before = buffer.result, document.result
            assert result is not None
            place = finding.span.line + below, finding.span.column
            invalid = [sum(each.rule == "invalid-suppression" for each in one.found) for one in (before, result)]
            if (
                result.broken == before.broken
                and invalid[0] == invalid[1]
                and any(finding.rule in each.rules and each.covers(place) for each in result.suppressions)
            ):
                change = {
                    "range": {"start": document.text.to_lsp((line, start)), "end": document.text.to_lsp((line, end))},
                    "newText": text,
                }
                title = f"Ignore {quoted(finding.rule)} here, with a reason"
                yield {**self._action(title, QUICK_FIX), "diagnostics": [self._diagnostic(finding)], "edit": self._edit([change])}
                return

    # LSP values.

    def _action(self, title: str, kind: str) -> dict[str, Any]:
        return {"title": title, "kind": kind}

    def _diagnostic(self, finding: Finding) -> dict[str, Any]:
        severity = ("error", "warning", "info").index(finding.severity) + 1
        span = self._document.text.range_of(finding.span)
        return {"range": span, "severity": severity, "code": finding.rule, "source": "afflint", "message": finding.message}

    def _edit(self, changes: list[dict[str, Any]]) -> dict[str, Any]:
        document = self._document
        if not self._client.versions_edits:
            return {"changes": {document.uri: changes}}
        return {"documentChanges": [{"textDocument": {"uri": document.uri, "version": document.version}, "edits": changes}]}


def edits(text: EditorText, after: bytes) -> list[dict[str, Any]]:
    """Return the edits from a text to the text ``after``: whole lines, or the changed part of one line."""
    import difflib

    new = EditorText(after.decode("utf-8", "surrogatepass"), "utf-32")
    old_lines, new_lines = text.raw_lines, new.raw_lines
    first, after_count = _common_ends(old_lines, new_lines)
    old, added = old_lines[first : len(old_lines) - after_count], new_lines[first : len(new_lines) - after_count]
    changes = []
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, added, autojunk=False).get_opcodes():
        if tag != "equal":
            changes.append(_line_edit(text, first + start, old[start:end], added[new_start:new_end]))
    return changes


def _line_edit(text: EditorText, line: int, old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    """Return one edit; of a single line only the changed part, so that the cursor keeps its place."""
    before, after = "".join(old), "".join(new)
    start, end = (line, 0), (line + len(old), 0)
    if len(old) == len(new) == 1:
        head, tail = _common_ends(before, after)
        start, end = (line, head), (line, len(before) - tail)
        after = after[head : len(after) - tail]
    elif line + len(old) >= text.line_count:
        # The last line has no line break, so that no line begins after it.
        end = (line + len(old) - 1, len(old[-1])) if old else start
    return {"range": {"start": text.to_lsp(start), "end": text.to_lsp(end)}, "newText": after}


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the lengths of the common prefix, and of the common suffix after it."""
    most = min(len(old), len(new))
    head = next((index for index in range(most) if old[index] != new[index]), most)
    most -= head
    return head, next((index for index in range(most) if old[-1 - index] != new[-1 - index]), most)


def _comments(text: EditorText, finding: Finding) -> Iterator[tuple[int, int, int, str, int]]:
    """Yield where a suppression can be written: line, columns, text, and the number of lines added above the finding."""
    line = text.place_of((finding.span.line, 1))[0]
    for number in (line, line - 1):
        match = _IGNORE.search(text.line(number)) if number >= 0 else None
        if match is not None:
            yield number, match.end(1), match.end(1), f", {finding.rule}", 0
    written = text.line(line)
    comment = f"# afflint: ignore[{finding.rule}] -- {_REASON}"
    indent = written[: len(written) - len(written.lstrip())]
    begin = 1 if line == 0 and text.has_bom else 0
    yield line, begin, begin, f"{indent.lstrip(chr(0xFEFF))}{comment}{text.line_break}", 1
    yield line, len(written), len(written), f"  {comment}", 0


def _is_wanted(kind: str, only: Iterable[str]) -> bool:
    """Return whether a kind of action is requested, by itself or by a parent kind."""
    wanted = list(only)
    return not wanted or any(kind == each or kind.startswith(f"{each}.") for each in wanted)
