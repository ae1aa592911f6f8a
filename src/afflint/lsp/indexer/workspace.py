"""All manifests of a folder: the run that `afflint check` would do there, its result, and the open documents."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from afflint.config import Config
from afflint.findings.errors import UserError
from afflint.findings.finding import FileId, Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import CommandLineConfig, ConfiguredFolder
from afflint.lsp.indexer.map_cache import EditorBuffer, MapCache
from afflint.lsp.text import EditorText
from afflint.manifests.manifest import Manifest
from afflint.pipeline.baseline import Baseline, BaselineEntry, BaselineError, apply, entry_of, of_config
from afflint.pipeline.map_step import Checker, MapSettings
from afflint.pipeline.options import Options
from afflint.pipeline.reduced_run import ReducedRun
from afflint.pipeline.run import outcome
from afflint.pipeline.session import Session
from afflint.source.sources import Identities, Source, is_in_chart
from afflint.yaml import documents
from afflint.yaml.documents import Document


class WorkspaceState(NamedTuple):
    """The result of a run. ``buffers`` are the documents that were open, by path.

    ``findings`` are those of each file by its number, ``old`` the baseline entries that silence findings, by the number of their file. Both
    are empty if they were not requested.
    """

    reduced: ReducedRun
    findings: Mapping[FileId, Sequence[Finding]]
    old: Mapping[FileId, Counter[BaselineEntry]]
    baseline: Baseline | None
    buffers: Mapping[str, EditorBuffer]

    def path(self, file: FileId) -> str:
        """Return the absolute path of a file of the run."""
        return os.path.abspath(self.reduced.files.sources[file].path)

    def name(self, file: FileId) -> str:
        """Return the name of a file in reports."""
        return self.reduced.files.sources[file].name


class Workspace:
    """A folder of the editor with all of its manifests.

    With ``all_files``, all files of the folder are checked, otherwise only the open ones. ``state`` is the result of the last run, None
    before the first run.
    """

    def __init__(self, folder: str, command_line: CommandLineConfig, *, all_files: bool) -> None:
        self.folder = folder
        self.all_files = all_files
        self.state: WorkspaceState | None = None
        self.map_cache = MapCache(folder)
        self._configured = ConfiguredFolder(folder, command_line)
        self._sources_on_disk: list[Source] = []
        self._stale = True

    @property
    def settings(self) -> MapSettings:
        """The settings for checking a file."""
        return self._configured.setup.settings if self.state is None else self.state.reduced.settings

    def forget_files(self) -> None:
        """List the files of the folder again in the next run."""
        self._stale = True

    def run(
        self, buffers: Mapping[str, EditorBuffer], report_progress: Callable[[int, int], None], *, with_unopened: bool = False
    ) -> list[str]:
        """Run over the current files, and return the problems with nodes or a baseline that were left out of the run.

        ``buffers`` are the open documents by path; ``with_unopened`` requests the findings of files that are not open, too. Raises
        UserError.
        """
        if self._configured.reread():
            self._stale = True
        config = self._configured.setup.config
        try:
            self.state = self._run(config, buffers, report_progress, with_unopened)
            return []
        except UserError as error:
            smaller = without_faulty(config, error)
            if smaller == config:
                raise
            self.state = self._run(smaller, buffers, report_progress, with_unopened)
            return [str(error)]

    def _run(
        self, config: Config, buffers: Mapping[str, EditorBuffer], report_progress: Callable[[int, int], None], with_unopened: bool
    ) -> WorkspaceState:
        session = Session(config, {path: each.data for path, each in buffers.items()})
        if self.all_files and self._stale:
            self._stale = False
            self._sources_on_disk = Session(config).sources([self.folder])
        sources = _with_buffers(self._sources_on_disk, buffers, session.covers if self.all_files else None)
        known = of_config(config)
        options = Options(mapper=self.map_cache.mapper(report_progress), baseline=known, reader=self.map_cache.reader)
        reduced = session.reduce(sources, options)
        findings: dict[FileId, list[Finding]] = {}
        old: dict[FileId, Counter[BaselineEntry]] = {}
        if with_unopened or known is not None:
            all_findings = outcome(reduced, options._replace(baseline=None)).findings
            for each in all_findings if known is None else _new(reduced, all_findings, known, old):
                findings.setdefault(each.source, []).append(each)
        return WorkspaceState(reduced, findings, old, known, buffers)


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


def _new(reduced: ReducedRun, findings: Sequence[Finding], known: Baseline, old: dict[FileId, Counter[BaselineEntry]]) -> list[Finding]:
    """Return the findings that a baseline does not silence, and add the entries that silence the others to ``old``."""
    new = apply(findings, known, [reduced.files.sources[file].name for file in reduced.results]).new
    remaining = {id(each) for each in new}
    for each in findings:
        if id(each) not in remaining:
            old.setdefault(each.source, Counter())[entry_of(each, known.folder)] += 1
    return new


def without_faulty(config: Config, error: UserError) -> Config:
    """Return the configuration without the nodes or the baseline, whichever cannot be used."""
    return config._replace(baseline=None) if isinstance(error, BaselineError) else config._replace(nodes=())


def _with_buffers(on_disk: Sequence[Source], buffers: Mapping[str, EditorBuffer], covers: Callable[[str], bool] | None) -> list[Source]:
    """Return the sources with the text of open documents instead of the text on disk.

    A document that has no file yet is included if ``covers`` accepts it, or if ``covers`` is None.
    """
    identities = Identities()
    opened = {identities.of(Source(path, path)): buffer for path, buffer in buffers.items()}
    sources: list[Source] = []
    names = {os.path.basename(path) for path in buffers}
    seen: set[str] = set()
    for source in on_disk:
        # The identity costs a system call, so only files that may be open get one.
        if os.path.basename(source.path) in names:
            identity = identities.of(source)
            buffer = opened.get(identity)
            if buffer is not None:
                seen.add(identity)
                source = source._replace(data=buffer.data)
        sources.append(source)
    for identity, buffer in opened.items():
        if identity not in seen and (covers is None or (covers(buffer.path) and not os.path.lexists(buffer.path))):
            sources.append(Source(buffer.path, buffer.path, buffer.data, values=is_in_chart(buffer.path)))
    return sources
