"""A document that is open in the editor, as the second process knows it: what it says, to be held against all manifests."""

from __future__ import annotations

from functools import cached_property

from afflint.findings.finding import FileId
from afflint.kube.manifests import Manifest
from afflint.lsp.indexer.workspace import Workspace
from afflint.lsp.text import EditorText
from afflint.pipeline.map_step import Checker, MapSettings
from afflint.source.sources import Identities, Source
from afflint.yaml import documents
from afflint.yaml.documents import Document


class IndexedDocument:
    """``path`` is that of the file, or one that stands for a document that is none yet; ``first`` the first version that was seen."""

    def __init__(self, uri: str, path: str, version: int, text: EditorText, overview: Workspace) -> None:
        self.uri = uri
        self.path = path
        self.identity = Identities().of(Source(path, path))
        self.first = self.version = version
        self.text = text
        self.overview = overview
        self._parsed: tuple[EditorText, MapSettings, ParsedText] | None = None

    @property
    def file(self) -> FileId | None:
        """Its number in the last run; None if that did not see it."""
        state = self.overview.state
        return None if state is None else state.gathered.files.numbers.get(self.identity)

    @property
    def parsed(self) -> ParsedText:
        """The documents and manifests in it."""
        settings = self.overview.settings
        if self._parsed is None or self._parsed[0] is not self.text or self._parsed[1] is not settings:
            self._parsed = self.text, settings, ParsedText(self.text.bytes, settings)
        return self._parsed[2]


class ParsedText:
    """The YAML documents of a text that afflint reads, with the manifests in them."""

    def __init__(self, data: bytes, settings: MapSettings) -> None:
        self._data = data
        self._checker = Checker(settings._replace(rules=()))

    @cached_property
    def documents(self) -> list[Document]:
        """Those that can be read."""
        try:
            data = documents.to_utf8(self._data)
        except UnicodeDecodeError:
            return []
        found = self._checker.triage.documents(data, named=True)
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
        return self._checker.manifests(document)
