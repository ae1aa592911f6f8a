"""Writes files: a whole new text in the place of an old one, or nothing at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from afflint.findings.errors import UserError
from afflint.source.files import read_regular


class WriteError(UserError):
    """A file that was not written; the message is for the user."""


def replace_file(path: str, before: bytes, after: bytes, *, doing: str = "fix") -> None:
    """Put ``after`` in the place of ``before`` in a file, through links, which stay. Raises ReplaceError, and then nothing has changed.

    The file keeps its mode, owner and extended attributes. Of a file that has several names (hard links) only this one gets the new text,
    as git and sed do it: to write into the file itself could not be undone half way.
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
    """Write a file where there is none, and leave alone what is there. Raises FileExistsError then, and OSError for the rest."""
    beside = f"{path}.{os.urandom(8).hex()}.tmp"
    write_temporary_beside(beside, lambda file: file.write(data))
    try:
        # A link is refused where something is already, and so is a new name on Windows. Elsewhere a new name would take its place.
        (os.rename if os.name == "nt" else os.link)(beside, path)
    except FileExistsError:
        raise
    except OSError:  # A file system without links.
        with open(path, "xb") as file:
            file.write(data)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def write_temporary_beside(place: str, write: Callable[[BinaryIO], object], *, keep: os.stat_result | None = None) -> None:
    """Write a file beside ``place`` and move it there once it is whole. Raises OSError, and then nothing is there that was not before.

    With ``keep`` it must have the owner of the file with this status; otherwise it gets that of what is there as far as that is allowed.
    """
    beside = f"{place}.{os.urandom(8).hex()}.tmp"
    # In a folder that others may write to, nobody can have put anything in the way of a new file.
    new = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    ours = False
    try:
        number = os.open(beside, os.O_WRONLY | new, 0o666)
        ours = True
        with open(number, "wb") as file:
            if os.path.exists(place):
                _take_over(file.fileno(), place, keep)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
        ours = False
    finally:
        if ours:
            os.unlink(beside)


def _take_over(file: int, place: str, keep: os.stat_result | None) -> None:
    """Give a new file the owner, the mode and the extended attributes of the one that it replaces."""
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
