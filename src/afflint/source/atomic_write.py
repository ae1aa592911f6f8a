"""Writes files, each completely or not at all: a temporary file in the same folder gets the content, and then the name of the file.

Everything that afflint writes by name is written here, into a folder that ``folders`` has opened: no link of a tree leads a report, a
fix or a cache to another file of the user.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from afflint.findings.errors import UserError
from afflint.source.files import read_regular
from afflint.source.folders import Folder, UnsafePathError, is_link, open_parent

_OPEN_FILE = re.compile(r"/dev/(?:std(out|err)|fd/([0-9]{1,9}))|/proc/self/fd/([0-9]{1,9})")
"""The names of files that the shell has opened for afflint, such as `>(command)`."""
_DEVICES = "/dev/"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_KINDS = {stat.S_IFIFO: "a named pipe (FIFO)", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}

Write = Callable[[BinaryIO], object]


class WriteError(UserError):
    """A file that could not be written; the message is for the user."""


def write_file(path: str, write: Write) -> None:
    """Write a file that the user names, or an open file or a device of the user: `/dev/stdout`, `/dev/fd/3`, `/dev/null`.

    Raises OSError, and then the file is as it was. A link, a named pipe and a device of a tree are rejected without opening them.
    """
    own = _own_file(path)
    if own is not None:
        with open(own, "wb", buffering=1 << 16) as file:
            write(file)
        return
    folder, name = open_parent(path)
    with folder:
        replace_in(folder, name, write)


def _own_file(path: str) -> int | None:
    """Return a new descriptor of an open file or a device of the user; None for any other path."""
    if found := _OPEN_FILE.fullmatch(path):
        stream, *numbers = found.groups()
        return os.dup({"out": 1, "err": 2}[stream] if stream else int(numbers[0] or numbers[1]))
    if path.lower() == os.devnull.lower():
        return os.open(os.devnull, os.O_WRONLY)
    if not path.startswith(_DEVICES):
        return None
    folder, name = open_parent(path)
    with folder:
        status = folder.status(name)
        is_device = status is not None and stat.S_ISCHR(status.st_mode)
        return folder.open(name, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)) if is_device else None


def replace_file(path: str, before: bytes, after: bytes, *, doing: str = "fix") -> None:
    """Replace the content ``before`` of a file with ``after``, through links inside a tree, which stay.

    The file keeps its mode, owner and extended attributes. If it has several names (hard links), only this one gets the new content,
    as in git and sed: writing into the file itself could not be undone half way. Raises WriteError, and then nothing has changed.
    """
    try:
        folder, name = open_parent(path, follow=True)
        with folder:
            status = _status_of_file(folder, name)
            if status is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if not status.st_mode & _WRITABLE or not os.access(folder.name_of(name), os.W_OK, dir_fd=folder.descriptor):
                raise WriteError(f"cannot {doing} {path!r}: it is read-only")
            if status.st_size != len(before) or read_regular(name, len(before), folder) != before:
                raise WriteError(f"cannot {doing} {path!r}: it has changed since it was read; run afflint again")
            replace_in(folder, name, lambda file: file.write(after), keep=status)
    except OSError as error:
        raise WriteError(f"cannot {doing} {path!r}: {error.strerror or error}") from None


def write_new_file(path: str, data: bytes) -> None:
    """Create a file. Raises FileExistsError if the path exists, which then stays as it is, and OSError for other errors."""
    folder, name = open_parent(path)
    with folder:
        os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            replace_in(folder, name, lambda file: file.write(data))
        except BaseException:
            folder.delete(name)
            raise


def replace_in(folder: Folder, name: str, write: Write, *, keep: os.stat_result | None = None) -> None:
    """Write a file in an open folder under a temporary name, and rename it once it is complete.

    With ``keep`` it must get the owner of the file with this status; otherwise it gets the owner of an existing file if permitted.
    Raises OSError, and then nothing has changed.
    """
    status = _status_of_file(folder, name)
    temporary = f"{name}.{os.urandom(8).hex()}.tmp"
    # In a folder that others can write to, another user may have created this name: O_EXCL does not open an existing file.
    number = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with open(number, "wb") as file:
            if status is not None:
                _take_over(file.fileno(), folder, name, status, is_required=keep is not None)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        folder.rename(temporary, name)
    except BaseException:
        folder.delete(temporary)
        raise


def _status_of_file(folder: Folder, name: str) -> os.stat_result | None:
    """Return the status of a file that may be replaced; None if it does not exist. Raises OSError for anything but a file."""
    status = folder.status(name)
    if status is None or stat.S_ISREG(status.st_mode):
        return status
    if is_link(status):
        raise UnsafePathError("it is a symbolic link; name the file to write")
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise UnsafePathError(f"it is {_KINDS.get(stat.S_IFMT(status.st_mode), 'not a file')}")


def _take_over(file: int, folder: Folder, name: str, status: os.stat_result, *, is_required: bool) -> None:
    """Give a new file the owner, the mode and the extended attributes of the file that it replaces."""
    if hasattr(os, "fchown"):
        try:
            os.fchown(file, status.st_uid, status.st_gid)
        except OSError:
            mine = os.fstat(file)
            if is_required and (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
                raise
        os.fchmod(file, status.st_mode & 0o7777)
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            replaced = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
            try:
                for attribute in os.listxattr(replaced):
                    os.setxattr(file, attribute, os.getxattr(replaced, attribute))
            finally:
                os.close(replaced)
