"""The map step of two runs: a file that both have with the same content is read and mapped once."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.definitions import DefinitionReader
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.mapping import Progress, map_files
from afflint.pipeline.results import Keys, checksum
from afflint.source.sources import Source, read_bytes
from afflint.workers import Workers


class MapOnce:
    """A mapper for runs (``Options.mapper``) that keeps every result by the content of its file.

    ``contents`` has the checksums of files that are known without reading them, by their absolute paths. With ``placing``, the facts are
    complete enough for a simulation, which then maps nothing again.
    """

    def __init__(
        self,
        contents: Mapping[str, bytes],
        *,
        placing: bool,
        workers: Workers | None = None,
        cache: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._contents = dict(contents)
        self._placing = placing
        self._workers = workers or Workers()
        self._cache = cache
        self._progress = progress
        self._kept: list[_Kept] = []
        self.reader = DefinitionReader(self.content, by_name=True)
        """Reads what the files of both runs define."""

    def __call__(self, sources: Collection[Source], settings: MapSettings) -> Iterable[FileResult]:
        """Return the results of the map step for the sources, in their order."""
        if self._placing:
            settings = settings._replace(inventory=True, resources=True)
        kept = self._kept_under(settings)
        keys = [self._key(kept.keys, source) for source in sources]
        missing = {key: source for key, source in zip(keys, sources, strict=True) if key is not None and key not in kept.results}
        made = map_files(missing.values(), kept.settings, self._workers, self._progress, self._cache)
        kept.results.update(zip(missing, made, strict=True))
        names = None if kept.settings.rules == settings.rules else frozenset(rule.name for rule in settings.rules)
        for key, source in zip(keys, sources, strict=True):
            result = kept.results[key] if key is not None else next(iter(map_files([source], kept.settings)))
            yield result if names is None else result._replace(found=tuple([each for each in result.found if each.rule in names]))

    def content(self, source: Source) -> bytes | None:
        """Return the checksum of a source; None if it cannot be read."""
        if source.data is not None:
            return checksum(source.data)
        path = source.path if source.path in self._contents else os.path.abspath(source.path)
        if path not in self._contents:
            try:
                self._contents[path] = checksum(read_bytes(source))
            except (OSError, MemoryError):
                return None
        return self._contents[path]

    def _key(self, keys: Keys, source: Source) -> bytes | None:
        content = self.content(source)
        return None if content is None else keys.key(source.known_as, content)

    def _kept_under(self, settings: MapSettings) -> _Kept:
        """Return the results under these settings, or under settings that have more rules and are otherwise equal."""
        names = {rule.name for rule in settings.rules}
        for kept in self._kept:
            if _context(kept.settings, settings) == settings._replace(rules=()) and names <= {rule.name for rule in kept.settings.rules}:
                return kept
        self._kept.append(_Kept(settings, Keys(settings), {}))
        return self._kept[-1]


def _context(settings: MapSettings, asked: MapSettings) -> MapSettings:
    """Return settings without their rules, and without what a simulation is not given because it matters to none of its rules."""
    target = settings.target
    if not asked.target.known_labels:
        target = target._replace(known_labels=frozenset())
    if not asked.target.chart_sources:
        target = target._replace(chart_sources=())
    return settings._replace(rules=(), target=target)


class _Kept(NamedTuple):
    """Results by their keys, and the settings under which they were made."""

    settings: MapSettings
    keys: Keys
    results: dict[bytes, FileResult]
