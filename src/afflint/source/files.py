"""The bytes of files: never more of them than asked for, and none of what could be waited for in vain.

All that is read of a tree is read here: whoever wrote it may have put a link to a device, a pipe or a file without end into it.
"""

import errno
import os
import stat
from collections.abc import Callable

_AT_ONCE = 1 << 20
_OPEN_FILES = ("/dev/", "/proc/")
"""Where the files that a process has open have names, among them what a shell makes of `<(command)`."""
# A pipe that nobody writes to would block whoever opens it. Windows has neither the flag nor such pipes, but texts with other line ends.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_regular(path: str, most: int) -> bytes:
    """The bytes of a regular file. Raises OSError: for a folder, a pipe or a device, too, and when there are more than ``most``."""
    number = os.open(path, _FLAGS)
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
        # A file may grow or shrink while it is read, and those of /proc do not tell their size.
        return data if data and len(data) == size else read_all(lambda count: os.read(number, count), most, data)
    finally:
        os.close(number)


def read_begin(path: str) -> bytes:
    """The first 64 KB of a regular file. Raises OSError: for a folder, a pipe or a device, too."""
    number = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return os.read(number, 1 << 16)
    finally:
        os.close(number)


def read_named(path: str, most: int) -> bytes:
    """The same for a file that the user names: a pipe of the shell, as for `<(command)`, or a device is read to its end, too.

    A named pipe in a folder is refused: nothing may ever write to it.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        return read_regular(path, most)
    if stat.S_ISFIFO(mode) and not os.path.abspath(path).startswith(_OPEN_FILES):
        raise OSError(errno.EINVAL, "a named pipe (FIFO); use `-` with a redirection, or `<(command)`")
    with open(path, "rb", buffering=0) as file:
        return read_all(file.read, most)


def read_all(read: Callable[[int], bytes], most: int, begun: bytes = b"") -> bytes:
    """What a function that reads gives until it gives nothing, behind what it gave before. Raises OSError for more than ``most`` bytes."""
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
