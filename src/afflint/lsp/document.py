"""A document that is open in the editor: its text, what was found in it, and where that lies after further changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from afflint.findings.finding import FileId, Finding, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import FolderSession
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.protocol import DocumentFindings
from afflint.lsp.project import Project, ProjectState
from afflint.lsp.text import EditorText, Shift, shifted
from afflint.pipeline.map_step import DocumentCache, FileResult
from afflint.source.sources import Identities, Source, is_in_chart, relative
from afflint.yaml import documents


class _CheckedVersion(NamedTuple):
    """What was found in a version of a document, and what that rests on."""

    version: int
    known: DocumentFindings | None
    state: ProjectState | None
    setup: FolderSession
    findings: list[Finding]


class ServerDocument:
    """``path`` is that of the file, or one that stands for a document that is none yet."""

    def __init__(self, uri: str, path: str, version: int, text: EditorText, project: Project) -> None:
        self.uri = uri
        self.path = path
        self.identity = Identities().of(Source(path, path))
        self.version = version
        self.text = text
        self.project = project
        self.cost = 0.0
        """How many seconds its last check took."""
        self.is_mirrored = False
        """Whether the second process has it as it is now."""
        self._log: list[tuple[int, Sequence[Shift]]] = []
        self._buffer: EditorBuffer | None = None
        self._kept = DocumentCache()
        self._across: list[Found] = []
        self._findings: _CheckedVersion | None = None

    def change(self, version: int, changes: Any) -> None:
        """Apply the changes of a notification. Raises ValueError, KeyError, TypeError for what is none."""
        before = self.text.lines
        self.is_mirrored = False
        shifts = self.text.change(changes)
        self.version = version
        self._buffer = None
        if shifts is None:
            shifts = [Shift((0, 0), (before, 0), (0, 0))]  # All of it is new.
        self._log.append((version, shifts))
        self._across = [_moved(each, shifts, self.text) for each in self._across]

    # What is found.

    @property
    def name(self) -> str:
        """How a run that was started in its project would call it."""
        return relative(self.path, self.project.folder)

    @property
    def source(self) -> Source:
        """It as a source, as it is now."""
        return Source(self.name, self.path, self.text.bytes, values=is_in_chart(self.path))

    @property
    def known(self) -> DocumentFindings | None:
        """What the last run said about it; None if that did not see it."""
        state = self.project.state
        return None if state is None else state.documents.get(self.uri)

    @property
    def file(self) -> FileId | None:
        """Its number in the last run; None if that did not see it."""
        return None if self.known is None or self.known.place is None else self.known.place.file

    @property
    def is_taken(self) -> bool:
        """Whether it is one to check: what is excluded or ignored is not, though it is open."""
        return self.project.takes(self.path, self.known)

    def path_of(self, file: FileId) -> str:
        """Where a file lies that what was found in it points to."""
        return next((each.path for each in (self.known.places if self.known else ()) if each.file == file), self.path)

    def adopt(self) -> None:
        """Take over what the last run found, in this document as it is now."""
        known = self.known
        if known is None or known.place is None:
            return
        self._log = [each for each in self._log if each[0] > known.version]
        if known.across is not None:
            self._across = list(known.across)
            for _, shifts in self._log:
                self._across = [_moved(each, shifts, self.text) for each in self._across]

    @property
    def buffer(self) -> EditorBuffer:
        """The document as it is now, checked under the settings of now."""
        if self._buffer is None or self._buffer.settings != self.project.settings:
            self._buffer = self.project.checked(EditorBuffer(self.path, self.version, self.text.bytes), self._kept)
        return self._buffer

    @property
    def result(self) -> FileResult:
        """What the document alone tells."""
        result = self.buffer.result
        assert result is not None
        return result

    def findings(self) -> list[Finding]:
        """The findings that remain in the document as it is now: its own, and those that the last run made of all manifests."""
        if not self.is_taken:
            return []
        shown, known, state, setup = self._findings, self.known, self.project.state, self.project.setup
        rests_on = shown and (shown.known is known and shown.state is state and shown.setup is setup)
        if shown is None or not rests_on or shown.version != self.version:
            result = self.result
            across = [each for each in self._across if each.document not in result.broken]
            found = self.project.remaining(self.buffer, result, known, across)
            shown = self._findings = _CheckedVersion(self.version, known, state, setup, found)
        return shown.findings


class _OpenText(Protocol):
    """A document that is open, in either process."""

    uri: str
    path: str
    text: EditorText


class DocumentTexts:
    """The texts of files, as the editor has them or as they are on disk."""

    def __init__(self, opened: Iterable[_OpenText], encoding: str) -> None:
        self._opened = {each.path: each for each in opened}
        self._encoding = encoding

    def of(self, path: str) -> EditorText:
        """The text of a file; an empty one if it cannot be had."""
        from afflint.source.files import read_regular

        if path in self._opened:
            return self._opened[path].text
        try:
            data = documents.to_utf8(read_regular(path, _LARGEST))
        except (OSError, UnicodeDecodeError):
            data = b""
        return EditorText(data.decode("utf-8", "replace"), self._encoding)

    def uri(self, path: str) -> str:
        """How the editor calls a file."""
        from afflint.lsp.uris import of_path

        return self._opened[path].uri if path in self._opened else of_path(path)


_LARGEST = 64 << 20


def _moved(found: Found, shifts: Sequence[Shift], text: EditorText) -> Found:
    return found._replace(span=shifted(found.span, shifts, text), edits=(), meant=())
