"""The cached result of a whole run, next to the results of its files. If nothing has changed since, it is the result of the new run.

The key of a run is its input: settings, and files with their paths, names and roles. The result is valid for the bytes that these files
had. It also depends on how kustomizations, which may be other files, use some of these files; that is evaluated again. As for the results
of files, every problem with the cache has the same effect as an empty cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

from afflint.findings.codec import Codec, PlainError
from afflint.findings.finding import FileId, Found
from afflint.findings.namedtuples import NamedTuple
from afflint.index.facts import Facts
from afflint.pipeline.cache import Cache
from afflint.pipeline.files import Files
from afflint.pipeline.locating import creates_pods
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.mapping import Contents
from afflint.pipeline.options import Options
from afflint.pipeline.reduce_step import reduction_of
from afflint.pipeline.reduced_run import ReducedRun
from afflint.pipeline.results import ELSEWHERE, KEY_SIZE, ResultEntry, checksum
from afflint.pipeline.suppression_filter import SuppressionFilter
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import read_bytes

if TYPE_CHECKING:
    from afflint.index.mutating_policies import MutatingPolicy


class Kustomized(NamedTuple):
    """How kustomizations use a file: whether as a patch, and the labels that they add.

    ``labels`` is None if the labels did not matter for the run.
    """

    file: FileId
    is_patch: bool
    labels: tuple[str, ...] | None


class CachedRun(NamedTuple):
    """The result of a run, with the results of its files without facts."""

    results: tuple[FileResult, ...]
    """The distinct results of files. Their facts contain only whether a file has nodes, and the pods of files with findings."""
    of_files: tuple[tuple[FileId, int], ...]
    """Each file with the number of its result."""
    across: tuple[tuple[FileId, tuple[Found, ...]], ...] = ()
    unused_nodes: str | None = None
    kustomized: tuple[Kustomized, ...] = ()
    """How kustomizations use the files for which this matters."""
    undecided: tuple[str, ...] = ()
    """The policies that would have needed nodes."""
    mutating: tuple[MutatingPolicy, ...] = ()
    clusters: tuple[tuple[str, int], ...] = ()


_CODEC = Codec(CachedRun, ELSEWHERE)


def without_facts(results: Mapping[FileId, FileResult]) -> CachedRun:
    """Return the results of the files without facts. Most files have no findings and share one result."""
    differing: list[FileResult] = []
    numbers: dict[object, int] = {}
    of_files = []
    for file, result in results.items():
        alike = (result.facts.holds_nodes, *result[3:]) if not result.found and not result.suppressions else file
        number = numbers.setdefault(alike, len(differing))
        if number == len(differing):
            # Whether an object with findings is whole decides how kustomizations may use it.
            pods = result.facts.pods if result.found else ()
            differing.append(result._replace(facts=Facts(pods, holds_nodes=result.facts.holds_nodes)))
        of_files.append((file, number))
    return CachedRun(tuple(differing), tuple(of_files))


def reduced_or_cached(
    files: Files, settings: MapSettings, options: Options, gather: Callable[[Files, MapSettings, Options, Kustomizations], ReducedRun]
) -> ReducedRun:
    """Return the cached result of a run if nothing has changed since, and otherwise call ``gather`` and cache its result."""
    past, kustomizations = PastRun(options.cache or None, files, settings), files.kustomizations()
    cached = past.cached(lambda each: each == _kustomized(files, each.file, kustomizations, labels=each.labels is not None))
    if cached is None:
        new = gather(files, settings, options._replace(contents=past.contents), kustomizations)
        if not new.unevaluated:  # The reasons contain names of files, which may be others in the next run.
            past.keep(_cached_run(new, kustomizations))
        return new
    results = {file: cached.results[number] for file, number in cached.of_files}
    suppression_filter = SuppressionFilter(reduction_of(files, settings, cached.mutating), options, kustomizations)
    across = {file: [*found] for file, found in cached.across}
    return ReducedRun(
        files,
        results,
        results,
        None,
        [],
        across,
        suppression_filter,
        settings,
        cached.unused_nodes,
        undecided=cached.undecided,
        clusters=cached.clusters,
    )


def _cached_run(reduced: ReducedRun, kustomizations: Kustomizations) -> CachedRun:
    kustomized = [
        _kustomized(reduced.files, file, kustomizations, labels=bool(result.facts.policy_candidates))
        for file, result in reduced.all_results.items()
        if creates_pods(result)
    ]
    across = tuple([(file, tuple(found)) for file, found in reduced.across.items()])
    return without_facts(reduced.results)._replace(
        across=across,
        unused_nodes=reduced.unused_nodes,
        kustomized=tuple(kustomized),
        undecided=reduced.undecided,
        mutating=reduced.mutating,
        clusters=reduced.clusters,
    )


def _is_consistent(cached_run: CachedRun, number_of_files: int) -> bool:
    """Return whether all numbers in an entry are numbers of its results, and of the files of the run."""
    across = [found for _, of_file in cached_run.across for found in of_file]
    files = {file for file, _ in (*cached_run.of_files, *cached_run.across)} | {each.file for each in cached_run.kustomized}
    files |= {place.file for found in across for place in found.related}
    results = {number for _, number in cached_run.of_files}
    return files <= {*range(number_of_files)} and results <= {*range(len(cached_run.results))}


def _kustomized(files: Files, file: FileId, kustomizations: Kustomizations, *, labels: bool) -> Kustomized:
    path = files.sources[file].path
    added = tuple(sorted(kustomizations.labels_added(path))) if labels else None
    return Kustomized(file, kustomizations.is_patch(path), added)


class PastRun:
    """The entry of a run in the cache: that of the last run with the same input, which this run may replace."""

    def __init__(self, folder: str | None, files: Files, settings: MapSettings) -> None:
        """``folder``: the folder of the cache, None for that of the platform."""
        self._files = files
        self.contents: Contents = {}
        """The checksums of the files that this run has read."""
        self._cache = Cache(folder, settings)
        keys = self._cache.keys
        given = [(each.name, each.values, files.identity(number)) for number, each in enumerate(files.sources)]
        roles = (files.checked, files.context, sorted(files.nodes))
        target = settings.target
        of_cluster = (target.complete_nodes, target.volume_topologies, target.default_storage_class)
        identity = repr((keys.settings, of_cluster, settings.auto_nodes, settings.root, os.getcwd(), given, roles))
        self._name = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=KEY_SIZE).digest()

    def cached(self, is_as_it_was: Callable[[Kustomized], bool]) -> CachedRun | None:
        """Return the result of the last run if nothing has changed. ``is_as_it_was``: whether a file is used as before."""
        kept = self._cache.text(self._name)
        self._cache.close()
        if kept is None or kept.text[:KEY_SIZE] != self._digest():
            return None
        try:
            cached_run = _CODEC.decode(kept.text[KEY_SIZE:])
        except PlainError:
            return None
        if not _is_consistent(cached_run, len(self._files.sources)) or not all(map(is_as_it_was, cached_run.kustomized)):
            return None
        if not kept.noted:
            self._cache.keep([ResultEntry(self._name, None), *self._entries()])
        return cached_run

    def keep(self, cached_run: CachedRun) -> None:
        """Store the result of this run, unless a file that was read again for positions has changed in the meantime."""
        pointed_at = {file for file, _ in cached_run.across}
        pointed_at |= {place.file for _, found in cached_run.across for each in found for place in each.related}
        if any(self._content(file) != self.contents.get(self._files.sources[file]) for file in pointed_at):
            return
        digest = self._digest()
        if digest is None:
            return
        try:
            text = _CODEC.encode(cached_run)
        except PlainError:
            return
        self._cache.keep([ResultEntry(self._name, digest + text)])

    def _digest(self) -> bytes | None:
        """Return the checksum of all files of the run; None if one cannot be read."""
        digest = blake2b(digest_size=KEY_SIZE)
        for file, source in enumerate(self._files.sources):
            content = self.contents.get(source) or self._content(file)
            if content is None:
                return None
            self.contents[source] = content
            digest.update(content)
        return digest.digest()

    def _content(self, file: FileId) -> bytes | None:
        try:
            return checksum(read_bytes(self._files.sources[file]))
        except (OSError, MemoryError):
            return None

    def _entries(self) -> Iterator[ResultEntry]:
        """Yield entries that mark the results of the checked files as used."""
        for file in self._files.checked:
            source = self._files.sources[file]
            yield ResultEntry(self._cache.key(source.known_as, self.contents[source]), None)
