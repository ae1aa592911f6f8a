"""What a worker of a cluster is asked to do: the map step over a few files. Nothing here knows which cluster it is."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from hashlib import blake2b

from afflint import __version__
from afflint.findings.codec import PlainError
from afflint.findings.namedtuples import NamedTuple
from afflint.pipeline.map_step import Checker
from afflint.pipeline.mapping import bytes_of
from afflint.pipeline.results import RESULTS
from afflint.source.sources import Source


class WorkerFile(NamedTuple):
    """A file to look into: its bytes, or the path where the worker finds them. Its name serves to recognise templates and values."""

    name: str
    path: str
    data: bytes | None


class WorkerResult(NamedTuple):
    """What a file told, as plain data, and a checksum of the bytes that told it.

    Without ``text`` whoever asks has to look into the file himself. ``fault``: why the worker cannot read it.
    """

    text: bytes | None
    content: bytes = b""
    fault: str = ""


def map_on_worker(version: str, settings: bytes, items: Sequence[WorkerFile]) -> list[WorkerResult] | str:
    """What each file tells under pickled settings; the version of afflint here, if it is another than that of whoever asks."""
    if version != __version__:
        return __version__
    checker = Checker(pickle.loads(settings))  # From whoever may make this process do anything anyhow.
    return [_answer(checker, item) for item in items]


def _answer(checker: Checker, item: WorkerFile) -> WorkerResult:
    data = bytes_of(Source(item.name, item.path, item.data))
    if isinstance(data, OSError):
        return WorkerResult(None, fault=data.strerror or str(data))
    if isinstance(data, MemoryError):
        return WorkerResult(None)
    try:
        return WorkerResult(RESULTS.encode(checker.check(item.name, data)), content_checksum(data))
    except (PlainError, MemoryError):
        return WorkerResult(None)


def content_checksum(data: bytes) -> bytes:
    """A checksum of the bytes of a file."""
    return blake2b(data, digest_size=20).digest()
