"""Calls a function for many items in several processes: those of this machine, or the workers of a Dask cluster.

Both are a ``concurrent.futures.Executor``. While all workers have enough to do, this process makes calls itself.

- A worker dies (killed, out of memory, a crash): the run ends with WorkerDiedError. On a cluster, another worker repeats its calls first.
- This process is interrupted or fails: it kills the processes that it started, which ignore the interrupt themselves.
- This process is killed: each process that it started watches it and ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from afflint import __version__
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_PROCESSES = 60
"""Windows waits for at most 63 handles at once."""
_ISOLATED = {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "ignore"}
"""Variables for Python processes that multiprocessing starts. If this process is killed, one of them would warn about semaphores."""
_PATIENCE = 0.5
"""The longest wait in seconds. On Windows, an interrupt does not end a wait."""
_PATIENCE_TO_CONNECT = 5.0
_PATIENCE_WITHOUT_WORKERS = 30.0
_BETWEEN_LOOKS = 1.0


class WorkerDiedError(Exception):
    """A process ended before its work did; the message is for the user."""


class Workers:
    """Where calls are made: in ``jobs`` processes of this machine, this one included, or on a cluster."""

    def __init__(self, jobs: int = 1, cluster: DaskCluster | None = None) -> None:
        self.jobs, self.cluster = jobs, cluster

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], here: Callable[[Item], Result] | None = None
    ) -> Iterator[Result]:
        """Yield the results of a function for all items, in their order, as the builtin ``map`` does.

        The function, the items and the results must be picklable. ``here`` is what this process calls instead, if it differs.
        Raises WorkerDiedError, ClusterError, and what the function raises.
        """
        waiting, here = list(items), here or function
        if self.cluster is not None:
            yield from _mapped(here, waiting, partial(self.cluster.submit, function), self.cluster)
            return
        with _processes(function, here, min(self.jobs, len(waiting)) - 1) as processes:
            yield from map(here, waiting) if processes is None else _mapped(here, waiting, processes.submit, processes)


class PerProcess(Generic[Result]):
    """A value that each process makes once, by calling a picklable function."""

    def __init__(self, make: Callable[[], Result]) -> None:
        import pickle

        self._pickled = pickle.dumps(make)

    def get(self) -> Result:
        """Return the value of this process."""
        made: Result = _made(self._pickled)
        return made


@lru_cache(maxsize=4)
def _made(pickled: bytes) -> Any:
    import pickle

    return pickle.loads(pickled)()


def _mapped(
    here: Callable[[Item], Result], items: list[Item], submit: Callable[[Item], Future[Result]], executor: _Processes | DaskCluster
) -> Iterator[Result]:
    """Make the calls on an executor, and here while each worker has a call in progress, and at first another to continue with."""
    from concurrent.futures import wait

    calls: deque[Future[Result]] = deque()
    running: list[Future[Result]] = []
    for number, item in enumerate(items):
        running = [call for call in running if not call.done()]
        width = executor.width
        ahead = 2 if len(items) - number > 2 * width else 1
        if len(running) < ahead * width:
            calls.append(submit(item))
            running.append(calls[-1])
        else:
            calls.append(_done(here(item)))
        while calls and calls[0].done():
            yield executor.result(calls.popleft())
    while calls:
        if wait([calls[0]], _PATIENCE).done:
            yield executor.result(calls.popleft())
        else:
            executor.check()


def _done(result: Result) -> Future[Result]:
    from concurrent.futures import Future

    call: Future[Result] = Future()
    call.set_result(result)
    return call


# Processes of this machine.


class _Processes:
    """Processes of this machine, for the calls of one function."""

    def __init__(self, pool: ProcessPoolExecutor, here: Callable[[Any], Any], width: int) -> None:
        self._pool, self._here = pool, here
        self.width = width
        """How many calls they can make at a time."""

    def submit(self, item: Any) -> Future[Any]:
        """Make a call in a process; in this one if the system allows no more processes."""
        from concurrent.futures import BrokenExecutor

        try:
            with _uninterrupted(), _isolated():
                return self._pool.submit(_call, item)
        except BrokenExecutor:
            raise _death() from None
        except OSError:
            self.width = 0
            return _done(self._here(item))

    def result(self, call: Future[Result]) -> Result:
        """Return the result of a call. Raises WorkerDiedError, and what the function raises."""
        from concurrent.futures import BrokenExecutor

        try:
            return call.result()
        except BrokenExecutor:
            raise _death() from None

    def check(self) -> None:
        """Do nothing: calls of a process that died are done."""


def _death() -> WorkerDiedError:
    return WorkerDiedError("a worker process was killed; it may have run out of memory: use fewer processes (`--jobs`)")


@contextmanager
def _processes(function: Callable[[Any], Any], here: Callable[[Any], Any], count: int) -> Iterator[_Processes | None]:
    """Start processes at the first call, and kill them in the end; None if there are none."""
    pool = _pool(function, min(count, _MOST_PROCESSES)) if count > 0 else None
    if pool is None:
        yield None
        return
    try:
        yield _Processes(pool, here, min(count, _MOST_PROCESSES))
    finally:
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown()


def _pool(function: Callable[[Any], Any], count: int) -> ProcessPoolExecutor | None:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    if not _can_isolate(multiprocessing.get_start_method()):
        return None
    try:
        with _isolated():
            return ProcessPoolExecutor(count, initializer=_begin, initargs=(function,))
    except (ImportError, NotImplementedError, OSError):  # The system has no semaphores.
        return None


def _can_isolate(method: str) -> bool:
    """Return whether ``_isolated`` works for a start method. Python 3.10, and Python with ``-E``, do not read its environment variable."""
    if method == "fork":
        return True
    return sys.version_info >= (3, 11) and (sys.flags.safe_path or not sys.flags.ignore_environment)


@contextmanager
def _isolated() -> Iterator[None]:
    """Prevent Python processes that start in this context from importing modules of the current folder, which may not be trusted.

    ``spawn`` and ``forkserver`` start ``python -c "from multiprocessing..."``, which searches that folder first. Only an environment
    variable turns this off, because multiprocessing has no parameter for it.
    """
    before = {name: os.environ.get(name) for name in _ISOLATED}
    os.environ.update(_ISOLATED)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay interrupts in this process, and in a process that starts in this context, until it ends."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(function: Callable[[Any], Any]) -> None:
    """Prepare a process for its calls of a function."""
    import gc
    import multiprocessing
    import signal
    import threading
    from multiprocessing.connection import wait

    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The process that started this one handles interrupts and kills it.
    gc.disable()
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_function: Callable[[Any], Any]
"""What this process calls, if it was started for calls."""


def _call(item: Any) -> Any:
    return _function(item)


# The workers of a Dask cluster.


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
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port or parts.scheme != "dask" or parts.path not in ("", "/") or parts.query not in ("", "paths=shared"):
        raise ClusterError(f"--executor takes dask://HOST:PORT or dask://HOST:PORT?paths=shared, not {text!r}")
    return SchedulerAddress(host, port, bool(parts.query))


class DaskCluster:
    """The workers of a cluster. It connects at the first call."""

    def __init__(self, where: SchedulerAddress) -> None:
        self.where = where
        self._client: Any = None
        self._executor: Any = None
        self._looked = self._alive = 0.0
        self._threads = 0

    def submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Make a call on a worker."""
        import pickle

        if self._executor is None:
            self._connect()
        # A worker of another version could not even read the function.
        call: Future[Result] = self._executor.submit(_call_on_worker, __version__, pickle.dumps((function, item)))
        return call

    def result(self, call: Future[Result]) -> Result:
        """Return the result of a call. Raises ClusterError, WorkerDiedError, and what the function raises."""
        from concurrent.futures import CancelledError

        try:
            return call.result()
        except CancelledError:
            raise ClusterError(f"the Dask scheduler at {self.where} has stopped or has cancelled the work") from None
        except Exception as error:
            raise _meant(error) from error

    def check(self) -> None:
        """Raise ClusterError if the cluster has had no workers for too long."""
        if not self.width and time.monotonic() - self._alive > _PATIENCE_WITHOUT_WORKERS:
            raise ClusterError(f"the Dask cluster at {self.where} has lost all its workers or can no longer be reached")

    @property
    def width(self) -> int:
        """The number of calls that the cluster can make at a time; 0 while it has no workers or cannot be reached."""
        if self._executor is None:
            self._connect()
        now = time.monotonic()
        if now - self._looked > _BETWEEN_LOOKS:
            self._looked, self._threads = now, 0
            with suppress(OSError, TimeoutError):
                self._threads = sum(self._client.nthreads().values()) if self._client.status == "running" else 0
            self._alive = now if self._threads else self._alive
        return self._threads

    def _connect(self) -> None:
        import logging
        import warnings

        from afflint.distribution import extra_needed

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
            _PATIENCE_TO_CONNECT + 2, lambda: quiet(f"tcp://{self.where}", timeout=_PATIENCE_TO_CONNECT, set_as_default=False)
        )
        if self._client is None:
            raise ClusterError(f"no Dask scheduler answers at {self.where}")
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE_TO_CONNECT)
        except TimeoutError:
            raise ClusterError(f"the Dask cluster at {self.where} has no workers") from None
        self._executor = self._client.get_executor(pure=False)

    def close(self) -> None:
        """Cancel unfinished work and disconnect."""
        if self._client is not None:
            with suppress(Exception):  # The cluster may no longer exist.
                self._client.close(timeout=2)
            self._client = None


