"""The findings of the last render in the files of a folder, and in an open document, whose text changes meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from afflint.findings.finding import FileId, Finding, Identity, identity_of
from afflint.lsp.indexer.protocol import FIRST_PATH, RenderedFile, RenderEnded, content_checksum
from afflint.lsp.text import EditorText, Shift, shifted

_NO_FILE = RenderedFile("", "", (), ())


class RenderedFolder:
    """The result of the last render of a folder; empty before the first one."""

    def __init__(self, ended: RenderEnded | None = None) -> None:
        self._files = {} if ended is None else {each.path: each for each in ended.files}
        self._paths = () if ended is None else ended.paths

    def file(self, path: str) -> RenderedFile:
        """Return what rendering changes in a file."""
        return self._files.get(path, _NO_FILE)

    def path(self, file: FileId) -> str:
        """Return the path of a file that the findings refer to."""
        return self._paths[FIRST_PATH - file]

    @property
    def files(self) -> Collection[RenderedFile]:
        """All files in which rendering changes the findings."""
        return self._files.values()


class RenderedDocument:
    """The findings of the last render in an open document, at their positions in its current text.

    The renderer reads the file on disk. ``_saved`` is the checksum of the text that was last opened or saved, ``_shifts`` are the changes
    since, None if they are unknown.
    """

    def __init__(self, text: EditorText) -> None:
        self.findings: list[Finding] = []
        self.replaced: frozenset[Identity] = frozenset()
        """The findings of the document itself that rendering replaces."""
        self._saved = content_checksum(text.bytes)
        self._shifts: list[Shift] | None = []

    def change(self, shifts: Sequence[Shift] | None, text: EditorText) -> None:
        """Move the findings with the text; None for a text that was replaced as a whole. A finding in a changed range is dropped."""
        if shifts is None:
            self._shifts, self.findings = None, []
            return
        if self._shifts is not None:
            self._shifts += shifts
        self.findings = _moved(self.findings, shifts, text)

    def save(self, text: EditorText) -> None:
        """Take note that the current text is on disk."""
        self._saved, self._shifts = content_checksum(text.bytes), []

    def adopt(self, file: RenderedFile, text: EditorText) -> None:
        """Take over the result of a render for the file; it is of no use if the file has another content than the document had."""
        if file.content and content_checksum(text.bytes) == file.content:
            self.save(text)
        is_known = bool(file.content) and self._saved == file.content and self._shifts is not None
        self.findings = _moved(file.added, self._shifts or (), text) if is_known else []
        self.replaced = frozenset(each.identity for each in file.replaced)

    def without_replaced(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings of the document that rendering does not replace."""
        return [each for each in findings if identity_of(each) not in self.replaced] if self.replaced else findings


def _moved(findings: Sequence[Finding], shifts: Sequence[Shift], text: EditorText) -> list[Finding]:
    """Return findings after changes, without those that a change touches."""
    kept = list(findings)
    for shift in shifts:
        kept = [each for each in kept if not _is_touched(each, shift, text)]
        kept = [each._replace(span=shifted(each.span, [shift], text)) for each in kept]
    return kept


def _is_touched(finding: Finding, shift: Shift, text: EditorText) -> bool:
    span = finding.span
    start, end = text.place_of((span.line, span.column)), text.place_of((span.end_line, span.end_column))
    return shift.start < end and start < shift.end if shift.start != shift.end else start < shift.start < end
