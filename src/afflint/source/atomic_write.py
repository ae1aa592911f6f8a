"""Writes files atomically: the whole new content, or nothing."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from afflint.findings.errors import UserError
from afflint.source.files import read_regular


class WriteError(UserError):
    """A file that could not be written; the message is for the user."""


def replace_file(path: str, before: bytes, after: bytes, *, doing: str = "fix") -> None:
    """Replace the content ``before`` of a file with ``after``, through links, which stay.

    The file keeps its mode, owner and extended attributes. If it has several names (hard links), only this one gets the new content,
    as in git and sed: writing into the file itself could not be undone half way. Raises WriteError, and then nothing has changed.
    """
    place = os.path.realpath(path)
    try:
        status = os.stat(place)
        if not status.st_mode & _WRITABLE or not os.access(place, os.W_OK):
            raise WriteError(f"cannot {doing} {path!r}: it is read-only")
        if status.st_size != len(before) or read_regular(place, len(before)) != before:
            raise WriteError(f"cannot {doing} {path!r}: it has changed since it was read; run afflint again")
        write_temporary_beside(place, lambda file: file.write(after), keep=status)
    except OSError as error:
        raise WriteError(f"cannot {doing} {path!r}: {error.strerror or error}") from None


_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def write_new_file(path: str, data: bytes) -> None:
    """Create a file. Raises FileExistsError if the path exists, which then stays as it is, and OSError for other errors."""
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    write_temporary_beside(temporary, lambda file: file.write(data))
    try:
        # Creating a link fails if the target exists, and so does a rename on Windows. Elsewhere a rename would overwrite the target.
        (os.rename if os.name == "nt" else os.link)(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # The file system does not support links.
        with open(path, "xb") as file:
            file.write(data)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def write_temporary_beside(place: str, write: Callable[[BinaryIO], object], *, keep: os.stat_result | None = None) -> None:
    """Write a temporary file next to ``place`` and rename it once it is complete. Raises OSError, and then nothing has changed.

    With ``keep`` it must get the owner of the file with this status; otherwise it gets the owner of an existing file if permitted.
    """
    temporary = f"{place}.{os.urandom(8).hex()}.tmp"
    # In a folder that others can write to, another user may have created this name: O_EXCL does not open an existing file.
    new = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    ours = False
    try:
        number = os.open(temporary, os.O_WRONLY | new, 0o666)
        ours = True
        with open(number, "wb") as file:
            if os.path.exists(place):
                _take_over(file.fileno(), place, keep)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
        ours = False
    finally:
        if ours:
            os.unlink(temporary)


def _take_over(file: int, place: str, keep: os.stat_result | None) -> None:
    """Give a new file the owner, the mode and the extended attributes of the file that it replaces."""
    status = keep or os.stat(place)
    if hasattr(os, "fchown"):
        try:
            os.fchown(file, status.st_uid, status.st_gid)
        except OSError:
            mine = os.fstat(file)
            if keep and (mine.st_uid, mine.st_gid) != (keep.st_uid, keep.st_gid):
                raise
        os.fchmod(file, status.st_mode & 0o7777)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(place):
                os.setxattr(file, name, os.getxattr(place, name))