def _call_on_worker(version: str, pickled: bytes) -> Any:
    """Make a call on a worker of a cluster, whose version of afflint has to be that of the caller."""
    import pickle

    if version != __version__:
        raise ClusterError(f"a Dask worker has afflint {__version__}, but this is {version}: install the same version on all workers")
    function, item = pickle.loads(pickled)  # The sender can run any code on this worker anyway.
    return function(item)


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """Call ``make`` with a time limit and return its result, or None. Dask's own limit has no effect if another program answers.

    What that program answers may raise any error in Dask.
    """
    import threading

    made: list[Any] = []

    def making() -> None:
        with suppress(Exception):
            made.append(make())

    thread = threading.Thread(target=making, daemon=True)
    thread.start()
    thread.join(seconds)
    return made[0] if made else None


def _meant(error: Exception) -> Exception:
    """Return the error for the user that an exception from Dask means, or the exception itself."""
    if type(error).__name__ == "KilledWorker":
        return WorkerDiedError("Dask workers repeatedly died in the same call; they may have run out of memory")
    if isinstance(error, ImportError | AttributeError) or "No module named 'afflint" in str(error):
        missing = f"a Dask worker does not have afflint {__version__}"
        return ClusterError(f"{missing}: install the same version on all workers and on the scheduler")
    return error
