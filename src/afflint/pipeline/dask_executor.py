"""The map step on a Dask cluster: workers receive chunks of files and return results as JSON.

Only the map step runs on the cluster. This process looks results up in the cache, reads the configuration, and checks the files that a
worker cannot check. If a worker dies, Dask gives its chunks to another worker.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from afflint import __version__
from afflint.distribution import extra_needed
from afflint.findings.codec import PlainError
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import FileResult, MapSettings
from afflint.pipeline.mapping import Progress, bytes_of, map_here
from afflint.pipeline.remote_worker import WorkerFile, WorkerResult, map_on_worker
from afflint.pipeline.results import RESULTS, ResultEntry, checksum
from afflint.pipeline.workers import WorkerDiedError
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.pipeline.cache import Cache

_CHUNK = 64
_CHUNK_BYTES = 1 << 20
_AHEAD = 4
"""The maximum number of chunks in flight for each thread of the cluster."""
_PATIENCE_TO_CONNECT = 5.0
_PATIENCE_WITHOUT_WORKERS = 30.0
_BETWEEN_LOOKS = 1.0


class ClusterError(UserError):
    """A cluster that cannot be used; the message is for the user."""


class SchedulerAddress(NamedTuple):
    """The address of the scheduler. ``shared``: the workers see the files under the same paths as this machine."""

    host: str
    port: int
    shared: bool

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def address(text: str) -> SchedulerAddress:
    """Parse an address such as ``dask://HOST:PORT`` or ``dask://HOST:PORT?paths=shared``. Raises ClusterError."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port or parts.scheme != "dask" or parts.path not in ("", "/") or parts.query not in ("", "paths=shared"):
        raise ClusterError(f"--executor takes dask://HOST:PORT or dask://HOST:PORT?paths=shared, not {text!r}")
    return SchedulerAddress(host, port, bool(parts.query))


class _PendingFile(NamedTuple):
    """A file that was sent to a worker: its number among the sources, its cache key and the checksum of its bytes."""

    number: int
    source: Source
    key: bytes | None
    content: bytes


class DaskMapper:
    """A mapper for a run. It connects at the first file. ``cache`` is the folder of the cache, or DEFAULT_CACHE."""

    def __init__(self, where: SchedulerAddress, cache: str | None = None, progress: Progress | None = None) -> None:
        self._where = where
        self._cache = cache
        self._progress = progress
        self._client: Any = None
        self._executor: Any = None

    def __call__(self, sources: Collection[Source], settings: MapSettings) -> Iterator[FileResult]:
        """Return the results of the map step in the order of the sources. Raises ClusterError, WorkerDiedError."""
        return iter(_MapJob(self, list(sources), settings, self._opened(settings)).results()) if sources else iter(())

    def _opened(self, settings: MapSettings) -> Cache | None:
        if self._cache is None:
            return None
        from afflint.pipeline.cache import Cache

        return Cache(self._cache or None, settings)

    @property
    def where(self) -> SchedulerAddress:
        """The address of the scheduler."""
        return self._where

    def report(self, done: int) -> None:
        """Report how many files are done."""
        if self._progress is not None:
            self._progress(done)

    def submit(self, settings: bytes, items: list[WorkerFile]) -> Future[list[WorkerResult] | str]:
        """Send some files to a worker."""
        if self._executor is None:
            self._connect()
        future: Future[list[WorkerResult] | str] = self._executor.submit(map_on_worker, __version__, settings, items)
        return future

    def _connect(self) -> None:
        import logging
        import warnings

        # afflint reports problems of the cluster in one line, instead of the log of Dask.
        logging.disable(logging.CRITICAL)
        try:
            from distributed import Client
        except ImportError:
            raise ClusterError(extra_needed("--executor dask://", "dask")) from None
        warnings.simplefilter("ignore")
        # Deleting a client that could not connect would wait for its connection, and complain on standard error; ``close`` ends others.
        quiet = type("QuietClient", (Client,), {"__del__": lambda _: None})
        self._client = _within(
            _PATIENCE_TO_CONNECT + 2, lambda: quiet(f"tcp://{self._where}", timeout=_PATIENCE_TO_CONNECT, set_as_default=False)
        )
        if self._client is None:
            raise ClusterError(f"no Dask scheduler answers at {self._where}")
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE_TO_CONNECT)
        except TimeoutError:
            raise ClusterError(f"the Dask cluster at {self._where} has no workers") from None
        self._executor = self._client.get_executor(pure=False)

    @property
    def threads(self) -> int:
        """The number of chunks that the cluster can process at a time; 0 while it has no workers or cannot be reached."""
        if self._client is None or self._client.status != "running":
            return 0
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError):
            return 0

    def close(self) -> None:
        """Cancel unfinished work and disconnect."""
        if self._client is not None:
            with suppress(Exception):  # The cluster may no longer exist.
                self._client.close(timeout=2)
            self._client = None


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """Call ``make`` with a time limit and return its result, or None. Dask's own limit has no effect if another program answers.

    What that program answers may raise any error in Dask.
    """
    made: list[Any] = []

    def making() -> None:
        with suppress(Exception):
            made.append(make())

    thread = threading.Thread(target=making, daemon=True)
    thread.start()
    thread.join(seconds)
    return made[0] if made else None


