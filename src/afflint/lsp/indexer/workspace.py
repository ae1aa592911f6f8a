"""All manifests of a folder taken together: the run that `afflint check` would make there, and what it knows afterwards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.config import Config
from afflint.findings.errors import UserError
from afflint.findings.finding import FileId, Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import CommandLineConfig, ConfiguredFolder
from afflint.lsp.indexer.map_cache import EditorBuffer, MapCache
from afflint.pipeline.map_step import MapSettings
from afflint.pipeline.run import Gathered, Options, outcome
from afflint.pipeline.session import Session
from afflint.source.sources import Identities, Source, is_in_chart

if TYPE_CHECKING:
    from afflint.pipeline.baseline import Baseline, BaselineEntry


class WorkspaceState(NamedTuple):
    """What a run found. ``buffers`` is what was open then, by path.

    ``findings`` are those of every file by its number, ``old`` the entries of the baseline that silence something, by the file that this
    is in; both are empty where nobody asked for them.
    """

    gathered: Gathered
    findings: Mapping[FileId, Sequence[Finding]]
    old: Mapping[FileId, Counter[BaselineEntry]]
    baseline: Baseline | None
    buffers: Mapping[str, EditorBuffer]

    def path(self, file: FileId) -> str:
        """Where a file of the run lies."""
        return os.path.abspath(self.gathered.files.sources[file].path)

    def name(self, file: FileId) -> str:
        """How reports call it."""
        return self.gathered.files.sources[file].name


class Workspace:
    """A folder; ``whole`` if all of it is checked, not merely what is open. ``state`` is what the last run found, None before the first."""

    def __init__(self, folder: str, chosen: CommandLineConfig, *, whole: bool) -> None:
        self.folder = folder
        self.whole = whole
        self.state: WorkspaceState | None = None
        self.memory = MapCache(folder)
        self._configured = ConfiguredFolder(folder, chosen)
        self._found: list[Source] = []
        self._stale = True

    @property
    def settings(self) -> MapSettings:
        """Those under which a file is checked."""
        return self._configured.setup.settings if self.state is None else self.state.gathered.settings

    def forget_files(self) -> None:
        """Look for the files of the folder anew in the next run."""
        self._stale = True

    def run(self, buffers: Mapping[str, EditorBuffer], between: Callable[[int, int], None], *, everything: bool = False) -> list[str]:
        """Find what there is to find now. Returns what is wrong with nodes or a baseline, without which it was found then.

        ``buffers`` are the open documents by path; with ``everything`` the findings of files that are not open are wanted as well.
        Raises UserError.
        """
        if self._configured.reread():
            self._stale = True
        config = self._configured.setup.config
        try:
            self.state = self._run(config, buffers, between, everything)
            return []
        except UserError as error:
            smaller = _without(config, error)
            if smaller == config:
                raise
            self.state = self._run(smaller, buffers, between, everything)
            return [str(error)]

    def _run(
        self, config: Config, buffers: Mapping[str, EditorBuffer], between: Callable[[int, int], None], everything: bool
    ) -> WorkspaceState:
        from afflint.pipeline.baseline import of_config

        session = Session(config, {path: each.data for path, each in buffers.items()})
        if self.whole and self._stale:
            self._stale = False
            self._found = Session(config).sources([self.folder])
        sources = _with_buffers(self._found, buffers, session.covers if self.whole else None)
        known = of_config(config)
        options = Options(mapper=self.memory.mapper(between), baseline=known)
        gathered = session.gathered(sources, options)
        findings: dict[FileId, list[Finding]] = {}
        old: dict[FileId, Counter[BaselineEntry]] = {}
        if everything or known is not None:
            kept = outcome(gathered, options._replace(baseline=None)).findings
            for each in kept if known is None else _new(gathered, kept, known, old):
                findings.setdefault(each.source, []).append(each)
        return WorkspaceState(gathered, findings, old, known, buffers)


def _new(gathered: Gathered, findings: Sequence[Finding], known: Baseline, old: dict[FileId, Counter[BaselineEntry]]) -> list[Finding]:
    """The findings that a baseline does not silence; the entries that silence the others are added to ``old``."""
    from afflint.pipeline.baseline import apply, entry_of

    new = apply(findings, known, [gathered.files.sources[file].name for file in gathered.results]).new
    remaining = {id(each) for each in new}
    for each in findings:
        if id(each) not in remaining:
            old.setdefault(each.source, Counter())[entry_of(each, known.folder)] += 1
    return new


def _without(config: Config, error: UserError) -> Config:
    """The configuration without what may be at fault: nodes, or a baseline, that cannot be used."""
    from afflint.pipeline.baseline import BaselineError

    return config._replace(baseline=None) if isinstance(error, BaselineError) else config._replace(nodes=())


def _with_buffers(found: Sequence[Source], buffers: Mapping[str, EditorBuffer], covers: Callable[[str], bool] | None) -> list[Source]:
    """The files with the open documents in place of what is on disk.

    A document that is no file yet counts if ``covers`` says so; without it all documents do.
    """
    identities = Identities()
    opened = {identities.of(Source(path, path)): buffer for path, buffer in buffers.items()}
    sources: list[Source] = []
    names = {os.path.basename(path) for path in buffers}
    seen: set[str] = set()
    for source in found:
        # Only what may be open is worth asking for its identity.
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
