"""A document that is open in the editor: its text, what was found in it, and where that lies after further changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from afflint.engine import Checker, FileResult
from afflint.findings import FileId, Finding, Found
from afflint.kube.manifests import Manifest, manifests_in
from afflint.lsp.memory import Buffer
from afflint.lsp.project import Project, Setup, State
from afflint.lsp.text import Shift, Text, shifted
from afflint.reading import documents
from afflint.reading.documents import Document
from afflint.reading.sources import Identities, Source, relative
from afflint.records import NamedTuple


class _Shown(NamedTuple):
    """What was found in a version of a document, and what that rests on."""

    version: int
    state: State | None
    setup: Setup
    findings: list[Finding]


class Opened:
    """``path`` is that of the file, or one that stands for a document that is none yet."""

    def __init__(self, uri: str, path: str, version: int, text: Text, project: Project) -> None:
        self.uri = uri
        self.path = path
        self.identity = Identities().of(Source(path, path))
        self.version = version
        self.text = text
        self.project = project
        self.cost = 0.0
        """How many seconds its last check took."""
        self._log: list[tuple[int, Sequence[Shift]]] = []
        self._buffer: Buffer | None = None
        self._across: list[Found] = []
        self._findings: _Shown | None = None
        self._parsed: tuple[int, Parsed] | None = None
        self.adopt()

    def change(self, version: int, changes: Any) -> None:
        """Apply the changes of a notification. Raises ValueError, KeyError, TypeError for what is none."""
        before = self.text.lines
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
    def file(self) -> FileId | None:
        """Its number in the last run; None if that did not see it."""
        state = self.project.state
        return None if state is None else state.gathered.files.numbers.get(self.identity)

    def adopt(self) -> None:
        """Take over what the last run found, in this document as it is now."""
        state, file = self.project.state, self.file
        if state is None or file is None:
            return
        seen = state.buffers.get(self.path)
        since = self.version if seen is None else seen.version
        self._log = [each for each in self._log if each[0] > since]
        result = state.gathered.results.get(file)
        if result is not None and not (seen is not None and result.broken):
            self._across = list(state.gathered.across.get(file, ()))
            for _, shifts in self._log:
                self._across = [_moved(each, shifts, self.text) for each in self._across]

    @property
    def buffer(self) -> Buffer:
        """The document as it is now, checked under the settings of now."""
        if self._buffer is None or self._buffer.settings != self.project.settings:
            self._buffer = self.project.checked(Buffer(self.path, self.version, self.text.bytes))
        return self._buffer

    @property
    def raw_buffer(self) -> Buffer:
        """The same, checked only if it has been."""
        return self._buffer or Buffer(self.path, self.version, self.text.bytes)

    @property
    def result(self) -> FileResult:
        """What the document alone tells."""
        result = self.buffer.result
        assert result is not None
        return result

    def findings(self) -> list[Finding]:
        """The findings that remain in the document as it is now: its own, and those that the last run made of all manifests."""
        if not self.project.takes(self.path):
            return []
        shown, state, setup = self._findings, self.project.state, self.project.setup
        if shown is None or shown.version != self.version or shown.state is not state or shown.setup is not setup:
            result = self.result
            across = [each for each in self._across if each.document not in result.broken]
            found = self.project.remaining(self.buffer, result, self.file, across)
            shown = self._findings = _Shown(self.version, state, setup, found)
        return shown.findings

    # What it says.

    @property
    def parsed(self) -> Parsed:
        """The documents and manifests in it as it is now."""
        if self._parsed is None or self._parsed[0] != self.version:
            self._parsed = self.version, Parsed(self.text.bytes, self.project)
        return self._parsed[1]


class Parsed:
    """The YAML documents of a text that afflint reads, with the manifests in them."""

    def __init__(self, data: bytes, project: Project) -> None:
        self._data = data
        self._settings = project.settings

    @cached_property
    def documents(self) -> list[Document]:
        """Those that can be read."""
        try:
            data = documents.to_utf8(self._data)
        except UnicodeDecodeError:
            return []
        found = Checker(self._settings._replace(rules=())).triage.documents(data, named=True)
        return [each for each in found if each.problem is None and each.data is not None]

    def document(self, line: int) -> Document | None:
        """The one that a line, from 1, lies in."""
        found = None
        for each in self.documents:
            if each.line < line:
                found = each
        return found

    def numbered(self, index: int) -> Document | None:
        """The one with this number."""
        return next((each for each in self.documents if each.index == index), None)

    def manifests(self, document: Document) -> list[Manifest]:
        """The manifests of a document; one with several templates is there once for each."""
        custom = {(kind.group, kind.name): kind for kind in self._settings.custom}
        return list(manifests_in(document, custom))


class Texts(NamedTuple):
    """The texts of files, as the editor has them or as they are on disk."""

    opened: Mapping[str, Opened]
    encoding: str

    def of(self, path: str) -> Text:
        """The text of a file; an empty one if it cannot be had."""
        from afflint.reading.files import read_regular

        for each in self.opened.values():
            if each.path == path:
                return each.text
        try:
            data = documents.to_utf8(read_regular(path, _LARGEST))
        except (OSError, UnicodeDecodeError):
            data = b""
        return Text(data.decode("utf-8", "replace"), self.encoding)

    def uri(self, path: str) -> str:
        """How the editor calls a file."""
        from afflint.lsp.uris import of_path

        return next((each.uri for each in self.opened.values() if each.path == path), None) or of_path(path)


_LARGEST = 64 << 20


def _moved(found: Found, shifts: Sequence[Shift], text: Text) -> Found:
    return found._replace(span=shifted(found.span, shifts, text), edits=(), meant=())
