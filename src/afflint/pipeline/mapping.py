"""The map step over many files: in this process or in several, with results from the cache."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult, MapSettings
from afflint.source.sources import Source, read_bytes
from afflint.yaml.documents import read
from afflint.yaml.prefilter import Reading

if TYPE_CHECKING:
    from afflint.pipeline.cache import Cache
    from afflint.pipeline.results import ResultEntry

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

_CHUNK = 64
# Starting processes costs about as much as checking this many files, or finding ten times as many in the cache.
_WORTH_PROCESSES = 300
_WORTH_PROCESSES_KNOWN = 3000
# Opening the cache costs about as much as checking this many files.
_WORTH_CACHE = 64
_SAMPLE = 32


def map_files(
    sources: Collection[Source],
    settings: MapSettings,
    jobs: int = 1,
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
        yield from _through_cache(list(sources), settings, jobs, progress, cache, {} if contents is None else contents, texts)
    elif jobs > 1 and len(sources) >= _WORTH_PROCESSES:
        yield from _in_processes(partial(map_here, settings), list(sources), jobs, progress, map_here(settings, texts))
    else:
        yield from _here(map_here(settings, texts, reading), sources, progress)


def is_worth_cache(sources: Collection[Source]) -> bool:
    """Return whether a run over these files uses the cache."""
    return len(sources) >= _WORTH_CACHE and find_spec("_sqlite3") is not None


def _here(map_one: Callable[[Source], Result], sources: Iterable[Source], progress: Progress | None) -> Iterator[Result]:
    for done, source in enumerate(sources):
        yield map_one(source)
        if progress is not None and done % _CHUNK == 0:
            progress(done)


def _in_processes(
    make: Callable[[], Callable[[Source], Result]],
    sources: Sequence[Source],
    jobs: int,
    progress: Progress | None,
    own: Callable[[Source], Result],
) -> list[Result]:
    """Map in several processes, including this one. Each other process calls ``make`` for its function; this one uses ``own``."""
    from afflint.pipeline.workers import map_in_processes

    return map_in_processes(make, sources, jobs, progress, own)


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


def _through_cache(
    sources: Sequence[Source], settings: MapSettings, jobs: int, progress: Progress | None, folder: str, contents: Contents, texts: Texts
) -> Iterator[FileResult]:
    from afflint.pipeline.cache import Cache

    cache = Cache(folder or None, settings)
    # Whether more processes pay depends on how many results the cache has; the first files are a sample.
    map_one = _cached_mapper(Checker(settings), cache, contents, texts)
    known = list(_here(map_one, sources[:_SAMPLE], progress))
    worth = _WORTH_PROCESSES_KNOWN if sum(each.found for each in known) > len(known) // 2 else _WORTH_PROCESSES
    rest = sources[_SAMPLE:]
    make = partial(_make_cached_mapper, settings, folder, contents)
    known += _in_processes(make, rest, jobs, progress, map_one) if jobs > 1 and len(rest) >= worth else _here(map_one, rest, progress)
    cache.keep([each.entry for each in known if each.entry is not None])
    contents.update((source, each.content) for source, each in zip(sources, known, strict=True) if each.content is not None)
    return (each.result for each in known)


def _make_cached_mapper(settings: MapSettings, folder: str, contents: Contents) -> Callable[[Source], _MappedFile]:
    from afflint.pipeline.cache import Cache

    return _cached_mapper(Checker(settings), Cache(folder or None, settings), contents)


def _cached_mapper(checker: Checker, cache: "Cache", contents: Contents, texts: Texts = _NO_TEXTS) -> Callable[[Source], _MappedFile]:
    from afflint.pipeline.results import ResultEntry, checksum, entry

    def find(source: Source, content: bytes) -> _MappedFile | None:
        key = cache.key(source.known_as, content)
        kept = cache.find(key)
        return None if kept is None else _MappedFile(kept.result, content, None if kept.noted else ResultEntry(key, None), found=True)

    def map_one(source: Source) -> _MappedFile:
        expected = contents.get(source)
        found = find(source, expected) if expected is not None else None
        if found is not None:
            return found
        data = bytes_of(source, texts)
        if isinstance(data, Exception):
            return _MappedFile(_unreadable(checker, data))
        content = checksum(data)
        found = find(source, content) if content != expected else None
        if found is not None:
            return found
        result = _checked(checker, source, data)
        return _MappedFile(result) if result.unread else _MappedFile(result, content, entry(cache.key(source.known_as, content), result))

    return map_one