class _MapJob:
    """One map step: pending requests to workers, and results so far."""

    def __init__(self, cluster: DaskMapper, sources: list[Source], settings: MapSettings, cache: Cache | None) -> None:
        self._cluster = cluster
        self._sources = sources
        self._settings = settings
        self._pickled = pickle.dumps(settings)
        self._cache = cache
        self._here = map_here(settings)
        self._results: list[FileResult | None] = [None] * len(sources)
        self._entries: list[ResultEntry] = []
        self._pending: dict[Future[list[WorkerResult] | str], list[_PendingFile]] = {}
        self._most = 1
        self._done = 0

    def results(self) -> list[FileResult]:
        asked: list[_PendingFile] = []
        items: list[WorkerFile] = []
        size = 0
        for number, source in enumerate(self._sources):
            item = self._item(number, source)
            if item is None:
                continue
            asked.append(item[0])
            items.append(item[1])
            size += len(item[1].data or b"")
            if len(items) >= _CHUNK or size >= _CHUNK_BYTES:
                self._send(asked, items)
                asked, items, size = [], [], 0
        if items:
            self._send(asked, items)
        while self._pending:
            self._attend()
        if self._cache is not None:
            self._cache.keep(self._entries)
        return [result for result in self._results if result is not None]

    def _item(self, number: int, source: Source) -> tuple[_PendingFile, WorkerFile] | None:
        """Return the request for a file; None if its result is already known."""
        by_path = self._cluster.where.shared and source.data is None and source.fault is None
        if by_path and self._cache is None:
            return _PendingFile(number, source, None, b""), WorkerFile(source.known_as, os.path.abspath(source.path), None)
        data = bytes_of(source)
        if isinstance(data, Exception):
            self._keep(number, self._here(source))
            return None
        key = None
        if self._cache is not None:
            key = self._cache.key(source.known_as, checksum(data))
            kept = self._cache.find(key)
            if kept is not None:
                self._entries += [] if kept.noted else [ResultEntry(key, None)]
                self._keep(number, kept.result)
                return None
        path = os.path.abspath(source.path) if by_path else ""
        return _PendingFile(number, source, key, checksum(data)), WorkerFile(source.known_as, path, None if by_path else data)

    def _keep(self, number: int, result: FileResult) -> None:
        self._results[number] = result
        self._done += 1
        if self._done % _CHUNK == 0:
            self._cluster.report(self._done)

    def _send(self, asked: list[_PendingFile], items: list[WorkerFile]) -> None:
        self._pending[self._cluster.submit(self._pickled, items)] = asked
        if len(self._pending) >= self._most:
            self._most = max(self._most, _AHEAD * self._cluster.threads)
        while len(self._pending) >= self._most:
            self._attend()

    def _attend(self) -> None:
        """Wait for results of a worker. Raises ClusterError if the cluster has had no workers for too long."""
        last = time.monotonic()
        while True:
            done, _ = wait(self._pending, _BETWEEN_LOOKS, FIRST_COMPLETED)
            if done:
                break
            if self._cluster.threads:
                last = time.monotonic()
            elif time.monotonic() - last > _PATIENCE_WITHOUT_WORKERS:
                raise ClusterError(f"the Dask cluster at {self._cluster.where} has lost all its workers or can no longer be reached")
        for future in done:
            asked = self._pending.pop(future)
            for each, answer in zip(asked, self._answers(future), strict=True):
                self._take(each, answer)

    def _answers(self, future: Future[list[WorkerResult] | str]) -> list[WorkerResult]:
        try:
            answers = future.result()
        except CancelledError:
            raise ClusterError(f"the Dask scheduler at {self._cluster.where} has stopped or has cancelled the work") from None
        except Exception as error:
            raise _meant(error) from error
        if isinstance(answers, str):
            versions = f"a Dask worker has afflint {answers[:40]}, but this is {__version__}"
            raise ClusterError(f"{versions}: install the same version on all workers")
        return answers

    def _take(self, asked: _PendingFile, answer: WorkerResult) -> None:
        result = None
        if answer.text is not None:
            with suppress(PlainError):
                result = RESULTS.decode(answer.text)
        if result is None:
            result = self._here(asked.source)
            if answer.fault and not result.unread:
                reason = f"a Dask worker cannot read {asked.source.name!r} ({answer.fault})"
                raise ClusterError(f"{reason}: ?paths=shared requires that the workers see the files under the same paths as this machine")
        elif asked.key is not None and not result.unread and answer.content == asked.content:
            self._entries.append(ResultEntry(asked.key, answer.text))
        self._keep(asked.number, result)


def _meant(error: Exception) -> Exception:
    """Return the error for the user that an exception from Dask means, or the exception itself."""
    if type(error).__name__ == "KilledWorker":
        return WorkerDiedError("Dask workers repeatedly died while checking the same files; they may have run out of memory")
    if isinstance(error, ImportError | AttributeError) or "No module named 'afflint" in str(error):
        missing = f"a Dask worker does not have afflint {__version__}"
        return ClusterError(f"{missing}: install the same version on all workers and on the scheduler")
    return error
