"""An open document in the indexer: its parsed text, for requests that need all manifests."""

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
    """An open document in the indexer.

    ``path`` is the path of its file, or a substitute for a document that was never saved. ``first`` is the first version that the indexer
    received.
    """

    def __init__(self, uri: str, path: str, version: int, text: EditorText, workspace: Workspace) -> None:
        self.uri = uri
        self.path = path
        self.identity = Identities().of(Source(path, path))
        self.first = self.version = version
        self.text = text
        self.workspace = workspace
        self._parsed: tuple[EditorText, MapSettings, ParsedText] | None = None

    @property
    def file(self) -> FileId | None:
        """Its file number in the last run; None if the run did not include it."""
        state = self.workspace.state
        return None if state is None else state.reduced.files.numbers.get(self.identity)

    @property
    def parsed(self) -> ParsedText:
        """The documents and manifests in its current version."""
        settings = self.workspace.settings
        if self._parsed is None or self._parsed[0] is not self.text or self._parsed[1] is not settings:
            self._parsed = self.text, settings, ParsedText(self.text.bytes, settings)
        return self._parsed[2]


class ParsedText:
    """The YAML documents of a text that afflint reads, with their manifests."""

    def __init__(self, data: bytes, settings: MapSettings) -> None:
        self._data = data
        self._checker = Checker(settings._replace(rules=()))

    @cached_property
    def documents(self) -> list[Document]:
        """The documents that can be parsed."""
        try:
            data = documents.to_utf8(self._data)
        except UnicodeDecodeError:
            return []
        result = self._checker.triage.documents(data, named=True)
        return [each for each in result if each.problem is None and each.data is not None]

    def document(self, line: int) -> Document | None:
        """Return the document that contains a line, counted from 1."""
        result = None
        for each in self.documents:
            if each.line < line:
                result = each
        return result

    def numbered(self, index: int) -> Document | None:
        """Return the document with an index."""
        return next((each for each in self.documents if each.index == index), None)

    def manifests(self, document: Document) -> list[Manifest]:
        """Return the manifests of a document, one for each pod template."""
        return self._checker.manifests(document)
