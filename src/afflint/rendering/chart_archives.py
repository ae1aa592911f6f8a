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
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, cast

from afflint.findings.phrases import quoted
from afflint.rendering.line_marks import is_template_name
from afflint.source.files import read_regular

SUFFIX = ".tgz"
LARGEST = 16 << 20
"""The highest size of an archive in bytes."""
MOST_UNPACKED = 64 << 20
"""The highest size of all files of an archive in bytes."""
_LARGEST_FILE = 1 << 20
_MOST_FILES = 10_000
_DEEPEST = 100
"""The most folders that a file of an archive may be in."""
FAULTS = (OSError, EOFError, tarfile.TarError, zlib.error, ValueError, RecursionError)
"""What a faulty archive raises. tarfile reads long names by recursion."""


def packed_templates(path: str) -> Iterator[str]:
    """Yield the texts of the templates of a packed chart and its subcharts, up to a total size and the first fault in the archive."""
    with suppress(*FAULTS):
        yield from (text.decode("utf-8", "replace") for _, text in packed_files(path, _is_template, leave_out_large=True))


def packed_files(path: str, is_wanted: Callable[[str], bool], *, leave_out_large: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of some files of a packed chart. Raises one of ``FAULTS``, also for a file that is too large."""
    with _opened(read_regular(path, LARGEST)) as archive:
        for member in archive:
            if _is_file(member) and is_wanted(member.name):
                if member.size <= _LARGEST_FILE:
                    file = archive.extractfile(member)
                    yield member.name, b"" if file is None else file.read()
                elif not leave_out_large:
                    raise ValueError(f"{quoted(member.name)} is too large")


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


def _is_template(name: str) -> bool:
    return "templates" in name.split("/") and is_template_name(name)


class _Bounded:
    """The beginning of a stream, up to the highest size of an unpacked archive."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._remaining = MOST_UNPACKED

    def read(self, size: int) -> bytes:
        """Return the next bytes. Raises OSError when the highest size is reached."""
        if size > self._remaining:
            raise OSError("the archive is too large")
        self._remaining -= size
        return self._stream.read(size)
