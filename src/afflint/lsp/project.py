"""A folder of the editor, as far as a keystroke needs it: how a file in it is checked, and the result of the last run over the folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from afflint.config.trust import renderers
from afflint.findings.finding import NO_FILE, FileId, Finding, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import CommandLineConfig, ConfiguredFolder, FolderSession
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.protocol import DocumentFindings, RunFindings
from afflint.lsp.rendered import RenderedFolder
from afflint.pipeline.baseline import Baseline, apply
from afflint.pipeline.files import Files
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult, MapSettings, fix_checker
from afflint.pipeline.mapping import result_of
from afflint.pipeline.reduce_step import Reduction
from afflint.pipeline.suppression_filter import SuppressionFilter
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import SKIPPED_FOLDERS, Source, is_in_chart, relative, role_below

if TYPE_CHECKING:
    from afflint.index.mutating_policies import MutatingPolicy


class ProjectState(NamedTuple):
    """The result of the last run: its ``settings``, and its findings in the open documents by URI."""

    settings: MapSettings
    documents: dict[str, DocumentFindings]
    baseline: str | None
    kustomizations: Kustomizations


class Project:
    """A folder of the editor.

    With ``all_files``, all files of the folder are checked, otherwise only the open ones. ``state`` is the result of the last run, None
    before the first run. Raises UserError for a configuration that cannot be read.
    """

    def __init__(self, folder: str, command_line: CommandLineConfig, *, all_files: bool) -> None:
        self.folder = folder
        self.all_files = all_files
        self.state: ProjectState | None = None
        self.stale = True
        """Whether the next run has to list the files of the folder again."""
        self.cost = 0.0
        """The duration of the last run in seconds, without the time in which it checked single files."""
        self.unopened: dict[str, list[dict[str, object]]] = {}
        """The diagnostics of the files that are not open, by their URIs."""
        self.rendered = RenderedFolder()
        """The result of the last render."""
        self.notes: tuple[str, ...] = ()
        """What the last render has reported about itself."""
        self._configured = ConfiguredFolder(folder, command_line)
        self._kustomizations: Kustomizations | None = None
        self._checkers: tuple[MapSettings, Checker] | None = None
        self._fix_checkers: tuple[MapSettings, Checker] | None = None

    @property
    def setup(self) -> FolderSession:
        """The current configuration."""
        return self._configured.setup

    @property
    def is_rendered(self) -> bool:
        """Whether the configuration renders the folder, as `afflint check` there would."""
        return self.all_files and bool(renderers(self.setup.config))

    def reread(self) -> None:
        """Read the configuration again if it has changed."""
        self._configured.reread()

    def adopt(self, findings: RunFindings) -> None:
        """Take over the result of a run."""
        settings = self.setup.settings
        target = settings.target._replace(known_labels=frozenset(findings.known_labels), chart_sources=findings.chart_sources)
        settings = settings._replace(inventory=findings.with_nodes, learnt=findings.learnt, target=target)
        # Read again, because kustomizations may have changed since the previous run.
        kustomizations = Kustomizations(SKIPPED_FOLDERS, (os.path.join(findings.shared, "_"),) if findings.shared else ())
        self.state = ProjectState(settings, {each.uri: each for each in findings.documents}, findings.baseline, kustomizations)
        for uri, items in findings.unopened:
            if items:
                self.unopened[uri] = items
            else:
                self.unopened.pop(uri, None)

    # One document.

    @property
    def settings(self) -> MapSettings:
        """The settings for checking a file."""
        return self.setup.settings if self.state is None else self.state.settings

    def is_checked(self, path: str, known: DocumentFindings | None) -> bool:
        """Return whether an open file is checked: it may be excluded or ignored. ``known`` is the result of the last run for it."""
        if not self.all_files:
            return not self.setup.session.excludes(path)
        if known is None or not os.path.lexists(path):
            return self.setup.session.covers(path)
        return known.place is not None

    def checked(self, buffer: EditorBuffer, cache: DocumentCache | None = None) -> EditorBuffer:
        """Return a buffer with its result of the map step. ``cache`` has the results for single documents of earlier versions."""
        role = role_below(buffer.path, self.folder)
        source = Source(relative(buffer.path, self.folder), buffer.path, buffer.data, values=is_in_chart(buffer.path), role=role)
        return buffer._replace(settings=self.settings, result=result_of(self._checker, source, cache))

    @property
    def _checker(self) -> Checker:
        settings = self.settings
        if self._checkers is None or self._checkers[0] != settings:
            self._checkers = settings, Checker(settings)
        return self._checkers[1]

    @property
    def fix_checker(self) -> Checker:
        """The checker that verifies fixes."""
        if self._fix_checkers is None or self._fix_checkers[0] != self.settings:
            self._fix_checkers = self.settings, fix_checker(self.settings)
        return self._fix_checkers[1]

    def unsuppressed(
        self, buffer: EditorBuffer, result: FileResult, known: DocumentFindings | None, across: Sequence[Found]
    ) -> list[Finding]:
        """Return the findings of a document that nothing suppresses.

        ``known`` is the result of the last run for it, if the run included it.
        """
        source = Source(buffer.path, buffer.path, buffer.data, values=is_in_chart(buffer.path))
        if self.state is None or known is None or known.place is None:
            suppressions = self._suppression_filter({NO_FILE: source.name}, self._kustomizations_for(source))
            # A suppression may silence a finding that only a run over all manifests reports.
            return [each for each in suppressions.remaining(NO_FILE, source, result)[0] if each.rule != "unused-suppression"]
        file = known.place.file
        source = source._replace(name=known.place.name)
        names = {each.file: each.name for each in (*known.places, known.place)}
        remaining = self._suppression_filter(names, self.state.kustomizations, known.mutating).remaining(file, source, result, across)[0]
        if self.state.baseline is None:
            return remaining
        return apply(remaining, Baseline(Counter({each.entry: each.times for each in known.old}), self.state.baseline)).new

    def _suppression_filter(
        self, names: Mapping[FileId, str], kustomizations: Kustomizations, mutating: Sequence[MutatingPolicy] = ()
    ) -> SuppressionFilter:
        reduction = Reduction(self.settings, self._checker.triage, names, lambda _: b"", lambda _: mutating)
        return SuppressionFilter(reduction, self.setup.session.options(), kustomizations)

    def _kustomizations_for(self, source: Source) -> Kustomizations:
        if self._kustomizations is None:
            self._kustomizations = Files([source], (), ()).kustomizations()
        return self._kustomizations
