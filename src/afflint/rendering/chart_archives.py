"""Reads packed charts: the templates of one without unpacking it, or all its files into an empty folder.

An archive may be hostile. Links in it lead nowhere, its names stay inside the folder, and its size, unpacked too, has a limit.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, cast

from afflint.findings.phrases import quoted
from afflint.rendering.line_marks import is_template_name
from afflint.source.files import read_regular

SUFFIX = ".tgz"
LARGEST = 16 << 20
"""The highest size of an archive in bytes."""
_MOST_UNPACKED = 64 << 20
_LARGEST_TEMPLATE = 1 << 20
_MOST_FILES = 10_000
_DEEPEST = 100
"""The most folders that a file of an archive may be in."""
_FAULTS = (OSError, EOFError, tarfile.TarError, zlib.error, ValueError, RecursionError)
"""What a faulty archive raises. tarfile reads long names by recursion."""


def packed_templates(path: str) -> Iterator[str]:
    """Yield the texts of the templates of a packed chart and its subcharts, up to a total size and the first fault in the archive."""
    with suppress(*_FAULTS), _opened(read_regular(path, LARGEST)) as archive:
        for member in archive:
            file = archive.extractfile(member) if _is_template(member) else None
            if file is not None:
                yield file.read().decode("utf-8", "replace")


def unpack(data: bytes, folder: str) -> None:
    """Write the files of a packed chart into an empty folder, without the folder around them in the archive.

    Links and devices are left out. Raises OSError and ValueError for an archive that is not a chart. After ``LoadArchiveFiles`` of
    helm.sh/helm/pkg/chart/loader.
    """
    try:
        with _opened(data) as archive:
            for count, member in enumerate(archive):
                if count >= _MOST_FILES:
                    raise ValueError("it has too many files")
                file = archive.extractfile(member) if _is_file(member) else None
                if file is not None:
                    path = os.path.join(folder, *_parts_below(member.name))
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as written:
                        shutil.copyfileobj(file, written)
    except (EOFError, tarfile.TarError, zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from None


def _opened(data: bytes) -> tarfile.TarFile:
    stream = _Bounded(gzip.GzipFile(fileobj=io.BytesIO(data)))
    return tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|")


def _parts_below(name: str) -> list[str]:
    """Return the parts of a name in an archive below its first folder. Raises ValueError for one that may lead out of a folder."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    is_deep = len(parts) > _DEEPEST
    if name.startswith("/") or len(parts) < 2 or is_deep or any(part == ".." or set(part) & {"\\", ":", "\0"} for part in parts):
        raise ValueError(f"{quoted(name)} is not the name of a file in a chart")
    return parts[1:]


def _is_file(member: tarfile.TarInfo) -> bool:
    """Return whether a member is a file whose size is that of its text in the archive: a sparse file of a few bytes may have terabytes."""
    return member.isreg() and not member.issparse()


def _is_template(member: tarfile.TarInfo) -> bool:
    return _is_file(member) and member.size <= _LARGEST_TEMPLATE and "templates" in member.name.split("/") and is_template_name(member.name)


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
