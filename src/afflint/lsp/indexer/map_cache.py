"""What the map step gave for each file, kept for as long as what it was made from stays the same."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator

from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import Checker, FileResult, MapSettings
from afflint.pipeline.mapping import result_of
from afflint.source.sources import Source, relative

Stamp = tuple[int, int, int] | bytes
"""What is the same while a file has not changed: when it was written, its size and its number on disk; of a buffer, its bytes."""


class EditorBuffer(NamedTuple):
    """A document as the editor has it. ``result`` is what the map step gives for it under ``settings``, where that is known already."""

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
    """Results by file. ``root`` is the folder by which names are told, as they would be to a run that was started there."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._settings: dict[_Slot, MapSettings] = {}
        self._kept: dict[_Slot, dict[str, _CachedFile]] = {}
        self.checked = 0
        """How many files were looked at and not remembered, so far."""
        self.seconds = 0.0
        """How long that took."""

    def mapper(self, between: Callable[[int, int], None]) -> Callable[[Collection[Source], MapSettings], Iterator[FileResult]]:
        """A mapper for a run; ``between`` is told how far it is."""

        def mapped(sources: Collection[Source], settings: MapSettings) -> Iterator[FileResult]:
            kept, slot = self._shelf(settings)
            checker: Checker | None = None
            fresh: dict[str, _CachedFile] = {}
            for number, source in enumerate(sources):
                between(number, len(sources))
                before = kept.get(source.path)
                stamp = _stamp(source)
                if before is not None and stamp is not None and before.stamp == stamp:
                    found = before
                else:
                    checker = checker or Checker(settings)
                    result = self._result(checker, source)
                    if source.data is not None and result.broken and before is not None:
                        # What others find must not depend on a line that is half written.
                        result = result._replace(facts=before.result.facts)
                    found = _CachedFile(stamp or b"", result)
                fresh[source.path] = found
                yield found.result
            self._kept[slot] = {**kept, **fresh} if len(fresh) < len(kept) // 2 else fresh

        return mapped

    def _shelf(self, settings: MapSettings) -> tuple[dict[str, _CachedFile], _Slot]:
        """The results that were made with these settings. A run makes some without rules or nodes, and those of definitions apart."""
        slot = bool(settings.rules), settings.with_nodes, bool(settings.learnt), bool(settings.defining)
        if self._settings.get(slot) != settings:
            self._settings[slot] = settings
            self._kept[slot] = {}
        return self._kept[slot], slot

    def _result(self, checker: Checker, source: Source) -> FileResult:
        started = time.monotonic()
        result = result_of(checker, source._replace(name=relative(source.path, self._root)))
        self.checked += 1
        self.seconds += time.monotonic() - started
        return result


def _stamp(source: Source) -> Stamp | None:
    """None for a file that is not there: nothing is remembered of it."""
    if source.data is not None:
        return source.data
    try:
        status = os.stat(source.path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
