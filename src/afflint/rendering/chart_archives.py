"""Reads the templates of packed charts, without unpacking them: nothing is written, and links in an archive lead nowhere."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from afflint.rendering.line_marks import is_template_name
from afflint.source.files import read_regular

SUFFIX = ".tgz"
_LARGEST = 16 << 20
_MOST_UNPACKED = 64 << 20
_LARGEST_TEMPLATE = 1 << 20


def packed_templates(path: str) -> Iterator[str]:
    """Yield the texts of the templates of a packed chart and its subcharts, up to a total size and the first fault in the archive."""
    try:
        stream = _Bounded(gzip.GzipFile(fileobj=io.BytesIO(read_regular(path, _LARGEST))))
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if _is_template(member) else None
                if file is not None:
                    yield file.read().decode("utf-8", "replace")
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError):
        return


def _is_template(member: tarfile.TarInfo) -> bool:
    return member.isreg() and member.size <= _LARGEST_TEMPLATE and "templates" in member.name.split("/") and is_template_name(member.name)


class _Bounded:
    """The beginning of a stream, up to the highest size of an unpacked archive."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._remaining = _MOST_UNPACKED

    def read(self, size: int) -> bytes:
        """Return the next bytes. Raises OSError when the highest size is reached."""
        if size > self._remaining:
            raise OSError("the archive is too large")
        self._remaining -= size
        return self._stream.read(size)
