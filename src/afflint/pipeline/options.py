"""The options of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from afflint.findings.namedtuples import NamedTuple
from afflint.workers import DaskCluster, Workers

if TYPE_CHECKING:
    from afflint.pipeline.baseline import Baseline
    from afflint.pipeline.definitions import DefinitionReader
    from afflint.pipeline.map_step import FileResult, MapSettings
    from afflint.pipeline.mapping import Contents
    from afflint.rendered.rendered_run import RenderedRun
    from afflint.source.sources import Source

    Mapper = Callable[[Collection[Source], MapSettings], Iterable[FileResult]]
    """A map step over files: returns a result for each source, in their order."""


class Options(NamedTuple):
    """How to run. ``ignored_in`` returns the names that are ignored in the file at a path, see ``config.covers``."""

    jobs: int = 1
    inline: bool = True
    """Whether suppressions in files apply."""
    ignored_in: Callable[[str], frozenset[str]] | None = None
    progress: Callable[[int], None] | None = None
    baseline: Baseline | None = None
    """Known findings, which are not reported."""
    mapper: Mapper | None = None
    """Replaces the map step over files, for callers that have results of an earlier run."""
    definitions: Callable[[], Iterable[Source]] | None = None
    """Returns further files with CustomResourceDefinitions. It is called only if a kind has no other definition."""
    cache: str | None = None
    """The folder of the cache, or DEFAULT_CACHE; None for no cache."""
    contents: Contents | None = None
    """Checksums of the files that were read in this run before."""
    renders: RenderedRun | None = None
    """The output that was rendered for this run. Its findings are reported at their origins."""
    mandatory: frozenset[str] = frozenset()
    """The rules whose findings no suppression silences."""
    reader: DefinitionReader | None = None
    """Reads definitions, for callers that keep what was read in an earlier run."""
    cluster: DaskCluster | None = None
    """Runs on this cluster what would run in ``jobs`` processes."""

    @property
    def workers(self) -> Workers:
        """The processes of the run."""
        return Workers(self.jobs, self.cluster)
