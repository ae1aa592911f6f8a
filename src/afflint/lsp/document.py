"""A document that is open in the editor: its text, its findings, and the positions of these findings after further changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from afflint.findings.finding import FileId, Finding, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import FolderSession
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.protocol import FIRST_PATH, DocumentFindings
from afflint.lsp.project import Project, ProjectState
from afflint.lsp.rendered import RenderedDocument
from afflint.lsp.text import EditorText, Shift, shifted
from afflint.lsp.uris import to_uri
from afflint.pipeline.map_step import DocumentCache, FileResult
from afflint.source.files import read_regular
from afflint.source.sources import Identities, Source, is_in_chart, relative
from afflint.yaml import documents


class _CheckedVersion(NamedTuple):
    """The findings of one version of a document, with the inputs that they depend on."""

    version: int
    known: DocumentFindings | None
    state: ProjectState | None
    setup: FolderSession
    findings: list[Finding]


class ServerDocument:
    """A document that is open in the editor. ``path`` is the path of its file, or a substitute for a document that was never saved."""

    def __init__(self, uri: str, path: str, version: int, text: EditorText, project: Project) -> None:
        self.uri = uri
        self.path = path
        self.identity = Identities().of(Source(path, path))
        self.version = version
        self.text = text
        self.project = project
        self.cost = 0.0
        """The duration of its last check, in seconds."""
        self.is_mirrored = False
        """Whether the indexer has its current version."""
        self._log: list[tuple[int, Sequence[Shift]]] = []
        self._buffer: EditorBuffer | None = None
        self._cache = DocumentCache()
        self._cross_findings: list[Found] = []
        self._findings: _CheckedVersion | None = None
        self.rendered = RenderedDocument(text)

    def change(self, version: int, changes: Any) -> None:
        """Apply the changes of a notification. Raises ValueError, KeyError and TypeError for malformed changes."""
        before = self.text.line_count
        self.is_mirrored = False
        shifts = self.text.change(changes)
        self.version = version
        self._buffer = self._findings = None  # A client may use the number of a version twice.
        self.rendered.change(shifts, self.text)
        if shifts is None:
            shifts = [Shift((0, 0), (before, 0), (0, 0))]  # The whole text was replaced.
        self._log.append((version, shifts))
        self._cross_findings = [_shifted(each, shifts, self.text) for each in self._cross_findings]

    # Findings.

    @property
    def name(self) -> str:
        """The name of the file in reports of a run that starts in the folder of the project."""
        return relative(self.path, self.project.folder)

    @property
    def source(self) -> Source:
        """The current version as a source."""
        return Source(self.name, self.path, self.text.bytes, values=is_in_chart(self.path))

    @property
    def last_findings(self) -> DocumentFindings | None:
        """The result of the last run for this document; None if the run did not include it."""
        state = self.project.state
        return None if state is None else state.documents.get(self.uri)

    @property
    def file(self) -> FileId | None:
        """Its file number in the last run; None if the run did not include it."""
        return None if self.last_findings is None or self.last_findings.place is None else self.last_findings.place.file

    @property
    def is_checked(self) -> bool:
        """Whether the document is checked: an open document may be excluded or ignored."""
        return self.project.is_checked(self.path, self.last_findings)

    def path_of(self, file: FileId) -> str:
        """Return the path of a file that findings of this document refer to."""
        if file <= FIRST_PATH:
            return self.project.rendered.path(file)
        return next((each.path for each in (self.last_findings.places if self.last_findings else ()) if each.file == file), self.path)

    def adopt(self) -> None:
        """Take over the findings of the last run, moved to their positions in the current version."""
        known = self.last_findings
        if known is None or known.place is None:
            return
        self._log = [each for each in self._log if each[0] > known.version]
        if known.across is not None:
            self._cross_findings = list(known.across)
            for _, shifts in self._log:
                self._cross_findings = [_shifted(each, shifts, self.text) for each in self._cross_findings]

    @property
    def buffer(self) -> EditorBuffer:
        """The current version with its result under the current settings."""
        if self._buffer is None or self._buffer.settings != self.project.settings:
            self._buffer = self.project.checked(EditorBuffer(self.path, self.version, self.text.bytes), self._cache)
        return self._buffer

    @property
    def result(self) -> FileResult:
        """The result of the map step for the current version."""
        result = self.buffer.result
        assert result is not None
        return result

    def findings(self) -> list[Finding]:
        """Return the findings in the current version that nothing suppresses: its own, and those across manifests from the last run."""
        if not self.is_checked:
            return []
        shown, known, state, setup = self._findings, self.last_findings, self.project.state, self.project.setup
        rests_on = shown and (shown.known is known and shown.state is state and shown.setup is setup)
        if shown is None or not rests_on or shown.version != self.version:
            result = self.result
            across = [each for each in self._cross_findings if each.document not in result.broken]
            found = self.project.unsuppressed(self.buffer, result, known, across)
            shown = self._findings = _CheckedVersion(self.version, known, state, setup, found)
        return self.rendered.without_replaced(shown.findings)


class _OpenText(Protocol):
    """An open document, in either process."""

    uri: str
    path: str
    text: EditorText


class DocumentTexts:
    """The texts of files, from the editor if they are open, otherwise from disk."""

    def __init__(self, opened: Iterable[_OpenText], encoding: str) -> None:
        self._opened = {each.path: each for each in opened}
        self._encoding = encoding

    def read(self, path: str) -> EditorText:
        """Return the text of a file; an empty text if the file cannot be read."""
        if path in self._opened:
            return self._opened[path].text
        try:
            data = documents.to_utf8(read_regular(path, _LARGEST))
        except (OSError, UnicodeDecodeError):
            data = b""
        return EditorText(data.decode("utf-8", "replace"), self._encoding)

    def uri(self, path: str) -> str:
        """Return the URI of a file, as the editor writes it if the file is open."""
        return self._opened[path].uri if path in self._opened else to_uri(path)


_LARGEST = 64 << 20


def _shifted(found: Found, shifts: Sequence[Shift], text: EditorText) -> Found:
    return found._replace(span=shifted(found.span, shifts, text), edits=(), meant=())
