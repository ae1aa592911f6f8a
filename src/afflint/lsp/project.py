"""A folder of the editor's, as far as a keystroke needs it: how a file is checked there, and what the last run over all of it said."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from afflint.findings.finding import NO_FILE, FileId, Finding, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import CommandLineConfig, ConfiguredFolder, FolderSession
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.protocol import DocumentFindings, RunFindings
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult, MapSettings
from afflint.pipeline.mapping import result_of
from afflint.pipeline.reduce_step import Reduction
from afflint.pipeline.run import SuppressionFilter
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import SKIPPED_FOLDERS, Source, is_in_chart, relative


class ProjectState(NamedTuple):
    """What the last run said. ``documents`` are those that are open, by their URIs, ``settings`` those of the run."""

    settings: MapSettings
    documents: dict[str, DocumentFindings]
    baseline: str | None
    kustomizations: Kustomizations


class Project:
    """A folder; ``whole`` if all of it is checked, not merely what is open. ``state`` is what the last run said, None before the first.

    Raises UserError for a configuration that cannot be read.
    """

    def __init__(self, folder: str, chosen: CommandLineConfig, *, whole: bool) -> None:
        self.folder = folder
        self.whole = whole
        self.state: ProjectState | None = None
        self.stale = True
        """Whether the next run has to look for the files of the folder anew."""
        self.cost = 0.0
        """How many seconds the last run took, beside those in which it checked files."""
        self.unopened: dict[str, list[dict[str, object]]] = {}
        """The diagnostics of the files that are not open, by their URIs."""
        self._configured = ConfiguredFolder(folder, chosen)
        self._kustomizations: Kustomizations | None = None
        self._checkers: tuple[MapSettings, Checker] | None = None
        self._menders: tuple[MapSettings, Checker] | None = None

    @property
    def setup(self) -> FolderSession:
        """The configuration."""
        return self._configured.setup

    def reread(self) -> None:
        """Read the configuration again if it has changed."""
        self._configured.reread()

    def adopt(self, told: RunFindings) -> None:
        """Take over what a run said."""
        settings = self.setup.settings
        target = settings.target._replace(known_labels=frozenset(told.known_labels))
        settings = settings._replace(with_nodes=told.with_nodes, learnt=told.learnt, target=target)
        # As the run saw the kustomizations, they may have changed since the run before.
        kustomizations = Kustomizations(SKIPPED_FOLDERS, (os.path.join(told.shared, "_"),) if told.shared else ())
        self.state = ProjectState(settings, {each.uri: each for each in told.documents}, told.baseline, kustomizations)
        for uri, items in told.unopened:
            if items:
                self.unopened[uri] = items
            else:
                self.unopened.pop(uri, None)

    # One document.

    @property
    def settings(self) -> MapSettings:
        """Those under which a file is checked."""
        return self.setup.settings if self.state is None else self.state.settings

    def takes(self, path: str, known: DocumentFindings | None) -> bool:
        """Whether a file that is open is one to check: what is excluded or ignored is not, though it is open."""
        if not self.whole:
            return not self.setup.session.excludes(path)
        if known is None or not os.path.lexists(path):
            return self.setup.session.covers(path)
        return known.place is not None

    def checked(self, buffer: EditorBuffer, kept: DocumentCache | None = None) -> EditorBuffer:
        """The same document with what the map step gives for it. ``kept`` is what is known of its parts."""
        source = Source(relative(buffer.path, self.folder), buffer.path, buffer.data, values=is_in_chart(buffer.path))
        return buffer._replace(settings=self.settings, result=result_of(self._checker, source, kept))

    @property
    def _checker(self) -> Checker:
        settings = self.settings
        if self._checkers is None or self._checkers[0] != settings:
            self._checkers = settings, Checker(settings)
        return self._checkers[1]

    @property
    def mender(self) -> Checker:
        """What fixes are tried with."""
        from afflint.fix.rounds import fix_writer

        if self._menders is None or self._menders[0] != self.settings:
            self._menders = self.settings, fix_writer(self.settings)
        return self._menders[1]

    def remaining(self, buffer: EditorBuffer, result: FileResult, known: DocumentFindings | None, across: Sequence[Found]) -> list[Finding]:
        """The findings of a document that nothing silences. ``known`` is what the last run said about it, if it saw it."""
        source = Source(buffer.path, buffer.path, buffer.data, values=is_in_chart(buffer.path))
        if self.state is None or known is None or known.place is None:
            found = self._silencer({NO_FILE: source.name}, self._alone(source)).remaining(NO_FILE, source, result)[0]
            # What a suppression silences may show only when all manifests have been read.
            return [each for each in found if each.rule != "unused-suppression"]
        file = known.place.file
        source = source._replace(name=known.place.name)
        names = {each.file: each.name for each in (*known.places, known.place)}
        kept = self._silencer(names, self.state.kustomizations).remaining(file, source, result, across)[0]
        if self.state.baseline is None:
            return kept
        from afflint.pipeline.baseline import Baseline, apply

        return apply(kept, Baseline(Counter({each.entry: each.times for each in known.old}), self.state.baseline)).new

    def _silencer(self, names: Mapping[FileId, str], kustomizations: Kustomizations) -> SuppressionFilter:
        reduction = Reduction(self.settings, self._checker.triage, names, lambda _: b"")
        return SuppressionFilter(reduction, self.setup.session.options(), kustomizations)

    def _alone(self, source: Source) -> Kustomizations:
        if self._kustomizations is None:
            self._kustomizations = Files([source], (), ()).kustomizations()
        return self._kustomizations
