"""Apply one function to many items in several processes. The failure of a process neither hangs the run nor loses results silently.

The workers take chunks of items from the front, the main process from the back, until they meet. Workers receive all items when they
start. Only the numbers of chunks and the results are sent through pipes, so no write blocks.

- A worker dies (killed, out of memory, a crash): its pipe closes, the main process kills the other workers and raises WorkerDiedError.
- The main process is interrupted or fails: it kills the workers, which ignore the interrupt themselves.
- The main process is killed: each worker watches it and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Item = TypeVar("Item")
Result = TypeVar("Result")

_CHUNK = 32
_AHEAD = 2
"""The number of chunks that a worker has at a time: one in progress, and one to continue with until the main process responds."""
_MOST_WORKERS = 60
"""Windows waits for at most 63 handles at once."""
_BETWEEN_LOOKS = 0.005
_SAFE_PATH = "PYTHONSAFEPATH"
_PATIENCE = 0.5
"""The longest wait in seconds. On Windows, an interrupt does not end a wait."""


class WorkerDiedError(Exception):
    """A process ended before its work did; the message is for the user."""


def map_in_processes(
    make: Callable[[], Callable[[Item], Result]],
    items: Sequence[Item],
    jobs: int,
    progress: Callable[[int], None] | None = None,
    own: Callable[[Item], Result] | None = None,
) -> list[Result]:
    """Return the results of a function for all items, in their order. Each process calls ``make`` for its function; this one uses ``own``.

    ``make``, the items and the results must be picklable. ``progress`` is called from time to time with the number of items done.
    Raises WorkerDiedError, and the exceptions of the function from any process.
    """
    chunks = [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]
    function = make() if own is None else own
    crew = _WorkerPool(progress)
    try:
        crew.start(make, chunks, min(jobs - 1, len(chunks) - 1, _MOST_WORKERS))
        while (number := crew.from_the_back()) is not None:
            results = []
            for item in chunks[number]:
                results.append(function(item))
                crew.look()
            crew.keep(number, results)
        crew.finish()
    finally:
        crew.dismiss()
    return [result for number in range(len(chunks)) for result in crew.done[number]]


class _WorkerPool:
    """The worker processes, as the main process sees them: their chunks and their results."""

    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.done: dict[int, list[Any]] = {}
        self._progress = progress
        self._workers: dict[Connection, BaseProcess] = {}
        self._front = self._back = 0
        self._looked = 0.0
        self._count = 0

    def start(self, make: Callable[[], Callable[[Item], Result]], chunks: Sequence[Sequence[Item]], count: int) -> None:
        """Start the workers, or as many as the system allows, and give each its first chunks."""
        import multiprocessing

        self._back = len(chunks)
        for _ in range(count if _can_isolate(multiprocessing.get_start_method()) else 0):
            try:
                ours, theirs = multiprocessing.Pipe()
            except OSError:
                return
            process = multiprocessing.Process(target=_work, args=(theirs, make, chunks), daemon=True)
            try:
                with _uninterrupted(), _isolated():
                    process.start()
                    self._workers[ours] = process
            except OSError:
                # The system allows no more processes, or the worker died at its start: the others do its work.
                ours.close()
                return
            finally:
                theirs.close()
            for _ in range(_AHEAD):
                self._give(ours)

    def from_the_back(self) -> int | None:
        """Return the number of the next chunk for the main process; None if all chunks are taken."""
        if self._front >= self._back:
            return None
        self._back -= 1
        return self._back

    def keep(self, number: int, results: list[Any]) -> None:
        """Store the results of a chunk."""
        self.done[number] = results
        self._count += len(results)

    def look(self) -> None:
        """Receive results from the workers and send them more chunks, at most once in a few milliseconds."""
        if time.monotonic() - self._looked >= _BETWEEN_LOOKS:
            self._attend(0)

    def finish(self) -> None:
        """Wait for the chunks that the workers still have."""
        while self._unfinished():
            self._attend(_PATIENCE)

    def dismiss(self) -> None:
        """Kill all workers: their results are received or no longer needed."""
        for process in self._workers.values():
            process.kill()
        for connection, process in self._workers.items():
            process.join()
            connection.close()

    def _unfinished(self) -> bool:
        return any(number not in self.done for number in range(self._front))

    def _attend(self, toleration_seconds: float) -> None:
        from multiprocessing.connection import wait

        for connection in wait(list(self._workers), toleration_seconds):
            self._take(connection)  # type: ignore[arg-type]  # All waited-for objects are connections.
        self._looked = time.monotonic()
        if self._progress is not None:
            self._progress(self._count)

    def _take(self, connection: Connection) -> None:
        try:
            number, results = connection.recv()
        except (EOFError, OSError):
            raise self._death(connection) from None
        if number is None:
            error, where = results
            raise error from _ElsewhereError(where)
        self.keep(number, results)
        self._give(connection)

    def _give(self, connection: Connection) -> None:
        if self._front >= self._back:
            return
        try:
            connection.send(self._front)
        except OSError:
            raise self._death(connection) from None
        self._front += 1

    def _death(self, connection: Connection) -> WorkerDiedError:
        process = self._workers[connection]
        process.join(_PATIENCE)  # Its pipe closes slightly before it ends.
        advice = "it may have run out of memory: use fewer processes (`--jobs`)"
        return WorkerDiedError(f"a worker process {ending(process.exitcode)}; {advice}")


class _ElsewhereError(Exception):
    """The traceback of an error in a worker, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def ending(exit_code: int | None) -> str:
    """Describe how a process ended."""
    if exit_code is None or exit_code >= 0:
        return f"ended with exit code {exit_code}" if exit_code else "ended early"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"


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
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay interrupts in this process, and in a process that starts in this context, until it ends."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In a worker.


def _work(connection: Connection, make: Callable[[], Callable[[Item], Result]], chunks: Sequence[Sequence[Item]]) -> None:
    """Process chunks as their numbers arrive."""
    import gc

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The main process handles interrupts and kills the workers.
    gc.disable()
    _end_with_parent()
    try:
        function = make()
        while True:
            number = connection.recv()
            connection.send((number, [function(item) for item in chunks[number]]))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(1)  # The main process is gone.
    except Exception as error:
        connection.send((None, _portable(error)))


def _end_with_parent() -> None:
    """End this process as soon as the main process has ended for any reason."""
    import multiprocessing
    import threading
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _portable(error: Exception) -> tuple[Exception, str]:
    """Return an exception that can be pickled, and the text of its traceback."""
    import pickle
    import traceback

    where = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # The class of the exception may fail in any way.
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return error, where
