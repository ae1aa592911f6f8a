"""The map step over a few files on a worker of any kind of cluster."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from afflint import __version__
from afflint.findings.codec import PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import Checker
from afflint.pipeline.mapping import bytes_of
from afflint.pipeline.results import RESULTS, checksum
from afflint.source.sources import Source


class WorkerFile(NamedTuple):
    """A file to check: its bytes, or the path from which the worker reads them. Its name is used to recognise templates and values."""

    name: str
    path: str
    data: bytes | None


class WorkerResult(NamedTuple):
    """The result of a file as JSON, and the checksum of its bytes.

    Without ``text``, the main process has to check the file itself. ``fault``: why the worker cannot read the file.
    """

    text: bytes | None
    content: bytes = b""
    fault: str = ""


def map_on_worker(version: str, settings: bytes, items: Sequence[WorkerFile]) -> list[WorkerResult] | str:
    """Return the result of each file under pickled settings; if the versions of afflint differ, the version of the worker instead."""
    if version != __version__:
        return __version__
    checker = Checker(pickle.loads(settings))  # The sender can run any code on this worker anyway.
    return [_answer(checker, item) for item in items]


def _answer(checker: Checker, item: WorkerFile) -> WorkerResult:
    data = bytes_of(Source(item.name, item.path, item.data))
    if isinstance(data, OSError):
        return WorkerResult(None, fault=data.strerror or str(data))
    if isinstance(data, MemoryError):
        return WorkerResult(None)
    try:
        return WorkerResult(RESULTS.encode(checker.check(item.name, data)), checksum(data))
    except (PlainError, MemoryError):
        return WorkerResult(None)
