"""The map step over many files: in this process or in several, with results from the cache."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult, MapSettings
from afflint.source.sources import Source, read_bytes
from afflint.workers import ClusterError, PerProcess, Workers
from afflint.yaml.documents import read
from afflint.yaml.prefilter import Reading

if TYPE_CHECKING:
    from afflint.pipeline.cache import Cache
    from afflint.pipeline.results import Keys, ResultEntry

Item = TypeVar("Item")
Result = TypeVar("Result")

Progress = Callable[[int], None]
"""Called from time to time with the number of files that are done."""

Contents = dict[Source, bytes]
"""Checksums of the files that a run has read."""

Texts = dict[Source, bytes]
"""The bytes of some files that a run has read. The map step removes the bytes of a file when it checks the file, to save memory."""
_NO_TEXTS: Texts = {}

DEFAULT_CACHE = ""
"""The folder in which this platform keeps caches."""

_HERE = Workers()
_CHUNK = 64
_CHUNK_BYTES = 1 << 20
# Starting processes costs about as much as checking this many files, or finding ten times as many in the cache.
_WORTH_PROCESSES = 300
_WORTH_PROCESSES_KNOWN = 3000
# Opening the cache costs about as much as checking this many files.
_WORTH_CACHE = 64
_SAMPLE = 32


def map_files(
    sources: Collection[Source],
    settings: MapSettings,
    workers: Workers = _HERE,
    progress: Progress | None = None,
    cache: str | None = None,
    contents: Contents | None = None,
    texts: Texts = _NO_TEXTS,
    reading: Reading = read,
) -> Iterator[FileResult]:
    """Return the results of the map step in the order of the sources, with any number of processes.

    ``cache`` is the folder of the cache, or DEFAULT_CACHE. A file whose checksum is in ``contents`` and whose result is in the cache is
    not read; checksums of files that are read are added to ``contents``. ``reading`` replaces ``documents.read`` in a single process
    without a cache.
    """
    if cache is not None and is_worth_cache(sources):
        return _through_cache(list(sources), settings, workers, progress, cache, {} if contents is None else contents, texts)
    if workers.cluster is not None:
        unknown = [(source, None) for source in sources]
        return (each.result for each in _on_cluster(unknown, settings, workers, progress, None))
    if workers.jobs > 1 and len(sources) >= _WORTH_PROCESSES:
        return _in_chunks(partial(map_here, settings), _chunks(list(sources)), workers, progress, map_here(settings, texts))
    return _here(map_here(settings, texts, reading), sources, progress)


def is_worth_cache(sources: Collection[Source]) -> bool:
    """Return whether a run over these files uses the cache."""
    return len(sources) >= _WORTH_CACHE and find_spec("_sqlite3") is not None


def _here(map_one: Callable[[Item], Result], items: Iterable[Item], progress: Progress | None) -> Iterator[Result]:
    for done, item in enumerate(items):
        yield map_one(item)
        if progress is not None and done % _CHUNK == 0:
            progress(done)


def _chunks(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]


def _in_chunks(
    make: Callable[[], Callable[[Item], Result]],
    chunks: Iterable[Sequence[Item]],
    workers: Workers,
    progress: Progress | None,
    own: Callable[[Item], Result],
) -> Iterator[Result]:
    """Map in several processes, including this one. Each other process calls ``make`` for its function; this one uses ``own``."""
    done = 0
    for results in workers.map(partial(_map_chunk, PerProcess(make)), chunks, lambda chunk: list(map(own, chunk))):
        yield from results
        done += len(results)
        if progress is not None:
            progress(done)


def _map_chunk(function: PerProcess[Callable[[Item], Result]], items: Sequence[Item]) -> list[Result]:
    return list(map(function.get(), items))


def map_here(settings: MapSettings, texts: Texts = _NO_TEXTS, reading: Reading = read) -> Callable[[Source], FileResult]:
    """Return the map step of one file in this process."""
    return partial(result_of, Checker(settings, reading), texts=texts)


def result_of(checker: Checker, source: Source, kept: DocumentCache | None = None, texts: Texts = _NO_TEXTS) -> FileResult:
    """Return the result of the map step for a file, even if it cannot be read. ``kept`` has the results of its documents."""
    data = bytes_of(source, texts)
    return _unreadable(checker, data) if isinstance(data, Exception) else _checked(checker, source, data, kept)


def bytes_of(source: Source, texts: Texts = _NO_TEXTS) -> bytes | OSError | MemoryError:
    """Return the bytes of a file, or the reason why it cannot be read."""
    text = texts.pop(source, None)
    if text is not None:
        return text
    try:
        return read_bytes(source)
    except (OSError, MemoryError) as error:
        return error


def _checked(checker: Checker, source: Source, data: bytes, kept: DocumentCache | None = None) -> FileResult:
    try:
        return checker.check(source.known_as, data, kept)
    except MemoryError as error:
        return _unreadable(checker, error)


def _unreadable(checker: Checker, error: OSError | MemoryError) -> FileResult:
    if isinstance(error, OSError):
        remedy = "Check that the file exists and is readable; it may be a broken symbolic link."
        return checker.unreadable(f"cannot be read: {error.strerror or error}", remedy)
    remedy = "Check fewer files at a time, or with fewer processes (`--jobs`)."
    return checker.unreadable("the file needs more memory than is available", remedy)


# With a cache.


class _MappedFile(NamedTuple):
    """The result of a file, its new entry for the cache, and the checksum of its bytes if they could be read."""

    result: FileResult
    content: bytes | None = None
    entry: "ResultEntry | None" = None
    found: bool = False


_Expected = tuple[Source, bytes | None]
"""A file, and its checksum if it is known."""
_Content = bytes | OSError | MemoryError
"""The content of a file, or the reason why it cannot be read."""


def _through_cache(
    sources: Sequence[Source],
    settings: MapSettings,
    workers: Workers,
    progress: Progress | None,
    folder: str,
    contents: Contents,
    texts: Texts,
) -> Iterator[FileResult]:
    from afflint.pipeline.cache import Cache

    cache = Cache(folder or None, settings)
    items = [(source, contents.get(source)) for source in sources]
    if workers.cluster is not None:
        known = _on_cluster(items, settings, workers, progress, cache)
    else:
        # Whether more processes pay depends on how many results the cache has; the first files are a sample.
        map_one = _cached_mapper(Checker(settings), cache, texts)
        known = list(_here(map_one, items[:_SAMPLE], progress))
        worth = _WORTH_PROCESSES_KNOWN if sum(each.found for each in known) > len(known) // 2 else _WORTH_PROCESSES
        rest = items[_SAMPLE:]
        if workers.jobs > 1 and len(rest) >= worth:
            known += _in_chunks(partial(_make_cached_mapper, settings, folder), _chunks(rest), workers, progress, map_one)
        else:
            known += _here(map_one, rest, progress)
    cache.keep([each.entry for each in known if each.entry is not None])
    contents.update((source, each.content) for source, each in zip(sources, known, strict=True) if each.content is not None)
    return (each.result for each in known)


def _make_cached_mapper(settings: MapSettings, folder: str) -> Callable[[_Expected], _MappedFile]:
    from afflint.pipeline.cache import Cache

    return _cached_mapper(Checker(settings), Cache(folder or None, settings))


def _cached_mapper(checker: Checker, cache: "Cache", texts: Texts = _NO_TEXTS) -> Callable[[_Expected], _MappedFile]:
    def map_one(item: _Expected) -> _MappedFile:
        found = _found(cache, *item, texts)
        return found if isinstance(found, _MappedFile) else _mapped(checker, cache.keys, item[0], found)

    return map_one


def _found(cache: "Cache", source: Source, expected: bytes | None, texts: Texts = _NO_TEXTS) -> "_MappedFile | _Content":
    """Return the result of a file from the cache, or the content of the file. ``expected`` is its checksum, if that is known."""
    from afflint.pipeline.results import ResultEntry, checksum

    def find(content: bytes) -> _MappedFile | None:
        key = cache.key(source.known_as, content)
        kept = cache.find(key)
        return None if kept is None else _MappedFile(kept.result, content, None if kept.noted else ResultEntry(key, None), found=True)

    found = find(expected) if expected is not None else None
    if found is not None:
        return found
    data = bytes_of(source, texts)
    if isinstance(data, Exception) or (content := checksum(data)) == expected:
        return data
    return find(content) or data


def _mapped(checker: Checker, keys: "Keys | None", source: Source, data: "_Content") -> _MappedFile:
    """Return the result of the map step for a file with this content, and with ``keys`` its entry for the cache."""
    from afflint.pipeline.results import checksum, entry

    if isinstance(data, Exception):
        return _MappedFile(_unreadable(checker, data))
    result = _checked(checker, source, data)
    if keys is None or result.unread:
        return _MappedFile(result)
    content = checksum(data)
    return _MappedFile(result, content, entry(keys.key(source.known_as, content), result))


# On a cluster.


class _SentFiles(list[Source]):
    """The files of a chunk. They are pickled with their content, which the workers of a cluster cannot read themselves."""

    def __reduce__(self) -> "tuple[type[list[Source]], tuple[list[Source]]]":
        content = [(source, bytes_of(source)) for source in self]
        return list, ([source if isinstance(data, Exception) else source._replace(data=data) for source, data in content],)


def _on_cluster(
    items: Sequence[_Expected], settings: MapSettings, workers: Workers, progress: Progress | None, cache: "Cache | None"
) -> list[_MappedFile]:
    """Map on the workers of a cluster. This process asks the cache before, and maps what only the workers cannot read."""
    assert workers.cluster is not None
    shared = workers.cluster.where.shared
    found = [None if cache is None else _found(cache, *item) for item in items]
    unknown = [source for (source, _), each in zip(items, found, strict=True) if not isinstance(each, _MappedFile)]
    make = partial(_make_keyed_mapper, settings, None if cache is None else cache.keys)
    answers = _in_chunks(make, _cluster_chunks(unknown, shared=shared), workers, progress, make())
    return [
        each if isinstance(each, _MappedFile) else _readable(next(answers), source, settings, shared=shared)
        for (source, _), each in zip(items, found, strict=True)
    ]


def _make_keyed_mapper(settings: MapSettings, keys: "Keys | None") -> Callable[[Source], _MappedFile]:
    checker = Checker(settings)
    return lambda source: _mapped(checker, keys, source, bytes_of(source))


def _cluster_chunks(sources: Iterable[Source], *, shared: bool) -> Iterator[list[Source]]:
    """Yield the files in chunks whose content is not too large to be sent; ``shared``: it is not sent."""
    chunk, size = list[Source](), 0
    for source in sources:
        chunk.append(source._replace(path=os.path.abspath(source.path)) if shared and source.data is None else source)
        size += 0 if shared else _size(source)
        if len(chunk) >= _CHUNK or size >= _CHUNK_BYTES:
            yield chunk if shared else _SentFiles(chunk)
            chunk, size = [], 0
    if chunk:
        yield chunk if shared else _SentFiles(chunk)


def _size(source: Source) -> int:
    try:
        return len(source.data) if source.data is not None else os.path.getsize(source.path)
    except OSError:
        return 0


def _readable(mapped: _MappedFile, source: Source, settings: MapSettings, *, shared: bool) -> _MappedFile:
    """Return the result of a worker, or that of this process if the worker cannot read the file. Raises ClusterError."""
    if not mapped.result.unread:
        return mapped
    here = map_here(settings)(source)
    if shared and not here.unread:
        reason = f"a Dask worker cannot read {source.name!r}"
        raise ClusterError(f"{reason}: ?paths=shared requires that the workers see the files under the same paths as this machine")
    return _MappedFile(here)
