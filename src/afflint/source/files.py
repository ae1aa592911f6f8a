"""Reads files: never more bytes than a limit, and never from a pipe that could block.

Every file of a tree is read here, because the author of the tree may have added a link to a device, a pipe or an endless file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from afflint.source.folders import Folder

_AT_ONCE = 1 << 20
_OPEN_FILES = ("/dev/", "/proc/")
"""The folders with the names of open files of a process, among them that of the shell's `<(command)`."""
# Opening a pipe without a writer would block. Windows has neither the flag nor such pipes, but it converts line ends of texts.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_regular(path: str, most: int, folder: Folder | None = None) -> bytes:
    """Read a regular file. Raises OSError, also for a folder, a pipe or a device, and for more than ``most`` bytes.

    With ``folder``, ``path`` is a name in this open folder, and a link is not followed.
    """
    number = os.open(path, _FLAGS) if folder is None else folder.open(path, _FLAGS)
    try:
        status = os.fstat(number)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if status.st_size > most:
            raise _too_large(most)
        size = status.st_size
        data = os.read(number, size + 1)
        # A file can grow or shrink while it is read, and those of /proc do not report their size.
        return data if data and len(data) == size else read_all(lambda count: os.read(number, count), most, data)
    finally:
        os.close(number)


def read_begin(path: str) -> bytes:
    """Read the first 64 KB of a regular file. Raises OSError, also for a folder, a pipe or a device."""
    number = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return os.read(number, 1 << 16)
    finally:
        os.close(number)


def read_named(path: str, most: int) -> bytes:
    """Read a file that the user names: also a pipe of the shell, as for `<(command)`, or a device, to its end.

    A named pipe in a folder is rejected, because it may never have a writer. Raises OSError as ``read_regular``.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        return read_regular(path, most)
    if stat.S_ISFIFO(mode) and not os.path.abspath(path).startswith(_OPEN_FILES):
        raise OSError(errno.EINVAL, "a named pipe (FIFO); use `-` with a redirection, or `<(command)`")
    with open(path, "rb", buffering=0) as file:
        return read_all(file.read, most)


def read_all(read: Callable[[int], bytes], most: int, begun: bytes = b"") -> bytes:
    """Call ``read`` until it returns nothing, and return all bytes after ``begun``. Raises OSError for more than ``most`` bytes."""
    chunks = [begun]
    size = len(begun)
    while chunk := read(_AT_ONCE):
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise _too_large(most)
    return b"".join(chunks)


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {most // 2**20} MB" if most >= 2**20 else f"larger than {most} bytes")
