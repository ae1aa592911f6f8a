"""The results of the map step for each file, cached until the file or the settings change."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator

from afflint.findings.namedtuples import NamedTuple
from afflint.lsp.folder_config import file_stamp
from afflint.pipeline.definitions import DefinitionReader
from afflint.pipeline.map_step import Checker, FileResult, MapSettings
from afflint.pipeline.mapping import result_of
from afflint.source.sources import Source, relative

Stamp = tuple[int, int, int] | bytes
"""A value that changes with a file: modification time, size and inode number; for an editor buffer its bytes."""


class EditorBuffer(NamedTuple):
    """A document in the editor. ``result`` is the result of the map step under ``settings``, if it is known."""

    path: str
    version: int
    data: bytes
    settings: MapSettings | None = None
    result: FileResult | None = None


_Slot = tuple[bool, ...]


class _CachedFile(NamedTuple):
    stamp: Stamp
    result: FileResult


class MapCache:
    """Cached results of the map step by file. ``root`` is the folder that names of files in reports are relative to."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.reader = DefinitionReader(_stamp)
        self._settings: dict[_Slot, MapSettings] = {}
        self._cached: dict[_Slot, dict[str, _CachedFile]] = {}
        self.checked = 0
        """The number of files that were checked because no result was cached, so far."""
        self.seconds = 0.0
        """The time that these checks took."""

    def mapper(self, report_progress: Callable[[int, int], None]) -> Callable[[Collection[Source], MapSettings], Iterator[FileResult]]:
        """Return a mapper for a run, which calls ``report_progress`` with the number of finished files and of all files."""

        def map_sources(sources: Collection[Source], settings: MapSettings) -> Iterator[FileResult]:
            cached, slot = self._cached_under(settings)
            checker: Checker | None = None
            fresh: dict[str, _CachedFile] = {}
            for number, source in enumerate(sources):
                report_progress(number, len(sources))
                previous = cached.get(source.path)
                stamp = _stamp(source)
                if previous is not None and stamp is not None and previous.stamp == stamp:
                    entry = previous
                else:
                    checker = checker or Checker(settings)
                    result = self._result(checker, source)
                    if source.data is not None and result.broken and previous is not None:
                        # Findings in other files must not change because of a line that is being typed.
                        result = result._replace(facts=previous.result.facts)
                    entry = _CachedFile(stamp or b"", result)
                fresh[source.path] = entry
                yield entry.result
            self._cached[slot] = {**cached, **fresh} if len(fresh) < len(cached) // 2 else fresh

        return map_sources

    def _cached_under(self, settings: MapSettings) -> tuple[dict[str, _CachedFile], _Slot]:
        """Return the cached results under these settings, and their slot. A run maps its context without rules."""
        slot = bool(settings.rules), settings.inventory, bool(settings.learnt)
        if self._settings.get(slot) != settings:
            self._settings[slot] = settings
            self._cached[slot] = {}
        return self._cached[slot], slot

    def _result(self, checker: Checker, source: Source) -> FileResult:
        started = time.monotonic()
        result = result_of(checker, source._replace(name=relative(source.path, self._root)))
        self.checked += 1
        self.seconds += time.monotonic() - started
        return result


def _stamp(source: Source) -> Stamp | None:
    """Return the stamp of a source; None for a missing file, which is not cached."""
    return source.data if source.data is not None else file_stamp(source.path)
