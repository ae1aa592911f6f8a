"""Reads archives (`tar` in gzip) that others wrote, in time and memory that grow only with their unpacked size.

Python's ``tarfile`` reads extended headers with regular expressions that backtrack, up to Python 3.12.4. After the reader of the Go
package ``archive/tar``, which Helm uses, and the format in ``pax(1)``.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator

from afflint.findings.namedtuples import NamedTuple

_BLOCK = 512
_LONGEST_HEADER = 1 << 16
"""The most bytes of an extended header or a long name."""
_MOST_HEADERS = 4
"""The most extended headers before one file."""
_REGULAR, _CONTIGUOUS = (b"0", b"\0"), b"7"
_LONG_NAME, _LONG_LINK, _EXTENDED, _GLOBAL = b"L", b"K", b"x", b"g"
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")
"""Links, devices, folders and pipes."""
_ASCII = bytes(range(128))
_SPARSE = "GNU.sparse."


class ArchiveError(ValueError):
    """An archive that cannot be read, or is larger than allowed."""


class ArchiveBudget:
    """The most bytes of unpacked archives, and the most files and folders in them. Archives in archives share one."""

    def __init__(self, size: int = 64 << 20, entries: int = 10_000) -> None:
        self._size, self._entries = size, entries

    def take(self, size: int) -> None:
        """Take some bytes. Raises ArchiveError if there are fewer."""
        if size > self._size:
            raise ArchiveError("the archive is too large")
        self._size -= size

    def take_entry(self) -> None:
        """Take a file or folder. Raises ArchiveError if all are taken."""
        if not self._entries:
            raise ArchiveError("it has too many files")
        self._entries -= 1


class ArchivedFile(NamedTuple):
    """A regular file of an archive. Its name is as the system decodes file names, and may lead anywhere."""

    name: str
    data: bytes


def files_in(data: bytes, budget: ArchiveBudget) -> Iterator[ArchivedFile]:
    """Yield the regular files of a packed archive, up to the first fault. Links, devices and sparse files are left out.

    Raises ArchiveError.
    """
    stream = _Unpacked(data, budget)
    name, is_sparse, size_of_next, headers = "", False, -1, 0
    while (header := stream.header()) is not None:
        kind, size = header[156:157], _number(header[124:136])
        if kind in (_LONG_NAME, _LONG_LINK, _EXTENDED, _GLOBAL):
            headers += 1
            if size > _LONGEST_HEADER or headers > _MOST_HEADERS:
                raise ArchiveError("a header is too large")
            text = stream.content(size)
            if kind == _LONG_NAME:
                name = _text(text.split(b"\0")[0])
            elif kind == _EXTENDED:
                for key, value in _records(text):
                    name = _text(value) if key == "path" else name
                    size_of_next = _decimal(value) if key == "size" else size_of_next
                    is_sparse = is_sparse or key.startswith(_SPARSE)
            continue
        budget.take_entry()
        content = stream.content(0 if kind in _WITHOUT_CONTENT else size if size_of_next < 0 else size_of_next)
        name = name or _name_in(header)
        is_folder = kind == b"\0" and name.endswith("/")  # An old form.
        if kind in (*_REGULAR, _CONTIGUOUS) and not is_sparse and not is_folder:
            yield ArchivedFile(name, content)
        name, is_sparse, size_of_next, headers = "", False, -1, 0
    if not stream.has_begun:
        raise ArchiveError("it is empty")


class _Unpacked:
    """The bytes of an archive, up to a limit."""

    def __init__(self, data: bytes, budget: ArchiveBudget) -> None:
        self._file = gzip.GzipFile(fileobj=io.BytesIO(data))
        self._budget = budget
        self.has_begun = False

    def header(self) -> bytes | None:
        """Return the next header; None at the end of the archive."""
        block = self._read(_BLOCK)
        if not block:
            return None
        self.has_begun = True
        if not any(block):
            if any(self._read(_BLOCK)):
                raise ArchiveError("a header is empty")
            return None
        if len(block) < _BLOCK or _number(block[148:156]) not in _checksums(block):
            raise ArchiveError("it is not an archive")
        return block

    def content(self, size: int) -> bytes:
        """Return the content after a header."""
        data = self._read(size)
        padding = -size % _BLOCK
        if len(data) < size or len(self._read(padding)) < padding:
            raise ArchiveError("the archive is incomplete")
        return data

    def _read(self, size: int) -> bytes:
        self._budget.take(size)
        try:
            return self._file.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise ArchiveError(str(error)) from None


def _checksums(block: bytes) -> tuple[int, int]:
    """Return the sums of a header as unsigned and as signed bytes, with spaces in place of the checksum itself."""
    counted = block[:148] + b" " * 8 + block[156:]
    unsigned = sum(counted)
    return unsigned, unsigned - 256 * len(counted.translate(None, _ASCII))


def _number(field: bytes) -> int:
    """Return a number of a header: octal digits, or big-endian bytes after a first bit. Raises ArchiveError."""
    if field[0] & 0x80:
        if field[0] & 0x40:
            raise ArchiveError("a number is negative")
        return int.from_bytes(bytes([field[0] & 0x3F]) + field[1:], "big")
    digits = field.strip(b" \0").split(b"\0")[0]
    if digits.strip(b"01234567"):
        raise ArchiveError("it is not an archive")
    return int(digits, 8) if digits else 0


def _name_in(header: bytes) -> str:
    name, prefix = (header[start:end].split(b"\0")[0] for start, end in ((0, 100), (345, 500)))
    is_posix = header[257:262] == b"ustar" and header[262:263] == b"\0"
    return _text(prefix + b"/" + name if prefix and is_posix else name)


def _records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the keys and values of an extended header: lines `LENGTH KEY=VALUE`. Raises ArchiveError."""
    start = 0
    while start < len(data) and data[start]:
        space = data.find(b" ", start, start + 20)
        length = _decimal(data[start:space]) if space > start else 0
        record = data[space + 1 : start + length]
        key, found, value = record[:-1].partition(b"=")
        if length <= space - start or record[-1:] != b"\n" or not found or start + length > len(data):
            raise ArchiveError("an extended header cannot be read")
        yield key.decode("utf-8", "replace"), value
        start += length


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > 15:
        raise ArchiveError("an extended header cannot be read")
    return int(text)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
